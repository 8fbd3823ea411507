//! The workloads, and which peers have the operation.

use ndarray::{Array, Array1, Array3, Axis, Dimension, RemoveAxis};

use crate::harness::{Entry, Results};
use crate::inputs::{array, floats, indices};
use crate::work::{GatherWork, RollWork, ScatterWork};
use crate::{arrow, burn, candle, measure, ours, rten, tract};
use ::burn::tensor::{Float, Int};

pub(crate) fn all() -> Vec<Entry> {
    vec![
        ("g1_embed", g1),
        ("g3_take1d", g3),
        ("g4_lastaxis", g4),
        ("g6_batched", g6),
        ("g8_small", g8),
        ("g10_u8", g10),
        ("r1_1d", |name| roll::<1, _>(name, floats(10_000_000), &[12345], &[0])),
        ("r2_rows", |name| roll::<2, _>(name, floats((4096, 4096)), &[7], &[0])),
        ("r3_cols", |name| roll::<2, _>(name, floats((4096, 4096)), &[7], &[1])),
        ("r4_cube", |name| roll::<3, _>(name, floats((256, 256, 256)), &[1, 2, 3], &[0, 1, 2])),
        ("r5_swin", |name| roll::<4, _>(name, floats((8, 56, 56, 96)), &[-3, -3], &[1, 2])),
        ("r6_small", |name| roll::<2, _>(name, floats((4, 3)), &[1, 2], &[0, 1])),
        ("s1_put1d", |name| line(name, 1_000_000, 1_000_000, false)),
        ("s2_hist", |name| line(name, 1_000_000, 10_000_000, true)),
        ("s3_gnn_sum", s3),
        ("s4_rows_none", s4),
        ("s7_seed6", s7),
        ("s8_small", |name| line(name, 4, 6, true)),
    ]
}

fn g1(name: &'static str) -> Results {
    gather_rows(name, 32_000, 768, indices((8, 512), 32_000))
}

fn g8(name: &'static str) -> Results {
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

fn g3(name: &'static str) -> Results {
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

fn g4(name: &'static str) -> Results {
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

fn g6(name: &'static str) -> Results {
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

fn g10(name: &'static str) -> Results {
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
fn s3(name: &'static str) -> Results {
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

fn s4(name: &'static str) -> Results {
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

fn s7(name: &'static str) -> Results {
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
