//! What callers pass: arrays to work on, axes, shifts, indices and updates.

mod array_like;
mod axes;
mod receivers;

pub use array_like::ArrayLike;
pub(crate) use axes::resolve_axis;
pub use axes::{IntoAxes, IntoAxis, IntoShifts, SignedInteger};
pub use receivers::{AsArrayMut, AsArrayRef};
