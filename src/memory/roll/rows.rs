//! Rolls contiguous rows of up to 256 KiB: both runs of a row one after the other, while it is cached.

use super::RolledAxis;
use super::blocks::{self, Row, Share, copy_rotated, for_each_run};
use crate::memory::copy::Transfer;
use crate::memory::copy::stage::{self, RowBuffer};
use crate::memory::cpu::{Pattern, fence, is_streamed, prefetch_line_l2, stream};
use crate::memory::walk::Offsets;
use crate::parallel::{self, Cost};
use crate::threshold::threshold;

/// Largest size in bytes of rows that are staged: assembled in a buffer and streamed from there.
/// The two runs of a longer row are streamed one by one, since the cache lines at their ends,
/// which each shares with another run, are a small part of it.
const STAGED_ROW_MAX: usize = threshold(4 << 10, 128);
const _: () = assert!(RowBuffer::rows(STAGED_ROW_MAX) > 0);

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
    let rolled = RowRoll::new(outer_axes, row);
    let streamed = rolled.shuffled.is_none() && are_streamed(transfer, outer_axes, row, bytes);
    let roll = |share: &Share| {
        let from = transfer.from.start().wrapping_offset(start.selected);
        let to = transfer.to.start().wrapping_offset(start.listed);
        // SAFETY: the rows are in bounds of the two arrays, which are borrowed separately, the
        // destination exclusively; plain elements are initialised bytes; no two parts have the
        // same row (`Share::cut`). Rows that are staged have at most `STAGED_ROW_MAX` bytes (checked
        // here), and so are contiguous along the innermost of the axes outside in the destination
        // (`are_streamed`).
        #[allow(unsafe_code)]
        unsafe {
            if streamed {
                for_each_run(outer_axes, share, from, to, &|axis, count, from, to| {
                    if row.len <= STAGED_ROW_MAX {
                        stream_staged(axis, count, from, to, row);
                    } else {
                        stream_runs(axis, count, from, to, row);
                    }
                });
                fence();
            } else {
                rolled.roll(share, from, to);
            }
        }
    };
    let parts = parallel::parts(Cost::of_bytes(bytes).plus(Cost::of_near(count)));
    let (parts, share) = Share::cut(rolled.axes(), parts);
    parallel::run(parts, &|part| roll(&share(part)));
}

/// A roll of contiguous rows on the calling thread, by shuffles where these pay.
pub(super) struct RowRoll<'a> {
    outer_axes: &'a [RolledAxis],
    row: Row,
    shuffled: Option<(Shuffled<'a>, Pattern)>,
}

impl<'a> RowRoll<'a> {
    /// A roll of rows inside these axes.
    pub(super) fn new(outer_axes: &'a [RolledAxis], row: Row) -> Self {
        let shuffled = shuffled(outer_axes, row).and_then(Shuffled::pattern);
        RowRoll { outer_axes, row, shuffled }
    }

    /// The same without shuffles, which load bytes as numbers: for elements that are not plain.
    pub(super) fn in_blocks(outer_axes: &'a [RolledAxis], row: Row) -> Self {
        RowRoll { outer_axes, row, shuffled: None }
    }

    /// The axes whose positions are shared out: those outside of what is shuffled at once.
    fn axes(&self) -> &'a [RolledAxis] {
        self.shuffled.as_ref().map_or(self.outer_axes, |(shuffled, _)| shuffled.outside)
    }

    /// Rolls the rows in a share.
    ///
    /// # Safety
    /// The rows can be read from `from` on and written from `to` on, and do not overlap. They are plain elements,
    /// unless they are rolled [in blocks](Self::in_blocks).
    #[allow(unsafe_code)]
    pub(super) unsafe fn roll(&self, share: &Share, from: *const u8, to: *mut u8) {
        // SAFETY: promised by the caller. What a pattern permutes is contiguous in both arrays along the
        // innermost of the axes outside (`shuffled`).
        unsafe {
            let Some((shuffled, pattern)) = &self.shuffled else {
                return blocks::roll(self.outer_axes, share, from, to, self.row);
            };
            for_each_run(shuffled.outside, share, from, to, &|axis, count, from, to| {
                shuffled.run(axis, count, from, to, pattern);
            });
        }
    }
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
        && stage::streams_past_caches(bytes, transfer)
}

/// Largest size in bytes of rows that are shuffled where the result fits in the caches. Longer
/// rows take less time in blocks than shuffled: 5 µs against 8 µs for 5000 rows of 28 bytes.
const SHUFFLED_ROW_MAX: usize = 12;

/// Largest size in bytes of planes that are shuffled: those of 512 bytes, in rows of 16, take a third
/// of what they take in blocks.
const SHUFFLED_PLANE_MAX: usize = 512;

/// Smallest number of rows that are shuffled, of which the innermost axis outside them has at
/// least half. Fewer rows are copied in blocks in less time than a pattern is computed.
const SHUFFLED_ROWS_MIN: usize = threshold(1 << 10, 8);

/// What byte shuffles roll: short rows, or tiny planes, each the rows of one more axis, that are
/// contiguous in both arrays along a long axis.
#[derive(Clone, Copy)]
pub(super) struct Shuffled<'a> {
    /// The axes outside what is shuffled at once.
    outside: &'a [RolledAxis],
    /// The axis outside the rows in a plane; [`RolledAxis::ONE`] where a row is shuffled alone.
    plane: RolledAxis,
    row: Row,
}

/// What is rolled by byte shuffles, if anything: many short rows or tiny planes.
///
/// Where the result does not fit in the caches, what counts is that memory is passed over once,
/// so rows above [`SHUFFLED_ROW_MAX`] are shuffled too, unless both of their runs fill vectors: a
/// million rows of 28 bytes take 2.0 ms, and 2.4 ms in blocks.
pub(super) fn shuffled(outer_axes: &[RolledAxis], row: Row) -> Option<Shuffled<'_>> {
    let count: usize = outer_axes.iter().map(|axis| axis.len).product();
    let (inner, outside) = outer_axes.split_last()?;
    if count < SHUFFLED_ROWS_MIN {
        return None;
    }
    let contiguous =
        |axis: &RolledAxis, len: usize| [axis.from_stride, axis.to_stride] == [len as isize; 2];
    let long = |axis: &RolledAxis| axis.len >= SHUFFLED_ROWS_MIN / 2;
    let short = || {
        let shorter_run = row.shift.min(row.len - row.shift);
        row.len <= SHUFFLED_ROW_MAX || (shorter_run < 16 && is_streamed(count * row.len))
    };
    if !contiguous(inner, row.len) {
        return None;
    }
    if long(inner) {
        return short().then_some(Shuffled { outside: outer_axes, plane: RolledAxis::ONE, row });
    }
    let len = inner.len * row.len;
    // Rows of 20 or 30 bytes in planes of 60 take up to 1.7 times as long by shuffles as in blocks.
    let narrow = row.len <= 16 || (len <= 64 && len.is_multiple_of(16));
    let planes = narrow
        && len <= SHUFFLED_PLANE_MAX
        && outside.last().is_some_and(|axis| long(axis) && contiguous(axis, len));
    planes.then_some(Shuffled { outside, plane: *inner, row })
}

impl Shuffled<'_> {
    /// Bytes that are permuted together.
    fn len(&self) -> usize {
        self.row.len * self.plane.len
    }

    /// With the byte shuffle that rolls a row, or a plane, if the processor supports it.
    fn pattern(self) -> Option<(Self, Pattern)> {
        let (Row { len, shift }, plane) = (self.row, self.plane);
        let back = |at: usize, shift: usize, len: usize| {
            if at < shift { at + len - shift } else { at - shift }
        };
        let from = |byte: usize| {
            back(byte / len, plane.shift, plane.len) * len + back(byte % len, shift, len)
        };
        let pattern = if plane.len > 1 {
            Pattern::of_any_length(self.len(), self.len(), from)?
        } else {
            Pattern::new(len, len, from)?
        };
        Some((self, pattern))
    }

    /// Rolls, by shuffles, what is at `count` consecutive positions of `axis`, contiguous in both
    /// arrays.
    ///
    /// # Safety
    /// The rows can be read and written, are initialised, and do not overlap. The pattern is that
    /// of [`pattern`](Self::pattern).
    #[allow(unsafe_code)]
    unsafe fn run(
        &self,
        axis: RolledAxis,
        count: usize,
        from: *const u8,
        to: *mut u8,
        pattern: &Pattern,
    ) {
        // SAFETY: promised by the caller; a pattern copies bytes from within the row or the plane, as
        // shifts are less than lengths. What it leaves out are the last ones.
        unsafe {
            let done = pattern.run(from, to, count);
            let (from, to) = (from.add(done * self.len()), to.add(done * self.len()));
            let rest = RolledAxis { len: count - done, shift: 0, ..axis };
            blocks::roll(&[rest, self.plane], &Share::ALL, from, to, self.row);
        }
    }
}

/// Rolls `count` rows at consecutive positions of `axis`, contiguous in the destination: as many
/// as fit are rolled into a buffer, which is then streamed to the destination.
///
/// # Safety
/// The rows can be read and written, are initialised, do not overlap, and have at most
/// [`STAGED_ROW_MAX`] bytes each.
#[allow(unsafe_code)]
unsafe fn stream_staged(axis: RolledAxis, count: usize, from: *const u8, to: *mut u8, row: Row) {
    let source = |k: usize| from.wrapping_offset(k as isize * axis.from_stride);
    let at_once = RowBuffer::rows(row.len);
    let mut buffer = RowBuffer::new();
    for first in (0..count).step_by(at_once) {
        let group = first..count.min(first.saturating_add(at_once));
        let to = to.wrapping_offset(first as isize * axis.to_stride);
        // SAFETY: promised by the caller for each row; the buffer holds a group, which
        // has at most `RowBuffer::rows` rows.
        unsafe {
            let staged = buffer.room(source(first));
            for (number, k) in group.clone().enumerate() {
                copy_rotated(source(k), staged.add(number * row.len), row);
            }
            let next = source(group.end.min(count - 1));
            buffer.send(to, group.len() * row.len, next);
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
