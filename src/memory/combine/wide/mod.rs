//! Reductions that accumulate beside their targets: means, and sums, differences
//! and products in a wider type.
//!
//! Each target of a group of lanes has an accumulator, its *slot*. Slots start
//! from what the target holds, updates are accumulated in them by the same walk
//! that would change the target, and their results are written to the target:
//!
//! ```text
//! for each group of lanes                 whose slots fit in L2
//!   slots = start(target)
//!   for entries: slots[index] += update   the walk, over slots instead of the target
//!   target = finish(slots)
//! ```
//!
//! Where updates touch little of the target, they are sorted by target first,
//! and only the targets that are touched have slots (`sparse.rs`). The updates of
//! most rows are listed by target, too, and need no slots (`by_target.rs`).

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
mod touched;

use std::mem::MaybeUninit;
use std::sync::atomic::Ordering;

use smallvec::SmallVec;

use self::adds::{AddToSlots, ClearSlots};
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
    Component, Components, Cursor, Loop, Loops, Offsets, Order, Walk, is_inside, iterations, merge,
};
use crate::parallel::{self, Cost};
use crate::reduction::Reduction;
use crate::sync::{AtomicBool, Mutex};
use crate::threshold::threshold;

/// Bytes of the slots of a group of lanes, at most, where one lane is reduced after
/// the other: a part of L2.
fn separate_slot_bytes() -> usize {
    of_caches(|caches| caches.second / 8, 64)
}

/// The same where updates of all lanes of the group alternate: all of L2.
fn alternating_slot_bytes() -> usize {
    of_caches(|caches| caches.second, 256)
}

/// Number of lanes of a group, at least, where adjacent lanes have adjacent
/// indices: these are read a cache line at a time.
const MIN_LANES: usize = threshold(16, 2);

/// The same where each index selects a whole row: each group reads all indices
/// and a part of each row.
const MIN_LANES_IN_ROWS: usize = threshold(256, 2);

/// Number of elements from which on a row is worth a count of its updates.
pub(in crate::memory) const WIDE_ROW: usize = 4;

/// Rows of up to this many elements are converted side by side, and not row by row: 6,370 rows of
/// two `bf16` among 4.7M take 460 us so, and 550 row by row.
pub(in crate::memory) const SHORT_ROW: usize = 32;

/// A reduction that accumulates beside its target.
///
/// Invariant: the loops and components are those of `Axes` over these arrays,
/// which are borrowed for as long as this, the target exclusively; `kernels` are
/// those of their elements.
pub(in crate::memory) struct Building<'b> {
    pub(in crate::memory) target: *mut u8,
    pub(in crate::memory) updates: *const u8,
    /// The size of an element in bytes.
    pub(in crate::memory) size: usize,
    pub(in crate::memory) indices: Indices<'b>,
    pub(in crate::memory) policy: Policy,
    pub(in crate::memory) loops: &'b Loops,
    pub(in crate::memory) components: &'b Components,
    /// Whether updates touch little of the target.
    pub(in crate::memory) sparse: bool,
    pub(in crate::memory) kernels: &'b Kernels,
    pub(in crate::memory) reduction: Reduction,
    /// Whether the value that a target holds takes part.
    pub(in crate::memory) init: bool,
    /// The target and the updates, where both are dense.
    pub(in crate::memory) dense: Option<[Dense; 2]>,
}

// SAFETY: the pointers stand for the borrows named in the invariant; groups of
// lanes that run on different threads share no target.
#[allow(unsafe_code)]
unsafe impl Sync for Building<'_> {}

impl Building<'_> {
    /// The number of targets of a lane.
    fn targets(&self) -> usize {
        self.components.iter().map(|component| component.len).product()
    }

    /// The loops over updates.
    fn entries(&self) -> impl Iterator<Item = Loop> {
        self.loops.iter().copied().filter(|level| level.entries)
    }

    /// Runs a kernel over `selected` and `listed`, whose elements have `size` bytes, from the
    /// place `from` on. Returns false if the policy refuses an index out of bounds.
    ///
    /// # Safety
    /// The loops and components, from `from` on, are over these arrays, with the
    /// steps of each, and the kernel is for their elements.
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
        loops.retain(|level| level.len > 1);
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
            // SAFETY: the caller's promise: loops over two arrays, of which the
            // selected one may be the slots, with the steps of each.
            #[allow(unsafe_code)]
            unsafe {
                run.run(Cut::Entries(1), 1);
            }
        }
        !outside.into_inner()
    }
}

/// Memory for slots, aligned for slots of any type: the capacity of an empty vector.
type SlotBuffer = Vec<u128>;

/// Reserves memory for `slots` slots of `size` bytes; `None` is a number that overflowed.
fn slot_buffer(slots: Option<usize>, size: usize) -> Result<SlotBuffer> {
    let bytes = slots.and_then(|slots| slots.checked_mul(size));
    let bytes = bytes.ok_or(Error::AllocationFailed { bytes: usize::MAX })?;
    reserved(bytes.div_ceil(size_of::<u128>()))
}

/// Runs the reduction. Returns false if the policy refuses an index out of
/// bounds; some targets may have been written by then.
pub(in crate::memory) fn fold_wide(building: &Building<'_>) -> Result<bool> {
    let loops = building.loops;
    let updates = building.entries().map(|level| level.len).product();
    let mut lanes: Loops = loops.iter().copied().filter(|level| !level.entries).collect();
    lanes.sort_by_key(|level| std::cmp::Reverse(level.step.selected.unsigned_abs()));
    merge(&mut lanes);
    let extent = |rows: bool| Extent { updates, rows, bits: building.size as u32 * 8 };
    let wide = |extent: Extent| building.kernels.wide(building.reduction, extent);
    let Some(by_element) = wide(extent(false)) else { return Ok(true) };
    if let Some(rows) = RowsByTarget::of(building, &lanes, &by_element) {
        return rows.fold();
    }
    if building.sparse {
        return sparse::fold(building, &by_element, &lanes);
    }
    let row = lanes.pop().unwrap_or(Loop::ONCE);
    let inside = is_inside(building.components, &row);
    let rows = inside && !row.reads_indices() && row.len >= WIDE_ROW;
    let mut extent = extent(rows);
    let significant = building.kernels.significant().zip(extent.scan_limit());
    if let (Some((significant, max_bits)), Some(arrays)) = (significant, building.dense) {
        // SAFETY: the kernels are those of the elements of both arrays (invariant of
        // `Building`), and these have `size` bytes.
        #[allow(unsafe_code)]
        let bits = unsafe { bits::scan(significant, arrays, building.size, max_bits) };
        extent.bits = bits.unwrap_or(extent.bits);
    }
    let Some(wide) = wide(extent) else { return Ok(true) };
    // Iterations that have the same counts may be in one group.
    let joined = |outer: &Loop| wide.divide_row.is_none() || !outer.reads_indices();
    let outer = if lanes.last().is_some_and(joined) { lanes.pop() } else { None };
    let outer = outer.unwrap_or(Loop::ONCE);
    SlotPlan { building, wide, lanes, outer, row, inside, rows }.fold(updates)
}

/// The layout of the slots, and the loops over the lanes that are cut into groups.
struct SlotPlan<'p> {
    building: &'p Building<'p>,
    wide: Wide,
    /// The loops over lanes: the innermost, the one around it if several of its iterations may be
    /// in one group, and all others.
    lanes: Loops,
    outer: Loop,
    row: Loop,
    /// Whether `row` [is inside](is_inside) what the indices select.
    inside: bool,
    /// Whether each index selects a whole row, whose updates are counted once.
    rows: bool,
}

/// The slots of a group, and counts of the updates of its rows.
struct GroupBuffers<'b> {
    slots: &'b mut [MaybeUninit<u128>],
    counts: Vec<u32>,
    /// The iteration of the loops around the group whose indices have been counted.
    counted: Option<usize>,
}

impl SlotPlan<'_> {
    /// Reduces all lanes, group by group. Returns false if the policy refuses an index.
    fn fold(&self, updates: usize) -> Result<bool> {
        let SlotPlan { building, outer, row, .. } = self;
        let targets = building.targets();
        let lane_bytes = targets.saturating_mul(self.wide.slot).max(1);
        let iterations = iterations(&self.lanes);
        let lanes = iterations * outer.len * row.len;
        let cost = Cost::of_near(updates.saturating_mul(lanes)).times(3);
        let parts = parallel::parts(cost).min(parallel::threads());
        // Groups are as large as slots fit in the cache, but not so large that a thread has none.
        let share = |len: usize, around: usize| len.div_ceil(parts.div_ceil(around.max(1)));
        let (bytes, least) = match (self.inside, self.rows) {
            (true, true) => (alternating_slot_bytes(), MIN_LANES_IN_ROWS),
            (true, false) => (alternating_slot_bytes(), MIN_LANES),
            (false, _) => (separate_slot_bytes(), 1),
        };
        let width = (bytes / lane_bytes).min(share(row.len, iterations * outer.len)).max(least);
        let width = width.min(row.len);
        let most = separate_slot_bytes() / lane_bytes.saturating_mul(width);
        let most = if width == row.len { most.min(share(outer.len, iterations)) } else { 1 };
        let depth = most.max(1);
        let (blocks, bands) = (outer.len.div_ceil(depth), row.len.div_ceil(width));
        let groups = iterations * blocks * bands;
        let parts = parts.min(groups);
        // One allocation for all parts: with one each, glibc returns the memory to the system when
        // the call ends, and its pages are mapped anew in the next. 1175 rows of 465 `f16` take
        // 1150 us on two threads so, and 170 with one allocation.
        let lanes = (width * depth).checked_mul(self.wide.slot);
        let bytes = lanes.and_then(|bytes| targets.checked_mul(bytes));
        let len = bytes.map_or(usize::MAX, |bytes| bytes.div_ceil(size_of::<u128>()).max(1));
        let mut memory = slot_buffer(len.checked_mul(parts), size_of::<u128>())?;
        let mut buffers = reserved(parts)?;
        for slots in memory.spare_capacity_mut().chunks_mut(len).take(parts) {
            buffers.push(Mutex::new(GroupBuffers {
                slots,
                counts: repeated(0, if self.wide.divide_row.is_some() { targets } else { 0 })?,
                counted: None,
            }));
        }
        let outside = AtomicBool::new(false);
        parallel::run(parts, &|part| {
            let Ok(mut buffers) = buffers[part].lock() else { return };
            for group in parallel::share(groups, parts, part) {
                let iteration = group / (blocks * bands);
                let (at, _) = Cursor::new(&self.lanes, Offsets::ZERO, iteration).take(1);
                let (block, band) = (group / bands % blocks * depth, group % bands * width);
                let at = at.after(block, outer.step).after(band, row.step);
                let lanes = Loop { len: width.min(row.len - band), ..*row };
                let outer = Loop { len: depth.min(outer.len - block), ..*outer };
                let group = Group { plan: self, at, outer, lanes, iteration };
                if !group.fold(&mut buffers) {
                    return outside.store(true, Ordering::Relaxed);
                }
            }
        });
        Ok(!outside.into_inner())
    }
}

/// A group of lanes, which have slots at the same time.
struct Group<'g> {
    plan: &'g SlotPlan<'g>,
    /// The place of its first lane in the arrays.
    at: Offsets,
    /// Its iterations of `SlotPlan::outer`, and its lanes of each.
    outer: Loop,
    lanes: Loop,
    /// The number of the iteration of the loops around `SlotPlan::row` that it is a part of.
    iteration: usize,
}

impl Group<'_> {
    /// Reduces the updates of these lanes, with buffers for a slot for each of their
    /// targets. Returns false if the policy refuses an index out of bounds.
    fn fold(&self, buffers: &mut GroupBuffers<'_>) -> bool {
        let SlotPlan { building, wide, inside, .. } = self.plan;
        let slots = buffers.slots.as_mut_ptr().cast::<u8>();
        let width = if *inside { self.lanes.len } else { 1 };
        let (components, slot_count) = steps(building.components, wide.slot, width);
        let bytes = slot_count * wide.slot;
        let (lane_step, outer_step) =
            if *inside { (wide.slot, bytes) } else { (bytes, bytes * self.lanes.len) };
        let slot_steps = [outer_step as isize, lane_step as isize];
        // SAFETY: the buffer has a slot for each target of these lanes, and the runs are of
        // elements of the target, as its components and lanes are.
        #[allow(unsafe_code)]
        self.each_run(&components, slot_steps, false, &|target, step, slot, len, _| unsafe {
            wide.start(target, step, slots.wrapping_add(slot), len);
        });
        // The loops over slots (selected) and updates (listed).
        let mut loops: Loops = self.plan.building.entries().collect();
        for (level, selected) in [self.outer, self.lanes].into_iter().zip(slot_steps) {
            loops.push(Loop { step: Offsets { selected, ..level.step }, ..level });
        }
        let kernels: [&dyn Kernel; 2] = [&ClearSlots(wide), &AddToSlots(wide)];
        for kernel in &kernels[usize::from(building.init)..] {
            let from = Offsets { selected: 0, ..self.at };
            let arrays = (slots, building.updates, building.size);
            // SAFETY: `loops` are over the updates of these lanes, with the steps of
            // slots in the place of the target's; all slots have been started.
            #[allow(unsafe_code)]
            let in_bounds =
                unsafe { building.walk(loops.clone(), &components, from, arrays, *kernel) };
            if !in_bounds {
                return false;
            }
        }
        if wide.divide_row.is_some() && !self.count(buffers) {
            return false;
        }
        // Of long rows only those with updates are written.
        let all = self.lanes.len <= SHORT_ROW;
        let counts = &buffers.counts;
        if let Some(divide_row) = wide.divide_row {
            // SAFETY: as for the start.
            #[allow(unsafe_code)]
            self.each_run(&components, slot_steps, true, &|target, step, slot, len, row| unsafe {
                if counts[row] > 0 {
                    let slots = slots.wrapping_add(slot);
                    divide_row(slots, len, counts[row] + u32::from(building.init));
                    if !all {
                        wide.finish(slots, target, step, len, building.init);
                    }
                }
            });
        }
        if wide.divide_row.is_none() || all {
            // SAFETY: as for the start. A row without updates is what it was started from, and
            // keeps its bits (`NarrowFn`).
            #[allow(unsafe_code)]
            self.each_run(&components, slot_steps, false, &|target, step, slot, len, _| unsafe {
                wide.finish(slots.wrapping_add(slot), target, step, len, building.init);
            });
        }
        true
    }

    /// Calls `run` for each run of contiguous slots, with its first target, the step in bytes
    /// between its targets, the offset in bytes of its first slot, the number of slots, and, if
    /// `by_rows`, the number of its row, by which its updates are counted.
    fn each_run(
        &self,
        components: &Components,
        slot_steps: [isize; 2],
        by_rows: bool,
        run: &dyn Fn(*mut u8, isize, usize, usize, usize),
    ) {
        let building = self.plan.building;
        let (numbers, _) = steps(building.components, 1, 1);
        let mut loops: Loops = SmallVec::new();
        for ((target, slot), number) in building.components.iter().zip(components).zip(&numbers) {
            let indices = if by_rows { number.step } else { 0 };
            let step = Offsets { selected: target.step, indices, listed: slot.step };
            loops.push(Loop { len: target.len, step, entries: false });
        }
        let over_slots = |level: Loop, listed: isize| Loop {
            step: Offsets { indices: 0, listed, ..level.step },
            ..level
        };
        let outer = over_slots(self.outer, slot_steps[0]);
        let lanes = over_slots(self.lanes, slot_steps[1]);
        loops.push(outer);
        if !by_rows {
            loops.push(lanes);
        }
        loops.retain(|level| level.len > 1);
        loops.sort_by_key(|level| std::cmp::Reverse(level.step.listed));
        merge(&mut loops);
        // Each row is a run of its own, even of one lane, since each has its own count.
        let last = if by_rows { lanes } else { loops.pop().unwrap_or(Loop::ONCE) };
        let mut cursor = Cursor::new(&loops, Offsets::ZERO, 0);
        for _ in 0..iterations(&loops) {
            let (at, _) = cursor.take(1);
            let target = building.target.wrapping_offset(self.at.selected + at.selected);
            run(target, last.step.selected, at.listed as usize, last.len, at.indices as usize);
        }
    }

    /// Counts the updates of each row, unless the group before had the same
    /// indices. Returns false if the policy refuses an index out of bounds.
    fn count(&self, buffers: &mut GroupBuffers<'_>) -> bool {
        if buffers.counted == Some(self.iteration) {
            return true;
        }
        buffers.counts.fill(0);
        let (components, _) = steps(self.plan.building.components, size_of::<u32>(), 1);
        let mut loops: Loops = self.plan.building.entries().collect();
        for level in &mut loops {
            level.step.listed = 0;
        }
        let from = Offsets { indices: self.at.indices, ..Offsets::ZERO };
        let one = 1_u32;
        let arrays =
            (buffers.counts.as_mut_ptr().cast(), (&raw const one).cast(), size_of::<u32>());
        // SAFETY: the loops are those over the updates of a lane, with the steps
        // of counts in the place of the target's; all updates are the one value `one`,
        // since their step is 0.
        #[allow(unsafe_code)]
        let in_bounds =
            unsafe { self.plan.building.walk(loops, &components, from, arrays, &Plain(count)) };
        buffers.counted = in_bounds.then_some(self.iteration);
        in_bounds
    }
}

/// Returns the components of an index into another array, which is contiguous in row-major
/// order and has `width` elements of `size` bytes for each value of the index; and its number of
/// elements.
pub(in crate::memory) fn steps(
    components: &[Component],
    size: usize,
    width: usize,
) -> (Components, usize) {
    let mut stepped: Components = components.iter().copied().collect();
    let mut count = width;
    for component in stepped.iter_mut().rev() {
        component.step = (count * size) as isize;
        count *= component.len;
    }
    (stepped, count)
}
