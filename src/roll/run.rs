//! How a roll runs: what depends on types.

use std::mem;

use ndarray::{Array, ArrayRef, Dimension, Zip};
use smallvec::{SmallVec, smallvec};

use super::plan;
use crate::arguments::{IntoAxes, IntoShifts};
use crate::error::{Error, Result};
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
    laid_out(data, &shifts, data.as_slice_memory_order().map(|_| data.strides()))
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

/// Rolls into `out`.
pub(super) fn into<A, D, O>(
    data: &ArrayRef<A, D>,
    shifts: &impl IntoShifts,
    axes: &impl IntoAxes,
    out: &mut ArrayRef<A, O>,
) -> Result<()>
where
    A: Clone + Send + Sync,
    D: Dimension,
    O: Dimension,
{
    let shifts = plan::shifts(data.shape(), shifts, axes)?;
    if out.shape() != data.shape() {
        return Err(Error::OutShapeMismatch {
            expected: data.shape().to_vec(),
            actual: out.shape().to_vec(),
        });
    }
    if const { mem::needs_drop::<A>() } {
        let shape = out.raw_dim();
        let references =
            filled(shape, None, |out| Ok(Transfer::references(data, None, out).roll(&shifts)))?;
        Zip::from(out).and(&references).for_each(|slot, element| slot.clone_from(element));
    } else {
        Transfer::over(data, None, out).roll(&shifts);
    }
    Ok(())
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
