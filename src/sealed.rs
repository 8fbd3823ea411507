//! The supertrait of the sealed traits.

use ndarray::{ArrayBase, ArrayRef, Axis, Data, Dimension};

/// Implemented only in this crate, so traits with this supertrait cannot be implemented elsewhere.
pub trait Sealed {}

impl<S: Data, D: Dimension> Sealed for ArrayBase<S, D> {}
impl<A, D: Dimension> Sealed for ArrayRef<A, D> {}
impl Sealed for Axis {}

macro_rules! sealed {
    ($($number:ty)*) => { $(impl Sealed for $number {})* };
}
sealed!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64 bool);
#[cfg(feature = "half")]
sealed!(half::f16 half::bf16);
#[cfg(feature = "num-complex")]
sealed!(num_complex::Complex<f32> num_complex::Complex<f64>);
