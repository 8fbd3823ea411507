//! Updates whose contiguous axis is not that of their targets, transposed before they are combined or
//! written.

use std::mem::MaybeUninit;

use crate::memory::cpu::{LINE, Rows, transpose};
use crate::memory::tile::{NextIndices, Places, Steps, Tile, TileFn};
use crate::threshold::threshold;

/// Rows that are transposed at a time, and bytes of each.
const ROWS: usize = threshold(64, 9);
const ROW_BYTES: usize = threshold(256, LINE);

/// Whether updates of `size` bytes are transposed: of larger ones, a cache line holds too few for
/// that to gain.
pub(in crate::memory) fn transposes_updates(size: usize) -> bool {
    size <= 4
}

/// Number of entries, and of elements of a row, from which on updates are transposed.
const MIN_SIDE: usize = threshold(8, 2);

/// Rows of targets whose distance in bytes is a multiple of this map to few sets of a cache, and
/// evict each other.
const CONFLICT_STRIDE: isize = threshold(2 << 10, 64) as isize;

/// Combines a tile by `run`, from transposed updates where their contiguous axis is not that of the
/// target.
///
/// In the order of the tile, each update of a row would then be read from another cache line, and
/// these lines often map to few sets of a cache and evict each other. So blocks of updates are
/// transposed into a small buffer, and combined from there row by row.
///
/// # Safety
/// That of [`Kernel::run`](crate::memory::tile::Kernel::run), for `run` and updates of
/// types that are nothing but their bytes.
#[allow(unsafe_code)]
pub(super) unsafe fn run_by_rows(tile: &Tile<'_>, run: TileFn) {
    let dense = |step: isize| step == tile.size as isize;
    // SAFETY: the caller's promise.
    unsafe {
        if run_transposed(tile, run) {
            return;
        }
        let listed = tile.inner.listed;
        if dense(tile.inner.selected) && (dense(listed) || listed == 0) {
            // Contiguous rows have kernels of their own, with an update for each element or for all.
            run(tile);
        } else {
            tile.with_long_rows(&|tile| run(tile));
        }
    }
}

/// Runs a tile whose updates pay to be transposed; otherwise returns false.
///
/// # Safety
/// That of [`run_by_rows`].
#[allow(unsafe_code)]
#[inline]
pub(in crate::memory) unsafe fn run_transposed(tile: &Tile<'_>, run: TileFn) -> bool {
    let (inner, size) = (tile.inner, tile.size as isize);
    let large = transposes_updates(tile.size) && inner.len.min(tile.offsets.len()) >= MIN_SIDE;
    let far = |step: isize| step.unsigned_abs() >= LINE;
    let dense = |step: isize| step == size;
    let conflicts = |step: isize| step % CONFLICT_STRIDE == 0;
    let swapped = match tile.places {
        Places::Every(every) if large && every == size && dense(inner.selected) => {
            far(inner.listed).then_some(None)
        }
        Places::Every(every) if large && inner.listed == size => {
            let pays = |step| dense(step) || (!far(step) && conflicts(inner.selected));
            let apart = far(inner.selected) && far(every);
            tile.offset_step().filter(|step| apart && pays(*step)).map(Some)
        }
        _ => None,
    };
    // SAFETY: the caller's promise.
    swapped.map(|swapped| unsafe { by_size(tile, run, swapped) }).is_some()
}

/// [`transposed`], for the size of the tile's elements.
///
/// # Safety
/// That of [`transposed`].
#[allow(unsafe_code)]
#[inline(never)]
unsafe fn by_size(tile: &Tile<'_>, run: TileFn, swapped: Option<isize>) {
    // SAFETY: the caller's promise.
    unsafe {
        match tile.size {
            1 => transposed::<1, 16>(tile, run, swapped),
            2 => transposed::<2, 8>(tile, run, swapped),
            4 => transposed::<4, 4>(tile, run, swapped),
            _ => run(tile),
        }
    }
}

/// Combines a tile by `run`, from updates that are transposed block by block.
///
/// Unless `swapped`, updates are contiguous along the entries, and targets along the elements of a
/// row. If `swapped`, updates are contiguous along the elements of a row, and
/// the entries select targets that are evenly spaced, with this step in bytes: then the loop over entries and
/// the loop over the elements of a row change places.
///
/// # Safety
/// That of [`run_by_rows`], for elements of `N` bytes, of which `M` make 16, and such a tile.
#[allow(unsafe_code)]
unsafe fn transposed<const N: usize, const M: usize>(
    tile: &Tile<'_>,
    run: TileFn,
    swapped: Option<isize>,
) {
    // Aligned for elements of any of these sizes.
    let mut buffer = [[MaybeUninit::<u128>::uninit(); ROW_BYTES / size_of::<u128>()]; ROWS];
    let mut offsets = [0; ROWS];
    let (inner, mut part) = (tile.inner, *tile);
    let buffer_rows = Rows { first: buffer.as_mut_ptr().cast::<u8>(), step: ROW_BYTES as isize };
    part.outer = Steps::ONCE;
    if swapped.is_some() {
        part.offset_step = inner.selected;
    }
    (part.listed, part.places, part.next) =
        (buffer_rows.first, Places::Every(buffer_rows.step), NextIndices::NONE);
    // The number of rows and of columns, and the distance in bytes between columns in the target
    // and in the updates.
    let (rows, columns, step, across) = match (swapped, tile.places) {
        (Some(step), Places::Every(every)) => (inner.len, tile.offsets.len(), step, every),
        _ => (tile.offsets.len(), inner.len, inner.selected, inner.listed),
    };
    for iteration in 0..tile.outer.len {
        let (selected, listed) = tile.iteration(iteration);
        for column in (0..columns).step_by(ROW_BYTES / N) {
            let width = (columns - column).min(ROW_BYTES / N);
            let updates = listed.wrapping_offset(across.wrapping_mul(column as isize));
            part.selected = selected.wrapping_offset(step.wrapping_mul(column as isize));
            part.inner = Steps { len: width, selected: step, listed: N as isize };
            for row in (0..rows).step_by(ROWS) {
                let count = (rows - row).min(ROWS);
                let first = updates.wrapping_add(row * N);
                let part_offsets = if swapped.is_some() {
                    for (k, offset) in offsets[..count].iter_mut().enumerate() {
                        let by = inner.selected.wrapping_mul((row + k) as isize);
                        *offset = tile.offsets[0].wrapping_add(by);
                    }
                    &offsets[..count]
                } else {
                    &tile.offsets[row..row + count]
                };
                let part = Tile { offsets: part_offsets, ..part };
                // SAFETY: the caller's promise, for the updates of these rows and columns; the
                // buffer has `ROWS` rows of `ROW_BYTES`, and `count` and `width * N` are no more.
                unsafe {
                    transpose::<N, M>(Rows { first, step: across }, buffer_rows, width, count);
                    run(&part);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::combine::kernels::functions;
    use crate::reduction::Reduction;

    /// Columns of a block.
    const WIDTH: usize = ROW_BYTES / 2;

    /// `target[r * selected.0 + c * selected.1] += updates[r * listed.0 + c * listed.1]` for each row
    /// `r` and column `c`; an entry is a row or a column. All other elements stay as they are.
    fn sums_of_a_part(
        [rows, columns]: [usize; 2],
        [selected, listed]: [(usize, usize); 2],
        entries_are_columns: bool,
        evenly_spaced: bool,
    ) {
        let len = [selected, listed].map(|(row, column)| row * rows + column * columns + WIDTH);
        let mut target: Vec<u16> = (0..len[0]).map(|k| k as u16).collect();
        let mut updates: Vec<u16> = (0..len[1]).map(|k| (k as u16).wrapping_mul(31)).collect();
        let mut expected = target.clone();
        for row in 0..rows {
            for column in 0..columns {
                let update = updates[row * listed.0 + column * listed.1];
                let sum = &mut expected[row * selected.0 + column * selected.1];
                *sum = sum.wrapping_add(update);
            }
        }
        let bytes = |(row, column): (usize, usize)| {
            let (entry, inner) = if entries_are_columns { (column, row) } else { (row, column) };
            (2 * entry as isize, 2 * inner as isize)
        };
        let ((offset_step, selected), (every, listed)) = (bytes(selected), bytes(listed));
        let (entries, len) = if entries_are_columns { (columns, rows) } else { (rows, columns) };
        let offsets: Vec<isize> = (0..entries as isize).map(|k| k * offset_step).collect();
        let arrays = (target.as_mut_ptr().cast(), updates.as_mut_ptr().cast());
        let inner = Steps { len, selected, listed };
        let tile = Tile::of_entries(arrays, (&offsets, Places::Every(every)), inner, 2);
        let (run, _) = functions::<u16>(Reduction::Sum).unwrap();
        // SAFETY: all elements of the tile are in the arrays, and the kernel is for their type.
        #[allow(unsafe_code)]
        unsafe {
            let offset_step = if evenly_spaced { offset_step } else { 0 };
            run_by_rows(&Tile { offset_step, ..tile }, run);
        }
        let by = if entries_are_columns { "columns" } else { "rows" };
        assert_eq!(target, expected, "{rows} x {columns}, by {by}: {selected} {listed} {every}");
    }

    /// Each part has rows and columns of its own, updates that lie transposed among them.
    #[test]
    fn blocks_end_with_the_tile() {
        for rows in [2, ROWS, ROWS + 1, 2 * ROWS + 1] {
            for columns in [2, WIDTH - 1, WIDTH, WIDTH + 1, 2 * WIDTH + 3] {
                let pitch = rows.max(columns) + WIDTH;
                for by_columns in [false, true] {
                    let steps = [(pitch, 1), (1, pitch)];
                    sums_of_a_part([rows, columns], steps, by_columns, true);
                }
            }
        }
    }

    /// Whether updates are transposed depends on steps of both arrays; sums do not.
    #[test]
    fn updates_lie_in_any_way() {
        let [rows, columns] = [MIN_SIDE + 1, MIN_SIDE + 2];
        let steps = [1, 2, WIDTH, WIDTH + 1];
        let apart = steps.map(|row| steps.map(|column| (row, column))).concat();
        let repeated = [0, 1, 2, WIDTH].map(|row| [(row, 0), (0, row)]).concat();
        for &target in &apart {
            for &updates in apart.iter().chain(&repeated) {
                for by_columns in [false, true] {
                    for evenly_spaced in [false, true] {
                        let steps = [target, updates];
                        sums_of_a_part([rows, columns], steps, by_columns, evenly_spaced);
                    }
                }
            }
        }
    }
}
