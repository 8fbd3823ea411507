//! What a gather means: all checks, and which axes run together.

use ndarray::Dimension;

use super::Gather;
use crate::arguments::resolve_axis;
use crate::error::{Error, Result};
use crate::index::{OutOfBounds, Policy};
use crate::memory::{Axes, Filled, Gathering, Indices, Transfer};

/// A gather that cannot fail any more, but for its indices.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    axis: usize,
    axis_len: usize,
    batch_dims: usize,
    indices_rank: usize,
    data_rank: usize,
    policy: Policy,
}

impl Plan {
    pub(super) fn new<A>(
        data: &[usize],
        indices: &[usize],
        attributes: &Gather<A>,
    ) -> Result<Self> {
        let axis = resolve_axis(attributes.axis, data.len())?;
        let batch_dims = batch_dims(attributes.batch_dims, data, indices, axis)?;
        let policy = match &attributes.out_of_bounds {
            OutOfBounds::Error => Policy::Refuse,
            OutOfBounds::Fill(_) => Policy::Skip,
            OutOfBounds::Skip => return Err(Error::SkipInGather),
            OutOfBounds::Clip => Policy::Clip,
            OutOfBounds::Wrap => Policy::Wrap,
        };
        Ok(Plan {
            axis,
            axis_len: data[axis],
            batch_dims,
            indices_rank: indices.len(),
            data_rank: data.len(),
            policy: policy.on_axis(axis, data[axis], indices)?,
        })
    }

    /// The shape of the result, in a dimension type of its rank.
    pub(super) fn output<O: Dimension>(&self, data: &[usize], indices: &[usize]) -> O {
        let mut shape = O::zeros(self.data_rank - 1 + self.indices_rank - self.batch_dims);
        for (slot, &len) in shape.slice_mut().iter_mut().zip(self.lengths(data, indices)) {
            *slot = len;
        }
        shape
    }

    fn lengths<'s>(
        &self,
        data: &'s [usize],
        indices: &'s [usize],
    ) -> impl Iterator<Item = &'s usize> {
        data[..self.axis].iter().chain(&indices[self.batch_dims..]).chain(&data[self.axis + 1..])
    }

    pub(super) fn check_output(
        &self,
        data: &[usize],
        indices: &[usize],
        out: &[usize],
    ) -> Result<()> {
        if self.lengths(data, indices).eq(out) {
            return Ok(());
        }
        Err(Error::OutShapeMismatch {
            expected: self.lengths(data, indices).copied().collect(),
            actual: out.to_vec(),
        })
    }

    /// Copies slices to an output of the result's shape. After an error it may
    /// have been written to, unless `untouched` asks that it be not.
    pub(super) fn run<'id>(
        &self,
        transfer: Transfer<'_, 'id>,
        indices: Indices<'_>,
        untouched: bool,
    ) -> Result<Filled<'id>> {
        let selected = [(self.axis, self.axis_len)];
        if transfer.to().is_empty() && self.policy == Policy::Refuse {
            indices.check(&selected, false)?;
        }
        let gathering = Gathering::new(transfer, indices);
        let filled = gathering.run(self.policy, untouched, |axes| self.name(axes));
        filled.ok_or_else(|| indices.first_outside(&selected, false))
    }

    /// `output[b.., p.., i.., r..] = data[b.., p.., indices[b.., i..], r..]`
    fn name(&self, axes: &mut Axes<'_>) {
        (0..self.batch_dims).for_each(|_| axes.all());
        (self.batch_dims..self.axis).for_each(|_| axes.shared());
        axes.select();
        (self.batch_dims..self.indices_rank).for_each(|_| axes.entries());
        (self.axis + 1..self.data_rank).for_each(|_| axes.shared());
    }
}

fn batch_dims(given: i64, data: &[usize], indices: &[usize], axis: usize) -> Result<usize> {
    let (data_rank, indices_rank) = (data.len(), indices.len());
    let given = i128::from(given);
    let from_front = if given < 0 { given + indices_rank as i128 } else { given };
    if !(0..=data_rank.min(indices_rank) as i128).contains(&from_front) {
        return Err(Error::BatchDimsOutOfRange { batch_dims: given, data_rank, indices_rank });
    }
    let batch_dims = from_front as usize;
    if batch_dims > axis {
        return Err(Error::BatchDimsBeyondAxis { batch_dims, axis });
    }
    if data[..batch_dims] != indices[..batch_dims] {
        return Err(Error::BatchShapeMismatch {
            batch_dims,
            data: data.to_vec(),
            indices: indices.to_vec(),
        });
    }
    Ok(batch_dims)
}
