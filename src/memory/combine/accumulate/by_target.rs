//! Reductions of rows whose updates are listed by their target, by a counting sort:
//!
//! ```text
//! for entries: ends[target] += 1
//! prefix sums: ends[target] becomes the start of the target's list
//! for entries: places[ends[target]++] = offset of the update
//! for targets: reduce their row with its updates     in parallel
//! ```
//!
//! So accumulators never leave the registers, however many targets there are.

use std::cell::Cell;
use std::ops::Range;

use super::kinds::Accumulator;
use super::rows::{Row, Rows};
use super::{Accumulation, are_small_batches, share_indices, steps};
use crate::memory::alloc::{made, repeated, reserved};
use crate::memory::refused::{Failure, Refusal, Refused};
use crate::memory::tile::{Kernel, Tile};
use crate::memory::walk::{
    Component, Cursor, Loop, Loops, Offsets, is_inside, is_spread, iterations, merge,
};
use crate::parallel::{self, Cost};
use crate::sync::Mutex;
use crate::threshold::threshold;

/// A reduction of rows whose updates are listed by their target.
///
/// Invariant: the loops are those of the walk over the arrays of `accumulation`; rows are contiguous in
/// both, of at least [`Rows::MIN_LEN`] elements, of the type that `rows` was made for, and
/// [`Rows::can_run`] is true.
pub(super) struct RowsByTarget<'l> {
    accumulation: &'l Accumulation<'l>,
    rows: Rows,
    /// The loops over lanes: all but the loop over the elements of a row, and that loop.
    lanes: Loops,
    row: Loop,
    /// The loops over updates, and the loops over targets.
    entries: Loops,
    targets: Loops,
}

/// The updates of each target.
struct Lists {
    /// The end of each target's list in `places`, where the list of the next target begins.
    ends: Vec<u32>,
    /// The offset in bytes of each update.
    places: Vec<isize>,
    /// The targets that have updates, where the lists serve several lanes; else without capacity.
    touched: Vec<u32>,
}

/// The fewest elements of a row for each part, where rows are cut.
const COLUMNS: usize = threshold(1 << 10, 16);

impl<'l> RowsByTarget<'l> {
    /// Number of targets for each update, at most, for rows of up to 64 elements; longer rows may
    /// have more: each target has a counter. With more targets, updates are sorted (`sparse.rs`).
    /// Into 200,000 rows of 64 `u8`, 20,000 rows take 5.4 ns an element sorted and 0.9 to 1.6
    /// listed, but 2,000 rows 1.7 sorted and 2.5 listed.
    const MAX_TARGETS_PER_UPDATE: usize = threshold(16, 8);
    /// The same for the updates of all lanes together, where these share their indices.
    const MAX_TARGETS_SERVED: usize = threshold(4, 2);

    /// The reduction with these loops over lanes, if its rows meet the invariant, and targets are
    /// not too many.
    pub(super) fn of(
        accumulation: &'l Accumulation<'l>,
        lanes: &Loops,
        accumulator: &Accumulator,
    ) -> Option<Self> {
        let mut lanes = lanes.clone();
        let (row, size) = (lanes.pop()?, accumulation.size() as isize);
        let dense = row.step.selected == size && row.step.listed == size && !row.reads_indices();
        let inside = is_inside(accumulation.components, &row);
        let entries: Loops = accumulation.entries().collect();
        let updates = iterations(&entries);
        let most = Self::MAX_TARGETS_PER_UPDATE * (row.len / threshold(64, 16)).max(1);
        let targets = accumulation.targets();
        // Lists that serve all lanes are made once: 1 of 120 rows of 38 `f16` in each of 2440 slices
        // takes 125 µs sorted, and 40 listed.
        let served =
            if share_indices(&lanes) { updates.saturating_mul(iterations(&lanes)) } else { 0 };
        let many = targets / most <= updates || targets / Self::MAX_TARGETS_SERVED <= served;
        let many = many && (updates | targets) >> 31 == 0;
        if are_small_batches(&lanes, (updates + targets).saturating_mul(row.len)) {
            return None;
        }
        let long = row.len >= Rows::MIN_LEN;
        let rows =
            accumulator.rows.filter(|_| dense && inside && many && long && Rows::can_run())?;
        let target = |&Component { len, step, .. }: &Component| {
            let step = Offsets { selected: step, ..Offsets::ZERO };
            Loop { len, step, entries: false }
        };
        let mut targets: Loops = accumulation.components.iter().map(target).collect();
        targets.retain(|level| level.len > 1);
        merge(&mut targets);
        Some(RowsByTarget { accumulation, rows, lanes, row, entries, targets })
    }

    /// Reduces all rows. Where an index is refused, some targets may have been written.
    pub(super) fn run(&self) -> Result<(), Failure> {
        let accumulation = self.accumulation;
        let targets = accumulation.targets();
        let (updates, iterations) = (iterations(&self.entries), iterations(&self.lanes));
        let rows = updates.saturating_mul(iterations);
        let bytes = (self.row.len * accumulation.size()).saturating_mul(rows);
        let far = is_spread(accumulation.components);
        let cost = if far { Cost::of_far(rows).times(4) } else { Cost::of_near(rows).times(3) };
        let parts = parallel::parts_at_once(cost.plus(Cost::of_bytes(bytes).times(3)));
        // Parts share out the iterations of the loops over lanes, or, if these are few, the targets
        // of each iteration.
        let (outer, inner) = if iterations >= parts { (parts, 1) } else { (1, parts) };
        // Few targets are not shared out: parts of long rows are.
        let cut = updates < 4 * inner && self.row.len / inner >= COLUMNS;
        let shared = share_indices(&self.lanes);
        let touched = if iterations > 1 && shared { updates.min(targets) } else { 0 };
        let mut lists = made(outer, || {
            Ok(Lists {
                ends: repeated(0, targets)?,
                places: repeated(0, updates)?,
                touched: reserved(touched)?,
            })
        })?;
        let refusal = Refusal::new();
        parallel::run_each(&mut lists, &|part, lists| {
            let iterations = parallel::share(iterations, outer, part);
            let mut cursor = Cursor::new(&self.lanes, Offsets::ZERO, iterations.start);
            for number in iterations.clone() {
                let (at, _) = cursor.take(1);
                let listed = shared && number > iterations.start;
                if !listed && self.list(lists, at).is_err() {
                    return refusal.set();
                }
                let lists = &*lists;
                parallel::run(inner, &|part| {
                    if cut {
                        let columns = parallel::share(self.row.len, inner, part);
                        let at = at.after(columns.start, self.row.step);
                        self.reduce_targets(lists, at, columns.len(), 0..targets);
                    } else {
                        let share = lists.share(inner, part);
                        self.reduce_targets(lists, at, self.row.len, share);
                    }
                });
            }
        });
        Ok(refusal.result()?)
    }

    /// Lists the updates of the lanes at this place.
    fn list(&self, lists: &mut Lists, at: Offsets) -> Result<(), Refused> {
        let Lists { ends, places, touched } = lists;
        self.accumulation.count(ends, at.indices)?;
        let mut end = 0;
        let names_touched = touched.capacity() > 0;
        for (target, counter) in (0..).zip(ends.iter_mut()) {
            if names_touched && *counter > 0 {
                touched.push(target);
            }
            end += std::mem::replace(counter, end);
        }
        let (counters, _) = steps(self.accumulation.components, size_of::<u32>(), 1);
        let from = Offsets { indices: at.indices, ..Offsets::ZERO };
        let arrays = (ends.as_mut_ptr().cast(), std::ptr::null(), self.accumulation.size());
        let (entries, list) = (self.entries.clone(), ListUpdates(Mutex::new(places)));
        // SAFETY: the loops are those over the updates of a lane, with the steps of counters in the place of the
        // target's; the kernel does not access updates, but only uses their addresses.
        #[allow(unsafe_code)]
        unsafe {
            self.accumulation.walk(entries, &counters, from, arrays, &list, 1)
        }
    }

    /// Reduces the rows of a range of targets, of which `len` elements begin at this place.
    fn reduce_targets(&self, lists: &Lists, at: Offsets, len: usize, targets: Range<usize>) {
        let accumulation = self.accumulation;
        let offset = |number: usize| match self.targets[..] {
            [level] => level.step.selected.wrapping_mul(number as isize),
            _ => Cursor::new(&self.targets, Offsets::ZERO, number).take(1).0.selected,
        };
        let reduce_target = |number: usize, updates: Range<usize>| {
            if updates.is_empty() {
                return;
            }
            let row = Row {
                target: accumulation.target.start().wrapping_offset(at.selected + offset(number)),
                updates: accumulation.updates.start().wrapping_offset(at.listed),
                places: &lists.places[updates.start..],
                count: updates.len(),
                len,
                init: accumulation.reducer.init,
            };
            // SAFETY: the row of a target and the rows of its updates, or the same columns of each,
            // which the invariant describes; the target, or these columns of it, is this part's.
            #[allow(unsafe_code)]
            unsafe {
                self.rows.reduce(&row);
            }
        };
        if !lists.touched.is_empty() {
            let before = |bound: usize| lists.touched.partition_point(|&it| (it as usize) < bound);
            let touched = &lists.touched[before(targets.start)..before(targets.end)];
            for number in touched.iter().map(|&number| number as usize) {
                reduce_target(number, lists.start(number)..lists.ends[number] as usize);
            }
            return;
        }
        let mut start = lists.start(targets.start);
        for number in targets {
            let end = lists.ends[number] as usize;
            reduce_target(number, start..end);
            start = end;
        }
    }
}

impl Lists {
    /// The start of a target's list in `places`.
    fn start(&self, target: usize) -> usize {
        if target == 0 { 0 } else { self.ends[target - 1] as usize }
    }

    /// The range of targets of part number `part` of `parts`: all parts have about the same number
    /// of updates.
    fn share(&self, parts: usize, part: usize) -> Range<usize> {
        let all = self.ends.last().map_or(0, |&end| end as usize);
        let bound = |part: usize| match part {
            0 => 0,
            _ if part == parts => self.ends.len(),
            _ => {
                let before = parallel::share(all, parts, part).start;
                self.ends.partition_point(|&end| end as usize <= before)
            }
        };
        bound(part)..bound(part + 1)
    }
}

/// Writes the offset of each update to the next place of its target's list, the number of which is
/// the target's counter (selected). The listed array begins at the null pointer, so that the
/// address of an update is its offset.
struct ListUpdates<'l>(Mutex<&'l mut [isize]>);

#[allow(unsafe_code)]
impl Kernel for ListUpdates<'_> {
    unsafe fn run(&self, tile: &Tile<'_>) {
        let Ok(mut places) = self.0.lock() else { return };
        let places = Cell::from_mut(&mut **places).as_slice_of_cells();
        let list_one = |counter: *mut u8, update: *mut u8| {
            let counter = counter.cast::<u32>();
            // SAFETY: the caller's promise: `counter` is an element of the counters.
            let number = unsafe { counter.replace(counter.read() + 1) };
            if let Some(place) = places.get(number as usize) {
                place.set(update.addr() as isize);
            }
        };
        assert!(tile.inner.len == 1, "all loops are over updates");
        tile.each_row(list_one);
    }
}
