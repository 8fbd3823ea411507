//! Folds by a closure that adds, and one value for all updates, each beside the sum that is built
//! in, of updates spelled out.

use ndarray::{Array, Array1, Array2, ArrayD, ArrayView2, ArrayViewD, Axis, Dimension, Zip};
use opkernels::{
    Scatter, ScatterElements, ScatterElementsExt, ScatterExt, ScatterNd, ScatterNdExt,
};

use crate::inputs::{copy, floats, indices};
use crate::workload::{Take, Ways, Workload};

/// All folds, and all scatters of one value.
pub fn workloads() -> Vec<Workload> {
    const M: usize = 1_000_000;
    vec![
        Workload::new("scatter_fold_line_x1", |take| line(take, M / 1000, M / 100)),
        Workload::new("scatter_fold_line_x10", |take| line(take, M / 100, M / 10)),
        Workload::new("scatter_fold_line_x100", |take| line(take, M / 10, M)),
        Workload::new("scatter_fold_line_x1000", |take| line(take, M, 10 * M)),
        Workload::new("scatter_fold_slices_x1", |take| slices(take, 200, 2_000)),
        Workload::new("scatter_fold_slices_x10", |take| slices(take, 2_000, 20_000)),
        Workload::new("scatter_fold_slices_x100", |take| slices(take, 20_000, 200_000)),
        Workload::new("scatter_fold_first_axis", |take| matrix(take, 0)),
        Workload::new("scatter_fold_last_axis", |take| matrix(take, 1)),
        Workload::new("scatter_fold_pairs_x1", |take| pairs(take, 316, 10_000)),
        Workload::new("scatter_fold_pairs_x10", |take| pairs(take, 1000, 100_000)),
        Workload::new("scatter_fold_pairs_x100", |take| pairs(take, 3162, M)),
        Workload::new("scatter_fold_in_f64", in_f64),
        Workload::new("scatter_one_value_line_x1", |take| ones(take, M / 1000, M / 100)),
        Workload::new("scatter_one_value_line_x10", |take| ones(take, M / 100, M / 10)),
        Workload::new("scatter_one_value_line_x100", |take| ones(take, M / 10, M)),
        Workload::new("scatter_one_value_line_x1000", |take| ones(take, M, 10 * M)),
        Workload::new("scatter_one_value_slices", zeroed_slices),
        Workload::new("scatter_one_value_pairs", counted_pairs),
        Workload::new("scatter_one_value_last_axis", masked),
    ]
}

fn add(target: &mut f32, &update: &f32) {
    *target += update;
}

/// What the sums must be, each index one position in the target.
fn naive(
    data: ArrayViewD<'_, f32>,
    places: impl IntoIterator<Item = usize>,
    updates: impl IntoIterator<Item = f32>,
) -> Array1<f32> {
    let mut answer: Vec<f32> = data.iter().copied().collect();
    places.into_iter().zip(updates).for_each(|(place, update)| answer[place] += update);
    copy(&Array1::from_vec(answer))
}

fn line(take: Take<'_>, targets: usize, count: usize) {
    let (data, idx, updates) = (floats(targets), indices(count, targets), floats(count));
    let places = idx.iter().map(|&i| i as usize);
    let answer = naive(data.view().into_dyn(), places, updates.iter().copied());
    folded_elements(Ways::to(&answer), &data, &idx, &updates, 0)
        .hand(
            "by hand",
            || copy(&data),
            |target| idx.iter().zip(&updates).for_each(|(&i, &u)| target[i as usize] += u),
        )
        .give(take);
}

/// The fold and the sum.
fn folded_elements<'a, D: Dimension + 'static>(
    ways: Ways<'a, f32>,
    data: &'a Array<f32, D>,
    idx: &'a Array<i64, D>,
    updates: &'a Array<f32, D>,
    axis: usize,
) -> Ways<'a, f32> {
    let attributes = ScatterElements::sum(Axis(axis));
    ways.into(
        "into",
        || copy(data),
        move |target| target.scatter_elements_fold(idx, updates, Axis(axis), add).unwrap(),
    )
    .into(
        "built in",
        || copy(data),
        move |target| target.scatter_elements_inplace(idx, updates, attributes).unwrap(),
    )
}

/// An index for each of 4096 x 1024 updates.
fn matrix(take: Take<'_>, axis: usize) {
    let (data, updates) = (floats((4096, 1024)), floats((4096, 1024)));
    let idx: Array2<i64> = indices((4096, 1024), data.shape()[axis]);
    let places = idx.indexed_iter().map(|((row, column), &i)| {
        if axis == 0 { i as usize * 1024 + column } else { row * 1024 + i as usize }
    });
    let answer = naive(data.view().into_dyn(), places, updates.iter().copied());
    folded_elements(Ways::to(&answer), &data, &idx, &updates, axis)
        .hand(
            "by hand",
            || copy(&data),
            |target| {
                Zip::indexed(&idx).and(&updates).for_each(|(row, column), &i, &u| {
                    let i = i as usize;
                    target[if axis == 0 { [i, column] } else { [row, i] }] += u;
                });
            },
        )
        .give(take);
}

/// Rows of 256 bytes.
fn slices(take: Take<'_>, targets: usize, count: usize) {
    let (data, idx) = (floats((targets, 64)), indices(count, targets));
    let updates: Array2<f32> = floats((count, 64));
    let places = idx.iter().flat_map(|&i| i as usize * 64..(i as usize + 1) * 64);
    let answer = naive(data.view().into_dyn(), places, updates.iter().copied());
    let sum = Scatter::sum(0);
    Ways::to(&answer)
        .into("into", || copy(&data), |target| target.scatter_fold(&idx, &updates, 0, add).unwrap())
        .into(
            "built in",
            || copy(&data),
            |target| target.scatter_inplace(&idx, &updates, sum).unwrap(),
        )
        .hand(
            "by hand",
            || copy(&data),
            |target| {
                for (&i, update) in idx.iter().zip(updates.outer_iter()) {
                    target.row_mut(i as usize).zip_mut_with(&update, add);
                }
            },
        )
        .give(take);
}

fn flat_pairs(idx: ArrayView2<'_, i64>, len: usize) -> impl Iterator<Item = usize> {
    idx.into_outer_iter().map(move |pair| pair[0] as usize * len + pair[1] as usize)
}

/// Elements of a square.
fn pairs(take: Take<'_>, len: usize, count: usize) {
    let (data, idx) = (floats((len, len)), indices((count, 2), len));
    let updates: Array1<f32> = floats(count);
    let places = flat_pairs(idx.view(), len);
    let answer = naive(data.view().into_dyn(), places, updates.iter().copied());
    Ways::to(&answer)
        .into(
            "into",
            || copy(&data),
            |target| target.scatter_nd_fold(&idx, &updates, ScatterNd::new(), add).unwrap(),
        )
        .into(
            "built in",
            || copy(&data),
            |target| target.scatter_nd_inplace(&idx, &updates, ScatterNd::sum()).unwrap(),
        )
        .hand(
            "by hand",
            || copy(&data),
            |target| {
                for (pair, &update) in idx.outer_iter().zip(&updates) {
                    target[[pair[0] as usize, pair[1] as usize]] += update;
                }
            },
        )
        .give(take);
}

/// Sums of floats in doubles, which no built-in reduction has.
fn in_f64(take: Take<'_>) {
    let data = floats(100_000).mapv(f64::from);
    let (idx, updates) = (indices(1_000_000, 100_000), floats(1_000_000));
    let mut answer = data.to_vec();
    idx.iter().zip(&updates).for_each(|(&i, &u)| answer[i as usize] += f64::from(u));
    let answer = Array1::from_vec(answer);
    Ways::to(&answer)
        .into(
            "into",
            || copy(&data),
            |target| {
                let add = |sum: &mut f64, &update: &f32| *sum += f64::from(update);
                target.scatter_elements_fold(&idx, &updates, 0, add).unwrap();
            },
        )
        .hand(
            "by hand",
            || copy(&data),
            |target| {
                for (&i, &update) in idx.iter().zip(&updates) {
                    target[i as usize] += f64::from(update);
                }
            },
        )
        .give(take);
}

/// Counts.
fn ones(take: Take<'_>, bins: usize, count: usize) {
    let (data, idx) = (floats(bins), indices(count, bins));
    let ones = copy(&Array1::<f32>::ones(count));
    let places = idx.iter().map(|&i| i as usize);
    let answer = naive(data.view().into_dyn(), places, std::iter::repeat(1.0));
    let sum = ScatterElements::sum(0);
    Ways::to(&answer)
        .into(
            "into",
            || copy(&data),
            |target| target.scatter_elements_inplace(&idx, &1.0, sum).unwrap(),
        )
        .into(
            "spelled out",
            || copy(&data),
            |target| target.scatter_elements_inplace(&idx, &ones, sum).unwrap(),
        )
        .hand(
            "by hand",
            || copy(&data),
            |target| idx.iter().for_each(|&i| target[i as usize] += 1.0),
        )
        .give(take);
}

/// Rows of 3 KB set to zero.
fn zeroed_slices(take: Take<'_>) {
    let (data, idx) = (floats((32_000, 768)), indices(4096, 32_000));
    let zeros = copy(&Array2::<f32>::zeros((4096, 768)));
    let mut answer = data.clone();
    idx.iter().for_each(|&i| answer.row_mut(i as usize).iter_mut().for_each(|t| *t = 0.0));
    let answer = copy(&answer.flatten().into_owned());
    Ways::to(&answer)
        .into("into", || copy(&data), |target| target.scatter_inplace(&idx, &0.0, 0).unwrap())
        .into(
            "spelled out",
            || copy(&data),
            |target| target.scatter_inplace(&idx, &zeros, 0).unwrap(),
        )
        .hand(
            "by hand",
            || copy(&data),
            |target| idx.iter().for_each(|&i| target.row_mut(i as usize).fill(0.0)),
        )
        .give(take);
}

/// A histogram of two dimensions.
fn counted_pairs(take: Take<'_>) {
    let (data, idx) = (floats((1000, 1000)), indices((1_000_000, 2), 1000));
    let ones = copy(&Array1::<f32>::ones(1_000_000));
    let places = flat_pairs(idx.view(), 1000);
    let answer = naive(data.view().into_dyn(), places, std::iter::repeat(1.0));
    Ways::to(&answer)
        .into(
            "into",
            || copy(&data),
            |target| target.scatter_nd_inplace(&idx, &1.0, ScatterNd::sum()).unwrap(),
        )
        .into(
            "spelled out",
            || copy(&data),
            |target| target.scatter_nd_inplace(&idx, &ones, ScatterNd::sum()).unwrap(),
        )
        .hand(
            "by hand",
            || copy(&data),
            |target| {
                for pair in idx.outer_iter() {
                    target[[pair[0] as usize, pair[1] as usize]] += 1.0;
                }
            },
        )
        .give(take);
}

/// Some of each row set to one value, as masks are made.
fn masked(take: Take<'_>) {
    let (data, idx) = (floats((4096, 4096)), indices((4096, 1024), 4096));
    let minus = copy(&Array2::from_elem((4096, 1024), -1.0_f32));
    let mut answer: ArrayD<f32> = data.clone().into_dyn();
    idx.indexed_iter().for_each(|((row, _), &i)| answer[[row, i as usize]] = -1.0);
    let answer = copy(&answer.flatten().into_owned());
    Ways::to(&answer)
        .into(
            "into",
            || copy(&data),
            |target| target.scatter_elements_inplace(&idx, &-1.0, 1).unwrap(),
        )
        .into(
            "spelled out",
            || copy(&data),
            |target| target.scatter_elements_inplace(&idx, &minus, 1).unwrap(),
        )
        .hand(
            "by hand",
            || copy(&data),
            |target| {
                for (mut row, idx) in target.outer_iter_mut().zip(idx.outer_iter()) {
                    idx.iter().for_each(|&i| row[i as usize] = -1.0);
                }
            },
        )
        .give(take);
}
