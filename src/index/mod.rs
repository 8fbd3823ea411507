//! Indices: which integers they may be, what they mean along an axis, and what
//! becomes of those out of bounds.

mod integer;
mod out_of_bounds;
mod plan;

pub use integer::IndexInteger;
pub(crate) use integer::{LONGEST, Meaning};
pub use out_of_bounds::OutOfBounds;
pub use plan::IndexPlan;

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
    /// What it does with an index out of bounds, for messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Policy::Refuse => "refuse",
            Policy::Skip => "skip",
            Policy::Clip => "clip",
            Policy::Wrap => "wrap",
        }
    }

    /// Refuses to map indices onto an axis without elements. `indices` is their
    /// shape: where there are none, nothing is mapped.
    #[inline]
    pub(crate) fn on_axis(self, axis: usize, len: usize, indices: &[usize]) -> Result<()> {
        let maps = matches!(self, Policy::Clip | Policy::Wrap);
        if maps && len == 0 && !indices.contains(&0) {
            return Err(Error::EmptyAxis { mode: self.name(), axis });
        }
        Ok(())
    }
}
