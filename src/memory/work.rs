//! Work memory of parts that run at the same time.

use super::alloc::{expect_large_writes, reserved};
use crate::error::Result;

/// Uninitialised work memory, with a buffer for each part.
///
/// Invariant: `start` is that of `memory`, which has room for `parts` buffers of `bytes` bytes, one after the
/// other, and is read and written by way of `start` only.
pub(super) struct WorkMemory {
    start: *mut u8,
    bytes: usize,
    parts: usize,
    // Of a type with the alignment of all plain types: so is the first buffer, and are the others, where `bytes` is
    // a multiple of it.
    _memory: Vec<u128>,
}

// SAFETY: buffers of different parts do not overlap (invariant), and only unsafe code of a part uses its
// buffer.
#[allow(unsafe_code)]
unsafe impl Sync for WorkMemory {}

// SAFETY: the memory is its own.
#[allow(unsafe_code)]
unsafe impl Send for WorkMemory {}

impl WorkMemory {
    pub(super) fn new(parts: usize, bytes: usize) -> Result<Self> {
        let mut memory: Vec<u128> =
            reserved(parts.saturating_mul(bytes).div_ceil(size_of::<u128>()))?;
        let start = memory.as_mut_ptr().cast();
        expect_large_writes(start, parts.saturating_mul(bytes));
        Ok(WorkMemory { start, bytes, parts, _memory: memory })
    }

    /// The size of each buffer in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The number of parts.
    pub(super) fn parts(&self) -> usize {
        self.parts
    }

    /// The buffer of a part.
    pub(super) fn of(&self, part: usize) -> *mut u8 {
        assert!(part < self.parts, "a part without a buffer");
        self.start.wrapping_add(part * self.bytes)
    }
}
