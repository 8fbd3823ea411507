//! Gather, scatter and roll for [`ndarray`], with the exact semantics of the ONNX and
//! OpenVINO operators. ndarray itself has only
//! [`select`](ndarray::ArrayRef::select), a gather of whole slices by a list of `usize`.
//!
//! There are three kinds of index, each with a gather and a scatter, and there is roll.
//! The gradient of a gather is a scatter that sums, and that of such a scatter a gather.
//!
//! | to | read | write or reduce |
//! |---|---|---|
//! | slices along an axis | [`gather`](GatherExt::gather) | [`scatter`](ScatterExt::scatter) |
//! | elements along an axis, an index each | [`gather_elements`](GatherElementsExt::gather_elements) | [`scatter_elements`](ScatterElementsExt::scatter_elements) |
//! | elements or slices, by tuples of indices | [`gather_nd`](GatherNdExt::gather_nd) | [`scatter_nd`](ScatterNdExt::scatter_nd) |
//! | all elements, shifted circularly | [`roll`](RollExt::roll) | [`roll_inplace`](RollExt::roll_inplace) |
//!
//! The operations come in several forms:
//!
//! - The plain form returns a new array. It takes an axis if it needs one.
//! - `_with` ([`gather_with`](GatherExt::gather_with),
//!   [`scatter_with`](ScatterExt::scatter_with)) returns a new array, and takes
//!   attributes: batch dimensions, a reduction, what to do with indices out of
//!   bounds.
//! - `_into`, of gathers and roll ([`gather_into`](GatherExt::gather_into)), writes to
//!   an array that you pass, initialised or not.
//! - `_inplace`, of scatters and roll
//!   ([`scatter_inplace`](ScatterExt::scatter_inplace)), changes the array itself.
//! - `_fold`, of scatters ([`scatter_fold`](ScatterExt::scatter_fold)), changes the
//!   array itself by any function, for elements of any types.
//!
#![doc = include_str!("../docs/operations.svg")]
//!
//! # A first example
//!
//! ```
//! use ndarray::{Array1, Array2, Axis, array};
//! use opkernels::*;
//!
//! // Embeddings of three tokens, and their sum in two bags.
//! let table = array![[0.1, 0.2], [1.1, 1.2], [2.1, 2.2]];
//! let tokens = table.gather(&[2, 0, 2], Axis(0))?;
//! assert_eq!(tokens, array![[2.1, 2.2], [0.1, 0.2], [2.1, 2.2]]);
//! let mut bags = Array2::zeros((2, 2));
//! bags.scatter_inplace(&[0, 1, 0], &tokens, Scatter::sum(0))?;
//! assert_eq!(bags, array![[4.2, 4.4], [0.1, 0.2]]);
//!
//! // A periodic difference.
//! let field = array![1.0, 4.0, 9.0, 16.0];
//! let difference = field.roll(-1, 0)? - &field;
//! assert_eq!(difference, array![3.0, 5.0, 7.0, -15.0]);
//!
//! // A histogram: one value for all indices.
//! let mut counts = Array1::<u32>::zeros(3);
//! counts.scatter_inplace(&[0, 2, 2, 1, 2], &1, Scatter::sum(0))?;
//! assert_eq!(counts, array![1, 1, 3]);
//! # Ok::<(), opkernels::Error>(())
//! ```
//!
//! # What can be passed
//!
//! The traits are implemented for every array and view of ndarray, of static
//! and dynamic rank and of any strides. Inputs are read in place, with these exceptions:
//!
//! - If the rows of an array are not contiguous, a roll may work in a copy of it. So may
//!   a gather or scatter that produces or consumes at least about as many elements as the
//!   array has. Reductions of half precision and some means do so from a quarter as many
//!   on into a transposed target, and from half as many on into a stepped one.
//! - Many indices that are not contiguous, as a column of a table, and updates that lie
//!   transposed may be copied first.
//!
//! Arguments have these forms:
//!
//! - An axis is an [`Axis`](ndarray::Axis) or an integer; a negative one counts
//!   from the last axis.
//! - Indices are slices, `[I; N]`, `Vec<I>`, arrays, views or single integers, of 8 to
//!   64 bits, `isize` or `usize`; a negative index counts from the end of its axis.
//! - Updates take the same forms. A single value, `&1.0` or `&ndarray::arr0(value)`,
//!   is the update of every place.
//! - An axis can be passed instead of attributes, if the operation has one: then all
//!   other attributes have their defaults.
//!
//! For indices that are used many times, make an [`IndexPlan`]: they are checked and
//! listed by target once, and the plan is accepted wherever indices are.
//!
//! # Guides
//!
//! - [`guide::coming_from`]: the calls of ndarray, NumPy, PyTorch, JAX, ONNX and OpenVINO
//!   beside those of this crate.
//! - [`guide::cookbook`]: reordering, one-hot rows, segment means, embedding bags,
//!   neighbours in graphs, centred spectra, shifted windows, folds of all kinds.
//! - [`guide::gradients`]: the backward pass of each operation is another of these
//!   operations.
//! - [`guide::in_an_engine`]: which forms an inference engine calls.
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
//! Every operation returns a [`Result`], and nothing panics on bad input. An
//! operation that fails has written nothing: the target of an in-place call
//! and the `out` of an `_into` call hold what they held before, unless `out` was
//! not initialised. The [`Error`] names the value, its place and the allowed
//! range.
//!
//! # Determinism and threads
//!
//! Large calls run on the current rayon thread pool, others on the calling thread.
//! Results are the same to the bit for every number of threads, memory layout and
//! run, except for the sign and payload of a NaN. Updates of a scatter apply in row-major
//! order of `indices`, floating-point sums included. Without the feature `rayon`
//! everything runs on the calling thread.
//!
//! While a thread waits for the other parts of a call, rayon runs other tasks of the
//! pool on it, as in [`rayon::join`](https://docs.rs/rayon/latest/rayon/fn.join.html).
//! So do not hold a lock during a call if tasks of that pool take the same lock: such a
//! task may run on the thread that holds it, and deadlock. Calls themselves hold no
//! lock while they wait.
//!
//! # Features
//!
//! - `rayon` (default): run large calls on several threads.
//! - `half`: reductions on `half::f16` and `half::bf16`.
//! - `num-complex`: reductions on `num_complex::Complex`.
//!
//! Without a feature, gathers, rolls and overwriting scatters take elements of any
//! type that is [`Clone`], [`Send`] and [`Sync`], and folds take targets of any type
//! that is `Send` and updates of any that is `Sync`.
//!
//! # Limitations
//!
//! - A scatter into a one-dimensional array uses one thread, since splitting it would cost
//!   more than it gains, except:
//!   - by sorted indices, or those of an [`IndexPlan`];
//!   - if it reduces integers to few targets;
//!   - if its targets take most of the last-level cache;
//!   - if its elements have some 200 bytes or more, in large arrays some 130;
//!   - if it is a mean or a reduction of half precision with many times as many targets
//!     as updates.
//! - A mean of more than 4,294,967,294 updates along the selected axes is an error.
//! - Gathers and rolls of elements that need dropping (`String`, `Vec`) first make an
//!   array of references, one for each element of the result, and clone from it.
//! - If a clone, or the function of a fold, panics halfway through an `_into` or
//!   in-place call, some elements of the target are new and some old, all valid. Of an
//!   output of `MaybeUninit` none is promised to be initialised; elements that were
//!   written by then are leaked.
//! - The crate needs `std`.
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
mod sync;
mod threshold;

pub use arguments::{
    ArrayLike, AsArrayMut, AsArrayRef, AsIndices, IntoAttributes, IntoAxes, IntoAxis,
    IntoBatchDims, IntoShifts, OutputArray, SignedInteger, Updates,
};
pub use error::{Error, Result};
pub use gather::{Gather, GatherArgument, GatherExt, Gathered};
pub use gather_elements::{GatherElements, GatherElementsExt};
pub use gather_nd::{GatherNd, GatherNdExt};
pub use index::{IndexInteger, IndexPlan, OutOfBounds};
pub use ndarray;
pub use reduction::{ReduceElement, Reduction};
pub use roll::RollExt;
pub use scatter::{Scatter, ScatterExt};
pub use scatter_elements::{ScatterArgument, ScatterElements, ScatterElementsExt};
pub use scatter_nd::{ScatterNd, ScatterNdExt};

/// Guides: recipes, the names of these operations in other libraries, gradients, and
/// use in an inference engine.
#[cfg(any(doc, doctest))]
pub mod guide {
    // Of several definitions of a link the first counts: the ones here lead to pages of
    // the documentation, the ones at the end of the included files to other files.
    /// [fftshift]: cookbook#centre-a-spectrum-fftshift
    /// [gradients]: gradients
    /// [engine]: in_an_engine
    #[doc = include_str!("../docs/coming-from.md")]
    pub mod coming_from {}

    /// [gradients]: gradients
    #[doc = include_str!("../docs/cookbook.md")]
    pub mod cookbook {}

    #[doc = include_str!("../docs/gradients.md")]
    pub mod gradients {}

    /// [rules]: cookbook#rules-of-other-engines
    #[doc = include_str!("../docs/in-an-engine.md")]
    pub mod in_an_engine {}
}

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

// The tests under shuttle's schedules share code with those in `tests`, which name the
// crate `opkernels`.
#[cfg(all(test, shuttle))]
extern crate self as opkernels;
#[cfg(all(test, shuttle))]
#[path = "../tests/common/mod.rs"]
mod common;
