//! Rows that are not contiguous, in transposed and in strided arrays, used several times each, so that
//! calls may work in a copy: against the formula.

#[cfg(feature = "half")]
use half::bf16;
use ndarray::ArrayD;
#[cfg(feature = "num-complex")]
use num_complex::Complex;
use opkernels::{Error, OutOfBounds, Reduction};

use crate::common::oracle::{self, Kind, Reducing};
use crate::common::{
    Index, Laid, Layout, Numbers, Reduce, Value, array_of, assert_same, calls, settled,
};

/// Kinds of index, the shape of the array that they select in, and that of the indices.
fn cases() -> [(Kind, &'static [usize], &'static [usize]); 18] {
    let along = |axis| Kind::Slices { axis, batch_dims: 0 };
    let pairs = Kind::Tuples { batch_dims: 0 };
    [
        (along(0), &[30, 17], &[300]),
        (along(0), &[30, 17], &[8, 30]),
        (along(1), &[9, 20, 16], &[180]),
        (along(0), &[3, 40], &[40]),
        // Transposed, few elements of each of the innermost rows.
        (along(0), &[3, 2, 1100], &[4]),
        // Transposed, the updates of each of many pairs of rows are contiguous.
        (along(2), &[2, 700, 1], &[3]),
        (along(2), &[2, 700, 2], &[2]),
        // Transposed, the updates of each entry are contiguous along the outer loop, of few entries and
        // of more; short rows are contiguous in the updates.
        (along(1), &[2, 2, 700], &[8]),
        (along(1), &[3, 3, 150], &[20]),
        (along(1), &[150, 3, 3], &[30]),
        // Transposed, two to four rows that are interleaved in the list.
        (along(2), &[75, 2, 3], &[1]),
        (along(2), &[83, 3, 3], &[2]),
        (along(2), &[75, 4, 3], &[1]),
        // Transposed, few entries of short rows in several iterations, and lanes inside a list.
        (along(1), &[20, 9, 6, 2], &[5]),
        (along(1), &[2, 80, 3], &[70]),
        // Transposed, short rows beside each other.
        (along(3), &[4, 5, 3, 90], &[31]),
        (pairs, &[5, 6, 33], &[280, 2]),
        (Kind::Elements { axis: 0 }, &[6, 50], &[60, 50]),
    ]
}

/// The length of the axis that a number of an index is for.
fn axis_of(kind: Kind, shape: &[usize], number: usize) -> usize {
    match kind {
        Kind::Slices { axis, .. } | Kind::Elements { axis } => shape[axis as usize],
        Kind::Tuples { .. } => shape[number % 2],
    }
}

fn indices_of(kind: Kind, shape: &[usize], indices: &[usize]) -> ArrayD<i64> {
    let (mut numbers, mut number) = (Numbers(5), 0);
    let wide = ArrayD::from_shape_simple_fn(indices, || {
        let len = axis_of(kind, shape, number);
        number += 1;
        numbers.below(2 * len) as i128 - len as i128
    });
    Index::from_wide(&wide)
}

/// Layouts in which rows lie apart.
fn layouts(rank: usize) -> [Layout; 4] {
    let backward = Layout { steps: vec![-1; rank], ..Layout::transposed(rank) };
    [Layout::transposed(rank), backward, Layout::stepped(rank), Layout::mixed(rank)]
}

fn gathered<A: Value>() {
    for (kind, shape, indices) in cases() {
        let contents: ArrayD<A> = array_of(shape, 1);
        let indices = indices_of(kind, shape, indices);
        let mode = OutOfBounds::Error;
        let expected = oracle::read(kind, &contents, &Index::to_wide(&indices), &mode).unwrap();
        for layout in layouts(shape.len()) {
            let data = Laid::new(&contents, layout.clone());
            let output = calls::read(kind, &data.view(), &indices, OutOfBounds::Error);
            assert_same(&output.unwrap(), &expected);
            let in_memory = [Layout::standard(expected.ndim()), Layout::stepped(expected.ndim())];
            for layout in in_memory {
                let before = Laid::new(&array_of::<A>(expected.shape(), 4), layout);
                let mut out = before.clone();
                let mode = OutOfBounds::Error;
                let view = &mut out.view_mut();
                calls::read_into(kind, &data.view(), &indices, mode, view).unwrap();
                assert_same(&out.contents(), &expected);
                assert!(out.kept_its_margins(&before));
            }
        }
    }
}

#[test]
fn gathers() {
    gathered::<u8>();
    #[cfg(feature = "half")]
    gathered::<bf16>();
    gathered::<f32>();
    #[cfg(feature = "num-complex")]
    gathered::<Complex<f64>>();
    gathered::<String>();
}

fn scattered<A: Reduce>() {
    for (kind, shape, indices) in cases() {
        let contents: ArrayD<A> = array_of(shape, 1);
        let indices = indices_of(kind, shape, indices);
        let wide = Index::to_wide(&indices);
        let listed = oracle::updates_shape(kind, shape, wide.shape()).unwrap();
        let updates: ArrayD<A> = array_of(&listed, 3);
        let before = layouts(shape.len()).map(|layout| Laid::new(&contents, layout));
        for (reduction, use_init_val) in [
            (Reduction::None, true),
            (Reduction::Sum, true),
            (Reduction::Sum, false),
            (Reduction::Max, false),
            (Reduction::Mean, true),
            (Reduction::Mean, false),
        ] {
            let how = Reducing { reduction, use_init_val, mode: OutOfBounds::Error };
            let expected = oracle::reduce_of(kind, &contents, &wide, &updates, &how);
            let Ok(expected) = expected else { continue };
            let wanted = settled(reduction, &expected);
            for before in &before {
                let mut target = before.clone();
                let view = &mut target.view_mut();
                calls::reduce(kind, view, &indices, &updates.view(), &how).unwrap();
                assert_same(&settled(reduction, &target.contents()), &wanted);
                assert!(target.kept_its_margins(before));
            }
        }
    }
}

#[test]
fn scatters() {
    scattered::<u8>();
    #[cfg(feature = "half")]
    scattered::<bf16>();
    scattered::<f32>();
    #[cfg(feature = "num-complex")]
    scattered::<Complex<f64>>();
}

/// An index out of bounds leaves targets and outputs as they were, and is named.
#[test]
fn an_index_out_of_bounds() {
    for (kind, shape, indices) in cases() {
        let contents: ArrayD<f32> = array_of(shape, 1);
        let valid = indices_of(kind, shape, indices);
        let wide = Index::to_wide(&valid);
        let listed = oracle::updates_shape(kind, shape, wide.shape()).unwrap();
        let updates: ArrayD<f32> = array_of(&listed, 3);
        for at in [0, valid.len() / 2, valid.len() - 1] {
            let len = axis_of(kind, shape, at);
            let mut indices = valid.clone();
            *indices.iter_mut().nth(at).unwrap() = len as i64;
            let is_named = |result| match result {
                Err(Error::IndexOutOfBounds { index, .. }) => index == len as i128,
                _ => false,
            };
            for layout in layouts(shape.len()) {
                let before = Laid::new(&contents, layout);
                let mut target = before.clone();
                for reduction in [Reduction::None, Reduction::Sum, Reduction::Mean] {
                    let mode = OutOfBounds::Error;
                    let how = Reducing { reduction, use_init_val: true, mode };
                    let view = &mut target.view_mut();
                    assert!(is_named(calls::reduce(kind, view, &indices, &updates.view(), &how)));
                }
                assert_same(&target.contents(), &contents);
                assert!(target.kept_its_margins(&before));
                let mut out = updates.clone();
                let (mode, view) = (OutOfBounds::Error, &mut out.view_mut());
                assert!(is_named(calls::read_into(kind, &before.view(), &indices, mode, view)));
                assert_same(&out, &updates);
            }
        }
    }
}
