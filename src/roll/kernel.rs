//! How a roll moves memory.

use std::mem::{self, MaybeUninit};

use ndarray::{Array, ArrayRef, ArrayView, ArrayViewMut, Dimension, Zip};

use super::plan::Plan;
use crate::args::{IntoAxes, IntoShifts};
use crate::error::{Error, Result};
use crate::memory::output::{Pages, Written, overwritable};
use crate::memory::{Borrowed, Cloned, Output, Take, roll, roll_inplace};
use crate::parallel;

/// Bytes from which on a second thread gives more than it costs.
const GRAIN: usize = 1 << 20;

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
    let plan = Plan::new(data.shape(), shifts, axes)?;
    if mem::needs_drop::<A>() {
        Ok(output::<A, Borrowed, D>(&plan, &data.view())?.map(|element| A::clone(element)))
    } else {
        output::<A, Cloned, D>(&plan, &data.view())
    }
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
    let plan = Plan::new(data.shape(), shifts, axes)?;
    if out.shape() != data.shape() {
        return Err(Error::OutShapeMismatch {
            expected: data.shape().to_vec(),
            actual: out.shape().to_vec(),
        });
    }
    if mem::needs_drop::<A>() {
        let references = output::<A, Borrowed, D>(&plan, &data.view())?;
        let slots = out.view_mut().into_dyn();
        Zip::from(slots)
            .and(&references.view().into_dyn())
            .for_each(|slot, element| slot.clone_from(element));
    } else {
        fill::<A, Cloned, D, O>(
            &plan,
            &data.view(),
            overwritable(out.view_mut()),
            &Written::default(),
            Pages::Mapped,
        );
    }
    Ok(())
}

/// Rolls the array itself.
pub(super) fn inplace<A, D>(
    data: &mut ArrayRef<A, D>,
    shifts: &impl IntoShifts,
    axes: &impl IntoAxes,
) -> Result<()>
where
    A: Send + Sync,
    D: Dimension,
{
    let plan = Plan::new(data.shape(), shifts, axes)?;
    if data.is_empty() {
        return Ok(());
    }
    let loops = plan.rows(data.shape(), data.strides(), size_of::<A>());
    let mut data = data.view_mut();
    let roll = roll_inplace::Roll::new(&loops, &mut data);
    parallel::run(roll.whole()?, GRAIN);
    Ok(())
}

/// The result in a new array, laid out like `data` where that has no gaps.
fn output<'a, A, X, D>(plan: &Plan, data: &ArrayView<'a, A, D>) -> Result<Array<X::Out, D>>
where
    A: Sync,
    X: Take<'a, A>,
    D: Dimension,
{
    let layout = data.as_slice_memory_order().map(|_| data.strides());
    laid_out::<A, X, D>(plan, data, layout)
}

/// A copy in standard layout: a roll over no axes.
pub(crate) fn standard_copy<A, D>(data: &ArrayRef<A, D>) -> Result<Array<A, D>>
where
    A: Clone + Send + Sync,
    D: Dimension,
{
    let plan = Plan::unmoved(data.ndim());
    if mem::needs_drop::<A>() {
        Ok(laid_out::<A, Borrowed, D>(&plan, &data.view(), None)?.map(|element| A::clone(element)))
    } else {
        laid_out::<A, Cloned, D>(&plan, &data.view(), None)
    }
}

/// The result in a new array with axes in the order that `layout` has them, or
/// in standard layout.
fn laid_out<'a, A, X, D>(
    plan: &Plan,
    data: &ArrayView<'a, A, D>,
    layout: Option<&[isize]>,
) -> Result<Array<X::Out, D>>
where
    A: Sync,
    X: Take<'a, A>,
    D: Dimension,
{
    let mut output = Output::<X::Out, D>::new(data.raw_dim(), layout)?;
    let written = Written::default();
    let pages = output.pages();
    fill::<A, X, D, D>(plan, data, output.view_mut(), &written, pages);
    Ok(output.filled(&written))
}

fn fill<'a, A, X, D, O>(
    plan: &Plan,
    data: &ArrayView<'a, A, D>,
    mut output: ArrayViewMut<'_, MaybeUninit<X::Out>, O>,
    written: &Written,
    pages: Pages,
) where
    A: Sync,
    X: Take<'a, A>,
    D: Dimension,
    O: Dimension,
{
    if output.is_empty() {
        return;
    }
    let loops = plan.loops(data.shape(), [output.strides(), data.strides()]);
    let roll = roll::Roll::<A, X>::new(&loops, data, &mut output, written, pages);
    parallel::run(roll.whole(), GRAIN);
}
