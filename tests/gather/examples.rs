//! The worked examples of ONNX Gather 13, 11 and 1 and OpenVINO Gather-8.
//!
//! Their `T` is any type; where a reading differs, it is in what an index out
//! of bounds selects.

use ndarray::{Array, Array2, Array3, ArrayD, DimAdd, Dimension, RemoveAxis, array, s};
use opkernels::{Error, Gather, GatherExt, OutOfBounds};

use crate::common::{Value, array_of, assert_same, oracle};

/// ONNX and OpenVINO agree where no index is out of bounds.
fn assert_both_readings<A, D, Q, O>(
    data: &Array<A, D>,
    indices: &Array<i64, Q>,
    axis: i64,
    expected: &Array<A, O>,
) where
    A: Value + Default,
    D: RemoveAxis,
    Q: Dimension,
    O: Dimension,
    D::Smaller: DimAdd<Q, Output = O>,
{
    assert_same(&data.gather(indices, axis).unwrap(), expected);
    assert_same(&data.gather(indices, axis - data.ndim() as i64).unwrap(), expected);
    for attributes in [Gather::along(axis), Gather::openvino(axis)] {
        assert_with(data, indices, attributes, expected);
    }
}

/// The result with these attributes, returned and written into an array.
fn assert_with<A, D, Q, O>(
    data: &Array<A, D>,
    indices: &Array<i64, Q>,
    attributes: Gather<A>,
    expected: &Array<A, O>,
) where
    A: Value + Default,
    D: Dimension,
    Q: Dimension,
    O: Dimension,
{
    assert_same(&data.gather_with(indices, attributes.clone()).unwrap(), expected);
    let mut out = Array::from_elem(expected.raw_dim(), A::default());
    data.gather_into(indices, attributes, &mut out).unwrap();
    assert_same(&out, expected);
}

/// The result with batch dimensions, in both readings.
fn assert_batched<D: Dimension, Q: Dimension, O: Dimension>(
    data: &Array<i32, D>,
    indices: &Array<i64, Q>,
    axis: i64,
    batch_dims: i64,
    expected: &Array<i32, O>,
) {
    for attributes in [Gather::along(axis), Gather::openvino(axis)] {
        assert_with(data, indices, attributes.batch_dims(batch_dims), expected);
    }
}

#[test]
fn openvino_gather_8_example_1() {
    assert_both_readings(&array![1, 2, 3, 4, 5], &array![0, 0, 4], 0, &array![1, 1, 5]);
}

#[test]
fn openvino_gather_8_example_2() {
    let data = array![[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]];
    let indices = array![[0, 0, 4], [4, 0, 0]];
    assert_batched(&data, &indices, 1, 1, &array![[1, 1, 5], [10, 6, 6]]);
}

#[test]
fn openvino_gather_8_example_3() {
    let data =
        array![[[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]], [[11, 12, 13, 14, 15], [16, 17, 18, 19, 20]],];
    let indices = array![[[0, 0, 4], [4, 0, 0]], [[1, 2, 4], [4, 3, 2]]];
    let expected = array![[[1, 1, 5], [10, 6, 6]], [[12, 13, 15], [20, 19, 18]]];
    assert_batched(&data, &indices, 2, 2, &expected);
}

#[test]
fn openvino_gather_8_example_4() {
    let data = Array::from_iter(1..=40).into_shape_with_order((2, 1, 5, 4)).unwrap();
    let indices = array![[1, 2, 4], [4, 3, 2]];
    let expected = array![
        [[[5, 6, 7, 8], [9, 10, 11, 12], [17, 18, 19, 20]]],
        [[[37, 38, 39, 40], [33, 34, 35, 36], [29, 30, 31, 32]]],
    ];
    assert_batched(&data, &indices, 2, 1, &expected);
}

#[test]
fn openvino_gather_8_example_5() {
    let data = array![[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]];
    let indices = array![[0, 0, 4], [4, 0, 0]];
    assert_batched(&data, &indices, 1, -1, &array![[1, 1, 5], [10, 6, 6]]);
}

#[test]
fn openvino_gather_8_example_6() {
    assert_both_readings(&array![1, 2, 3, 4, 5], &array![0, -2, -1], 0, &array![1, 4, 5]);
}

#[test]
fn openvino_gather_8_example_7() {
    let (data, indices) = (array![1, 2, 3, 4, 5], array![3, 10, -20]);
    assert_with(&data, &indices, Gather::openvino(0), &array![4, 0, 0]);
}

/// What OpenVINO fills with zeros is an error in ONNX.
#[test]
fn openvino_gather_8_example_7_read_by_onnx() {
    let (data, indices) = (array![1, 2, 3, 4, 5], array![3, 10, -20]);
    let refused = Error::IndexOutOfBounds { index: 10, position: vec![1], axis: 0, len: 5 };
    assert_eq!(data.gather(&indices, 0).unwrap_err(), refused);
    assert_eq!(data.gather_with(&indices, Gather::along(0)).unwrap_err(), refused);
    let mut out = array![7, 7, 7];
    assert_eq!(data.gather_into(&indices, Gather::along(0), &mut out).unwrap_err(), refused);
    assert_eq!(out, array![7, 7, 7]);
}

#[test]
#[cfg_attr(miri, ignore = "172,032 elements take minutes")]
fn openvino_gather_8_layer() {
    let data: ArrayD<f32> = array_of(&[2, 64, 128], 1);
    let indices = Array3::from_shape_fn((2, 32, 21), |(b, i, j)| (b * 31 + i * 7 + j * 5) % 64);
    let output = data.gather_with(&indices, Gather::openvino(1).batch_dims(1)).unwrap();
    assert_eq!(output.shape(), [2, 32, 21, 128]);
    for ((b, i, j), &k) in indices.indexed_iter() {
        assert_same(&output.slice(s![b, i, j, ..]), &data.slice(s![b, k, ..]));
    }
}

fn onnx_axis_0() {
    let data = array![[1.0, 1.2], [2.3, 3.4], [4.5, 5.7]];
    let indices = array![[0, 1], [1, 2]];
    let expected = array![[[1.0, 1.2], [2.3, 3.4]], [[2.3, 3.4], [4.5, 5.7]]];
    assert_both_readings(&data, &indices, 0, &expected);
    assert_with(&data, &indices, Gather::default(), &expected);
}

fn onnx_axis_1() {
    let data = array![[1.0, 1.2, 1.9], [2.3, 3.4, 3.9], [4.5, 5.7, 5.9]];
    let expected = array![[[1.0, 1.9]], [[2.3, 3.9]], [[4.5, 5.9]]];
    assert_both_readings(&data, &array![[0, 2]], 1, &expected);
}

#[test]
fn onnx_gather_13_axis_0() {
    onnx_axis_0();
}

#[test]
fn onnx_gather_13_axis_1() {
    onnx_axis_1();
}

#[test]
fn onnx_gather_11_axis_0() {
    onnx_axis_0();
}

#[test]
fn onnx_gather_11_axis_1() {
    onnx_axis_1();
}

#[test]
fn onnx_gather_1_example_1() {
    onnx_axis_0();
}

#[test]
fn onnx_gather_1_example_2() {
    onnx_axis_1();
}

/// `output[q] = data[indices, q]`
#[test]
fn onnx_gather_13_shapes_1() {
    let data: Array2<i64> = array_of(&[3, 4], 2).into_dimensionality().unwrap();
    assert_both_readings(&data, &Array::from_elem((), 2), 0, &data.row(2).to_owned());
}

/// `output[p, r] = data[p, indices, r]`
#[test]
fn onnx_gather_13_shapes_2() {
    let data: Array3<i64> = array_of(&[3, 4, 5], 3).into_dimensionality().unwrap();
    let expected = data.slice(s![.., 3, ..]).to_owned();
    assert_both_readings(&data, &Array::from_elem((), 3), 1, &expected);
}

/// `output[r, s, q] = data[indices[r, s], q]`
#[test]
fn onnx_gather_13_shapes_3() {
    let data: Array2<i64> = array_of(&[3, 4], 4).into_dimensionality().unwrap();
    let indices = array![[2, 0, 1, 1, 0], [0, 0, 2, 1, 2]];
    let at = |i: i64| i as usize;
    let expected = Array::from_shape_fn((2, 5, 4), |(r, s, q)| data[[at(indices[[r, s]]), q]]);
    assert_both_readings(&data, &indices, 0, &expected);
}

/// `output[p, r, s] = data[p, indices[r, s]]`
#[test]
fn onnx_gather_13_shapes_4() {
    let data: Array2<i64> = array_of(&[3, 4], 5).into_dimensionality().unwrap();
    let indices = array![[3, 0, 1, 1, 2], [0, 3, 2, 1, 2]];
    let at = |i: i64| i as usize;
    let expected = Array::from_shape_fn((3, 2, 5), |(p, r, s)| data[[p, at(indices[[r, s]])]]);
    assert_both_readings(&data, &indices, 1, &expected);
}

/// Every allowed `batch_dims` of three-dimensional data and indices, by its
/// number from the front and from the end.
#[test]
fn openvino_gather_8_every_batch_dims() {
    let shape = if cfg!(miri) { [2, 2, 2] } else { [2, 3, 4] };
    let data: ArrayD<i16> = array_of(&shape, 6);
    let indices = ArrayD::from_shape_fn(&shape[..], |i| ((i[0] + 2 * i[1] + 3 * i[2]) % 2) as i128);
    let narrow = indices.mapv(|index| index as i32);
    for axis in 0..3_i32 {
        for batch_dims in -3..=axis {
            let expected = oracle::gather(
                &data,
                &indices,
                axis.into(),
                batch_dims.into(),
                &OutOfBounds::Error,
            );
            let attributes = Gather::along(axis).batch_dims(batch_dims);
            match (data.gather_with(&narrow, attributes), expected) {
                (Ok(output), Ok(expected)) => assert_same(&output, &expected),
                (Err(error), Err(refused)) => assert!(refused.is(&error), "{error}"),
                (output, expected) => panic!("{output:?} instead of {expected:?}"),
            }
        }
    }
}
