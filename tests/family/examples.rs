//! The examples of the specifications and of other libraries, returned, into
//! an array and in place.

use ndarray::{Array, Array1, Array2, Array3, ArrayD, Axis, Dimension, array};
use opkernels::{
    GatherElementsExt, GatherExt, GatherNd, GatherNdExt, Reduction, Result, Scatter,
    ScatterElements, ScatterElementsExt, ScatterExt, ScatterNd, ScatterNdExt,
};

/// Elements along an axis.
fn elements<D: Dimension>(
    data: &Array<i32, D>,
    indices: &Array<i64, D>,
    axis: i32,
    expected: &Array<i32, D>,
) {
    assert_eq!(&data.gather_elements(indices, axis).unwrap(), expected);
    let negative = axis - data.ndim() as i32;
    assert_eq!(&data.gather_elements_with(indices, negative).unwrap(), expected);
    let mut out = Array::<i32, D>::zeros(expected.raw_dim());
    data.gather_elements_into(indices, axis, &mut out).unwrap();
    assert_eq!(&out, expected);
}

#[test]
fn onnx_gather_elements_13() {
    let (data, indices) = (array![[1, 2], [3, 4]], array![[0, 0], [1, 0]]);
    elements(&data, &indices, 1, &array![[1, 1], [4, 3]]);
    let data = array![[1, 2, 3], [4, 5, 6], [7, 8, 9]];
    elements(&data, &array![[1, 2, 0], [2, 0, 0]], 0, &array![[4, 8, 3], [7, 2, 3]]);
}

#[test]
fn openvino_gather_elements_6() {
    let data = array![[1, 2], [3, 4]];
    elements(&data, &array![[0, 1], [0, 0]], 0, &array![[1, 4], [1, 2]]);
    let data = array![[1, 7], [4, 3]];
    elements(&data, &array![[1, 1, 0], [1, 0, 1]], 1, &array![[7, 7, 1], [3, 4, 3]]);
    let data = array![[1, 2, 3], [4, 5, 6], [7, 8, 9]];
    elements(&data, &array![[1, 0, 1], [1, 2, 0]], 0, &array![[4, 2, 6], [4, 8, 3]]);
    // Its formulas and the shapes of its layer.
    let data =
        Array3::from_shape_fn((3, 7, 5), |(i, j, k)| 100 * i as i32 + 10 * j as i32 + k as i32);
    let indices = Array3::from_shape_fn((3, 10, 5), |(i, j, k)| (i + 2 * j + 3 * k) as i64 % 7);
    let expected =
        Array3::from_shape_fn((3, 10, 5), |(i, j, k)| data[[i, indices[[i, j, k]] as usize, k]]);
    elements(&data, &indices, 1, &expected);
}

#[test]
fn pytorch_gather() {
    let data = array![[1, 2], [3, 4]];
    elements(&data, &array![[0, 0], [1, 0]], 1, &array![[1, 1], [4, 3]]);
    // The index may be shorter off the axis, too.
    let data = array![[1, 2, 3], [4, 5, 6]];
    elements(&data, &array![[2, 0, 0, 1]], 1, &array![[3, 1, 1, 2]]);
}

/// Sorting and maxima by indices.
#[test]
fn numpy_take_along_axis() {
    let data = array![[10, 30, 20], [60, 40, 50]];
    elements(&data, &array![[0, 2, 1], [1, 2, 0]], 1, &array![[10, 20, 30], [40, 50, 60]]);
    elements(&data, &array![[1], [0]], 1, &array![[30], [60]]);
    elements(&data, &array![[0, 1], [1, 0]], 1, &array![[10, 30], [40, 60]]);
    // Where NumPy broadcasts, a caller broadcasts a view.
    let row = array![[2, 0]];
    let taken = data.gather_elements(&row.broadcast((2, 2)).unwrap(), 1).unwrap();
    assert_eq!(taken, array![[20, 10], [50, 60]]);
}

#[test]
fn numpy_put_along_axis() {
    let mut data = array![[10, 30, 20], [60, 40, 50]];
    // One value for all.
    data.scatter_elements_inplace(&array![[1], [0]], &99, 1).unwrap();
    assert_eq!(data, array![[10, 99, 20], [99, 40, 50]]);
}

/// Tuples of indices.
fn tuples(data: &ArrayD<i32>, indices: &ArrayD<i64>, batch_dims: i64, expected: &ArrayD<i32>) {
    if batch_dims == 0 {
        assert_eq!(&data.gather_nd(indices).unwrap(), expected);
    }
    let attributes = GatherNd::new().batch_dims(batch_dims);
    assert_eq!(&data.gather_nd_with(indices, attributes).unwrap(), expected);
    let mut out = ArrayD::<i32>::zeros(expected.raw_dim());
    let attributes = GatherNd::new().batch_dims(batch_dims);
    data.gather_nd_into(indices, attributes, &mut out).unwrap();
    assert_eq!(&out, expected);
}

fn dynamic<A, D: Dimension>(array: Array<A, D>) -> ArrayD<A> {
    array.into_dyn()
}

#[test]
fn onnx_gather_nd_13() {
    let square = dynamic(array![[0, 1], [2, 3]]);
    tuples(&square, &dynamic(array![[0, 0], [1, 1]]), 0, &dynamic(array![0, 3]));
    tuples(&square, &dynamic(array![[1], [0]]), 0, &dynamic(array![[2, 3], [0, 1]]));
    let cube = dynamic(array![[[0, 1], [2, 3]], [[4, 5], [6, 7]]]);
    tuples(&cube, &dynamic(array![[0, 1], [1, 0]]), 0, &dynamic(array![[2, 3], [4, 5]]));
    let indices = dynamic(array![[[0, 1]], [[1, 0]]]);
    tuples(&cube, &indices, 0, &dynamic(array![[[2, 3]], [[4, 5]]]));
    tuples(&cube, &dynamic(array![[1], [0]]), 1, &dynamic(array![[2, 3], [4, 5]]));
}

#[test]
fn openvino_gather_nd_8() {
    let square = dynamic(array![[1, 2], [3, 4]]);
    tuples(&square, &dynamic(array![[0, 0], [1, 0]]), 0, &dynamic(array![1, 3]));
    tuples(&square, &dynamic(array![[1], [0]]), 0, &dynamic(array![[3, 4], [1, 2]]));
    let indices = dynamic(array![[[1]], [[0]]]);
    tuples(&square, &indices, 0, &dynamic(array![[[3, 4]], [[1, 2]]]));
    tuples(&square, &dynamic(array![[1], [0]]), 1, &dynamic(array![2, 3]));
    let block = Array1::from_iter(1..=24).into_shape_with_order((2, 3, 4)).unwrap().into_dyn();
    let rows = dynamic(array![[5, 6, 7, 8], [13, 14, 15, 16]]);
    tuples(&block, &dynamic(array![[1], [0]]), 1, &rows);
    let indices = array![[1, 0, 2], [0, 2, 2]].into_shape_with_order(vec![2, 3, 1, 1]).unwrap();
    let expected = array![[2, 5, 11], [13, 19, 23]].into_shape_with_order(vec![2, 3, 1]).unwrap();
    tuples(&block, &indices, 2, &expected);
    let block = Array1::from_iter(1..=16).into_shape_with_order(vec![1, 2, 2, 4]).unwrap();
    let indices = array![1, 0, 3, 2].into_shape_with_order(vec![1, 2, 2, 1]).unwrap();
    let expected = array![2, 5, 12, 15].into_shape_with_order(vec![1, 2, 2]).unwrap();
    tuples(&block, &indices, 3, &expected);
}

/// The shapes of its layers; the second has one index a batch where the
/// specification's output has a dimension less than its formula gives.
#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn openvino_gather_nd_8_layers() {
    let shape = |data: &[usize], indices: &[usize], batch_dims: i64| {
        let (data, indices) = (ArrayD::<u8>::zeros(data), ArrayD::<u16>::zeros(indices));
        let output = data.gather_nd_with(&indices, GatherNd::new().batch_dims(batch_dims));
        output.unwrap().shape().to_vec()
    };
    assert_eq!(shape(&[1000, 256, 10, 15], &[25, 125, 3], 0), [25, 125, 15]);
    assert_eq!(shape(&[30, 2, 100, 35], &[30, 2, 3, 1], 2), [30, 2, 3, 35]);
    assert_eq!(shape(&[1, 64, 64, 320], &[1, 64, 64, 1, 1], 3), [1, 64, 64, 1]);
}

/// Slices that are overwritten.
fn slices(
    data: &Array2<i32>,
    indices: &[i64],
    updates: &Array2<i32>,
    axis: i32,
    expected: &Array2<i32>,
) {
    assert_eq!(&data.scatter(indices, updates, axis).unwrap(), expected);
    assert_eq!(&data.scatter_with(indices, updates, axis - 2).unwrap(), expected);
    let mut target = data.clone();
    target.scatter_inplace(indices, updates, axis).unwrap();
    assert_eq!(&target, expected);
}

#[test]
fn openvino_scatter_update_3() {
    let data = array![[-1, 1, -1, 3, 4], [-1, 6, -1, 8, 9], [-1, 11, 1, 13, 14]];
    let updates = array![[1, 1], [1, 1], [1, 2]];
    let expected = array![[1, 1, 1, 3, 4], [1, 6, 1, 8, 9], [1, 11, 2, 13, 14]];
    slices(&data, &[0, 2], &updates, 1, &expected);
    // Indices without dimensions and of two: `data[indices[i, j], ..] = updates[i, j, ..]`
    let output = data.scatter(&1, &array![5, 4, 3, 2, 1], 0).unwrap();
    assert_eq!(output.row(1), array![5, 4, 3, 2, 1]);
    let updates = Array3::from_shape_fn((2, 1, 5), |(i, _, k)| (10 * i + k) as i32);
    let output = data.scatter(&array![[2], [0]], &updates, 0).unwrap();
    assert_eq!(output, array![[10, 11, 12, 13, 14], [-1, 6, -1, 8, 9], [0, 1, 2, 3, 4]]);
}

/// Its layer, some ten times smaller.
#[test]
fn openvino_scatter_update_3_layer() {
    let data = ArrayD::<u8>::zeros(vec![20, 26, 3, 5]);
    let indices = Array2::from_shape_fn((4, 3), |(i, j)| 5 * i + j);
    let updates = ArrayD::<u8>::ones(vec![20, 4, 3, 3, 5]);
    let output = data.scatter(&indices, &updates, 1).unwrap();
    for (k, slice) in output.axis_iter(Axis(1)).enumerate() {
        let touched = k < 20 && k % 5 < 3;
        assert!(slice.iter().all(|&element| element == u8::from(touched)), "{k}");
    }
}

#[test]
fn pytorch_index_add() {
    let updates = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]];
    let mut x = Array2::<f32>::ones((5, 3));
    x.scatter_inplace(&[0, 4, 2], &updates, Scatter::sum(0)).unwrap();
    let one = [1.0; 3];
    assert_eq!(x, array![[2.0, 3.0, 4.0], one, [8.0, 9.0, 10.0], one, [5.0, 6.0, 7.0]]);
    // alpha = -1
    let sub = Scatter::along(0).reduction(Reduction::Sub);
    x.scatter_inplace(&[0, 4, 2], &updates, sub).unwrap();
    assert_eq!(x, Array2::ones((5, 3)));
}

/// Tuples of indices whose targets are reduced.
fn reduced(
    reduction: Reduction,
    data: &ArrayD<i32>,
    indices: &ArrayD<i64>,
    updates: &ArrayD<i32>,
    expected: &ArrayD<i32>,
) {
    let attributes = ScatterNd::new().reduction(reduction);
    assert_eq!(&data.scatter_nd_with(indices, updates, attributes).unwrap(), expected);
    let mut target = data.clone();
    target.scatter_nd_inplace(indices, updates, attributes).unwrap();
    assert_eq!(&target, expected);
    if reduction == Reduction::None {
        assert_eq!(&data.scatter_nd(indices, updates).unwrap(), expected);
    }
}

/// The four by four by four of ONNX's and OpenVINO's examples.
fn block() -> ArrayD<i32> {
    let rows = array![[1, 2, 3, 4], [5, 6, 7, 8], [8, 7, 6, 5], [4, 3, 2, 1]];
    // The last two squares begin with the last two rows.
    dynamic(Array3::from_shape_fn((4, 4, 4), |(i, j, k)| rows[[(j + i / 2 * 2) % 4, k]]))
}

/// Rows of one number each.
fn block_updates() -> ArrayD<i32> {
    let numbers = array![[5, 6, 7, 8], [1, 2, 3, 4]];
    dynamic(Array3::from_shape_fn((2, 4, 4), |(i, j, _)| numbers[[i, j]]))
}

#[test]
fn onnx_scatter_nd_18() {
    let data = Array1::from_iter(1..=8).into_dyn();
    let (indices, updates) = (dynamic(array![[4], [3], [1], [7]]), dynamic(array![9, 10, 11, 12]));
    let expected = dynamic(array![1, 11, 3, 10, 9, 6, 7, 12]);
    reduced(Reduction::None, &data, &indices, &updates, &expected);

    let data = block();
    let updates = block_updates();
    let mut expected = data.clone();
    expected.index_axis_mut(Axis(0), 0).assign(&updates.index_axis(Axis(0), 0));
    expected.index_axis_mut(Axis(0), 2).assign(&updates.index_axis(Axis(0), 1));
    reduced(Reduction::None, &data, &dynamic(array![[0], [2]]), &updates, &expected);
}

/// The four reductions, with a repeated tuple, as its operator's tests have
/// them.
#[test]
fn onnx_scatter_nd_18_reductions() {
    let updates = block_updates();
    let (data, indices) = (block(), dynamic(array![[0], [0]]));
    type Combine = fn(i32, i32) -> i32;
    let pairs: [(Reduction, Combine); 4] = [
        ("add".parse().unwrap(), |a, b| a + b),
        ("mul".parse().unwrap(), |a, b| a * b),
        (Reduction::Max, i32::max),
        (Reduction::Min, i32::min),
    ];
    for (reduction, combine) in pairs {
        let mut expected = data.clone();
        for update in updates.outer_iter() {
            expected.index_axis_mut(Axis(0), 0).zip_mut_with(&update, |a, &b| *a = combine(*a, b));
        }
        reduced(reduction, &data, &indices, &updates, &expected);
    }
    let sum = data.scatter_nd_with(&indices, &updates, ScatterNd::sum()).unwrap();
    assert_eq!(sum.index_axis(Axis(0), 0).index_axis(Axis(0), 0), dynamic(array![7, 8, 9, 10]));
}

#[test]
fn openvino_scatter_nd_update_15() {
    let data = Array1::from_iter(1..=8).into_dyn();
    let indices = dynamic(array![[4], [3], [1], [7], [-2], [-4]]);
    let updates = dynamic(array![9, 10, 11, 12, 13, 14]);
    // The specification prints 4 for element 4, which its own index 4 writes
    // and -4 writes again.
    let expected = dynamic(array![1, 11, 3, 10, 14, 6, 13, 12]);
    reduced(Reduction::None, &data, &indices, &updates, &expected);

    let data = Array1::from_iter(1..=4).into_dyn();
    let indices = dynamic(array![[0], [2], [-3], [-3], [0]]);
    let updates = dynamic(array![10, 20, 30, 40, 50]);
    // The order of repeated targets is open there; here the last one wins. (It
    // prints 20 for element 1, which only 30 and 40 are written to.)
    reduced(Reduction::None, &data, &indices, &updates, &dynamic(array![50, 40, 20, 4]));
    reduced(Reduction::Sum, &data, &indices, &updates, &dynamic(array![61, 72, 23, 4]));
    reduced(Reduction::Sub, &data, &indices, &updates, &dynamic(array![-59, -68, -17, 4]));
    // It prints 3600 and 40 for elements 1 and 2, with their factors exchanged.
    reduced(Reduction::Prod, &data, &indices, &updates, &dynamic(array![500, 2400, 60, 4]));
}

#[test]
fn onnx_scatter_elements_18() -> Result<()> {
    let (indices, updates) =
        (array![[1, 0, 2], [0, 2, 1]], array![[1.0, 1.1, 1.2], [2.0, 2.1, 2.2]]);
    let output = Array2::<f32>::zeros((3, 3)).scatter_elements(&indices, &updates, 0)?;
    assert_eq!(output, array![[2.0, 1.1, 0.0], [1.0, 0.0, 2.2], [0.0, 2.1, 1.2]]);
    let data = array![[1.0, 2.0, 3.0, 4.0, 5.0]];
    let output = data.scatter_elements(&array![[1, 3]], &array![[1.1, 2.1]], 1)?;
    assert_eq!(output, array![[1.0, 1.1, 3.0, 2.1, 5.0]]);
    // Its reductions: `output[indices[i][j]][j] = f(output[indices[i][j]][j], updates[i][j])`
    let data = array![[1.0, 2.0, 3.0, 4.0, 5.0]];
    let (indices, updates) = (array![[1, 1]], array![[1.1, 2.1]]);
    let reduce = |reduction: &str| {
        let attributes = ScatterElements::along(1).reduction(reduction.parse()?);
        Ok::<_, opkernels::Error>(
            data.scatter_elements_with(&indices, &updates, attributes)?[[0, 1]],
        )
    };
    assert_eq!(reduce("add")?, 2.0 + 1.1 + 2.1);
    assert_eq!(reduce("mul")?, 2.0 * 1.1 * 2.1);
    assert_eq!(reduce("max")?, 2.1);
    assert_eq!(reduce("min")?, 1.1);
    Ok(())
}

/// Every gather and its scatter: what was taken is put back.
#[test]
fn there_and_back() -> Result<()> {
    let data = array![[1, 2, 3], [4, 5, 6]];
    let rows = data.gather(&[1, 0], 0)?;
    assert_eq!(Array2::zeros((2, 3)).scatter(&[1, 0], &rows, 0)?, data);
    let order = array![[2, 0, 1], [1, 2, 0]];
    let taken = data.gather_elements(&order, 1)?;
    assert_eq!(Array2::zeros((2, 3)).scatter_elements(&order, &taken, 1)?, data);
    let cells = array![[0, 0], [1, 2]];
    let taken = data.gather_nd(&cells)?;
    let back = Array2::zeros((2, 3)).scatter_nd(&cells, &taken)?;
    assert_eq!(back, array![[1, 0, 0], [0, 0, 6]]);
    Ok(())
}
