//! The cache lines that loops select in, and whether the caches hold them.

use smallvec::SmallVec;

use crate::memory::cpu::of_caches;
use crate::memory::walk::order::SortKeys;
use crate::memory::walk::{Component, Loop};
use crate::threshold::threshold;

/// Bytes of a cache line.
pub(in crate::memory::walk) const LINE: usize = threshold(64, 16);

/// Whether iterations of a loop share cache lines of the selected array with the next ones.
pub(super) fn shares_lines(level: &Loop, keys: SortKeys<'_>) -> bool {
    (1..LINE).contains(&keys.selected(level))
}

/// Whether L2 has room for the cache lines that all loops select in whose steps in the listed array
/// are less than `step`.
pub(super) fn stays_cached(loops: &[Loop], step: usize, keys: SortKeys<'_>) -> bool {
    let within = loops.iter().filter(|level| keys.listed(level) < step);
    selected_bytes(within, loops, keys, false) <= part_of_l2()
}

/// Bytes of L2 that are counted on for the lines that loops select in.
pub(super) fn part_of_l2() -> usize {
    of_caches(|caches| caches.second / 4, 256)
}

/// Cache lines of pages of their own that hardware prefetchers follow, while a loop uses them in turn,
/// to the next lines. Gathers from lanes of 5 to 24 elements of a transposed array took 1 to 3.6 times
/// as long with prefetches or packed, from lanes of 32 0.9 times.
pub(in crate::memory) const STREAMS: usize = threshold(24, 3);

/// Whether iterations of a loop around entries select in the same cache lines as the next ones, and the
/// loops inside it in no more than [`STREAMS`].
#[inline(never)]
pub(in crate::memory::walk) fn reuses_lines(loops: &[Loop], components: &[Component]) -> bool {
    let keys = SortKeys::new(components);
    let lines = |at: usize| selected_bytes(loops[at + 1..].iter(), loops, keys, false) / LINE;
    let reuses = |at: usize| shares_lines(&loops[at], keys) && lines(at) <= STREAMS;
    let last = loops.iter().rposition(|level| level.entries).unwrap_or(0);
    (0..last).any(|at| !loops[at].entries && reuses(at))
}

/// The number of bytes of a cache, at most, that hold the cache lines that some loops select in.
/// Loops over entries may select others in each iteration of the loops around them, along the whole
/// axes, if each element has its own index.
///
/// Lines whose addresses differ by multiples of a power of two share a part of a cache's sets, and
/// the rest of the cache counts as used: 100 rows, 4096 bytes apart, use as much as 100 pages do.
/// Where each element has its own index, what these select is taken to spread over all sets, and so are the loops
/// around, unless `conflicts` says that the steps of these count.
pub(super) fn selected_bytes<'a>(
    some: impl Iterator<Item = &'a Loop>,
    loops: &[Loop],
    keys: SortKeys<'_>,
    conflicts: bool,
) -> usize {
    let own = loops.iter().any(|level| level.reads_indices() && !level.entries);
    let mut entries = 1_usize;
    let mut steps: SmallVec<[(usize, usize, bool); 8]> = SmallVec::new();
    for level in some {
        if level.entries {
            entries = if own { usize::MAX } else { entries.saturating_mul(level.len) };
        } else {
            steps.push((level.step.selected.unsigned_abs(), level.len, own && !conflicts));
        }
    }
    for axis in keys.components {
        if entries <= 1 {
            break;
        }
        let len = axis.len.clamp(1, entries);
        entries = entries.div_ceil(len);
        steps.push((axis.step.unsigned_abs(), len, own));
    }
    steps.sort_unstable();
    steps.into_iter().fold(LINE, |bytes, (step, len, spread)| match step {
        0 => bytes,
        _ if step < LINE => bytes.max(step.saturating_mul(len)),
        _ if spread => bytes.saturating_mul(len),
        _ => bytes.max(sets_apart(step)).saturating_mul(len),
    })
}

/// The largest power of two that `step` is a multiple of, at most the distance of lines that share
/// all sets of a cache; this distance for a step of 0, too.
pub(super) fn sets_apart(step: usize) -> usize {
    const MOST: usize = threshold(64 << 10, 256);
    1 << step.trailing_zeros().min(MOST.trailing_zeros())
}

/// The number of cache lines that stay in L1 together, a multiple of `step` bytes apart.
pub(in crate::memory) fn lines_in_l1(step: usize) -> usize {
    /// Lines of a set, and bytes that one line of each set holds together.
    const WAYS: usize = threshold(8, 2);
    const WAY: usize = threshold(4 << 10, 64);
    WAYS * (WAY / sets_apart(step.max(1)).clamp(LINE, WAY))
}
