//! Cache lines: asking for them early.

/// How much of a row is asked for ahead of time; the rest follows by itself.
const FAR: usize = 1024;

/// Asks for the lines of `len` elements. Any address will do: nothing is read.
#[inline(always)]
pub(super) fn prefetch<T>(first: *const T, len: usize) {
    let bytes = (len * size_of::<T>()).min(FAR);
    let mut line = 0;
    while line < bytes {
        prefetch_line(first.cast::<u8>().wrapping_add(line));
        line += 64;
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code)]
#[inline(always)]
fn prefetch_line(address: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

    // SAFETY: SSE is part of x86_64, and a prefetch does not fault.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline(always)]
fn prefetch_line(_address: *const u8) {}
