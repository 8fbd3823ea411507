//! The integer types of indices.

use crate::memory::IndexKind;

use crate::sealed::Sealed;

/// An integer type that indices may have.
///
/// Implemented for `i8`, `i16`, `i32`, `i64`, `isize`, `u8`, `u16`, `u32`,
/// `u64` and `usize`, and sealed: memory safety depends on the positions that indices select.
#[diagnostic::on_unimplemented(
    message = "indices must be integers, not `{Self}`",
    label = "expected indices of an integer type (i8 to i64, isize, u8 to u64, usize)",
    note = "indices of several dimensions are arrays: `ndarray::array![[0, 1], [2, 3]]`, or \
            `ndarray::aview2(&pairs)` of a `Vec<[usize; 2]>`"
)]
pub trait IndexInteger: num_traits::PrimInt + Send + Sync + Sealed + 'static {
    /// The functions that are compiled for each index type.
    #[doc(hidden)]
    const KIND: &'static IndexKind;
}

/// The length of the longest axis for which [`Meaning::outside`] is correct.
pub(crate) const LONGEST: u64 = 1 << 62;

/// The position that an index selects along an axis of `len` elements.
pub(crate) trait Meaning: Copy + PartialOrd + 'static {
    /// Whether the type is signed.
    const SIGNED: bool;
    /// The least and the greatest value of the type.
    const ENDS: [Self; 2];

    /// The position, counted from the front, of a value in `-len..=len - 1`: the value itself, or
    /// `value + len` where it is negative. For every other value some number `>= len`.
    fn position(self, len: usize) -> u64;
    /// A number that is negative if and only if the value is outside `-len..=len - 1`, or for
    /// unsigned types if it is not less than `len`, where `len <= LONGEST`. The results for many
    /// indices are combined by a bitwise or and compared with 0 once: three instructions for each
    /// index.
    fn outside(self, len: usize) -> i64;
    /// The position nearest to the value along an axis of length `len > 0`.
    fn clip(self, len: usize) -> usize;
    /// The value modulo `len > 0`.
    fn wrap(self, len: usize) -> usize;
    /// The value, for messages.
    fn value(self) -> i128;
}

macro_rules! signed {
    ($($int:ty)*) => {$(
        impl Meaning for $int {
            const SIGNED: bool = true;
            const ENDS: [Self; 2] = [<$int>::MIN, <$int>::MAX];

            #[inline(always)]
            fn position(self, len: usize) -> u64 {
                // An axis is never longer than `isize::MAX`, so `len` fits in `i64`, and a negative
                // value plus `len` cannot overflow. A sum that is still negative becomes a `u64`
                // that is greater than any length.
                let value = self as i64;
                (value + (len as i64 & (value >> 63))) as u64
            }
            #[inline(always)]
            fn outside(self, len: usize) -> i64 {
                // Where one of the two operands of `|` wraps around, the other is negative, since
                // `len` is at most 2^62.
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
            const ENDS: [Self; 2] = [<$int>::MIN, <$int>::MAX];

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
