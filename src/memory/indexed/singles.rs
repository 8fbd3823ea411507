//! Single elements, copied while their indices are resolved.

use std::ops::Range;
use std::sync::atomic::Ordering;

use super::{Part, Run};
use crate::index::Policy;
use crate::memory::indices::elements::{
    BLOCK, Beside, Does, Elements, Repeated, ShortRuns, Single, Width,
};
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
use crate::memory::indices::tuples;
use crate::memory::indices::{CHUNK, Indices};
use crate::memory::walk::{Component, Cursor, Loop, Offsets};
use crate::threshold::threshold;

/// Elements that are gone through before it is asked whether an index was out of bounds; of
/// tuples, which take less by chunks where one is, the first and then the others.
const AT_ONCE: usize = threshold(4096, 8);
const TUPLES_FIRST: usize = threshold(128, 8);
const TUPLES_AT_ONCE: usize = threshold(1024, 16);

/// Shorter runs of tuples have too much beside them.
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
const FEWEST_TUPLES: usize = threshold(64, 5);

/// Longer runs that select along one axis each are gone through one by one.
const SHORT: usize = threshold(16, 4);

/// Fewer elements of evenly spaced runs are not gone through by themselves.
const EVEN: usize = threshold(96, 4);

impl Run<'_> {
    /// What to do with single elements while their indices are resolved, and as what
    /// to read these, where the kernel knows such a thing and both lists are dense.
    pub(super) fn singly(&self, nest: &[Loop], part: &Part) -> Option<(Single, Width)> {
        let single = self.kernel.single()?;
        let (run, indices) = (nest.last()?, self.indices?);
        let alone = self.walk.outer.len == 1
            && self.walk.inner.len == 1
            && self.walk.shared().is_empty()
            && part.targets.is_none();
        let one = is_repeated(single, nest) && self.walk.components.len() == 1;
        let dense = run.step.listed == single.size as isize || one;
        // Of up to a chunk all may have to be resolved before anything is written.
        let many = run.len > 1 && self.walk.entries() > CHUNK;
        // Elements that are far apart are asked for a chunk at a time, unless their indices rise.
        let near = || !self.walk.is_far() || indices.begin_sorted(self.walk);
        // Few runs that are evenly spaced take longer to begin with than to put together.
        let long = !matches!(nest, [_, .., around, run] if around.len * run.len < EVEN);
        // What an index out of bounds stands for may be written first and then mended.
        let can = alone
            && dense
            && many
            && near()
            && long
            && (self.policy == Policy::Refuse || single.does == Does::Gather);
        if !can {
            return None;
        }
        let combines = |axis: &Component, width: Width| {
            let size = single.size as isize;
            let dense = run.step.selected == 0 && axis.step == size;
            let joined = || run.len > BLOCK || short_runs(width, nest).is_some();
            let beside = run.step.selected == size && joined();
            // Updates of one target are combined with each other first, a chunk at a time.
            (dense && !indices.repeat(self.walk)) || beside
        };
        let width = match &self.walk.components[..] {
            [axis] => indices
                .singly(axis, run.step.indices)
                .filter(|&width| single.does != Does::Combine || combines(axis, width)),
            #[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
            axes if run.len >= FEWEST_TUPLES
                && run.step.selected == 0
                && single.does != Does::Combine =>
            {
                indices.together(run.step.indices, axes)
            }
            _ => None,
        };
        Some((single, width?))
    }

    /// Goes through single elements, as many runs at a time as are evenly spaced. Returns how
    /// many are done: under policies that refuse no index, up to some before the first that
    /// is out of bounds.
    #[inline(never)]
    pub(super) fn singles(
        &self,
        (single, width): (Single, Width),
        nest: &[Loop],
        base: Offsets,
        entries: Range<usize>,
    ) -> usize {
        let Some(indices) = self.indices.map(Indices::start) else { return 0 };
        let axes = &self.walk.components[..];
        let (mut most, then) = match axes {
            _ if self.policy == Policy::Refuse => (usize::MAX, usize::MAX),
            [_] => (AT_ONCE, AT_ONCE),
            _ => (TUPLES_FIRST, TUPLES_AT_ONCE),
        };
        let beside = nest.last().map_or(0, |run| run.step.selected);
        let short_runs = if axes.len() == 1 { short_runs(width, nest) } else { None };
        // SAFETY: all updates are this one, which can be read (`Part`), of a size that fits.
        #[allow(unsafe_code)]
        let one = is_repeated(single, nest).then(|| unsafe {
            Repeated::of(self.listed.wrapping_offset(base.listed), single.size)
        });
        let list = |at: isize| match &one {
            Some(one) => one.start().cast_mut(),
            None => self.listed.wrapping_offset(at),
        };
        let go = |at: Offsets, (lanes, step): (usize, Offsets), count: usize| {
            let (beside, lanes, count, step) = match &short_runs {
                Some(runs) if lanes > 1 => (Beside::Runs(runs), 1, lanes * count, Offsets::ZERO),
                _ => (Beside::Each(beside), lanes, count, step),
            };
            let elements = Elements {
                indices: indices.wrapping_offset(at.indices.wrapping_add(axes[0].at)),
                width,
                count,
                lanes,
                step,
                axes,
                beside,
                selected: self.selected.wrapping_offset(at.selected),
                listed: list(at.listed),
                repeated: one.is_some(),
            };
            // SAFETY: `singly` asked; the places are those of the loops, whose iterations
            // do not leave the arrays, and of this part alone (`Part`); the kernel is that
            // of the arrays' elements (`Run`).
            #[allow(unsafe_code)]
            let inside = unsafe {
                match axes {
                    [_] => (single.run)(&elements),
                    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
                    _ => tuples::copy(&elements, &single, self.policy),
                    #[cfg(not(all(
                        target_arch = "x86_64",
                        target_pointer_width = "64",
                        not(miri)
                    )))]
                    _ => false,
                }
            };
            if !inside && self.policy == Policy::Refuse {
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
                    let (at, lanes) = cursor.take((left / run.len).min((most / run.len).max(1)));
                    if !go(at, (lanes, outer.step), run.len) {
                        break;
                    }
                    left -= lanes * run.len;
                    most = then;
                }
                return entries.len() - left;
            }
        }
        let mut cursor = Cursor::new(nest, base, entries.start);
        while left > 0 {
            let (at, count) = cursor.take(left.min(most));
            if !go(at, (1, Offsets::ZERO), count) {
                break;
            }
            left -= count;
            most = then;
        }
        entries.len() - left
    }
}

/// Whether all indices have the same update.
fn is_repeated(single: Single, nest: &[Loop]) -> bool {
    single.does != Does::Gather
        && (1..=Repeated::LARGEST).contains(&single.size)
        && nest.iter().all(|iteration| iteration.step.listed == 0)
}

/// The innermost runs as one lane, where they are short and follow each other.
fn short_runs(width: Width, nest: &[Loop]) -> Option<ShortRuns> {
    let [.., around, run] = nest else { return None };
    let indices = (run.len * width.size()) as isize;
    let listed = (run.len as isize).wrapping_mul(run.step.listed);
    let follow = (around.step.indices, around.step.listed) == (indices, listed);
    let (beside, across) = (run.step.selected, around.step.selected);
    let short = beside != 0 || run.len <= SHORT;
    if follow && short { ShortRuns::of(run.len, beside, across) } else { None }
}
