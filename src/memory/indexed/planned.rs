//! Elements that a plan has listed by target: a kernel reads positions and entries as the plan stores them,
//! and they are not resolved to offsets first.

use super::Run;
use crate::memory::cpu;
use crate::memory::plan::Listed;
use crate::memory::tile::{Planned, PlannedFn};
use crate::threshold::threshold;

/// Number of elements that are prefetched at once.
const BLOCK: usize = threshold(256, 16);

impl Run<'_> {
    /// The kernel for elements that a plan has listed, if there is one and this is a walk over single elements that
    /// are dense in both arrays.
    fn planned_kernel(&self) -> Option<PlannedFn> {
        let walk = self.walk;
        let [entries] = walk.nest() else { return None };
        let steps = [walk.target_step()?, entries.step.listed];
        if walk.is_nest() && steps == [self.size as isize; 2] {
            self.kernel.planned()
        } else {
            None
        }
    }

    /// Runs the entries and targets that a plan has listed. Returns false, and does nothing, if there is no
    /// kernel for them.
    pub(super) fn planned(&self, Listed { entries, targets }: Listed<'_>) -> bool {
        let Some(kernel) = self.planned_kernel() else { return false };
        let (walk, far) = (self.walk, self.walk.is_far());
        let long = cpu::is_long(walk.entries().saturating_mul(size_of::<u32>() + self.size));
        let selected = self.selected.wrapping_offset(walk.base.selected);
        let listed = self.listed.wrapping_offset(walk.base.listed).cast_const();
        for (positions, entries) in targets.chunks(BLOCK).zip(entries.chunks(BLOCK)) {
            if far {
                for &position in positions {
                    let offset = (position as usize).wrapping_mul(self.size);
                    cpu::prefetch_line_l2(selected.wrapping_add(offset));
                }
            }
            if long {
                cpu::prefetch_ahead(positions.as_ptr().cast(), size_of_val(positions));
            }
            // SAFETY: the positions are those of a plan for as many entries and targets as the walk
            // has (`Indices::listing`), which are elements of these arrays (`planned_kernel`); the
            // target is borrowed exclusively, and parts have no targets in common (`Listing`).
            #[allow(unsafe_code)]
            unsafe {
                kernel(&Planned { selected, listed, positions, entries });
            }
        }
        true
    }
}
