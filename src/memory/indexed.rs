//! The executor of the indexed family: walks the loops, turns indices into
//! offsets chunk by chunk, and hands tiles to a kernel.
//!
//! ```text
//! for chunk of entries                      up to 1024 of them
//!   offsets = resolve(indices of the chunk) checked against the axis
//!   for iteration of the shared loops
//!     kernel(tile)                          its outer loop, entries, inner loop
//! ```

mod known;
mod listed;
mod part;
mod runs;
mod singles;

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::Ordering;

use super::buffer::{Buffer, Slot};
use super::indices::{CHUNK, Indices, NOWHERE, add_ramp};
use super::tile::{Kernel, NextIndices, Places, Tile};
use super::walk::{Cursor, FEW, Loop, Loops, Offsets, Walk, iterations};
use crate::index::Policy;
use crate::parallel;
use crate::sync::AtomicBool;
use crate::threshold::threshold;
use listed::keep;
use part::Part;
pub(super) use part::{Cut, Shares};

/// A walk over two arrays and the indices between them, ready to run.
///
/// Invariant: the loops are those of [`Axes`](super::walk::Axes) over the
/// layouts of these arrays, which are borrowed for as long as this; the kernel
/// was made for the two.
pub(super) struct Run<'r> {
    pub(super) walk: &'r Walk,
    pub(super) indices: Option<&'r Indices<'r>>,
    pub(super) policy: Policy,
    pub(super) selected: *mut u8,
    pub(super) listed: *mut u8,
    /// The size of an element of the listed array in bytes.
    pub(super) size: usize,
    pub(super) kernel: &'r dyn Kernel,
    pub(super) spread: bool,
    /// Set where an index was found out of bounds that the policy refuses.
    pub(super) outside: &'r AtomicBool,
}

// SAFETY: the pointers stand for borrows of elements that other threads may
// use (`Strided`, `StridedMut`). Parts that run side by side write no element
// in common: see `Part`.
#[allow(unsafe_code)]
unsafe impl Sync for Run<'_> {}

/// Runs of so many entries that share an index are not put together with others.
const ALONE: usize = threshold(16, 2);

/// Room for a chunk, on the stack.
struct Rooms<'b> {
    offsets: Buffer<'b>,
    places: Buffer<'b>,
    other: Buffer<'b>,
    /// What loops add to what indices select.
    ramps: Buffer<'b>,
}

impl<'b> Rooms<'b> {
    #[inline(always)]
    fn new<const N: usize>([offsets, places, other, ramps]: &'b mut [[Slot; N]; 4]) -> Self {
        Rooms {
            offsets: Buffer::new(offsets),
            places: Buffer::new(places),
            other: Buffer::new(other),
            ramps: Buffer::new(ramps),
        }
    }
}

/// Entries whose offsets are in the room.
struct Chunk {
    base: Offsets,
    /// How far they are apart in the list, unless places are in the room.
    every: Option<isize>,
    /// Whether some of the offsets are [`NOWHERE`].
    gaps: bool,
    /// How far they are apart, where no index comes in between; else 0.
    apart: isize,
    /// The indices that come next.
    next: NextIndices,
}

impl Run<'_> {
    /// Does all of it, in `parts` parts.
    ///
    /// # Safety
    /// The fields are what the invariant says: the walk is one over the layouts
    /// of these very arrays, the kernel was made for their elements, and what is
    /// written is borrowed exclusively. Where there are several parts, `cut`
    /// names a loop that the invariant of [`Part`] allows to be cut.
    #[allow(unsafe_code)]
    pub(super) unsafe fn run(&self, cut: Cut, parts: usize) {
        if parts > 1 {
            parallel::run(parts, &|part| {
                let mut part = Part::of(self.walk, cut, parts, part);
                if cut == Cut::Segments {
                    let Range { start, end } = part.entries;
                    part.entries = self.segment(start)..self.segment(end);
                }
                self.part(&part);
            });
            return;
        }
        if self.known(0..self.walk.entries()) {
            return;
        }
        let few = self.walk.shared().is_empty() && self.walk.entries() <= FEW;
        match self.walk.nest() {
            [] if few => self.once(&Loop::ONCE),
            [run] if few => self.once(run),
            _ => self.part(&Part::whole(self.walk)),
        }
    }

    /// Does all of a walk over one run of few entries. It is what
    /// [`part`](Self::part) does for the only chunk, without what is for many:
    /// that takes as long as the work of a small call.
    #[inline(never)]
    fn once(&self, run: &Loop) {
        let mut slots = [[MaybeUninit::uninit(); FEW]; 4];
        let mut rooms = Rooms::new(&mut slots);
        let base = self.walk.base;
        let Some(gaps) = self.resolve(base.indices, run, run.len, &mut rooms) else {
            return self.outside.store(true, Ordering::Relaxed);
        };
        if run.step.selected != 0 {
            add_ramp(rooms.offsets.values_mut(), run.step.selected, gaps);
        }
        let tile = Tile {
            selected: self.selected.wrapping_offset(base.selected),
            listed: self.listed.wrapping_offset(base.listed),
            offsets: rooms.offsets.values(),
            places: Places::Every(run.step.listed),
            apart: apart(run),
            ..Tile::like(self.walk, self.size, self.spread)
        };
        self.tile(&tile, gaps);
    }

    #[inline(never)]
    fn part(&self, part: &Part) {
        let mut slots = [[MaybeUninit::uninit(); CHUNK]; 4];
        let mut rooms = Rooms::new(&mut slots);
        let walk = self.walk;
        let base = walk
            .base
            .after(part.outer.start, walk.outer.step)
            .after(part.inner.start, walk.inner.step);
        match &part.band {
            None => self.entries(walk.nest(), base, part.entries.clone(), part, &mut rooms),
            Some(band) => self.band(band, base, part, &mut rooms),
        }
    }

    /// All entries, but of one of the loops over them these iterations alone.
    #[inline(never)]
    fn band(
        &self,
        (number, iterations_of_it): &(usize, Range<usize>),
        base: Offsets,
        part: &Part,
        rooms: &mut Rooms<'_>,
    ) {
        let mut nest: Loops = self.walk.nest().iter().copied().collect();
        let band = &mut nest[*number];
        let base = base.after(iterations_of_it.start, band.step);
        band.len = iterations_of_it.len();
        self.entries(&nest, base, 0..iterations(&nest), part, rooms);
    }

    #[inline(always)]
    fn entries(
        &self,
        nest: &[Loop],
        base: Offsets,
        entries: Range<usize>,
        part: &Part,
        rooms: &mut Rooms<'_>,
    ) {
        let mut entries = entries;
        if let Some(single) = self.singly(nest, part) {
            let done = self.singles(single, nest, base, entries.clone());
            // An index that is refused ends it all.
            if done == entries.len() || self.policy == Policy::Refuse {
                return;
            }
            entries.start += done;
        }
        // Without indices, runs of some length are worth a tile of their own; but not where
        // others count on all entries being resolved before the first is used.
        let together =
            |run: &Loop| run.reads_indices() || run.len < ALONE || is_chunk(self.walk.nest());
        if short_run(nest).is_some_and(|(run, _)| together(&run)) {
            return self.runs(nest, base, entries, part, rooms);
        }
        let mut cursor = Cursor::new(nest, base, entries.start);
        let run = nest.last().copied().unwrap_or(Loop::ONCE);
        let mut left = entries.len();
        while left > 0 {
            let (at, count) = cursor.take(left.min(CHUNK));
            left -= count;
            rooms.offsets.clear();
            let Some(gaps) = self.resolve(at.indices, &run, count, rooms) else {
                return self.outside.store(true, Ordering::Relaxed);
            };
            if run.step.selected != 0 {
                add_ramp(rooms.offsets.values_mut(), run.step.selected, gaps);
            }
            let next = match self.indices {
                Some(indices) if count == CHUNK => {
                    indices.start().wrapping_offset(at.after(count, run.step).indices)
                }
                _ => std::ptr::null(),
            };
            let next = NextIndices { start: next, step: run.step.indices };
            let apart = apart(&run);
            let every = Some(run.step.listed);
            self.chunk(Chunk { base: at, every, gaps, apart, next }, rooms, part);
        }
    }

    #[inline(always)]
    fn chunk(&self, mut chunk: Chunk, rooms: &mut Rooms<'_>, part: &Part) {
        if let Some(targets) = &part.targets {
            keep(&mut chunk, rooms, targets);
        }
        self.shared(&chunk, rooms, part);
    }

    /// Hands a chunk to the kernel in each iteration of the shared loops.
    #[inline(always)]
    fn shared(&self, chunk: &Chunk, rooms: &Rooms<'_>, part: &Part) {
        let walk = self.walk;
        let mut tile = Tile {
            selected: self.selected.wrapping_offset(chunk.base.selected),
            listed: self.listed.wrapping_offset(chunk.base.listed),
            offsets: rooms.offsets.values(),
            places: chunk.every.map_or(Places::Each(rooms.places.values()), Places::Every),
            apart: if part.targets.is_none() { chunk.apart } else { 0 },
            long: walk.is_long(),
            next: chunk.next,
            ..Tile::like(walk, self.size, self.spread)
        };
        tile.outer.len = part.outer.len();
        tile.inner.len = part.inner.len();
        if tile.offsets.is_empty() || part.shared.is_empty() {
            return;
        }
        if walk.shared().is_empty() {
            if walk.is_far() {
                tile.prefetch_selected();
            }
            return self.tile(&tile, chunk.gaps);
        }
        self.each_shared(&mut tile, chunk.gaps, part.shared.clone());
    }

    #[inline(never)]
    fn each_shared(&self, tile: &mut Tile<'_>, gaps: bool, iterations: Range<usize>) {
        let (selected, listed) = (tile.selected, tile.listed);
        let mut cursor = Cursor::new(self.walk.shared(), Offsets::ZERO, iterations.start);
        for _ in iterations {
            let (at, _) = cursor.take(1);
            tile.selected = selected.wrapping_offset(at.selected);
            tile.listed = listed.wrapping_offset(at.listed);
            self.tile(tile, gaps);
        }
    }

    #[inline]
    fn tile(&self, tile: &Tile<'_>, gaps: bool) {
        // SAFETY: every place of the tile is one of the loops, whose iterations do
        // not leave the arrays, with an offset that `resolve` has found in
        // bounds; the elements that are written are this part's alone (`Part`),
        // and the two arrays were borrowed apart from each other.
        #[allow(unsafe_code)]
        unsafe {
            if gaps { self.with_gaps(tile) } else { self.kernel.run(tile) }
        }
    }

    /// Hands runs of entries to the kernel that all select something, or nothing.
    ///
    /// # Safety
    /// That of [`Kernel::run`], but for offsets that are [`NOWHERE`].
    #[inline(never)]
    #[allow(unsafe_code)]
    unsafe fn with_gaps(&self, tile: &Tile<'_>) {
        let mut first = 0;
        for run in tile.offsets.chunk_by(|a, b| (*a == NOWHERE) == (*b == NOWHERE)) {
            let part = tile.part(first..first + run.len());
            first += run.len();
            // SAFETY: the caller's promise.
            unsafe {
                if run[0] == NOWHERE {
                    self.kernel.nowhere(&part);
                } else {
                    self.kernel.run(&part);
                }
            }
        }
    }

    /// Adds what the indices of a run select to the room; tells whether some
    /// select nothing, and is nothing where one is refused.
    #[inline(always)]
    fn resolve(&self, at: isize, run: &Loop, count: usize, rooms: &mut Rooms<'_>) -> Option<bool> {
        let Some(indices) = self.indices else {
            rooms.offsets.extend_ramp(count, 0, 0);
            return Some(false);
        };
        let (lane, components) = ((at, run.step.indices), &self.walk.components);
        let (offsets, others) = (&mut rooms.offsets, &mut rooms.other);
        // SAFETY: a run of the loops over the indices, which do not leave them.
        #[allow(unsafe_code)]
        unsafe {
            indices.resolve_all(lane, count, components, self.policy, offsets, others)
        }
    }
}

/// How far the entries of a run are apart in the selected array; 0 where an index comes in
/// between.
#[inline]
fn apart(run: &Loop) -> isize {
    if run.reads_indices() { 0 } else { run.step.selected }
}

/// The innermost loop and those around it, where it is so short that many of
/// its runs make a chunk. Parts of the loops over entries hold whole runs.
fn short_run(nest: &[Loop]) -> Option<(Loop, &[Loop])> {
    let (run, around) = nest.split_last()?;
    (!around.is_empty() && run.len <= CHUNK / 4).then_some((*run, around))
}

/// Whether the entries of these loops are one chunk, so that all of them are
/// resolved before anything is done with the first: loops that are merged later
/// included.
pub(super) fn is_chunk(nest: &[Loop]) -> bool {
    // Runs of up to a quarter are put together.
    iterations(nest) <= if nest.len() > 1 { CHUNK / 4 } else { CHUNK }
}

/// How many entries of these loops stay together where they are cut.
pub(super) fn unit(nest: &[Loop]) -> usize {
    short_run(nest).map_or(1, |(run, _)| run.len)
}

#[cfg(test)]
mod tests;
