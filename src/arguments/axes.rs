//! The types that may be passed as axes, shifts and numbers of batch dimensions.

use std::borrow::Cow;
use std::iter;

use ndarray::{ArrayBase, Axis, Data, Dimension};

use crate::error::{Error, Result};
use crate::memory::reserved;
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
    /// The axes in their order.
    #[doc(hidden)]
    fn axis_list(&self) -> Result<impl ExactSizeIterator<Item = i128>>;
}

/// One shift or a list of shifts: a signed integer, or an array, slice or
/// `Vec` of them, ndarray's arrays of any rank included (in row-major order).
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name shifts",
    label = "expected a signed integer, or an array, slice or `Vec` of them",
    note = "cast a `usize` by `as i64`"
)]
pub trait IntoShifts {
    /// The shifts in their order.
    #[doc(hidden)]
    fn shift_list(&self) -> Result<impl ExactSizeIterator<Item = i64>>;
}

/// The elements of a list in row-major order.
fn elements<X: Copy, S, D>(list: &ArrayBase<S, D>) -> Result<Cow<'_, [X]>>
where
    S: Data<Elem = X>,
    D: Dimension,
{
    if let Some(elements) = list.as_slice() {
        return Ok(Cow::Borrowed(elements));
    }
    let mut elements = reserved(list.len())?;
    // ndarray's iterator passes all axes in each step.
    let longer: Vec<usize> = list.shape().iter().copied().filter(|&len| len != 1).collect();
    match list.to_shape(longer) {
        Ok(list) => elements.extend(list.iter()),
        Err(_) => elements.extend(list.iter()),
    }
    Ok(Cow::Owned(elements))
}

macro_rules! one_or_list {
    ($list:ident, $listed:ident: $item:ident, $method:ident -> $value:ty, for $($one:ty)*) => {
        $(impl $list for $one {
            #[inline]
            fn $listed(&self) -> Result<impl ExactSizeIterator<Item = $value>> {
                Ok(iter::once((*self).$method()))
            }
        })*
        one_or_list!(@slice [X: $item] [X]: $list, $listed, $method -> $value);
        one_or_list!(@slice [X: $item, const N: usize] [X; N]: $list, $listed, $method -> $value);
        one_or_list!(@slice [X: $item] Vec<X>: $list, $listed, $method -> $value);
        impl<X: $item, S: Data<Elem = X>, D: Dimension> $list for ArrayBase<S, D> {
            fn $listed(&self) -> Result<impl ExactSizeIterator<Item = $value>> {
                let items = elements(self)?;
                Ok((0..items.len()).map(move |position| items[position].$method()))
            }
        }
        impl<L: $list + ?Sized> $list for &L {
            #[inline]
            fn $listed(&self) -> Result<impl ExactSizeIterator<Item = $value>> {
                (**self).$listed()
            }
        }
    };
    (@slice [$($generic:tt)*] $of:ty: $list:ident, $listed:ident, $method:ident -> $value:ty) => {
        impl<$($generic)*> $list for $of {
            #[inline]
            fn $listed(&self) -> Result<impl ExactSizeIterator<Item = $value>> {
                Ok(self.iter().map(|item| item.$method()))
            }
        }
    };
}
one_or_list!(IntoAxes, axis_list: IntoAxis, signed -> i128, for Axis i32 i64 isize usize);
one_or_list!(IntoShifts, shift_list: SignedInteger, in_64_bits -> i64, for i32 i64 isize);
