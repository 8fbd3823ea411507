//! Checking all indices before anything is written.

use ndarray::{ArrayView, Dimension};

use crate::args::IndexInteger;
use crate::error::{Error, Result};

/// Refuses indices outside `-axis_len..=axis_len - 1`, naming the first in
/// row-major order.
pub(crate) fn check<I: IndexInteger, Q: Dimension>(
    indices: &ArrayView<'_, I, Q>,
    axis: usize,
    axis_len: usize,
) -> Result<()> {
    let inside = |index: &I| index.position(axis_len) < axis_len as u64;
    let all_inside = match indices.as_slice_memory_order() {
        Some(slice) => slice
            .chunks(1 << 12)
            .all(|part| part.iter().fold(true, |all, index| all & inside(index))),
        None => indices.iter().all(inside),
    };
    if all_inside {
        return Ok(());
    }
    Err(first_outside(indices, axis, axis_len))
}

/// The error for the first index out of bounds, of which there is one.
#[cold]
pub(crate) fn first_outside<I: IndexInteger, Q: Dimension>(
    indices: &ArrayView<'_, I, Q>,
    axis: usize,
    axis_len: usize,
) -> Error {
    let outside = |(_, index): &(usize, &I)| index.position(axis_len) >= axis_len as u64;
    let (at, index) = match indices.iter().enumerate().find(outside) {
        Some((at, index)) => (at, index.value()),
        None => (0, 0),
    };
    let mut position = vec![0; indices.ndim()];
    let mut rest = at;
    for (slot, &len) in position.iter_mut().zip(indices.shape()).rev() {
        *slot = rest % len;
        rest /= len;
    }
    Error::IndexOutOfBounds { index, position, axis, len: axis_len }
}
