//! opkernels itself.

use ndarray::{Array, Array3, Axis, DimAdd, Dimension, RemoveAxis};
use opkernels::{Gather, GatherExt, Reduction, RollExt, ScatterElements, ScatterElementsExt};

use crate::way::{Way, alloc, into};
use crate::work::{GatherWork, RollWork, ScatterWork};

fn read<T: Copy, D: Dimension>(array: &Array<T, D>) -> Vec<T> {
    array.iter().copied().collect()
}

/// Memory like the result's, its pages touched before.
fn blank<T: Copy + Send + Sync, D: Dimension>(like: &Array<T, D>) -> Array<T, D> {
    let no_axes: [i64; 0] = [];
    like.roll(0, no_axes).expect("memory for an output")
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
    vec![
        alloc("opkernels alloc", result, read),
        into(
            "opkernels into",
            move || blank(&target),
            move |out| data.gather_into(indices, Gather::along(Axis(*axis)), out).unwrap(),
            read,
        ),
    ]
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
    vec![
        alloc("opkernels alloc", result, read),
        into(
            "opkernels into",
            move || blank(&target),
            move |out| data.gather_into(indices, attributes, out).unwrap(),
            read,
        ),
    ]
}

pub(crate) fn roll<D: Dimension>(work: &RollWork<D>) -> Vec<Way<'_, f32>> {
    let RollWork { data, shifts, axes } = work;
    vec![
        alloc("opkernels alloc", move || data.roll(shifts, axes).unwrap(), read),
        into(
            "opkernels into",
            move || blank(data),
            move |out| data.roll_into(shifts, axes, out).unwrap(),
            read,
        ),
    ]
}

pub(crate) fn scatter<'a, D: Dimension>(work: &'a ScatterWork<'_, D>) -> Vec<Way<'a, f32>> {
    let ScatterWork { data, indices, updates, axis, add, .. } = work;
    let reduction = if *add { Reduction::Sum } else { Reduction::None };
    let attributes = ScatterElements::along(Axis(*axis)).reduction(reduction);
    vec![
        alloc(
            "opkernels alloc",
            move || data.scatter_elements_with(indices, updates, attributes).unwrap(),
            read,
        ),
        into(
            "opkernels into",
            move || blank(data),
            move |target| target.scatter_elements_inplace(indices, updates, attributes).unwrap(),
            read,
        ),
    ]
}
