//! Elements by indices that are a column of a table, or reversed, or some columns, and updates that are: against the
//! formula.

use ndarray::{ArrayD, Axis, Slice};
use opkernels::{Error, OutOfBounds, Reduction};

use crate::common::oracle::{self, Kind, Reducing};
use crate::common::{
    Index, Numbers, Reduce, Value, array_of, assert_same, calls, here_and_on_pools, settled,
};

/// Elements from one to the next.
const STEPS: [isize; 7] = [1, -1, 2, -2, 3, 4, 21];

/// Shapes of indices, and the length of the axis: more than a few chunks and blocks, as a list or in lanes.
const SHAPES: [(&[usize], usize); 2] = [(&[2500], 300), (&[9, 400], 70)];

/// The same array in every so many elements of rows in which all others are different.
fn column<A: Clone>(array: &ArrayD<A>, step: isize, other: &A) -> ArrayD<A> {
    let axis = Axis(array.ndim() - 1);
    let mut shape = array.shape().to_vec();
    shape[axis.index()] *= step.unsigned_abs();
    let mut table = ArrayD::from_elem(shape, other.clone());
    let elements = Slice::new(0, None, step);
    table.slice_axis_mut(axis, elements).assign(array);
    table.slice_axis_move(axis, elements)
}

fn kind_of(shape: &[usize]) -> Kind {
    match shape.len() {
        1 => Kind::Slices { axis: 0, batch_dims: 0 },
        _ => Kind::Elements { axis: 1 },
    }
}

/// The shape of data with so many elements along the last axis.
fn data_shape(shape: &[usize], len: usize) -> Vec<usize> {
    [&shape[..shape.len() - 1], &[len]].concat()
}

/// Indices of any sign; of `wild` ones some are out of bounds.
fn indices_of<I: Index>(shape: &[usize], len: usize, wild: bool) -> ArrayD<I> {
    let mut numbers = Numbers(3);
    I::from_wide(&ArrayD::from_shape_simple_fn(shape, || {
        let index = numbers.below(2 * len) as i128 - len as i128;
        if wild && numbers.once_in(40) { index * 3 } else { index }
    }))
}

fn gathered<A: Value, I: Index>() {
    for (shape, len) in SHAPES {
        let kind = kind_of(shape);
        let data: ArrayD<A> = array_of(&data_shape(shape, len), 1);
        for mode in [OutOfBounds::Error, OutOfBounds::Wrap, OutOfBounds::Fill(A::from_number(5))] {
            let indices = indices_of::<I>(shape, len, !matches!(mode, OutOfBounds::Error));
            let expected = oracle::read(kind, &data, &I::to_wide(&indices), &mode).unwrap();
            for step in STEPS {
                let indices = column(&indices, step, &I::max_value());
                here_and_on_pools(|| {
                    let output = calls::read(kind, &data.view(), &indices, mode.clone());
                    assert_same(&output.unwrap(), &expected);
                });
            }
        }
    }
}

#[test]
fn gathers() {
    gathered::<u8, i64>();
    gathered::<f32, i32>();
    gathered::<u64, u64>();
}

fn scattered<A: Reduce, I: Index>(reductions: &[Reduction]) {
    for (shape, len) in SHAPES {
        let kind = kind_of(shape);
        let data: ArrayD<A> = array_of(&data_shape(shape, len), 1);
        let updates: ArrayD<A> = array_of(shape, 3);
        for &reduction in reductions {
            for (mode, use_init_val) in [(OutOfBounds::Error, true), (OutOfBounds::Skip, false)] {
                let indices = indices_of::<I>(shape, len, matches!(mode, OutOfBounds::Skip));
                let how = Reducing { reduction, use_init_val, mode };
                let wide = I::to_wide(&indices);
                let Ok(expected) = oracle::reduce_of(kind, &data, &wide, &updates, &how) else {
                    continue;
                };
                let expected = settled(reduction, &expected);
                for (step, of_updates) in STEPS.into_iter().zip([2, 1, -1, 3, 1, -2, 4]) {
                    let indices = column(&indices, step, &I::max_value());
                    let updates = column(&updates, of_updates, &A::from_number(7));
                    calls::assert_reduced(kind, &data, &indices, &updates.view(), &how, &expected);
                }
            }
        }
    }
}

#[test]
fn scatters() {
    use Reduction::{Max, Mean, None, Prod, Sum};
    scattered::<u8, i64>(&[None, Sum]);
    scattered::<f32, i64>(&[None, Sum, Max, Mean]);
    scattered::<f64, u32>(&[Sum]);
    scattered::<i64, i32>(&[None, Prod]);
}

/// Rows too long for their indices to be copied first.
#[test]
fn rows() {
    let kind = Kind::Slices { axis: 0, batch_dims: 0 };
    let indices = indices_of::<i64>(&[2500], 300, true);
    let data: ArrayD<f32> = array_of(&[300, 5], 1);
    let updates: ArrayD<f32> = array_of(&[2500, 5], 3);
    let mode = OutOfBounds::Wrap;
    let how = Reducing { reduction: Reduction::Max, use_init_val: true, mode: OutOfBounds::Wrap };
    let wide = i64::to_wide(&indices);
    let gathered = oracle::read(kind, &data, &wide, &mode).unwrap();
    let reduced = oracle::reduce_of(kind, &data, &wide, &updates, &how).unwrap();
    let reduced = settled(Reduction::Max, &reduced);
    for step in STEPS {
        let indices = column(&indices, step, &i64::MAX);
        let output = calls::read(kind, &data.view(), &indices, mode);
        assert_same(&output.unwrap(), &gathered);
        calls::assert_reduced(kind, &data, &indices, &updates.view(), &how, &reduced);
    }
}

/// An index out of bounds anywhere leaves target and output untouched, and is named.
#[test]
fn an_index_out_of_bounds() {
    for (shape, len) in SHAPES {
        let kind = kind_of(shape);
        let data: ArrayD<f32> = array_of(&data_shape(shape, len), 1);
        let updates: ArrayD<f32> = array_of(shape, 3);
        for (step, at) in STEPS.into_iter().zip([0, 1, 63, 64, 1030, 2048, 2499]) {
            let mut indices = indices_of::<i64>(shape, len, false);
            *indices.iter_mut().nth(at).unwrap() = len as i64;
            let indices = column(&indices, step, &0);
            let is_named = |error| match error {
                Err(Error::IndexOutOfBounds { index, position, .. }) => {
                    let width = shape[shape.len() - 1];
                    index == len as i128 && position.iter().fold(0, |k, &p| k * width + p) == at
                }
                _ => false,
            };
            let mut target = data.clone();
            for reduction in [Reduction::None, Reduction::Sum] {
                let how = Reducing { reduction, use_init_val: true, mode: OutOfBounds::Error };
                let view = &mut target.view_mut();
                assert!(is_named(calls::reduce(kind, view, &indices, &updates.view(), &how)));
            }
            assert_same(&target, &data);
            let mut output = updates.clone();
            let view = &mut output.view_mut();
            let mode = OutOfBounds::Error;
            assert!(is_named(calls::read_into(kind, &data.view(), &indices, mode, view)));
            assert_same(&output, &updates);
        }
    }
}

/// The same array as some of the columns of a table in which all others are different.
fn columns<I: Clone>(array: &ArrayD<I>, before: usize, other: &I) -> ArrayD<I> {
    let (rows, width) = (array.shape()[0], array.shape()[1]);
    let mut table = ArrayD::from_elem(vec![rows, width + before + 1], other.clone());
    let part = Slice::from(before..before + width);
    table.slice_axis_mut(Axis(1), part).assign(array);
    table.slice_axis_move(Axis(1), part)
}

/// Some columns of tables, of which each row selects elements along its own lane, or rows of data.
#[test]
fn rows_of_some_columns() {
    for (shape, data, kind) in [
        (&[2100, 3], &[2100, 40][..], Kind::Elements { axis: 1 }),
        (&[1200, 5], &[900][..], Kind::Slices { axis: 0, batch_dims: 0 }),
        (&[1200, 5], &[900, 3][..], Kind::Slices { axis: 0, batch_dims: 0 }),
        (&[300, 20], &[2, 50, 4][..], Kind::Slices { axis: 1, batch_dims: 0 }),
        (&[300, 20], &[300, 50][..], Kind::Slices { axis: 1, batch_dims: 1 }),
    ] {
        let axis = match kind {
            Kind::Elements { axis } | Kind::Slices { axis, .. } => axis as usize,
            Kind::Tuples { .. } => 0,
        };
        let contents: ArrayD<f32> = array_of(data, 1);
        let updates: ArrayD<f32> = array_of(&oracle::updates_shape(kind, data, shape).unwrap(), 3);
        for (mode, wild) in [(OutOfBounds::Error, false), (OutOfBounds::Clip, true)] {
            let indices = indices_of::<i64>(shape, data[axis], wild);
            let wide = i64::to_wide(&indices);
            let reading = if wild { OutOfBounds::Clip } else { OutOfBounds::Error };
            let gathered = oracle::read(kind, &contents, &wide, &reading).unwrap();
            let how = Reducing { reduction: Reduction::Sum, use_init_val: true, mode };
            let summed = oracle::reduce_of(kind, &contents, &wide, &updates, &how).unwrap();
            let summed = settled(Reduction::Sum, &summed);
            for before in [0, 1] {
                let indices = columns(&indices, before, &i64::MAX);
                here_and_on_pools(|| {
                    let output = calls::read(kind, &contents.view(), &indices, reading);
                    assert_same(&output.unwrap(), &gathered);
                    let mut target = contents.clone();
                    let view = &mut target.view_mut();
                    calls::reduce(kind, view, &indices, &updates.view(), &how).unwrap();
                    assert_same(&settled(Reduction::Sum, &target), &summed);
                });
            }
        }
        let mut indices = indices_of::<i64>(shape, data[axis], false);
        indices[[shape[0] - 1, 1]] = data[axis] as i64;
        let indices = columns(&indices, 1, &0);
        let how =
            Reducing { reduction: Reduction::Sum, use_init_val: true, mode: OutOfBounds::Error };
        let mut target = contents.clone();
        let refused = calls::reduce(kind, &mut target.view_mut(), &indices, &updates.view(), &how);
        let wanted = vec![shape[0] - 1, 1];
        assert!(
            matches!(refused, Err(Error::IndexOutOfBounds { position, .. }) if position == wanted)
        );
        assert_same(&target, &contents);
    }
}
