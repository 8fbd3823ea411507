//! The attributes of a gather by tuples of indices.

use crate::arguments::{IntoBatchDims, into_attributes};
use crate::index::OutOfBounds;

/// The attributes of a gather by tuples of indices: batch dimensions, and what
/// to do with indices out of bounds.
///
/// ```
/// use opkernels::{GatherNd, OutOfBounds};
///
/// let attributes = GatherNd::new().batch_dims(1).out_of_bounds(OutOfBounds::Fill(0.0_f32));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use = "attributes do nothing until a gather is called with them"]
pub struct GatherNd<A> {
    pub(super) batch_dims: i128,
    pub(super) out_of_bounds: OutOfBounds<A>,
}

impl<A> GatherNd<A> {
    /// The attributes of a gather without batch dimensions; an index out of bounds
    /// is an error.
    #[inline]
    pub fn new() -> Self {
        GatherNd { batch_dims: 0, out_of_bounds: OutOfBounds::Error }
    }

    /// Sets the number of leading dimensions, the batch dimensions, that data and
    /// indices share. The rank of the indices is added to a negative number. 0 by
    /// default.
    #[inline]
    pub fn batch_dims(mut self, batch_dims: impl IntoBatchDims) -> Self {
        self.batch_dims = batch_dims.signed_count();
        self
    }

    /// Sets what to do with a tuple if any of its numbers is outside
    /// `-len..=len - 1` of its axis. [`OutOfBounds::Error`] by default.
    /// `Clip` and `Wrap` map each number by itself.
    #[inline]
    pub fn out_of_bounds(mut self, mode: OutOfBounds<A>) -> Self {
        self.out_of_bounds = mode;
        self
    }
}

into_attributes!(GatherNd<A>);

impl<A> Default for GatherNd<A> {
    /// Without batch dimensions.
    fn default() -> Self {
        Self::new()
    }
}
