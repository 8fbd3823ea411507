//! The types that may be passed as indices and as updates.
//!
//! There are two traits with the same implementors. For indices the element type is an associated
//! type: it follows from the argument. For updates it is a parameter, the element type of the
//! target, so that `&1` is an update of a target of any numeric type.

use ndarray::{ArrayBase, ArrayRef, ArrayView, Data, Dimension, Ix0, Ix1};

/// A type that can be read as an array: `indices`, and the updates of a fold.
///
/// Implemented for slices, `[T; N]` and `Vec<T>` (one dimension), for
/// ndarray's arrays and views of any rank, for single primitive numbers, `bool`
/// and `char` (no dimension; with their features `half` and complex numbers),
/// and for references to all of these. A single value of any other type is
/// [`ndarray::arr0`]`(value)`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read as an array",
    label = "expected an array, a view, a slice, `[T; N]`, `Vec<T>` or a number",
    note = "a single value of any type is `ndarray::arr0(value)`"
)]
pub trait ArrayLike: Updates<<Self as ArrayLike>::Elem> {
    /// The element type.
    type Elem;
    /// The dimension type.
    type Dim: Dimension;

    /// A view of the elements.
    fn view(&self) -> ArrayView<'_, Self::Elem, Self::Dim>;
}

/// A type that can be read as updates of a target with elements of type `A`: every [`ArrayLike`]
/// with elements of that type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read as updates of elements of type `{A}`",
    label = "expected an array, a view, a slice, `[{A}; N]`, `Vec<{A}>`, or a number, `bool` or `char`",
    note = "a single value of any type is `ndarray::arr0(value)`, also in generic code"
)]
pub trait Updates<A> {
    /// The dimension type.
    type Shape: Dimension;

    /// A view of the updates.
    fn updates(&self) -> ArrayView<'_, A, Self::Shape>;
}

/// Implements both traits for types, given their generic parameters, elements, dimensions, and the
/// function that makes a view.
macro_rules! array_like {
    ($([$($generic:tt)*] $array:ty: $elem:ty, $dim:ty, $view:path;)*) => {$(
        impl<$($generic)*> ArrayLike for $array {
            type Elem = $elem;
            type Dim = $dim;

            #[inline]
            fn view(&self) -> ArrayView<'_, $elem, $dim> {
                $view(self)
            }
        }

        impl<$($generic)*> Updates<$elem> for $array {
            type Shape = $dim;

            #[inline]
            fn updates(&self) -> ArrayView<'_, $elem, $dim> {
                $view(self)
            }
        }
    )*};
}
array_like! {
    [S: Data, D: Dimension] ArrayBase<S, D>: S::Elem, D, ArrayRef::view;
    [T, D: Dimension] ArrayRef<T, D>: T, D, ArrayRef::view;
    [T] [T]: T, Ix1, ArrayView::from;
    [T, const N: usize] [T; N]: T, Ix1, ArrayView::from;
    [T] Vec<T>: T, Ix1, ArrayView::from;
}

impl<L: ArrayLike + ?Sized> ArrayLike for &L {
    type Elem = L::Elem;
    type Dim = L::Dim;

    #[inline]
    fn view(&self) -> ArrayView<'_, L::Elem, L::Dim> {
        (**self).view()
    }
}

impl<A, L: Updates<A> + ?Sized> Updates<A> for &L {
    type Shape = L::Shape;

    #[inline]
    fn updates(&self) -> ArrayView<'_, A, L::Shape> {
        (**self).updates()
    }
}

macro_rules! scalars {
    ($($scalar:ty)*) => {
        array_like! { $([] $scalar: $scalar, Ix0, ndarray::aview0;)* }
    };
}
scalars!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64 bool char);
#[cfg(feature = "half")]
scalars!(half::f16 half::bf16);
#[cfg(feature = "num-complex")]
scalars!(num_complex::Complex<f32> num_complex::Complex<f64>);
