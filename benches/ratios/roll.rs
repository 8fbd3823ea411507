//! Rolls: `r…` as in the peers' table, then further kinds.

use std::hint::black_box;

use ndarray::{Array, ArrayView, Axis, Dimension, ShapeBuilder, Slice};
use opkernels::RollExt;

use crate::harness::{Entry, Results, Workload};
use crate::inputs::{array, floats};
use crate::limit;

pub(crate) fn workloads() -> Vec<Entry> {
    vec![
        ("r1_1d", |name| roll(name, 10_000_000, &[12345], &[0])),
        ("r1_half", |name| roll(name, 10_000_000, &[5_000_000], &[0])),
        ("r2_rows", |name| roll(name, (4096, 4096), &[7], &[0])),
        ("r3_cols", |name| roll(name, (4096, 4096), &[7], &[1])),
        ("r4_cube", |name| roll(name, (256, 256, 256), &[1, 2, 3], &[0, 1, 2])),
        ("r4_fftshift", |name| roll(name, (256, 256, 256), &[128, 128, 128], &[0, 1, 2])),
        ("r5_swin", |name| roll(name, (8, 56, 56, 96), &[-3, -3], &[1, 2])),
        ("r6_small", |name| roll(name, (4, 3), &[1, 2], &[0, 1])),
        ("r7_short3", |name| roll(name, (2_000_000, 3), &[1], &[1])),
        ("r7_short7", |name| roll(name, (1_000_000, 7), &[3], &[1])),
        ("r7_short16", |name| roll(name, (500_000, 16), &[5], &[1])),
        ("r8_cube1x", |name| roll(name, (20, 20, 20), &[1, 2, 3], &[0, 1, 2])),
        ("r8_cube10x", |name| roll(name, (43, 43, 43), &[1, 2, 3], &[0, 1, 2])),
        ("r8_cube100x", |name| roll(name, (93, 93, 93), &[1, 2, 3], &[0, 1, 2])),
        ("r9_fortran", |name| roll(name, (2048, 2048).f(), &[5, 9], &[0, 1])),
        ("r10_u8", r10),
    ]
}

/// What a good ndarray user writes: assigned slices, all axes in one pass.
fn by_hand<T: Copy, D: Dimension>(
    data: ArrayView<'_, T, D>,
    out: &mut Array<T, D>,
    shifts: &[i64],
    axes: &[i32],
) {
    for corner in 0..1_usize << axes.len() {
        let (mut from, mut to) = (data.view(), out.view_mut());
        for (k, (&shift, &axis)) in shifts.iter().zip(axes).enumerate() {
            let len = data.shape()[axis as usize] as isize;
            let shift = shift.rem_euclid(len as i64) as isize;
            let axis = Axis(axis as usize);
            if corner >> k & 1 == 0 {
                from.slice_axis_inplace(axis, Slice::from(..len - shift));
                to.slice_axis_inplace(axis, Slice::from(shift..));
            } else {
                from.slice_axis_inplace(axis, Slice::from(len - shift..));
                to.slice_axis_inplace(axis, Slice::from(..shift));
            }
        }
        to.assign(&from);
    }
}

fn roll<D: Dimension>(
    name: &'static str,
    shape: impl ShapeBuilder<Dim = D> + Clone,
    shifts: &[i64],
    axes: &[i32],
) -> Results {
    compare(name, &floats(shape), shifts, axes)
}

fn r10(name: &'static str) -> Results {
    compare(name, &array((2160, 3840, 3), |bits| bits as u8), &[100, 1920], &[0, 1])
}

fn compare<T, D>(name: &'static str, data: &Array<T, D>, shifts: &[i64], axes: &[i32]) -> Results
where
    T: Copy + Send + Sync,
    D: Dimension,
{
    let none: [i32; 0] = [];
    let fresh = || data.roll(0, none).expect("memory for a copy");
    let mut hand = fresh();
    Workload::new(name)
        .both("copy", || {
            let (mut out, from) = (fresh(), data.view());
            move || {
                let to = out.as_slice_memory_order_mut().expect("a contiguous array");
                limit::memcpy(
                    from.as_slice_memory_order().expect("a contiguous array"),
                    black_box(to),
                );
            }
        })
        .both("stream", || {
            let (mut out, from) = (fresh(), data.view());
            move || {
                let to = out.as_slice_memory_order_mut().expect("a contiguous array");
                limit::streaming(
                    from.as_slice_memory_order().expect("a contiguous array"),
                    black_box(to),
                );
            }
        })
        .both("into", || {
            let (mut out, data) = (fresh(), data.view());
            move || data.roll_into(shifts, axes, black_box(&mut out)).expect("a roll")
        })
        .both("alloc", || || drop(black_box(data.roll(shifts, axes).expect("a roll"))))
        .both("inplace", || {
            let mut data = fresh();
            move || black_box(&mut data).roll_inplace(shifts, axes).expect("a roll")
        })
        .one("by hand", || by_hand(data.view(), black_box(&mut hand), shifts, axes))
        .measure(0.12)
}
