//! The integers that may stand in `indices`.

use crate::memory::IndexKind;

use crate::sealed::Sealed;

/// An integer that may stand in `indices`.
///
/// Implemented for `i8`, `i16`, `i32`, `i64`, `isize`, `u8`, `u16`, `u32`,
/// `u64` and `usize`, and sealed: memory is read and written at the positions
/// that indices name.
#[diagnostic::on_unimplemented(
    message = "indices must be integers, not `{Self}`",
    label = "expected indices of an integer type (i8 to i64, isize, u8 to u64, usize)",
    note = "indices of several dimensions are arrays: `ndarray::array![[0, 1], [2, 3]]`"
)]
pub trait IndexInteger: num_traits::PrimInt + Send + Sync + Sealed + 'static {
    /// What is compiled once for each type.
    #[doc(hidden)]
    const KIND: &'static IndexKind;
}

/// The longest axis along which [`Meaning::outside`] tells.
pub(crate) const LONGEST: u64 = 1 << 62;

/// What an index means along an axis of `len` elements.
pub(crate) trait Meaning: Copy + PartialOrd + 'static {
    /// Whether values can be negative, for those who read them in vectors.
    #[cfg_attr(
        not(all(target_arch = "x86_64", target_pointer_width = "64", not(miri))),
        allow(dead_code)
    )]
    const SIGNED: bool;

    /// The position from the front that a value in `-len..=len - 1` means;
    /// some number `>= len` for every other value.
    fn position(self, len: usize) -> u64;
    /// A number that is negative where the value is outside `-len..=len - 1`,
    /// or for unsigned types not below `len`, of an axis no longer than [`LONGEST`].
    /// Those of many indices are combined by "or" and looked at once: three
    /// instructions an index.
    fn outside(self, len: usize) -> i64;
    /// The nearest position of an axis of length `len > 0`.
    fn clip(self, len: usize) -> usize;
    /// The value modulo `len > 0`.
    fn wrap(self, len: usize) -> usize;
    /// The full value, for messages.
    fn value(self) -> i128;
}

macro_rules! signed {
    ($($int:ty)*) => {$(
        impl Meaning for $int {
            const SIGNED: bool = true;

            #[inline(always)]
            fn position(self, len: usize) -> u64 {
                // An array is never longer than `isize::MAX`, so `len` fits
                // in i64, and a negative value plus `len` cannot overflow. A
                // sum that stays negative turns into a number past any length.
                let value = self as i64;
                (value + (len as i64 & (value >> 63))) as u64
            }
            #[inline(always)]
            fn outside(self, len: usize) -> i64 {
                // Where one of them wraps around, the other is negative: `len` is at most 2^62.
                let (value, len) = (self as i64, len as i64);
                value.wrapping_add(len) | (len - 1).wrapping_sub(value)
            }
            #[inline(always)]
            fn clip(self, len: usize) -> usize {
                let value = self as i64;
                let from_front = if value < 0 { value + len as i64 } else { value };
                from_front.clamp(0, len as i64 - 1) as usize
            }
            #[inline(always)]
            fn wrap(self, len: usize) -> usize {
                (self as i64).rem_euclid(len as i64) as usize
            }
            #[inline]
            fn value(self) -> i128 {
                self as i128
            }
        }
    )*};
}
signed!(i8 i16 i32 i64 isize);

macro_rules! unsigned {
    ($($int:ty)*) => {$(
        impl Meaning for $int {
            const SIGNED: bool = false;

            #[inline(always)]
            fn position(self, _len: usize) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn outside(self, len: usize) -> i64 {
                let value = self as i64;
                value | (len as i64 - 1).wrapping_sub(value)
            }
            #[inline(always)]
            fn clip(self, len: usize) -> usize {
                (self as u64).min(len as u64 - 1) as usize
            }
            #[inline(always)]
            fn wrap(self, len: usize) -> usize {
                (self as u64 % len as u64) as usize
            }
            #[inline]
            fn value(self) -> i128 {
                self as i128
            }
        }
    )*};
}
unsigned!(u8 u16 u32 u64 usize);

macro_rules! index_integers {
    ($($int:ty)*) => {$(
        impl IndexInteger for $int {
            const KIND: &'static IndexKind = &IndexKind::of::<$int>();
        }
    )*};
}
index_integers!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);
