//! What the benchmarks share: workloads, each of them written once, and what times them.
//!
//! A [`Workload`] has a plain name, inputs made from a fixed seed, an answer found by the naive loops
//! of `naive.rs`, and ways to come to it: ours in every form, and what one writes by hand. Every way
//! must give that answer before it is timed, by whichever benchmark. Elements are `f32` and indices
//! `i64` unless said.

// Views are passed by value.
#![allow(clippy::needless_pass_by_value)]

pub mod copies;
pub mod drawn;
pub mod elements;
pub mod folds;
pub mod gather;
pub mod harness;
mod inputs;
mod limit;
mod naive;
pub mod plans;
pub mod roll;
pub mod scatter;
pub mod slices;
mod tiny;
pub mod tuples;
pub mod types;
mod workload;

pub use inputs::random;
pub use workload::{Prepared, Way, Workload, chosen};

/// All workloads.
pub fn all() -> Vec<Workload> {
    [
        gather::workloads(),
        roll::workloads(),
        scatter::workloads(),
        elements::workloads(),
        tuples::workloads(),
        slices::workloads(),
        folds::workloads(),
        plans::workloads(),
        tiny::workloads(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Those of a few elements, where checks and loops cost more than the work.
pub fn tiny() -> Vec<Workload> {
    [gather::tiny(), roll::tiny(), scatter::tiny(), tiny::workloads()]
        .into_iter()
        .flatten()
        .collect()
}
