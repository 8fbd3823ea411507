//! The part of a gather that depends on types.

use std::mem;

use ndarray::{Array, ArrayRef, Dimension, Zip};

use super::Plan;
use super::work_copy::Arrays;
use crate::arguments::{Output, OutputArray};
use crate::error::{Error, Result};
use crate::index::{OutOfBounds, Policy};
use crate::memory::{Filled, Indices, Refused, Transfer, cloned, filled};
use crate::parallel;

/// The attributes of a gather.
pub(crate) trait Reads<A> {
    /// The checked plan for data of this shape and these indices.
    fn plan(&self, data: &[usize], indices: &Indices<'_>) -> Result<Plan>;
    /// What to do with indices out of bounds.
    fn mode(&self) -> &OutOfBounds<A>;
}

/// Gathers the elements that indices select to a new array.
pub(crate) fn read<A, D, O>(
    attributes: &dyn Reads<A>,
    data: &ArrayRef<A, D>,
    indices: &Indices<'_>,
) -> Result<Array<A, O>>
where
    A: Clone + Send + Sync,
    D: Dimension,
    O: Dimension,
{
    let _call = parallel::Call::begin();
    let plan = &checked_plan(attributes, data.shape(), indices);
    let plan = plan.as_ref().map_err(Error::clone)?;
    let shape: O = plan.shape(data.shape(), indices.shape());
    let indices = &plan.of_rows(indices);
    let copy = plan.copy_of_data(data, || Arrays::of_shape(data, shape.slice(), 1));
    let data = copy.as_deref().unwrap_or(data);
    transferred(data, fill_value(attributes.mode()), shape, None, |transfer| {
        plan.read(&transfer, indices, false)
    })
}

/// Gathers the elements that indices select to an array of the caller's.
pub(crate) fn read_into<A, D, O>(
    attributes: &dyn Reads<A>,
    data: &ArrayRef<A, D>,
    indices: &Indices<'_>,
    out: &mut O,
) -> Result<()>
where
    A: Clone + Send + Sync,
    D: Dimension,
    O: OutputArray<A> + ?Sized,
{
    let _call = parallel::Call::begin();
    let plan = &checked_plan(attributes, data.shape(), indices);
    let plan = plan.as_ref().map_err(Error::clone)?;
    plan.check_output(data.shape(), indices.shape(), out.lengths())?;
    let indices = &plan.of_rows(indices);
    // Indices are checked before `output` copies a shared array: an error must not cost a copy.
    let checked = out.is_copied();
    if checked {
        plan.check_indices(data.shape(), indices)?;
    }
    let copy = plan.copy_of_data(data, || match out.output() {
        Output::Values(out) => Arrays::new(data, out),
        Output::Slots(out) => Arrays::new(data, out),
    });
    let data = copy.as_deref().unwrap_or(data);
    fill(data, fill_value(attributes.mode()), out.output(), |transfer, untouched| {
        plan.read(&transfer, indices, untouched && !checked)
    })
}

/// The plan of a gather. Refuses an `IndexPlan` that skips indices where the attributes have no
/// value to fill with.
fn checked_plan<A>(
    attributes: &dyn Reads<A>,
    data: &[usize],
    indices: &Indices<'_>,
) -> Result<Plan> {
    let skips = indices.positions().is_some_and(|made| made.policy() == Policy::Skip);
    if skips && fill_value(attributes.mode()).is_none() {
        let call = attributes.mode().reading().ok_or(Error::SkipInGather)?;
        return Err(Error::PlanOutOfBounds { plan: Policy::Skip.name(), call: call.name() });
    }
    attributes.plan(data, indices)
}

/// The value that is gathered by indices out of bounds, if there is one.
#[inline]
fn fill_value<A>(mode: &OutOfBounds<A>) -> Option<&A> {
    match mode {
        OutOfBounds::Fill(value) => Some(value),
        _ => None,
    }
}

/// A new array of this shape, with strides as those of [`filled`], which `run` fills by a transfer from
/// `data`. Elements that need dropping are cloned after that: the transfer is one of references.
#[inline]
pub(crate) fn transferred<A, D, O>(
    data: &ArrayRef<A, D>,
    fill: Option<&A>,
    shape: O,
    strides: Option<&[isize]>,
    run: impl for<'t, 'id> FnOnce(Transfer<'t, 'id>) -> Result<Filled<'id>>,
) -> Result<Array<A, O>>
where
    A: Clone + Send + Sync,
    D: Dimension,
    O: Dimension,
{
    if const { mem::needs_drop::<A>() } {
        cloned(shape, strides, |out| run(Transfer::references(data, fill, out)))
    } else {
        filled(shape, strides, |out| run(Transfer::new(data, fill, out)))
    }
}

/// Fills an array of the caller's by a transfer from `data`. `run` runs the transfer; its second
/// argument is whether an error must leave the array untouched.
pub(crate) fn fill<A, D, O>(
    data: &ArrayRef<A, D>,
    fill: Option<&A>,
    out: Output<'_, A, O>,
    run: impl for<'t, 'id> FnOnce(Transfer<'t, 'id>, bool) -> Result<Filled<'id>>,
) -> Result<()>
where
    A: Clone + Send + Sync,
    D: Dimension,
    O: Dimension,
{
    if const { mem::needs_drop::<A>() } {
        let shape = match &out {
            Output::Values(out) => out.raw_dim(),
            Output::Slots(out) => out.raw_dim(),
        };
        let references =
            filled(shape, None, |out| run(Transfer::references(data, fill, out), false))?;
        match out {
            Output::Values(out) => {
                Zip::from(out).and(&references).for_each(|slot, element| slot.clone_from(element));
            }
            Output::Slots(out) => Zip::from(out).and(&references).for_each(|slot, element| {
                slot.write(A::clone(element));
            }),
        }
    } else {
        match out {
            Output::Values(out) => Transfer::over(data, fill, out, |over| run(over, true))?,
            Output::Slots(out) => Transfer::uninit(data, fill, out, |over| run(over, false))?,
        };
    }
    Ok(())
}

impl Plan {
    /// Runs the transfer of a gather. After an error the output may have been written to, unless
    /// `untouched`.
    fn read<'id>(
        &self,
        transfer: &Transfer<'_, 'id>,
        indices: &Indices<'_>,
        untouched: bool,
    ) -> Result<Filled<'id>> {
        let data = transfer.from().shape();
        let filled = match transfer.gather_few(indices, self.policy, self.named()) {
            Some(filled) => filled,
            None => {
                // There is nothing to gather, but indices out of bounds are refused all the same.
                if transfer.to().is_empty() {
                    self.check_indices(data, indices)?;
                }
                transfer.gather(indices, self.policy, untouched, |axes| self.name(axes))
            }
        };
        filled.map_err(|Refused| self.first_outside(data, indices))
    }
}
