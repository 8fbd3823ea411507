//! The attributes of a scatter of slices.

use crate::arguments::{IntoAxis, IntoBatchDims, into_attributes};
use crate::reduction::{Combining, scatter_attributes};

/// The attributes of a scatter of slices: axis, batch dimensions, reduction,
/// whether the values that targets hold take part, and what to do with indices out
/// of bounds.
///
/// ```
/// use opkernels::{OutOfBounds, Reduction, Scatter};
///
/// let attributes = Scatter::sum(0).out_of_bounds(OutOfBounds::Skip);
/// assert_eq!(Scatter::sum(0), Scatter::along(0).reduction(Reduction::Sum));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "attributes do nothing until a scatter is called with them"]
pub struct Scatter {
    pub(super) axis: i128,
    pub(super) batch_dims: i128,
    pub(super) combining: Combining,
}

impl Scatter {
    /// The attributes of a scatter along `axis` that overwrites, without batch
    /// dimensions; an index out of bounds is an error.
    #[inline]
    pub fn along(axis: impl IntoAxis) -> Self {
        Scatter { axis: axis.signed(), batch_dims: 0, combining: Combining::OVERWRITE }
    }

    /// Sets the number of leading dimensions, the batch dimensions, that data and
    /// indices share. The rank of the indices is added to a negative number. 0 by
    /// default.
    #[inline]
    pub fn batch_dims(mut self, batch_dims: impl IntoBatchDims) -> Self {
        self.batch_dims = batch_dims.signed_count();
        self
    }
}

scatter_attributes!(Scatter::along(axis: impl IntoAxis));
into_attributes!(Scatter, along);

impl Default for Scatter {
    /// Overwrites along axis 0.
    fn default() -> Self {
        Self::along(0)
    }
}
