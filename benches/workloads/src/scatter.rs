//! Scatters of elements and of whole rows.

use std::hint::black_box;

use ndarray::{Array, Array1, Array2, ArrayView, ArrayView2, Axis, Dimension, Zip, aview0};
use opkernels::{OutOfBounds, Reduction, ScatterElements, ScatterElementsExt};
use rayon::prelude::*;

use crate::inputs::{copy, floats, indices};
use crate::naive;
use crate::workload::{Take, Ways, Workload};

/// All scatters.
pub fn workloads() -> Vec<Workload> {
    use Reduction::{Max, Mean, None, Sum};
    const M: usize = 1_000_000;
    let rest = vec![
        Workload::new("scatter_write", |take| line(take, M, M, None)),
        Workload::new("scatter_sum_x1", |take| line(take, M / 1000, M / 100, Sum)),
        Workload::new("scatter_sum_x10", |take| line(take, M / 100, M / 10, Sum)),
        Workload::new("scatter_sum_x100", |take| line(take, M / 10, M, Sum)),
        Workload::new("scatter_sum_x1000", |take| line(take, M, 10 * M, Sum)),
        Workload::new("scatter_mean_x1000", |take| line(take, M, 10 * M, Mean)),
        Workload::new("scatter_max_x1000", |take| line(take, M, 10 * M, Max)),
        Workload::new("scatter_sum_into_64", |take| line(take, 64, 10 * M, Sum)),
        Workload::new("scatter_mean_into_64", |take| line(take, 64, 10 * M, Mean)),
        Workload::new("scatter_histogram_x1", |take| histogram(take, M / 100, M / 10)),
        Workload::new("scatter_histogram_x10", |take| histogram(take, M / 10, M)),
        Workload::new("scatter_histogram_x100", |take| histogram(take, M, 10 * M)),
        Workload::new("scatter_histogram_of_u8_x1", |take| histogram_of_u8(take, 10_000)),
        Workload::new("scatter_histogram_of_u8_x10", |take| histogram_of_u8(take, 100_000)),
        Workload::new("scatter_histogram_of_u8_x100", |take| histogram_of_u8(take, M)),
        Workload::new("scatter_sum_half_skipped_x1", |take| skipped(take, M / 100, M / 10)),
        Workload::new("scatter_sum_half_skipped_x10", |take| skipped(take, M / 10, M)),
        Workload::new("scatter_few_mean", few),
        Workload::new("scatter_last_axis_write", |take| last_axis(take, 4096, 4096, 1024, None)),
        Workload::new("scatter_last_axis_sum", |take| last_axis(take, 4096, 4096, 1024, Sum)),
        Workload::new("scatter_last_axis_short", |take| last_axis(take, 500_000, 16, 3, Sum)),
        Workload::new("scatter_first_axis_sum", |take| first_axis(take, Sum)),
        Workload::new("scatter_first_axis_mean", |take| first_axis(take, Mean)),
        Workload::new("scatter_rank_4", rank_4),
        Workload::new("scatter_rows_matrix", rows_matrix),
        Workload::new("scatter_rows_16_sum_x1", |take| rows::<16>(take, 500, 5_000, Sum)),
        Workload::new("scatter_rows_16_sum_x10", |take| rows::<16>(take, 5_000, 50_000, Sum)),
        Workload::new("scatter_rows_16_sum_x100", |take| rows::<16>(take, 50_000, 500_000, Sum)),
        Workload::new("scatter_rows_16_max_x100", |take| rows::<16>(take, 50_000, 500_000, Max)),
        Workload::new("scatter_rows_16_mean_x100", |take| rows::<16>(take, 50_000, 500_000, Mean)),
        Workload::new("scatter_rows_32_sum_x1", |take| rows::<32>(take, 50, 500, Sum)),
        Workload::new("scatter_rows_32_sum_x10", |take| rows::<32>(take, 500, 5_000, Sum)),
        Workload::new("scatter_rows_32_sum_x100", |take| rows::<32>(take, 5_000, 50_000, Sum)),
        Workload::new("scatter_rows_32_max_x100", |take| rows::<32>(take, 5_000, 50_000, Max)),
        Workload::new("scatter_rows_32_mean_x100", |take| rows::<32>(take, 5_000, 50_000, Mean)),
        Workload::new("scatter_rows_64_sum_x1", |take| rows::<64>(take, 200, 2_000, Sum)),
        Workload::new("scatter_rows_64_sum_x10", |take| rows::<64>(take, 2_000, 20_000, Sum)),
        Workload::new("scatter_rows_64_sum_x100", |take| rows::<64>(take, 20_000, 200_000, Sum)),
        Workload::new("scatter_rows_64_max_x100", |take| rows::<64>(take, 20_000, 200_000, Max)),
        Workload::new("scatter_rows_64_mean_x100", |take| rows::<64>(take, 20_000, 200_000, Mean)),
        Workload::new("scatter_rows_128_sum_x1", |take| rows::<128>(take, 100, 1_000, Sum)),
        Workload::new("scatter_rows_128_sum_x10", |take| rows::<128>(take, 1_000, 10_000, Sum)),
        Workload::new("scatter_rows_128_sum_x100", |take| rows::<128>(take, 10_000, 100_000, Sum)),
        Workload::new("scatter_rows_128_max_x100", |take| rows::<128>(take, 10_000, 100_000, Max)),
        Workload::new("scatter_rows_128_mean_x100", |take| {
            rows::<128>(take, 10_000, 100_000, Mean);
        }),
    ];
    tiny().into_iter().chain(rest).collect()
}

/// Those of a few elements.
pub fn tiny() -> Vec<Workload> {
    vec![Workload::new("scatter_six", |take| {
        let idx = ndarray::array![1, 0, 0, 2, 3, 2];
        into_line(take, &floats(4), &idx, Reduction::Sum);
    })]
}

fn along(axis: i32, reduction: Reduction) -> ScatterElements {
    ScatterElements::along(axis).reduction(reduction)
}

/// Our forms.
fn ours<'a, D: Dimension + 'static>(
    ways: Ways<'a, f32>,
    data: &'a Array<f32, D>,
    idx: ArrayView<'a, i64, D>,
    updates: ArrayView<'a, f32, D>,
    attributes: ScatterElements,
) -> Ways<'a, f32> {
    let (idx_too, updates_too) = (idx.clone(), updates.clone());
    ways.into(
        "into",
        || copy(data),
        move |target| {
            target.scatter_elements_inplace(black_box(&idx), &updates, attributes).unwrap();
        },
    )
    .returned("alloc", move || {
        data.scatter_elements_with(black_box(&idx_too), &updates_too, attributes).unwrap()
    })
}

/// One dimension, uniform indices.
fn line(take: Take<'_>, targets: usize, count: usize, reduction: Reduction) {
    into_line(take, &floats(targets), &indices(count, targets), reduction);
}

fn into_line(take: Take<'_>, data: &Array1<f32>, idx: &Array1<i64>, reduction: Reduction) {
    let updates = floats(idx.len());
    let answer = naive::scatter(data.view(), idx.view(), updates.view(), 0, reduction);
    let mut counts = vec![1_u32; if reduction == Reduction::Mean { data.len() } else { 0 }];
    let ways = Ways::to(&answer);
    ours(ways, data, idx.view(), updates.view(), along(0, reduction))
        .hand(
            "by hand",
            || copy(data),
            |target| {
                line_by_hand(reduction, target, &mut counts, black_box(idx), &updates);
            },
        )
        .give(take);
}

/// Sums of which half of the indices are out of bounds, and skipped.
fn skipped(take: Take<'_>, targets: usize, count: usize) {
    let (data, updates, idx) = (floats(targets), floats(count), indices(count, 2 * targets));
    let by_hand = |target: &mut Array1<f32>| {
        for (&index, update) in idx.iter().zip(&updates) {
            if let Some(target) = target.get_mut(index as usize) {
                *target += update;
            }
        }
    };
    let mut answer = data.clone();
    by_hand(&mut answer);
    let attributes = along(0, Reduction::Sum).out_of_bounds(OutOfBounds::Skip);
    ours(Ways::to(&answer), &data, idx.view(), updates.view(), attributes)
        .hand("by hand", || copy(&data), by_hand)
        .give(take);
}

fn line_by_hand(
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

/// Counts: one value broadcast to all updates, beside as many ones spelled out.
fn histogram(take: Take<'_>, bins: usize, count: usize) {
    let data = floats(bins);
    let idx = indices(count, bins);
    let one = aview0(&1.0_f32);
    let broadcast = one.broadcast(count).expect("one value");
    let ones = copy(&Array1::ones(count));
    let answer = naive::scatter(data.view(), idx.view(), ones.view(), 0, Reduction::Sum);
    let sum = along(0, Reduction::Sum);
    Ways::to(&answer)
        .into(
            "into",
            || copy(&data),
            |target| {
                target.scatter_elements_inplace(&idx, &broadcast, sum).unwrap();
            },
        )
        .into(
            "spelled out",
            || copy(&data),
            |target| {
                target.scatter_elements_inplace(&idx, &ones, sum).unwrap();
            },
        )
        .hand(
            "by hand",
            || copy(&data),
            |target| {
                idx.iter().for_each(|&i| target[i as usize] += 1.0);
            },
        )
        .give(take);
}

/// Counts of bytes, as of the values of a picture.
fn histogram_of_u8(take: Take<'_>, count: usize) {
    let idx = indices(count, 256);
    let bytes = idx.mapv(|i| i as u8);
    let (none, ones) = (Array1::<f32>::zeros(256), Array1::ones(count));
    let answer = naive::scatter(none.view(), idx.view(), ones.view(), 0, Reduction::Sum);
    let sum = along(0, Reduction::Sum);
    Ways::to(&answer)
        .into(
            "into",
            || none.clone(),
            |target| {
                target.scatter_elements_inplace(&bytes, &1.0, sum).unwrap();
            },
        )
        .returned("alloc", || none.scatter_elements_with(&bytes, &1.0, sum).unwrap())
        .hand(
            "by hand",
            || none.clone(),
            |target| {
                bytes.iter().for_each(|&i| target[usize::from(i)] += 1.0);
            },
        )
        .give(take);
}

/// A thousand updates of a large array: the cost is theirs, not the array's.
fn few(take: Take<'_>) {
    let data = floats(50_000_000);
    let idx = indices(1000, 50_000_000);
    let updates = floats(1000);
    let mean = along(0, Reduction::Mean);
    let answer = naive::scatter(data.view(), idx.view(), updates.view(), 0, Reduction::Mean);
    let mut counts = vec![0_u16; data.len()];
    Ways::to(&answer)
        .into(
            "into",
            || copy(&data),
            |target| {
                target.scatter_elements_inplace(&idx, &updates, mean).unwrap();
            },
        )
        .hand(
            "by hand",
            || copy(&data),
            |target| {
                for (&i, &u) in idx.iter().zip(&updates) {
                    target[i as usize] += u;
                    counts[i as usize] += 1;
                }
                for &i in &idx {
                    let count = std::mem::take(&mut counts[i as usize]);
                    target[i as usize] /= f32::from(count + 1);
                }
            },
        )
        .give(take);
}

fn last_axis(take: Take<'_>, rows: usize, len: usize, count: usize, reduction: Reduction) {
    let data = floats((rows, len));
    let idx = indices((rows, count), len);
    let updates = floats((rows, count));
    let answer = naive::scatter(data.view(), idx.view(), updates.view(), 1, reduction);
    let ways = Ways::to(&answer);
    ours(ways, &data, idx.view(), updates.view(), along(1, reduction))
        .hand(
            "by hand",
            || copy(&data),
            |target| {
                let lanes = idx.outer_iter().zip(updates.outer_iter());
                for (mut row, (idx, updates)) in target.outer_iter_mut().zip(lanes) {
                    let pairs = idx.iter().zip(updates).map(|(&i, &u)| (i as usize, u));
                    match reduction {
                        Reduction::None => pairs.for_each(|(i, u)| row[i] = u),
                        _ => pairs.for_each(|(i, u)| row[i] += u),
                    }
                }
            },
        )
        .give(take);
}

/// Every element of a row has an index of its own along axis 0.
fn first_axis(take: Take<'_>, reduction: Reduction) {
    let data = floats((4096, 1024));
    let idx = indices((4096, 1024), 4096);
    let updates = floats((4096, 1024));
    let answer = naive::scatter(data.view(), idx.view(), updates.view(), 0, reduction);
    let mut counts = Array2::<u32>::ones(data.dim());
    let ways = Ways::to(&answer);
    ours(ways, &data, idx.view(), updates.view(), along(0, reduction))
        .hand(
            "by hand",
            || copy(&data),
            |target| {
                for (idx, updates) in idx.outer_iter().zip(updates.outer_iter()) {
                    for (j, (&i, &u)) in idx.iter().zip(updates).enumerate() {
                        target[[i as usize, j]] += u;
                        if reduction == Reduction::Mean {
                            counts[[i as usize, j]] += 1;
                        }
                    }
                }
                if reduction == Reduction::Mean {
                    Zip::from(target).and(&counts).for_each(|t, &c| *t /= c as f32);
                    counts.fill(1);
                }
            },
        )
        .give(take);
}

/// The sixth example of OpenVINO's specification: indices smaller than the data.
fn rank_4(take: Take<'_>) {
    let data = floats((1000, 256, 7, 7));
    let idx = indices((125, 20, 7, 6), 1000);
    let updates = floats((125, 20, 7, 6));
    let answer = naive::scatter(data.view(), idx.view(), updates.view(), 0, Reduction::None);
    Ways::to(&answer)
        .into(
            "into",
            || copy(&data),
            |target| {
                target.scatter_elements_inplace(&idx, &updates, 0).unwrap();
            },
        )
        .returned("alloc", || data.scatter_elements(&idx, &updates, 0).unwrap())
        .copy()
        .hand(
            "by hand",
            || copy(&data),
            |target| {
                for (((_, b, c, d), &i), &u) in idx.indexed_iter().zip(&updates) {
                    target[[i as usize, b, c, d]] = u;
                }
            },
        )
        .give(take);
}

/// Whole rows, such as messages along edges to nodes, by indices broadcast along the rows.
fn rows<const WIDTH: usize>(take: Take<'_>, targets: usize, count: usize, reduction: Reduction) {
    let ids = indices(count, targets);
    let column = ids.view().insert_axis(Axis(1));
    let idx = column.broadcast((count, WIDTH)).expect("one id a row");
    reduce_rows::<WIDTH>(take, targets, idx, &ids, reduction);
}

/// The same with the indices written out, as engines hand them over.
fn rows_matrix(take: Take<'_>) {
    let ids = indices(100_000, 10_000);
    let idx = Array2::from_shape_fn((100_000, 128), |(row, _)| ids[row]);
    reduce_rows::<128>(take, 10_000, idx.view(), &ids, Reduction::Sum);
}

fn reduce_rows<const WIDTH: usize>(
    take: Take<'_>,
    targets: usize,
    idx: ArrayView2<'_, i64>,
    ids: &Array1<i64>,
    reduction: Reduction,
) {
    let data = floats((targets, WIDTH));
    let updates = floats((ids.len(), WIDTH));
    let answer = naive::scatter(data.view(), idx, updates.view(), 0, reduction);
    let mut loops = RowLoop::new(targets, reduction);
    let mut counts = vec![1_u32; targets];
    let ways = Ways::to(&answer);
    ours(ways, &data, idx, updates.view(), along(0, reduction))
        .into("prefetched loop", || copy(&data), {
            let (ids, updates) = (ids.as_slice().unwrap(), updates.as_slice().unwrap());
            move |target| loops.run::<WIDTH>(target.as_slice_mut().unwrap(), ids, updates)
        })
        .hand(
            "by hand",
            || copy(&data),
            |target| {
                for (&id, update) in ids.iter().zip(updates.outer_iter()) {
                    let mut row = target.row_mut(id as usize);
                    match reduction {
                        Reduction::Max => row.zip_mut_with(&update, |t, &u| *t = t.max(u)),
                        _ => row += &update,
                    }
                    counts[id as usize] += 1;
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

/// A plain loop over rows that fetches the target of the eighth row ahead. On two threads each has
/// half of the targets, and first lists the rows that go there.
#[derive(Clone)]
struct RowLoop {
    counts: Vec<u32>,
    lists: [Vec<u32>; 2],
    reduction: Reduction,
}

impl RowLoop {
    const AHEAD: usize = 8;

    fn new(targets: usize, reduction: Reduction) -> Self {
        RowLoop { counts: vec![1; targets], lists: [Vec::new(), Vec::new()], reduction }
    }

    fn run<const WIDTH: usize>(&mut self, target: &mut [f32], ids: &[i64], updates: &[f32]) {
        let Self { counts, lists, reduction } = self;
        let part = counts.len().div_ceil(rayon::current_num_threads());
        if part == counts.len() {
            let all = |k: usize| k;
            return rows_of_part::<WIDTH>(
                *reduction,
                target,
                counts,
                ids,
                0,
                ids.len(),
                all,
                updates,
            );
        }
        let parts = target.par_chunks_mut(part * WIDTH).zip(counts.par_chunks_mut(part));
        parts.zip(lists).enumerate().for_each(|(at, ((target, counts), list))| {
            let first = at * part;
            list.resize(ids.len(), 0);
            let mut len = 0;
            for (k, &id) in ids.iter().enumerate() {
                list[len] = k as u32;
                len += usize::from((id as usize).wrapping_sub(first) < counts.len());
            }
            let listed = |k: usize| list[k] as usize;
            rows_of_part::<WIDTH>(*reduction, target, counts, ids, first, len, listed, updates);
        });
    }
}

/// So many rows, of which the k-th is number `row(k)`, into the targets from `first` on.
#[allow(clippy::too_many_arguments)]
fn rows_of_part<const WIDTH: usize>(
    reduction: Reduction,
    target: &mut [f32],
    counts: &mut [u32],
    ids: &[i64],
    first: usize,
    len: usize,
    row: impl Fn(usize) -> usize + Copy,
    updates: &[f32],
) {
    let pair = |k: usize| (row(k), ids[row(k)] as usize - first);
    match reduction {
        Reduction::Max => {
            each_row::<WIDTH>(target, len, pair, updates, |t, u| {
                *t = if u > *t { u } else { *t };
            });
        }
        _ => each_row::<WIDTH>(target, len, pair, updates, |t, u| *t += u),
    }
    if reduction == Reduction::Mean {
        counts.fill(1);
        (0..len).for_each(|k| counts[pair(k).1] += 1);
        for (row, &count) in target.chunks_exact_mut(WIDTH).zip(&*counts) {
            row.iter_mut().for_each(|t| *t /= count as f32);
        }
    }
}

#[inline]
fn each_row<const WIDTH: usize>(
    target: &mut [f32],
    len: usize,
    pair: impl Fn(usize) -> (usize, usize),
    updates: &[f32],
    combine: impl Fn(&mut f32, f32),
) {
    for k in 0..len {
        if k + RowLoop::AHEAD < len {
            prefetch(&target[pair(k + RowLoop::AHEAD).1 * WIDTH..][..WIDTH]);
        }
        let (row, to) = pair(k);
        let target = &mut target[to * WIDTH..][..WIDTH];
        let update = &updates[row * WIDTH..][..WIDTH];
        target.iter_mut().zip(update).for_each(|(t, &u)| combine(t, u));
    }
}

/// Asks for the cache lines of a row.
#[inline]
fn prefetch(row: &[f32]) {
    #[cfg(target_arch = "x86_64")]
    for line in row.chunks(16) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing, and the line is that of a reference.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = row;
}
