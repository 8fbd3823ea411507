//! Gathers of few entries in each iteration: a chunk takes the entries of many iterations of the loops around.
//!
//! Of a transposed array, gathers along an inner axis select a few elements that lie apart, and only
//! together with those of the loops around do they make a list that is worth a call of a kernel:
//!
//! ```text
//! for a in 0..50206               instead of        for a in 0..50206
//!   for i, k in 0..18, entries                        for i in 0..18
//!     output[a, i, k] = ..                              for k in entries { output[a, i, k] = .. }
//! ```

use super::order::SortKeys;
use super::tiling::lines::LINE;
use super::{Component, Loop, iterations};
use crate::memory::cpu::of_caches;
use crate::memory::indices::CHUNK;
use crate::memory::tile::{MANY_ENTRIES, MANY_ITERATIONS};
use crate::threshold::threshold;

/// The most entries of a short list: joining lists of 100 gains nothing.
const SHORT_LIST: usize = threshold(64, 4);

/// The fewest iterations around the joined loops, so that indices are not resolved too often.
const AROUND: usize = threshold(8, 2);

/// The number of loops that a chunk joins with the entries of a gather, whose loops are the `nest`: the
/// innermost of those `around` it. `inner` is the loop inside.
#[inline(never)]
pub(super) fn joined_loops(
    around: &[Loop],
    nest: &[Loop],
    inner: &Loop,
    components: &[Component],
) -> usize {
    let [entries] = nest else { return 0 };
    let apart = SortKeys::new(components).selected(entries) >= LINE;
    if !entries.entries || entries.len > SHORT_LIST || !apart {
        return 0;
    }
    let (mut first, mut len) = (around.len(), entries.len);
    while let [others @ .., level] = &around[..first] {
        let follows = entries.step.listed.checked_mul(len as isize) == Some(level.step.listed);
        let list = len.saturating_mul(level.len);
        let joins = follows
            && len <= CHUNK / 2
            && iterations(others) >= AROUND
            && stays_cached(list, inner)
            && !has_other_way(entries, level, inner);
        if !joins {
            break;
        }
        (first, len) = (first - 1, list);
    }
    around.len() - first
}

/// Whether what a chunk of so many joined entries selects stays in the caches until the next iteration of
/// the loops around them.
fn stays_cached(entries: usize, inner: &Loop) -> bool {
    if inner.len == 1 {
        return entries <= CHUNK;
    }
    let row = inner.len.saturating_mul(inner.step.selected.unsigned_abs());
    entries.min(CHUNK).saturating_mul(row) <= of_caches(|caches| caches.second / 2, 256)
}

/// Whether kernels have a way of their own for these entries in each iteration of `level`: for few single
/// elements of many iterations (`Tile::each`), for up to four rows of 8 bytes (`interleave.rs`), and for
/// short rows beside a long loop (`Tile::with_long_rows`).
fn has_other_way(entries: &Loop, level: &Loop, inner: &Loop) -> bool {
    const SHORT_ROW: usize = threshold(16, 2);
    if inner.len == 1 {
        return entries.len < MANY_ENTRIES && level.len >= MANY_ITERATIONS;
    }
    let wide = entries.step.listed.unsigned_abs() >= 8;
    (wide && entries.len <= 4) || (inner.len <= SHORT_ROW && level.len >= 4 * inner.len)
}
