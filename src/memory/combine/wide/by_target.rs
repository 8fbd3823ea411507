//! Updates of rows, listed by their target.
//!
//! ```text
//! for entries: ends[target] += 1
//! for entries: places[next of the target] = where the update begins
//! for targets: fold their row with its updates     in parallel
//! ```
//!
//! So what builds up never leaves the registers, however many targets there are.

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::Ordering;

use super::counts::count;
use super::kinds::Wide;
use super::rows::{Row, Rows};
use super::{Building, steps};
use crate::error::Result;
use crate::memory::alloc::{repeated, reserved};
use crate::memory::combine::apply::elements;
use crate::memory::combine::kernels::Plain;
use crate::memory::tile::{Kernel, Tile};
use crate::memory::walk::{Component, Cursor, Loop, Loops, Offsets, iterations, merge};
use crate::parallel::{self, Cost};
use crate::sync::{AtomicBool, Mutex};
use crate::threshold::threshold;

/// Rows that are reduced.
///
/// Invariant: the loops are those of the walk over the arrays of `building`; rows are dense
/// in both, of at least [`Rows::LEAST`] elements, for which `rows` are made and can run.
pub(super) struct RowsByTarget<'l> {
    building: &'l Building<'l>,
    rows: Rows,
    /// All loops over lanes but that over the elements of a row, and that one.
    lanes: Loops,
    row: Loop,
    /// The loops over updates, and those over targets.
    entries: Loops,
    targets: Loops,
}

/// The updates of each target.
struct Lists {
    /// Where the list of each target ends, and that of the next begins.
    ends: Vec<u32>,
    /// Where each update begins, in bytes.
    places: Vec<isize>,
    /// Whether they are those of all lanes.
    full: bool,
}

impl<'l> RowsByTarget<'l> {
    /// How many targets may have a counter for each update. Into 200,000 rows of 64 `u8`
    /// 20,000 take 5.4 ns an element sorted, as the fewer are, and 0.9 to 1.6 listed, but 2,000
    /// 1.7 and 2.5.
    const SPREAD: usize = threshold(16, 8);

    /// These loops over lanes, where rows are such.
    pub(super) fn of(building: &'l Building<'l>, lanes: &Loops, wide: &Wide) -> Option<Self> {
        let mut lanes = lanes.clone();
        let (row, size) = (lanes.pop()?, building.size as isize);
        let dense = row.step.selected == size && row.step.listed == size && !row.reads_indices();
        let inside = building.is_inside(&row);
        let entries: Loops = building.entries().collect();
        let updates = iterations(&entries);
        let many = building.targets() / Self::SPREAD <= updates && updates >> 31 == 0;
        let long = row.len >= Rows::LEAST;
        let rows = wide.rows.filter(|_| dense && inside && many && long && Rows::can_run())?;
        let target = |&Component { len, step, .. }: &Component| {
            let step = Offsets { selected: step, ..Offsets::ZERO };
            Loop { len, step, entries: false }
        };
        let mut targets: Loops = building.components.iter().map(target).collect();
        targets.retain(|one| one.len > 1);
        merge(&mut targets);
        Some(RowsByTarget { building, rows, lanes, row, entries, targets })
    }

    /// Reduces all rows; false where an index is refused, which may leave some targets
    /// written.
    pub(super) fn fold(&self) -> Result<bool> {
        let building = self.building;
        let targets = building.targets();
        let (updates, iterations) = (iterations(&self.entries), iterations(&self.lanes));
        let bytes =
            (self.row.len * building.size).saturating_mul(updates).saturating_mul(iterations);
        let cost = Cost::of_near(updates.saturating_mul(iterations)).times(3);
        let parts = parallel::parts(cost.plus(Cost::of_bytes(bytes))).min(parallel::threads());
        // Either each part takes some of the iterations, or a share of the targets in each.
        let (outer, inner) = if iterations >= parts { (parts, 1) } else { (1, parts) };
        let mut lists = reserved(outer)?;
        for _ in 0..outer {
            let (ends, places) = (repeated(0, targets)?, repeated(0, updates)?);
            lists.push(Mutex::new(Some(Lists { ends, places, full: false })));
        }
        let outside = AtomicBool::new(false);
        parallel::run(outer, &|part| {
            // Taken out, so that no lock is held while a part waits for others.
            let taken = lists[part].lock().ok().and_then(|mut lists| lists.take());
            let Some(mut lists) = taken else { return };
            let mut iterations = parallel::share(iterations, outer, part);
            let mut cursor = Cursor::new(&self.lanes, Offsets::ZERO, iterations.start);
            let all = iterations.all(|_| {
                let (at, _) = cursor.take(1);
                let listed = lists.full || self.list(&mut lists, at);
                if listed {
                    let lists = &lists;
                    parallel::run(inner, &|part| {
                        self.fold_targets(lists, at, lists.share(inner, part));
                    });
                }
                listed
            });
            if !all {
                outside.store(true, Ordering::Relaxed);
            }
        });
        Ok(!outside.into_inner())
    }

    /// Lists the updates of these lanes; false where an index is refused.
    fn list(&self, lists: &mut Lists, at: Offsets) -> bool {
        let Lists { ends, places, full } = lists;
        ends.fill(0);
        let (counters, _) = steps(self.building.components, size_of::<u32>(), 1);
        let from = Offsets { indices: at.indices, ..Offsets::ZERO };
        let each = |ends: &mut [u32], kernel: &dyn Kernel| {
            let arrays = (ends.as_mut_ptr().cast(), std::ptr::null(), self.building.size);
            // SAFETY: the loops are those over the updates of a lane, with the steps of
            // counters in the place of the target's; of updates the kernels look at
            // nothing but where they are.
            #[allow(unsafe_code)]
            unsafe {
                self.building.walk(self.entries.clone(), &counters, from, arrays, kernel)
            }
        };
        if !each(ends, &Plain(count)) {
            return false;
        }
        let mut end = 0;
        for counter in ends.iter_mut() {
            end += std::mem::replace(counter, end);
        }
        let all = each(ends, &List(Mutex::new(places)));
        // They serve all lanes that have these indices.
        *full = self.lanes.iter().all(|one| !one.reads_indices());
        all
    }

    /// Reduces the rows of these targets.
    fn fold_targets(&self, lists: &Lists, at: Offsets, targets: Range<usize>) {
        let building = self.building;
        let offset = |number: usize| match self.targets[..] {
            [one] => one.step.selected.wrapping_mul(number as isize),
            _ => Cursor::new(&self.targets, Offsets::ZERO, number).take(1).0.selected,
        };
        let mut start = lists.start(targets.start);
        for number in targets {
            let end = lists.ends[number] as usize;
            let count = end - start;
            if count > 0 {
                let row = Row {
                    target: building.target.wrapping_offset(at.selected + offset(number)),
                    updates: building.updates.wrapping_offset(at.listed),
                    places: &lists.places[start..],
                    count,
                    len: self.row.len,
                    init: building.init,
                };
                // SAFETY: rows of a target of this part and of its updates, as the invariant
                // has them.
                #[allow(unsafe_code)]
                unsafe {
                    self.rows.fold(&row);
                }
            }
            start = end;
        }
    }
}

impl Lists {
    /// Where the list of a target begins.
    fn start(&self, target: usize) -> usize {
        if target == 0 { 0 } else { self.ends[target - 1] as usize }
    }

    /// One of so many shares of the targets, with about as many updates in each.
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

/// Writes down where an update begins (listed, of no array) at the place that its target's
/// counter (selected) has come to.
struct List<'l>(Mutex<&'l mut [isize]>);

#[allow(unsafe_code)]
impl Kernel for List<'_> {
    unsafe fn run(&self, tile: &Tile<'_>) {
        let Ok(mut places) = self.0.lock() else { return };
        let places = Cell::from_mut(&mut **places).as_slice_of_cells();
        let one = |counter: *mut u8, update: *mut u8| {
            let counter = counter.cast::<u32>();
            // SAFETY: the caller's promise.
            let number = unsafe { counter.replace(counter.read() + 1) };
            if let Some(place) = places.get(number as usize) {
                place.set(update.addr() as isize);
            }
        };
        if tile.inner.len == 1 { tile.each_row(one) } else { elements(tile, one) }
    }

    unsafe fn nowhere(&self, _: &Tile<'_>) {}
}
