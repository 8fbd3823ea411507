//! Every operation of the family against its formula, in all of its forms.

#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use ndarray::{ArcArray, Array, Array1, Array2, Array3, ArrayD, Axis, Dimension, arr0, array};
use opkernels::*;

fn uninit<D: Dimension>(shape: D) -> Array<MaybeUninit<i32>, D> {
    Array::uninit(shape)
}

fn initialised<D: Dimension>(array: Array<MaybeUninit<i32>, D>) -> Array<i32, D> {
    // SAFETY: only called after `Ok`.
    unsafe { array.assume_init() }
}

fn cube() -> Array3<i32> {
    Array3::from_shape_fn((3, 4, 5), |(i, j, k)| (100 * i + 10 * j + k) as i32)
}

#[test]
fn gather_elements() -> Result<()> {
    let data = cube();
    for axis in 0..3_usize {
        let mut shape = [2, 3, 4];
        shape[axis] = 7;
        let len = data.shape()[axis] as i64;
        let indices =
            Array3::from_shape_fn(shape, |(i, j, k)| (5 * i + 3 * j + k) as i64 % (2 * len) - len);
        let expected = Array3::from_shape_fn(shape, |at| {
            let mut from: [usize; 3] = at.into();
            from[axis] = indices[at].rem_euclid(len) as usize;
            data[from]
        });
        assert_eq!(data.gather_elements(&indices, Axis(axis))?, expected);
        assert_eq!(data.gather_elements_with(&indices, axis as i64 - 3)?, expected);
        let mut out = Array3::<i32>::zeros(shape);
        data.gather_elements_into(&indices, axis as i64, &mut out)?;
        assert_eq!(out, expected);
        let mut out = uninit(expected.raw_dim());
        let attributes = GatherElements::along(axis as i64);
        data.gather_elements_into(&indices, attributes, &mut out)?;
        assert_eq!(initialised(out), expected);
        // Its gradient.
        let ones = Array3::from_elem(shape, 1);
        let mut back = Array3::<i32>::zeros(data.raw_dim());
        back.scatter_elements_inplace(&indices, &ones, ScatterElements::sum(axis as i64))?;
        assert_eq!((&back * &data).sum(), expected.sum());
    }
    Ok(())
}

#[test]
fn gather_nd() -> Result<()> {
    let data = cube();
    let tuples = array![[[0, -1], [2, 1]], [[1, 0], [-3, 3]]];
    let expected = Array3::from_shape_fn((2, 2, 5), |(a, b, k)| {
        let at = |n: usize, len: i64| (tuples[[a, b, n]] as i64).rem_euclid(len) as usize;
        data[[at(0, 3), at(1, 4), k]]
    });
    assert_eq!(data.gather_nd(&tuples)?, expected.clone().into_dyn());
    let mut out = uninit(expected.raw_dim());
    data.gather_nd_into(&tuples, GatherNd::new(), &mut out)?;
    assert_eq!(initialised(out), expected);

    let batch = array![[[0_u8, 4]], [[3, 0]], [[2, 2]]];
    let got = data.gather_nd_with(&batch, GatherNd::new().batch_dims(1_usize))?;
    assert_eq!(got, array![[4], [130], [222]].into_dyn());
    let got = data.gather_nd_with(&batch, GatherNd::new().batch_dims(-2))?;
    assert_eq!(got, array![[4], [130], [222]].into_dyn());

    let fill = GatherNd::new().out_of_bounds(OutOfBounds::Fill(-1));
    assert_eq!(data.gather_nd_with(&[1, 2, 9], fill)?, arr0(-1).into_dyn());
    let clip = GatherNd::new().out_of_bounds(OutOfBounds::Clip);
    assert_eq!(data.gather_nd_with(&[1, 2, 9], clip)?, arr0(124).into_dyn());
    let wrap = GatherNd::new().out_of_bounds(OutOfBounds::Wrap);
    assert_eq!(data.gather_nd_with(&[1, 2, 9], wrap)?, arr0(124).into_dyn());

    let error = data.gather_nd(&array![[0, 0], [1, 2], [1, 7]]).unwrap_err();
    let message =
        "index 7 at indices[2, 1] is out of bounds for axis 1 of length 4 (expected -4..=3)";
    assert_eq!(error.to_string(), message);
    let error = data.gather_nd(&Array2::<i64>::zeros((2, 0))).unwrap_err();
    assert_eq!(error, Error::TupleLengthOutOfRange { len: 0, data_rank: 3, batch_dims: 0 });
    assert_eq!(
        data.gather_nd(&[0; 4]).unwrap_err().to_string(),
        "the last axis of indices has length 4 (expected 1..=3: each number of a tuple selects along \
        an axis of data of rank 3)"
    );
    assert_eq!(data.gather_nd(&0).unwrap_err(), Error::NoTuples);
    assert!(arr0(1).gather_nd(&[0]).is_err());
    assert!(data.gather_nd_with(&[0], GatherNd::new().batch_dims(1)).is_err());
    let says = |indices: &[usize], batch_dims: i64| {
        let indices = ArrayD::<i64>::zeros(indices);
        let attributes = GatherNd::new().batch_dims(batch_dims);
        data.gather_nd_with(&indices, attributes).unwrap_err().to_string()
    };
    assert_eq!(
        says(&[2, 3, 0], 1),
        "the last axis of indices has length 0 (expected 1..=2: each number of a tuple selects along \
        an axis of data of rank 3 after 1 batch dimension)"
    );
    // All axes but one may be batch dimensions.
    assert_eq!(
        says(&[2, 3, 4, 1], 3),
        "batch_dims 3 is out of range for data of rank 3 and indices of rank 4, whose last axis holds \
        tuples (expected 0..=2, or -4..=-2)"
    );
    assert_eq!(
        arr0(1).gather_nd(&[0]).unwrap_err().to_string(),
        "the last axis of indices has length 1 (no tuple length is possible: data of rank 0 has no \
        axis)"
    );
    Ok(())
}

#[test]
fn scatter() -> Result<()> {
    let data = cube();
    let indices = array![[3, -1], [0, 3]];
    let updates = data.gather(&indices, 1)?.mapv(|value| 7 * value + 1);
    let mut sum = data.clone();
    let mut last = data.clone();
    for ((i, a, b, k), &update) in updates.indexed_iter() {
        let j = (indices[[a, b]] as i64).rem_euclid(4) as usize;
        sum[[i, j, k]] += update;
        last[[i, j, k]] = update;
    }
    assert_eq!(data.scatter(&indices, &updates, 1)?, last);
    assert_eq!(data.scatter_with(&indices, &updates, -2)?, last);
    assert_eq!(data.scatter_with(&indices, &updates, Scatter::sum(1))?, sum);
    let mut target = data.clone();
    target.scatter_inplace(&indices, &updates, Scatter::sum(Axis(1)))?;
    assert_eq!(target, sum);
    let mut target = data.clone();
    target.scatter_fold(&indices, &updates, 1, |held, new| *held += new)?;
    assert_eq!(target, sum);

    // One value for all.
    let mut counts = Array1::<u32>::zeros(3);
    counts.scatter_inplace(&[0, 2, 2], &1, Scatter::sum(0))?;
    assert_eq!(counts, array![1, 0, 2]);
    counts.scatter_inplace(&[1], &arr0(9).into_dyn(), 0)?;
    assert_eq!(counts, array![1, 9, 2]);
    counts.scatter_fold(&[1, 2], &true, 0, |count, &new| *count += u32::from(new))?;
    assert_eq!(counts, array![1, 10, 3]);

    let attributes = Scatter::max(2).batch_dims(1_usize);
    let indices = array![[0_i8], [1], [2]];
    let got = data.scatter_with(&indices, &1000, attributes)?;
    for ((i, j, k), &value) in got.indexed_iter() {
        assert_eq!(value, if i == k { 1000 } else { data[[i, j, k]] });
    }
    let error = data.scatter(&[0, 1], &array![[1, 2]], 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "updates have shape [1, 2] (expected [3, 2, 5], the shape that gather returns by the same \
         indices, or a single value)"
    );
    Ok(())
}

#[test]
fn scatter_nd() -> Result<()> {
    let grid = Array2::<i32>::zeros((3, 2));
    let cells = array![[0, 1], [2, -2], [0, 1]];
    assert_eq!(grid.scatter_nd(&cells, &[1, 2, 3])?, array![[0, 3], [0, 0], [2, 0]]);
    assert_eq!(
        grid.scatter_nd_with(&cells, &[1, 2, 3], ScatterNd::sub())?,
        array![[0, -4], [0, 0], [-2, 0]]
    );
    let mut target = grid.clone();
    target.scatter_nd_inplace(&array![[2], [0]], &5, ScatterNd::sum())?;
    assert_eq!(target, array![[5, 5], [0, 0], [5, 5]]);
    let mut target = grid.mapv(|_| Vec::new());
    target.scatter_nd_fold(&cells, &["a", "b", "c"], ScatterNd::new(), |list, &new| {
        list.push(new);
    })?;
    assert_eq!(target[[0, 1]], ["a", "c"]);
    let skip = ScatterNd::new().out_of_bounds(OutOfBounds::Skip);
    let got = grid.scatter_nd_with(&array![[0, 1], [0, 2]], &[1, 2], skip)?;
    assert_eq!(got, array![[0, 1], [0, 0], [0, 0]]);
    assert!(matches!(
        grid.scatter_nd(&cells, &[1, 2]).unwrap_err(),
        Error::UpdatesShape { gather: "gather_nd", .. }
    ));
    Ok(())
}

#[test]
fn overwriting_asks_for_clone_alone() -> Result<()> {
    let words = array!["so", "it", "goes"].mapv(String::from);
    let new = ["a", "b"].map(String::from);
    let skip = ScatterElements::along(0).out_of_bounds(OutOfBounds::Skip);
    let expected = array!["a", "it", "goes"].mapv(String::from);
    assert_eq!(words.scatter_elements_with(&[0, 9], &new, skip)?, expected);
    let mut target = words.clone();
    target.scatter_elements_inplace(&[0, 9], &new, skip)?;
    assert_eq!(target, expected);
    let error = target.scatter_inplace(&[0, 9], &new, Scatter::sum(0)).unwrap_err();
    assert!(matches!(error, Error::UnsupportedReduction { reduction: Reduction::Sum, .. }));
    assert_eq!(words.scatter(&[1], &arr0("all".to_string()), 0)?[1], "all");
    assert_eq!(words.gather_elements(&array![2, 0], 0)?, array!["goes", "so"].mapv(String::from));
    let mut out = Array1::<String>::uninit(2);
    words.gather_into(&[2, 0], 0, &mut out)?;
    // SAFETY: `Ok` promises it.
    assert_eq!(unsafe { out.assume_init() }, array!["goes", "so"].mapv(String::from));
    Ok(())
}

#[test]
fn an_error_copies_no_shared_array() -> Result<()> {
    let mut shared: ArcArray<i32, _> = array![1, 2, 3].into_shared();
    let other = shared.clone();
    assert!(shared.scatter_inplace(&[0, 3], &1, Scatter::sum(0)).is_err());
    assert!(shared.scatter_fold(&[0, 3], &1, 0, |a, b| *a += b).is_err());
    assert!(shared.scatter_elements_inplace(&[0], &[1, 2], 0).is_err());
    assert!(other.gather_into(&[0, 1, 3], 0, &mut shared).is_err());
    assert!(shared.roll_inplace(1, 5).is_err());
    assert_eq!(shared.as_ptr(), other.as_ptr());
    shared.scatter_inplace(&[0, 2], &1, Scatter::sum(0))?;
    assert_eq!((shared.to_vec(), other.to_vec()), (vec![2, 2, 4], vec![1, 2, 3]));
    Ok(())
}

#[test]
fn single_values_of_any_number() -> Result<()> {
    assert_eq!(array![0.0_f32].scatter(&[0], &1.5_f32, 0)?, array![1.5]);
    assert_eq!(array![false].scatter(&[0], &true, 0)?, array![true]);
    assert_eq!(
        array![1_i128].scatter_elements_with(&[0], &2_i128, ScatterElements::prod(0))?[0],
        2
    );
    #[cfg(feature = "half")]
    assert_eq!(array![half::f16::ONE].scatter(&[0], &half::f16::ZERO, 0)?[0], half::f16::ZERO);
    let dynamic: ArrayD<i32> = cube().into_dyn();
    assert_eq!(dynamic.gather_elements(&ArrayD::<u8>::zeros(vec![1, 4, 5]), 0)?.ndim(), 3);
    Ok(())
}
