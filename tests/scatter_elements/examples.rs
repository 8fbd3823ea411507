//! The worked examples and formulas of OpenVINO ScatterElementsUpdate-12.

use ndarray::{Array, Array2, Array3, Array4, Dimension, array};
use opkernels::{ReduceElement, Reduction, ScatterElements, ScatterElementsExt};

use crate::common::{REDUCTIONS, Reduce, Value, array_of, assert_same};

/// The result returned and in place.
fn assert_scattered<A: Value + ReduceElement, D: Dimension>(
    data: &Array<A, D>,
    indices: &Array<i64, D>,
    updates: &Array<A, D>,
    attributes: ScatterElements,
    expected: &Array<A, D>,
) {
    let output = data.scatter_elements_with(indices, updates, attributes).unwrap();
    assert_same(&output, expected);
    let mut target = data.clone();
    target.scatter_elements_inplace(indices, updates, attributes).unwrap();
    assert_same(&target, expected);
}

/// The result of an overwriting scatter, by every call that does it.
fn assert_overwritten<A: Value + ReduceElement, D: Dimension>(
    data: &Array<A, D>,
    indices: &Array<i64, D>,
    updates: &Array<A, D>,
    axis: i32,
    expected: &Array<A, D>,
) {
    assert_same(&data.scatter_elements(indices, updates, axis).unwrap(), expected);
    let mut target = data.clone();
    target.scatter_elements_inplace(indices, updates, axis).unwrap();
    assert_same(&target, expected);
    for use_init_val in [true, false] {
        let attributes = ScatterElements::along(axis).use_init_val(use_init_val);
        assert_scattered(data, indices, updates, attributes, expected);
    }
}

#[test]
fn openvino_scatter_elements_update_12_example_1() {
    let (data, expected) = (array![2, 3, 4, 6], array![52, 13, 104, 76]);
    let (indices, updates) = (array![1, 0, 0, -2, -1, 2], array![10, 20, 30, 40, 70, 60]);
    let sum = ScatterElements::along(0).reduction(Reduction::Sum);
    assert_scattered(&data, &indices, &updates, sum, &expected);
    let f32 = |a: &ndarray::Array1<i32>| a.mapv(|x| x as f32);
    assert_scattered(&f32(&data), &indices, &f32(&updates), sum, &f32(&expected));
}

#[test]
fn openvino_scatter_elements_update_12_example_2() {
    let (data, expected) = (array![2, 3, 4, 6], array![50, 10, 100, 70]);
    let (indices, updates) = (array![1, 0, 0, 2, 3, 2], array![10, 20, 30, 40, 70, 60]);
    let sum = ScatterElements::along(0).reduction(Reduction::Sum).use_init_val(false);
    assert_scattered(&data, &indices, &updates, sum, &expected);
    let f32 = |a: &ndarray::Array1<i32>| a.mapv(|x| x as f32);
    assert_scattered(&f32(&data), &indices, &f32(&updates), sum, &f32(&expected));
}

#[test]
fn openvino_scatter_elements_update_12_example_3() {
    let data = Array2::<i32>::zeros((3, 4));
    let (indices, updates) = (array![[1, 2], [0, 3]], array![[11, 12], [13, 14]]);
    let expected = array![[0, 11, 12, 0], [13, 0, 0, 14], [0, 0, 0, 0]];
    assert_overwritten(&data, &indices, &updates, 1, &expected);
}

#[test]
fn openvino_scatter_elements_update_12_example_4() {
    let data = Array2::<i32>::ones((3, 4));
    let (indices, updates) = (array![[1, 1], [0, 3]], array![[11, 12], [13, 14]]);
    let expected = array![[1, 24, 1, 1], [14, 1, 1, 15], [1, 1, 1, 1]];
    let sum = ScatterElements::along(1).reduction(Reduction::Sum);
    assert_scattered(&data, &indices, &updates, sum, &expected);
}

#[test]
fn openvino_scatter_elements_update_12_example_5() {
    let data = Array2::<i32>::from_elem((3, 4), 2);
    let (indices, updates) = (array![[1, 1], [0, 3]], array![[11, 12], [13, 14]]);
    let expected = array![[2, 264, 2, 2], [26, 2, 2, 28], [2, 2, 2, 2]];
    let prod = ScatterElements::along(1).reduction(Reduction::Prod);
    assert_scattered(&data, &indices, &updates, prod, &expected);
}

#[test]
#[cfg_attr(miri, ignore = "12.5 million elements")]
fn openvino_scatter_elements_update_12_example_6() {
    let data = Array4::from_shape_fn((1000, 256, 7, 7), |(a, b, c, d)| (a + b + c * d) as f32);
    let small = [125, 20, 7, 6];
    let indices = Array4::from_shape_fn(small, |(a, b, c, d)| {
        (a * 389 + b * 31 + c * 7 + d) as i64 % 2000 - 1000
    });
    let updates = Array4::<f32>::from_shape_fn(small, |(a, b, c, d)| (a * b + c * d) as f32);
    let mut expected = data.clone();
    for ((a, b, c, d), &index) in indices.indexed_iter() {
        expected[[index.rem_euclid(1000) as usize, b, c, d]] = updates[[a, b, c, d]];
    }
    let output = data.scatter_elements(&indices, &updates, 0).unwrap();
    assert!(output == expected);
    let mut target = data;
    target.scatter_elements_inplace(&indices, &updates, ScatterElements::default()).unwrap();
    assert!(target == expected);
}

/// The operation that the specification writes for each reduction, applied to
/// one pair of values.
fn reduced(reduction: Reduction, old: i32, update: i32) -> i32 {
    match reduction {
        Reduction::Sum => old + update,
        Reduction::Sub => old - update,
        Reduction::Prod => old * update,
        Reduction::Min => old.min(update),
        Reduction::Max => old.max(update),
        Reduction::Mean => (old + update).div_euclid(2),
        _ => update,
    }
}

/// `output[indices[i]] = reduction(updates[i], output[indices[i]])`
#[test]
fn openvino_scatter_elements_update_12_formulas_1d() {
    let data = array![5, -3, 8, 2];
    let (indices, updates) = (array![3, 0, -2], array![7, -4, 1]);
    for reduction in REDUCTIONS {
        let mut expected = data.clone();
        for (i, k) in [3, 0, 2].into_iter().enumerate() {
            expected[k] = reduced(reduction, expected[k], updates[i]);
        }
        let attributes = ScatterElements::along(0).reduction(reduction);
        assert_scattered(&data, &indices, &updates, attributes, &expected);
    }
}

/// `output[indices[i][j]][j]` along axis 0, `output[i][indices[i][j]]` along
/// axis 1.
#[test]
fn openvino_scatter_elements_update_12_formulas_2d() {
    let data = Array2::from_shape_fn((3, 3), |(i, j)| (7 * i * i + 5 * j) as i32 - 9);
    // No target repeats, along either axis.
    let indices = array![[2, 0, 1], [0, 1, 2]];
    let updates = array![[4, -6, 3], [8, 2, -7]];
    for reduction in REDUCTIONS {
        for axis in 0..2 {
            let mut expected = data.clone();
            for ((i, j), &k) in indices.indexed_iter() {
                let target = if axis == 0 { [k as usize, j] } else { [i, k as usize] };
                expected[target] = reduced(reduction, expected[target], updates[[i, j]]);
            }
            let attributes = ScatterElements::along(axis).reduction(reduction);
            assert_scattered(&data, &indices, &updates, attributes, &expected);
        }
    }
}

/// `output[indices[i][j][k]][j][k]` along axis 0, and so on.
#[test]
fn openvino_scatter_elements_update_12_formulas_3d() {
    let data = Array3::from_shape_fn((3, 4, 3), |(i, j, k)| (11 * i + 5 * j * k) as i32 - 12);
    let updates = Array3::from_shape_fn((2, 3, 2), |(i, j, k)| (3 * i * k) as i32 - 2 * j as i32);
    for axis in 0..3 {
        // A shift for every lane, so that no target repeats.
        let indices = Array3::from_shape_fn((2, 3, 2), |(i, j, k)| {
            let along = [i, j, k][axis];
            let lane = i + j + k - along;
            ((along + lane) % 3) as i64
        });
        for reduction in REDUCTIONS {
            let mut expected = data.clone();
            for ((i, j, k), &index) in indices.indexed_iter() {
                let mut target = [i, j, k];
                target[axis] = index as usize;
                expected[target] = reduced(reduction, expected[target], updates[[i, j, k]]);
            }
            let attributes = ScatterElements::along(axis as i64 - 3).reduction(reduction);
            assert_scattered(&data, &indices, &updates, attributes, &expected);
        }
    }
}

/// Example 6 by shape, with a sum that depends on the order of updates.
#[test]
#[cfg_attr(miri, ignore = "105,000 updates take minutes")]
fn openvino_scatter_elements_update_12_layer_sum() {
    let shape = [40, 25, 7, 7];
    let data: Array4<f32> = array_of(&shape, 1).into_dimensionality().unwrap();
    let data = data.mapv(|x| if x.is_finite() { x } else { 0.5 });
    let small = [125, 20, 7, 6];
    let indices = Array4::from_shape_fn(small, |(a, b, c, d)| ((a * 7 + b + c * d) % 40) as i64);
    let updates = Array4::from_shape_fn(small, |(a, b, c, d)| (a * 97 + b * c + d) as f32 * 0.1);
    let mut lists = Array4::from_elem(shape, Vec::new());
    for ((a, b, c, d), &index) in indices.indexed_iter() {
        lists[[index as usize, b, c, d]].push(updates[[a, b, c, d]]);
    }
    for (reduction, use_init_val) in [(Reduction::Sum, true), (Reduction::Mean, false)] {
        let mut expected = data.clone();
        for (old, list) in expected.iter_mut().zip(&lists).filter(|(_, list)| !list.is_empty()) {
            *old = f32::reduced(reduction, use_init_val.then_some(*old), list);
        }
        let attributes = ScatterElements::along(0).reduction(reduction).use_init_val(use_init_val);
        assert_scattered(&data, &indices, &updates, attributes, &expected);
    }
}
