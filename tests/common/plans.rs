//! Plans of the indices of a call.

use ndarray::{ArrayViewD, IxDyn};
use opkernels::{IndexPlan, OutOfBounds, Result};

use super::oracle::Kind;
use super::value::Index;

/// The plan that serves a call, where the call has axes to select along.
pub(crate) fn plan_of<I: Index>(
    kind: Kind,
    data: &[usize],
    indices: &ArrayViewD<'_, I>,
    mode: OutOfBounds,
) -> Option<Result<IndexPlan<IxDyn>>> {
    let from_front = |number: i128, rank: usize| {
        usize::try_from(if number < 0 { number + rank as i128 } else { number }).ok()
    };
    match kind {
        Kind::Slices { axis, .. } | Kind::Elements { axis } => {
            let len = *data.get(from_front(axis, data.len())?)?;
            Some(IndexPlan::with(indices, len, mode))
        }
        Kind::Tuples { batch_dims } => {
            let batch_dims = from_front(batch_dims, indices.ndim())?;
            let numbers = *indices.shape().last()?;
            let lens = data.get(batch_dims..batch_dims.checked_add(numbers)?)?;
            if lens.is_empty() {
                return None;
            }
            // Those of equal axes need not be told apart.
            if lens.iter().all(|len| *len == lens[0]) && data.len().is_multiple_of(2) {
                return Some(IndexPlan::with(indices, lens[0], mode));
            }
            Some(IndexPlan::tuples(indices, lens, mode))
        }
    }
}
