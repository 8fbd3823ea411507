//! Gathers of elements along an axis: an index for each.

use std::mem::MaybeUninit;

use ndarray::{
    Array, Array2, ArrayD, ArrayView, ArrayViewD, ArrayViewMut, Axis, Dimension, ShapeBuilder, Zip,
};
use opkernels::GatherElementsExt;

use crate::inputs::{blank, copy, floats, indices};
use crate::workload::{Take, Ways, Workload};

/// All gathers of elements. Those of a size take as many elements out of as many along one axis as
/// along another: about 120 thousand, 1.2 million and 12 million.
pub fn workloads() -> Vec<Workload> {
    vec![
        Workload::new("gather_elements_last_axis_x1", |take| matrix(take, 350, 1)),
        Workload::new("gather_elements_last_axis_x10", |take| matrix(take, 1100, 1)),
        Workload::new("gather_elements_last_axis_x100", |take| matrix(take, 3464, 1)),
        Workload::new("gather_elements_first_axis_x1", |take| matrix(take, 350, 0)),
        Workload::new("gather_elements_first_axis_x10", |take| matrix(take, 1100, 0)),
        Workload::new("gather_elements_first_axis_x100", |take| matrix(take, 3464, 0)),
        Workload::new("gather_elements_middle_axis_x1", |take| cube(take, 49)),
        Workload::new("gather_elements_middle_axis_x10", |take| cube(take, 106)),
        Workload::new("gather_elements_middle_axis_x100", |take| cube(take, 229)),
        Workload::new("gather_elements_top_8", top_8),
        Workload::new("gather_elements_line", line),
        Workload::new("gather_elements_transposed_x1", |take| transposed(take, 350)),
        Workload::new("gather_elements_transposed_x10", |take| transposed(take, 1100)),
        Workload::new("gather_elements_transposed_x100", |take| transposed(take, 3464)),
        Workload::new("gather_elements_column_major", column_major),
        Workload::new("gather_elements_across_x1", |take| across(take, 350)),
        Workload::new("gather_elements_across_x10", |take| across(take, 1100)),
        Workload::new("gather_elements_across_x100", |take| across(take, 3464)),
        Workload::new("gather_elements_few_of_slabs", few_of_slabs),
        Workload::new("gather_elements_of_rows_x1", |take| of_rows(take, [20_000, 64], 2_000)),
        Workload::new("gather_elements_of_rows_x10", |take| of_rows(take, [200_000, 64], 20_000)),
    ]
}

/// What the answer must be, index by index.
fn naive(data: ArrayViewD<'_, f32>, idx: ArrayViewD<'_, i64>, axis: usize) -> ArrayD<f32> {
    ArrayD::from_shape_fn(idx.raw_dim(), |place| {
        let mut from = place.clone();
        from[axis] = idx[&place] as usize;
        data[from]
    })
}

/// Our forms.
fn ours<'a, D: Dimension + 'static>(
    ways: Ways<'a, f32>,
    data: &'a Array<f32, D>,
    idx: &'a Array<i64, D>,
    axis: usize,
) -> Ways<'a, f32> {
    let axis = Axis(axis);
    let start = || blank(idx.raw_dim());
    ways.into("into", start, move |out| data.gather_elements_into(idx, axis, out).unwrap())
        .into("uninit", start, move |out| {
            data.gather_elements_into(idx, axis, &mut uninit(out)).unwrap();
        })
        .returned("alloc", move || data.gather_elements(idx, axis).unwrap())
}

/// An output as engines have it, memory whose values nobody asks for: it need not survive an error,
/// so that indices are checked where they are used.
pub(crate) fn uninit<D: Dimension>(
    out: &mut Array<f32, D>,
) -> ArrayViewMut<'_, MaybeUninit<f32>, D> {
    let slots = out.raw_view_mut().cast::<MaybeUninit<f32>>();
    // SAFETY: the same elements, borrowed exclusively, and a gather leaves values in all of them.
    unsafe { slots.deref_into_view_mut() }
}

/// A square as large as its indices.
fn matrix(take: Take<'_>, len: usize, axis: usize) {
    of_matrix(take, &floats((len, len)), &indices((len, len), len), axis);
}

fn of_matrix(take: Take<'_>, data: &Array2<f32>, idx: &Array2<i64>, axis: usize) {
    let answer = naive(data.view().into_dyn(), idx.view().into_dyn(), axis);
    let answer = copy(&answer.flatten().into_owned());
    ours(Ways::to(&answer), data, idx, axis)
        .hand(
            "by hand",
            || blank(idx.dim()),
            |out| {
                if axis == 1 {
                    return along_rows(out, data, idx);
                }
                for (mut out, idx) in out.outer_iter_mut().zip(idx.outer_iter()) {
                    for (j, (o, &i)) in out.iter_mut().zip(&idx).enumerate() {
                        *o = data[[i as usize, j]];
                    }
                }
            },
        )
        .give(take);
}

fn along_rows(out: &mut Array2<f32>, data: &Array2<f32>, idx: &Array2<i64>) {
    let rows = out.outer_iter_mut().zip(data.outer_iter()).zip(idx.outer_iter());
    for ((mut out, data), idx) in rows {
        out.iter_mut().zip(&idx).for_each(|(o, &i)| *o = data[i as usize]);
    }
}

/// Indices that repeat along rows: a list expanded to the shape of the result, as PyTorch's `gather` and
/// ONNX's GatherElements need it to select rows.
fn of_rows(take: Take<'_>, shape: [usize; 2], count: usize) {
    let rows = indices((count, 1), shape[0]);
    let expanded = rows.broadcast((count, shape[1])).expect("one column");
    of_matrix(take, &floats(shape), &copy(&expanded.to_owned()), 0);
}

fn cube(take: Take<'_>, len: usize) {
    along_middle_axis(take, [len; 3], len);
}

/// A third of what each of many slabs has, which together no cache holds.
fn few_of_slabs(take: Take<'_>) {
    along_middle_axis(take, [400, 300, 50], 100);
}

fn along_middle_axis(take: Take<'_>, [slabs, among, columns]: [usize; 3], rows: usize) {
    let data = floats((slabs, among, columns));
    let idx = indices((slabs, rows, columns), among);
    let answer = naive(data.view().into_dyn(), idx.view().into_dyn(), 1);
    let answer = copy(&answer.flatten().into_owned());
    ours(Ways::to(&answer), &data, &idx, 1)
        .hand(
            "by hand",
            || blank(idx.dim()),
            |out| {
                let squares = out.outer_iter_mut().zip(data.outer_iter()).zip(idx.outer_iter());
                for ((mut out, data), idx) in squares {
                    for (mut out, idx) in out.outer_iter_mut().zip(idx.outer_iter()) {
                        for (j, (o, &i)) in out.iter_mut().zip(&idx).enumerate() {
                            *o = data[[i as usize, j]];
                        }
                    }
                }
            },
        )
        .give(take);
}

/// The best of each row, as a search or a sampler asks for them.
fn top_8(take: Take<'_>) {
    of_matrix(take, &floats((150_000, 64)), &indices((150_000, 8), 64), 1);
}

fn line(take: Take<'_>) {
    let (data, idx) = (floats(10_000_000), indices(1_000_000, 10_000_000));
    let answer = naive(data.view().into_dyn(), idx.view().into_dyn(), 0);
    let answer = copy(&answer.flatten().into_owned());
    ours(Ways::to(&answer), &data, &idx, 0)
        .hand(
            "by hand",
            || blank(idx.dim()),
            |out| out.iter_mut().zip(&idx).for_each(|(o, &i)| *o = data[i as usize]),
        )
        .give(take);
}

/// A transposed view along its last axis, by indices in standard layout.
fn transposed(take: Take<'_>, len: usize) {
    let (data, idx) = (floats((len, len)), indices((len, len), len));
    of_view(take, data.t(), idx.view(), false);
}

/// By indices that lie transposed, as those that another program has made along the other axis.
fn across(take: Take<'_>, len: usize) {
    let (data, idx) = (floats((len, len)), indices((len, len), len));
    of_view(take, data.view(), idx.t(), false);
}

/// Everything in column-major order, along the axis that is dense so.
fn column_major(take: Take<'_>) {
    let (data, idx) = (floats((1100, 1100)), indices((1100, 1100), 1100));
    of_view(take, data.t(), idx.t(), true);
}

fn of_view(
    take: Take<'_>,
    data: ArrayView<'_, f32, ndarray::Ix2>,
    idx: ArrayView<'_, i64, ndarray::Ix2>,
    column_major: bool,
) {
    let axis = usize::from(!column_major);
    let answer = naive(data.view().into_dyn(), idx.view().into_dyn(), axis);
    let answer = copy(&answer.flatten().into_owned());
    let start = || blank(idx.dim().set_f(column_major));
    Ways::to(&answer)
        .into("into", start, |out| data.gather_elements_into(&idx, Axis(axis), out).unwrap())
        .hand("copy first", start, |out| {
            let copied = data.as_standard_layout();
            copied.gather_elements_into(&idx, Axis(axis), out).unwrap();
        })
        .hand("by hand", start, |out| {
            Zip::indexed(out).and(&idx).for_each(|(row, column), o, &i| {
                let i = i as usize;
                *o = if axis == 1 { data[[row, i]] } else { data[[i, column]] };
            });
        })
        .give(take);
}
