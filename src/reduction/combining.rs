//! What all scatters may be told.

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

/// The methods that the attributes of all scatters share, for a type with a
/// field `combining` and the constructor that is named.
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

            /// How updates combine with what their target holds.
            /// [`Reduction::None`](crate::Reduction::None) by default: they
            /// overwrite it, which elements of any [`Clone`] type can be. What
            /// else there is for which types stands at
            /// [`Reduction`](crate::Reduction); of other types it is refused
            /// by [`UnsupportedReduction`](crate::Error::UnsupportedReduction)
            /// when the scatter is called. A fold has its function instead,
            /// and ignores this.
            #[inline]
            pub fn reduction(mut self, reduction: $crate::Reduction) -> Self {
                self.combining.reduction = reduction;
                self
            }

            /// Whether the value that a target had before takes part in its
            /// reduction. `true` by default. With `false`, elements that some
            /// index touches lose their old value, all others keep it. An
            /// overwrite and a fold are unaffected.
            #[inline]
            pub fn use_init_val(mut self, use_init_val: bool) -> Self {
                self.combining.use_init_val = use_init_val;
                self
            }

            /// What to do with an index outside `-len..=len - 1`.
            /// [`OutOfBounds::Error`](crate::OutOfBounds::Error) by default.
            #[inline]
            pub fn out_of_bounds(mut self, mode: $crate::OutOfBounds) -> Self {
                self.combining.out_of_bounds = mode;
                self
            }
        }
    };
    (@short $start:ident($($axis:ident: $into_axis:ty)?) $name:ident $reduction:ident $what:literal) => {
        #[doc = $what]
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
