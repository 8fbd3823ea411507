//! Destinations too large for the caches, written past them.
//!
//! Streamed stores pay where whole cache lines follow each other, which short
//! runs do not. So short rows are put together in a buffer that stays in the
//! first cache, and the buffer is streamed.

use std::mem::MaybeUninit;

use super::lines::{STREAMED, fence, stream};
use super::plain::is_plain;

/// Bytes put together before they are streamed.
const ROOM: usize = 16 << 10;

/// How a destination is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Store {
    /// Straight from the source.
    Direct,
    /// Short rows by way of the room, which keeps loads and stores apart and
    /// leaves time to ask for what comes next.
    Staged,
    /// The same, and past the caches.
    Past,
}

impl Store {
    /// The best for a destination of `elements` plain elements that follow
    /// each other.
    pub(super) fn of<T>(elements: usize) -> Self {
        match elements.saturating_mul(size_of::<T>()) {
            _ if !is_plain::<T>() => Store::Direct,
            STREAMED.. => Store::Past,
            NEAR.. => Store::Staged,
            _ => Store::Direct,
        }
    }
}

/// From this many bytes on a result and its source leave the caches near a core.
const NEAR: usize = 4 << 20;

/// Bytes by which the low 12 bits of addresses of the room are kept from those
/// of the source and the destination (`lines::stores_run_ahead`).
const APART: usize = 2048;

/// Room for rows of plain elements on their way to a streamed destination.
#[repr(align(64))]
pub(super) struct Stage {
    bytes: [MaybeUninit<u8>; ROOM + 4096],
    start: usize,
}

#[allow(unsafe_code)]
impl Stage {
    pub(super) fn new() -> Self {
        Stage { bytes: [MaybeUninit::uninit(); ROOM + 4096], start: 0 }
    }

    /// How many rows of `len` elements there is room for.
    pub(super) fn rows<T>(len: usize) -> usize {
        ROOM / (len * size_of::<T>()).max(1)
    }

    /// Where rows from `source` are put together.
    pub(super) fn room<T>(&mut self, source: *const T) -> *mut T {
        debug_assert!(align_of::<T>() <= 64, "no plain type is aligned more");
        let wanted = source.addr().wrapping_add(APART);
        let start = wanted.wrapping_sub(self.bytes.as_ptr().addr()) % 4096;
        self.start = start - start % 64;
        self.bytes[self.start..].as_mut_ptr().cast()
    }

    /// Copies the first `elements` of the room last asked for, past the caches
    /// where `PAST`, and asks for
    /// the elements from `next` on meanwhile.
    ///
    /// # Safety
    /// They have been written; `T` is plain; as many can be written to `to`.
    pub(super) unsafe fn send<T, const PAST: bool>(
        &self,
        to: *mut T,
        elements: usize,
        next: *const T,
    ) {
        let from = self.bytes[self.start..].as_ptr();
        // SAFETY: the caller's promise; plain elements are initialised bytes.
        unsafe { stream::<PAST>(from.cast(), to.cast(), elements * size_of::<T>(), next.cast()) };
    }
}

/// Streams `len` elements, and asks for as many from `next` on meanwhile.
///
/// # Safety
/// `T` is plain; `len` elements can be read from `from` and written to `to`,
/// and the two do not overlap.
#[allow(unsafe_code)]
pub(super) unsafe fn stream_run<T>(from: *const T, to: *mut T, len: usize, next: *const T) {
    // SAFETY: the caller's promise; plain elements are initialised bytes.
    unsafe { stream::<true>(from.cast(), to.cast(), len * size_of::<T>(), next.cast()) };
}

/// Ends the streaming of one thread.
pub(super) fn finish() {
    fence();
}
