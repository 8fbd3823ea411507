//! The workloads' arrays.

use ndarray::{Array, Array2, ArrayBase, ArrayView, ArrayView1, Data, Dimension};
use opkernels::RollExt;

/// `data` taken at `indices` along `axis`.
pub(crate) struct GatherWork<T, D, Q> {
    pub(crate) data: Array<T, D>,
    pub(crate) indices: Array<i64, Q>,
    pub(crate) axis: usize,
    /// 0 or 1.
    pub(crate) batch_dims: usize,
}

pub(crate) struct RollWork<D> {
    pub(crate) data: Array<f32, D>,
    pub(crate) shifts: Vec<i64>,
    pub(crate) axes: Vec<i64>,
}

/// `updates` written into `data`, or added to it.
pub(crate) struct ScatterWork<'a, D> {
    pub(crate) data: Array<f32, D>,
    pub(crate) indices: ArrayView<'a, i64, D>,
    pub(crate) updates: Array<f32, D>,
    pub(crate) axis: usize,
    pub(crate) add: bool,
    /// Where each row of `indices` is one number, broadcast: those numbers.
    pub(crate) rows: Option<ArrayView1<'a, i64>>,
}

/// What tuples of indices select in `data`: rows or elements.
pub(crate) struct TupleGather<D> {
    pub(crate) data: Array<f32, D>,
    pub(crate) tuples: Array2<i64>,
}

/// `updates` written over what tuples select in `data`, or added to it.
pub(crate) struct TupleScatter<D, U> {
    pub(crate) data: Array<f32, D>,
    pub(crate) tuples: Array2<i64>,
    pub(crate) updates: Array<f32, U>,
    pub(crate) add: bool,
}

/// The elements in a `Vec` of the peer's own, in huge pages like the original.
pub(crate) fn owned<T, S, D>(array: &ArrayBase<S, D>) -> Vec<T>
where
    T: Copy + Send + Sync,
    S: Data<Elem = T>,
    D: Dimension,
{
    let no_axes: [i64; 0] = [];
    let (elements, offset) =
        array.roll(0, no_axes).expect("memory for a copy").into_raw_vec_and_offset();
    assert!(offset.unwrap_or(0) == 0, "a new array begins where its memory does");
    elements
}

/// The same indices in half the bits, for a peer that has no others.
pub(crate) fn narrow<S: Data<Elem = i64>, D: Dimension>(indices: &ArrayBase<S, D>) -> Vec<i32> {
    owned(&indices.mapv(|i| i32::try_from(i).expect("axes are short")))
}
