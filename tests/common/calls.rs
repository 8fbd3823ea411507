//! The calls of the family by the kind of their indices: the one place of the
//! tests that knows how each is written.

use std::mem::MaybeUninit;

use ndarray::{ArrayD, ArrayViewD, ArrayViewMutD, IxDyn};
use opkernels::{
    AsIndices, Gather, GatherElements, GatherElementsExt, GatherExt, GatherNd, GatherNdExt,
    OutOfBounds, Result, Scatter, ScatterElements, ScatterElementsExt, ScatterExt, ScatterNd,
    ScatterNdExt,
};

use super::oracle::{Kind, Reducing};
use super::pools::here_and_on_pools;
use super::reduce::{Reduce, settled};
use super::value::{Value, assert_same};

/// Whatever is gathered, in a new array.
pub(crate) fn read<A: Value, I: AsIndices<Dim = IxDyn> + ?Sized>(
    kind: Kind,
    data: &ArrayViewD<'_, A>,
    indices: &I,
    mode: OutOfBounds<A>,
) -> Result<ArrayD<A>> {
    match kind {
        Kind::Slices { axis, batch_dims } => {
            let slices = Gather::along(axis as i64).batch_dims(batch_dims as i64);
            data.gather_with(indices, slices.out_of_bounds(mode))
        }
        Kind::Elements { axis } => {
            let elements = GatherElements::along(axis as i64).out_of_bounds(mode);
            data.gather_elements_with(indices, elements)
        }
        Kind::Tuples { batch_dims } => {
            let tuples = GatherNd::new().batch_dims(batch_dims as i64);
            data.gather_nd_with(indices, tuples.out_of_bounds(mode))
        }
    }
}

/// The same told by no more than an axis.
pub(crate) fn read_plainly<A: Value, I: AsIndices<Dim = IxDyn> + ?Sized>(
    kind: Kind,
    data: &ArrayViewD<'_, A>,
    indices: &I,
) -> Result<ArrayD<A>> {
    match kind {
        Kind::Slices { axis, .. } => data.gather(indices, axis as i64),
        Kind::Elements { axis } => data.gather_elements(indices, axis as i64),
        Kind::Tuples { .. } => data.gather_nd(indices),
    }
}

/// The same into an array.
pub(crate) fn read_into<A: Value, I: AsIndices<Dim = IxDyn> + ?Sized>(
    kind: Kind,
    data: &ArrayViewD<'_, A>,
    indices: &I,
    mode: OutOfBounds<A>,
    out: &mut ArrayViewMutD<'_, A>,
) -> Result<()> {
    match kind {
        Kind::Slices { axis, batch_dims } => {
            let slices = Gather::along(axis as i64).batch_dims(batch_dims as i64);
            data.gather_into(indices, slices.out_of_bounds(mode), out)
        }
        Kind::Elements { axis } => {
            let elements = GatherElements::along(axis as i64).out_of_bounds(mode);
            data.gather_elements_into(indices, elements, out)
        }
        Kind::Tuples { batch_dims } => {
            let tuples = GatherNd::new().batch_dims(batch_dims as i64);
            data.gather_nd_into(indices, tuples.out_of_bounds(mode), out)
        }
    }
}

/// The same into an array that is not initialised.
pub(crate) fn read_into_uninit<A: Value, I: AsIndices<Dim = IxDyn> + ?Sized>(
    kind: Kind,
    data: &ArrayViewD<'_, A>,
    indices: &I,
    mode: OutOfBounds<A>,
    out: &mut ArrayViewMutD<'_, MaybeUninit<A>>,
) -> Result<()> {
    match kind {
        Kind::Slices { axis, batch_dims } => {
            let slices = Gather::along(axis as i64).batch_dims(batch_dims as i64);
            data.gather_into(indices, slices.out_of_bounds(mode), out)
        }
        Kind::Elements { axis } => {
            let elements = GatherElements::along(axis as i64).out_of_bounds(mode);
            data.gather_elements_into(indices, elements, out)
        }
        Kind::Tuples { batch_dims } => {
            let tuples = GatherNd::new().batch_dims(batch_dims as i64);
            data.gather_nd_into(indices, tuples.out_of_bounds(mode), out)
        }
    }
}

/// A copy of data with updates reduced into it.
pub(crate) fn reduced<A: Reduce, I: AsIndices<Dim = IxDyn> + ?Sized>(
    kind: Kind,
    data: &ArrayViewD<'_, A>,
    indices: &I,
    updates: &ArrayViewD<'_, A>,
    how: &Reducing,
) -> Result<ArrayD<A>> {
    let &Reducing { reduction, use_init_val, mode } = how;
    match kind {
        Kind::Slices { axis, batch_dims } => {
            let slices = Scatter::along(axis as i64).batch_dims(batch_dims as i64);
            let slices = slices.reduction(reduction).use_init_val(use_init_val);
            data.scatter_with(indices, updates, slices.out_of_bounds(mode))
        }
        Kind::Elements { axis } => {
            let elements = ScatterElements::along(axis as i64);
            let elements = elements.reduction(reduction).use_init_val(use_init_val);
            data.scatter_elements_with(indices, updates, elements.out_of_bounds(mode))
        }
        Kind::Tuples { .. } => {
            let tuples = ScatterNd::new().reduction(reduction).use_init_val(use_init_val);
            data.scatter_nd_with(indices, updates, tuples.out_of_bounds(mode))
        }
    }
}

/// The same in place.
pub(crate) fn reduce<A: Reduce, I: AsIndices<Dim = IxDyn> + ?Sized>(
    kind: Kind,
    target: &mut ArrayViewMutD<'_, A>,
    indices: &I,
    updates: &ArrayViewD<'_, A>,
    how: &Reducing,
) -> Result<()> {
    let &Reducing { reduction, use_init_val, mode } = how;
    match kind {
        Kind::Slices { axis, batch_dims } => {
            let slices = Scatter::along(axis as i64).batch_dims(batch_dims as i64);
            let slices = slices.reduction(reduction).use_init_val(use_init_val);
            target.scatter_inplace(indices, updates, slices.out_of_bounds(mode))
        }
        Kind::Elements { axis } => {
            let elements = ScatterElements::along(axis as i64);
            let elements = elements.reduction(reduction).use_init_val(use_init_val);
            target.scatter_elements_inplace(indices, updates, elements.out_of_bounds(mode))
        }
        Kind::Tuples { .. } => {
            let tuples = ScatterNd::new().reduction(reduction).use_init_val(use_init_val);
            target.scatter_nd_inplace(indices, updates, tuples.out_of_bounds(mode))
        }
    }
}

/// Compares a reduction in place into a copy of `data`, here and on pools, with what is `expected` of it, which is
/// [`settled`].
pub(crate) fn assert_reduced<A: Reduce, I: AsIndices<Dim = IxDyn> + Sync + ?Sized>(
    kind: Kind,
    data: &ArrayD<A>,
    indices: &I,
    updates: &ArrayViewD<'_, A>,
    how: &Reducing,
    expected: &ArrayD<A>,
) {
    here_and_on_pools(|| {
        let mut target = data.clone();
        reduce(kind, &mut target.view_mut(), indices, updates, how).unwrap();
        assert_same(&settled(how.reduction, &target), expected);
    });
}

/// A copy of data with updates written over it, of any `Clone` type.
pub(crate) fn overwritten<A: Value, I: AsIndices<Dim = IxDyn> + ?Sized>(
    kind: Kind,
    data: &ArrayViewD<'_, A>,
    indices: &I,
    updates: &ArrayViewD<'_, A>,
    mode: OutOfBounds,
) -> Result<ArrayD<A>> {
    match kind {
        Kind::Slices { axis, batch_dims } => {
            let slices = Scatter::along(axis as i64).batch_dims(batch_dims as i64);
            data.scatter_with(indices, updates, slices.out_of_bounds(mode))
        }
        Kind::Elements { axis } => {
            let elements = ScatterElements::along(axis as i64).out_of_bounds(mode);
            data.scatter_elements_with(indices, updates, elements)
        }
        Kind::Tuples { .. } => {
            data.scatter_nd_with(indices, updates, ScatterNd::new().out_of_bounds(mode))
        }
    }
}

/// The same told by no more than an axis.
pub(crate) fn overwritten_plainly<A: Value, I: AsIndices<Dim = IxDyn> + ?Sized>(
    kind: Kind,
    data: &ArrayViewD<'_, A>,
    indices: &I,
    updates: &ArrayViewD<'_, A>,
) -> Result<ArrayD<A>> {
    match kind {
        Kind::Slices { axis, .. } => data.scatter(indices, updates, axis as i64),
        Kind::Elements { axis } => data.scatter_elements(indices, updates, axis as i64),
        Kind::Tuples { .. } => data.scatter_nd(indices, updates),
    }
}

/// The same in place.
pub(crate) fn overwrite<A: Value, I: AsIndices<Dim = IxDyn> + ?Sized>(
    kind: Kind,
    target: &mut ArrayViewMutD<'_, A>,
    indices: &I,
    updates: &ArrayViewD<'_, A>,
    mode: OutOfBounds,
) -> Result<()> {
    match kind {
        Kind::Slices { axis, batch_dims } => {
            let slices = Scatter::along(axis as i64).batch_dims(batch_dims as i64);
            target.scatter_inplace(indices, updates, slices.out_of_bounds(mode))
        }
        Kind::Elements { axis } => {
            let elements = ScatterElements::along(axis as i64).out_of_bounds(mode);
            target.scatter_elements_inplace(indices, updates, elements)
        }
        Kind::Tuples { .. } => {
            target.scatter_nd_inplace(indices, updates, ScatterNd::new().out_of_bounds(mode))
        }
    }
}

/// The same told by no more than an axis.
pub(crate) fn overwrite_plainly<A: Value, I: AsIndices<Dim = IxDyn> + ?Sized>(
    kind: Kind,
    target: &mut ArrayViewMutD<'_, A>,
    indices: &I,
    updates: &ArrayViewD<'_, A>,
) -> Result<()> {
    match kind {
        Kind::Slices { axis, .. } => target.scatter_inplace(indices, updates, axis as i64),
        Kind::Elements { axis } => target.scatter_elements_inplace(indices, updates, axis as i64),
        Kind::Tuples { .. } => target.scatter_nd_inplace(indices, updates, ScatterNd::new()),
    }
}

/// Calls `f` for every update and its target.
pub(crate) fn fold<A: Value, U: Value, I: AsIndices<Dim = IxDyn> + ?Sized>(
    kind: Kind,
    target: &mut ArrayViewMutD<'_, A>,
    indices: &I,
    updates: &ArrayViewD<'_, U>,
    mode: OutOfBounds,
    f: impl Fn(&mut A, &U) + Sync,
) -> Result<()> {
    match kind {
        Kind::Slices { axis, batch_dims } => {
            let slices = Scatter::along(axis as i64).batch_dims(batch_dims as i64);
            target.scatter_fold(indices, updates, slices.out_of_bounds(mode), f)
        }
        Kind::Elements { axis } => {
            let elements = ScatterElements::along(axis as i64).out_of_bounds(mode);
            target.scatter_elements_fold(indices, updates, elements, f)
        }
        Kind::Tuples { .. } => {
            target.scatter_nd_fold(indices, updates, ScatterNd::new().out_of_bounds(mode), f)
        }
    }
}
