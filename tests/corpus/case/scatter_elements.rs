//! Scatter elements: `scatter_elements`, `scatter_elements_with`,
//! `scatter_elements_inplace` with an axis and with attributes; and what all scatters
//! have in common, folds and plans too.

use ndarray::{Array, Ix1};
use opkernels::{OutOfBounds, Reduction, ScatterElementsExt};

use super::bytes::{self, Bytes, axis_len, from_front, shrink};
use super::input::Input;
use super::kinds::{self, Select};
use super::{Expected, Huge, Line, Page, assert_returned, assert_written, laid};
use crate::common::oracle::{self, Scatter};
use crate::common::{Index, Reduce, Value};

pub(crate) fn check(input: &[u8]) {
    let mut bytes = Bytes::new(input);
    match bytes.below(32) {
        0 => reduces::<u8, i8>(&mut bytes),
        1 => reduces::<u8, u64>(&mut bytes),
        2 => reduces::<i32, i32>(&mut bytes),
        3 => reduces::<f32, i64>(&mut bytes),
        4 => reduces::<f32, u8>(&mut bytes),
        5 => reduces::<f64, usize>(&mut bytes),
        6 => reduces::<u64, isize>(&mut bytes),
        7 => reduces::<i16, u16>(&mut bytes),
        8 => reduces::<i128, i64>(&mut bytes),
        9 => reduces::<bool, i16>(&mut bytes),
        10 => half(&mut bytes),
        11 => complex(&mut bytes),
        12 => overwrites::<String, i64>(&mut bytes),
        13 => overwrites::<String, u32>(&mut bytes),
        14 => overwrites::<[f32; 3], i64>(&mut bytes),
        15 => overwrites::<Line, i32>(&mut bytes),
        16 => overwrites::<(u8, u16), i64>(&mut bytes),
        17 => overwrites::<[u8; 0], i64>(&mut bytes),
        18 => reduces::<f32, i32>(&mut bytes),
        19 => overwrites::<Page, i64>(&mut bytes),
        20 => overwrites::<Huge, i64>(&mut bytes),
        21 => kinds::reduces::<f32, i64>(Select::Elements, &mut bytes),
        22 => kinds::reduces::<u8, i32>(Select::Elements, &mut bytes),
        23 => kinds::reduces::<i64, u64>(Select::Elements, &mut bytes),
        24 => kinds::reduces::<i16, u8>(Select::Elements, &mut bytes),
        25 => kinds::reduces::<f64, i64>(Select::Elements, &mut bytes),
        26 => kinds::overwrites::<[f32; 3], i64>(Select::Elements, &mut bytes),
        27 => kinds::overwrites::<String, i64>(Select::Elements, &mut bytes),
        28 => kinds::overwrites::<Page, i32>(Select::Elements, &mut bytes),
        29 => kinds::overwrites::<u32, i64>(Select::Elements, &mut bytes),
        _ => reduces::<i64, i64>(&mut bytes),
    }
}

#[cfg(feature = "half")]
fn half(bytes: &mut Bytes<'_>) {
    reduces::<half::f16, i64>(bytes);
}

#[cfg(feature = "num-complex")]
fn complex(bytes: &mut Bytes<'_>) {
    reduces::<num_complex::Complex<f32>, i64>(bytes);
}

/// Without the element type, another one.
#[cfg(not(feature = "half"))]
fn half(bytes: &mut Bytes<'_>) {
    reduces::<f64, i64>(bytes);
}

#[cfg(not(feature = "num-complex"))]
fn complex(bytes: &mut Bytes<'_>) {
    reduces::<f64, i64>(bytes);
}

/// The arrays of a scatter.
struct Arrays<A, I> {
    data: Input<A>,
    indices: Input<I>,
    updates: Input<A>,
}

impl<A: Value, I: Index> Arrays<A, I> {
    fn new(scatter: &mut Scatter, bytes: &mut Bytes<'_>) -> Self {
        bytes.for_elements_of::<A>();
        let shape = bytes.shape();
        scatter.axis = bytes.axis(shape.len());
        let (indices_shape, updates_shape) = update_shapes(&shape, scatter.axis, bytes);
        let errors = matches!(scatter.mode, OutOfBounds::Error);
        let wild = bytes.once_in(if errors { 4 } else { 2 });
        let len = axis_len(&shape, scatter.axis).unwrap_or(1);
        let index = |bytes: &mut Bytes<'_>| bytes.index(len, wild);
        let indices = match from_front(scatter.axis, indices_shape.len()) {
            // Whole rows.
            Some(axis) if bytes.once_in(4) => Input::along(axis, &indices_shape, bytes, index),
            _ => Input::new(&indices_shape, bytes, index),
        };
        let data = Input::of_values(&shape, bytes);
        Arrays { data, indices, updates: Input::of_values(&updates_shape, bytes) }
    }
}

/// Indices and updates that suit data of this shape, seldom not.
fn update_shapes(data: &[usize], axis: i128, bytes: &mut Bytes<'_>) -> (Vec<usize>, Vec<usize>) {
    let mut indices = data.to_vec();
    if bytes.once_in(2) {
        indices.iter_mut().for_each(|len| *len = len.saturating_sub(bytes.below(3)));
    }
    if let Some(axis) = from_front(axis, data.len()) {
        indices[axis] = match bytes.byte() {
            byte @ 240.. => usize::from(byte - 240) * 200,
            byte @ 192.. => usize::from(byte - 192) * 4,
            byte => usize::from(byte % 8),
        };
    }
    shrink(&mut indices, 0, bytes::most(bytes));
    let mut updates = indices.clone();
    match bytes.byte() {
        0..=3 if !data.is_empty() => {
            let k = bytes.below(data.len());
            indices[k] = data[k] + 1;
            updates[k] = indices[k];
        }
        4..=7 if !data.is_empty() => updates[bytes.below(data.len())] += 1,
        8..=11 => indices.push(1),
        12..=15 => {
            indices.push(1);
            updates.push(1);
        }
        _ => {}
    }
    (indices, updates)
}

fn overwrites<A: Value, I: Index>(bytes: &mut Bytes<'_>) {
    let mut scatter = Scatter {
        axis: 0,
        reduction: Reduction::None,
        use_init_val: true,
        mode: OutOfBounds::Error,
    };
    let arrays = Arrays::<A, I>::new(&mut scatter, bytes);
    overwrites_with(&arrays, scatter.axis, bytes);
}

fn overwrites_with<A: Value, I: Index>(arrays: &Arrays<A, I>, axis: i128, bytes: &mut Bytes<'_>) {
    let (contents, updates) = (arrays.data.contents(), arrays.updates.contents());
    let wide = I::to_wide(&arrays.indices.contents());
    let expected: Expected<A> = oracle::overwrite(&contents, &wide, &updates, axis);
    let (i, u, axis) = (arrays.indices.view(), arrays.updates.view(), axis as i64);
    let output = arrays.data.view().scatter_elements(&i, &u, axis);
    assert_returned(output, &expected, Reduction::None);

    let before = laid(&contents, bytes);
    let mut target = before.clone();
    let result = target.view_mut().scatter_elements_inplace(&i, &u, axis);
    assert_written(result, (&before, &target), &expected, Reduction::None);

    let line = arrays.data.view().into_dimensionality::<Ix1>();
    let places = i.into_dimensionality::<Ix1>();
    let values = u.into_dimensionality::<Ix1>();
    if let (Ok(line), Ok(places), Ok(values)) = (line, places, values) {
        let output = line.scatter_elements(&places, &values, axis).map(Array::into_dyn);
        assert_returned(output, &expected, Reduction::None);
    }
}

fn reduces<A: Reduce, I: Index>(bytes: &mut Bytes<'_>) {
    let reduction = match bytes.below(7) {
        0 => Reduction::None,
        1 => Reduction::Sum,
        2 => Reduction::Prod,
        3 => Reduction::Min,
        4 => Reduction::Max,
        5 => Reduction::Sub,
        _ => Reduction::Mean,
    };
    let mode = match bytes.below(5) {
        0 => OutOfBounds::Skip,
        1 => OutOfBounds::Clip,
        2 => OutOfBounds::Wrap,
        _ => OutOfBounds::Error,
    };
    let mut scatter = Scatter { axis: 0, reduction, use_init_val: bytes.once_in(2), mode };
    let arrays = Arrays::<A, I>::new(&mut scatter, bytes);
    let contents = arrays.data.contents();
    let wide = I::to_wide(&arrays.indices.contents());
    let expected: Expected<A> =
        oracle::reduce(&contents, &wide, &arrays.updates.contents(), &scatter);
    let (i, u, attributes) = (arrays.indices.view(), arrays.updates.view(), scatter.attributes());
    let output = arrays.data.view().scatter_elements_with(&i, &u, attributes);
    assert_returned(output, &expected, reduction);

    let before = laid(&contents, bytes);
    let mut target = before.clone();
    let result = target.view_mut().scatter_elements_inplace(&i, &u, attributes);
    assert_written(result, (&before, &target), &expected, reduction);

    let plain = reduction == Reduction::None && matches!(scatter.mode, OutOfBounds::Error);
    if plain {
        overwrites_with(&arrays, scatter.axis, bytes);
    }
}
