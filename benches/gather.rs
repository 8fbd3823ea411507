//! Gathers beside a copy of as many bytes and what ndarray users write now:
//! `cargo bench --bench gather -- [part of a name]`.

mod common;
// Not every benchmark has every kind of input and limit.
#[allow(dead_code)]
#[path = "ratios/inputs.rs"]
mod inputs;
#[allow(dead_code)]
#[path = "ratios/limit.rs"]
mod limit;

use std::hint::black_box;

use ndarray::{Array, Array1, Array2, Array3, Axis, Dimension};
use opkernels::{Gather, GatherExt};

use common::Benches;
use inputs::{array, floats, indices};

fn main() {
    common::run(|benches| {
        embedding(benches);
        take(benches);
        last_axis(benches);
        batched(benches);
        rows(benches, "g8_small", 100, 16, 10);
        picture(benches);
        rows(benches, "g13_1x", 2_000, 64, 200);
        rows(benches, "g13_10x", 20_000, 64, 2_000);
        rows(benches, "g13_100x", 200_000, 64, 20_000);
    });
}

/// Two arrays for the copy limit: a gather's result, and as much again.
fn pair<T, D>(result: &Array<T, D>) -> [Array<T, D>; 2]
where
    T: Clone,
    D: Dimension,
{
    [result.clone(), result.clone()]
}

fn copy<T: Copy + Send + Sync, D: Dimension>([from, to]: &mut [Array<T, D>; 2]) {
    limit::memcpy(
        from.as_slice().expect("standard layout"),
        black_box(to).as_slice_mut().expect("standard layout"),
    );
}

fn positions(idx: &Array1<i64>) -> Vec<usize> {
    idx.iter().map(|&i| i as usize).collect()
}

fn embedding(benches: &mut Benches) {
    let data = floats((32_000, 768));
    let idx = indices((8, 512), 32_000);
    let mut out = floats((8, 512, 768));
    let mut plain = pair(&out);
    let flat = positions(&idx.flatten().to_owned());
    benches
        .workload("g1_embed")
        .bytes(out.len() * size_of::<f32>())
        .both("copy", || copy(&mut plain))
        .both("gather_into", || {
            data.gather_into(&idx, Gather::along(0), black_box(&mut out)).unwrap();
        })
        .both("gather", || drop(black_box(data.gather(&idx, Axis(0)).unwrap())))
        .one("select", || drop(black_box(data.select(Axis(0), &flat))))
        .one("rows assigned", || {
            for (mut out, idx) in out.outer_iter_mut().zip(idx.outer_iter()) {
                for (mut row, &i) in out.outer_iter_mut().zip(idx) {
                    row.assign(&data.row(i as usize));
                }
            }
        });
}

fn rows(benches: &mut Benches, name: &str, table: usize, width: usize, count: usize) {
    let data = floats((table, width));
    let idx = indices(count, table);
    let mut out = floats((count, width));
    let mut plain = pair(&out);
    let as_usize = positions(&idx);
    benches
        .workload(name)
        .bytes(out.len() * size_of::<f32>())
        .both("copy", || copy(&mut plain))
        .both("gather_into", || {
            data.gather_into(black_box(&idx), Gather::along(0), black_box(&mut out)).unwrap();
        })
        .both("gather", || drop(black_box(data.gather(black_box(&idx), Axis(0)).unwrap())))
        .one("select", || drop(black_box(data.select(Axis(0), black_box(&as_usize)))))
        .one("rows assigned", || {
            for (mut row, &i) in black_box(&mut out).outer_iter_mut().zip(&idx) {
                row.assign(&data.row(i as usize));
            }
        });
}

fn take(benches: &mut Benches) {
    let data = floats(10_000_000);
    let idx = indices(1_000_000, 10_000_000);
    let mut out = floats(1_000_000);
    let mut plain = pair(&out);
    let as_usize = positions(&idx);
    benches
        .workload("g3_take1d")
        .bytes(out.len() * size_of::<f32>())
        .both("copy", || copy(&mut plain))
        .both("gather_into", || {
            data.gather_into(&idx, Gather::along(0), black_box(&mut out)).unwrap();
        })
        .both("gather", || drop(black_box(data.gather(&idx, Axis(0)).unwrap())))
        .one("select", || drop(black_box(data.select(Axis(0), &as_usize))))
        .one("indexed loop", || {
            out.iter_mut().zip(&idx).for_each(|(o, &i)| *o = data[i as usize]);
        });
}

fn last_axis(benches: &mut Benches) {
    let data = floats((4096, 4096));
    let idx = indices(512, 4096);
    let mut out: Array2<f32> = floats((4096, 512));
    let mut plain = pair(&out);
    let as_usize = positions(&idx);
    benches
        .workload("g4_lastaxis")
        .bytes(out.len() * size_of::<f32>())
        .both("copy", || copy(&mut plain))
        .both("gather_into", || {
            data.gather_into(&idx, Gather::along(1), black_box(&mut out)).unwrap();
        })
        .both("gather", || drop(black_box(data.gather(&idx, Axis(1)).unwrap())))
        .one("select", || drop(black_box(data.select(Axis(1), &as_usize))))
        .one("indexed loop", || {
            for (mut row, data) in out.outer_iter_mut().zip(data.outer_iter()) {
                row.iter_mut().zip(&idx).for_each(|(o, &i)| *o = data[i as usize]);
            }
        });
}

fn batched(benches: &mut Benches) {
    let data = floats((32, 4096, 64));
    let idx = indices((32, 1024), 4096);
    let mut out = floats((32, 1024, 64));
    let mut plain = pair(&out);
    let attributes = Gather::along(1).batch_dims(1);
    benches
        .workload("g6_batched")
        .bytes(out.len() * size_of::<f32>())
        .both("copy", || copy(&mut plain))
        .both("gather_into", || {
            data.gather_into(&idx, attributes, black_box(&mut out)).unwrap();
        })
        .both("gather_with", || drop(black_box(data.gather_with(&idx, attributes).unwrap())))
        .one("rows assigned", || {
            for ((mut out, data), idx) in
                out.outer_iter_mut().zip(data.outer_iter()).zip(idx.outer_iter())
            {
                for (mut row, &i) in out.outer_iter_mut().zip(idx) {
                    row.assign(&data.row(i as usize));
                }
            }
        });
}

fn picture(benches: &mut Benches) {
    let data: Array3<u8> = array((1080, 1920, 3), |bits| bits as u8);
    let idx = indices(540, 1080);
    let mut out: Array3<u8> = array((540, 1920, 3), |bits| bits as u8);
    let mut plain = pair(&out);
    let as_usize = positions(&idx);
    benches
        .workload("g10_u8")
        .bytes(out.len())
        .both("copy", || copy(&mut plain))
        .both("gather_into", || {
            data.gather_into(&idx, Gather::along(0), black_box(&mut out)).unwrap();
        })
        .both("gather", || drop(black_box(data.gather(&idx, Axis(0)).unwrap())))
        .one("select", || drop(black_box(data.select(Axis(0), &as_usize))))
        .one("rows assigned", || {
            for (mut row, &i) in out.outer_iter_mut().zip(&idx) {
                row.assign(&data.index_axis(Axis(0), i as usize));
            }
        });
}
