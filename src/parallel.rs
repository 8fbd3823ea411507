//! When and how work is split over threads. No other file names rayon.
//!
//! Work is a number of parts, each a call of one function, which is compiled
//! once however many kernels there are. How many parts there are follows from
//! what the work costs on one thread, below in nanoseconds: a second thread
//! pays where each has some tens of microseconds to do, be that many bytes or
//! few elements all over memory.

use std::ops::Range;

use crate::threshold::threshold;

/// What work costs on one thread, about, in picoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost(u64);

/// Each kind of work, measured on one core of 2.5 to 4 GHz. They decide nothing
/// but the number of parts.
impl Cost {
    /// Bytes that are read or written in order.
    pub(crate) fn of_bytes(bytes: usize) -> Self {
        Cost((bytes as u64).saturating_mul(25))
    }

    /// Indices that are compared with an axis, of so many bytes.
    pub(crate) fn of_looking(bytes: usize) -> Self {
        Cost((bytes as u64).saturating_mul(12))
    }

    /// Elements, or rows of them, that indices select in memory that the caches
    /// near a core hold.
    pub(crate) fn of_near(elements: usize) -> Self {
        Cost((elements as u64).saturating_mul(450))
    }

    /// The same in more memory than that.
    pub(crate) fn of_far(elements: usize) -> Self {
        Cost((elements as u64).saturating_mul(1500))
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Cost(self.0.saturating_add(other.0))
    }

    /// So many times the cost.
    pub(crate) fn times(self, factor: u64) -> Self {
        Cost(self.0.saturating_mul(factor))
    }
}

/// The least that a part should cost: waking a thread takes up to 10 µs.
const PART: u64 = threshold(30_000_000, 40_000) as u64;

/// Parts a thread: enough to even out threads of different speed, few enough
/// that waking them costs little.
const PARTS_A_THREAD: usize = 4;

/// Into how many parts to split work of this cost.
#[inline]
pub(crate) fn parts(cost: Cost) -> usize {
    if cost.0 < 2 * PART { 1 } else { parts_of_large(cost) }
}

#[inline(never)]
fn parts_of_large(cost: Cost) -> usize {
    match threads() {
        1 => 1,
        threads => {
            let parts = usize::try_from(cost.0 / PART).unwrap_or(usize::MAX);
            // Few parts are as many as threads, or a thread would have two.
            if parts < threads { parts } else { parts.min(threads * PARTS_A_THREAD) }
        }
    }
}

/// The share of part number `part` of `parts` in `0..whole`. Shares differ by
/// one at most, follow each other, and make up the whole; no intermediate value
/// exceeds `whole`.
#[inline]
pub(crate) fn share(whole: usize, parts: usize, part: usize) -> Range<usize> {
    let start = |part: usize| whole / parts * part + (whole % parts).min(part);
    start(part)..start(part + 1)
}

/// Calls `run` once with each part's number, on the threads of the current
/// pool.
#[inline]
pub(crate) fn run(parts: usize, run: &(dyn Fn(usize) + Sync)) {
    match parts {
        0 => {}
        1 => run(0),
        _ if threads() == 1 => (0..parts).for_each(run),
        _ => halve(0..parts, run),
    }
}

fn halve(parts: Range<usize>, run: &(dyn Fn(usize) + Sync)) {
    if parts.len() == 1 {
        return run(parts.start);
    }
    let middle = parts.start + parts.len() / 2;
    both(|| halve(parts.start..middle, run), || halve(middle..parts.end, run));
}

/// The threads of the current pool: 1 where the system refuses to start any.
#[cfg(feature = "rayon")]
pub(crate) fn threads() -> usize {
    if rayon::current_thread_index().is_some() || global_pool_runs() {
        rayon::current_num_threads()
    } else {
        1
    }
}

/// Whether rayon's global pool could be started. It is, if nobody has done so
/// before: to ask for its number of threads would do the same, but panic where
/// the system refuses them.
#[cfg(all(feature = "rayon", not(target_family = "wasm")))]
fn global_pool_runs() -> bool {
    use std::error::Error;
    use std::sync::OnceLock;

    static RUNS: OnceLock<bool> = OnceLock::new();
    *RUNS.get_or_init(|| match rayon::ThreadPoolBuilder::new().build_global() {
        Ok(()) => true,
        // What the system says is the source.
        Err(error) if error.source().is_some() => false,
        // Somebody was first: whether in vain, only a panic tells, which they
        // have had, too.
        Err(_) => std::panic::catch_unwind(rayon::current_num_threads).is_ok(),
    })
}

/// Where there are no threads, rayon itself makes do with the current one, but
/// for pools that are asked for by name.
#[cfg(all(feature = "rayon", target_family = "wasm"))]
fn global_pool_runs() -> bool {
    true
}

#[cfg(feature = "rayon")]
fn both(left: impl FnOnce() + Send, right: impl FnOnce() + Send) {
    rayon::join(left, right);
}

/// How many threads there are; where sizes are small, work is split all the same.
#[cfg(not(feature = "rayon"))]
pub(crate) fn threads() -> usize {
    threshold(1, 3)
}

#[cfg(not(any(feature = "rayon", all(test, shuttle))))]
fn both(left: impl FnOnce() + Send, right: impl FnOnce() + Send) {
    left();
    right();
}

/// Threads that shuttle schedules: two, since a thread of its own waits for the first
/// of its scopes that ends, if they are nested.
#[cfg(all(test, shuttle, not(feature = "rayon")))]
fn both(left: impl FnOnce() + Send, right: impl FnOnce() + Send) {
    shuttle::thread::scope(|scope| {
        scope.spawn(left);
        scope.spawn(right);
    });
}

#[cfg(test)]
mod tests {
    use super::share;

    /// For all numbers of iterations and of parts that a byte holds.
    #[test]
    #[cfg_attr(miri, ignore)]
    fn shares_make_up_the_whole() {
        for whole in 0..=255 {
            for parts in 1..=255 {
                let mut end = 0;
                for part in 0..parts {
                    let share = share(whole, parts, part);
                    assert!(share.start == end && share.start <= share.end);
                    assert!((whole / parts..=whole.div_ceil(parts)).contains(&share.len()));
                    end = share.end;
                }
                assert_eq!(end, whole);
            }
        }
    }

    /// Overflow would panic here, as in all debug builds.
    #[test]
    fn shares_of_all_addresses() {
        for whole in [usize::MAX - 1, usize::MAX, isize::MAX as usize] {
            for parts in [1, 2, 3, 255, 256, usize::MAX / 2, usize::MAX - 1, usize::MAX] {
                assert_eq!(share(whole, parts, 0).start, 0);
                assert_eq!(share(whole, parts, parts - 1).end, whole);
            }
        }
    }
}
