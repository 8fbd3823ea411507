//! Rolls short contiguous rows: both runs of a row while it is in L1.

use super::RolledAxis;
use super::blocks::{self, Row, Share, copy_rotated, for_each_run};
use crate::memory::copy::Transfer;
use crate::memory::copy::stage::{self, Stage};
use crate::memory::cpu::{Pattern, is_streamed, prefetch_line_l2, stream};
use crate::memory::walk::Offsets;
use crate::parallel::{self, Cost};
use crate::threshold::threshold;

/// Largest size in bytes of rows that are staged: assembled in a buffer and streamed from there.
/// The two runs of a longer row are streamed one by one, since the cache lines at their ends,
/// which each shares with another run, are a small part of it.
const STAGED_ROW_MAX: usize = threshold(4 << 10, 128);
const _: () = assert!(Stage::rows(STAGED_ROW_MAX) > 0);

/// Smallest size in bytes of rows that are written by streaming stores. Shorter rows are written
/// through the caches however large the result is: rows of 800 bytes take as long either way,
/// rows of 372 bytes half as long through the caches.
const STREAMED_ROW_MIN: usize = threshold(1 << 10, 64);

/// Rolls contiguous rows of plain elements; `outer_axes` are the axes outside the rows.
pub(super) fn run(
    transfer: &Transfer<'_, '_>,
    outer_axes: &[RolledAxis],
    start: Offsets,
    row: Row,
) {
    let count: usize = outer_axes.iter().map(|axis| axis.len).product();
    let bytes = count * row.len;
    let pattern = if are_shuffled(outer_axes, row) { pattern(row) } else { None };
    let streamed = pattern.is_none() && are_streamed(transfer, outer_axes, row, bytes);
    let roll = |share: &Share| {
        let from = transfer.from.start().wrapping_offset(start.selected);
        let to = transfer.to.start().wrapping_offset(start.listed);
        // SAFETY: the rows are in bounds of the two arrays, which are borrowed separately, the
        // destination exclusively; plain elements are initialised bytes; no two parts have the
        // same row (`Share::of`). Where there is a pattern, rows along the innermost of
        // `outer_axes` are contiguous in both arrays (`are_shuffled`). Rows that are staged have
        // at most `STAGED_ROW_MAX` bytes (checked here), and so are contiguous along that axis in
        // the destination (`are_streamed`).
        #[allow(unsafe_code)]
        unsafe {
            if let Some(pattern) = &pattern {
                for_each_run(outer_axes, share, from, to, &|axis, count, from, to| {
                    shuffle_rows(axis, count, from, to, row, pattern);
                });
            } else if streamed {
                for_each_run(outer_axes, share, from, to, &|axis, count, from, to| {
                    if row.len <= STAGED_ROW_MAX {
                        stream_staged(axis, count, from, to, row);
                    } else {
                        stream_runs(axis, count, from, to, row);
                    }
                });
                stage::finish();
            } else {
                blocks::roll(outer_axes, share, from, to, row);
            }
        }
    };
    let parts = parallel::parts(Cost::of_bytes(bytes).plus(Cost::of_near(count)));
    if parts == 1 {
        return roll(&Share::ALL);
    }
    let cut = Share::cut(outer_axes, parts);
    parallel::run(cut.0, &|part| roll(&Share::of(outer_axes, cut, part)));
}

/// Whether rows are written by streaming stores.
fn are_streamed(
    transfer: &Transfer<'_, '_>,
    outer_axes: &[RolledAxis],
    row: Row,
    bytes: usize,
) -> bool {
    let contiguous = outer_axes.last().is_none_or(|axis| axis.to_stride == row.len as isize);
    (contiguous || row.len > STAGED_ROW_MAX)
        && row.len >= STREAMED_ROW_MIN
        && stage::is_past(bytes, transfer)
}

/// Largest size in bytes of rows that are shuffled where the result fits in the caches. Longer
/// rows take less time in blocks than shuffled: 5 us against 8 us for 5000 rows of 28 bytes.
const SHUFFLED_ROW_MAX: usize = 12;

/// Smallest number of rows that are shuffled, of which the innermost axis outside them has at
/// least half. Fewer rows are copied in blocks in less time than a pattern is computed.
const SHUFFLED_ROWS_MIN: usize = threshold(1 << 10, 8);

/// Whether rows are rolled by byte shuffles: many short rows that are contiguous in both arrays
/// along a long axis.
///
/// Where the result does not fit in the caches, what counts is that memory is passed over once,
/// so rows above [`SHUFFLED_ROW_MAX`] are shuffled too, unless both of their runs fill vectors: a
/// million rows of 28 bytes take 2.0 ms, and 2.4 ms in blocks.
pub(super) fn are_shuffled(outer_axes: &[RolledAxis], row: Row) -> bool {
    let count: usize = outer_axes.iter().map(|axis| axis.len).product();
    let contiguous = |axis: &RolledAxis| {
        axis.len >= SHUFFLED_ROWS_MIN / 2
            && [axis.from_stride, axis.to_stride] == [row.len as isize; 2]
    };
    let short = || {
        let shorter_run = row.shift.min(row.len - row.shift);
        row.len <= SHUFFLED_ROW_MAX || (shorter_run < 16 && is_streamed(count * row.len))
    };
    count >= SHUFFLED_ROWS_MIN && outer_axes.last().is_some_and(contiguous) && short()
}

/// The byte shuffle that rolls a row, if the processor supports it.
fn pattern(row: Row) -> Option<Pattern> {
    let Row { len, shift } = row;
    let from = |byte: usize| if byte < shift { byte + len - shift } else { byte - shift };
    Pattern::new(len, len, from)
}

/// Rolls, by shuffles, `count` rows at consecutive positions of `axis`, contiguous in both
/// arrays.
///
/// # Safety
/// The rows can be read and written, are initialised, and do not overlap.
#[allow(unsafe_code)]
unsafe fn shuffle_rows(
    axis: RolledAxis,
    count: usize,
    from: *const u8,
    to: *mut u8,
    row: Row,
    pattern: &Pattern,
) {
    // SAFETY: promised by the caller. The rows that the pattern leaves out are the last ones.
    unsafe {
        let done = pattern.run(from, to, count);
        let (from, to) = (from.add(done * row.len), to.add(done * row.len));
        let rest = RolledAxis { len: count - done, shift: 0, ..axis };
        blocks::roll(&[rest], &Share::ALL, from, to, row);
    }
}

/// Rolls `count` rows at consecutive positions of `axis`, contiguous in the destination: as many
/// as fit are rolled into the stage's buffer, which is then streamed to the destination.
///
/// # Safety
/// The rows can be read and written, are initialised, do not overlap, and have at most
/// [`STAGED_ROW_MAX`] bytes each.
#[allow(unsafe_code)]
unsafe fn stream_staged(axis: RolledAxis, count: usize, from: *const u8, to: *mut u8, row: Row) {
    let source = |k: usize| from.wrapping_offset(k as isize * axis.from_stride);
    let at_once = Stage::rows(row.len);
    let mut stage = Stage::new();
    for first in (0..count).step_by(at_once) {
        let group = first..count.min(first.saturating_add(at_once));
        let to = to.wrapping_offset(first as isize * axis.to_stride);
        // SAFETY: promised by the caller for each row; the stage's buffer holds a group, which
        // has at most `Stage::rows` rows.
        unsafe {
            let staged = stage.room(source(first));
            for (number, k) in group.clone().enumerate() {
                copy_rotated(source(k), staged.add(number * row.len), row);
            }
            let next = source(group.end.min(count - 1));
            stage.send(to, group.len() * row.len, next);
        }
    }
}

/// Rolls `count` rows at consecutive positions of `axis` by streaming stores, run by run.
///
/// # Safety
/// The rows can be read and written, are initialised, and do not overlap.
#[allow(unsafe_code)]
unsafe fn stream_runs(axis: RolledAxis, count: usize, from: *const u8, to: *mut u8, row: Row) {
    for k in 0..count as isize {
        let (from, to) =
            (from.wrapping_offset(k * axis.from_stride), to.wrapping_offset(k * axis.to_stride));
        for row_run in row.runs() {
            let next = from.wrapping_offset(axis.from_stride).wrapping_add(row_run.from);
            let on_line = |at| prefetch_line_l2(next.wrapping_add(at));
            // SAFETY: promised by the caller for this row.
            unsafe { stream(from.add(row_run.from), to.add(row_run.to), row_run.len, on_line) };
        }
    }
}
