//! What an `_into` call may write to.

use std::mem::MaybeUninit;

use ndarray::{ArrayRef, Dimension};

use super::AsArrayMut;
use crate::sealed::Sealed;

/// An array that a result can be written to: any that is an [`AsArrayMut`], or
/// one that is not initialised, as [`Uninit`].
#[diagnostic::on_unimplemented(
    message = "a result cannot be written to `{Self}`",
    label = "expected an array, a mutable view, or `Uninit::of(&mut array)`"
)]
pub trait OutputArray: Sealed {
    /// The type of the elements that are written.
    type Elem;
    /// The dimension type.
    type Dim: Dimension;

    /// The lengths.
    #[doc(hidden)]
    fn lengths(&self) -> &[usize];

    /// Whether [`output`](Self::output) may have to copy the array.
    #[doc(hidden)]
    fn is_copied(&self) -> bool;

    /// The array as what it is.
    #[doc(hidden)]
    fn output(&mut self) -> Output<'_, Self::Elem, Self::Dim>;
}

/// An array to write to.
#[derive(Debug)]
pub enum Output<'a, A, D: Dimension> {
    /// All elements have values.
    Values(&'a mut ArrayRef<A, D>),
    /// None is known to have one.
    Slots(&'a mut ArrayRef<MaybeUninit<A>, D>),
}

impl<T: AsArrayMut + ?Sized> OutputArray for T {
    type Elem = T::Elem;
    type Dim = T::Dim;

    #[inline]
    fn lengths(&self) -> &[usize] {
        self.as_array().shape()
    }

    #[inline]
    fn is_copied(&self) -> bool {
        self.may_be_shared()
    }

    #[inline]
    fn output(&mut self) -> Output<'_, T::Elem, T::Dim> {
        Output::Values(self.as_array_mut())
    }
}

/// An output that is not initialised: an array or view of `MaybeUninit<A>`, of
/// any layout, for a result of elements of type `A`.
///
/// After `Ok` every element is initialised; after an error or a panic none is
/// promised to be, and elements that were written are not dropped. What the
/// array held before is not dropped either.
///
/// Large ones that are contiguous are taken for fresh memory: on Linux the
/// kernel is advised to back them by huge pages, as it is for the results that
/// the crate returns, and they may be written past the caches. A caller that
/// reuses memory which it has written to before, and that has values, passes it
/// as it is.
///
/// It is a type of its own, not another array that `out` could be, so that the
/// elements of `let mut out = Array2::zeros(shape)` are inferred from the result.
///
/// ```
/// use ndarray::{Array2, array};
/// use opkernels::{GatherExt, Uninit};
///
/// let table = array![[1, 2], [3, 4], [5, 6]];
/// let mut out = Array2::<i32>::uninit((2, 2));
/// table.gather_into(&[2, 0], 0, &mut Uninit::of(&mut out))?;
/// // SAFETY: `Ok` promises that every element is initialised.
/// let out = unsafe { out.assume_init() };
/// assert_eq!(out, array![[5, 6], [1, 2]]);
/// # Ok::<(), opkernels::Error>(())
/// ```
#[derive(Debug)]
pub struct Uninit<'a, A, D: Dimension>(&'a mut ArrayRef<MaybeUninit<A>, D>);

impl<'a, A, D: Dimension> Uninit<'a, A, D> {
    /// An array as an output. A shared `ArcArray` is copied.
    #[inline]
    pub fn of<T>(array: &'a mut T) -> Self
    where
        T: AsArrayMut<Elem = MaybeUninit<A>, Dim = D> + ?Sized,
    {
        Uninit(array.as_array_mut())
    }
}

impl<A, D: Dimension> Sealed for Uninit<'_, A, D> {}

impl<A, D: Dimension> OutputArray for Uninit<'_, A, D> {
    type Elem = A;
    type Dim = D;

    #[inline]
    fn lengths(&self) -> &[usize] {
        self.0.shape()
    }

    #[inline]
    fn is_copied(&self) -> bool {
        false
    }

    #[inline]
    fn output(&mut self) -> Output<'_, A, D> {
        Output::Slots(self.0)
    }
}
