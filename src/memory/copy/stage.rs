//! Whether destinations are written by non-temporal stores, and a buffer for what is.
//!
//! Non-temporal ("streaming") stores bypass the caches. They pay where whole, consecutive cache
//! lines are written, and the runs of a row of a few KiB do not fill whole lines. So such rows are collected in a
//! buffer that stays in L1, and the buffer is streamed.

use std::mem::MaybeUninit;

use super::Transfer;
use crate::memory::alloc::is_unmapped;
use crate::memory::cpu::{is_streamed, prefetch_line, stream};
use crate::threshold::threshold;

/// Number of bytes that are collected before they are streamed.
const CAPACITY: usize = threshold(16 << 10, 256);

/// Whether `bytes` contiguous bytes of a transfer's destination are best written by non-temporal
/// stores. Not where its pages are not mapped yet: the system clears a page when it is first
/// written to, which brings the page into the caches anyway.
pub(in crate::memory) fn streams_past_caches(bytes: usize, transfer: &Transfer<'_, '_>) -> bool {
    is_streamed(bytes) && !(transfer.fresh && is_unmapped(transfer.to.start(), bytes))
}

/// Distance in bytes, modulo 4096, from the source to the buffer, and so to the buffer from a
/// destination that is aligned like the source: prevents 4K aliasing (see `cpu::stream`).
const ALIAS_DISTANCE: usize = 2048;

/// A buffer for rows on their way to a streamed destination.
#[repr(C, align(64))]
pub(in crate::memory) struct RowBuffer {
    /// The first field, so that it is aligned like the struct. 4096 bytes more than are used, so
    /// that `start` can be chosen.
    bytes: [MaybeUninit<u8>; CAPACITY + 4096],
    /// Offset in bytes of the part that is in use.
    start: usize,
}

#[allow(unsafe_code)]
impl RowBuffer {
    pub(in crate::memory) fn new() -> Self {
        RowBuffer { bytes: [MaybeUninit::uninit(); CAPACITY + 4096], start: 0 }
    }

    /// Number of rows of `bytes` bytes that the buffer holds.
    pub(in crate::memory) const fn rows(bytes: usize) -> usize {
        CAPACITY / bytes
    }

    /// Returns where in the buffer to collect rows that are read from `source` on: an address
    /// [`ALIAS_DISTANCE`] after `source` modulo 4096, but at a cache line's start.
    pub(in crate::memory) fn room(&mut self, source: *const u8) -> *mut u8 {
        let wanted = source.addr().wrapping_add(ALIAS_DISTANCE);
        let start = wanted.wrapping_sub(self.bytes.as_ptr().addr()) % 4096;
        self.start = start - start % 64;
        self.bytes[self.start..].as_mut_ptr().cast()
    }

    /// Streams the first `bytes` bytes at the address that [`room`](Self::room) last returned to
    /// `to`, and meanwhile prefetches as many bytes at `next`.
    ///
    /// # Safety
    /// Those bytes of the buffer have been written, and `bytes` bytes can be written to `to`.
    pub(in crate::memory) unsafe fn send(&self, to: *mut u8, bytes: usize, next: *const u8) {
        let from = self.bytes[self.start..].as_ptr().cast();
        // SAFETY: the caller's promise.
        unsafe { stream(from, to, bytes, |at| prefetch_line(next.wrapping_add(at))) };
    }
}
