//! Copies rows whose elements are not contiguous in one of the arrays.

use std::mem::MaybeUninit;

use super::{from_to, interleave, repeat};
use crate::memory::cpu::{LINE, Rows, transpose, transposes, widely};
use crate::memory::indices::elements::Action;
use crate::memory::tile::{Places, Tile};
use crate::memory::walk::lines_in_l1;
use crate::threshold::threshold;

/// The kernel for elements of `size` bytes: from the selected to the listed array where `GATHER`,
/// else from the listed to the selected array.
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

/// Copies elements of `N` bytes, by transposing blocks where that pays.
///
/// # Safety
/// That of [`Kernel::run`](crate::memory::tile::Kernel::run).
#[allow(unsafe_code)]
unsafe fn elements<const N: usize, const GATHER: bool>(tile: &Tile<'_>) {
    if interleave::applies(tile, N) {
        // SAFETY: the caller's promise.
        return unsafe { interleave::rows::<N, GATHER>(tile) };
    }
    if let (true, Places::Every(every)) = (GATHER, tile.places) {
        if let Some(by_entry) = matrix_by_entry(tile, N, every) {
            // SAFETY: the caller's promise.
            return unsafe {
                match N {
                    1 => transpose_tile::<1, 16>(tile, every, by_entry),
                    2 => transpose_tile::<2, 8>(tile, every, by_entry),
                    4 => transpose_tile::<4, 4>(tile, every, by_entry),
                    8 => transpose_tile::<8, 2>(tile, every, by_entry),
                    _ => transpose_tile::<16, 1>(tile, every, by_entry),
                }
            };
        }
    }
    // SAFETY: the caller's promise, for each of the tiles.
    tile.with_long_rows(&|tile| unsafe { rows::<N, GATHER>(tile) });
}

/// Whether the matrix of a gather's tile, which lies transposed in the list, has entries as its columns
/// (`by_entry` in [`transpose_tile`]). `None` if it takes less time to copy row by row.
fn matrix_by_entry(tile: &Tile<'_>, size: usize, every: isize) -> Option<bool> {
    let (inner, offset_step) = (tile.inner, tile.offset_step().unwrap_or(0));
    let is_shorter = |one: isize, other: isize| one.unsigned_abs() < other.unsigned_abs();
    let by_entry = inner.listed == size as isize
        && is_shorter(offset_step, inner.selected)
        && transposes(size, offset_step.unsigned_abs(), true);
    let by_inner = inner.listed != size as isize
        && every == size as isize
        && transposes(size, inner.selected.unsigned_abs(), false);
    let (step, apart) =
        if by_entry { (offset_step, inner.selected) } else { (inner.selected, inner.listed) };
    let wide =
        tile.offsets.len().min(inner.len) >= least_side(size, step, stay_in_l1(inner.len, apart));
    let pays = wide && !tile.has_short_rows();
    ((by_entry || by_inner) && pays).then_some(by_entry)
}

/// Whether the cache lines of a row of elements that are `step` bytes apart are still in L1 when the
/// next rows use them.
fn stay_in_l1(len: usize, step: isize) -> bool {
    len <= lines_in_l1(step.unsigned_abs()) / 2 || step.unsigned_abs() < LINE
}

/// The least number of rows and of columns of a matrix that is transposed in blocks, for elements
/// of `size` bytes with `step` bytes from one to the next: narrower ones take less time row by row,
/// above all if the lines of elements that lie apart `stay` in L1.
fn least_side(size: usize, step: isize, stay: bool) -> usize {
    match (size, step.unsigned_abs() == size) {
        (1 | 2 | 4 | 8, true) if stay => 6,
        (8.., _) => 0,
        (_, true) => 3,
        // Elements would be collected in the buffer two or three at a time.
        (_, false) => 8,
    }
}

/// The most elements of a row, and the fewest entries of a tile, with which elements are copied one by one.
/// Rows of 8 take as long one way as the other; of 2 that are written 1.2 times as long so.
const SHORT: usize = threshold(7, 5);
pub(super) const ENTRIES: usize = threshold(16, 3);
/// Entries, of all iterations, whose cache lines stay in L1, and the fewest of one of several iterations.
const BLOCK: usize = threshold(256, 5);
const LEAST: usize = threshold(4, 2);

/// Copies elements of `N` bytes, row by row.
///
/// # Safety
/// That of [`Kernel::run`](crate::memory::tile::Kernel::run).
#[allow(unsafe_code)]
unsafe fn rows<const N: usize, const GATHER: bool>(tile: &Tile<'_>) {
    let len = tile.inner.len;
    let each = |tile: &Tile<'_>| {
        tile.each(Action::of_copy::<GATHER>(), |selected, listed| {
            let (from, to) = from_to::<GATHER, _>(selected, listed);
            // SAFETY: the caller's promise, for each element.
            unsafe { from.cast_const().copy_to_nonoverlapping(to, N) };
        });
    };
    if len == 1 {
        return each(tile);
    }
    let short = if GATHER { 2 } else { 4 }..=SHORT;
    let (entries, iterations) = (tile.offsets.len(), tile.outer.len);
    // Of several iterations, only few entries: lines of many would not stay in L1.
    let few = iterations == 1 || entries.saturating_mul(iterations) <= BLOCK && entries >= LEAST;
    if short.contains(&len) && few && entries * iterations >= ENTRIES {
        return tile.element_by_element(&each);
    }
    // In elements: steps are multiples of an element's size.
    let steps = [tile.inner.selected, tile.inner.listed].map(|step| step / N as isize);
    let (from_step, to_step) = from_to::<GATHER, _>(steps[0], steps[1]);
    let packing = packing(from_step, len);
    tile.each_row(|selected, listed| {
        let (from, to) = from_to::<GATHER, _>(selected, listed);
        // SAFETY: the caller's promise, for each row.
        unsafe { copy_row_by::<N>(packing, (from.cast_const(), from_step), (to, to_step), len) };
    });
}

/// Copies a row of `len` elements, by `packing` where the destination is contiguous: each array is where its
/// first element is, and the number of elements from one element to the next.
///
/// # Safety
/// `packing` is that of the source. `len` elements of `N` bytes can be read at these places of `from`, and written
/// at those of `to`, and the two do not overlap.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn copy_row_by<const N: usize>(
    packing: Option<Packing<N>>,
    (from, from_step): (*const u8, isize),
    (to, to_step): (*mut u8, isize),
    len: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        if to_step == 1 {
            pack_row::<N>(packing, from.cast(), from_step, to.cast(), len);
        } else {
            copy_row_of_any_steps::<N>(from.cast(), from_step, to.cast(), to_step, len);
        }
    }
}

/// Copies a row of `len` elements of `size` bytes: each array is where its first element is, and the distance
/// in bytes from one element to the next.
///
/// # Safety
/// The distances are multiples of `size`; `len` elements can be read at these places of `from`, and
/// written at those of `to`, and the two do not overlap.
#[allow(unsafe_code)]
pub(in crate::memory) unsafe fn copy_strided(
    size: usize,
    from: (*const u8, isize),
    to: (*mut u8, isize),
    len: usize,
) {
    macro_rules! of_size {
        ($($size:literal)*) => {
            match size {
                $($size => {
                    let [from_step, to_step] = [from.1, to.1].map(|step| step / $size);
                    let packing = packing::<$size>(from_step, len);
                    // SAFETY: the caller's promise.
                    unsafe { copy_row_by(packing, (from.0, from_step), (to.0, to_step), len) }
                })*
                _ => unreachable!("{}", super::PLAIN),
            }
        };
    }
    of_size!(1 2 4 8 16);
}

/// Copies elements that are a constant number of elements apart to contiguous ones: `(from, to, len)`.
type Packing<const N: usize> =
    unsafe fn(*const MaybeUninit<[u8; N]>, *mut MaybeUninit<[u8; N]>, usize);

/// The loop that packs rows of `len` elements which are `step` elements apart, if compilers vectorise it:
/// they load all of a vector and shuffle it.
pub(super) fn packing<const N: usize>(step: isize, len: usize) -> Option<Packing<N>> {
    // Shorter rows do not fill vectors.
    let long = if N <= 2 { threshold(17, 3) } else { threshold(64, 4) };
    match step {
        _ if N > 8 || len < long => None,
        -1 => Some(pack::<N, -1>),
        2 => Some(pack::<N, 2>),
        3 => Some(pack::<N, 3>),
        4 => Some(pack::<N, 4>),
        _ => None,
    }
}

/// Copies `len` elements, which are `step` elements apart, to contiguous ones: by `packing`, if that is
/// the loop for them.
///
/// # Safety
/// That of [`copy_row`]; `packing` is what [`packing`] has returned for this step.
#[allow(unsafe_code)]
#[inline(always)]
pub(super) unsafe fn pack_row<const N: usize>(
    packing: Option<Packing<N>>,
    from: *const MaybeUninit<[u8; N]>,
    step: isize,
    to: *mut MaybeUninit<[u8; N]>,
    len: usize,
) {
    // Common steps are passed as constants, so that the compiler vectorises their loops.
    // SAFETY: the caller's promise.
    unsafe {
        match (packing, step) {
            (Some(pack), _) => pack(from, to, len),
            (None, -1) => copy_row::<N>(from, -1, to, len),
            (None, 0) => repeat(from.cast::<[u8; N]>().read(), to.cast(), len),
            (None, 2) => copy_row::<N>(from, 2, to, len),
            _ => copy_row_of_any_steps::<N>(from, step, to, 1, len),
        }
    }
}

/// [`copy_row`] from elements with a constant step to contiguous ones.
///
/// # Safety
/// That of [`copy_row`].
#[allow(unsafe_code)]
unsafe fn pack<const N: usize, const STEP: isize>(
    from: *const MaybeUninit<[u8; N]>,
    to: *mut MaybeUninit<[u8; N]>,
    len: usize,
) {
    // SAFETY: the caller's promise.
    widely(|| unsafe { copy_row::<N>(from, STEP, to, len) });
}

/// Copies a tile by transposing a matrix in each iteration of the outer loop. A row of the matrix
/// holds, if `by_entry`, one element of each entry (the entries are evenly spaced), and otherwise
/// the elements of one entry.
///
/// # Safety
/// That of [`Kernel::run`](crate::memory::tile::Kernel::run), for plain elements of `N` bytes, with
/// `N * M == 16`. In the list, the distance from one entry to the next is `every` bytes. If
/// `by_entry`, the elements of an entry are contiguous in the list; otherwise its entries are
/// adjacent.
#[allow(unsafe_code)]
#[inline(never)]
unsafe fn transpose_tile<const N: usize, const M: usize>(
    tile: &Tile<'_>,
    every: isize,
    by_entry: bool,
) {
    let (inner, offsets) = (tile.inner, tile.offsets);
    let (columns, mut step, mut to_step) = if by_entry {
        (offsets.len(), tile.offset_step().unwrap_or(0), every)
    } else {
        (inner.len, inner.selected, inner.listed)
    };
    // Offsets in bytes of the first column: in each row of the source, and in the destination.
    let (mut from_start, mut to_start) = (0, 0);
    if step == -(N as isize) {
        // In the reverse order, the elements of a row are contiguous.
        (from_start, to_start) =
            [step, to_step].map(|step| step.wrapping_mul(columns as isize - 1)).into();
        (step, to_step) = (step.wrapping_neg(), to_step.wrapping_neg());
    }
    for iteration in 0..tile.outer.len {
        let (selected, listed) = tile.iteration(iteration);
        let from = selected.wrapping_offset(from_start);
        let to = Rows { first: listed.wrapping_offset(to_start), step: to_step };
        // SAFETY: the caller's promise.
        unsafe {
            if by_entry {
                let from = Rows { first: from.wrapping_offset(offsets[0]), step: inner.selected };
                if step == N as isize {
                    transpose::<N, M>(from, to, inner.len, columns);
                } else {
                    let rows = (0..inner.len).map(|k| from.row(k).cast_const());
                    transpose_rows::<N, M>(&rows, (columns, step), to);
                }
            } else {
                let from = from.cast_const();
                let rows = offsets.iter().map(|&offset| from.wrapping_offset(offset));
                transpose_rows::<N, M>(&rows, (columns, step), to);
            }
        }
    }
}

/// Transposes rows at any addresses, `step` bytes from one element to the next.
///
/// # Safety
/// That of [`transpose`], for rows that begin at these addresses.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn transpose_rows<const N: usize, const M: usize>(
    rows: &(impl Iterator<Item = *const u8> + Clone),
    (columns, step): (usize, isize),
    to: Rows,
) {
    // SAFETY: the caller's promise is what `in_bands` requires; each closure copies `count`
    // elements that are `step` bytes apart.
    unsafe {
        match step / N as isize {
            1 => in_bands::<N, M, LINE>(rows, (columns, step), to, |from, line, count| {
                if count == LINE / N {
                    from.copy_to_nonoverlapping(line, LINE);
                } else {
                    from.copy_to_nonoverlapping(line, count * N);
                }
            }),
            apart => in_bands::<N, M, BAND>(rows, (columns, step), to, |from, line, count| {
                pack_row::<N>(packing(apart, count), from.cast(), apart, line.cast(), count);
            }),
        }
    }
}

/// Size in bytes of the buffer in which rows are collected before they are transposed.
const BUFFER: usize = threshold(16 << 10, 512);
/// Number of bytes of a row in that buffer where its elements are not contiguous in the source.
const BAND: usize = threshold(256, 128);

/// Transposes rows in bands of columns: `copy(from, to, count)` copies `count` elements of each row
/// to a buffer whose rows have `WIDTH` bytes, and the buffer is transposed.
///
/// # Safety
/// That of [`transpose`], for rows that begin at these addresses, `step` bytes from one element to
/// the next, once `copy` has copied them.
#[allow(unsafe_code)]
#[inline(never)]
unsafe fn in_bands<const N: usize, const M: usize, const WIDTH: usize>(
    rows: &(impl Iterator<Item = *const u8> + Clone),
    (columns, step): (usize, isize),
    to: Rows,
    copy: impl Fn(*const u8, *mut u8, usize),
) {
    let mut buffer = [MaybeUninit::<u8>::uninit(); BUFFER];
    let first = buffer.as_mut_ptr().cast::<u8>();
    let staged = Rows { first, step: WIDTH as isize };
    for column in (0..columns).step_by(WIDTH / N) {
        let count = (columns - column).min(WIDTH / N);
        let before = step.wrapping_mul(column as isize);
        let mut to = Rows { first: to.row(column), ..to };
        let mut rows = rows.clone();
        loop {
            let mut held = 0;
            for row in rows.by_ref().take(BUFFER / WIDTH) {
                copy(row.wrapping_offset(before), first.wrapping_add(held * WIDTH), count);
                held += 1;
            }
            if held == 0 {
                break;
            }
            // SAFETY: the caller's promise, for the rows that `copy` has written to the buffer.
            unsafe { transpose::<N, M>(staged, to, held, count) };
            to.first = to.first.wrapping_add(held * N);
        }
    }
}

/// Copies `len` elements to contiguous ones: `to[k] = from[k * step]`, with a step in elements.
///
/// # Safety
/// `len` elements of `N` bytes, with this step, can be read from `from`, and `len` contiguous ones
/// written to `to`, and the two do not overlap.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn copy_row<const N: usize>(
    from: *const MaybeUninit<[u8; N]>,
    step: isize,
    to: *mut MaybeUninit<[u8; N]>,
    len: usize,
) {
    for k in 0..len as isize {
        // SAFETY: the caller's promise.
        unsafe { to.offset(k).write(from.offset(k * step).read()) };
    }
}

/// The same for steps of both that are not constants, unrolled: `to[k * to_step] = from[k * from_step]`.
/// It is not inlined, so that the code does not depend on what is around it.
///
/// # Safety
/// `len` elements of `N` bytes, with these steps in elements, can be read from `from` and written
/// to `to`, and the two do not overlap.
#[allow(unsafe_code)]
#[inline(never)]
unsafe fn copy_row_of_any_steps<const N: usize>(
    from: *const MaybeUninit<[u8; N]>,
    from_step: isize,
    to: *mut MaybeUninit<[u8; N]>,
    to_step: isize,
    len: usize,
) {
    /// Number of elements that the compiler unrolls. With 8, it computes each address anew.
    const UNROLLED: usize = 4;
    let copy = |first: usize, count: usize| {
        for k in first as isize..(first + count) as isize {
            // SAFETY: the caller's promise.
            unsafe { to.offset(k * to_step).write(from.offset(k * from_step).read()) };
        }
    };
    let rest = len % UNROLLED;
    (0..len - rest).step_by(UNROLLED).for_each(|first| copy(first, UNROLLED));
    copy(len - rest, rest);
}

/// Stores the address of each selected element in the listed one.
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
