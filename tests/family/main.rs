//! The whole family through its public calls: ONNX's own tests, the examples
//! of the specifications and libraries, and every form of call.

mod columns;
#[path = "../common/mod.rs"]
mod common;
mod examples;
mod folds;
mod forms;
mod formulas;
mod gaps;
mod narrow;
mod nothing;
mod onnx;
mod packed;
mod panels;
mod repeats;
mod rows_apart;
mod runs;
mod sorted;
mod stepped;
#[cfg(feature = "rayon")]
mod threads;
