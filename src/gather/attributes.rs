//! What a gather may be told.

use crate::arguments::{IntoAxis, SignedInteger};
use crate::index::OutOfBounds;
use crate::sealed::Sealed;

/// The attributes of a gather: axis, batch dimensions, and what to do with
/// indices out of bounds.
///
/// ```
/// use opkernels::{Gather, OutOfBounds};
///
/// let attributes = Gather::along(-1).batch_dims(1).out_of_bounds(OutOfBounds::Fill(0.0_f32));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use = "attributes do nothing until a gather is called with them"]
pub struct Gather<A> {
    pub(super) axis: i128,
    pub(super) batch_dims: i64,
    pub(super) out_of_bounds: OutOfBounds<A>,
}

impl<A> Gather<A> {
    /// Gathers along `axis`, without batch dimensions; an index out of bounds
    /// is an error. This is ONNX Gather 13.
    #[inline]
    pub fn along(axis: impl IntoAxis) -> Self {
        Gather { axis: axis.signed(), batch_dims: 0, out_of_bounds: OutOfBounds::Error }
    }

    /// OpenVINO Gather-8 along `axis`: an index out of bounds selects zeros,
    /// or whatever else `A::default()` is.
    #[inline]
    pub fn openvino(axis: impl IntoAxis) -> Self
    where
        A: Default,
    {
        Self::along(axis).out_of_bounds(OutOfBounds::Fill(A::default()))
    }

    /// The number of leading dimensions that data and indices share; a
    /// negative number adds the rank of the indices. 0 by default.
    ///
    /// Along the last axis, with all axes before it as batch dimensions, a
    /// gather takes elements: NumPy's `take_along_axis`, ONNX's
    /// GatherElements.
    #[inline]
    pub fn batch_dims(mut self, batch_dims: impl SignedInteger) -> Self {
        self.batch_dims = batch_dims.in_64_bits();
        self
    }

    /// What to do with an index outside `-len..=len - 1`.
    /// [`OutOfBounds::Error`] by default.
    #[inline]
    pub fn out_of_bounds(mut self, mode: OutOfBounds<A>) -> Self {
        self.out_of_bounds = mode;
        self
    }
}

impl<A> Default for Gather<A> {
    /// Along axis 0, as in ONNX.
    fn default() -> Self {
        Self::along(0)
    }
}

/// What a gather may be told: an axis, where an index out of bounds is an
/// error, or [`Gather`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say how to gather elements of type `{A}`",
    label = "expected an axis or `Gather::along(axis)`"
)]
pub trait GatherArgument<A>: Sealed {
    /// The attributes.
    #[doc(hidden)]
    fn attributes(self) -> Gather<A>;
}

impl<A> Sealed for Gather<A> {}

impl<A> GatherArgument<A> for Gather<A> {
    #[inline]
    fn attributes(self) -> Gather<A> {
        self
    }
}

impl<A, X: IntoAxis> GatherArgument<A> for X {
    #[inline]
    fn attributes(self) -> Gather<A> {
        Gather::along(self)
    }
}
