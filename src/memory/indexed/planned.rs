//! Elements whose positions a plan holds: a kernel reads the positions as the plan stores them, in
//! half as many bytes as indices, and they are not resolved to offsets first.

use std::ops::Range;

use super::Run;
use crate::memory::cpu;
use crate::memory::plan::Listed;
use crate::memory::tile::{Planned, PlannedFn};
use crate::threshold::threshold;

/// Number of elements that are prefetched at once.
const BLOCK: usize = threshold(256, 16);

impl Run<'_> {
    /// Runs these entries by the positions of a plan, on the calling thread. Returns false, and
    /// does nothing, if there are no such positions or no kernel for them.
    pub(super) fn planned(&self, entries: Range<usize>) -> bool {
        // Checked first, since most calls have no plan.
        let Some(positions) = self.indices.and_then(|indices| indices.planned(self.walk)) else {
            return false;
        };
        let Some(kernel) = self.planned_kernel() else { return false };
        let before = entries.start * self.size;
        let own = Run { listed: self.listed.wrapping_add(before), ..*self };
        own.planned_elements(kernel, &positions[entries], None);
        true
    }

    /// The same for the entries and targets that a plan has listed.
    pub(super) fn planned_listed(&self, Listed { entries, targets }: Listed<'_>) -> bool {
        let Some(kernel) = self.planned_kernel() else { return false };
        self.planned_elements(kernel, targets, Some(entries));
        true
    }

    /// The kernel for positions of a plan, if there is one and this is a walk over single elements that
    /// are dense in both arrays.
    fn planned_kernel(&self) -> Option<PlannedFn> {
        let walk = self.walk;
        let ([entries], [.., last]) = (walk.nest(), &walk.components[..]) else { return None };
        let steps = [last.step, entries.step.listed];
        if walk.is_nest() && steps == [self.size as isize; 2] {
            self.kernel.planned()
        } else {
            None
        }
    }

    /// Runs the kernel for these positions, which are those of `entries`, or, if that is `None`, of
    /// the entries 0, 1, 2, ...
    fn planned_elements(&self, kernel: PlannedFn, positions: &[u32], entries: Option<&[u32]>) {
        let (walk, far) = (self.walk, self.walk.is_far());
        let long = cpu::is_long(walk.entries().saturating_mul(size_of::<u32>() + self.size));
        let selected = self.selected.wrapping_offset(walk.base.selected);
        let mut listed = self.listed.wrapping_offset(walk.base.listed).cast_const();
        let mut entries = entries.map(|entries| entries.chunks(BLOCK));
        for positions in positions.chunks(BLOCK) {
            if far {
                for &position in positions {
                    let offset = (position as usize).wrapping_mul(self.size);
                    cpu::prefetch_line_l2(selected.wrapping_add(offset));
                }
            }
            if long {
                cpu::prefetch_ahead(positions.as_ptr().cast(), size_of_val(positions));
                if entries.is_none() {
                    cpu::prefetch_ahead(listed, positions.len() * self.size);
                }
            }
            let entries = entries.as_mut().map(|chunks| chunks.next().unwrap_or_default());
            // SAFETY: the positions are those of a plan for as many entries and targets as the walk
            // has (`Indices::planned`, `Indices::listing`), which are elements of these arrays
            // (`planned_kernel`); the target is borrowed exclusively, and parts have no targets in
            // common (`Listing`).
            #[allow(unsafe_code)]
            unsafe {
                kernel(&Planned { selected, listed, positions, entries });
            }
            if entries.is_none() {
                listed = listed.wrapping_add(positions.len() * self.size);
            }
        }
    }
}
