//! Moves of elements, as bytes, from one place of a row to another.

use std::mem::MaybeUninit;

use crate::memory::copy::rows;

/// Calls a function for elements of `$size` bytes: compiled for this size, or for any (0).
macro_rules! by_size {
    ($size:expr, $function:ident $arguments:tt) => {
        match $size {
            1 => $function::<1> $arguments,
            2 => $function::<2> $arguments,
            3 => $function::<3> $arguments,
            4 => $function::<4> $arguments,
            6 => $function::<6> $arguments,
            8 => $function::<8> $arguments,
            12 => $function::<12> $arguments,
            16 => $function::<16> $arguments,
            24 => $function::<24> $arguments,
            32 => $function::<32> $arguments,
            _ => $function::<0> $arguments,
        }
    };
}

/// Moves `count` elements of `size` bytes: element `k` from `from + k * strides[0]` to
/// `to + k * strides[1]`, in ascending order of `k`.
///
/// # Safety
/// All elements of the source and of the destination can be read and written. The source's count
/// as moved out of; the destination's are overwritten, not dropped. The two do not overlap, or
/// each destination element is before its source element in the order of `k`, or elements are
/// contiguous in both.
#[allow(unsafe_code)]
#[inline]
pub(super) unsafe fn move_elements(
    from: *const u8,
    to: *mut u8,
    count: usize,
    size: usize,
    strides: [isize; 2],
) {
    // SAFETY: promised by the caller.
    unsafe {
        if strides == [size as isize; 2] {
            return rows::copy(from, to, count * size);
        }
        by_size!(size, move_each(from, to, count, size, strides));
    }
}

/// [`move_elements`] for elements of `N` bytes, or of `size` where `N` is 0.
///
/// # Safety
/// That of [`move_elements`]; `N` is `size` or 0.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn move_each<const N: usize>(
    from: *const u8,
    to: *mut u8,
    count: usize,
    size: usize,
    strides: [isize; 2],
) {
    let size = if N == 0 { size } else { N };
    for k in 0..count as isize {
        // SAFETY: promised by the caller.
        unsafe {
            let to = to.wrapping_offset(k.wrapping_mul(strides[1]));
            from.wrapping_offset(k.wrapping_mul(strides[0])).copy_to_nonoverlapping(to, size);
        }
    }
}

/// Moves the first `count` elements of a row up by `by` positions, the last element first.
///
/// # Safety
/// The row has `count + by` elements, which can be read and written. Its last `by` elements have
/// been moved out of.
#[allow(unsafe_code)]
pub(super) unsafe fn move_up(row: *mut u8, count: usize, by: usize, size: usize, stride: isize) {
    if count == 0 {
        return;
    }
    let at = |element: usize| row.wrapping_offset(stride.wrapping_mul(element as isize));
    // SAFETY: promised by the caller. From the last element on, each destination is before its source.
    unsafe {
        if stride == size as isize {
            return row.copy_to(at(by), count * size);
        }
        move_elements(at(count - 1), at(count - 1 + by), count, size, [-stride; 2]);
    }
}

/// Swaps `count` elements of `size` bytes from `left` on with those from `right` on, each
/// `stride` bytes from one element to the next.
///
/// # Safety
/// All these elements can be read and written, and no two are the same.
#[allow(unsafe_code)]
pub(super) unsafe fn swap(left: *mut u8, right: *mut u8, count: usize, size: usize, stride: isize) {
    // SAFETY: promised by the caller.
    unsafe {
        if stride == size as isize {
            return swap_each::<0>(left, right, 1, count * size, 0);
        }
        by_size!(size, swap_each(left, right, count, size, stride));
    }
}

/// [`swap`] for elements of `N` bytes, or of `size` where `N` is 0.
///
/// # Safety
/// That of [`swap`]; `N` is `size` or 0.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn swap_each<const N: usize>(
    left: *mut u8,
    right: *mut u8,
    count: usize,
    size: usize,
    stride: isize,
) {
    let size = if N == 0 { size } else { N };
    for k in 0..count as isize {
        let by = stride.wrapping_mul(k);
        let (left, right) = (left.wrapping_offset(by), right.wrapping_offset(by));
        // SAFETY: promised by the caller.
        unsafe {
            std::ptr::swap_nonoverlapping::<MaybeUninit<u8>>(left.cast(), right.cast(), size);
        }
    }
}
