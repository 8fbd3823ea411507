//! Criterion's reports of rolls: `cargo bench --bench roll -- [part of a name]`.

mod common;

fn main() {
    common::run(opkernels_workloads::roll::workloads());
}
