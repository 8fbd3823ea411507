//! What a scatter of elements may be told.

use std::convert::Infallible;

use super::run;
use crate::arguments::{ArrayLike, IntoAxis};
use crate::error::Result;
use crate::index::{IndexInteger, OutOfBounds};
use crate::reduction::{ReduceElement, Reduction};
use crate::sealed::Sealed;

/// The attributes of a scatter: axis, reduction, whether the data's own values
/// take part, and what to do with indices out of bounds.
///
/// ```
/// use opkernels::{OutOfBounds, Reduction, ScatterElements};
///
/// let attributes = ScatterElements::along(0)
///     .reduction(Reduction::Mean)
///     .use_init_val(false)
///     .out_of_bounds(OutOfBounds::Skip);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "attributes do nothing until a scatter is called with them"]
pub struct ScatterElements {
    pub(super) axis: i128,
    pub(super) reduction: Reduction,
    pub(super) use_init_val: bool,
    pub(super) out_of_bounds: OutOfBounds<Infallible>,
}

impl ScatterElements {
    /// Overwrites along `axis`; an index out of bounds is an error.
    #[inline]
    pub fn along(axis: impl IntoAxis) -> Self {
        ScatterElements {
            axis: axis.signed(),
            reduction: Reduction::None,
            use_init_val: true,
            out_of_bounds: OutOfBounds::Error,
        }
    }

    /// How updates combine with what their target holds.
    /// [`Reduction::None`] by default: they overwrite it.
    #[inline]
    pub fn reduction(mut self, reduction: Reduction) -> Self {
        self.reduction = reduction;
        self
    }

    /// Whether the value that a target had before takes part in its
    /// reduction. `true` by default. With `false`, elements that some index
    /// touches lose their old value, all others keep it;
    /// [`Reduction::None`] is unaffected.
    #[inline]
    pub fn use_init_val(mut self, use_init_val: bool) -> Self {
        self.use_init_val = use_init_val;
        self
    }

    /// What to do with an index outside `-len..=len - 1`.
    /// [`OutOfBounds::Error`] by default.
    #[inline]
    pub fn out_of_bounds(mut self, mode: OutOfBounds<Infallible>) -> Self {
        self.out_of_bounds = mode;
        self
    }
}

impl Default for ScatterElements {
    /// Overwrites along axis 0, as ONNX and OpenVINO do by default.
    fn default() -> Self {
        Self::along(0)
    }
}

/// What an in-place scatter may be told: an axis, to overwrite elements of any
/// [`Clone`] type, or [`ScatterElements`], for elements that reduce.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say how to scatter elements of type `{A}`",
    label = "expected an axis, or `ScatterElements` for elements that reduce",
    note = "a reduction is given as `ScatterElements::along(axis).reduction(..)`",
    note = "elements that cannot be reduced, such as `String`, take just an axis; in generic code, \
            bound them by `ReduceElement`"
)]
pub trait ScatterArgument<A>: Sealed {
    /// Runs the scatter with these attributes.
    #[doc(hidden)]
    fn scatter<D, I, U>(
        self,
        target: &mut ndarray::ArrayRef<A, D>,
        indices: &I,
        updates: &U,
    ) -> Result<()>
    where
        D: ndarray::Dimension,
        I: ArrayLike<Elem: IndexInteger> + ?Sized,
        U: ArrayLike<Elem = A> + ?Sized;
}

impl Sealed for ScatterElements {}

impl<A: ReduceElement> ScatterArgument<A> for ScatterElements {
    #[inline]
    fn scatter<D, I, U>(
        self,
        target: &mut ndarray::ArrayRef<A, D>,
        indices: &I,
        updates: &U,
    ) -> Result<()>
    where
        D: ndarray::Dimension,
        I: ArrayLike<Elem: IndexInteger> + ?Sized,
        U: ArrayLike<Elem = A> + ?Sized,
    {
        run::reduce_inplace(target, &indices.view(), &updates.view(), &self)
    }
}

impl<A: Clone + Send + Sync, X: IntoAxis> ScatterArgument<A> for X {
    #[inline]
    fn scatter<D, I, U>(
        self,
        target: &mut ndarray::ArrayRef<A, D>,
        indices: &I,
        updates: &U,
    ) -> Result<()>
    where
        D: ndarray::Dimension,
        I: ArrayLike<Elem: IndexInteger> + ?Sized,
        U: ArrayLike<Elem = A> + ?Sized,
    {
        run::overwrite_inplace(
            target,
            &indices.view(),
            &updates.view(),
            &ScatterElements::along(self),
        )
    }
}
