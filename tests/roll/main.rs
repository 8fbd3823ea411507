//! Roll: the specification's examples, every form of call and every layout.

#[path = "../common/mod.rs"]
mod common;
mod examples;
mod forms;
mod layouts;
