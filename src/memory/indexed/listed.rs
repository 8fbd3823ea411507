//! Entries in the order of their targets: sorted indices, and those that a plan
//! has listed. And parts that have targets of their own.

use std::mem::MaybeUninit;
use std::ops::Range;

use super::part::{Shares, shares};
use super::{CHUNK, Chunk, Cut, Part, Rooms, Run, unit};
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
use crate::memory::cpu;
use crate::memory::plan::{Listed, Listing};
use crate::memory::tile::NextIndices;
use crate::memory::walk::{Component, Cursor, Loop, iterations};
use crate::parallel;
use crate::threshold::threshold;

/// How many updates to look at for each part.
const SAMPLE: usize = threshold(64, 4);

impl Run<'_> {
    /// The first entry from this one on whose index is not that of the entry
    /// before it. The indices are sorted.
    pub(super) fn segment(&self, entry: usize) -> usize {
        let all = iterations(self.walk.nest());
        match (&self.indices, self.walk.nest().last()) {
            (Some(indices), Some(run)) if (1..all).contains(&entry) => {
                // SAFETY: entries of the loop over the indices' own axes.
                #[allow(unsafe_code)]
                let index = |entry: usize| unsafe {
                    indices.value(self.walk.base.after(entry, run.step).indices)
                };
                let (before, mut first, mut end) = (index(entry - 1), entry, all);
                while first < end {
                    let middle = first + (end - first) / 2;
                    if index(middle) == before { first = middle + 1 } else { end = middle }
                }
                first
            }
            _ => entry,
        }
    }

    /// The targets of each of so many parts: as many positions each, or, where one would
    /// have far more updates than others, what has as many of a sample of them.
    /// Nothing where one part would be left with nearly all.
    pub(in crate::memory) fn shares(&self, parts: usize) -> Option<Shares> {
        let (walk, nest) = (self.walk, self.walk.nest());
        let mut slots = [[MaybeUninit::uninit(); CHUNK]; 4];
        let mut rooms = Rooms::new(&mut slots);
        let wanted = (SAMPLE * parts).min(CHUNK).min(walk.entries());
        for number in 0..wanted {
            let entry = parallel::share(walk.entries(), wanted, number).start;
            let (at, _) = Cursor::new(nest, walk.base, entry).take(1);
            self.resolve(at.indices, &Loop::ONCE, 1, &mut rooms);
        }
        let sample = rooms.offsets.values_mut();
        sample.sort_unstable();
        shares(&walk.components, parts, sample)
    }

    /// Does all of it, a part for each share of the targets.
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

    /// Does all of it, in `parts` parts, each of which selects in an array of its
    /// own: it starts `every` bytes after that of the part before.
    ///
    /// # Safety
    /// That of [`run`](Self::run), for each part with its array.
    #[allow(unsafe_code)]
    pub(in crate::memory) unsafe fn run_apart(&self, parts: usize, every: usize) {
        let cut = Cut::Entries(unit(self.walk.nest()));
        parallel::run(parts, &|part| {
            let selected = self.selected.wrapping_add(part * every);
            let own = Run { selected, ..*self };
            let part = Part::of(self.walk, cut, parts, part);
            if !own.known(part.entries.clone()) {
                own.part(&part);
            }
        });
    }

    /// Does all of it as a plan has listed it, in `parts` parts.
    ///
    /// # Safety
    /// That of [`run`](Self::run) for a scatter, of which `listing` is one
    /// ([`Indices::listing`]).
    #[allow(unsafe_code)]
    pub(in crate::memory) unsafe fn run_listed(&self, listing: &Listing, parts: usize) {
        parallel::run(parts, &|part| self.listed(listing.part(parts, part)));
    }

    /// The updates of some targets: each chunk of them as a tile, as if the
    /// indices had been read in this order.
    fn listed(&self, list: Listed<'_>) {
        if self.known_listed(list) {
            return;
        }
        let Listed { entries, targets } = list;
        let mut slots = [[MaybeUninit::uninit(); CHUNK]; 4];
        let mut rooms = Rooms::new(&mut slots);
        let (walk, whole) = (self.walk, Part::whole(self.walk));
        // Places in the list, and, since their steps are even, places in all the
        // axes that are selected along.
        let listed = walk.nest().last().copied().unwrap_or(Loop::ONCE);
        let listed = Component { len: listed.len, step: listed.step.listed, at: 0 };
        let space = walk.components.iter().map(|one| one.len).product();
        let step = walk.components.last().map_or(0, |one| one.step);
        let selected = Component { len: space, step, at: 0 };
        for (entries, targets) in entries.chunks(CHUNK).zip(targets.chunks(CHUNK)) {
            rooms.offsets.clear();
            rooms.places.clear();
            let inside = rooms.offsets.extend_resolved(targets, &selected)
                & rooms.places.extend_resolved(entries, &listed);
            assert!(inside, "lists of another walk");
            let (every, next) = (None, NextIndices::NONE);
            let chunk = Chunk { base: walk.base, every, gaps: false, apart: 0, next };
            self.shared(&chunk, &rooms, &whole);
        }
    }
}

/// Keeps the entries of a chunk that select among these targets.
#[inline(never)]
pub(super) fn keep(chunk: &mut Chunk, rooms: &mut Rooms<'_>, targets: &Range<isize>) {
    let count = rooms.offsets.values().len();
    if let Some(step) = chunk.every.take() {
        rooms.places.clear();
        rooms.places.extend_ramp(count, 0, step);
    }
    let offsets = rooms.offsets.values_mut();
    let places = rooms.places.values_mut();
    let (mut kept, seen) = keep_in_fours(offsets, places, targets);
    for k in seen..count {
        // Written in any case, counted where it is to be kept: no branch.
        let offset = offsets[k];
        offsets[kept] = offset;
        places[kept] = places[k];
        kept += usize::from(targets.contains(&offset));
    }
    rooms.offsets.truncate(kept);
    rooms.places.truncate(kept);
    chunk.gaps = false;
}

/// Does so with most of them, where the processor offers instructions for it: how
/// many were kept, and how many were seen.
fn keep_in_fours(
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
