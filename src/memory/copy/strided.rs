//! Copies rows whose elements do not follow each other in one of the arrays.

use std::mem::MaybeUninit;

use super::repeat;
use crate::memory::cpu::{LINE, Rows, transpose};
use crate::memory::tile::{Places, Tile};
use crate::threshold::threshold;

/// The kernel for elements of so many bytes, from the selected to the listed
/// array where `GATHER`, else back.
pub(super) fn kernel<const GATHER: bool>(size: usize) -> unsafe fn(&Tile<'_>) {
    match size {
        1 => elements::<1, GATHER>,
        2 => elements::<2, GATHER>,
        4 => elements::<4, GATHER>,
        8 => elements::<8, GATHER>,
        16 => elements::<16, GATHER>,
        _ => unreachable!("{}", super::PLAIN),
    }
}

#[inline(always)]
fn ends<const GATHER: bool, T>(selected: T, listed: T) -> (T, T) {
    if GATHER { (selected, listed) } else { (listed, selected) }
}

/// Elements of `N` bytes.
///
/// # Safety
/// That of [`Kernel::run`](crate::memory::tile::Kernel::run).
#[allow(unsafe_code)]
unsafe fn elements<const N: usize, const GATHER: bool>(tile: &Tile<'_>) {
    let len = tile.inner.len;
    // Steps are whole elements.
    let steps = [tile.inner.selected, tile.inner.listed].map(|step| step / N as isize);
    let (step, place) = ends::<GATHER, _>(steps[0], steps[1]);
    if let (true, Places::Every(every)) = (GATHER, tile.places) {
        let adjacent = tile.adjacent && place == 1;
        let apart = step == 1 && place != 1 && every == N as isize;
        if adjacent || apart {
            // SAFETY: the caller's promise.
            return unsafe {
                match N {
                    1 => matrix::<1, 16>(tile, every, adjacent),
                    2 => matrix::<2, 8>(tile, every, adjacent),
                    4 => matrix::<4, 4>(tile, every, adjacent),
                    8 => matrix::<8, 2>(tile, every, adjacent),
                    _ => matrix::<16, 1>(tile, every, adjacent),
                }
            };
        }
    }
    tile.each_row(|selected, listed| {
        let (from, to) = ends::<GATHER, _>(selected, listed);
        let (from, to): (*const _, *mut _) = (from.cast_const().cast(), to.cast());
        // Steps that are compared with constants are handed on as these, so
        // that the compiler moves several elements at a time.
        // SAFETY: the caller's promise, for each row.
        unsafe {
            match (step, place) {
                (-1, 1) => row::<N>(from, -1, to, 1, len),
                (2, 1) => row::<N>(from, 2, to, 1, len),
                (0, 1) => repeat(from.cast::<[u8; N]>().read(), to.cast(), len),
                (_, 1) => row::<N>(from, step, to, 1, len),
                _ => row::<N>(from, step, to, place, len),
            }
        }
    });
}

/// A matrix that is transposed on its way: of entries that are `adjacent`, each the next
/// element of the source, or of rows of the source that entries select.
///
/// # Safety
/// That of [`transposed`] or [`rows_transposed`].
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn matrix<const N: usize, const M: usize>(tile: &Tile<'_>, every: isize, adjacent: bool) {
    // SAFETY: the caller's promise.
    unsafe {
        if adjacent { transposed::<N, M>(tile, every) } else { rows_transposed::<N, M>(tile) }
    }
}

/// Entries that follow each other in the source, of rows that are dense in the
/// destination: a matrix transposed.
///
/// # Safety
/// That of [`Kernel::run`](crate::memory::tile::Kernel::run), for plain
/// elements of `N` bytes, of which `M` make 16; entries are `every` bytes apart
/// in the list.
#[allow(unsafe_code)]
unsafe fn transposed<const N: usize, const M: usize>(tile: &Tile<'_>, every: isize) {
    for turn in 0..tile.outer.len {
        let (selected, listed) = tile.turn(turn);
        let first = selected.wrapping_offset(tile.offsets[0]).cast_const();
        let from = Rows { first, step: tile.inner.selected };
        let to = Rows { first: listed, step: every };
        // SAFETY: the caller's promise.
        unsafe { transpose::<N, M>(from, to, tile.inner.len, tile.offsets.len()) };
    }
}

/// Rows that are put side by side before they are transposed.
const SIDE_BY_SIDE: usize = threshold(256, 4);

/// Rows that are dense in the source, of entries that follow each other in the list. They
/// lie anywhere, so as much of each as a line holds is put beside the others first.
///
/// # Safety
/// That of [`Kernel::run`](crate::memory::tile::Kernel::run), for plain elements of `N`
/// bytes, of which `M` make 16.
#[allow(unsafe_code)]
unsafe fn rows_transposed<const N: usize, const M: usize>(tile: &Tile<'_>) {
    let mut room = [[MaybeUninit::<u8>::uninit(); LINE]; SIDE_BY_SIDE];
    let first = room.as_mut_ptr().cast::<u8>();
    for turn in 0..tile.outer.len {
        let (selected, listed) = tile.turn(turn);
        for column in (0..tile.inner.len).step_by(LINE / N) {
            let columns = (tile.inner.len - column).min(LINE / N);
            let selected = selected.wrapping_add(column * N);
            let before = tile.inner.listed.wrapping_mul(column as isize);
            let mut to = Rows { first: listed.wrapping_offset(before), step: tile.inner.listed };
            for offsets in tile.offsets.chunks(SIDE_BY_SIDE) {
                // SAFETY: the caller's promise, for these columns of each row; the room has
                // as many lines.
                unsafe {
                    for (line, &offset) in offsets.iter().enumerate() {
                        let (from, to) = (selected.wrapping_offset(offset), first.add(line * LINE));
                        if columns * N == LINE {
                            from.copy_to_nonoverlapping(to, LINE);
                        } else {
                            from.copy_to_nonoverlapping(to, columns * N);
                        }
                    }
                    let from = Rows { first: first.cast_const(), step: LINE as isize };
                    transpose::<N, M>(from, to, offsets.len(), columns);
                }
                to.first = to.first.wrapping_add(offsets.len() * N);
            }
        }
    }
}

/// # Safety
/// `len` elements of `N` bytes, with these steps in elements, can be read from
/// `from` and written to `to`, and the two do not overlap.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn row<const N: usize>(
    from: *const MaybeUninit<[u8; N]>,
    step: isize,
    to: *mut MaybeUninit<[u8; N]>,
    place: isize,
    len: usize,
) {
    for k in 0..len as isize {
        // SAFETY: the caller's promise.
        unsafe { to.offset(k * place).write(from.offset(k * step).read()) };
    }
}

/// Writes down where each selected element is.
///
/// # Safety
/// The listed elements are addresses that can be written.
#[allow(unsafe_code)]
pub(super) unsafe fn addresses(tile: &Tile<'_>) {
    let inner = tile.inner;
    tile.each_row(|selected, listed| {
        for k in 0..inner.len as isize {
            let selected: *const u8 = selected.wrapping_offset(k.wrapping_mul(inner.selected));
            let listed = listed.wrapping_offset(k.wrapping_mul(inner.listed));
            // SAFETY: the caller's promise.
            unsafe { listed.cast::<*const u8>().write(selected) };
        }
    });
}
