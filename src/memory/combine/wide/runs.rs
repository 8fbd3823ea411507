//! Elements to slots and back, a run of them at a time.

use std::mem::MaybeUninit;

use super::kinds::Wide;
use crate::threshold::threshold;

/// Elements that are on their way at once: few enough to stay in the first
/// cache beside what they are added to.
pub(super) const STAGE: usize = threshold(512, 8);

/// Room for values, elements or slots on their way, none of which takes more
/// than 16 bytes.
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

/// Applies `f` to each of a run of elements.
///
/// # Safety
/// `len` elements can be read from one place, and written to the other.
#[allow(unsafe_code)]
#[inline(always)]
pub(super) unsafe fn pairwise<T: Copy, U>(
    from: *const T,
    to: *mut U,
    len: usize,
    f: impl Fn(T) -> U,
) {
    widest(move || {
        for k in 0..len {
            // SAFETY: the caller's promise.
            unsafe { to.add(k).write(f(from.add(k).read())) };
        }
    });
}

/// Calls a loop, compiled for the widest vectors that the processor has. It owns
/// what it uses: where that is behind references, compilers read it anew for
/// every element.
#[inline(always)]
pub(super) fn widest<R>(run: impl FnOnce() -> R) -> R {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if let Some(avx2) = crate::memory::cpu::Avx2::detect() {
        return avx2.call(run);
    }
    run()
}

/// Elements of `size` bytes that lie next to each other: those at `from` where
/// they do, or copies of them in the room.
///
/// # Safety
/// So many elements can be read, so far apart, and the room has room for them.
#[allow(unsafe_code)]
pub(super) unsafe fn gathered(
    from: *const u8,
    step: isize,
    size: usize,
    len: usize,
    room: *mut u8,
) -> *const u8 {
    if step == size as isize || len == 1 {
        return from;
    }
    // SAFETY: the caller's promise.
    unsafe { copied(from, step, room, size as isize, size, len) };
    room
}

/// Copies elements of `size` bytes from and to places that are some steps apart.
///
/// # Safety
/// So many elements can be read, and written, and do not overlap.
#[allow(unsafe_code)]
pub(super) unsafe fn copied(
    from: *const u8,
    from_step: isize,
    to: *mut u8,
    to_step: isize,
    size: usize,
    len: usize,
) {
    macro_rules! of_size {
        ($($size:literal)*) => {
            match size {
                $($size => for k in 0..len as isize {
                    // SAFETY: the caller's promise.
                    unsafe {
                        let from = from.offset(k * from_step).cast::<[u8; $size]>();
                        to.offset(k * to_step).cast::<[u8; $size]>().write(from.read());
                    }
                })*
                _ => debug_assert!(false, "elements of {size} bytes"),
            }
        };
    }
    of_size!(1 2 4 8 16);
}

#[allow(unsafe_code)]
impl Wide {
    /// Starts slots from the elements of a target.
    ///
    /// # Safety
    /// So many elements can be read, so far apart, and slots written, and all
    /// are of the types that this was made for.
    pub(super) unsafe fn start(&self, target: *const u8, step: isize, slots: *mut u8, len: usize) {
        let (mut elements, mut values) = (Stage::new(), Stage::new());
        for first in (0..len).step_by(STAGE) {
            let count = STAGE.min(len - first);
            // SAFETY: the caller's promise; a stage has room for so many.
            unsafe {
                let target = target.offset(first as isize * step);
                let slots = slots.add(first * self.slot);
                let from = gathered(target, step, self.element, count, elements.start());
                match (self.convert, self.lift) {
                    (Some((widen, _)), Some((lift, _))) => {
                        widen(from, values.start(), count);
                        lift(values.start(), slots, count, false);
                    }
                    (Some((widen, _)), None) => widen(from, slots, count),
                    (None, Some((lift, _))) => lift(from, slots, count, false),
                    (None, None) => slots.copy_from_nonoverlapping(from, count * self.slot),
                }
            }
        }
    }

    /// Writes what slots come to to the elements of a target; `init` tells
    /// whether what they started from counts.
    ///
    /// # Safety
    /// So many slots can be read, and elements read and written, so far apart,
    /// and all are of the types that this was made for.
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
            // SAFETY: the caller's promise; a stage has room for so many.
            unsafe {
                let target = target.offset(first as isize * step);
                let slots = slots.add(first * self.slot);
                let dense = step == self.element as isize || count == 1;
                let to = if dense { target } else { elements.start() };
                if !dense && self.convert.is_some() {
                    gathered(target, step, self.element, count, to);
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
                    copied(to, self.element as isize, target, step, self.element, count);
                }
            }
        }
    }
}
