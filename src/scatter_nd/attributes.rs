//! The attributes of a scatter by tuples of indices.

use crate::arguments::into_attributes;
use crate::reduction::{Combining, scatter_attributes};

/// The attributes of a scatter by tuples of indices: reduction, whether the values
/// that targets hold take part, and what to do with indices out of bounds.
///
/// ```
/// use opkernels::{OutOfBounds, Reduction, ScatterNd};
///
/// let attributes = ScatterNd::sum().out_of_bounds(OutOfBounds::Skip);
/// assert_eq!(ScatterNd::sum(), ScatterNd::new().reduction(Reduction::Sum));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "attributes do nothing until a scatter is called with them"]
pub struct ScatterNd {
    pub(super) combining: Combining,
}

impl ScatterNd {
    /// The attributes of a scatter that overwrites; an index out of bounds is an
    /// error.
    #[inline]
    pub fn new() -> Self {
        ScatterNd { combining: Combining::OVERWRITE }
    }
}

scatter_attributes!(ScatterNd::new());
into_attributes!(ScatterNd);

impl Default for ScatterNd {
    /// Overwrites.
    fn default() -> Self {
        Self::new()
    }
}
