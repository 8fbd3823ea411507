//! An allocator that refuses memory on demand.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Smaller allocations are granted: lists of axes and the like, which end the
/// process where there is not even room for them.
///
/// Built for ThreadSanitizer, crossbeam, by which rayon's threads take tasks from each
/// other, makes a list of all threads whenever one does. Eight bytes for each of the
/// threads of all pools are more than a KiB, and the process would end if the allocation
/// that is refused were such a list. `scripts/tsan.sh` sets the variable.
pub(super) const SMALLEST: usize =
    if option_env!("TSAN_OPTIONS").is_some() { 8 << 10 } else { 1 << 10 };

thread_local! {
    /// The allocation of this number from now on is refused; 0 for none.
    static REFUSED: Cell<u32> = const { Cell::new(0) };
}

/// Runs something to which the allocation of this number of this thread is refused.
/// Tells whether there was one.
pub(super) fn refusing<R>(number: u32, run: impl FnOnce() -> R) -> (R, bool) {
    REFUSED.set(number);
    let result = run();
    (result, number != 0 && REFUSED.replace(0) == 0)
}

struct Refusing;

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

fn refused(bytes: usize) -> bool {
    // A thread that ends has no counter any more.
    let count = |left: &Cell<u32>| match left.get() {
        0 => false,
        number => {
            left.set(number - 1);
            number == 1
        }
    };
    bytes >= SMALLEST && REFUSED.try_with(count).unwrap_or(false)
}

// SAFETY: the system's allocator, but for what it is not asked for.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if refused(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if refused(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if refused(size) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}
