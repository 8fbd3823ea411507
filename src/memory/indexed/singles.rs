//! Single elements, copied while their indices are resolved.

use std::ops::Range;
use std::sync::atomic::Ordering;

use super::{Part, Run};
use crate::index::Policy;
use crate::memory::indices::elements::{Elements, Single};
use crate::memory::indices::{CHUNK, Indices};
use crate::memory::walk::{Cursor, Loop, Offsets};

impl Run<'_> {
    /// How to copy single elements while their indices are resolved, where the
    /// kernel does nothing else and both lists are dense.
    pub(super) fn singly(&self, nest: &[Loop], part: &Part) -> Option<(Single, &Indices<'_>)> {
        let single = self.kernel.single()?;
        let (run, indices) = (nest.last()?, self.indices?);
        let [axis] = &self.walk.components[..] else { return None };
        let alone = self.walk.outer.len == 1
            && self.walk.inner.len == 1
            && self.walk.shared().is_empty()
            && part.targets.is_none();
        let dense = run.step.listed == single.size as isize;
        // Of up to a chunk all may have to be resolved before anything is written.
        let many = run.len > 1 && self.walk.entries() > CHUNK;
        // Elements that are far apart are asked for a chunk at a time.
        let near = !self.walk.is_far();
        let can = alone && dense && many && near && self.policy == Policy::Refuse;
        (can && indices.can_copy(single, axis, run.step.indices)).then_some((single, indices))
    }

    /// Copies single elements, as many runs at a time as are evenly spaced.
    #[inline(never)]
    pub(super) fn singles(
        &self,
        (single, indices): (Single, &Indices<'_>),
        nest: &[Loop],
        base: Offsets,
        entries: Range<usize>,
    ) {
        let axis = self.walk.components[0];
        let beside = nest.last().map_or(0, |run| run.step.selected);
        let copy = |at: Offsets, (lanes, step): (usize, Offsets), count: usize| {
            let elements = Elements {
                indices: indices.start().wrapping_offset(at.indices.wrapping_add(axis.at)),
                count,
                lanes,
                step,
                axis,
                beside,
                selected: self.selected.wrapping_offset(at.selected),
                listed: self.listed.wrapping_offset(at.listed),
                single,
            };
            // SAFETY: `singly` asked; the places are those of the loops, whose turns
            // do not leave the arrays, and of this part alone (`Part`).
            #[allow(unsafe_code)]
            let inside = unsafe { indices.copy(&elements) };
            if !inside {
                self.outside.store(true, Ordering::Relaxed);
            }
            inside
        };
        let mut left = entries.len();
        // Whole runs go together.
        if let Some((run, around @ [.., outer])) = nest.split_last() {
            if entries.start.is_multiple_of(run.len) && left.is_multiple_of(run.len) {
                let mut cursor = Cursor::new(around, base, entries.start / run.len);
                while left > 0 {
                    let (at, lanes) = cursor.take(left / run.len);
                    left -= lanes * run.len;
                    if !copy(at, (lanes, outer.step), run.len) {
                        return;
                    }
                }
                return;
            }
        }
        let mut cursor = Cursor::new(nest, base, entries.start);
        while left > 0 {
            let (at, count) = cursor.take(left);
            left -= count;
            if !copy(at, (1, Offsets::ZERO), count) {
                return;
            }
        }
    }
}
