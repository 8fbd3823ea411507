//! Reductions that accumulate beside their targets: means, and reductions of half
//! precision.
//!
//! Each target of a group of lanes has an accumulator, its *slot*. Slots start
//! from what the target holds, updates are accumulated in them by the same walk
//! that would change the target, and their results are written to the target:
//!
//! ```text
//! for each group of lanes                 whose slots stay in the caches
//!   slots = start(target)
//!   for entries: slots[index] += update   the walk, over slots instead of the target
//!   target = finish(slots)
//! ```
//!
//! Where updates touch little of the target, they are sorted by target first,
//! and only the targets that are touched have slots (`sparse.rs`). The updates of
//! most rows are listed by target, too, and need no slots (`by_target.rs`), nor do
//! halves by sorted indices of which few repeat (`in_order.rs`).

mod adds;
mod bits;
mod by_target;
mod convert;
mod counts;
mod few;
mod groups;
#[cfg(feature = "half")]
mod halves;
#[cfg(feature = "half")]
mod in_order;
mod integers;
mod kinds;
mod marks;
#[cfg(feature = "half")]
mod once;
mod rows;
mod slots;
mod sparse;
mod touched;

use self::by_target::RowsByTarget;
pub(in crate::memory) use self::counts::{Counts, DivideCounted, SetCounted};
pub(in crate::memory) use self::few::accumulate_few;
use self::groups::{Group, RowCounts};
pub(crate) use self::kinds::Accumulators;
pub(in crate::memory) use self::kinds::{Accumulator, AccumulatorFns, Extent, OnceRun, Quotients};
use super::{HAS_KERNELS, Reducer};
use crate::error::Result;
use crate::index::Policy;
use crate::memory::alloc::{made, repeated};
use crate::memory::cpu::of_caches;
use crate::memory::indexed::{Cut, Run};
use crate::memory::indices::Indices;
use crate::memory::packed::{self, Blocks};
use crate::memory::refused::{Failure, Refusal, Refused};
use crate::memory::strided::{Strided, StridedMut};
use crate::memory::tile::Kernel;
use crate::memory::walk::{
    Component, Components, Cursor, Loop, Loops, Offsets, Order, Walk, is_inside, iterations, merge,
    targets,
};
use crate::memory::work::WorkMemory;
use crate::parallel::{self, Cost};
use crate::threshold::threshold;

/// Bytes of the slots of a group of lanes, at most, where one lane is reduced after
/// the other: a part of L2.
fn separate_slot_bytes() -> usize {
    of_caches(|caches| caches.second / 8, 64)
}

/// Number of lanes of a group, at least, where adjacent lanes have adjacent indices. Where a row of lanes
/// is cut, its parts are not contiguous, and each update takes two to three times as long: 3677 x 43
/// `f16` minima in 4254 x 43 take 155 µs whole, and 295 in parts on two threads.
const MIN_LANES: usize = threshold(64, 2);

/// The same where each index selects a whole row: each group reads all indices
/// and a part of each row.
const MIN_LANES_IN_ROWS: usize = threshold(256, 2);

/// Number of lanes of a group, and of updates and targets of all of them together, with which it has so much
/// to do that it needs no further loop.
const ENOUGH_LANES: usize = threshold(256, 12);
const ENOUGH: usize = threshold(8 << 10, 40);

/// The distance in bytes below which elements share cache lines: the size of a line.
const NEAR: usize = threshold(64, 16);

/// Number of elements from which on a row is worth a count of its updates, for sums in the target.
pub(in crate::memory) const COUNTED_IN_TARGET: usize = 4;

/// The same for slots, which are finished row by row then, with fewer than two updates for each target, and with
/// more. 20,000 means of 100,000 rows of 4 `f16` take 605 µs with counts and 188 without, of 12 786 and
/// 569, 100,000 of 20,000 rows of 8 419 and 555.
const COUNTED_ROW: [usize; 2] = [threshold(16, 4), threshold(6, 4)];

/// Rows of up to this many elements are converted side by side, and not row by row: 6,370 rows of
/// two `bf16` among 4.7M take 460 µs so, and 550 row by row.
pub(in crate::memory) const SHORT_ROW: usize = threshold(32, 4);

/// A reduction that accumulates beside its target.
///
/// Invariant: the loops and components are over these arrays, or copies of them ([`Pass`](crate::memory::scatter)),
/// and do not leave them; `reducer` is one of the elements of target and updates.
pub(in crate::memory) struct Accumulation<'b> {
    pub(in crate::memory) target: &'b StridedMut<'b>,
    pub(in crate::memory) updates: Strided<'b>,
    pub(in crate::memory) indices: Indices<'b>,
    pub(in crate::memory) policy: Policy,
    pub(in crate::memory) loops: &'b Loops,
    pub(in crate::memory) components: &'b Components,
    /// Whether updates touch little of the target.
    pub(in crate::memory) sparse: bool,
    pub(in crate::memory) reducer: Reducer,
}

impl Accumulation<'_> {
    /// The size of an element in bytes.
    fn size(&self) -> usize {
        self.updates.layout().size()
    }

    /// The number of targets of a lane.
    fn targets(&self) -> usize {
        targets(self.components)
    }

    /// The loops over updates.
    fn entries(&self) -> impl Iterator<Item = Loop> {
        self.loops.iter().copied().filter(|level| level.entries)
    }

    /// A kernel that is to run along a walk over `selected` and `listed`, whose elements have `size`
    /// bytes.
    fn run<'r>(
        &'r self,
        walk: &'r Walk,
        (selected, listed, size): (*mut u8, *const u8, usize),
        kernel: &'r dyn Kernel,
        refusal: &'r Refusal,
    ) -> Run<'r> {
        Run {
            walk,
            indices: Some(&self.indices),
            policy: self.policy,
            selected,
            listed: listed.cast_mut(),
            size,
            kernel,
            refusal,
        }
    }

    /// Runs a kernel over `selected` and `listed`, whose elements have `size` bytes, from the
    /// place `from` on; where indices are sorted, in as many as `parts` parts, which have no selected
    /// element in common.
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
        parts: usize,
    ) -> Result<(), Refused> {
        loops.retain(|level| level.len > 1);
        let refusal = Refusal::new();
        if loops.len() > 1 && iterations(&loops) >= packed::FEWEST {
            let walk = Walk::in_order(loops.clone(), components.clone()).moved(from);
            if let Some(blocks) = Blocks::of(&walk, &self.indices, Order::Selected(0), |_| 1) {
                let run = self.run(&walk, (selected, listed, size), kernel, &refusal);
                // SAFETY: the caller's promise; the blocks were made of this walk and these indices, whose
                // elements are all single.
                #[allow(unsafe_code)]
                unsafe {
                    blocks.run(&run);
                }
                return refusal.result();
            }
        }
        let walk = Walk::new(loops, components.clone(), Order::Selected(0)).moved(from);
        for walk in walk.with_rest() {
            let run = self.run(walk, (selected, listed, size), kernel, &refusal);
            let sorted = parts > 1 && self.indices.are_sorted(walk, self.policy);
            let cut = if sorted { (Cut::Segments, parts) } else { Cut::NONE };
            // SAFETY: the caller's promise: loops over two arrays, of which the
            // selected one may be the slots, with the steps of each. Several parts are cut where
            // sorted indices change, so that no two select an element in common (`are_sorted`).
            #[allow(unsafe_code)]
            unsafe {
                run.run(cut);
            }
        }
        refusal.result()
    }
}

/// Runs the reduction. Where an index is refused, some targets may have been written.
pub(in crate::memory) fn accumulate(accumulation: &Accumulation<'_>) -> Result<(), Failure> {
    let loops = accumulation.loops;
    let updates = accumulation.entries().map(|level| level.len).product();
    let mut lanes: Loops = loops.iter().copied().filter(|level| !level.entries).collect();
    lanes.sort_by_key(|level| std::cmp::Reverse(level.step.selected.unsigned_abs()));
    merge(&mut lanes);
    let extent = |rows: bool| Extent { updates, rows, bits: accumulation.size() as u32 * 8 };
    let reducer = accumulation.reducer;
    let by_element = reducer.accumulator(extent(false)).expect(HAS_KERNELS);
    #[cfg(feature = "half")]
    if let Some(done) =
        by_element.in_order.and_then(|run| in_order::run(accumulation, run, updates))
    {
        return Ok(done?);
    }
    if let Some(rows) = RowsByTarget::of(accumulation, &lanes, &by_element) {
        return rows.run();
    }
    if accumulation.sparse {
        if let Some(done) = sparse::run(accumulation, &by_element, &lanes) {
            return done;
        }
    }
    let row = lanes.pop().unwrap_or(Loop::ONCE);
    let inside = is_inside(accumulation.components, &row);
    let elements = (updates + accumulation.targets()).saturating_mul(row.len);
    let small = are_small_batches(&lanes, elements);
    let counted = COUNTED_ROW[usize::from(updates / 2 >= accumulation.targets())];
    let rows = inside && !row.reads_indices() && row.len >= counted && !small;
    let mut extent = extent(rows);
    let significant = reducer.kernels.accumulators.significant.zip(extent.scan_limit());
    // Indices that are shorter than the target leave most of it out: a scan would take longer than the reduction.
    let pays = || {
        let lens = lanes.iter().chain([&row]).map(|level| level.len);
        let among = lens.fold(accumulation.targets(), usize::saturating_mul);
        let [target, updates] = [accumulation.target.layout(), accumulation.updates.layout()];
        target.is_dense() && updates.is_dense() && target.len() / 2 <= among
    };
    if let Some((significant, max_bits)) = significant.filter(|_| pays()) {
        // SAFETY: the kernels are those of the elements of both arrays (invariant of `Accumulation`), which are plain,
        // so that any thread may read them; nothing is written meanwhile.
        #[allow(unsafe_code)]
        let bits = unsafe {
            let arrays = [accumulation.target.to_read(), accumulation.updates];
            bits::scan(significant, arrays, max_bits)
        };
        extent.bits = bits.unwrap_or(extent.bits);
    }
    let accumulator = reducer.accumulator(extent).expect(HAS_KERNELS);
    SlotPlan { accumulation, accumulator, lanes, row, inside, rows }.run(updates)
}

/// Whether lanes come in batches with indices of their own, each of so few `elements` (updates and targets) that
/// several have slots at the same time, rather than lists or counts one by one.
fn are_small_batches(lanes: &Loops, elements: usize) -> bool {
    const SMALL: usize = threshold(4 << 10, 24);
    elements < SMALL && !share_indices(lanes)
}

/// Whether no loop over lanes moves to other indices.
fn share_indices(lanes: &Loops) -> bool {
    lanes.iter().all(|level| !level.reads_indices())
}

/// The layout of the slots, and the loops over the lanes that are cut into groups.
struct SlotPlan<'p> {
    accumulation: &'p Accumulation<'p>,
    accumulator: Accumulator,
    /// The loops over lanes: the innermost, and the others ([`cut`](Self::cut) leaves those around
    /// groups).
    lanes: Loops,
    row: Loop,
    /// Whether `row` [is inside](is_inside) what the indices select.
    inside: bool,
    /// Whether each index selects a whole row, whose updates are counted once.
    rows: bool,
}

/// How the lanes are cut into groups.
struct Cuts {
    /// Numbers of cuts in each iteration of `SlotPlan::lanes`: blocks of `depth` iterations of `outer`, and bands of
    /// `width` lanes.
    blocks: usize,
    bands: usize,
    outer: Loop,
    /// The loops inside `outer` of which each group has all iterations.
    whole: Loops,
    depth: usize,
    width: usize,
    /// Number of lanes of a group, at most.
    lanes: usize,
}

impl SlotPlan<'_> {
    /// Bytes of the slots of a group, at most, where updates of all lanes alternate: all of L2, but more
    /// of whole rows, of which `at_once` have slots at the same time. 10,000 x 60 `bf16` summed in
    /// 20,000 x 60 take 2.8 ms in groups that L2 holds, and 0.8 in one.
    fn alternating_slot_bytes(&self, lane_bytes: usize, at_once: usize) -> usize {
        let [second, last] =
            [of_caches(|caches| caches.second, 256), of_caches(|caches| caches.last, 1 << 10)];
        // Groups of many lanes cost little.
        let many = second / lane_bytes > 2 * MIN_LANES;
        let whole = if many { last / 4 } else { last / 2 };
        let whole_row = !self.rows && self.row.len.saturating_mul(lane_bytes) <= whole / at_once;
        if whole_row { whole } else { second }
    }

    /// Cuts the lanes into groups that are as large as slots fit in the cache, but not so large
    /// that one of `parts` threads has none. Loops that are cut or in groups are taken from `lanes`.
    fn cut(&mut self, parts: usize, targets: usize, updates: usize) -> Cuts {
        let lane_bytes = targets.saturating_mul(self.accumulator.slot).max(1);
        let elements = targets.saturating_add(updates);
        let share =
            |len: usize, around: &Loops| len.div_ceil(parts.div_ceil(iterations(around).max(1)));
        let at_once = parts.min(iterations(&self.lanes).max(1));
        let (bytes, least) = match (self.inside, self.rows) {
            (true, true) => (self.alternating_slot_bytes(lane_bytes, at_once), MIN_LANES_IN_ROWS),
            (true, false) => (self.alternating_slot_bytes(lane_bytes, at_once), MIN_LANES),
            (false, _) => (separate_slot_bytes(), 1),
        };
        let row = self.row.len;
        // Iterations that have the same counts may be in one group.
        let joined = |outer: &Loop| self.accumulator.divide_row.is_none() || !outer.reads_indices();
        let beside = self.nearest_updates(bytes / lane_bytes, least);
        let beside = beside.filter(|at| joined(&self.lanes[*at])).map(|at| self.lanes.remove(at));
        let mut outer = beside.unwrap_or(Loop::ONCE);
        let nearest = outer.len;
        // How many iterations fit, whose slots lie between those of the nearest updates.
        let room = |most, bytes| if beside.is_some() { off_pages(most, bytes) } else { most };
        let width = room(bytes / lane_bytes / nearest, lane_bytes).min(share(row, &self.lanes));
        let width = evenly(row, width, least);
        // Lanes whose updates share cache lines are in one group: sums of 4 `bf16` each into a
        // transposed 256 x 1 x 512, of columns a power of two apart, 3.9 -> 0.42 ms.
        let near = |level: &Loop| (1..NEAR).contains(&level.step.listed.unsigned_abs());
        let apart = !near(&self.row);
        let (mut whole, mut depth, mut lanes) = (Loops::new(), outer.len, width * outer.len);
        while depth == outer.len && width == row {
            let few = lanes < ENOUGH_LANES || lanes.saturating_mul(elements) < ENOUGH;
            let wanted = |next: &Loop| few || apart && near(next);
            let next = self.lanes.last().copied().filter(joined).filter(wanted);
            let Some(next) = next else { break };
            self.lanes.pop();
            if outer.len > 1 {
                whole.push(outer);
            }
            outer = next;
            let inside = lane_bytes.saturating_mul(lanes);
            let most = room(separate_slot_bytes() / inside, inside / nearest);
            // A short row has a part of the cache lines of its targets, the next rows have the others.
            let shares = self.inside && outer.step.selected.unsigned_abs() < NEAR;
            let least = if shares { MIN_LANES.div_ceil(lanes) } else { 1 };
            depth = evenly(outer.len, most.min(share(outer.len, &self.lanes)), least);
            lanes *= depth;
        }
        let (blocks, bands) = (outer.len.div_ceil(depth), row.div_ceil(width));
        Cuts { blocks, bands, outer, whole, depth, width, lanes }
    }

    /// The loop along which updates lie next to each other, if that is not `row`, and if a group of `lanes` lanes has
    /// room for all of it times `least` of `row`: groups of part of it would each read the same lines. Products of
    /// 3 rows of 33,988 x 16 `f16`, which lie transposed in the target, 10.5 -> 1.5 ms.
    fn nearest_updates(&self, lanes: usize, least: usize) -> Option<usize> {
        /// The least number of lanes of `row` in a group, if that is not more.
        const BAND: usize = threshold(16, 2);
        let step = |level: &Loop| level.step.listed.unsigned_abs();
        let nearer = |level: &Loop| (1..NEAR.min(step(&self.row))).contains(&step(level));
        let fits =
            |level: &Loop| level.len.saturating_mul(least.max(BAND).min(self.row.len)) <= lanes;
        let number = (0..self.lanes.len()).min_by_key(|&number| step(&self.lanes[number]))?;
        // If this is the next loop anyway, a group may have all of `row` and enough of it.
        let next = number + 1 == self.lanes.len() && !self.row.reads_indices();
        let enough = next && lanes / self.row.len * self.accumulation.size() >= NEAR / 2;
        let found = &self.lanes[number];
        (nearer(found) && fits(found) && !enough).then_some(number)
    }

    /// The most parts to which groups are shared out.
    fn parts(&self, cost: Cost, targets: usize) -> usize {
        let parts = parallel::parts_at_once(cost);
        // Threads that share a row for each target write lines in its middle at the same time, when they
        // finish their slots: 16 sums each in 316 lanes of 405 `f16` take 28 µs, and 47 so.
        let shares_rows = self.inside && iterations(&self.lanes) < parts;
        let narrow = self.row.len < 2 * MIN_LANES;
        if shares_rows && (narrow || cost < Cost::of_contended(targets)) { 1 } else { parts }
    }

    /// Reduces all lanes, group by group.
    fn run(mut self, updates: usize) -> Result<(), Failure> {
        let targets = self.accumulation.targets();
        let lanes = iterations(&self.lanes) * self.row.len;
        let cost = Cost::of_near(updates.saturating_mul(lanes)).times(3);
        // Slots of all targets are started and finished.
        let bytes = self.accumulator.slot + self.accumulation.size();
        let cost = cost.plus(Cost::of_bytes(targets.saturating_mul(lanes).saturating_mul(bytes)));
        let parts = self.parts(cost, targets);
        let cuts = self.cut(parts, targets, updates);
        let groups = iterations(&self.lanes) * cuts.blocks * cuts.bands;
        // One group alone leaves the other threads to its updates.
        let within = if groups == 1 { parallel::parts(cost) } else { 1 };
        let parts = parts.min(groups);
        // One allocation for all parts: with one each, glibc returns the memory to the system when
        // the call ends, and its pages are mapped anew in the next. 1175 rows of 465 `f16` take
        // 1150 µs on two threads so, and 170 with one allocation.
        let bytes = cuts.lanes.saturating_mul(self.accumulator.slot).saturating_mul(targets);
        // A multiple of the alignment, so that all buffers have it.
        let bytes = bytes.div_ceil(align_of::<u128>()).saturating_mul(align_of::<u128>());
        // Without memory for several parts, one does all.
        let slots = WorkMemory::new(parts, bytes).or_else(|_| WorkMemory::new(1, bytes))?;
        let parts = slots.parts();
        let counted = if self.accumulator.divide_row.is_some() { targets } else { 0 };
        let mut counts =
            made(parts, || Ok(RowCounts { of_rows: repeated(0, counted)?, iteration: None }))?;
        let refusal = Refusal::new();
        parallel::run_each(&mut counts, &|part, counts| {
            for number in parallel::share(groups, parts, part) {
                let group = self.group(&cuts, number, within);
                // SAFETY: this part alone uses its buffer, of a slot for each target of the most lanes of a group.
                #[allow(unsafe_code)]
                let done = unsafe { group.run(slots.of(part), counts) };
                if done.is_err() {
                    return refusal.set();
                }
            }
        });
        Ok(refusal.result()?)
    }

    /// The group with this number, whose updates are accumulated in `parts` parts.
    fn group(&self, cuts: &Cuts, number: usize, parts: usize) -> Group<'_> {
        let &Cuts { blocks, bands, outer, depth, width, .. } = cuts;
        let iteration = number / (blocks * bands);
        let (at, _) = Cursor::new(&self.lanes, Offsets::ZERO, iteration).take(1);
        let (block, band) = (number / bands % blocks * depth, number % bands * width);
        let at = at.after(block, outer.step).after(band, self.row.step);
        let mut loops = cuts.whole.clone();
        loops.push(Loop { len: depth.min(outer.len - block), ..outer });
        let row = Loop { len: width.min(self.row.len - band), ..self.row };
        Group { plan: self, at, loops, row, iteration, parts }
    }
}

/// The length of the parts of a loop of `len` iterations: `most`, or where that is less than `least`, as
/// long as `least` and equally long, since a short part would cost as much as the others.
fn evenly(len: usize, most: usize, least: usize) -> usize {
    if most < least { len.div_ceil((len / least).max(1)) } else { most.min(len) }
}

/// The largest count from seven eighths of `most` to `most` of which `count * bytes` is not near a multiple of 4 KiB,
/// since what lies so far apart shares few sets of a cache; else `most`. Products of 3 rows of 33,988 x 16 `f16` that
/// lie transposed in the target 7.7 -> 3.4 ms (2021).
fn off_pages(most: usize, bytes: usize) -> usize {
    const PAGE: usize = 4 << 10;
    let apart = |count: &usize| (256..PAGE - 256).contains(&(count.saturating_mul(bytes) % PAGE));
    (most - most / 8..=most).rev().find(apart).unwrap_or(most)
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
