//! burn's CPU backend "flex", through burn's tensors.

use burn::tensor::kind::Basic;
use burn::tensor::{Device, Element, Float, IndexingUpdateOp, Int, Tensor, TensorData};
use ndarray::{ArrayBase, Data, Dimension, RemoveAxis};

use crate::way::{Way, alloc, into};
use crate::work::{GatherWork, RollWork, ScatterWork, TupleGather, TupleScatter, owned};

fn tensor<const N: usize, K: Basic, T, S, D>(array: &ArrayBase<S, D>) -> Tensor<N, K>
where
    T: Element + Copy + Send + Sync,
    S: Data<Elem = T>,
    D: Dimension,
{
    let data = TensorData::new(owned(array), array.shape().to_vec());
    Tensor::from_data(data, (&Device::default(), T::dtype()))
}

fn read<const N: usize, K: Basic, T: Element>(tensor: &Tensor<N, K>) -> Vec<T> {
    tensor.to_data().try_to_vec().unwrap()
}

/// `K` is burn's kind of the elements: `Float`, or `Int` for bytes.
pub(crate) fn gather<const N: usize, K, T, D, Q>(work: &GatherWork<T, D, Q>) -> Vec<Way<'_, T>>
where
    K: Basic + 'static,
    T: Element + Copy + Send + Sync,
    D: RemoveAxis,
    Q: Dimension,
{
    let axis = work.axis;
    let data: Tensor<N, K> = tensor(&work.data);
    let ids: Tensor<1, Int> = tensor(&work.indices.flatten());
    vec![alloc("burn alloc", move || data.clone().select(axis, ids.clone()), read)]
}

/// The usual way: rows of all batches in one table, by indices with offsets.
pub(crate) fn gather_batched<D, Q>(work: &GatherWork<f32, D, Q>) -> Vec<Way<'_, f32>>
where
    D: RemoveAxis,
    Q: Dimension,
{
    let shape = work.data.shape();
    let (batches, len) = (shape[0], shape[1]);
    let table = tensor::<3, Float, _, _, _>(&work.data).reshape([batches * len, shape[2]]);
    let ids: Tensor<2, Int> = tensor(&work.indices);
    let offsets = ndarray::Array2::from_shape_fn((batches, 1), |(batch, _)| (batch * len) as i64);
    let offsets: Tensor<2, Int> = tensor(&offsets);
    let call = move || {
        let flat = (ids.clone() + offsets.clone()).flatten(0, 1);
        table.clone().select(0, flat)
    };
    vec![alloc("burn alloc", call, read)]
}

pub(crate) fn roll<const N: usize, D: Dimension>(work: &RollWork<D>) -> Vec<Way<'_, f32>> {
    let RollWork { data, shifts, axes } = work;
    let data: Tensor<N> = tensor(data);
    vec![alloc("burn alloc", move || data.clone().roll(shifts, axes), read)]
}

pub(crate) fn gather_elements<const N: usize, D>(work: &GatherWork<f32, D, D>) -> Vec<Way<'_, f32>>
where
    D: RemoveAxis,
{
    let axis = work.axis;
    let data: Tensor<N> = tensor(&work.data);
    let ids: Tensor<N, Int> = tensor(&work.indices);
    vec![alloc("burn alloc", move || data.clone().gather(axis, ids.clone()), read)]
}

/// `N` axes of the data, `M` of the result.
pub(crate) fn gather_nd<const N: usize, const M: usize, D>(
    work: &TupleGather<D>,
) -> Vec<Way<'_, f32>>
where
    D: Dimension,
{
    let data: Tensor<N> = tensor(&work.data);
    let pairs: Tensor<2, Int> = tensor(&work.tuples);
    let call = move || -> Tensor<M> { data.clone().gather_nd(pairs.clone()) };
    vec![alloc("burn alloc", call, read)]
}

/// `N` axes of the data, `M` of the updates.
pub(crate) fn scatter_nd<const N: usize, const M: usize, D, U>(
    work: &TupleScatter<D, U>,
) -> Vec<Way<'_, f32>>
where
    D: Dimension,
    U: Dimension,
{
    let update = update(work.add);
    let pairs: Tensor<2, Int> = tensor(&work.tuples);
    let updates: Tensor<M> = tensor(&work.updates);
    both(&work.data, move |target: Tensor<N>| {
        target.scatter_nd(pairs.clone(), updates.clone(), update)
    })
}

fn update(add: bool) -> IndexingUpdateOp {
    if add { IndexingUpdateOp::Add } else { IndexingUpdateOp::Assign }
}

pub(crate) fn scatter<'a, const N: usize, D>(work: &'a ScatterWork<'_, D>) -> Vec<Way<'a, f32>>
where
    D: Dimension,
{
    let ScatterWork { data, indices, updates, axis, add, rows } = work;
    let (axis, update) = (*axis, update(*add));
    let updates: Tensor<N> = tensor(updates);
    let ids: Tensor<N, Int> = tensor(indices);
    let rows: Option<Tensor<1, Int>> = rows.as_ref().map(tensor);
    both(data, move |target: Tensor<N>| match &rows {
        Some(rows) => target.select_assign(axis, rows.clone(), updates.clone(), update),
        None => target.scatter(axis, ids.clone(), updates.clone(), update),
    })
}

/// A scatter returned, and in place.
fn both<'a, const N: usize, D: Dimension>(
    data: &'a ndarray::Array<f32, D>,
    scatter: impl Fn(Tensor<N>) -> Tensor<N> + Clone + Send + 'a,
) -> Vec<Way<'a, f32>> {
    let source: Tensor<N> = tensor(data);
    let again = scatter.clone();
    // A tensor that nobody else holds may be written without a copy.
    let in_place = move |target: &mut Option<Tensor<N>>| {
        *target = Some(again(target.take().expect("the last call's result")));
    };
    vec![
        alloc("burn alloc", move || scatter(source.clone()), read),
        into(
            "burn into",
            move || Some(tensor(data)),
            in_place,
            |target| read(target.as_ref().expect("a result")),
        ),
    ]
}
