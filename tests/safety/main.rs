//! What callers may rely on whatever they pass: every bad input has its named
//! error, a refused call has written nothing, a panic in an element's clone
//! loses and leaks nothing, threads do not disturb each other, and little memory
//! does not end the process.

mod alignment;
mod atomic;
mod bad_inputs;
#[cfg(not(any(miri, target_family = "wasm")))]
mod child;
#[path = "../common/mod.rs"]
mod common;
mod forms;
#[cfg(all(target_pointer_width = "64", not(miri)))]
mod huge;
#[cfg(all(target_pointer_width = "32", not(miri)))]
mod large_on_32_bits;
mod long_axes;
#[cfg(not(miri))]
mod long_lists;
#[cfg(not(miri))]
mod long_rows;
#[cfg(all(target_os = "linux", not(miri)))]
mod memory_limits;
mod nan;
mod overflows;
mod panics;
#[cfg(all(target_os = "linux", feature = "rayon", not(miri)))]
mod refused_threads;
#[cfg(all(feature = "rayon", not(target_family = "wasm")))]
mod stolen_work;
mod threads;
