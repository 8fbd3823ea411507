//! Gathers and scatters by tuples of indices.

use ndarray::{
    Array, Array1, Array2, Array3, ArrayD, ArrayView2, ArrayViewD, Axis, Dimension, Ix1, Ix2,
};
use opkernels::{GatherNd, GatherNdExt, Reduction, ScatterNd, ScatterNdExt};

use crate::elements::uninit;
use crate::inputs::{blank, copy, floats, indices};
use crate::workload::{Take, Ways, Workload};

/// All gathers and scatters by tuples.
pub fn workloads() -> Vec<Workload> {
    use Reduction::{Max, None, Sum};
    gathers()
        .into_iter()
        .chain([
            Workload::new("scatter_nd_rows_x1", |take| put_rows(take, 40, 200, None)),
            Workload::new("scatter_nd_rows_x10", |take| put_rows(take, 400, 2_000, None)),
            Workload::new("scatter_nd_rows_x100", |take| put_rows(take, 4_000, 20_000, None)),
            Workload::new("scatter_nd_rows_sum_x1", |take| put_rows(take, 40, 20_000, Sum)),
            Workload::new("scatter_nd_rows_sum_x10", |take| put_rows(take, 400, 200_000, Sum)),
            Workload::new("scatter_nd_rows_max_x10", |take| put_rows(take, 400, 200_000, Max)),
            // A cache of keys, of which a step writes a few.
            Workload::new("scatter_nd_rows_few", |take| put_rows(take, 20_000, 64, None)),
            Workload::new("scatter_nd_elements_x1", |take| put_elements(take, 316, 10_000, None)),
            Workload::new("scatter_nd_elements_x10", |take| {
                put_elements(take, 1000, 100_000, None);
            }),
            Workload::new("scatter_nd_elements_x100", |take| {
                put_elements(take, 3162, 1_000_000, None);
            }),
            Workload::new("scatter_nd_elements_sum_x1", |take| {
                put_elements(take, 316, 10_000, Sum);
            }),
            Workload::new("scatter_nd_elements_sum_x10", |take| {
                put_elements(take, 1000, 100_000, Sum);
            }),
            Workload::new("scatter_nd_elements_sum_x100", |take| {
                put_elements(take, 3162, 1_000_000, Sum);
            }),
            Workload::new("scatter_nd_elements_max_x100", |take| {
                put_elements(take, 3162, 1_000_000, Max);
            }),
            Workload::new("scatter_nd_elements_triples", triples),
        ])
        .collect()
}

fn gathers() -> Vec<Workload> {
    vec![
        Workload::new("gather_nd_rows_x1", |take| rows(take, 40, 200)),
        Workload::new("gather_nd_rows_x10", |take| rows(take, 400, 2_000)),
        Workload::new("gather_nd_rows_x100", |take| rows(take, 4_000, 20_000)),
        Workload::new("gather_nd_elements_x1", |take| elements(take, 3162, 10_000)),
        Workload::new("gather_nd_elements_x10", |take| elements(take, 3162, 100_000)),
        Workload::new("gather_nd_elements_x100", |take| elements(take, 3162, 1_000_000)),
        Workload::new("gather_nd_elements_of_400kb", |take| elements(take, 316, 1_000_000)),
        Workload::new("gather_nd_batched_rows", batched_rows),
        Workload::new("gather_nd_batched_elements", batched_elements),
        Workload::new("gather_nd_transposed", transposed),
    ]
}

/// Tuples of numbers below `below`, in rows.
fn tuples<const N: usize>(count: usize, below: [usize; N]) -> Array2<i64> {
    let mut tuples = indices((count, N), usize::MAX >> 1);
    for (axis, below) in below.into_iter().enumerate() {
        tuples.column_mut(axis).mapv_inplace(|number| number % below as i64);
    }
    tuples
}

/// What a gather must answer, tuple by tuple.
fn naive_gather(data: ArrayViewD<'_, f32>, tuples: ArrayView2<'_, i64>) -> Vec<f32> {
    let select = |tuple: ndarray::ArrayView1<'_, i64>| {
        tuple.iter().fold(data.view(), |part, &i| part.index_axis_move(Axis(0), i as usize))
    };
    let parts = tuples.outer_iter().map(select);
    parts.flat_map(|part| part.iter().copied().collect::<Vec<_>>()).collect()
}

/// What a scatter must answer, update by update.
fn naive_scatter(
    mut data: ArrayD<f32>,
    tuples: ArrayView2<'_, i64>,
    updates: ArrayViewD<'_, f32>,
    reduction: Reduction,
) -> Array1<f32> {
    for (tuple, update) in tuples.outer_iter().zip(updates.outer_iter()) {
        let part = tuple
            .iter()
            .fold(data.view_mut(), |part, &i| part.index_axis_move(Axis(0), i as usize));
        part.into_iter().zip(update).for_each(|(t, &u)| *t = reduced(reduction, *t, u));
    }
    copy(&data.flatten().into_owned())
}

fn reduced(reduction: Reduction, target: f32, update: f32) -> f32 {
    match reduction {
        Reduction::None => update,
        Reduction::Sum => target + update,
        Reduction::Max => target.max(update),
        other => unimplemented!("{other:?} is not among these workloads"),
    }
}

/// Rows of 256 bytes by pairs.
fn rows(take: Take<'_>, tables: usize, count: usize) {
    let data = floats((tables, 50, 64));
    let idx = tuples(count, [tables, 50]);
    let answer = copy(&Array1::from_vec(naive_gather(data.view().into_dyn(), idx.view())));
    let start = || blank((count, 64));
    Ways::to(&answer)
        .into("into", start, |out| data.gather_nd_into(&idx, GatherNd::new(), out).unwrap())
        .returned("alloc", || data.gather_nd(&idx).unwrap())
        .copy()
        .hand("by hand", start, |out| {
            for (mut row, tuple) in out.outer_iter_mut().zip(idx.outer_iter()) {
                let table = data.index_axis(Axis(0), tuple[0] as usize);
                row.assign(&table.row(tuple[1] as usize));
            }
        })
        .give(take);
}

/// Elements of a square by pairs, beside reads at places that are known: the limit of random reads.
fn elements(take: Take<'_>, len: usize, count: usize) {
    let data = floats((len, len));
    let idx = tuples(count, [len, len]);
    let answer = copy(&Array1::from_vec(naive_gather(data.view().into_dyn(), idx.view())));
    let places: Vec<u32> =
        idx.outer_iter().map(|pair| (pair[0] as usize * len + pair[1] as usize) as u32).collect();
    let flat = data.as_slice().expect("standard layout");
    let start = || blank(count);
    Ways::to(&answer)
        .into("into", start, |out| data.gather_nd_into(&idx, GatherNd::new(), out).unwrap())
        .into("uninit", start, |out| {
            data.gather_nd_into(&idx, GatherNd::new(), &mut uninit(out)).unwrap();
        })
        .returned("alloc", || data.gather_nd(&idx).unwrap())
        .hand("by hand", start, |out| {
            for (o, pair) in out.iter_mut().zip(idx.outer_iter()) {
                *o = data[[pair[0] as usize, pair[1] as usize]];
            }
        })
        .hand("known places", start, |out| {
            let out = out.as_slice_mut().expect("standard layout");
            out.iter_mut().zip(&places).for_each(|(o, &place)| *o = flat[place as usize]);
        })
        .give(take);
}

/// The same work as `gather_batched_rows`.
fn batched_rows(take: Take<'_>) {
    let data = floats((32, 4096, 64));
    let idx = indices((32, 1024, 1), 4096);
    let each = data.outer_iter().zip(idx.outer_iter());
    let answer: Vec<f32> =
        each.flat_map(|(data, idx)| naive_gather(data.into_dyn(), idx)).collect();
    let answer = copy(&Array1::from_vec(answer));
    let start = || blank((32, 1024, 64));
    let attributes = || GatherNd::new().batch_dims(1);
    Ways::to(&answer)
        .into("into", start, |out| data.gather_nd_into(&idx, attributes(), out).unwrap())
        .returned("alloc", || data.gather_nd_with(&idx, attributes()).unwrap())
        .hand("by hand", start, |out| {
            let batches = out.outer_iter_mut().zip(data.outer_iter()).zip(idx.outer_iter());
            for ((mut out, data), idx) in batches {
                for (mut row, &i) in out.outer_iter_mut().zip(idx.iter()) {
                    row.assign(&data.row(i as usize));
                }
            }
        })
        .give(take);
}

/// 1000 elements of each of 256 pictures.
fn batched_elements(take: Take<'_>) {
    let data = floats((256, 64, 64));
    let idx: Array3<i64> = indices((256, 1000, 2), 64);
    let each = data.outer_iter().zip(idx.outer_iter());
    let answer: Vec<f32> =
        each.flat_map(|(data, idx)| naive_gather(data.into_dyn(), idx)).collect();
    let answer = copy(&Array1::from_vec(answer));
    let start = || blank((256, 1000));
    let attributes = || GatherNd::new().batch_dims(1);
    Ways::to(&answer)
        .into("into", start, |out| data.gather_nd_into(&idx, attributes(), out).unwrap())
        .returned("alloc", || data.gather_nd_with(&idx, attributes()).unwrap())
        .hand("by hand", start, |out| {
            let batches = out.outer_iter_mut().zip(data.outer_iter()).zip(idx.outer_iter());
            for ((mut out, data), idx) in batches {
                for (o, pair) in out.iter_mut().zip(idx.outer_iter()) {
                    *o = data[[pair[0] as usize, pair[1] as usize]];
                }
            }
        })
        .give(take);
}

/// Rows of a transposed matrix.
fn transposed(take: Take<'_>) {
    let matrix = floats((2048, 2048));
    let data = matrix.t();
    let idx = tuples(1024, [2048]);
    let answer = copy(&Array1::from_vec(naive_gather(data.view().into_dyn(), idx.view())));
    let start = || blank((1024, 2048));
    Ways::to(&answer)
        .into("into", start, |out| data.gather_nd_into(&idx, GatherNd::new(), out).unwrap())
        .hand("copy first", start, |out| {
            data.as_standard_layout().gather_nd_into(&idx, GatherNd::new(), out).unwrap();
        })
        .give(take);
}

/// Our forms.
fn ours<'a, D: Dimension + 'static, U: Dimension>(
    ways: Ways<'a, f32>,
    data: &'a Array<f32, D>,
    idx: &'a Array2<i64>,
    updates: &'a Array<f32, U>,
    reduction: Reduction,
) -> Ways<'a, f32> {
    let attributes = ScatterNd::new().reduction(reduction);
    ways.into(
        "into",
        || copy(data),
        move |target| target.scatter_nd_inplace(idx, updates, attributes).unwrap(),
    )
    .returned("alloc", move || data.scatter_nd_with(idx, updates, attributes).unwrap())
}

/// Rows of 256 bytes by pairs.
fn put_rows(take: Take<'_>, tables: usize, count: usize, reduction: Reduction) {
    let data = floats((tables, 50, 64));
    let idx = tuples(count, [tables, 50]);
    let updates: Array<f32, Ix2> = floats((count, 64));
    let (every, all) = (data.clone().into_dyn(), updates.view().into_dyn());
    let answer = naive_scatter(every, idx.view(), all, reduction);
    ours(Ways::to(&answer), &data, &idx, &updates, reduction)
        .hand(
            "by hand",
            || copy(&data),
            |target| {
                for (tuple, update) in idx.outer_iter().zip(updates.outer_iter()) {
                    let mut table = target.index_axis_mut(Axis(0), tuple[0] as usize);
                    let mut row = table.row_mut(tuple[1] as usize);
                    row.zip_mut_with(&update, |t, &u| *t = reduced(reduction, *t, u));
                }
            },
        )
        .give(take);
}

/// Elements of a square by pairs.
fn put_elements(take: Take<'_>, len: usize, count: usize, reduction: Reduction) {
    let data = floats((len, len));
    let idx = tuples(count, [len, len]);
    let updates: Array<f32, Ix1> = floats(count);
    let (every, all) = (data.clone().into_dyn(), updates.view().into_dyn());
    let answer = naive_scatter(every, idx.view(), all, reduction);
    ours(Ways::to(&answer), &data, &idx, &updates, reduction)
        .hand(
            "by hand",
            || copy(&data),
            |target| {
                for (pair, &update) in idx.outer_iter().zip(&updates) {
                    let element = &mut target[[pair[0] as usize, pair[1] as usize]];
                    *element = reduced(reduction, *element, update);
                }
            },
        )
        .give(take);
}

/// Charges on a grid of 128 cubed.
fn triples(take: Take<'_>) {
    let data = floats((128, 128, 128));
    let idx = tuples(1_000_000, [128, 128, 128]);
    let updates: Array<f32, Ix1> = floats(1_000_000);
    let (every, all) = (data.clone().into_dyn(), updates.view().into_dyn());
    let answer = naive_scatter(every, idx.view(), all, Reduction::Sum);
    ours(Ways::to(&answer), &data, &idx, &updates, Reduction::Sum)
        .hand(
            "by hand",
            || copy(&data),
            |target| {
                for (cell, &update) in idx.outer_iter().zip(&updates) {
                    target[[cell[0] as usize, cell[1] as usize, cell[2] as usize]] += update;
                }
            },
        )
        .give(take);
}
