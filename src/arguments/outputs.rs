//! What elements an output may have: values, or slots that hold none yet.

use std::mem::MaybeUninit;

use ndarray::{ArrayRef, Dimension};

/// An element of an output for results of type `A`: `A` itself or
/// [`MaybeUninit<A>`].
///
/// After `Ok` every element of an uninitialised output is initialised; after an
/// error or a panic none is promised to be.
#[diagnostic::on_unimplemented(
    message = "elements of type `{A}` cannot be written to an array of `{Self}`",
    label = "expected an output of `{A}` or `MaybeUninit<{A}>`"
)]
pub trait Slot<A>: Sized {
    /// The array as what it is.
    #[doc(hidden)]
    fn output<D: Dimension>(array: &mut ArrayRef<Self, D>) -> Output<'_, A, D>;
}

/// An array to write to.
#[derive(Debug)]
pub enum Output<'a, A, D: Dimension> {
    /// All elements have values.
    Values(&'a mut ArrayRef<A, D>),
    /// None is known to have one.
    Slots(&'a mut ArrayRef<MaybeUninit<A>, D>),
}

impl<A> Slot<A> for A {
    #[inline]
    fn output<D: Dimension>(array: &mut ArrayRef<A, D>) -> Output<'_, A, D> {
        Output::Values(array)
    }
}

impl<A> Slot<A> for MaybeUninit<A> {
    #[inline]
    fn output<D: Dimension>(array: &mut ArrayRef<MaybeUninit<A>, D>) -> Output<'_, A, D> {
        Output::Slots(array)
    }
}

/// Tells type inference that an output whose elements are not known has those of
/// the result, as in `let mut out = Array2::zeros(shape)`: two types are
/// [`Slot`]s for them, so without a hint neither is chosen.
///
/// It holds for all types. But the compiler prefers what a trait object knows of
/// itself, and `dyn Results<A>` knows that it suggests `A`.
#[doc(hidden)]
pub trait Suggests<E> {}

#[doc(hidden)]
pub trait Results<A>: Suggests<A> {}

impl<T: ?Sized, E> Suggests<E> for T {}
