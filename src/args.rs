//! The forms in which axes, shifts, indices and updates may be given.

use ndarray::{
    ArrayBase, ArrayRef, ArrayView, ArrayView0, ArrayView1, Axis, Data, Dimension, Ix0, Ix1,
};

use crate::error::{Error, Result};

pub(crate) mod sealed {
    pub trait Sealed {}
}
use sealed::Sealed;

/// An axis: ndarray's [`Axis`] or a signed integer, where a negative one
/// counts from the end (`-1` is the last axis).
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name an axis",
    label = "expected `Axis(n)` or a signed integer (`i32`, `i64`, `isize`)",
    note = "wrap a `usize` as `ndarray::Axis(n)`"
)]
pub trait IntoAxis: Copy + Sealed {
    /// The axis as a signed number, not yet compared with any rank.
    #[doc(hidden)]
    fn signed(self) -> i128;
}

impl Sealed for Axis {}
impl IntoAxis for Axis {
    #[inline]
    fn signed(self) -> i128 {
        self.0 as i128
    }
}

macro_rules! signed_arguments {
    ($($int:ty)*) => {$(
        impl IntoAxis for $int {
            #[inline]
            fn signed(self) -> i128 {
                i128::from(self as i64)
            }
        }
        impl SignedInteger for $int {
            #[inline]
            fn in_64_bits(self) -> i64 {
                self as i64
            }
        }
    )*};
}
signed_arguments!(i32 i64 isize);

/// A signed integer argument: a shift, or a number of batch dimensions.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a signed integer argument",
    label = "expected `i32`, `i64` or `isize`",
    note = "cast a `usize` by `as i64`"
)]
pub trait SignedInteger: Copy + Sealed {
    /// The value.
    #[doc(hidden)]
    fn in_64_bits(self) -> i64;
}

/// The axis counted from the front.
#[inline]
pub(crate) fn resolve_axis(axis: i128, rank: usize) -> Result<usize> {
    let from_front = if axis < 0 { axis + rank as i128 } else { axis };
    if (0..rank as i128).contains(&from_front) {
        Ok(from_front as usize)
    } else {
        Err(Error::AxisOutOfBounds { axis, rank })
    }
}

/// One axis or a list of axes: an [`IntoAxis`], or an array, slice or `Vec`
/// of them, ndarray's arrays of any rank included (in row-major order).
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name axes",
    label = "expected an axis, or an array, slice or `Vec` of axes"
)]
pub trait IntoAxes {
    /// How many axes are listed.
    #[doc(hidden)]
    fn count(&self) -> usize;
    /// The axis at `position` of the list.
    #[doc(hidden)]
    fn nth(&self, position: usize) -> i128;
}

/// One shift or a list of shifts: a signed integer, or an array, slice or
/// `Vec` of them, ndarray's arrays of any rank included (in row-major order).
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name shifts",
    label = "expected a signed integer, or an array, slice or `Vec` of them",
    note = "cast a `usize` by `as i64`"
)]
pub trait IntoShifts {
    /// How many shifts are listed.
    #[doc(hidden)]
    fn count(&self) -> usize;
    /// The shift at `position` of the list.
    #[doc(hidden)]
    fn nth(&self, position: usize) -> i64;
}

macro_rules! one_or_list {
    ($list:ident: $item:ident, $method:ident -> $value:ty, for $($one:ty)*) => {
        $(impl $list for $one {
            #[inline]
            fn count(&self) -> usize {
                1
            }
            #[inline]
            fn nth(&self, _position: usize) -> $value {
                (*self).$method()
            }
        })*
        impl<X: $item> $list for [X] {
            #[inline]
            fn count(&self) -> usize {
                self.len()
            }
            #[inline]
            fn nth(&self, position: usize) -> $value {
                self[position].$method()
            }
        }
        impl<X: $item, const N: usize> $list for [X; N] {
            #[inline]
            fn count(&self) -> usize {
                N
            }
            #[inline]
            fn nth(&self, position: usize) -> $value {
                self[position].$method()
            }
        }
        impl<X: $item> $list for Vec<X> {
            #[inline]
            fn count(&self) -> usize {
                self.len()
            }
            #[inline]
            fn nth(&self, position: usize) -> $value {
                self[position].$method()
            }
        }
        impl<X: $item, S: Data<Elem = X>, D: Dimension> $list for ArrayBase<S, D> {
            #[inline]
            fn count(&self) -> usize {
                self.len()
            }
            fn nth(&self, position: usize) -> $value {
                // An iterator over strided memory would walk there.
                let mut place = self.raw_dim();
                let mut rest = position;
                for len in place.slice_mut().iter_mut().rev() {
                    (rest, *len) = (rest / *len, rest % *len);
                }
                self[place].$method()
            }
        }
        impl<L: $list + ?Sized> $list for &L {
            #[inline]
            fn count(&self) -> usize {
                (**self).count()
            }
            #[inline]
            fn nth(&self, position: usize) -> $value {
                (**self).nth(position)
            }
        }
    };
}
one_or_list!(IntoAxes: IntoAxis, signed -> i128, for Axis i32 i64 isize);
one_or_list!(IntoShifts: SignedInteger, in_64_bits -> i64, for i32 i64 isize);

/// Whatever can be read as an array: `indices` and `updates`.
///
/// Implemented for slices, `[T; N]` and `Vec<T>` (one dimension), for
/// ndarray's arrays and views of any rank, for single index integers (no
/// dimension), and for references to all of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read as an array",
    label = "expected an array, a view, a slice, `[T; N]`, `Vec<T>` or an integer",
    note = "one value for all places is a view without copies: `ndarray::arr0(value).broadcast(shape)`"
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

/// An integer that may stand in `indices`.
///
/// Implemented for `i8`, `i16`, `i32`, `i64`, `isize`, `u8`, `u16`, `u32`,
/// `u64` and `usize`. Sealed: indices are checked once and then trusted, so
/// nobody else may answer what an index is.
#[diagnostic::on_unimplemented(
    message = "indices must be integers, not `{Self}`",
    label = "expected indices of an integer type (i8 to i64, isize, u8 to u64, usize)",
    note = "indices of several dimensions are arrays: `ndarray::array![[0, 1], [2, 3]]`"
)]
pub trait IndexInteger: num_traits::PrimInt + Send + Sync + Sealed + 'static {
    /// The position from the front that a value in `-len..=len - 1` means;
    /// some number `>= len` for every other value.
    #[doc(hidden)]
    fn position(self, len: usize) -> u64;
    /// Whether the value is in `-len..=len - 1`, or for unsigned types below
    /// `len`, in fewer instructions than its position takes.
    #[doc(hidden)]
    fn is_inside(self, len: usize) -> bool;
    /// The nearest position of an axis of length `len > 0`.
    #[doc(hidden)]
    fn clip(self, len: usize) -> usize;
    /// The value modulo `len > 0`.
    #[doc(hidden)]
    fn wrap(self, len: usize) -> usize;
    /// The full value, for messages.
    #[doc(hidden)]
    fn value(self) -> i128 {
        // Every index type fits in an i128.
        self.to_i128().unwrap_or_default()
    }
}

macro_rules! scalar_indices {
    ($($int:ty)*) => {$(
        impl Sealed for $int {}
        impl ArrayLike for $int {
            type Elem = $int;
            type Dim = Ix0;

            #[inline]
            fn view(&self) -> ArrayView0<'_, $int> {
                ndarray::aview0(self)
            }
        }
    )*};
}
scalar_indices!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

macro_rules! signed_indices {
    ($($int:ty)*) => {$(
        impl IndexInteger for $int {
            #[inline(always)]
            fn position(self, len: usize) -> u64 {
                // An array is never longer than `isize::MAX`, so `len` fits
                // in i64, and a negative value plus `len` cannot overflow. A
                // sum that stays negative turns into a number past any length.
                let value = self as i64;
                (if value < 0 { value + len as i64 } else { value }) as u64
            }
            #[inline(always)]
            fn is_inside(self, len: usize) -> bool {
                // Values below `-len` stay negative and those from `len` on
                // reach `2 * len`, which fits in u64.
                ((self as i64).wrapping_add(len as i64) as u64) < 2 * len as u64
            }
            #[inline(always)]
            fn clip(self, len: usize) -> usize {
                let value = self as i64;
                let from_front = if value < 0 { value + len as i64 } else { value };
                from_front.clamp(0, len as i64 - 1) as usize
            }
            #[inline(always)]
            fn wrap(self, len: usize) -> usize {
                (self as i64).rem_euclid(len as i64) as usize
            }
        }
    )*};
}
signed_indices!(i8 i16 i32 i64 isize);

macro_rules! unsigned_indices {
    ($($int:ty)*) => {$(
        impl IndexInteger for $int {
            #[inline(always)]
            fn position(self, _len: usize) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn is_inside(self, len: usize) -> bool {
                (self as u64) < len as u64
            }
            #[inline(always)]
            fn clip(self, len: usize) -> usize {
                (self as u64).min(len as u64 - 1) as usize
            }
            #[inline(always)]
            fn wrap(self, len: usize) -> usize {
                (self as u64 % len as u64) as usize
            }
        }
    )*};
}
unsigned_indices!(u8 u16 u32 u64 usize);
