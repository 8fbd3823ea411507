//! The part of a scatter that depends on types.

use std::mem;

use ndarray::{Array, ArrayRef, ArrayView, Dimension, IxDyn};

use super::Plan;
use super::work_copy::{Arrays, lies_apart};
use crate::arguments::{AsArrayMut, AsArrayRef};
use crate::error::{Error, Result};
use crate::memory::{Failure, Fold, Indices, Kernels, Reducer, Scattering};
use crate::parallel;
use crate::reduction::{self, Combining};
use crate::roll::{copy_over, standard_copy};

/// The attributes of a scatter.
pub(crate) trait Writes {
    /// The checked plan for data and updates of these shapes and these indices.
    fn plan(&self, data: &[usize], indices: &Indices<'_>, updates: &[usize]) -> Result<Plan>;
    /// How updates are combined with their targets.
    fn combining(&self) -> &Combining;
}

/// Returns a copy of the data with updates combined into it.
pub(crate) fn write<A, D, U>(
    attributes: &dyn Writes,
    data: &ArrayRef<A, D>,
    indices: &Indices<'_>,
    updates: &ArrayView<'_, A, U>,
) -> Result<Array<A, D>>
where
    A: Clone + Send + Sync,
    D: Dimension,
    U: Dimension,
{
    let _call = parallel::Call::begin();
    let combining = attributes.combining();
    let kernels = reduction::of::<A>(combining.reduction)?;
    let plan = &attributes.plan(data.shape(), indices, updates.shape());
    let plan = plan.as_ref().map_err(Error::clone)?;
    let mut made = standard_copy(data);
    let Ok(target) = &mut made else { return made };
    let indices = &plan.of_rows(indices);
    let scatter = PlannedScatter { plan, indices, untouched: false };
    scatter.combine(target, updates, kernels, combining)?;
    made
}

/// Combines updates into the target in place.
pub(crate) fn write_inplace<T, U>(
    attributes: &dyn Writes,
    target: &mut T,
    indices: &Indices<'_>,
    updates: &ArrayView<'_, T::Elem, U>,
) -> Result<()>
where
    T: AsArrayMut<Elem: Clone + Send + Sync> + ?Sized,
    U: Dimension,
{
    let _call = parallel::Call::begin();
    let combining = attributes.combining();
    let kernels = reduction::of::<T::Elem>(combining.reduction)?;
    let shape = target.as_array().shape();
    let plan = &attributes.plan(shape, indices, updates.shape());
    let plan = plan.as_ref().map_err(Error::clone)?;
    let indices = &plan.of_rows(indices);
    let data = target.as_array();
    let discards = plan.discards::<T::Elem>(data.len(), indices, combining.reduction);
    if const { !mem::needs_drop::<T::Elem>() } && (discards || lies_apart(data)) {
        let arrays = Arrays::new(data, updates);
        let copy = plan.copy_to_write(&arrays, discards, (kernels, combining.reduction));
        if let Some(mut copy) = copy.and_then(|copy| copy.of(data)) {
            let scatter = PlannedScatter { plan, indices, untouched: false };
            scatter.combine(&mut copy, updates, kernels, combining)?;
            copy_over(&copy, target.as_array_mut());
            return Ok(());
        }
    }
    let (target, untouched) = plan.unshared(target, indices, updates)?;
    PlannedScatter { plan, indices, untouched }.combine(target, updates, kernels, combining)
}

/// Calls a function of the caller's with each target element and its update.
pub(crate) fn fold<T, V, U, F>(
    attributes: &dyn Writes,
    target: &mut T,
    indices: &Indices<'_>,
    updates: &ArrayView<'_, V, U>,
    fold: &F,
) -> Result<()>
where
    T: AsArrayMut<Elem: Send> + ?Sized,
    V: Sync,
    U: Dimension,
    F: Fn(&mut T::Elem, &V) + Sync,
{
    let _call = parallel::Call::begin();
    let shape = target.as_array().shape();
    let plan = &attributes.plan(shape, indices, updates.shape());
    let plan = plan.as_ref().map_err(Error::clone)?;
    let indices = &plan.of_rows(indices);
    let (target, untouched) = plan.unshared(target, indices, updates)?;
    let folding = Fold::new(fold);
    let scatter = PlannedScatter { plan, indices, untouched };
    match plan.broadcast_single(target.shape(), indices, updates)? {
        Some(updates) => scatter.run(&Scattering::fold(target, &updates, indices, &folding)),
        None => scatter.run(&Scattering::fold(target, updates, indices, &folding)),
    }
}

/// The ndarray reference type of a receiver.
type ArrayOf<T> = ArrayRef<<T as AsArrayRef>::Elem, <T as AsArrayRef>::Dim>;

impl Plan {
    /// The target to write to, and whether an error must still leave it untouched. If the target
    /// may be shared, indices and updates are checked before it is copied: an error must not cost a copy.
    fn unshared<'t, T: AsArrayMut + ?Sized, V, U: Dimension>(
        &self,
        target: &'t mut T,
        indices: &Indices<'_>,
        updates: &ArrayView<'_, V, U>,
    ) -> Result<(&'t mut ArrayOf<T>, bool)> {
        let checked = target.may_be_shared();
        if checked {
            let shape = target.as_array().shape();
            self.broadcast_single(shape, indices, updates)?;
            self.check_indices(shape, indices)?;
        }
        Ok((target.as_array_mut(), !checked))
    }

    /// A view of a single update, broadcast to the shape of all updates by strides of 0; `None`
    /// where updates are not a single value.
    fn broadcast_single<'u, A, U: Dimension>(
        &self,
        data: &[usize],
        indices: &Indices<'_>,
        updates: &'u ArrayView<'_, A, U>,
    ) -> Result<Option<ArrayView<'u, A, IxDyn>>> {
        if updates.ndim() > 0 {
            return Ok(None);
        }
        let shape: IxDyn = self.shape(data, indices.shape());
        match updates.broadcast(shape.clone()) {
            Some(updates) => Ok(Some(updates)),
            // The shape has more elements than ndarray allows for a view.
            None => Err(Error::SizeOverflow {
                shape: shape.slice().to_vec(),
                element_size: size_of::<A>(),
            }),
        }
    }
}

/// A checked scatter, independent of element types.
struct PlannedScatter<'p> {
    plan: &'p Plan,
    indices: &'p Indices<'p>,
    /// Whether an error must leave the target untouched.
    untouched: bool,
}

impl PlannedScatter<'_> {
    /// Combines updates, or a single one for all, with the target.
    fn combine<A, D, U>(
        &self,
        target: &mut ArrayRef<A, D>,
        updates: &ArrayView<'_, A, U>,
        kernels: Option<&'static Kernels>,
        combining: &Combining,
    ) -> Result<()>
    where
        A: Clone + Send + Sync,
        D: Dimension,
        U: Dimension,
    {
        match self.plan.broadcast_single(target.shape(), self.indices, updates)? {
            Some(updates) => self.combine_each(target, &updates, kernels, combining),
            None => self.combine_each(target, updates, kernels, combining),
        }
    }

    /// Combines updates with the target, one for each entry.
    fn combine_each<A, D, U>(
        &self,
        target: &mut ArrayRef<A, D>,
        updates: &ArrayView<'_, A, U>,
        kernels: Option<&'static Kernels>,
        combining: &Combining,
    ) -> Result<()>
    where
        A: Clone + Send + Sync,
        D: Dimension,
        U: Dimension,
    {
        let Combining { reduction, use_init_val: init, .. } = *combining;
        let indices = self.indices;
        match kernels {
            Some(kernels) => {
                let reducer = Reducer { kernels, reduction, init };
                self.run(&Scattering::reduce(target, updates, indices, reducer))
            }
            None => self.run(&Scattering::overwrite(target, updates, indices)),
        }
    }

    /// Runs a scatter; an error names the first index that is refused.
    fn run(&self, scattering: &Scattering<'_>) -> Result<()> {
        let PlannedScatter { plan, indices, untouched } = *self;
        let data = scattering.target().shape();
        let done = match scattering.run_few(plan.policy, plan.named()) {
            Some(done) => done.map_err(Failure::from),
            // There is nothing to combine, but indices out of bounds are refused all the same.
            None if scattering.target().is_empty() => return plan.check_indices(data, indices),
            None => scattering.run(plan.policy, untouched, |axes| plan.name(axes)),
        };
        done.map_err(|failure| failure.error(|| plan.first_outside(data, indices)))
    }
}
