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
        if strides == [1, 1] {
            let from = slice::from_raw_parts(from, len);
            let to = slice::from_raw_parts_mut(to.cast::<MaybeUninit<X::Out>>(), len);
            copy_slice::<T, X>(from, to);
        } else {
            for i in 0..len as isize {
                let element = &*from.offset(i * strides[0]);
                to.offset(i * strides[1]).write(X::take(element));
            }
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
