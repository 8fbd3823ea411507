//! Scatters: `s…` as in the peers' table, then further kinds.

use std::hint::black_box;

use ndarray::{Array1, Array2, ArrayView2, Axis, Zip};
use opkernels::{Reduction, ScatterElements, ScatterElementsExt};

use crate::harness::{Entry, Results, Workload};
use crate::inputs::{floats, indices};
use crate::limit;

pub(crate) fn workloads() -> Vec<Entry> {
    vec![
        ("s1_put1d", |name| line(name, 1_000_000, 1_000_000, Reduction::None)),
        ("s2_hist", |name| line(name, 1_000_000, 10_000_000, Reduction::Sum)),
        ("s2_mean", |name| line(name, 1_000_000, 10_000_000, Reduction::Mean)),
        ("s2_max", |name| line(name, 1_000_000, 10_000_000, Reduction::Max)),
        ("s3_gnn_sum", |name| nodes(name, Reduction::Sum)),
        ("s3_gnn_mean", |name| nodes(name, Reduction::Mean)),
        ("s3_gnn_max", |name| nodes(name, Reduction::Max)),
        ("s3_gnn_matrix", gnn_matrix),
        ("s4_rows_none", |name| last_axis(name, 4096, 4096, 1024, Reduction::None)),
        ("s4_rows_sum", |name| last_axis(name, 4096, 4096, 1024, Reduction::Sum)),
        ("s4_short", |name| last_axis(name, 500_000, 16, 3, Reduction::Sum)),
        ("s5_axis0_sum", |name| axis0(name, Reduction::Sum)),
        ("s5_axis0_mean", |name| axis0(name, Reduction::Mean)),
        ("s6_few", few),
        ("s7_seed6", s7),
        ("s8_small", s8),
        ("s10_hot64", |name| line(name, 64, 10_000_000, Reduction::Sum)),
        ("s10_hot64_mean", |name| line(name, 64, 10_000_000, Reduction::Mean)),
        ("s11_1x", |name| line(name, 1_000, 10_000, Reduction::Sum)),
        ("s11_10x", |name| line(name, 10_000, 100_000, Reduction::Sum)),
        ("s11_100x", |name| line(name, 100_000, 1_000_000, Reduction::Sum)),
    ]
}

const TIME: f64 = 0.12;

fn along(axis: i32, reduction: Reduction) -> ScatterElements {
    ScatterElements::along(axis).reduction(reduction)
}

/// One dimension, uniform indices.
fn line(name: &'static str, targets: usize, count: usize, reduction: Reduction) -> Results {
    let data = floats(targets);
    let idx = indices(count, targets);
    let updates = floats(count);
    let mut hand = data.clone();
    let mut counts = vec![1_u32; targets];
    let attributes = along(0, reduction);
    Workload::new(name)
        .both("into", || {
            let (mut target, idx, updates) = (data.clone(), idx.view(), updates.view());
            move || {
                black_box(&mut target).scatter_elements_inplace(&idx, &updates, attributes).unwrap()
            }
        })
        .both("alloc", || {
            || drop(black_box(data.scatter_elements_with(&idx, &updates, attributes).unwrap()))
        })
        .one("by hand", || by_hand_line(reduction, &mut hand, &mut counts, &idx, &updates))
        .measure(TIME)
}

fn by_hand_line(
    reduction: Reduction,
    target: &mut Array1<f32>,
    counts: &mut [u32],
    idx: &Array1<i64>,
    updates: &Array1<f32>,
) {
    let pairs = idx.iter().zip(updates).map(|(&i, &u)| (i as usize, u));
    match reduction {
        Reduction::None => pairs.for_each(|(i, u)| target[i] = u),
        Reduction::Sum => pairs.for_each(|(i, u)| target[i] += u),
        Reduction::Max => pairs.for_each(|(i, u)| target[i] = target[i].max(u)),
        _ => {
            counts.fill(1);
            pairs.for_each(|(i, u)| {
                target[i] += u;
                counts[i] += 1;
            });
            Zip::from(target).and(&*counts).for_each(|t, &c| *t /= c as f32);
        }
    }
}

/// Messages of 100,000 edges to 10,000 nodes, by indices broadcast over rows.
fn nodes(name: &'static str, reduction: Reduction) -> Results {
    let ids = indices(100_000, 10_000);
    let column = ids.view().insert_axis(Axis(1));
    let idx = column.broadcast((100_000, 128)).unwrap();
    gnn(name, idx, &ids, reduction)
}

/// The same with the indices written out, as engines hand them over.
fn gnn_matrix(name: &'static str) -> Results {
    let ids = indices(100_000, 10_000);
    let idx = Array2::from_shape_fn((100_000, 128), |(row, _)| ids[row]);
    gnn(name, idx.view(), &ids, Reduction::Sum)
}

fn gnn(
    name: &'static str,
    idx: ArrayView2<'_, i64>,
    ids: &Array1<i64>,
    reduction: Reduction,
) -> Results {
    let data = floats((10_000, 128));
    let updates = floats((100_000, 128));
    let mut hand = data.clone();
    let attributes = along(0, reduction);
    Workload::new(name)
        .both("into", || {
            let (mut target, updates) = (data.clone(), updates.view());
            move || {
                black_box(&mut target).scatter_elements_inplace(&idx, &updates, attributes).unwrap()
            }
        })
        .both("alloc", || {
            || drop(black_box(data.scatter_elements_with(&idx, &updates, attributes).unwrap()))
        })
        .one("by hand", || {
            for (&id, update) in ids.iter().zip(updates.outer_iter()) {
                let mut row = hand.row_mut(id as usize);
                match reduction {
                    Reduction::Max => row.zip_mut_with(&update, |t, &u| *t = t.max(u)),
                    _ => row += &update,
                }
            }
        })
        .measure(TIME)
}

fn last_axis(
    name: &'static str,
    rows: usize,
    len: usize,
    count: usize,
    reduction: Reduction,
) -> Results {
    let data = floats((rows, len));
    let idx = indices((rows, count), len);
    let updates = floats((rows, count));
    let mut hand = data.clone();
    let attributes = along(1, reduction);
    Workload::new(name)
        .both("into", || {
            let (mut target, idx, updates) = (data.clone(), idx.view(), updates.view());
            move || {
                black_box(&mut target).scatter_elements_inplace(&idx, &updates, attributes).unwrap()
            }
        })
        .both("alloc", || {
            || drop(black_box(data.scatter_elements_with(&idx, &updates, attributes).unwrap()))
        })
        .one("by hand", || {
            for ((mut row, idx), updates) in
                hand.outer_iter_mut().zip(idx.outer_iter()).zip(updates.outer_iter())
            {
                match reduction {
                    Reduction::None => {
                        idx.iter().zip(updates).for_each(|(&i, &u)| row[i as usize] = u)
                    }
                    _ => idx.iter().zip(updates).for_each(|(&i, &u)| row[i as usize] += u),
                }
            }
        })
        .measure(TIME)
}

/// Every element of a row has an index of its own along axis 0.
fn axis0(name: &'static str, reduction: Reduction) -> Results {
    let data = floats((4096, 1024));
    let idx = indices((4096, 1024), 4096);
    let updates = floats((4096, 1024));
    let mut hand = data.clone();
    let attributes = along(0, reduction);
    Workload::new(name)
        .both("into", || {
            let (mut target, idx, updates) = (data.clone(), idx.view(), updates.view());
            move || {
                black_box(&mut target).scatter_elements_inplace(&idx, &updates, attributes).unwrap()
            }
        })
        .one("by hand", || {
            for (idx, updates) in idx.outer_iter().zip(updates.outer_iter()) {
                for (j, (&i, &u)) in idx.iter().zip(updates).enumerate() {
                    hand[[i as usize, j]] += u;
                }
            }
        })
        .measure(TIME)
}

/// A thousand updates of a large array: the cost is theirs, not the array's.
fn few(name: &'static str) -> Results {
    let data = floats(50_000_000);
    let idx = indices(1000, 50_000_000);
    let updates = floats(1000);
    let mut hand = data.clone();
    Workload::new(name)
        .both("into", || {
            let (mut target, idx, updates) = (data.clone(), idx.view(), updates.view());
            move || {
                let mean = along(0, Reduction::Mean);
                black_box(&mut target).scatter_elements_inplace(&idx, &updates, mean).unwrap();
            }
        })
        .one("by hand", || idx.iter().zip(&updates).for_each(|(&i, &u)| hand[i as usize] += u))
        .measure(TIME)
}

fn s7(name: &'static str) -> Results {
    let data = floats((1000, 256, 7, 7));
    let idx = indices((125, 20, 7, 6), 1000);
    let updates = floats((125, 20, 7, 6));
    let mut hand = data.clone();
    Workload::new(name)
        .both("into", || {
            let (mut target, idx, updates) = (data.clone(), idx.view(), updates.view());
            move || black_box(&mut target).scatter_elements_inplace(&idx, &updates, 0).unwrap()
        })
        .both("copy", || {
            let (mut out, from) = (data.clone(), data.view());
            move || limit::memcpy(from.as_slice().unwrap(), out.as_slice_mut().unwrap())
        })
        .both("alloc", || || drop(black_box(data.scatter_elements(&idx, &updates, 0).unwrap())))
        .one("by hand", || {
            for (((_, b, c, d), &i), &u) in idx.indexed_iter().zip(&updates) {
                hand[[i as usize, b, c, d]] = u;
            }
        })
        .measure(TIME)
}

fn s8(name: &'static str) -> Results {
    let data = floats(4);
    let idx = ndarray::array![1_i64, 0, 0, 2, 3, 2];
    let updates = floats(6);
    let (mut target, mut hand) = (data.clone(), data.clone());
    let sum = along(0, Reduction::Sum);
    Workload::new(name)
        .one("into", || {
            black_box(&mut target)
                .scatter_elements_inplace(black_box(&idx), &updates, sum)
                .unwrap();
        })
        .one("alloc", || {
            drop(black_box(data.scatter_elements_with(black_box(&idx), &updates, sum).unwrap()))
        })
        .one("by hand", || {
            for (&i, &u) in black_box(&idx).iter().zip(&updates) {
                hand[i as usize] += u;
            }
            black_box(&mut hand);
        })
        .measure(TIME)
}
