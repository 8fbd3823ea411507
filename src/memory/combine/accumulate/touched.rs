//! Slots of the targets that sorted updates touch, some targets at a time.

use super::adds::{AddToSlots, ClearSlots};
use super::kinds::Accumulator;
use super::{Accumulation, NEAR, SHORT_ROW, separate_slot_bytes};
use crate::error::Result;
use crate::memory::alloc::reserved;
use crate::memory::copy::Copier;
use crate::memory::tile::{Kernel, Places, Steps, Tile};
use crate::memory::walk::{Loop, Offsets, is_far, is_inside};
use crate::memory::work::WorkMemory;
use crate::threshold::threshold;

/// The most updates that are added at once, and the most targets that have slots at a time.
const MOST: usize = threshold(1 << 10, 6);

/// The memory of [`Touched`]: of a fixed size, so that it stays in the caches, and is not mapped
/// anew in each call.
pub(super) struct TouchedBuffers {
    /// Offsets in bytes of targets.
    targets: Vec<isize>,
    /// For each update that was not added yet, the offset in bytes of its target's slots, and its
    /// own.
    slot_offsets: Vec<isize>,
    places: Vec<isize>,
    /// Slots of the targets, and elements that short rows of targets hold.
    slots: WorkMemory,
    held: WorkMemory,
    /// Whether rows are short, even the longest, so that their elements are held.
    short: bool,
    max_targets: usize,
}

impl TouchedBuffers {
    /// Buffers for at most `updates` updates of rows of up to `row` elements.
    pub(super) fn new(accumulator: &Accumulator, updates: usize, row: usize) -> Result<Self> {
        let (most, slots) = (updates.min(MOST), row.saturating_mul(accumulator.slot).max(1));
        let max_targets = (separate_slot_bytes() / slots).clamp(1, most.max(1));
        let (elements, short) = (max_targets.saturating_mul(row), row <= SHORT_ROW);
        let held = if short { elements } else { 0 };
        Ok(TouchedBuffers {
            targets: reserved(max_targets)?,
            slot_offsets: reserved(most)?,
            places: reserved(most)?,
            slots: WorkMemory::new(1, elements.saturating_mul(accumulator.slot))?,
            held: WorkMemory::new(1, held.saturating_mul(accumulator.element))?,
            short,
            max_targets,
        })
    }
}

/// Whether the elements of a row share no cache lines, and are farther from each other than its targets.
pub(super) fn is_apart(accumulation: &Accumulation<'_>, row: &Loop) -> bool {
    row.step.selected.unsigned_abs() >= NEAR && !is_inside(accumulation.components, row)
}

/// Targets, each a row of lanes, that have slots, and updates of them.
///
/// Invariant: `first` and `listed` are where the lanes of the row begin in the target and in the
/// updates of `accumulation`; the buffers were made for rows of no fewer elements.
pub(super) struct Touched<'t> {
    accumulation: &'t Accumulation<'t>,
    accumulator: &'t Accumulator,
    row: Loop,
    first: *mut u8,
    listed: *mut u8,
    buffers: &'t mut TouchedBuffers,
    /// The number of targets whose slots were started.
    started: usize,
}

#[allow(unsafe_code)]
impl<'t> Touched<'t> {
    /// No target yet.
    ///
    /// # Safety
    /// The place `at` is that of lanes of the accumulation, of which those of `row` are reduced by this
    /// alone, and `accumulator` is of its elements. The buffers were made for rows of `row.len` elements or
    /// more.
    pub(super) unsafe fn new(
        accumulation: &'t Accumulation<'t>,
        accumulator: &'t Accumulator,
        (at, row): (Offsets, Loop),
        buffers: &'t mut TouchedBuffers,
    ) -> Self {
        let first = accumulation.target.start().wrapping_offset(at.selected);
        let listed = accumulation.updates.start().cast_mut().wrapping_offset(at.listed);
        buffers.targets.clear();
        buffers.slot_offsets.clear();
        buffers.places.clear();
        Touched { accumulation, accumulator, row, first, listed, buffers, started: 0 }
    }

    /// Adds updates, each given by the offset in bytes of its target, and its own. All updates of a
    /// target follow each other.
    ///
    /// # Safety
    /// Each target is what an index in bounds selects, and each update is one that has this index.
    #[inline]
    pub(super) unsafe fn push_all(&mut self, pairs: impl Iterator<Item = (isize, isize)>) {
        // SAFETY: the caller's promise.
        pairs.for_each(|(target, place)| unsafe { self.push(target, place) });
    }

    /// Adds an update.
    ///
    /// # Safety
    /// That of [`push_all`](Self::push_all).
    #[inline]
    unsafe fn push(&mut self, target: isize, place: isize) {
        if self.buffers.targets.last() != Some(&target) {
            if self.buffers.targets.len() == self.buffers.max_targets {
                self.finish();
            }
            self.buffers.targets.push(target);
        }
        if self.buffers.slot_offsets.len() == self.buffers.slot_offsets.capacity() {
            self.add();
        }
        let slots = self.slots_before(self.buffers.targets.len() - 1);
        self.buffers.slot_offsets.push(slots as isize);
        self.buffers.places.push(place);
    }

    /// Runs kernels over targets with one update each, without slots. `pair` returns the offsets in bytes of a key's
    /// target and update.
    ///
    /// # Safety
    /// That of [`push_all`](Self::push_all). All updates that were added have been accumulated, and
    /// the kernels are for elements of the accumulation.
    pub(super) unsafe fn combine_singles<K>(
        &mut self,
        kernels: &[&dyn Kernel],
        keys: &[K],
        pair: impl Fn(&K) -> (isize, isize),
    ) {
        // Nothing waits to be added (`# Safety`), so these lists are free.
        let TouchedBuffers { slot_offsets: targets, places, .. } = &mut *self.buffers;
        let Touched { accumulation, row, first, listed, .. } = *self;
        let steps = Steps { len: row.len, selected: row.step.selected, listed: row.step.listed };
        let once = Steps::ONCE;
        // Lane by lane where targets of a lane are nearer to each other than lanes: those of a row may
        // share a few sets of the caches.
        let by_lane = is_apart(accumulation, &row);
        let (outer, inner) = if by_lane { (steps, once) } else { (once, steps) };
        let far = is_far(accumulation.components, row.len);
        let most = targets.capacity().min(places.capacity());
        for keys in keys.chunks(most.max(1)) {
            targets.clear();
            places.clear();
            targets.extend(keys.iter().map(|key| pair(key).0));
            places.extend(keys.iter().map(|key| pair(key).1));
            let entries = (&targets[..], Places::Each(places));
            let tile = Tile {
                outer,
                all_iterations: outer.len,
                ..Tile::of_entries((first, listed), entries, inner, accumulation.size())
            };
            if far {
                tile.prefetch_selected();
            }
            // SAFETY: the caller's promise.
            kernels.iter().for_each(|kernel| unsafe { kernel.run(&tile) });
        }
        targets.clear();
        places.clear();
    }

    /// Accumulates the updates, writes the results to their targets, and starts anew.
    pub(super) fn finish(&mut self) {
        self.add();
        let Touched { accumulation, accumulator, row, .. } = *self;
        let (slots, held) = self.memory();
        let init = accumulation.reducer.init;
        // SAFETY: all slots were started (`add`), and the targets are this row's (`new`).
        unsafe {
            if self.buffers.short {
                let count = self.buffers.targets.len();
                accumulator.finish(
                    slots,
                    held,
                    accumulation.size() as isize,
                    count * row.len,
                    init,
                );
                self.copy::<false>(held, 0);
            } else {
                for (number, target) in self.targets_from(0) {
                    let slots = slots.wrapping_add(self.slots_before(number));
                    accumulator.finish(slots, target, row.step.selected, row.len, init);
                }
            }
        }
        self.buffers.targets.clear();
        self.started = 0;
    }

    /// Starts the slots of targets that have none, and adds the updates that were not added.
    fn add(&mut self) {
        let Touched { accumulation, accumulator, row, started, .. } = *self;
        let (slots, held) = self.memory();
        let new = self.buffers.targets.len() - started;
        let slot_of = |number: usize| slots.wrapping_add(self.slots_before(number));
        let inner =
            Steps { len: row.len, selected: accumulator.slot as isize, listed: row.step.listed };
        let entries = (&self.buffers.slot_offsets[..], Places::Each(&self.buffers.places));
        let updates = Tile::of_entries((slots, self.listed), entries, inner, accumulation.size());
        let all = Steps { len: new * row.len, ..inner };
        let entry = (&[0][..], Places::Every(0));
        let empty = Tile::of_entries((slot_of(started), self.listed), entry, all, accumulator.slot);
        // SAFETY: there are slots for `max_targets` rows, and elements of as many short ones, which
        // are copied there before they are read. Slots are started before they are added to; the
        // offsets of updates are those of the caller of `push`.
        unsafe {
            if self.buffers.short {
                self.copy::<true>(held, started);
                let held = held.wrapping_add(started * row.len * accumulation.size());
                accumulator.start(
                    held,
                    accumulation.size() as isize,
                    slot_of(started),
                    new * row.len,
                );
            } else {
                for (number, target) in self.targets_from(started) {
                    accumulator.start(target, row.step.selected, slot_of(number), row.len);
                }
            }
            if !accumulation.reducer.init {
                ClearSlots(accumulator).run(&empty);
            }
            AddToSlots(accumulator).run(&updates);
        }
        self.started = self.buffers.targets.len();
        self.buffers.slot_offsets.clear();
        self.buffers.places.clear();
    }

    /// The bytes of the slots before those of target number `number`.
    fn slots_before(&self, number: usize) -> usize {
        number * self.row.len * self.accumulator.slot
    }

    /// The addresses of the slots, and of the elements of short rows.
    fn memory(&self) -> (*mut u8, *mut u8) {
        (self.buffers.slots.of(0), self.buffers.held.of(0))
    }

    /// The numbers and addresses of the targets from number `start` on.
    fn targets_from(&self, start: usize) -> impl Iterator<Item = (usize, *mut u8)> {
        let targets = self.buffers.targets.iter().enumerate().skip(start);
        targets.map(|(number, &offset)| (number, self.first.wrapping_offset(offset)))
    }

    /// Copies short rows from number `start` on to `held` if `GATHER`, else back.
    ///
    /// # Safety
    /// `held` is the buffer of elements, which has those of a short row for each target; they are
    /// initialised unless `GATHER`.
    unsafe fn copy<const GATHER: bool>(&self, held: *mut u8, start: usize) {
        let Touched { accumulation, row, .. } = *self;
        let (size, bytes) = (accumulation.size(), row.len * accumulation.size());
        let inner = Steps { len: row.len, selected: row.step.selected, listed: size as isize };
        let entries = (&self.buffers.targets[start..], Places::Every(bytes as isize));
        let arrays = (self.first, held.wrapping_add(start * bytes));
        let tile = Tile::of_entries(arrays, entries, inner, size);
        if GATHER && is_far(accumulation.components, row.len) {
            tile.prefetch_selected();
        }
        let step = Offsets { listed: size as isize, ..row.step };
        let copier = Copier::of_bytes(size);
        let kernel = copier.kernel(&Loop { step, ..row }, GATHER, false);
        // SAFETY: the caller's promise; the targets are this row's (`new`), and elements that are
        // reduced are nothing but their bytes.
        unsafe { kernel(&tile) }
    }
}
