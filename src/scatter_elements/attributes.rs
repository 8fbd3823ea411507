//! The attributes of a scatter of elements.

use crate::arguments::{IntoAttributes, IntoAxis, into_attributes};
use crate::reduction::{Combining, scatter_attributes};

/// The attributes of a scatter of elements: axis, reduction, whether the values
/// that targets hold take part, and what to do with indices out of bounds.
///
/// ```
/// use opkernels::{OutOfBounds, Reduction, ScatterElements};
///
/// let attributes = ScatterElements::along(0)
///     .reduction(Reduction::Mean)
///     .use_init_val(false)
///     .out_of_bounds(OutOfBounds::Skip);
/// assert_eq!(ScatterElements::max(-1), ScatterElements::along(-1).reduction(Reduction::Max));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "attributes do nothing until a scatter is called with them"]
pub struct ScatterElements {
    pub(super) axis: i128,
    pub(super) combining: Combining,
}

impl ScatterElements {
    /// The attributes of a scatter of elements along `axis` that overwrites; an index
    /// out of bounds is an error.
    #[inline]
    pub fn along(axis: impl IntoAxis) -> Self {
        ScatterElements { axis: axis.signed(), combining: Combining::OVERWRITE }
    }
}

scatter_attributes!(ScatterElements::along(axis: impl IntoAxis));
into_attributes!(ScatterElements, along);

impl Default for ScatterElements {
    /// Overwrites along axis 0, as ONNX and OpenVINO do by default.
    fn default() -> Self {
        Self::along(0)
    }
}

/// What can be passed as the attributes of a scatter of elements: an axis alone, to
/// overwrite, or [`ScatterElements`].
pub trait ScatterArgument<A>: IntoAttributes<ScatterElements> {}

impl<A, T: IntoAttributes<ScatterElements>> ScatterArgument<A> for T {}
