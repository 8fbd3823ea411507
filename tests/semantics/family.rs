//! Decisions about the rest of the family: gather_elements, gather_nd,
//! scatter, scatter_nd, folds, single values and outputs.

use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ndarray::{Array1, Array2, Array3, ArrayD, arr0, array};
use opkernels::{
    Error, Gather, GatherElements, GatherElementsExt, GatherExt, GatherNd, GatherNdExt,
    OutOfBounds, Reduction, Scatter, ScatterElements, ScatterElementsExt, ScatterExt, ScatterNd,
    ScatterNdExt,
};

use crate::common::oracle::Kind;
use crate::common::{Index, array_of, assert_same, calls};

fn outside(index: i128, position: &[usize], axis: usize, len: usize) -> Error {
    Error::IndexOutOfBounds { index, position: position.to_vec(), axis, len }
}

/// Indices of every kind in data of shape 2 by 3 by 4, without batch dimensions.
fn kinds() -> [(Kind, ArrayD<i64>); 3] {
    [
        (Kind::Slices { axis: 1, batch_dims: 0 }, array![[2, 0], [-1, 1]].into_dyn()),
        (Kind::Elements { axis: 1 }, array![[[2, 0, -1, 2], [1, -3, 0, 0]]].into_dyn()),
        (Kind::Tuples { batch_dims: 0 }, array![[1, 2], [-2, -3], [0, 0]].into_dyn()),
    ]
}

/// The shape of the indices; off the axis no longer than data, along it any
/// length; nothing is broadcast.
#[test]
fn gather_elements_shapes() {
    let data = Array2::<f32>::zeros((3, 4));
    let shape = |rows, columns, axis: i32| {
        let output = data.gather_elements(&Array2::<u8>::zeros((rows, columns)), axis)?;
        Ok::<_, Error>(output.dim())
    };
    for (rows, columns) in [(3, 4), (70, 4), (1, 1), (0, 4), (2, 0), (0, 0)] {
        assert_eq!(shape(rows, columns, 0), Ok((rows, columns)));
    }
    assert_eq!(shape(3, 70, -1), Ok((3, 70)));
    for (rows, columns, axis, dim) in [(3, 5, 0, 1), (0, 5, 0, 1), (4, 4, 1, 0)] {
        let (of_data, of_indices) = (vec![3, 4], vec![rows, columns]);
        let refused = Error::IndicesTooLong { data: of_data, indices: of_indices, axis, dim };
        assert_eq!(shape(rows, columns, axis as i32), Err(refused));
    }
    // A row of indices is taken as a row, not for every row.
    assert_eq!(shape(1, 9, 1), Ok((1, 9)));
    let refused = Error::GatherRankMismatch { data: 2, indices: 1 };
    assert_eq!(data.into_dyn().gather_elements(&array![0].into_dyn(), 0), Err(refused));
    let refused = Error::AxisOutOfBounds { axis: 0, rank: 0 };
    assert_eq!(arr0(1).gather_elements(&arr0(0), 0), Err(refused));
}

/// `output[i, j, k] = data[indices[i, j, k], j, k]`, and along the other axes.
#[test]
fn gather_elements_values() {
    let data = Array3::from_shape_fn((3, 4, 5), |(i, j, k)| 100 * i + 10 * j + k);
    let indices = Array3::from_shape_fn((2, 3, 4), |(i, j, k)| (i + j + k) % 3);
    let along = |axis: i32| data.gather_elements(&indices, axis).unwrap();
    let expected = |place: fn([usize; 3], usize) -> [usize; 3]| {
        Array3::from_shape_fn((2, 3, 4), |(i, j, k)| data[place([i, j, k], indices[[i, j, k]])])
    };
    assert_eq!(along(0), expected(|[_, j, k], index| [index, j, k]));
    assert_eq!(along(1), expected(|[i, _, k], index| [i, index, k]));
    assert_eq!(along(2), expected(|[i, j, _], index| [i, j, index]));
    assert_eq!(along(-1), along(2));
}

/// The rank is that of the indices as a type, static or dynamic.
#[test]
fn gather_elements_rank() {
    let data = array![[1, 2], [3, 4]];
    let fixed: Array2<i32> = data.gather_elements(&array![[1, 0]], 0).unwrap();
    let of_views: Array2<i32> =
        data.view().into_dyn().gather_elements(&array![[1, 0]].view(), 0).unwrap();
    assert_eq!(fixed, of_views);
    let dynamic: ArrayD<i32> = data.gather_elements(&array![[1, 0]].into_dyn(), 0).unwrap();
    assert_eq!(dynamic, fixed.into_dyn());
}

/// Policies as gather, of every kind of index.
#[test]
fn gather_policies() {
    let data = array![10, 20, 30];
    let indices = array![3, -4, 7, 1];
    let elements = |mode| {
        let attributes = GatherElements::along(0).out_of_bounds(mode);
        data.gather_elements_with(&indices, attributes)
    };
    let tuples = |mode| {
        let indices = indices.clone().insert_axis(ndarray::Axis(1));
        let output = data.gather_nd_with(&indices, GatherNd::new().out_of_bounds(mode))?;
        Ok::<Array1<i32>, Error>(output.into_dimensionality().unwrap())
    };
    for (mode, expected) in [
        (OutOfBounds::Fill(-1), Ok(array![-1, -1, -1, 20])),
        (OutOfBounds::Clip, Ok(array![30, 10, 30, 20])),
        (OutOfBounds::Wrap, Ok(array![10, 30, 20, 20])),
        (OutOfBounds::Skip, Err(Error::SkipInGather)),
    ] {
        assert_eq!(elements(mode), expected);
        assert_eq!(tuples(mode), expected);
    }
    assert_eq!(elements(OutOfBounds::Error), Err(outside(3, &[0], 0, 3)));
    assert_eq!(tuples(OutOfBounds::Error), Err(outside(3, &[0, 0], 0, 3)));

    let empty = Array2::<i32>::zeros((2, 0));
    let refused = |mode| Error::EmptyAxis { mode, axis: 1 };
    for (mode, name) in [(OutOfBounds::Clip, "clip"), (OutOfBounds::Wrap, "wrap")] {
        let attributes = GatherElements::along(1).out_of_bounds(mode);
        let output = empty.gather_elements_with(&array![[0], [0]], attributes);
        assert_eq!(output, Err(refused(name)));
        let attributes = GatherNd::new().out_of_bounds(mode);
        assert_eq!(empty.gather_nd_with(&array![[0, 0]], attributes), Err(refused(name)));
    }
    let fill = GatherElements::along(1).out_of_bounds(OutOfBounds::Fill(5));
    assert_eq!(empty.gather_elements_with(&array![[0], [9]], fill), Ok(array![[5], [5]]));
    let fill = GatherNd::new().out_of_bounds(OutOfBounds::Fill(5));
    assert_eq!(empty.gather_nd_with(&array![[0, 0], [9, 9]], fill), Ok(array![5, 5].into_dyn()));
}

/// `output.shape = indices.shape[..-1] + data.shape[b + k..]`, with
/// `1 <= k <= data.rank - b`, `b < indices.rank` and equal batches.
#[test]
fn gather_nd_shapes() {
    let data = ArrayD::<f32>::zeros(vec![2, 3, 4, 5]);
    let shape = |indices: &[usize], batch_dims: i64| {
        let indices = ArrayD::<i32>::zeros(indices);
        let attributes = GatherNd::new().batch_dims(batch_dims);
        data.gather_nd_with(&indices, attributes).map(|output| output.shape().to_vec())
    };
    assert_eq!(shape(&[1], 0), Ok(vec![3, 4, 5]));
    assert_eq!(shape(&[4], 0), Ok(vec![]));
    assert_eq!(shape(&[7, 6, 2], 0), Ok(vec![7, 6, 4, 5]));
    assert_eq!(shape(&[0, 3], 0), Ok(vec![0, 5]));
    assert_eq!(shape(&[2, 3], 1), Ok(vec![2]));
    assert_eq!(shape(&[2, 7, 1], 1), Ok(vec![2, 7, 4, 5]));
    assert_eq!(shape(&[2, 3, 2], 2), Ok(vec![2, 3]));
    assert_eq!(shape(&[2, 3, 1], 2), Ok(vec![2, 3, 5]));
    assert_eq!(shape(&[2, 3, 4, 9, 1], 3), Ok(vec![2, 3, 4, 9]));
    let too_long = |len, batch_dims| Error::TupleLengthOutOfRange { len, data_rank: 4, batch_dims };
    assert_eq!(shape(&[5], 0), Err(too_long(5, 0)));
    assert_eq!(shape(&[7, 0], 0), Err(too_long(0, 0)));
    assert_eq!(shape(&[0, 0], 0), Err(too_long(0, 0)));
    assert_eq!(shape(&[2, 4], 1), Err(too_long(4, 1)));
    assert_eq!(shape(&[2, 3, 4, 2], 3), Err(too_long(2, 3)));
    assert_eq!(shape(&[], 0), Err(Error::NoTuples));
    for batch_dims in [3, i64::MAX, -4, i64::MIN] {
        let (data_rank, indices_rank) = (4, 3);
        let batch_dims_wide = batch_dims.into();
        let refused = Error::TupleBatchDimsOutOfRange {
            batch_dims: batch_dims_wide,
            data_rank,
            indices_rank,
        };
        assert_eq!(shape(&[2, 3, 1], batch_dims), Err(refused));
    }
    // Batch dimensions of 1 are not broadcast.
    for indices in [[1, 3, 1], [2, 1, 1]] {
        let refused = Error::BatchShapeMismatch {
            batch_dims: 2,
            data: vec![2, 3, 4, 5],
            indices: indices.to_vec(),
        };
        assert_eq!(shape(&indices, 2), Err(refused));
    }
    let refused = Error::TupleLengthOutOfRange { len: 1, data_rank: 0, batch_dims: 0 };
    assert_eq!(arr0(1).gather_nd(&[0]), Err(refused));
}

/// Every component may be negative; one out of bounds makes the tuple so, and
/// the error names it and its place.
#[test]
fn gather_nd_tuples() {
    let data = array![[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, 12]]];
    let output = data.gather_nd(&array![[-1, -1, -1], [1, -3, 0], [-2, 2, -2]]).unwrap();
    assert_eq!(output, array![12, 7, 5].into_dyn());
    assert_eq!(data.gather_nd(&[-1, 0]), Ok(array![7, 8].into_dyn()));
    let error = data.gather_nd(&array![[0, 0], [1, 3]]).unwrap_err();
    assert_eq!(error, outside(3, &[1, 1], 1, 3));
    let text = error.to_string();
    for part in ["index 3", "indices[1, 1]", "axis 1", "length 3"] {
        assert!(text.contains(part), "{text}");
    }
    let error = data.gather_nd(&array![[0, 0], [-3, 9]]).unwrap_err();
    assert_eq!(error, outside(-3, &[1, 0], 0, 2));
    let batched = GatherNd::new().batch_dims(1);
    let error = data.gather_nd_with(&array![[[0, 0]], [[2, -3]]], batched).unwrap_err();
    assert_eq!(error, outside(-3, &[1, 0, 1], 2, 2));
    let fill = GatherNd::new().out_of_bounds(OutOfBounds::Fill(0));
    let output = data.gather_nd_with(&array![[1, 3], [1, 2], [2, 0]], fill).unwrap();
    assert_eq!(output, array![[0, 0], [11, 12], [0, 0]].into_dyn());
    let clip = GatherNd::new().out_of_bounds(OutOfBounds::Clip);
    assert_eq!(data.gather_nd_with(&array![[9, -9, 9]], clip), Ok(array![8].into_dyn()));
    let wrap = GatherNd::new().out_of_bounds(OutOfBounds::Wrap);
    assert_eq!(data.gather_nd_with(&array![[3, -4, 3]], wrap), Ok(array![12].into_dyn()));
}

/// Updates have the shape that gather returns by the same indices, axis and
/// `batch_dims`.
#[test]
fn scatter_shapes() {
    let data = ArrayD::<i32>::zeros(vec![2, 3, 4]);
    for (indices, axis, batch_dims) in [
        (&[][..], 0, 0),
        (&[], 1, 0),
        (&[5], -1, 0),
        (&[5, 2], 1, 0),
        (&[0], 1, 0),
        (&[2], 2, 1),
        (&[2, 3], 2, 2),
        (&[2, 7], -2, 1),
        (&[2, 3, 1], 2, -1),
    ] {
        let indices = ArrayD::<u16>::zeros(indices);
        let gather = Gather::along(axis).batch_dims(batch_dims);
        let shape = data.gather_with(&indices, gather).unwrap().raw_dim();
        let attributes = Scatter::along(axis).batch_dims(batch_dims);
        let updates = ArrayD::<i32>::ones(shape.clone());
        assert!(data.scatter_with(&indices, &updates, attributes).is_ok());
        let mut longer = shape.clone();
        longer[0] += 1;
        let updates = ArrayD::<i32>::ones(longer);
        let error = data.scatter_with(&indices, &updates, attributes).unwrap_err();
        let expected = ndarray::Dimension::slice(&shape).to_vec();
        assert!(
            matches!(&error, Error::UpdatesShape { expected: e, updates: u, .. }
                if *e == expected && u == updates.shape()),
            "{error}"
        );
        assert!(error.to_string().contains(&format!("{expected:?}")), "{error}");
    }
    let refused = Error::BatchDimsBeyondAxis { batch_dims: 1, axis: 0 };
    let (indices, attributes) = (ArrayD::<u8>::zeros(vec![2]), Scatter::along(0).batch_dims(1));
    assert_eq!(data.scatter_with(&indices, &1, attributes), Err(refused));
    let refused = Error::AxisOutOfBounds { axis: 0, rank: 0 };
    assert_eq!(arr0(1).scatter(&0, &1, 0), Err(refused));
}

/// Slices are written or reduced at indices of any rank, negative ones from
/// the end.
#[test]
fn scatter_values() {
    let data = array![[1, 2, 3], [4, 5, 6]];
    assert_eq!(data.scatter(&-1, &[7, 8, 9], 0), Ok(array![[1, 2, 3], [7, 8, 9]]));
    let updates = array![[[7, 8]], [[9, 10]]];
    let output = data.scatter(&array![[-1, 0]], &updates, 1);
    assert_eq!(output, Ok(array![[8, 2, 7], [10, 5, 9]]));
    let batched = Scatter::sum(1).batch_dims(1);
    let output = data.scatter_with(&array![[0, 0], [2, -1]], &array![[1, 2], [3, 4]], batched);
    assert_eq!(output, Ok(array![[4, 2, 3], [4, 5, 13]]));
    // The gradient of a gather.
    let gathered = Array2::<i32>::ones((4, 3));
    let gradient = Array2::zeros((2, 3)).scatter_with(&[1, 1, 0, 1], &gathered, Scatter::sum(0));
    assert_eq!(gradient, Ok(array![[1, 1, 1], [3, 3, 3]]));
}

/// `updates.shape = indices.shape[..-1] + data.shape[k..]`
#[test]
fn scatter_nd_shapes() {
    let data = ArrayD::<i32>::zeros(vec![2, 3, 4]);
    let scatter = |indices: &[usize], updates: &[usize]| {
        let (indices, updates) = (ArrayD::<u8>::zeros(indices), ArrayD::ones(updates));
        data.scatter_nd(&indices, &updates).map(|_| ())
    };
    assert_eq!(scatter(&[1], &[3, 4]), Ok(()));
    assert_eq!(scatter(&[3], &[]), Ok(()));
    assert_eq!(scatter(&[5, 2], &[5, 4]), Ok(()));
    assert_eq!(scatter(&[5, 6, 3], &[5, 6]), Ok(()));
    assert_eq!(scatter(&[0, 3], &[0]), Ok(()));
    let gather = "gather_nd";
    let refused = Error::UpdatesShape { expected: vec![5, 4], updates: vec![4, 5], gather };
    assert_eq!(scatter(&[5, 2], &[4, 5]), Err(refused));
    let refused = Error::TupleLengthOutOfRange { len: 4, data_rank: 3, batch_dims: 0 };
    assert_eq!(scatter(&[4], &[]), Err(refused));
    assert_eq!(scatter(&[], &[]), Err(Error::NoTuples));
}

/// Row-major, the last one wins.
#[test]
fn scatter_nd_order() {
    let data = Array2::<i32>::zeros((2, 2));
    let indices = array![[[0, 1], [1, 0]], [[0, -1], [-1, -2]]];
    let output = data.scatter_nd(&indices, &array![[1, 2], [3, 4]]).unwrap();
    assert_eq!(output, array![[0, 3], [4, 0]]);
    let output = data.scatter_nd(&array![[1], [-1]], &array![[1, 2], [3, 4]]).unwrap();
    assert_eq!(output, array![[0, 0], [3, 4]]);
}

/// ScatterElements' rows hold for the other scatters: order, `use_init_val`,
/// policies.
#[test]
fn scatters_as_scatter_elements() {
    let data = array![1e8_f32, 5.0, 7.0];
    let (indices, updates) = (array![0, 0, 3, 0, -1, 0], array![1.0, 1.0, 2.0, -1e8, 3.0, 1.0]);
    let tuples = indices.clone().insert_axis(ndarray::Axis(1));
    let reductions = ["none", "sum", "sub", "prod", "min", "max", "mean"];
    for reduction in reductions.map(|name| name.parse::<Reduction>().unwrap()) {
        for init in [true, false] {
            for mode in [OutOfBounds::Skip, OutOfBounds::Clip, OutOfBounds::Wrap] {
                let elements = ScatterElements::along(0).reduction(reduction);
                let elements = elements.use_init_val(init).out_of_bounds(mode);
                let expected = data.scatter_elements_with(&indices, &updates, elements).unwrap();
                let slices = Scatter::along(0).reduction(reduction);
                let slices = slices.use_init_val(init).out_of_bounds(mode);
                assert_same(&data.scatter_with(&indices, &updates, slices).unwrap(), &expected);
                let nd = ScatterNd::new().reduction(reduction);
                let nd = nd.use_init_val(init).out_of_bounds(mode);
                assert_same(&data.scatter_nd_with(&tuples, &updates, nd).unwrap(), &expected);
            }
        }
    }
    let refused = outside(3, &[2], 0, 3);
    assert_eq!(data.scatter(&indices, &updates, 0), Err(refused));
    let refused = outside(3, &[2, 0], 0, 3);
    assert_eq!(data.scatter_nd(&tuples, &updates), Err(refused));
}

/// One value for every place, in place of updates of the shape.
#[test]
fn one_value() {
    let data: ArrayD<i64> = array_of(&[2, 3, 4], 1);
    for (kind, indices) in kinds() {
        let data = data.view();
        let updates = calls::read(kind, &data, &indices.view(), OutOfBounds::Error).unwrap();
        let all = ArrayD::from_elem(updates.raw_dim(), 7);
        let one = arr0(7_i64).into_dyn();
        let expected = calls::overwritten_plainly(kind, &data, &indices.view(), &all.view());
        let output = calls::overwritten_plainly(kind, &data, &indices.view(), &one.view());
        assert_eq!(output, expected);
    }
    // Where there is no place, it is not needed; a shape that does not fit is no
    // single value.
    assert_eq!(data.scatter(&Array1::<u8>::zeros(0), &7_i64, 0), Ok(data.clone()));
    assert!(data.scatter(&[0, 1, 0], &array![7], 0).is_err());
}

/// In place, an element that no index selects is the one that it was, however many indices there are.
#[test]
fn unselected_elements_are_not_cloned() {
    #[derive(Debug, PartialEq)]
    struct Id(u32);
    impl Clone for Id {
        fn clone(&self) -> Self {
            Id(self.0 + 100)
        }
    }
    for count in [1, 10, 1000, 100_000] {
        let mut target = Array1::from_iter((0..16).map(Id));
        let indices = Array1::<i64>::zeros(count);
        target.scatter_inplace(&indices, &arr0(Id(7)), 0).unwrap();
        assert_eq!(target, Array1::from_iter([107].into_iter().chain(1..16).map(Id)));
    }
}

/// Subtracts in order; integers wrap; bool is XOR; ONNX's names are read.
#[test]
fn sub() {
    let parsed = ["sub", "add", "mul"].map(str::parse::<Reduction>);
    assert_eq!(parsed, [Ok(Reduction::Sub), Ok(Reduction::Sum), Ok(Reduction::Prod)]);
    assert_eq!(Reduction::Sub.to_string(), "sub");
    let output = array![1e8_f32].scatter_with(&[0; 3], &[1.0, 1e8, 1.0], Scatter::sub(0));
    assert_eq!(output, Ok(array![-1.0]));
    let output = array![-128_i8, 0].scatter_with(&[0, 1, 1], &[1_i8, -128, 1], Scatter::sub(0));
    assert_eq!(output, Ok(array![127, 127]));
    let output = array![9_u8].scatter_with(&[0], &[10_u8], Scatter::sub(0).use_init_val(false));
    assert_eq!(output, Ok(array![246]));
    let flags = [true, false, true, true];
    let output = array![true, false].scatter_with(&[0, 0, 1, 1], &flags, Scatter::sub(0));
    assert_eq!(output, Ok(array![false, false]));
    let output = array![0_i32].scatter_nd_with(&array![[0]], &[i32::MIN], ScatterNd::sub());
    assert_eq!(output, Ok(array![i32::MIN]));
    #[cfg(feature = "half")]
    {
        let ones = vec![half::f16::ONE; 5000];
        let data = array![half::f16::from_f32(5000.0)];
        let output = data.scatter_with(&vec![0; 5000], &ones, Scatter::sub(0));
        assert_eq!(output, Ok(array![half::f16::ZERO]));
    }
}

/// Once for every update, in row-major order for each target, of any types.
#[test]
fn folds() {
    /// No `Clone`.
    #[derive(Debug, PartialEq)]
    struct Log(Vec<char>);
    let log = || Array1::from_iter((0..2).map(|_| Log(Vec::new())));
    let expected = [Log(vec!['a', 'c', 'd']), Log(vec!['b'])];
    let push = |log: &mut Log, &letter: &char| log.0.push(letter);
    let letters = ['a', 'b', 'c', 'd'];
    let mut logs = log();
    logs.scatter_fold(&[0, 1, 0, -2], &letters, 0, push).unwrap();
    assert_eq!(logs.as_slice().unwrap(), expected);
    let mut logs = log();
    logs.scatter_elements_fold(&[0, 1, 0, -2], &letters, 0, push).unwrap();
    assert_eq!(logs.as_slice().unwrap(), expected);
    let mut logs = log();
    let tuples = array![[0], [1], [0], [-2]];
    logs.scatter_nd_fold(&tuples, &letters, ScatterNd::new(), push).unwrap();
    assert_eq!(logs.as_slice().unwrap(), expected);
    // Out of bounds: nothing has been called.
    let mut logs = log();
    let error = logs.scatter_fold(&[0, 1, 0, 2], &letters, 0, push).unwrap_err();
    assert_eq!(error, outside(2, &[3], 0, 2));
    assert!(logs.iter().all(|log| log.0.is_empty()));
    // A panic goes to the caller.
    let done = catch_unwind(AssertUnwindSafe(|| {
        logs.scatter_fold(&[0], &['x'], 0, |_, _| std::panic::resume_unwind(Box::new(7_u8)))
    }));
    assert_eq!(*done.unwrap_err().downcast::<u8>().unwrap(), 7);
}

/// After `Ok` every element of an output that was not initialised is; outputs
/// of `A` may have any layout.
#[test]
fn uninitialised_outputs() {
    let data: ArrayD<String> = array_of(&[2, 3, 4], 1);
    for (kind, indices) in kinds() {
        let (data, indices) = (data.view(), indices.view());
        let expected = calls::read(kind, &data, &indices, OutOfBounds::Error).unwrap();
        let mut out = ArrayD::<String>::uninit(expected.raw_dim());
        let mut view: ndarray::ArrayViewMutD<'_, MaybeUninit<String>> = out.view_mut();
        calls::read_into_uninit(kind, &data, &indices, OutOfBounds::Error, &mut view).unwrap();
        #[allow(unsafe_code)]
        // SAFETY: the gather returned `Ok`.
        let out = unsafe { out.assume_init() };
        assert_same(&out, &expected);
        // Errors: what was written is forgotten, never dropped.
        let mut wrong = ArrayD::<String>::uninit(vec![1]);
        let mut view = wrong.view_mut();
        let error = calls::read_into_uninit(kind, &data, &indices, OutOfBounds::Error, &mut view);
        let refused =
            Error::OutShapeMismatch { expected: expected.shape().to_vec(), actual: vec![1] };
        assert_eq!(error, Err(refused));
    }
}

/// For integers `<gather(x), y> = <x, scatter_sum(0, y)>` exactly.
#[test]
fn adjoint() {
    let x: ArrayD<i64> = array_of(&[2, 3, 4], 1);
    let dot = |a: &ArrayD<i64>, b: &ArrayD<i64>| {
        a.iter().zip(b).fold(0_i64, |sum, (a, b)| sum.wrapping_add(a.wrapping_mul(*b)))
    };
    for (kind, indices) in kinds() {
        let gathered = calls::read(kind, &x.view(), &indices.view(), OutOfBounds::Error).unwrap();
        let y: ArrayD<i64> = array_of(gathered.shape(), 2);
        let how = crate::common::oracle::Reducing {
            reduction: Reduction::Sum,
            use_init_val: true,
            mode: OutOfBounds::Error,
        };
        let mut scattered = ArrayD::<i64>::zeros(x.raw_dim());
        calls::reduce(kind, &mut scattered.view_mut(), &indices.view(), &y.view(), &how).unwrap();
        assert_eq!(dot(&gathered, &y), dot(&x, &scattered), "{kind:?}");
    }
}

/// Every integer type, at its full value, in the new operations.
#[test]
fn index_integer_types() {
    fn check<I: Index>() {
        let index = |wide: i128| I::try_from(wide).ok().unwrap();
        let data = array![[1, 2], [3, 4]];
        let ones = Array2::from_elem((1, 2), index(1));
        assert_eq!(data.gather_elements(&ones, 0), Ok(array![[3, 4]]));
        assert_eq!(data.gather_nd(&ones), Ok(array![4].into_dyn()));
        assert_eq!(data.scatter(&[index(1)], &0, 0), Ok(array![[1, 2], [0, 0]]));
        assert_eq!(data.scatter_nd(&ones, &0), Ok(array![[1, 2], [3, 0]]));
        // The largest value is no -1, and nothing is narrowed.
        let largest = Array2::from_elem((1, 2), I::max_value());
        let wide: i128 = I::max_value().try_into().ok().unwrap();
        assert_eq!(data.gather_elements(&largest, 0), Err(outside(wide, &[0, 0], 0, 2)));
        assert_eq!(data.gather_nd(&largest), Err(outside(wide, &[0, 0], 0, 2)));
        assert_eq!(data.scatter(&[I::max_value()], &0, 0), Err(outside(wide, &[0], 0, 2)));
        assert_eq!(data.scatter_nd(&largest, &0), Err(outside(wide, &[0, 0], 0, 2)));
    }
    macro_rules! each {
        ($($int:ty)*) => { $(check::<$int>();)* };
    }
    each!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);
}

/// Numbers of a tuple that are one number broadcast select along their own
/// axes all the same.
#[test]
fn tuples_of_one_number_broadcast() {
    let data = array![[1, 2], [3, 4], [5, 6]];
    let one = array![[1], [0]];
    let indices = one.broadcast((2, 2)).unwrap();
    assert_eq!(data.gather_nd(&indices), Ok(array![4, 1].into_dyn()));
    let one = array![[1], [2]];
    let indices = one.broadcast((2, 2)).unwrap();
    assert_eq!(data.gather_nd(&indices), Err(outside(2, &[1, 1], 1, 2)));
    assert_eq!(data.scatter_nd(&indices, &7), Err(outside(2, &[1, 1], 1, 2)));
    let mut target = data.clone();
    let done = target.scatter_nd_inplace(&indices, &7, ScatterNd::sum());
    assert_eq!((done, target), (Err(outside(2, &[1, 1], 1, 2)), data));
}
