//! The order of loops, and tiles, where each element has an index of its own.

use std::ops::RangeInclusive;

use super::lines::{LINE, part_of_l2, selected_bytes, sets_apart, shares_lines, stays_cached};
use super::{Tiling, disagree, moves_inside, take_pair};
use crate::memory::cpu::of_caches;
use crate::memory::walk::order::{Order, SortKeys, sort, sort_by_selected};
use crate::memory::walk::span::{reach, sequential_bytes};
use crate::memory::walk::{Component, Loop, Loops, iterations};
use crate::threshold::threshold;

/// Fewest iterations of the innermost loops together that are a list worth reading in sequence.
pub(super) const LIST: usize = threshold(16, 3);

/// [`tile`](super::tile) if each element has an index of its own, for the loops with the shortest steps in the
/// selected and in the listed array.
pub(super) fn tile_lists(
    loops: &mut Loops,
    [across, down]: [usize; 2],
    keys: SortKeys<'_>,
    order: Order,
) -> Option<Tiling> {
    let (fastest_selected, lists) = (loops[across], loops[down]);
    let contiguous = keys.listed(&lists) < LINE && lists.step.indices.unsigned_abs() < LINE;
    // The order of several loops over entries must not change.
    let one = loops.iter().filter(|level| level.entries).count() <= 1;
    let share = loops.iter().filter(|level| shares_lines(level, keys));
    let outermost = share.map(|level| keys.listed(level)).max();
    if let Some(outermost) = outermost.filter(|_| contiguous && one) {
        // No loop needs another place if what all loops within the outermost one whose iterations
        // share cache lines select stays in the caches until its next iteration.
        let cached = stays_cached(loops, outermost, keys);
        let conflicts = cached && order.scatters() && conflict(loops, outermost, keys);
        sort(loops, |level| keys.listed(level));
        if !conflicts {
            if cached {
                return None;
            }
            if let Some(near) = Near::of(loops, keys, order) {
                return near.tile(loops, keys);
            }
            if lists.len < LIST {
                return None;
            }
        }
        if order.scatters() {
            sort_by_selected(loops, keys);
        }
    }
    // Lane by lane: the cache lines of a lane stay in L2 until the next lane uses them. Tiles would
    // make runs of only a few contiguous updates or results.
    let at = |level: Loop| loops.iter().position(|&other| other == level);
    let pair @ [_, down] = [at(fastest_selected)?, at(lists)?];
    if !fastest_selected.entries
        && disagree(&fastest_selected, &lists, keys)
        && moves_inside(loops, down, order)
    {
        let pair = take_pair(loops, pair);
        loops.extend(pair);
    }
    None
}

/// Whether the loops whose steps in the listed array are less than `step` select in many lines of few sets of a
/// cache, although the lines of a single lane fit in it: 4 of 8 in lanes of a transposed
/// 4096 x 64 x 8 are summed in 3.2 ms lane by lane, and in 18 with 64 such lanes in turn.
fn conflict(loops: &[Loop], step: usize, keys: SortKeys<'_>) -> bool {
    const MANY: usize = threshold(64, 4);
    let within = || loops.iter().filter(|level| keys.listed(level) < step);
    let axis = |axis: &Component| sets_apart(axis.step.unsigned_abs()).saturating_mul(axis.len);
    let lane = keys.components.iter().map(axis).fold(0, usize::saturating_add);
    lane <= of_caches(|caches| caches.second / 2, 512)
        && selected_bytes(within(), loops, keys, false) >= MANY * LINE
        && selected_bytes(within(), loops, keys, true) > part_of_l2()
}

/// Number of iterations of a tile along lists of indices and listed elements.
const TILES: RangeInclusive<usize> = threshold(64, 3)..=threshold(2048, 12);

/// Bytes of what such a tile selects, within these bounds.
const TILE: usize = threshold(128 << 10, 96);

/// The loops around a list that select near each other, while it stays where it is: those whose
/// steps in the selected array are at most `step`.
struct Near {
    /// The number of the first of the innermost loops that together are a [`LIST`].
    first: usize,
    /// The longest step of the loops near each other in the selected array, in bytes.
    step: usize,
    /// The number of bytes that these loops select, and those inside the first one of the list, in
    /// an iteration of this first one.
    bytes: usize,
}

impl Near {
    /// The loops near each other, where it pays that they run within a tile of the list. `loops`
    /// are in the order in which both lists are contiguous.
    fn of(loops: &[Loop], keys: SortKeys<'_>, order: Order) -> Option<Self> {
        /// The most bytes with which it pays always. With more it pays past the caches alone: from
        /// the last-level cache the hardware prefetches long lists better than parts of them.
        const ALWAYS: usize = threshold(1 << 10, 64);
        // A scatter else runs lane by lane, along entries that lie apart in both lists: where these come
        // from memory, no hardware prefetcher expects their lines.
        let apart =
            order.scatters() && sequential_bytes(loops) >= of_caches(|caches| caches.last, 1 << 11);
        let is_list = |first: &usize| iterations(&loops[*first..]) >= LIST;
        let first = (0..loops.len()).rev().find(is_list).unwrap_or(0);
        let (around, list) = loops.split_at(first);
        let list_step = keys.selected(&list[0]);
        // A tile of the fewest iterations stays in L2.
        let most = of_caches(|caches| caches.second, 1 << 10) / TILES.start();
        let of_each = selected_bytes(list[1..].iter(), loops, keys, false) / LINE;
        let further = |step: usize| {
            let others = around.iter().filter(|level| keys.selected(level) > step);
            others.min_by_key(|level| keys.selected(level))
        };
        let pays = |bytes: usize| {
            let all = bytes.saturating_mul(list[0].len);
            bytes <= ALWAYS || all >= of_caches(|caches| caches.last / 2, 1 << 11)
        };
        let (mut step, mut near) = (0, None);
        while let Some(next) = further(step) {
            step = keys.selected(next);
            let span = step.saturating_mul(next.len);
            let span = if next.entries { reach(keys.components) } else { span };
            if step >= list_step || span > most {
                break;
            }
            let bytes = span.max(LINE).min(list_step).saturating_mul(of_each);
            let far = |level: &Loop| level.entries && keys.selected(level) > step;
            if (pays(bytes) || (apart && next.entries)) && !around.iter().any(far) {
                near = Some(Near { first, step, bytes });
            }
        }
        near
    }

    /// Puts these loops, in the order they have, and a tile of the list inside of the others. The
    /// list is not tiled if L2 has room for what all of it selects, nor along entries, which select
    /// anywhere.
    fn tile(self, loops: &mut Loops, keys: SortKeys<'_>) -> Option<Tiling> {
        let list: Loops = loops.drain(self.first..).collect();
        let is_near = |level: &Loop| keys.selected(level) <= self.step;
        let near: Loops = loops.iter().copied().filter(is_near).collect();
        loops.retain(|level| !is_near(level));
        let along = list[0];
        let len = (TILE / self.bytes).clamp(*TILES.start(), *TILES.end());
        let all = self.bytes.saturating_mul(along.len);
        if along.entries || along.len <= len || all <= of_caches(|caches| caches.second / 2, 512) {
            loops.extend(near);
            loops.extend(list);
            return None;
        }
        // Loops over parts of what the tile lists run within it, too, so that threads share no lines.
        let list_step = keys.selected(&along);
        let is_part = |level: &Loop| !level.entries && keys.selected(level) < list_step;
        let mut within: Loops = loops.iter().copied().filter(is_part).collect();
        loops.retain(|level| !is_part(level));
        within.extend(near);
        // Tiles of one length make threads' parts equal, and leave few iterations.
        let tiling = Tiling::push(loops, along, &within, along.len / along.len.div_ceil(len));
        loops.extend_from_slice(&list[1..]);
        Some(tiling)
    }
}
