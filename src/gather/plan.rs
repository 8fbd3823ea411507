//! What a gather means: all checks, and the loops that do it.

use ndarray::Dimension;

use super::Gather;
use crate::args::resolve_axis;
use crate::error::{Error, Result};
use crate::geometry::{Dim, Nest};
use crate::memory::gather::Loops;
use crate::memory::positions::Mode;
use crate::out_of_bounds::OutOfBounds;

/// A gather that cannot fail any more, but for its indices.
///
/// Invariants, established by [`Plan::new`]:
/// 1. `axis < data.rank`, `batch_dims <= axis`, `batch_dims <= indices.rank`.
/// 2. The first `batch_dims` lengths of data and indices are equal.
/// 3. With `Clip` or `Wrap`, the axis is not empty or there are no indices.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) axis: usize,
    batch_dims: usize,
    pub(super) axis_len: usize,
    pub(super) mode: Mode,
}

impl Plan {
    pub(super) fn new<A>(
        data: &[usize],
        indices: &[usize],
        attributes: &Gather<A>,
    ) -> Result<Self> {
        let axis = resolve_axis(attributes.axis, data.len())?;
        let batch_dims = batch_dims(attributes.batch_dims, data, indices, axis)?;
        let axis_len = data[axis];
        let needs_axis = |mode| {
            if axis_len == 0 && !indices.contains(&0) {
                return Err(Error::EmptyAxis { mode, axis });
            }
            Ok(())
        };
        let mode = match &attributes.out_of_bounds {
            OutOfBounds::Error => Mode::Refuse,
            OutOfBounds::Fill(_) => Mode::Nowhere,
            OutOfBounds::Skip => return Err(Error::SkipInGather),
            OutOfBounds::Clip => needs_axis("clip").map(|()| Mode::Clip)?,
            OutOfBounds::Wrap => needs_axis("wrap").map(|()| Mode::Wrap)?,
        };
        Ok(Plan { axis, batch_dims, axis_len, mode })
    }

    /// The lengths of the result.
    pub(super) fn output_lengths<'s>(
        &self,
        data: &'s [usize],
        indices: &'s [usize],
    ) -> impl Iterator<Item = &'s usize> {
        data[..self.axis].iter().chain(&indices[self.batch_dims..]).chain(&data[self.axis + 1..])
    }

    /// The shape of the result, in a dimension type of its rank.
    pub(super) fn output_shape<O: Dimension>(&self, data: &[usize], indices: &[usize]) -> O {
        let mut shape = O::zeros(data.len() - 1 + indices.len() - self.batch_dims);
        for (slot, &len) in shape.slice_mut().iter_mut().zip(self.output_lengths(data, indices)) {
            *slot = len;
        }
        shape
    }

    /// The loops over data, indices and output where all three are in standard
    /// layout: every group of axes is one loop.
    pub(super) fn standard_loops(&self, data: &[usize], indices: &[usize]) -> Loops {
        let Plan { axis, batch_dims, axis_len, .. } = *self;
        let product = |lengths: &[usize]| lengths.iter().product::<usize>();
        let (batch, outer) = (product(&data[..batch_dims]), product(&data[batch_dims..axis]));
        let (row, inner) = (product(&indices[batch_dims..]), product(&data[axis + 1..]));
        let stride = |elements: usize| elements as isize;
        let (data_block, output_block) = (stride(axis_len * inner), stride(row * inner));
        let outer_len = stride(outer);
        Loops {
            around: Nest::default(),
            batch: Dim {
                len: batch,
                strides: [outer_len * data_block, stride(row), outer_len * output_block],
            },
            outer: Dim { len: outer, strides: [data_block, output_block] },
            row: Dim { len: row, strides: [1, stride(inner)] },
            inner: Dim { len: inner, strides: [1, 1] },
            axis_len,
            axis_stride: stride(inner),
        }
    }

    /// The loops over data, indices and an output of the result's shape.
    pub(super) fn loops(
        &self,
        data: (&[usize], &[isize]),
        indices: (&[usize], &[isize]),
        output: &[isize],
    ) -> Loops {
        let Plan { axis, batch_dims, .. } = *self;
        let row_dims = indices.0.len() - batch_dims;
        let (mut batch, mut outer, mut row, mut inner) =
            (Nest::default(), Nest::default(), Nest::default(), Nest::default());
        for k in 0..batch_dims {
            batch.push(data.0[k], [data.1[k], indices.1[k], output[k]]);
        }
        for k in batch_dims..axis {
            outer.push(data.0[k], [data.1[k], output[k]]);
        }
        for k in 0..row_dims {
            row.push(indices.0[batch_dims + k], [indices.1[batch_dims + k], output[axis + k]]);
        }
        for k in axis + 1..data.0.len() {
            inner.push(data.0[k], [data.1[k], output[k - 1 + row_dims]]);
        }
        let core = (
            batch.take_longest(),
            outer.take_longest(),
            row.take_longest(),
            inner.take_innermost(),
        );
        Loops {
            around: around(&batch, &outer, &row, &inner),
            batch: core.0,
            outer: core.1,
            row: core.2,
            inner: core.3,
            axis_len: self.axis_len,
            axis_stride: data.1[axis],
        }
    }
}

/// The loops that did not merge, with strides for data, indices and output.
fn around(batch: &Nest<3>, outer: &Nest<2>, row: &Nest<2>, inner: &Nest<2>) -> Nest<3> {
    let mut around = Nest::default();
    let data_output = |dim: &Dim<2>| (dim.len, [dim.strides[0], 0, dim.strides[1]]);
    let indices_output = |dim: &Dim<2>| (dim.len, [0, dim.strides[0], dim.strides[1]]);
    let dims = batch
        .dims()
        .iter()
        .map(|dim| (dim.len, dim.strides))
        .chain(outer.dims().iter().map(data_output))
        .chain(row.dims().iter().map(indices_output))
        .chain(inner.dims().iter().map(data_output));
    for (len, strides) in dims {
        around.push(len, strides);
    }
    around
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
