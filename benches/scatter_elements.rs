//! Scatters beside copies and what ndarray users write now:
//! `cargo bench --bench scatter_elements -- [part of a name]`.
//!
//! Work in place counts the bytes of the updates, as does its limit, a copy of
//! them. Work that returns a new array counts those of the data as well, and so
//! does "copy all".

mod common;
// Not every benchmark has every kind of input and limit.
#[allow(dead_code)]
#[path = "ratios/inputs.rs"]
mod inputs;
#[allow(dead_code)]
#[path = "ratios/limit.rs"]
mod limit;

use std::hint::black_box;

use ndarray::{Array, Array1, Array2, Array4, ArrayView, Axis, Dimension};
use opkernels::{Reduction, ScatterElements, ScatterElementsExt};

use common::Benches;
use inputs::{floats, indices};

fn main() {
    common::run(|benches| {
        line(benches, "s1_put1d", 1_000_000, 1_000_000, Reduction::None);
        line(benches, "s2_hist", 1_000_000, 10_000_000, Reduction::Sum);
        nodes(benches);
        last_axis(benches);
        seed(benches);
        line(benches, "s8_small", 4, 6, Reduction::Sum);
        line(benches, "s11_1x", 1_000, 10_000, Reduction::Sum);
        line(benches, "s11_10x", 10_000, 100_000, Reduction::Sum);
        line(benches, "s11_100x", 100_000, 1_000_000, Reduction::Sum);
    });
}

/// Measures one scatter, and `by_hand` on the same target.
fn scatter<D: Dimension>(
    benches: &mut Benches,
    name: &str,
    data: &Array<f32, D>,
    idx: &ArrayView<'_, i64, D>,
    updates: &Array<f32, D>,
    attributes: ScatterElements,
    (hand, by_hand): (&str, impl Fn(&mut Array<f32, D>) + Sync),
) {
    let fresh = |from: &Array<f32, D>| floats(from.raw_dim());
    let (mut target, mut plain) = (fresh(data), fresh(updates));
    let bytes = updates.len() * size_of::<f32>();
    let all = bytes + data.len() * size_of::<f32>();
    benches
        .workload(name)
        .bytes(bytes)
        .both("copy", || copy(updates, &mut plain))
        .both("scatter_elements_inplace", || {
            let target = black_box(&mut target);
            target.scatter_elements_inplace(black_box(idx), updates, attributes).unwrap();
        })
        .one(hand, || by_hand(black_box(&mut target)))
        .bytes(all)
        .both("copy all", || {
            copy(data, &mut target);
            copy(updates, &mut plain);
        })
        .both("scatter_elements_with", || {
            let idx = black_box(idx);
            drop(black_box(data.scatter_elements_with(idx, updates, attributes).unwrap()));
        })
        .one(&format!("clone, {hand}"), || {
            let mut target = data.clone();
            by_hand(&mut target);
            drop(black_box(target));
        });
}

fn copy<D: Dimension>(from: &Array<f32, D>, to: &mut Array<f32, D>) {
    limit::memcpy(
        from.as_slice().expect("standard layout"),
        black_box(to).as_slice_mut().expect("standard layout"),
    );
}

fn along(axis: i32, reduction: Reduction) -> ScatterElements {
    ScatterElements::along(axis).reduction(reduction)
}

/// One dimension, uniform indices.
fn line(benches: &mut Benches, name: &str, targets: usize, count: usize, reduction: Reduction) {
    let idx = indices(count, targets);
    let updates = floats(count);
    let by_hand = |target: &mut Array1<f32>| {
        let pairs = idx.iter().zip(&updates).map(|(&i, &u)| (i as usize, u));
        match reduction {
            Reduction::Sum => pairs.for_each(|(i, u)| target[i] += u),
            _ => pairs.for_each(|(i, u)| target[i] = u),
        }
    };
    let ways = ("indexed loop", by_hand);
    scatter(benches, name, &floats(targets), &idx.view(), &updates, along(0, reduction), ways);
}

/// Messages of 100,000 edges to 10,000 nodes, by indices broadcast over rows.
fn nodes(benches: &mut Benches) {
    let ids = indices(100_000, 10_000);
    let column = ids.view().insert_axis(Axis(1));
    let idx = column.broadcast((100_000, 128)).expect("one id a row");
    let updates = floats((100_000, 128));
    let ways = ("rows added", |target: &mut Array2<f32>| {
        for (&id, update) in ids.iter().zip(updates.outer_iter()) {
            let mut row = target.row_mut(id as usize);
            row += &update;
        }
    });
    let data = floats((10_000, 128));
    scatter(benches, "s3_gnn_sum", &data, &idx, &updates, along(0, Reduction::Sum), ways);
}

fn last_axis(benches: &mut Benches) {
    let idx = indices((4096, 1024), 4096);
    let updates = floats((4096, 1024));
    let ways = ("indexed loop", |target: &mut Array2<f32>| {
        let lanes = idx.outer_iter().zip(updates.outer_iter());
        for (mut row, (idx, updates)) in target.outer_iter_mut().zip(lanes) {
            idx.iter().zip(updates).for_each(|(&i, &u)| row[i as usize] = u);
        }
    });
    let data = floats((4096, 4096));
    let attributes = along(1, Reduction::None);
    scatter(benches, "s4_rows_none", &data, &idx.view(), &updates, attributes, ways);
}

/// The sixth example of OpenVINO's specification: indices smaller than data.
fn seed(benches: &mut Benches) {
    let idx = indices((125, 20, 7, 6), 1000);
    let updates = floats((125, 20, 7, 6));
    let ways = ("indexed loop", |target: &mut Array4<f32>| {
        for (((_, b, c, d), &i), &u) in idx.indexed_iter().zip(&updates) {
            target[[i as usize, b, c, d]] = u;
        }
    });
    let data = floats((1000, 256, 7, 7));
    let attributes = along(0, Reduction::None);
    scatter(benches, "s7_seed6", &data, &idx.view(), &updates, attributes, ways);
}
