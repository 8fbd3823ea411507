//! Scatters of slices along an axis: an index for each slice.

use ndarray::{Array, Array1, Array2, Array3, ArrayD, ArrayViewD, Axis, ShapeBuilder};
use opkernels::{Reduction, Scatter, ScatterElements, ScatterElementsExt, ScatterExt};

use crate::inputs::{array, copy, floats, indices};
use crate::workload::{Take, Ways, Workload};

/// All scatters of slices.
pub fn workloads() -> Vec<Workload> {
    use Reduction::{Max, Mean, None, Sum};
    vec![
        Workload::new("scatter_slices_16_sum_x1", |take| rows(take, 16, 500, 5_000, Sum)),
        Workload::new("scatter_slices_16_sum_x10", |take| rows(take, 16, 5_000, 50_000, Sum)),
        Workload::new("scatter_slices_16_sum_x100", |take| rows(take, 16, 50_000, 500_000, Sum)),
        Workload::new("scatter_slices_64_sum_x1", |take| rows(take, 64, 200, 2_000, Sum)),
        Workload::new("scatter_slices_64_sum_x10", |take| rows(take, 64, 2_000, 20_000, Sum)),
        Workload::new("scatter_slices_64_sum_x100", |take| rows(take, 64, 20_000, 200_000, Sum)),
        Workload::new("scatter_slices_64_max_x100", |take| rows(take, 64, 20_000, 200_000, Max)),
        Workload::new("scatter_slices_64_mean_x100", |take| rows(take, 64, 20_000, 200_000, Mean)),
        Workload::new("scatter_slices_64_write_x100", |take| rows(take, 64, 20_000, 20_000, None)),
        Workload::new("scatter_slices_128_sum_x1", |take| rows(take, 128, 100, 1_000, Sum)),
        Workload::new("scatter_slices_128_sum_x10", |take| rows(take, 128, 1_000, 10_000, Sum)),
        Workload::new("scatter_slices_128_sum_x100", |take| rows(take, 128, 10_000, 100_000, Sum)),
        Workload::new("scatter_slices_768_write", |take| rows(take, 768, 32_000, 4_096, None)),
        Workload::new("scatter_slices_few", |take| rows(take, 128, 200_000, 1_000, Sum)),
        Workload::new("scatter_slices_columns", columns),
        Workload::new("scatter_slices_batched", batched),
        Workload::new("scatter_slices_transposed", transposed),
        Workload::new("scatter_labels_column_major_x1", |take| labels(take, 46)),
        Workload::new("scatter_labels_column_major_x10", |take| labels(take, 100)),
        Workload::new("scatter_labels_column_major_x100", |take| labels(take, 215)),
    ]
}

/// What the answer must be, slice by slice. A mean counts the target.
fn naive(
    mut data: ArrayD<f32>,
    idx: &Array1<i64>,
    updates: ArrayViewD<'_, f32>,
    axis: usize,
    reduction: Reduction,
) -> Array1<f32> {
    let mut counts = vec![1_u32; data.shape()[axis]];
    for (&i, slice) in idx.iter().zip(updates.axis_iter(Axis(axis))) {
        counts[i as usize] += 1;
        let target = data.index_axis_mut(Axis(axis), i as usize);
        target.into_iter().zip(slice).for_each(|(t, &u)| *t = reduced(reduction, *t, u));
    }
    if reduction == Reduction::Mean {
        for (target, &count) in data.axis_iter_mut(Axis(axis)).zip(&counts) {
            target.into_iter().for_each(|t| *t /= count as f32);
        }
    }
    copy(&data.flatten().into_owned())
}

fn reduced(reduction: Reduction, target: f32, update: f32) -> f32 {
    match reduction {
        Reduction::None => update,
        Reduction::Max => target.max(update),
        _ => target + update,
    }
}

/// Rows of so many floats, beside the same by `scatter_elements` and indices broadcast along them.
fn rows(take: Take<'_>, width: usize, targets: usize, count: usize, reduction: Reduction) {
    let data = floats((targets, width));
    let idx = indices(count, targets);
    let updates: Array2<f32> = floats((count, width));
    let (every, all) = (data.clone().into_dyn(), updates.view().into_dyn());
    let answer = naive(every, &idx, all, 0, reduction);
    let attributes = Scatter::along(0).reduction(reduction);
    let elements = ScatterElements::along(0).reduction(reduction);
    let column = idx.view().insert_axis(Axis(1));
    let broadcast = column.broadcast((count, width)).expect("an index a row");
    let mut counts = vec![1_u32; targets];
    Ways::to(&answer)
        .into(
            "into",
            || copy(&data),
            |target| target.scatter_inplace(&idx, &updates, attributes).unwrap(),
        )
        .returned("alloc", || data.scatter_with(&idx, &updates, attributes).unwrap())
        .into(
            "by elements",
            || copy(&data),
            |target| target.scatter_elements_inplace(&broadcast, &updates, elements).unwrap(),
        )
        .hand(
            "by hand",
            || copy(&data),
            |target| {
                for (&i, update) in idx.iter().zip(updates.outer_iter()) {
                    let mut row = target.row_mut(i as usize);
                    match reduction {
                        Reduction::None => row.assign(&update),
                        Reduction::Max => row.zip_mut_with(&update, |t, &u| *t = t.max(u)),
                        _ => row += &update,
                    }
                    counts[i as usize] += 1;
                }
                if reduction == Reduction::Mean {
                    for (mut row, &count) in target.outer_iter_mut().zip(&counts) {
                        row /= count as f32;
                    }
                }
                counts.fill(1);
            },
        )
        .give(take);
}

/// Columns added to columns.
fn columns(take: Take<'_>) {
    let data = floats((4096, 1024));
    let idx = indices(1024, 1024);
    let updates: Array2<f32> = floats((4096, 1024));
    let (every, all) = (data.clone().into_dyn(), updates.view().into_dyn());
    let answer = naive(every, &idx, all, 1, Reduction::Sum);
    let attributes = Scatter::sum(1);
    Ways::to(&answer)
        .into(
            "into",
            || copy(&data),
            |target| target.scatter_inplace(&idx, &updates, attributes).unwrap(),
        )
        .returned("alloc", || data.scatter_with(&idx, &updates, attributes).unwrap())
        .hand(
            "by hand",
            || copy(&data),
            |target| {
                for (mut row, update) in target.outer_iter_mut().zip(updates.outer_iter()) {
                    update.iter().zip(&idx).for_each(|(&u, &i)| row[i as usize] += u);
                }
            },
        )
        .give(take);
}

/// Each table of a batch has indices of its own: the gradient of `gather_batched_rows`.
fn batched(take: Take<'_>) {
    let data = floats((32, 4096, 64));
    let idx = indices((32, 1024), 4096);
    let updates = floats((32, 1024, 64));
    let tables = data.outer_iter().zip(idx.outer_iter()).zip(updates.outer_iter());
    let answer: Array1<f32> = tables
        .flat_map(|((data, idx), updates)| {
            let (every, all) = (data.into_owned().into_dyn(), updates.into_dyn());
            naive(every, &idx.into_owned(), all, 0, Reduction::Sum)
        })
        .collect();
    let attributes = Scatter::sum(1).batch_dims(1);
    Ways::to(&answer)
        .into(
            "into",
            || copy(&data),
            |target| target.scatter_inplace(&idx, &updates, attributes).unwrap(),
        )
        .returned("alloc", || data.scatter_with(&idx, &updates, attributes).unwrap())
        .hand(
            "by hand",
            || copy(&data),
            |target| {
                let batches = target.outer_iter_mut().zip(idx.outer_iter());
                for ((mut target, idx), updates) in batches.zip(updates.outer_iter()) {
                    for (&i, update) in idx.iter().zip(updates.outer_iter()) {
                        target.row_mut(i as usize).zip_mut_with(&update, |t, &u| *t += u);
                    }
                }
            },
        )
        .give(take);
}

/// Rows added to those of a column-major matrix.
fn transposed(take: Take<'_>) {
    let data: Array<f32, _> = floats((2048, 2048).f());
    let idx = indices(1024, 2048);
    let updates: Array2<f32> = floats((1024, 2048));
    let (every, all) = (data.clone().into_dyn(), updates.view().into_dyn());
    let answer = naive(every, &idx, all, 0, Reduction::Sum);
    Ways::to(&answer)
        .into(
            "into",
            || copy(&data),
            |target| target.scatter_inplace(&idx, &updates, Scatter::sum(0)).unwrap(),
        )
        .hand(
            "by hand",
            || copy(&data),
            |target| {
                for (&i, update) in idx.iter().zip(updates.outer_iter()) {
                    target.row_mut(i as usize).zip_mut_with(&update, |t, &u| *t += u);
                }
            },
        )
        .give(take);
}

/// The sum of each labelled part of a volume in Fortran order, as files of medical images have it.
fn labels(take: Take<'_>, len: usize) {
    const PARTS: usize = 100;
    let data = floats(PARTS);
    let label: Array3<i32> = array((len, len, len).f(), |bits| (bits % PARTS as u64) as i32);
    let volume: Array3<f32> = floats((len, len, len).f());
    let by_hand = |sums: &mut Array1<f32>| {
        label.iter().zip(&volume).for_each(|(&part, &value)| sums[part as usize] += value);
    };
    let mut answer = copy(&data);
    by_hand(&mut answer);
    Ways::to(&answer)
        .into(
            "into",
            || copy(&data),
            |sums| sums.scatter_inplace(&label, &volume, Scatter::sum(0)).unwrap(),
        )
        .returned("alloc", || data.scatter_with(&label, &volume, Scatter::sum(0)).unwrap())
        .hand("by hand", || copy(&data), by_hand)
        .give(take);
}
