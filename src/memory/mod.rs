//! The only code that accesses raw memory (`unsafe`): arrays as bytes with strides, the loops over
//! them, and the kernels.

mod alloc;
mod buffer;
mod combine;
mod copied;
mod copy;
mod cpu;
mod few;
mod gather;
mod indexed;
mod indices;
mod output;
mod packed;
mod plan;
mod refused;
mod roll;
mod scatter;
mod strided;
mod tile;
mod walk;
mod work;

pub(crate) use alloc::{reserved, to_vec};
pub(crate) use combine::{Accumulators, Fold, Kernels, Reducer, Twin};
pub(crate) use copy::{Transfer, is_plain};
pub(crate) use few::Named;
pub(crate) use indices::IndexKind;
pub(crate) use indices::{Along, Indices};
pub(crate) use output::{Filled, cloned, filled};
pub(crate) use plan::{Lens, Positions, Viewed};
pub(crate) use refused::{Failure, Refused};
pub(crate) use roll::inplace::roll_inplace;
pub(crate) use scatter::Scattering;
pub(crate) use walk::Axes;
