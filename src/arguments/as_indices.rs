//! The types that may be passed as indices.

use ndarray::{ArrayView, Dimension};

use super::ArrayLike;
use crate::index::IndexInteger;
use crate::memory::Indices;

/// A type that can be read as indices: every [`ArrayLike`] of an integer type, and an
/// [`IndexPlan`](crate::IndexPlan).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read as indices",
    label = "expected integers in an array, a view, a slice, `[I; N]` or `Vec<I>`, or an `IndexPlan`",
    note = "indices of several dimensions are arrays: `ndarray::array![[0, 1], [2, 3]]`, or \
            `ndarray::aview2(&pairs)` of a `Vec<[usize; 2]>`"
)]
pub trait AsIndices: Hold {
    /// The dimension type.
    type Dim: Dimension;
}

/// Seals [`AsIndices`]: that its indices have the dimensions of `Dim` decides the rank of results.
pub trait Hold {
    /// A value that holds a view of the indices during a call.
    fn hold(&self) -> impl HoldIndices;
}

/// Lends indices to a call as `Indices`, which do not depend on their type.
pub trait HoldIndices {
    fn indices(&self) -> Indices<'_>;
}

impl<L> AsIndices for L
where
    L: ArrayLike<Elem: IndexInteger> + ?Sized,
{
    type Dim = L::Dim;
}

impl<L> Hold for L
where
    L: ArrayLike<Elem: IndexInteger> + ?Sized,
{
    #[inline]
    fn hold(&self) -> impl HoldIndices {
        self.view()
    }
}

impl<I: IndexInteger, D: Dimension> HoldIndices for ArrayView<'_, I, D> {
    #[inline]
    fn indices(&self) -> Indices<'_> {
        Indices::of(self)
    }
}
