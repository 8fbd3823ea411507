//! The types that may be passed as indices and as updates.
//!
//! There are two traits with the same implementors. For indices the element type is an associated
//! type: it follows from the argument. For updates it is a parameter, the element type of the
//! target, so that `&1` is an update of a target of any numeric type.

use ndarray::{ArrayBase, ArrayRef, ArrayView, ArrayView0, ArrayView1, Data, Dimension, Ix0, Ix1};

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

impl<S: Data, D: Dimension> ArrayLike for ArrayBase<S, D> {
    type Elem = S::Elem;
    type Dim = D;

    #[inline]
    fn view(&self) -> ArrayView<'_, S::Elem, D> {
        ArrayRef::view(self)
    }
}

impl<S: Data, D: Dimension> Updates<S::Elem> for ArrayBase<S, D> {
    type Shape = D;

    #[inline]
    fn updates(&self) -> ArrayView<'_, S::Elem, D> {
        ArrayLike::view(self)
    }
}

impl<T, D: Dimension> ArrayLike for ArrayRef<T, D> {
    type Elem = T;
    type Dim = D;

    #[inline]
    fn view(&self) -> ArrayView<'_, T, D> {
        ArrayRef::view(self)
    }
}

impl<T, D: Dimension> Updates<T> for ArrayRef<T, D> {
    type Shape = D;

    #[inline]
    fn updates(&self) -> ArrayView<'_, T, D> {
        ArrayLike::view(self)
    }
}

impl<T> ArrayLike for [T] {
    type Elem = T;
    type Dim = Ix1;

    #[inline]
    fn view(&self) -> ArrayView1<'_, T> {
        ArrayView1::from(self)
    }
}

impl<T> Updates<T> for [T] {
    type Shape = Ix1;

    #[inline]
    fn updates(&self) -> ArrayView<'_, T, Ix1> {
        ArrayLike::view(self)
    }
}

impl<T, const N: usize> ArrayLike for [T; N] {
    type Elem = T;
    type Dim = Ix1;

    #[inline]
    fn view(&self) -> ArrayView1<'_, T> {
        ArrayView1::from(self.as_slice())
    }
}

impl<T, const N: usize> Updates<T> for [T; N] {
    type Shape = Ix1;

    #[inline]
    fn updates(&self) -> ArrayView<'_, T, Ix1> {
        ArrayLike::view(self)
    }
}

impl<T> ArrayLike for Vec<T> {
    type Elem = T;
    type Dim = Ix1;

    #[inline]
    fn view(&self) -> ArrayView1<'_, T> {
        ArrayView1::from(self.as_slice())
    }
}

impl<T> Updates<T> for Vec<T> {
    type Shape = Ix1;

    #[inline]
    fn updates(&self) -> ArrayView<'_, T, Ix1> {
        ArrayLike::view(self)
    }
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
    ($($scalar:ty)*) => {$(
        impl ArrayLike for $scalar {
            type Elem = $scalar;
            type Dim = Ix0;

            #[inline]
            fn view(&self) -> ArrayView0<'_, $scalar> {
                ndarray::aview0(self)
            }
        }
        impl Updates<$scalar> for $scalar {
            type Shape = Ix0;

            #[inline]
            fn updates(&self) -> ArrayView0<'_, $scalar> {
                ndarray::aview0(self)
            }
        }
    )*};
}
scalars!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64 bool char);
#[cfg(feature = "half")]
scalars!(half::f16 half::bf16);
#[cfg(feature = "num-complex")]
scalars!(num_complex::Complex<f32> num_complex::Complex<f64>);
