//! One test for every decision about what the operations return, in the
//! corners where specifications are silent or implementations differ. Each
//! tests the decision with the numbers that made it necessary.

#[path = "../common/mod.rs"]
mod common;
mod everywhere;
mod family;
mod gather;
mod plans;
mod roll;
mod scatter_elements;
