//! opkernels itself.

use std::mem::MaybeUninit;

use ndarray::{Array, Array3, ArrayD, ArrayViewMut, Axis, DimAdd, Dimension, RemoveAxis};
use opkernels::{
    Gather, GatherElementsExt, GatherExt, GatherNd, GatherNdExt, Reduction, RollExt, Scatter,
    ScatterElements, ScatterElementsExt, ScatterExt, ScatterNd, ScatterNdExt,
};

use crate::way::{Way, alloc, into};
use crate::work::{GatherWork, RollWork, ScatterWork, TupleGather, TupleScatter};

fn read<T: Copy, D: Dimension>(array: &Array<T, D>) -> Vec<T> {
    array.iter().copied().collect()
}

/// Memory like the result's, its pages touched before.
fn blank<T: Copy + Send + Sync, D: Dimension>(like: &Array<T, D>) -> Array<T, D> {
    let no_axes: [i64; 0] = [];
    like.roll(0, no_axes).expect("memory for an output")
}

/// A call that returns, and one that writes an array like `target`.
fn both<'a, T, R, D>(
    target: impl Fn() -> Array<T, D> + 'a,
    returned: impl Fn() -> Array<T, R> + Clone + Send + 'a,
    into_array: impl Fn(&mut Array<T, D>) + Clone + Send + 'a,
) -> Vec<Way<'a, T>>
where
    T: Copy + Send + Sync + 'a,
    R: Dimension + 'a,
    D: Dimension + 'a,
{
    vec![alloc("opkernels alloc", returned, read), into("opkernels into", target, into_array, read)]
}

pub(crate) fn gather<T, D, Q>(work: &GatherWork<T, D, Q>) -> Vec<Way<'_, T>>
where
    T: Copy + Send + Sync,
    D: RemoveAxis<Smaller: DimAdd<Q>>,
    Q: Dimension,
{
    let GatherWork { data, indices, axis, .. } = work;
    let result = move || data.gather(indices, Axis(*axis)).unwrap();
    let target = result();
    both(
        move || blank(&target),
        result,
        move |out| data.gather_into(indices, Gather::along(Axis(*axis)), out).unwrap(),
    )
}

pub(crate) fn gather_batched<T, D, Q>(work: &GatherWork<T, D, Q>) -> Vec<Way<'_, T>>
where
    T: Copy + Send + Sync,
    D: Dimension,
    Q: Dimension,
{
    let GatherWork { data, indices, axis, batch_dims } = work;
    let attributes = Gather::along(Axis(*axis)).batch_dims(*batch_dims as i64);
    let result = move || data.gather_with(indices, attributes).unwrap();
    let target: Array3<T> = result().into_dimensionality().expect("three axes");
    both(
        move || blank(&target),
        result,
        move |out| data.gather_into(indices, attributes, out).unwrap(),
    )
}

pub(crate) fn roll<D: Dimension>(work: &RollWork<D>) -> Vec<Way<'_, f32>> {
    let RollWork { data, shifts, axes } = work;
    both(
        move || blank(data),
        move || data.roll(shifts, axes).unwrap(),
        move |out| data.roll_into(shifts, axes, out).unwrap(),
    )
}

/// An output as libraries have it: what it holds need not survive an error.
#[allow(unsafe_code)]
fn uninit<T, D: Dimension>(out: &mut Array<T, D>) -> ArrayViewMut<'_, MaybeUninit<T>, D> {
    // SAFETY: what may be uninitialised has the same layout, and only values are written to
    // it.
    unsafe { out.raw_view_mut().cast::<MaybeUninit<T>>().deref_into_view_mut() }
}

pub(crate) fn gather_elements<D: RemoveAxis>(work: &GatherWork<f32, D, D>) -> Vec<Way<'_, f32>> {
    let GatherWork { data, indices, axis, .. } = work;
    let axis = Axis(*axis);
    let result = move || data.gather_elements(indices, axis).unwrap();
    let target = result();
    both(
        move || blank(&target),
        result,
        move |out| data.gather_elements_into(indices, axis, &mut uninit(out)).unwrap(),
    )
}

pub(crate) fn gather_nd<D: Dimension>(work: &TupleGather<D>) -> Vec<Way<'_, f32>> {
    let TupleGather { data, tuples } = work;
    let result = move || data.gather_nd(tuples).unwrap();
    let target: ArrayD<f32> = result().into_dyn();
    both(
        move || blank(&target),
        result,
        move |out| data.gather_nd_into(tuples, GatherNd::new(), &mut uninit(out)).unwrap(),
    )
}

pub(crate) fn scatter_nd<D, U>(work: &TupleScatter<D, U>) -> Vec<Way<'_, f32>>
where
    D: Dimension,
    U: Dimension,
{
    let TupleScatter { data, tuples, updates, add } = work;
    let attributes = ScatterNd::new().reduction(reduction(*add));
    both(
        move || blank(data),
        move || data.scatter_nd_with(tuples, updates, attributes).unwrap(),
        move |target| target.scatter_nd_inplace(tuples, updates, attributes).unwrap(),
    )
}

fn reduction(add: bool) -> Reduction {
    if add { Reduction::Sum } else { Reduction::None }
}

pub(crate) fn scatter<'a, D: Dimension>(work: &'a ScatterWork<'_, D>) -> Vec<Way<'a, f32>> {
    let ScatterWork { data, indices, updates, axis, add, rows } = work;
    let axis = Axis(*axis);
    if let Some(rows) = rows {
        let attributes = Scatter::along(axis).reduction(reduction(*add));
        return both(
            move || blank(data),
            move || data.scatter_with(rows, updates, attributes).unwrap(),
            move |target| target.scatter_inplace(rows, updates, attributes).unwrap(),
        );
    }
    let attributes = ScatterElements::along(axis).reduction(reduction(*add));
    both(
        move || blank(data),
        move || data.scatter_elements_with(indices, updates, attributes).unwrap(),
        move |target| target.scatter_elements_inplace(indices, updates, attributes).unwrap(),
    )
}
