//! tract's operators, called without a model around them.

use std::sync::Arc;

use ndarray::{ArrayBase, Data, Dimension, RemoveAxis};
use tract_core::internal::{
    Datum, EvalContext, EvalOp, IntoTValue, IntoTensor, TValue, Tensor, tvec,
};
use tract_core::ops::array::{Gather, GatherNd, ScatterElements, ScatterReduction};

use crate::way::{Way, alloc, into};
use crate::work::{GatherWork, ScatterWork};

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

pub(crate) fn scatter<'a, D: Dimension>(work: &'a ScatterWork<'_, D>) -> Vec<Way<'a, f32>> {
    let ScatterWork { data, indices, updates, axis, add, .. } = work;
    let reduction = if *add { ScatterReduction::Add } else { ScatterReduction::None };
    let op = ScatterElements::new(*axis, reduction);
    let ids = Arc::new(tensor(indices));
    let updates = Arc::new(tensor(updates));
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
