//! How a gather runs: what depends on types.

use std::mem;

use ndarray::{Array, ArrayRef, ArrayView, Dimension, Zip};

use super::Gather;
use super::plan::Plan;
use crate::error::Result;
use crate::index::{IndexInteger, OutOfBounds};
use crate::memory::{Indices, Transfer, cloned, filled};

/// The gathered array.
pub(super) fn returned<A, D, I, Q, O>(
    data: &ArrayRef<A, D>,
    indices: &ArrayView<'_, I, Q>,
    attributes: &Gather<A>,
) -> Result<Array<A, O>>
where
    A: Clone + Send + Sync,
    D: Dimension,
    I: IndexInteger,
    Q: Dimension,
    O: Dimension,
{
    let plan = Plan::new(data.shape(), indices.shape(), attributes)?;
    let shape: O = plan.output(data.shape(), indices.shape());
    let (indices, fill) = (Indices::of(indices), value(attributes));
    if const { mem::needs_drop::<A>() } {
        cloned(&references(&plan, data, indices, fill, shape)?)
    } else {
        filled(shape, None, |out| plan.run(Transfer::new(data, fill, out), indices, false))
    }
}

/// Gathers into `out`.
pub(super) fn into<A, D, I, Q, O>(
    data: &ArrayRef<A, D>,
    indices: &ArrayView<'_, I, Q>,
    attributes: &Gather<A>,
    out: &mut ArrayRef<A, O>,
) -> Result<()>
where
    A: Clone + Send + Sync,
    D: Dimension,
    I: IndexInteger,
    Q: Dimension,
    O: Dimension,
{
    let plan = Plan::new(data.shape(), indices.shape(), attributes)?;
    plan.check_output(data.shape(), indices.shape(), out.shape())?;
    let (indices, fill) = (Indices::of(indices), value(attributes));
    if const { mem::needs_drop::<A>() } {
        let references = references(&plan, data, indices, fill, out.raw_dim())?;
        Zip::from(out).and(&references).for_each(|slot, element| slot.clone_from(element));
    } else {
        plan.run(Transfer::over(data, fill, out), indices, true)?;
    }
    Ok(())
}

/// What fills slices that indices out of bounds select, if anything.
fn value<A>(attributes: &Gather<A>) -> Option<&A> {
    match &attributes.out_of_bounds {
        OutOfBounds::Fill(value) => Some(value),
        _ => None,
    }
}

/// Where the elements of the result are.
fn references<'a, A: Sync, D: Dimension, O: Dimension>(
    plan: &Plan,
    data: &'a ArrayRef<A, D>,
    indices: Indices<'_>,
    fill: Option<&'a A>,
    shape: O,
) -> Result<Array<&'a A, O>> {
    filled(shape, None, |out| plan.run(Transfer::references(data, fill, out), indices, false))
}
