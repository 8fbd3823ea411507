//! Moves of elements, as bytes, from one place of a row to another.

use std::mem::MaybeUninit;

use crate::memory::copy::rows;

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
        match size {
            1 => move_each::<1>(from, to, count, strides),
            2 => move_each::<2>(from, to, count, strides),
            4 => move_each::<4>(from, to, count, strides),
            8 => move_each::<8>(from, to, count, strides),
            16 => move_each::<16>(from, to, count, strides),
            _ => {
                for k in 0..count as isize {
                    let to = to.wrapping_offset(k.wrapping_mul(strides[1]));
                    from.wrapping_offset(k.wrapping_mul(strides[0]))
                        .copy_to_nonoverlapping(to, size);
                }
            }
        }
    }
}

/// [`move_elements`] for elements of `N` bytes.
///
/// # Safety
/// That of [`move_elements`].
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn move_each<const N: usize>(
    from: *const u8,
    to: *mut u8,
    count: usize,
    strides: [isize; 2],
) {
    for k in 0..count as isize {
        // SAFETY: promised by the caller.
        unsafe {
            let to = to.wrapping_offset(k.wrapping_mul(strides[1]));
            from.wrapping_offset(k.wrapping_mul(strides[0])).copy_to_nonoverlapping(to, N);
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
    let after = |count: isize| row.wrapping_offset(stride.wrapping_mul(count));
    // SAFETY: promised by the caller.
    unsafe {
        if stride == size as isize {
            return row.copy_to(after(by as isize), count * size);
        }
        for k in (0..count as isize).rev() {
            after(k).copy_to_nonoverlapping(after(k + by as isize), size);
        }
    }
}

/// Swaps `count` elements of `size` bytes from `left` on with those from `right` on, each
/// `stride` bytes from one element to the next.
///
/// # Safety
/// All these elements can be read and written, and no two are the same.
#[allow(unsafe_code)]
pub(super) unsafe fn swap(left: *mut u8, right: *mut u8, count: usize, size: usize, stride: isize) {
    let swap = |left: *mut u8, right: *mut u8, bytes: usize| {
        // SAFETY: promised by the caller.
        unsafe {
            std::ptr::swap_nonoverlapping::<MaybeUninit<u8>>(left.cast(), right.cast(), bytes);
        }
    };
    if stride == size as isize {
        return swap(left, right, count * size);
    }
    for k in 0..count as isize {
        let by = stride.wrapping_mul(k);
        swap(left.wrapping_offset(by), right.wrapping_offset(by), size);
    }
}
