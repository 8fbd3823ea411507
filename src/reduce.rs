//! What overwriting, sum, prod, min, max and mean mean for each element type.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// How a scatter combines updates with what their target holds.
///
/// | reduction | integers | `f32`, `f64` | `f16`, `bf16` | `bool` | complex |
/// |---|---|---|---|---|---|
/// | `None` | the last update | the same | the same | the same | the same |
/// | `Sum` | wraps modulo 2^bits | in order | in `f32`, rounded once | OR | in order |
/// | `Prod` | wraps modulo 2^bits | in order | in `f32`, rounded once | AND | in order |
/// | `Min`, `Max` | exact | NaN wins once it appears | as `f32` | AND, OR | error |
/// | `Mean` | floor of the exact quotient | sum / count | in `f32`, rounded once | error | sum / count |
///
/// "In order" is the row-major order of `indices`, starting from the value in
/// data, or from zero (`Sum`, `Mean`) or one (`Prod`) where
/// [`use_init_val`](crate::ScatterElements::use_init_val) is false. Of equal
/// values, `Min` and `Max` keep the earlier. `Mean` divides by the number of
/// updates, plus one where the value in data takes part.
///
/// Reductions parse from and print as the specification's strings:
///
/// ```
/// use opkernels::Reduction;
///
/// assert_eq!("mean".parse(), Ok(Reduction::Mean));
/// assert_eq!(Reduction::None.to_string(), "none");
/// assert!("average".parse::<Reduction>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Reduction {
    /// Overwrite; the last update wins.
    #[default]
    None,
    /// Add.
    Sum,
    /// Multiply.
    Prod,
    /// Keep the smallest.
    Min,
    /// Keep the largest.
    Max,
    /// The arithmetic mean.
    Mean,
}

impl Reduction {
    /// The name that the specification gives it.
    pub fn as_str(self) -> &'static str {
        match self {
            Reduction::None => "none",
            Reduction::Sum => "sum",
            Reduction::Prod => "prod",
            Reduction::Min => "min",
            Reduction::Max => "max",
            Reduction::Mean => "mean",
        }
    }
}

impl fmt::Display for Reduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Reduction {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Ok(match text {
            "none" => Reduction::None,
            "sum" => Reduction::Sum,
            "prod" => Reduction::Prod,
            "min" => Reduction::Min,
            "max" => Reduction::Max,
            "mean" => Reduction::Mean,
            _ => return Err(Error::UnknownReduction(text.to_owned())),
        })
    }
}

mod sealed {
    pub trait Sealed {}
}
use sealed::Sealed;

/// An element type that a scatter can reduce: every primitive number, `bool`,
/// and with the features of those names `half::{f16, bf16}` and
/// `num_complex::Complex<f32>` and `Complex<f64>`.
#[diagnostic::on_unimplemented(
    message = "elements of type `{Self}` cannot be reduced",
    label = "expected a primitive number, `bool`, or with their features a `half` or complex number",
    note = "to overwrite elements of any `Clone` type, use `scatter_elements`, or pass just an axis to \
            `scatter_elements_inplace`"
)]
pub trait ReduceElement: Copy + Send + Sync + Sealed + 'static {
    /// Sums and products build up in this type.
    #[doc(hidden)]
    type Wide: Copy + Send + Sync + 'static;
    /// The sum that a mean divides.
    #[doc(hidden)]
    type MeanSum: Copy + Send + Sync + 'static;
    /// Whether `Wide` is the type itself, so that a target can hold its own
    /// running sum.
    #[doc(hidden)]
    const NARROW: bool;
    /// Whether the reduction has a meaning.
    #[doc(hidden)]
    fn supports(reduction: Reduction) -> bool;
    #[doc(hidden)]
    const ZERO: Self::Wide;
    #[doc(hidden)]
    const ONE: Self::Wide;
    #[doc(hidden)]
    fn widen(self) -> Self::Wide;
    #[doc(hidden)]
    fn narrow(wide: Self::Wide) -> Self;
    #[doc(hidden)]
    fn add(sum: Self::Wide, update: Self) -> Self::Wide;
    #[doc(hidden)]
    fn mul(product: Self::Wide, update: Self) -> Self::Wide;
    #[doc(hidden)]
    fn least(self, update: Self) -> Self;
    #[doc(hidden)]
    fn greatest(self, update: Self) -> Self;
    /// Whether a mean divides the very sum that `add` builds up from `ZERO`.
    #[doc(hidden)]
    const MEAN_IS_SUM: bool = false;
    #[doc(hidden)]
    const MEAN_ZERO: Self::MeanSum;
    /// The sum of nothing but this value, down to the sign of a zero.
    #[doc(hidden)]
    fn mean_start(self) -> Self::MeanSum;
    #[doc(hidden)]
    fn mean_add(sum: Self::MeanSum, update: Self) -> Self::MeanSum;
    #[doc(hidden)]
    fn mean(sum: Self::MeanSum, count: u64) -> Self;
}

/// The parts that all integers share; sums and products wrap.
macro_rules! wrapping_integer {
    ($int:ty) => {
        type Wide = $int;
        const NARROW: bool = true;
        const ZERO: $int = 0;
        const ONE: $int = 1;

        fn supports(_reduction: Reduction) -> bool {
            true
        }
        #[inline(always)]
        fn widen(self) -> $int {
            self
        }
        #[inline(always)]
        fn narrow(wide: $int) -> $int {
            wide
        }
        #[inline(always)]
        fn add(sum: $int, update: $int) -> $int {
            sum.wrapping_add(update)
        }
        #[inline(always)]
        fn mul(product: $int, update: $int) -> $int {
            product.wrapping_mul(update)
        }
        #[inline(always)]
        fn least(self, update: $int) -> $int {
            self.min(update)
        }
        #[inline(always)]
        fn greatest(self, update: $int) -> $int {
            self.max(update)
        }
    };
}

macro_rules! integers {
    ($($int:ty: $sum:ty),*) => {$(
        impl Sealed for $int {}
        impl ReduceElement for $int {
            wrapping_integer!($int);

            // An i64 holds 2^47 updates of 16 bits and an i128 2^63 of 64
            // bits: more than any scatter can visit.
            type MeanSum = $sum;
            const MEAN_ZERO: $sum = 0;
            #[inline(always)]
            fn mean_start(self) -> $sum {
                self as $sum
            }
            #[inline(always)]
            fn mean_add(sum: $sum, update: $int) -> $sum {
                sum + update as $sum
            }
            #[inline(always)]
            fn mean(sum: $sum, count: u64) -> $int {
                sum.div_euclid(count as $sum) as $int
            }
        }
    )*};
}
integers!(
    i8: i64, i16: i64, i32: i128, i64: i128, isize: i128,
    u8: i64, u16: i64, u32: i128, u64: i128, usize: i128
);

macro_rules! integers_of_128_bits {
    ($($int:ty: $sign:expr),*) => {$(
        impl Sealed for $int {}
        impl ReduceElement for $int {
            wrapping_integer!($int);

            type MeanSum = Sum192;
            const MEAN_ZERO: Sum192 = Sum192::ZERO;
            #[inline(always)]
            fn mean_start(self) -> Sum192 {
                Self::mean_add(Sum192::ZERO, self)
            }
            #[inline(always)]
            fn mean_add(sum: Sum192, update: $int) -> Sum192 {
                let sign: fn($int) -> i64 = $sign;
                sum.plus(sign(update), update as u128)
            }
            #[inline(always)]
            fn mean(sum: Sum192, count: u64) -> $int {
                sum.floor_div(count) as $int
            }
        }
    )*};
}
integers_of_128_bits!(i128: |update| (update >> 127) as i64, u128: |_| 0);

/// A running sum of 128-bit integers: `high * 2^128 + low`.
#[derive(Debug, Clone, Copy)]
pub struct Sum192 {
    high: i64,
    low: u128,
}

impl Sum192 {
    const ZERO: Self = Sum192 { high: 0, low: 0 };

    fn plus(self, sign: i64, bits: u128) -> Self {
        let (low, carry) = self.low.overflowing_add(bits);
        Sum192 { high: self.high + sign + i64::from(carry), low }
    }

    /// The low 128 bits of the floor of `self / count`, by long division in
    /// base 2^64.
    fn floor_div(self, count: u64) -> u128 {
        let count = u128::from(count);
        let mut rest = i128::from(self.high).rem_euclid(count as i128) as u128;
        let mut quotient = 0;
        for digit in [self.low >> 64, self.low & u128::from(u64::MAX)] {
            let dividend = (rest << 64) | digit;
            quotient = (quotient << 64) | (dividend / count);
            rest = dividend % count;
        }
        quotient
    }
}

macro_rules! floats {
    ($($float:ty),*) => {$(
        impl Sealed for $float {}
        impl ReduceElement for $float {
            type Wide = $float;
            type MeanSum = $float;
            const NARROW: bool = true;
            const ZERO: $float = 0.0;
            const ONE: $float = 1.0;
            const MEAN_IS_SUM: bool = true;
            const MEAN_ZERO: $float = 0.0;

            fn supports(_reduction: Reduction) -> bool {
                true
            }
            #[inline(always)]
            fn widen(self) -> $float {
                self
            }
            #[inline(always)]
            fn narrow(wide: $float) -> $float {
                wide
            }
            #[inline(always)]
            fn add(sum: $float, update: $float) -> $float {
                sum + update
            }
            #[inline(always)]
            fn mul(product: $float, update: $float) -> $float {
                product * update
            }
            #[inline(always)]
            fn least(self, update: $float) -> $float {
                if (self <= update) | self.is_nan() { self } else { update }
            }
            #[inline(always)]
            fn greatest(self, update: $float) -> $float {
                if (self >= update) | self.is_nan() { self } else { update }
            }
            #[inline(always)]
            fn mean_start(self) -> $float {
                self
            }
            #[inline(always)]
            fn mean_add(sum: $float, update: $float) -> $float {
                sum + update
            }
            #[inline(always)]
            fn mean(sum: $float, count: u64) -> $float {
                sum / count as $float
            }
        }
    )*};
}
floats!(f32, f64);

impl Sealed for bool {}
impl ReduceElement for bool {
    type Wide = bool;
    type MeanSum = bool;
    const NARROW: bool = true;
    const ZERO: bool = false;
    const ONE: bool = true;
    const MEAN_ZERO: bool = false;

    fn supports(reduction: Reduction) -> bool {
        reduction != Reduction::Mean
    }
    #[inline(always)]
    fn widen(self) -> bool {
        self
    }
    #[inline(always)]
    fn narrow(wide: bool) -> bool {
        wide
    }
    #[inline(always)]
    fn add(sum: bool, update: bool) -> bool {
        sum | update
    }
    #[inline(always)]
    fn mul(product: bool, update: bool) -> bool {
        product & update
    }
    #[inline(always)]
    fn least(self, update: bool) -> bool {
        self & update
    }
    #[inline(always)]
    fn greatest(self, update: bool) -> bool {
        self | update
    }
    // `supports` keeps the mean from being asked for.
    fn mean_start(self) -> bool {
        self
    }
    fn mean_add(sum: bool, _update: bool) -> bool {
        sum
    }
    fn mean(sum: bool, _count: u64) -> bool {
        sum
    }
}

/// Half precision: sums, products and means build up in `f32`.
#[cfg(feature = "half")]
macro_rules! halves {
    ($($half:ty),*) => {$(
        impl Sealed for $half {}
        #[cfg_attr(docsrs, doc(cfg(feature = "half")))]
        impl ReduceElement for $half {
            type Wide = f32;
            type MeanSum = f32;
            const NARROW: bool = false;
            const ZERO: f32 = 0.0;
            const ONE: f32 = 1.0;
            const MEAN_ZERO: f32 = 0.0;

            fn supports(_reduction: Reduction) -> bool {
                true
            }
            #[inline(always)]
            fn widen(self) -> f32 {
                self.to_f32()
            }
            #[inline(always)]
            fn narrow(wide: f32) -> $half {
                <$half>::from_f32(wide)
            }
            #[inline(always)]
            fn add(sum: f32, update: $half) -> f32 {
                sum + update.to_f32()
            }
            #[inline(always)]
            fn mul(product: f32, update: $half) -> f32 {
                product * update.to_f32()
            }
            #[inline(always)]
            fn least(self, update: $half) -> $half {
                if (self <= update) | self.is_nan() { self } else { update }
            }
            #[inline(always)]
            fn greatest(self, update: $half) -> $half {
                if (self >= update) | self.is_nan() { self } else { update }
            }
            #[inline(always)]
            fn mean_start(self) -> f32 {
                self.to_f32()
            }
            #[inline(always)]
            fn mean_add(sum: f32, update: $half) -> f32 {
                sum + update.to_f32()
            }
            #[inline(always)]
            fn mean(sum: f32, count: u64) -> $half {
                <$half>::from_f32(sum / count as f32)
            }
        }
    )*};
}
#[cfg(feature = "half")]
halves!(half::f16, half::bf16);

#[cfg(feature = "num-complex")]
macro_rules! complex {
    ($($float:ty),*) => {$(
        impl Sealed for num_complex::Complex<$float> {}
        #[cfg_attr(docsrs, doc(cfg(feature = "num-complex")))]
        impl ReduceElement for num_complex::Complex<$float> {
            type Wide = Self;
            type MeanSum = Self;
            const NARROW: bool = true;
            const ZERO: Self = Self::new(0.0, 0.0);
            const ONE: Self = Self::new(1.0, 0.0);
            const MEAN_IS_SUM: bool = true;
            const MEAN_ZERO: Self = Self::ZERO;

            fn supports(reduction: Reduction) -> bool {
                !matches!(reduction, Reduction::Min | Reduction::Max)
            }
            #[inline(always)]
            fn widen(self) -> Self {
                self
            }
            #[inline(always)]
            fn narrow(wide: Self) -> Self {
                wide
            }
            #[inline(always)]
            fn add(sum: Self, update: Self) -> Self {
                sum + update
            }
            #[inline(always)]
            fn mul(product: Self, update: Self) -> Self {
                product * update
            }
            // `supports` keeps minima and maxima from being asked for.
            fn least(self, _update: Self) -> Self {
                self
            }
            fn greatest(self, _update: Self) -> Self {
                self
            }
            #[inline(always)]
            fn mean_start(self) -> Self {
                self
            }
            #[inline(always)]
            fn mean_add(sum: Self, update: Self) -> Self {
                sum + update
            }
            #[inline(always)]
            fn mean(sum: Self, count: u64) -> Self {
                sum / count as $float
            }
        }
    )*};
}
#[cfg(feature = "num-complex")]
complex!(f32, f64);
