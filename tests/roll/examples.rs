//! The worked examples of OpenVINO Roll-7.

use ndarray::{Array, Array2, Array4, Dimension, array};
use opkernels::RollExt;

use crate::common::{Value, array_of, assert_same};

/// The result returned, written into an array, and in place.
fn assert_rolled<A: Value + Default, D: Dimension>(
    data: &Array<A, D>,
    shifts: &[i64],
    axes: &[i64],
    expected: &Array<A, D>,
) {
    assert_same(&data.roll(shifts, axes).unwrap(), expected);
    let mut out = Array::from_elem(data.raw_dim(), A::default());
    data.roll_into(shifts, axes, &mut out).unwrap();
    assert_same(&out, expected);
    let mut turned = data.clone();
    turned.roll_inplace(shifts, axes).unwrap();
    assert_same(&turned, expected);
}

fn data() -> Array2<i32> {
    array![[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]]
}

#[test]
fn openvino_roll_7_example_1() {
    let expected = array![[10, 11, 12], [1, 2, 3], [4, 5, 6], [7, 8, 9]];
    assert_rolled(&data(), &[1], &[0], &expected);
    assert_eq!(data().roll(1, 0).unwrap(), expected);
}

#[test]
fn openvino_roll_7_example_2() {
    let expected = array![[5, 6, 4], [8, 9, 7], [11, 12, 10], [2, 3, 1]];
    assert_rolled(&data(), &[-1, 2], &[0, 1], &expected);
}

#[test]
fn openvino_roll_7_example_3() {
    let expected = array![[8, 9, 7], [11, 12, 10], [2, 3, 1], [5, 6, 4]];
    assert_rolled(&data(), &[1, 2, 1], &[0, 1, 0], &expected);
}

const LAYER: [usize; 4] = [3, 10, 100, 200];

fn layer_data() -> Array4<f32> {
    array_of(&LAYER, 1).into_dimensionality().unwrap()
}

/// One shift for each axis.
#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn openvino_roll_7_layer_1() {
    let data = layer_data();
    let expected = Array4::from_shape_fn(LAYER, |(a, b, c, d)| {
        data[[a, b, (c + 100 - 30) % 100, (d + 70) % 200]]
    });
    assert_rolled(&data, &[30, -70], &[2, -1], &expected);
}

/// One shift for several axes.
#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn openvino_roll_7_layer_2() {
    let data = layer_data();
    let expected = Array4::from_shape_fn(LAYER, |(a, b, c, d)| {
        data[[(a + 3 - 7 % 3) % 3, b, c, (d + 200 - 7) % 200]]
    });
    assert_rolled(&data, &[7], &[0, 3], &expected);
    assert_same(&data.roll(7, [0, 3]).unwrap(), &expected);
}
