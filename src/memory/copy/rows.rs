//! Copies rows: bytes that are contiguous in both arrays.
//!
//! A row of up to 256 bytes is copied as one block of a constant size, or as two blocks that
//! overlap: 12 bytes are the first 8 and the last 8. That needs neither a call nor a loop: such
//! blocks took between a third and three quarters of the time of a `memcpy` for each row.

use std::cell::Cell;

use super::from_to;
use crate::memory::cpu;
use crate::memory::indices::elements::Action;
use crate::memory::tile::{Places, Tile};
use crate::threshold::threshold;

/// The prefetch distance for rows of `bytes` bytes: number of rows from the row being copied to the
/// row being prefetched. A cache miss takes as long as copying several short rows, or one long row.
fn prefetch_distance(bytes: usize) -> usize {
    match bytes {
        0..=256 => 16,
        257..=1024 => 8,
        _ if bytes <= 4096 || bytes > PREFETCHED_ROW_MAX => 2,
        _ => 1,
    }
}

/// The kernel for rows of `bytes` bytes: from the selected to the listed array where `GATHER`, else
/// from the listed to the selected array.
pub(in crate::memory) fn kernel<const GATHER: bool>(bytes: usize) -> unsafe fn(&Tile<'_>) {
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

/// Copies a block of `N` bytes, or where `OVERLAP` any number of bytes from `N` to `2 * N`, as two
/// blocks that overlap: equivalent to `from.copy_to_nonoverlapping(to, bytes)`.
///
/// # Safety
/// `bytes` is a number as above; as many bytes can be read from `from` and written to `to`, and the
/// two do not overlap.
#[allow(unsafe_code)]
#[inline(always)]
pub(in crate::memory) unsafe fn block<const N: usize, const OVERLAP: bool>(
    from: *const u8,
    to: *mut u8,
    bytes: usize,
) {
    // SAFETY: the caller's promise; the second block ends where the bytes do.
    unsafe {
        from.copy_to_nonoverlapping(to, N);
        if OVERLAP {
            from.add(bytes - N).copy_to_nonoverlapping(to.add(bytes - N), N);
        }
    }
}

/// Copies rows of `N` bytes, or of `N` to `2 * N` bytes where `OVERLAP`.
///
/// # Safety
/// That of [`Kernel::run`](crate::memory::tile::Kernel::run).
#[allow(unsafe_code)]
unsafe fn blocks<const N: usize, const OVERLAP: bool, const GATHER: bool>(tile: &Tile<'_>) {
    // `N` was chosen for whole rows: a part of a row would need another kernel.
    let bytes = tile.inner.len * tile.size;
    assert!(if OVERLAP { (N..=2 * N).contains(&bytes) } else { bytes == N });
    // SAFETY: the caller's promise, for each row.
    let copy = |selected: *mut u8, listed: *mut u8| unsafe {
        let (from, to) = from_to::<GATHER, _>(selected, listed);
        block::<N, OVERLAP>(from, to, bytes);
    };
    if N >= 16 && tile.spread {
        let ahead = |row: *mut u8| cpu::prefetch(row, bytes);
        tile.each_row_ahead(prefetch_distance(N), ahead, |selected, listed| {
            tile.prefetch_list(listed, bytes);
            copy(selected, listed);
        });
    } else {
        tile.each(Action::of_copy::<GATHER>(), copy);
    }
}

/// Copies longer rows.
///
/// # Safety
/// That of [`Kernel::run`](crate::memory::tile::Kernel::run).
#[allow(unsafe_code)]
unsafe fn long<const GATHER: bool>(tile: &Tile<'_>) {
    // SAFETY: the caller's promise.
    cpu::widely(|| unsafe { long_rows::<GATHER>(tile) });
}

/// Of rows of more bytes only the first cache lines are prefetched: a whole row would evict lines
/// that are in use.
const PREFETCHED_ROW_MAX: usize = threshold(10 << 10, 400);

/// Whether rows of `bytes` bytes are copied by `memcpy`, and not in blocks of 64 bytes ([`is_in_blocks`]
/// knows exceptions). `spread` is that of a [`Tile`].
///
/// `memcpy` writes long rows without reading the overwritten lines: 42 rows of 150 KB in each of two
/// slices take 217 µs in blocks and 188 by `memcpy`, on two threads 143 and 88. Rows that follow each
/// other in memory, as those of rolls, are as fast in blocks as long as they are short.
#[inline(always)]
pub(in crate::memory) fn are_large(bytes: usize, spread: bool) -> bool {
    const LARGE: usize = threshold(64 << 10, 1 << 10);
    bytes > if spread { PREFETCHED_ROW_MAX } else { LARGE }
}

/// Whether a long row is copied in blocks of 64 bytes, and not by `memcpy`.
///
/// Pieces that are shorter than a block occur where threads share a row. `memcpy` may be `rep movsb`,
/// which is slower by far where `to` is a few bytes after `from` modulo a page ([`copy`]).
#[inline(always)]
fn is_in_blocks(from: *const u8, to: *const u8, bytes: usize, spread: bool) -> bool {
    let just_after = || (1..64).contains(&(to.addr().wrapping_sub(from.addr()) % 4096));
    bytes >= 64 && (!are_large(bytes, spread) || just_after())
}

/// Copies rows of more than 256 bytes, or parts of rows.
///
/// # Safety
/// That of [`long`].
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn long_rows<const GATHER: bool>(tile: &Tile<'_>) {
    let bytes = tile.inner.len * tile.size;
    let distance = prefetch_distance(bytes);
    // SAFETY: the caller's promise, for each row.
    let copy = |selected: *mut u8, listed: *mut u8| unsafe {
        let (from, to) = from_to::<GATHER, _>(selected, listed);
        if is_in_blocks(from, to, bytes, tile.spread) {
            copy_by_lines(from, to, bytes, |at| tile.prefetch_list(listed.wrapping_add(at), 1));
        } else {
            from.copy_to_nonoverlapping(to, bytes);
        }
    };
    if !tile.spread {
        return tile.each_row(copy);
    }
    if !(64..=PREFETCHED_ROW_MAX).contains(&bytes) || matches!(tile.places, Places::Each(_)) {
        return tile.each_row_ahead(distance, |row| cpu::prefetch(row, bytes), copy);
    }
    // With each cache line that is copied, one of the next row is prefetched: prefetched all at
    // once, the lines would wait for each other.
    let next = Cell::new(tile.selected);
    // SAFETY: the caller's promise, for each row.
    let copy = |selected: *mut u8, listed: *mut u8| unsafe {
        let (from, to) = from_to::<GATHER, _>(selected, listed);
        let next = next.get();
        copy_by_lines(from, to, bytes, |at| {
            cpu::prefetch_line(next.wrapping_add(at));
            tile.prefetch_list(listed.wrapping_add(at), 1);
        });
    };
    tile.each_row_ahead(distance, |row| next.set(row), copy);
}

/// Copies at least 64 bytes in blocks of a cache line, aligned to the lines of the destination:
/// equivalent to `from.copy_to_nonoverlapping(to, bytes)`. `on_line` is called with the offset in
/// bytes of each block but the last.
///
/// # Safety
/// `bytes` is at least 64; as many bytes can be read from `from` and written to `to`, and the two
/// do not overlap.
#[allow(unsafe_code)]
#[inline(always)]
pub(in crate::memory) unsafe fn copy_by_lines(
    from: *const u8,
    to: *mut u8,
    bytes: usize,
    on_line: impl Fn(usize),
) {
    // SAFETY: the caller's promise; each block is within the row, as `bytes >= 64` and, in the
    // loop, `at < bytes - 64`.
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

/// Copies `len` bytes, a row or a part of a row: equivalent to
/// `from.copy_to_nonoverlapping(to, len)`.
///
/// # Safety
/// `len` bytes can be read from `from` and written to `to`, and the two do not overlap.
#[allow(unsafe_code)]
#[inline(always)]
pub(in crate::memory) unsafe fn copy_bytes(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise; the block sizes of each arm fit its range of `len`.
    unsafe {
        match len {
            // Blocks that are aligned to the destination's cache lines take half as long as blocks
            // that straddle lines.
            129.. => copy_by_lines(from, to, len, |_| {}),
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

/// With fewer bytes, `memmove` is as fast as blocks.
const BLOCKS_MIN: usize = threshold(512, 80);

/// Copies bytes between ranges that may overlap: equivalent to `from.copy_to(to, bytes)`.
///
/// Where the ranges do not overlap, many bytes are copied in blocks: `memmove` may be `rep movsb`.
/// Where `to` is a few bytes after `from` modulo a page, that took 1.4 µs for 4 KiB on a processor
/// of 2021, and blocks took 0.1.
///
/// # Safety
/// `bytes` bytes can be read from `from` and written to `to`.
#[allow(unsafe_code)]
#[inline]
pub(in crate::memory) unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise; `copy_disjoint` is called only where the ranges do not overlap,
    // as the condition checks.
    unsafe {
        if bytes < BLOCKS_MIN || from.addr().abs_diff(to.addr()) < bytes {
            from.copy_to(to, bytes);
        } else {
            copy_disjoint(from, to, bytes);
        }
    }
}

/// Copies bytes in blocks: outlined from [`copy`].
///
/// # Safety
/// `bytes` bytes can be read from `from` and written to `to`, and the two do not overlap.
#[allow(unsafe_code)]
#[inline(never)]
unsafe fn copy_disjoint(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    cpu::widely(|| unsafe { copy_bytes(from, to, bytes) });
}

/// Copies long rows of plain elements from the selected to the listed array by non-temporal stores.
///
/// # Safety
/// That of [`Kernel::run`](crate::memory::tile::Kernel::run), and all bytes are initialised.
#[allow(unsafe_code)]
pub(super) unsafe fn streamed(tile: &Tile<'_>) {
    let bytes = tile.inner.len * tile.size;
    let next = Cell::new(tile.selected.cast_const());
    // With each cache line that is copied, one of the next row is prefetched: prefetched all at
    // once, the lines would wait for each other.
    // SAFETY: the caller's promise, for each row.
    let copy = |selected: *mut u8, listed| unsafe {
        let next = next.get();
        cpu::stream(selected, listed, bytes, |at| cpu::prefetch_line_l2(next.wrapping_add(at)));
    };
    tile.each_row_ahead(1, |row| next.set(row.cast_const()), copy);
    cpu::fence();
}
