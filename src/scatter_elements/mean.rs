//! Means of whole rows: where indices repeat along other axes, the target holds
//! its own sums, and one count serves a row.

use ndarray::{Array, ArrayViewMut, Axis, Dimension, IxDyn, Slice, Zip};

use super::kernel::{Call, Check, Sum};
use crate::args::IndexInteger;
use crate::error::{Error, Result};
use crate::reduce::ReduceElement;

impl<A, I, Q, U> Call<'_, A, I, Q, U>
where
    A: ReduceElement,
    I: IndexInteger,
    Q: Dimension,
    U: Dimension,
{
    /// Averages updates into the target by summing and dividing in place, row
    /// by row along the axis `across`.
    pub(super) fn mean_of_rows<D: Dimension>(
        &self,
        mut target: ArrayViewMut<'_, A, D>,
        across: usize,
        init: bool,
        check: Check,
    ) -> Result<()> {
        self.check(check)?;
        let mut counts = self.room_for_counts(&target)?;
        self.count(counts.view_mut())?;
        self.with_start(target.view_mut(), init, A::ZERO, Sum, Check::Done)?;
        for dim in (0..target.ndim()).filter(|&dim| dim != self.plan.axis) {
            target.slice_axis_inplace(Axis(dim), Slice::from(..self.updates.shape()[dim]));
        }
        let counts = counts.index_axis(Axis(across), 0);
        Zip::from(target.into_dyn().lanes_mut(Axis(across))).and_broadcast(&counts).for_each(
            |mut row, &count| {
                if count != 0 {
                    let count = count + u64::from(init);
                    row.map_inplace(|sum| *sum = A::mean(sum.mean_start(), count));
                }
            },
        );
        Ok(())
    }

    /// The axis along which elements of a row lie closest, where rows are worth
    /// it and dividing all of them costs less than sorting the updates.
    pub(super) fn axis_across<D: Dimension>(
        &self,
        target: &ArrayViewMut<'_, A, D>,
    ) -> Option<usize> {
        /// Shorter rows do not pay for counting apart.
        const WIDE: usize = 4;
        let (axis, shape) = (self.plan.axis, self.updates.shape());
        if self.updates.is_empty() || target.is_empty() {
            return None;
        }
        let across = (0..shape.len())
            .filter(|&dim| self.repeats(dim) && shape[dim] >= WIDE)
            .min_by_key(|&dim| target.strides()[dim].unsigned_abs())?;
        let serves = A::MEAN_IS_SUM && self.plan.axis_len / 4 <= shape[axis];
        serves.then_some(across)
    }

    /// Whether indices are the same all along an axis.
    fn repeats(&self, dim: usize) -> bool {
        let one = self.indices.shape()[dim] < self.updates.shape()[dim];
        dim != self.plan.axis && (one || self.indices.strides()[dim] == 0)
    }

    /// A zero for each element of the target along the axis and along those
    /// where indices differ.
    fn room_for_counts<D: Dimension>(
        &self,
        target: &ArrayViewMut<'_, A, D>,
    ) -> Result<Array<u64, IxDyn>> {
        let mut shape = self.updates.raw_dim().into_dyn();
        for dim in 0..target.ndim() {
            if dim == self.plan.axis {
                shape[dim] = self.plan.axis_len;
            } else if self.repeats(dim) {
                shape[dim] = 1;
            }
        }
        let (mut zeros, len) = (Vec::new(), shape.size());
        let bytes = len.saturating_mul(size_of::<u64>());
        zeros.try_reserve_exact(len).map_err(|_| Error::AllocationFailed { bytes })?;
        zeros.resize(len, 0);
        let refused = |_| Error::AllocationFailed { bytes };
        Array::from_shape_vec(shape, zeros).map_err(refused)
    }

    /// Counts the updates of each row: a sum of ones at one index a row.
    fn count(&self, counts: ArrayViewMut<'_, u64, IxDyn>) -> Result<()> {
        let mut indices = self.indices.view().into_dyn();
        for dim in (0..indices.ndim()).filter(|&dim| self.repeats(dim)) {
            indices.collapse_axis(Axis(dim), 0);
        }
        let one = ndarray::arr0(1).into_dyn();
        let updates = one.broadcast(indices.raw_dim()).ok_or_else(|| Error::SizeOverflow {
            shape: indices.shape().to_vec(),
            element_size: size_of::<u64>(),
        })?;
        Call { plan: self.plan, indices, updates }.apply(counts, Sum, Check::Done)
    }
}
