//! Axes, shifts, empty axes and shapes of a roll.

use ndarray::{Array2, ArrayD, Axis, Ix0, Ix1, Ix2, Ix3, array};
use opkernels::{Error, IntoAxis, RollExt};

use super::Table;
use super::forms::roll;
use crate::common::{Value, array_of, assert_same, oracle};

pub(super) fn cases(table: &mut Table) {
    axes(table);
    counts(table);
    shifts(table);
    repeated_axes(table);
    nothing_to_roll(table);
    outs(table);
    overlapping_data(table);
}

fn refused_axis(table: &mut Table, axis: impl IntoAxis, given: i128, rank: usize) {
    table.case(format!("roll along {given} of rank {rank}"), || {
        let data: ArrayD<f32> = array_of(&[2, 3, 4][..rank], 1);
        let refusal = Error::AxisOutOfBounds { axis: given, rank };
        roll(&data, 1, vec![axis], &Err(refusal.clone()));
        // After axes that it has.
        if rank > 0 {
            let refused: ArrayD<f32> = data.clone();
            assert_eq!(refused.roll(1, vec![axis, axis]).unwrap_err(), refusal);
        }
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
    for (list, bad) in [([0, 3], 3), ([-4, 1], -4), ([2, i64::MIN], i64::MIN)] {
        table.case(format!("roll along {list:?} of rank 3"), || {
            let data: ArrayD<u8> = array_of(&[2, 3, 4], 1);
            let expected = Err(Error::AxisOutOfBounds { axis: bad.into(), rank: 3 });
            roll(&data, 0, list, &expected);
            roll(&data, [0, i64::MAX], list, &expected);
        });
    }
    table.case("roll an array without elements along an axis that it has not", || {
        let data = ArrayD::<u8>::zeros(vec![0, 3]);
        roll(&data, 1, 2, &Err(Error::AxisOutOfBounds { axis: 2, rank: 2 }));
    });
}

/// Neither one shift nor one for each axis.
fn counts(table: &mut Table) {
    for (shifts, axes) in [(0, 1), (0, 2), (2, 0), (2, 1), (3, 2), (2, 3), (5, 2), (3, 0)] {
        for shape in [&[2, 3][..], &[0, 3]] {
            table.case(format!("roll {shape:?} by {shifts} shifts along {axes} axes"), || {
                let data: ArrayD<i16> = array_of(shape, 1);
                let expected = Err(Error::ShiftCountMismatch { shifts, axes });
                roll(&data, vec![i64::MIN; shifts], vec![-1_i64; axes], &expected);
                roll(&data, vec![1_i32; shifts], vec![Axis(9); axes], &expected);
            });
        }
    }
}

/// Every shift, in every integer type, along axes of several lengths.
fn shifts(table: &mut Table) {
    for len in [1, 2, 3, 7] {
        let n = len as i64;
        for shift in [i64::MIN, i64::MIN + 1, i64::MAX, i64::MAX - 1, -n - 1, -n, n, n + 1] {
            table.case(format!("roll {len} elements by {shift}"), || {
                let line: ArrayD<i32> = array_of(&[len], 1);
                let expected = oracle::roll(&line, &[shift], &[0]).unwrap();
                roll(&line, shift, 0, &Ok(expected));
                let block: ArrayD<String> = array_of(&[2, len, 3], 1);
                let expected = oracle::roll(&block, &[shift], &[1]).unwrap();
                roll(&block, shift, Axis(1), &Ok(expected));
            });
        }
        for shift in [i32::MIN, i32::MAX] {
            table.case(format!("roll {len} elements by the i32 {shift}"), || {
                let line: ArrayD<f64> = array_of(&[len], 1);
                let expected = oracle::roll(&line, &[shift.into()], &[-1]).unwrap();
                roll(&line, shift, -1, &Ok(expected));
            });
        }
    }
}

/// Shifts of one axis add up beyond every integer type.
fn repeated_axes(table: &mut Table) {
    for (shifts, axes) in [
        (vec![i64::MAX, i64::MAX], vec![0, 0]),
        (vec![i64::MIN, i64::MIN], vec![-1, 1]),
        (vec![i64::MIN, i64::MAX], vec![1, -1]),
        (vec![i64::MIN, -1], vec![0, -2]),
        (vec![i64::MAX; 64], vec![1; 64]),
        (vec![i64::MIN; 65], vec![-1; 65]),
        (vec![i64::MAX], vec![0; 1000]),
        (vec![i64::MIN, 1, i64::MAX], vec![0, 1, 0]),
    ] {
        let name = format!("roll {} times, first by {}, along {}", axes.len(), shifts[0], axes[0]);
        table.case(name, || {
            let data: ArrayD<u16> = array_of(&[5, 7], 1);
            let wide: Vec<i128> = axes.iter().map(|&axis: &i64| axis.into()).collect();
            let expected = oracle::roll(&data, &shifts, &wide).unwrap();
            roll(&data, shifts, axes, &Ok(expected));
        });
    }
}

fn nothing_to_roll(table: &mut Table) {
    for shape in [&[0][..], &[0, 3], &[3, 0], &[0, 0], &[2, 0, 3]] {
        for shift in [0, 1, -1, i64::MIN, i64::MAX] {
            table.case(format!("roll {shape:?} by {shift}"), || {
                let data = ArrayD::<u32>::zeros(shape);
                roll(&data, shift, 0, &Ok(data.clone()));
                roll(&data, [shift, shift], [0, -1], &Ok(data.clone()));
            });
        }
    }
    for shape in [&[][..], &[3], &[2, 3], &[0]] {
        table.case(format!("roll {shape:?} along no axes"), || {
            let data: ArrayD<String> = array_of(shape, 1);
            let none: [i64; 0] = [];
            roll(&data, none, none, &Ok(data.clone()));
            roll(&data, i64::MIN, none, &Ok(data.clone()));
        });
    }
}

/// An `out` of any other shape, of static and of dynamic rank.
fn outs(table: &mut Table) {
    for shape in
        [&[][..], &[6], &[3, 2], &[2, 3, 1], &[1, 2, 3], &[2, 2], &[2, 4], &[0, 3], &[2, 0]]
    {
        table.case(format!("roll into {shape:?} instead of [2, 3]"), || {
            let expected = Error::OutShapeMismatch { expected: vec![2, 3], actual: shape.to_vec() };
            refused_out::<i32>(shape, &expected);
            refused_out::<String>(shape, &expected);
        });
    }
}

fn refused_out<A: Value>(shape: &[usize], expected: &Error) {
    let data: ArrayD<A> = array_of(&[2, 3], 1);
    let before: ArrayD<A> = array_of(shape, 2);
    let mut out = before.clone();
    assert_eq!(&data.roll_into(1, 0, &mut out).unwrap_err(), expected);
    assert_same(&out, &before);
    macro_rules! refused {
        ($($dim:ty)*) => {$(
            if let Ok(mut out) = before.clone().into_dimensionality::<$dim>() {
                assert_eq!(&data.roll_into(1, 0, &mut out).unwrap_err(), expected);
                assert_same(&out, &before);
            }
        )*};
    }
    refused!(Ix0 Ix1 Ix2 Ix3);
}

/// Elements that are several at once, and data that shares memory.
fn overlapping_data(table: &mut Table) {
    table.case("roll one element broadcast along both axes", || {
        let one = array![7_u8];
        let data = one.broadcast((4, 5)).unwrap();
        let expected = Array2::from_elem((4, 5), 7);
        assert_eq!(data.roll([i64::MIN, 3], [0, 1]), Ok(expected.clone()));
        let mut out = Array2::<u8>::zeros((4, 5));
        assert_eq!(data.roll_into([-1, i64::MAX], [0, 1], &mut out), Ok(()));
        assert_eq!(out, expected);
    });
    table.case("roll a row broadcast down, along both axes", || {
        let row = array![1_u8, 2, 3];
        let data = row.broadcast((2, 3)).unwrap();
        assert_eq!(data.roll([1, 1], [0, 1]), Ok(array![[3, 1, 2], [3, 1, 2]]));
    });
    table.case("roll overlapping windows", || {
        let line = array![0_i64, 1, 2, 3, 4];
        let windows = line.windows(3);
        for (k, window) in windows.into_iter().enumerate() {
            let k = k as i64;
            assert_eq!(window.roll(-1, 0), Ok(array![k + 1, k + 2, k]));
        }
    });
}
