//! Calls of a few elements of the operations that have no larger workload here.

use std::hint::black_box;

use ndarray::{Array1, Array2, array};
use opkernels::{
    GatherElements, GatherElementsExt, GatherNd, GatherNdExt, Scatter, ScatterExt, ScatterNd,
    ScatterNdExt,
};

use crate::inputs::{blank, copy, floats};
use crate::workload::{Take, Ways, Workload};

/// An operation each.
pub(crate) fn workloads() -> Vec<Workload> {
    vec![
        Workload::new("gather_elements_eight", gather_elements),
        Workload::new("gather_nd_six_pairs", gather_nd),
        Workload::new("scatter_six_rows", scatter),
        Workload::new("scatter_nd_six_pairs", scatter_nd),
    ]
}

/// Two elements of each row.
fn gather_elements(take: Take<'_>) {
    let (data, idx) = (floats((4, 3)), array![[1, 0], [2, 2], [0, 1], [-1, 0]]);
    let along = GatherElements::along(1);
    let answer: Array1<f32> = idx
        .indexed_iter()
        .map(|((row, _), &i): (_, &i64)| data[(row, i.rem_euclid(3) as usize)])
        .collect();
    Ways::to(&answer)
        .into(
            "into",
            || blank((4, 2)),
            |out| data.gather_elements_into(black_box(&idx), along, out).unwrap(),
        )
        .returned("alloc", || data.gather_elements(black_box(&idx), 1).unwrap())
        .give(take);
}

/// Row and column of six elements.
fn pairs() -> Array2<i64> {
    array![[1, 0], [0, 2], [3, 1], [2, 2], [0, 0], [1, 1]]
}

fn gather_nd(take: Take<'_>) {
    let (data, idx) = (floats((4, 3)), pairs());
    let answer: Array1<f32> =
        idx.outer_iter().map(|pair| data[(pair[0] as usize, pair[1] as usize)]).collect();
    Ways::to(&answer)
        .into(
            "into",
            || blank(6),
            |out| data.gather_nd_into(black_box(&idx), GatherNd::new(), out).unwrap(),
        )
        .returned("alloc", || data.gather_nd(black_box(&idx)).unwrap())
        .give(take);
}

/// Sums of rows of four.
fn scatter(take: Take<'_>) {
    let (data, updates, idx) = (floats((4, 4)), floats((6, 4)), array![1_i64, 0, 0, 2, 3, 2]);
    let mut answer = copy(&data);
    for (&i, row) in idx.iter().zip(updates.outer_iter()) {
        answer.row_mut(i as usize).zip_mut_with(&row, |sum, &new| *sum += new);
    }
    let answer = answer.flatten().into_owned();
    let sum = Scatter::sum(0);
    Ways::to(&answer)
        .into(
            "into",
            || copy(&data),
            |target| target.scatter_inplace(black_box(&idx), &updates, sum).unwrap(),
        )
        .returned("alloc", || data.scatter_with(black_box(&idx), &updates, sum).unwrap())
        .give(take);
}

/// Six elements overwritten.
fn scatter_nd(take: Take<'_>) {
    let (data, updates, idx) = (floats((4, 3)), floats(6), pairs());
    let mut answer = copy(&data);
    for (pair, &update) in idx.outer_iter().zip(&updates) {
        answer[(pair[0] as usize, pair[1] as usize)] = update;
    }
    let answer = answer.flatten().into_owned();
    let write = ScatterNd::new();
    Ways::to(&answer)
        .into(
            "into",
            || copy(&data),
            |target| target.scatter_nd_inplace(black_box(&idx), &updates, write).unwrap(),
        )
        .returned("alloc", || data.scatter_nd_with(black_box(&idx), &updates, write).unwrap())
        .give(take);
}
