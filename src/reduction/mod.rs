//! Reductions: how updates combine with what their target holds.

mod arithmetic;
mod combining;
mod mean;

use std::any::TypeId;
use std::str::FromStr;
use std::{fmt, mem};

pub(crate) use arithmetic::Arithmetic;
pub(crate) use combining::{Combining, scatter_attributes};
pub(crate) use mean::{
    Divide, Running, Widened, floor_by, near, near_floor, short_floor, short_floor_by,
    wide_floor_by,
};

use crate::error::{Error, Result};
use crate::memory::Kernels;
use crate::sealed::Sealed;

/// How a scatter combines updates with what their target holds.
///
/// | reduction | integers | `f32`, `f64` | `f16`, `bf16` | `bool` | complex |
/// |---|---|---|---|---|---|
/// | `None` | the last update | the same | the same | the same | the same |
/// | `Sum` | wraps modulo 2^bits | in order | in `f32`, rounded once | OR | in order |
/// | `Sub` | wraps modulo 2^bits | in order | in `f32`, rounded once | XOR | in order |
/// | `Prod` | wraps modulo 2^bits | in order | in `f32`, rounded once | AND | in order |
/// | `Min`, `Max` | exact | NaN wins once it appears | as `f32` | AND, OR | error |
/// | `Mean` | floor of the exact quotient | sum / count | in `f32`, rounded once | error | sum / count |
///
/// "In order" is the row-major order of `indices`, starting from the value in
/// data, or from zero (`Sum`, `Sub`, `Mean`) or one (`Prod`) where
/// [`use_init_val`](crate::ScatterElements::use_init_val) is false. Of equal
/// values, `Min` and `Max` keep the earlier. `Mean` divides by the number of
/// updates, plus one where the value in data takes part.
///
/// Reductions parse from and print as the specification's strings; ONNX's
/// `"add"` and `"mul"` are read, too:
///
/// ```
/// use opkernels::Reduction;
///
/// assert_eq!("mean".parse(), Ok(Reduction::Mean));
/// assert_eq!(Reduction::None.to_string(), "none");
/// assert_eq!("mul".parse(), Ok(Reduction::Prod));
/// assert!("average".parse::<Reduction>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Reduction {
    /// Overwrite; the last update wins.
    #[default]
    None,
    /// Add.
    Sum,
    /// Subtract.
    Sub,
    /// Multiply.
    Prod,
    /// Keep the smallest.
    Min,
    /// Keep the largest.
    Max,
    /// The arithmetic mean.
    Mean,
}

impl Reduction {
    /// The name that the specification gives it.
    pub fn as_str(self) -> &'static str {
        match self {
            Reduction::None => "none",
            Reduction::Sum => "sum",
            Reduction::Sub => "sub",
            Reduction::Prod => "prod",
            Reduction::Min => "min",
            Reduction::Max => "max",
            Reduction::Mean => "mean",
        }
    }
}

impl fmt::Display for Reduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Reduction {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Ok(match text {
            "none" => Reduction::None,
            "sum" | "add" => Reduction::Sum,
            "sub" => Reduction::Sub,
            "prod" | "mul" => Reduction::Prod,
            "min" => Reduction::Min,
            "max" => Reduction::Max,
            "mean" => Reduction::Mean,
            _ => return Err(Error::UnknownReduction(text.to_owned())),
        })
    }
}

/// An element type that a scatter can reduce, for bounds in generic code: every
/// primitive number, `bool`, and with the features of those names
/// `half::{f16, bf16}` and `num_complex::Complex<f32>` and `Complex<f64>`.
///
/// Every scatter itself asks for [`Clone`] elements alone, since it may
/// overwrite; a reduction of other types than these is the error
/// [`UnsupportedReduction`](crate::Error::UnsupportedReduction). A fold, such as
/// [`scatter_fold`](crate::ScatterExt::scatter_fold), reduces any type.
#[diagnostic::on_unimplemented(
    message = "elements of type `{Self}` cannot be reduced",
    label = "expected a primitive number, `bool`, or with their features a `half` or complex number",
    note = "any type can be reduced by a function of its own: `scatter_fold` and its kin"
)]
pub trait ReduceElement: Copy + Send + Sync + Sealed + 'static {
    /// What is compiled once for each type.
    #[doc(hidden)]
    const KERNELS: Kernels;
}

/// The kernels of an element type, if reductions are defined for it.
///
/// A generic function cannot ask whether a type has a trait, so an overwrite of
/// any `Clone` elements and a reduction can be told by the same attributes only
/// if these types are known by name.
#[inline]
fn kernels<A>() -> Option<&'static Kernels> {
    macro_rules! any_of {
        ($($element:ty)*) => {$({
            // One for the whole program, compiled in this crate.
            static KERNELS: Kernels = <$element>::KERNELS;
            if typeid::of::<A>() == TypeId::of::<$element>() {
                return Some(&KERNELS);
            }
        })*};
    }
    if const { mem::needs_drop::<A>() } {
        return None;
    }
    any_of!(f32 f64 i32 i64 u32 u64 u8 i8 u16 i16 usize isize u128 i128 bool);
    #[cfg(feature = "half")]
    any_of!(half::f16 half::bf16);
    #[cfg(feature = "num-complex")]
    any_of!(num_complex::Complex<f32> num_complex::Complex<f64>);
    None
}

/// The kernels of a reduction of elements of type `A`; none to overwrite them.
#[inline]
pub(crate) fn of<A>(reduction: Reduction) -> Result<Option<&'static Kernels>> {
    if reduction == Reduction::None {
        return Ok(None);
    }
    match kernels::<A>() {
        Some(kernels) if kernels.supports(reduction) => Ok(Some(kernels)),
        _ => Err(Error::UnsupportedReduction { reduction, element: std::any::type_name::<A>() }),
    }
}
