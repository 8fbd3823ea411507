//! rten's operators as functions. Their indices are `i32`, and of scatters only
//! those that overwrite can be called: the type of the reductions is private.

use std::sync::Arc;

use ndarray::{Array, Dimension, RemoveAxis};
use rten::BufferPool;
use rten::ops;
use rten_tensor::prelude::*;
use rten_tensor::{CowTensor, Tensor};

use crate::way::{Way, alloc, into};
use crate::work::{GatherWork, ScatterWork, TupleGather, TupleScatter, narrow, owned};

fn tensor<T>(elements: Vec<T>, shape: &[usize]) -> Arc<Tensor<T>> {
    Arc::new(Tensor::from_data(shape, elements))
}

fn read<T: Copy>(tensor: &Tensor<T>) -> Vec<T> {
    tensor.iter().copied().collect()
}

pub(crate) fn gather<T, D, Q>(work: &GatherWork<T, D, Q>) -> Vec<Way<'_, T>>
where
    T: Copy + Default + Send + Sync,
    D: RemoveAxis,
    Q: Dimension,
{
    let GatherWork { data, indices, axis, batch_dims } = work;
    let source = tensor(owned(data), data.shape());
    let mut shape = indices.shape().to_vec();
    if *batch_dims == 0 {
        let (ids, axis) = (tensor(narrow(indices), &shape), *axis as isize);
        let call =
            move || ops::gather(&BufferPool::new(), source.view(), axis, ids.view()).unwrap();
        return vec![alloc("rten alloc", call, read)];
    }
    shape.push(1);
    let ids = tensor(narrow(indices), &shape);
    let call = move || ops::gather_nd(&BufferPool::new(), source.view(), ids.view(), 1).unwrap();
    vec![alloc("rten alloc", call, read)]
}

pub(crate) fn gather_elements<D: RemoveAxis>(work: &GatherWork<f32, D, D>) -> Vec<Way<'_, f32>> {
    let GatherWork { data, indices, axis, .. } = work;
    let source = tensor(owned(data), data.shape());
    let (ids, axis) = (tensor(narrow(indices), indices.shape()), *axis as isize);
    let call =
        move || ops::gather_elements(&BufferPool::new(), source.view(), ids.view(), axis).unwrap();
    vec![alloc("rten alloc", call, read)]
}

pub(crate) fn gather_nd<D: Dimension>(work: &TupleGather<D>) -> Vec<Way<'_, f32>> {
    let TupleGather { data, tuples } = work;
    let source = tensor(owned(data), data.shape());
    let pairs = tensor(narrow(tuples), tuples.shape());
    let call = move || ops::gather_nd(&BufferPool::new(), source.view(), pairs.view(), 0).unwrap();
    vec![alloc("rten alloc", call, read)]
}

pub(crate) fn scatter<'a, D: Dimension>(work: &'a ScatterWork<'_, D>) -> Vec<Way<'a, f32>> {
    let ScatterWork { data, indices, updates, axis, add, rows } = work;
    let updates = tensor(owned(updates), updates.shape());
    match rows {
        _ if *add => Vec::new(),
        Some(rows) => {
            let ids = tensor(narrow(rows), &[rows.len(), 1]);
            by_tuples(data, ids, updates)
        }
        None => {
            let (ids, axis) = (tensor(narrow(indices), indices.shape()), *axis as isize);
            both(data, move |data| {
                let (ids, updates) = (ids.view(), updates.view());
                ops::scatter_elements(&BufferPool::new(), data, ids, updates, axis, None).unwrap()
            })
        }
    }
}

pub(crate) fn scatter_nd<D, U>(work: &TupleScatter<D, U>) -> Vec<Way<'_, f32>>
where
    D: Dimension,
    U: Dimension,
{
    let TupleScatter { data, tuples, updates, add } = work;
    if *add {
        return Vec::new();
    }
    let updates = tensor(owned(updates), updates.shape());
    by_tuples(data, tensor(narrow(tuples), tuples.shape()), updates)
}

fn by_tuples<'a, D: Dimension>(
    data: &'a Array<f32, D>,
    tuples: Arc<Tensor<i32>>,
    updates: Arc<Tensor<f32>>,
) -> Vec<Way<'a, f32>> {
    both(data, move |data| {
        let (tuples, updates) = (tuples.view(), updates.view());
        ops::scatter_nd(&BufferPool::new(), data, tuples, updates, None).unwrap()
    })
}

/// A scatter returned, and in place.
fn both<'a, D: Dimension>(
    data: &'a Array<f32, D>,
    scatter: impl Fn(CowTensor<'_, f32>) -> Tensor<f32> + Clone + Send + 'a,
) -> Vec<Way<'a, f32>> {
    let source = tensor(owned(data), data.shape());
    let again = scatter.clone();
    let in_place = move |target: &mut Option<Tensor<f32>>| {
        *target = Some(again(target.take().expect("the last call's result").into_cow()));
    };
    vec![
        alloc("rten alloc", move || scatter(source.as_cow()), read),
        into(
            "rten into",
            move || Some(Tensor::from_data(data.shape(), owned(data))),
            in_place,
            |target| read(target.as_ref().expect("a result")),
        ),
    ]
}
