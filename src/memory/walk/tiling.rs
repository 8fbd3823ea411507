//! Tiles loops where the strides of the arrays disagree about which of them should run innermost.
//!
//! Where the strides of the selected and the listed array disagree, as when the rows of a
//! transposed matrix are gathered, either order touches a new cache line for every element. Then
//! one loop is tiled:
//!
//! ```text
//! for tile in columns by 16          every cache line of the data that a tile
//!   for k in indices                 touches is used by all indices while it is
//!     for c in tile                  cached, and 16 neighbouring elements of the
//!       output[k, c] = data[k, c]    output are written in sequence
//! ```
//!
//! Where each element has its own index, there are two lists to read in sequence, of indices and of
//! listed elements, and the loop along them is tiled if the other loops select near each other:
//!
//! ```text
//! for tile in columns by 2048                       what a tile selects stays in L2
//!   for k in rows of indices
//!     for c in tile                                 both lists are read in sequence
//!       target[indices[k, c], c] = updates[k, c]    of a transposed target
//! ```

use std::ops::RangeInclusive;

use super::order::{Order, SortKeys, reach};
use super::{Component, Loop, Loops, Offsets};
use crate::memory::cpu::{of_caches, transposes};
use crate::threshold::threshold;

/// Bytes of a cache line.
const LINE: usize = threshold(64, 16);

/// How a loop was tiled.
#[derive(Clone, Copy)]
pub(super) struct Tiling {
    /// The index of the loop over whole tiles.
    pub(super) tiles: usize,
    /// The number of iterations that make no whole tile.
    pub(super) remainder: usize,
    /// Offsets in bytes at which these iterations start.
    pub(super) base: Offsets,
}

impl Tiling {
    /// Adds the loops over the whole tiles of `len` iterations of a loop, over `within`, and over a
    /// tile, inside the others.
    fn push(loops: &mut Loops, tiled: Loop, within: &[Loop], len: usize) -> Self {
        let tiles = tiled.len / len;
        let step = Offsets::ZERO.after(len, tiled.step);
        let base = Offsets::ZERO.after(tiles, step);
        let tiling = Tiling { tiles: loops.len(), remainder: tiled.len % len, base };
        loops.push(Loop { len: tiles, step, ..tiled });
        loops.extend_from_slice(within);
        loops.push(Loop { len, ..tiled });
        tiling
    }
}

/// Bytes of a row of a tile of updates that the kernel transposes.
const WIDE: usize = threshold(256, 32);

/// The number of iterations of a tile, whose elements are `step` bytes from one iteration to the
/// next: as many as share a cache line, within fixed bounds.
fn tile_len(step: usize) -> usize {
    (LINE / step.max(1)).clamp(threshold(8, 2), threshold(32, 4))
}

/// Whether two loops run over a matrix that is transposed between the selected and the listed
/// array, of elements of a size that kernels transpose in blocks.
///
/// `fastest_selected` and `fastest_listed` are the indices of the loops with the shortest steps
/// in the respective array. Either all entries are iterations of the second of them, or each
/// entry selects a matrix of its own, or there are no entries.
fn is_transposed(
    loops: &[Loop],
    [fastest_selected, fastest_listed]: [usize; 2],
    keys: SortKeys,
    size: usize,
) -> bool {
    /// Shorter runs that share an index are put together with others in one tile, at offsets
    /// without a constant stride (`LONG_RUN` in `indexed.rs`).
    const RUN: usize = 16;
    let reading = loops.iter().filter(|level| level.reads_indices()).count();
    let (across, down) = (&loops[fastest_selected], &loops[fastest_listed]);
    let (near, far) = (keys.selected(across), keys.selected(down));
    let runs = if down.reads_indices() { reading == 1 } else { reading == 0 || across.len >= RUN };
    let dense = down.step.listed == size as isize && near < far;
    dense && runs && !across.reads_indices() && transposes(size, near, !down.reads_indices())
}

/// Tiles a loop where the strides of the two arrays disagree about which loop should run
/// innermost.
#[inline(never)]
pub(super) fn tile(loops: &mut Loops, components: &[Component], order: Order) -> Option<Tiling> {
    let keys = SortKeys::new(components);
    let fastest = |key: &dyn Fn(&Loop) -> usize| {
        (0..loops.len()).filter(|&at| key(&loops[at]) != 0).min_by_key(|&at| key(&loops[at]))
    };
    let fastest_selected = fastest(&|level| keys.selected(level))?;
    let fastest_listed = fastest(&|level| keys.listed(level))?;
    let lists = loops[fastest_listed];
    if lists.reads_indices() && !lists.entries {
        if let Some(near) = Near::of(loops, lists, components) {
            return near.tile(loops, fastest_listed, keys);
        }
    }
    let pair = [fastest_selected, fastest_listed];
    let (Order::Listed(size) | Order::Selected(size)) = order;
    let scatters = matches!(order, Order::Selected(_));
    let (across, down) = (&loops[fastest_selected], &loops[fastest_listed]);
    let blocks = is_transposed(loops, pair, keys, size)
        && (!scatters || across.step.selected == size as isize);
    // Lists of indices and of listed elements are read in sequence even if they are short.
    let lists_disagree = across.reads_indices() && down.reads_indices();
    let disagree = fastest_selected != fastest_listed
        && keys.selected(down) >= LINE
        && (keys.listed(across) >= LINE || lists_disagree)
        && keys.selected(across) < LINE
        && keys.listed(down) < LINE;
    if !disagree && !blocks {
        return None;
    }
    let (tiled, partner) = if !loops[fastest_listed].reads_indices() {
        (fastest_listed, fastest_selected)
    } else if !loops[fastest_selected].entries {
        (fastest_selected, fastest_listed)
    } else {
        return None;
    };
    let last_entries = loops.iter().rposition(|level| level.entries);
    if scatters && loops[partner].entries && last_entries != Some(partner) {
        return None;
    }
    let (tiled_loop, partner_loop) = (loops[tiled], loops[partner]);
    loops.remove(tiled.max(partner));
    loops.remove(tiled.min(partner));
    if tiled_loop.reads_indices() && partner_loop.reads_indices() {
        // Each element has its own index: lane by lane, so that the cache lines of a lane stay
        // in L2 until the next lane uses them. Tiles would make runs of only a few contiguous
        // updates or results.
        loops.extend([tiled_loop, partner_loop]);
        return None;
    }
    let step = keys.listed(&tiled_loop).min(keys.selected(&tiled_loop));
    let len = if blocks && scatters { WIDE / size } else { tile_len(step) };
    if (blocks && !scatters) || tiled_loop.len < 2 * len {
        loops.extend([partner_loop, tiled_loop]);
        return None;
    }
    Some(Tiling::push(loops, tiled_loop, &[partner_loop], len))
}

/// Number of iterations of a tile along the lists of indices and listed elements.
const TILES: RangeInclusive<usize> = threshold(64, 3)..=threshold(2048, 12);

/// Bytes of what such a tile selects, within these bounds.
const TILE: usize = threshold(128 << 10, 96);

/// The loops that select near each other while the one along the lists, `lists`, stays where it is,
/// those over entries among them: all loops whose steps in the selected array are at most `step`.
struct Near {
    /// The longest step of these loops in the selected array, in bytes.
    step: usize,
    /// The number of bytes of what one iteration of `lists` selects.
    bytes: usize,
}

impl Near {
    /// The loops near each other, where it pays that they run within a tile of `lists`.
    fn of(loops: &[Loop], lists: Loop, components: &[Component]) -> Option<Self> {
        /// The fewest iterations of `lists` that are a list.
        const LIST: usize = threshold(16, 3);
        /// The most bytes with which it pays always. With more it pays past the caches alone: from
        /// L3 the hardware prefetches long lists better than parts of them.
        const ALWAYS: usize = threshold(1 << 10, 64);
        let keys = SortKeys::new(components);
        let is_list = lists.len >= LIST
            && keys.listed(&lists) < LINE
            && lists.step.indices.unsigned_abs() < LINE;
        if !is_list {
            return None;
        }
        // A tile of the fewest iterations stays in L2.
        let most = of_caches(|caches| caches.second, 1 << 10) / TILES.start();
        let mut near = Near { step: 0, bytes: 0 };
        let further = |step: usize| {
            let others = loops.iter().filter(|level| keys.selected(level) > step);
            others.min_by_key(|level| keys.selected(level))
        };
        while let Some(next) = further(near.step) {
            let step = keys.selected(next);
            let bytes =
                if next.entries { reach(components) } else { step.saturating_mul(next.len) };
            if step >= keys.selected(&lists) || bytes > most {
                break;
            }
            near = Near { step, bytes };
        }
        let far = |level: &Loop| level.entries && keys.selected(level) > near.step;
        if near.step == 0 || loops.iter().any(far) {
            return None;
        }
        near.bytes = near.bytes.max(LINE).min(keys.selected(&lists));
        let past_caches =
            || near.bytes.saturating_mul(lists.len) >= of_caches(|caches| caches.last / 2, 1 << 11);
        (near.bytes <= ALWAYS || past_caches()).then_some(near)
    }

    /// Puts these loops, in the order they have, and a tile of `lists` inside of the others.
    /// `lists`, the loop at `along`, is not tiled if L2 has room for what all of it selects.
    fn tile(self, loops: &mut Loops, along: usize, keys: SortKeys) -> Option<Tiling> {
        let lists = loops.remove(along);
        let is_near = |level: &Loop| keys.selected(level) <= self.step;
        let near: Loops = loops.iter().copied().filter(is_near).collect();
        loops.retain(|level| !is_near(level));
        let len = (TILE / self.bytes).clamp(*TILES.start(), *TILES.end());
        let small =
            self.bytes.saturating_mul(lists.len) <= of_caches(|caches| caches.second / 2, 512);
        if small || lists.len <= len {
            loops.extend(near);
            loops.push(lists);
            return None;
        }
        // Tiles of one length make threads' parts equal, and leave few iterations.
        Some(Tiling::push(loops, lists, &near, lists.len / lists.len.div_ceil(len)))
    }
}
