//! The only code that touches raw memory.
//!
//! Callers hand over ndarray views and a plan's loops. The constructors here
//! compare the loops' reach with the views' own, positions are checked where
//! they are made, and a result counts as filled only when every element of it
//! has been written. What else a block relies on, its SAFETY comment names.

mod advice;
pub(crate) mod gather;
mod lines;
pub(crate) mod output;
mod plain;
pub(crate) mod positions;
pub(crate) mod roll;
pub(crate) mod roll_inplace;
mod rows;
mod run;
pub(crate) mod scatter;
pub(crate) mod scatter_wide;
mod shuffle;
mod span;
mod stage;
mod take;

pub(crate) use output::Output;
pub(crate) use take::{Borrowed, Cloned, Take};
