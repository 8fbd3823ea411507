//! How a roll runs: what depends on types.

use std::mem;

use ndarray::{Array, ArrayRef, Dimension};
use smallvec::{SmallVec, smallvec};

use super::plan;
use crate::arguments::{IntoAxes, IntoShifts, OutputArray};
use crate::error::{Error, Result};
use crate::family::fill;
use crate::memory::{Transfer, cloned, filled};

/// The rolled array.
pub(super) fn returned<A, D>(
    data: &ArrayRef<A, D>,
    shifts: &impl IntoShifts,
    axes: &impl IntoAxes,
) -> Result<Array<A, D>>
where
    A: Clone + Send + Sync,
    D: Dimension,
{
    let shifts = plan::shifts(data.shape(), shifts, axes)?;
    let layout = if data.is_standard_layout() { None } else { data.as_slice_memory_order() };
    laid_out(data, &shifts, layout.map(|_| data.strides()))
}

/// A copy in standard layout: a roll over no axes.
pub(crate) fn standard_copy<A, D>(data: &ArrayRef<A, D>) -> Result<Array<A, D>>
where
    A: Clone + Send + Sync,
    D: Dimension,
{
    let shifts: SmallVec<[usize; 6]> = smallvec![0; data.ndim()];
    laid_out(data, &shifts, None)
}

/// Copies over an array of the same shape, of elements that need no dropping.
pub(crate) fn copy_over<A, D>(from: &ArrayRef<A, D>, to: &mut ArrayRef<A, D>)
where
    A: Clone + Send + Sync,
    D: Dimension,
{
    let shifts: SmallVec<[usize; 6]> = smallvec![0; from.ndim()];
    Transfer::over(from, None, to).roll(&shifts);
}

/// Rolls into `out`.
pub(super) fn into<A, D, O>(
    data: &ArrayRef<A, D>,
    shifts: &impl IntoShifts,
    axes: &impl IntoAxes,
    out: &mut O,
) -> Result<()>
where
    A: Clone + Send + Sync,
    D: Dimension,
    O: OutputArray<A> + ?Sized,
{
    let shifts = plan::shifts(data.shape(), shifts, axes)?;
    if out.lengths() != data.shape() {
        return Err(Error::OutShapeMismatch {
            expected: data.shape().to_vec(),
            actual: out.lengths().to_vec(),
        });
    }
    fill(data, None, out.output(), |transfer, _| Ok(transfer.roll(&shifts)))
}

/// The result in a new array with axes in the order that `layout` has them, or
/// in standard layout.
fn laid_out<A, D>(
    data: &ArrayRef<A, D>,
    shifts: &[usize],
    layout: Option<&[isize]>,
) -> Result<Array<A, D>>
where
    A: Clone + Send + Sync,
    D: Dimension,
{
    let shape = data.raw_dim();
    if const { mem::needs_drop::<A>() } {
        let references =
            filled(shape, layout, |out| Ok(Transfer::references(data, None, out).roll(shifts)));
        cloned(&references?)
    } else {
        filled(shape, layout, |out| Ok(Transfer::new(data, None, out).roll(shifts)))
    }
}
