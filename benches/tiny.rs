//! Calls of a few elements, where checks and loops cost more than the work.
//!
//! `cargo bench --bench tiny` prints nanoseconds a call;
//! `scripts/instructions.sh` counts instructions, which other programs on the
//! machine do not disturb: it asks for the names by `--list`, and for a number
//! of calls by `NAME CALLS`.

use std::time::Instant;

use opkernels_workloads::Way;
use opkernels_workloads::harness::pool;

/// Gives every way on one thread, under its full name.
fn each(mut use_way: impl FnMut(&str, &mut Way<'_>)) {
    for workload in opkernels_workloads::tiny() {
        workload.confirmed(|prepared| {
            for mut way in prepared.ways.into_iter().filter(|way| way.threads == 1) {
                let name = format!("{}/{}", workload.name, way.name.replace(' ', "_"));
                use_way(&name, &mut way);
            }
        });
    }
}

/// The least time of a call, in nanoseconds.
fn nanoseconds(way: &mut Way<'_>) -> f64 {
    const REPEATS: u32 = 20_000;
    let mut round = || {
        let start = Instant::now();
        (0..REPEATS).for_each(|_| way.run());
        start.elapsed().as_nanos() as f64 / f64::from(REPEATS)
    };
    (0..50).map(|_| round()).fold(f64::INFINITY, f64::min)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    match &arguments[..] {
        [name, calls] => {
            let calls: usize = calls.parse().expect("a number of calls");
            each(|known, way| {
                if known == name {
                    pool(1).install(|| (0..calls).for_each(|_| way.run()));
                }
            });
        }
        [list] if list == "--list" => each(|name, _| println!("{name}")),
        _ => each(|name, way| {
            let nanos = pool(1).install(|| nanoseconds(way));
            println!("{name:35} {nanos:6.1} ns");
        }),
    }
}
