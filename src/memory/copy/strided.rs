//! Copies rows whose elements do not follow each other in one of the arrays.

use std::mem::MaybeUninit;

use super::repeat;
use crate::memory::cpu::{LINE, Rows, transpose, transposes};
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
        let far = |one: isize, other: isize| one.unsigned_abs() < other.unsigned_abs();
        let entries = place == 1
            && far(tile.apart, tile.inner.selected)
            && transposes(N, tile.apart.unsigned_abs(), true);
        let rows = place != 1
            && every == N as isize
            && transposes(N, tile.inner.selected.unsigned_abs(), false);
        if entries || rows {
            // SAFETY: the caller's promise.
            return unsafe {
                match N {
                    1 => matrix::<1, 16>(tile, every, entries),
                    2 => matrix::<2, 8>(tile, every, entries),
                    4 => matrix::<4, 4>(tile, every, entries),
                    8 => matrix::<8, 2>(tile, every, entries),
                    _ => matrix::<16, 1>(tile, every, entries),
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

/// A matrix that is transposed on its way. Each of its rows are the elements in one place
/// of all `entries`, which lie apart evenly, or else those of one entry.
///
/// # Safety
/// That of [`Kernel::run`](crate::memory::tile::Kernel::run), for plain elements of `N`
/// bytes, of which `M` make 16; entries are `every` bytes apart in the list. If rows are
/// made of `entries`, rows of the list are dense; otherwise its entries are adjacent.
#[allow(unsafe_code)]
#[inline(never)]
unsafe fn matrix<const N: usize, const M: usize>(tile: &Tile<'_>, every: isize, entries: bool) {
    let (inner, offsets) = (tile.inner, tile.offsets);
    let (columns, mut step, mut across) = if entries {
        (offsets.len(), tile.apart, every)
    } else {
        (inner.len, inner.selected, inner.listed)
    };
    // Where each row begins in the source, and the first column in the destination.
    let (mut left, mut top) = (0, 0);
    if step == -(N as isize) {
        // The same columns are dense from their other end.
        (left, top) = [step, across].map(|step| step.wrapping_mul(columns as isize - 1)).into();
        (step, across) = (step.wrapping_neg(), across.wrapping_neg());
    }
    for iteration in 0..tile.outer.len {
        let (selected, listed) = tile.iteration(iteration);
        let from = selected.wrapping_offset(left).cast_const();
        let to = Rows { first: listed.wrapping_offset(top), step: across };
        // SAFETY: the caller's promise.
        unsafe {
            if entries {
                let from = Rows { first: from.wrapping_offset(offsets[0]), step: inner.selected };
                if step == N as isize {
                    transpose::<N, M>(from, to, inner.len, columns);
                } else {
                    let rows = (0..inner.len).map(|k| from.row(k));
                    side_by_side::<N, M>(&rows, (columns, step), to);
                }
            } else {
                let rows = offsets.iter().map(|&offset| from.wrapping_offset(offset));
                side_by_side::<N, M>(&rows, (columns, step), to);
            }
        }
    }
}

/// Transposes rows that lie anywhere, of elements that are `step` bytes apart.
///
/// # Safety
/// That of [`transpose`], for rows that begin at these places.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn side_by_side<const N: usize, const M: usize>(
    rows: &(impl Iterator<Item = *const u8> + Clone),
    (columns, step): (usize, isize),
    to: Rows<*mut u8>,
) {
    // SAFETY: the caller's promise, which `lines` hands on for these elements.
    unsafe {
        match step / N as isize {
            1 => lines::<N, M, LINE>(rows, (columns, step), to, |from, line, count| {
                if count == LINE / N {
                    from.copy_to_nonoverlapping(line, LINE);
                } else {
                    from.copy_to_nonoverlapping(line, count * N);
                }
            }),
            // A step that is a constant, so that the compiler moves several elements at a
            // time.
            2 => lines::<N, M, WIDE>(rows, (columns, step), to, |from, line, count| {
                row::<N>(from.cast(), 2, line.cast(), 1, count);
            }),
            elements => lines::<N, M, WIDE>(rows, (columns, step), to, |from, line, count| {
                row::<N>(from.cast(), elements, line.cast(), 1, count);
            }),
        }
    }
}

/// Bytes of the rows that are put side by side before they are transposed, and of one of
/// them where elements do not follow each other.
const SIDE_BY_SIDE: usize = threshold(16 << 10, 512);
const WIDE: usize = threshold(256, 128);

/// Transposes rows that `put` copies to room for rows of `WIDTH` bytes, as many elements of
/// each at a time as these hold.
///
/// # Safety
/// That of [`transpose`], for rows that begin at these places, once `put` has copied so
/// many elements, which are `step` bytes apart, from one place to another.
#[allow(unsafe_code)]
#[inline(never)]
unsafe fn lines<const N: usize, const M: usize, const WIDTH: usize>(
    rows: &(impl Iterator<Item = *const u8> + Clone),
    (columns, step): (usize, isize),
    to: Rows<*mut u8>,
    put: impl Fn(*const u8, *mut u8, usize),
) {
    let mut room = [MaybeUninit::<u8>::uninit(); SIDE_BY_SIDE];
    let first = room.as_mut_ptr().cast::<u8>();
    let lines = Rows { first: first.cast_const(), step: WIDTH as isize };
    for column in (0..columns).step_by(WIDTH / N) {
        let count = (columns - column).min(WIDTH / N);
        let before = step.wrapping_mul(column as isize);
        let mut to = Rows { first: to.row(column), ..to };
        let mut rows = rows.clone();
        loop {
            let mut held = 0;
            for row in rows.by_ref().take(SIDE_BY_SIDE / WIDTH) {
                put(row.wrapping_offset(before), first.wrapping_add(held * WIDTH), count);
                held += 1;
            }
            if held == 0 {
                break;
            }
            // SAFETY: the caller's promise, for the rows that the room holds.
            unsafe { transpose::<N, M>(lines, to, held, count) };
            to.first = to.first.wrapping_add(held * N);
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
