//! What a gather may be told.

use crate::arguments::{IntoAttributes, IntoAxis, IntoBatchDims, into_attributes};
use crate::index::OutOfBounds;

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
    pub(super) batch_dims: i128,
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
    /// An index for every element is
    /// [`gather_elements`](crate::GatherElementsExt::gather_elements).
    #[inline]
    pub fn batch_dims(mut self, batch_dims: impl IntoBatchDims) -> Self {
        self.batch_dims = batch_dims.signed_count();
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

into_attributes!(Gather<A>, along);

/// What a gather may be told: an axis, where an index out of bounds is an
/// error, or [`Gather`].
pub trait GatherArgument<A>: IntoAttributes<Gather<A>> {}

impl<A, T: IntoAttributes<Gather<A>>> GatherArgument<A> for T {}
