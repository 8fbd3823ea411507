//! What the criterion benchmarks share. They are for reports and for users'
//! machines; to compare two programs on a noisy machine, `ratios` runs them in turn.

use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Runs the workloads with short times, so that all of them take minutes.
pub(crate) fn run(workloads: impl FnOnce(&mut Benches)) {
    let criterion = Criterion::default()
        .without_plots()
        .sample_size(10)
        .nresamples(5_000)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(700))
        .configure_from_args();
    let pools = [1, 2].map(|threads| {
        ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool of threads")
    });
    let mut benches = Benches { criterion, pools };
    workloads(&mut benches);
    benches.criterion.final_summary();
}

pub(crate) struct Benches {
    criterion: Criterion,
    pools: [ThreadPool; 2],
}

impl Benches {
    pub(crate) fn workload(&mut self, name: &str) -> Workload<'_> {
        Workload { group: self.criterion.benchmark_group(name), pools: &self.pools }
    }
}

/// Ways to do one piece of work.
pub(crate) struct Workload<'a> {
    group: BenchmarkGroup<'a, WallTime>,
    pools: &'a [ThreadPool; 2],
}

impl Workload<'_> {
    /// What a call of the ways that follow moves, for their throughput.
    pub(crate) fn bytes(&mut self, bytes: usize) -> &mut Self {
        self.group.throughput(Throughput::Bytes(bytes as u64));
        self
    }

    /// A way that runs on one thread.
    pub(crate) fn one(&mut self, way: &str, run: impl FnMut() + Send) -> &mut Self {
        self.on(&self.pools[..1], way, run)
    }

    /// A way that runs on one thread and on two.
    pub(crate) fn both(&mut self, way: &str, run: impl FnMut() + Send) -> &mut Self {
        self.on(self.pools, way, run)
    }

    fn on(&mut self, pools: &[ThreadPool], way: &str, mut run: impl FnMut() + Send) -> &mut Self {
        for pool in pools {
            let threads = format!("{}t", pool.current_num_threads());
            self.group.bench_function(BenchmarkId::new(way, threads), |bencher| {
                pool.install(|| bencher.iter(&mut run));
            });
        }
        self
    }
}
