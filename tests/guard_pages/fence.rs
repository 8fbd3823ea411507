//! An allocator that fences memory in: between pages that nobody may touch.
//!
//! While [`within`] runs, whatever is allocated lies at the end or at the start of
//! pages of its own, with an inaccessible page before and behind. Elements of
//! arrays fill whole allocations, so an access beyond the first or the last of them
//! ends the process; it says which call that was. So do the bytes between an
//! allocation and the other end of its pages, which are compared when it is freed.
//! Memory is handed out full of bytes that differ from side to side, so that what
//! is read before it is written shows in results.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::io::Write;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, Once};

/// On which side of its pages an allocation lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Start,
    End,
}

const OPEN: u8 = 0;

/// `OPEN`, or 1 + the side.
static FENCING: AtomicU8 = AtomicU8::new(OPEN);

/// What the process does, for the last words.
static CALL: AtomicUsize = AtomicUsize::new(0);
static SEED: AtomicU64 = AtomicU64::new(0);
static CALLS: Mutex<Vec<&str>> = Mutex::new(Vec::new());
/// Allocations that were fenced in, so that a test sees whether any was.
static FENCED: AtomicUsize = AtomicUsize::new(0);

/// Runs something with fences on this side around all that it allocates.
pub(crate) fn within<R>(side: Side, run: impl FnOnce() -> R) -> R {
    /// A panic takes the fences down, too.
    struct Open;
    impl Drop for Open {
        fn drop(&mut self) {
            FENCING.store(OPEN, Ordering::SeqCst);
        }
    }
    let _open = Open;
    FENCING.store(1 + side as u8, Ordering::SeqCst);
    run()
}

/// How many allocations have been fenced in.
pub(crate) fn fenced() -> usize {
    FENCED.load(Ordering::Relaxed)
}

/// Says what is about to be called, should it end the process.
pub(crate) fn announce(call: &'static str, seed: u64) {
    static HANDLER: Once = Once::new();
    HANDLER.call_once(|| {
        // SAFETY: `last_words` calls nothing that a signal handler must not.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = last_words as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESETHAND;
            for signal in [libc::SIGSEGV, libc::SIGBUS] {
                assert_eq!(libc::sigaction(signal, &action, ptr::null_mut()), 0);
            }
        }
    });
    let mut calls = CALLS.lock().unwrap();
    let number = calls.iter().position(|&known| known == call).unwrap_or_else(|| {
        calls.push(call);
        calls.len() - 1
    });
    CALL.store(number, Ordering::SeqCst);
    SEED.store(seed, Ordering::SeqCst);
}

/// Names the call that touched a fence. Then the instruction runs again and the
/// process ends.
extern "C" fn last_words(_: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: the system hands a valid `siginfo_t` to handlers with `SA_SIGINFO`.
    let address = unsafe { (*info).si_addr() } as usize;
    say(format_args!("touched {address:#x}"));
}

/// Writes a line about the present call, without allocating.
fn say(what: std::fmt::Arguments<'_>) {
    let mut line = [0_u8; 256];
    let mut rest = &mut line[..];
    let seed = SEED.load(Ordering::SeqCst);
    let calls = CALLS.try_lock();
    let call =
        calls.as_ref().ok().and_then(|calls| calls.get(CALL.load(Ordering::SeqCst)).copied());
    let call = call.unwrap_or("?");
    let _ = writeln!(rest, "\n{call} of seed {seed} {what}; GUARD_SEED={seed} repeats it");
    let len = 256 - rest.len();
    // SAFETY: so many bytes of the line are initialised.
    unsafe { libc::write(2, line.as_ptr().cast(), len) };
}

/// Pages that hold one allocation, and those around.
#[derive(Debug, Clone, Copy)]
struct Pages {
    start: usize,
    bytes: usize,
}

/// Allocations that are fenced in, by address. A list that does not allocate.
struct Live {
    locked: AtomicBool,
    entries: UnsafeCell<[(usize, Pages); LIVE]>,
}

/// How many there may be at a time.
const LIVE: usize = 1 << 14;

// SAFETY: entries are used by whoever has set `locked`.
unsafe impl Sync for Live {}

static LIVE_ONES: Live = Live {
    locked: AtomicBool::new(false),
    entries: UnsafeCell::new([(0, Pages { start: 0, bytes: 0 }); LIVE]),
};

impl Live {
    /// Replaces the entry of `old`, where there is one, and returns its pages.
    fn replace(&self, old: usize, new: (usize, Pages)) -> Option<Pages> {
        while self.locked.swap(true, Ordering::Acquire) {
            std::hint::spin_loop();
        }
        // SAFETY: nobody else has set `locked`.
        let entries = unsafe { &mut *self.entries.get() };
        let found = entries.iter_mut().find(|(address, _)| *address == old);
        let pages = found.map(|entry| std::mem::replace(entry, new).1);
        self.locked.store(false, Ordering::Release);
        pages
    }
}

/// The size of a page.
fn page() -> usize {
    static PAGE: AtomicUsize = AtomicUsize::new(0);
    match PAGE.load(Ordering::Relaxed) {
        0 => {
            // SAFETY: asks for a number.
            let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
            PAGE.store(page, Ordering::Relaxed);
            page
        }
        page => page,
    }
}

/// What fresh memory and the rest of its pages hold.
fn poison(side: Side) -> u8 {
    match side {
        Side::Start => 0xa5,
        Side::End => 0x5a,
    }
}

fn place(pages: Pages, layout: Layout, side: Side) -> usize {
    let (first, end) = (pages.start + page(), pages.start + pages.bytes - page());
    match side {
        Side::Start => first,
        Side::End => (end - layout.size()) / layout.align() * layout.align(),
    }
}

/// Fences an allocation in; null where the system has no memory for it.
fn fence_in(layout: Layout, side: Side) -> *mut u8 {
    assert!(layout.align() <= page());
    let Some(bytes) = layout.size().checked_next_multiple_of(page()) else {
        return ptr::null_mut();
    };
    // SAFETY: new pages, of which those in the middle are opened and filled.
    unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let around = bytes.saturating_add(2 * page());
        let start = libc::mmap(ptr::null_mut(), around, libc::PROT_NONE, flags, -1, 0);
        if start == libc::MAP_FAILED {
            return ptr::null_mut();
        }
        let inside = start.cast::<u8>().add(page());
        let open = libc::PROT_READ | libc::PROT_WRITE;
        if libc::mprotect(inside.cast(), bytes, open) != 0 {
            libc::munmap(start, around);
            return ptr::null_mut();
        }
        inside.write_bytes(poison(side), bytes);
        let pages = Pages { start: start as usize, bytes: around };
        let address = place(pages, layout, side);
        if LIVE_ONES.replace(0, (address, pages)).is_none() {
            say(format_args!("has more than {LIVE} allocations"));
            libc::abort();
        }
        FENCED.fetch_add(1, Ordering::Relaxed);
        inside.add(address - inside as usize)
    }
}

/// Frees pages, whose bytes beside the allocation must be as they were.
fn give_back(pages: Pages, address: usize, layout: Layout) {
    let (first, end) = (pages.start + page(), pages.start + pages.bytes - page());
    let side = if address == first { Side::Start } else { Side::End };
    let before = (first..address).chain(address + layout.size()..end);
    let kept = |at: usize| {
        // SAFETY: the pages are mapped and open.
        let byte = unsafe { (at as *const u8).read() };
        // An allocation that fills its pages lies on both sides.
        byte == poison(side)
    };
    if let Some(at) = before.into_iter().find(|&at| !kept(at)) {
        let away = at.wrapping_sub(address) as isize;
        say(format_args!("wrote {away} bytes from the start of {} bytes", layout.size()));
        // SAFETY: ends the process.
        unsafe { libc::abort() };
    }
    // SAFETY: nobody uses the allocation any more.
    unsafe { libc::munmap(pages.start as *mut c_void, pages.bytes) };
}

/// The allocator of the tests.
pub(crate) struct Fences;

// SAFETY: memory comes from the system's allocator, or is pages of its own, large
// enough and aligned; each goes back where it came from.
unsafe impl GlobalAlloc for Fences {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match FENCING.load(Ordering::SeqCst) {
            // SAFETY: the caller's promise.
            OPEN => unsafe { System.alloc(layout) },
            1 => fence_in(layout, Side::Start),
            _ => fence_in(layout, Side::End),
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        let address = memory as usize;
        // Where fences can be, so that other memory is not looked for.
        let end = address + layout.size();
        let near_end = end.next_multiple_of(page()) - end < layout.align();
        if address.is_multiple_of(page()) || near_end {
            let none = (0, Pages { start: 0, bytes: 0 });
            if let Some(pages) = LIVE_ONES.replace(address, none) {
                return give_back(pages, address, layout);
            }
        }
        // SAFETY: the caller's promise: it was not fenced in.
        unsafe { System.dealloc(memory, layout) };
    }
}
