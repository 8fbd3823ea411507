//! Combines updates with the elements that indices select: the kernels of scatters that reduce or
//! fold, for each element type and reduction.

mod accumulate;
mod apply;
mod fold;
mod kernels;
mod rows;
mod transposed;

pub(crate) use accumulate::Accumulators;
pub(super) use accumulate::{
    Accumulation, COUNTED_IN_TARGET, Counts, DivideCounted, Quotients, SHORT_ROW, SetCounted,
    accumulate, accumulate_few, steps,
};
pub(super) use apply::{Set, assign, ignore};
pub(crate) use fold::Fold;
pub(super) use kernels::in_target;
pub(crate) use kernels::{Kernels, Reducer, Twin};
pub(super) use transposed::{run_transposed, transposes_updates};

/// Calls refuse a reduction that the element type does not support before they choose kernels.
pub(super) const HAS_KERNELS: &str = "a reduction that the type supports has kernels";
