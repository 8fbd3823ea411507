//! What a target holds after a list of updates, type by type.

use ndarray::{Array, Dimension};
use opkernels::{ReduceElement, Reduction};

use super::value::Value;

/// All there are.
pub(crate) const REDUCTIONS: [Reduction; 7] = [
    Reduction::None,
    Reduction::Sum,
    Reduction::Sub,
    Reduction::Prod,
    Reduction::Min,
    Reduction::Max,
    Reduction::Mean,
];

pub(crate) trait Reduce: Value + ReduceElement {
    fn defines(_reduction: Reduction) -> bool {
        true
    }

    /// The value after `updates` (at least one), which `init` precedes if it
    /// takes part.
    fn reduced(reduction: Reduction, init: Option<Self>, updates: &[Self]) -> Self;
}

/// `array` ready to be compared: arithmetic may choose between the payloads of
/// two NaNs, copying and comparing may not, but where a wider type is compared.
pub(crate) fn settled<A: Value, D: Dimension>(
    reduction: Reduction,
    array: &Array<A, D>,
) -> Array<A, D> {
    match reduction {
        Reduction::None => array.clone(),
        Reduction::Min | Reduction::Max if !A::COMPARED_WIDER => array.clone(),
        _ if !A::HAS_NANS => array.clone(),
        _ => array.mapv(A::with_one_nan),
    }
}

fn last<A: Copy>(updates: &[A]) -> A {
    updates[updates.len() - 1]
}

macro_rules! integers {
    ($($mean:ident: $($int:ty)*;)*) => {$($(
        impl Reduce for $int {
            fn reduced(reduction: Reduction, init: Option<Self>, updates: &[Self]) -> Self {
                let all: Vec<$int> = init.into_iter().chain(updates.iter().copied()).collect();
                match reduction {
                    Reduction::Sum => all.iter().fold(0, |sum, &x| sum.wrapping_add(x)),
                    Reduction::Sub => {
                        let start = init.unwrap_or(0);
                        updates.iter().fold(start, |rest, &x| rest.wrapping_sub(x))
                    }
                    Reduction::Prod => all.iter().fold(1, |product, &x| product.wrapping_mul(x)),
                    Reduction::Min => *all.iter().min().unwrap(),
                    Reduction::Max => *all.iter().max().unwrap(),
                    Reduction::Mean => $mean!(all, $int),
                    _ => last(updates),
                }
            }
        }
    )*)*};
}

/// The floor of the exact quotient.
macro_rules! mean_in_128_bits {
    ($all:expr, $int:ty) => {{
        let sum: i128 = $all.iter().map(|&x| x as i128).sum();
        sum.div_euclid($all.len() as i128) as $int
    }};
}

/// The same where 128 bits are not enough for the sum. With `x = q n + r` and
/// `0 <= r < n` for every `x`, the sum is `n` times the sum of the `q` plus
/// the sum of the `r` (which is small), and wrapping on the way does not change
/// a result that fits.
macro_rules! mean_of_128_bits {
    ($all:expr, $int:ty) => {{
        let n = $all.len() as $int;
        let quotients = $all.iter().fold(0, |sum: $int, x| sum.wrapping_add(x.div_euclid(n)));
        let rests: $int = $all.iter().map(|x| x.rem_euclid(n)).sum();
        quotients.wrapping_add(rests / n)
    }};
}
integers! {
    mean_in_128_bits: i8 i16 i32 i64 isize u8 u16 u32 u64 usize;
    mean_of_128_bits: i128 u128;
}

/// Floats of which `$wide` is the type that sums, products and means build up
/// in.
macro_rules! floats {
    ($($float:ty: $wide:ty, $widen:expr, $narrow:expr;)*) => {$(
        impl Reduce for $float {
            fn reduced(reduction: Reduction, init: Option<Self>, updates: &[Self]) -> Self {
                let widen: fn($float) -> $wide = $widen;
                let narrow: fn($wide) -> $float = $narrow;
                let sum = || {
                    let start = init.map_or(0.0, widen);
                    updates.iter().fold(start, |sum, &x| sum + widen(x))
                };
                let rest = || {
                    let start = init.map_or(0.0, widen);
                    updates.iter().fold(start, |rest, &x| rest - widen(x))
                };
                let product = || {
                    let start = init.map_or(1.0, widen);
                    updates.iter().fold(start, |product, &x| product * widen(x))
                };
                let count = updates.len() + usize::from(init.is_some());
                let all = || init.into_iter().chain(updates.iter().copied());
                match reduction {
                    Reduction::Sum => narrow(sum()).with_one_nan(),
                    Reduction::Sub => narrow(rest()).with_one_nan(),
                    Reduction::Prod => narrow(product()).with_one_nan(),
                    Reduction::Mean => narrow(sum() / count as $wide).with_one_nan(),
                    // NaN wins once it appears; equal values keep the earlier.
                    Reduction::Min => {
                        all().reduce(|a, b| if a.is_nan() || a <= b { a } else { b }).unwrap()
                    }
                    Reduction::Max => {
                        all().reduce(|a, b| if a.is_nan() || a >= b { a } else { b }).unwrap()
                    }
                    _ => last(updates),
                }
            }
        }
    )*};
}
floats! {
    f32: f32, |x| x, |x| x;
    f64: f64, |x| x, |x| x;
}
#[cfg(feature = "half")]
floats! {
    half::f16: f32, half::f16::to_f32, half::f16::from_f32;
    half::bf16: f32, half::bf16::to_f32, half::bf16::from_f32;
}

impl Reduce for bool {
    fn defines(reduction: Reduction) -> bool {
        reduction != Reduction::Mean
    }
    fn reduced(reduction: Reduction, init: Option<Self>, updates: &[Self]) -> Self {
        let mut all = init.into_iter().chain(updates.iter().copied());
        match reduction {
            Reduction::Sum | Reduction::Max => all.any(|x| x),
            Reduction::Prod | Reduction::Min => all.all(|x| x),
            Reduction::Sub => all.fold(false, |odd, x| odd ^ x),
            _ => last(updates),
        }
    }
}

#[cfg(feature = "num-complex")]
macro_rules! complex {
    ($($float:ty)*) => {$(
        impl Reduce for num_complex::Complex<$float> {
            fn defines(reduction: Reduction) -> bool {
                !matches!(reduction, Reduction::Min | Reduction::Max)
            }
            fn reduced(reduction: Reduction, init: Option<Self>, updates: &[Self]) -> Self {
                let sum = || {
                    let start = init.unwrap_or(Self::new(0.0, 0.0));
                    updates.iter().fold(start, |sum, &x| sum + x)
                };
                let rest = || {
                    let start = init.unwrap_or(Self::new(0.0, 0.0));
                    updates.iter().fold(start, |rest, &x| rest - x)
                };
                let product = || {
                    let start = init.unwrap_or(Self::new(1.0, 0.0));
                    updates.iter().fold(start, |product, &x| product * x)
                };
                let count = updates.len() + usize::from(init.is_some());
                match reduction {
                    Reduction::Sum => sum().with_one_nan(),
                    Reduction::Sub => rest().with_one_nan(),
                    Reduction::Prod => product().with_one_nan(),
                    Reduction::Mean => (sum() / count as $float).with_one_nan(),
                    _ => last(updates),
                }
            }
        }
    )*};
}
#[cfg(feature = "num-complex")]
complex!(f32 f64);
