//! What a scatter means: all checks, and the loops that do it.

use std::cmp::Reverse;

use smallvec::SmallVec;

use super::ScatterElements;
use crate::args::resolve_axis;
use crate::error::{Error, Result};
use crate::geometry::{Dim, Nest};
use crate::memory::positions::Mode;
use crate::memory::scatter::Loops;
use crate::out_of_bounds::OutOfBounds;

/// A scatter that cannot fail any more, but for its indices.
///
/// Invariants, established by [`Plan::new`]:
/// 1. `axis < data.rank == indices.rank == updates.rank`.
/// 2. `indices.shape == updates.shape`; off the axis no length exceeds that of
///    the data.
/// 3. With `Clip` or `Wrap`, the axis is not empty or there are no indices.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) axis: usize,
    pub(super) axis_len: usize,
    pub(super) mode: Mode,
}

impl Plan {
    pub(super) fn new(
        data: &[usize],
        indices: &[usize],
        updates: &[usize],
        attributes: &ScatterElements,
    ) -> Result<Self> {
        let axis = resolve_axis(attributes.axis, data.len())?;
        if indices.len() != data.len() {
            return Err(Error::RankMismatch { data: data.len(), indices: indices.len() });
        }
        if indices != updates {
            return Err(Error::UpdatesShapeMismatch {
                indices: indices.to_vec(),
                updates: updates.to_vec(),
            });
        }
        let too_long = |&dim: &usize| dim != axis && indices[dim] > data[dim];
        if let Some(dim) = (0..data.len()).find(too_long) {
            return Err(Error::IndicesTooLong {
                data: data.to_vec(),
                indices: indices.to_vec(),
                axis,
                dim,
            });
        }
        let axis_len = data[axis];
        let mode = match attributes.out_of_bounds {
            OutOfBounds::Error => Mode::Refuse,
            OutOfBounds::Fill(never) => match never {},
            OutOfBounds::Skip => Mode::Nowhere,
            OutOfBounds::Clip => Mode::Clip,
            OutOfBounds::Wrap => Mode::Wrap,
        };
        if axis_len == 0 && matches!(mode, Mode::Clip | Mode::Wrap) && !indices.contains(&0) {
            let mode = if mode == Mode::Clip { "clip" } else { "wrap" };
            return Err(Error::EmptyAxis { mode, axis });
        }
        Ok(Plan { axis, axis_len, mode })
    }

    /// The loops over indices, updates and target.
    ///
    /// Lanes are independent of each other, so that the loops over them may
    /// run in the order in which the target lies in memory. Those that lie
    /// closer in memory than the elements of one lane run inside the loop
    /// along the axis.
    /// Indices of length 1 along an axis after the scattered one repeat there.
    pub(super) fn loops(
        &self,
        indices: (&[usize], &[isize]),
        updates: (&[usize], &[isize]),
        target: &[isize],
    ) -> Loops {
        let (axis, shape) = (self.axis, updates.0);
        let strides = |dim: usize| {
            let repeats = indices.0[dim] < shape[dim];
            [if repeats { 0 } else { indices.1[dim] }, updates.1[dim], target[dim]]
        };
        let mut lanes = Nest::default();
        let off_axis = (0..shape.len()).filter(|&dim| dim != axis);
        let inward = |&dim: &usize| Reverse(target[dim].unsigned_abs());
        if off_axis.clone().is_sorted_by_key(|dim| inward(&dim)) {
            off_axis.for_each(|dim| lanes.push(shape[dim], strides(dim)));
        } else {
            let mut dims: SmallVec<[usize; 6]> = off_axis.collect();
            dims.sort_by_key(inward);
            dims.iter().for_each(|&dim| lanes.push(shape[dim], strides(dim)));
        }
        let along = Dim { len: shape[axis], strides: strides(axis) };
        let closer = |dim: &Dim<3>| dim.strides[2].unsigned_abs() < along.strides[2].unsigned_abs();
        let lanes_innermost = lanes.dims().last().is_some_and(closer);
        let second = lanes.take_innermost();
        let first = match lanes.dims().last() {
            Some(dim) if lanes_innermost && closer(dim) => lanes.take_innermost(),
            _ => Dim::ONCE,
        };
        let axis_len = self.axis_len;
        Loops { around: lanes, lanes: [first, second], along, lanes_innermost, axis_len }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The loops of a scatter along `axis`, with indices, updates and target of
    /// one shape.
    fn loops(axis: i64, shape: &[usize], strides: &[isize]) -> Loops {
        let plan = Plan::new(shape, shape, shape, &ScatterElements::along(axis)).unwrap();
        plan.loops((shape, strides), (shape, strides), strides)
    }

    fn lengths(loops: &Loops) -> (usize, [usize; 2], usize) {
        (loops.around.len(), loops.lanes.map(|dim| dim.len), loops.along.len)
    }

    #[test]
    fn lanes_side_by_side_run_inside_the_loop_along_the_axis() {
        let across = loops(0, &[3, 4], &[4, 1]);
        assert!(across.lanes_innermost);
        assert_eq!(lengths(&across), (1, [1, 4], 3));
        let along = loops(1, &[3, 4], &[4, 1]);
        assert!(!along.lanes_innermost);
        assert_eq!(lengths(&along), (1, [1, 3], 4));
    }

    #[test]
    fn two_loops_over_lanes_run_inside_where_both_are_closer() {
        let gaps = [100, 10, 1];
        assert_eq!(lengths(&loops(0, &[3, 4, 5], &gaps)), (1, [4, 5], 3));
        assert_eq!(lengths(&loops(1, &[3, 4, 5], &gaps)), (3, [1, 5], 4));
        assert_eq!(lengths(&loops(2, &[3, 4, 5], &gaps)), (3, [1, 4], 5));
    }
}
