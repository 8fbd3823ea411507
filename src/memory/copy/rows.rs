//! Copies rows: bytes that follow each other in both arrays.
//!
//! A row of up to 256 bytes is one block of a constant size, or two that share
//! bytes, which spares a call and a loop: 12 bytes are the first 8 and the last
//! 8. Such blocks took between a third and three quarters of the time of a
//! `memcpy` for each row.

use std::cell::Cell;

use crate::memory::cpu;
use crate::memory::tile::{Places, Tile};
use crate::threshold::threshold;

/// How many rows ahead of the one being copied the next is asked for: a miss
/// takes as long as a few short rows, or one long one.
fn distance(row: usize) -> usize {
    match row {
        0..=256 => 16,
        257..=1024 => 8,
        _ if row <= 4096 || row > LONGEST => 2,
        _ => 1,
    }
}

/// The kernel for rows of so many bytes, from the selected to the listed array
/// where `GATHER`, else back.
pub(super) fn kernel<const GATHER: bool>(bytes: usize) -> unsafe fn(&Tile<'_>) {
    match bytes {
        1 => blocks::<1, false, GATHER>,
        2 => blocks::<2, false, GATHER>,
        3 => blocks::<2, true, GATHER>,
        4 => blocks::<4, false, GATHER>,
        5..=7 => blocks::<4, true, GATHER>,
        8 => blocks::<8, false, GATHER>,
        9..=15 => blocks::<8, true, GATHER>,
        16 => blocks::<16, false, GATHER>,
        17..=31 => blocks::<16, true, GATHER>,
        32 => blocks::<32, false, GATHER>,
        33..=63 => blocks::<32, true, GATHER>,
        64 => blocks::<64, false, GATHER>,
        65..=128 => blocks::<64, true, GATHER>,
        129..=256 => blocks::<128, true, GATHER>,
        _ => long::<GATHER>,
    }
}

#[inline(always)]
fn ends<const GATHER: bool>(selected: *mut u8, listed: *mut u8) -> (*const u8, *mut u8) {
    if GATHER { (selected, listed) } else { (listed, selected) }
}

/// Copies `N` bytes, or where `MORE` any number from `N` to `2 * N`.
///
/// # Safety
/// `bytes` can be read from `from` and written to `to`, and the two do not
/// overlap.
#[allow(unsafe_code)]
#[inline(always)]
pub(in crate::memory) unsafe fn block<const N: usize, const MORE: bool>(
    from: *const u8,
    to: *mut u8,
    bytes: usize,
) {
    // SAFETY: the caller's promise; the second block ends where the row does.
    unsafe {
        from.copy_to_nonoverlapping(to, N);
        if MORE {
            from.add(bytes - N).copy_to_nonoverlapping(to.add(bytes - N), N);
        }
    }
}

/// Rows of `N` bytes, or of `N` to `2 * N` where `MORE`.
///
/// # Safety
/// That of [`Kernel::run`](crate::memory::tile::Kernel::run).
#[allow(unsafe_code)]
unsafe fn blocks<const N: usize, const MORE: bool, const GATHER: bool>(tile: &Tile<'_>) {
    // A part of a row would need another kernel.
    let bytes = tile.inner.len * tile.size;
    assert!(if MORE { (N..=2 * N).contains(&bytes) } else { bytes == N });
    // SAFETY: the caller's promise, for each row.
    let copy = |selected: *mut u8, listed: *mut u8| unsafe {
        let (from, to) = ends::<GATHER>(selected, listed);
        block::<N, MORE>(from, to, bytes);
    };
    if N >= 16 && tile.spread {
        let ahead = |row: *mut u8| cpu::prefetch(row, bytes);
        tile.each_row_ahead(distance(N), ahead, |selected, listed| {
            tile.prefetch_list(listed, bytes);
            copy(selected, listed);
        });
    } else {
        tile.each(copy);
    }
}

/// Longer rows.
///
/// # Safety
/// That of [`Kernel::run`](crate::memory::tile::Kernel::run).
#[allow(unsafe_code)]
unsafe fn long<const GATHER: bool>(tile: &Tile<'_>) {
    // SAFETY: the caller's promise.
    cpu::widely(|| unsafe { long_rows::<GATHER>(tile) });
}

/// Of rows of more bytes only the first lines are asked for ahead of time: a whole one would push
/// out what is in use.
const LONGEST: usize = threshold(10 << 10, 400);

/// Whether a long row is copied in blocks, and not by `memcpy`.
///
/// Threads may share a row in pieces that are shorter than a block. Of megabytes `memcpy` writes
/// several pages at a time, or without reading what it overwrites: 40 MB into fresh memory take
/// 4.7 ms so, and 5.8 in blocks, on two threads 3.7 and 4.7. But it may be `rep movsb`, which is
/// slower by far where `to` lies a few bytes after `from` ([`copy`]).
#[inline(always)]
fn is_in_blocks(from: *const u8, to: *const u8, bytes: usize) -> bool {
    let many = || bytes >= cpu::of_caches(|caches| caches.last / 16, 1 << 10);
    let few_after = || (1..64).contains(&(to.addr().wrapping_sub(from.addr()) % 4096));
    bytes >= 64 && (!many() || few_after())
}

/// # Safety
/// That of [`long`].
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn long_rows<const GATHER: bool>(tile: &Tile<'_>) {
    let bytes = tile.inner.len * tile.size;
    let distance = distance(bytes);
    // SAFETY: the caller's promise, for each row.
    let copy = |selected: *mut u8, listed: *mut u8| unsafe {
        let (from, to) = ends::<GATHER>(selected, listed);
        if is_in_blocks(from, to, bytes) {
            lines(from, to, bytes, |at| tile.prefetch_list(listed.wrapping_add(at), 1));
        } else {
            from.copy_to_nonoverlapping(to, bytes);
        }
    };
    if !tile.spread {
        return tile.each_row(copy);
    }
    if !(64..=LONGEST).contains(&bytes) || matches!(tile.places, Places::Each(_)) {
        return tile.each_row_ahead(distance, |row| cpu::prefetch(row, bytes), copy);
    }
    // A line of the next row is asked for with each line of this one: asked for all at once,
    // they would wait for each other.
    let next = Cell::new(tile.selected);
    // SAFETY: the caller's promise, for each row.
    let copy = |selected: *mut u8, listed: *mut u8| unsafe {
        let (from, to) = ends::<GATHER>(selected, listed);
        let next = next.get();
        lines(from, to, bytes, |at| {
            cpu::prefetch_line(next.wrapping_add(at));
            tile.prefetch_list(listed.wrapping_add(at), 1);
        });
    };
    tile.each_row_ahead(distance, |row| next.set(row), copy);
}

/// Copies at least 64 bytes, in blocks that begin where lines of the destination do; `on_line` is
/// called with where each of them begins in the row.
///
/// # Safety
/// `bytes`, which are at least 64, can be read from `from` and written to `to`, and the two do
/// not overlap.
#[allow(unsafe_code)]
#[inline(always)]
pub(in crate::memory) unsafe fn lines(
    from: *const u8,
    to: *mut u8,
    bytes: usize,
    on_line: impl Fn(usize),
) {
    // SAFETY: the caller's promise; each block lies in the row.
    unsafe {
        on_line(0);
        block::<64, false>(from, to, 64);
        let mut at = 64 - to.addr() % 64;
        while at < bytes - 64 {
            on_line(at);
            block::<64, false>(from.add(at), to.add(at), 64);
            at += 64;
        }
        block::<64, false>(from.add(bytes - 64), to.add(bytes - 64), 64);
    }
}

/// Copies bytes: a row, or a run of one.
///
/// # Safety
/// They can be read from `from` and written to `to`, and the two do not overlap.
#[allow(unsafe_code)]
#[inline(always)]
pub(in crate::memory) unsafe fn run(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise; each block lies in them.
    unsafe {
        match len {
            // Blocks that begin where lines of the destination do take half as long as
            // those that lie across them.
            129.. => lines(from, to, len, |_| {}),
            65..=128 => block::<64, true>(from, to, len),
            32..=64 => block::<32, true>(from, to, len),
            16..=31 => block::<16, true>(from, to, len),
            8..=15 => block::<8, true>(from, to, len),
            4..=7 => block::<4, true>(from, to, len),
            2..=3 => block::<2, true>(from, to, len),
            1 => block::<1, false>(from, to, len),
            0 => {}
        }
    }
}

/// Fewer bytes are as well copied by `memmove`.
const MANY: usize = threshold(512, 80);

/// Copies bytes between places that may overlap: equivalent to `from.copy_to(to, bytes)`.
///
/// Where the places are apart, many bytes go in blocks: `memmove` may be `rep movsb`, which on a
/// processor of 2021 took 1.4 us for 4 KiB, and blocks 0.1, where `to` lay a few bytes after
/// `from`, not counting multiples of a page.
///
/// # Safety
/// They can be read from `from` and written to `to`.
#[allow(unsafe_code)]
#[inline]
pub(in crate::memory) unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise; blocks are copied only between places that do not overlap.
    unsafe {
        if bytes < MANY || from.addr().abs_diff(to.addr()) < bytes {
            from.copy_to(to, bytes);
        } else {
            copy_apart(from, to, bytes);
        }
    }
}

/// # Safety
/// Bytes can be read from `from` and written to `to`, which do not overlap.
#[allow(unsafe_code)]
#[inline(never)]
unsafe fn copy_apart(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    cpu::widely(|| unsafe { run(from, to, bytes) });
}

/// Long rows of plain elements, from the selected to the listed array, past
/// the caches.
///
/// # Safety
/// That of [`Kernel::run`](crate::memory::tile::Kernel::run), and all bytes are
/// initialised.
#[allow(unsafe_code)]
pub(super) unsafe fn past(tile: &Tile<'_>) {
    let bytes = tile.inner.len * tile.size;
    let next = Cell::new(tile.selected.cast_const());
    // SAFETY: the caller's promise, for each row. A line of the next row is
    // asked for with each line of this one: asked for all at once, they would
    // wait for each other.
    let copy = |selected: *mut u8, listed| unsafe {
        let next = next.get();
        cpu::stream(selected, listed, bytes, |at| cpu::prefetch_line_l2(next.wrapping_add(at)));
    };
    tile.each_row_ahead(1, |row| next.set(row.cast_const()), copy);
    cpu::fence();
}
