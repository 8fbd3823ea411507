//! Kernels that change slots.

use super::SHORT_ROW;
use super::convert::{STAGE, Stage, contiguous};
use super::kinds::Accumulator;
use crate::memory::combine::apply::{Set, elements};
use crate::memory::copy::rows;
use crate::memory::indices::elements::{Action, BLOCK, Elements, Single, SingleFn};
use crate::memory::tile::{Kernel, NextIndices, Places, Steps, Tile};
use crate::memory::walk::Offsets;
use crate::threshold::threshold;

/// Adds updates (listed) to slots (selected): some updates at a time are converted
/// to values, or to slots, in a buffer, and added from there by [`Accumulator::add`].
pub(super) struct AddToSlots<'w>(pub(super) &'w Accumulator);

#[allow(unsafe_code)]
impl Kernel for AddToSlots<'_> {
    unsafe fn run(&self, tile: &Tile<'_>) {
        let accumulator = self.0;
        if accumulator.adds_elements() {
            // SAFETY: the caller's promise.
            return unsafe { (accumulator.add)(tile) };
        }
        let (inner, outer) = (tile.inner, tile.outer);
        if let Some([iterations, entries]) = pieces(tile) {
            for first in (0..outer.len).step_by(iterations) {
                let (selected, listed) = tile.iteration(first);
                let outer = Steps { len: iterations.min(outer.len - first), ..outer };
                let piece = Tile { selected, listed, outer, ..*tile };
                let count = piece.offsets.len();
                for first in (0..count).step_by(entries) {
                    // SAFETY: the caller's promise, for some of the iterations and entries.
                    unsafe { self.add_staged(&piece.part(first..count.min(first + entries))) };
                }
            }
            return;
        }
        for iteration in 0..outer.len {
            let (selected, listed) = tile.iteration(iteration);
            let outer = Steps::ONCE;
            let iteration = Tile { selected, listed, outer, ..*tile };
            if inner.len <= STAGE {
                let (count, max_entries) = (iteration.offsets.len(), STAGE / inner.len);
                for first in (0..count).step_by(max_entries) {
                    let part = iteration.part(first..count.min(first + max_entries));
                    // SAFETY: the caller's promise, for some of the entries.
                    unsafe { self.add_staged(&part) };
                }
                continue;
            }
            for entry in 0..iteration.offsets.len() {
                let mut part = iteration.part(entry..entry + 1);
                part.next = NextIndices::NONE;
                for first in (0..inner.len).step_by(STAGE) {
                    let at = |step: isize| step.wrapping_mul(first as isize);
                    let piece = Tile {
                        selected: part.selected.wrapping_offset(at(inner.selected)),
                        listed: part.listed.wrapping_offset(at(inner.listed)),
                        inner: Steps { len: STAGE.min(inner.len - first), ..inner },
                        ..part
                    };
                    // SAFETY: the caller's promise, for some of the elements.
                    unsafe { self.add_staged(&piece) };
                }
            }
        }
    }

    fn single(&self) -> Option<Single> {
        let size = self.0.element;
        let waits = Some([3, 4]);
        self.0.add_single.map(|_| Single { size, action: Action::Combine, waits })
    }

    unsafe fn run_single(&self, elements: &Elements<'_>) -> bool {
        // SAFETY: the caller's promise.
        self.0.add_single.is_some_and(|add| unsafe { self.add_single(add, elements) })
    }
}

/// The number of the iteration, of the entry, and of the element of its row, of the first update of a run.
type Place<'p> = &'p dyn Fn(usize) -> [usize; 3];

#[allow(unsafe_code)]
impl AddToSlots<'_> {
    /// Adds single updates by way of the buffers: [`STAGE`] at a time, of one lane or of several
    /// that lie side by side.
    ///
    /// # Safety
    /// That of [`Kernel::run_single`]; `add` is that of [`Accumulator::add_single`].
    unsafe fn add_single(&self, add: SingleFn, elements: &Elements<'_>) -> bool {
        let (accumulator, size) = (self.0, self.0.addend());
        if accumulator.adds_elements() {
            // SAFETY: the caller's promise.
            return unsafe { add(elements) };
        }
        let Elements { count, step, .. } = *elements;
        let mut stages = [Stage::new(), Stage::new(), Stage::new()];
        let stages = stages.each_mut().map(Stage::start);
        let dense = step.listed == (count * accumulator.element) as isize;
        let lanes = if dense { STAGE / count.max(1) } else { 1 };
        elements.pieces(accumulator.element, STAGE, lanes, |piece| {
            let len = if piece.repeated { BLOCK } else { piece.lanes * piece.count };
            let step = Offsets { listed: (piece.count * size) as isize, ..piece.step };
            // SAFETY: the caller's promise, for some of the elements: no more than a buffer holds.
            unsafe {
                self.convert(piece.listed, accumulator.element as isize, len, stages, 0);
                add(&Elements { listed: stages[2], step, ..piece })
            }
        })
    }

    /// Adds the updates of a tile by way of the buffers.
    ///
    /// # Safety
    /// That of [`Kernel::run`], and the tile has no more than [`STAGE`] elements in all iterations.
    unsafe fn add_staged(&self, tile: &Tile<'_>) {
        let (accumulator, size, element) = (self.0, self.0.addend(), self.0.element as isize);
        let mut stages = [Stage::new(), Stage::new(), Stage::new()];
        let stages = stages.each_mut().map(Stage::start);
        let (outer, entries, row) = (tile.outer.len, tile.offsets.len(), tile.inner.len);
        // SAFETY: the caller's promise; each buffer holds `STAGE` elements, values or slots: as many runs of as
        // many updates as here, all of the tile's, the first of which is in this iteration, of this entry and
        // this element of its row.
        let convert = |runs: usize, len: usize, step: isize, first: Place<'_>| unsafe {
            for run in 0..runs {
                let [iteration, entry, k] = first(run);
                let by = tile.inner.listed.wrapping_mul(k as isize);
                let (_, listed) = tile.iteration(iteration);
                let listed = listed.wrapping_offset(tile.places.at(entry).wrapping_add(by));
                self.convert(listed, step, len, stages, run * len * size);
            }
        };
        // How many updates lie, in the last buffer, from one iteration to the next, from one entry to the
        // next, and from one element of a row to the next.
        let [every, places, inner] = if let Some(step) = common_step(tile) {
            convert(1, outer * entries * row, step, &|_| [0; 3]);
            [entries * row, row, 1]
        } else if lies_along_iterations(tile) {
            convert(row, outer * entries, element, &|run| [0, 0, run]);
            [entries, 1, outer * entries]
        } else if rows_lie_across(tile) {
            convert(entries, outer * row, element, &|run| [0, run, 0]);
            [row, outer * row, 1]
        } else if lies_in_columns(tile) {
            convert(entries * row, outer, tile.outer.listed, &|run| [0, run / row, run % row]);
            [1, row * outer, outer]
        } else if let Some(step) = step_of_columns(tile) {
            convert(outer * row, entries, step, &|run| [run / row, 0, run % row]);
            [row * entries, 1, entries]
        } else {
            for iteration in 0..outer {
                let (_, listed) = tile.iteration(iteration);
                let at = iteration * entries * row * size;
                // SAFETY: the caller's promise.
                unsafe { self.convert_iteration(tile, listed, stages, at) };
            }
            [entries * row, row, 1]
        };
        let bytes = |updates: usize| (updates * size) as isize;
        // SAFETY: the caller's promise; what is added of each update lies in the last buffer.
        unsafe {
            (accumulator.add)(&Tile {
                listed: stages[2],
                outer: Steps { listed: bytes(every), ..tile.outer },
                places: Places::Every(bytes(places)),
                inner: Steps { listed: bytes(inner), ..tile.inner },
                size,
                ..*tile
            });
        }
    }

    /// Converts the updates of one iteration, which begins at `listed`, into the last buffer, from
    /// byte `at` on.
    ///
    /// # Safety
    /// That of [`add_staged`](Self::add_staged), and of [`convert`](Self::convert) for each row.
    unsafe fn convert_iteration(
        &self,
        tile: &Tile<'_>,
        listed: *const u8,
        stages: [*mut u8; 3],
        at: usize,
    ) {
        let (entries, row, element) = (tile.offsets.len(), tile.inner.len, self.0.element);
        let short = row == 1 || (row <= SHORT_ROW && tile.inner.listed == element as isize);
        // SAFETY: the caller's promise.
        unsafe {
            if let Some(step) = iteration_step(tile) {
                return self.convert(listed, step, entries * row, stages, at);
            }
            if let (Places::Each(places), true) = (tile.places, short) {
                self.put_side_by_side(listed, places, row, stages[0]);
                return self.convert(stages[0], element as isize, entries * row, stages, at);
            }
            for entry in 0..entries {
                let listed = listed.wrapping_offset(tile.places.at(entry));
                let at = at + entry * row * self.0.addend();
                self.convert(listed, tile.inner.listed, row, stages, at);
            }
        }
    }

    /// Copies rows of `row` updates, at these places, to a buffer.
    ///
    /// # Safety
    /// The rows can be read, their updates are contiguous, and the buffer has room for them.
    unsafe fn put_side_by_side(
        &self,
        listed: *const u8,
        places: &[isize],
        row: usize,
        buffer: *mut u8,
    ) {
        let (size, bytes) = (self.0.element, row * self.0.element);
        let inner = Steps { len: row, selected: size as isize, listed: size as isize };
        let entries = (places, Places::Every(bytes as isize));
        let tile = Tile::of_entries((listed.cast_mut(), buffer), entries, inner, size);
        // SAFETY: the caller's promise; rows of this many bytes are what the kernel copies.
        unsafe { rows::kernel::<true>(bytes)(&tile) }
    }

    /// Converts `len` updates, of which each is `step` bytes behind the one before, to what is
    /// added to slots: into the last buffer, from byte `at` on.
    ///
    /// # Safety
    /// `len` updates can be read, `step` bytes from one to the next, and each buffer has room for
    /// `len`, the last one from byte `at` on.
    unsafe fn convert(
        &self,
        updates: *const u8,
        step: isize,
        len: usize,
        [gather, values, addends]: [*mut u8; 3],
        at: usize,
    ) {
        let accumulator = self.0;
        // SAFETY: the caller's promise.
        unsafe {
            let from = contiguous(updates, step, accumulator.element, len, gather);
            let to = addends.add(at);
            let lift = accumulator.lift.filter(|_| accumulator.lifts_updates);
            accumulator.convert_to(to, from, values, len, (lift, true));
        }
    }
}

/// The numbers of iterations of the outer loop and of entries that are converted together; `None` if one iteration
/// has enough updates. Where updates are contiguous along the outer loop, these are some entries of many iterations;
/// else all entries of a few.
fn pieces(tile: &Tile<'_>) -> Option<[usize; 2]> {
    /// Number of iterations, and the least of those, that are converted along the outer loop.
    const ITERATIONS: usize = threshold(64, 4);
    const LEAST: usize = threshold(16, 2);
    let (entries, row) = (tile.offsets.len().max(1), tile.inner.len.max(1));
    let elements = entries.saturating_mul(row);
    // Entries share targets with those of other iterations unless these select others.
    let along = tile.outer.selected != 0 && (follows_rows(tile) || follows_columns(tile));
    let many = elements > STAGE / ITERATIONS && tile.outer.len >= LEAST;
    if along && many && row <= STAGE / ITERATIONS {
        return Some([ITERATIONS, STAGE / ITERATIONS / row]);
    }
    (tile.outer.len > 1 && elements <= STAGE / 2).then(|| [STAGE / elements, entries])
}

/// The distance in bytes between the updates of a tile, where all are evenly spaced from
/// `tile.listed` on.
fn common_step(tile: &Tile<'_>) -> Option<isize> {
    let elements = tile.offsets.len() * tile.inner.len;
    iteration_step(tile).filter(|step| {
        tile.outer.len == 1 || step.wrapping_mul(elements as isize) == tile.outer.listed
    })
}

/// The same of one iteration, from where it begins.
fn iteration_step(tile: &Tile<'_>) -> Option<isize> {
    let Steps { len, listed, .. } = tile.inner;
    match tile.places {
        Places::Every(step) if len == 1 => Some(step),
        Places::Every(step) if step == listed.wrapping_mul(len as isize) => Some(listed),
        _ if tile.offsets.len() == 1 => {
            // The place of the only entry need not be 0, where the iteration begins.
            (tile.places.at(0) == 0).then_some(listed)
        }
        _ => None,
    }
}

/// Whether updates are contiguous from one entry to the next and from one iteration of the outer loop to
/// the next, but not along rows.
fn lies_along_iterations(tile: &Tile<'_>) -> bool {
    let entries = (tile.offsets.len() * tile.size) as isize;
    let contiguous = matches!(tile.places, Places::Every(step) if step == tile.size as isize);
    contiguous && tile.outer.len > 1 && tile.outer.listed == entries
}

/// Whether the row of each entry continues that of the iteration of the outer loop before.
fn follows_rows(tile: &Tile<'_>) -> bool {
    let (size, Steps { len, listed, .. }) = (tile.size as isize, tile.inner);
    (len == 1 || listed == size) && tile.outer.listed == size.wrapping_mul(len as isize)
}

/// Whether the elements of a column are contiguous from one iteration of the outer loop to the next.
fn follows_columns(tile: &Tile<'_>) -> bool {
    tile.outer.listed == tile.size as isize
}

/// Whether rows follow each other along the outer loop, and there are more iterations than entries: 3 rows
/// of 1.3M `f16` summed into two that alternate in memory take 24 ms iteration by iteration, and 2.6 entry
/// by entry.
fn rows_lie_across(tile: &Tile<'_>) -> bool {
    follows_rows(tile) && tile.outer.len > tile.offsets.len()
}

/// The same of columns, which are longer than rows and lists of entries.
fn lies_in_columns(tile: &Tile<'_>) -> bool {
    follows_columns(tile) && tile.outer.len > tile.offsets.len().max(tile.inner.len)
}

/// The distance in bytes from one entry to the next, where rows are shorter than lists of entries, and if
/// entries are not contiguous, very short: 300 `f16` summed in each of 300 pairs of lanes that alternate in
/// memory take 1690 µs row by row, and 230 so.
fn step_of_columns(tile: &Tile<'_>) -> Option<isize> {
    const SHORT: usize = 8;
    let Places::Every(step) = tile.places else { return None };
    let (row, entries) = (tile.inner.len, tile.offsets.len());
    let pays = step == tile.size as isize || row <= SHORT;
    (pays && (2..entries).contains(&row)).then_some(step)
}

/// Makes slots (selected) empty.
pub(super) struct ClearSlots<'w>(pub(super) &'w Accumulator);

#[allow(unsafe_code)]
impl Kernel for ClearSlots<'_> {
    unsafe fn run(&self, tile: &Tile<'_>) {
        let Accumulator { slot: size, empty, .. } = *self.0;
        let mut value = [0; 16];
        value[..empty.len()].copy_from_slice(&empty);
        // SAFETY: the caller's promise, for slots of this size.
        unsafe {
            if let Some(set) = Set::of_bytes(value, size) {
                return set.run(tile);
            }
            elements(tile, |slot, _| {
                slot.write_bytes(0, size);
                slot.copy_from_nonoverlapping(empty.as_ptr(), empty.len());
            });
        }
    }
}
