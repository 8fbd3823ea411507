//! Criterion's reports of gathers: `cargo bench --bench gather -- [part of a name]`.

mod common;

fn main() {
    common::run(opkernels_workloads::gather::workloads());
}
