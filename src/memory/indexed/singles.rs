//! Single elements, copied while their indices are resolved.

use std::ops::Range;
use std::sync::atomic::Ordering;

use super::{Part, Run};
use crate::index::Policy;
use crate::memory::indices::elements::{Elements, Single};
use crate::memory::indices::{CHUNK, Indices};
use crate::memory::walk::{Cursor, Loop, Offsets};
use crate::threshold::threshold;

impl Run<'_> {
    /// How to copy single elements while their indices are resolved, where the
    /// kernel does nothing else, runs are long enough and both lists are dense.
    pub(super) fn singly(&self, nest: &[Loop], part: &Part) -> Option<(Single, &Indices<'_>)> {
        /// Shorter runs are resolved together.
        const LONG: usize = threshold(80, 4);
        let single = self.kernel.single()?;
        let (run, indices) = (nest.last()?, self.indices?);
        let [axis] = &self.walk.components[..] else { return None };
        let alone = self.walk.outer.len == 1
            && self.walk.inner.len == 1
            && self.walk.shared().is_empty()
            && part.targets.is_none();
        let dense = run.step.selected == 0 && run.step.listed == single.size as isize;
        // Of up to a chunk all may have to be resolved before anything is written.
        let many = run.len >= LONG && self.walk.entries() > CHUNK;
        // Elements that are far apart are asked for a chunk at a time.
        let near = !self.walk.is_far();
        let can = alone && dense && many && near && self.policy == Policy::Refuse;
        (can && indices.can_copy(single, axis, run.step.indices)).then_some((single, indices))
    }

    /// Copies single elements, run by run.
    #[inline(never)]
    pub(super) fn singles(
        &self,
        (single, indices): (Single, &Indices<'_>),
        nest: &[Loop],
        base: Offsets,
        entries: Range<usize>,
    ) {
        let mut cursor = Cursor::new(nest, base, entries.start);
        let mut left = entries.len();
        let axis = self.walk.components[0];
        while left > 0 {
            let (at, count) = cursor.take(left);
            left -= count;
            let elements = Elements {
                indices: indices.start().wrapping_offset(at.indices.wrapping_add(axis.at)),
                count,
                axis,
                selected: self.selected.wrapping_offset(at.selected),
                listed: self.listed.wrapping_offset(at.listed),
                single,
            };
            // SAFETY: `singly` asked; the places are those of the loops, whose turns
            // do not leave the arrays, and of this part alone (`Part`).
            #[allow(unsafe_code)]
            if !unsafe { indices.copy(&elements) } {
                return self.outside.store(true, Ordering::Relaxed);
            }
        }
    }
}
