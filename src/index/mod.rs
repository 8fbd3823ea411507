//! Indices: the integer types that they may have, the positions that they select along an axis,
//! and the policies for indices out of bounds.

mod integer;
mod out_of_bounds;
mod plan;

pub use integer::IndexInteger;
pub(crate) use integer::{LONGEST, Meaning};
pub use out_of_bounds::OutOfBounds;
pub use plan::IndexPlan;

use crate::error::{Error, Result};

/// What an operation does with an index out of bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    /// It returns an error.
    Refuse,
    /// The index selects nothing: a gather fills, a scatter drops the update.
    Skip,
    /// The index selects the nearest end of the axis.
    Clip,
    /// The index is taken modulo the length of the axis.
    Wrap,
}

impl Policy {
    /// The name of the policy, for messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Policy::Refuse => "refuse",
            Policy::Skip => "skip",
            Policy::Clip => "clip",
            Policy::Wrap => "wrap",
        }
    }

    /// The name in a gather, which skips an index by filling its place.
    pub(crate) fn name_in_gather(self) -> &'static str {
        if self == Policy::Skip { "fill" } else { self.name() }
    }

    /// Refuses an axis without elements if the policy maps indices onto it. `indices` is the shape
    /// of the indices: where there are none, no index is mapped.
    #[inline]
    pub(crate) fn on_axis(self, axis: usize, len: usize, indices: &[usize]) -> Result<()> {
        let maps = matches!(self, Policy::Clip | Policy::Wrap);
        if maps && len == 0 && !indices.contains(&0) {
            return Err(Error::EmptyAxis { mode: self.name(), axis });
        }
        Ok(())
    }
}
