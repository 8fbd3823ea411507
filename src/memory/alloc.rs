//! Memory from the allocator. Failure to allocate is an error, never an abort.

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

/// A vector of `len` times the same value.
pub(crate) fn repeated<T: Clone>(value: T, len: usize) -> Result<Vec<T>> {
    let mut vec = reserved(len)?;
    vec.resize(len, value);
    Ok(vec)
}

/// A vector of the same values.
pub(crate) fn to_vec<T: Copy>(values: &[T]) -> Result<Vec<T>> {
    let mut vec = reserved(values.len())?;
    vec.extend_from_slice(values);
    Ok(vec)
}

/// A vector of `len` values that `make` makes.
pub(super) fn made<T>(len: usize, make: impl Fn() -> Result<T>) -> Result<Vec<T>> {
    let mut vec = reserved(len)?;
    for _ in 0..len {
        vec.push(make()?);
    }
    Ok(vec)
}

/// A vector of `len` zeros: memory that is fresh from the system is zero and need not be written.
#[allow(unsafe_code)]
pub(super) fn zeroed(len: usize) -> Result<Vec<u32>> {
    let bytes = len.saturating_mul(size_of::<u32>());
    let refused = Error::AllocationFailed { bytes };
    let Ok(layout) = std::alloc::Layout::array::<u32>(len) else { return Err(refused) };
    if bytes == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the size of the layout is not 0 (checked above).
    let start = unsafe { std::alloc::alloc_zeroed(layout) };
    if start.is_null() {
        return Err(refused);
    }
    expect_large_writes(start, bytes);
    // SAFETY: `start` was allocated by the global allocator with the layout of `len` numbers, all
    // of which are initialised (zero).
    Ok(unsafe { Vec::from_raw_parts(start.cast(), len, len) })
}

/// The least number of bytes for which huge pages are advised, as in NumPy. Smaller allocations
/// are mostly memory that the allocator has had before, whose pages are mapped already.
const LARGE: usize = 4 << 20;

/// Advises the system to back `bytes` of fresh memory at `start` by huge pages, if they are many.
/// First writes to 4 KiB pages (page faults) cost more than copying does: 64 MiB take 27 ms so,
/// and 6 ms in huge pages.
#[inline]
pub(super) fn expect_large_writes(start: *mut u8, bytes: usize) {
    if bytes >= LARGE {
        advise(start, bytes);
    }
}

/// A multiple of every page size of Linux.
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
    // SAFETY: the advice changes how pages are backed, not what they hold. Where the kernel does
    // not know the advice, or the range is not mapped, `madvise` returns an error and changes
    // nothing.
    unsafe {
        libc::madvise(start.wrapping_add(skipped).cast(), whole, libc::MADV_HUGEPAGE);
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn advise(_start: *mut u8, _bytes: usize) {}

/// Whether the pages of `bytes` of allocated memory at `start` are not mapped yet, as those of
/// memory that is fresh from the system, and not as those of memory that the allocator reuses. A
/// page in the middle is checked as a sample.
#[cfg(all(target_os = "linux", not(miri)))]
#[allow(unsafe_code)]
pub(super) fn is_unmapped(start: *mut u8, bytes: usize) -> bool {
    let middle = start.wrapping_add(bytes / 2);
    let page = middle.wrapping_sub(middle.addr() % PAGE);
    let mut mapped = 0;
    // SAFETY: for a length of one byte, and so for one page, `mincore` writes one byte, to
    // `mapped`. It does not access the page, and returns an error for an address that is not part
    // of this process's memory.
    let status = unsafe { libc::mincore(page.cast(), 1, &raw mut mapped) };
    status == 0 && mapped & 1 == 0
}

/// On other systems a guess by size: most allocators return larger allocations to the system when
/// they are freed.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub(super) fn is_unmapped(_start: *mut u8, bytes: usize) -> bool {
    bytes >= threshold(32 << 20, 2 << 10)
}
