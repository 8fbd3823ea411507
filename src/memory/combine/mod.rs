//! Combines updates with the elements that indices select: the kernels of scatters that reduce or
//! fold, for each element type and reduction.

mod apply;
mod fold;
mod kernels;
mod rows;
mod transposed;
mod wide;

pub(super) use apply::{Set, assign, ignore};
pub(super) use fold::Fold;
pub(crate) use kernels::{Kernels, Twin};
pub(super) use transposed::{run_transposed, transposes_updates};
#[cfg(feature = "half")]
pub(crate) use wide::half;
pub(super) use wide::{
    Accumulation, Counts, Dense, Divide, SHORT_ROW, SetCounted, WIDE_ROW, fold_few, fold_wide,
    steps,
};
pub(crate) use wide::{
    Quotients, Significant, Widely, large_integer, running, significant, small_integer,
};

/// Calls refuse a reduction that the element type does not support before they choose kernels.
pub(super) const HAS_KERNELS: &str = "a reduction that the type supports has kernels";
