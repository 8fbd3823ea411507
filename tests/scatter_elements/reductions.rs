//! Every reduction of every element type.

use ndarray::{ArrayD, array};
use opkernels::{Error, OutOfBounds, Reduction, ScatterElements, ScatterElementsExt};

use crate::common::oracle::{self, Scatter};
use crate::common::{Numbers, REDUCTIONS, Reduce, array_of, assert_same, settled};

/// Lists of 0 to about 300 updates, which overflow narrow types.
fn reduces<A: Reduce>() {
    let sizes = [(1, 5), (2, 30), (3, 300), (4, 3000)];
    for (seed, updates) in sizes.into_iter().take(if cfg!(miri) { 2 } else { 4 }) {
        let data: ArrayD<A> = array_of(&[10], seed);
        let mut numbers = Numbers(seed);
        let indices = ArrayD::from_shape_simple_fn(vec![updates], || {
            (numbers.below(10) * numbers.below(10) / 10) as i128
        });
        let narrow = indices.mapv(|index| index as u8);
        let updates: ArrayD<A> = array_of(&[updates], seed + 10);
        for reduction in REDUCTIONS {
            for use_init_val in [true, false] {
                let scatter =
                    Scatter { axis: 0, reduction, use_init_val, mode: OutOfBounds::Error };
                let attributes = scatter.attributes();
                let output = data.scatter_elements_with(&narrow, &updates, attributes);
                let mut target = data.clone();
                let in_place = target.scatter_elements_inplace(&narrow, &updates, attributes);
                if !A::defines(reduction) {
                    let element = std::any::type_name::<A>();
                    let refused = Error::UnsupportedReduction { reduction, element };
                    assert_eq!(
                        (output.unwrap_err(), in_place.unwrap_err()),
                        (refused.clone(), refused)
                    );
                    assert_same(&target, &data);
                    continue;
                }
                let expected = oracle::reduce(&data, &indices, &updates, &scatter).unwrap();
                let expected = settled(reduction, &expected);
                assert_same(&settled(reduction, &output.unwrap()), &expected);
                assert_same(&settled(reduction, &target), &expected);
            }
        }
    }
}

macro_rules! reduces {
    ($($name:ident: $element:ty;)*) => {$(
        #[test]
        fn $name() {
            reduces::<$element>();
        }
    )*};
}
reduces! {
    reductions_of_i8: i8;
    reductions_of_i16: i16;
    reductions_of_i32: i32;
    reductions_of_i64: i64;
    reductions_of_i128: i128;
    reductions_of_isize: isize;
    reductions_of_u8: u8;
    reductions_of_u16: u16;
    reductions_of_u32: u32;
    reductions_of_u64: u64;
    reductions_of_u128: u128;
    reductions_of_usize: usize;
    reductions_of_f32: f32;
    reductions_of_f64: f64;
    reductions_of_bool: bool;
}
#[cfg(feature = "half")]
reduces! {
    reductions_of_f16: half::f16;
    reductions_of_bf16: half::bf16;
}
#[cfg(feature = "num-complex")]
reduces! {
    reductions_of_complex32: num_complex::Complex<f32>;
    reductions_of_complex64: num_complex::Complex<f64>;
}

#[test]
fn means_at_the_ends_of_128_bits() {
    let mean = ScatterElements::along(0).reduction(Reduction::Mean).use_init_val(false);
    let of = |updates: &[i128]| {
        array![7].scatter_elements_with(&vec![0; updates.len()], updates, mean).unwrap()[0]
    };
    assert_eq!(of(&[i128::MAX; 3]), i128::MAX);
    assert_eq!(of(&[i128::MIN; 3]), i128::MIN);
    assert_eq!(of(&[i128::MIN, i128::MAX]), -1);
    assert_eq!(of(&[i128::MIN, i128::MAX, 0]), -1);
    assert_eq!(of(&[i128::MAX, i128::MAX - 1]), i128::MAX - 1);
    assert_eq!(of(&[-5, -2, -1]), -3);
    let of = |updates: &[u128]| {
        array![7].scatter_elements_with(&vec![0; updates.len()], updates, mean).unwrap()[0]
    };
    assert_eq!(of(&[u128::MAX; 5]), u128::MAX);
    assert_eq!(of(&[u128::MAX, 0]), u128::MAX / 2);
}

#[test]
fn a_mean_of_more_updates_than_a_narrow_type_counts() {
    let mean = ScatterElements::along(0).reduction(Reduction::Mean);
    let updates = vec![3_u8; 700];
    let output = array![3_u8, 9].scatter_elements_with(&vec![0; 700], &updates, mean).unwrap();
    assert_eq!(output, array![3, 9]);
    let updates: Vec<i8> = (0..1000).map(|k| if k % 2 == 0 { 127 } else { -128 }).collect();
    let floor = mean.use_init_val(false);
    let output = array![0_i8].scatter_elements_with(&vec![0; 1000], &updates, floor).unwrap();
    assert_eq!(output, array![-1]);
}

/// The attributes that reductions ignore where nothing is reduced.
#[test]
fn no_updates_change_nothing() {
    let data = array![-0.0_f32, f32::NAN, 1.5];
    let (indices, updates): ([i8; 0], [f32; 0]) = ([], []);
    for reduction in REDUCTIONS {
        for use_init_val in [true, false] {
            let attributes =
                ScatterElements::along(0).reduction(reduction).use_init_val(use_init_val);
            let output = data.scatter_elements_with(&indices, &updates, attributes).unwrap();
            assert_same(&output, &data);
        }
    }
}

/// Zeros keep their signs as arithmetic in order gives them.
#[test]
fn signs_of_zeros() {
    let (zero, minus) = (0.0_f32, -0.0_f32);
    let of = |reduction, use_init_val, init: f32, updates: &[f32]| {
        let attributes = ScatterElements::along(0).reduction(reduction).use_init_val(use_init_val);
        let indices = vec![0; updates.len()];
        let output = array![init].scatter_elements_with(&indices, updates, attributes).unwrap();
        output[0].is_sign_negative()
    };
    assert!(of(Reduction::Sum, true, minus, &[minus, minus]));
    assert!(!of(Reduction::Sum, true, minus, &[minus, zero]));
    assert!(!of(Reduction::Sum, false, 1.0, &[minus, minus]));
    assert!(of(Reduction::Mean, true, minus, &[minus, minus]));
    assert!(!of(Reduction::Mean, false, 1.0, &[minus]));
    assert!(of(Reduction::Prod, true, minus, &[1.0]));
    assert!(of(Reduction::Prod, false, 1.0, &[minus]));
    assert!(of(Reduction::Min, true, minus, &[zero]));
    assert!(!of(Reduction::Min, true, zero, &[minus]));
    assert!(!of(Reduction::Max, false, 1.0, &[zero, minus]));
    assert!(of(Reduction::Max, false, 1.0, &[minus, zero]));
}

#[cfg(feature = "half")]
#[test]
fn signs_of_half_zeros() {
    let (zero, minus) = (half::f16::ZERO, half::f16::NEG_ZERO);
    let of = |reduction, use_init_val, updates: [half::f16; 2]| {
        let attributes = ScatterElements::along(0).reduction(reduction).use_init_val(use_init_val);
        array![minus].scatter_elements_with(&[0, 0], &updates, attributes).unwrap()[0]
    };
    for reduction in [Reduction::Sum, Reduction::Mean] {
        assert!(of(reduction, true, [minus, minus]).is_sign_negative());
        assert!(of(reduction, true, [zero, minus]).is_sign_positive());
        assert!(of(reduction, false, [minus, minus]).is_sign_positive());
    }
    assert!(of(Reduction::Prod, true, [half::f16::ONE; 2]).is_sign_negative());
}

#[cfg(feature = "num-complex")]
#[test]
fn signs_of_complex_zeros() {
    let minus = num_complex::Complex::new(-0.0_f32, -0.0);
    for reduction in [Reduction::Sum, Reduction::Mean] {
        let attributes = ScatterElements::along(0).reduction(reduction);
        let output = array![minus].scatter_elements_with(&[0], &[minus], attributes).unwrap();
        assert!(output[0].re.is_sign_negative() && output[0].im.is_sign_negative());
    }
}
