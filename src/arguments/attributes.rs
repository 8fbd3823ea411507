//! The types that may be passed as attributes.

use crate::sealed::Sealed;

/// A type that can be passed as the attributes `T` of an operation: `T` itself, or an axis, if the
/// operation needs nothing else.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say what `{T}` does",
    label = "expected `{T}`, or an axis where an operation has one"
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
