//! The arithmetic of reductions for each element type.

use super::{ReduceElement, Reduction};
use crate::memory::{Accumulators, Kernels, Twin};

/// The arithmetic of reductions of elements of one type.
pub(crate) trait Arithmetic: Copy + Send + Sync + 'static {
    /// A type whose sums, differences and products have the same bits as those of this type, if
    /// `ACCUMULATES`: signed integers share the kernels of unsigned ones.
    type Ring: Arithmetic + Twin<Self>;
    /// Whether sums, differences and products accumulate in the type itself, so that a target can be its own
    /// accumulator.
    const ACCUMULATES: bool;
    /// Whether sums, products, minima and maxima have the same bits in any order of updates, and in
    /// any grouping.
    const ANY_ORDER: bool = false;
    /// How reductions accumulate beside their targets, where these cannot be the accumulators.
    const ACCUMULATORS: Accumulators<Self>;
    const ZERO: Self;
    const ONE: Self;
    /// The identity of `greatest`: no element is less.
    const LEAST: Self;
    /// The identity of `least`: no element is greater.
    const GREATEST: Self;
    /// Whether the reduction is defined for the type.
    fn supports(reduction: Reduction) -> bool;
    fn add(self, update: Self) -> Self;
    fn sub(self, update: Self) -> Self;
    fn mul(self, update: Self) -> Self;
    /// The minimum; of equal values `self`, and a NaN once there is one.
    fn least(self, update: Self) -> Self;
    /// The maximum; of equal values `self`, and a NaN once there is one.
    fn greatest(self, update: Self) -> Self;
    /// [`least`](Self::least), in a form that is faster for elements reduced one by one.
    #[inline(always)]
    fn least_alone(self, update: Self) -> Self {
        self.least(update)
    }
    /// [`greatest`](Self::greatest), in a form that is faster for elements reduced one by one.
    #[inline(always)]
    fn greatest_alone(self, update: Self) -> Self {
        self.greatest(update)
    }
}

macro_rules! element {
    ($element:ty) => {
        impl ReduceElement for $element {
            const KERNELS: Kernels = Kernels::of::<$element>();
        }
    };
}

/// The items that all integers share; sums, differences and products wrap.
macro_rules! wrapping_integer {
    ($int:ty, $unsigned:ty) => {
        type Ring = $unsigned;
        const ACCUMULATES: bool = true;
        const ANY_ORDER: bool = true;
        const ZERO: $int = 0;
        const ONE: $int = 1;
        const LEAST: $int = <$int>::MIN;
        const GREATEST: $int = <$int>::MAX;

        fn supports(_reduction: Reduction) -> bool {
            true
        }
        #[inline(always)]
        fn sub(self, update: $int) -> $int {
            self.wrapping_sub(update)
        }
        #[inline(always)]
        fn add(self, update: $int) -> $int {
            self.wrapping_add(update)
        }
        #[inline(always)]
        fn mul(self, update: $int) -> $int {
            self.wrapping_mul(update)
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
    ($($accumulators:ident { $($int:ty: $unsigned:ty;)* })*) => {$($(
        element!($int);
        impl Arithmetic for $int {
            wrapping_integer!($int, $unsigned);
            const ACCUMULATORS: Accumulators<Self> = Accumulators::$accumulators;
        }
    )*)*};
}
integers! {
    SMALL_INTEGERS { i8: u8; i16: u16; i32: u32; u8: u8; u16: u16; u32: u32; }
    LARGE_INTEGERS { i64: u64; i128: u128; u64: u64; u128: u128; }
}

/// Integers as wide as an address have the kernels of the fixed-width integers of that width.
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

macro_rules! floats {
    ($($float:ty),*) => {$(
        element!($float);
        impl Arithmetic for $float {
            type Ring = $float;
            const ACCUMULATES: bool = true;
            const ZERO: $float = 0.0;
            const ONE: $float = 1.0;
            const ACCUMULATORS: Accumulators<Self> = Accumulators::DIVIDED;
            const LEAST: $float = <$float>::NEG_INFINITY;
            const GREATEST: $float = <$float>::INFINITY;

            fn supports(_reduction: Reduction) -> bool {
                true
            }
            #[inline(always)]
            fn add(self, update: $float) -> $float {
                self + update
            }
            #[inline(always)]
            fn sub(self, update: $float) -> $float {
                self - update
            }
            #[inline(always)]
            fn mul(self, update: $float) -> $float {
                self * update
            }
            #[inline(always)]
            fn least(self, update: $float) -> $float {
                if (self <= update) | self.is_nan() { self } else { update }
            }
            #[inline(always)]
            fn greatest(self, update: $float) -> $float {
                if (self >= update) | self.is_nan() { self } else { update }
            }
            // Unless the update is NaN, these are one instruction, so that the next update of
            // the same target waits less. The branch for NaN keeps the compiler from
            // vectorising, so rows use `least` and `greatest`.
            #[inline(always)]
            fn least_alone(self, update: $float) -> $float {
                if update.is_nan() {
                    return first_nan(self.is_nan(), self, update);
                }
                if update < self { update } else { self }
            }
            #[inline(always)]
            fn greatest_alone(self, update: $float) -> $float {
                if update.is_nan() {
                    return first_nan(self.is_nan(), self, update);
                }
                if update > self { update } else { self }
            }
        }
    )*};
}
floats!(f32, f64);

/// The minimum or maximum of a target and an update that is NaN: the first NaN of the two.
#[cold]
#[inline(never)]
fn first_nan<A>(is_nan: bool, held: A, update: A) -> A {
    if is_nan { held } else { update }
}

element!(bool);
impl Arithmetic for bool {
    type Ring = bool;
    const ACCUMULATES: bool = true;
    const ANY_ORDER: bool = true;
    const ACCUMULATORS: Accumulators<Self> = Accumulators::NONE;
    const ZERO: bool = false;
    const ONE: bool = true;
    const LEAST: bool = false;
    const GREATEST: bool = true;

    fn supports(reduction: Reduction) -> bool {
        reduction != Reduction::Mean
    }
    #[inline(always)]
    fn add(self, update: bool) -> bool {
        self | update
    }
    #[inline(always)]
    fn sub(self, update: bool) -> bool {
        self ^ update
    }
    #[inline(always)]
    fn mul(self, update: bool) -> bool {
        self & update
    }
    #[inline(always)]
    fn least(self, update: bool) -> bool {
        self & update
    }
    #[inline(always)]
    fn greatest(self, update: bool) -> bool {
        self | update
    }
}

/// The bits of a half as integers, so that comparisons are vectorised: an integer that is ordered
/// as the numbers are, and the magnitude, the bits without the sign, in which every NaN is greater
/// than infinity.
#[cfg(feature = "half")]
struct Order(i16, u16);

#[cfg(feature = "half")]
impl Order {
    #[inline(always)]
    fn of(bits: u16) -> Self {
        let magnitude = bits & 0x7fff;
        let negative = (bits as i16) < 0;
        Order(if negative { -(magnitude as i16) } else { magnitude as i16 }, magnitude)
    }
}

/// Half precision: sums, differences, products and means accumulate in `f32`.
#[cfg(feature = "half")]
macro_rules! halves {
    ($($half:ty),*) => {$(
        element!($half);
        impl Arithmetic for $half {
            type Ring = $half;
            const ACCUMULATES: bool = false;
            const ACCUMULATORS: Accumulators<Self> = Accumulators::HALVES;
            const ZERO: $half = <$half>::ZERO;
            const ONE: $half = <$half>::ONE;
            const LEAST: $half = <$half>::NEG_INFINITY;
            const GREATEST: $half = <$half>::INFINITY;

            fn supports(_reduction: Reduction) -> bool {
                true
            }
            // These three are never called: they accumulate in `f32` (`ACCUMULATES` is false).
            fn add(self, update: $half) -> $half {
                self + update
            }
            fn sub(self, update: $half) -> $half {
                self - update
            }
            fn mul(self, update: $half) -> $half {
                self * update
            }
            #[inline(always)]
            fn least(self, update: $half) -> $half {
                let (held, new) = (Order::of(self.to_bits()), Order::of(update.to_bits()));
                let keep = (held.0 <= new.0) & (new.1 <= Self::INFINITY.to_bits());
                if keep | (held.1 > Self::INFINITY.to_bits()) { self } else { update }
            }
            #[inline(always)]
            fn greatest(self, update: $half) -> $half {
                let (held, new) = (Order::of(self.to_bits()), Order::of(update.to_bits()));
                let keep = (held.0 >= new.0) & (new.1 <= Self::INFINITY.to_bits());
                if keep | (held.1 > Self::INFINITY.to_bits()) { self } else { update }
            }
        }
    )*};
}
#[cfg(feature = "half")]
halves!(::half::f16, ::half::bf16);

#[cfg(feature = "num-complex")]
macro_rules! complex {
    ($($float:ty),*) => {$(
        element!(num_complex::Complex<$float>);
        impl Arithmetic for num_complex::Complex<$float> {
            type Ring = Self;
            const ACCUMULATES: bool = true;
            const ZERO: Self = Self::new(0.0, 0.0);
            const ONE: Self = Self::new(1.0, 0.0);
            const ACCUMULATORS: Accumulators<Self> = Accumulators::DIVIDED;
            // Never used: `supports` excludes minima and maxima.
            const LEAST: Self = Self::new(0.0, 0.0);
            const GREATEST: Self = Self::new(0.0, 0.0);

            fn supports(reduction: Reduction) -> bool {
                !matches!(reduction, Reduction::Min | Reduction::Max)
            }
            #[inline(always)]
            fn add(self, update: Self) -> Self {
                self + update
            }
            #[inline(always)]
            fn sub(self, update: Self) -> Self {
                self - update
            }
            #[inline(always)]
            fn mul(self, update: Self) -> Self {
                self * update
            }
            // Never called: `supports` excludes minima and maxima.
            fn least(self, _update: Self) -> Self {
                self
            }
            fn greatest(self, _update: Self) -> Self {
                self
            }
        }
    )*};
}
#[cfg(feature = "num-complex")]
complex!(f32, f64);
