//! Nested loops over three strided arrays at once.
//!
//! Every operation of the indexed family steps through three arrays: the one that indices
//! select elements of (`selected`: a gather's data, a scatter's target), the `indices`, and the
//! one that holds an element for each index (`listed`: a gather's output, a scatter's updates).
//! A gather along the second of three axes is:
//!
//! ```text
//! for a in 0..data.shape[0]            selected, listed       "shared"
//!   for k in 0..indices.len()          indices, listed        "entries"
//!     for c in 0..data.shape[2]        selected, listed       "shared"
//!       listed[a, k, c] = selected[a, indices[k], c]
//! ```
//!
//! An *entry* is one iteration of the loops over the indices. A *component* is one of the numbers
//! of an index: one for each axis that it selects along.
//!
//! [`Axes`] takes the layouts of the three arrays and is told, axis by axis in order, which axes
//! of them one loop iterates over together. Each axis is used once, by a loop no longer than the
//! axis, so all iterations stay in bounds of the arrays. A copy between two arrays is the same
//! without indices.
//!
//! The loops are then ordered by strides ([`order`]), not by axis, and two loops that are one
//! longer loop in all three arrays are merged.

mod cost;
mod cursor;
mod joined;
mod order;
mod span;
#[cfg(test)]
mod tests;
mod tiling;

pub(super) use cost::cost_of_rows;
pub(super) use cursor::{Cursor, iterations, iterations_over_entries};
pub(super) use order::{FEW, LONG_RUN, Order, Walk, merge};
use smallvec::SmallVec;
pub(super) use span::{is_far, is_inside, is_spread, targets};
pub(super) use tiling::lines::{STREAMS, lines_in_l1};

use super::strided::Layout;

/// One level of a loop nest: its number of iterations, and the step from one iteration to the
/// next in each array, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Loop {
    pub(super) len: usize,
    pub(super) step: Offsets,
    /// Whether the loop is over entries alone (its step in the selected array is 0). Its
    /// iterations may select the same element, so a scatter keeps their order.
    pub(super) entries: bool,
}

impl Loop {
    /// A loop of one iteration.
    pub(super) const ONCE: Self = Loop { len: 1, step: Offsets::ZERO, entries: false };

    /// Whether the iterations of this loop read different indices, or it is over entries.
    pub(super) fn reads_indices(&self) -> bool {
        self.step.indices != 0 || self.entries
    }

    /// The distance in bytes from what each iteration selects to the next, if no index is read in
    /// between; else 0.
    #[inline]
    pub(super) fn offset_step(&self) -> isize {
        if self.reads_indices() { 0 } else { self.step.selected }
    }

    /// This loop and the one inside it merged into one, where in each array the step of this loop
    /// is that of the inner loop times its length.
    #[inline]
    pub(super) fn merged(&self, inner: &Loop) -> Option<Loop> {
        let iterations = inner.len as isize;
        let seamless = |outer: isize, inner: isize| inner.checked_mul(iterations) == Some(outer);
        let merges = seamless(self.step.selected, inner.step.selected)
            && seamless(self.step.indices, inner.step.indices)
            && seamless(self.step.listed, inner.step.listed);
        merges.then(|| Loop {
            len: self.len * inner.len,
            step: inner.step,
            entries: self.entries | inner.entries,
        })
    }
}

/// Offsets in bytes into the three arrays, from their first elements; or the steps of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Offsets {
    pub(super) selected: isize,
    pub(super) indices: isize,
    pub(super) listed: isize,
}

impl Offsets {
    pub(super) const ZERO: Self = Offsets { selected: 0, indices: 0, listed: 0 };

    /// These offsets plus `iterations` times `step`.
    ///
    /// Offsets of elements do not overflow. In an array without elements the result may have
    /// wrapped around, and is not used.
    #[inline(always)]
    pub(super) fn after(self, iterations: usize, step: Offsets) -> Self {
        let at = |from: isize, by: isize| from.wrapping_add(by.wrapping_mul(iterations as isize));
        Offsets {
            selected: at(self.selected, step.selected),
            indices: at(self.indices, step.indices),
            listed: at(self.listed, step.listed),
        }
    }

    /// These offsets minus `iterations` times `step`.
    #[inline(always)]
    pub(in crate::memory) fn before(self, iterations: usize, step: Offsets) -> Self {
        self.after(iterations.wrapping_neg(), step)
    }
}

/// One of the numbers of an index, and the axis that it selects along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Component {
    /// The length of the selected axis.
    pub(super) len: usize,
    /// The stride of the selected axis, in bytes.
    pub(super) step: isize,
    /// The offset in bytes of this number from the first number of its index.
    pub(super) at: isize,
}

pub(super) type Loops = SmallVec<[Loop; 6]>;
pub(super) type Components = SmallVec<[Component; 2]>;

/// Builds the loops of an operation: is told which axes of the three arrays one loop iterates
/// over together, each axis once and in order.
///
/// Invariant: the loops and components of `walk` use the first `next` axes of each array
/// once each, and no loop is longer than any of its axes.
#[derive(Debug)]
pub(crate) struct Axes<'a> {
    selected: Layout<'a>,
    indices: Option<Layout<'a>>,
    listed: Layout<'a>,
    /// The number of axes of `selected`, `indices` and `listed` that are in use.
    next: [usize; 3],
    walk: Walk,
    /// Whether some loop has no iteration.
    empty: bool,
}

const USED_UP: &str = "an operation names more axes than an array has";

impl<'a> Axes<'a> {
    #[inline]
    pub(super) fn new(
        selected: Layout<'a>,
        indices: Option<Layout<'a>>,
        listed: Layout<'a>,
    ) -> Self {
        Axes {
            selected,
            indices,
            listed,
            next: [0; 3],
            walk: Walk::of(Loops::new(), Components::new()),
            empty: false,
        }
    }

    /// Adds a loop over the next axes of all three arrays.
    pub(crate) fn all(&mut self) {
        let [selected, indices] = [self.next_selected(), self.next_indices()];
        self.push(Some(selected), Some(indices));
    }

    /// Adds a loop over the next axes of `selected` and `listed`.
    pub(crate) fn shared(&mut self) {
        let selected = self.next_selected();
        self.push(Some(selected), None);
    }

    /// Adds a loop over the next axes of `indices` and `listed`.
    pub(crate) fn entries(&mut self) {
        let indices = self.next_indices();
        self.push(None, Some(indices));
    }

    /// Adds a component: indices select along the next axis of `selected`.
    pub(crate) fn select(&mut self) {
        let axis = self.next_selected();
        let (len, step) = (self.selected.shape()[axis], self.selected.stride(axis));
        self.walk.components.push(Component { len, step, at: 0 });
    }

    fn next_selected(&mut self) -> usize {
        let axis = self.next[0];
        assert!(axis < self.selected.shape().len(), "{USED_UP}");
        self.next[0] += 1;
        axis
    }

    fn next_indices(&mut self) -> usize {
        let axis = self.next[1];
        let rank = self.indices.map_or(0, |indices| indices.shape().len());
        assert!(axis < rank, "{USED_UP}");
        self.next[1] += 1;
        axis
    }

    /// Adds a loop over the next axis of `listed` and these axes of the other arrays.
    #[inline(always)]
    fn push(&mut self, selected: Option<usize>, indices: Option<usize>) {
        let axis = self.next[2];
        assert!(axis < self.listed.shape().len(), "{USED_UP}");
        self.next[2] += 1;
        let len = self.listed.shape()[axis];
        let fits = selected.is_none_or(|axis| len <= self.selected.shape()[axis]);
        assert!(fits, "a loop is longer than its axis");
        let in_indices = self.indices.zip(indices);
        let equal = in_indices.is_none_or(|(indices, axis)| len == indices.shape()[axis]);
        assert!(equal, "a loop is not as long as its axis of the indices");
        match len {
            0 => self.empty = true,
            1 => {}
            _ => self.walk.push(Loop {
                len,
                step: Offsets {
                    selected: selected.map_or(0, |axis| self.selected.stride(axis)),
                    indices: in_indices.map_or(0, |(indices, axis)| indices.stride(axis)),
                    listed: self.listed.stride(axis),
                },
                entries: selected.is_none(),
            }),
        }
    }

    /// Uses the next axis of `indices`, the last one, for the numbers of an index: one for each
    /// selected axis.
    pub(crate) fn tuple(&mut self) {
        let axis = self.next_indices();
        let indices = self.indices.unwrap_or(self.listed);
        assert_eq!(indices.shape()[axis], self.walk.components.len(), "an index lacks numbers");
        let step = indices.stride(axis);
        for (number, component) in self.walk.components.iter_mut().enumerate() {
            component.at = step.wrapping_mul(number as isize);
        }
    }

    /// The loops in the order in which they were named; `None` where some loop has no iteration.
    #[inline]
    pub(super) fn finish(&mut self) -> Option<&mut Walk> {
        let rank = |layout: Layout<'_>| layout.shape().len();
        let ranks = [rank(self.selected), self.indices.map_or(0, rank), rank(self.listed)];
        assert_eq!(self.next, ranks, "an operation leaves axes of an array out");
        if self.empty { None } else { Some(&mut self.walk) }
    }
}
