//! Combines rows of updates with their targets, a few elements at a time.

use crate::memory::cpu;
use crate::memory::tile::{Places, Tile};

/// How many rows ahead of the one being combined the next is asked for.
pub(super) const AHEAD: usize = 16;

/// What is asked for ahead of time takes no more than so many bytes of the cache
/// next to the core.
const AHEAD_BYTES: usize = 8 << 10;

/// The same for updates from memory that do not follow each other, and the cache
/// after that, on the way to which more lines can be.
const EARLY: usize = 32;
const EARLY_BYTES: usize = 32 << 10;

/// Bytes of the blocks that rows are combined in, and of those of rows that are
/// shorter. Still shorter ones are combined element by element.
const BLOCK: usize = 64;
pub(super) const LEAST: usize = 16;

/// So many rows are combined with the same target before it is written.
const RUN_BYTES: usize = 1 << 10;

/// Combines rows that are dense in both arrays.
///
/// # Safety
/// That of [`apply`](super::apply::apply), and rows have [`LEAST`] bytes or more.
#[allow(unsafe_code)]
#[inline(always)]
pub(super) unsafe fn apply<A: Copy, U: Copy>(tile: &Tile<'_>, combine: impl Fn(A, U) -> A + Copy) {
    let short = tile.inner.len * size_of::<A>() < BLOCK;
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if let Some(avx2) = cpu::Avx2::detect().filter(|_| !short) {
        // SAFETY: the caller's promise; the processor has AVX2, as the proof says.
        return unsafe { rows_by_avx2(avx2, tile, combine) };
    }
    // Without AVX2, 16 bytes are what x86-64 works on at a time.
    let short = short || cfg!(all(target_arch = "x86_64", not(miri)));
    // SAFETY: the caller's promise, and rows are as long as that.
    unsafe {
        if short { rows::<A, U, LEAST>(tile, combine) } else { rows::<A, U, BLOCK>(tile, combine) }
    }
}

/// [`rows`] for AVX2. A function of its own: of closures that are called from one
/// the compiler leaves some as they are.
///
/// # Safety
/// That of [`rows`], of [`BLOCK`] bytes.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code)]
#[target_feature(enable = "avx2")]
unsafe fn rows_by_avx2<A: Copy, U: Copy>(
    _proof: cpu::Avx2,
    tile: &Tile<'_>,
    combine: impl Fn(A, U) -> A + Copy,
) {
    // SAFETY: the caller's promise.
    unsafe { rows::<A, U, BLOCK>(tile, combine) }
}

/// Combines rows that are dense in both arrays, `BYTES` of the target at a time.
///
/// # Safety
/// That of [`apply`], and rows have so many bytes or more.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn rows<A: Copy, U: Copy, const BYTES: usize>(
    tile: &Tile<'_>,
    combine: impl Fn(A, U) -> A + Copy,
) {
    // SAFETY: the caller's promise.
    unsafe {
        match (size_of::<A>(), BYTES) {
            (1, BLOCK) => rows_of::<A, U, BLOCK>(tile, combine),
            (2, BLOCK) => rows_of::<A, U, { BLOCK / 2 }>(tile, combine),
            (4, BLOCK) => rows_of::<A, U, { BLOCK / 4 }>(tile, combine),
            (8, BLOCK) => rows_of::<A, U, { BLOCK / 8 }>(tile, combine),
            (1, _) => rows_of::<A, U, LEAST>(tile, combine),
            (2, _) => rows_of::<A, U, { LEAST / 2 }>(tile, combine),
            (4, _) => rows_of::<A, U, { LEAST / 4 }>(tile, combine),
            (8, _) => rows_of::<A, U, { LEAST / 8 }>(tile, combine),
            _ => rows_of::<A, U, 1>(tile, combine),
        }
    }
}

/// Combines rows that are dense in both arrays, `N` elements at a time.
///
/// # Safety
/// That of [`apply`], and rows have `N` elements or more.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn rows_of<A: Copy, U: Copy, const N: usize>(
    tile: &Tile<'_>,
    combine: impl Fn(A, U) -> A + Copy,
) {
    let len = tile.inner.len;
    // How long runs are cannot be foreseen, which costs more than to wait where they are short;
    // but blocks that overlap wait longer.
    if tile.repeats(if len.is_multiple_of(N) { [7, 8] } else { [3, 4] }) {
        // SAFETY: the caller's promise.
        return unsafe { runs_of::<A, U, N>(tile, combine) };
    }
    let bytes = len * size_of::<A>();
    let distance = (AHEAD_BYTES / bytes).clamp(1, AHEAD);
    let early = if tile.spread { (EARLY_BYTES / bytes).clamp(AHEAD, EARLY) } else { distance };
    let (offsets, last) = (tile.offsets, tile.offsets.len().wrapping_sub(1));
    // Of how many rows updates further on are asked for together: to look whether they are takes
    // a tenth of the time of a short one.
    let together = if bytes <= 128 { 8 } else { 1 };
    for iteration in 0..tile.outer.len {
        let (selected, mut listed) = tile.iteration(iteration);
        // SAFETY: the caller's promise.
        unsafe {
            match tile.places {
                Places::Every(step) => {
                    for (k, &offset) in offsets.iter().enumerate() {
                        if k & (together - 1) == 0 {
                            if k % 8 == 0 {
                                tile.next.prefetch(k / 8);
                            }
                            tile.prefetch_list(listed, together * bytes);
                        }
                        let later = offsets[(k + distance).min(last)];
                        cpu::prefetch_all(selected.wrapping_offset(later), bytes);
                        let target = selected.wrapping_offset(offset).cast();
                        let updates = Updates::one(listed.cast());
                        combine_row::<A, U, N, false>(target, updates, len, combine);
                        listed = listed.wrapping_offset(step);
                    }
                }
                Places::Each(places) => {
                    for (k, (&offset, &place)) in offsets.iter().zip(places).enumerate() {
                        let later = offsets[(k + distance).min(last)];
                        cpu::prefetch_all(selected.wrapping_offset(later), bytes);
                        // These rows do not follow each other, and where targets are
                        // many, updates come from memory.
                        let later = listed.wrapping_offset(places[(k + early).min(last)]);
                        if tile.spread {
                            cpu::prefetch_l2(later, bytes);
                        } else {
                            cpu::prefetch_all(later, bytes);
                            cpu::prefetch_line(later.wrapping_add(bytes - 1));
                        }
                        let target = selected.wrapping_offset(offset).cast();
                        let updates = Updates::one(listed.wrapping_offset(place).cast());
                        combine_row::<A, U, N, false>(target, updates, len, combine);
                    }
                }
            }
        }
    }
}

/// Combines rows that are dense in both arrays, `N` elements at a time, and of those
/// that follow each other and have the same target several before it is written: a load
/// waits for the store of what it loads, the longer if that was two.
///
/// # Safety
/// That of [`rows_of`].
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn runs_of<A: Copy, U: Copy, const N: usize>(
    tile: &Tile<'_>,
    combine: impl Fn(A, U) -> A + Copy,
) {
    let bytes = tile.inner.len * size_of::<A>();
    let most = (RUN_BYTES / bytes).clamp(2, 16);
    for iteration in 0..tile.outer.len {
        let (selected, listed) = tile.iteration(iteration);
        let mut first = 0;
        while let [offset, rest @ ..] = &tile.offsets[first..] {
            let (rows, step) = run(tile, first, most);
            if let Some(&later) = rest.get(rows + AHEAD) {
                cpu::prefetch_all(selected.wrapping_offset(later), bytes);
            }
            let target = selected.wrapping_offset(*offset).cast();
            let updates = listed.wrapping_offset(tile.places.at(first));
            if matches!(tile.places, Places::Every(_)) {
                tile.prefetch_list(updates, rows * bytes);
            }
            let updates = updates.cast();
            // SAFETY: the caller's promise, for each of these rows.
            unsafe {
                let updates = Updates::<U, true> { first: updates, rows, step };
                combine_row::<A, U, N, true>(target, updates, tile.inner.len, combine);
            }
            first += rows;
        }
    }
}

/// How many entries of a tile from this one on, at most, select the same and are evenly
/// spaced in the list, and by how many bytes.
#[inline(always)]
fn run(tile: &Tile<'_>, first: usize, most: usize) -> (usize, isize) {
    let (offset, place) = (tile.offsets[first], tile.places.at(first));
    let rest = &tile.offsets[first + 1..];
    let step = if rest.is_empty() { 0 } else { tile.places.at(first + 1).wrapping_sub(place) };
    let mut rows = 1;
    for &next in rest.iter().take(most - 1) {
        let expected = place.wrapping_add(step.wrapping_mul(rows as isize));
        if next != offset || tile.places.at(first + rows) != expected {
            break;
        }
        rows += 1;
    }
    (rows, step)
}

/// One row of updates, or with `RUN` some that are so many bytes apart.
#[derive(Clone, Copy)]
struct Updates<U, const RUN: bool> {
    first: *const U,
    rows: usize,
    step: isize,
}

impl<U> Updates<U, false> {
    #[inline(always)]
    fn one(row: *const U) -> Self {
        Updates { first: row, rows: 1, step: 0 }
    }
}

/// Combines updates with a row of `len` elements. The first two blocks may overlap, so each
/// is worked out before the one ahead of it is written; and a choice between two
/// values that is written right where one of them was read would become a masked
/// store, which takes far longer.
///
/// # Safety
/// `len` elements of all can be used, are `N` or more, and do not overlap.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn combine_row<A: Copy, U: Copy, const N: usize, const RUN: bool>(
    target: *mut A,
    updates: Updates<U, RUN>,
    len: usize,
    combine: impl Fn(A, U) -> A + Copy,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut new = block::<A, U, N, RUN>(target, updates, 0, combine);
        let first = match len % N {
            0 => N,
            rest => rest,
        };
        let (mut at, mut next) = (0, first);
        while next < len {
            let newer = block::<A, U, N, RUN>(target, updates, next, combine);
            target.add(at).cast::<[A; N]>().write(new);
            (new, at) = (newer, next);
            next += N;
        }
        target.add(at).cast::<[A; N]>().write(new);
    }
}

/// What becomes of `N` elements of a row from this place on.
///
/// # Safety
/// `N` elements of all can be read there.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn block<A: Copy, U: Copy, const N: usize, const RUN: bool>(
    target: *const A,
    updates: Updates<U, RUN>,
    at: usize,
    combine: impl Fn(A, U) -> A + Copy,
) -> [A; N] {
    // SAFETY: the caller's promise.
    unsafe {
        let mut row = updates.first.add(at);
        let mut held = target.add(at).cast::<[A; N]>().read();
        let new = row.cast::<[U; N]>().read();
        for k in 0..N {
            held[k] = combine(held[k], new[k]);
        }
        if RUN {
            for _ in 1..updates.rows {
                row = row.wrapping_byte_offset(updates.step);
                let new = row.cast::<[U; N]>().read();
                for k in 0..N {
                    held[k] = combine(held[k], new[k]);
                }
            }
        }
        held
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::tile::{NextIndices, Steps};

    /// Rows of targets for each of two iterations, and rows of updates.
    const ROWS: usize = 8;

    /// Tells the order of updates.
    fn combine(held: u32, update: u32) -> u32 {
        held.wrapping_mul(3).wrapping_add(update)
    }

    /// Where targets repeat and their updates are evenly spaced or not, as those are that a
    /// thread takes from a list, all come to what one row after the other does.
    #[test]
    #[allow(unsafe_code)]
    fn runs_are_what_one_row_after_the_other_is() {
        let mut state = 1_u32;
        let mut below = |end: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) as usize % end
        };
        for _ in 0..300 {
            let (len, count) = (4 + below(9), 1 + below(20));
            let (mut target, mut place) = (0, 0);
            let mut entry = |_| {
                target = if below(3) == 0 { below(ROWS) } else { target };
                place = if below(4) == 0 { below(ROWS) } else { (place + 1) % ROWS };
                (target, place)
            };
            let entries: Vec<(usize, usize)> = (0..count).map(&mut entry).collect();
            let mut updates: Vec<u32> = (1..=(ROWS * len) as u32).collect();
            let before = vec![7; 2 * ROWS * len];
            let mut expected = before.clone();
            for (iteration, &(target, place)) in
                (0..2).flat_map(|k| entries.iter().map(move |e| (k, e)))
            {
                for k in 0..len {
                    let held = &mut expected[(iteration * ROWS + target) * len + k];
                    *held = combine(*held, updates[place * len + k]);
                }
            }
            let row = |number: usize| (number * len * 4) as isize;
            let offsets: Vec<isize> = entries.iter().map(|entry| row(entry.0)).collect();
            let places: Vec<isize> = entries.iter().map(|entry| row(entry.1)).collect();
            for (spread, run) in [(true, false), (false, false), (true, true)] {
                let mut targets = before.clone();
                let tile = Tile {
                    selected: targets.as_mut_ptr().cast(),
                    listed: updates.as_mut_ptr().cast(),
                    outer: Steps { len: 2, selected: row(ROWS), listed: 0 },
                    offsets: &offsets,
                    places: Places::Each(&places),
                    inner: Steps { len, selected: 4, listed: 4 },
                    size: 4,
                    spread,
                    apart: 0,
                    long: false,
                    next: NextIndices::NONE,
                };
                // SAFETY: all these rows are in the two vectors, and have four elements or more.
                unsafe {
                    if run {
                        runs_of::<u32, u32, 4>(&tile, combine);
                    } else {
                        rows_of::<u32, u32, 4>(&tile, combine);
                    }
                }
                assert_eq!(targets, expected, "{entries:?} of {len}, in runs: {run}");
            }
        }
    }
}
