//! Means of integers whose sums need at most 64 bits. A slot is a sum, where the
//! updates are counted by rows; or one number of 64 (or 32) bits, whose low bits are
//! the sum of the updates and whose high bits are their count. (`Running` has the
//! same in 128 bits.)

use std::ops::BitOr;

use super::convert::map_run;
use super::rows::{self, Rows};
use crate::memory::cpu::widely;
use crate::reduction::{fits_i52, floor_div_i20, floor_div_i52, floor_recip_i32};

/// Signed and unsigned integers.
pub(crate) trait Integer: Copy + 'static {
    /// The unsigned integer of the same size.
    type Bits: Bits;
    /// How means of whole rows are reduced in registers, if they can be.
    const ROWS: Option<Rows>;
    /// The low 64 bits, extended by the sign if there are fewer.
    fn low(self) -> i64;
    /// The integer with all bits inverted if it is negative: its significant bits are those that do
    /// not repeat the sign.
    fn magnitude(self) -> Self::Bits;
}

/// Unsigned integers.
pub(crate) trait Bits: Copy + Default + BitOr<Output = Self> + 'static {
    /// The low bits of a number in two's complement.
    fn of(number: i64) -> Self;
    /// The number of significant bits.
    fn used(self) -> u32;
}

macro_rules! integers {
    ($($bits:ident: $signed:ident, $rows:path;)*) => {$(
        impl Integer for $bits {
            type Bits = $bits;
            const ROWS: Option<Rows> = $rows(0);

            #[inline(always)]
            fn low(self) -> i64 {
                self as i64
            }
            #[inline(always)]
            fn magnitude(self) -> $bits {
                self
            }
        }

        impl Integer for $signed {
            type Bits = $bits;
            const ROWS: Option<Rows> = $rows($signed::MIN as u32);

            #[inline(always)]
            fn low(self) -> i64 {
                self as i64
            }
            #[inline(always)]
            fn magnitude(self) -> $bits {
                (self ^ (self >> ($signed::BITS - 1))) as $bits
            }
        }

        impl Bits for $bits {
            #[inline(always)]
            fn of(number: i64) -> Self {
                number as $bits
            }
            #[inline(always)]
            fn used(self) -> u32 {
                $bits::BITS - self.leading_zeros()
            }
        }
    )*};
}
integers! {
    u8: i8, rows::means::<u8>;
    u16: i16, rows::means::<u16>;
    u32: i32, rows::means::<u32>;
    u64: i64, rows::none;
    u128: i128, rows::none;
}

/// Returns the number of bits, without the sign, that each of `len` elements fits in.
///
/// # Safety
/// `len` elements of type `A` can be read.
#[allow(unsafe_code)]
pub(super) unsafe fn significant<A: Integer>(elements: *const u8, len: usize) -> u32 {
    // SAFETY: the caller's promise.
    let elements = unsafe { std::slice::from_raw_parts(elements.cast::<A>(), len) };
    let all = move || elements.iter().fold(A::Bits::default(), |all, next| all | next.magnitude());
    widely(all).used()
}

/// Converts elements to values of 64 bits.
///
/// # Safety
/// `len` elements can be read, and `len` values written.
#[allow(unsafe_code)]
pub(super) unsafe fn widen<A: Integer>(elements: *const u8, values: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { map_run(elements.cast::<A>(), values.cast::<i64>(), len, A::low) }
}

/// Converts values of 64 bits to elements.
///
/// # Safety
/// `len` values can be read, and `len` elements written.
#[allow(unsafe_code)]
pub(super) unsafe fn narrow<B: Bits>(values: *const u8, elements: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { map_run(values.cast::<i64>(), elements.cast::<B>(), len, B::of) }
}

/// [`widen`] to values of 32 bits.
///
/// # Safety
/// `len` elements can be read, and `len` values written.
#[allow(unsafe_code)]
pub(super) unsafe fn widen_short<A: Integer>(elements: *const u8, values: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        map_run(elements.cast::<A>(), values.cast::<i32>(), len, |element| element.low() as i32);
    }
}

/// [`narrow`] from values of 32 bits.
///
/// # Safety
/// `len` values can be read, and `len` elements written.
#[allow(unsafe_code)]
pub(super) unsafe fn narrow_short<B: Bits>(values: *const u8, elements: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { map_run(values.cast::<i32>(), elements.cast::<B>(), len, |value| B::of(value.into())) }
}

/// Number of low bits that hold the sum in slots of 32 bits; the high 12 hold the count.
pub(super) const SHORT_SUM_BITS: u32 = 20;

/// Makes slots of 64 bits of values: the low `SUM` bits are the sum, the high `64 - SUM` bits the
/// count, which is 1 if `counts` and else 0. A slot must accumulate fewer than `2^(64 - SUM)`
/// numbers, whose sum is in `-2^(SUM - 1)..2^(SUM - 1)`. A negative sum borrows from the count.
///
/// # Safety
/// `len` values can be read, and `len` slots written.
#[allow(unsafe_code)]
pub(super) unsafe fn lift<const SUM: u32>(
    values: *const u8,
    slots: *mut u8,
    len: usize,
    counts: bool,
) {
    let one = u64::from(counts) << SUM;
    let add = |value: u64| value.wrapping_add(one);
    // SAFETY: the caller's promise.
    unsafe { map_run(values.cast::<u64>(), slots.cast::<u64>(), len, add) }
}

/// Divides the sum of each slot of [`lift`] by its count, and by one more if `init`.
///
/// # Safety
/// `len` slots can be read, and `len` values written.
#[allow(unsafe_code)]
pub(super) unsafe fn divide<const SUM: u32>(
    slots: *const u8,
    values: *mut u8,
    len: usize,
    init: bool,
) {
    let initial = u64::from(init);
    let mean = |slot: u64| {
        let sum = (slot << (64 - SUM)) as i64 >> (64 - SUM);
        // Without the sum, what a negative one borrowed is back in the count.
        let count = (slot.wrapping_sub(sum as u64) >> SUM) + initial;
        floor_div_i52(sum, count + u64::from(count == 0))
    };
    // SAFETY: the caller's promise.
    unsafe { map_run(slots.cast::<u64>(), values.cast::<i64>(), len, mean) }
}

/// [`lift`] to slots of 32 bits, of which the low `SHORT_SUM_BITS` hold the sum.
///
/// # Safety
/// `len` values can be read, and `len` slots written.
#[allow(unsafe_code)]
pub(super) unsafe fn lift_short(values: *const u8, slots: *mut u8, len: usize, counts: bool) {
    let one = u32::from(counts) << SHORT_SUM_BITS;
    let add = |value: u32| value.wrapping_add(one);
    // SAFETY: the caller's promise.
    unsafe { map_run(values.cast::<u32>(), slots.cast::<u32>(), len, add) }
}

/// [`divide`] for the slots of [`lift_short`].
///
/// # Safety
/// `len` slots can be read, and `len` values written.
#[allow(unsafe_code)]
pub(super) unsafe fn divide_short(slots: *const u8, values: *mut u8, len: usize, init: bool) {
    let initial = u32::from(init);
    let mean = |slot: u32| {
        let sum = (slot << (32 - SHORT_SUM_BITS)) as i32 >> (32 - SHORT_SUM_BITS);
        let count = (slot.wrapping_sub(sum as u32) >> SHORT_SUM_BITS) + initial;
        floor_div_i20(sum, (count + u32::from(count == 0)) as i32)
    };
    // SAFETY: the caller's promise.
    unsafe { map_run(slots.cast::<u32>(), values.cast::<i32>(), len, mean) }
}

/// Divides sums of 64 bits by a count, in place.
///
/// # Safety
/// `len` values can be read and written.
#[allow(unsafe_code)]
pub(super) unsafe fn divide_row(values: *mut u8, len: usize, count: u32) {
    // SAFETY: the caller's promise.
    let sums = unsafe { std::slice::from_raw_parts_mut(values.cast::<i64>(), len) };
    // The bits that do not repeat the sign, of all sums: if these fit in 52 bits, every sum does.
    let bits = sums.iter().fold(0, |bits, sum| bits | (sum ^ (sum >> 63)));
    if !fits_i52(bits) {
        return sums.iter_mut().for_each(|sum| *sum = sum.div_euclid(i64::from(count)));
    }
    widely(move || sums.iter_mut().for_each(|sum| *sum = floor_div_i52(*sum, u64::from(count))));
}

/// Divides sums of 32 bits by a count, in place.
///
/// # Safety
/// `len` values can be read and written.
#[allow(unsafe_code)]
pub(super) unsafe fn divide_short_row(values: *mut u8, len: usize, count: u32) {
    // SAFETY: the caller's promise.
    let sums = unsafe { std::slice::from_raw_parts_mut(values.cast::<i32>(), len) };
    let reciprocal = f64::from(count).recip();
    widely(move || sums.iter_mut().for_each(|sum| *sum = floor_recip_i32(*sum, reciprocal)));
}
