//! Arrow's `take`, of one dimension.

use arrow_array::{ArrayRef, Float32Array, Int64Array, cast::AsArray, types::Float32Type};
use arrow_select::take::take;
use ndarray::Ix1;

use crate::way::{Way, alloc};
use crate::work::{GatherWork, owned};

pub(crate) fn gather(work: &GatherWork<f32, Ix1, Ix1>) -> Vec<Way<'_, f32>> {
    let data = Float32Array::from(owned(&work.data));
    let indices = Int64Array::from(owned(&work.indices));
    let read = |taken: &ArrayRef| taken.as_primitive::<Float32Type>().values().to_vec();
    vec![alloc("arrow alloc", move || take(&data, &indices, None).unwrap(), read)]
}
