//! Clones elements of types that are more than their bytes.

use std::mem::MaybeUninit;

use super::each_listed;
use crate::memory::tile::Tile;

/// The kernel that clones from the selected to the listed array where `GATHER`,
/// else back, without dropping what lies there.
pub(super) fn kernel<T: Clone, const GATHER: bool>() -> unsafe fn(&Tile<'_>) {
    if const { size_of::<T>() > 64 } {
        // Arrays of these would be too much for the stack.
        each::<T, false, 0, GATHER>
    } else if const { size_of::<T>() <= 8 || size_of::<T>().is_power_of_two() } {
        // The compiler makes long loops over these a `memcpy`, if it may.
        each::<T, false, 128, GATHER>
    } else {
        each::<T, true, 384, GATHER>
    }
}

/// Rows of up to `SHORT` bytes are cloned without a call for each, longer ones
/// as arrays where `ARRAYS`.
///
/// # Safety
/// That of [`Kernel::run`](crate::memory::tile::Kernel::run), for elements of
/// type `T`.
#[allow(unsafe_code)]
unsafe fn each<T: Clone, const ARRAYS: bool, const SHORT: usize, const GATHER: bool>(
    tile: &Tile<'_>,
) {
    let (inner, size) = (tile.inner, size_of::<T>() as isize);
    let dense = (inner.selected, inner.listed) == (size, size);
    let bytes = inner.len * size_of::<T>();
    let ends = |selected: *mut u8, listed: *mut u8| {
        let (from, to) = if GATHER { (selected, listed) } else { (listed, selected) };
        (from.cast::<T>().cast_const(), to.cast::<T>())
    };
    let steps = [inner.selected, inner.listed];
    let [step, place] = if GATHER { steps } else { [steps[1], steps[0]] };
    if inner.len == 1 {
        return tile.each(|selected, listed| {
            let (from, to) = ends(selected, listed);
            // SAFETY: the caller's promise, for this element.
            unsafe { to.write((*from).clone()) };
        });
    }
    macro_rules! rows_of {
        ($count:literal) => {
            return tile.each_row(|selected, listed| {
                let (from, to) = ends(selected, listed);
                // SAFETY: the caller's promise, for each row.
                unsafe { to.cast::<[T; $count]>().write((*from.cast::<[T; $count]>()).clone()) }
            })
        };
    }
    match inner.len {
        2 if dense => rows_of!(2),
        3 if dense => rows_of!(3),
        _ => {}
    }
    tile.each_row(|selected, listed| {
        let (from, to) = ends(selected, listed);
        // SAFETY: the caller's promise, for each row.
        unsafe {
            if const { SHORT > 0 } && dense && bytes <= SHORT {
                return short::<T>(from, to, inner.len);
            }
            match dense {
                true => {
                    let from = std::slice::from_raw_parts(from, inner.len);
                    let to = std::slice::from_raw_parts_mut(to.cast(), inner.len);
                    if const { ARRAYS } { long(from, to) } else { row(from, to) }
                }
                // Steps that are compared with constants are handed on as these.
                false if place == size => {
                    for k in 0..inner.len {
                        let from = from.wrapping_byte_offset(step.wrapping_mul(k as isize));
                        to.add(k).write((*from).clone());
                    }
                }
                false => {
                    for k in 0..inner.len as isize {
                        let from = from.wrapping_byte_offset(k.wrapping_mul(step));
                        to.wrapping_byte_offset(k.wrapping_mul(place)).write((*from).clone());
                    }
                }
            }
        }
    });
}

/// Elements that are cloned as one array: the standard library copies the bytes
/// of an array whose elements are `Copy`, in vectors that elements of an odd
/// size do not fill.
const AT_ONCE: usize = 8;

/// Clones a short row.
///
/// # Safety
/// `len` elements can be read and written, and do not overlap.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn short<T: Clone>(from: *const T, to: *mut T, len: usize) {
    macro_rules! array {
        ($count:expr, $at:expr) => {
            // SAFETY: the caller's promise; these elements are among them.
            unsafe {
                let from = &*from.add($at).cast::<[T; $count]>();
                to.add($at).cast::<[T; $count]>().write(from.clone());
            }
        };
    }
    let mut at = 0;
    while len - at >= AT_ONCE {
        array!(AT_ONCE, at);
        at += AT_ONCE;
    }
    if len - at >= 4 {
        array!(4, at);
        at += 4;
    }
    while at < len {
        array!(1, at);
        at += 1;
    }
}

/// Clones a long row of small elements.
#[inline(never)]
fn long<T: Clone>(from: &[T], to: &mut [MaybeUninit<T>]) {
    let (from, to) = arrays::<T, 64>(from, to);
    let (from, to) = arrays::<T, AT_ONCE>(from, to);
    row(from, to);
}

/// Clones as many whole arrays as there are, and returns what is left.
#[allow(unsafe_code)]
fn arrays<'f, 't, T: Clone, const N: usize>(
    from: &'f [T],
    to: &'t mut [MaybeUninit<T>],
) -> (&'f [T], &'t mut [MaybeUninit<T>]) {
    let (mut arrays, mut places) = (from.chunks_exact(N), to.chunks_exact_mut(N));
    for (array, place) in (&mut arrays).zip(&mut places) {
        // SAFETY: both are as long as the array, and uninitialised elements may
        // be written.
        unsafe {
            let array = &*array.as_ptr().cast::<[T; N]>();
            place.as_mut_ptr().cast::<[T; N]>().write(array.clone());
        }
    }
    (arrays.remainder(), places.into_remainder())
}

/// Clones a row. Not inlined: as arguments of a function the slices are known
/// not to overlap, and the loop becomes a `memcpy` where a clone is a copy of
/// bits.
#[inline(never)]
fn row<T: Clone>(from: &[T], to: &mut [MaybeUninit<T>]) {
    for (slot, element) in to.iter_mut().zip(from) {
        slot.write(element.clone());
    }
}

/// Clones a value to all listed elements of a tile.
///
/// # Safety
/// They can be written, and `value` is a `T`.
#[allow(unsafe_code)]
pub(super) unsafe fn fill<T: Clone>(tile: &Tile<'_>, value: *const u8) {
    // SAFETY: the caller's promise.
    let value = unsafe { &*value.cast::<T>() };
    // SAFETY: likewise.
    each_listed(tile, |place| unsafe { place.cast::<T>().write(value.clone()) });
}
