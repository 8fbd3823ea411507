//! How a scatter runs: what depends on types.

use std::mem;

use ndarray::{Array, ArrayRef, ArrayView, Dimension, IxDyn};

use super::{Kind, Plan};
use crate::arguments::{AsArrayMut, AsArrayRef};
use crate::error::{Error, Result};
use crate::index::Policy;
use crate::memory::{Folding, Indices, Kernels, Scattering};
use crate::reduction::{self, Combining, Reduction};
use crate::roll::{copy_over, standard_copy};

/// The attributes of a scatter.
pub(crate) trait Writes {
    /// The checked plan for data and updates of these shapes and these indices, which may be
    /// those of a plan.
    fn plan(&self, data: &[usize], indices: &Indices<'_>, updates: &[usize]) -> Result<Plan>;
    /// What becomes of targets and their updates.
    fn combining(&self) -> &Combining;
}

/// A copy of the data with updates combined into it.
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
    let combining = attributes.combining();
    let kernels = reduction::of::<A>(combining.reduction)?;
    let plan = &attributes.plan(data.shape(), indices, updates.shape());
    let plan = plan.as_ref().map_err(Error::clone)?;
    let mut made = standard_copy(data);
    let Ok(target) = &mut made else { return made };
    let indices = &plan.of_rows(indices);
    let written = Written { plan, indices, untouched: false };
    written.combine(target, updates, kernels, combining)?;
    made
}

/// Combines updates with the target.
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
    let combining = attributes.combining();
    let kernels = reduction::of::<T::Elem>(combining.reduction)?;
    let shape = target.as_array().shape();
    let plan = &attributes.plan(shape, indices, updates.shape());
    let plan = plan.as_ref().map_err(Error::clone)?;
    let indices = &plan.of_rows(indices);
    // Elements without a size take time to copy all the same.
    let bytes = target.as_array().len().saturating_mul(size_of::<T::Elem>().max(1));
    let discards = const { !mem::needs_drop::<T::Elem>() }
        && combining.reduction != Reduction::Mean
        && plan.refuses()
        && indices.outweigh(bytes);
    if discards {
        // To copy a target there and back costs less than to look at so many
        // indices before the first is used.
        if let Ok(mut copy) = standard_copy(target.as_array()) {
            let written = Written { plan, indices, untouched: false };
            written.combine(&mut copy, updates, kernels, combining)?;
            copy_over(&copy, target.as_array_mut());
            return Ok(());
        }
    }
    let (target, untouched) = plan.own(target, indices)?;
    Written { plan, indices, untouched }.combine(target, updates, kernels, combining)
}

/// Changes the target by a function of the caller's.
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
    let shape = target.as_array().shape();
    let plan = &attributes.plan(shape, indices, updates.shape());
    let plan = plan.as_ref().map_err(Error::clone)?;
    let indices = &plan.of_rows(indices);
    let (target, untouched) = plan.own(target, indices)?;
    let folding = Folding::new(fold);
    let written = Written { plan, indices, untouched };
    match plan.one_for_all(target.shape(), indices, updates)? {
        Some(updates) => written.run(&Scattering::fold(target, &updates, indices, &folding)),
        None => written.run(&Scattering::fold(target, updates, indices, &folding)),
    }
}

/// The array of a receiver.
type Elements<T> = ArrayRef<<T as AsArrayRef>::Elem, <T as AsArrayRef>::Dim>;

impl Plan {
    fn refuses(&self) -> bool {
        self.policy == Policy::Refuse
    }

    /// Indices of elements that each repeat along a row select the row.
    #[inline]
    fn of_rows<'i>(&self, indices: &Indices<'i>) -> Indices<'i> {
        if self.kind == Kind::Elements && self.selected.end < self.indices_rank {
            return indices.of_rows(self.selected.start);
        }
        *indices
    }

    /// The target to write to, and whether an error must still leave it
    /// untouched. One that is shared is copied where nothing can fail any more.
    fn own<'t, T: AsArrayMut + ?Sized>(
        &self,
        target: &'t mut T,
        indices: &Indices<'_>,
    ) -> Result<(&'t mut Elements<T>, bool)> {
        let checked = target.may_be_shared();
        if checked {
            self.check_indices(target.as_array().shape(), indices)?;
        }
        Ok((target.as_array_mut(), !checked))
    }

    /// A view of a single value in the shape of all updates, with stride 0;
    /// nothing where there is an update for every place.
    fn one_for_all<'u, A, U: Dimension>(
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
            // More places than a view can have.
            None => Err(Error::SizeOverflow {
                shape: shape.slice().to_vec(),
                element_size: size_of::<A>(),
            }),
        }
    }
}

/// A scatter whose types do not matter any more.
struct Written<'p> {
    plan: &'p Plan,
    indices: &'p Indices<'p>,
    untouched: bool,
}

impl Written<'_> {
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
        match self.plan.one_for_all(target.shape(), self.indices, updates)? {
            Some(updates) => self.combine_each(target, &updates, kernels, combining),
            None => self.combine_each(target, updates, kernels, combining),
        }
    }

    /// With an update for every place.
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
        let how = (combining.reduction, combining.use_init_val);
        let indices = self.indices;
        match kernels {
            Some(kernels) => self.run(&Scattering::reduce(target, updates, indices, kernels, how)),
            None => self.run(&Scattering::overwrite(target, updates, indices)),
        }
    }

    /// Combines updates with their targets.
    fn run(&self, scattering: &Scattering<'_>) -> Result<()> {
        let Written { plan, indices, untouched } = *self;
        if scattering.target().is_empty() {
            // Indices may be left where all are skipped.
            return plan.check_indices(scattering.target().shape(), indices);
        }
        let data = scattering.target().shape();
        let all = match scattering.run_few(plan.policy, plan.named()) {
            Some(all) => all,
            None => scattering.run(plan.policy, untouched, |axes| plan.name(axes))?,
        };
        if all { Ok(()) } else { Err(plan.first_outside(data, indices)) }
    }
}
