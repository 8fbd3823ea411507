//! The forms in which attributes may be given.

use crate::sealed::Sealed;

/// What an operation with attributes of type `T` may be told: these attributes,
/// or an axis where that says enough.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say what `{T}` does",
    label = "expected `{T}`, or an axis where an operation has one"
)]
pub trait IntoAttributes<T>: Sealed {
    /// The attributes.
    #[doc(hidden)]
    fn into_attributes(self) -> T;
}

/// The attributes themselves, and with a constructor an axis for them.
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
