//! Roll against the reference.

use ndarray::ArrayViewD;
use opkernels::RollExt;
use proptest::prelude::*;

use crate::cases::{axis_of, input, shape, target};
use crate::common::{Laid, Layout, Value, array_of, oracle, same_contents};

#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) data: Vec<usize>,
    pub(crate) shifts: Vec<i64>,
    pub(crate) axes: Vec<i64>,
    pub(crate) layouts: [u64; 3],
    pub(crate) seed: u64,
}

fn case() -> impl Strategy<Value = Case> {
    let shift = prop_oneof![
        8 => -9..=9_i64,
        1 => any::<i64>(),
        1 => prop::sample::select(vec![i64::MIN, i64::MAX]),
    ];
    let pairs = prop::collection::vec((shift, 0..=250_u8), 0..=4);
    (shape(), pairs, 0..=40_u8, any::<[u64; 3]>(), any::<u64>()).prop_map(
        |(data, pairs, flaw, layouts, seed)| {
            let (mut shifts, axes): (Vec<i64>, Vec<u8>) = pairs.into_iter().unzip();
            let axes = axes.into_iter().map(|axis| axis_of(axis, data.len()) as i64).collect();
            match flaw {
                0..=4 => shifts = vec![seed as i64],
                5 => shifts.push(1),
                6 => shifts.clear(),
                _ => {}
            }
            Case { data, shifts, axes, layouts, seed }
        },
    )
}

pub(crate) fn check<A: Value>(case: &Case) {
    let Case { shifts, axes, .. } = case;
    let contents = array_of::<A>(&case.data, case.seed);
    let wide: Vec<i128> = axes.iter().map(|&axis| axis.into()).collect();

    let data = input(&contents, case.layouts[0]);
    let expected = oracle::roll(&data.contents(), shifts, &wide);
    let output = data.view().roll(shifts, axes);
    let before = target::<A>(&case.data, case.layouts[1]);
    let mut out = before.clone();
    let into = data.view().roll_into(shifts, axes, &mut out.view_mut());
    match &expected {
        Ok(expected) => {
            let output = output.unwrap();
            assert!(same_contents(&output, expected), "{output:?} instead of {expected:?}");
            assert_layout(&data.view(), &output.view());
            into.unwrap();
            assert!(same_contents(&out.view(), expected), "{out:?} instead of {expected:?}");
        }
        Err(refused) => {
            for error in [output.unwrap_err(), into.unwrap_err()] {
                assert!(refused.is(&error), "{error} instead of {refused:?}");
            }
            assert!(same_contents(&out.view(), &before.view()));
        }
    }
    assert!(out.kept_its_margins(&before));
    check_inplace(case, &contents, &wide);
}

fn check_inplace<A: Value>(case: &Case, contents: &ndarray::ArrayD<A>, axes: &[i128]) {
    let before = Laid::new(contents, Layout::from_number(case.data.len(), case.layouts[2]));
    let mut turned = before.clone();
    let result = turned.view_mut().roll_inplace(&case.shifts, &case.axes);
    match oracle::roll(contents, &case.shifts, axes) {
        Ok(expected) => {
            result.unwrap();
            assert!(same_contents(&turned.view(), &expected), "{turned:?}, not {expected:?}");
        }
        Err(refused) => {
            assert!(refused.is(&result.unwrap_err()));
            assert!(same_contents(&turned.view(), contents));
        }
    }
    assert!(turned.kept_its_margins(&before));
}

/// The result lies in memory as data without gaps does, else in row-major
/// order.
fn assert_layout<A>(data: &ArrayViewD<'_, A>, output: &ArrayViewD<'_, A>) {
    if data.is_empty() {
        return;
    }
    let longer = |a: &ArrayViewD<'_, A>| -> Vec<isize> {
        let axes = a.axes().filter(|axis| axis.len > 1);
        axes.map(|axis| axis.stride).collect()
    };
    if data.as_slice_memory_order().is_none() {
        assert!(output.is_standard_layout());
    } else if longer(data).iter().all(|&stride| stride > 0) {
        assert_eq!(longer(output), longer(data));
    }
}

macro_rules! properties {
    ($($name:ident: $element:ty;)*) => {
        proptest! {
            #![proptest_config(crate::config())]
            $(
                #[test]
                fn $name(case in case()) {
                    check::<$element>(&case);
                }
            )*
        }
    };
}
properties! {
    of_u8: u8;
    of_i16: i16;
    of_i64: i64;
    of_f32: f32;
    of_f64: f64;
    of_strings: String;
    of_tuples: (u8, u16);
    of_odd_elements: [u8; 3];
}
#[cfg(feature = "half")]
properties! {
    of_f16: half::f16;
}
#[cfg(feature = "num-complex")]
properties! {
    of_complex: num_complex::Complex<f64>;
}
