//! What the answers must be, by loops over the elements in row-major order.

use ndarray::{Array1, ArrayView, Dimension};
use opkernels::Reduction;

use crate::inputs::copy;

/// The elements of `data` at `indices` along `axis`, the first `batch_dims` axes in step.
pub(crate) fn gather<T, D, Q>(
    data: ArrayView<'_, T, D>,
    indices: ArrayView<'_, i64, Q>,
    axis: usize,
    batch_dims: usize,
) -> Array1<T>
where
    T: Copy + Send + Sync,
    D: Dimension,
    Q: Dimension,
{
    let shape = data.shape().to_vec();
    let batches: usize = shape[..batch_dims].iter().product();
    let outer: usize = shape[batch_dims..axis].iter().product();
    let inner: usize = shape[axis + 1..].iter().product();
    let (data, indices) = (data.as_standard_layout(), indices.as_standard_layout());
    let data = data.as_slice().expect("standard layout");
    let indices = indices.as_slice().expect("standard layout");
    let each = indices.len() / batches;
    let mut answer = Vec::with_capacity(batches * outer * each * inner);
    for batch in 0..batches {
        for row in batch * outer..(batch + 1) * outer {
            for &index in &indices[batch * each..(batch + 1) * each] {
                let start = (row * shape[axis] + index as usize) * inner;
                answer.extend_from_slice(&data[start..start + inner]);
            }
        }
    }
    copy(&Array1::from_vec(answer))
}

/// The elements of `data` shifted circularly, an axis at a time.
pub(crate) fn roll<T, D>(data: ArrayView<'_, T, D>, shifts: &[i64], axes: &[i64]) -> Array1<T>
where
    T: Copy + Send + Sync,
    D: Dimension,
{
    let mut answer: Vec<T> = data.iter().copied().collect();
    for (&shift, &axis) in shifts.iter().zip(axes) {
        let len = data.shape()[axis as usize];
        let inner: usize = data.shape()[axis as usize + 1..].iter().product();
        let before = answer.clone();
        for (position, &element) in before.iter().enumerate() {
            let (row, within) = (position / inner, position % inner);
            let (first, at) = (row / len * len, row % len);
            let to = (at as i64 + shift).rem_euclid(len as i64) as usize;
            answer[(first + to) * inner + within] = element;
        }
    }
    copy(&Array1::from_vec(answer))
}

/// The elements of `data` after `updates` were reduced into them at `indices` along `axis`.
pub(crate) fn scatter<D: Dimension>(
    data: ArrayView<'_, f32, D>,
    indices: ArrayView<'_, i64, D>,
    updates: ArrayView<'_, f32, D>,
    axis: usize,
    reduction: Reduction,
) -> Array1<f32> {
    let mut answer: Vec<f32> = data.iter().copied().collect();
    let mut counts = vec![1_u32; if reduction == Reduction::Mean { answer.len() } else { 0 }];
    let mut strides = vec![1; data.ndim()];
    for k in (1..data.ndim()).rev() {
        strides[k - 1] = strides[k] * data.shape()[k];
    }
    let mut at = vec![0; data.ndim()];
    for (&index, &update) in indices.iter().zip(&updates) {
        let mut position = index as usize * strides[axis];
        for (k, (&at, &stride)) in at.iter().zip(&strides).enumerate() {
            position += if k == axis { 0 } else { at * stride };
        }
        let element = &mut answer[position];
        match reduction {
            Reduction::None => *element = update,
            Reduction::Sum => *element += update,
            Reduction::Max => *element = element.max(update),
            Reduction::Mean => {
                *element += update;
                counts[position] += 1;
            }
            other => unimplemented!("{other:?} is not among the workloads"),
        }
        // The next place in row-major order.
        for (at, &len) in at.iter_mut().zip(indices.shape()).rev() {
            *at += 1;
            if *at < len {
                break;
            }
            *at = 0;
        }
    }
    answer.iter_mut().zip(&counts).for_each(|(element, &count)| *element /= count as f32);
    copy(&Array1::from_vec(answer))
}
