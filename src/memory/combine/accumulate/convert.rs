//! Conversions of elements to slots and back, over contiguous runs.

use std::mem::MaybeUninit;

use super::kinds::{Accumulator, DivideFn, LiftFn};
use crate::memory::copy::copy_strided;
use crate::memory::cpu::widely;
use crate::threshold::threshold;

/// Number of elements that are converted at once: few enough that the buffers stay in L1, beside
/// what is added to.
pub(super) const STAGE: usize = threshold(512, 16);

/// A buffer for [`STAGE`] elements, values or slots of up to 16 bytes, between two conversions.
pub(super) struct Stage([MaybeUninit<u128>; STAGE]);

impl Stage {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Stage([MaybeUninit::uninit(); STAGE])
    }

    #[inline(always)]
    pub(super) fn start(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// `to[k] = f(from[k])` for `len` contiguous elements.
///
/// # Safety
/// `len` elements can be read at `from`, and `len` written at `to`.
#[allow(unsafe_code)]
#[inline(always)]
pub(super) unsafe fn map_run<T: Copy, U>(
    from: *const T,
    to: *mut U,
    len: usize,
    f: impl Fn(T) -> U,
) {
    widely(move || {
        for k in 0..len {
            // SAFETY: the caller's promise.
            unsafe { to.add(k).write(f(from.add(k).read())) };
        }
    });
}

/// Returns `len` elements of `size` bytes as a contiguous run: `from` itself where elements are
/// contiguous, or else the buffer, with copies of them.
///
/// # Safety
/// `len` elements can be read from `from` on, `step` bytes from one to the next, and the buffer
/// has room for `len`.
#[allow(unsafe_code)]
pub(super) unsafe fn contiguous(
    from: *const u8,
    step: isize,
    size: usize,
    len: usize,
    buffer: *mut u8,
) -> *const u8 {
    if step == size as isize || len == 1 {
        return from;
    }
    // SAFETY: the caller's promise.
    unsafe { copy_strided(size, (from, step), (buffer, size as isize), len) };
    buffer
}

#[allow(unsafe_code)]
impl Accumulator {
    /// Makes `len` slots that start from the elements of a target, `step` bytes from one to the
    /// next.
    ///
    /// # Safety
    /// `len` elements can be read, `step` bytes from one to the next, and `len` contiguous slots
    /// written, and all are of the types that this was made for.
    pub(super) unsafe fn start(&self, target: *const u8, step: isize, slots: *mut u8, len: usize) {
        let (mut elements, mut values) = (Stage::new(), Stage::new());
        for first in (0..len).step_by(STAGE) {
            let count = STAGE.min(len - first);
            // SAFETY: the caller's promise; a buffer holds `STAGE` elements or values.
            unsafe {
                let target = target.offset(first as isize * step);
                let slots = slots.add(first * self.slot);
                let from = contiguous(target, step, self.element, count, elements.start());
                self.convert_to(slots, from, values.start(), count, (self.lift, false));
            }
        }
    }

    /// Converts `len` contiguous elements (`from`) by way of values to slots, where they are lifted, else to
    /// values; slots count one update each if the flag is set.
    ///
    /// # Safety
    /// The elements can be read, `values` has room for as many values and `to` for what is made of them, and all
    /// are of the types that this was made for.
    #[inline]
    pub(super) unsafe fn convert_to(
        &self,
        to: *mut u8,
        from: *const u8,
        values: *mut u8,
        len: usize,
        (lift, counts): (Option<(LiftFn, DivideFn)>, bool),
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            match (self.convert, lift) {
                (Some((widen, _)), Some((lift, _))) => {
                    widen(from, values, len);
                    lift(values, to, len, counts);
                }
                (Some((widen, _)), None) => widen(from, to, len),
                (None, Some((lift, _))) => lift(from, to, len, counts),
                (None, None) => to.copy_from_nonoverlapping(from, len * self.value),
            }
        }
    }

    /// Writes the results of `len` slots to the elements of a target, `step` bytes from one to the
    /// next; of means, the value that a slot started from counts if `init`.
    ///
    /// # Safety
    /// `len` contiguous slots can be read, and `len` elements read and written, `step` bytes from
    /// one to the next, and all are of the types that this was made for.
    pub(super) unsafe fn finish(
        &self,
        slots: *const u8,
        target: *mut u8,
        step: isize,
        len: usize,
        init: bool,
    ) {
        let (mut elements, mut values) = (Stage::new(), Stage::new());
        for first in (0..len).step_by(STAGE) {
            let count = STAGE.min(len - first);
            // SAFETY: the caller's promise; a buffer holds `STAGE` elements or values.
            unsafe {
                let target = target.offset(first as isize * step);
                let slots = slots.add(first * self.slot);
                let dense = step == self.element as isize || count == 1;
                let to = if dense { target } else { elements.start() };
                // `narrow` reads what the elements held.
                if !dense && self.convert.is_some() {
                    contiguous(target, step, self.element, count, to);
                }
                match (self.convert, self.lift) {
                    (Some((_, narrow)), Some((_, divide))) => {
                        divide(slots, values.start(), count, init);
                        narrow(values.start(), to, count);
                    }
                    (Some((_, narrow)), None) => narrow(slots, to, count),
                    (None, Some((_, divide))) => divide(slots, to, count, init),
                    (None, None) => to.copy_from_nonoverlapping(slots, count * self.slot),
                }
                if !dense {
                    copy_strided(self.element, (to, self.element as isize), (target, step), count);
                }
            }
        }
    }
}
