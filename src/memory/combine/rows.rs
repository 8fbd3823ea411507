//! Combines rows of updates with their targets, in blocks of a few elements.

use crate::memory::cpu;
use crate::memory::tile::{Later, LaterSlots, Places, Tile, later_slots};
use crate::threshold::threshold;

/// Prefetch distance of targets: number of rows ahead of the row being combined.
pub(super) const TARGETS_AHEAD: usize = 16;

/// Bytes of targets prefetched ahead, at most: a part of L1; and of one target: the hardware
/// prefetches the rest of it, and lines of long rows would be evicted before they are used.
const TARGETS_AHEAD_BYTES: usize = 8 << 10;
const TARGET_AHEAD_BYTES: usize = 2 << 10;

/// Prefetch distance of updates that come from memory and do not follow each other, and bytes
/// prefetched ahead, at most. They are prefetched into L2, since more lines can be in flight to
/// L2 than to L1.
const UPDATES_AHEAD: usize = 32;
const UPDATES_AHEAD_BYTES: usize = 32 << 10;
const UPDATE_AHEAD_BYTES: usize = 4 << 10;

/// Bytes of the blocks that rows are combined in; rows shorter than `BLOCK` are combined in blocks
/// of `SMALL_BLOCK`, rows shorter than that element by element.
const BLOCK: usize = 64;
pub(super) const SMALL_BLOCK: usize = 16;

/// Bytes of updates, at most, that are combined with one target between its load and its store.
const RUN_BYTES: usize = 1 << 10;

/// The fewest iterations and the most entries of each whose branches processors learn to predict.
const PREDICTED: [usize; 2] = [threshold(8, 2), threshold(64, 8)];

/// How targets of type `A` are combined with updates, a few at once.
pub(super) trait Combine<A>: Copy {
    fn block<const N: usize>(self, held: [A; N], updates: [A; N]) -> [A; N];
}

impl<A: Copy, F: Fn(A, A) -> A + Copy> Combine<A> for F {
    #[inline(always)]
    fn block<const N: usize>(self, mut held: [A; N], updates: [A; N]) -> [A; N] {
        for k in 0..N {
            held[k] = self(held[k], updates[k]);
        }
        held
    }
}

/// Combines rows that are contiguous in the target, and in the updates unless `SPREAD`: then each has one update.
///
/// # Safety
/// That of [`apply`](super::apply::apply), and rows have [`SMALL_BLOCK`] bytes or more.
#[allow(unsafe_code)]
#[inline(always)]
pub(super) unsafe fn apply<A: Copy, const SPREAD: bool>(tile: &Tile<'_>, combine: impl Combine<A>) {
    let short = are_short::<A>(tile);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if let Some(avx2) = cpu::Avx2::detect() {
        // SAFETY: the caller's promise, and rows have `BLOCK` bytes or more unless they are `short`;
        // the processor has AVX2, as the proof says.
        return unsafe { rows_by_avx2::<A, SPREAD>(avx2, tile, short, combine) };
    }
    // Without AVX2, vectors of x86-64 have 16 bytes.
    let short = short || cfg!(all(target_arch = "x86_64", not(miri)));
    // SAFETY: the caller's promise; rows have `BLOCK` bytes or more unless they are `short`.
    unsafe { in_blocks::<A, SPREAD>(tile, short, combine) }
}

/// [`apply`] in small blocks if rows are [`short`](are_short), compiled for the processor features
/// of its caller.
///
/// # Safety
/// That of [`apply`], and rows have [`BLOCK`] bytes or more unless `short`.
#[allow(unsafe_code)]
#[inline(always)]
pub(super) unsafe fn in_blocks<A: Copy, const SPREAD: bool>(
    tile: &Tile<'_>,
    short: bool,
    combine: impl Combine<A>,
) {
    // SAFETY: the caller's promise.
    unsafe {
        if short {
            rows::<A, SMALL_BLOCK, SPREAD>(tile, combine);
        } else {
            rows::<A, BLOCK, SPREAD>(tile, combine);
        }
    }
}

/// Whether rows are shorter than [`BLOCK`].
#[inline(always)]
pub(super) fn are_short<A>(tile: &Tile<'_>) -> bool {
    tile.inner.len * size_of::<A>() < BLOCK
}

/// [`in_blocks`], compiled for AVX2. A function of its own rather than a closure for `Avx2::call`: the
/// compiler would not inline all closures inside that closure, and compile some without AVX2.
///
/// # Safety
/// That of [`in_blocks`].
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code)]
#[target_feature(enable = "avx2")]
unsafe fn rows_by_avx2<A: Copy, const SPREAD: bool>(
    _proof: cpu::Avx2,
    tile: &Tile<'_>,
    short: bool,
    combine: impl Combine<A>,
) {
    // SAFETY: the caller's promise.
    unsafe { in_blocks::<A, SPREAD>(tile, short, combine) }
}

/// Combines rows in blocks of `BYTES` bytes of the target.
///
/// # Safety
/// That of [`apply`], and rows have `BYTES` bytes or more.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn rows<A: Copy, const BYTES: usize, const SPREAD: bool>(
    tile: &Tile<'_>,
    combine: impl Combine<A>,
) {
    // SAFETY: the caller's promise.
    unsafe {
        match (size_of::<A>(), BYTES) {
            (1, BLOCK) => rows_of::<A, BLOCK, SPREAD>(tile, combine),
            (2, BLOCK) => rows_of::<A, { BLOCK / 2 }, SPREAD>(tile, combine),
            (4, BLOCK) => rows_of::<A, { BLOCK / 4 }, SPREAD>(tile, combine),
            (8, BLOCK) => rows_of::<A, { BLOCK / 8 }, SPREAD>(tile, combine),
            (1, _) => rows_of::<A, SMALL_BLOCK, SPREAD>(tile, combine),
            (2, _) => rows_of::<A, { SMALL_BLOCK / 2 }, SPREAD>(tile, combine),
            (4, _) => rows_of::<A, { SMALL_BLOCK / 4 }, SPREAD>(tile, combine),
            (8, _) => rows_of::<A, { SMALL_BLOCK / 8 }, SPREAD>(tile, combine),
            _ => rows_of::<A, 1, SPREAD>(tile, combine),
        }
    }
}

/// The prefetch distance of targets of `bytes` bytes in rows.
#[inline(always)]
fn targets_ahead(bytes: usize) -> usize {
    (TARGETS_AHEAD_BYTES / bytes).clamp(1, TARGETS_AHEAD)
}

/// Combines rows in blocks of `N` elements.
///
/// # Safety
/// That of [`apply`], and rows have `N` elements or more.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn rows_of<A: Copy, const N: usize, const SPREAD: bool>(
    tile: &Tile<'_>,
    combine: impl Combine<A>,
) {
    if SPREAD {
        // SAFETY: the caller's promise.
        return unsafe { spread_of::<A, N>(tile, combine) };
    }
    if runs_pay::<N>(tile) {
        // SAFETY: the caller's promise.
        return unsafe { runs_of::<A, N>(tile, combine) };
    }
    let mut slots = later_slots();
    let ahead = RowsAhead::of(tile, tile.inner.len * size_of::<A>(), &mut slots);
    for iteration in 0..tile.outer.len {
        let arrays = tile.iteration(iteration);
        // SAFETY: the caller's promise.
        unsafe {
            match tile.places {
                Places::Every(step) => {
                    evenly_spaced::<A, N>(tile, arrays, step, &ahead, combine);
                }
                Places::Each(places) => {
                    picked_out::<A, N>(tile, arrays, places, &ahead, combine);
                }
            }
        }
    }
}

/// Combines rows in blocks of `N` elements, each with one update.
///
/// # Safety
/// That of [`apply`], and rows have `N` elements or more.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn spread_of<A: Copy, const N: usize>(tile: &Tile<'_>, combine: impl Combine<A>) {
    let mut slots = later_slots();
    let ahead = RowsAhead::of(tile, tile.inner.len * size_of::<A>(), &mut slots);
    for iteration in 0..tile.outer.len {
        let (selected, listed) = tile.iteration(iteration);
        for (k, &offset) in tile.offsets.iter().enumerate() {
            ahead.prefetch_target(selected, k);
            let target = selected.wrapping_offset(offset).cast();
            // SAFETY: the caller's promise; there are `N` copies of the update.
            unsafe {
                let copies = [listed.wrapping_offset(tile.places.at(k)).cast::<A>().read(); N];
                let updates = Updates::single(copies.as_ptr());
                combine_row::<A, N, false, true>(target, updates, tile.inner.len, combine);
            }
        }
    }
}

/// Whether rows that follow each other have the same target so often that they are better combined first.
///
/// The end of each run of equal targets is a branch misprediction, which costs more than
/// store-to-load forwarding where runs are short. Where blocks overlap (the length of rows is no multiple
/// of `N`), a load waits for two stores, so shorter runs pay, too: even two in a run where the same few
/// entries come in each iteration, which processors learn to predict.
#[inline(always)]
fn runs_pay<const N: usize>(tile: &Tile<'_>) -> bool {
    let predicted = tile.outer.len >= PREDICTED[0] && tile.offsets.len() <= PREDICTED[1];
    let repeated = match tile.inner.len.is_multiple_of(N) {
        true => [7, 8],
        false if predicted => [1, 5],
        false => [3, 4],
    };
    tile.repeats(tile.offsets.len().saturating_mul(tile.outer.len), repeated)
}

/// What is prefetched while rows are combined.
struct RowsAhead<'t> {
    /// Bytes of a row.
    bytes: usize,
    /// The targets further on, and the bytes of each that are prefetched.
    targets: Later<'t>,
    target_bytes: usize,
    /// How many rows ahead updates are prefetched, where they do not follow each other.
    updates: usize,
}

impl<'t> RowsAhead<'t> {
    /// For rows of `bytes` bytes.
    #[inline(always)]
    fn of(tile: &Tile<'t>, bytes: usize, slots: &'t mut LaterSlots) -> Self {
        let targets_ahead = targets_ahead(bytes);
        let updates = match tile.spread {
            true => (UPDATES_AHEAD_BYTES / bytes).clamp(TARGETS_AHEAD, UPDATES_AHEAD),
            false => targets_ahead,
        };
        let targets = Later::of(tile, targets_ahead, slots);
        RowsAhead { bytes, targets, target_bytes: bytes.min(TARGET_AHEAD_BYTES), updates }
    }

    /// Prefetches the target of a later row, as row number `k` of those that select from here is combined.
    #[inline(always)]
    fn prefetch_target(&self, selected: *mut u8, k: usize) {
        if let Some(later) = self.targets.offset(k) {
            cpu::prefetch_all(selected.wrapping_offset(later), self.target_bytes);
        }
    }
}

/// The rows of an iteration, whose updates are `step` bytes apart.
///
/// # Safety
/// That of [`rows_of`]; the arrays begin where those of the iteration do.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn evenly_spaced<A: Copy, const N: usize>(
    tile: &Tile<'_>,
    (selected, mut listed): (*mut u8, *mut u8),
    step: isize,
    ahead: &RowsAhead<'_>,
    combine: impl Combine<A>,
) {
    // Number of rows whose updates are prefetched at once: the check whether the list is prefetched
    // takes a tenth of the time of a short row.
    let rows_per_prefetch = if ahead.bytes <= 128 { 8 } else { 1 };
    for (k, &offset) in tile.offsets.iter().enumerate() {
        if k & (rows_per_prefetch - 1) == 0 {
            if k % 8 == 0 {
                tile.next.prefetch(k / 8);
            }
            tile.prefetch_list(listed, rows_per_prefetch * ahead.bytes);
        }
        ahead.prefetch_target(selected, k);
        let target = selected.wrapping_offset(offset).cast();
        let updates = Updates::single(listed.cast());
        // SAFETY: the caller's promise.
        unsafe { combine_row::<A, N, false, false>(target, updates, tile.inner.len, combine) };
        listed = listed.wrapping_offset(step);
    }
}

/// The rows of an iteration, whose updates have these places.
///
/// # Safety
/// That of [`rows_of`]; the arrays begin where those of the iteration do.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn picked_out<A: Copy, const N: usize>(
    tile: &Tile<'_>,
    (selected, listed): (*mut u8, *mut u8),
    places: &[isize],
    ahead: &RowsAhead<'_>,
    combine: impl Combine<A>,
) {
    let last = tile.offsets.len().wrapping_sub(1);
    for (k, (&offset, &place)) in tile.offsets.iter().zip(places).enumerate() {
        ahead.prefetch_target(selected, k);
        // These updates do not follow each other, and where targets are spread over much memory,
        // updates come from memory.
        let later = listed.wrapping_offset(places[(k + ahead.updates).min(last)]);
        if tile.spread {
            cpu::prefetch_l2(later, ahead.bytes.min(UPDATE_AHEAD_BYTES));
        } else {
            cpu::prefetch_all(later, ahead.bytes);
            cpu::prefetch_line(later.wrapping_add(ahead.bytes - 1));
        }
        let target = selected.wrapping_offset(offset).cast();
        let updates = Updates::single(listed.wrapping_offset(place).cast());
        // SAFETY: the caller's promise.
        unsafe { combine_row::<A, N, false, false>(target, updates, tile.inner.len, combine) };
    }
}

/// Combines rows that are contiguous in both arrays, in blocks of `N` elements. Of rows that follow
/// each other and have the same target several are combined before it is stored: otherwise each
/// load of the target waits for store-to-load forwarding, longer if it depends on two stores
/// (blocks that overlap).
///
/// # Safety
/// That of [`rows_of`].
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn runs_of<A: Copy, const N: usize>(tile: &Tile<'_>, combine: impl Combine<A>) {
    let bytes = tile.inner.len * size_of::<A>();
    let max_rows = (RUN_BYTES / bytes).clamp(2, 16);
    let (ahead, target_bytes) = (targets_ahead(bytes), bytes.min(TARGET_AHEAD_BYTES));
    for iteration in 0..tile.outer.len {
        let (selected, listed) = tile.iteration(iteration);
        let mut first = 0;
        while let [offset, rest @ ..] = &tile.offsets[first..] {
            let (rows, step) = run(tile, first, max_rows);
            if let Some(&later) = rest.get(rows + ahead) {
                cpu::prefetch_all(selected.wrapping_offset(later), target_bytes);
            }
            let target = selected.wrapping_offset(*offset).cast();
            let updates = listed.wrapping_offset(tile.places.at(first));
            if matches!(tile.places, Places::Every(_)) {
                tile.prefetch_list(updates, rows * bytes);
            }
            let updates = updates.cast();
            // SAFETY: the caller's promise, for each of these rows.
            unsafe {
                let updates = Updates::<A, true> { first: updates, rows, step };
                combine_row::<A, N, true, false>(target, updates, tile.inner.len, combine);
            }
            first += rows;
        }
    }
}

/// Finds the entries from `first` on, at most `max_rows`, that select the same target and whose
/// updates are evenly spaced in the list. Returns their number, and the distance in bytes between
/// their updates.
#[inline(always)]
fn run(tile: &Tile<'_>, first: usize, max_rows: usize) -> (usize, isize) {
    let (offset, place) = (tile.offsets[first], tile.places.at(first));
    let rest = &tile.offsets[first + 1..];
    let step = if rest.is_empty() { 0 } else { tile.places.at(first + 1).wrapping_sub(place) };
    let mut rows = 1;
    for &next in rest.iter().take(max_rows - 1) {
        let expected = place.wrapping_add(step.wrapping_mul(rows as isize));
        if next != offset || tile.places.at(first + rows) != expected {
            break;
        }
        rows += 1;
    }
    (rows, step)
}

/// One row of updates, or with `RUN` several for the same target.
#[derive(Clone, Copy)]
struct Updates<A, const RUN: bool> {
    first: *const A,
    rows: usize,
    /// The distance in bytes between the rows.
    step: isize,
}

impl<A> Updates<A, false> {
    #[inline(always)]
    fn single(row: *const A) -> Self {
        Updates { first: row, rows: 1, step: 0 }
    }
}

/// Combines updates with a target row of `len` elements, in blocks of `N`; if `SPREAD`, each block with the same `N`
/// updates.
///
/// The first two blocks overlap where `len` is no multiple of `N`, so each block is computed before
/// the block preceding it is stored. This also keeps the compiler from making masked stores, which
/// take far longer: it does so of a choice between two values (a minimum) that is stored to the
/// place where one of them was just loaded.
///
/// # Safety
/// `len` elements of the target can be read and written, and as many of each row of updates read, or `N` if `SPREAD`;
/// `len` is at least `N`; target and updates do not overlap.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn combine_row<A: Copy, const N: usize, const RUN: bool, const SPREAD: bool>(
    target: *mut A,
    updates: Updates<A, RUN>,
    len: usize,
    combine: impl Combine<A>,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut new = block::<A, N, RUN, SPREAD>(target, updates, 0, combine);
        let first = match len % N {
            0 => N,
            rest => rest,
        };
        let (mut at, mut next) = (0, first);
        while next < len {
            let newer = block::<A, N, RUN, SPREAD>(target, updates, next, combine);
            target.add(at).cast::<[A; N]>().write(new);
            (new, at) = (newer, next);
            next += N;
        }
        target.add(at).cast::<[A; N]>().write(new);
    }
}

/// Combines `N` elements of a target row, from element `at` on, with those of each row of updates,
/// and returns the results without storing them.
///
/// # Safety
/// From element `at` on, `N` elements of the target and of each row of updates can be read; of a row of updates, if
/// `SPREAD`, the first `N`.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn block<A: Copy, const N: usize, const RUN: bool, const SPREAD: bool>(
    target: *const A,
    updates: Updates<A, RUN>,
    at: usize,
    combine: impl Combine<A>,
) -> [A; N] {
    // SAFETY: the caller's promise.
    unsafe {
        let mut row = if SPREAD { updates.first } else { updates.first.add(at) };
        let held = target.add(at).cast::<[A; N]>().read();
        let mut held = combine.block(held, row.cast::<[A; N]>().read());
        if RUN {
            for _ in 1..updates.rows {
                row = row.wrapping_byte_offset(updates.step);
                held = combine.block(held, row.cast::<[A; N]>().read());
            }
        }
        held
    }
}

#[cfg(test)]
mod tests;
