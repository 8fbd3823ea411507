//! The estimated time of walks.

use super::Walk;
use crate::parallel::Cost;

impl Walk {
    /// The cost of copying, or combining, what the walk iterates over, elements of `size` bytes.
    pub(in crate::memory) fn cost(&self, size: usize) -> Cost {
        let rows = self.rows();
        let found = if self.is_spread() { Cost::of_far(rows) } else { Cost::of_near(rows) };
        let steps = [self.inner.step.selected, self.inner.step.listed];
        let copied = cost_of_rows(rows, self.inner.len, steps, size);
        found.plus(copied).plus(Cost::of_bytes(self.index_bytes()))
    }

    /// About the number of bytes of indices that are read once.
    fn index_bytes(&self) -> usize {
        let read = self.nest().iter().filter(|level| level.step.indices != 0);
        let indices =
            read.map(|level| level.len).fold(self.components.len(), usize::saturating_mul);
        indices.saturating_mul(size_of::<i64>())
    }
}

/// The cost of copying rows of `row` elements of `size` bytes, which have these steps in the two
/// arrays, without that of finding the rows.
pub(in crate::memory) fn cost_of_rows(
    rows: usize,
    row: usize,
    steps: [isize; 2],
    size: usize,
) -> Cost {
    let apart = if steps == [size as isize; 2] { 0 } else { rows.saturating_mul(row - 1) };
    Cost::of_bytes(rows.saturating_mul(row.saturating_mul(size))).plus(Cost::of_apart(apart))
}
