//! The types that may be passed as attributes.

use crate::sealed::Sealed;

/// A type that can be passed as the attributes `T` of an operation: `T` itself, or an axis, if the
/// operation needs nothing else.
#[diagnostic::on_unimplemented(
    message = "expected attributes `{T}`, found `{Self}`",
    label = "expected `{T}`, or an axis where the operation has one",
    note = "a value to fill with has the type of the data's elements: `Fill(0.0)` for floats"
)]
pub trait IntoAttributes<T>: Sealed {
    /// The attributes.
    #[doc(hidden)]
    fn into_attributes(self) -> T;
}

/// Implements [`IntoAttributes`] for the attributes themselves, and, where the name of a
/// constructor is passed, for axes, by that constructor.
macro_rules! into_attributes {
    ($attributes:ident $(<$element:ident>)? $(, $along:ident)?) => {
        impl $(<$element>)? $crate::sealed::Sealed for $attributes $(<$element>)? {}

        impl $(<$element>)? $crate::arguments::IntoAttributes<Self> for $attributes $(<$element>)? {
            #[inline]
            fn into_attributes(self) -> Self {
                self
            }
        }

        $crate::arguments::into_attributes!(@axis [$($element)?] $attributes $(, $along)?);
    };
    (@axis [$($element:ident)?] $attributes:ident) => {};
    (@axis [$($element:ident)?] $attributes:ident, $along:ident) => {
        impl<$($element,)? X: $crate::IntoAxis>
            $crate::arguments::IntoAttributes<$attributes $(<$element>)?> for X
        {
            #[inline]
            fn into_attributes(self) -> $attributes $(<$element>)? {
                $attributes::$along(self)
            }
        }
    };
}
pub(crate) use into_attributes;
