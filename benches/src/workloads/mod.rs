//! The workloads: elements are `f32` and indices `i64` unless said.

pub mod gather;
pub mod roll;
pub mod scatter;

use crate::workload::Workload;

/// All of them.
pub fn all() -> Vec<Workload> {
    [gather::workloads(), roll::workloads(), scatter::workloads()].into_iter().flatten().collect()
}

/// Those of a few elements, where checks and loops cost more than the work.
pub fn tiny() -> Vec<Workload> {
    [gather::tiny(), roll::tiny(), scatter::tiny()].into_iter().flatten().collect()
}
