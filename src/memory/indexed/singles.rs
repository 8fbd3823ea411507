//! Single elements, copied or combined while their indices are resolved.

use std::ops::Range;

use super::{Part, Run};
use crate::index::Policy;
use crate::memory::indices::elements::{Action, Beside, Elements, Prefetch, Single};
use crate::memory::indices::repeated::{LARGEST, Repeated};
use crate::memory::indices::short_runs::{Joined, ShortRuns};
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
use crate::memory::indices::tuples;
use crate::memory::indices::{CHUNK, Indices};
use crate::memory::tile::are_dense;
use crate::memory::walk::{Cursor, Loop, Offsets};
use crate::parallel;
use crate::threshold::threshold;

/// Number of elements between two checks whether an index was out of bounds.
const AT_ONCE: usize = threshold(4096, 8);
/// Number of elements that tuples select, before the first check: if an index is out of bounds,
/// tuples take less time chunk by chunk.
const TUPLES_FIRST: usize = threshold(128, 8);
/// Number of elements that tuples select, between two later checks.
const TUPLES_AT_ONCE: usize = threshold(1024, 16);

/// Fewest tuples of a run: shorter runs have too much overhead.
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
const FEWEST_TUPLES: usize = threshold(64, 5);

/// Fewest elements of the evenly spaced runs of two loops, if there are loops around these.
const FEWEST_EVEN: usize = threshold(96, 4);

/// Fewest elements of a run, each of which selects from a lane of its own, to be combined one by one: 3677
/// sums of `bf16` in each of 80 of 160 lanes take 0.28 ms so, and 0.34 chunk by chunk.
const FEWEST_BESIDE: usize = threshold(16, 4);

/// Fewest indices of one or two bytes of a run that is not joined with others: each such run is widened by
/// itself.
const FEWEST_NARROW: usize = threshold(64, 5);

/// A kernel for single elements, and how it reads the indices of a nest.
pub(super) struct SingleKernel {
    single: Single,
    /// The innermost loops whose runs make one lane, if they do and no run is divided.
    joined: Option<Joined>,
}

/// Whether these entries are whole runs.
pub(super) fn are_whole(entries: &Range<usize>, run: usize) -> bool {
    entries.start.is_multiple_of(run) && entries.end.is_multiple_of(run)
}

impl Run<'_> {
    /// The kernel for single elements that resolves their indices itself, for these entries, if there
    /// is one and both indices and listed elements are contiguous.
    pub(super) fn single_kernel(
        &self,
        nest: &[Loop],
        entries: &Range<usize>,
        part: &Part,
    ) -> Option<SingleKernel> {
        let single = self.kernel.single()?;
        let (run, indices) = (nest.last()?, self.indices?);
        if part.targets.is_some() || !self.serves_singles(single, nest, run) {
            return None;
        }
        let is_copied = matches!(single.action, Action::Gather | Action::Write);
        let combines = |joined: bool| {
            if run.step.selected == 0 {
                return single.waits.is_none_or(|part| !indices.repeat(self.walk, part));
            }
            joined || run.len >= FEWEST_BESIDE
        };
        let joined = match &self.walk.components[..] {
            [axis] if indices.serve_singles(axis, run.step.indices) => {
                let joined = Joined::of(nest, indices.size());
                let joined = joined.filter(|it| are_whole(entries, it.run));
                let widened = joined.is_some() || run.len >= FEWEST_NARROW;
                let reads = widened || !indices.width().is_narrow();
                (reads && (is_copied || combines(joined.is_some()))).then_some(joined)
            }
            #[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
            axes if run.len >= FEWEST_TUPLES && run.step.selected == 0 && is_copied => {
                indices.serve_tuples(run.step.indices, axes).then_some(None)
            }
            _ => None,
        }?;
        // It takes longer to start on a few evenly spaced runs than to join them to a chunk.
        let (first, len) = joined.map_or((nest.len() - 1, run.len), |it| (it.first, it.run));
        let long = first < 2 || nest[first - 1].len * len >= FEWEST_EVEN;
        long.then_some(SingleKernel { single, joined })
    }

    /// Whether this is a walk over many single elements whose listed elements are contiguous, or one
    /// for all, and which may be used while indices are resolved.
    fn serves_singles(&self, single: Single, nest: &[Loop], run: &Loop) -> bool {
        let (walk, axes) = (self.walk, self.walk.components.len());
        let repeated = is_repeated(single, nest) && axes == 1;
        let dense = run.step.listed == single.size as isize || repeated;
        let many = run.len > 1 && walk.entries() > CHUNK;
        // Far elements that tuples select are prefetched a chunk at a time instead, unless the tuples
        // are sorted and leave little out.
        let near = || axes == 1 || !walk.is_far() || self.selects_densely(run);
        // For an index out of bounds a wrong element is written first: only a gather may overwrite
        // it later.
        let refuses = self.policy == Policy::Refuse || single.action == Action::Gather;
        walk.is_nest() && dense && many && refuses && near()
    }

    /// Whether the indices of a run are sorted and [dense](are_dense), judged by a sample.
    fn selects_densely(&self, run: &Loop) -> bool {
        const SAMPLES: usize = 64;
        if run.len < 2 || !self.indices.is_some_and(|indices| indices.begin_sorted(self.walk)) {
            return false;
        }
        let pairs = run.len - 1;
        let samples = SAMPLES.min(pairs);
        let gaps = (0..samples).map(|sample| {
            let first = parallel::share(pairs, samples, sample).start;
            self.target(run, first).abs_diff(self.target(run, first + 1))
        });
        are_dense(gaps, self.size)
    }

    /// Number of elements that are run at first, and from then on, between two checks whether an index
    /// was out of bounds.
    fn limits(&self) -> (usize, usize) {
        match self.walk.components.len() {
            _ if self.policy == Policy::Refuse => (usize::MAX, usize::MAX),
            1 => (AT_ONCE, AT_ONCE),
            _ => (TUPLES_FIRST, TUPLES_AT_ONCE),
        }
    }

    /// Runs the kernel over single elements, several evenly spaced runs at a time. Returns the
    /// number of entries that are done: under policies that refuse no index, all up to some entry
    /// before the first index out of bounds.
    #[inline(never)]
    pub(super) fn run_singles(
        &self,
        SingleKernel { single, joined }: SingleKernel,
        nest: &[Loop],
        base: Offsets,
        entries: Range<usize>,
    ) -> usize {
        let Some(indices) = self.indices else { return 0 };
        let short_runs = joined
            .and_then(|it| ShortRuns::of(&nest[it.first..], nest[it.first - 1].step.selected));
        // SAFETY: this is the update of all entries, which can be read (`Run`), of a size that
        // fits (`is_repeated`).
        #[allow(unsafe_code)]
        let repeated = is_repeated(single, nest).then(|| unsafe {
            Repeated::of(self.listed.wrapping_offset(base.listed), single.size)
        });
        let mut elements = self.all_elements(indices, self.prefetch(nest, joined));
        elements.beside = match &short_runs {
            Some(runs) => Beside::Runs(runs),
            None => Beside::Each(nest.last().map_or(0, |run| run.step.selected)),
        };
        if let Some(value) = &repeated {
            (elements.listed, elements.repeated) = (value.start().cast_mut(), true);
        }
        // Whole runs are lanes, several of which are run at a time.
        let lanes = joined.or_else(|| match nest {
            [_, .., run] if are_whole(&entries, run.len) => {
                Some(Joined { first: nest.len() - 1, run: run.len })
            }
            _ => None,
        });
        let (around, run) = lanes.map_or((nest, 1), |it| (&nest[..it.first], it.run));
        let (mut limit, next_limit) = self.limits();
        let mut cursor = Cursor::new(around, base, entries.start / run);
        let mut left = entries.len();
        while left > 0 {
            let (at, taken) = cursor.take((left.min(limit) / run).max(1));
            let (lanes, step, count) = match (lanes, &short_runs) {
                (None, _) => (1, Offsets::ZERO, taken),
                (Some(_), Some(_)) => (1, Offsets::ZERO, taken * run),
                (Some(it), None) => (taken, around[it.first - 1].step, run),
            };
            let some = Elements { lanes, step, count, ..elements };
            if !self.run_lanes(indices, &single, some, at) {
                break;
            }
            left -= taken * run;
            limit = next_limit;
        }
        entries.len() - left
    }

    /// What all lanes have in common, with the starts of the arrays.
    #[inline(always)]
    fn all_elements<'e>(&'e self, indices: &Indices<'_>, prefetch: Prefetch) -> Elements<'e> {
        let axes = &self.walk.components[..];
        Elements {
            // The first number of each index is where the index begins.
            indices: indices.start(),
            width: indices.width(),
            count: 0,
            lanes: 0,
            step: Offsets::ZERO,
            axes,
            beside: Beside::Each(0),
            selected: self.selected,
            listed: self.listed,
            repeated: false,
            prefetch,
        }
    }

    /// Runs the kernel over lanes of these indices that begin at this distance from those of `elements`,
    /// by the kernel for `single` elements. Returns false if an index is out of bounds.
    #[inline]
    fn run_lanes(
        &self,
        indices: &Indices<'_>,
        single: &Single,
        elements: Elements<'_>,
        at: Offsets,
    ) -> bool {
        let listed = if elements.repeated { 0 } else { at.listed };
        let lanes = Elements {
            indices: elements.indices.wrapping_offset(at.indices),
            selected: elements.selected.wrapping_offset(at.selected),
            listed: elements.listed.wrapping_offset(listed),
            ..elements
        };
        // SAFETY: `single_kernel` has checked what the kernel requires; the addresses are those
        // of iterations of the loops, which do not leave the arrays (`Axes`), and are this
        // part's alone (`Part`); the kernel is that of the arrays' elements (`Run`); widened indices
        // are as many, in a buffer (`visit_widened`).
        #[allow(unsafe_code)]
        let inside = unsafe {
            match lanes.axes {
                [_] => {
                    let run = |lanes: &Elements<'_>| self.kernel.run_single(lanes);
                    indices.visit_widened(lanes, single.size, run)
                }
                #[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
                _ => tuples::copy(&lanes, single, self.policy),
                #[cfg(not(all(target_arch = "x86_64", target_pointer_width = "64", not(miri))))]
                _ => false,
            }
        };
        if !inside && self.policy == Policy::Refuse {
            self.refusal.set();
        }
        inside
    }
}

/// Whether all entries of a scatter have the same update, of a size that fits in [`Repeated`].
fn is_repeated(single: Single, nest: &[Loop]) -> bool {
    matches!(single.action, Action::Write | Action::Combine)
        && (1..=LARGEST).contains(&single.size)
        && nest.iter().all(|level| level.step.listed == 0)
}
