//! Copies rows whose elements do not follow each other in one of the arrays.

use std::mem::MaybeUninit;

use super::repeat;
use crate::memory::cpu::{Rows, transpose};
use crate::memory::tile::{Places, Tile};

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
    if let (true, true, 1, Places::Every(every)) = (GATHER, tile.adjacent, place, tile.places) {
        // SAFETY: the caller's promise.
        return unsafe {
            match N {
                1 => transposed::<1, 16>(tile, every),
                2 => transposed::<2, 8>(tile, every),
                4 => transposed::<4, 4>(tile, every),
                8 => transposed::<8, 2>(tile, every),
                _ => transposed::<16, 1>(tile, every),
            }
        };
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
