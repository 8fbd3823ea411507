//! Memory from the allocator: refused as an error, never by an abort.

use crate::error::{Error, Result};
#[cfg(not(all(target_os = "linux", not(miri))))]
use crate::threshold::threshold;

/// An empty vector with room for `len` elements.
pub(crate) fn reserved<T>(len: usize) -> Result<Vec<T>> {
    let mut vec = Vec::new();
    let bytes = len.saturating_mul(size_of::<T>());
    vec.try_reserve_exact(len).map_err(|_| Error::AllocationFailed { bytes })?;
    Ok(vec)
}

/// `len` times the same value.
pub(crate) fn repeated<T: Clone>(value: T, len: usize) -> Result<Vec<T>> {
    let mut vec = reserved(len)?;
    vec.resize(len, value);
    Ok(vec)
}

/// As many zeros, which memory fresh from the system need not be filled with.
#[allow(unsafe_code)]
pub(super) fn zeroed(len: usize) -> Result<Vec<u32>> {
    let bytes = len.saturating_mul(size_of::<u32>());
    let refused = Error::AllocationFailed { bytes };
    let Ok(layout) = std::alloc::Layout::array::<u32>(len) else { return Err(refused) };
    if bytes == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the layout has a size.
    let start = unsafe { std::alloc::alloc_zeroed(layout) };
    if start.is_null() {
        return Err(refused);
    }
    expect_large_writes(start, bytes);
    // SAFETY: memory of the global allocator with the layout of so many numbers,
    // all of them zero.
    Ok(unsafe { Vec::from_raw_parts(start.cast(), len, len) })
}

/// From this size on NumPy advises huge pages too; below it allocations mostly
/// come back from the allocator with their pages already mapped.
const LARGE: usize = 4 << 20;

/// Asks for huge pages behind `bytes` of fresh memory at `start`, if they are
/// many. First writes to 4 KiB pages cost more than copying does: 64 MiB take
/// 27 ms so, and 6 ms in huge pages.
#[inline]
pub(super) fn expect_large_writes(start: *mut u8, bytes: usize) {
    if bytes >= LARGE {
        advise(start, bytes);
    }
}

/// Any page size of Linux divides this one.
#[cfg(all(target_os = "linux", not(miri)))]
const PAGE: usize = 64 << 10;

#[cfg(all(target_os = "linux", not(miri)))]
#[allow(unsafe_code)]
fn advise(start: *mut u8, bytes: usize) {
    let skipped = start.align_offset(PAGE);
    let whole = bytes.saturating_sub(skipped) / PAGE * PAGE;
    if whole == 0 {
        return;
    }
    // SAFETY: the advice changes how pages are backed, not what they hold. A
    // kernel that does not know it, and a range that is not mapped, are
    // answered with an error, which changes nothing.
    unsafe {
        libc::madvise(start.wrapping_add(skipped).cast(), whole, libc::MADV_HUGEPAGE);
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn advise(_start: *mut u8, _bytes: usize) {}

/// Whether the memory behind `bytes` from `start` on, which may be fresh, is still to be
/// mapped: what an allocator hands out again is not. A page in the middle stands for
/// all.
#[cfg(all(target_os = "linux", not(miri)))]
#[allow(unsafe_code)]
pub(super) fn is_unmapped(start: *mut u8, bytes: usize) -> bool {
    let middle = start.wrapping_add(bytes / 2);
    let page = middle.wrapping_sub(middle.addr() % PAGE);
    let mut mapped = 0;
    // SAFETY: of one byte, and so of one page, one byte is written to; the page is
    // looked at by its number alone, and one that is not of this process is answered
    // with an error.
    let answer = unsafe { libc::mincore(page.cast(), 1, &raw mut mapped) };
    answer == 0 && mapped & 1 == 0
}

/// Elsewhere a guess: mostly allocators give back to the system what is larger.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub(super) fn is_unmapped(_start: *mut u8, bytes: usize) -> bool {
    bytes >= threshold(32 << 20, 2 << 10)
}
