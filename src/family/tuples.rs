//! Tuples of indices: gather_nd and scatter_nd.

use super::{Kind, Plan, batch_dims_of, check_batch};
use crate::error::{Error, Result};
use crate::index::Policy;
use crate::memory::{Axes, Indices};

impl Plan {
    /// The plan of `gather_nd`.
    pub(crate) fn read_tuples(
        data: &[usize],
        indices: &Indices<'_>,
        batch_dims: i128,
        policy: Option<Policy>,
    ) -> Result<Self> {
        Self::tuples(data, indices.shape(), batch_dims)?.for_gather(policy, data, indices)
    }

    /// The last axis of the indices holds tuples. Each number of a tuple selects along one axis of
    /// the data, the first along the axis after the first `batch_dims`.
    #[inline(always)]
    pub(crate) fn tuples(data: &[usize], indices: &[usize], batch_dims: i128) -> Result<Self> {
        let (data_rank, indices_rank) = (data.len(), indices.len());
        let Some((&numbers, entries)) = indices.split_last() else {
            return Err(Error::NoTuples);
        };
        // At least one axis is left to select along.
        let max = data_rank.saturating_sub(1).min(entries.len());
        let Some(batch_dims) = batch_dims_of(batch_dims, indices_rank, max) else {
            return Err(Error::TupleBatchDimsOutOfRange { batch_dims, data_rank, indices_rank });
        };
        if !(1..=data_rank - batch_dims).contains(&numbers) {
            return Err(Error::TupleLengthOutOfRange { len: numbers, data_rank, batch_dims });
        }
        check_batch(batch_dims, data, indices)?;
        let behind = batch_dims + numbers;
        Ok(Plan {
            kind: Kind::Tuples,
            data_rank,
            batch_dims,
            selected: batch_dims..behind,
            policy: Policy::Refuse,
            before: 0,
            entries: 0..entries.len(),
            behind,
        })
    }

    /// Names the axes of `listed[b.., i.., r..]` and `data[b.., indices[b.., i..].., r..]`.
    pub(super) fn name_tuples(&self, axes: &mut Axes<'_>) {
        (0..self.batch_dims).for_each(|_| axes.all());
        self.selected.clone().for_each(|_| axes.select());
        (self.batch_dims..self.entries.end).for_each(|_| axes.entries());
        axes.tuple();
        (self.behind..self.data_rank).for_each(|_| axes.shared());
    }
}
