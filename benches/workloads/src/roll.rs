//! Rolls.

use std::hint::black_box;

use ndarray::{
    Array, Array3, ArrayView, Axis, Dimension, RemoveAxis, ShapeBuilder, Slice, concatenate, s,
};
use opkernels::RollExt;

use crate::inputs::{array, blank, copy, floats};
use crate::naive;
use crate::workload::{Element, Take, Ways, Workload};

/// All rolls.
pub fn workloads() -> Vec<Workload> {
    let rest = vec![
        Workload::new("roll_line", |take| roll(take, 10_000_000, &[12345], &[0])),
        Workload::new("roll_line_by_half", |take| roll(take, 10_000_000, &[5_000_000], &[0])),
        Workload::new("roll_rows", |take| roll(take, (4096, 4096), &[7], &[0])),
        Workload::new("roll_columns", |take| roll(take, (4096, 4096), &[7], &[1])),
        Workload::new("roll_columns_of_3", |take| roll(take, (2_000_000, 3), &[1], &[1])),
        Workload::new("roll_planes_of_3", |take| roll(take, (200_000, 3, 3), &[1, 1], &[1, 2])),
        Workload::new("roll_both_axes_of_3", |take| {
            roll(take, (2_000_000, 3), &[763_932, 1], &[0, 1]);
        }),
        Workload::new("roll_columns_of_7", |take| roll(take, (1_000_000, 7), &[3], &[1])),
        Workload::new("roll_columns_of_16", |take| roll(take, (500_000, 16), &[5], &[1])),
        Workload::new("roll_cube_20", |take| cube(take, 20)),
        Workload::new("roll_cube_43", |take| cube(take, 43)),
        Workload::new("roll_cube_93", |take| cube(take, 93)),
        Workload::new("roll_cube_256", |take| cube(take, 256)),
        Workload::new("roll_fftshift", |take| roll(take, (256, 256, 256), &[128; 3], &[0, 1, 2])),
        Workload::new("roll_windows", |take| roll(take, (8, 56, 56, 96), &[-3, -3], &[1, 2])),
        Workload::new("roll_column_major", |take| roll(take, (2048, 2048).f(), &[5, 9], &[0, 1])),
        Workload::new("roll_picture", |take| {
            let picture = array((2160, 3840, 3), |bits| bits as u8);
            compare(take, &picture, &[100, 1920], &[0, 1]);
        }),
        Workload::new("roll_channel_x1", |take| channel(take, 120, 180)),
        Workload::new("roll_channel_x10", |take| channel(take, 380, 570)),
        Workload::new("roll_channel_x100", |take| channel(take, 1200, 1800)),
        Workload::new("roll_permuted_201_x1", |take| permuted(take, 55, [2, 0, 1])),
        Workload::new("roll_permuted_201_x10", |take| permuted(take, 119, [2, 0, 1])),
        Workload::new("roll_permuted_201_x100", |take| permuted(take, 256, [2, 0, 1])),
        Workload::new("roll_permuted_120_x1", |take| permuted(take, 55, [1, 2, 0])),
        Workload::new("roll_permuted_120_x10", |take| permuted(take, 119, [1, 2, 0])),
        Workload::new("roll_permuted_120_x100", |take| permuted(take, 256, [1, 2, 0])),
    ];
    tiny().into_iter().chain(rest).collect()
}

/// Those of a few elements.
pub fn tiny() -> Vec<Workload> {
    vec![Workload::new("roll_4_by_3", |take| roll(take, (4, 3), &[1, 2], &[0, 1]))]
}

/// How far from the front an axis is cut in two, once the shift is normalised.
fn cut(shift: i64, len: usize) -> isize {
    len as isize - shift.rem_euclid(len as i64) as isize
}

/// What a good ndarray user writes: assigned slices, all axes in one pass.
fn assigned<T: Copy, D: Dimension>(
    data: &ArrayView<'_, T, D>,
    out: &mut Array<T, D>,
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

/// What one finds on the web: both parts of every axis concatenated, one axis at a time.
fn concatenated<T: Copy, D: RemoveAxis + 'static>(
    data: &Array<T, D>,
    shifts: &[i64],
    axes: &[i64],
) -> Array<T, D> {
    let one_axis = |data: ArrayView<'_, T, D>, shift, axis| {
        let axis = Axis(axis as usize);
        let cut = cut(shift, data.len_of(axis)) as usize;
        let (front, back) = data.split_at(axis, cut);
        concatenate(axis, &[back, front]).expect("shapes that agree")
    };
    let first = one_axis(data.view(), shifts[0], axes[0]);
    shifts[1..]
        .iter()
        .zip(&axes[1..])
        .fold(first, |rolled, (&shift, &axis)| one_axis(rolled.view(), shift, axis))
}

fn cube(take: Take<'_>, len: usize) {
    roll(take, (len, len, len), &[1, 2, 3], &[0, 1, 2]);
}

fn roll<D: RemoveAxis + 'static>(
    take: Take<'_>,
    shape: impl ShapeBuilder<Dim = D>,
    shifts: &[i64],
    axes: &[i64],
) {
    compare(take, &floats(shape), shifts, axes);
}

fn compare<T, D>(take: Take<'_>, data: &Array<T, D>, shifts: &[i64], axes: &[i64])
where
    T: Element + Copy,
    D: RemoveAxis + 'static,
{
    let answer = naive::roll(data.view(), shifts, axes);
    Ways::to(&answer)
        .into("into", || copy(data), |out| data.roll_into(black_box(shifts), axes, out).unwrap())
        .returned("alloc", || data.roll(black_box(shifts), axes).unwrap())
        .into("inplace", || copy(data), |data| data.roll_inplace(black_box(shifts), axes).unwrap())
        .copy()
        .stream()
        .hand("by hand", || copy(data), |out| assigned(&data.view(), out, black_box(shifts), axes))
        .hand_returned("concatenate", || concatenated(data, black_box(shifts), axes))
        .give(take);
}

/// A cube whose axes are permuted, into standard layout, beside a plain copy of the permuted view.
fn permuted(take: Take<'_>, len: usize, order: [usize; 3]) {
    let cube = floats((len, len, len));
    let data = cube.view().permuted_axes(order);
    let (shifts, axes) = ([1_i64, 2, 3], [0_i64, 1, 2]);
    let answer = naive::roll(data.view(), &shifts, &axes);
    let unmoved = naive::roll(data.view(), &[], &[]);
    let start = || blank((len, len, len));
    Ways::to(&answer)
        .into("into", start, |out| data.roll_into(shifts, axes, out).unwrap())
        .hand("by hand", start, |out| assigned(&data, out, &shifts, &axes))
        .into_other("assign", &unmoved, start, |out| out.assign(&data))
        .give(take);
}

/// One channel of a picture in place, a few columns to the right: elements that lie apart.
fn channel(take: Take<'_>, rows: usize, columns: usize) {
    const SHIFT: usize = 10;
    let picture: Array3<u8> = array((rows, columns, 3), |bits| bits as u8);
    let by_hand = |picture: &mut Array3<u8>| {
        let mut end = [0; SHIFT];
        for mut row in picture.outer_iter_mut() {
            let mut row = row.slice_mut(s![.., 0]);
            end.iter_mut().zip(row.slice(s![columns - SHIFT..])).for_each(|(to, &from)| *to = from);
            for at in (SHIFT..columns).rev() {
                row[at] = row[at - SHIFT];
            }
            row.iter_mut().zip(&end).for_each(|(to, &from)| *to = from);
        }
    };
    let mut answer = copy(&picture);
    by_hand(&mut answer);
    let answer = copy(&answer.flatten().into_owned());
    Ways::to(&answer)
        .into(
            "inplace",
            || copy(&picture),
            |picture| picture.slice_mut(s![.., .., 0]).roll_inplace(SHIFT as i64, 1).unwrap(),
        )
        .hand("by hand", || copy(&picture), by_hand)
        .give(take);
}
