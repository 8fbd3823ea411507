//! Clones elements of types that are more than their bytes.

use std::mem::MaybeUninit;

use super::each_listed;
use crate::memory::tile::Tile;

/// Clones what a tile selects to its places in the list, without dropping what
/// lies there.
///
/// # Safety
/// That of [`Kernel::run`](crate::memory::tile::Kernel::run), for elements of
/// type `T`.
#[allow(unsafe_code)]
pub(super) unsafe fn each<T: Clone>(tile: &Tile<'_>) {
    let (inner, size) = (tile.inner, size_of::<T>() as isize);
    let dense = (inner.selected, inner.listed) == (size, size);
    tile.each_row(|selected, listed| {
        let (from, to) = (selected.cast::<T>().cast_const(), listed.cast::<T>());
        // SAFETY: the caller's promise, for each row.
        unsafe {
            match inner.len {
                1 => to.write((*from).clone()),
                len if dense => {
                    let from = std::slice::from_raw_parts(from, len);
                    let to = std::slice::from_raw_parts_mut(to.cast::<MaybeUninit<T>>(), len);
                    row(from, to);
                }
                len => {
                    for k in 0..len as isize {
                        let from = from.wrapping_byte_offset(k.wrapping_mul(inner.selected));
                        let to = to.wrapping_byte_offset(k.wrapping_mul(inner.listed));
                        to.write((*from).clone());
                    }
                }
            }
        }
    });
}

/// Not inlined: as arguments of a function the slices are known not to
/// overlap, and the loop becomes a `memcpy` where a clone is a copy of bits.
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
