//! Updates that lie transposed to their targets, put in order before they are combined.

use std::mem::MaybeUninit;

use super::kernels::Run;
use crate::memory::cpu::{LINE, Rows, transpose};
use crate::memory::tile::{NextIndices, Places, Steps, Tile};
use crate::threshold::threshold;

/// Rows that are transposed at a time, and bytes of each.
const ROWS: usize = threshold(64, 3);
const WIDE: usize = threshold(256, LINE);

/// Whether updates of so many bytes are transposed: of larger ones there are too few in a
/// line for that to gain.
pub(in crate::memory) fn transposes_updates(size: usize) -> bool {
    size <= 4
}

/// Fewer elements along either side are combined as they lie.
const FEWEST: usize = threshold(8, 2);

/// Rows of targets that are so many bytes apart, or a multiple of that, are in few places
/// of a cache.
const REPEATS: isize = threshold(2 << 10, 64) as isize;

/// Combines a tile by `run`. Where rows of updates lie across those of the target, each is
/// in lines of its own, which are often as far apart as the places of a cache repeat: then
/// some are transposed to a small room, and are combined from there row by row.
///
/// # Safety
/// That of [`Kernel::run`](crate::memory::tile::Kernel::run), for `run` and updates of
/// types that are nothing but their bytes.
#[allow(unsafe_code)]
pub(super) unsafe fn run_by_rows(tile: &Tile<'_>, run: Run) {
    let (inner, size) = (tile.inner, tile.size as isize);
    let large = transposes_updates(tile.size) && inner.len.min(tile.offsets.len()) >= FEWEST;
    let far = |step: isize| step.unsigned_abs() >= LINE;
    let dense = |step: isize| step == size;
    let repeats = |step: isize| step % REPEATS == 0;
    let shared = match tile.places {
        Places::Every(every) if large && every == size && dense(inner.selected) => {
            far(inner.listed).then_some(false)
        }
        Places::Every(every) if large && inner.listed == size && !far(tile.apart) => {
            let pays = dense(tile.apart) || (tile.apart != 0 && repeats(inner.selected));
            (pays && far(inner.selected) && far(every)).then_some(true)
        }
        _ => None,
    };
    // SAFETY: the caller's promise.
    unsafe {
        match shared {
            Some(shared) => by_size(tile, run, shared),
            None => run(tile),
        }
    }
}

/// # Safety
/// That of [`transposed`].
#[allow(unsafe_code)]
#[inline(never)]
unsafe fn by_size(tile: &Tile<'_>, run: Run, shared: bool) {
    // SAFETY: the caller's promise.
    unsafe {
        match tile.size {
            1 => transposed::<1, 16>(tile, run, shared),
            2 => transposed::<2, 8>(tile, run, shared),
            4 => transposed::<4, 4>(tile, run, shared),
            _ => run(tile),
        }
    }
}

/// Either entries follow each other in the updates, and elements of a row are near in the
/// target; or no index comes in between the entries, which are `shared`, and it is the other
/// way round: then elements of a row take the part of entries.
///
/// # Safety
/// That of [`run_by_rows`], for elements of `N` bytes, of which `M` make 16, and such a tile.
#[allow(unsafe_code)]
unsafe fn transposed<const N: usize, const M: usize>(tile: &Tile<'_>, run: Run, shared: bool) {
    let mut room = [MaybeUninit::<[u8; WIDE]>::uninit(); ROWS];
    let mut offsets = [0; ROWS];
    let (inner, mut part) = (tile.inner, *tile);
    let lines = Rows { first: room.as_mut_ptr().cast::<u8>(), step: WIDE as isize };
    part.outer = Steps { len: 1, selected: 0, listed: 0 };
    (part.listed, part.places, part.next) =
        (lines.first, Places::Every(lines.step), NextIndices::NONE);
    // Rows of the target, the elements of one, and how far apart these and their updates
    // are.
    let (rows, columns, step, across) = match (shared, tile.places) {
        (true, Places::Every(every)) => (inner.len, tile.offsets.len(), tile.apart, every),
        _ => (tile.offsets.len(), inner.len, inner.selected, inner.listed),
    };
    for iteration in 0..tile.outer.len {
        let (selected, listed) = tile.iteration(iteration);
        for column in (0..columns).step_by(WIDE / N) {
            let width = (columns - column).min(WIDE / N);
            let updates = listed.wrapping_offset(across.wrapping_mul(column as isize));
            part.selected = selected.wrapping_offset(step.wrapping_mul(column as isize));
            part.inner = Steps { len: width, selected: step, listed: N as isize };
            for row in (0..rows).step_by(ROWS) {
                let count = (rows - row).min(ROWS);
                let first = updates.wrapping_add(row * N).cast_const();
                if shared {
                    for (k, offset) in offsets[..count].iter_mut().enumerate() {
                        let by = inner.selected.wrapping_mul((row + k) as isize);
                        *offset = tile.offsets[0].wrapping_add(by);
                    }
                }
                let of = if shared { &offsets[..count] } else { &tile.offsets[row..row + count] };
                let part = Tile { offsets: of, ..part };
                // SAFETY: the caller's promise, for the updates of these rows and columns;
                // the room has as many lines.
                unsafe {
                    transpose::<N, M>(Rows { first, step: across }, lines, width, count);
                    run(&part);
                }
            }
        }
    }
}
