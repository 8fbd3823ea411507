//! Indices of every type at the ends of the axis and of the type.

use ends::Ends;
use ndarray::{Array1, Array2, ArrayD, Axis};
use opkernels::{Gather, OutOfBounds, Reduction, ScatterElements};

use super::Table;
use super::forms::{gather, gather_with, outside, scatter, scatter_with};
use crate::common::{Index, array_of};

/// The smallest and the largest value of each index type.
mod ends {
    pub(super) trait Ends {
        const NAME: &'static str;
        const MIN: i128;
        const MAX: i128;
    }
    macro_rules! ends {
        ($($int:ident)*) => {$(
            impl Ends for $int {
                const NAME: &'static str = stringify!($int);
                const MIN: i128 = $int::MIN as i128;
                const MAX: i128 = $int::MAX as i128;
            }
        )*};
    }
    ends!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);
}

pub(super) fn cases(table: &mut Table) {
    macro_rules! each {
        ($($int:ident)*) => {$(
            around_the_axis::<$int>(table);
        )*};
    }
    each!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);
    at_the_ends_of_the_type::<i8>(table, &[127, 128, 129]);
    at_the_ends_of_the_type::<u8>(table, &[128, 255, 256, 257]);
    if !cfg!(miri) {
        at_the_ends_of_the_type::<i16>(table, &[32_767, 32_768, 32_769]);
        at_the_ends_of_the_type::<u16>(table, &[32_768, 65_535, 65_536, 65_537]);
    }
}

/// The values of a type on both sides of both ends of an axis, and its own
/// ends, none twice.
fn extremes<I: Ends>(len: usize) -> Vec<i128> {
    let n = len as i128;
    let mut values = vec![I::MIN, -n - 1, -n, -1, 0, n - 1, n, I::MAX];
    values.retain(|value| (I::MIN..=I::MAX).contains(value));
    values.sort_unstable();
    values.dedup();
    values
}

fn around_the_axis<I: Index + Ends>(table: &mut Table) {
    for index in extremes::<I>(3) {
        table.case(format!("gather {} {index} of 3", I::NAME), || gathered::<I>(index, 3));
        table.case(format!("scatter {} {index} of 3", I::NAME), || scattered::<I>(index, 3));
        if !(-3..3).contains(&index) {
            for mode in ["fill", "clip", "wrap"] {
                let name = format!("gather {} {index} of 3, {mode}", I::NAME);
                table.case(name, || gathered_by_mode::<I>(index, mode));
            }
            for mode in ["skip", "clip", "wrap"] {
                let name = format!("scatter {} {index} of 3, {mode}", I::NAME);
                table.case(name, || scattered_by_mode::<I>(index, mode));
            }
        }
    }
}

fn at_the_ends_of_the_type<I: Index + Ends>(table: &mut Table, lengths: &[usize]) {
    for &len in lengths {
        for index in [I::MIN, I::MAX] {
            table.case(format!("gather {} {index} of {len}", I::NAME), || {
                gathered::<I>(index, len);
            });
            table.case(format!("scatter {} {index} of {len}", I::NAME), || {
                scattered::<I>(index, len);
            });
        }
    }
}

fn typed<I: Index>(indices: &Array2<i128>) -> ArrayD<I> {
    I::from_wide(&indices.clone().into_dyn())
}

/// The position that an index means, if it is within the axis.
fn position(index: i128, len: usize) -> Option<usize> {
    let n = len as i128;
    let from_front = if index < 0 { index + n } else { index };
    (-n..n).contains(&index).then_some(from_front as usize)
}

/// One index among zeros, in the last row of the indices.
fn gathered<I: Index + Ends>(index: i128, len: usize) {
    let data: ArrayD<f32> = array_of(&[2, len], 1);
    let indices = Array2::from_shape_vec((2, 2), vec![0, 0, index, 0]).unwrap();
    let expected = match position(index, len) {
        Some(position) => {
            let row = data.select(Axis(1), &[0, 0, position, 0]);
            Ok(row.to_shape(vec![2, 2, 2]).unwrap().into_owned())
        }
        None => outside(index, &[1, 0], 1, len),
    };
    gather(&data.view(), &typed::<I>(&indices).view(), -1, &[2, 2, 2], &expected);
}

fn gathered_by_mode<I: Index + Ends>(index: i128, mode: &str) {
    let data: ArrayD<f32> = array_of(&[2, 3], 1);
    let fill = f32::from_bits(0x7fc0_1234);
    let indices = Array2::from_shape_vec((2, 1), vec![2, index]).unwrap();
    let (mode, place) = match mode {
        "fill" => (OutOfBounds::Fill(fill), None),
        "clip" => (OutOfBounds::Clip, Some(index.clamp(0, 2))),
        _ => (OutOfBounds::Wrap, Some(index.rem_euclid(3))),
    };
    let mut expected = data.select(Axis(1), &[2, place.unwrap_or(0) as usize]);
    if place.is_none() {
        expected.index_axis_mut(Axis(1), 1).fill(fill);
    }
    let expected = expected.to_shape(vec![2, 2, 1]).unwrap().into_owned();
    let attributes = Gather::along(1).out_of_bounds(mode);
    let indices = typed::<I>(&indices);
    gather_with(&data.view(), &indices.view(), &attributes, &[2, 2, 1], &Ok(expected));
}

/// One index after another that is within the axis.
fn scattered<I: Index + Ends>(index: i128, len: usize) {
    let data: ArrayD<i64> = array_of(&[2, len], 1);
    let indices = Array2::from_shape_vec((2, 2), vec![0, 0, 0, index]).unwrap();
    let updates: ArrayD<i64> = array_of(&[2, 2], 2);
    let mut expected = data.clone();
    expected[[0, 0]] = updates[[0, 1]];
    expected[[1, 0]] = updates[[1, 0]];
    let expected = match position(index, len) {
        Some(position) => {
            expected[[1, position]] = updates[[1, 1]];
            Ok(expected)
        }
        None => outside(index, &[1, 1], 1, len),
    };
    let indices = typed::<I>(&indices);
    scatter(&data, &indices.view(), &updates.view(), Axis(1), &expected);
    if expected.is_err() {
        for reduction in [Reduction::Sum, Reduction::Min, Reduction::Mean] {
            let attributes = ScatterElements::along(1).reduction(reduction).use_init_val(false);
            scatter_with(&data, &indices.view(), &updates.view(), attributes, &expected);
        }
    }
}

fn scattered_by_mode<I: Index + Ends>(index: i128, mode: &str) {
    let data: ArrayD<i64> = array_of(&[3], 1);
    let indices = I::from_wide(&Array1::from(vec![2, index]).into_dyn());
    let updates: ArrayD<i64> = array_of(&[2], 2);
    let (mode, place) = match mode {
        "skip" => (OutOfBounds::Skip, None),
        "clip" => (OutOfBounds::Clip, Some(index.clamp(0, 2))),
        _ => (OutOfBounds::Wrap, Some(index.rem_euclid(3))),
    };
    let attributes = ScatterElements::along(0).out_of_bounds(mode);
    let mut expected = data.clone();
    expected[2] = updates[0];
    if let Some(place) = place {
        expected[place as usize] = updates[1];
    }
    scatter_with(&data, &indices.view(), &updates.view(), attributes, &Ok(expected));
    let mut sums = data.clone();
    sums[2] = sums[2].wrapping_add(updates[0]);
    if let Some(place) = place {
        let sum = &mut sums[place as usize];
        *sum = sum.wrapping_add(updates[1]);
    }
    let attributes = attributes.reduction(Reduction::Sum);
    scatter_with(&data, &indices.view(), &updates.view(), attributes, &Ok(sums));
}
