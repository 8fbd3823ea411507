//! Criterion's reports of scatters: `cargo bench --bench scatter_elements -- [part of a name]`.

mod common;

fn main() {
    common::run(opkernels_workloads::scatter::workloads());
}
