//! Reductions that build up beside their targets: means, and sums and products
//! in a wider type.
//!
//! Targets of a few lanes at a time have slots. They start from what the target
//! holds, updates are added to them by the very walk that would change the
//! target, and what they come to is written to the target:
//!
//! ```text
//! for lanes in groups                     as many as stay near a core
//!   slots = start(target)
//!   for entries: slots[index] += update   the walk, with slots for a target
//!   target = finish(slots)
//! ```
//!
//! Where updates touch little of the target, they are sorted by target first,
//! and only those that are touched have slots. Most rows are listed by target, too,
//! and need no slots (`by_target.rs`).

mod adds;
mod bits;
mod by_target;
mod counts;
#[cfg(feature = "half")]
mod halves;
mod integers;
mod kinds;
mod rows;
mod runs;
mod slots;
mod sparse;

use std::mem::MaybeUninit;
use std::sync::atomic::Ordering;

use smallvec::SmallVec;

use self::adds::{Adds, Anew};
pub(in crate::memory) use self::bits::Dense;
use self::by_target::RowsByTarget;
pub(in crate::memory) use self::counts::{Counts, Divide, count};
pub(crate) use self::integers::significant;
#[cfg(feature = "half")]
pub(crate) use self::kinds::half;
pub(crate) use self::kinds::{
    DivideRow, Significant, Widely, large_integer, running, small_integer,
};
pub(in crate::memory) use self::kinds::{Extent, Wide};
pub(crate) use self::slots::divide_row;
use super::Kernels;
use super::kernels::Plain;
use crate::error::{Error, Result};
use crate::index::Policy;
use crate::memory::alloc::{repeated, reserved};
use crate::memory::cpu::of_caches;
use crate::memory::indexed::{Cut, Run};
use crate::memory::indices::Indices;
use crate::memory::tile::Kernel;
use crate::memory::walk::{
    Component, Components, Cursor, Loop, Loops, Offsets, Order, Walk, iterations, merge,
};
use crate::parallel::{self, Cost};
use crate::reduction::Reduction;
use crate::sync::{AtomicBool, Mutex};
use crate::threshold::threshold;

/// Bytes of slots that stay in the caches near a core: where updates take each
/// lane after the other, and where they go back and forth between lanes.
fn nearest() -> usize {
    of_caches(|caches| caches.second / 8, 64)
}
fn near() -> usize {
    of_caches(|caches| caches.second, 256)
}

/// Lanes whose indices lie next to each other are read a cache line at a time,
/// so several are better than one.
const ABREAST: usize = threshold(16, 2);

/// Bands of rows are wider: each band goes through all indices, and reads a part of
/// each row.
const ABREAST_IN_ROWS: usize = threshold(256, 2);

/// Below this width of rows, counts of their own do not pay.
pub(in crate::memory) const WIDE_ROW: usize = 4;

/// A reduction beside a target.
///
/// Invariant: the loops are those of `Axes` over these arrays, which are
/// borrowed for as long as this, the target exclusively; `kernels` are those of
/// their elements.
pub(in crate::memory) struct Building<'b> {
    pub(in crate::memory) target: *mut u8,
    pub(in crate::memory) updates: *const u8,
    /// The size of an element in bytes.
    pub(in crate::memory) size: usize,
    pub(in crate::memory) indices: Indices<'b>,
    pub(in crate::memory) policy: Policy,
    pub(in crate::memory) loops: &'b Loops,
    pub(in crate::memory) components: &'b Components,
    pub(in crate::memory) sparse: bool,
    pub(in crate::memory) kernels: &'b Kernels,
    pub(in crate::memory) reduction: Reduction,
    pub(in crate::memory) init: bool,
    /// The target and the updates, where both are dense.
    pub(in crate::memory) dense: Option<[Dense; 2]>,
}

// SAFETY: stands for the borrows named above; groups of lanes that run side by
// side share no target.
#[allow(unsafe_code)]
unsafe impl Sync for Building<'_> {}

impl Building<'_> {
    /// How many targets a lane has.
    fn targets(&self) -> usize {
        self.components.iter().map(|one| one.len).product()
    }

    /// The loops over updates.
    fn entries(&self) -> impl Iterator<Item = Loop> {
        self.loops.iter().copied().filter(|one| one.entries)
    }

    /// Whether the iterations of a loop over lanes lie between what indices select, or around it.
    fn is_inside(&self, lanes: &Loop) -> bool {
        let across = self.components.iter().map(|one| one.step.unsigned_abs()).min();
        Some(lanes.step.selected.unsigned_abs()) < across
    }

    /// Walks over two arrays, of which the listed one has elements of the size
    /// that is given; false where an index is refused.
    ///
    /// # Safety
    /// The loops and components are over these arrays, with the steps of each,
    /// from here on, and the kernel is for their elements.
    #[allow(unsafe_code)]
    #[inline(never)]
    unsafe fn walk(
        &self,
        mut loops: Loops,
        components: &Components,
        from: Offsets,
        (selected, listed, size): (*mut u8, *const u8, usize),
        kernel: &dyn Kernel,
    ) -> bool {
        loops.retain(|one| one.len > 1);
        let (walk, rest) = Walk::new(loops, components.clone(), Order::Selected(0));
        let outside = AtomicBool::new(false);
        for mut walk in std::iter::once(walk).chain(rest.map(|rest| *rest)) {
            walk.base = walk.base.after(1, from);
            let run = Run {
                walk: &walk,
                indices: Some(&self.indices),
                policy: self.policy,
                selected,
                listed: listed.cast_mut(),
                size,
                kernel,
                spread: walk.is_spread(),
                outside: &outside,
            };
            // SAFETY: the caller's promise: loops over two arrays, of which one
            // may be the slots, with the steps of each.
            #[allow(unsafe_code)]
            unsafe {
                run.run(Cut::Entries(1), 1);
            }
        }
        !outside.into_inner()
    }
}

/// Room for slots, aligned for any.
type Room = Vec<MaybeUninit<u128>>;

/// Room for so many slots of `size` bytes.
fn room(slots: Option<usize>, size: usize) -> Result<Room> {
    let bytes = slots.and_then(|slots| slots.checked_mul(size));
    let bytes = bytes.ok_or(Error::AllocationFailed { bytes: usize::MAX })?;
    reserved(bytes.div_ceil(size_of::<u128>()))
}

/// Builds all values and writes them; false where an index is refused, which
/// may leave some targets written.
pub(in crate::memory) fn fold_wide(building: &Building<'_>) -> Result<bool> {
    let loops = building.loops;
    let updates = building.entries().map(|one| one.len).product();
    let mut lanes: Loops = loops.iter().copied().filter(|one| !one.entries).collect();
    lanes.sort_by_key(|one| std::cmp::Reverse(one.step.selected.unsigned_abs()));
    merge(&mut lanes);
    let extent = |rows: bool| Extent { updates, rows, bits: building.size as u32 * 8 };
    let wide = |extent: Extent| building.kernels.wide(building.reduction, extent);
    let Some(apart) = wide(extent(false)) else { return Ok(true) };
    if let Some(rows) = RowsByTarget::of(building, &lanes, &apart) {
        return rows.fold();
    }
    if building.sparse {
        return sparse::fold(building, &apart, &lanes);
    }
    let row = lanes.pop().unwrap_or(Loop::ONCE);
    let inside = building.is_inside(&row);
    let rows = inside && !row.reads_indices() && row.len >= WIDE_ROW;
    let mut extent = extent(rows);
    let significant = building.kernels.significant().zip(extent.smaller());
    if let (Some((significant, most)), Some(arrays)) = (significant, building.dense) {
        // SAFETY: the kernels are those of the arrays.
        #[allow(unsafe_code)]
        let bits = unsafe { bits::bits(significant, arrays, building.size, most) };
        extent.bits = bits.unwrap_or(extent.bits);
    }
    match wide(extent) {
        Some(wide) => Plan { building, wide, lanes, row, inside, rows }.fold(updates),
        None => Ok(true),
    }
}

/// How the slots of a target lie.
struct Plan<'p> {
    building: &'p Building<'p>,
    wide: Wide,
    /// All loops over lanes but the innermost, and that one.
    lanes: Loops,
    row: Loop,
    /// Whether the lanes of a row lie between what indices select, or around it.
    inside: bool,
    /// Whether each index selects a whole row, which is counted once.
    rows: bool,
}

/// Room for the slots of a group, and for counts of its rows.
struct Rooms {
    slots: Room,
    counts: Vec<u32>,
    /// The group of lanes whose indices have been counted.
    counted: Option<usize>,
}

impl Plan<'_> {
    fn fold(&self, updates: usize) -> Result<bool> {
        let Plan { building, row, .. } = self;
        let bins = building.targets();
        let lane_bytes = bins.saturating_mul(self.wide.slot).max(1);
        let iterations = iterations(&self.lanes);
        let lanes = iterations * row.len;
        let cost = Cost::of_near(updates.saturating_mul(lanes)).times(3);
        let parts = parallel::parts(cost).min(parallel::threads());
        // As many as stay near, but so few that each thread has some.
        let share = row.len.div_ceil(parts);
        let (bytes, least) = match (self.inside, self.rows) {
            (true, true) => (near(), ABREAST_IN_ROWS),
            (true, false) => (near(), ABREAST),
            (false, _) => (nearest(), 1),
        };
        let width = (bytes / lane_bytes).min(share).max(least);
        let width = width.min(row.len);
        let bands = row.len.div_ceil(width);
        let groups = iterations * bands;
        let parts = parts.min(groups);
        let mut rooms = reserved(parts)?;
        for _ in 0..parts {
            rooms.push(Mutex::new(Rooms {
                slots: room(bins.checked_mul(width), self.wide.slot)?,
                counts: repeated(0, if self.wide.divide_row.is_some() { bins } else { 0 })?,
                counted: None,
            }));
        }
        let outside = AtomicBool::new(false);
        parallel::run(parts, &|part| {
            let Ok(mut rooms) = rooms[part].lock() else { return };
            for group in parallel::share(groups, parts, part) {
                let iteration = group / bands;
                let (at, _) = Cursor::new(&self.lanes, Offsets::ZERO, iteration).take(1);
                let first = group % bands * width;
                let lanes = Loop { len: width.min(row.len - first), ..*row };
                let group = Group { plan: self, at: at.after(first, row.step), lanes, iteration };
                if !group.fold(&mut rooms) {
                    return outside.store(true, Ordering::Relaxed);
                }
            }
        });
        Ok(!outside.into_inner())
    }
}

/// Lanes that have slots at the same time.
struct Group<'g> {
    plan: &'g Plan<'g>,
    at: Offsets,
    lanes: Loop,
    /// Which iteration of the loops around this is one of.
    iteration: usize,
}

impl Group<'_> {
    /// Folds the updates of these lanes, with room for a slot for each of their
    /// targets; false where an index is refused.
    fn fold(&self, rooms: &mut Rooms) -> bool {
        let Plan { building, wide, inside, .. } = self.plan;
        let slots = rooms.slots.as_mut_ptr().cast::<u8>();
        let width = if *inside { self.lanes.len } else { 1 };
        let (components, bins) = steps(building.components, wide.slot, width);
        let lane_step = if *inside { wide.slot } else { bins * wide.slot } as isize;
        // SAFETY: there is a slot for each target of these lanes.
        #[allow(unsafe_code)]
        self.each_run(&components, lane_step, &|target, step, slot, len, _| unsafe {
            wide.start(target, step, slots.wrapping_add(slot), len);
        });
        // Slots (selected) and updates (listed).
        let mut adds: Loops = self.plan.building.entries().collect();
        let step = Offsets { selected: lane_step, ..self.lanes.step };
        adds.push(Loop { len: self.lanes.len, step, entries: false });
        let kernels: [&dyn Kernel; 2] = [&Anew(wide), &Adds(wide)];
        for kernel in &kernels[usize::from(building.init)..] {
            let from = Offsets { selected: 0, ..self.at };
            let arrays = (slots, building.updates, building.size);
            // SAFETY: `adds` goes over the updates of these lanes, with the steps
            // of slots in the place of the target's; all slots have been started.
            #[allow(unsafe_code)]
            let all = unsafe { building.walk(adds.clone(), &components, from, arrays, *kernel) };
            if !all {
                return false;
            }
        }
        let Some(divide_row) = wide.divide_row else {
            // SAFETY: as for the start.
            #[allow(unsafe_code)]
            self.each_run(&components, lane_step, &|target, step, slot, len, _| unsafe {
                wide.finish(slots.wrapping_add(slot), target, step, len, building.init);
            });
            return true;
        };
        if !self.count(rooms) {
            return false;
        }
        let counts = &rooms.counts;
        // SAFETY: as for the start.
        #[allow(unsafe_code)]
        self.each_run(&components, lane_step, &|target, step, slot, len, row| unsafe {
            if counts[row] > 0 {
                let slots = slots.wrapping_add(slot);
                divide_row(slots, len, counts[row] + u32::from(building.init));
                wide.finish(slots, target, step, len, building.init);
            }
        });
        true
    }

    /// Calls `run` for runs of slots that lie next to each other: with their
    /// target and its step, the offset of the first, how many they are, and for
    /// rows the number of their count.
    fn each_run(
        &self,
        components: &Components,
        lane_step: isize,
        run: &dyn Fn(*mut u8, isize, usize, usize, usize),
    ) {
        let Plan { building, rows, .. } = self.plan;
        let (numbers, _) = steps(building.components, 1, 1);
        let mut loops: Loops = SmallVec::new();
        for ((target, slot), number) in building.components.iter().zip(components).zip(&numbers) {
            let indices = if *rows { number.step } else { 0 };
            let step = Offsets { selected: target.step, indices, listed: slot.step };
            loops.push(Loop { len: target.len, step, entries: false });
        }
        let step = Offsets { selected: self.lanes.step.selected, indices: 0, listed: lane_step };
        let lanes = Loop { len: self.lanes.len, step, entries: false };
        if !*rows {
            loops.push(lanes);
        }
        loops.retain(|one| one.len > 1);
        loops.sort_by_key(|one| std::cmp::Reverse(one.step.listed));
        merge(&mut loops);
        // A row is a run of its own, be it of one lane: it has a count of its own.
        let last = if *rows { lanes } else { loops.pop().unwrap_or(Loop::ONCE) };
        let mut cursor = Cursor::new(&loops, Offsets::ZERO, 0);
        for _ in 0..iterations(&loops) {
            let (at, _) = cursor.take(1);
            let target = building.target.wrapping_offset(self.at.selected + at.selected);
            run(target, last.step.selected, at.listed as usize, last.len, at.indices as usize);
        }
    }

    /// Counts the updates of each row, unless the group before had the same
    /// indices; false where an index is refused.
    fn count(&self, rooms: &mut Rooms) -> bool {
        if rooms.counted == Some(self.iteration) {
            return true;
        }
        rooms.counts.fill(0);
        let (components, _) = steps(self.plan.building.components, size_of::<u32>(), 1);
        let mut loops: Loops = self.plan.building.entries().collect();
        for one in &mut loops {
            one.step.listed = 0;
        }
        let from = Offsets { indices: self.at.indices, ..Offsets::ZERO };
        let one = 1_u32;
        let arrays = (rooms.counts.as_mut_ptr().cast(), (&raw const one).cast(), size_of::<u32>());
        // SAFETY: the loops are those over the updates of a lane, with the steps
        // of counts in the place of the target's; one value stands for all
        // updates.
        #[allow(unsafe_code)]
        let all =
            unsafe { self.plan.building.walk(loops, &components, from, arrays, &Plain(count)) };
        rooms.counted = all.then_some(self.iteration);
        all
    }
}

/// The components of an index into elements of `size` bytes that lie in
/// row-major order, `width` of them for each index; and how many there are.
pub(in crate::memory) fn steps(
    components: &[Component],
    size: usize,
    width: usize,
) -> (Components, usize) {
    let mut stepped: Components = components.iter().copied().collect();
    let mut count = width;
    for one in stepped.iter_mut().rev() {
        one.step = (count * size) as isize;
        count *= one.len;
    }
    (stepped, count)
}
