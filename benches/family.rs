//! Criterion's reports of what came after gather, roll and scatter_elements:
//! `cargo bench --bench family -- [part of a name]`.

mod common;

use opkernels_workloads::{elements, folds, slices, tuples};

fn main() {
    let all = [elements::workloads(), tuples::workloads(), slices::workloads(), folds::workloads()];
    common::run(all.into_iter().flatten().collect());
}
