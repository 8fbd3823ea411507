//! Reductions: how a scatter combines updates with what their target holds.

mod arithmetic;
mod combining;
mod mean;

use std::any::TypeId;
use std::str::FromStr;
use std::{fmt, mem};

pub(crate) use arithmetic::Arithmetic;
pub(crate) use combining::{Combining, scatter_attributes};
pub(crate) use mean::{
    Divide, Running, Widened, fits_i52, floor_div_i20, floor_div_i52, floor_recip_i32,
    floor_recip_u16, floor_recip_u48,
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
/// "In order" means that updates are accumulated in the row-major order of
/// `indices`, starting from the value that the target holds; or, where
/// [`use_init_val`](crate::ScatterElements::use_init_val) is false, from zero
/// (`Sum`, `Sub`, `Mean`), one (`Prod`) or the first update (`Min`, `Max`); `None`
/// ignores it. Of equal values, `Min` and `Max` keep
/// the earlier. `Mean` divides by the number of updates, plus one where the value
/// that the target holds takes part.
///
/// Reductions parse from and print as the names in the specifications; ONNX's
/// `"add"` and `"mul"` parse, too:
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
    /// Overwrites the target; the last update wins.
    #[default]
    None,
    /// Adds updates to the target.
    Sum,
    /// Subtracts updates from the target.
    Sub,
    /// Multiplies the target by updates.
    Prod,
    /// Keeps the smallest of the target and its updates.
    Min,
    /// Keeps the largest of the target and its updates.
    Max,
    /// Takes the arithmetic mean of the target and its updates.
    Mean,
}

impl Reduction {
    /// The name of the reduction in the specifications: `"none"`, `"sum"`, `"sub"`,
    /// `"prod"`, `"min"`, `"max"` or `"mean"`.
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
/// primitive number, `bool`, `half::f16` and `half::bf16` with the feature `half`,
/// `num_complex::Complex<f32>` and `Complex<f64>` with the feature `num-complex`.
///
/// The scatters themselves require only [`Clone`] elements, since they may
/// overwrite. A reduction of elements of another type returns the error
/// [`UnsupportedReduction`](crate::Error::UnsupportedReduction). A fold, such as
/// [`scatter_fold`](crate::ScatterExt::scatter_fold), reduces elements of any type.
#[diagnostic::on_unimplemented(
    message = "elements of type `{Self}` cannot be reduced",
    label = "expected a primitive number, `bool`, or with their features a `half` or complex number",
    note = "any type can be reduced by a function of its own: `scatter_fold` and the other folds"
)]
pub trait ReduceElement: Copy + Send + Sync + Sealed + 'static {
    /// The kernels of the type, which are compiled once.
    #[doc(hidden)]
    const KERNELS: Kernels;
}

/// The kernels of an element type, if reductions are defined for it.
///
/// The attributes of a scatter decide at run time whether it overwrites, elements of any `Clone`
/// type, or reduces. A generic function cannot test whether its type implements [`ReduceElement`],
/// so the types that do are listed here.
#[inline]
fn kernels<A>() -> Option<&'static Kernels> {
    macro_rules! any_of {
        ($($element:ty)*) => {$({
            // One static for the whole program, so that the kernels are compiled in this crate.
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

/// The kernels for a reduction of elements of type `A`; none for [`Reduction::None`], which
/// overwrites them.
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
