//! Rolls one array into another.
//!
//! Along one axis of length `len`, a roll is
//!
//! ```text
//! for i in 0..len { destination[i] = source[(i + len - shift) % len] }
//! ```
//!
//! which is two strided copies, one for each run of elements that stay in sequence:
//!
//! ```text
//! destination[shift..] = source[..len - shift]      elements that move up
//! destination[..shift] = source[len - shift..]      elements that wrap around
//! ```
//!
//! Along k axes there are 2^k such copies. Their destinations are rectangles that together
//! cover the destination array.
//!
//! Where rows (the innermost axis) are contiguous in both arrays and no longer than 256 KiB, both runs of a row
//! are copied together (`rows`), so that every cache line is written once.

mod blocks;
mod cloned;
mod dense;
pub(super) mod inplace;
mod rows;
#[cfg(test)]
mod tests;

use dense::DenseRoll;
use smallvec::SmallVec;

use super::copy::Transfer;
use super::gather::copy;
use super::output::Filled;
use super::strided::Layout;
use super::walk::{Loop, Loops, Offsets, Walk, cost_of_rows};
use crate::parallel::{self, Cost};
use crate::threshold::threshold;

/// One axis of a roll: its length, its shift, and its strides in both arrays.
///
/// The destination's element `i` is the source's element `(i + len - shift) % len`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RolledAxis {
    len: usize,
    /// Less than `len`.
    shift: usize,
    /// Stride in the source, in bytes.
    from_stride: isize,
    /// Stride in the destination, in bytes.
    to_stride: isize,
}

impl RolledAxis {
    /// An axis of one element. Its strides are arbitrary but not 0, because loops over an axis
    /// end at an address (`blocks::RowNest`).
    const ONE: Self = RolledAxis { len: 1, shift: 0, from_stride: 1, to_stride: 1 };

    /// Whether in both arrays this axis and `outer`, the axis outside it, have the strides of
    /// one longer axis: `outer stride == self.len * inner stride`.
    fn continues(&self, outer: &Self) -> bool {
        let seamless =
            |inner: isize, outer: isize| inner.checked_mul(self.len as isize) == Some(outer);
        seamless(self.from_stride, outer.from_stride) && seamless(self.to_stride, outer.to_stride)
    }

    /// Merges this axis into `outer`, the axis outside it, and returns whether it did: only where
    /// this axis has shift 0 and [`continues`](Self::continues) `outer`. A shift of `outer` by one
    /// position is a shift of the merged axis by `self.len` positions.
    #[inline]
    fn merge_into(&self, outer: &mut Self) -> bool {
        let merges = self.shift == 0 && self.continues(outer);
        if merges {
            *outer =
                RolledAxis { len: outer.len * self.len, shift: outer.shift * self.len, ..*self };
        }
        merges
    }

    /// The non-empty runs of this axis, each as its first position in the source, its first
    /// position in the destination, and its number of positions.
    fn runs(&self) -> impl Iterator<Item = (usize, usize, usize)> + Clone {
        let rest = self.len - self.shift;
        let runs = [(0, self.shift, rest), (rest, 0, self.shift)];
        runs.into_iter().filter(|(.., count)| *count != 0)
    }
}

/// The axes of a roll in the memory order of the destination, outermost first.
struct RolledAxes {
    axes: SmallVec<[RolledAxis; 6]>,
    /// Offsets in bytes of position 0 of all axes: not those of the arrays' first elements where
    /// the destination has negative strides.
    start: Offsets,
}

impl RolledAxes {
    /// Axes of a roll from layout `from` to layout `to`; `to` decides on their order.
    fn new(shifts: &[usize], from: &Layout<'_>, to: &Layout<'_>) -> Self {
        assert!(shifts.len() == to.shape().len() && from.is_shaped_like(to));
        let mut axes: SmallVec<[RolledAxis; 6]> = SmallVec::new();
        let mut start = Offsets::ZERO;
        for (axis, &shift) in shifts.iter().enumerate() {
            let len = to.shape()[axis];
            assert!(shift < len, "a shift is less than the length of its axis");
            if len == 1 {
                continue;
            }
            let mut rolled = RolledAxis {
                len,
                shift,
                from_stride: from.stride(axis),
                to_stride: to.stride(axis),
            };
            if rolled.to_stride < 0 {
                // Reversed, the axis ascends in memory, and its shift has the other direction.
                start.selected += rolled.from_stride * (len - 1) as isize;
                start.listed += rolled.to_stride * (len - 1) as isize;
                rolled = RolledAxis {
                    len,
                    shift: (len - shift) % len,
                    from_stride: -rolled.from_stride,
                    to_stride: -rolled.to_stride,
                };
            }
            axes.push(rolled);
        }
        axes.sort_by_key(|rolled| std::cmp::Reverse(rolled.to_stride));
        RolledAxes { axes, start }
    }
}

/// Largest size in bytes of dense arrays that are copied by a single `memcpy`, without merging
/// their axes.
const SINGLE_COPY_MAX: usize = threshold(16 << 10, 128);

/// Largest size in bytes of rows for the row kernels (`rows`, `cloned`), and of dense arrays that
/// are rolled on the calling thread (`dense`). Longer rows are copied as rectangles.
const ROW_KERNEL_MAX: usize = threshold(256 << 10, 512);

impl<'id> Transfer<'_, 'id> {
    /// Copies each element to its own position: a roll with all shifts 0.
    pub(crate) fn copy(self) -> Filled<'id> {
        let (from, to) = (self.from(), self.to());
        let bytes = to.len().saturating_mul(self.copier.size);
        if self.copier.plain().is_none()
            || bytes > SINGLE_COPY_MAX
            || !from.is_dense()
            || !to.is_dense()
        {
            let shifts: SmallVec<[usize; 6]> = SmallVec::from_elem(0, to.shape().len());
            return self.roll(&shifts);
        }
        assert!(from.is_shaped_like(to), "a copy is between arrays of one shape");
        // SAFETY: both arrays are borrowed, the destination exclusively. Both are dense
        // (`is_dense`) and of one shape (asserted), so each has `bytes` contiguous bytes with its
        // elements in the same order, and to copy the bytes is to copy the elements
        // (`Way::Bytes`). So all of the destination is written.
        #[allow(unsafe_code)]
        unsafe {
            self.from.start().copy_to_nonoverlapping(self.to.start(), bytes);
            self.filled()
        }
    }

    /// Copies with each axis rolled by its shift, which is less than its
    /// length unless both are 0.
    pub(crate) fn roll(self, shifts: &[usize]) -> Filled<'id> {
        if !self.roll_dense(shifts) && !self.to().is_empty() {
            let _call = parallel::Call::begin();
            let mut rolled = RolledAxes::new(shifts, self.from(), self.to());
            rolled.axes.dedup_by(|inner, outer| inner.merge_into(outer));
            let (axes, start) = (&rolled.axes[..], rolled.start);
            let size = self.copier.size;
            let short = |axis: &RolledAxis| {
                axis.shift != 0 && axis.len.saturating_mul(size) <= ROW_KERNEL_MAX
            };
            let contiguous =
                |axis: &RolledAxis| [axis.from_stride, axis.to_stride] == [size as isize; 2];
            let kernel_row =
                axes.split_last().filter(|(row, _)| size > 0 && contiguous(row) && short(row));
            match (kernel_row, cloned::kernel(&self)) {
                (Some((row, outer_axes)), _) if self.copier.plain().is_some() => {
                    let row = blocks::Row { len: row.len * size, shift: row.shift * size };
                    rows::run(&self, outer_axes, start, row);
                }
                (Some((row, outer_axes)), Some(kernel)) => {
                    cloned::run(&self, outer_axes, start, *row, kernel);
                }
                _ => self.roll_rectangles(axes, start),
            }
        }
        // SAFETY: all of the destination is written: the runs of an axis cover all of its
        // positions, so the rectangles, or the rows with both of their runs, cover the
        // destination.
        #[allow(unsafe_code)]
        unsafe {
            self.filled()
        }
    }
}

impl Transfer<'_, '_> {
    /// Rolls dense arrays of up to [`ROW_KERNEL_MAX`] bytes on the calling thread, and returns
    /// whether it did; otherwise nothing has been written.
    #[inline]
    fn roll_dense(&self, shifts: &[usize]) -> bool {
        let (from, to) = (self.from(), self.to());
        if self.copier.plain().is_none() || !from.is_dense() {
            return false;
        }
        assert!(from.is_shaped_like(to), "a roll is between arrays of one shape");
        let Some(dense) = DenseRoll::new(to, shifts) else { return false };
        if dense.bytes() > ROW_KERNEL_MAX || rows::shuffled(dense.outer_axes(), dense.row).is_some()
        {
            return false;
        }
        // SAFETY: the arrays are borrowed separately, the destination exclusively, so they do not
        // overlap. Both are dense (`is_dense`, `DenseRoll::new`) and of one shape (asserted).
        #[allow(unsafe_code)]
        unsafe {
            dense.roll(self.from.start(), self.to.start());
        }
        true
    }

    /// Copies rectangle by rectangle; on several threads all at once, each in parts that are as
    /// large as those of the others.
    fn roll_rectangles(&self, axes: &[RolledAxis], start: Offsets) {
        let (count, all) = (rectangles(axes), self.to().len());
        let parts = parallel::parts(cost(axes, self.copier.size));
        let copy_part = |walk: &Walk| {
            let elements = walk.rows().saturating_mul(walk.inner.len);
            // There are no indices to refuse.
            _ = copy(self, None, walk, parts.saturating_mul(elements).div_ceil(all));
        };
        let copy_one = |number: usize| {
            let (loops, start) = rectangle(axes, start, number);
            let walk = Walk::new(loops, SmallVec::new(), self.order()).moved(start);
            walk.with_rest().for_each(copy_part);
        };
        if parts == 1 { (0..count).for_each(copy_one) } else { parallel::run(count, &copy_one) }
    }
}

/// The number of rectangles.
fn rectangles(axes: &[RolledAxis]) -> usize {
    axes.iter().map(|axis| axis.runs().count()).product()
}

/// The loop nest of rectangle number `number`, and the offsets of its first element. Rectangles are
/// numbered by the runs of their axes, of which those of the last axis alternate.
fn rectangle(axes: &[RolledAxis], start: Offsets, mut number: usize) -> (Loops, Offsets) {
    let (mut loops, mut offsets) = (Loops::new(), start);
    for axis in axes.iter().rev() {
        let runs = axis.runs().count();
        if let Some((from, to, len)) = axis.runs().nth(number % runs) {
            let step = Offsets { selected: axis.from_stride, indices: 0, listed: axis.to_stride };
            offsets.selected += axis.from_stride * from as isize;
            offsets.listed += axis.to_stride * to as isize;
            if len > 1 {
                loops.push(Loop { len, step, entries: false });
            }
        }
        number /= runs;
    }
    loops.reverse();
    (loops, offsets)
}

/// The cost of copying all rectangles of elements of `size` bytes.
fn cost(axes: &[RolledAxis], size: usize) -> Cost {
    let Some((row, outer_axes)) = axes.split_last() else { return Cost::of_bytes(size) };
    let rows = outer_axes.iter().map(|axis| axis.len).fold(1, usize::saturating_mul);
    let elements = cost_of_rows(rows, row.len, [row.from_stride, row.to_stride], size);
    elements.plus(Cost::of_near(rows.saturating_mul(row.runs().count())))
}
