//! The loops of kernels over a tile.

use super::{BLOCK, Later, Places, Steps, Tile, later_slots};
use crate::memory::cpu;
use crate::memory::indices::elements::Action;
use crate::memory::walk::lines_in_l1;
use crate::threshold::threshold;

/// Number of iterations of the outer loop of a block, in which it changes places with a loop inside
/// it. What they select stays in L1.
const ITERATIONS: usize = threshold(128, 5);

/// The most bytes of the listed array between the first and the last iteration of such a block.
const BLOCK_BYTES: usize = threshold(16 << 10, 512);

/// The fewest entries of an iteration with which later iterations are prefetched: with fewer,
/// out-of-order execution and hardware prefetchers reach the next iterations.
pub(in crate::memory) const MANY_ENTRIES: usize = threshold(8, 6);

/// Fewest iterations with which a loop order of their own pays for fewer entries.
pub(in crate::memory) const MANY_ITERATIONS: usize = threshold(32, 3);

/// The most entries of a single iteration that are not worth what a loop by blocks prepares, which takes
/// as many instructions as 16 sums.
const SHORT: usize = threshold(16, 3);

/// How [`Tile::each`] runs many iterations of the outer loop.
#[derive(Clone, Copy)]
enum LoopOrder {
    /// With a prefetch of what is selected that many iterations later: iterations are far from each
    /// other and together select in much memory.
    Prefetching(usize),
    /// Entry by entry, in blocks of iterations, which are near each other.
    ByEntry,
    /// Iteration by iteration: few entries in each iteration, and iterations are far from each other.
    Plain,
}

impl Tile<'_> {
    /// Calls `visit(selected, listed)` with the two addresses of each entry, in each iteration of
    /// the outer loop. For a `visit` of a few instructions: the loop is unrolled. `action` is what
    /// it does.
    #[inline(always)]
    pub(in crate::memory) fn each(&self, action: Action, visit: impl Fn(*mut u8, *mut u8)) {
        self.each_in::<false>(action, visit);
    }

    /// [`each`](Self::each), all of which is compiled for the processor features of its caller.
    #[cfg(feature = "half")]
    #[inline(always)]
    pub(in crate::memory) fn each_here(&self, visit: impl Fn(*mut u8, *mut u8)) {
        self.each_in::<true>(Action::Combine, visit);
    }

    /// [`each`](Self::each), with all loops in its caller if `HERE`.
    #[inline(always)]
    fn each_in<const HERE: bool>(&self, action: Action, visit: impl Fn(*mut u8, *mut u8)) {
        if let (1, 0..=SHORT, Places::Every(step)) =
            (self.outer.len, self.offsets.len(), self.places)
        {
            let mut listed = self.listed;
            for &offset in self.offsets {
                visit(self.selected.wrapping_offset(offset), listed);
                listed = listed.wrapping_offset(step);
            }
            return;
        }
        if self.outer.len > 1 && self.each_of_many::<HERE>(action, &visit) {
            return;
        }
        for iteration in 0..self.outer.len {
            let (selected, mut listed) = self.iteration(iteration);
            match self.places {
                Places::Every(step) => {
                    // Blocks of a constant length, which the compiler unrolls.
                    let entry = |listed: *mut u8, k: usize| {
                        listed.wrapping_offset(step.wrapping_mul(k as isize))
                    };
                    let blocks = self.offsets.chunks_exact(BLOCK);
                    let rest = blocks.remainder();
                    // Only entries within a cache line of each other are a stream to prefetch.
                    let stream = if (0..=64).contains(&step) { BLOCK * step as usize } else { 0 };
                    for (number, block) in blocks.enumerate() {
                        self.next.prefetch(number);
                        self.prefetch_list(listed, stream);
                        for k in 0..BLOCK {
                            visit(selected.wrapping_offset(block[k]), entry(listed, k));
                        }
                        listed = entry(listed, BLOCK);
                    }
                    for (k, &offset) in rest.iter().enumerate() {
                        visit(selected.wrapping_offset(offset), entry(listed, k));
                    }
                }
                Places::Each(places) => {
                    let visit = |offset: isize, place: isize| {
                        visit(selected.wrapping_offset(offset), listed.wrapping_offset(place));
                    };
                    let blocks = self.offsets.chunks_exact(BLOCK).zip(places.chunks_exact(BLOCK));
                    for (offsets, places) in blocks {
                        for k in 0..BLOCK {
                            visit(offsets[k], places[k]);
                        }
                    }
                    let rest = self.offsets.len() / BLOCK * BLOCK;
                    for (&offset, &place) in self.offsets[rest..].iter().zip(&places[rest..]) {
                        visit(offset, place);
                    }
                }
            }
        }
    }

    /// [`each`](Self::each) for many iterations of the outer loop, if one of the loops below is
    /// faster for them. Returns false, and does nothing, if none is.
    #[inline(always)]
    fn each_of_many<const HERE: bool>(
        &self,
        action: Action,
        visit: &impl Fn(*mut u8, *mut u8),
    ) -> bool {
        #[inline(never)]
        fn apart(run: impl FnOnce()) {
            run();
        }
        let (Places::Every(step), Some(order)) = (self.places, self.loop_order(action)) else {
            return false;
        };
        if HERE {
            self.each_by(order, step, visit);
        } else {
            apart(|| self.each_by(order, step, visit));
        }
        true
    }

    /// The loop in this order, compiled for the processor features of its caller, as no closure would be.
    #[inline(always)]
    fn each_by(&self, order: LoopOrder, step: isize, visit: &impl Fn(*mut u8, *mut u8)) {
        match order {
            LoopOrder::Prefetching(ahead) => self.each_prefetching(step, ahead, visit),
            LoopOrder::ByEntry => self.each_by_entry(step, visit),
            LoopOrder::Plain => self.each_plain(step, visit),
        }
    }

    /// The loop order of [`each_of_many`](Self::each_of_many) for this tile.
    #[inline(never)]
    fn loop_order(&self, action: Action) -> Option<LoopOrder> {
        /// Iterations that are nearer to each other share cache lines of what they select.
        const NEAR: usize = threshold(64, 16);
        /// The least step in bytes with which later iterations are prefetched: iterations nearer to
        /// each other mostly select in the same cache lines.
        const FAR: usize = threshold(128, 8);
        let (entries, iterations) = (self.offsets.len(), self.outer.len);
        let step = self.outer.selected.unsigned_abs();
        if entries < MANY_ENTRIES {
            let order = if step < NEAR { LoopOrder::ByEntry } else { LoopOrder::Plain };
            return (iterations >= MANY_ITERATIONS).then_some(order);
        }
        if step < NEAR && iterations >= MANY_ITERATIONS {
            return self.pays_by_entry(action).then_some(LoopOrder::ByEntry);
        }
        let far = step >= FAR && cpu::is_long(step.saturating_mul(self.all_iterations));
        far.then(|| LoopOrder::Prefetching((cpu::STREAM / step).max(1)))
    }

    /// Whether iterations that are near each other run [entry by entry](LoopOrder::ByEntry), although entries
    /// are not few.
    fn pays_by_entry(&self, action: Action) -> bool {
        /// The longest rows that are gathered so, in bytes: an iteration waits for nothing but its
        /// loads, and writes its outputs in order.
        const GATHERED: usize = 4;
        /// The most bytes between the outputs of two such iterations.
        const OUTPUTS: usize = 64;
        let step = self.outer.listed.unsigned_abs();
        match action {
            Action::Gather => step <= OUTPUTS && self.inner.len * self.size <= GATHERED,
            // Blocks of at least 16 iterations.
            _ => step <= BLOCK_BYTES / 16,
        }
    }

    /// Prefetches what is selected `ahead` iterations later. Hardware prefetchers predict neither
    /// the addresses within an iteration nor that those of the next iteration are at the same
    /// distances from each other.
    #[inline(always)]
    fn each_prefetching(&self, step: isize, ahead: usize, visit: &impl Fn(*mut u8, *mut u8)) {
        for iteration in 0..self.outer.len {
            let (selected, mut listed) = self.iteration(iteration);
            let (later, _) = self.iteration((iteration + ahead).min(self.outer.len - 1));
            for &offset in self.offsets {
                cpu::prefetch_line_l2(later.wrapping_offset(offset));
                visit(selected.wrapping_offset(offset), listed);
                listed = listed.wrapping_offset(step);
            }
        }
    }

    /// Exchanges the outer loop and that over the entries, in blocks of iterations:
    ///
    /// ```text
    /// for block of iterations { for entry { for iteration of block { visit(..) } } }
    /// ```
    ///
    /// Updates of one element do not follow each other then, so that none waits for the one before: 12
    /// products in 3 transposed targets take 0.26 ns an update, in the order of the tile 0.53. Where
    /// iterations are not near each other, this would take up to four times as long: more lines would
    /// be in use at once, in more pages.
    #[inline(always)]
    fn each_by_entry(&self, step: isize, visit: &impl Fn(*mut u8, *mut u8)) {
        let block = self.block_by_entry();
        for first in (0..self.outer.len).step_by(block) {
            let (selected, mut listed) = self.iteration(first);
            let count = (self.outer.len - first).min(block);
            for &offset in self.offsets {
                self.each_of_entry(selected.wrapping_offset(offset), listed, count, visit);
                listed = listed.wrapping_offset(step);
            }
        }
    }

    /// The number of iterations of such a block.
    fn block_by_entry(&self) -> usize {
        /// Where all of the listed array comes from memory, hardware prefetchers follow runs of this
        /// number of bytes; longer ones take up to 1.3 times as long.
        const RUN: usize = 512;
        let row = self.inner.len * self.size;
        let listed = row.saturating_mul(self.offsets.len()).saturating_mul(self.all_iterations);
        let step =
            if cpu::is_long(listed) { row.saturating_mul((BLOCK_BYTES / RUN).max(1)) } else { 1 };
        (BLOCK_BYTES / step.max(self.outer.listed.unsigned_abs()).max(1)).clamp(1, ITERATIONS)
    }

    /// The plain loops, without what `each` does for each iteration, which would take longer than
    /// few entries.
    ///
    /// The inner loop has a constant length, so that the compiler unrolls it: each entry has loads of
    /// its own, at evenly spaced addresses, which hardware prefetchers follow.
    #[inline(always)]
    fn each_plain(&self, step: isize, visit: &impl Fn(*mut u8, *mut u8)) {
        let (mut selected, mut listed) = (self.selected, self.listed);
        let entries = self.offsets.len();
        let mut offsets = [0; MANY_ENTRIES - 1];
        offsets[..entries].copy_from_slice(self.offsets);
        for _ in 0..self.outer.len {
            let mut entry = listed;
            for (k, offset) in offsets.into_iter().enumerate() {
                if k == entries {
                    break;
                }
                visit(selected.wrapping_offset(offset), entry);
                entry = entry.wrapping_offset(step);
            }
            selected = selected.wrapping_offset(self.outer.selected);
            listed = listed.wrapping_offset(self.outer.listed);
        }
    }

    /// Calls `visit` with the addresses of one entry in `count` iterations of the outer loop, from
    /// these addresses on.
    #[inline(always)]
    fn each_of_entry(
        &self,
        selected: *mut u8,
        listed: *mut u8,
        count: usize,
        visit: &impl Fn(*mut u8, *mut u8),
    ) {
        /// Number of iterations that the compiler unrolls.
        const UNROLLED: usize = 4;
        // Copies, which no write of `visit` can change.
        let (step, listed_step) = (self.outer.selected, self.outer.listed);
        let after = |address: *mut u8, step: isize, count: usize| {
            address.wrapping_offset(step.wrapping_mul(count as isize))
        };
        let visit_from = |first: usize, count: usize| {
            let (selected, listed) =
                (after(selected, step, first), after(listed, listed_step, first));
            for k in 0..count {
                visit(after(selected, step, k), after(listed, listed_step, k));
            }
        };
        let rest = count % UNROLLED;
        (0..count - rest).step_by(UNROLLED).for_each(|first| visit_from(first, UNROLLED));
        visit_from(count - rest, rest);
    }

    /// [`each`](Self::each) for a `visit` that has a loop of its own, as over a row: not unrolled.
    #[inline(always)]
    pub(in crate::memory) fn each_row(&self, visit: impl Fn(*mut u8, *mut u8)) {
        self.each_row_ahead(0, |_| {}, visit);
    }

    /// [`each_row`](Self::each_row) with prefetches, unless `distance` is 0: before each call of
    /// `visit`, `ahead` is called with the selected address of the entry `distance` entries
    /// [later](Later), if there is one, and, if entries are not evenly spaced in the listed array, with
    /// the listed address of the one in the same iteration.
    #[inline(always)]
    pub(in crate::memory) fn each_row_ahead(
        &self,
        distance: usize,
        ahead: impl Fn(*mut u8),
        visit: impl Fn(*mut u8, *mut u8),
    ) {
        let mut slots = later_slots();
        let later = Later::of(self, distance, &mut slots);
        for iteration in 0..self.outer.len {
            let (selected, mut listed) = self.iteration(iteration);
            let prefetch = |k: usize| {
                if let Some(later) = later.offset(k) {
                    ahead(selected.wrapping_offset(later));
                }
            };
            match self.places {
                Places::Every(step) => {
                    for (k, &offset) in self.offsets.iter().enumerate() {
                        prefetch(k);
                        if k % BLOCK == 0 {
                            self.next.prefetch(k / BLOCK);
                        }
                        visit(selected.wrapping_offset(offset), listed);
                        listed = listed.wrapping_offset(step);
                    }
                }
                Places::Each(places) => {
                    for (k, (&offset, &place)) in self.offsets.iter().zip(places).enumerate() {
                        prefetch(k);
                        // Hardware prefetchers cannot predict these places.
                        if let Some(&later) = places.get(k + distance).filter(|_| distance > 0) {
                            ahead(listed.wrapping_offset(later));
                        }
                        visit(selected.wrapping_offset(offset), listed.wrapping_offset(place));
                    }
                }
            }
        }
    }

    /// Calls `run` with tiles that together are this one. Rows that are far shorter than the outer
    /// loop, or than a loop over entries, change places with it, in blocks of its iterations: a short
    /// loop costs more than its iterations. For kernels that take rows of any steps.
    #[inline(never)]
    pub(in crate::memory) fn with_long_rows(&self, run: &dyn Fn(&Tile<'_>)) {
        if let Some(block) = self.block(self.outer, self.offsets.len()) {
            return self.exchanged(block, run);
        }
        match (self.offset_step(), self.offsets, self.places) {
            (Some(selected), offsets @ [first, ..], Places::Every(listed)) => {
                let outer = Steps { len: offsets.len(), selected, listed };
                let Some(block) = self.block(outer, 1) else { return run(self) };
                for iteration in 0..self.outer.len {
                    let (selected, listed) = self.iteration(iteration);
                    let offsets = std::slice::from_ref(first);
                    Tile { selected, listed, outer, offsets, ..*self }.exchanged(block, run);
                }
            }
            _ if self.has_far_elements() => self.element_by_element(run),
            _ => run(self),
        }
    }

    /// The number of iterations of the loop `around`, with `entries` in each, that pay to run inside
    /// the loop over a row; `None` if the row is not short beside that loop.
    fn block(&self, around: Steps, entries: usize) -> Option<usize> {
        /// Most elements of a row; of rows that share cache lines of both arrays, or whose elements do
        /// where they are selected, if all that a block selects stays in L1; and if such a tile is small.
        const SHORT: [usize; 3] = [4, 8, 16];
        /// Most elements of a small tile.
        const SMALL: usize = 128;
        /// Fewest iterations of a block.
        const FEWEST: usize = threshold(32, 2);
        let step = around.selected.unsigned_abs().max(1);
        let in_l1 = lines_in_l1(step).saturating_mul((64 / step).max(1));
        let block = in_l1 / entries.max(1);
        let small = self.inner.len.saturating_mul(entries) <= SMALL;
        let shares_lines =
            step.min(self.inner.selected.unsigned_abs()) < 64 && around.listed.unsigned_abs() <= 64;
        let short = match block >= FEWEST {
            true if shares_lines => SHORT[1 + usize::from(small)],
            false if in_l1 < ITERATIONS => return None,
            _ => SHORT[0],
        };
        let pays = (2..=short).contains(&self.inner.len) && around.len >= 4 * self.inner.len;
        pays.then(|| if block >= FEWEST { block.min(ITERATIONS) } else { ITERATIONS })
    }

    /// Whether rows are [so short](Self::block) beside the outer loop that these change places.
    pub(in crate::memory) fn has_short_rows(&self) -> bool {
        self.block(self.outer, self.offsets.len()).is_some()
    }

    /// Whether there are far more entries than elements of a row, and these, which are few, share no
    /// cache lines of the selected array, but those of the listed array with the next entry's.
    fn has_far_elements(&self) -> bool {
        const MOST_BYTES: usize = threshold(32, 16);
        let row = self.inner.len.saturating_mul(self.size);
        let far = self.inner.selected.unsigned_abs() >= 64;
        let few = self.inner.len > 1 && row <= MOST_BYTES;
        let near = matches!(self.places, Places::Every(step) if step.unsigned_abs() <= 64);
        far && near
            && few
            && self.offset_step().is_none()
            && self.offsets.len() >= 4 * self.inner.len
    }

    /// Calls `run` with tiles of one element of each entry, which together are this one: a call for
    /// each of many short rows would take longer than its elements.
    ///
    /// ```text
    /// for block of entries                 instead of        for k in entries
    ///   for i in 0..6                                          for i in 0..6
    ///     for k in block                                         output[k, i] = data[indices[k], i]
    ///       output[k, i] = data[indices[k], i]
    /// ```
    pub(in crate::memory) fn element_by_element(&self, run: &dyn Fn(&Tile<'_>)) {
        /// What these entries have in the listed array stays in L1.
        const ENTRIES: usize = threshold(256, 5);
        for first in (0..self.offsets.len()).step_by(ENTRIES) {
            let block = self.part(first..self.offsets.len().min(first + ENTRIES));
            for k in 0..self.inner.len as isize {
                let selected = block.selected.wrapping_offset(k.wrapping_mul(self.inner.selected));
                let listed = block.listed.wrapping_offset(k.wrapping_mul(self.inner.listed));
                run(&Tile { selected, listed, inner: Steps::ONCE, ..block });
            }
        }
    }

    /// Calls `run` with tiles that together are this one: the outer and the inner loop change
    /// places, in blocks of iterations of the outer loop.
    fn exchanged(&self, block: usize, run: &dyn Fn(&Tile<'_>)) {
        for first in (0..self.outer.len).step_by(block) {
            let (mut selected, mut listed) = self.iteration(first);
            let inner = Steps { len: (self.outer.len - first).min(block), ..self.outer };
            for _ in 0..self.inner.len {
                run(&Tile { selected, listed, outer: Steps::ONCE, inner, ..*self });
                selected = selected.wrapping_offset(self.inner.selected);
                listed = listed.wrapping_offset(self.inner.listed);
            }
        }
    }
}

#[cfg(test)]
mod tests;
