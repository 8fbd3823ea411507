//! Advice to the operating system about large fresh allocations.

/// From this size on NumPy advises huge pages too; below it allocations mostly
/// come back from the allocator with their pages already mapped.
const LARGE: usize = 4 << 20;

/// Asks for huge pages behind a fresh allocation of `bytes` at `start`, if it
/// is large. First writes to 4 KiB pages cost more than copying does.
#[inline]
pub(super) fn expect_large_writes<T>(start: *mut T, bytes: usize) {
    if bytes >= LARGE {
        advise(start.cast(), bytes);
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
#[allow(unsafe_code)]
fn advise(start: *mut u8, bytes: usize) {
    /// Any page size of Linux divides this one.
    const PAGE: usize = 64 << 10;
    let skipped = start.align_offset(PAGE);
    let whole = bytes.saturating_sub(skipped) / PAGE * PAGE;
    if whole == 0 {
        return;
    }
    // SAFETY: the range lies within the allocation that the caller made, and
    // the advice changes how its pages are backed, not what they hold. A
    // kernel that does not know the advice answers with an error, which
    // changes nothing.
    unsafe {
        libc::madvise(start.wrapping_add(skipped).cast(), whole, libc::MADV_HUGEPAGE);
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn advise(_start: *mut u8, _bytes: usize) {}
