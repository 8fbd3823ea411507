//! Entries in the order of their targets: by sorted indices, or as a plan has listed them. And
//! parts that have targets of their own.

use std::mem::MaybeUninit;
use std::ops::Range;

use super::part::{Shares, shares};
use super::{Buffers, CHUNK, Chunk, Cut, Part, Run, unit};
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
use crate::memory::cpu;
use crate::memory::plan::{Listed, Listing};
use crate::memory::tile::NextIndices;
use crate::memory::walk::{Component, Cursor, Loop, iterations};
use crate::parallel;
use crate::threshold::threshold;

/// Number of updates in the sample for each part.
const SAMPLE: usize = threshold(64, 4);

impl Run<'_> {
    /// The first entry from `entry` on whose target differs from that of the entry before it, by a
    /// binary search. The indices are sorted.
    pub(super) fn segment_start(&self, entry: usize) -> usize {
        let all = iterations(self.walk.nest());
        let Some(run) = self.walk.nest().last().filter(|_| (1..all).contains(&entry)) else {
            return entry;
        };
        let target = |entry| self.target(run, entry);
        let (before, mut first, mut end) = (target(entry - 1), entry, all);
        while first < end {
            let middle = first + (end - first) / 2;
            if target(middle) == before { first = middle + 1 } else { end = middle }
        }
        first
    }

    /// The offset that an entry of the walk's first run `run` selects.
    pub(super) fn target(&self, run: &Loop, entry: usize) -> isize {
        assert!(entry < run.len, "an entry beyond the run");
        let mut slots = [[MaybeUninit::uninit(); 1]; 4];
        let mut buffers = Buffers::new(&mut slots);
        let at = self.walk.base.after(entry, run.step).indices;
        // An index out of bounds has an offset, too, and is refused when the parts run.
        _ = self.resolve(at, &Loop::ONCE, 1, &mut buffers);
        buffers.offsets.values()[0]
    }

    /// The targets of each of `parts` parts: the same number of positions for each, or, if one part
    /// would have far more updates than others, the same number of updates in a sample. `None` if
    /// one part would be left with nearly all updates.
    pub(in crate::memory) fn shares(&self, parts: usize) -> Option<Shares> {
        let (walk, nest) = (self.walk, self.walk.nest());
        let mut slots = [[MaybeUninit::uninit(); CHUNK]; 4];
        let mut buffers = Buffers::new(&mut slots);
        let wanted = (SAMPLE * parts).min(CHUNK).min(walk.entries());
        for number in 0..wanted {
            let entry = parallel::share(walk.entries(), wanted, number).start;
            let (at, _) = Cursor::new(nest, walk.base, entry).take(1);
            // As above.
            _ = self.resolve(at.indices, &Loop::ONCE, 1, &mut buffers);
        }
        let sample = buffers.offsets.values_mut();
        sample.sort_unstable();
        shares(&walk.components, parts, sample)
    }

    /// Runs the whole walk, in a part for each share of the targets.
    ///
    /// # Safety
    /// That of [`run`](Self::run) for a scatter; no two shares have targets in common.
    #[allow(unsafe_code)]
    pub(in crate::memory) unsafe fn run_shares(&self, shares: &Shares) {
        parallel::run(shares.len(), &|part| {
            let targets = Some(shares[part].clone());
            self.part(&Part { targets, ..Part::whole(self.walk) });
        });
    }

    /// Runs the whole walk, in `parts` parts, each of which selects in an array of its own. The
    /// array of each part starts `stride` bytes after that of the part before.
    ///
    /// # Safety
    /// That of [`run`](Self::run), for each part with its array.
    #[allow(unsafe_code)]
    pub(in crate::memory) unsafe fn run_apart(&self, parts: usize, stride: usize) {
        let cut = Cut::Entries(unit(self.walk.nest(), parts));
        parallel::run(parts, &|part| {
            let selected = self.selected.wrapping_add(part * stride);
            let own = Run { selected, ..*self };
            let part = Part::of(self.walk, cut, parts, part);
            own.part(&part);
        });
    }

    /// Runs the whole walk in the order in which a plan has listed its updates, in `parts` parts.
    ///
    /// # Safety
    /// That of [`run`](Self::run) for a scatter, of which `listing` is one
    /// ([`Indices::listing`](crate::memory::Indices::listing)).
    #[allow(unsafe_code)]
    pub(in crate::memory) unsafe fn run_listed(&self, listing: &Listing, parts: usize) {
        parallel::run(parts, &|part| match listing.range(parts, part) {
            Some(entries) => self.part(&Part { entries, ..Part::whole(self.walk) }),
            None => self.listed(listing.part(parts, part)),
        });
    }

    /// Runs these entries, which are all updates of some targets, chunk by chunk, as if their
    /// indices had been read in this order.
    fn listed(&self, list: Listed<'_>) {
        if self.planned(list) {
            return;
        }
        let Listed { entries, targets } = list;
        let mut slots = [[MaybeUninit::uninit(); CHUNK]; 4];
        let mut buffers = Buffers::new(&mut slots);
        let (walk, whole) = (self.walk, Part::whole(self.walk));
        // Entries are positions along one axis of the listed array. So are targets in the selected
        // array: the selected axes are evenly spaced together (`Indices::listing`).
        let listed = walk.nest().last().copied().unwrap_or(Loop::ONCE);
        let listed = Component { len: listed.len, step: listed.step.listed, at: 0 };
        let step = walk.target_step().unwrap_or(0);
        let selected = Component { len: walk.targets(), step, at: 0 };
        for (entries, targets) in entries.chunks(CHUNK).zip(targets.chunks(CHUNK)) {
            buffers.offsets.clear();
            buffers.places.clear();
            let inside = buffers.offsets.extend_resolved(targets, &selected)
                & buffers.places.extend_resolved(entries, &listed);
            assert!(inside, "lists of another walk");
            let (place_step, next) = (None, NextIndices::NONE);
            let (base, gaps) = (walk.base, false);
            let chunk = Chunk { base, place_step, gaps, offset_step: 0, next };
            self.shared(&chunk, &buffers, &whole);
        }
    }
}

/// Keeps those entries of a chunk whose offset is in `targets`. If all that are left follow each other,
/// they stay evenly spaced.
#[inline(never)]
pub(super) fn keep(chunk: &mut Chunk, buffers: &mut Buffers<'_>, targets: &Range<isize>) {
    let (count, evenly) = (buffers.offsets.values().len(), chunk.place_step.take());
    if let Some(step) = evenly {
        buffers.places.clear();
        buffers.places.extend_ramp(count, 0, step);
    }
    let offsets = buffers.offsets.values_mut();
    let places = buffers.places.values_mut();
    let (mut kept, scanned) = keep_vectorised(offsets, places, targets);
    for k in scanned..count {
        // Written in any case, but counted only if it is kept: no branch.
        let offset = offsets[k];
        offsets[kept] = offset;
        places[kept] = places[k];
        kept += usize::from(targets.contains(&offset));
    }
    buffers.offsets.truncate(kept);
    buffers.places.truncate(kept);
    *chunk = Chunk { gaps: false, offset_step: 0, ..*chunk };
    if let (Some(step), [first, .., last]) = (evenly, buffers.places.values()) {
        if last.wrapping_sub(*first) == step.wrapping_mul(kept as isize - 1) {
            chunk.base.listed = chunk.base.listed.wrapping_add(*first);
            chunk.place_step = evenly;
        }
    }
}

/// Moves the offsets that are in `targets`, and their places, to the front, four at a time. Returns
/// the number of entries kept and the number scanned: all but up to three, or none without AVX2.
fn keep_vectorised(
    offsets: &mut [isize],
    places: &mut [isize],
    targets: &Range<isize>,
) -> (usize, usize) {
    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
    if let Some(avx2) = cpu::Avx2::detect() {
        return cpu::keep(avx2, offsets, places, targets);
    }
    let _ = (offsets, places, targets);
    (0, 0)
}
