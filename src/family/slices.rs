//! Slices along an axis: gather and scatter.

use super::{Kind, Plan, batch_dims_of, check_batch};
use crate::arguments::resolve_axis;
use crate::error::{Error, Result};
use crate::index::Policy;
use crate::memory::{Axes, Indices};

impl Plan {
    /// The plan of `gather`.
    pub(crate) fn read_slices(
        data: &[usize],
        indices: &Indices<'_>,
        axis: i128,
        batch_dims: i128,
        policy: Option<Policy>,
    ) -> Result<Self> {
        Self::slices(data, indices.shape(), axis, batch_dims)?.for_gather(policy, data, indices)
    }

    /// Each index selects a slice along `axis`; data and indices share the first
    /// `batch_dims` dimensions.
    #[inline(always)]
    pub(crate) fn slices(
        data: &[usize],
        indices: &[usize],
        axis: i128,
        batch_dims: i128,
    ) -> Result<Self> {
        let axis = resolve_axis(axis, data.len())?;
        let batch_dims = resolve_batch_dims(batch_dims, data, indices, axis)?;
        Ok(Plan {
            kind: Kind::Slices,
            data_rank: data.len(),
            batch_dims,
            selected: axis..axis + 1,
            policy: Policy::Refuse,
            before: axis,
            entries: batch_dims..indices.len(),
            behind: axis + 1,
        })
    }

    /// Names the axes of `listed[b.., p.., i.., r..]` and
    /// `data[b.., p.., indices[b.., i..], r..]`.
    pub(super) fn name_slices(&self, axes: &mut Axes<'_>) {
        (0..self.batch_dims).for_each(|_| axes.all());
        (self.batch_dims..self.before).for_each(|_| axes.shared());
        axes.select();
        self.entries.clone().for_each(|_| axes.entries());
        (self.behind..self.data_rank).for_each(|_| axes.shared());
    }
}

#[inline(always)]
fn resolve_batch_dims(
    given: i128,
    data: &[usize],
    indices: &[usize],
    axis: usize,
) -> Result<usize> {
    let (data_rank, indices_rank) = (data.len(), indices.len());
    let Some(batch_dims) = batch_dims_of(given, indices_rank, data_rank.min(indices_rank)) else {
        return Err(Error::BatchDimsOutOfRange { batch_dims: given, data_rank, indices_rank });
    };
    if batch_dims > axis {
        return Err(Error::BatchDimsBeyondAxis { batch_dims, axis });
    }
    check_batch(batch_dims, data, indices)?;
    Ok(batch_dims)
}
