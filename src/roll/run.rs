//! Runs a roll: the code that is generic over the types of elements and dimensions.

use std::mem;

use ndarray::{Array, ArrayRef, Dimension};

use super::plan;
use crate::arguments::{IntoAxes, IntoShifts, OutputArray};
use crate::error::{Error, Result};
use crate::family::fill;
use crate::memory::{Filled, Transfer, cloned, filled};

/// Returns the rolled array, in the memory order of `data` where `data` is contiguous, else in
/// standard layout.
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
    let contiguous = if data.is_standard_layout() { None } else { data.as_slice_memory_order() };
    laid_out(data, Some(shifts), contiguous.map(|_| data.strides()))
}

/// Returns a copy in standard layout: a roll along no axes.
pub(crate) fn standard_copy<A, D>(data: &ArrayRef<A, D>) -> Result<Array<A, D>>
where
    A: Clone + Send + Sync,
    D: Dimension,
{
    laid_out(data, None, None)
}

/// Returns a copy whose axes have the same order in memory: a roll along no axes.
pub(crate) fn copy_in_order<A, D>(data: &ArrayRef<A, D>) -> Result<Array<A, D>>
where
    A: Clone + Send + Sync,
    D: Dimension,
{
    laid_out(data, None, (!data.is_standard_layout()).then_some(data.strides()))
}

/// Copies `from` to `to`, an array of the same shape. Elements need no dropping.
pub(crate) fn copy_over<A, D>(from: &ArrayRef<A, D>, to: &mut ArrayRef<A, D>)
where
    A: Clone + Send + Sync,
    D: Dimension,
{
    Transfer::over(from, None, to).copy();
}

/// Writes the rolled array into `out`.
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

/// Returns a copy of `data`, rolled where there are `shifts`: in the memory order of an array with
/// these `strides`, or without them in standard layout.
fn laid_out<A, D>(
    data: &ArrayRef<A, D>,
    shifts: Option<&[usize]>,
    strides: Option<&[isize]>,
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
            filled(shape, strides, |out| Ok(run(Transfer::references(data, None, out), shifts)));
        cloned(&references?)
    } else {
        filled(shape, strides, |out| Ok(run(Transfer::new(data, None, out), shifts)))
    }
}
