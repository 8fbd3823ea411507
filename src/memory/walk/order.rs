//! The order of a loop nest.
//!
//! The loops may run in any order, except that the loops over the entries of a scatter keep
//! their order among themselves. The strides decide: the loop with the shortest steps runs
//! innermost, so that whole cache lines are used. A gather is ordered by the strides of its
//! output, a scatter by those of its target.
//!
//! Where the strides of the arrays disagree, a loop is tiled ([`tiling`](super::tiling)).

use std::ops::Range;

use super::joined::joined_loops;
use super::tiling::lines::LINE;
use super::tiling::tile;
use super::{Component, Components, Loop, Loops, Offsets, iterations};
use crate::memory::cpu::of_caches;
use crate::memory::indices::CHUNK;
use crate::parallel::{self, Cost};
use crate::threshold::threshold;

/// The array whose strides decide the order of the loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::memory) enum Order {
    /// The listed array: the output of a gather or a copy. The size of an element in bytes if
    /// the kernel itself transposes elements of this size block by block, so that loops which
    /// transpose are not tiled here; otherwise 0.
    Listed(usize),
    /// The selected array: the target of a scatter. The size of an update in bytes if the
    /// kernel transposes updates of this size, for which tiles are longer; otherwise 0.
    Selected(usize),
}

impl Order {
    /// Whether a scatter is ordered.
    pub(in crate::memory) fn scatters(self) -> bool {
        matches!(self, Order::Selected(_))
    }

    /// The size of the elements that the kernel transposes, or 0.
    pub(super) fn size(self) -> usize {
        let (Order::Listed(size) | Order::Selected(size)) = self;
        size
    }
}

/// A loop nest in the order in which it runs, and the role of each loop. In `loops` they stand
/// in the order shared, outer, nest, inner. They run as
///
/// ```text
/// for chunk of iterations of nest     entries, whose indices are resolved here
///   for iteration of shared
///     for iteration of outer          from here on by the kernel
///       for entry in chunk
///         for iteration of inner      the elements of a row
/// ```
#[derive(Debug, Clone)]
pub(in crate::memory) struct Walk {
    /// Offsets in bytes at which the loops start.
    pub(in crate::memory) base: Offsets,
    pub(in crate::memory) components: Components,
    /// The innermost of the loops outside `nest`, which kernels run themselves.
    pub(in crate::memory) outer: Loop,
    /// The loop over the elements of a row, inside all loops that read indices.
    pub(in crate::memory) inner: Loop,
    /// All loops, outermost first.
    pub(in crate::memory) loops: Loops,
    /// The number of shared loops, which come first in `loops`, and the product of their lengths.
    shared: (usize, usize),
    /// The range in `loops` of the loops over entries and of those joined with them, and the product of
    /// their lengths.
    nest: (Range<usize>, usize),
    /// Of a block of a larger walk, the number of iterations of that one, and of the bytes that it spans; else 0.
    pub(super) larger: (usize, usize),
    /// Where a tiled loop leaves iterations that make no whole tile, a walk over these.
    /// Not boxed: `Box::new` ends the process where memory is refused.
    pub(in crate::memory) rest: Vec<Walk>,
}

/// The largest number of iterations for which the order of loops does not matter for speed.
pub(in crate::memory) const FEW: usize = threshold(256, 4);

/// The fewest entries of a run that share an index, for which the run is a tile of its own. Shorter runs are
/// joined with others in one, at offsets without a constant step.
pub(in crate::memory) const LONG_RUN: usize = threshold(16, 2);

impl Walk {
    /// A nest in the order in which its loops were named (row-major), not yet ordered by strides.
    #[inline]
    pub(super) fn of(loops: Loops, components: Components) -> Self {
        let (base, outer, inner) = (Offsets::ZERO, Loop::ONCE, Loop::ONCE);
        let (shared, nest, larger) = ((0, 1), (0..0, 1), (0, 0));
        Walk { base, components, outer, inner, loops, shared, nest, larger, rest: Vec::new() }
    }

    /// Adds a loop inside all others; merges it into the innermost one where that is possible.
    #[inline]
    pub(super) fn push(&mut self, inner: Loop) {
        if let Some(last) = self.loops.last_mut() {
            if let Some(merged) = last.merged(&inner) {
                *last = merged;
                return;
            }
        }
        self.loops.push(inner);
    }

    /// The loops ordered by strides.
    pub(in crate::memory) fn new(loops: Loops, components: Components, order: Order) -> Self {
        let mut walk = Walk::of(loops, components);
        merge(&mut walk.loops);
        walk.order(order);
        walk
    }

    /// These loops, run in this order.
    pub(in crate::memory) fn in_order(loops: Loops, components: Components) -> Self {
        let mut walk = Walk::of(loops, components);
        walk.assign_roles(false);
        walk
    }

    /// This walk, and then its rest.
    pub(in crate::memory) fn with_rest(&self) -> impl Iterator<Item = &Walk> {
        std::iter::once(self).chain(&self.rest)
    }

    /// This walk with its rest, both moved by these offsets.
    pub(in crate::memory) fn moved(mut self, by: Offsets) -> Self {
        self.move_by(by);
        self
    }

    /// Moves this walk and its rest by these offsets.
    pub(in crate::memory) fn move_by(&mut self, by: Offsets) {
        self.base = self.base.after(1, by);
        for rest in &mut self.rest {
            rest.base = rest.base.after(1, by);
        }
    }

    /// The loops that read no indices and run outside all loops that do, except
    /// [`outer`](Self::outer): indices are resolved once for all their iterations.
    #[inline]
    pub(in crate::memory) fn shared(&self) -> &[Loop] {
        &self.loops[..self.shared.0]
    }

    /// The number of iterations of the shared loops.
    #[inline]
    pub(in crate::memory) fn shared_iterations(&self) -> usize {
        self.shared.1
    }

    /// The loops over entries, and those that are [joined](joined_loops) with them.
    #[inline]
    pub(in crate::memory) fn nest(&self) -> &[Loop] {
        &self.loops[self.nest.0.clone()]
    }

    /// The number of entries: of iterations of the nest.
    #[inline]
    pub(in crate::memory) fn entries(&self) -> usize {
        self.nest.1
    }

    /// The number of rows: iterations of all loops except `inner`.
    #[inline]
    pub(in crate::memory) fn rows(&self) -> usize {
        self.shared_iterations() * self.outer.len * self.entries()
    }

    /// Whether all lanes have the same indices: no loop but those over entries reads any.
    pub(in crate::memory) fn shares_indices(&self) -> bool {
        self.loops.iter().all(|level| level.entries || !level.reads_indices())
    }

    /// Whether all loops are in the nest: none is outside it, and there are no rows.
    #[inline]
    pub(in crate::memory) fn is_nest(&self) -> bool {
        self.outer.len == 1 && self.inner.len == 1 && self.shared().is_empty()
    }

    /// Orders the loops by strides.
    #[inline]
    pub(in crate::memory) fn order(&mut self, order: Order) {
        if self.loops.len() > 1 {
            self.sort(order);
            if iterations(&self.loops) > FEW {
                return self.tile(order);
            }
        }
        self.assign_roles(false);
    }

    /// Sorts the loops.
    fn sort(&mut self, order: Order) {
        let moved = match order {
            Order::Listed(_) => sort(&mut self.loops, |level| level.step.listed.unsigned_abs()),
            Order::Selected(_) => {
                sort_by_selected(&mut self.loops, SortKeys::new(&self.components))
            }
        };
        if moved {
            merge(&mut self.loops);
        }
    }

    /// Tiles a loop where that pays.
    #[inline(never)]
    fn tile(&mut self, order: Order) {
        let keys = SortKeys::new(&self.components);
        let keys = if order.scatters() { keys.or_apart(&self.loops) } else { keys };
        let all = iterations(&self.loops);
        let tiling = tile(&mut self.loops, keys, order);
        let joins = !order.scatters();
        if let Some(tiling) = tiling.filter(|tiling| tiling.remainder > 0) {
            if self.rest.try_reserve_exact(1).is_ok() {
                let mut rest = self.clone();
                rest.loops[tiling.tile].len = tiling.remainder;
                let tiles = rest.loops.remove(tiling.tiles);
                rest.base = rest.base.after(tiles.len, tiles.step);
                rest.assign_roles(joins);
                self.rest.push(rest);
            } else {
                // Without memory for the rest, the tiles are one loop again.
                let tile = self.loops[tiling.tile].len;
                let tiles = self.loops[tiling.tiles].len;
                self.loops[tiling.tile].len = tiles * tile + tiling.remainder;
                self.loops.remove(tiling.tiles);
            }
        }
        self.assign_roles(joins);
        let ordered: usize = self.with_rest().map(|walk| iterations(&walk.loops)).sum();
        assert_eq!(ordered, all, "tiles leave iterations out");
    }

    /// Divides `loops` into the shared loops, `outer`, `nest` and `inner`. If `joins`, the nest may have
    /// [loops around the entries](joined_loops).
    #[inline]
    fn assign_roles(&mut self, joins: bool) {
        let mut around = &self.loops[..];
        if let Some((last, others)) = around.split_last() {
            if !last.reads_indices() {
                self.inner = *last;
                around = others;
            }
        }
        let mut start = around.iter().position(Loop::reads_indices).unwrap_or(0);
        if self.is_lane_by_lane(&around[..start], &around[start..]) {
            start = 0;
        }
        if joins {
            start -=
                joined_loops(&around[..start], &around[start..], &self.inner, &self.components);
        }
        if start > 0 {
            self.shared = (start - 1, iterations(&around[..start - 1]));
            self.outer = around[start - 1];
        }
        self.nest = (start..around.len(), iterations(&around[start..]));
    }
}

impl Walk {
    /// Whether each iteration of the shared loops iterates over all entries before the next
    /// iteration starts, although it resolves their indices again:
    ///
    /// ```text
    /// for lane in shared { for chunk of entries { .. } }     lane by lane
    /// for chunk of entries { for lane in shared { .. } }     otherwise
    /// ```
    ///
    /// The elements that one lane selects among then stay in the caches, or at least their pages
    /// in the TLB, where those that all lanes of a thread select among do not fit. It does not pay for
    /// lanes that [share those of chunks](shares_chunks).
    fn is_lane_by_lane(&self, shared: &[Loop], entries: &[Loop]) -> bool {
        /// Bytes of L1. A lane that spans less is cheaply loaded to L1 again with each chunk.
        const L1: usize = threshold(32 << 10, 16);
        let span = |level: &Loop| level.step.selected.unsigned_abs().saturating_mul(level.len - 1);
        let total = shared.iter().map(span).fold(0, usize::saturating_add);
        // Multiples of L2 that the lanes of a thread span. Below these nothing was gained on one
        // thread or on two; the limit for rows is higher since rows are prefetched.
        let factor = if self.inner.len == 1 { 4 } else { 6 };
        let least = of_caches(|caches| caches.second, 8) * factor;
        total >= least
            && iterations(entries) > CHUNK
            && self.reach() >= L1
            && total / parallel::parts_at_once(Cost::of_far(iterations(&self.loops))) >= least
            && !shares_chunks(shared, &entries[0], total.saturating_add(span(&self.inner)))
    }
}

/// Whether lanes that span `bytes` bytes of the selected array together share cache lines of the
/// listed array, and so use them while those of a chunk of entries are cached.
#[inline(never)]
fn shares_chunks(shared: &[Loop], entries: &Loop, bytes: usize) -> bool {
    let listed = |level: &Loop| level.step.listed.unsigned_abs();
    shared.iter().any(|level| listed(level) < LINE)
        && listed(entries) <= 2 * LINE
        && bytes < of_caches(|caches| caches.last / 4 * 3, 1 << 10)
}

/// The keys by which loops are sorted: distances in bytes from one iteration to the next.
#[derive(Clone, Copy)]
pub(super) struct SortKeys<'w> {
    /// The selected axes.
    pub(super) components: &'w [Component],
    /// The key in the selected array of loops over entries: the least step, other than 0, of a
    /// selected axis; 0 where there is none.
    entry_step: usize,
}

impl<'w> SortKeys<'w> {
    #[inline]
    pub(super) fn new(components: &'w [Component]) -> Self {
        let steps = components.iter().map(|component| component.step.unsigned_abs());
        let entry_step = steps.filter(|&step| step != 0).min().unwrap_or(0);
        SortKeys { components, entry_step }
    }

    /// These keys, but where all entries select the same element (selected axes of length 1),
    /// keys that put the loops over entries outside the loops with shorter steps in the updates:
    /// the target's strides say nothing about where to put them. Innermost, each update would
    /// wait for the store of the one before it (store-to-load forwarding): maxima of 33 rows of
    /// 6744 `f32` 745 -> 24 µs.
    #[inline]
    fn or_by_updates(self, loops: &[Loop]) -> Self {
        if self.entry_step != 0 {
            return self;
        }
        let entries =
            loops.iter().filter(|level| level.entries).map(|level| self.listed(level)).min();
        let shorter = |level: &&Loop| !level.entries && Some(self.listed(level)) < entries;
        let entry_step = loops.iter().filter(shorter).map(|level| self.selected(level) + 1).max();
        SortKeys { entry_step: entry_step.unwrap_or(0), ..self }
    }

    /// These keys; or, where all entries select the same element and another loop reads updates of the same cache
    /// lines, keys as if entries selected far from each other: a loop is tiled then, and both run within a tile.
    /// Sums of 2 in each of a transposed 32 x 820 x 41 x 1 `f32` 7.5 -> 1.5 ms.
    fn or_apart(self, loops: &[Loop]) -> Self {
        /// Bytes of updates from one of these iterations to the next, at most: of elements of 8 bytes, of
        /// which tiles have fewer, and of shorter ones. 8 `f64` take 0.7 to 1.5 times as long, 24 `f32`
        /// 0.4 to 0.9.
        const BESIDE: [usize; 2] = [LINE, 2 * LINE];
        let updates = |entries: bool| {
            let chosen = loops.iter().filter(|level| level.entries == entries);
            chosen.map(|level| self.listed(level)).filter(|&step| step > 0).min()
        };
        let (entry, other) = (updates(true), updates(false));
        let most = BESIDE[usize::from(entry < Some(8))];
        let beside = loops.len() > 2 && other.is_some_and(|step| step < most);
        let apart = self.entry_step == 0 && beside;
        SortKeys { entry_step: if apart { LINE } else { self.entry_step }, ..self }
    }

    /// The distance between iterations of a loop in the selected array.
    pub(super) fn selected(self, level: &Loop) -> usize {
        if level.entries { self.entry_step } else { level.step.selected.unsigned_abs() }
    }

    /// The distance between iterations of a loop in the listed array.
    pub(super) fn listed(self, level: &Loop) -> usize {
        level.step.listed.unsigned_abs()
    }
}

/// Sorts loops by descending key; returns whether any loop moved.
///
/// The sort is stable. Loops over entries, whose order among themselves must not change in a
/// scatter, all have the same key there.
#[inline]
pub(super) fn sort(loops: &mut [Loop], key: impl Fn(&Loop) -> usize) -> bool {
    let mut moved = false;
    for end in 1..loops.len() {
        let mut at = end;
        while at > 0 && key(&loops[at - 1]) < key(&loops[at]) {
            loops.swap(at - 1, at);
            at -= 1;
            moved = true;
        }
    }
    moved
}

/// Sorts the loops of a scatter by descending steps in its target; returns whether any loop moved.
#[inline]
pub(super) fn sort_by_selected(loops: &mut [Loop], keys: SortKeys<'_>) -> bool {
    let keys = keys.or_by_updates(loops);
    sort(loops, |level| keys.selected(level))
}

/// Merges each loop with the one inside it where the two [make one longer loop](Loop::merged).
#[inline]
pub(in crate::memory) fn merge(loops: &mut Loops) {
    loops.dedup_by(|inner, outer| match outer.merged(inner) {
        Some(merged) => {
            *outer = merged;
            true
        }
        None => false,
    });
}
