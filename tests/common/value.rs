//! Elements that are made from numbers and compared by their bits.

use std::fmt::Debug;

use ndarray::{ArrayD, ArrayRef, Dimension};
use opkernels::IndexInteger;

/// An element type of the tests.
pub(crate) trait Value: Clone + Debug + Send + Sync + 'static {
    /// Whether minima and maxima may be compared in a wider type, which makes a NaN quiet.
    const COMPARED_WIDER: bool = false;

    /// A value for every number; among them are the corners of the type.
    fn from_number(number: u64) -> Self;

    /// Whether the two are the same to the bit.
    fn same(&self, other: &Self) -> bool;

    /// Whether two slices of one length are. Tests are not optimised: where `==` compares bytes,
    /// that takes a fraction of the time.
    fn all_same(all: &[Self], others: &[Self]) -> bool {
        all.iter().zip(others).all(|(one, other)| one.same(other))
    }

    /// Whether there are NaNs.
    const HAS_NANS: bool = false;

    /// The value with one NaN for all: which payload arithmetic hands on is
    /// the processor's choice.
    fn with_one_nan(self) -> Self {
        self
    }
}

/// An index integer, convertible.
pub(crate) trait Index: Value + IndexInteger + TryFrom<i128> + TryInto<i128> {
    /// The indices in this type; those that it does not have become 0.
    fn from_wide(indices: &ArrayD<i128>) -> ArrayD<Self> {
        indices.mapv(|index| Self::try_from(index).unwrap_or_else(|_| Self::zero()))
    }

    /// The indices with room for every value.
    fn to_wide<D: Dimension>(indices: &ArrayRef<Self, D>) -> ArrayD<i128> {
        let wide = |index: Self| index.try_into().ok();
        indices.to_owned().into_dyn().mapv(|index| wide(index).expect("fits in 128 bits"))
    }
}
impl<I: Value + IndexInteger + TryFrom<i128> + TryInto<i128>> Index for I {}

/// Numbers that look random and repeat with their seed (splitmix64).
#[derive(Debug, Clone)]
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number less than `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// True once in `n` times.
    pub(crate) fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// An array of this shape, full of values.
pub(crate) fn array_of<A: Value>(shape: &[usize], seed: u64) -> ArrayD<A> {
    let mut numbers = Numbers(seed);
    ArrayD::from_shape_simple_fn(shape, || A::from_number(numbers.next()))
}

/// Whether two arrays have the same shape and elements that are the same to
/// the bit.
pub(crate) fn same_contents<A: Value, D: Dimension, E: Dimension>(
    actual: &ArrayRef<A, D>,
    expected: &ArrayRef<A, E>,
) -> bool {
    if actual.shape() != expected.shape() {
        return false;
    }
    match (actual.as_slice(), expected.as_slice()) {
        (Some(actual), Some(expected)) => A::all_same(actual, expected),
        _ => actual.iter().zip(expected).all(|(a, e)| a.same(e)),
    }
}

/// Fails unless two arrays are the same to the bit.
#[track_caller]
pub(crate) fn assert_same<A: Value, D: Dimension, E: Dimension>(
    actual: &ArrayRef<A, D>,
    expected: &ArrayRef<A, E>,
) {
    assert!(same_contents(actual, expected), "actual: {actual:?}\nexpected: {expected:?}");
}

macro_rules! integers {
    ($($int:ty)*) => {$(
        impl Value for $int {
            fn from_number(number: u64) -> Self {
                match number % 8 {
                    0 => <$int>::MAX,
                    1 => <$int>::MIN,
                    2 => (number >> 32) as $int % 4,
                    // The multiple reaches the upper half of 128 bits.
                    _ => (number as $int).wrapping_mul(0x5851_f42d_4c95_7f2d_i64 as $int),
                }
            }
            fn same(&self, other: &Self) -> bool {
                self == other
            }
            fn all_same(all: &[Self], others: &[Self]) -> bool {
                all == others
            }
        }
    )*};
}
integers!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);

macro_rules! floats {
    ($($float:ty, $bits:ty, $small:expr;)*) => {$(
        impl Value for $float {
            fn from_number(number: u64) -> Self {
                let small: fn(i16) -> $float = $small;
                match number % 32 {
                    0 => <$float>::from_bits(0),
                    1 => -<$float>::from_bits(0),
                    2 => <$float>::INFINITY,
                    3 => <$float>::NEG_INFINITY,
                    4 => <$float>::MAX,
                    5 => <$float>::from_bits(1),
                    6 => <$float>::from_bits((number >> 16) as $bits | <$float>::NAN.to_bits()),
                    7 => <$float>::from_bits((number >> 8) as $bits),
                    _ => small((number >> 16) as i16),
                }
            }
            fn same(&self, other: &Self) -> bool {
                self.to_bits() == other.to_bits()
            }
            const COMPARED_WIDER: bool = <$bits>::BITS == 16;
            const HAS_NANS: bool = true;

            fn with_one_nan(self) -> Self {
                if self.is_nan() { <$float>::NAN } else { self }
            }
        }
    )*};
}
// Sums of tenths depend on their order.
floats! {
    f32, u32, |n| f32::from(n) * 0.1;
    f64, u64, |n| f64::from(n) * 0.1;
}
#[cfg(feature = "half")]
floats! {
    half::f16, u16, |n| half::f16::from_f32(f32::from(n) * 0.001);
    half::bf16, u16, |n| half::bf16::from_f32(f32::from(n) * 0.1);
}

#[cfg(feature = "num-complex")]
impl<F: Value> Value for num_complex::Complex<F> {
    fn from_number(number: u64) -> Self {
        num_complex::Complex::new(F::from_number(number), F::from_number(number.rotate_left(29)))
    }
    fn same(&self, other: &Self) -> bool {
        self.re.same(&other.re) && self.im.same(&other.im)
    }
    const HAS_NANS: bool = F::HAS_NANS;

    fn with_one_nan(self) -> Self {
        num_complex::Complex::new(self.re.with_one_nan(), self.im.with_one_nan())
    }
}

impl Value for bool {
    fn from_number(number: u64) -> Self {
        number & 1 == 1
    }
    fn same(&self, other: &Self) -> bool {
        self == other
    }
}

impl Value for String {
    fn from_number(number: u64) -> Self {
        format!("{}", number % 1000)
    }
    fn same(&self, other: &Self) -> bool {
        self == other
    }
}

impl<A: Value, B: Value> Value for (A, B) {
    fn from_number(number: u64) -> Self {
        (A::from_number(number), B::from_number(number.rotate_left(29)))
    }
    fn same(&self, other: &Self) -> bool {
        self.0.same(&other.0) && self.1.same(&other.1)
    }
}

impl<A: Value, const N: usize> Value for [A; N] {
    /// Long ones repeat their first values, which are not as many as those of a cache line: tests
    /// are not optimised, and copies take a fraction of the time. Nothing is allocated, which costs
    /// the most where every allocation has pages of its own.
    fn from_number(number: u64) -> Self {
        const DISTINCT: usize = 13;
        let mut numbers = Numbers(number);
        if N <= DISTINCT {
            return std::array::from_fn(|_| A::from_number(numbers.next()));
        }
        let first: [A; DISTINCT] = std::array::from_fn(|_| A::from_number(numbers.next()));
        std::array::from_fn(|k| first[k % DISTINCT].clone())
    }
    fn same(&self, other: &Self) -> bool {
        A::all_same(self, other)
    }
    fn all_same(all: &[Self], others: &[Self]) -> bool {
        A::all_same(all.as_flattened(), others.as_flattened())
    }
}
