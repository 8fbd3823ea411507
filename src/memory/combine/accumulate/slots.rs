//! Slots that are a sum and a count ([`Running`]).

use super::super::apply::{apply_alone, apply_singly, elements, one};
use super::convert::map_run;
use crate::memory::cpu::widely;
use crate::memory::indices::elements::Elements;
use crate::memory::tile::Tile;
use crate::reduction::{Divide, Running};

/// Makes slots that start from values and have no updates yet.
///
/// # Safety
/// `len` values can be read, and `len` slots written.
#[allow(unsafe_code)]
pub(super) unsafe fn start<A: Running>(values: *const u8, slots: *mut u8, len: usize, _: bool) {
    // SAFETY: the caller's promise.
    unsafe { map_run(values.cast::<A>(), slots.cast::<A::Slot>(), len, |value: A| value.slot()) }
}

/// Adds updates (listed) to slots (selected).
///
/// # Safety
/// That of [`Kernel::run`](crate::memory::tile::Kernel::run), for slots of `A` and updates of type
/// `A`.
#[allow(unsafe_code)]
pub(super) unsafe fn add<A: Running>(tile: &Tile<'_>) {
    // SAFETY: the caller's promise, for each element.
    unsafe {
        if tile.inner.len == 1 {
            apply_alone::<A::Slot, A>(tile, A::add);
        } else {
            elements(tile, one::<A::Slot, A>(A::add));
        }
    }
}

/// Adds single updates to slots, each index being resolved just before it is used.
///
/// # Safety
/// That of [`apply_singly`], for slots of `A` and updates of type `A`.
#[allow(unsafe_code)]
pub(super) unsafe fn add_singly<A: Running>(elements: &Elements<'_>) -> bool {
    // SAFETY: the caller's promise.
    unsafe { apply_singly::<A::Slot, A>(elements, A::add) }
}

/// Writes the mean of each slot, in which the value that the slot started from counts if `init`.
///
/// # Safety
/// `len` slots can be read, and `len` values written.
#[allow(unsafe_code)]
pub(super) unsafe fn divide<A: Running>(slots: *const u8, values: *mut u8, len: usize, init: bool) {
    let initial = u32::from(init);
    let mean = |slot: A::Slot| A::mean(slot, initial);
    // SAFETY: the caller's promise.
    unsafe { map_run(slots.cast::<A::Slot>(), values.cast::<A>(), len, mean) }
}

/// Divides sums, which are values, by a count, in place.
///
/// # Safety
/// `len` values can be read and written.
#[allow(unsafe_code)]
pub(super) unsafe fn divide_row<A: Divide>(values: *mut u8, len: usize, count: u32) {
    // SAFETY: the caller's promise.
    let sums = unsafe { std::slice::from_raw_parts_mut(values.cast::<A>(), len) };
    widely(move || sums.iter_mut().for_each(|sum| *sum = sum.quotient(count)));
}

/// Divides sums, which are values, by a count for each and `more`, in place; a sum whose count is 0
/// stays as it is.
///
/// # Safety
/// `counts.len()` values can be read and written; no sum of a count and `more` is past `u32::MAX`.
#[allow(unsafe_code)]
pub(super) unsafe fn divide_each<A: Divide>(values: *mut u8, counts: &[u32], more: u32) {
    // SAFETY: the caller's promise.
    let sums = unsafe { std::slice::from_raw_parts_mut(values.cast::<A>(), counts.len()) };
    widely(move || {
        for (sum, &count) in sums.iter_mut().zip(counts) {
            // The quotient is computed in any case, so that the choice needs no branch.
            let quotient = sum.quotient(count.wrapping_add(more));
            *sum = if count > 0 { quotient } else { *sum };
        }
    });
}
