//! What a roll means: all checks, and the loops that do it.

use smallvec::{SmallVec, smallvec};

use crate::args::{IntoAxes, IntoShifts, resolve_axis};
use crate::error::{Error, Result};
use crate::geometry::{RollDim, RollLoops};

/// The shift of every axis of an array, modulo its length.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    shifts: SmallVec<[usize; 6]>,
}

impl Plan {
    pub(super) fn new(
        shape: &[usize],
        shifts: &impl IntoShifts,
        axes: &impl IntoAxes,
    ) -> Result<Self> {
        let (given, count) = (shifts.count(), axes.count());
        if given != 1 && given != count {
            return Err(Error::ShiftCountMismatch { shifts: given, axes: count });
        }
        let mut sums: SmallVec<[usize; 6]> = smallvec![0; shape.len()];
        for at in 0..count {
            let axis = resolve_axis(axes.nth(at), shape.len())?;
            let len = shape[axis];
            if len == 0 {
                continue;
            }
            // Reduced before they are added, two shifts cannot overflow: a
            // length is at most `isize::MAX`.
            let shift = shifts.nth(if given == 1 { 0 } else { at });
            let sum = sums[axis] + shift.rem_euclid(len as i64) as usize;
            sums[axis] = if sum < len { sum } else { sum - len };
        }
        Ok(Plan { shifts: sums })
    }

    /// A roll of nothing.
    pub(super) fn unmoved(rank: usize) -> Self {
        Plan { shifts: smallvec![0; rank] }
    }

    /// The loops over `N` arrays of `shape`, in the order in which the first
    /// array lies in memory.
    pub(super) fn loops<const N: usize>(
        &self,
        shape: &[usize],
        strides: [&[isize]; N],
    ) -> RollLoops<N> {
        if strides[0].iter().all(|stride| *stride > 0) && strides[0].is_sorted_by(|a, b| a >= b) {
            // In order already, as most arrays are: small calls notice.
            let mut loops = RollLoops::at([0; N]);
            for (axis, &len) in shape.iter().enumerate().filter(|(_, len)| **len != 1) {
                let strides = strides.map(|strides| strides[axis]);
                loops.push(RollDim { len, shift: self.shifts[axis], strides });
            }
            return loops;
        }
        let (axes, origin) = self.in_memory_order(shape, strides);
        let mut loops = RollLoops::at(origin);
        axes.into_iter().for_each(|axis| loops.push(axis));
        loops
    }

    /// The loops over one array of elements of this size, where long rows that
    /// a roll sends on stay apart from the axis along which it sends them.
    pub(super) fn rows(
        &self,
        shape: &[usize],
        strides: &[isize],
        element_size: usize,
    ) -> RollLoops<1> {
        /// Bytes that are worth moving by themselves.
        const LONG: usize = 4 << 10;
        let (mut axes, origin) = self.in_memory_order(shape, [strides]);
        let mut loops = RollLoops::at(origin);
        // Axes that do not roll merge first, so that rows are what they are.
        axes.dedup_by(|inner, outer| {
            let merged = inner.shift == 0 && outer.shift == 0 && inner.continues(outer);
            if merged {
                *outer = RollDim { len: outer.len * inner.len, ..*inner };
            }
            merged
        });
        let long = LONG.div_ceil(element_size.max(1));
        axes.into_iter().for_each(|axis| loops.push_row(axis, long));
        loops
    }

    /// The axes sorted by the strides of the first array, all made positive,
    /// and where the first turn then starts in each array.
    fn in_memory_order<const N: usize>(
        &self,
        shape: &[usize],
        strides: [&[isize]; N],
    ) -> (SmallVec<[RollDim<N>; 6]>, [isize; N]) {
        let mut axes: SmallVec<[RollDim<N>; 6]> = SmallVec::new();
        let mut origin = [0; N];
        for (axis, &len) in shape.iter().enumerate().filter(|(_, len)| **len != 1) {
            let mut dim = RollDim {
                len,
                shift: self.shifts[axis],
                strides: std::array::from_fn(|k| strides[k][axis]),
            };
            if dim.strides[0] < 0 {
                // Walked from its other end, the axis runs with memory, and
                // the roll goes the other way.
                for k in 0..N {
                    origin[k] += (len - 1) as isize * dim.strides[k];
                    dim.strides[k] = -dim.strides[k];
                }
                dim.shift = (len - dim.shift) % len;
            }
            axes.push(dim);
        }
        let inward = |dim: &RollDim<N>| std::cmp::Reverse(dim.strides[0]);
        if !axes.is_sorted_by_key(inward) {
            axes.sort_by_key(inward);
        }
        (axes, origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loops(shape: &[usize], strides: &[isize], shifts: &[i64], axes: &[i32]) -> RollLoops<1> {
        Plan::new(shape, &shifts, &axes).unwrap().loops(shape, [strides])
    }

    #[test]
    fn a_roll_of_the_first_axis_is_a_roll_of_one_line() {
        let loops = loops(&[4, 3, 2], &[6, 2, 1], &[1], &[0]);
        assert_eq!(loops.dims[..], [RollDim { len: 24, shift: 6, strides: [1] }]);
    }

    #[test]
    fn a_rolled_inner_axis_stays_a_loop_of_its_own() {
        let loops = loops(&[4, 3, 2], &[6, 2, 1], &[1], &[1]);
        let outer = RollDim { len: 4, shift: 0, strides: [6] };
        assert_eq!(loops.dims[..], [outer, RollDim { len: 6, shift: 2, strides: [1] }]);
    }

    #[test]
    fn a_reversed_axis_is_walked_with_memory() {
        let loops = loops(&[5], &[-1], &[2], &[0]);
        assert_eq!(loops.origin, [-4]);
        assert_eq!(loops.dims[..], [RollDim { len: 5, shift: 3, strides: [1] }]);
    }

    #[test]
    fn axes_are_walked_in_the_order_of_memory() {
        let loops = loops(&[3, 4], &[1, 3], &[2], &[1]);
        assert_eq!(loops.dims[..], [RollDim { len: 12, shift: 6, strides: [1] }]);
    }

    #[test]
    fn long_rows_stay_apart_from_the_axis_that_sends_them() {
        let rows = |width: usize, shifts: &[i64]| {
            let plan = Plan::new(&[4, width], &shifts, &[0]).unwrap();
            plan.rows(&[4, width], &[width as isize, 1], 8).dims
        };
        let outer = |shift| RollDim { len: 4, shift, strides: [512] };
        let inner = RollDim { len: 512, shift: 0, strides: [1] };
        assert_eq!(rows(512, &[1])[..], [outer(1), inner]);
        assert_eq!(rows(511, &[1])[..], [RollDim { len: 2044, shift: 511, strides: [1] }]);
        assert_eq!(rows(512, &[0])[..], [RollDim { len: 2048, shift: 0, strides: [1] }]);
    }

    #[test]
    fn shifts_of_one_axis_add_up_without_overflow() {
        let plan = Plan::new(&[10], &[i64::MAX, i64::MAX], &[0, -1]).unwrap();
        assert_eq!(plan.shifts[..], [4]);
    }
}
