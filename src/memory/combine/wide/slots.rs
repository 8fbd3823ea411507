//! Slots of a sum and a count.

use super::super::apply::elements;
use super::runs::{pairwise, widest};
use crate::memory::tile::Tile;
use crate::reduction::{Divide, Running};

/// Slots that start from values.
///
/// # Safety
/// So many values can be read, and slots written.
#[allow(unsafe_code)]
pub(super) unsafe fn start<A: Running>(values: *const u8, slots: *mut u8, len: usize, _: bool) {
    // SAFETY: the caller's promise.
    unsafe { pairwise(values.cast::<A>(), slots.cast::<A::Slot>(), len, |value: A| value.slot()) }
}

/// Adds updates to slots.
///
/// # Safety
/// That of [`Kernel::run`](crate::memory::tile::Kernel::run), for slots.
#[allow(unsafe_code)]
pub(super) unsafe fn add<A: Running>(tile: &Tile<'_>) {
    let one = |slot: *mut u8, update: *mut u8| {
        let slot = slot.cast::<A::Slot>();
        // SAFETY: the caller's promise, for each element.
        unsafe { slot.write(A::add(slot.read(), update.cast::<A>().read())) };
    };
    if tile.inner.len == 1 { tile.each(one) } else { elements(tile, one) }
}

/// The means of slots.
///
/// # Safety
/// So many slots can be read, and values written.
#[allow(unsafe_code)]
pub(super) unsafe fn divide<A: Running>(slots: *const u8, values: *mut u8, len: usize, init: bool) {
    let more = u32::from(init);
    let mean = |slot: A::Slot| A::mean(slot, more);
    // SAFETY: the caller's promise.
    unsafe { pairwise(slots.cast::<A::Slot>(), values.cast::<A>(), len, mean) }
}

/// Divides sums that are values.
///
/// # Safety
/// So many values can be read and written.
#[allow(unsafe_code)]
pub(crate) unsafe fn divide_row<A: Divide>(values: *mut u8, len: usize, count: u32) {
    // SAFETY: the caller's promise.
    let sums = unsafe { std::slice::from_raw_parts_mut(values.cast::<A>(), len) };
    widest(move || sums.iter_mut().for_each(|sum| *sum = sum.quotient(count)));
}
