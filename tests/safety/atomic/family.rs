//! Gathers into an array, scatters and folds in place, of every kind of index.

use ndarray::{Array1, Array2, ArrayD};
use opkernels::{Error, GatherNd, GatherNdExt, IndexInteger, OutOfBounds, ScatterNd, ScatterNdExt};
use proptest::prelude::*;

use super::scatter_elements::repeated;
use super::{Case, around_the_grain, assert_all_or_nothing, case, one_case_in, other, small};
use crate::common::oracle::{self, Kind};
use crate::common::{Index, Laid, Numbers, Value, array_of, calls};

/// Data, indices, and the shape of what is gathered or scattered.
struct Arrays<A, I> {
    kind: Kind,
    data: Laid<A>,
    indices: Laid<I>,
    shape: [usize; 2],
}

impl<A: Value, I: Index> Arrays<A, I> {
    fn new(case: &Case, numbers: &mut Numbers) -> Self {
        let [rows, length] = case.size.rows(size_of::<A>(), numbers);
        let len = 1 + numbers.below(60);
        let (kind, data, indices) = match numbers.below(6) {
            0 => (Kind::Slices { axis: 0, batch_dims: 0 }, [len, length], vec![rows]),
            1 => (Kind::Slices { axis: 1, batch_dims: 0 }, [rows, len], vec![length]),
            2 => (Kind::Elements { axis: 0 }, [len, length], vec![rows, length]),
            3 => (Kind::Elements { axis: 1 }, [rows, len], vec![rows, length]),
            4 => (Kind::Tuples { batch_dims: 0 }, [len, length], vec![rows, 1]),
            _ => (Kind::Tuples { batch_dims: 0 }, [len, len], vec![rows, length, 2]),
        };
        let indices = case.indices::<I>(&indices, len, case.seed);
        let indices = match kind {
            Kind::Elements { axis: 0 } => repeated(indices, 0, numbers),
            _ => indices,
        };
        Arrays {
            kind,
            data: case.laid(&array_of(&data, case.seed), 0),
            indices: case.laid(&indices, 1),
            shape: [rows, length],
        }
    }
}

fn mode<V>(numbers: &mut Numbers) -> OutOfBounds<V> {
    match numbers.below(8) {
        0 => OutOfBounds::Clip,
        1 => OutOfBounds::Wrap,
        _ => OutOfBounds::Error,
    }
}

fn check<A: Value, I: Index>(case: &Case) {
    let mut numbers = Numbers(case.seed);
    let arrays = Arrays::<A, I>::new(case, &mut numbers);
    let Arrays { kind, data, indices, shape } = &arrays;
    let (kind, wide) = (*kind, I::to_wide(&indices.view()));
    let of_gather = mode(&mut numbers);
    let expected = oracle::read(kind, &data.contents(), &wide, &of_gather);
    let before = case.laid(&other::<A>(shape), 2);
    let mut target = before.clone();
    let (from, places) = (data.view(), indices.view());
    let done = calls::read_into(kind, &from, &places, of_gather, &mut target.view_mut());
    assert_all_or_nothing(done, &target, &before, &expected);

    let of_scatter = mode(&mut numbers);
    let updates: ArrayD<A> = array_of(shape, numbers.next());
    let expected = oracle::overwrite_of(kind, &data.contents(), &wide, &updates, &of_scatter);
    let mut target = data.clone();
    let (places, values) = (indices.view(), updates.view());
    let done = calls::overwrite(kind, &mut target.view_mut(), &places, &values, of_scatter);
    assert_all_or_nothing(done, &target, data, &expected);
    let mut target = data.clone();
    let last = |old: &mut A, new: &A| old.clone_from(new);
    let done = calls::fold(kind, &mut target.view_mut(), &places, &values, of_scatter, last);
    assert_all_or_nothing(done, &target, data, &expected);
}

proptest! {
    #![proptest_config(one_case_in(1))]

    #[test]
    fn small_floats(case in case(small())) {
        check::<f32, i64>(&case);
    }

    #[test]
    fn small_strings(case in case(small())) {
        check::<String, u8>(&case);
    }
}

// Elements as long as pages, so that few are worth several threads.
#[cfg(not(miri))]
proptest! {
    #![proptest_config(one_case_in(16))]

    #[test]
    fn pages_around_the_grain_of_threads(case in case(around_the_grain())) {
        check::<[u64; 512], i64>(&case);
    }

    #[test]
    fn odd_pages_around_the_grain_of_threads(case in case(around_the_grain())) {
        check::<[u64; 300], i32>(&case);
    }
}

/// Tuples of which some number other than the first is out of bounds, after more than are resolved
/// at once: by integers and of lengths of which several are compared together, and of others.
#[test]
fn later_numbers_of_tuples() {
    fn check<I: IndexInteger + Default + From<u8>>(numbers: usize) {
        const COUNT: usize = 1500;
        for bad in 1..numbers {
            let mut indices = Array2::from_elem((COUNT, numbers), I::default());
            indices[(COUNT - 1, bad)] = 9.into();
            let before = ArrayD::<f32>::zeros(vec![9; numbers]);
            let updates = Array1::<f32>::ones(COUNT);
            let error = Error::IndexOutOfBounds {
                index: 9,
                position: vec![COUNT - 1, bad],
                axis: bad,
                len: 9,
            };
            for how in [ScatterNd::new(), ScatterNd::sum()] {
                let mut target = before.clone();
                assert_eq!(target.scatter_nd_inplace(&indices, &updates, how), Err(error.clone()));
                assert_eq!(target, before);
            }
            let mut out = updates.clone();
            let gathered = before.gather_nd_into(&indices, GatherNd::new(), &mut out);
            assert_eq!(gathered, Err(error));
            assert_eq!(out, updates);
        }
    }
    for numbers in 2..=4 {
        check::<u8>(numbers);
        check::<i32>(numbers);
        check::<i64>(numbers);
    }
}
