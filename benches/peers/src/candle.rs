//! candle's CPU device.

use candle_core::{Device, Tensor, WithDType};
use ndarray::{Dimension, RemoveAxis};

use crate::way::{Way, alloc, into};
use crate::work::{GatherWork, RollWork, ScatterWork, TupleGather, owned};

fn tensor<T: WithDType>(elements: Vec<T>, shape: &[usize]) -> Tensor {
    Tensor::from_vec(elements, shape, &Device::Cpu).unwrap()
}

fn read<T: WithDType>(tensor: &Tensor) -> Vec<T> {
    tensor.flatten_all().unwrap().to_vec1().unwrap()
}

pub(crate) fn gather<T, E, Q>(work: &GatherWork<T, E, Q>) -> Vec<Way<'_, T>>
where
    T: WithDType + Send + Sync,
    E: RemoveAxis,
    Q: Dimension,
{
    let GatherWork { data, indices, axis, batch_dims } = work;
    let (shape, axis) = (data.shape(), *axis);
    let source = tensor(owned(data), shape);
    let ids = tensor(owned(indices), indices.shape());
    if *batch_dims == 0 {
        let ids = ids.flatten_all().unwrap();
        return vec![alloc("candle alloc", move || source.index_select(&ids, axis).unwrap(), read)];
    }
    // The usual way: rows of all batches in one table, by indices with offsets.
    let (batches, len) = (shape[0], shape[1]);
    let table = source.reshape((batches * len, shape[2])).unwrap();
    let offsets = (0..batches).map(|batch| (batch * len) as i64).collect();
    let offsets = tensor(offsets, &[batches, 1]);
    vec![alloc(
        "candle alloc",
        move || {
            let flat = ids.broadcast_add(&offsets).unwrap().flatten_all().unwrap();
            table.index_select(&flat, 0).unwrap()
        },
        read,
    )]
}

pub(crate) fn gather_elements<E: RemoveAxis>(work: &GatherWork<f32, E, E>) -> Vec<Way<'_, f32>> {
    let GatherWork { data, indices, axis, .. } = work;
    let source = tensor(owned(data), data.shape());
    let ids = tensor(owned(indices), indices.shape());
    vec![alloc("candle alloc", move || source.gather(&ids, *axis).unwrap(), read)]
}

/// The usual way: pairs become indices of one table.
pub(crate) fn gather_nd<E: Dimension>(work: &TupleGather<E>) -> Vec<Way<'_, f32>> {
    let TupleGather { data, tuples } = work;
    let shape = data.shape();
    let (across, rest) = (shape[1], shape[2..].to_vec());
    let mut table = vec![shape[0] * across];
    table.extend(&rest);
    let table = tensor(owned(data), &table);
    let pairs = tensor(owned(tuples), tuples.shape());
    let call = move || {
        let first = (pairs.narrow(1, 0, 1).unwrap() * across as f64).unwrap();
        let flat = (first + pairs.narrow(1, 1, 1).unwrap()).unwrap();
        table.index_select(&flat.flatten_all().unwrap(), 0).unwrap()
    };
    vec![alloc("candle alloc", call, read)]
}

pub(crate) fn roll<E: Dimension>(work: &RollWork<E>) -> Vec<Way<'_, f32>> {
    let RollWork { data, shifts, axes } = work;
    let source = tensor(owned(data), data.shape());
    let roll = move || {
        shifts.iter().zip(axes).fold(source.clone(), |rolled, (&shift, &axis)| {
            rolled.roll(shift as i32, axis as usize).unwrap()
        })
    };
    vec![alloc("candle alloc", roll, read)]
}

pub(crate) fn scatter<'a, E: Dimension>(work: &'a ScatterWork<'_, E>) -> Vec<Way<'a, f32>> {
    let ScatterWork { data, indices, updates, axis, add, rows } = work;
    let (axis, add) = (*axis, *add);
    let target = tensor(owned(data), data.shape());
    let updates = tensor(owned(updates), updates.shape());
    let ids = tensor(owned(indices), indices.shape());
    let fresh = move || tensor(owned(data), data.shape());
    let (updates_into, ids_into) = (updates.clone(), ids.clone());
    let in_place = move |target: &mut Tensor| {
        if add {
            target.scatter_add_set(&ids_into, &updates_into, axis).unwrap();
        } else {
            target.scatter_set(&ids_into, &updates_into, axis).unwrap();
        }
    };
    let row_ids = rows.map(|rows| tensor(owned(&rows), &[rows.len()]));
    let returned = move || match &row_ids {
        Some(rows) => target.index_add(rows, &updates, axis).unwrap(),
        None if add => target.scatter_add(&ids, &updates, axis).unwrap(),
        None => target.scatter(&ids, &updates, axis).unwrap(),
    };
    vec![alloc("candle alloc", returned, read), into("candle into", fresh, in_place, read)]
}
