//! The attributes of a gather of elements.

use crate::arguments::{IntoAxis, into_attributes};
use crate::index::OutOfBounds;

/// The attributes of a gather of elements: axis, and what to do with indices out
/// of bounds.
///
/// ```
/// use opkernels::{GatherElements, OutOfBounds};
///
/// let attributes = GatherElements::along(-1).out_of_bounds(OutOfBounds::Fill(0.0_f32));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use = "attributes do nothing until a gather is called with them"]
pub struct GatherElements<A> {
    pub(super) axis: i128,
    pub(super) out_of_bounds: OutOfBounds<A>,
}

impl<A> GatherElements<A> {
    /// The attributes of a gather of elements along `axis`; an index out of bounds is
    /// an error.
    #[inline]
    pub fn along(axis: impl IntoAxis) -> Self {
        GatherElements { axis: axis.signed(), out_of_bounds: OutOfBounds::Error }
    }

    /// Sets what to do with an index outside `-len..=len - 1`.
    /// [`OutOfBounds::Error`] by default.
    #[inline]
    pub fn out_of_bounds(mut self, mode: OutOfBounds<A>) -> Self {
        self.out_of_bounds = mode;
        self
    }
}

into_attributes!(GatherElements<A>, along);

impl<A> Default for GatherElements<A> {
    /// Along axis 0, as in ONNX.
    fn default() -> Self {
        Self::along(0)
    }
}
