//! Copies past the caches.

use super::of_caches;

/// Whether copying upward from `from` to `to` makes every load wait.
///
/// Processors first compare loads with older stores by the low 12 bits of their
/// addresses ("4K aliasing"). Where stores run a little ahead of loads in these,
/// each load seems to need what has just been stored. Copying downward avoids
/// it.
#[inline(always)]
#[cfg_attr(not(all(target_arch = "x86_64", not(miri))), allow(dead_code))]
fn stores_run_ahead(from: *const u8, to: *const u8) -> bool {
    const PAGE: usize = 4096;
    const LITTLE: usize = 2048;
    let ahead = to.addr().wrapping_sub(from.addr()) % PAGE;
    (1..LITTLE).contains(&ahead)
}

/// Whether a result of so many bytes does not fit in the caches beside its
/// source: stores that pass by them spare reading what is overwritten.
pub(in crate::memory) fn is_streamed(bytes: usize) -> bool {
    bytes >= of_caches(|caches| caches.last / 2, 1 << 10)
}

/// Copies bytes with stores that pass by the caches; `on_line` is called for each cache line of
/// them with how far on it is, to ask for what is read next. The caller calls [`fence`] before
/// the result is handed on.
///
/// # Safety
/// `len` initialised bytes can be read from `from` and written to `to`, and
/// the two do not overlap.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code)]
#[inline]
pub(in crate::memory) unsafe fn stream(
    from: *const u8,
    to: *mut u8,
    len: usize,
    on_line: impl Fn(usize),
) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};

    let head = to.align_offset(64).min(len);
    let lines = (len - head) / 64;
    let tail = head + lines * 64;
    // SAFETY: the caller's promise; vectors of the destination are aligned
    // after `head`, and SSE2 is part of x86_64.
    unsafe {
        from.copy_to_nonoverlapping(to, head);
        let downward = stores_run_ahead(from, to);
        for line in 0..lines {
            on_line(line * 64);
            let line = if downward { lines - 1 - line } else { line };
            let from = from.add(head + line * 64).cast::<__m128i>();
            let to = to.add(head + line * 64).cast::<__m128i>();
            let vectors: [__m128i; 4] = std::array::from_fn(|k| _mm_loadu_si128(from.add(k)));
            for (k, vector) in vectors.into_iter().enumerate() {
                _mm_stream_si128(to.add(k), vector);
            }
        }
        from.add(tail).copy_to_nonoverlapping(to.add(tail), len - tail);
    }
}

/// Copies bytes.
///
/// # Safety
/// As many bytes can be read from `from` and written to `to`, and the two do
/// not overlap.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[allow(unsafe_code)]
#[inline]
pub(in crate::memory) unsafe fn stream(
    from: *const u8,
    to: *mut u8,
    len: usize,
    _on_line: impl Fn(usize),
) {
    // SAFETY: the caller's promise.
    unsafe { from.copy_to_nonoverlapping(to, len) };
}

/// Makes streamed stores visible before any later one.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code)]
pub(in crate::memory) fn fence() {
    // SAFETY: SSE is part of x86_64.
    unsafe { std::arch::x86_64::_mm_sfence() };
}

/// Nothing was streamed here.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(in crate::memory) fn fence() {}
