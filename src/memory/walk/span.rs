//! How many bytes loops and selected axes span, and so whether caches hold what a walk uses.

use super::tiling::lines::reuses_lines;
use super::{Component, Loop, Offsets, Walk, iterations};
use crate::memory::cpu::{self, Caches, of_caches};

impl Walk {
    /// The number of targets that indices select among.
    pub(in crate::memory) fn targets(&self) -> usize {
        targets(&self.components)
    }

    /// The distance in bytes from each target to the next one in row-major order, if it is the same for all.
    pub(in crate::memory) fn target_step(&self) -> Option<isize> {
        let mut longer = self.components.iter().rev().filter(|axis| axis.len > 1);
        let Some(last) = longer.next() else { return Some(0) };
        let mut expected = last.step.checked_mul(last.len as isize);
        for axis in longer {
            if expected != Some(axis.step) {
                return None;
            }
            expected = axis.step.checked_mul(axis.len as isize);
        }
        Some(last.step)
    }

    /// [`is_spread`] for the components of this walk.
    #[inline]
    pub(in crate::memory) fn is_spread(&self) -> bool {
        is_spread(&self.components)
    }

    /// [`is_far`] for the components and the rows of this walk, unless iterations of its loops reuse
    /// cache lines that stay cached.
    #[inline]
    pub(in crate::memory) fn is_far(&self) -> bool {
        is_far(&self.components, self.inner.len) && !reuses_lines(&self.loops, &self.components)
    }

    /// Whether the indices and the listed array span so many bytes that
    /// [prefetching them pays](cpu::is_long).
    pub(in crate::memory) fn is_long(&self) -> bool {
        cpu::is_long(sequential_bytes(&self.loops))
    }

    /// The number of bytes of all arrays that the longest of the loops and axes span.
    pub(in crate::memory) fn touches(&self) -> usize {
        self.span().saturating_add(sequential_bytes(&self.loops))
    }

    /// The number of bytes that the longest of the selected axes spans.
    pub(in crate::memory) fn reach(&self) -> usize {
        reach(&self.components)
    }

    /// Whether the [span](Self::span) is at least so many bytes, unless iterations of the loops reuse
    /// cache lines that stay cached.
    pub(in crate::memory) fn spans(&self, bytes: usize) -> bool {
        self.span() >= bytes && !reuses_lines(&self.loops, &self.components)
    }

    /// The number of bytes that the selected axes or a loop over entries spans, whichever is more.
    pub(in crate::memory) fn span(&self) -> usize {
        span(self.nest(), self.reach()).max(self.larger.1)
    }

    /// This walk, and its rest, as a block of a larger one, not tiled yet, for whose size prefetches are chosen then.
    pub(in crate::memory) fn block_of(mut self, larger: &Walk) -> Self {
        self.larger = (iterations(&larger.loops), span(&larger.loops, larger.reach()));
        for rest in &mut self.rest {
            rest.larger = self.larger;
        }
        self
    }

    /// The number of entries, of the larger walk if this is a block of one.
    pub(in crate::memory) fn all_entries(&self) -> usize {
        self.entries().max(self.larger.0)
    }
}

/// Whether the selected axes span at least half of the L2 cache, so that selected elements are
/// often not in L2.
#[inline]
pub(in crate::memory) fn is_spread(components: &[Component]) -> bool {
    reach(components) >= of_caches(|caches| caches.second / 2, 128)
}

/// Whether the selected axes span so much of the last-level cache that selected rows of `row`
/// elements are often in no cache. A row that misses all caches takes longer to load than a
/// single element, so prefetching rows pays from a smaller span on.
#[inline]
pub(in crate::memory) fn is_far(components: &[Component], row: usize) -> bool {
    let part = |caches: Caches| if row > 1 { caches.last / 8 * 3 } else { caches.last / 2 };
    reach(components) >= of_caches(part, 512)
}

/// Whether iterations of a loop that follow each other are closer in the selected array than
/// adjacent positions along the selected axes: each index then selects among rows of them.
pub(in crate::memory) fn is_inside(components: &[Component], level: &Loop) -> bool {
    // Along an axis of one position all indices select the same, whatever its step.
    let several = components.iter().filter(|component| component.len > 1);
    let across = several.map(|component| component.step.unsigned_abs()).min();
    !components.is_empty()
        && across.is_none_or(|across| level.step.selected.unsigned_abs() < across)
}

/// The number of bytes of the selected array that one of these loops spans, or `reach`, whichever is most.
fn span(loops: &[Loop], reach: usize) -> usize {
    let bytes = |level: &Loop| level.len.saturating_mul(level.step.selected.unsigned_abs());
    loops.iter().map(bytes).fold(reach, usize::max)
}

/// The bytes of the indices and of the listed array together that the loop with the largest span steps
/// over.
pub(super) fn sequential_bytes(loops: &[Loop]) -> usize {
    let bytes = |level: &Loop| {
        let Offsets { indices, listed, .. } = level.step;
        level.len.saturating_mul(indices.unsigned_abs().saturating_add(listed.unsigned_abs()))
    };
    loops.iter().map(bytes).max().unwrap_or(0)
}

/// The number of targets that indices into some axes select among.
pub(in crate::memory) fn targets(components: &[Component]) -> usize {
    components.iter().map(|component| component.len).product()
}

/// The number of bytes that the longest of the selected axes spans.
pub(super) fn reach(components: &[Component]) -> usize {
    let span = |component: &Component| component.len.saturating_mul(component.step.unsigned_abs());
    components.iter().map(span).max().unwrap_or(0)
}
