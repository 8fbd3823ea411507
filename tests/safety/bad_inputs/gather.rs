//! Axes, batch dimensions, empty axes and shapes of a gather.

use ndarray::{Array1, Array2, ArrayD, Axis, Ix1, Ix2, Ix3, arr0};
use opkernels::{Error, Gather, GatherExt, IntoAxis, OutOfBounds, SignedInteger};

use super::Table;
use super::forms::{gather, gather_with, outside};
use crate::common::{Value, array_of, assert_same};

pub(super) fn cases(table: &mut Table) {
    axes(table);
    batch_dims(table);
    batch_shapes(table);
    empty_axes(table);
    skips(table);
    outs(table);
    shared_memory(table);
}

fn refused_axis(table: &mut Table, axis: impl IntoAxis, given: i128, rank: usize) {
    table.case(format!("gather along {given} of rank {rank}"), || {
        let data: ArrayD<f32> = array_of(&[2, 3, 4][..rank], 1);
        let indices = Array1::from(vec![9_i64, -9]).into_dyn();
        let expected = Err(Error::AxisOutOfBounds { axis: given, rank });
        gather(&data.view(), &indices.view(), axis, &[2], &expected);
    });
}

fn axes(table: &mut Table) {
    for rank in 0..=3 {
        let end = rank as i64;
        refused_axis(table, end, end.into(), rank);
        refused_axis(table, -end - 1, i128::from(-end - 1), rank);
        refused_axis(table, Axis(rank + 1), rank as i128 + 1, rank);
        refused_axis(table, Axis(usize::MAX), usize::MAX as i128, rank);
    }
    refused_axis(table, i32::MIN, i32::MIN.into(), 3);
    refused_axis(table, i32::MAX, i32::MAX.into(), 3);
    refused_axis(table, i64::MIN, i64::MIN.into(), 3);
    refused_axis(table, i64::MAX, i64::MAX.into(), 3);
    let beyond = usize::MAX / 2 + 1;
    refused_axis(table, Axis(beyond), beyond as i128, 3);
}

fn refused_batch(
    table: &mut Table,
    (data, indices): (&[usize], &[usize]),
    axis: i32,
    batch_dims: impl SignedInteger + std::fmt::Display,
    expected: Error,
) {
    let name = format!("gather {data:?} by {indices:?} along {axis}, batch_dims {batch_dims}");
    table.case(name, || {
        let data: ArrayD<f32> = array_of(data, 1);
        let indices = ArrayD::<i32>::zeros(indices);
        let attributes = Gather::along(axis).batch_dims(batch_dims);
        gather_with(&data.view(), &indices.view(), &attributes, &[2, 4], &Err(expected));
    });
}

fn batch_dims(table: &mut Table) {
    let out_of_range = |batch_dims: i64| Error::BatchDimsOutOfRange {
        batch_dims: batch_dims.into(),
        data_rank: 3,
        indices_rank: 2,
    };
    let shapes = (&[2, 3, 4][..], &[2, 3][..]);
    let wraps_to_one = (1_i64 << 32) + 1;
    for number in [3, -3, i64::MAX, i64::MIN, i64::MIN + 3, wraps_to_one, -wraps_to_one] {
        refused_batch(table, shapes, 2, number, out_of_range(number));
    }
    for number in [i32::MAX, i32::MIN] {
        refused_batch(table, shapes, 2, number, out_of_range(number.into()));
    }
    for number in [isize::MAX - 1, isize::MIN + 1] {
        refused_batch(table, shapes, 2, number, out_of_range(number as i64));
    }
    for (data, indices, number) in [
        (&[2, 3][..], &[][..], 1),
        (&[2, 3], &[], -1),
        (&[2], &[2, 2, 2], 2),
        (&[2], &[2, 2, 2], -1),
        (&[2, 3], &[2], 2),
        (&[2, 3], &[2], -2),
    ] {
        let expected = Error::BatchDimsOutOfRange {
            batch_dims: number.into(),
            data_rank: data.len(),
            indices_rank: indices.len(),
        };
        refused_batch(table, (data, indices), -1, number, expected);
    }
    for (axis, number, from_front) in [(0, 1, 1), (0, 2, 2), (1, 2, 2), (0, -1, 1), (-3, -1, 1)] {
        let axis_from_front = if axis < 0 { axis + 3 } else { axis } as usize;
        let expected = Error::BatchDimsBeyondAxis { batch_dims: from_front, axis: axis_from_front };
        refused_batch(table, (&[2, 3, 4], &[2, 3]), axis, number, expected);
    }
    table.case("gather with batch_dims of both ranks less one", || {
        let data: ArrayD<f32> = array_of(&[2, 3], 1);
        let indices = Array1::from(vec![2_u8, 0]).into_dyn();
        let expected = Ok(Array1::from(vec![data[[0, 2]], data[[1, 0]]]).into_dyn());
        let attributes = Gather::along(1).batch_dims(1);
        gather_with(&data.view(), &indices.view(), &attributes, &[2], &expected);
    });
}

fn batch_shapes(table: &mut Table) {
    for (data, indices, batch_dims) in [
        (&[2, 3, 4][..], &[3, 3][..], 1),
        (&[2, 3, 4], &[1, 3], 1),
        (&[2, 3, 4], &[0, 3], 1),
        (&[0, 3, 4], &[2, 3], 1),
        (&[2, 3, 4], &[2, 2], 2),
        (&[2, 3, 4], &[3, 2], 2),
    ] {
        let expected = Error::BatchShapeMismatch {
            batch_dims,
            data: data.to_vec(),
            indices: indices.to_vec(),
        };
        refused_batch(table, (data, indices), 2, batch_dims as i64, expected);
    }
    table.case("gather with a batch of none", || {
        let data = ArrayD::<f32>::zeros(vec![0, 3]);
        let indices = ArrayD::from_elem(vec![0, 5], i64::MAX);
        let attributes = Gather::along(1).batch_dims(1);
        let expected = Ok(ArrayD::zeros(vec![0, 5]));
        gather_with(&data.view(), &indices.view(), &attributes, &[0, 5], &expected);
    });
}

/// An axis of length 0, and results of no elements.
fn empty_axes(table: &mut Table) {
    let error = || OutOfBounds::Error;
    let fill = || OutOfBounds::Fill(7.5);
    for (mode_name, mode) in [("clip", OutOfBounds::Clip), ("wrap", OutOfBounds::Wrap)] {
        for (data, indices, out) in
            [(&[0, 3][..], &[2][..], &[2, 3][..]), (&[0, 0], &[1], &[1, 0]), (&[0], &[], &[])]
        {
            empty_axis(table, data, indices, mode_name, mode, out, |_| {
                Err(Error::EmptyAxis { mode: mode_name, axis: 0 })
            });
        }
        empty_axis(table, &[0, 3], &[0], mode_name, mode, &[0, 3], |out| Ok(ArrayD::zeros(out)));
    }
    let refused = |_: &[usize]| outside(0, &[0], 0, 0);
    empty_axis(table, &[0, 3], &[2], "error", error(), &[2, 3], refused);
    empty_axis(table, &[0, 0], &[2], "error", error(), &[2, 0], refused);
    empty_axis(table, &[0], &[], "error", error(), &[], |_| outside(0, &[], 0, 0));
    empty_axis(table, &[0, 3], &[0], "error", error(), &[0, 3], |out| Ok(ArrayD::zeros(out)));
    let filled = |out: &[usize]| Ok(ArrayD::from_elem(out, 7.5));
    empty_axis(table, &[0, 3], &[2], "fill", fill(), &[2, 3], filled);
    empty_axis(table, &[0, 0], &[2], "fill", fill(), &[2, 0], filled);
    empty_axis(table, &[0], &[], "fill", fill(), &[], filled);
    table.case("gather a bad index where nothing is copied", || {
        let data = ArrayD::<f32>::zeros(vec![3, 0]);
        let indices = Array1::from(vec![0_i8, -4]).into_dyn();
        let expected = outside(-4, &[1], 0, 3);
        gather(&data.view(), &indices.view(), 0, &[2, 0], &expected);
    });
}

fn empty_axis(
    table: &mut Table,
    data: &[usize],
    indices: &[usize],
    mode_name: &str,
    mode: OutOfBounds<f64>,
    out: &[usize],
    expected: impl FnOnce(&[usize]) -> opkernels::Result<ArrayD<f64>>,
) {
    table.case(format!("gather {data:?} by {indices:?}, {mode_name}"), || {
        let data = ArrayD::zeros(data);
        let indices = ArrayD::<u16>::zeros(indices);
        let attributes = Gather::along(0).out_of_bounds(mode);
        gather_with(&data.view(), &indices.view(), &attributes, out, &expected(out));
    });
}

/// A gather cannot skip, not even indices that are not there.
fn skips(table: &mut Table) {
    for (data, indices) in
        [(&[3][..], &[2][..]), (&[3], &[0]), (&[0], &[0]), (&[2, 0], &[1]), (&[1], &[])]
    {
        table.case(format!("gather {data:?} by {indices:?}, skip"), || {
            let data: ArrayD<u8> = array_of(data, 1);
            let indices = ArrayD::<u8>::zeros(indices);
            let attributes = Gather::along(0).out_of_bounds(OutOfBounds::Skip);
            let expected = Err(Error::SkipInGather);
            gather_with(&data.view(), &indices.view(), &attributes, &[2], &expected);
        });
    }
}

/// An `out` of any other shape, of static and of dynamic rank.
fn outs(table: &mut Table) {
    for shape in [
        &[][..],
        &[8],
        &[2, 4, 1],
        &[1, 2, 4],
        &[4, 2],
        &[2, 3],
        &[2, 5],
        &[1, 4],
        &[3, 4],
        &[0, 4],
        &[2, 0],
        &[2, 4, 0],
    ] {
        table.case(format!("gather into {shape:?} instead of [2, 4]"), || {
            let data: ArrayD<i32> = array_of(&[3, 4], 1);
            let expected =
                Err(Error::OutShapeMismatch { expected: vec![2, 4], actual: shape.to_vec() });
            let before: ArrayD<i32> = array_of(shape, 2);
            let mut out = before.clone();
            let done = data.gather_into(&[1, 2], Gather::along(0), &mut out);
            assert_eq!(done, expected);
            assert_same(&out, &before);
            // Strings go another way inside.
            let words: ArrayD<String> = array_of(&[3, 4], 1);
            let before: ArrayD<String> = array_of(shape, 2);
            let mut out = before.clone();
            let done = words.gather_into(&[1, 2], Gather::along(0), &mut out);
            assert_eq!(done, expected);
            assert_same(&out, &before);
            static_ranks(&data, shape, &expected);
        });
    }
}

fn static_ranks<A: Value>(data: &ArrayD<A>, shape: &[usize], expected: &opkernels::Result<()>) {
    let before: ArrayD<A> = array_of(shape, 2);
    macro_rules! refused {
        ($($dim:ty)*) => {$(
            if let Ok(mut out) = before.clone().into_dimensionality::<$dim>() {
                let done = data.gather_into(&[1, 2], Gather::along(0), &mut out);
                assert_eq!(&done, expected);
                assert_same(&out, &before);
            }
        )*};
    }
    refused!(Ix1 Ix2 Ix3);
}

/// Data and indices in the same memory, and indices that overlap themselves.
fn shared_memory(table: &mut Table) {
    table.case("gather from an array by itself", || {
        let data = Array1::from(vec![2_u8, 0, 1]);
        let view = data.view().into_dyn();
        let expected = Ok(Array1::from(vec![1_u8, 2, 0]).into_dyn());
        gather(&view, &view, 0, &[3], &expected);
    });
    table.case("gather from an array by itself, out of bounds", || {
        let data = Array1::from(vec![2_u8, 3, 1]);
        let view = data.view().into_dyn();
        gather(&view, &view, 0, &[3], &outside(3, &[1], 0, 3));
    });
    table.case("gather by indices broadcast along both axes", || {
        let data: ArrayD<u64> = array_of(&[3], 1);
        let one = arr0(-3_i8);
        let indices = one.broadcast((4, 5)).unwrap().into_dyn();
        let expected = Ok(ArrayD::from_elem(vec![4, 5], data[0]));
        gather(&data.view(), &indices, 0, &[4, 5], &expected);
    });
    table.case("gather by broadcast rows, one index out of bounds", || {
        let data: ArrayD<u64> = array_of(&[3], 1);
        let row = Array2::from_shape_vec((1, 3), vec![0_i16, 3, -4]).unwrap();
        let indices = row.broadcast((4, 3)).unwrap().into_dyn();
        gather(&data.view(), &indices, 0, &[4, 3], &outside(3, &[0, 1], 0, 3));
    });
    table.case("gather by broadcast columns, one index out of bounds", || {
        let data: ArrayD<u64> = array_of(&[3], 1);
        let column = Array2::from_shape_vec((3, 1), vec![0_i16, 2, -4]).unwrap();
        let indices = column.broadcast((3, 4)).unwrap().into_dyn();
        gather(&data.view(), &indices, 0, &[3, 4], &outside(-4, &[2, 0], 0, 3));
    });
}
