//! Decisions about scatter elements.

use ndarray::{Array1, Array2, array};
use opkernels::{
    Error, OutOfBounds, ReduceElement, Reduction, ScatterElements, ScatterElementsExt,
};

use crate::common::{Value, assert_same};

/// All updates into one target that holds `init`, in a new array and in place.
fn all_into_one<A: Value + ReduceElement>(
    attributes: ScatterElements,
    init: A,
    updates: &[A],
) -> A {
    let data = Array1::from_elem(1, init);
    let output = data.scatter_elements_with(&vec![0; updates.len()], updates, attributes).unwrap();
    let mut target = data;
    target.scatter_elements_inplace(&vec![-1; updates.len()], updates, attributes).unwrap();
    assert_same(&target, &output);
    output[0]
}

fn along(reduction: Reduction) -> ScatterElements {
    ScatterElements::along(0).reduction(reduction)
}

/// Equal shapes of indices and updates, the rank of the data, and no length
/// off the axis greater than the data's, even with no indices at all.
#[test]
fn shapes() {
    let data = Array2::<f32>::zeros((3, 4));
    let scatter = |indices: &[usize], updates: &[usize]| {
        let indices = ndarray::ArrayD::<u8>::zeros(indices);
        data.scatter_elements(&indices, &ndarray::ArrayD::zeros(updates), 0)
    };
    for shape in [[3, 4], [1, 1], [70, 4], [0, 4], [2, 0], [0, 0]] {
        assert!(scatter(&shape, &shape).is_ok());
    }
    let refused = Error::UpdatesShapeMismatch { indices: vec![2, 3], updates: vec![3, 2] };
    assert_eq!(scatter(&[2, 3], &[3, 2]).unwrap_err(), refused);
    let refused = Error::RankMismatch { data: 2, indices: 1 };
    assert_eq!(scatter(&[3], &[3]).unwrap_err(), refused);
    for shape in [[2, 5], [0, 5]] {
        let refused =
            Error::IndicesTooLong { data: vec![3, 4], indices: shape.to_vec(), axis: 0, dim: 1 };
        assert_eq!(scatter(&shape, &shape).unwrap_err(), refused);
    }
}

/// The six of the specification and `sub`, which parse from and print as its strings.
#[test]
fn reductions() {
    let names = ["none", "sum", "sub", "prod", "min", "max", "mean"];
    let results = [5, 11, -7, 30, 1, 5, 2];
    for (name, result) in names.into_iter().zip(results) {
        let reduction: Reduction = name.parse().unwrap();
        assert_eq!(reduction.to_string(), name);
        assert_eq!(all_into_one(along(reduction), 2, &[3, 1, 5]), result, "{name}");
    }
    assert_eq!(Reduction::default(), Reduction::None);
    for text in ["", "Sum", "addition", "times", " sum"] {
        let refused = Error::UnknownReduction(text.to_string());
        assert_eq!(text.parse::<Reduction>().unwrap_err(), refused);
    }
}

/// Row-major order of the indices: the last one wins, and float sums round as
/// they go.
#[test]
fn order() {
    let data = array![[0, 0], [0, 0]];
    let indices = array![[1, 0], [1, 1], [-1, 0]];
    let output = data.scatter_elements(&indices, &array![[1, 2], [3, 4], [5, 6]], 0).unwrap();
    assert_eq!(output, array![[0, 6], [5, 4]]);

    let sum = along(Reduction::Sum);
    assert_eq!(all_into_one(sum, 1e8_f32, &[1.0, 1.0, -1e8, 1.0]), 1.0);
    assert_eq!(all_into_one(sum, 1e16_f64, &[1.0, 1.0, -1e16, 1.0]), 1.0);
    let fresh = sum.use_init_val(false);
    assert_eq!(all_into_one(fresh, 7.0, &[1.0, 1e8_f32, -1e8]), 0.0);
    assert_eq!(all_into_one(fresh, 7.0, &[1e8_f32, -1e8, 1.0]), 1.0);
    assert_eq!(all_into_one(fresh, 7.0, &[0.1, 0.2, 0.3]), 0.1 + 0.2 + 0.3);
    assert_ne!(all_into_one(fresh, 7.0, &[0.3, 0.2, 0.1]), 0.1 + 0.2 + 0.3);
    assert!(all_into_one(fresh, 7.0, &[-0.0_f32]).same(&0.0));
    assert!(all_into_one(sum, -0.0, &[-0.0_f32]).same(&-0.0));
}

/// Only touched elements lose their old value; `None` is unaffected, and
/// `Min` and `Max` start from the first update.
#[test]
fn use_init_val_false() {
    let data = array![100.0_f32, 200.0, 300.0];
    let run = |reduction: Reduction, updates: [f32; 2]| {
        let attributes = along(reduction).use_init_val(false);
        data.scatter_elements_with(&[1, 1], &updates, attributes).unwrap()
    };
    assert_eq!(run(Reduction::None, [4.0, 2.0]), array![100.0, 2.0, 300.0]);
    assert_eq!(run(Reduction::Sum, [4.0, 2.0]), array![100.0, 6.0, 300.0]);
    assert_eq!(run(Reduction::Prod, [4.0, 2.0]), array![100.0, 8.0, 300.0]);
    assert_eq!(run(Reduction::Min, [4.0, 2.0]), array![100.0, 2.0, 300.0]);
    assert_eq!(run(Reduction::Max, [4.0, 2.0]), array![100.0, 4.0, 300.0]);
    assert_eq!(run(Reduction::Mean, [4.0, 2.0]), array![100.0, 3.0, 300.0]);
    let max = along(Reduction::Max).use_init_val(false);
    assert_eq!(all_into_one(max, 5.0, &[f32::NEG_INFINITY]), f32::NEG_INFINITY);
    let min = along(Reduction::Min).use_init_val(false);
    assert_eq!(all_into_one(min, 5.0, &[f32::INFINITY]), f32::INFINITY);
    assert_eq!(all_into_one(min, 5, &[i32::MAX]), i32::MAX);
}

/// An error as in gather.
#[test]
fn out_of_range_default() {
    let data = Array2::<f32>::zeros((2, 5));
    let (indices, updates) = (array![[0, 4], [5, -6]], Array2::zeros((2, 2)));
    let refused = Error::IndexOutOfBounds { index: 5, position: vec![1, 0], axis: 1, len: 5 };
    assert_eq!(data.scatter_elements(&indices, &updates, 1).unwrap_err(), refused);
    let mut target = data.clone();
    let attributes = ScatterElements::along(1).reduction(Reduction::Mean);
    let result = target.scatter_elements_inplace(&indices, &updates, attributes);
    assert_eq!(result.unwrap_err(), refused);
}

/// Dropped, to the nearest end, or the remainder.
#[test]
fn out_of_range_on_request() {
    let data = array![0, 0, 0, 0, 0];
    let (indices, updates) = ([1, 10, -20, 5, -6, -1], [1, 2, 4, 8, 16, 32]);
    let sum = |mode| {
        let attributes = along(Reduction::Sum).out_of_bounds(mode);
        data.scatter_elements_with(&indices, &updates, attributes).unwrap()
    };
    assert_eq!(sum(OutOfBounds::Skip), array![0, 1, 0, 0, 32]);
    assert_eq!(sum(OutOfBounds::Clip), array![4 + 16, 1, 0, 0, 2 + 8 + 32]);
    assert_eq!(sum(OutOfBounds::Wrap), array![2 + 4 + 8, 1, 0, 0, 16 + 32]);
    let padded = along(Reduction::Max).use_init_val(false).out_of_bounds(OutOfBounds::Skip);
    let output = array![7, 7].scatter_elements_with(&[9, 0, 9], &[8, 5, 8], padded).unwrap();
    assert_eq!(output, array![5, 7]);
    let empty = Array1::<i32>::zeros(0);
    for (mode, name) in [(OutOfBounds::Clip, "clip"), (OutOfBounds::Wrap, "wrap")] {
        let attributes = along(Reduction::Sum).out_of_bounds(mode);
        let refused = Error::EmptyAxis { mode: name, axis: 0 };
        assert_eq!(empty.scatter_elements_with(&[0], &[1], attributes).unwrap_err(), refused);
    }
    let skip = along(Reduction::Sum).out_of_bounds(OutOfBounds::Skip);
    assert_eq!(empty.scatter_elements_with(&[0], &[1], skip).unwrap(), empty);
}

/// They wrap modulo 2^bits, in debug builds too.
#[test]
fn integer_sum_and_prod() {
    let (sum, prod) = (along(Reduction::Sum), along(Reduction::Prod));
    assert_eq!(all_into_one(sum, 100_i8, &[100]), -56);
    assert_eq!(all_into_one(sum, 200_u8, &[100]), 44);
    assert_eq!(all_into_one(sum, i64::MAX, &[1]), i64::MIN);
    assert_eq!(all_into_one(sum, u64::MAX, &[1, 1]), 1);
    assert_eq!(all_into_one(sum, i128::MIN, &[-1]), i128::MAX);
    assert_eq!(all_into_one(prod, 16_i8, &[16]), 0);
    assert_eq!(all_into_one(prod, i32::MIN, &[-1]), i32::MIN);
    assert_eq!(all_into_one(prod, u64::MAX, &[u64::MAX]), 1);
}

/// The floor of the exact quotient.
#[test]
fn integer_mean() {
    let mean = along(Reduction::Mean);
    assert_eq!(all_into_one(mean, 100_i8, &[100, 100]), 100);
    assert_eq!(all_into_one(mean.use_init_val(false), 9_i8, &[100, 100, 100]), 100);
    assert_eq!(all_into_one(mean, -5, &[-2, -1]), -3);
    assert_eq!(all_into_one(mean.use_init_val(false), 0_i16, &[-5, -2, -1]), -3);
    assert_eq!(all_into_one(mean, 5, &[2, 1]), 2);
    assert_eq!(all_into_one(mean, i64::MAX, &[i64::MAX, i64::MAX]), i64::MAX);
    assert_eq!(all_into_one(mean, i64::MIN, &[i64::MIN, i64::MIN + 2]), i64::MIN);
    assert_eq!(all_into_one(mean, u64::MAX, &[u64::MAX - 2]), u64::MAX - 1);
    assert_eq!(all_into_one(mean, u128::MAX, &[u128::MAX, u128::MAX]), u128::MAX);
    assert_eq!(all_into_one(mean, i128::MIN, &[i128::MAX]), -1);
}

/// The number of updates, plus one with `use_init_val`, never counted in the
/// element type.
#[test]
fn mean_count() {
    let mean = along(Reduction::Mean);
    assert_eq!(all_into_one(mean, 40_i8, &[20, 30]), 30);
    assert_eq!(all_into_one(mean.use_init_val(false), 40_i8, &[20, 30]), 25);
    assert_eq!(all_into_one(mean, 1_i8, &[1; 200]), 1);
    assert_eq!(all_into_one(mean.use_init_val(false), 0_u8, &[255; 256]), 255);
    assert_eq!(all_into_one(mean.use_init_val(false), 0_i8, &[-128; 1000]), -128);
    assert_eq!(all_into_one(mean, 1.0_f32, &[2.0, 6.0]), 3.0);
}

/// Exact over the whole range.
#[test]
fn i64_and_u64() {
    let big = (1_i64 << 53) + 1;
    assert_eq!(all_into_one(along(Reduction::Sum), big, &[1 << 32]), big + (1 << 32));
    assert_eq!(all_into_one(along(Reduction::Prod), (1_i64 << 31) + 1, &[3]), (3 << 31) + 3);
    assert_eq!(all_into_one(along(Reduction::Max), big, &[big - 1]), big);
    assert_eq!(all_into_one(along(Reduction::Min), -big, &[1 - big]), -big);
    assert_eq!(all_into_one(along(Reduction::Max), 1 << 63, &[u64::MAX]), u64::MAX);
    assert_eq!(all_into_one(along(Reduction::Mean), big, &[big]), big);
    assert_eq!(all_into_one(along(Reduction::None), 0, &[i64::MIN]), i64::MIN);
}

/// They build up in f32 and round once, to nearest even.
#[cfg(feature = "half")]
#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn f16_and_bf16() {
    use half::{bf16, f16};
    let sum = along(Reduction::Sum);
    let (h, b) = (f16::from_f32, bf16::from_f32);
    assert_eq!(all_into_one(sum.use_init_val(false), h(9.0), &vec![h(1.0); 5000]), h(5000.0));
    assert_eq!(all_into_one(sum, h(0.0), &vec![h(1.0); 5000]), h(5000.0));
    assert_eq!(all_into_one(sum, b(0.0), &vec![b(1.0); 4096]), b(4096.0));
    // 2049 and 2051 lie between two f16, 257 and 259 between two bf16.
    assert_eq!(all_into_one(sum, h(2048.0), &[h(1.0)]), h(2048.0));
    assert_eq!(all_into_one(sum, h(2048.0), &[h(1.0), h(2.0)]), h(2052.0));
    assert_eq!(all_into_one(sum, b(256.0), &[b(1.0)]), b(256.0));
    assert_eq!(all_into_one(sum, b(256.0), &[b(1.0), b(2.0)]), b(260.0));
    let prod = along(Reduction::Prod);
    assert_eq!(all_into_one(prod, h(60000.0), &[h(2.0), h(0.5)]), h(60000.0));
    let mean = along(Reduction::Mean);
    assert_eq!(all_into_one(mean, h(60000.0), &[h(60000.0), h(60000.0)]), h(60000.0));
    assert_eq!(all_into_one(mean, h(1.0), &vec![h(1.0); 4999]), h(1.0));
}

/// NaN wins once it appears; equal values keep the earlier one.
#[test]
fn min_and_max_with_nan() {
    let payload = f32::from_bits(0x7fc0_1234);
    for reduction in [Reduction::Min, Reduction::Max] {
        for use_init_val in [true, false] {
            let attributes = along(reduction).use_init_val(use_init_val);
            let winner = all_into_one(attributes, 1.0, &[2.0, payload, 0.5, f32::INFINITY]);
            assert!(winner.same(&payload));
            assert!(all_into_one(attributes, 1.0, &[payload, f32::NAN]).same(&payload));
        }
        assert!(all_into_one(along(reduction), payload, &[2.0]).same(&payload));
        assert!(all_into_one(along(reduction), -0.0_f64, &[0.0]).same(&-0.0));
        assert!(all_into_one(along(reduction), 0.0_f64, &[-0.0]).same(&0.0));
    }
}

/// Sum is OR, prod AND, min AND, max OR; a mean is an error.
#[test]
fn bool() {
    for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
        assert_eq!(all_into_one(along(Reduction::Sum), a, &[b]), a | b);
        assert_eq!(all_into_one(along(Reduction::Prod), a, &[b]), a & b);
        assert_eq!(all_into_one(along(Reduction::Min), a, &[b]), a & b);
        assert_eq!(all_into_one(along(Reduction::Max), a, &[b]), a | b);
        assert_eq!(all_into_one(along(Reduction::None), a, &[b]), b);
    }
    let mut data = array![true, false];
    let error = data.scatter_elements_inplace(&[1], &[true], along(Reduction::Mean)).unwrap_err();
    let refused = Error::UnsupportedReduction { reduction: Reduction::Mean, element: "bool" };
    assert_eq!(error, refused);
    assert_eq!(data, array![true, false]);
}

/// Sum, prod and mean; min and max are errors.
#[cfg(feature = "num-complex")]
#[test]
fn complex() {
    let c = num_complex::Complex::<f64>::new;
    let (init, updates) = (c(1.0, 2.0), [c(3.0, -1.0), c(0.0, 4.0)]);
    assert_eq!(all_into_one(along(Reduction::Sum), init, &updates), c(4.0, 5.0));
    assert_eq!(all_into_one(along(Reduction::Prod), init, &updates[..1]), c(5.0, 5.0));
    assert_eq!(all_into_one(along(Reduction::Mean), init, &[c(3.0, 0.0)]), c(2.0, 1.0));
    for reduction in [Reduction::Min, Reduction::Max] {
        let error = array![init].scatter_elements_with(&[0], &[init], along(reduction));
        assert!(matches!(error, Err(Error::UnsupportedReduction { .. })));
    }
}
