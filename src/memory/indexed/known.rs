//! Elements whose positions a plan knows: a kernel reads them as the plan holds
//! them, half as many bytes as indices have, and none become offsets first.

use std::ops::Range;

use super::Run;
use crate::memory::cpu;
use crate::memory::plan::Listed;
use crate::memory::tile::{Known, KnownRun};
use crate::threshold::threshold;

/// How many elements are asked for together.
const BLOCK: usize = threshold(256, 16);

impl Run<'_> {
    /// Does these entries in this way, on one thread, where it can.
    pub(super) fn known(&self, entries: Range<usize>) -> bool {
        // Asked first, since most calls have no plan.
        let Some(positions) = self.indices.and_then(|indices| indices.known(self.walk)) else {
            return false;
        };
        let Some(kernel) = self.known_kernel() else { return false };
        let before = entries.start * self.size;
        let own = Run { listed: self.listed.wrapping_add(before), ..*self };
        own.known_elements(kernel, &positions[entries], None);
        true
    }

    /// The same with what a plan has listed.
    pub(super) fn known_listed(&self, Listed { entries, targets }: Listed<'_>) -> bool {
        let Some(kernel) = self.known_kernel() else { return false };
        self.known_elements(kernel, targets, Some(entries));
        true
    }

    /// The kernel for that, if this is a walk from element to element of a list, over
    /// dense elements.
    fn known_kernel(&self) -> Option<KnownRun> {
        let walk = self.walk;
        let ([entries], [.., last]) = (walk.nest(), &walk.components[..]) else { return None };
        let steps = [last.step, entries.step.listed];
        let each = walk.shared().is_empty() && walk.outer.len == 1 && walk.inner.len == 1;
        if each && steps == [self.size as isize; 2] { self.kernel.known() } else { None }
    }

    /// Entries number by number, or the first, the second, ...
    fn known_elements(&self, kernel: KnownRun, positions: &[u32], entries: Option<&[u32]>) {
        let (walk, far) = (self.walk, self.walk.is_far());
        let long = cpu::is_long(positions.len().saturating_mul(size_of::<u32>() + self.size));
        let selected = self.selected.wrapping_offset(walk.base.selected);
        let mut listed = self.listed.wrapping_offset(walk.base.listed).cast_const();
        let mut entries = entries.map(|entries| entries.chunks(BLOCK));
        for positions in positions.chunks(BLOCK) {
            if far {
                for &position in positions {
                    let by = (position as usize).wrapping_mul(self.size);
                    cpu::prefetch_line_l2(selected.wrapping_add(by));
                }
            }
            if long {
                cpu::prefetch_ahead(positions.as_ptr().cast(), size_of_val(positions));
                if entries.is_none() {
                    cpu::prefetch_ahead(listed, positions.len() * self.size);
                }
            }
            let entries = entries.as_mut().map(|chunks| chunks.next().unwrap_or_default());
            // SAFETY: the positions are those of a plan, of as many entries and
            // targets as the walk has (`Indices::known`, `Indices::listing`), which are
            // elements of these arrays (`known_kernel`); the target is borrowed exclusively,
            // and parts have no targets in common (`Listing`).
            #[allow(unsafe_code)]
            unsafe {
                kernel(&Known { selected, listed, positions, entries });
            }
            if entries.is_none() {
                listed = listed.wrapping_add(positions.len() * self.size);
            }
        }
    }
}
