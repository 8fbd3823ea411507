//! Decisions about gather.

use ndarray::{Array2, Array3, ArrayD, ShapeBuilder, arr0, array};
use opkernels::{Error, Gather, GatherExt, OutOfBounds};

use crate::common::{Value, array_of, assert_same, oracle};

/// An error that names the index, its place, the axis and its length.
#[test]
fn out_of_range_default() {
    let data = Array2::<f32>::zeros((2, 5));
    let error = data.gather(&array![[0, 4], [3, -6]], 1).unwrap_err();
    let refused = Error::IndexOutOfBounds { index: -6, position: vec![1, 1], axis: 1, len: 5 };
    assert_eq!(error, refused);
    let text = error.to_string();
    for part in ["-6", "[1, 1]", "axis 1", "length 5"] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(data.gather_with(&array![[0, 4], [3, -6]], Gather::along(-1)).unwrap_err(), refused);
}

/// A value, the nearest end, or the remainder.
#[test]
fn out_of_range_on_request() {
    let data = array![1, 2, 3, 4, 5];
    let indices = [3_i64, 10, -20, -6, 5, i64::MAX, i64::MIN];
    let taken = |mode| data.gather_with(&indices, Gather::along(0).out_of_bounds(mode)).unwrap();
    assert_eq!(taken(OutOfBounds::Fill(9)), array![4, 9, 9, 9, 9, 9, 9].into_dyn());
    assert_eq!(taken(OutOfBounds::Clip), array![4, 5, 1, 1, 5, 5, 1].into_dyn());
    let (max, min) = (i64::MAX.rem_euclid(5) as i32 + 1, i64::MIN.rem_euclid(5) as i32 + 1);
    assert_eq!(taken(OutOfBounds::Wrap), array![4, 1, 1, 5, 1, max, min].into_dyn());
    let zeros = data.gather_with(&indices, Gather::openvino(0)).unwrap();
    assert_eq!(zeros, taken(OutOfBounds::Fill(0)));

    let empty = Array2::<i32>::zeros((2, 0));
    for (mode, name) in [(OutOfBounds::Clip, "clip"), (OutOfBounds::Wrap, "wrap")] {
        let attributes = Gather::along(1).out_of_bounds(mode);
        let refused = Error::EmptyAxis { mode: name, axis: 1 };
        assert_eq!(empty.gather_with(&[0], attributes).unwrap_err(), refused);
        let none: [i8; 0] = [];
        assert_eq!(empty.gather_with(&none, attributes).unwrap().shape(), [2, 0]);
    }
    let filled = empty.gather_with(&[0], Gather::along(1).out_of_bounds(OutOfBounds::Fill(3)));
    assert_eq!(filled.unwrap(), array![[3], [3]].into_dyn());
}

/// `0 <= b <= min(data.rank, indices.rank)` and `b <= axis`, of equal lengths;
/// negative adds the rank of the indices.
#[test]
fn batch_dims() {
    let data = Array3::<u8>::zeros((2, 3, 4));
    let indices = Array2::<i32>::zeros((2, 3));
    let gather = |axis: i32, b: i64| data.gather_with(&indices, Gather::along(axis).batch_dims(b));
    let shape = |axis, b| gather(axis, b).unwrap().shape().to_vec();
    assert_eq!(shape(2, 0), [2, 3, 2, 3]);
    assert_eq!(shape(2, 1), [2, 3, 3]);
    assert_eq!(shape(2, 2), [2, 3]);
    assert_eq!(shape(1, 1), [2, 3, 4]);
    assert_eq!(shape(2, -1), [2, 3, 3]);
    assert_eq!(shape(2, -2), [2, 3, 2, 3]);
    for batch_dims in [3, i64::MAX, -3, i64::MIN] {
        let refused = Error::BatchDimsOutOfRange {
            batch_dims: batch_dims.into(),
            data_rank: 3,
            indices_rank: 2,
        };
        assert_eq!(gather(2, batch_dims).unwrap_err(), refused);
    }
    let refused = Error::BatchDimsBeyondAxis { batch_dims: 2, axis: 1 };
    assert_eq!(gather(1, 2).unwrap_err(), refused);
    assert_eq!(gather(-2, 2).unwrap_err(), refused);
    let others = Array2::<i32>::zeros((2, 4));
    let error = data.gather_with(&others, Gather::along(2).batch_dims(2)).unwrap_err();
    let refused =
        Error::BatchShapeMismatch { batch_dims: 2, data: vec![2, 3, 4], indices: vec![2, 4] };
    assert_eq!(error, refused);
    assert!(data.gather_with(&others, Gather::along(2).batch_dims(1)).is_ok());
}

/// 0-d indices remove the axis.
#[test]
fn scalar_indices() {
    let data = Array3::from_shape_fn((2, 3, 4), |(i, j, k)| 12 * i + 4 * j + k);
    let slice: Array2<usize> = data.gather(&-1, 1).unwrap();
    assert_eq!(slice, data.index_axis(ndarray::Axis(1), 2));
    assert_eq!(data.gather(&arr0(2_u8), 1).unwrap(), slice);
    let with = data.gather_with(&arr0(2_u8).into_dyn(), Gather::along(1)).unwrap();
    assert_eq!(with, slice.into_dyn());
    assert_eq!(array![5, 6].gather(&1, 0).unwrap(), arr0(6));
}

/// By default an error all the same; with `Fill` the empty result.
#[test]
fn out_of_range_where_nothing_is_copied() {
    let data = Array2::<f32>::zeros((3, 0));
    let refused = Error::IndexOutOfBounds { index: 7, position: vec![1], axis: 0, len: 3 };
    assert_eq!(data.gather(&[0, 7], 0).unwrap_err(), refused);
    let mut out = Array2::<f32>::zeros((2, 0));
    assert_eq!(data.gather_into(&[0, 7], Gather::along(0), &mut out).unwrap_err(), refused);
    let filled = data.gather_with(&[0, 7], Gather::openvino(0)).unwrap();
    assert_eq!(filled.shape(), [2, 0]);
}

fn assert_copied<A: Value>(values: &[A]) {
    let data = ndarray::Array1::from(values.to_vec());
    let backward: Vec<usize> = (0..values.len()).rev().collect();
    let output = data.gather(&backward, 0).unwrap();
    assert!(output.iter().zip(values.iter().rev()).all(|(a, e)| a.same(e)), "{output:?}");
}

/// Copied bit for bit.
#[test]
fn values() {
    let (quiet, signalling) = (0x7fc0_1234, 0xff80_0001);
    assert_copied(&[f32::from_bits(quiet), f32::from_bits(signalling), -0.0, 0.0, 1e-45]);
    let (quiet, signalling) = (0x7ff8_0000_dead_beef, 0xfff0_0000_0000_0001);
    assert_copied(&[f64::from_bits(quiet), f64::from_bits(signalling), -0.0, 1.0 + f64::EPSILON]);
    assert_copied(&[0.1, f64::MAX, f64::MIN_POSITIVE, 16_777_217.0]);
    assert_copied(&[i64::MIN, i64::MAX, (1 << 53) + 1, (1 << 32) + 1, -1]);
    assert_copied(&[u64::MAX, u64::MAX - 1, 1 << 63, (1 << 53) + 1, 0]);
    assert_copied(&[u128::MAX, 1 << 127, 0]);
}

/// Works, and adds no dimension; below `-rank` is an error.
#[test]
fn batch_dims_equal_to_the_rank_of_indices() {
    let data: ArrayD<i32> = array_of(&[2, 3, 4], 1);
    let wide = array![[3_i128, 0, 1], [-1, 2, -4]].into_dyn();
    let indices = wide.mapv(|index| index as i64);
    let expected = oracle::gather(&data, &wide, 2, 2, &OutOfBounds::Error).unwrap();
    let output = data.gather_with(&indices, Gather::along(2).batch_dims(2)).unwrap();
    assert_eq!(output.shape(), [2, 3]);
    assert_same(&output, &expected);
    assert!(data.gather_with(&indices, Gather::along(2).batch_dims(-2)).is_ok());
    let below = data.gather_with(&indices, Gather::along(2).batch_dims(-3)).unwrap_err();
    let refused = Error::BatchDimsOutOfRange { batch_dims: -3, data_rank: 3, indices_rank: 2 };
    assert_eq!(below, refused);
}

/// Row-major, whatever the layouts of data and indices.
#[test]
fn result_layout() {
    let data = Array3::<f32>::zeros((2, 3, 4).f());
    let indices = Array2::<u8>::zeros((3, 2).f());
    assert_eq!(data.gather(&indices, 1).unwrap().strides(), [24, 8, 4, 1]);
    assert_eq!(data.t().gather(&[1, 0], 2).unwrap().strides(), [6, 2, 1]);
    assert_eq!(data.gather_with(&indices, Gather::along(0)).unwrap().strides(), [24, 12, 4, 1]);
}
