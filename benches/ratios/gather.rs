//! Gathers: `g…` as in the peers' table, then further kinds.

use std::hint::black_box;

use ndarray::{Array1, Array2, Array3, ArrayView, Axis, Dimension, IxDyn, RemoveAxis, s};
use opkernels::{Gather, GatherExt};

use crate::harness::{Entry, Results, Workload};
use crate::inputs::{array, floats, indices};
use crate::limit;

pub(crate) fn workloads() -> Vec<Entry> {
    vec![
        ("g1_embed", g1),
        ("g2_rows256", |name| rows(name, 200_000, 64, 20_000)),
        ("g2_rows64", |name| rows(name, 4_000_000, 16, 200_000)),
        ("g2_rows3k", |name| rows(name, 80_000, 768, 5_000)),
        ("g2_rows4k", |name| rows(name, 65_536, 1024, 16_384)),
        ("g3_take1d", g3),
        ("g3_take1d_1M", |name| take(name, 100_000, 1_000_000)),
        ("g4_lastaxis", g4),
        ("g5_thin4", |name| rows(name, 1_000_000, 1, 1_000_000)),
        ("g5_thin12", |name| rows(name, 1_000_000, 3, 1_000_000)),
        ("g5_thin16", |name| rows(name, 1_000_000, 4, 1_000_000)),
        ("g5_thin28", |name| rows(name, 1_000_000, 7, 500_000)),
        ("g5_thin36", |name| rows(name, 500_000, 9, 500_000)),
        ("g5_thin60", |name| rows(name, 500_000, 15, 300_000)),
        ("g6_batched", g6),
        ("g7_batchlast", g7),
        ("g7_batchshort", g7_short),
        ("g8_small", g8),
        ("g8_small_dyn", g8_dyn),
        ("g9_transposed", g9),
        ("g9_lanes", g9_lanes),
        ("g9_reversed", g9_reversed),
        ("g9_stepped", g9_stepped),
        ("g10_u8", g10),
        ("g11_swap", g11),
        ("g11_cols3of8", g11_columns),
        ("g12_f32x3", g12),
        ("g13_1x", |name| rows(name, 2_000, 64, 200)),
        ("g13_10x", |name| rows(name, 20_000, 64, 2_000)),
        ("g13_100x", |name| rows(name, 200_000, 64, 20_000)),
    ]
}

const TIME: f64 = 0.12;

/// Rows of a table by a flat list of indices.
fn rows(name: &'static str, table: usize, width: usize, count: usize) -> Results {
    let data = floats((table, width));
    let idx = indices(count, table);
    table_rows(name, &data, &idx)
}

fn table_rows(name: &'static str, data: &Array2<f32>, idx: &Array1<i64>) -> Results {
    let shape = (idx.len(), data.ncols());
    let as_usize: Vec<usize> = idx.iter().map(|&i| i as usize).collect();
    let mut by_hand = floats(shape);
    let plain = floats(shape);
    Workload::new(name)
        .both("copy", || {
            let mut out = floats(shape);
            let from = plain.view();
            move || limit::memcpy(from.as_slice().unwrap(), out.as_slice_mut().unwrap())
        })
        .both("into", || {
            let mut out = floats(shape);
            move || data.gather_into(idx, Gather::along(0), black_box(&mut out)).unwrap()
        })
        .both("alloc", || move || drop(black_box(data.gather(idx, 0).unwrap())))
        .one("select", || drop(black_box(data.select(Axis(0), &as_usize))))
        .one("by hand", || {
            for (mut row, &i) in by_hand.outer_iter_mut().zip(idx) {
                row.assign(&data.row(i as usize));
            }
        })
        .measure(TIME)
}

fn g1(name: &'static str) -> Results {
    rows(name, 32_000, 768, 4096)
}

fn g3(name: &'static str) -> Results {
    take(name, 10_000_000, 1_000_000)
}

fn take(name: &'static str, table: usize, count: usize) -> Results {
    let data = floats(table);
    let idx = indices(count, table);
    let as_usize: Vec<usize> = idx.iter().map(|&i| i as usize).collect();
    let mut by_hand = floats(count);
    Workload::new(name)
        .both("into", || {
            let (mut out, data, idx) = (floats(count), data.view(), idx.view());
            move || data.gather_into(&idx, Gather::along(0), black_box(&mut out)).unwrap()
        })
        .both("alloc", || || drop(black_box(data.gather(&idx, 0).unwrap())))
        .one("select", || drop(black_box(data.select(Axis(0), &as_usize))))
        .one("by hand", || by_hand.iter_mut().zip(&idx).for_each(|(o, &i)| *o = data[i as usize]))
        .measure(TIME)
}

fn g4(name: &'static str) -> Results {
    let data = floats((4096, 4096));
    let idx = indices(512, 4096);
    let mut by_hand = floats((4096, 512));
    Workload::new(name)
        .both("into", || {
            let (mut out, data, idx) = (floats((4096, 512)), data.view(), idx.view());
            move || data.gather_into(&idx, Gather::along(1), black_box(&mut out)).unwrap()
        })
        .both("alloc", || || drop(black_box(data.gather(&idx, 1).unwrap())))
        .one("by hand", || {
            for (mut row, data) in by_hand.outer_iter_mut().zip(data.outer_iter()) {
                row.iter_mut().zip(&idx).for_each(|(o, &i)| *o = data[i as usize]);
            }
        })
        .measure(TIME)
}

fn g6(name: &'static str) -> Results {
    let data = floats((32, 4096, 64));
    let idx = indices((32, 1024), 4096);
    let mut by_hand = floats((32, 1024, 64));
    Workload::new(name)
        .both("into", || {
            let (mut out, data, idx) = (floats((32, 1024, 64)), data.view(), idx.view());
            move || {
                data.gather_into(&idx, Gather::along(1).batch_dims(1), black_box(&mut out)).unwrap()
            }
        })
        .one("by hand", || {
            for ((mut out, data), idx) in
                by_hand.outer_iter_mut().zip(data.outer_iter()).zip(idx.outer_iter())
            {
                for (mut row, &i) in out.outer_iter_mut().zip(idx) {
                    row.assign(&data.row(i as usize));
                }
            }
        })
        .measure(TIME)
}

fn g7(name: &'static str) -> Results {
    batched_last(name, 4096, 1024, 256)
}

fn g7_short(name: &'static str) -> Results {
    batched_last(name, 500_000, 16, 3)
}

/// Each row has indices of its own into the last axis.
fn batched_last(name: &'static str, rows: usize, len: usize, count: usize) -> Results {
    let data = floats((rows, len));
    let idx = indices((rows, count), len);
    let mut by_hand = floats((rows, count));
    Workload::new(name)
        .both("into", || {
            let (mut out, data, idx) = (floats((rows, count)), data.view(), idx.view());
            move || {
                data.gather_into(&idx, Gather::along(1).batch_dims(1), black_box(&mut out)).unwrap()
            }
        })
        .one("by hand", || {
            for ((mut out, data), idx) in
                by_hand.outer_iter_mut().zip(data.outer_iter()).zip(idx.outer_iter())
            {
                out.iter_mut().zip(idx).for_each(|(o, &i)| *o = data[i as usize]);
            }
        })
        .measure(TIME)
}

fn g8(name: &'static str) -> Results {
    let data = floats((100, 16));
    let idx = indices(10, 100);
    let as_usize: Vec<usize> = idx.iter().map(|&i| i as usize).collect();
    let (mut out, mut by_hand) = (floats((10, 16)), floats((10, 16)));
    Workload::new(name)
        .one("into", || {
            data.gather_into(black_box(&idx), Gather::along(0), black_box(&mut out)).unwrap()
        })
        .one("alloc", || drop(black_box(data.gather(black_box(&idx), 0).unwrap())))
        .one("select", || drop(black_box(data.select(Axis(0), black_box(&as_usize)))))
        .one("by hand", || {
            for (mut row, &i) in by_hand.outer_iter_mut().zip(&idx) {
                row.assign(&data.row(i as usize));
            }
            black_box(&mut by_hand);
        })
        .measure(TIME)
}

fn g8_dyn(name: &'static str) -> Results {
    let data = floats((100, 16)).into_dyn();
    let idx = indices(10, 100).into_dyn();
    let mut out = floats((10, 16)).into_dyn();
    Workload::new(name)
        .one("into", || {
            data.gather_into(black_box(&idx), Gather::along(0), black_box(&mut out)).unwrap()
        })
        .one("alloc", || drop(black_box(data.gather(black_box(&idx), 0).unwrap())))
        .measure(TIME)
}

/// Against first copying to standard layout.
fn strided<D: Dimension + RemoveAxis>(
    name: &'static str,
    data: ArrayView<'_, f32, D>,
    axis: usize,
    idx: &Array1<i64>,
) -> Results {
    let mut shape = data.shape().to_vec();
    shape[axis] = idx.len();
    let make = || floats(IxDyn(&shape));
    let standard = data.as_standard_layout().into_owned();
    let mut copied = make();
    Workload::new(name)
        .both("into", || {
            let (mut out, data) = (make(), data.view());
            move || data.gather_into(idx, Gather::along(axis as i64), black_box(&mut out)).unwrap()
        })
        .both("contiguous", || {
            let (mut out, data) = (make(), standard.view());
            move || data.gather_into(idx, Gather::along(axis as i64), black_box(&mut out)).unwrap()
        })
        .one("copy first", || {
            let standard = data.as_standard_layout();
            standard.gather_into(idx, Gather::along(axis as i64), black_box(&mut copied)).unwrap();
        })
        .measure(TIME)
}

fn g9(name: &'static str) -> Results {
    let data = floats((2048, 2048));
    strided(name, data.t(), 0, &indices(1024, 2048))
}

fn g9_lanes(name: &'static str) -> Results {
    let data = floats((64, 2048, 128));
    strided(name, data.view().permuted_axes([1, 0, 2]), 0, &indices(1024, 2048))
}

fn g9_reversed(name: &'static str) -> Results {
    let data = floats((20_000, 256));
    strided(name, data.slice(s![..;-1, ..;-1]), 0, &indices(10_000, 20_000))
}

fn g9_stepped(name: &'static str) -> Results {
    let data = floats((20_000, 512));
    strided(name, data.slice(s![..;2, ..;2]), 0, &indices(10_000, 10_000))
}

fn g10(name: &'static str) -> Results {
    let data: Array3<u8> = array((1080, 1920, 3), |bits| bits as u8);
    let idx = indices(540, 1080);
    let plain: Array3<u8> = array((540, 1920, 3), |bits| bits as u8);
    let mut by_hand = plain.clone();
    Workload::new(name)
        .both("copy", || {
            let (mut out, from) = (plain.clone(), plain.view());
            move || limit::memcpy(from.as_slice().unwrap(), out.as_slice_mut().unwrap())
        })
        .both("into", || {
            let (mut out, data, idx) = (plain.clone(), data.view(), idx.view());
            move || data.gather_into(&idx, Gather::along(0), black_box(&mut out)).unwrap()
        })
        .both("alloc", || || drop(black_box(data.gather(&idx, 0).unwrap())))
        .one("by hand", || {
            for (mut row, &i) in by_hand.outer_iter_mut().zip(&idx) {
                row.assign(&data.index_axis(Axis(0), i as usize));
            }
        })
        .measure(TIME)
}

fn g11(name: &'static str) -> Results {
    let data: Array3<u8> = array((1080, 1920, 3), |bits| bits as u8);
    let idx = [2_i64, 1, 0];
    let mut by_hand = data.clone();
    Workload::new(name)
        .both("copy", || {
            let (mut out, from) = (data.clone(), data.view());
            move || limit::memcpy(from.as_slice().unwrap(), out.as_slice_mut().unwrap())
        })
        .both("into", || {
            let (mut out, data) = (data.clone(), data.view());
            move || data.gather_into(&idx, Gather::along(2), black_box(&mut out)).unwrap()
        })
        .both("alloc", || || drop(black_box(data.gather(&idx, 2).unwrap())))
        .one("by hand", || {
            let pixels = data.as_slice().unwrap().chunks_exact(3);
            for (out, px) in by_hand.as_slice_mut().unwrap().chunks_exact_mut(3).zip(pixels) {
                out.copy_from_slice(&[px[2], px[1], px[0]]);
            }
        })
        .measure(TIME)
}

fn g11_columns(name: &'static str) -> Results {
    let data = floats((1_000_000, 8));
    let idx = [6_i64, 0, 3];
    let mut by_hand = floats((1_000_000, 3));
    Workload::new(name)
        .both("into", || {
            let (mut out, data) = (floats((1_000_000, 3)), data.view());
            move || data.gather_into(&idx, Gather::along(1), black_box(&mut out)).unwrap()
        })
        .one("by hand", || {
            for (mut out, row) in by_hand.outer_iter_mut().zip(data.outer_iter()) {
                for (o, &i) in out.iter_mut().zip(&idx) {
                    *o = row[i as usize];
                }
            }
        })
        .measure(TIME)
}

fn g12(name: &'static str) -> Results {
    let data: Array1<[f32; 3]> = array(1_000_000, |bits| [bits as f32; 3]);
    let idx = indices(500_000, 1_000_000);
    let mut by_hand = data.slice(s![..500_000]).to_owned();
    Workload::new(name)
        .both("into", || {
            let (mut out, data, idx) =
                (data.slice(s![..500_000]).to_owned(), data.view(), idx.view());
            move || data.gather_into(&idx, Gather::along(0), black_box(&mut out)).unwrap()
        })
        .one("by hand", || by_hand.iter_mut().zip(&idx).for_each(|(o, &i)| *o = data[i as usize]))
        .measure(TIME)
}
