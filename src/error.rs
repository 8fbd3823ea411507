//! The error type of all operations, with the facts in its fields.

use std::fmt;

/// The result of an operation. With a second parameter it is the standard
/// library's, so that `use opkernels::*` hides nothing.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation was refused.
///
/// A refused operation has written nothing: an in-place target and the `out`
/// of an `_into` call hold what they held before. Only an output that was not
/// initialised may have been written to in part.
///
/// ```
/// use ndarray::{Axis, array};
/// use opkernels::{Error, GatherExt};
///
/// let data = array![[1, 2, 3, 4, 5]];
/// let error = data.gather(&array![[0, 4], [3, 7]], Axis(1)).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "index 7 at indices[1, 1] is out of bounds for axis 1 of length 5 (expected -5..=4)"
/// );
/// assert!(matches!(error, Error::IndexOutOfBounds { index: 7, axis: 1, .. }));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The array does not have this axis.
    #[error("axis {axis} is out of bounds for an array of rank {rank} ({})", Range(*.rank, "it has no axis"))]
    AxisOutOfBounds {
        /// The axis as it was given.
        axis: i128,
        /// The number of dimensions of the array.
        rank: usize,
    },

    /// An index is outside `-len..=len - 1`. The error names the first such index
    /// in row-major order of `indices`.
    #[error(
        "index {index}{} is out of bounds for axis {axis} of length {len} ({})",
        Place(.position), Range(*.len, "the axis is empty")
    )]
    IndexOutOfBounds {
        /// The index as it was given.
        index: i128,
        /// Its coordinates in `indices`, one for each axis.
        position: Vec<usize>,
        /// The axis of the data along which it selects, counted from 0.
        axis: usize,
        /// The length of that axis.
        len: usize,
    },

    /// [`OutOfBounds::Clip`](crate::OutOfBounds::Clip) or
    /// [`Wrap`](crate::OutOfBounds::Wrap) cannot map an index onto an axis without
    /// elements.
    #[error("cannot {mode} an index onto axis {axis}: its length is 0")]
    EmptyAxis {
        /// `"clip"` or `"wrap"`.
        mode: &'static str,
        /// The axis of length 0.
        axis: usize,
    },

    /// An [`IndexPlan`](crate::IndexPlan) was to be made for an axis that is longer
    /// than any array can be.
    #[error("axis {axis} cannot have a length of {len} (expected at most {})", isize::MAX)]
    AxisTooLong {
        /// The number of the axis among those that the plan is for.
        axis: usize,
        /// Its length as it was given.
        len: usize,
    },

    /// `batch_dims` is outside the range that the ranks of data and indices
    /// allow.
    #[error(
        "batch_dims {batch_dims} is out of range for data of rank {data_rank} and indices of rank \
         {indices_rank} (expected {})",
        BatchDims { most: (*.data_rank).min(*.indices_rank), rank: *.indices_rank }
    )]
    BatchDimsOutOfRange {
        /// `batch_dims` as it was given.
        batch_dims: i128,
        /// The rank of the data.
        data_rank: usize,
        /// The rank of the indices.
        indices_rank: usize,
    },

    /// There are more batch dimensions than axes before the one along which indices
    /// select.
    #[error("batch_dims {batch_dims} is greater than axis {axis} (expected batch_dims <= axis)")]
    BatchDimsBeyondAxis {
        /// `batch_dims`, counted from 0.
        batch_dims: usize,
        /// The axis along which indices select, counted from 0.
        axis: usize,
    },

    /// The leading `batch_dims` lengths of data and indices differ.
    #[error(
        "the first {} of data {data:?} and indices {indices:?} must be equal",
        Lengths(*.batch_dims)
    )]
    BatchShapeMismatch {
        /// `batch_dims`, counted from 0.
        batch_dims: usize,
        /// The shape of the data.
        data: Vec<usize>,
        /// The shape of the indices.
        indices: Vec<usize>,
    },

    /// `indices` of [`scatter_elements`](crate::ScatterElementsExt) must have as many
    /// dimensions as the data.
    #[error(
        "indices have rank {indices}, data has rank {data} (expected equal ranks; to select \
         whole slices, use scatter)"
    )]
    RankMismatch {
        /// The rank of the data.
        data: usize,
        /// The rank of the indices.
        indices: usize,
    },

    /// `updates` of [`scatter_elements`](crate::ScatterElementsExt) must have the
    /// shape of `indices`, or be a single value.
    #[error(
        "updates have shape {updates:?}, indices have shape {indices:?} (expected equal, or a \
         single value; to select whole slices, use scatter)"
    )]
    UpdatesShapeMismatch {
        /// The shape of the indices.
        indices: Vec<usize>,
        /// The shape of the updates.
        updates: Vec<usize>,
    },

    /// `indices` of [`gather_elements`](crate::GatherElementsExt) or
    /// [`scatter_elements`](crate::ScatterElementsExt) are longer than the data along
    /// an axis other than `axis`.
    #[error(
        "indices of shape {indices:?} do not fit data of shape {data:?} for axis {axis}: \
         length {} of dimension {dim} is greater than {}", length(.indices, *.dim), length(.data, *.dim)
    )]
    IndicesTooLong {
        /// The shape of the data.
        data: Vec<usize>,
        /// The shape of the indices.
        indices: Vec<usize>,
        /// The axis along which indices select, where any length is allowed.
        axis: usize,
        /// The first dimension that is too long.
        dim: usize,
    },

    /// `indices` of [`gather_elements`](crate::GatherElementsExt) must have as
    /// many dimensions as the data.
    #[error(
        "indices have rank {indices}, data has rank {data} (expected equal ranks; to take whole \
         slices, use gather)"
    )]
    GatherRankMismatch {
        /// The rank of the data.
        data: usize,
        /// The rank of the indices.
        indices: usize,
    },

    /// `updates` must have the shape that a gather by the same arguments returns, or
    /// be a single value.
    #[error(
        "updates have shape {updates:?} (expected {expected:?}, the shape that {gather} returns by \
         the same indices, or a single value)"
    )]
    UpdatesShape {
        /// The shape that the gather returns.
        expected: Vec<usize>,
        /// The shape of the updates.
        updates: Vec<usize>,
        /// The name of that gather, which takes the same indices, axis and
        /// `batch_dims`.
        gather: &'static str,
    },

    /// The last axis of `indices` must hold the numbers of each tuple, but 0-d indices
    /// have no axis.
    #[error("indices have rank 0 (expected an axis that holds the numbers of each index)")]
    NoTuples,

    /// Tuples have no numbers, or more than there are axes to select along.
    #[error(
        "the last axis of indices has length {len} ({})",
        TupleLengths { data_rank: *.data_rank, batch_dims: *.batch_dims }
    )]
    TupleLengthOutOfRange {
        /// The number of numbers in a tuple.
        len: usize,
        /// The rank of the data.
        data_rank: usize,
        /// The number of batch dimensions, counted from 0.
        batch_dims: usize,
    },

    /// `batch_dims` is outside the range that the ranks of data and indices allow
    /// where the last axis of indices holds tuples.
    #[error(
        "batch_dims {batch_dims} is out of range for data of rank {data_rank} and indices of rank \
         {indices_rank}, whose last axis holds tuples (expected {})",
        BatchDims {
            most: data_rank.saturating_sub(1).min(.indices_rank.saturating_sub(1)),
            rank: *.indices_rank,
        }
    )]
    TupleBatchDimsOutOfRange {
        /// `batch_dims` as it was given.
        batch_dims: i128,
        /// The rank of the data.
        data_rank: usize,
        /// The rank of the indices.
        indices_rank: usize,
    },

    /// An [`IndexPlan`](crate::IndexPlan) was made for an axis of another length.
    #[error(
        "the index plan was made for an axis of length {plan}, but axis {axis} has length {len}"
    )]
    PlanLength {
        /// The length that the plan was made for.
        plan: usize,
        /// The axis of the data along which its indices were to select, counted
        /// from 0.
        axis: usize,
        /// The length of that axis.
        len: usize,
    },

    /// The last axis of an [`IndexPlan`](crate::IndexPlan) of tuples does not hold a
    /// number for each axis that the plan is for; or a plan of tuples of two numbers or
    /// more was passed to an operation that takes no tuples.
    #[error(
        "a plan of tuples for axes of lengths {lens:?} was given for {numbers} (expected a number for \
         each axis, at least one)", numbers = Numbers(*.numbers)
    )]
    PlanTuples {
        /// The number of numbers in an index.
        numbers: usize,
        /// The lengths of the axes that the plan is for.
        lens: Vec<usize>,
    },

    /// An [`IndexPlan`](crate::IndexPlan) and the call, or the plan that is made of it, differ in
    /// what to do with indices out of bounds.
    #[error(
        "the index plan was made with out-of-bounds policy `{plan}`, but `{call}` was requested (use \
         the same policy or leave it at the default; to gather with a `skip` plan, use `Fill(value)`)"
    )]
    PlanOutOfBounds {
        /// What the plan does with them: `"skip"`, `"clip"` or `"wrap"`.
        plan: &'static str,
        /// What was requested: one of these, `"refuse"`, or `"fill"` their places in what is
        /// gathered.
        call: &'static str,
    },

    /// `out` of an `_into` call has the wrong shape.
    #[error("out has shape {actual:?}, the result has shape {expected:?}")]
    OutShapeMismatch {
        /// The shape of the result.
        expected: Vec<usize>,
        /// The shape of the array that was given.
        actual: Vec<usize>,
    },

    /// The number of shifts is neither one nor the number of axes.
    #[error(
        "{shifts} shifts for {axes} {} (expected one shift, or one for each axis)",
        if *.axes == 1 { "axis" } else { "axes" }
    )]
    ShiftCountMismatch {
        /// The number of shifts.
        shifts: usize,
        /// The number of axes.
        axes: usize,
    },

    /// The reduction is not defined for the element type: the mean of `bool`, the
    /// minimum of complex numbers, every reduction of a type that is not a
    /// [`ReduceElement`](crate::ReduceElement).
    #[error("reduction {reduction} is not defined for elements of type {element}{}", Feature(.element, *.reduction))]
    UnsupportedReduction {
        /// The reduction of the call.
        reduction: crate::Reduction,
        /// The name of the element type.
        element: &'static str,
    },

    /// [`OutOfBounds::Skip`](crate::OutOfBounds::Skip) was passed to a gather, in
    /// which every element of the result needs a value.
    #[error("a gather cannot skip an index out of bounds (expected Error, Fill, Clip or Wrap)")]
    SkipInGather,

    /// A string that is not the name of a reduction.
    #[error(
        "unknown reduction {0:?} (expected none, sum or add, sub, prod or mul, min, max or mean)"
    )]
    UnknownReduction(String),

    /// The result, or the updates that one value stands for, would have more elements or bytes than an
    /// array can have.
    #[error("an array of shape {shape:?} with elements of {element_size} bytes is too large")]
    SizeOverflow {
        /// The shape that the array would have.
        shape: Vec<usize>,
        /// The size of one element in bytes.
        element_size: usize,
    },

    /// A mean has more updates, or an [`IndexPlan`](crate::IndexPlan) whose
    /// [`counts`](crate::IndexPlan::counts) are asked for has more indices or targets,
    /// than can be counted in 32 bits.
    #[error("{count} {what} are too many to count (expected at most {most})")]
    TooMany {
        /// What there is too much of: `"updates of a mean"`, `"indices"` or `"targets"`.
        what: &'static str,
        /// How many there are; `usize::MAX` also stands for more.
        count: usize,
        /// The most that can be counted.
        most: usize,
    },

    /// The allocator refused the memory of a result or of a work buffer.
    #[error("could not allocate {bytes} bytes")]
    AllocationFailed {
        /// The size of the memory that was refused.
        bytes: usize,
    },
}

/// What an index may be along a length, or an axis of a rank; and what is said where that is 0.
struct Range(usize, &'static str);

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Range(0, nothing) => f.write_str(nothing),
            Range(len, _) => write!(f, "expected -{len}..={}", len - 1),
        }
    }
}

/// The coordinates of an index in `indices`; a single index has none.
struct Place<'p>(&'p [usize]);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => Ok(()),
            position => write!(f, " at indices{position:?}"),
        }
    }
}

/// The feature without which a type does not have this reduction.
struct Feature<'t>(&'t str, crate::Reduction);

impl fmt::Display for Feature<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use crate::Reduction::{Max, Min};
        let Feature(element, reduction) = *self;
        let complex = element.starts_with("num_complex::")
            && ["<f32>", "<f64>"].iter().any(|of| element.ends_with(of))
            && !matches!(reduction, Min | Max);
        let features = [
            (element.starts_with("half::"), "half", cfg!(feature = "half")),
            (complex, "num-complex", cfg!(feature = "num-complex")),
        ];
        match features.iter().find(|(of_feature, _, on)| *of_feature && !on) {
            Some((_, name, _)) => write!(f, " without the feature `{name}` of opkernels"),
            None => Ok(()),
        }
    }
}

/// The length of an axis; 0 where there is none, in an error that the crate has not made.
fn length(shape: &[usize], axis: usize) -> usize {
    shape.get(axis).copied().unwrap_or(0)
}

/// Refuses to count more than `most`, in 32 bits.
pub(crate) fn countable(what: &'static str, count: usize, most: u32) -> Result<usize> {
    if u32::try_from(count).is_ok_and(|count| count <= most) {
        return Ok(count);
    }
    Err(Error::TooMany { what, count, most: most as usize })
}

/// What `batch_dims` may be: up to `most`, or as many counted back from `rank`.
struct BatchDims {
    most: usize,
    rank: usize,
}

impl fmt::Display for BatchDims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (most, rank) = (self.most as i128, self.rank as i128);
        match most {
            _ if most >= rank - 1 => write!(f, "{}..={most}", -rank),
            0 => write!(f, "0 or {}", -rank),
            _ => write!(f, "0..={most}, or {}..={}", -rank, most - rank),
        }
    }
}

/// How many numbers a tuple may have.
struct TupleLengths {
    data_rank: usize,
    batch_dims: usize,
}

impl fmt::Display for TupleLengths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TupleLengths { data_rank, batch_dims } = *self;
        match (data_rank, data_rank.saturating_sub(batch_dims)) {
            (0, _) => f.write_str("no tuple length is possible: data of rank 0 has no axis"),
            (1, 0) => {
                f.write_str("no tuple length is possible: the only axis is a batch dimension")
            }
            (_, 0) => {
                write!(f, "no tuple length is possible: all {data_rank} axes are batch dimensions")
            }
            (_, most) => {
                write!(
                    f,
                    "expected 1..={most}: each number of a tuple selects along an axis of data of rank \
                     {data_rank}"
                )?;
                match batch_dims {
                    0 => Ok(()),
                    1 => f.write_str(" after 1 batch dimension"),
                    _ => write!(f, " after {batch_dims} batch dimensions"),
                }
            }
        }
    }
}

struct Lengths(usize);

impl fmt::Display for Lengths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("length"),
            lengths => write!(f, "{lengths} lengths"),
        }
    }
}

struct Numbers(usize);

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("indices of 1 number"),
            numbers => write!(f, "indices of {numbers} numbers"),
        }
    }
}
