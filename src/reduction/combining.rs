//! The attributes that all scatters share.

use super::Reduction;
use crate::index::OutOfBounds;

/// The attributes that all scatters share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Combining {
    pub(crate) reduction: Reduction,
    pub(crate) use_init_val: bool,
    pub(crate) out_of_bounds: OutOfBounds,
}

impl Combining {
    /// Updates overwrite; an index out of bounds is an error.
    pub(crate) const OVERWRITE: Self = Combining {
        reduction: Reduction::None,
        use_init_val: true,
        out_of_bounds: OutOfBounds::Error,
    };
}

/// The methods that the attributes of all scatters share: for a type with a field `combining`, and
/// the constructor `$start`, which takes an axis if one is named.
macro_rules! scatter_attributes {
    ($attributes:ident::$start:ident($($axis:ident: $into_axis:ty)?)) => {
        impl $attributes {
            $crate::reduction::scatter_attributes!(@short $start($($axis: $into_axis)?)
                sum Sum "Adds updates to their targets.");
            $crate::reduction::scatter_attributes!(@short $start($($axis: $into_axis)?)
                sub Sub "Subtracts updates from their targets.");
            $crate::reduction::scatter_attributes!(@short $start($($axis: $into_axis)?)
                prod Prod "Multiplies targets by their updates.");
            $crate::reduction::scatter_attributes!(@short $start($($axis: $into_axis)?)
                min Min "Keeps the smallest of targets and their updates.");
            $crate::reduction::scatter_attributes!(@short $start($($axis: $into_axis)?)
                max Max "Keeps the largest of targets and their updates.");
            $crate::reduction::scatter_attributes!(@short $start($($axis: $into_axis)?)
                mean Mean "Takes the mean of targets and their updates.");

            /// Sets how updates combine with what their target holds. By
            /// default, [`Reduction::None`](crate::Reduction::None), they
            /// overwrite it, for elements of any type that is [`Clone`].
            ///
            /// [`Reduction`](crate::Reduction) lists the other reductions and
            /// the element types that have them. For elements of other types
            /// the scatter returns
            /// [`UnsupportedReduction`](crate::Error::UnsupportedReduction).
            /// A fold calls its function instead, and ignores this.
            #[inline]
            pub fn reduction(mut self, reduction: $crate::Reduction) -> Self {
                self.combining.reduction = reduction;
                self
            }

            /// Sets whether the value that a target holds before takes part in
            /// its reduction. `true` by default. With `false`, elements that
            /// some index selects are reduced from their updates alone; all
            /// others keep their value. An overwrite and a fold ignore this.
            #[inline]
            pub fn use_init_val(mut self, use_init_val: bool) -> Self {
                self.combining.use_init_val = use_init_val;
                self
            }

            /// Sets what to do with an index outside `-len..=len - 1`.
            /// [`OutOfBounds::Error`](crate::OutOfBounds::Error) by default.
            #[inline]
            pub fn out_of_bounds(mut self, mode: $crate::OutOfBounds) -> Self {
                self.combining.out_of_bounds = mode;
                self
            }
        }
    };
    (@short $start:ident($($axis:ident: $into_axis:ty)?) $name:ident $reduction:ident $doc:literal) => {
        #[doc = $doc]
        ///
        #[doc = concat!(
            "Short for `", stringify!($start), "(", $(stringify!($axis),)? ").reduction(Reduction::",
            stringify!($reduction), ")`."
        )]
        #[inline]
        pub fn $name($($axis: $into_axis)?) -> Self {
            Self::$start($($axis)?).reduction($crate::Reduction::$reduction)
        }
    };
}
pub(crate) use scatter_attributes;
