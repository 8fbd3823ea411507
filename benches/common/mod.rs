//! Criterion's reports of workloads. They are for reading and for users'
//! machines; to compare two programs on a noisy machine, `ratios` runs them in
//! turn.

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput};
use opkernels_workloads::harness::pool;
use opkernels_workloads::{Workload, chosen};

/// Runs the workloads with short times, so that all of them take minutes.
pub(crate) fn run(workloads: Vec<Workload>) {
    let mut criterion = Criterion::default()
        .without_plots()
        .sample_size(10)
        .nresamples(5_000)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(700))
        .configure_from_args();
    // Inputs are made for those alone that are asked for; criterion looks at
    // the forms too, `workload/form/threads`.
    let parts: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .map(|part| part.split('/').next().unwrap_or_default().to_owned())
        .collect();
    for workload in chosen(workloads, &parts) {
        workload.confirmed(|prepared| {
            let mut group = criterion.benchmark_group(workload.name);
            group.throughput(Throughput::Bytes(prepared.bytes as u64));
            for mut way in prepared.ways {
                let id = BenchmarkId::new(way.name, format!("{}t", way.threads));
                group.bench_function(id, |bencher| {
                    pool(way.threads).install(|| bencher.iter(|| way.run()));
                });
            }
            group.finish();
        });
    }
    criterion.final_summary();
}
