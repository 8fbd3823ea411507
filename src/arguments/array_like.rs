//! The forms in which indices and updates may be given.

use ndarray::{ArrayBase, ArrayRef, ArrayView, ArrayView0, ArrayView1, Data, Dimension, Ix0, Ix1};

/// Whatever can be read as an array: `indices` and `updates`.
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
pub trait ArrayLike {
    /// The element type.
    type Elem;
    /// The dimension type.
    type Dim: Dimension;

    /// A view of the elements.
    fn view(&self) -> ArrayView<'_, Self::Elem, Self::Dim>;
}

impl<S: Data, D: Dimension> ArrayLike for ArrayBase<S, D> {
    type Elem = S::Elem;
    type Dim = D;

    #[inline]
    fn view(&self) -> ArrayView<'_, S::Elem, D> {
        ArrayRef::view(self)
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

impl<T> ArrayLike for [T] {
    type Elem = T;
    type Dim = Ix1;

    #[inline]
    fn view(&self) -> ArrayView1<'_, T> {
        ArrayView1::from(self)
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

impl<T> ArrayLike for Vec<T> {
    type Elem = T;
    type Dim = Ix1;

    #[inline]
    fn view(&self) -> ArrayView1<'_, T> {
        ArrayView1::from(self.as_slice())
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
    )*};
}
scalars!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64 bool char);
#[cfg(feature = "half")]
scalars!(half::f16 half::bf16);
#[cfg(feature = "num-complex")]
scalars!(num_complex::Complex<f32> num_complex::Complex<f64>);
