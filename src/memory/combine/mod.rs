//! Combines updates with the elements that indices select: kernels for each
//! element type and reduction.

mod apply;
mod kernels;
mod wide;

pub(super) use apply::{Fold, assign, ignore};
pub(super) use kernels::Plain;
pub(super) use kernels::Wide;
pub(crate) use kernels::{Kernels, Twin};
pub(super) use wide::{Building, Counts, count, fold_wide};
