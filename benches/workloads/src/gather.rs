//! Gathers.

use std::hint::black_box;

use ndarray::ShapeBuilder;
use ndarray::{
    Array, Array1, Array3, ArrayView, ArrayView2, Axis, Dimension, IxDyn, RemoveAxis, s,
};
use opkernels::{Gather, GatherExt};

use crate::inputs::{array, blank, floats, indices};
use crate::naive;
use crate::workload::{Take, Ways, Workload};

/// All gathers.
pub fn workloads() -> Vec<Workload> {
    let rest = vec![
        Workload::new("gather_embedding", |take| rows(take, 32_000, 768, 4096)),
        Workload::new("gather_rows_64b", |take| rows(take, 4_000_000, 16, 200_000)),
        Workload::new("gather_rows_256b_x1", |take| rows(take, 2_000, 64, 200)),
        Workload::new("gather_rows_256b_x10", |take| rows(take, 20_000, 64, 2_000)),
        Workload::new("gather_rows_256b_x100", |take| rows(take, 200_000, 64, 20_000)),
        Workload::new("gather_rows_3kb", |take| rows(take, 80_000, 768, 5_000)),
        Workload::new("gather_rows_4kb", |take| rows(take, 65_536, 1024, 16_384)),
        Workload::new("gather_rows_4b", |take| rows(take, 1_000_000, 1, 1_000_000)),
        Workload::new("gather_rows_12b", |take| rows(take, 1_000_000, 3, 1_000_000)),
        Workload::new("gather_rows_16b", |take| rows(take, 1_000_000, 4, 1_000_000)),
        Workload::new("gather_rows_28b", |take| rows(take, 1_000_000, 7, 500_000)),
        Workload::new("gather_rows_36b", |take| rows(take, 500_000, 9, 500_000)),
        Workload::new("gather_rows_60b", |take| rows(take, 500_000, 15, 300_000)),
        Workload::new("gather_words_of_40mb", |take| words(take, 10_000_000, 1_000_000)),
        Workload::new("gather_words_of_400kb", |take| words(take, 100_000, 1_000_000)),
        Workload::new("gather_words_into_64kb", |take| words(take, 1_000_000, 16_384)),
        Workload::new("gather_words_into_256kb", |take| words(take, 1_000_000, 65_536)),
        Workload::new("gather_words_into_1mb", |take| words(take, 1_000_000, 262_144)),
        Workload::new("gather_words_by_u8_x1", |take| words_by_u8(take, 10_000)),
        Workload::new("gather_words_by_u8_x10", |take| words_by_u8(take, 100_000)),
        Workload::new("gather_words_by_u8_x100", |take| words_by_u8(take, 1_000_000)),
        Workload::new("gather_columns", columns),
        Workload::new("gather_columns_3_of_8", columns_3_of_8),
        Workload::new("gather_batched_rows", batched_rows),
        Workload::new("gather_batched_words", |take| batched_words(take, 4096, 1024, 256)),
        Workload::new("gather_batched_words_3_of_16", |take| batched_words(take, 500_000, 16, 3)),
        Workload::new("gather_batched_words_into_64kb", |take| batched_words(take, 256, 1000, 64)),
        Workload::new("gather_batched_words_into_256kb", |take| {
            batched_words(take, 1024, 1000, 64);
        }),
        Workload::new("gather_batched_words_into_1mb", |take| batched_words(take, 4096, 1000, 64)),
        Workload::new("gather_transposed_x1", |take| transposed(take, 205, 102, false)),
        Workload::new("gather_transposed_x10", |take| transposed(take, 648, 324, false)),
        Workload::new("gather_transposed_x100", |take| transposed(take, 2048, 1024, false)),
        Workload::new("gather_transposed_column_major_x1", |take| transposed(take, 205, 102, true)),
        Workload::new("gather_transposed_column_major_x10", |take| {
            transposed(take, 648, 324, true);
        }),
        Workload::new("gather_transposed_column_major_x100", |take| {
            transposed(take, 2048, 1024, true);
        }),
        Workload::new("gather_into_column_major_x1", |take| into_column_major(take, 205, 102)),
        Workload::new("gather_into_column_major_x10", |take| into_column_major(take, 648, 324)),
        Workload::new("gather_into_column_major_x100", |take| into_column_major(take, 2048, 1024)),
        Workload::new("gather_permuted_cube", permuted_cube),
        Workload::new("gather_reversed", reversed),
        Workload::new("gather_stepped", stepped),
        Workload::new("gather_picture_rows", picture_rows),
        Workload::new("gather_channel_swap", channel_swap),
        Workload::new("gather_triples", triples),
        Workload::new("gather_neighbours_x1", |take| neighbours(take, 2_000)),
        Workload::new("gather_neighbours_x10", |take| neighbours(take, 20_000)),
        Workload::new("gather_neighbours_x100", |take| neighbours(take, 200_000)),
    ];
    tiny().into_iter().chain(rest).collect()
}

/// Those of a few elements.
pub fn tiny() -> Vec<Workload> {
    vec![
        Workload::new("gather_ten_rows", ten_rows),
        Workload::new("gather_ten_rows_dynamic", ten_rows_dynamic),
    ]
}

fn positions(idx: &Array1<i64>) -> Vec<usize> {
    idx.iter().map(|&i| i as usize).collect()
}

/// Rows of a table by a flat list of indices.
fn rows(take: Take<'_>, table: usize, width: usize, count: usize) {
    let data = floats((table, width));
    let idx = indices(count, table);
    let as_usize = positions(&idx);
    let answer = naive::gather(data.view(), idx.view(), 0, 0);
    Ways::to(&answer)
        .into("into", || blank((count, width)), |out| data.gather_into(&idx, 0, out).unwrap())
        .returned("alloc", || data.gather(&idx, 0).unwrap())
        .copy()
        .hand_returned("select", || data.select(Axis(0), &as_usize))
        .hand(
            "by hand",
            || blank((count, width)),
            |out| {
                for (mut row, &i) in out.outer_iter_mut().zip(&idx) {
                    row.assign(&data.row(i as usize));
                }
            },
        )
        .give(take);
}

fn words(take: Take<'_>, table: usize, count: usize) {
    let data = floats(table);
    let idx = indices(count, table);
    let as_usize = positions(&idx);
    let answer = naive::gather(data.view(), idx.view(), 0, 0);
    Ways::to(&answer)
        .into("into", || blank(count), |out| data.gather_into(&idx, 0, out).unwrap())
        .returned("alloc", || data.gather(&idx, 0).unwrap())
        .hand_returned("select", || data.select(Axis(0), &as_usize))
        .hand(
            "by hand",
            || blank(count),
            |out| {
                out.iter_mut().zip(&idx).for_each(|(o, &i)| *o = data[i as usize]);
            },
        )
        .give(take);
}

/// A look-up of bytes in a table, as of the values of a picture.
fn words_by_u8(take: Take<'_>, count: usize) {
    let (data, idx) = (floats(256), indices(count, 256));
    let bytes = idx.mapv(|i| i as u8);
    let answer = naive::gather(data.view(), idx.view(), 0, 0);
    Ways::to(&answer)
        .into("into", || blank(count), |out| data.gather_into(&bytes, 0, out).unwrap())
        .returned("alloc", || data.gather(&bytes, 0).unwrap())
        .hand(
            "by hand",
            || blank(count),
            |out| {
                out.iter_mut().zip(&bytes).for_each(|(o, &i)| *o = data[usize::from(i)]);
            },
        )
        .give(take);
}

/// 512 columns of 4096.
fn columns(take: Take<'_>) {
    let data = floats((4096, 4096));
    let idx = indices(512, 4096);
    let as_usize = positions(&idx);
    let answer = naive::gather(data.view(), idx.view(), 1, 0);
    Ways::to(&answer)
        .into("into", || blank((4096, 512)), |out| data.gather_into(&idx, 1, out).unwrap())
        .returned("alloc", || data.gather(&idx, 1).unwrap())
        .hand_returned("select", || data.select(Axis(1), &as_usize))
        .hand(
            "by hand",
            || blank((4096, 512)),
            |out| {
                for (mut row, data) in out.outer_iter_mut().zip(data.outer_iter()) {
                    row.iter_mut().zip(&idx).for_each(|(o, &i)| *o = data[i as usize]);
                }
            },
        )
        .give(take);
}

fn columns_3_of_8(take: Take<'_>) {
    let data = floats((1_000_000, 8));
    let idx = [6_i64, 0, 3];
    let answer = naive::gather(data.view(), ArrayView::from(&idx), 1, 0);
    Ways::to(&answer)
        .into("into", || blank((1_000_000, 3)), |out| data.gather_into(&idx, 1, out).unwrap())
        .hand(
            "by hand",
            || blank((1_000_000, 3)),
            |out| {
                for (mut out, row) in out.outer_iter_mut().zip(data.outer_iter()) {
                    for (o, &i) in out.iter_mut().zip(&idx) {
                        *o = row[i as usize];
                    }
                }
            },
        )
        .give(take);
}

/// Each table of a batch has indices of its own.
fn batched_rows(take: Take<'_>) {
    let data = floats((32, 4096, 64));
    let idx = indices((32, 1024), 4096);
    let answer = naive::gather(data.view(), idx.view(), 1, 1);
    let attributes = Gather::along(1).batch_dims(1);
    let start = || blank((32, 1024, 64));
    Ways::to(&answer)
        .into("into", start, |out| data.gather_into(&idx, attributes, out).unwrap())
        .returned("alloc", || data.gather_with(&idx, attributes).unwrap())
        .hand("by hand", start, |out| {
            let batches = out.outer_iter_mut().zip(data.outer_iter()).zip(idx.outer_iter());
            for ((mut out, data), idx) in batches {
                for (mut row, &i) in out.outer_iter_mut().zip(idx) {
                    row.assign(&data.row(i as usize));
                }
            }
        })
        .give(take);
}

/// Each row has indices of its own into the last axis.
fn batched_words(take: Take<'_>, rows: usize, len: usize, count: usize) {
    let data = floats((rows, len));
    let idx = indices((rows, count), len);
    let answer = naive::gather(data.view(), idx.view(), 1, 1);
    let attributes = Gather::along(1).batch_dims(1);
    let start = || blank((rows, count));
    Ways::to(&answer)
        .into("into", start, |out| data.gather_into(&idx, attributes, out).unwrap())
        .returned("alloc", || data.gather_with(&idx, attributes).unwrap())
        .hand("by hand", start, |out| {
            let rows = out.outer_iter_mut().zip(data.outer_iter()).zip(idx.outer_iter());
            for ((mut out, data), idx) in rows {
                out.iter_mut().zip(idx).for_each(|(o, &i)| *o = data[i as usize]);
            }
        })
        .give(take);
}

fn ten_rows(take: Take<'_>) {
    let data = floats((100, 16));
    let idx = indices(10, 100);
    let as_usize = positions(&idx);
    let answer = naive::gather(data.view(), idx.view(), 0, 0);
    let start = || blank((10, 16));
    Ways::to(&answer)
        .into("into", start, |out| data.gather_into(black_box(&idx), 0, out).unwrap())
        .returned("alloc", || data.gather(black_box(&idx), 0).unwrap())
        .hand_returned("select", || data.select(Axis(0), black_box(&as_usize)))
        .hand("by hand", start, |out| {
            for (mut row, &i) in out.outer_iter_mut().zip(black_box(&idx)) {
                row.assign(&data.row(i as usize));
            }
        })
        .give(take);
}

fn ten_rows_dynamic(take: Take<'_>) {
    let data = floats((100, 16)).into_dyn();
    let idx = indices(10, 100).into_dyn();
    let answer = naive::gather(data.view(), idx.view(), 0, 0);
    let start = || blank(IxDyn(&[10, 16]));
    Ways::to(&answer)
        .into("into", start, |out| data.gather_into(black_box(&idx), 0, out).unwrap())
        .returned("alloc", || data.gather(black_box(&idx), 0).unwrap())
        .give(take);
}

/// Rows of a transposed matrix, into one of either layout, beside the same elements taken along
/// the last axis of the matrix itself.
fn transposed(take: Take<'_>, len: usize, count: usize, column_major: bool) {
    let matrix = floats((len, len));
    let idx = indices(count, len);
    let answer = naive::gather(matrix.t(), idx.view(), 0, 0);
    let columns = naive::gather(matrix.view(), idx.view(), 1, 0);
    let start = || blank((count, len).set_f(column_major));
    let ways = strided(Ways::to(&answer), matrix.t(), &idx, &start);
    ways.into_other(
        "untransposed",
        &columns,
        || blank((len, count)),
        |out| {
            matrix.gather_into(&idx, 1, out).unwrap();
        },
    )
    .give(take);
}

/// Rows of a matrix into a column-major one, beside selecting them first.
fn into_column_major(take: Take<'_>, len: usize, count: usize) {
    let matrix = floats((len, len));
    let idx = indices(count, len);
    let selected = positions(&idx);
    let answer = naive::gather(matrix.view(), idx.view(), 0, 0);
    let start = || blank((count, len).set_f(true));
    Ways::to(&answer)
        .into("into", start, |out| matrix.gather_into(&idx, 0, out).unwrap())
        .hand("by hand", start, |out| out.assign(&matrix.select(Axis(0), &selected)))
        .give(take);
}

/// Along axis 0, against first copying to standard layout.
fn strided<'a, D: Dimension + RemoveAxis + 'static>(
    ways: Ways<'a, f32>,
    data: ArrayView<'a, f32, D>,
    idx: &'a Array1<i64>,
    start: &dyn Fn() -> Array<f32, D>,
) -> Ways<'a, f32> {
    let copied = data.clone();
    ways.into("into", start, move |out| data.gather_into(idx, 0, out).unwrap()).hand(
        "copy first",
        start,
        move |out| copied.as_standard_layout().gather_into(idx, 0, out).unwrap(),
    )
}

fn rows_of<D: Dimension + RemoveAxis + 'static>(
    take: Take<'_>,
    data: ArrayView<'_, f32, D>,
    count: usize,
) {
    let idx = indices(count, data.shape()[0]);
    let answer = naive::gather(data.view(), idx.view(), 0, 0);
    let mut shape = data.raw_dim();
    shape[0] = count;
    strided(Ways::to(&answer), data.view(), &idx, &|| blank(shape.clone())).give(take);
}

fn permuted_cube(take: Take<'_>) {
    rows_of(take, floats((64, 2048, 128)).view().permuted_axes([1, 0, 2]), 1024);
}

fn reversed(take: Take<'_>) {
    rows_of(take, floats((20_000, 256)).slice(s![..;-1, ..;-1]), 10_000);
}

fn stepped(take: Take<'_>) {
    let data = floats((20_000, 512));
    let data: ArrayView2<'_, f32> = data.slice(s![..;2, ..;2]);
    rows_of(take, data, 10_000);
}

fn picture_rows(take: Take<'_>) {
    let data: Array3<u8> = array((1080, 1920, 3), |bits| bits as u8);
    let idx = indices(540, 1080);
    let answer = naive::gather(data.view(), idx.view(), 0, 0);
    let start = || blank((540, 1920, 3));
    Ways::to(&answer)
        .into("into", start, |out| data.gather_into(&idx, 0, out).unwrap())
        .returned("alloc", || data.gather(&idx, 0).unwrap())
        .copy()
        .hand("by hand", start, |out| {
            for (mut row, &i) in out.outer_iter_mut().zip(&idx) {
                row.assign(&data.index_axis(Axis(0), i as usize));
            }
        })
        .give(take);
}

fn channel_swap(take: Take<'_>) {
    let data: Array3<u8> = array((1080, 1920, 3), |bits| bits as u8);
    let idx = [2_i64, 1, 0];
    let answer = naive::gather(data.view(), ArrayView::from(&idx), 2, 0);
    let start = || blank((1080, 1920, 3));
    Ways::to(&answer)
        .into("into", start, |out| data.gather_into(&idx, 2, out).unwrap())
        .returned("alloc", || data.gather(&idx, 2).unwrap())
        .copy()
        .hand("by hand", start, |out| {
            let pixels = data.as_slice().unwrap().chunks_exact(3);
            for (out, px) in out.as_slice_mut().unwrap().chunks_exact_mut(3).zip(pixels) {
                out.copy_from_slice(&[px[2], px[1], px[0]]);
            }
        })
        .give(take);
}

/// Elements of twelve bytes.
fn triples(take: Take<'_>) {
    let data: Array1<[f32; 3]> = array(1_000_000, |bits| [(bits >> 40) as f32; 3]);
    let idx = indices(500_000, 1_000_000);
    let answer = naive::gather(data.view(), idx.view(), 0, 0);
    Ways::to(&answer)
        .into("into", || blank(500_000), |out| data.gather_into(&idx, 0, out).unwrap())
        .hand(
            "by hand",
            || blank(500_000),
            |out| {
                out.iter_mut().zip(&idx).for_each(|(o, &i)| *o = data[i as usize]);
            },
        )
        .give(take);
}

/// The points of which each is near to another, in a table whose first column is that point itself.
fn neighbours(take: Take<'_>, points: usize) {
    let data = floats((points, 3));
    let table = indices((points, 9), points);
    let near = table.slice(s![.., 1..]);
    let answer = naive::gather(data.view(), near.view(), 0, 0);
    let start = || blank((points, 8, 3));
    Ways::to(&answer)
        .into("into", start, |out| data.gather_into(&near, 0, out).unwrap())
        .returned("alloc", || data.gather(&near, 0).unwrap())
        .hand("by hand", start, |out| {
            for (mut rows, near) in out.outer_iter_mut().zip(near.outer_iter()) {
                for (mut row, &i) in rows.outer_iter_mut().zip(near) {
                    row.assign(&data.row(i as usize));
                }
            }
        })
        .give(take);
}
