//! rten's operators as functions. Their indices are `i32`, and of scatters only
//! those that overwrite can be called: the type of the reductions is private.

use std::sync::Arc;

use ndarray::{Dimension, RemoveAxis};
use rten::BufferPool;
use rten::ops;
use rten_tensor::Tensor;
use rten_tensor::prelude::*;

use crate::way::{Way, alloc, into};
use crate::work::{GatherWork, ScatterWork, narrow, owned};

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

pub(crate) fn scatter<'a, D: Dimension>(work: &'a ScatterWork<'_, D>) -> Vec<Way<'a, f32>> {
    if work.add {
        return Vec::new();
    }
    let ScatterWork { data, indices, updates, axis, .. } = work;
    let axis = *axis as isize;
    let ids = tensor(narrow(indices), indices.shape());
    let updates = tensor(owned(updates), updates.shape());
    let source = tensor(owned(data), data.shape());
    let (ids_into, updates_into) = (ids.clone(), updates.clone());
    let in_place = move |target: &mut Option<Tensor<f32>>| {
        let data = target.take().expect("the last call's result").into_cow();
        let (ids, updates) = (ids_into.view(), updates_into.view());
        let pool = BufferPool::new();
        *target = Some(ops::scatter_elements(&pool, data, ids, updates, axis, None).unwrap());
    };
    let returned = move || {
        let (data, ids, updates) = (source.as_cow(), ids.view(), updates.view());
        ops::scatter_elements(&BufferPool::new(), data, ids, updates, axis, None).unwrap()
    };
    vec![
        alloc("rten alloc", returned, read),
        into(
            "rten into",
            move || Some(Tensor::from_data(data.shape(), owned(data))),
            in_place,
            |target| read(target.as_ref().expect("a result")),
        ),
    ]
}
