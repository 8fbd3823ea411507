//! When and how work is split between threads. No other file calls rayon.
//!
//! Work is split in parts, each a call of the same function, which is compiled once and not once
//! for each kernel. The number of parts follows from the estimated time of the work on one thread
//! ([`Cost`]): a second thread pays where each thread has some tens of microseconds of work, or a
//! few where it is awake, whether that is many bytes or few elements spread over memory.

use std::ops::Range;

use crate::threshold::threshold;

mod awake;

pub(crate) use awake::Call;

/// The estimated time of work on one thread, in picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub(crate) struct Cost(u64);

/// The costs of each kind of work were measured on one core of 2.5 to 4 GHz. They decide nothing
/// but the number of parts.
impl Cost {
    /// Bytes that are read or written in sequence.
    pub(crate) fn of_bytes(bytes: usize) -> Self {
        Cost((bytes as u64).saturating_mul(25))
    }

    /// Bytes of indices that are compared with the length of an axis.
    pub(crate) fn of_looking(bytes: usize) -> Self {
        Cost((bytes as u64).saturating_mul(12))
    }

    /// Elements that are not contiguous, which are copied one by one or transposed.
    pub(crate) fn of_apart(elements: usize) -> Self {
        Cost((elements as u64).saturating_mul(250))
    }

    /// Elements, or rows of them, that indices select within less than half of L2.
    pub(crate) fn of_near(elements: usize) -> Self {
        Cost((elements as u64).saturating_mul(450))
    }

    /// Elements, or rows of them, that indices select within half of L2 and more.
    pub(crate) fn of_far(elements: usize) -> Self {
        Cost((elements as u64).saturating_mul(1500))
    }

    /// Cache lines that two threads write, each its part, at about the same time.
    pub(crate) fn of_contended(lines: usize) -> Self {
        Cost((lines as u64).saturating_mul(140_000))
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Cost(self.0.saturating_add(other.0))
    }

    /// `factor` times the cost.
    pub(crate) fn times(self, factor: u64) -> Self {
        Cost(self.0.saturating_mul(factor))
    }
}

/// The least cost of work, in picoseconds, for which sleeping threads are woken, which takes 10 to 40
/// µs: a gather of 39 µs would take 52 on two threads where the caller did something else for 100 µs
/// before, and one of 60 µs 67.
const ASLEEP: u64 = threshold(150_000_000, 80_000) as u64;

/// The same where threads are [awake]: a gather of 14 µs takes 8 on two threads, and 126 calls drawn at
/// random, of 6 to 22 µs, 0.85 of the time that they took where work was split from 20 µs on.
const AWAKE: u64 = threshold(10_000_000, 80_000) as u64;

/// The least cost of a part, of which small work has but one for each thread.
const MIN_PART: u64 = threshold(30_000_000, 40_000) as u64;
const MIN_PART_OF_SMALL: u64 = AWAKE / 2;

/// The largest number of parts for each thread: enough to balance threads of different speed, few
/// enough that the overhead of parts is small.
const PARTS_PER_THREAD: usize = 4;

/// The number of parts in which to split work of this cost.
#[inline]
pub(crate) fn parts(cost: Cost) -> usize {
    if cost.0 < AWAKE { 1 } else { parts_of_large(cost) }
}

/// The same, at most one for each thread: how many run at the same time.
#[inline]
pub(crate) fn parts_at_once(cost: Cost) -> usize {
    match parts(cost) {
        1 => 1,
        parts => parts.min(threads()),
    }
}

/// The number of threads is asked last, since that may start a pool.
#[inline(never)]
fn parts_of_large(cost: Cost) -> usize {
    if !pays(cost, awake::follows_call()) {
        return 1;
    }
    match threads() {
        1 => 1,
        threads => parts_for(cost, threads),
    }
}

/// Whether it pays to split work of this cost between threads, which may be awake.
fn pays(cost: Cost, awake: bool) -> bool {
    cost.0 >= if awake { AWAKE } else { ASLEEP }
}

/// The number of parts for several threads, if splitting pays.
fn parts_for(cost: Cost, threads: usize) -> usize {
    let parts = |least: u64| usize::try_from(cost.0 / least).unwrap_or(usize::MAX);
    // Fewer parts than threads have a thread each. Of more, all threads have as many: of five parts
    // one of two threads would do three.
    match parts(MIN_PART) {
        0..=1 => parts(MIN_PART_OF_SMALL).min(threads),
        parts => even_among(threads, parts.min(PARTS_PER_THREAD * threads)),
    }
}

/// This number of parts, or so many less that all threads have as many, where there are more parts than threads.
pub(crate) fn even(parts: usize) -> usize {
    even_among(threads(), parts)
}

fn even_among(threads: usize, parts: usize) -> usize {
    if parts > threads { parts - parts % threads } else { parts }
}

/// The range of `0..whole` that part number `part` of `parts` takes. The lengths of the ranges
/// differ by at most one, and the ranges are consecutive and cover `0..whole`. No intermediate
/// value exceeds `whole`.
#[inline]
pub(crate) fn share(whole: usize, parts: usize, part: usize) -> Range<usize> {
    let start = |part: usize| whole / parts * part + (whole % parts).min(part);
    start(part)..start(part + 1)
}

/// Calls `run` once with each part's number, in parallel on the threads of the current pool.
///
/// ```text
/// for part in 0..parts { run(part) }
/// ```
#[inline]
pub(crate) fn run(parts: usize, run: &(dyn Fn(usize) + Sync)) {
    // Any number of `()` takes no memory.
    run_each(&mut vec![(); parts], &|part, ()| run(part));
}

/// The same, where each part has something of its own: calls `run` with the part's number and that.
#[inline]
pub(crate) fn run_each<T: Send>(owned: &mut [T], run: &(dyn Fn(usize, &mut T) + Sync)) {
    match owned {
        [] => {}
        [one] => run(0, one),
        _ if threads() == 1 => owned.iter_mut().enumerate().for_each(|(part, own)| run(part, own)),
        _ => halve(0, owned, run),
    }
}

/// Calls `run` for the parts from number `first` on, whose halves run in parallel.
fn halve<T: Send>(first: usize, owned: &mut [T], run: &(dyn Fn(usize, &mut T) + Sync)) {
    if let [own] = owned {
        return run(first, own);
    }
    let middle = owned.len() / 2;
    let (left, right) = owned.split_at_mut(middle);
    join(|| halve(first, left, run), || halve(first + middle, right, run));
}

/// The number of threads of the current pool; 1 where the system refuses to start threads.
#[cfg(feature = "rayon")]
pub(crate) fn threads() -> usize {
    if rayon::current_thread_index().is_some() || global_pool_runs() {
        rayon::current_num_threads()
    } else {
        1
    }
}

/// Whether rayon's global pool runs. The first call starts it if it does not run yet:
/// `rayon::current_num_threads` would start it too, but panic where the system refuses threads.
#[cfg(all(feature = "rayon", not(target_family = "wasm")))]
fn global_pool_runs() -> bool {
    use std::error::Error;
    use std::sync::OnceLock;

    static RUNS: OnceLock<bool> = OnceLock::new();
    *RUNS.get_or_init(|| match rayon::ThreadPoolBuilder::new().build_global() {
        Ok(()) => true,
        // An error of the system is the source of rayon's error.
        Err(error) if error.source().is_some() => false,
        // Other code has tried to start the pool before. Whether that failed shows only in a
        // panic, which the other code has had, too.
        Err(_) => std::panic::catch_unwind(rayon::current_num_threads).is_ok(),
    })
}

/// Where there are no threads, rayon itself runs the global pool on the current thread. Only pools
/// that are built explicitly fail there.
#[cfg(all(feature = "rayon", target_family = "wasm"))]
fn global_pool_runs() -> bool {
    true
}

/// Calls both functions, in parallel.
#[cfg(feature = "rayon")]
fn join(left: impl FnOnce() + Send, right: impl FnOnce() + Send) {
    rayon::join(left, right);
}

/// The number of threads: 1, or with small thresholds 3, so that work is split even so.
#[cfg(not(feature = "rayon"))]
pub(crate) fn threads() -> usize {
    threshold(1, 3)
}

/// Calls both functions, one after the other.
#[cfg(not(any(feature = "rayon", all(test, shuttle))))]
fn join(left: impl FnOnce() + Send, right: impl FnOnce() + Send) {
    left();
    right();
}

/// Calls both functions, each on a new thread that shuttle schedules. The current thread runs
/// neither: it would open the nested scopes of that function, and a thread with nested scopes of
/// shuttle waits only for the first of them that ends.
#[cfg(all(test, shuttle, not(feature = "rayon")))]
fn join(left: impl FnOnce() + Send, right: impl FnOnce() + Send) {
    shuttle::thread::scope(|scope| {
        scope.spawn(left);
        scope.spawn(right);
    });
}

#[cfg(test)]
mod tests {
    use super::{
        ASLEEP, AWAKE, Cost, MIN_PART, MIN_PART_OF_SMALL, PARTS_PER_THREAD, parts_for, pays, share,
    };

    /// Less work is split where threads are awake.
    #[test]
    fn sleeping_threads_are_woken_for_more_work() {
        for (awake, least) in [(false, ASLEEP), (true, AWAKE)] {
            assert!(!pays(Cost(least - 1), awake) && pays(Cost(least), awake));
        }
    }

    /// Parts are not too small, not too many, and all threads have as many, unless some have none.
    #[test]
    fn parts_are_shared_evenly() {
        for threads in 2..20 {
            for cost in (0..3000).map(|k| k * MIN_PART / 16) {
                let cost = cost.max(AWAKE);
                let parts = parts_for(Cost(cost), threads);
                assert!(parts > 1 && parts as u64 * MIN_PART_OF_SMALL <= cost);
                assert!(parts <= threads || parts as u64 * MIN_PART <= cost);
                assert!(parts <= PARTS_PER_THREAD * threads);
                assert!(parts < threads || parts.is_multiple_of(threads));
            }
        }
    }

    /// Checks all lengths of the whole and numbers of parts below 256.
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

    /// An overflow would panic, as tests are debug builds.
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
