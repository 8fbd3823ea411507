//! How a scatter of elements runs: what depends on types.

use ndarray::{Array, ArrayRef, ArrayView, Dimension};

use super::ScatterElements;
use super::plan::Plan;
use crate::error::Result;
use crate::index::IndexInteger;
use crate::memory::{Indices, Scattering};
use crate::reduction::{self, ReduceElement, Reduction};
use crate::roll::standard_copy;

/// A copy of the data with updates written over it.
pub(super) fn overwrite_returned<A, D, I, Q, U>(
    data: &ArrayRef<A, D>,
    indices: &ArrayView<'_, I, Q>,
    updates: &ArrayView<'_, A, U>,
    attributes: &ScatterElements,
) -> Result<Array<A, D>>
where
    A: Clone + Send + Sync,
    D: Dimension,
    I: IndexInteger,
    Q: Dimension,
    U: Dimension,
{
    let plan = Plan::new(data.shape(), indices.shape(), updates.shape(), attributes)?;
    let (mut target, indices) = (standard_copy(data)?, Indices::of(indices));
    plan.run(Scattering::overwrite(&mut target, updates, indices), indices, false)?;
    Ok(target)
}

/// Writes updates over the target.
pub(super) fn overwrite_inplace<A, D, I, Q, U>(
    target: &mut ArrayRef<A, D>,
    indices: &ArrayView<'_, I, Q>,
    updates: &ArrayView<'_, A, U>,
    attributes: &ScatterElements,
) -> Result<()>
where
    A: Clone + Send + Sync,
    D: Dimension,
    I: IndexInteger,
    Q: Dimension,
    U: Dimension,
{
    let plan = Plan::new(target.shape(), indices.shape(), updates.shape(), attributes)?;
    let indices = Indices::of(indices);
    plan.run(Scattering::overwrite(target, updates, indices), indices, true)
}

/// A copy of the data with updates reduced into it.
pub(super) fn reduce_returned<A, D, I, Q, U>(
    data: &ArrayRef<A, D>,
    indices: &ArrayView<'_, I, Q>,
    updates: &ArrayView<'_, A, U>,
    attributes: &ScatterElements,
) -> Result<Array<A, D>>
where
    A: ReduceElement,
    D: Dimension,
    I: IndexInteger,
    Q: Dimension,
    U: Dimension,
{
    reduction::check::<A>(attributes.reduction)?;
    let plan = Plan::new(data.shape(), indices.shape(), updates.shape(), attributes)?;
    let (mut target, indices) = (standard_copy(data)?, Indices::of(indices));
    let (reduction, init) = (attributes.reduction, attributes.use_init_val);
    let scattering = Scattering::reduce(&mut target, updates, indices, reduction, init);
    plan.run(scattering, indices, false)?;
    Ok(target)
}

/// Reduces updates into the target.
pub(super) fn reduce_inplace<A, D, I, Q, U>(
    target: &mut ArrayRef<A, D>,
    indices: &ArrayView<'_, I, Q>,
    updates: &ArrayView<'_, A, U>,
    attributes: &ScatterElements,
) -> Result<()>
where
    A: ReduceElement,
    D: Dimension,
    I: IndexInteger,
    Q: Dimension,
    U: Dimension,
{
    reduction::check::<A>(attributes.reduction)?;
    let plan = Plan::new(target.shape(), indices.shape(), updates.shape(), attributes)?;
    let indices = Indices::of(indices);
    let (reduction, init) = (attributes.reduction, attributes.use_init_val);
    // To copy a target there and back may cost less than to look at so many
    // indices before the first is used.
    let small = reduction != Reduction::Mean && indices.outweigh(target.len() * size_of::<A>());
    if let Some(mut copy) = small.then(|| standard_copy(target).ok()).flatten() {
        let scattering = Scattering::reduce(&mut copy, updates, indices, reduction, init);
        plan.run(scattering, indices, false)?;
        target.assign(&copy);
        return Ok(());
    }
    plan.run(Scattering::reduce(target, updates, indices, reduction, init), indices, true)
}
