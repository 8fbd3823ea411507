//! Separates entries whose index selects nothing (gaps) from the others, so that kernels see none. Mostly the
//! kernel runs once over the others, and the gaps are filled at once: a call for each stretch between gaps would
//! take ten times as long as plain loops. Where gaps are rare and rows strided, it runs from gap to gap.

use std::ops::Range;

use super::listed::keep;
use super::{Buffers, Chunk, Part, Run};
use crate::memory::indices::NOWHERE;
use crate::memory::tile::{Gaps, Places, Tile};
use crate::threshold::threshold;

/// The offsets of all entries that select something.
const SOMEWHERE: Range<isize> = NOWHERE + 1..isize::MAX;

/// Bytes of a row up to which it is copied for all entries, and overwritten where an index selects nothing.
const OVERWRITTEN: usize = threshold(64, 8);

/// One of so many entries selects nothing, at most, where the others are run up to each such entry.
const FEW: usize = threshold(16, 4);

impl Run<'_> {
    /// Runs the entries of a chunk of which some select nothing.
    #[inline(never)]
    pub(super) fn with_gaps(&self, chunk: &mut Chunk, buffers: &mut Buffers<'_>, part: &Part) {
        let gaps = self.kernel.gaps();
        if gaps == Gaps::Dropped {
            return self.without_gaps(chunk, buffers, part);
        }
        // Made first, since what is kept may begin further on.
        let without_entries = self.tile_of(chunk, part);
        list_gaps(chunk, buffers);
        let row = self.walk.inner.len.saturating_mul(self.size);
        if gaps == Gaps::Overwritten && row <= OVERWRITTEN {
            close(chunk, buffers);
            self.shared(chunk, buffers, part);
        } else {
            self.without_gaps(chunk, buffers, part);
        }
        let places = buffers.scratch.values();
        // `fill` reads no offset: these tell how many there are.
        let listed = Places::Each(places);
        let mut tile = Tile { offsets: places, places: listed, offset_step: 0, ..without_entries };
        // SAFETY: as in `tile`; the kernel uses no offset.
        #[allow(unsafe_code)]
        self.each_shared(&mut tile, part, |tile| unsafe { self.kernel.fill(tile) });
    }

    /// Runs those entries of a chunk that select something: together, or, if few do not, up to each that does
    /// not, where rows are not contiguous in the list: kernels may transpose what is evenly spaced.
    fn without_gaps(&self, chunk: &mut Chunk, buffers: &mut Buffers<'_>, part: &Part) {
        let (inner, offsets) = (self.walk.inner, buffers.offsets.values());
        let is_gap = |offset: &isize| *offset == NOWHERE;
        let strided = inner.len > 1 && inner.step.listed != self.size as isize;
        let few = || offsets.iter().filter(|offset| is_gap(offset)).count() <= offsets.len() / FEW;
        let (Some(step), true) = (chunk.place_step, strided && few()) else {
            keep(chunk, buffers, &SOMEWHERE);
            return self.shared(chunk, buffers, part);
        };
        let tile = Tile { offsets, places: Places::Every(step), ..self.tile_of(chunk, part) };
        let mut first = 0;
        for entries in offsets.split(is_gap) {
            if !entries.is_empty() {
                self.shared_tile(&mut tile.part(first..first + entries.len()), part);
            }
            first += entries.len() + 1;
        }
    }
}

/// Leaves in `scratch` the places of those entries of a chunk that select nothing.
fn list_gaps(chunk: &Chunk, buffers: &mut Buffers<'_>) {
    buffers.scratch.clear();
    match chunk.place_step {
        Some(step) => {
            buffers.scratch.extend_ramp(buffers.offsets.values().len(), 0, step);
        }
        None => buffers.scratch.extend_copy(buffers.places.values()),
    }
    let places = buffers.scratch.values_mut();
    let mut gaps = 0;
    for (k, offset) in buffers.offsets.values().iter().enumerate() {
        // Written in any case, but counted only if there is a gap: no branch.
        places[gaps] = places[k];
        gaps += usize::from(*offset == NOWHERE);
    }
    buffers.scratch.truncate(gaps);
}

/// Lets entries that select nothing select what the first other entry does; without any, none is left.
fn close(chunk: &mut Chunk, buffers: &mut Buffers<'_>) {
    // What they select is not evenly spaced, even in a run that reads one index.
    *chunk = Chunk { gaps: false, offset_step: 0, ..*chunk };
    let offsets = buffers.offsets.values_mut();
    match offsets.iter().copied().find(|offset| *offset != NOWHERE) {
        Some(other) => {
            for offset in offsets {
                *offset = if *offset == NOWHERE { other } else { *offset };
            }
        }
        None => buffers.offsets.clear(),
    }
}
