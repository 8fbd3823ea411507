//! Pools of threads that all tests of a program share: starting threads takes longer than most calls
//! that are compared.

#[cfg(feature = "rayon")]
use std::sync::LazyLock;

#[cfg(feature = "rayon")]
use rayon::{ThreadPool, ThreadPoolBuilder};

#[cfg(feature = "rayon")]
static POOLS: LazyLock<[ThreadPool; 3]> = LazyLock::new(|| {
    [1, 2, 4].map(|threads| ThreadPoolBuilder::new().num_threads(threads).build().unwrap())
});

/// Runs on pools of 1, 2 and 4 threads.
#[cfg(feature = "rayon")]
pub(crate) fn on_every_pool<R: Send>(run: impl Fn() -> R + Sync) -> [R; 3] {
    POOLS.each_ref().map(|pool| pool.install(&run))
}

/// Runs here, on as many threads as there are processors, and on the pools of 1 and 4 threads if there are any.
pub(crate) fn here_and_on_pools<R: Send>(run: impl Fn() -> R + Sync) -> Vec<R> {
    let here = [run()];
    #[cfg(feature = "rayon")]
    let here = here.into_iter().chain([0, 2].map(|pool| POOLS[pool].install(&run)));
    here.into_iter().collect()
}
