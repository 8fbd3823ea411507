//! What callers may rely on whatever they pass: every bad input has its named
//! error, a refused call has written nothing, a panic in an element's clone
//! loses and leaks nothing, and threads do not disturb each other.

mod atomic;
mod bad_inputs;
#[path = "../common/mod.rs"]
mod common;
mod forms;
#[cfg(all(target_pointer_width = "64", not(miri)))]
mod huge;
mod panics;
mod threads;
