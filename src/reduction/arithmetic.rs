//! What each reduction means for each element type.

use super::{ReduceElement, Reduction};
use crate::memory::{Kernels, Twin};

/// What reductions do with elements of one type.
pub(crate) trait Arithmetic: Copy + Send + Sync + 'static {
    /// Sums and products build up in this type.
    type Wide: Copy + Send + Sync + 'static;
    /// What has the same sums, differences and products down to their bits, where
    /// `NARROW`.
    type Ring: Arithmetic + Twin<Self>;
    /// The sum that a mean divides.
    type MeanSum: Copy + Send + Sync + 'static;
    /// Whether `Wide` is the type itself, so that a target can hold its own
    /// running sum.
    const NARROW: bool;
    /// Whether a mean divides the very sum that `add` builds up from `ZERO`.
    const MEAN_IS_SUM: bool = false;
    const ZERO: Self::Wide;
    const ONE: Self::Wide;
    const MEAN_ZERO: Self::MeanSum;
    /// What no element is less than.
    const LEAST: Self;
    /// What no element is greater than.
    const GREATEST: Self;
    /// Whether the reduction has a meaning.
    fn supports(reduction: Reduction) -> bool;
    fn widen(self) -> Self::Wide;
    fn narrow(wide: Self::Wide) -> Self;
    fn add(sum: Self::Wide, update: Self) -> Self::Wide;
    fn sub(difference: Self::Wide, update: Self) -> Self::Wide;
    fn mul(product: Self::Wide, update: Self) -> Self::Wide;
    fn least(self, update: Self) -> Self;
    fn greatest(self, update: Self) -> Self;
    /// The sum of nothing but this value, down to the sign of a zero.
    fn mean_start(self) -> Self::MeanSum;
    fn mean_add(sum: Self::MeanSum, update: Self) -> Self::MeanSum;
    fn mean(sum: Self::MeanSum, count: u64) -> Self;
}

macro_rules! element {
    ($element:ty) => {
        impl ReduceElement for $element {
            const KERNELS: Kernels = Kernels::of::<$element>();
        }
    };
}

/// The parts that all integers share; sums and products wrap.
macro_rules! wrapping_integer {
    ($int:ty, $unsigned:ty) => {
        type Wide = $int;
        type Ring = $unsigned;
        const NARROW: bool = true;
        const ZERO: $int = 0;
        const ONE: $int = 1;
        const LEAST: $int = <$int>::MIN;
        const GREATEST: $int = <$int>::MAX;

        fn supports(_reduction: Reduction) -> bool {
            true
        }
        #[inline(always)]
        fn sub(difference: $int, update: $int) -> $int {
            difference.wrapping_sub(update)
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
    ($($int:ty: $unsigned:ty, $sum:ty;)*) => {$(
        element!($int);
        impl Arithmetic for $int {
            wrapping_integer!($int, $unsigned);

            // Fewer than 2^32 updates of an element are summed, so 64 bits
            // hold those of up to 32 bits, and 128 those of 64.
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
integers! {
    i8: u8, i64; i16: u16, i64; i32: u32, i64; i64: u64, i128;
    u8: u8, u64; u16: u16, u64; u32: u32, u64; u64: u64, i128;
}

/// Integers as wide as an address have the kernels of others of that width.
macro_rules! integers_of_addresses {
    ($($width:literal: $signed:ty, $unsigned:ty;)*) => {$(
        #[cfg(target_pointer_width = $width)]
        impl ReduceElement for isize {
            const KERNELS: Kernels = Kernels::of_twin::<isize, $signed>();
        }
        #[cfg(target_pointer_width = $width)]
        impl ReduceElement for usize {
            const KERNELS: Kernels = Kernels::of_twin::<usize, $unsigned>();
        }
    )*};
}
integers_of_addresses! { "64": i64, u64; "32": i32, u32; "16": i16, u16; }

macro_rules! integers_of_128_bits {
    ($($int:ty: $sign:expr),*) => {$(
        element!($int);
        impl Arithmetic for $int {
            wrapping_integer!($int, u128);

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
pub(crate) struct Sum192 {
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
        element!($float);
        impl Arithmetic for $float {
            type Wide = $float;
            type Ring = $float;
            type MeanSum = $float;
            const NARROW: bool = true;
            const ZERO: $float = 0.0;
            const ONE: $float = 1.0;
            const MEAN_IS_SUM: bool = true;
            const MEAN_ZERO: $float = 0.0;
            const LEAST: $float = <$float>::NEG_INFINITY;
            const GREATEST: $float = <$float>::INFINITY;

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
            fn sub(difference: $float, update: $float) -> $float {
                difference - update
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

element!(bool);
impl Arithmetic for bool {
    type Wide = bool;
    type Ring = bool;
    type MeanSum = bool;
    const NARROW: bool = true;
    const ZERO: bool = false;
    const ONE: bool = true;
    const MEAN_ZERO: bool = false;
    const LEAST: bool = false;
    const GREATEST: bool = true;

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
    fn sub(difference: bool, update: bool) -> bool {
        difference ^ update
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
        element!($half);
        impl Arithmetic for $half {
            type Wide = f32;
            type Ring = $half;
            type MeanSum = f32;
            const NARROW: bool = false;
            const ZERO: f32 = 0.0;
            const ONE: f32 = 1.0;
            const MEAN_ZERO: f32 = 0.0;
            const LEAST: $half = <$half>::NEG_INFINITY;
            const GREATEST: $half = <$half>::INFINITY;

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
            fn sub(difference: f32, update: $half) -> f32 {
                difference - update.to_f32()
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
        element!(num_complex::Complex<$float>);
        impl Arithmetic for num_complex::Complex<$float> {
            type Wide = Self;
            type Ring = Self;
            type MeanSum = Self;
            const NARROW: bool = true;
            const ZERO: Self = Self::new(0.0, 0.0);
            const ONE: Self = Self::new(1.0, 0.0);
            const MEAN_IS_SUM: bool = true;
            const MEAN_ZERO: Self = Self::new(0.0, 0.0);
            // `supports` keeps minima and maxima from being asked for.
            const LEAST: Self = Self::new(0.0, 0.0);
            const GREATEST: Self = Self::new(0.0, 0.0);

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
            fn sub(difference: Self, update: Self) -> Self {
                difference - update
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
