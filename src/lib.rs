//! Gather, roll and scatter-elements for [`ndarray`].
#![cfg_attr(docsrs, feature(doc_cfg))]

mod args;
mod array;
mod error;
mod gather;
mod geometry;
mod indices;
mod memory;
mod out_of_bounds;
mod parallel;
mod reduce;
mod roll;
mod scatter_elements;

pub use args::{ArrayLike, IndexInteger, IntoAxes, IntoAxis, IntoShifts, SignedInteger};
pub use array::{AsArrayMut, AsArrayRef};
pub use error::{Error, Result};
pub use gather::{Gather, GatherExt};
pub use ndarray;
pub use out_of_bounds::OutOfBounds;
pub use reduce::{ReduceElement, Reduction};
pub use roll::RollExt;
pub use scatter_elements::{ScatterArgument, ScatterElements, ScatterElementsExt};
