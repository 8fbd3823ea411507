//! Whether reductions accumulate beside their targets or in them, and for which targets.

use crate::memory::combine::{self, Reducer};
use crate::memory::cpu::of_caches;
use crate::memory::walk::{Loop, Walk, is_inside, iterations_over_entries};
use crate::threshold::threshold;

/// Whether single elements are reduced faster [beside](combine::accumulate) their targets although
/// these could be reduced in place: minima and maxima of half precision, which are compared as
/// `f32`. 1M maxima of `f16` in 100,000: 1.6 -> 0.55 ms; of 10M in 10M, whose slots leave the
/// caches, 29 ms in place and 49 beside; of 15,056 x 100 along axis 0 in 20,000 x 100 5.0 and 2.8, of
/// 30,000 x 300, of which groups of lanes have slots, on two threads 10 and 19.
pub(super) fn beside(walk: &Walk, reducer: Reducer) -> bool {
    /// Number of lanes side by side, at least, with which groups of them pay.
    const FEWEST_LANES: usize = threshold(16, 2);
    let targets = walk.targets();
    // Lanes side by side have their slots at the same time: all of a row, or enough of it.
    let row = walk.loops.iter().filter(|row| !row.entries && is_inside(&walk.components, row));
    let row = row.map(|row| row.len).fold(1, usize::saturating_mul);
    let slots = |lanes: usize| targets.saturating_mul(lanes.saturating_mul(size_of::<f32>()));
    let second = of_caches(|caches| caches.second, 1 << 10);
    let last = of_caches(|caches| caches.last, 1 << 11);
    let fits = slots(row) <= last / 2 || slots(row.min(FEWEST_LANES)) <= second / 2;
    reducer.has_slots()
        && fits
        && walk.loops.iter().all(Loop::reads_indices)
        && targets / threshold(3, 2) <= iterations_over_entries(&walk.loops)
        && targets <= of_caches(|caches| caches.last / 2, 1 << 10) / size_of::<f32>()
}

/// Whether sums for means are accumulated in the target itself, and counts beside it: where each index
/// selects a row, and dividing all rows of the target costs less than sorting the updates; and where
/// slots would take so much memory that allocators return it to the system with each call, but in
/// millions of targets every access is to another page, and slots have huge pages. 752,800 `f64` into
/// 2.95M: 8.2 ms with slots, which are mapped anew, and 4.2 so; 9M `f32` into 10M 40 and 72.
pub(super) fn means_in_place(walk: &Walk, reducer: Reducer, size: usize) -> bool {
    /// Bytes of slots that are mapped anew in each call.
    const MAPPED: usize = threshold(32 << 20, 1 << 10);
    let lanes = walk.loops.iter().filter(|level| !level.entries);
    let rows = lanes
        .clone()
        .any(|level| !level.reads_indices() && level.len >= combine::COUNTED_IN_TARGET);
    if rows {
        return !is_sparse(walk, size, false);
    }
    // The counts of lanes lie beside each other.
    let beside = |level: &Loop| level.reads_indices() && is_inside(&walk.components, level);
    let slots = lanes.clone().map(|level| level.len).fold(walk.targets(), usize::saturating_mul);
    let mapped = |size: usize| slots.saturating_mul(size) >= MAPPED;
    mapped(reducer.slot_size())
        && slots.saturating_mul(size_of::<u32>()) < of_caches(|caches| caches.last, 4 << 10)
        && lanes.clone().all(beside)
        && !is_sparse(walk, size, mapped(size_of::<u32>()))
}

/// Whether updates reach so small a part of the target, of elements of `size` bytes, that sorting them costs less
/// than accumulating in all targets: in slots if `beside`, else in the target itself.
///
/// Sorting takes about 6 ns for each update, and 3 for each element of its row; accumulators take 0.25
/// ns for each element of a target, 0.7 where these lie apart, and more where they leave all caches.
/// Into 1M `bf16`, 77,000 sums take 0.28 ms with accumulators and 0.44 sorted, 25,000 0.26 and 0.15;
/// into 5.7M rows of 3, 816,000 take 56 and 26.
pub(super) fn is_sparse(walk: &Walk, size: usize, beside: bool) -> bool {
    /// Fewest elements of a row with which sorting is nothing beside accumulating: products of 13
    /// of 43 rows of 101,000 `bf16` take 0.6 ms sorted and 1.8 with accumulators.
    const VERY_LONG: usize = threshold(256, 48);
    let targets = walk.targets();
    // The innermost of the loops that share their indices: what sorting serves at once.
    let shared = walk.loops.iter().filter(|level| !level.reads_indices());
    let row = shared.min_by_key(|level| level.step.selected.unsigned_abs());
    let inside = row.is_some_and(|row| is_inside(&walk.components, row));
    let row = row.map_or(1, |row| row.len);
    let within = |part: usize| {
        targets.saturating_mul(row) <= of_caches(|caches| caches.last, 1 << 14) / part
    };
    let own_indices = walk.loops.iter().any(|level| !level.entries && level.reads_indices());
    // Of targets that lie apart, each is copied to be converted, and back.
    let steps = walk.components.iter().map(|axis| axis.step);
    let steps = steps.chain(walk.loops.iter().map(|level| level.step.selected));
    let nearest = steps.map(isize::unsigned_abs).filter(|step| *step > 0).min();
    let apart = nearest.is_some_and(|step| step > size);
    let most_targets_per_update = if !beside {
        // Each element of a sorted row costs as much as a third of a target's count and quotient: 1249 means
        // of 20,000 rows of 1000 take 766 µs sorted and 228 in place, 30 of them 17 and 31.
        let of_row = if inside && !apart { row / 8 * 3 } else { 0 };
        threshold(of_row.max(16), 4)
    } else if inside && row >= VERY_LONG {
        if apart { 1 } else { 2 }
    } else if row > combine::SHORT_ROW {
        // The accumulators of a long row cost more than sorting.
        4
    } else if within(16) && row == 1 && own_indices {
        // Those of single elements in lanes take twice as long as those of one lane.
        threshold(if apart { 11 } else { 28 }, 4)
    } else {
        let per_row = if apart {
            8 + 4 * row
        } else if within(16) {
            24 + 6 * row
        } else if within(4) {
            16 + 4 * row
        } else {
            (8 + row).max(2 * row)
        };
        threshold(per_row / row, 4)
    };
    targets / most_targets_per_update > iterations_over_entries(&walk.loops)
}
