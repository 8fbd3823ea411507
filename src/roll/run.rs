//! How a roll runs: what depends on types.

use std::mem;

use ndarray::{Array, ArrayRef, Dimension};

use super::plan;
use crate::arguments::{IntoAxes, IntoShifts, OutputArray};
use crate::error::{Error, Result};
use crate::family::fill;
use crate::memory::{Filled, Transfer, cloned, filled};

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
    let shifts = &plan::shifts(data.shape(), shifts, axes);
    let shifts = shifts.as_ref().map_err(Error::clone)?;
    let layout = if data.is_standard_layout() { None } else { data.as_slice_memory_order() };
    laid_out(data, Some(shifts), layout.map(|_| data.strides()))
}

/// A copy in standard layout: a roll over no axes.
pub(crate) fn standard_copy<A, D>(data: &ArrayRef<A, D>) -> Result<Array<A, D>>
where
    A: Clone + Send + Sync,
    D: Dimension,
{
    laid_out(data, None, None)
}

/// Copies over an array of the same shape, of elements that need no dropping.
pub(crate) fn copy_over<A, D>(from: &ArrayRef<A, D>, to: &mut ArrayRef<A, D>)
where
    A: Clone + Send + Sync,
    D: Dimension,
{
    Transfer::over(from, None, to).copy();
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
    let shifts = &plan::shifts(data.shape(), shifts, axes);
    let shifts = shifts.as_ref().map_err(Error::clone)?;
    if out.lengths() != data.shape() {
        return Err(Error::OutShapeMismatch {
            expected: data.shape().to_vec(),
            actual: out.lengths().to_vec(),
        });
    }
    fill(data, None, out.output(), |transfer, _| Ok(transfer.roll(shifts)))
}

/// The data, rolled if by anything, in a new array with axes in the order that
/// `layout` has them, or in standard layout.
fn laid_out<A, D>(
    data: &ArrayRef<A, D>,
    shifts: Option<&[usize]>,
    layout: Option<&[isize]>,
) -> Result<Array<A, D>>
where
    A: Clone + Send + Sync,
    D: Dimension,
{
    fn run<'id>(transfer: Transfer<'_, 'id>, shifts: Option<&[usize]>) -> Filled<'id> {
        match shifts {
            Some(shifts) => transfer.roll(shifts),
            None => transfer.copy(),
        }
    }
    let shape = data.raw_dim();
    if const { mem::needs_drop::<A>() } {
        let references =
            filled(shape, layout, |out| Ok(run(Transfer::references(data, None, out), shifts)));
        cloned(&references?)
    } else {
        filled(shape, layout, |out| Ok(run(Transfer::new(data, None, out), shifts)))
    }
}
