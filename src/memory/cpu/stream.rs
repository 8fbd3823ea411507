//! Copies by non-temporal stores.

use super::of_caches;

/// Whether copying from `from` to `to` by ascending addresses delays every load by 4K aliasing.
///
/// For store-to-load forwarding, processors first compare loads with older stores by the low 12
/// bits of their addresses. Where stores are a little ahead of loads modulo 4096, each load seems
/// to depend on a recent store. Copying by descending addresses avoids that.
#[inline(always)]
#[cfg_attr(not(all(target_arch = "x86_64", not(miri))), allow(dead_code))]
fn stores_run_ahead(from: *const u8, to: *const u8) -> bool {
    const PAGE: usize = 4096;
    const LITTLE: usize = 2048;
    let ahead = to.addr().wrapping_sub(from.addr()) % PAGE;
    (1..LITTLE).contains(&ahead)
}

/// Whether a result of `bytes` bytes does not fit in the last-level cache beside its source.
/// Non-temporal stores then save reading the cache lines that are overwritten.
pub(in crate::memory) fn is_streamed(bytes: usize) -> bool {
    bytes >= of_caches(|caches| caches.last / 2, 1 << 10)
}

/// Copies `len` bytes by non-temporal stores: equivalent to `from.copy_to_nonoverlapping(to, len)`
/// followed, before the caller passes the result on, by a call of [`fence`].
///
/// `on_line` is called for each whole cache line with offsets in bytes that ascend from 0 by 64, so
/// that the caller can prefetch what is read next.
///
/// # Safety
/// `len` initialised bytes can be read from `from` and written to `to`, and the two do not overlap.
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
    // SAFETY: the caller's promise; `to + head` is aligned to 64 bytes (`align_offset`) where there
    // is a whole line, as non-temporal stores require, and SSE2 is part of x86_64.
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

/// Copies `len` bytes by ordinary stores, where there are no non-temporal ones.
///
/// # Safety
/// `len` bytes can be read from `from` and written to `to`, and the two do not overlap.
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

/// Makes non-temporal stores visible before any later store.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code)]
pub(in crate::memory) fn fence() {
    // SAFETY: SSE is part of x86_64.
    unsafe { std::arch::x86_64::_mm_sfence() };
}

/// Does nothing: there were no non-temporal stores.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(in crate::memory) fn fence() {}
