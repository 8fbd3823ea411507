//! Indices: which integers they may be, what they mean along an axis, and what
//! becomes of those out of bounds.

mod integer;
mod out_of_bounds;

pub use integer::IndexInteger;
pub(crate) use integer::Meaning;
pub use out_of_bounds::OutOfBounds;

use crate::error::{Error, Result};

/// What an index out of bounds turns into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    /// The end of the operation.
    Refuse,
    /// Nothing: a fill, or an update that is dropped.
    Skip,
    /// The nearest end.
    Clip,
    /// The remainder.
    Wrap,
}

impl Policy {
    /// Refuses to map indices onto an axis without elements. `indices` is their
    /// shape: where there are none, nothing is mapped.
    pub(crate) fn on_axis(self, axis: usize, len: usize, indices: &[usize]) -> Result<Self> {
        let mode = match self {
            Policy::Clip => "clip",
            Policy::Wrap => "wrap",
            Policy::Refuse | Policy::Skip => return Ok(self),
        };
        if len == 0 && !indices.contains(&0) {
            return Err(Error::EmptyAxis { mode, axis });
        }
        Ok(self)
    }
}
