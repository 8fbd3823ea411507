//! Means of integers whose sums need at most 64 bits. A slot is such a sum, where
//! rows are counted apart; or one number of 64 bits, whose high bits count the
//! updates and whose low bits are their sum, as `Running` has it for larger ones.

use std::ops::BitOr;

use super::rows::{self, Rows};
use super::runs::{pairwise, widest};
use crate::reduction::{floor_by, near, near_floor, short_floor};

/// Integers.
pub(crate) trait Integer: Copy + 'static {
    /// The unsigned integer of the same size.
    type Bits: Bits;
    /// How means of whole rows are made, if not like others.
    const ROWS: Option<Rows>;
    /// Its low bits.
    fn low(self) -> i64;
    /// The bits that do not repeat the sign.
    fn magnitude(self) -> Self::Bits;
}

/// Unsigned integers.
pub(crate) trait Bits: Copy + Default + BitOr<Output = Self> + 'static {
    /// As many bits as it has of a number in two's complement.
    fn of(number: i64) -> Self;
    /// How many bits it needs.
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

/// How many bits the largest of some elements needs beside its sign.
///
/// # Safety
/// So many elements can be read.
#[allow(unsafe_code)]
pub(crate) unsafe fn significant<A: Integer>(elements: *const u8, len: usize) -> u32 {
    // SAFETY: the caller's promise.
    let elements = unsafe { std::slice::from_raw_parts(elements.cast::<A>(), len) };
    let all = move || elements.iter().fold(A::Bits::default(), |all, one| all | one.magnitude());
    widest(all).used()
}

/// # Safety
/// So many elements can be read, and values written.
#[allow(unsafe_code)]
pub(super) unsafe fn widen<A: Integer>(elements: *const u8, values: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { pairwise(elements.cast::<A>(), values.cast::<i64>(), len, A::low) }
}

/// # Safety
/// So many values can be read, and elements written.
#[allow(unsafe_code)]
pub(super) unsafe fn narrow<B: Bits>(values: *const u8, elements: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { pairwise(values.cast::<i64>(), elements.cast::<B>(), len, B::of) }
}

/// [`widen`] to values of 32 bits.
///
/// # Safety
/// So many elements can be read, and values written.
#[allow(unsafe_code)]
pub(super) unsafe fn widen_short<A: Integer>(elements: *const u8, values: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { pairwise(elements.cast::<A>(), values.cast::<i32>(), len, |one| one.low() as i32) }
}

/// [`narrow`] from values of 32 bits.
///
/// # Safety
/// So many values can be read, and elements written.
#[allow(unsafe_code)]
pub(super) unsafe fn narrow_short<B: Bits>(values: *const u8, elements: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { pairwise(values.cast::<i32>(), elements.cast::<B>(), len, |one| B::of(one.into())) }
}

/// Bits of the sum in slots of 32, which count in the others.
pub(super) const SHORT_SUM: u32 = 20;

/// Slots of 64 bits, of which `SUM` hold the sum: all numbers that a slot adds
/// up must come to less than `2^(SUM - 1)`, and be fewer than `2^(64 - SUM)`.
///
/// # Safety
/// So many values can be read, and slots written.
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
    unsafe { pairwise(values.cast::<u64>(), slots.cast::<u64>(), len, add) }
}

/// # Safety
/// So many slots can be read, and values written.
#[allow(unsafe_code)]
pub(super) unsafe fn divide<const SUM: u32>(
    slots: *const u8,
    values: *mut u8,
    len: usize,
    init: bool,
) {
    let more = u64::from(init);
    let mean = |slot: u64| {
        let sum = (slot << (64 - SUM)) as i64 >> (64 - SUM);
        let count = (slot.wrapping_sub(sum as u64) >> SUM) + more;
        near_floor(sum, count + u64::from(count == 0))
    };
    // SAFETY: the caller's promise.
    unsafe { pairwise(slots.cast::<u64>(), values.cast::<i64>(), len, mean) }
}

/// [`lift`] to slots of 32 bits, of which `SHORT_SUM` hold the sum.
///
/// # Safety
/// So many values can be read, and slots written.
#[allow(unsafe_code)]
pub(super) unsafe fn lift_short(values: *const u8, slots: *mut u8, len: usize, counts: bool) {
    let one = u32::from(counts) << SHORT_SUM;
    let add = |value: u32| value.wrapping_add(one);
    // SAFETY: the caller's promise.
    unsafe { pairwise(values.cast::<u32>(), slots.cast::<u32>(), len, add) }
}

/// # Safety
/// So many slots can be read, and values written.
#[allow(unsafe_code)]
pub(super) unsafe fn divide_short(slots: *const u8, values: *mut u8, len: usize, init: bool) {
    let more = u32::from(init);
    let mean = |slot: u32| {
        let sum = (slot << (32 - SHORT_SUM)) as i32 >> (32 - SHORT_SUM);
        let count = (slot.wrapping_sub(sum as u32) >> SHORT_SUM) + more;
        short_floor(sum, (count + u32::from(count == 0)) as i32)
    };
    // SAFETY: the caller's promise.
    unsafe { pairwise(slots.cast::<u32>(), values.cast::<i32>(), len, mean) }
}

/// Divides sums of 64 bits.
///
/// # Safety
/// So many values can be read and written.
#[allow(unsafe_code)]
pub(super) unsafe fn divide_row(values: *mut u8, len: usize, count: u32) {
    // SAFETY: the caller's promise.
    let sums = unsafe { std::slice::from_raw_parts_mut(values.cast::<i64>(), len) };
    // Of all of them, the bits that do not repeat the sign.
    let bits = sums.iter().fold(0, |bits, sum| bits | (sum ^ (sum >> 63)));
    if !near(bits) {
        return sums.iter_mut().for_each(|sum| *sum = sum.div_euclid(i64::from(count)));
    }
    widest(move || sums.iter_mut().for_each(|sum| *sum = near_floor(*sum, u64::from(count))));
}

/// Divides sums of 32 bits.
///
/// # Safety
/// So many values can be read and written.
#[allow(unsafe_code)]
pub(super) unsafe fn divide_short_row(values: *mut u8, len: usize, count: u32) {
    // SAFETY: the caller's promise.
    let sums = unsafe { std::slice::from_raw_parts_mut(values.cast::<i32>(), len) };
    let by = f64::from(count).recip();
    widest(move || sums.iter_mut().for_each(|sum| *sum = floor_by(*sum, by)));
}
