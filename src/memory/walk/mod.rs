//! Nested loops over three strided arrays at once.
//!
//! Every operation of the indexed family moves through three arrays: the one
//! that indices select in (`selected`), the `indices`, and the one that is
//! walked in their order (`listed`: a gather's output, a scatter's updates). As
//! nested loops, here for a gather along the second of three axes:
//!
//! ```text
//! for a in 0..data.shape[0]            selected, listed       "shared"
//!   for k in 0..indices.len()          indices, listed        "entries"
//!     for c in 0..data.shape[2]        selected, listed       "shared"
//!       listed[a, k, c] = selected[a, indices[k], c]
//! ```
//!
//! [`Axes`] takes the three layouts and is told, axis by axis in their order,
//! which of them move together. Since each axis is used once and for no more
//! iterations than it is long, no iteration of the loops leaves an array. A copy between
//! two arrays is the same without indices.
//!
//! The loops then run in the order of memory ([`order`]), not in that in which
//! axes were written, and those that no array jumps between merge into one.

mod cursor;
mod order;
#[cfg(test)]
mod tests;

pub(super) use cursor::{Cursor, iterations};
pub(super) use order::{FEW, Order, Walk, is_far, is_spread, merge};
use smallvec::SmallVec;

use super::strided::Layout;

/// One loop: how often, and by how many bytes each iteration moves in each array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Loop {
    pub(super) len: usize,
    pub(super) step: Offsets,
    /// Whether entries follow each other that may select the same element: a
    /// scatter runs them in their order.
    pub(super) entries: bool,
}

impl Loop {
    /// A loop that runs once.
    pub(super) const ONCE: Self = Loop { len: 1, step: Offsets::ZERO, entries: false };

    /// Whether any index is read in this loop.
    pub(super) fn reads_indices(&self) -> bool {
        self.step.indices != 0 || self.entries
    }

    /// This loop and the one inside it as one, where no array jumps between
    /// their iterations.
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

/// A place in the three arrays, in bytes from their first elements, or a step
/// from one place to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Offsets {
    pub(super) selected: isize,
    pub(super) indices: isize,
    pub(super) listed: isize,
}

impl Offsets {
    pub(super) const ZERO: Self = Offsets { selected: 0, indices: 0, listed: 0 };

    /// The place `iterations` steps further on.
    ///
    /// Places in arrays do not overflow; where an array has no elements they
    /// may be wrong, and nobody looks there.
    #[inline(always)]
    pub(super) fn after(self, iterations: usize, step: Offsets) -> Self {
        let at = |from: isize, by: isize| from.wrapping_add(by.wrapping_mul(iterations as isize));
        Offsets {
            selected: at(self.selected, step.selected),
            indices: at(self.indices, step.indices),
            listed: at(self.listed, step.listed),
        }
    }

    /// The place `iterations` steps further back.
    #[inline(always)]
    pub(super) fn before(self, iterations: usize, step: Offsets) -> Self {
        self.after(iterations.wrapping_neg(), step)
    }
}

/// One of the numbers that make an index: it selects along an axis of `len`
/// elements that are `step` bytes apart, and stands `at` bytes behind the first
/// number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Component {
    pub(super) len: usize,
    pub(super) step: isize,
    pub(super) at: isize,
}

pub(super) type Loops = SmallVec<[Loop; 6]>;
pub(super) type Components = SmallVec<[Component; 2]>;

/// Says which axes of the three arrays move together, each axis once and in
/// order.
///
/// Invariant: the loops and components of `walk` use the first `next` axes of each array
/// once each, and no loop is longer than one of its axes.
#[derive(Debug)]
pub(crate) struct Axes<'a> {
    selected: Layout<'a>,
    indices: Option<Layout<'a>>,
    listed: Layout<'a>,
    next: [usize; 3],
    walk: Walk,
    /// Whether some loop runs not even once.
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

    /// The next axis of all three arrays.
    pub(crate) fn all(&mut self) {
        let [selected, indices] = [self.next_selected(), self.next_indices()];
        self.push(Some(selected), Some(indices));
    }

    /// The next axis of `selected` and `listed`.
    pub(crate) fn shared(&mut self) {
        let selected = self.next_selected();
        self.push(Some(selected), None);
    }

    /// The next axis of `indices` and `listed`.
    pub(crate) fn entries(&mut self) {
        let indices = self.next_indices();
        self.push(None, Some(indices));
    }

    /// Indices select along the next axis of `selected`.
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

    /// The next axis of `indices`, the last one, holds the numbers of an index:
    /// one for each selected axis.
    pub(crate) fn tuple(&mut self) {
        let axis = self.next_indices();
        let indices = self.indices.unwrap_or(self.listed);
        assert_eq!(indices.shape()[axis], self.walk.components.len(), "an index lacks numbers");
        let step = indices.stride(axis);
        for (number, component) in self.walk.components.iter_mut().enumerate() {
            component.at = step.wrapping_mul(number as isize);
        }
    }

    /// The loops in row-major order; nothing where some loop runs not even
    /// once.
    #[inline]
    pub(super) fn finish(&mut self) -> Option<&mut Walk> {
        let rank = |layout: Layout<'_>| layout.shape().len();
        let ranks = [rank(self.selected), self.indices.map_or(0, rank), rank(self.listed)];
        assert_eq!(self.next, ranks, "an operation leaves axes of an array out");
        if self.empty { None } else { Some(&mut self.walk) }
    }
}
