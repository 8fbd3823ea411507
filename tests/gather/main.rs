//! Gather: the specifications' examples, every form of call, every layout and
//! every length of row.

#[path = "../common/mod.rs"]
mod common;
mod examples;
mod forms;
mod layouts;
