//! When and how work is split over threads. No other file names rayon.

/// A piece of work that can be cut in two independent pieces.
pub(crate) trait Job: Sized + Send {
    /// Pieces a thread: enough to even out threads of different speed, few
    /// enough that waking them costs little.
    const PIECES: usize = 4;

    /// How much there is to do, in bytes moved or a like measure.
    fn work(&self) -> usize;

    /// Two pieces of about the same size that together do the whole, or the
    /// job itself where it cannot be cut.
    fn split(self) -> Result<(Self, Self), Self>;

    /// Does the whole.
    fn run(self);
}

/// Does the whole job, on the threads of the current rayon pool where it holds
/// at least two times `grain` of work.
#[inline]
pub(crate) fn run<J: Job>(job: J, grain: usize) {
    if job.work() >= grain.saturating_mul(2) { run_large(job, grain) } else { job.run() }
}

#[inline(never)]
fn run_large<J: Job>(job: J, grain: usize) {
    match threads() {
        1 => job.run(),
        threads => {
            let piece = job.work() / (threads * J::PIECES);
            divide(job, piece.max(grain));
        }
    }
}

fn divide<J: Job>(job: J, grain: usize) {
    if job.work() < 2 * grain {
        return job.run();
    }
    match job.split() {
        Ok((left, right)) => both(|| divide(left, grain), || divide(right, grain)),
        Err(whole) => whole.run(),
    }
}

/// The threads of the current pool: 1 where the system refuses to start any.
#[cfg(feature = "rayon")]
fn threads() -> usize {
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

#[cfg(not(feature = "rayon"))]
fn threads() -> usize {
    1
}

#[cfg(not(feature = "rayon"))]
fn both(left: impl FnOnce() + Send, right: impl FnOnce() + Send) {
    left();
    right();
}
