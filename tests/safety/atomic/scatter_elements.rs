//! Scatters in place.

use ndarray::{Array1, Array2, Array3, ArrayD, s};
use opkernels::{Error, OutOfBounds, ScatterElementsExt, ScatterExt, ScatterNd, ScatterNdExt};
use proptest::prelude::*;

use super::{Case, around_the_grain, assert_all_or_nothing, case, one_case_in, small};
use crate::common::{Index, Laid, Numbers, REDUCTIONS, Reduce, Value, array_of, oracle, settled};

/// Data, indices and updates of a scatter.
struct Arrays<A, I> {
    data: Laid<A>,
    indices: Laid<I>,
    updates: Laid<A>,
    axis: i64,
}

impl<A: Value, I: Index> Arrays<A, I> {
    fn new(case: &Case, numbers: &mut Numbers) -> Self {
        let [rows, length] = case.size.rows(size_of::<A>(), numbers);
        let len = 1 + numbers.below(60);
        let axis = numbers.below(2);
        let mut data = [rows, length];
        data[axis] = len;
        let indices = case.indices::<I>(&[rows, length], len, case.seed);
        Arrays {
            data: case.laid(&array_of(&data, case.seed), 0),
            indices: case.laid(&repeated(indices, axis, numbers), 1),
            updates: case.laid(&array_of(&[rows, length], numbers.next()), 2),
            axis: axis as i64,
        }
    }
}

/// Now and then each row has one index throughout, which goes its own way.
pub(super) fn repeated<I: Index>(
    mut indices: ArrayD<I>,
    axis: usize,
    numbers: &mut Numbers,
) -> ArrayD<I> {
    if axis == 0 && numbers.once_in(2) {
        for mut row in indices.rows_mut() {
            let last = row[row.len() - 1];
            row.fill(last);
        }
    }
    indices
}

fn check_overwrite<A: Value, I: Index>(case: &Case) {
    let arrays = Arrays::<A, I>::new(case, &mut Numbers(case.seed));
    let Arrays { data, indices, updates, axis } = &arrays;
    let wide = I::to_wide(&indices.view());
    let expected = oracle::overwrite(&data.contents(), &wide, &updates.contents(), (*axis).into());
    let mut target = data.clone();
    let done = target.view_mut().scatter_elements_inplace(&indices.view(), &updates.view(), *axis);
    assert_all_or_nothing(done, &target, data, &expected);
}

fn check_reduce<A: Reduce, I: Index>(case: &Case) {
    let mut numbers = Numbers(case.seed);
    let arrays = Arrays::<A, I>::new(case, &mut numbers);
    let Arrays { data, indices, updates, axis } = &arrays;
    let reduction = REDUCTIONS[numbers.below(REDUCTIONS.len())];
    let mode = match numbers.below(8) {
        0 => OutOfBounds::Skip,
        1 => OutOfBounds::Clip,
        2 => OutOfBounds::Wrap,
        _ => OutOfBounds::Error,
    };
    let use_init_val = numbers.once_in(2);
    let axis = (*axis).into();
    let scatter = oracle::Scatter { axis, reduction, use_init_val, mode };
    let wide = I::to_wide(&indices.view());
    let expected = oracle::reduce(&data.contents(), &wide, &updates.contents(), &scatter);
    let mut target = data.clone();
    let done = target.view_mut().scatter_elements_inplace(
        &indices.view(),
        &updates.view(),
        scatter.attributes(),
    );
    match (&done, &expected) {
        // Arithmetic may choose between NaNs.
        (Ok(()), Ok(expected)) => {
            let settle = |array: &ArrayD<A>| settled(reduction, array);
            crate::common::assert_same(&settle(&target.contents()), &settle(expected));
            assert!(target.kept_its_margins(data), "written beside the target");
        }
        _ => assert_all_or_nothing(done, &target, data, &expected),
    }
}

macro_rules! properties {
    ($($index:ident: $element:ty, $number:ty, $page:ty;)*) => {
        /// A few elements.
        mod small_ones {
            use super::*;
            proptest! {
                #![proptest_config(one_case_in(2))]
                $(
                    #[test]
                    fn $index(case in case(small())) {
                        check_overwrite::<$element, $index>(&case);
                        check_reduce::<$number, $index>(&case);
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
                        check_overwrite::<$page, $index>(&case);
                    }
                )*
            }
        }
    };
}
properties! {
    i8: String, f32, [u64; 512];
    i16: f32, i8, [u32; 128];
    i32: [u8; 3], u8, [u64; 256];
    i64: f64, i64, [u128; 64];
    isize: u16, f64, [i64; 256];
    u8: (u8, u16), u64, [u64; 512];
    u16: String, i32, [u64; 128];
    u32: u8, f64, [u64; 511];
    u64: i64, i128, [u64; 300];
    usize: bool, bool, [f64; 500];
}

/// Numbers as many as scatters need for several threads.
#[cfg(not(miri))]
mod many_numbers {
    use super::super::Size;
    use super::*;

    /// Around 1024 updates, from which on a small target is copied, and 512 KiB
    /// of them.
    fn sizes() -> impl Strategy<Value = Size> {
        let bytes = prop_oneof![Just(8 << 10), Just(16 << 10), Just(1 << 19)];
        (bytes, -2..=2_isize).prop_map(|(bytes, elements)| Size::Around { bytes, elements })
    }

    proptest! {
        #![proptest_config(one_case_in(32))]

        #[test]
        fn wide(case in case(sizes())) {
            check_reduce::<f64, i64>(&case);
        }

        #[test]
        fn wider(case in case(sizes())) {
            check_reduce::<i128, i32>(&case);
        }
    }
}

/// Indices of slices that lie in several runs: each run alone makes a chunk that
/// is resolved at once.
#[test]
fn runs_of_indices() {
    for (rows, run) in [(2, 257), (2, 500), (3, 300), (3, 341), (5, 200), (2, 1024)] {
        let mut indices = Array3::<i64>::ones((rows, run + 7, 1));
        indices[[rows - 1, run - 1, 0]] = 50;
        let indices = indices.slice(s![.., ..run, ..]);
        let updates = Array2::<i32>::ones((rows, run));
        let mut target = Array1::<i32>::from_elem(50, -7);
        let refused = target.scatter_nd_inplace(&indices, &updates, ScatterNd::new());
        assert!(matches!(refused, Err(Error::IndexOutOfBounds { index: 50, .. })));
        assert!(target.iter().all(|&element| element == -7), "{rows} runs of {run}");
        let refused = target.scatter_inplace(&indices.slice(s![.., .., 0]), &updates, 0);
        assert!(matches!(refused, Err(Error::IndexOutOfBounds { index: 50, .. })));
        assert!(target.iter().all(|&element| element == -7), "{rows} runs of {run}");
    }
}
