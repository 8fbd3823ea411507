//! Scatter elements against the reference.

use ndarray::ArrayD;
use opkernels::{OutOfBounds, Reduction, Result, ScatterElementsExt};
use proptest::prelude::*;

use crate::cases::{axis_of, indices_of, input, shape};
use crate::common::oracle::{self, Refused, Scatter};
use crate::common::{
    Index, Laid, Layout, REDUCTIONS, Reduce, Value, array_of, same_contents, settled,
};

#[derive(Debug, Clone)]
struct Case {
    data: Vec<usize>,
    indices: Vec<usize>,
    updates: Vec<usize>,
    scatter: Scatter,
    wild: bool,
    layouts: [u64; 4],
    seed: u64,
}

/// Numbers that become a case.
type Raw = (Vec<usize>, Vec<usize>, (u8, u8, usize), Scatter, bool, [u64; 4], u64);

fn case() -> impl Strategy<Value = Case> {
    let cuts = prop::collection::vec(prop_oneof![3 => Just(0), 1 => 0..=3_usize], 6);
    let along = prop_oneof![3 => 0..=6_usize, 1 => 20..=60_usize];
    let numbers = (any::<u8>(), any::<u8>(), along);
    (shape(), cuts, numbers, scatter(), any::<bool>(), any::<[u64; 4]>(), any::<u64>())
        .prop_map(from_raw)
}

fn scatter() -> impl Strategy<Value = Scatter> {
    let reduction = prop::sample::select(REDUCTIONS.to_vec());
    let mode = prop::sample::select(vec![
        OutOfBounds::Error,
        OutOfBounds::Skip,
        OutOfBounds::Clip,
        OutOfBounds::Wrap,
    ]);
    (reduction, any::<bool>(), mode).prop_map(|(reduction, use_init_val, mode)| Scatter {
        axis: 0,
        reduction,
        use_init_val,
        mode,
    })
}

fn from_raw((data, cuts, numbers, scatter, wild, layouts, seed): Raw) -> Case {
    let (axis, flaw, along) = numbers;
    let axis = axis_of(axis, data.len());
    let mut indices: Vec<usize> =
        data.iter().zip(&cuts).map(|(len, cut)| len.saturating_sub(*cut)).collect();
    if let Some(len) = axis_len(&mut indices, axis) {
        *len = along;
    }
    while indices.iter().product::<usize>() > 20_000 {
        *axis_len(&mut indices, axis).unwrap() /= 2;
    }
    let mut updates = indices.clone();
    match flaw {
        0..=5 if !data.is_empty() => {
            let k = flaw as usize % data.len();
            indices[k] = data[k] + 1;
            updates[k] = indices[k];
        }
        6..=9 if !data.is_empty() => updates[flaw as usize % data.len()] += 1,
        10..=12 => indices.push(1),
        13..=15 => {
            indices.push(1);
            updates.push(1);
        }
        _ => {}
    }
    Case { data, indices, updates, scatter: Scatter { axis, ..scatter }, wild, layouts, seed }
}

/// The length at an axis that may not be there.
fn axis_len(shape: &mut [usize], axis: i128) -> Option<&mut usize> {
    let from_front = if axis < 0 { axis + shape.len() as i128 } else { axis };
    usize::try_from(from_front).ok().and_then(|axis| shape.get_mut(axis))
}

/// The arrays of a case.
struct Arrays<A, I> {
    data: Laid<A>,
    indices: Laid<I>,
    updates: Laid<A>,
    wide: ArrayD<i128>,
}

impl<A: Value, I: Index> Arrays<A, I> {
    fn new(case: &Case) -> Self {
        let Case { seed, layouts, .. } = *case;
        let len = axis_len(&mut case.data.clone(), case.scatter.axis).map_or(1, |len| *len);
        let errors = matches!(case.scatter.mode, OutOfBounds::Error);
        let wild = case.wild && (!errors || seed.is_multiple_of(2));
        let indices = input(&indices_of::<I>(&case.indices, len, wild, seed ^ 1), layouts[1]);
        Arrays {
            data: input(&array_of(&case.data, seed), layouts[0]),
            updates: input(&array_of(&case.updates, seed ^ 2), layouts[2]),
            wide: I::to_wide(&indices.view()),
            indices,
        }
    }
}

type Expected<A> = std::result::Result<ArrayD<A>, Refused>;

/// A returned array is what the reference says.
fn assert_returned<A: Value>(
    output: Result<ArrayD<A>>,
    expected: &Expected<A>,
    reduction: Reduction,
) {
    match expected {
        Ok(expected) => {
            let output = settled(reduction, &output.unwrap());
            let expected = settled(reduction, expected);
            assert!(same_contents(&output, &expected), "{output:?} instead of {expected:?}");
            assert!(output.is_standard_layout());
        }
        Err(refused) => {
            let error = output.unwrap_err();
            assert!(refused.is(&error), "{error} instead of {refused:?}");
        }
    }
}

/// An array written in place is what the reference says, or what it was.
fn assert_in_place<A: Value>(
    result: Result<()>,
    (before, target): (&Laid<A>, &Laid<A>),
    expected: &Expected<A>,
    reduction: Reduction,
) {
    assert!(target.kept_its_margins(before));
    match expected {
        Ok(expected) => {
            result.unwrap();
            let target = settled(reduction, &target.contents());
            let expected = settled(reduction, expected);
            assert!(same_contents(&target, &expected), "{target:?} instead of {expected:?}");
        }
        Err(refused) => {
            let error = result.unwrap_err();
            assert!(refused.is(&error), "{error} instead of {refused:?}");
            assert!(same_contents(&target.view(), &before.view()));
        }
    }
}

fn overwrites<A: Value, I: Index>(case: &Case) {
    let case = Case { wild: case.wild && case.seed.is_multiple_of(4), ..case.clone() };
    let Arrays { data, indices, updates, wide } = Arrays::<A, I>::new(&case);
    let (axis, contents) = (case.scatter.axis, data.contents());
    let expected = oracle::overwrite(&contents, &wide, &updates.contents(), axis);
    let output = data.view().scatter_elements(&indices.view(), &updates.view(), axis as i64);
    assert_returned(output, &expected, Reduction::None);
    let before = Laid::new(&contents, Layout::from_number(contents.ndim(), case.layouts[3]));
    let mut target = before.clone();
    let result =
        target.view_mut().scatter_elements_inplace(&indices.view(), &updates.view(), axis as i64);
    assert_in_place(result, (&before, &target), &expected, Reduction::None);
}

fn reduces<A: Reduce, I: Index>(case: &Case) {
    let Arrays { data, indices, updates, wide } = Arrays::<A, I>::new(case);
    let (scatter, contents) = (&case.scatter, data.contents());
    let expected = oracle::reduce(&contents, &wide, &updates.contents(), scatter);
    let (i, u, attributes) = (indices.view(), updates.view(), scatter.attributes());
    let output = data.view().scatter_elements_with(&i, &u, attributes);
    assert_returned(output, &expected, scatter.reduction);
    let before = Laid::new(&contents, Layout::from_number(contents.ndim(), case.layouts[3]));
    let mut target = before.clone();
    let result = target.view_mut().scatter_elements_inplace(&i, &u, attributes);
    assert_in_place(result, (&before, &target), &expected, scatter.reduction);
}

macro_rules! properties {
    ($check:ident: $($name:ident: $element:ty, $index:ty;)*) => {
        proptest! {
            #![proptest_config(crate::config())]
            $(
                #[test]
                fn $name(case in case()) {
                    $check::<$element, $index>(&case);
                }
            )*
        }
    };
}
properties! {
    overwrites:
    strings_by_u32: String, u32;
    tuples_by_isize: (u8, u16), isize;
}
properties! {
    reduces:
    u8_by_i8: u8, i8;
    u8_by_u64: u8, u64;
    i16_by_i16: i16, i16;
    i64_by_i64: i64, i64;
    f32_by_i32: f32, i32;
    f32_by_u8: f32, u8;
    f64_by_u16: f64, u16;
    i128_by_usize: i128, usize;
    bool_by_i64: bool, i64;
}
#[cfg(feature = "half")]
properties! {
    reduces:
    f16_by_usize: half::f16, usize;
    bf16_by_i32: half::bf16, i32;
}
#[cfg(feature = "num-complex")]
properties! {
    reduces:
    complex_by_i64: num_complex::Complex<f32>, i64;
}
