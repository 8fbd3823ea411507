//! The workloads, and which peers have the operation.

use ndarray::{Array, Array1, Array2, Array3, Axis, Dim, Dimension, IntoDimension, Ix, RemoveAxis};

use crate::harness::Results;
use crate::inputs::{array, floats, indices};
use crate::work::{GatherWork, RollWork, ScatterWork, TupleGather, TupleScatter};
use crate::{arrow, burn, candle, measure, ours, rten, tract};
use ::burn::tensor::{Float, Int};

/// A workload's name, and what measures it.
pub(crate) type Entry = (&'static str, fn(&'static str) -> Results);

pub(crate) fn all() -> Vec<Entry> {
    vec![
        ("gather_embedding", embedding),
        ("gather_words_of_40mb", words),
        ("gather_columns", columns),
        ("gather_batched_rows", batched_rows),
        ("gather_ten_rows", ten_rows),
        ("gather_picture_rows", picture_rows),
        ("roll_line", |name| roll::<1, _>(name, floats(10_000_000), &[12345], &[0])),
        ("roll_rows", |name| roll::<2, _>(name, floats((4096, 4096)), &[7], &[0])),
        ("roll_columns", |name| roll::<2, _>(name, floats((4096, 4096)), &[7], &[1])),
        ("roll_cube_256", |name| {
            roll::<3, _>(name, floats((256, 256, 256)), &[1, 2, 3], &[0, 1, 2])
        }),
        ("roll_windows", |name| roll::<4, _>(name, floats((8, 56, 56, 96)), &[-3, -3], &[1, 2])),
        ("roll_4_by_3", |name| roll::<2, _>(name, floats((4, 3)), &[1, 2], &[0, 1])),
        ("scatter_write", |name| line(name, 1_000_000, 1_000_000, false)),
        ("scatter_sum_x1000", |name| line(name, 1_000_000, 10_000_000, true)),
        ("scatter_rows_128_sum_x100", rows),
        ("scatter_last_axis_write", last_axis),
        ("scatter_rank_4", rank_4),
        ("scatter_six", |name| line(name, 4, 6, true)),
        ("gather_elements_last_axis_x10", |name| elements::<2, _>(name, (1100, 1100), 1)),
        ("gather_elements_last_axis_x100", |name| elements::<2, _>(name, (3464, 3464), 1)),
        ("gather_elements_first_axis_x10", |name| elements::<2, _>(name, (1100, 1100), 0)),
        ("gather_elements_first_axis_x100", |name| elements::<2, _>(name, (3464, 3464), 0)),
        ("gather_elements_middle_axis_x10", |name| elements::<3, _>(name, (106, 106, 106), 1)),
        ("gather_elements_middle_axis_x100", |name| elements::<3, _>(name, (229, 229, 229), 1)),
        ("gather_nd_rows_x100", |name| {
            gather_nd::<3, 2, _>(name, (4000, 50, 64), tuples(20_000, [4000, 50]))
        }),
        ("gather_nd_elements_x100", |name| {
            gather_nd::<2, 1, _>(name, (3162, 3162), tuples(1_000_000, [3162, 3162]))
        }),
        ("scatter_slices_16_sum_x100", |name| slices(name, 16, 50_000, 500_000, true)),
        ("scatter_slices_64_sum_x100", |name| slices(name, 64, 20_000, 200_000, true)),
        ("scatter_slices_128_sum_x100", |name| slices(name, 128, 10_000, 100_000, true)),
        ("scatter_slices_768_write", |name| slices(name, 768, 32_000, 4096, false)),
        ("scatter_slices_few", |name| slices(name, 128, 200_000, 1000, true)),
        ("scatter_nd_rows_x100", |name| scatter_nd_rows(name, 4000, 20_000, false)),
        ("scatter_nd_rows_sum_x10", |name| scatter_nd_rows(name, 400, 200_000, true)),
        ("scatter_nd_rows_few", |name| scatter_nd_rows(name, 20_000, 64, false)),
        ("scatter_nd_elements_x100", |name| scatter_nd_elements(name, false)),
        ("scatter_nd_elements_sum_x100", |name| scatter_nd_elements(name, true)),
    ]
}

fn embedding(name: &'static str) -> Results {
    gather_rows(name, 32_000, 768, indices((8, 512), 32_000))
}

fn ten_rows(name: &'static str) -> Results {
    gather_rows(name, 100, 16, indices(10, 100))
}

fn gather_rows<Q: Dimension>(
    name: &'static str,
    table: usize,
    width: usize,
    ids: Array<i64, Q>,
) -> Results
where
    ndarray::Ix1: ndarray::DimAdd<Q>,
{
    let work = GatherWork { data: floats((table, width)), indices: ids, axis: 0, batch_dims: 0 };
    let mut ways = ours::gather(&work);
    ways.extend(candle::gather(&work));
    ways.extend(burn::gather::<2, Float, _, _, _>(&work));
    ways.extend(tract::gather(&work));
    ways.extend(rten::gather(&work));
    measure(name, ways)
}

fn words(name: &'static str) -> Results {
    let work = GatherWork {
        data: floats(10_000_000),
        indices: indices(1_000_000, 10_000_000),
        axis: 0,
        batch_dims: 0,
    };
    let mut ways = ours::gather(&work);
    ways.extend(arrow::gather(&work));
    ways.extend(candle::gather(&work));
    ways.extend(burn::gather::<1, Float, _, _, _>(&work));
    ways.extend(tract::gather(&work));
    ways.extend(rten::gather(&work));
    measure(name, ways)
}

fn columns(name: &'static str) -> Results {
    let work = GatherWork {
        data: floats((4096, 4096)),
        indices: indices(512, 4096),
        axis: 1,
        batch_dims: 0,
    };
    let mut ways = ours::gather(&work);
    ways.extend(candle::gather(&work));
    ways.extend(burn::gather::<2, Float, _, _, _>(&work));
    ways.extend(tract::gather(&work));
    ways.extend(rten::gather(&work));
    measure(name, ways)
}

fn batched_rows(name: &'static str) -> Results {
    let work = GatherWork {
        data: floats((32, 4096, 64)),
        indices: indices((32, 1024), 4096),
        axis: 1,
        batch_dims: 1,
    };
    let mut ways = ours::gather_batched(&work);
    ways.extend(candle::gather(&work));
    ways.extend(burn::gather_batched(&work));
    ways.extend(tract::gather(&work));
    ways.extend(rten::gather(&work));
    measure(name, ways)
}

fn picture_rows(name: &'static str) -> Results {
    let data: Array3<u8> = array((1080, 1920, 3), |bits| bits as u8);
    let work = GatherWork { data, indices: indices(540, 1080), axis: 0, batch_dims: 0 };
    let mut ways = ours::gather(&work);
    ways.extend(candle::gather(&work));
    ways.extend(burn::gather::<3, Int, _, _, _>(&work));
    ways.extend(tract::gather(&work));
    ways.extend(rten::gather(&work));
    measure(name, ways)
}

fn roll<const N: usize, D: RemoveAxis>(
    name: &'static str,
    data: Array<f32, D>,
    shifts: &[i64],
    axes: &[i64],
) -> Results {
    let work = RollWork { data, shifts: shifts.to_vec(), axes: axes.to_vec() };
    let mut ways = ours::roll(&work);
    ways.extend(candle::roll(&work));
    ways.extend(burn::roll::<N, _>(&work));
    measure(name, ways)
}

fn scatter<const N: usize, D: Dimension>(name: &'static str, work: &ScatterWork<'_, D>) -> Results {
    let mut ways = ours::scatter(work);
    ways.extend(candle::scatter(work));
    ways.extend(burn::scatter::<N, _>(work));
    ways.extend(tract::scatter(work));
    ways.extend(rten::scatter(work));
    measure(name, ways)
}

fn line(name: &'static str, targets: usize, count: usize, add: bool) -> Results {
    let ids: Array1<i64> = indices(count, targets);
    let (data, updates) = (floats(targets), floats(count));
    let work = ScatterWork { data, indices: ids.view(), updates, axis: 0, add, rows: None };
    scatter::<1, _>(name, &work)
}

/// Messages of 100,000 edges to 10,000 nodes.
fn rows(name: &'static str) -> Results {
    slices(name, 128, 10_000, 100_000, true)
}

fn slices(name: &'static str, width: usize, targets: usize, count: usize, add: bool) -> Results {
    let ids: Array1<i64> = indices(count, targets);
    let column = ids.view().insert_axis(Axis(1));
    let work = ScatterWork {
        data: floats((targets, width)),
        indices: column.broadcast((count, width)).expect("one id a row"),
        updates: floats((count, width)),
        axis: 0,
        add,
        rows: Some(ids.view()),
    };
    scatter::<2, _>(name, &work)
}

fn last_axis(name: &'static str) -> Results {
    let ids = indices((4096, 1024), 4096);
    let work = ScatterWork {
        data: floats((4096, 4096)),
        indices: ids.view(),
        updates: floats((4096, 1024)),
        axis: 1,
        add: false,
        rows: None,
    };
    scatter::<2, _>(name, &work)
}

fn rank_4(name: &'static str) -> Results {
    let ids = indices((125, 20, 7, 6), 1000);
    let work = ScatterWork {
        data: floats((1000, 256, 7, 7)),
        indices: ids.view(),
        updates: floats((125, 20, 7, 6)),
        axis: 0,
        add: false,
        rows: None,
    };
    scatter::<4, _>(name, &work)
}

/// An index for each element, as many as there are elements.
fn elements<const N: usize, S>(name: &'static str, shape: S, axis: usize) -> Results
where
    S: IntoDimension<Dim: RemoveAxis>,
{
    let shape = shape.into_dimension();
    let below = shape[axis];
    let ids = indices(shape.clone(), below);
    let work = GatherWork { data: floats(shape), indices: ids, axis, batch_dims: 0 };
    let mut ways = ours::gather_elements(&work);
    ways.extend(candle::gather_elements(&work));
    ways.extend(burn::gather_elements::<N, _>(&work));
    ways.extend(tract::gather_elements(&work));
    ways.extend(rten::gather_elements(&work));
    measure(name, ways)
}

/// Pairs of numbers below `below`, in rows.
fn tuples(count: usize, below: [usize; 2]) -> Array2<i64> {
    let mut tuples = indices((count, 2), usize::MAX >> 1);
    for (axis, below) in below.into_iter().enumerate() {
        tuples.column_mut(axis).mapv_inplace(|number| number % below as i64);
    }
    tuples
}

fn gather_nd<const N: usize, const M: usize, S>(
    name: &'static str,
    shape: S,
    tuples: Array2<i64>,
) -> Results
where
    S: IntoDimension<Dim = Dim<[Ix; N]>>,
    Dim<[Ix; N]>: Dimension,
{
    let work = TupleGather { data: floats(shape.into_dimension()), tuples };
    let mut ways = ours::gather_nd(&work);
    ways.extend(candle::gather_nd(&work));
    ways.extend(burn::gather_nd::<N, M, _>(&work));
    ways.extend(tract::gather_nd(&work));
    ways.extend(rten::gather_nd(&work));
    measure(name, ways)
}

fn scatter_nd<const N: usize, const M: usize, D, U>(
    name: &'static str,
    work: &TupleScatter<D, U>,
) -> Results
where
    D: Dimension,
    U: Dimension,
{
    let mut ways = ours::scatter_nd(work);
    ways.extend(burn::scatter_nd::<N, M, _, _>(work));
    ways.extend(tract::scatter_nd(work));
    ways.extend(rten::scatter_nd(work));
    measure(name, ways)
}

/// Rows of 256 bytes.
fn scatter_nd_rows(name: &'static str, tables: usize, count: usize, add: bool) -> Results {
    let data = floats((tables, 50, 64));
    let tuples = tuples(count, [tables, 50]);
    scatter_nd::<3, 2, _, _>(
        name,
        &TupleScatter { data, tuples, updates: floats((count, 64)), add },
    )
}

fn scatter_nd_elements(name: &'static str, add: bool) -> Results {
    let tuples = tuples(1_000_000, [3162, 3162]);
    let work = TupleScatter { data: floats((3162, 3162)), tuples, updates: floats(1_000_000), add };
    scatter_nd::<2, 1, _, _>(name, &work)
}
