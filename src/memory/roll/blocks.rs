//! Copies rolled rows in blocks of bytes, on the calling thread.

use std::ops::Range;

use super::RolledAxis;
use crate::memory::copy::rows::{block, copy_bytes};
use crate::memory::cpu::widely;
use crate::parallel;
use crate::threshold::threshold;

/// The length and the shift of a row, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) len: usize,
    pub(super) shift: usize,
}

/// One of the two runs of a row: its offset in the source row, its offset in the destination
/// row, and its length, in bytes.
#[derive(Clone, Copy)]
pub(super) struct RowRun {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) len: usize,
}

impl Row {
    /// The two runs of a row, the longer one first, so that memory is read in
    /// order.
    #[inline(always)]
    pub(super) fn runs(self) -> [RowRun; 2] {
        let Row { len, shift } = self;
        let moved_up = RowRun { from: 0, to: shift, len: len - shift };
        let wrapped = RowRun { from: len - shift, to: 0, len: shift };
        if moved_up.len >= wrapped.len { [moved_up, wrapped] } else { [wrapped, moved_up] }
    }
}

/// The rows that one part of a roll writes. One of the axes outside the rows is restricted to a
/// range of positions in the destination; all positions of the other axes are included.
#[derive(Debug, Clone)]
pub(super) struct Share {
    /// The number of the restricted axis, counted from the outermost one; a number past the
    /// innermost axis restricts none.
    pub(super) axis_number: usize,
    pub(super) positions: Range<usize>,
}

impl Share {
    pub(super) const ALL: Self = Share { axis_number: usize::MAX, positions: 0..0 };

    /// Into how many parts to cut the axes, at most `parts`, and the share of each part: of the
    /// outermost axis that has at least `parts` positions, else of the longest.
    pub(super) fn cut(
        outer_axes: &[RolledAxis],
        parts: usize,
    ) -> (usize, impl Fn(usize) -> Self + use<>) {
        let len = |number: &usize| outer_axes[*number].len;
        let long = (0..outer_axes.len()).find(|number| len(number) >= parts);
        let number = long.or_else(|| (0..outer_axes.len()).max_by_key(len));
        let (len, axis_number) = number.map_or((0, 0), |number| (len(&number), number));
        let parts = parts.min(len).max(1);
        let share = move |part| match parts {
            1 => Self::ALL,
            _ => Share { axis_number, positions: parallel::share(len, parts, part) },
        };
        (parts, share)
    }

    /// The positions along the outermost axis, and the share of the axes inside it.
    fn split_outermost(&self, outermost: &RolledAxis) -> (Range<usize>, Self) {
        let Share { axis_number, ref positions } = *self;
        let here = if axis_number == 0 { positions.clone() } else { 0..outermost.len };
        (here, Share { axis_number: axis_number.wrapping_sub(1), positions: positions.clone() })
    }
}

/// Calls `visit` for each run of rows in `share`: rows at consecutive positions of the innermost
/// of `outer_axes`, in the source as in the destination. Its arguments are that axis, the number
/// of rows, and where the first of them begins in the source and in the destination.
///
/// Recursive, one level for each axis, so that no list of the runs is allocated.
pub(super) fn for_each_run(
    outer_axes: &[RolledAxis],
    share: &Share,
    from: *const u8,
    to: *mut u8,
    visit: &impl Fn(RolledAxis, usize, *const u8, *mut u8),
) {
    let Some((axis, inside)) = outer_axes.split_first() else {
        return visit(RolledAxis::ONE, 1, from, to);
    };
    let (shared, inside_share) = share.split_outermost(axis);
    for (from_first, to_first, count) in axis.runs() {
        let positions = shared.start.max(to_first)..shared.end.min(to_first + count);
        let at = |position: usize| {
            let from = from
                .wrapping_offset((from_first + (position - to_first)) as isize * axis.from_stride);
            (from, to.wrapping_offset(position as isize * axis.to_stride))
        };
        if positions.is_empty() {
            continue;
        }
        if inside.is_empty() {
            let (from, to) = at(positions.start);
            visit(*axis, positions.len(), from, to);
        } else {
            for position in positions {
                let (from, to) = at(position);
                for_each_run(inside, &inside_share, from, to, visit);
            }
        }
    }
}

/// Rolls the rows in `share`; `outer_axes` are the axes outside the rows.
///
/// # Safety
/// For all positions in `share`, a row can be read at its address from `from` on and written at
/// its address from `to` on, and no row that is written overlaps any other row.
#[allow(unsafe_code)]
pub(super) unsafe fn roll(
    outer_axes: &[RolledAxis],
    share: &Share,
    from: *const u8,
    to: *mut u8,
    row: Row,
) {
    let (inner, outside) = match outer_axes.split_last() {
        Some((inner, outside)) => (*inner, outside),
        None => (RolledAxis::ONE, outer_axes),
    };
    let narrow = row.len <= NARROW_ROW_MAX;
    let group = if narrow { group_bytes(row) } else { usize::MAX };
    let bytes = inner.len * row.len;
    if share.axis_number == outside.len() || bytes > group {
        // Each call rolls rows of one run of the innermost axis.
        let at_once = group / row.len;
        return in_groups(outer_axes, share, (from, to), at_once, |axis, count, (from, to)| {
            let inner = RolledAxis { len: count, shift: 0, ..axis };
            // SAFETY: promised by the caller for these rows.
            unsafe { RowNest { from, to, outer: RolledAxis::ONE, count: 1, inner }.roll(row) };
        });
    }
    // Each call rolls all rows of the innermost axis, both of its runs, at one or more positions
    // of the next axis outside it.
    if outside.is_empty() {
        // SAFETY: promised by the caller.
        return unsafe { RowNest { from, to, outer: RolledAxis::ONE, count: 1, inner }.roll(row) };
    }
    in_groups(outside, share, (from, to), group / bytes, |outer, count, (from, to)| {
        // SAFETY: promised by the caller for these rows.
        unsafe { RowNest { from, to, outer, count, inner }.roll(row) };
    });
}

/// Calls `visit` with each group of up to `at_once` positions of a run of the innermost of `axes`: with the axis,
/// the number of positions, and the addresses of the first.
#[inline(always)]
fn in_groups(
    axes: &[RolledAxis],
    share: &Share,
    (from, to): (*const u8, *mut u8),
    at_once: usize,
    visit: impl Fn(RolledAxis, usize, (*const u8, *mut u8)),
) {
    for_each_run(axes, share, from, to, &|axis, count, from, to| {
        for first in (0..count).step_by(at_once) {
            let at = |stride: isize| stride.wrapping_mul(first as isize);
            let start = (
                from.wrapping_offset(at(axis.from_stride)),
                to.wrapping_offset(at(axis.to_stride)),
            );
            visit(axis, at_once.min(count - first), start);
        }
    });
}

/// Largest size in bytes of a narrow row. Narrow rows are copied in groups: one run of every row
/// of the group, then the other run of every row. To select a kernel by the length of each run
/// of each row would take longer.
const NARROW_ROW_MAX: usize = threshold(64, 24);
const _: () = assert!(NARROW_ROW_MAX <= 64);

/// Size in bytes of a group of narrow rows, which stays in L1 from the pass over one run to the
/// pass over the other, beside the other data there. With half as many bytes rows of 40 to 64
/// bytes take a tenth longer, with twice as many rows of 14 bytes do.
#[inline(always)]
fn group_bytes(row: Row) -> usize {
    const LEAST: usize = threshold(4 << 10, 100);
    const { assert!(NARROW_ROW_MAX <= LEAST) };
    if row.len <= 32 { LEAST } else { threshold(8 << 10, 100) }
}

/// Two nested loops over rows:
///
/// ```text
/// for o in 0..count
///   for i in 0..inner.len
///     row [o, i] of `to` = row [o, (i + inner.len - inner.shift) % inner.len] of `from`,
///                          itself rolled
/// ```
///
/// Invariant (upheld by [`roll`]): `count` and the two destination strides are not 0, since the
/// loops end at an address.
#[derive(Clone, Copy)]
struct RowNest {
    from: *const u8,
    to: *mut u8,
    /// Only the strides of this axis are used.
    outer: RolledAxis,
    count: usize,
    inner: RolledAxis,
}

#[allow(unsafe_code)]
impl RowNest {
    /// Calls `visit` with the addresses of each row in the source and in the destination.
    #[inline(always)]
    fn each(&self, mut visit: impl FnMut(*const u8, *mut u8)) {
        let RowNest { mut from, mut to, outer, count, inner } = *self;
        let after = |to: *mut u8, count: usize, stride: isize| {
            to.wrapping_offset(stride.wrapping_mul(count as isize))
        };
        let outer_end = after(to, count, outer.to_stride);
        let rest = inner.len - inner.shift;
        let wrapped = inner.from_stride.wrapping_mul(rest as isize);
        loop {
            let (shifted, inner_end) =
                (after(to, inner.shift, inner.to_stride), after(to, inner.len, inner.to_stride));
            // These loops end at an address: with an iteration count the compiler would generate
            // several loops, whose set-up few rows do not pay for. Unrolled by two, the loop takes
            // a tenth less for many rows.
            for (mut from, mut to, run_end) in
                [(from.wrapping_offset(wrapped), to, shifted), (from, shifted, inner_end)]
            {
                while to != run_end {
                    visit(from, to);
                    (from, to) = (
                        from.wrapping_offset(inner.from_stride),
                        to.wrapping_offset(inner.to_stride),
                    );
                    if to == run_end {
                        break;
                    }
                    visit(from, to);
                    (from, to) = (
                        from.wrapping_offset(inner.from_stride),
                        to.wrapping_offset(inner.to_stride),
                    );
                }
            }
            (from, to) =
                (from.wrapping_offset(outer.from_stride), to.wrapping_offset(outer.to_stride));
            if to == outer_end {
                return;
            }
        }
    }

    /// Copies the rows, each rolled by `row.shift`. Wide rows are written in memory order, which
    /// the hardware prefetcher recognises: 4 MiB in rows of 372 bytes take 150 µs, and 200 µs
    /// in groups of 16 KiB of rows, one run of every row and then the other.
    ///
    /// # Safety
    /// The rows can be read and written, and do not overlap.
    unsafe fn roll(&self, row: Row) {
        // SAFETY: promised by the caller.
        unsafe {
            if row.len > NARROW_ROW_MAX {
                return self.roll_wide(row);
            }
            for row_run in row.runs() {
                self.copy_run(row_run);
            }
        }
    }

    /// Copies wide rows, each rolled by `row.shift`.
    ///
    /// # Safety
    /// That of [`roll`](Self::roll).
    #[inline(never)]
    unsafe fn roll_wide(&self, row: Row) {
        // SAFETY: promised by the caller for each row.
        widely(|| self.each(|from, to| unsafe { copy_rotated(from, to, row) }));
    }

    /// Copies one run of each row; rows are narrow.
    ///
    /// # Safety
    /// That of [`roll`](Self::roll), for this run of each row.
    #[inline]
    unsafe fn copy_run(&self, row_run: RowRun) {
        // SAFETY: promised by the caller.
        unsafe {
            match row_run.len {
                0 => {}
                1 => self.copy_blocks::<1, false>(row_run),
                2..=3 => self.copy_blocks::<2, true>(row_run),
                4..=7 => self.copy_blocks::<4, true>(row_run),
                16 => self.copy_blocks::<16, false>(row_run),
                8..=15 => self.copy_blocks::<8, true>(row_run),
                32 => self.copy_blocks::<32, false>(row_run),
                17..=31 => self.copy_blocks::<16, true>(row_run),
                33..=64 => self.copy_blocks::<32, true>(row_run),
                _ => unreachable!("a narrow row"),
            }
        }
    }

    /// Copies one run of each row, as one block of `N` bytes, or where `OVERLAP` as two that may
    /// overlap. Not inlined: else the loops of all block sizes would be set up before one is
    /// selected.
    ///
    /// # Safety
    /// That of [`copy_run`](Self::copy_run); the run has `N` bytes, or `N` to `2 * N` where
    /// `OVERLAP`.
    #[inline(never)]
    unsafe fn copy_blocks<const N: usize, const OVERLAP: bool>(&self, row_run: RowRun) {
        let RowRun { from, to, len } = row_run;
        let mut runs = *self;
        runs.from = runs.from.wrapping_add(from);
        runs.to = runs.to.wrapping_add(to);
        // SAFETY: promised by the caller for each row.
        let copy = || runs.each(|from, to| unsafe { block::<N, OVERLAP>(from, to, len) });
        if N < 32 { copy() } else { widely(copy) }
    }
}

/// Copies a row from `from` to `to`, rolled by `row.shift`.
///
/// # Safety
/// A row can be read from `from` and written to `to`, and the two do not
/// overlap.
#[allow(unsafe_code)]
#[inline(always)]
pub(super) unsafe fn copy_rotated(from: *const u8, to: *mut u8, row: Row) {
    let rest = row.len - row.shift;
    // SAFETY: promised by the caller; the runs are in bounds of the row, whose shift is at most
    // its length.
    unsafe {
        copy_bytes(from.add(rest), to, row.shift);
        copy_bytes(from, to.add(row.shift), rest);
    }
}
