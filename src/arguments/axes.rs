//! The types that may be passed as axes, shifts and numbers of batch dimensions.

use ndarray::{ArrayBase, Axis, Data, Dimension};

use crate::error::{Error, Result};
use crate::sealed::Sealed;

/// An axis: ndarray's [`Axis`], a signed integer, where a negative one counts
/// from the end (`-1` is the last axis), or `usize`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name an axis",
    label = "expected `Axis(n)`, `usize` or a signed integer (`i32`, `i64`, `isize`)"
)]
pub trait IntoAxis: Copy + Sealed {
    /// The axis as a signed number, not yet checked against a rank.
    #[doc(hidden)]
    fn signed(self) -> i128;
}

impl IntoAxis for Axis {
    #[inline]
    fn signed(self) -> i128 {
        self.0 as i128
    }
}

impl IntoAxis for usize {
    #[inline]
    fn signed(self) -> i128 {
        self as i128
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

/// A signed integer argument: a shift.
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

/// A number of batch dimensions: a signed integer, where a negative one adds the
/// rank of the indices, or `usize`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number of batch dimensions",
    label = "expected `usize`, `i32`, `i64` or `isize`"
)]
pub trait IntoBatchDims: Copy + Sealed {
    /// The number, not yet checked against a rank.
    #[doc(hidden)]
    fn signed_count(self) -> i128;
}

impl<X: SignedInteger> IntoBatchDims for X {
    #[inline]
    fn signed_count(self) -> i128 {
        self.in_64_bits().into()
    }
}

impl IntoBatchDims for usize {
    #[inline]
    fn signed_count(self) -> i128 {
        self as i128
    }
}

/// The axis counted from the front; an error where it is out of bounds.
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
    /// The number of axes.
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
    /// The number of shifts.
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
        one_or_list!(@list [X: $item] [X]: $list, $method -> $value);
        one_or_list!(@list [X: $item, const N: usize] [X; N]: $list, $method -> $value);
        one_or_list!(@list [X: $item] Vec<X>: $list, $method -> $value);
        impl<X: $item, S: Data<Elem = X>, D: Dimension> $list for ArrayBase<S, D> {
            #[inline]
            fn count(&self) -> usize {
                self.len()
            }
            fn nth(&self, position: usize) -> $value {
                // `iter().nth(position)` would take O(position) in strided memory. The
                // coordinates are computed in the place of the lengths.
                let mut coordinates = self.raw_dim();
                let mut rest = position;
                for len in coordinates.slice_mut().iter_mut().rev() {
                    (rest, *len) = (rest / *len, rest % *len);
                }
                self[coordinates].$method()
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
    (@list [$($generic:tt)*] $of:ty: $list:ident, $method:ident -> $value:ty) => {
        impl<$($generic)*> $list for $of {
            #[inline]
            fn count(&self) -> usize {
                self.len()
            }
            #[inline]
            fn nth(&self, position: usize) -> $value {
                self[position].$method()
            }
        }
    };
}
one_or_list!(IntoAxes: IntoAxis, signed -> i128, for Axis i32 i64 isize usize);
one_or_list!(IntoShifts: SignedInteger, in_64_bits -> i64, for i32 i64 isize);
