//! Destinations too large for the caches, written past them.
//!
//! Stores that pass by the caches (non-temporal ones) pay where whole cache
//! lines follow each other, which short runs do not. So short rows are put
//! together in a buffer that stays in the first cache, and the buffer is
//! streamed.

use std::mem::MaybeUninit;

use super::Transfer;
use crate::memory::alloc::is_unmapped;
use crate::memory::cpu::{fence, is_streamed, prefetch_line, stream};
use crate::threshold::threshold;

/// Bytes put together before they are streamed.
const ROOM: usize = threshold(16 << 10, 256);

/// Whether so many bytes of a transfer's destination, which follow each other, are
/// best written past the caches. Not where their pages are not mapped yet: the system
/// clears them, by way of the caches, as they are first written.
pub(in crate::memory) fn is_past(bytes: usize, transfer: &Transfer<'_, '_>) -> bool {
    is_streamed(bytes) && !(transfer.fresh && is_unmapped(transfer.to.start(), bytes))
}

/// Bytes by which the low 12 bits of addresses of the room are kept from those
/// of the source and the destination (4K aliasing, see `cpu::stream`).
const APART: usize = 2048;

/// Room for rows on their way to a streamed destination.
#[repr(C, align(64))]
pub(in crate::memory) struct Stage {
    /// First, so that it is aligned like the whole.
    bytes: [MaybeUninit<u8>; ROOM + 4096],
    start: usize,
}

#[allow(unsafe_code)]
impl Stage {
    pub(in crate::memory) fn new() -> Self {
        Stage { bytes: [MaybeUninit::uninit(); ROOM + 4096], start: 0 }
    }

    /// How many rows of so many bytes there is room for.
    pub(in crate::memory) const fn rows(bytes: usize) -> usize {
        ROOM / if bytes == 0 { 1 } else { bytes }
    }

    /// Where rows from `source` are put together.
    pub(in crate::memory) fn room(&mut self, source: *const u8) -> *mut u8 {
        let wanted = source.addr().wrapping_add(APART);
        let start = wanted.wrapping_sub(self.bytes.as_ptr().addr()) % 4096;
        self.start = start - start % 64;
        self.bytes[self.start..].as_mut_ptr().cast()
    }

    /// Copies the first `bytes` of the room last asked for past the caches, and asks for
    /// those from `next` on meanwhile.
    ///
    /// # Safety
    /// They have been written, and as many can be written to `to`.
    pub(in crate::memory) unsafe fn send(&self, to: *mut u8, bytes: usize, next: *const u8) {
        let from = self.bytes[self.start..].as_ptr().cast();
        // SAFETY: the caller's promise.
        unsafe { stream(from, to, bytes, |at| prefetch_line(next.wrapping_add(at))) };
    }
}

/// Ends the streaming of one thread.
pub(in crate::memory) fn finish() {
    fence();
}
