//! Calls that work in a copy of the array in which indices select: of the data of a gather, or of the
//! target of a scatter in place, which an error discards.

use std::mem;

use ndarray::{Array, ArrayRef, Dimension};

use super::{Kind, Plan};
use crate::index::Policy;
use crate::memory::{Indices, Kernels, is_plain};
use crate::parallel::{self, Cost};
use crate::reduction::Reduction;
use crate::roll::{copy_in_order, standard_copy};
use crate::threshold::threshold;

/// In which order a copy has its axes in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkCopy {
    /// Standard layout, in which most indices, updates and outputs come.
    Standard,
    /// That of the array.
    SameOrder,
}

/// What the choice depends on, without element types.
pub(super) struct Arrays<'a> {
    /// Bytes of an element.
    size: usize,
    plain: bool,
    /// Those of the array in which indices select.
    shape: &'a [usize],
    strides: &'a [isize],
    /// The shape of the updates or of the output, and the stride of their last axis.
    listed: &'a [usize],
    listed_step: isize,
}

/// Whether rows of an array are not contiguous, which calls ask first: most need no copy.
#[inline]
pub(super) fn lies_apart<A, D: Dimension>(array: &ArrayRef<A, D>) -> bool {
    array.strides().last().is_some_and(|step| step.unsigned_abs() > 1)
}

impl<'a> Arrays<'a> {
    #[inline]
    pub(super) fn new<A, D, L, E>(selected: &'a ArrayRef<A, D>, listed: &'a ArrayRef<L, E>) -> Self
    where
        D: Dimension,
        E: Dimension,
    {
        let step = listed.strides().last().copied().unwrap_or(0);
        Self::of_shape(selected, listed.shape(), step)
    }

    /// The same for a listed array of this shape, whose last axis has this stride.
    #[inline]
    pub(super) fn of_shape<A, D>(
        selected: &'a ArrayRef<A, D>,
        listed: &'a [usize],
        step: isize,
    ) -> Self
    where
        D: Dimension,
    {
        Arrays {
            size: size_of::<A>(),
            plain: is_plain::<A>(),
            shape: selected.shape(),
            strides: selected.strides(),
            listed,
            listed_step: step,
        }
    }

    fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// The number of updates, or of elements of the output, which may be too many to count.
    fn listed(&self) -> usize {
        self.listed.iter().copied().fold(1, usize::saturating_mul)
    }

    /// How often each element is used, on average.
    fn uses(&self) -> usize {
        self.listed().checked_div(self.len()).unwrap_or(0)
    }

    /// Whether several threads work on what lies apart. A copy, made by one of them or by all, takes time to
    /// reach the caches of the others.
    fn are_split(&self) -> bool {
        parallel::parts(Cost::of_apart(self.listed())) > 1
    }
}

/// How elements of rows lie that are not contiguous.
enum Apart {
    /// Nearer to each other than elements along other axes.
    Strided,
    /// Elements along another axis lie nearer; whether it is one that indices select along.
    Transposed { selected: bool },
}

/// The number of uses of each element of an array with strided rows, at least, for which a copy pays on
/// one thread: 6000 of 3000 rows of 32, every second element, gathered as `f32` 31 -> 24 µs, as `u8` 44 ->
/// 28; 18,000 95 -> 53 and 132 -> 38, summed 175 -> 79 and 127 -> 65.
const STRIDED: usize = 2;

impl WorkCopy {
    /// The copy; `None` where memory for it is refused, so that the array itself must serve.
    pub(super) fn of<A, D>(self, array: &ArrayRef<A, D>) -> Option<Array<A, D>>
    where
        A: Clone + Send + Sync,
        D: Dimension,
    {
        match self {
            WorkCopy::Standard => standard_copy(array).ok(),
            WorkCopy::SameOrder => copy_in_order(array).ok(),
        }
    }
}

impl Plan {
    /// A copy of the data of a gather, if it is faster to gather from; `arrays` are the data and the
    /// output.
    #[inline]
    pub(super) fn copy_of_data<'a, A, D>(
        &self,
        data: &ArrayRef<A, D>,
        arrays: impl FnOnce() -> Arrays<'a>,
    ) -> Option<Array<A, D>>
    where
        A: Clone + Send + Sync,
        D: Dimension,
    {
        if const { mem::needs_drop::<A>() } || !lies_apart(data) {
            return None;
        }
        self.copy_to_read(&arrays())?.of(data)
    }

    /// The copy of the data in which a gather is faster, copying included. 50,000 of 5000 rows of 32
    /// `f32` that lie transposed 820 -> 140 µs, of `u8` 544 -> 47.
    #[inline(never)]
    fn copy_to_read(&self, arrays: &Arrays<'_>) -> Option<WorkCopy> {
        let pays = match self.rows_apart(arrays)? {
            // Several threads need more uses (`are_split`), but of single bytes.
            Apart::Strided if arrays.size > 1 && arrays.are_split() => arrays.uses() > STRIDED,
            Apart::Strided => arrays.uses() >= STRIDED,
            Apart::Transposed { selected: true } => arrays.uses() >= 1,
            // Gathers transpose blocks of the two axes as fast.
            Apart::Transposed { selected: false } => false,
        };
        pays.then_some(WorkCopy::Standard)
    }

    /// The copy in which a scatter is faster than in the target, copying there and back included. A
    /// scatter that [discards](Self::discards) its copy on an error always works in one. 50,000 rows of 32
    /// summed into 5000 `f32` that lie transposed 820 -> 190 µs, `bf16` 1960 -> 216.
    #[inline(never)]
    pub(super) fn copy_to_write(
        &self,
        arrays: &Arrays<'_>,
        discards: bool,
        (kernels, reduction): (Option<&'static Kernels>, Reduction),
    ) -> Option<WorkCopy> {
        if discards {
            let same = self.keeps_order(arrays);
            return Some(if same { WorkCopy::SameOrder } else { WorkCopy::Standard });
        }
        let apart = self.rows_apart(arrays)?;
        // Accumulating beside targets that lie apart takes several times as long as in them.
        let accumulates = || kernels.is_some_and(|kernels| kernels.need_accumulator(reduction));
        let pays = match apart {
            Apart::Transposed { .. } if accumulates() => arrays.listed() >= arrays.len() / 4,
            Apart::Transposed { selected: true } => arrays.uses() >= (arrays.size / 2).max(1),
            Apart::Transposed { selected: false } => arrays.uses() >= (arrays.size * 3 / 4).max(3),
            Apart::Strided if accumulates() => arrays.listed() >= arrays.len() / 2,
            Apart::Strided if arrays.are_split() => arrays.uses() >= STRIDED.max(arrays.size),
            Apart::Strided => arrays.uses() >= STRIDED.max(arrays.size / 2),
        };
        pays.then_some(WorkCopy::Standard)
    }

    /// Whether an error discards a copy of a target of `len` elements: a pass that checks so many indices
    /// before the first is used would cost more.
    #[inline]
    pub(super) fn discards<A>(&self, len: usize, indices: &Indices<'_>, how: Reduction) -> bool {
        // Cloning elements of size 0 takes time too.
        let bytes = len.saturating_mul(size_of::<A>().max(1));
        // Other elements may tell clones from what they were, and have to keep those that no index selects.
        is_plain::<A>()
            && how != Reduction::Mean
            && self.policy == Policy::Refuse
            && indices.outweigh(bytes)
    }

    /// Whether a copy in standard layout would lie across updates whose lanes are contiguous, as the target's; or
    /// would be a transposition of short rows, which costs more than that layout saves: 20,272 sums of `u8` in lanes
    /// of 2 75 -> 9 µs, of 12 173 -> 125.
    fn keeps_order(&self, arrays: &Arrays<'_>) -> bool {
        /// The least bytes of a row that is not short.
        const ROW: usize = 16;
        let &Arrays { size, shape, strides, listed_step, .. } = arrays;
        let short = |axis: usize| shape[axis].saturating_mul(size) < ROW;
        let inside = |axis: &usize| strides[*axis].unsigned_abs() == 1;
        let selected = self.selected.clone().next_back().filter(inside);
        selected.is_some_and(|axis| {
            let is_short = size <= 2 && (short(axis) || short(shape.len() - 1));
            is_short || (axis + 1 < shape.len() && listed_step.unsigned_abs() > 1)
        })
    }

    /// How the rows lie in which indices select, where those of the updates or of the output are
    /// contiguous; `None` where they are contiguous, too, or too short.
    fn rows_apart(&self, arrays: &Arrays<'_>) -> Option<Apart> {
        /// The least length of rows, and bytes: copying shorter ones costs more than it saves.
        const LONG: [usize; 2] = [threshold(8, 2), threshold(16, 2)];
        let &Arrays { size, plain, shape, strides, .. } = arrays;
        let last = shape.len().checked_sub(1)?;
        let step = |axis: usize| strides[axis].unsigned_abs();
        let is_long =
            |axis: usize| shape[axis] >= LONG[0] && shape[axis].saturating_mul(size) >= LONG[1];
        let rows = self.kind != Kind::Elements && !self.selected.contains(&last) && is_long(last);
        if !plain || !rows || step(last) <= 1 || arrays.listed_step != 1 {
            return None;
        }
        let several = |axis: usize| shape[axis] > 1;
        // A copy would have each element that repeats many times.
        if (0..last).any(|axis| several(axis) && step(axis) == 0) {
            return None;
        }
        let nearer = |axis: &usize| several(*axis) && step(*axis) < step(last);
        match (0..last).filter(nearer).min_by_key(|&axis| step(axis)) {
            None => Some(Apart::Strided),
            Some(axis) if is_long(axis) => {
                Some(Apart::Transposed { selected: self.selected.contains(&axis) })
            }
            Some(_) => None,
        }
    }
}
