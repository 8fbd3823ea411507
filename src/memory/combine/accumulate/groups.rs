//! Groups of lanes, whose slots are in the caches at the same time.

use smallvec::SmallVec;

use super::adds::{AddToSlots, ClearSlots};
use super::{NEAR, SHORT_ROW, SlotPlan, steps};
use crate::memory::refused::Refused;
use crate::memory::tile::Kernel;
use crate::memory::walk::{Components, Cursor, Loop, Loops, Offsets, iterations, merge};
use crate::threshold::threshold;

/// Counts of the updates of the rows of a group.
pub(super) struct RowCounts {
    pub(super) of_rows: Vec<u32>,
    /// The iteration of the loops around the group whose indices have been counted.
    pub(super) iteration: Option<usize>,
}

/// The step in bytes from slot to slot of each loop over lanes.
type SlotSteps = SmallVec<[isize; 4]>;

/// A group of lanes, which have slots at the same time.
pub(super) struct Group<'g> {
    pub(super) plan: &'g SlotPlan<'g>,
    /// The place of its first lane in the arrays.
    pub(super) at: Offsets,
    /// The loops over its lanes: `row`, the innermost, and all others.
    pub(super) loops: Loops,
    pub(super) row: Loop,
    /// The number of the iteration of `SlotPlan::lanes` that it is a part of.
    pub(super) iteration: usize,
    /// The most parts in which its updates are accumulated.
    pub(super) parts: usize,
}

impl Group<'_> {
    /// Reduces the updates of these lanes.
    ///
    /// # Safety
    /// At `slots` is memory for a slot for each of their targets, which nothing else uses.
    #[allow(unsafe_code)]
    pub(super) unsafe fn run(&self, slots: *mut u8, counts: &mut RowCounts) -> Result<(), Refused> {
        let SlotPlan { accumulation, accumulator, .. } = self.plan;
        let init = accumulation.reducer.init;
        let (components, slot_steps) = self.slot_steps();
        // SAFETY: there is a slot for each target (`# Safety`), and `slot_steps` numbers those of these
        // lanes without gaps; `each_run` visits positions of the components and lanes alone, which are
        // those of the target (invariant of `Accumulation`).
        self.each_run(&components, &slot_steps, false, &|target, step, slot, len, _| unsafe {
            accumulator.start(target, step, slots.wrapping_add(slot), len);
        });
        // SAFETY: all slots have been started.
        unsafe {
            self.accumulate(slots, &components, &slot_steps)?;
        }
        // The group before may have had the same indices.
        if accumulator.divide_row.is_some() && counts.iteration != Some(self.iteration) {
            accumulation.count(&mut counts.of_rows, self.at.indices)?;
            counts.iteration = Some(self.iteration);
        }
        // Of long rows only those with updates are written.
        let all = self.row.len <= SHORT_ROW;
        let counts = &counts.of_rows;
        if let Some(divide_row) = accumulator.divide_row {
            // SAFETY: as for the start.
            self.each_run(&components, &slot_steps, true, &|target, step, slot, len, row| unsafe {
                if counts[row] > 0 {
                    let slots = slots.wrapping_add(slot);
                    divide_row(slots, len, counts[row] + u32::from(init));
                    if !all {
                        accumulator.finish(slots, target, step, len, init);
                    }
                }
            });
        }
        if accumulator.divide_row.is_none() || all {
            // SAFETY: as for the start. A row without updates is what it was started from, and
            // keeps its bits (`NarrowFn`).
            self.each_run(&components, &slot_steps, false, &|target, step, slot, len, _| unsafe {
                accumulator.finish(slots.wrapping_add(slot), target, step, len, init);
            });
        }
        Ok(())
    }

    /// Adds the updates of these lanes to slots with these steps.
    ///
    /// # Safety
    /// There is a slot for each target of the lanes, all of which have been started.
    #[allow(unsafe_code)]
    unsafe fn accumulate(
        &self,
        slots: *mut u8,
        components: &Components,
        slot_steps: &SlotSteps,
    ) -> Result<(), Refused> {
        let SlotPlan { accumulation, accumulator, .. } = self.plan;
        let mut loops: Loops = accumulation.entries().collect();
        loops.extend(
            self.lane_loops().zip(slot_steps).map(|(level, &selected)| Loop {
                step: Offsets { selected, ..level.step },
                ..level
            }),
        );
        let kernels: [&dyn Kernel; 2] = [&ClearSlots(accumulator), &AddToSlots(accumulator)];
        for kernel in &kernels[usize::from(accumulation.reducer.init)..] {
            let from = Offsets { selected: 0, ..self.at };
            let arrays = (slots, accumulation.updates.start(), accumulation.size());
            // SAFETY: `loops` are over the updates of these lanes, with the steps of slots in the place of the
            // target's; the caller's promise.
            unsafe {
                accumulation.walk(loops.clone(), components, from, arrays, *kernel, self.parts)?;
            }
        }
        Ok(())
    }

    /// All loops over its lanes, `row` last.
    fn lane_loops(&self) -> impl Iterator<Item = Loop> {
        self.loops.iter().copied().chain([self.row])
    }

    /// The steps in bytes from slot to slot: along each component, and of each of the loops over
    /// lanes. Slots are in the order that their targets have in memory, so that contiguous targets
    /// have contiguous slots: 25,776 sums of `bf16` into a transposed 172,863 x 3 took 5.7 ms with
    /// slots in the order of indices, and take 0.2. But if the runs of these were short, and targets
    /// that are near each other make longer ones, they are in the order of those.
    fn slot_steps(&self) -> (Components, SlotSteps) {
        /// Fewest slots of a run that is worth a call.
        const RUN: usize = threshold(8, 3);
        let mut components = self.plan.accumulation.components.clone();
        let mut steps: SlotSteps = self.lane_loops().map(|level| level.step.selected).collect();
        let mut axes: SmallVec<[(usize, &mut isize); 8]> = SmallVec::new();
        axes.extend(components.iter_mut().map(|axis| (axis.len, &mut axis.step)));
        axes.extend(self.lane_loops().map(|level| level.len).zip(&mut steps));
        axes.sort_by_key(|(_, step)| std::cmp::Reverse(step.unsigned_abs()));
        let longer = |(len, step): &(usize, &mut isize)| *len >= RUN && step.unsigned_abs() < NEAR;
        // The targets of a run: of one axis, or of several that are contiguous together.
        let (mut run, mut next) = (1, 0);
        for (len, step) in axes.iter().rev().filter(|(len, _)| *len > 1) {
            if run > 1 && step.unsigned_abs() != next {
                break;
            }
            (run, next) = (run * *len, step.unsigned_abs().saturating_mul(*len));
        }
        if run < RUN && self.plan.accumulator.divide_row.is_none() {
            if let Some(at) = axes.iter().rposition(longer) {
                axes[at..].rotate_left(1);
            }
        }
        let mut next = self.plan.accumulator.slot;
        for (len, step) in axes.into_iter().rev() {
            *step = next as isize;
            next *= len;
        }
        for axis in components.iter_mut().filter(|axis| axis.len == 1) {
            // All indices along this axis select its only position: `SortKeys` learns from a step of 0
            // that loops over entries stay at one place.
            axis.step = 0;
        }
        (components, steps)
    }

    /// Calls `run` for each run of contiguous slots, with its first target, the step in bytes
    /// between its targets, the offset in bytes of its first slot, the number of slots, and, if
    /// `by_rows`, the number of its row, by which its updates are counted.
    fn each_run(
        &self,
        components: &Components,
        slot_steps: &[isize],
        by_rows: bool,
        run: &dyn Fn(*mut u8, isize, usize, usize, usize),
    ) {
        let accumulation = self.plan.accumulation;
        let (numbers, _) = steps(accumulation.components, 1, 1);
        let mut loops: Loops = SmallVec::new();
        for ((target, slot), number) in accumulation.components.iter().zip(components).zip(&numbers)
        {
            let indices = if by_rows { number.step } else { 0 };
            let step = Offsets { selected: target.step, indices, listed: slot.step };
            loops.push(Loop { len: target.len, step, entries: false });
        }
        loops.extend(self.lane_loops().zip(slot_steps).map(|(level, &listed)| Loop {
            step: Offsets { indices: 0, listed, ..level.step },
            ..level
        }));
        // Each row is a run of its own, even of one lane, since each has its own count.
        let row = if by_rows { loops.pop() } else { None };
        loops.retain(|level| level.len > 1);
        loops.sort_by_key(|level| std::cmp::Reverse(level.step.listed));
        merge(&mut loops);
        let last = row.or_else(|| loops.pop()).unwrap_or(Loop::ONCE);
        let mut cursor = Cursor::new(&loops, Offsets::ZERO, 0);
        for _ in 0..iterations(&loops) {
            let (at, _) = cursor.take(1);
            let target =
                accumulation.target.start().wrapping_offset(self.at.selected + at.selected);
            run(target, last.step.selected, at.listed as usize, last.len, at.indices as usize);
        }
    }
}
