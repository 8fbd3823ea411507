//! Rolls beside a copy of as many bytes and what ndarray users write now:
//! `cargo bench --bench roll -- [part of a name]`.

mod common;
// Not every benchmark has every kind of input and limit.
#[allow(dead_code)]
#[path = "ratios/inputs.rs"]
mod inputs;
#[allow(dead_code)]
#[path = "ratios/limit.rs"]
mod limit;

use std::hint::black_box;

use ndarray::{Array, ArrayView, Axis, Dimension, RemoveAxis, ShapeBuilder, Slice, concatenate};
use opkernels::RollExt;

use common::Benches;
use inputs::floats;

fn main() {
    common::run(|benches| {
        roll(benches, "r1_1d", 10_000_000, &[12345], &[0]);
        roll(benches, "r2_rows", (4096, 4096), &[7], &[0]);
        roll(benches, "r3_cols", (4096, 4096), &[7], &[1]);
        roll(benches, "r4_cube", (256, 256, 256), &[1, 2, 3], &[0, 1, 2]);
        roll(benches, "r5_swin", (8, 56, 56, 96), &[-3, -3], &[1, 2]);
        roll(benches, "r6_small", (4, 3), &[1, 2], &[0, 1]);
        roll(benches, "r8_cube1x", (20, 20, 20), &[1, 2, 3], &[0, 1, 2]);
        roll(benches, "r8_cube10x", (43, 43, 43), &[1, 2, 3], &[0, 1, 2]);
        roll(benches, "r8_cube100x", (93, 93, 93), &[1, 2, 3], &[0, 1, 2]);
    });
}

/// How far from the front an axis is cut in two, once the shift is normalised.
fn cut(shift: i64, len: usize) -> isize {
    len as isize - shift.rem_euclid(len as i64) as isize
}

/// The usual way: both parts of every axis concatenated, one axis at a time.
fn concatenated<D: RemoveAxis>(
    data: &Array<f32, D>,
    shifts: &[i64],
    axes: &[i64],
) -> Array<f32, D> {
    let one_axis = |data: ArrayView<'_, f32, D>, shift, axis| {
        let axis = Axis(axis as usize);
        let cut = cut(shift, data.len_of(axis));
        let (front, back) = data.split_at(axis, cut as usize);
        concatenate(axis, &[back, front]).expect("shapes that agree")
    };
    let first = one_axis(data.view(), shifts[0], axes[0]);
    shifts[1..]
        .iter()
        .zip(&axes[1..])
        .fold(first, |rolled, (&shift, &axis)| one_axis(rolled.view(), shift, axis))
}

/// The careful way: every corner sliced and assigned, all axes in one pass.
fn assigned<D: Dimension>(
    data: &Array<f32, D>,
    out: &mut Array<f32, D>,
    shifts: &[i64],
    axes: &[i64],
) {
    for corner in 0..1_usize << axes.len() {
        let (mut from, mut to) = (data.view(), out.view_mut());
        for (k, (&shift, &axis)) in shifts.iter().zip(axes).enumerate() {
            let axis = Axis(axis as usize);
            let len = data.len_of(axis) as isize;
            let cut = cut(shift, data.len_of(axis));
            if corner >> k & 1 == 0 {
                from.slice_axis_inplace(axis, Slice::from(..cut));
                to.slice_axis_inplace(axis, Slice::from(len - cut..));
            } else {
                from.slice_axis_inplace(axis, Slice::from(cut..));
                to.slice_axis_inplace(axis, Slice::from(..len - cut));
            }
        }
        to.assign(&from);
    }
}

fn roll<D: RemoveAxis>(
    benches: &mut Benches,
    name: &str,
    shape: impl ShapeBuilder<Dim = D> + Clone,
    shifts: &[i64],
    axes: &[i64],
) {
    let data = floats(shape.clone());
    let mut out = floats(shape.clone());
    let mut turned = floats(shape);
    benches
        .workload(name)
        .bytes(data.len() * size_of::<f32>())
        .both("copy", || {
            let to = black_box(&mut out).as_slice_mut().expect("standard layout");
            limit::memcpy(data.as_slice().expect("standard layout"), to);
        })
        .both("roll_into", || data.roll_into(shifts, axes, black_box(&mut out)).unwrap())
        .both("roll", || drop(black_box(data.roll(black_box(shifts), axes).unwrap())))
        .both("roll_inplace", || black_box(&mut turned).roll_inplace(shifts, axes).unwrap())
        .one("concatenate", || drop(black_box(concatenated(&data, black_box(shifts), axes))))
        .one("slices assigned", || assigned(&data, black_box(&mut out), shifts, axes));
}
