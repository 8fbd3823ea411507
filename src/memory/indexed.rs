//! The executor of gathers, scatters and copies: runs the loop nest, resolves indices to offsets
//! chunk by chunk, and hands tiles to a kernel.
//!
//! ```text
//! for chunk of entries                      up to 1024 entries
//!   offsets = resolve(indices of the chunk) checked against the axis
//!   for iteration of the shared loops
//!     kernel(tile)                          its outer loop, entries, inner loop
//! ```

mod gaps;
mod listed;
mod part;
mod planned;
mod prefetch;
mod runs;
mod singles;

use std::mem::MaybeUninit;
use std::ops::Range;

use super::buffer::{Buffer, Slot};
use super::indices::{CHUNK, Indices, add_ramp};
use super::refused::{Refusal, Refused};
use super::tile::{Kernel, NextIndices, Places, Steps, Tile};
use super::walk::{Cursor, FEW, LONG_RUN, Loop, Loops, Offsets, Walk, iterations};
use crate::index::Policy;
use crate::parallel;
use crate::threshold::threshold;
use listed::keep;
use part::Part;
pub(super) use part::{Cut, Shares};

/// A walk over two arrays and the indices between them, ready to run.
///
/// Invariant: every address that the loops reach, by offsets in bounds, is that of an element of one
/// of the two arrays, which are borrowed for `'r`, as [`Axes`](super::walk::Axes) makes loops, or those over
/// copies of indices and updates ([`Contiguous`](super::copied::Contiguous)); the
/// kernel was made for the two arrays.
pub(super) struct Run<'r> {
    pub(super) walk: &'r Walk,
    pub(super) indices: Option<&'r Indices<'r>>,
    pub(super) policy: Policy,
    pub(super) selected: *mut u8,
    pub(super) listed: *mut u8,
    /// Size of an element of the listed array in bytes.
    pub(super) size: usize,
    pub(super) kernel: &'r dyn Kernel,
    pub(super) refusal: &'r Refusal,
}

// SAFETY: the pointers stand for borrows of elements that other threads may use (`Strided`,
// `StridedMut`). Parts that run at the same time write no element in common (`Part`).
#[allow(unsafe_code)]
unsafe impl Sync for Run<'_> {}

/// Most entries of a run that is joined to a chunk with others.
const SHORT_RUN: usize = CHUNK / 4;

/// Memory for the offsets of a chunk, on the stack.
struct Buffers<'b> {
    /// Offsets in bytes in the selected array, one for each entry.
    offsets: Buffer<'b>,
    /// Offsets in bytes in the listed array, one for each entry, if they are not evenly spaced.
    places: Buffer<'b>,
    /// While indices are resolved, the offsets of one number of each tuple; later, the places of entries that
    /// select nothing and are to be filled.
    scratch: Buffer<'b>,
    /// What the loops add, in each iteration, to the offset that an index selects.
    ramps: Buffer<'b>,
}

impl<'b> Buffers<'b> {
    #[inline(always)]
    fn new<const N: usize>([offsets, places, scratch, ramps]: &'b mut [[Slot; N]; 4]) -> Self {
        Buffers {
            offsets: Buffer::new(offsets),
            places: Buffer::new(places),
            scratch: Buffer::new(scratch),
            ramps: Buffer::new(ramps),
        }
    }
}

/// Entries whose offsets are in the [`Buffers`].
struct Chunk {
    /// The offsets to which those in the buffers are relative.
    base: Offsets,
    /// The distance in bytes from one entry to the next in the listed array, unless
    /// [`Buffers::places`] holds the place of each.
    place_step: Option<isize>,
    /// Whether some of the offsets are [`NOWHERE`](super::indices::NOWHERE).
    gaps: bool,
    /// The distance in bytes from each offset to the next, if no index is read in between; else 0.
    offset_step: isize,
    /// The indices that are read after this chunk.
    next: NextIndices,
}

impl Run<'_> {
    /// Runs the whole walk, in this number of parts, which cut this loop.
    ///
    /// # Safety
    /// The fields are what the invariant says: the walk is one over the layouts of these very
    /// arrays, the kernel was made for their elements, and the array that it writes is borrowed
    /// exclusively. If there are several parts, the invariant of [`Part`] allows the loop to be cut.
    #[allow(unsafe_code)]
    pub(super) unsafe fn run(&self, (cut, parts): (Cut, usize)) {
        if parts > 1 {
            parallel::run(parts, &|part| match cut {
                // SAFETY: the caller's promise.
                Cut::Segments => unsafe { self.segment(parts, part) },
                _ => self.part(&Part::of(self.walk, cut, parts, part)),
            });
            return;
        }
        let few = self.walk.shared().is_empty() && self.walk.entries() <= FEW;
        let done = match self.walk.nest() {
            [] if few => self.once(&Loop::ONCE),
            [run] if few => self.once(run),
            _ => false,
        };
        if !done {
            self.part(&Part::whole(self.walk));
        }
    }

    /// Runs part number `part` of `parts` of a walk whose only loop has sorted indices: no two parts have
    /// a target in common.
    ///
    /// # Safety
    /// That of [`run`](Self::run) with [`Cut::Segments`].
    #[allow(unsafe_code)]
    pub(super) unsafe fn segment(&self, parts: usize, part: usize) {
        let mut part = Part::of(self.walk, Cut::Segments, parts, part);
        let Range { start, end } = part.entries;
        part.entries = self.segment_start(start)..self.segment_start(end);
        self.part(&part);
    }

    /// Runs a whole walk over one run of few entries. It does what [`part`](Self::part) does for the only
    /// chunk, without the loops around several chunks, which take as long as the work of a small call.
    /// Returns false, with nothing done, if some entries select nothing.
    #[inline(never)]
    fn once(&self, run: &Loop) -> bool {
        let mut slots = [[MaybeUninit::uninit(); FEW]; 4];
        let mut buffers = Buffers::new(&mut slots);
        let base = self.walk.base;
        match self.resolve(base.indices, run, run.len, &mut buffers) {
            Ok(true) => return false,
            Ok(false) => {}
            Err(Refused) => {
                self.refusal.set();
                return true;
            }
        }
        if run.step.selected != 0 {
            add_ramp(buffers.offsets.values_mut(), run.step.selected, false);
        }
        self.tile(&Tile {
            selected: self.selected.wrapping_offset(base.selected),
            listed: self.listed.wrapping_offset(base.listed),
            offsets: buffers.offsets.values(),
            places: Places::Every(run.step.listed),
            offset_step: run.offset_step(),
            ..Tile::of_walk(self.walk, self.size)
        });
        true
    }

    /// Runs a part of the walk.
    #[inline(never)]
    fn part(&self, part: &Part) {
        if part.is_empty() {
            return;
        }
        let mut slots = [[MaybeUninit::uninit(); CHUNK]; 4];
        let mut buffers = Buffers::new(&mut slots);
        let walk = self.walk;
        let base = walk
            .base
            .after(part.outer.start, walk.outer.step)
            .after(part.inner.start, walk.inner.step);
        match &part.band {
            None => self.entries(walk.nest(), base, part.entries.clone(), part, &mut buffers),
            Some(band) => self.band(band, base, part, &mut buffers),
        }
    }

    /// Runs a band: the entries of all loops of the nest, but of loop number `level` only the
    /// iterations in `range`.
    #[inline(never)]
    fn band(
        &self,
        (level, range): &(usize, Range<usize>),
        base: Offsets,
        part: &Part,
        buffers: &mut Buffers<'_>,
    ) {
        let mut nest: Loops = self.walk.nest().iter().copied().collect();
        let band = &mut nest[*level];
        let base = base.after(range.start, band.step);
        band.len = range.len();
        self.entries(&nest, base, 0..iterations(&nest), part, buffers);
    }

    /// Runs these entries of a loop nest, chunk by chunk.
    #[inline(always)]
    fn entries(
        &self,
        nest: &[Loop],
        base: Offsets,
        entries: Range<usize>,
        part: &Part,
        buffers: &mut Buffers<'_>,
    ) {
        let mut entries = entries;
        if let Some(single) = self.single_kernel(nest, &entries, part) {
            let done = self.run_singles(single, nest, base, entries.clone());
            // An index that is refused ends the walk.
            if done == entries.len() || self.policy == Policy::Refuse {
                return;
            }
            entries.start += done;
        }
        // A long run that reads no indices is worth a tile of its own, unless it is one of dense rows, whose kernels
        // need no constant step. 2000 of 5000 x 17 of 20 x 3 of 4 `f32` 147 -> 66 µs.
        let (inner, size) = (&self.walk.inner, self.size as isize);
        let dense = inner.len > 1 && [inner.step.selected, inner.step.listed] == [size; 2];
        let is_joined = |run: &Loop| run.reads_indices() || run.len < LONG_RUN || dense;
        if short_run(nest).is_some_and(|(run, _)| is_joined(&run)) {
            return self.runs(nest, base, entries, part, buffers);
        }
        let mut cursor = Cursor::new(nest, base, entries.start);
        let run = nest.last().copied().unwrap_or(Loop::ONCE);
        let mut left = entries.len();
        while left > 0 {
            let (at, count) = cursor.take(left.min(CHUNK));
            left -= count;
            buffers.offsets.clear();
            let Ok(gaps) = self.resolve(at.indices, &run, count, buffers) else {
                return self.refusal.set();
            };
            if run.step.selected != 0 {
                add_ramp(buffers.offsets.values_mut(), run.step.selected, gaps);
            }
            let next = match self.indices {
                Some(indices) if count == CHUNK => {
                    indices.start().wrapping_offset(at.after(count, run.step).indices)
                }
                _ => std::ptr::null(),
            };
            let next = NextIndices { start: next, step: run.step.indices };
            let offset_step = run.offset_step();
            let place_step = Some(run.step.listed);
            let chunk = Chunk { base: at, place_step, gaps, offset_step, next };
            self.chunk(chunk, buffers, part);
        }
    }

    /// Runs the entries of a chunk that the part takes.
    #[inline(always)]
    fn chunk(&self, mut chunk: Chunk, buffers: &mut Buffers<'_>, part: &Part) {
        if let Some(targets) = &part.targets {
            keep(&mut chunk, buffers, targets);
        } else if chunk.gaps {
            return self.with_gaps(&mut chunk, buffers, part);
        }
        self.shared(&chunk, buffers, part);
    }

    /// The tile of a chunk, without entries, and the iterations of its loops that a part takes.
    #[inline(always)]
    fn tile_of(&self, chunk: &Chunk, part: &Part) -> Tile<'_> {
        let walk = self.walk;
        let mut tile = Tile {
            selected: self.selected.wrapping_offset(chunk.base.selected),
            listed: self.listed.wrapping_offset(chunk.base.listed),
            offset_step: chunk.offset_step,
            long: walk.is_long(),
            next: chunk.next,
            ..Tile::of_walk(walk, self.size)
        };
        tile.outer.len = part.outer.len();
        tile.inner.len = part.inner.len();
        tile
    }

    /// Hands a chunk to the kernel in each iteration of the shared loops.
    #[inline(always)]
    fn shared(&self, chunk: &Chunk, buffers: &Buffers<'_>, part: &Part) {
        let offsets = buffers.offsets.values();
        if offsets.is_empty() {
            return;
        }
        let places = chunk.place_step.map_or(Places::Each(buffers.places.values()), Places::Every);
        self.shared_tile(&mut Tile { offsets, places, ..self.tile_of(chunk, part) }, part);
    }

    /// Hands a tile to the kernel in each iteration of the shared loops.
    #[inline(always)]
    fn shared_tile(&self, tile: &mut Tile<'_>, part: &Part) {
        let walk = self.walk;
        if walk.shared().is_empty() {
            if walk.is_far() {
                tile.prefetch_selected();
            }
            return self.tile(tile);
        }
        self.each_shared(tile, part, |tile| self.tile(tile));
    }

    /// Calls `visit` with a tile in each iteration of the shared loops; of [small ones](exchanged_block) with one
    /// whose outer loop is the innermost of these, for each iteration of the outer loop.
    #[inline(never)]
    fn each_shared(&self, tile: &mut Tile<'_>, part: &Part, visit: impl Fn(&Tile<'_>)) {
        let (selected, listed, outer) = (tile.selected, tile.listed, tile.outer);
        let shared = self.walk.shared();
        let mut cursor = Cursor::new(shared, Offsets::ZERO, part.shared.start);
        let exchanged =
            shared.last().and_then(|level| Some((level, exchanged_block(tile, level)?)));
        let mut left = part.shared.len();
        while left > 0 {
            let (at, count) = cursor.take(exchanged.map_or(1, |(_, block)| block.min(left)));
            left -= count;
            let first = Tile {
                selected: selected.wrapping_offset(at.selected),
                listed: listed.wrapping_offset(at.listed),
                ..*tile
            };
            let Some((level, _)) = exchanged else {
                visit(&first);
                continue;
            };
            tile.outer = Steps { len: count, ..Steps::of(level) };
            tile.all_iterations = level.len;
            for iteration in 0..outer.len {
                (tile.selected, tile.listed) = Tile { outer, ..first }.iteration(iteration);
                visit(tile);
            }
        }
    }

    /// Hands a tile to the kernel.
    #[inline]
    fn tile(&self, tile: &Tile<'_>) {
        // SAFETY: every address in the tile is that of an iteration of the loops, which do not
        // leave the arrays (`Axes`), plus an offset that `resolve` has found in bounds; the
        // elements that are written are this part's alone (`Part`), and the two arrays are separate
        // borrows.
        #[allow(unsafe_code)]
        unsafe {
            self.kernel.run(tile);
        }
    }

    /// Appends the offsets that `count` indices of a run select to the buffer. Returns whether some
    /// select nothing.
    #[inline(always)]
    fn resolve(
        &self,
        at: isize,
        run: &Loop,
        count: usize,
        buffers: &mut Buffers<'_>,
    ) -> Result<bool, Refused> {
        let Some(indices) = self.indices else {
            buffers.offsets.extend_ramp(count, 0, 0);
            return Ok(false);
        };
        let (lane, components) = ((at, run.step.indices), &self.walk.components);
        let (offsets, scratch) = (&mut buffers.offsets, &mut buffers.scratch);
        // SAFETY: the indices are those of a run of the walk's loops over them, which do not leave
        // their array (`Axes`).
        #[allow(unsafe_code)]
        unsafe {
            indices.resolve_all(lane, count, components, self.policy, offsets, scratch)
        }
    }
}

/// The iterations of `level`, the innermost of the loops around a tile, that pay to run inside its outer loop; `None`
/// if it pays not: a call of a kernel takes as long as some dozens of elements. 3 of 4 columns of 100,000 x 3 of 4 x 4
/// `f32` gathered 1780 -> 540 µs, summed 4100 -> 930.
fn exchanged_block(tile: &Tile<'_>, level: &Loop) -> Option<usize> {
    /// The most elements of a small tile: 48 take 1.5 times as long so. Kernels have [shuffles](super::copy), which
    /// depend on the outer loop, for more iterations only.
    const SMALL: usize = threshold(32, 6);
    /// The fewest iterations of the loop and of a block of it, and the most bytes that these span.
    const FEWEST: usize = threshold(32, 3);
    const BYTES: usize = threshold(16 << 10, 256);
    let small =
        tile.outer.len <= SMALL && tile.outer.len.saturating_mul(tile.offsets.len()) <= SMALL;
    if !small || tile.inner.len > 1 || level.len < FEWEST {
        return None;
    }
    let step = level.step.selected.unsigned_abs().max(level.step.listed.unsigned_abs()).max(1);
    Some(BYTES / step).filter(|&block| block >= FEWEST)
}

/// The innermost loop and those around it, if it is so short that several of its runs are joined to
/// a chunk. Parts of the loops over entries then consist of whole runs.
fn short_run(nest: &[Loop]) -> Option<(Loop, &[Loop])> {
    let (run, around) = nest.split_last()?;
    (!around.is_empty() && run.len <= SHORT_RUN).then_some((*run, around))
}

/// Whether the entries of these loops are one chunk; they are even if some of the loops are merged later.
pub(super) fn is_chunk(nest: &[Loop]) -> bool {
    iterations(nest) <= if nest.len() > 1 { SHORT_RUN } else { CHUNK }
}

/// Number of contiguous entries that are not divided where these loops are cut in `parts` parts:
/// whole runs of the innermost loops, if these are short, and as many of these loops as leave some
/// pieces for each part. Parts that divide the runs of a loop do not join them to chunks.
pub(super) fn unit(nest: &[Loop], parts: usize) -> usize {
    let Some((run, around)) = short_run(nest) else { return 1 };
    let most = SHORT_RUN.min(iterations(nest) / parts.saturating_mul(4));
    let mut unit = run.len;
    for level in around.iter().rev() {
        if unit * level.len > most {
            break;
        }
        unit *= level.len;
    }
    unit
}

#[cfg(test)]
mod tests;
