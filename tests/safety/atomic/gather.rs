//! Gathers into an array.

use ndarray::{Array2, s};
use opkernels::{Error, Gather, GatherExt, OutOfBounds};
use proptest::prelude::*;

use super::{Case, around_the_grain, assert_all_or_nothing, case, one_case_in, other, small};
use crate::common::{Index, Numbers, Value, array_of, oracle};

/// Rows of a matrix by a line of indices, columns by a line, or in batches.
fn check<A: Value, I: Index>(case: &Case) {
    let mut numbers = Numbers(case.seed);
    let [rows, length] = case.size.rows(size_of::<A>(), &mut numbers);
    let len = 1 + numbers.below(60);
    let (data, indices, axis, batch_dims) = match numbers.below(3) {
        0 => ([len, length], vec![rows], 0, 0),
        1 => ([rows, len], vec![length], 1, 0),
        _ => ([rows, len], vec![rows, length], 1, 1),
    };
    let data = case.laid::<A>(&array_of(&data, case.seed), 0);
    let indices = case.indices::<I>(&indices, len, case.seed);
    let indices = case.laid(&indices, 1);
    let mode = match numbers.below(8) {
        0 => OutOfBounds::Fill(A::from_number(case.seed)),
        1 => OutOfBounds::Clip,
        2 => OutOfBounds::Wrap,
        _ => OutOfBounds::Error,
    };
    let wide = I::to_wide(&indices.view());
    let expected = oracle::gather(&data.contents(), &wide, axis.into(), batch_dims.into(), &mode);
    let before = case.laid(&other::<A>(&[rows, length]), 2);
    let mut target = before.clone();
    let attributes = Gather::along(axis).batch_dims(batch_dims).out_of_bounds(mode);
    let done = data.view().gather_into(&indices.view(), attributes, &mut target.view_mut());
    assert_all_or_nothing(done, &target, &before, &expected);
}

macro_rules! properties {
    ($($index:ident: $element:ty, $page:ty;)*) => {
        /// A few elements.
        mod small_ones {
            use super::*;
            proptest! {
                #![proptest_config(one_case_in(2))]
                $(
                    #[test]
                    fn $index(case in case(small())) {
                        check::<$element, $index>(&case);
                    }
                )*
            }
        }

        /// Elements as long as pages, so that few are worth several threads.
        #[cfg(not(miri))]
        mod around_the_grain_of_threads {
            use super::*;
            proptest! {
                #![proptest_config(one_case_in(64))]
                $(
                    #[test]
                    fn $index(case in case(around_the_grain())) {
                        check::<$page, $index>(&case);
                    }
                )*
            }
        }
    };
}
properties! {
    i8: f32, [u64; 512];
    i16: String, [u32; 128];
    i32: u8, [u64; 256];
    i64: f64, [u128; 64];
    isize: u16, [i64; 256];
    u8: [u8; 3], [u64; 512];
    u16: (u8, u16), [u64; 128];
    u32: String, [u64; 511];
    u64: i64, [u64; 300];
    usize: bool, [f64; 500];
}

/// So many indices that checking them is worth several threads.
#[cfg(not(miri))]
#[test]
fn many_indices() {
    proptest!(one_case_in(128), |(case in case(around_the_grain()))| {
        let many = |size: usize| case.size.rows(size, &mut Numbers(case.seed))[1];
        let mut numbers = Numbers(case.seed);
        let data = array_of::<u16>(&[100], case.seed);
        let indices = case.indices::<u64>(&[many(8).min(1 << 19)], 100, numbers.next());
        let wide = u64::to_wide(&indices);
        let expected = oracle::gather(&data, &wide, 0, 0, &OutOfBounds::Error);
        let before = case.laid(&other::<u16>(indices.shape()), 2);
        let mut target = before.clone();
        let done = data.gather_into(&indices, Gather::along(0), &mut target.view_mut());
        assert_all_or_nothing(done, &target, &before, &expected);
    });
}

/// Indices that lie in several runs, in the order of memory or in tiles: each
/// run of them alone makes a chunk that is resolved at once.
#[test]
fn runs_of_indices() {
    for (rows, run) in [(2, 257), (2, 500), (3, 300), (3, 341), (5, 200), (2, 1024)] {
        let data = array_of::<i32>(&[50], 1);
        let mut indices = Array2::<i64>::ones((rows, run + 7));
        indices[[rows - 1, run - 1]] = 50;
        let indices = indices.slice(s![.., ..run]);
        let mut out = Array2::<i32>::from_elem((rows, run), -7);
        let refused = data.gather_into(&indices, Gather::along(0), &mut out);
        assert!(matches!(refused, Err(Error::IndexOutOfBounds { index: 50, .. })));
        assert!(out.iter().all(|&element| element == -7), "{rows} runs of {run}");
    }
}

/// Batches that follow each other in the data's memory, but not in that of the
/// output, are cut in tiles of which a few are left over.
#[test]
fn batches_in_tiles() {
    for batches in [17, 20, 23] {
        let data = array_of::<f64>(&[30, batches], 1).reversed_axes();
        let mut indices = Array2::<i32>::ones((batches, 40));
        indices[[batches - 1, 39]] = 30;
        let mut out = Array2::<f64>::from_elem((batches, 40), -7.0);
        let attributes = Gather::along(1).batch_dims(1);
        let refused = data.gather_into(&indices, attributes, &mut out);
        assert!(matches!(refused, Err(Error::IndexOutOfBounds { index: 30, .. })));
        assert!(out.iter().all(|&element| element == -7.0), "{batches} batches");
    }
}
