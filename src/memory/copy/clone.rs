//! Clones elements of types that are not plain (`is_plain`) and have no drop glue.

use std::mem::MaybeUninit;

use super::{each_listed, from_to};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::memory::cpu::Avx2;
use crate::memory::indices::elements::Action;
use crate::memory::tile::Tile;

/// The functions that clone elements of one type.
#[derive(Debug)]
pub(in crate::memory) struct Clones {
    /// Clones each element of a tile from one array to the other.
    pub(in crate::memory) tile: unsafe fn(&Tile<'_>),
    /// Clones a value to all listed elements of a tile.
    pub(in crate::memory) value: unsafe fn(&Tile<'_>, *const u8),
    /// Clones rolled rows; `None` where the elements that are overwritten must be dropped.
    pub(in crate::memory) rolled: Option<RollRows>,
}

/// The functions that clone elements of type `T`, from the selected to the listed array where
/// `GATHER`, else from the listed to the selected array. Elements that are overwritten are not
/// dropped.
pub(super) fn clones<T: Clone, const GATHER: bool>() -> &'static Clones {
    macro_rules! clones {
        ($arrays:literal, $short:literal) => {
            const {
                &Clones {
                    tile: clone_tile::<T, $arrays, $short, GATHER>,
                    value: fill::<T>,
                    rolled: Some(clone_rolled::<T, $arrays, $short>),
                }
            }
        };
    }
    if const { size_of::<T>() > 64 } {
        // Arrays of such elements would take too much of the stack.
        clones!(false, 0)
    } else if const { size_of::<T>() <= 8 } {
        // Where `clone` copies bits, the compiler turns long loops over these into `memcpy`.
        clones!(false, 128)
    } else if const { size_of::<T>().is_power_of_two() } {
        clones!(false, 384)
    } else {
        clones!(true, 384)
    }
}

/// Clones a tile, by code that is compiled for AVX2 where the processor has it and elements fill
/// whole vectors.
///
/// # Safety
/// That of [`Kernel::run`](crate::memory::tile::Kernel::run), for elements of type `T`.
#[allow(unsafe_code)]
unsafe fn clone_tile<T: Clone, const ARRAYS: bool, const SHORT: usize, const GATHER: bool>(
    tile: &Tile<'_>,
) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if const { matches!(size_of::<T>(), 8 | 16 | 32 | 64) } {
        if let Some(avx2) = Avx2::detect() {
            return avx2.call(
                #[inline(always)]
                // SAFETY: the caller's promise.
                || unsafe { clone_rows::<T, ARRAYS, SHORT, GATHER>(tile) },
            );
        }
    }
    // SAFETY: the caller's promise.
    unsafe { clone_rows::<T, ARRAYS, SHORT, GATHER>(tile) }
}

/// Clones a tile, row by row.
///
/// # Safety
/// That of [`clone_tile`].
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn clone_rows<T: Clone, const ARRAYS: bool, const SHORT: usize, const GATHER: bool>(
    tile: &Tile<'_>,
) {
    let (inner, size) = (tile.inner, size_of::<T>() as isize);
    let dense = (inner.selected, inner.listed) == (size, size);
    let typed = |selected: *mut u8, listed: *mut u8| {
        let (from, to) = from_to::<GATHER, _>(selected, listed);
        (from.cast::<T>().cast_const(), to.cast::<T>())
    };
    let (from_step, to_step) = from_to::<GATHER, _>(inner.selected, inner.listed);
    if inner.len == 1 {
        return tile.each(Action::of_copy::<GATHER>(), |selected, listed| {
            let (from, to) = typed(selected, listed);
            // SAFETY: the caller's promise, for this element.
            unsafe { to.write((*from).clone()) };
        });
    }
    macro_rules! rows_of {
        ($count:literal) => {
            return tile.each_row(|selected, listed| {
                let (from, to) = typed(selected, listed);
                // SAFETY: the caller's promise, for each row.
                unsafe { to.cast::<[T; $count]>().write((*from.cast::<[T; $count]>()).clone()) }
            })
        };
    }
    // Larger elements would take too much of the stack.
    match inner.len {
        2 if dense && const { size_of::<T>() <= 64 } => rows_of!(2),
        3 if dense && const { size_of::<T>() <= 64 } => rows_of!(3),
        _ if dense => {
            return tile.each_row(
                #[inline(always)]
                |selected, listed| {
                    let (from, to) = typed(selected, listed);
                    // SAFETY: the caller's promise, for each row.
                    unsafe { clone_contiguous::<T, ARRAYS, SHORT>(from, to, inner.len) }
                },
            );
        }
        _ => {}
    }
    tile.each_row(
        #[inline(always)]
        |selected, listed| {
            let (from, to) = typed(selected, listed);
            // SAFETY: the caller's promise, for each row.
            unsafe { clone_strided((from, from_step), (to, to_step), inner.len) }
        },
    );
}

/// Clones `len` elements, which in each array are a number of bytes apart.
///
/// # Safety
/// These elements can be read from `from` and written to `to`, and the two do not overlap.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn clone_strided<T: Clone>(
    (from, from_step): (*const T, isize),
    (to, to_step): (*mut T, isize),
    len: usize,
) {
    let from = |k: isize| from.wrapping_byte_offset(k.wrapping_mul(from_step));
    // SAFETY: the caller's promise, for each element.
    unsafe {
        if to_step == size_of::<T>() as isize {
            // The compiler sees a constant step of the target, and can vectorise the loop.
            for k in 0..len {
                to.add(k).write((*from(k as isize)).clone());
            }
        } else {
            for k in 0..len as isize {
                to.wrapping_byte_offset(k.wrapping_mul(to_step)).write((*from(k)).clone());
            }
        }
    }
}

/// Clones `len` elements that are contiguous in both arrays: up to `SHORT` bytes inline, more by a
/// call, and as arrays where `ARRAYS`.
///
/// # Safety
/// `len` elements can be read from `from` and written to `to`, and the two do not overlap.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn clone_contiguous<T: Clone, const ARRAYS: bool, const SHORT: usize>(
    from: *const T,
    to: *mut T,
    len: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        if const { SHORT > 0 } && len * size_of::<T>() <= SHORT {
            return clone_short::<T>(from, to, len);
        }
        let from = std::slice::from_raw_parts(from, len);
        let to = std::slice::from_raw_parts_mut(to.cast(), len);
        if const { ARRAYS } { clone_long(from, to) } else { clone_row(from, to) }
    }
}

/// Number of elements that are cloned as one array. `clone` of an array whose elements are `Copy`
/// is a copy of its bytes, by whole vectors, which single elements of an odd size do not fill.
const ARRAY_LEN: usize = 8;

/// Clones a short row, as arrays of 8 and 4 elements and then one by one.
///
/// # Safety
/// `len` elements can be read from `from` and written to `to`, and the two do not overlap.
#[allow(unsafe_code)]
// Unoptimised, the arrays would lie in the frames of callers whose elements are too large for any.
#[cfg_attr(debug_assertions, inline(never))]
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn clone_short<T: Clone>(from: *const T, to: *mut T, len: usize) {
    macro_rules! array {
        ($count:expr, $at:expr) => {
            // SAFETY: the caller's promise; at least `count` elements are left from `at` on, as the
            // conditions of the loops below check.
            unsafe {
                let from = &*from.add($at).cast::<[T; $count]>();
                to.add($at).cast::<[T; $count]>().write(from.clone());
            }
        };
    }
    let mut at = 0;
    while len - at >= ARRAY_LEN {
        array!(ARRAY_LEN, at);
        at += ARRAY_LEN;
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

/// Clones a long row of small elements, as arrays as far as they go.
#[inline(never)]
fn clone_long<T: Clone>(from: &[T], to: &mut [MaybeUninit<T>]) {
    let (from, to) = clone_arrays::<T, 64>(from, to);
    let (from, to) = clone_arrays::<T, ARRAY_LEN>(from, to);
    clone_row(from, to);
}

/// Clones all whole arrays of `N` elements, and returns the remaining elements.
#[allow(unsafe_code)]
fn clone_arrays<'f, 't, T: Clone, const N: usize>(
    from: &'f [T],
    to: &'t mut [MaybeUninit<T>],
) -> (&'f [T], &'t mut [MaybeUninit<T>]) {
    let (mut arrays, mut places) = (from.chunks_exact(N), to.chunks_exact_mut(N));
    for (array, place) in (&mut arrays).zip(&mut places) {
        // SAFETY: both chunks have `N` elements (`chunks_exact`), and uninitialised elements may
        // be written.
        unsafe {
            let array = &*array.as_ptr().cast::<[T; N]>();
            place.as_mut_ptr().cast::<[T; N]>().write(array.clone());
        }
    }
    (arrays.remainder(), places.into_remainder())
}

/// Clones a row element by element. Not inlined: as arguments of a function the slices are known
/// not to alias, and the loop becomes a `memcpy` where `clone` copies bits.
#[inline(never)]
fn clone_row<T: Clone>(from: &[T], to: &mut [MaybeUninit<T>]) {
    for (slot, element) in to.iter_mut().zip(from) {
        // SAFETY: the slot is borrowed. (`MaybeUninit::write` has more copies of the element on the stack.)
        #[allow(unsafe_code)]
        unsafe {
            slot.as_mut_ptr().write(element.clone());
        }
    }
}

/// A function that clones rows, rolled, of one element type.
pub(in crate::memory) type RollRows = unsafe fn(&RolledRows);

/// Rows of contiguous elements, to be rolled: the last elements of a source row wrap around to the
/// front of the target row.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) struct RolledRows {
    pub(in crate::memory) from: *const u8,
    pub(in crate::memory) to: *mut u8,
    /// Number of rows.
    pub(in crate::memory) count: usize,
    /// The distance in bytes from one row to the next in the source and in the target.
    pub(in crate::memory) steps: [isize; 2],
    /// Number of elements at the front that shift towards the back, and number at the back that
    /// wrap around to the front.
    pub(in crate::memory) runs: [usize; 2],
}

impl RolledRows {
    /// Calls `visit` with the address of each row in the source and in the target.
    #[inline(always)]
    fn each<T>(&self, visit: impl Fn(*const T, *mut T)) {
        for k in 0..self.count as isize {
            let [from, to] = self.steps.map(|step| step.wrapping_mul(k));
            visit(self.from.wrapping_offset(from).cast(), self.to.wrapping_offset(to).cast());
        }
    }
}

/// Clones rows, rolled: both runs of a row before the next row.
///
/// # Safety
/// The rows are of elements of type `T`; those of the source can be read and those of the target
/// be written, and the two do not overlap.
#[allow(unsafe_code)]
unsafe fn clone_rolled<T: Clone, const ARRAYS: bool, const SHORT: usize>(rows: &RolledRows) {
    // SAFETY: the caller's promise.
    unsafe {
        match rows.runs {
            [2, 1] if const { SHORT > 0 } => clone_three::<T, 2, 1>(rows),
            [1, 2] if const { SHORT > 0 } => clone_three::<T, 1, 2>(rows),
            [shifted, wrapped] => rows.each::<T>(|from, to| {
                clone_contiguous::<T, ARRAYS, SHORT>(from.add(shifted), to, wrapped);
                clone_contiguous::<T, ARRAYS, SHORT>(from, to.add(wrapped), shifted);
            }),
        }
    }
}

/// Does what [`clone_rolled`] does for rows of three elements.
///
/// # Safety
/// That of [`clone_rolled`], for runs of these lengths.
#[allow(unsafe_code)]
unsafe fn clone_three<T: Clone, const SHIFTED: usize, const WRAPPED: usize>(rows: &RolledRows) {
    rows.each::<T>(|from, to| {
        // SAFETY: the caller's promise, for each row.
        unsafe {
            to.cast::<[T; WRAPPED]>().write((*from.add(SHIFTED).cast::<[T; WRAPPED]>()).clone());
            to.add(WRAPPED).cast::<[T; SHIFTED]>().write((*from.cast::<[T; SHIFTED]>()).clone());
        }
    });
}

/// Clones a value to all listed elements of a tile.
///
/// # Safety
/// The listed elements can be written, and `value` points to a `T`.
#[allow(unsafe_code)]
unsafe fn fill<T: Clone>(tile: &Tile<'_>, value: *const u8) {
    // SAFETY: the caller's promise.
    let value = unsafe { &*value.cast::<T>() };
    // SAFETY: likewise.
    each_listed(tile, |element| unsafe { element.cast::<T>().write(value.clone()) });
}
