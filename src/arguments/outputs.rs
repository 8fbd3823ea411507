//! The arrays that an `_into` call may write to.

use std::mem::MaybeUninit;

use ndarray::{ArrayRef, Dimension};

use super::AsArrayMut;
use crate::sealed::Sealed;

/// An array that a result of elements of type `A` can be written to: any
/// [`AsArrayMut`] of `A`, or of `MaybeUninit<A>`, which need not be initialised.
///
/// After `Ok` every element of an uninitialised output is initialised. After an error or a panic
/// no element is guaranteed to be, and elements that were written are not dropped. Values that an
/// uninitialised output held before are never dropped.
///
/// Large contiguous outputs that are uninitialised are assumed to be fresh memory: on Linux the
/// kernel is advised to back them by huge pages, as for the results that the crate returns. To
/// reuse memory that has been written before, pass it as an array of `A`.
///
/// ```
/// use ndarray::{Array2, array};
/// use opkernels::GatherExt;
///
/// let table = array![[1, 2], [3, 4], [5, 6]];
/// let mut out = Array2::<i32>::uninit((2, 2));
/// table.gather_into(&[2, 0], 0, &mut out)?;
/// // SAFETY: after `Ok` every element is initialised.
/// let out = unsafe { out.assume_init() };
/// assert_eq!(out, array![[5, 6], [1, 2]]);
/// # Ok::<(), opkernels::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "a result of elements `{A}` cannot be written to `{Self}`",
    label = "expected an array or mutable view of `{A}` or `MaybeUninit<{A}>`",
    note = "`ndarray::aview_mut1(&mut vec)` is a mutable view of a `Vec` or slice"
)]
pub trait OutputArray<A>: Sealed {
    /// The dimension type.
    type Dim: Dimension;

    /// The lengths of the axes.
    #[doc(hidden)]
    fn lengths(&self) -> &[usize];

    /// Whether [`output`](Self::output) may have to copy the array.
    #[doc(hidden)]
    fn is_copied(&self) -> bool;

    /// The array as an `Output`, initialised or not.
    #[doc(hidden)]
    fn output(&mut self) -> Output<'_, A, Self::Dim>;
}

/// An element of an output: a value of type `A`, or uninitialised memory for one.
#[diagnostic::on_unimplemented(
    message = "a result of elements `{A}` cannot be written to elements `{Self}`",
    label = "expected an array or mutable view of `{A}` or `MaybeUninit<{A}>`",
    note = "`ndarray::aview_mut1(&mut vec)` is a mutable view of a `Vec` or slice"
)]
pub trait Slot<A>: Sized {
    /// The array as an `Output`, initialised or not.
    #[doc(hidden)]
    fn output<D: Dimension>(array: &mut ArrayRef<Self, D>) -> Output<'_, A, D>;
}

impl<A> Slot<A> for A {
    #[inline]
    fn output<D: Dimension>(array: &mut ArrayRef<A, D>) -> Output<'_, A, D> {
        Output::Values(array)
    }
}

impl<A> Slot<A> for MaybeUninit<A> {
    #[inline]
    fn output<D: Dimension>(array: &mut ArrayRef<Self, D>) -> Output<'_, A, D> {
        Output::Slots(array)
    }
}

/// An array to write to.
#[derive(Debug)]
pub enum Output<'a, A, D: Dimension> {
    /// All elements are initialised.
    Values(&'a mut ArrayRef<A, D>),
    /// No element is known to be initialised.
    Slots(&'a mut ArrayRef<MaybeUninit<A>, D>),
}

impl<A, T: AsArrayMut<Elem: Slot<A>> + ?Sized> OutputArray<A> for T {
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
    fn output(&mut self) -> Output<'_, A, T::Dim> {
        T::Elem::output(self.as_array_mut())
    }
}
