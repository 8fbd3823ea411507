//! Whether the threads of a pool are awake.
//!
//! A thread that finds no more work looks for some for 10 µs and more before it sleeps. So of calls that
//! follow each other at once even short ones are worth several threads. Their results are the same on
//! any number: this decides about nothing but time.

#[cfg(all(feature = "rayon", not(target_family = "wasm")))]
pub(super) use clock::follows_call;

/// A call, from its beginning until it is dropped.
#[derive(Debug)]
pub(crate) struct Call(());

impl Call {
    #[inline]
    pub(crate) fn begin() -> Self {
        #[cfg(all(feature = "rayon", not(target_family = "wasm")))]
        clock::begin_call();
        Call(())
    }
}

impl Drop for Call {
    #[inline]
    fn drop(&mut self) {
        #[cfg(all(feature = "rayon", not(target_family = "wasm")))]
        clock::end_call();
    }
}

/// Without a clock, or threads, none is awake.
#[cfg(not(all(feature = "rayon", not(target_family = "wasm"))))]
pub(super) fn follows_call() -> bool {
    false
}

#[cfg(all(feature = "rayon", not(target_family = "wasm")))]
mod clock {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use std::time::Instant;

    /// Microseconds, at most, between the end of a call and the beginning of one that follows it.
    const AT_ONCE: u32 = 10;

    /// Whether the call that runs is worth the time to look at the clock when it ends.
    static IS_TIMED: AtomicBool = AtomicBool::new(false);

    /// When the last timed call ended.
    static LAST_END: AtomicU32 = AtomicU32::new(0);

    /// Whether that was just before the call that runs.
    static IS_RECENT: AtomicBool = AtomicBool::new(false);

    /// Microseconds since some moment, modulo 2^32.
    fn now() -> u32 {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed().as_micros() as u32
    }

    /// Most calls neither follow a timed call nor are timed: they do not look at the clock.
    #[inline]
    pub(super) fn begin_call() {
        if IS_RECENT.load(Ordering::Relaxed) {
            begin_after_timed_call();
        }
    }

    #[cold]
    fn begin_after_timed_call() {
        let is_recent = now().wrapping_sub(LAST_END.load(Ordering::Relaxed)) <= AT_ONCE;
        IS_RECENT.store(is_recent, Ordering::Relaxed);
    }

    /// Whether the call that runs has followed another one at once. Its end is noted, too.
    pub(crate) fn follows_call() -> bool {
        IS_TIMED.store(true, Ordering::Relaxed);
        IS_RECENT.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn end_call() {
        if IS_TIMED.load(Ordering::Relaxed) {
            end_timed_call();
        }
    }

    #[cold]
    fn end_timed_call() {
        IS_TIMED.store(false, Ordering::Relaxed);
        LAST_END.store(now(), Ordering::Relaxed);
        IS_RECENT.store(true, Ordering::Relaxed);
    }
}
