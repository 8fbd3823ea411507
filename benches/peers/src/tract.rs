//! tract's operators, called without a model around them.

use std::sync::Arc;

use ndarray::{ArrayBase, Data, Dimension, RemoveAxis};
use tract_core::internal::{
    Datum, EvalContext, EvalOp, IntoTValue, IntoTensor, TValue, Tensor, tvec,
};
use tract_core::ops::array::{
    Gather, GatherElements, GatherNd, ScatterElements, ScatterNd, ScatterReduction,
};

use crate::way::{Way, alloc, into};
use crate::work::{GatherWork, ScatterWork, TupleGather, TupleScatter};

fn tensor<T: Datum + Copy + Send + Sync, S: Data<Elem = T>, D: Dimension>(
    array: &ArrayBase<S, D>,
) -> Tensor {
    Tensor::from(array.to_owned())
}

fn read<T: Datum + Copy>(tensor: &Tensor) -> Vec<T> {
    tensor.to_plain_array_view::<T>().unwrap().iter().copied().collect()
}

fn run(op: &impl EvalOp, inputs: &[&Arc<Tensor>]) -> Tensor {
    let inputs = inputs.iter().map(|&input| TValue::from_const(Arc::clone(input))).collect();
    let mut outputs = op.eval(&EvalContext::out_of_plan(), inputs).unwrap();
    outputs.remove(0).into_tensor()
}

pub(crate) fn gather<T, D, Q>(work: &GatherWork<T, D, Q>) -> Vec<Way<'_, T>>
where
    T: Datum + Copy + Send + Sync,
    D: RemoveAxis,
    Q: Dimension,
{
    let data = Arc::new(tensor(&work.data));
    if work.batch_dims == 0 {
        let (op, ids) = (Gather::new(work.axis), Arc::new(tensor(&work.indices)));
        return vec![alloc("tract alloc", move || run(&op, &[&data, &ids]), read)];
    }
    let ids = Arc::new(tensor(&work.indices.view().insert_axis(ndarray::Axis(2))));
    let op = GatherNd::new(1);
    vec![alloc("tract alloc", move || run(&op, &[&data, &ids]), read)]
}

pub(crate) fn gather_elements<D: RemoveAxis>(work: &GatherWork<f32, D, D>) -> Vec<Way<'_, f32>> {
    let (data, ids) = (Arc::new(tensor(&work.data)), Arc::new(tensor(&work.indices)));
    let op = GatherElements::new(work.axis);
    vec![alloc("tract alloc", move || run(&op, &[&data, &ids]), read)]
}

pub(crate) fn gather_nd<D: Dimension>(work: &TupleGather<D>) -> Vec<Way<'_, f32>> {
    let (data, pairs) = (Arc::new(tensor(&work.data)), Arc::new(tensor(&work.tuples)));
    let op = GatherNd::new(0);
    vec![alloc("tract alloc", move || run(&op, &[&data, &pairs]), read)]
}

fn reduction(add: bool) -> ScatterReduction {
    if add { ScatterReduction::Add } else { ScatterReduction::None }
}

pub(crate) fn scatter<'a, D: Dimension>(work: &'a ScatterWork<'_, D>) -> Vec<Way<'a, f32>> {
    let ScatterWork { data, indices, updates, axis, add, rows } = work;
    match rows {
        Some(rows) => {
            let ids = tensor(&rows.insert_axis(ndarray::Axis(1)));
            both(data, ScatterNd::new(reduction(*add)), ids, tensor(updates))
        }
        None => {
            let op = ScatterElements::new(*axis, reduction(*add));
            both(data, op, tensor(indices), tensor(updates))
        }
    }
}

pub(crate) fn scatter_nd<D, U>(work: &TupleScatter<D, U>) -> Vec<Way<'_, f32>>
where
    D: Dimension,
    U: Dimension,
{
    let TupleScatter { data, tuples, updates, add } = work;
    both(data, ScatterNd::new(reduction(*add)), tensor(tuples), tensor(updates))
}

/// A scatter returned, and in place.
fn both<'a, D: Dimension>(
    data: &'a ndarray::Array<f32, D>,
    op: impl EvalOp + Clone + Send + 'a,
    ids: Tensor,
    updates: Tensor,
) -> Vec<Way<'a, f32>> {
    let (ids, updates) = (Arc::new(ids), Arc::new(updates));
    let source = Arc::new(tensor(data));
    let (op_into, ids_into, updates_into) = (op.clone(), ids.clone(), updates.clone());
    let in_place = move |target: &mut Option<Tensor>| {
        // A tensor that nobody else holds is written without a copy.
        let inputs = tvec![
            target.take().expect("the last call's result").into_tvalue(),
            TValue::from_const(Arc::clone(&ids_into)),
            TValue::from_const(Arc::clone(&updates_into)),
        ];
        let mut outputs = op_into.eval(&EvalContext::out_of_plan(), inputs).unwrap();
        *target = Some(outputs.remove(0).into_tensor());
    };
    vec![
        alloc("tract alloc", move || run(&op, &[&source, &ids, &updates]), read),
        into(
            "tract into",
            move || Some(tensor(data)),
            in_place,
            |target| read(target.as_ref().expect("a result")),
        ),
    ]
}
