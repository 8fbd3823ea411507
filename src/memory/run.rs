//! Copies runs of elements: the inner loop of every operation.

use std::mem::MaybeUninit;
use std::slice;

use super::take::Take;

/// Copies `len` elements, with strides for source and destination.
///
/// # Safety
/// All elements of the source are readable for `'a`, all of the destination
/// writable, and the two do not overlap.
#[allow(unsafe_code)]
#[inline]
pub(super) unsafe fn copy_run<'a, T: 'a, X: Take<'a, T>>(
    from: *const T,
    to: *mut X::Out,
    len: usize,
    strides: [isize; 2],
) {
    // SAFETY: the caller's promise.
    unsafe {
        match strides {
            [1, 1] => copy_contiguous::<T, X>(from, to, len),
            [-1, 1] => copy_strided::<T, X>(from, to, len, [-1, 1]),
            [2, 1] => copy_strided::<T, X>(from, to, len, [2, 1]),
            strides => copy_strided::<T, X>(from, to, len, strides),
        }
    }
}

/// Copies elements with strides; where these are constants, several at a time.
///
/// # Safety
/// That of [`copy_run`].
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn copy_strided<'a, T: 'a, X: Take<'a, T>>(
    from: *const T,
    to: *mut X::Out,
    len: usize,
    strides: [isize; 2],
) {
    for i in 0..len as isize {
        // SAFETY: the caller's promise.
        unsafe {
            let element = &*from.offset(i * strides[0]);
            to.offset(i * strides[1]).write(X::take(element));
        }
    }
}

/// Copies elements that follow each other.
///
/// # Safety
/// That of [`copy_run`].
#[allow(unsafe_code)]
#[inline(always)]
pub(super) unsafe fn copy_contiguous<'a, T: 'a, X: Take<'a, T>>(
    from: *const T,
    to: *mut X::Out,
    len: usize,
) {
    // A few elements cost less than the call of a copy routine does.
    // SAFETY: the caller's promise.
    unsafe {
        match len {
            0 => {}
            1 => copy_block::<T, X, 1, false>(from, to, len),
            2..=3 => copy_block::<T, X, 2, true>(from, to, len),
            4..=7 => copy_block::<T, X, 4, true>(from, to, len),
            8..=16 => copy_block::<T, X, 8, true>(from, to, len),
            _ => {
                let from = slice::from_raw_parts(from, len);
                let to = slice::from_raw_parts_mut(to.cast::<MaybeUninit<X::Out>>(), len);
                copy_slice::<T, X>(from, to);
            }
        }
    }
}

/// Copies `N` elements, or where `OVERLAP` any number from `N` to `2 * N` as
/// two blocks that share elements, which spares a loop.
///
/// # Safety
/// That of [`copy_run`].
#[allow(unsafe_code)]
#[inline(always)]
pub(super) unsafe fn copy_block<'a, T: 'a, X: Take<'a, T>, const N: usize, const OVERLAP: bool>(
    from: *const T,
    to: *mut X::Out,
    len: usize,
) {
    // SAFETY: the caller's promise. All of a block are taken before the first
    // is written, so that the compiler may use wide loads and stores.
    unsafe {
        let taken: [X::Out; N] = std::array::from_fn(|i| X::take(&*from.add(i)));
        to.cast::<[X::Out; N]>().write(taken);
        if OVERLAP {
            let (from, to) = (from.add(len - N), to.add(len - N));
            let taken: [X::Out; N] = std::array::from_fn(|i| X::take(&*from.add(i)));
            to.cast::<[X::Out; N]>().write(taken);
        }
    }
}

/// Copies `rows` rows of `len` elements each. Strides of source and destination
/// from row to row, and within a row.
///
/// # Safety
/// That of [`copy_run`], for each row.
#[allow(unsafe_code)]
#[inline]
pub(super) unsafe fn copy_grid<'a, T: 'a, X: Take<'a, T>>(
    from: *const T,
    to: *mut X::Out,
    rows: usize,
    row_strides: [isize; 2],
    len: usize,
    strides: [isize; 2],
) {
    // SAFETY: the caller's promise.
    unsafe {
        match (strides, len) {
            (_, 0) => {}
            ([1, 1], 1) => copy_blocks::<T, X, 1, false>(from, to, rows, row_strides, len),
            ([1, 1], 2) => copy_blocks::<T, X, 2, false>(from, to, rows, row_strides, len),
            ([1, 1], 3) => copy_blocks::<T, X, 2, true>(from, to, rows, row_strides, len),
            ([1, 1], 4..=8) => copy_blocks::<T, X, 4, true>(from, to, rows, row_strides, len),
            ([1, 1], 9..=16) => copy_blocks::<T, X, 8, true>(from, to, rows, row_strides, len),
            ([1, 1], 17..=32) => copy_blocks::<T, X, 16, true>(from, to, rows, row_strides, len),
            ([1, 1], 33..=64) if size_of::<T>() < 4 => {
                copy_blocks::<T, X, 32, true>(from, to, rows, row_strides, len);
            }
            ([1, 1], _) if len <= MEDIUM / size_of::<T>().max(1) => match size_of::<T>() {
                1 => copy_medium::<T, X, 64>(from, to, rows, row_strides, len),
                2 => copy_medium::<T, X, 32>(from, to, rows, row_strides, len),
                _ => copy_medium::<T, X, 16>(from, to, rows, row_strides, len),
            },
            _ => {
                for row in 0..rows as isize {
                    let (from, to) =
                        (from.offset(row * row_strides[0]), to.offset(row * row_strides[1]));
                    copy_run::<T, X>(from, to, len, strides);
                }
            }
        }
    }
}

/// Copies rows of contiguous elements, each as one or two blocks of `N`.
///
/// # Safety
/// That of [`copy_grid`].
#[allow(unsafe_code)]
#[inline(never)]
unsafe fn copy_blocks<'a, T: 'a, X: Take<'a, T>, const N: usize, const OVERLAP: bool>(
    from: *const T,
    to: *mut X::Out,
    rows: usize,
    row_strides: [isize; 2],
    len: usize,
) {
    for row in 0..rows as isize {
        // SAFETY: the caller's promise.
        unsafe {
            let (from, to) = (from.offset(row * row_strides[0]), to.offset(row * row_strides[1]));
            copy_block::<T, X, N, OVERLAP>(from, to, len);
        }
    }
}

/// Rows of up to this many bytes are copied block by block: a copy routine that
/// is called for each does not know that the next row follows.
const MEDIUM: usize = 32 << 10;

/// Copies rows of contiguous elements, each block by block.
///
/// # Safety
/// That of [`copy_grid`]; there are at least `N` elements in a row.
#[allow(unsafe_code)]
#[inline(never)]
unsafe fn copy_medium<'a, T: 'a, X: Take<'a, T>, const N: usize>(
    from: *const T,
    to: *mut X::Out,
    rows: usize,
    row_strides: [isize; 2],
    len: usize,
) {
    for row in 0..rows as isize {
        // SAFETY: the caller's promise; each block lies in the row.
        unsafe {
            let (from, to) = (from.offset(row * row_strides[0]), to.offset(row * row_strides[1]));
            for block in 0..len / N {
                copy_block::<T, X, N, false>(from.add(block * N), to.add(block * N), N);
            }
            copy_block::<T, X, N, false>(from.add(len - N), to.add(len - N), N);
        }
    }
}

/// Copies a slice. Not inlined: as arguments of a function the slices are
/// known not to overlap, and the loop becomes a `memcpy` where a clone is a
/// copy of bits.
#[inline(never)]
fn copy_slice<'a, T: 'a, X: Take<'a, T>>(from: &'a [T], to: &mut [MaybeUninit<X::Out>]) {
    for (slot, element) in to.iter_mut().zip(from) {
        slot.write(X::take(element));
    }
}

/// Moves `len` elements within an array, with one stride for both ends.
///
/// # Safety
/// All elements of both ends lie in the array. The source's elements count as
/// moved out of; the destination's old bits are overwritten, not dropped.
/// Unless the stride is 1 the two ends do not overlap.
#[allow(unsafe_code)]
#[inline]
pub(super) unsafe fn move_run<T>(from: *const T, to: *mut T, len: usize, strides: [isize; 2]) {
    // SAFETY: the caller's promise.
    unsafe {
        if strides == [1, 1] {
            std::ptr::copy(from, to, len);
        } else {
            for i in 0..len as isize {
                let (from, to) = (from.offset(i * strides[0]), to.offset(i * strides[1]));
                std::ptr::copy_nonoverlapping(from, to, 1);
            }
        }
    }
}
