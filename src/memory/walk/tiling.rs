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
//!
//! Lanes that no order of loops keeps in the caches are packed instead (`packed/panels.rs`).

mod conflicts;
pub(super) mod lines;
mod lists;

use self::conflicts::Conflict;
use self::lines::{
    LINE, STREAMS, lines_in_l1, part_of_l2, selected_bytes, shares_lines, stays_cached,
};
use self::lists::{LIST, tile_lists};
use super::order::{LONG_RUN, Order, SortKeys, sort};
use super::span::reach;
use super::{Loop, Loops, Offsets, iterations, iterations_over_entries};
use crate::memory::cpu::{of_caches, transposes};
use crate::threshold::threshold;

/// How a loop was tiled.
#[derive(Clone, Copy)]
pub(super) struct Tiling {
    /// The index of the loop over whole tiles.
    pub(super) tiles: usize,
    /// The index of the loop over a tile.
    pub(super) tile: usize,
    /// The number of iterations that make no whole tile.
    pub(super) remainder: usize,
}

impl Tiling {
    /// Adds the loops over the whole tiles of `len` iterations of a loop, over `within`, and over a
    /// tile, inside the others.
    fn push(loops: &mut Loops, tiled: Loop, within: &[Loop], len: usize) -> Self {
        let tiles = tiled.len / len;
        let step = Offsets::ZERO.after(len, tiled.step);
        let outer = loops.len();
        let tile = outer + 1 + within.len();
        loops.push(Loop { len: tiles, step, ..tiled });
        loops.extend_from_slice(within);
        loops.push(Loop { len, ..tiled });
        Tiling { tiles: outer, tile, remainder: tiled.len % len }
    }
}

/// Iterations of a loop, below which tiles along it are narrow.
const NARROW: usize = threshold(8, 3);

/// Iterations of a tile in which other loops share the cache lines of the listed array.
const SHARED: usize = threshold(64, 6);

/// Columns of a tile whose cache lines entries share. The next columns are then loaded while one entry
/// uses these. 5 of 21 in 9 x 73,561 transposed `i32` gathered by tiles of 16 columns 10.2 ms, of 64 5.9, of
/// 128 4.2, of 512 3.7; 50 of 100 rows of 20,000 `f32` written 336, 285, 294 and over 390 µs.
const COLUMNS: usize = threshold(128, 8);

/// Iterations of a tile around which a short loop runs.
const MANY_AT_ONCE: usize = threshold(512, 6);

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
/// entry selects a matrix of its own, or there are no entries. `same` tells that all entries select
/// the same element.
fn is_transposed(
    loops: &[Loop],
    [fastest_selected, fastest_listed]: [usize; 2],
    keys: SortKeys<'_>,
    order: Order,
    same: bool,
) -> bool {
    let reading = loops.iter().filter(|level| level.reads_indices()).count();
    let (across, down, size) = (&loops[fastest_selected], &loops[fastest_listed], order.size());
    let (near, far) = (keys.selected(across), keys.selected(down));
    let runs =
        if down.reads_indices() { reading == 1 } else { reading == 0 || across.len >= LONG_RUN };
    let dense = down.step.listed == size as isize
        && (near < far || same)
        && (!order.scatters() || across.step.selected == size as isize);
    dense && runs && !across.reads_indices() && transposes(size, near, !down.reads_indices())
}

/// Tiles a loop where the strides of the arrays disagree about which loop should run innermost, or where
/// the innermost would use a few sets of the caches.
pub(super) fn tile(loops: &mut Loops, keys: SortKeys<'_>, order: Order) -> Option<Tiling> {
    let sorted = Loops::from_slice(loops);
    let tiling = tile_for_lines(loops, keys, order);
    let Some(conflict) = Conflict::of(loops, &sorted, keys, order) else { return tiling };
    *loops = sorted;
    conflict.tile(loops, keys)
}

/// Tiles a loop so that whole cache lines are used while they are cached.
fn tile_for_lines(loops: &mut Loops, keys: SortKeys<'_>, order: Order) -> Option<Tiling> {
    if let Some(at) = far_elements(loops, keys) {
        let entries = loops.remove(at);
        loops.push(entries);
        return None;
    }
    let scatters = order.scatters();
    if let Some(at) = few_at_once(loops, keys).filter(|_| scatters) {
        if loops[at].len < 2 * MANY_AT_ONCE {
            loops.swap(at, at + 1);
            return None;
        }
        let inside: Loops = loops.drain(at..).collect();
        let tiling = Tiling::push(loops, inside[0], &inside[1..2], MANY_AT_ONCE);
        loops.extend_from_slice(&inside[2..]);
        return Some(tiling);
    }
    if let Some((at, len)) = lists_at_once(loops, keys).filter(|_| !scatters) {
        let inside: Loops = loops.drain(at..).collect();
        let (columns, within) = inside.split_last()?;
        return Some(Tiling::push(loops, *columns, within, len));
    }
    if !scatters {
        if let tiled @ Some(_) = tile_matrices(loops, keys, order) {
            return tiled;
        }
    }
    let pair = fastest(loops, None, keys)?;
    let own_indices = pair.iter().all(|&at| loops[at].reads_indices());
    if own_indices && pair[0] != pair[1] {
        tile_lists(loops, pair, keys, order)
    } else {
        tile_pair(loops, pair, keys, order)
    }
}

/// The numbers of the loops with the shortest steps in the selected and in the listed array, but for loop
/// number `other`.
fn fastest(loops: &[Loop], other: Option<usize>, keys: SortKeys<'_>) -> Option<[usize; 2]> {
    let fastest = |key: &dyn Fn(&Loop) -> usize| {
        let moves = |at: &usize| Some(*at) != other && key(&loops[*at]) != 0;
        (0..loops.len()).filter(moves).min_by_key(|&at| key(&loops[at]))
    };
    Some([fastest(&|level| keys.selected(level))?, fastest(&|level| keys.listed(level))?])
}

/// The number of a long loop of a scatter, around a short one, inside of which kernels would have few
/// elements at a time: the short loop then runs around tiles of the long one.
///
/// ```text
/// for tile in 0..130382 by 512         instead of        for k in 0..130382
///   for i in 0..2                                          for i in 0..2
///     for k in tile { for entry }                            for entry
/// ```
fn few_at_once(loops: &[Loop], keys: SortKeys<'_>) -> Option<usize> {
    /// The most elements of an iteration of the long loop, and its fewest iterations.
    const FEW: usize = threshold(256, 6);
    const MANY: usize = threshold(32, 4);
    let short = loops.iter().position(Loop::reads_indices)?.checked_sub(1)?;
    let long = short.checked_sub(1)?;
    // Otherwise kernels transpose, or a loop is tiled for another reason.
    let beside = keys.selected(&loops[long]) < LINE;
    let few = iterations(&loops[short..]) <= FEW;
    (few && beside && loops[long].len >= MANY).then_some(long)
}

/// Which loops of a gather write lists from the same cache lines, that do not stay cached from one list
/// to the next, and how many elements of each are then written at a time: the number of the first of
/// these loops, the last of which is over the elements of a list.
///
/// ```text
/// for tile in 0..1000000 by 1024       instead of        for k in entries
///   for k in entries                                       for i in 0..1000000
///     for i in tile { .. }                                   output[k, i] = data[i, indices[k]]
/// ```
fn lists_at_once(loops: &[Loop], keys: SortKeys<'_>) -> Option<(usize, usize)> {
    /// Bytes of what a tile selects in: a part of L1.
    const BYTES: usize = threshold(16 << 10, 64);
    let (elements, around) = loops.split_last()?;
    let step = keys.selected(elements);
    let is_list = |level: &Loop| keys.selected(level) < LINE && keys.listed(level) >= LINE;
    let at = around.iter().rposition(|level| !is_list(level)).map_or(0, |at| at + 1);
    let len = BYTES / step.max(1);
    let lists = (1..=LINE / 2).contains(&step)
        && !elements.reads_indices()
        && keys.listed(elements) < LINE
        && reach(keys.components) <= LINE
        && around[at..].iter().any(|level| level.entries)
        && (2..=STREAMS).contains(&iterations(&around[at..]));
    let cached = elements.len.saturating_mul(step) <= part_of_l2();
    (lists && !cached && elements.len >= 2 * len).then_some((at, len))
}

/// Tiles the rows of a gather along an axis within a part of a cache line, each entry of which selects a
/// matrix that kernels transpose, in the same cache lines as the others; `None` if there are few rows.
///
/// ```text
/// for tile in rows by 256              instead of        for i in rows
///   for k in entries                                       for k in entries
///     for i in tile                                          for j in columns
///       for j in columns                                       output[k, i, j] = data[j, i, indices[k]]
///         output[k, i, j] = data[j, i, indices[k]]
/// ```
fn tile_matrices(loops: &mut Loops, keys: SortKeys<'_>, order: Order) -> Option<Tiling> {
    /// The least and the most rows of a tile.
    const ROWS: [usize; 2] = [threshold(16, 2), threshold(256, 4)];
    /// The most columns: 64 of 36,449 rows take 1.3 times as long so on one thread, 200 1.8 times.
    const WIDEST: usize = 56;
    let at = loops.iter().position(|level| level.entries)?;
    let [rows, columns] = fastest(loops, Some(at), keys)?;
    let (row, column) = (loops[rows], loops[columns]);
    let alone =
        loops.iter().enumerate().all(|(other, level)| other == at || !level.reads_indices());
    let lines = reach(keys.components) <= LINE / 4 && keys.listed(&loops[at]) >= LINE;
    let matrix = disagree(&row, &column, keys)
        && column.step.listed == order.size() as isize
        && (NARROW..=WIDEST).contains(&column.len)
        && transposes(order.size(), keys.selected(&row), true);
    let bytes = keys.selected(&row).saturating_mul(column.len);
    let len = (part_of_l2() / bytes.max(1)).clamp(ROWS[0], ROWS[1]);
    if !(alone && lines && matrix) || row.len < 2 * len || keys.selected(&row) > LINE / 4 {
        return None;
    }
    let entries = loops[at];
    loops.retain(|level| ![entries, row, column].contains(level));
    let tiling = Tiling::push(loops, row, &[entries], len);
    loops.push(column);
    Some(tiling)
}

/// The number of the only loop over entries, if each entry selects a few elements that lie apart in the selected
/// array and next to each other in the listed one. The loops over these elements then run around a chunk of
/// entries, and what the chunk lists stays cached.
///
/// ```text
/// for chunk of entries                 instead of        for k in entries
///   for i in 0..6                                          for i in 0..6
///     for k in chunk                                         output[k, i] = data[indices[k], i]
///       output[k, i] = data[indices[k], i]
/// ```
fn far_elements(loops: &[Loop], keys: SortKeys<'_>) -> Option<usize> {
    /// The most elements of an entry, of one loop and of several.
    const MOST: [usize; 2] = [threshold(4, 3), threshold(12, 4)];
    /// The most bytes from the listed elements of an entry to those of the next.
    const NEAR: usize = threshold(128, 32);
    let at = loops.iter().position(|level| level.entries)?;
    let entry = keys.listed(&loops[at]);
    let others = || loops.iter().enumerate().filter(|&(number, _)| number != at).map(|(_, it)| it);
    let far = |level: &Loop| !level.reads_indices() && keys.selected(level) >= LINE;
    let elements: Loops = others().filter(|level| keys.listed(level) < entry).copied().collect();
    let most = MOST[usize::from(elements.len() > 1)];
    let few = (2..=most).contains(&iterations(&elements)) && entry <= NEAR;
    (few && others().all(far)).then_some(at)
}

/// [`tile`] for the loops with the shortest steps in the selected and in the listed array, at least
/// one of which reads no indices.
///
/// If the first of them is so short that tiles of a gather would be narrow, its output is written in
/// sequence where the cache lines of what entries select stay cached for the loops around; otherwise a
/// longer loop is tiled that shares cache lines, too.
fn tile_pair(
    loops: &mut Loops,
    pair: [usize; 2],
    keys: SortKeys<'_>,
    order: Order,
) -> Option<Tiling> {
    let size = order.size();
    let scatters = order.scatters();
    let blocks = in_blocks(loops, pair, keys, order)?;
    let [mut fastest_selected, fastest_listed] = pair;
    let (mut across, down) = (&loops[fastest_selected], &loops[fastest_listed]);
    if !scatters && !across.entries && across.len < NARROW {
        if keys.selected(down) < LINE {
            return None;
        }
        if down.reads_indices() {
            if let Some(within) = cached_lists(loops, keys) {
                // Iterations that share cache lines follow each other.
                sort(&mut loops[..within], |level| keys.selected(level));
                return None;
            }
            let is_wider =
                |level: &Loop| !level.entries && level.len >= NARROW && disagree(level, down, keys);
            fastest_selected = loops.iter().position(is_wider).unwrap_or(fastest_selected);
            across = &loops[fastest_selected];
        }
    }
    let (tiled, partner) = if !down.reads_indices() {
        (fastest_listed, fastest_selected)
    } else if !across.entries {
        (fastest_selected, fastest_listed)
    } else {
        return None;
    };
    if !moves_inside(loops, partner, order) {
        return None;
    }
    let [tiled, partner] = take_pair(loops, [tiled, partner]);
    let step = keys.listed(&tiled).min(keys.selected(&tiled));
    let len = if blocks && scatters { WIDE / size } else { tile_len(step) };
    let mut len = if scatters { len.min(lines_in_l1(keys.selected(&tiled))) } else { len };
    if (blocks && !scatters) || tiled.len < 2 * len {
        loops.extend([partner, tiled]);
        return None;
    }
    let mut within = Loops::new();
    if keys.selected(&tiled) >= LINE {
        within = take_near(loops, &tiled, &partner, len, (keys, order));
    }
    if partner.reads_indices() {
        let (around, wide) = take_around_entries(loops, &tiled, &partner, keys);
        len = wide.min(tiled.len / 2).max(len);
        within.extend(around);
    }
    within.push(partner);
    Some(Tiling::push(loops, tiled, &within, len))
}

/// Whether the kernel transposes the matrix of a pair of loops; `None` if the pair needs no other order.
fn in_blocks(loops: &[Loop], pair: [usize; 2], keys: SortKeys<'_>, order: Order) -> Option<bool> {
    let [across, down] = pair.map(|at| &loops[at]);
    let mut others = (0..loops.len()).filter(|at| !pair.contains(at));
    let sharing = others.any(|at| shares_listed(&loops[at], keys));
    // All entries of a gather may select the same element.
    let same = !order.scatters() && sharing && down.entries && keys.selected(down) == 0;
    let apart = disagree(across, down, keys) || (same && keys.listed(across) >= LINE);
    // A narrow matrix has only a part of the cache lines of the listed array that other loops share.
    let narrow = apart && sharing && down.len.saturating_mul(order.size()) < LINE;
    let blocks = !narrow && is_transposed(loops, pair, keys, order, same);
    (apart || blocks).then_some(blocks)
}

/// Removes the loops that share cache lines of the selected array and not of the listed one, to run
/// within tiles of `len` iterations of `tiled` around `partner`, if these lines would not stay cached for
/// all of `tiled`.
fn take_near(
    loops: &mut Loops,
    tiled: &Loop,
    partner: &Loop,
    len: usize,
    (keys, order): (SortKeys<'_>, Order),
) -> Loops {
    const MANY: usize = threshold(128, 16);
    let is_near = |level: &Loop| shares_lines(level, keys) && keys.listed(level) >= LINE;
    let all: Loops = loops.iter().chain([tiled]).copied().collect();
    let mut near: Loops = loops.iter().copied().filter(is_near).collect();
    let elements = partner.len.saturating_mul(len);
    let apart = loops.iter().any(|level| level.entries && !is_near(level));
    let lists = iterations(&near).saturating_mul(partner.len);
    if apart || !shares_entries(&all, lists, keys, order) {
        near.retain(|level| !level.entries);
    }
    let cached = |level: &Loop| stays_cached(&all, keys.listed(level), keys);
    if iterations(&near).saturating_mul(elements) < MANY || near.iter().all(cached) {
        return Loops::new();
    }
    loops.retain(|level| !near.contains(level));
    near
}

/// Whether entries select in the same cache lines, so that these are loaded once for all entries within a
/// tile. `lists` is the number of cache lines of the listed array that are then in use, far from each
/// other.
fn shares_entries(loops: &[Loop], lists: usize, keys: SortKeys<'_>, order: Order) -> bool {
    /// The fewest entries for which a gather uses more lines than prefetchers follow: each entry would
    /// load what is selected from memory again.
    const PASSES: usize = threshold(8, 3);
    let entries = iterations_over_entries(loops);
    let shared = reach(keys.components) <= entries.saturating_mul(LINE);
    let uncached = || {
        let selected = selected_bytes(loops.iter(), loops, keys, false);
        selected >= of_caches(|caches| caches.last, 1024)
    };
    let gathers = !order.scatters();
    shared && (lists <= STREAMS || (gathers && entries >= PASSES && uncached()))
}

/// Removes the loops that run within tiles of `tiled` around `entries`, so that they use the same cache
/// lines while these are cached. Returns them, and how long a tile should at least be for them.
fn take_around_entries(
    loops: &mut Loops,
    tiled: &Loop,
    entries: &Loop,
    keys: SortKeys<'_>,
) -> (Loops, usize) {
    let (mut around, mut len) = (Loops::new(), 0);
    let mut take = |chosen: &dyn Fn(&Loop) -> bool| {
        around.extend(loops.iter().copied().filter(chosen));
        loops.retain(|level| !chosen(level));
        !around.is_empty()
    };
    if take(&|level| shares_listed(level, keys)) {
        len = SHARED.min(lines_in_l1(keys.listed(tiled)) / 2);
    }
    if are_columns(tiled, entries, keys) {
        len = len.max(COLUMNS.min(lines_in_l1(keys.selected(tiled))));
        // Parts of the same columns.
        take(&|level| {
            !level.entries && (LINE..keys.selected(tiled)).contains(&keys.selected(level))
        });
    }
    (around, len)
}

/// Whether each iteration of `tiled` is a column of which most cache lines are selected in by several
/// entries.
fn are_columns(tiled: &Loop, entries: &Loop, keys: SortKeys<'_>) -> bool {
    /// Bytes of a column for each entry, at most: with 4 entries in 16 lines tiles of 16 columns take as
    /// long; with 20 in 313 they take 0.8 of the time.
    const APART: usize = 4 * LINE;
    let column = reach(keys.components);
    let short = keys.selected(entries) < LINE && column <= entries.len.saturating_mul(APART);
    short && keys.selected(tiled) >= LINE && keys.selected(tiled) >= column
}

/// Whether iterations of a loop that is none over entries share cache lines of the listed array with
/// the next ones, and not of the selected array.
fn shares_listed(level: &Loop, keys: SortKeys<'_>) -> bool {
    !level.entries && (1..LINE).contains(&keys.listed(level)) && keys.selected(level) >= LINE
}

/// Whether two loops share cache lines from one iteration to the next in one of the arrays each,
/// `across` in the selected and `down` in the listed array, and not in the other.
fn disagree(across: &Loop, down: &Loop, keys: SortKeys<'_>) -> bool {
    across != down
        && keys.selected(down) >= LINE
        && keys.listed(across) >= LINE
        && keys.selected(across) < LINE
        && keys.listed(down) < LINE
}

/// Whether a loop may run inside all others: in a scatter, no loop over entries moves past another.
fn moves_inside(loops: &[Loop], at: usize, order: Order) -> bool {
    let last_entries = loops.iter().rposition(|level| level.entries);
    !order.scatters() || !loops[at].entries || last_entries == Some(at)
}

/// Removes two loops and returns them.
fn take_pair(loops: &mut Loops, [first, second]: [usize; 2]) -> [Loop; 2] {
    let pair = [loops[first], loops[second]];
    loops.remove(first.max(second));
    loops.remove(first.min(second));
    pair
}

/// The number of the first of those innermost loops of a gather that write one contiguous list of the
/// output, if what they select stays in L2 until the next list reuses its cache lines.
fn cached_lists(loops: &[Loop], keys: SortKeys<'_>) -> Option<usize> {
    let is_lane = |level: &Loop| !level.entries && shares_lines(level, keys);
    let cached = |lane: &Loop| stays_cached(loops, keys.listed(lane), keys);
    let lane = loops.iter().position(|level| is_lane(level) && cached(level))?;
    (iterations(&loops[lane + 1..]) >= LIST).then_some(lane + 1)
}
