//! The attributes of a gather.

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
    /// The attributes of a gather along `axis`, without batch dimensions; an index
    /// out of bounds is an error. This is ONNX Gather 13.
    #[inline]
    pub fn along(axis: impl IntoAxis) -> Self {
        Gather { axis: axis.signed(), batch_dims: 0, out_of_bounds: OutOfBounds::Error }
    }

    /// The attributes of OpenVINO Gather-8 along `axis`, without batch dimensions:
    /// an index out of bounds selects `A::default()`, which is zero for numbers.
    #[inline]
    pub fn openvino(axis: impl IntoAxis) -> Self
    where
        A: Default,
    {
        Self::along(axis).out_of_bounds(OutOfBounds::Fill(A::default()))
    }

    /// Sets the number of leading dimensions, the batch dimensions, that data and
    /// indices share. The rank of the indices is added to a negative number. 0 by
    /// default.
    ///
    /// Where every element has an index of its own, use
    /// [`gather_elements`](crate::GatherElementsExt::gather_elements).
    #[inline]
    pub fn batch_dims(mut self, batch_dims: impl IntoBatchDims) -> Self {
        self.batch_dims = batch_dims.signed_count();
        self
    }

    /// Sets what to do with an index outside `-len..=len - 1`.
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

/// What can be passed as the attributes of a gather: an axis alone, so that an
/// index out of bounds is an error, or [`Gather`].
pub trait GatherArgument<A>: IntoAttributes<Gather<A>> {}

impl<A, T: IntoAttributes<Gather<A>>> GatherArgument<A> for T {}
