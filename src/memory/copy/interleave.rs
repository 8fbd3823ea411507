//! Copies between a few contiguous rows and a list in which their elements are interleaved: planes of an
//! image and its pixels, coordinates and points.
//!
//! ```text
//! rows   xxxx yyyy zzzz
//! list   xyz xyz xyz xyz
//! ```

use std::mem::MaybeUninit;

use super::strided::{ENTRIES, pack_row, packing};
use crate::memory::cpu::widely;
use crate::memory::tile::{Places, Tile};

/// Whether two to four elements of each entry, which are contiguous in the list and from one entry to the
/// next, belong to as many rows, each of which is contiguous.
pub(super) fn applies(tile: &Tile<'_>, size: usize) -> bool {
    let (inner, bytes) = (tile.inner, size as isize);
    let dense = matches!(tile.places, Places::Every(every) if every == bytes * inner.len as isize);
    (2..=4).contains(&inner.len)
        && size <= 8
        && inner.listed == bytes
        && tile.offset_step() == Some(bytes)
        && tile.offsets.len() >= ENTRIES
        && dense
}

/// Copies a tile whose rows [are interleaved](applies) in the list.
///
/// # Safety
/// That of [`Kernel::run`](crate::memory::tile::Kernel::run), for plain elements of `N` bytes, of which
/// [`applies`] is true.
#[allow(unsafe_code)]
pub(super) unsafe fn rows<const N: usize, const GATHER: bool>(tile: &Tile<'_>) {
    let (inner, len) = (tile.inner, tile.offsets.len());
    let width = inner.len as isize;
    let packing = packing(width, len);
    for iteration in 0..tile.outer.len {
        let (selected, listed) = tile.iteration(iteration);
        let first = selected.wrapping_offset(tile.offsets[0]);
        let row = |k: isize| first.wrapping_offset(inner.selected.wrapping_mul(k)).cast();
        let listed: *mut MaybeUninit<[u8; N]> = listed.cast();
        // SAFETY: the caller's promise: rows of `len` elements, and their places in the list.
        unsafe {
            match inner.len {
                _ if !GATHER => (0..width).for_each(|k| {
                    pack_row::<N>(packing, listed.offset(k), width, row(k), len);
                }),
                2 => interleave::<N, 2>([0, 1].map(|k| row(k).cast_const()), listed, len),
                3 => interleave::<N, 3>([0, 1, 2].map(|k| row(k).cast_const()), listed, len),
                _ => interleave::<N, 4>([0, 1, 2, 3].map(|k| row(k).cast_const()), listed, len),
            }
        }
    }
}

/// Copies `len` elements of each of `W` rows, so that those of the same number follow each other: a loop
/// that compilers vectorise.
///
/// # Safety
/// `len` elements of `N` bytes can be read from each of `rows`, and `W` times as many be written to `to`,
/// which overlaps none of them.
#[allow(unsafe_code)]
#[inline(never)]
unsafe fn interleave<const N: usize, const W: usize>(
    rows: [*const MaybeUninit<[u8; N]>; W],
    to: *mut MaybeUninit<[u8; N]>,
    len: usize,
) {
    widely(|| {
        // Copied, so that the compiler knows that no store changes the addresses.
        let (rows, to) = (rows, to);
        for k in 0..len {
            // SAFETY: the caller's promise.
            unsafe {
                let elements = rows.map(|row| row.add(k).read());
                to.add(k * W).cast::<[_; W]>().write(elements);
            }
        }
    });
}
