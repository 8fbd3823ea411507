//! Loops in sequence where the innermost loop would use the same few sets of the caches over and over.
//!
//! Rows, columns and planes of powers of two are common, and a cache of 8 ways holds 8 lines whose
//! addresses are multiples of 4096 bytes apart, whatever its size. Where a loop along such steps is
//! innermost, because it is in sequence in the other array, it throws out the lines that the next
//! iterations of the loops around it share:
//!
//! ```text
//! for r in 0..2048                    becomes    for tile in 0..2048 by 128
//!   for k in entries                               for c in columns
//!     for c in columns                               for k in entries
//!       target[c][r] += updates[r, k, c]               for r in tile
//!                                                        target[c][r] += updates[r, k, c]
//! ```
//!
//! Reductions of elements a multiple of 4096 bytes apart also wait for each other: to tell whether a load
//! needs the value of an earlier store, processors compare the lower 12 bits of the addresses first.

use super::lines::{LINE, lines_in_l1, part_of_l2, sets_apart};
use super::{Loop, Loops, Order, SortKeys, Tiling, is_transposed, iterations, reach};
use crate::memory::cpu::of_caches;
use crate::memory::indices::CHUNK;
use crate::memory::walk::targets;
use crate::threshold::threshold;

/// The least powers of two that lines are apart which share so few sets that it matters: those that a
/// gather selects in and those of the listed array, and those that a scatter selects in.
const APART: [usize; 2] = [threshold(2 << 10, 64), threshold(1 << 10, 32)];

/// The same for reductions, whose loads wait for stores before them whose addresses end in the same bits.
const STORED: usize = threshold(4 << 10, 64);

/// The fewest iterations of a loop in sequence, and of one of the matrices that kernels transpose.
const SEQUENCE: usize = threshold(32, 4);
const BLOCK: usize = threshold(8, 3);

/// The bounds of the length of a tile.
const TILE: [usize; 2] = [threshold(32, 2), threshold(128, 4)];

/// An innermost loop that uses a few sets of the caches, and one to take its place.
pub(super) struct Conflict {
    innermost: Loop,
    sequence: Loop,
}

impl Conflict {
    /// The innermost of the `chosen` loops, if it uses few sets of a cache although another loop passes through the
    /// same array in sequence. `loops` are the loops before they were ordered, `chosen` those after.
    pub(super) fn of(
        chosen: &[Loop],
        loops: &[Loop],
        keys: SortKeys<'_>,
        order: Order,
    ) -> Option<Self> {
        let scatters = order.scatters();
        let last = chosen.last()?;
        let untiled = |level: &&Loop| level.entries == last.entries && level.step == last.step;
        let innermost = *loops.iter().rev().find(untiled)?;
        if let [.., entries, narrow] = chosen {
            if scatters && innermost.len > narrow.len && uses_lines_apart(entries, narrow, keys) {
                return Some(Conflict { innermost: *entries, sequence: innermost });
            }
        }
        let few = FewSets::of(&innermost, keys, scatters);
        if !(few.selected || few.listed) || in_long_blocks(chosen, keys, order) {
            return None;
        }
        let in_sequence = |level: &&Loop| {
            level.len >= SEQUENCE
                && !(level.entries || is_apart(level, keys, scatters))
                && lists_apart(level) < APART[0]
                && (!few.selected || keys.selected(level) < LINE)
                && (!few.listed || keys.listed(level) < LINE)
        };
        let longest = loops.iter().filter(in_sequence).max_by_key(|level| level.len);
        let moves = few.stored && !innermost.entries;
        let lanes =
            |level: &&Loop| moves && !is_apart(level, keys, scatters) && are_lanes(level, keys);
        let entries = || loops.iter().find(|level| level.entries).filter(lanes);
        let sequence = *longest.or_else(entries)?;
        Some(Conflict { innermost, sequence })
    }

    /// Runs the loop in sequence inside all others, in tiles whose lines of the listed array L1 holds.
    /// Around it run entries that select in the same lines, and around these the loop that was innermost.
    pub(super) fn tile(self, loops: &mut Loops, keys: SortKeys<'_>) -> Option<Tiling> {
        let Conflict { innermost, sequence } = self;
        if sequence.entries {
            // Chunk by chunk, so that those of a chunk stay cached for the loops around.
            let entries: Loops = loops.iter().copied().filter(|level| level.entries).collect();
            loops.retain(|level| !level.entries);
            loops.extend(entries);
            return None;
        }
        // One loop each, although others may be equal.
        let take = |loops: &mut Loops, taken: Loop| {
            let place = loops.iter().position(|level| *level == taken);
            place.map(|place| loops.remove(place))
        };
        take(loops, sequence);
        let moved = if innermost.entries { None } else { take(loops, innermost) };
        let near = |level: &Loop| level.entries && keys.selected(level) < LINE;
        let (entries, mut within): (Loops, Loops) = loops.drain(..).partition(near);
        within.extend(moved);
        within.extend_from_slice(&entries);
        let lists = iterations(&entries) * if sequence.reads_indices() { 2 } else { 1 };
        let lines = lines_in_l1(keys.listed(&sequence)) / 2;
        let len = (lines / lists).min(sequence.len / 2).clamp(TILE[0], TILE[1]);
        if sequence.len >= 2 * len {
            return Some(Tiling::push(loops, sequence, &within, len));
        }
        loops.extend(within);
        loops.push(sequence);
        None
    }
}

/// In which arrays a loop uses a few sets of the caches.
struct FewSets {
    selected: bool,
    listed: bool,
    /// Whether reductions wait for each other's stores.
    stored: bool,
}

impl FewSets {
    fn of(level: &Loop, keys: SortKeys<'_>, scatters: bool) -> Self {
        let (step, lists) = (selected_apart(level, keys), lists_apart(level));
        let stored = scatters && step >= STORED && !spreads(level, keys);
        // Lists of indices and of a gather's output, in sequence both, are worth lines of L2.
        let in_lists = !scatters && level.reads_indices();
        let lines = if in_lists { lines_in_l2(step) } else { lines_in_l1(step) };
        let selected = if level.entries {
            stored && stays_in_last_level(keys)
        } else {
            stored || (is_apart(level, keys, scatters) && level.len > lines)
        };
        let listed = lists >= APART[0] && level.len > lines_in_l1(lists);
        FewSets { selected, listed, stored }
    }
}

/// Whether elements that a loop selects share few sets.
fn is_apart(level: &Loop, keys: SortKeys<'_>, scatters: bool) -> bool {
    selected_apart(level, keys) >= APART[usize::from(scatters)] && !spreads(level, keys)
}

/// Whether entries select in lanes that L2 holds, while it holds what a chunk of them lists.
fn are_lanes(entries: &Loop, keys: SortKeys<'_>) -> bool {
    entries.len >= SEQUENCE
        && reach(keys.components) < part_of_l2()
        && lines_in_l2(lists_apart(entries)) >= CHUNK / 2
}

/// The power of two that elements which a loop selects are apart; 0 if they are the same.
fn selected_apart(level: &Loop, keys: SortKeys<'_>) -> usize {
    if level.entries { entries_apart(keys) } else { apart_by(level.step.selected) }
}

/// The power of two that elements which entries select are apart.
fn entries_apart(keys: SortKeys<'_>) -> usize {
    let axes = keys.components.iter().filter(|axis| axis.len > 1);
    axes.map(|axis| apart_by(axis.step)).min().unwrap_or(0)
}

/// Whether elements with indices of their own spread over the bytes from one iteration to the next.
fn spreads(level: &Loop, keys: SortKeys<'_>) -> bool {
    level.reads_indices()
        && !level.entries
        && entries_apart(keys) < APART[1]
        && reach(keys.components) >= keys.selected(level) / 2
}

/// The power of two that elements of the lists are apart.
fn lists_apart(level: &Loop) -> usize {
    apart_by(level.step.listed).max(apart_by(level.step.indices))
}

/// The power of two that elements are apart, from one to the next; 0 if they are the same.
fn apart_by(step: isize) -> usize {
    if step == 0 { 0 } else { sets_apart(step.unsigned_abs()) }
}

/// Whether a narrow tile uses a line of each of the entries' targets, which L2 does not hold.
fn uses_lines_apart(entries: &Loop, narrow: &Loop, keys: SortKeys<'_>) -> bool {
    let step = entries_apart(keys);
    entries.entries
        && !narrow.entries
        && step >= APART[0]
        && keys.selected(narrow).saturating_mul(narrow.len) <= LINE
        && entries.len.min(targets(keys.components)) > lines_in_l2(step)
}

/// The number of cache lines that stay in L2 together where each is `step` bytes, a power of two, after
/// the one before.
fn lines_in_l2(step: usize) -> usize {
    of_caches(|caches| caches.second, 1 << 10) / step.max(LINE)
}

/// Whether the last-level cache holds what entries select. Lanes of more took 1.25 times as long to write
/// with entries around them.
fn stays_in_last_level(keys: SortKeys<'_>) -> bool {
    reach(keys.components) <= of_caches(|caches| caches.last / 2, 1 << 10)
}

/// Whether the innermost two loops are over a matrix of many rows and columns that a kernel transposes in
/// blocks, whose lines stay in L1.
fn in_long_blocks(chosen: &[Loop], keys: SortKeys<'_>, order: Order) -> bool {
    let Some(pair) = chosen.len().checked_sub(2).map(|across| [across, across + 1]) else {
        return false;
    };
    pair.iter().all(|&at| chosen[at].len >= BLOCK)
        && is_transposed(chosen, pair, keys, order, false)
}
