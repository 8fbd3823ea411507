//! The arguments of the operations: receivers, outputs, axes, shifts, indices and updates.

mod array_like;
mod as_indices;
mod attributes;
mod axes;
mod outputs;
mod receivers;

pub use array_like::{ArrayLike, Updates};
pub use as_indices::AsIndices;
pub(crate) use as_indices::{Hold, HoldIndices};
pub use attributes::IntoAttributes;
pub(crate) use attributes::into_attributes;
pub(crate) use axes::resolve_axis;
pub use axes::{IntoAxes, IntoAxis, IntoBatchDims, IntoShifts, SignedInteger};
pub(crate) use outputs::Output;
pub use outputs::OutputArray;
pub use receivers::{AsArrayMut, AsArrayRef};
