//! The workloads, and which peers have the operation.

use ndarray::{Array, Array1, Array3, Axis, Dimension, RemoveAxis};

use crate::harness::Results;
use crate::inputs::{array, floats, indices};
use crate::work::{GatherWork, RollWork, ScatterWork};
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
    let ids: Array1<i64> = indices(100_000, 10_000);
    let column = ids.view().insert_axis(Axis(1));
    let work = ScatterWork {
        data: floats((10_000, 128)),
        indices: column.broadcast((100_000, 128)).expect("one id a row"),
        updates: floats((100_000, 128)),
        axis: 0,
        add: true,
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
