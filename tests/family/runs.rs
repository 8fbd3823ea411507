//! Runs of entries, by pairs, in batches and by indices that lie apart, against the formula.

use ndarray::{Array4, ArrayD, s};
use opkernels::{Gather, GatherExt, OutOfBounds};

use crate::common::oracle::{self, Kind};
use crate::common::{Index, Numbers, Value, array_of, assert_same, calls};

/// Indices of this shape, whose last axis holds numbers for axes of these lengths; of
/// `wild` ones some are out of bounds.
fn indices_of<I: Index>(shape: &[usize], lens: &[usize], wild: bool) -> ArrayD<I> {
    let mut numbers = Numbers(7);
    let last = shape[shape.len() - 1];
    let mut at = 0;
    let wide = ArrayD::from_shape_simple_fn(shape, || {
        let len = lens[at % last % lens.len()];
        at += 1;
        let number = numbers.below(2 * len) as i128 - len as i128;
        if wild && numbers.once_in(11) { number * 5 } else { number }
    });
    I::from_wide(&wide)
}

fn gathered<A: Value, I: Index>(kind: Kind, shape: &[usize], indices: &[usize], lens: &[usize]) {
    let data: ArrayD<A> = array_of(shape, 1);
    let fill = OutOfBounds::Fill(A::from_number(5));
    for mode in [OutOfBounds::Error, OutOfBounds::Clip, OutOfBounds::Wrap, fill] {
        let wild = !matches!(mode, OutOfBounds::Error);
        let indices: ArrayD<I> = indices_of(indices, lens, wild);
        let expected = oracle::read(kind, &data, &I::to_wide(&indices), &mode).unwrap();
        let output = calls::read(kind, &data.view(), &indices.view(), mode).unwrap();
        assert_same(&output, &expected);
    }
}

/// Batches of one pair each, of many, and of few: where each has its own, what follows in
/// the list is selected in another batch.
#[test]
fn elements_by_pairs_in_batches() {
    let kind = Kind::Tuples { batch_dims: 1 };
    for (batches, pairs) in [(1500, 1), (20, 1), (1, 1500), (10, 150), (3, 7), (300, 5)] {
        let (shape, indices) = (&[batches, 3, 4], &[batches, pairs, 2]);
        gathered::<u8, i64>(kind, shape, indices, &[3, 4]);
        gathered::<i16, i32>(kind, shape, indices, &[3, 4]);
        gathered::<f32, i64>(kind, shape, indices, &[3, 4]);
        gathered::<u64, i32>(kind, shape, indices, &[3, 4]);
    }
}

/// Elements that pairs overwrite, the last update last.
#[test]
fn elements_overwritten_by_pairs() {
    let kind = Kind::Tuples { batch_dims: 0 };
    for count in [3, 20, 70, 1500] {
        let data: ArrayD<f32> = array_of(&[30, 40], 1);
        let indices: ArrayD<i64> = indices_of(&[count, 2], &[30, 40], false);
        let updates: ArrayD<f32> = array_of(&[count], 2);
        let wide = Index::to_wide(&indices);
        let mode = OutOfBounds::Error;
        let expected = oracle::overwrite_of(kind, &data, &wide, &updates, &mode).unwrap();
        let (indices, updates) = (indices.view(), updates.view());
        let mut target = data.clone();
        calls::overwrite_plainly(kind, &mut target.view_mut(), &indices, &updates).unwrap();
        assert_same(&target, &expected);
    }
}

/// Few slices, between the axis and the batches of which others lie.
#[test]
fn few_slices_behind_batches() {
    for (batches, around, entries, row) in
        [(2, 2, 1, 1), (2, 2, 2, 1), (1, 2, 2, 2), (2, 1, 2, 2), (3, 4, 5, 1), (2, 3, 4, 5)]
    {
        let kind = Kind::Slices { axis: 2, batch_dims: 1 };
        gathered::<i32, i64>(kind, &[batches, around, 3, row], &[batches, entries], &[3]);
    }
}

/// Indices in rows that lie apart, one of which is out of bounds: what comes before it
/// is copied at once, and what is left starts anywhere in the loops.
#[test]
fn an_index_out_of_bounds_among_runs() {
    let data: Vec<u32> = (0..100).map(|k| 7 * k).collect();
    // Thresholds are usual ones, or small.
    for [a, b, c, d] in [[10, 4, 16, 8], [9, 2, 2, 4]] {
        let all = Array4::from_shape_fn((2 * a, 2 * b, 2 * c, d), |(a, b, c, d)| {
            ((a * 5 + b * 3 + c * 7 + d) % 100) as i64
        });
        for at in [0, 3, 8, 11, 26, 47, 128, 135, 200, 640, 1500, 2048, 4000, 5119] {
            let mut all = all.clone();
            let mut indices = all.slice_mut(s![..;2, ..;2, ..;2, ..]);
            let Some(index) = indices.iter_mut().nth(at) else { continue };
            *index = 100;
            let attributes = Gather::along(0).out_of_bounds(OutOfBounds::Fill(1));
            let output = ndarray::aview1(&data).gather_with(&indices, attributes).unwrap();
            let expected = indices.mapv(|index| data.get(index as usize).copied().unwrap_or(1));
            assert_eq!(output, expected.into_dyn(), "at {at}");
        }
    }
}
