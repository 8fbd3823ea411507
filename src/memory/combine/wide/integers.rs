//! Means of integers of up to 32 bits. A slot is one number of 64, whose high
//! bits count the updates and whose low bits are their sum, as `Running` has it
//! for larger ones.

use super::runs::{pairwise, widest};
use crate::reduction::{near, near_floor};

/// Integers of up to 32 bits.
pub(crate) trait Small: Copy + Into<i64> + 'static {
    /// The unsigned integer of the same size.
    type Bits: Low;
}

/// The low bits of 64.
pub(crate) trait Low: Copy + 'static {
    fn low(bits: u64) -> Self;
}

macro_rules! small {
    ($($int:ty: $bits:ty),*) => {$(
        impl Small for $int {
            type Bits = $bits;
        }
    )*};
}
small!(u8: u8, i8: u8, u16: u16, i16: u16, u32: u32, i32: u32);

macro_rules! low {
    ($($int:ty)*) => {$(
        impl Low for $int {
            #[inline(always)]
            fn low(bits: u64) -> Self {
                bits as $int
            }
        }
    )*};
}
low!(u8 u16 u32);

/// # Safety
/// So many elements can be read, and values written.
#[allow(unsafe_code)]
pub(super) unsafe fn widen<A: Small>(elements: *const u8, values: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { pairwise(elements.cast::<A>(), values.cast::<i64>(), len, |one: A| one.into()) }
}

/// # Safety
/// So many values can be read, and elements written.
#[allow(unsafe_code)]
pub(super) unsafe fn narrow<B: Low>(values: *const u8, elements: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { pairwise(values.cast::<u64>(), elements.cast::<B>(), len, B::low) }
}

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
