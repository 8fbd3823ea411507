//! What the benchmarks share: workloads, each of them written once, and what times them.
//!
//! A [`Workload`](workload::Workload) has a plain name, inputs made from a fixed seed, an answer found
//! by the loops of [`naive`], and ways to come to it: ours in every form, and what one writes by hand.
//! Every way must give that answer before it is timed, by whichever benchmark.

pub mod harness;
mod inputs;
mod limit;
mod naive;
pub mod workload;
pub mod workloads;
