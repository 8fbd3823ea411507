//! Gather, scatter and roll for [`ndarray`]: the data movement that ndarray
//! lacks, with the exact semantics of the ONNX and OpenVINO operators.
//!
//! | to | call | specification |
//! |---|---|---|
//! | take slices along an axis by index | [`gather`](GatherExt::gather) | ONNX Gather 13, 11, 1; OpenVINO Gather-8 |
//! | take one element for each index, along an axis | [`gather_elements`](GatherElementsExt::gather_elements) | ONNX GatherElements 13; OpenVINO GatherElements-6 |
//! | take elements or slices by tuples of indices | [`gather_nd`](GatherNdExt::gather_nd) | ONNX GatherND 13; OpenVINO GatherND-8 |
//! | write or reduce slices along an axis at indices | [`scatter`](ScatterExt::scatter) | OpenVINO ScatterUpdate-3 |
//! | write or reduce one element for each index, along an axis | [`scatter_elements`](ScatterElementsExt::scatter_elements) | ONNX ScatterElements 18; OpenVINO ScatterElementsUpdate-12 |
//! | write or reduce elements or slices at tuples of indices | [`scatter_nd`](ScatterNdExt::scatter_nd) | ONNX ScatterND 18; OpenVINO ScatterNDUpdate-15 |
//! | shift elements circularly along any axes | [`roll`](RollExt::roll) | OpenVINO Roll-7 |
//!
//! Each gather is the other direction of the scatter of the same kind of index,
//! and a scatter that sums is the gradient of its gather. All have the same
//! forms:
//!
//! | form | of | what it does |
//! |---|---|---|
//! | `gather(&indices, axis)` | all | returns a new array; an index out of bounds is an error, a scatter overwrites |
//! | `gather_with(&indices, attributes)` | gathers and scatters | the same with [`Gather`], [`GatherElements`], [`GatherNd`], [`Scatter`], [`ScatterElements`] or [`ScatterNd`]: batch dimensions, reductions, indices out of bounds |
//! | `gather_into(&indices, attributes, &mut out)` | gathers and roll | writes to an array of the caller's, initialised or, as [`Uninit`], not |
//! | `scatter_inplace(&indices, &updates, attributes)` | scatters and roll | changes the array itself |
//! | `scatter_fold(&indices, &updates, attributes, f)` | scatters | changes elements of any type by a function |
//!
//! ```text
//! gather along axis 0       roll by 1 along axis 0     scatter sum along axis 0
//!
//! data      indices         data       output          indices updates  output
//! 0 [a b]   [2, 0, -1]      0 [a b]    [e f]           [1, 0, 1]        0 [q]
//! 1 [c d]       |           1 [c d] -> [a b]            |  |  |         1 [p + r]
//! 2 [e f]       v           2 [e f]    [c d]            p  q  r         2 [  ]
//!        output [e f]
//!               [a b]
//!               [e f]
//! ```
//!
//! # A first example
//!
//! ```
//! use ndarray::{Axis, array};
//! use opkernels::*;
//!
//! // Embeddings of three tokens.
//! let table = array![[0.1, 0.2], [1.1, 1.2], [2.1, 2.2]];
//! let tokens = table.gather(&[2, 0, 2], Axis(0))?;
//! assert_eq!(tokens, array![[2.1, 2.2], [0.1, 0.2], [2.1, 2.2]]);
//!
//! // A periodic difference.
//! let field = array![1.0, 4.0, 9.0, 16.0];
//! let difference = field.roll(-1, 0)? - &field;
//! assert_eq!(difference, array![3.0, 5.0, 7.0, -15.0]);
//!
//! // A histogram.
//! let mut counts = array![0, 0, 0];
//! counts.scatter_inplace(&[0, 2, 2, 1, 2], &1, Scatter::sum(0))?;
//! assert_eq!(counts, array![1, 1, 3]);
//! # Ok::<(), opkernels::Error>(())
//! ```
//!
//! # What can be passed
//!
//! The traits are implemented for every array and view of ndarray, of static
//! and dynamic rank and of any strides; inputs are read in place, never copied
//! to standard layout first. An axis is an [`Axis`](ndarray::Axis) or a signed
//! integer, where negative ones count from the end. Indices are slices,
//! `[I; N]`, `Vec<I>`, arrays, views or single integers of any integer type;
//! negative ones count from the end of the axis. Updates come in the same forms;
//! a single value, `&1` or `&ndarray::arr0(value)`, stands for all of them.
//! Where an axis alone says enough, every form takes one instead of attributes.
//!
//! # Guides
//!
//! [`guide::coming_from`] lays the calls of NumPy, PyTorch, JAX, ONNX and
//! OpenVINO beside those of this crate, and [`guide::cookbook`] has recipes:
//! reordering, one-hot rows, segment means, embedding bags, neighbours in
//! graphs, centred spectra, periodic differences, shifted windows, gradients.
//!
//! # Messages to a graph's nodes
//!
//! ```
//! use ndarray::{Array2, array};
//! use opkernels::*;
//!
//! let features = array![[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]];
//! let (from, to) = (array![0, 1, 2, 2], array![1, 2, 1, 0]);
//!
//! let messages = features.gather(&from, 0)?;
//! let mut received = Array2::zeros((3, 2));
//! received.scatter_inplace(&to, &messages, Scatter::mean(0).use_init_val(false))?;
//! assert_eq!(received, array![[3.0, 30.0], [2.0, 20.0], [2.0, 20.0]]);
//! # Ok::<(), opkernels::Error>(())
//! ```
//!
//! # Errors
//!
//! Everything returns a [`Result`], and nothing panics on bad input. An
//! operation that fails has written nothing: the target of an in-place call
//! and the `out` of an `_into` call hold what they held before. The
//! [`Error`] names the value, its place and the allowed range.
//!
//! # Determinism and threads
//!
//! Large calls run on the current rayon thread pool. Results are the same to
//! the bit for every number of threads, memory layout and run: updates of a
//! scatter apply in row-major order of `indices`, so floating-point sums do
//! too. Without the feature `rayon` everything runs on the calling thread.
//!
//! # Features
//!
//! - `rayon` (default): run large calls on several threads.
//! - `half`: reductions on `half::f16` and `half::bf16`.
//! - `num-complex`: reductions on `num_complex::Complex`.
//!
//! Gathers, rolls and overwriting scatters take elements of any [`Clone`]
//! type without a feature.
//!
//! # Limitations
//!
//! - A scatter along the only axis of a one-dimensional array runs on one
//!   thread: splitting it costs more than it gains.
//! - Elements that need dropping (`String`, `Vec`) are gathered and rolled by
//!   way of an array of references, 8 bytes an element.
//! - A clone that panics halfway through an `_into` or in-place call leaves
//!   some elements of the target new and some old, all valid.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod arguments;
mod error;
mod family;
mod gather;
mod gather_elements;
mod gather_nd;
mod index;
mod memory;
mod parallel;
mod reduction;
mod roll;
mod scatter;
mod scatter_elements;
mod scatter_nd;
mod sealed;

pub use arguments::{
    ArrayLike, AsArrayMut, AsArrayRef, IntoAttributes, IntoAxes, IntoAxis, IntoBatchDims,
    IntoShifts, OutputArray, SignedInteger, Updates,
};
pub use error::{Error, Result};
pub use gather::{Gather, GatherArgument, GatherExt, Gathered};
pub use gather_elements::{GatherElements, GatherElementsExt};
pub use gather_nd::{GatherNd, GatherNdExt};
pub use index::{IndexInteger, OutOfBounds};
pub use ndarray;
pub use reduction::{ReduceElement, Reduction};
pub use roll::RollExt;
pub use scatter::{Scatter, ScatterExt};
pub use scatter_elements::{ScatterArgument, ScatterElements, ScatterElementsExt};
pub use scatter_nd::{ScatterNd, ScatterNdExt};

/// How to do common things, and what other libraries call them.
#[cfg(any(doc, doctest))]
pub mod guide {
    #[doc = include_str!("../docs/coming-from.md")]
    pub mod coming_from {}

    #[doc = include_str!("../docs/cookbook.md")]
    pub mod cookbook {}
}

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
