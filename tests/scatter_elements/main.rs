//! ScatterElements: the specification's examples, every form of call, every
//! layout, and every reduction of every element type.

mod beside;
#[path = "../common/mod.rs"]
mod common;
mod examples;
mod forms;
mod layouts;
mod means;
mod reductions;
mod singly;
