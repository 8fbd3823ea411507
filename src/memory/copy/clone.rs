//! Clones elements of types that are more than their bytes.

use std::mem::MaybeUninit;

use super::each_listed;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::memory::cpu::Avx2;
use crate::memory::tile::Tile;

/// How elements of one type are cloned.
#[derive(Debug)]
pub(in crate::memory) struct Clones {
    /// From one array of a tile to the other.
    pub(in crate::memory) tile: unsafe fn(&Tile<'_>),
    /// A value to all listed elements of a tile.
    pub(in crate::memory) value: unsafe fn(&Tile<'_>, *const u8),
    /// Rows that are rolled, where nothing that lies there is dropped.
    pub(in crate::memory) rolled: Option<RollRows>,
}

/// Those that clone from the selected to the listed array where `GATHER`, else
/// back, without dropping what lies there.
pub(super) fn clones<T: Clone, const GATHER: bool>() -> &'static Clones {
    macro_rules! clones {
        ($arrays:literal, $short:literal) => {
            const {
                &Clones {
                    tile: each::<T, $arrays, $short, GATHER>,
                    value: fill::<T>,
                    rolled: Some(rolled::<T, $arrays, $short>),
                }
            }
        };
    }
    if const { size_of::<T>() > 64 } {
        // Arrays of these would be too much for the stack.
        clones!(false, 0)
    } else if const { size_of::<T>() <= 8 } {
        // The compiler makes long loops over these a `memcpy`, if it may.
        clones!(false, 128)
    } else if const { size_of::<T>().is_power_of_two() } {
        clones!(false, 384)
    } else {
        clones!(true, 384)
    }
}

/// Clones by AVX2 where the processor has it and elements fill its vectors.
///
/// # Safety
/// That of [`Kernel::run`](crate::memory::tile::Kernel::run), for elements of
/// type `T`.
#[allow(unsafe_code)]
unsafe fn each<T: Clone, const ARRAYS: bool, const SHORT: usize, const GATHER: bool>(
    tile: &Tile<'_>,
) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if const { matches!(size_of::<T>(), 8 | 16 | 32 | 64) } {
        if let Some(avx2) = Avx2::detect() {
            return avx2.call(
                #[inline(always)]
                // SAFETY: the caller's promise.
                || unsafe { rows::<T, ARRAYS, SHORT, GATHER>(tile) },
            );
        }
    }
    // SAFETY: the caller's promise.
    unsafe { rows::<T, ARRAYS, SHORT, GATHER>(tile) }
}

/// # Safety
/// That of [`each`].
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn rows<T: Clone, const ARRAYS: bool, const SHORT: usize, const GATHER: bool>(
    tile: &Tile<'_>,
) {
    let (inner, size) = (tile.inner, size_of::<T>() as isize);
    let dense = (inner.selected, inner.listed) == (size, size);
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
    tile.each_row(
        #[inline(always)]
        |selected, listed| {
            let (from, to) = ends(selected, listed);
            // SAFETY: the caller's promise, for each row.
            unsafe {
                match dense {
                    true => follow::<T, ARRAYS, SHORT>(from, to, inner.len),
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
        },
    );
}

/// Clones elements that follow each other in both arrays: up to `SHORT` bytes
/// without a call, more as arrays where `ARRAYS`.
///
/// # Safety
/// `len` elements can be read and written, and do not overlap.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn follow<T: Clone, const ARRAYS: bool, const SHORT: usize>(
    from: *const T,
    to: *mut T,
    len: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        if const { SHORT > 0 } && len * size_of::<T>() <= SHORT {
            return short::<T>(from, to, len);
        }
        let from = std::slice::from_raw_parts(from, len);
        let to = std::slice::from_raw_parts_mut(to.cast(), len);
        if const { ARRAYS } { long(from, to) } else { row(from, to) }
    }
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

/// Clones rows of the elements that it was made for, rolled.
pub(in crate::memory) type RollRows = unsafe fn(&RolledRows);

/// Rows of elements that follow each other, to be rolled.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) struct RolledRows {
    pub(in crate::memory) from: *const u8,
    pub(in crate::memory) to: *mut u8,
    pub(in crate::memory) count: usize,
    /// By how many bytes each is apart from the next in the two arrays.
    pub(in crate::memory) steps: [isize; 2],
    /// How many elements move on, and how many come round.
    pub(in crate::memory) runs: [usize; 2],
}

impl RolledRows {
    /// Calls `visit` with where each row begins in the two arrays.
    #[inline(always)]
    fn each<T>(&self, visit: impl Fn(*const T, *mut T)) {
        for k in 0..self.count as isize {
            let [from, to] = self.steps.map(|step| step.wrapping_mul(k));
            visit(self.from.wrapping_offset(from).cast(), self.to.wrapping_offset(to).cast());
        }
    }
}

/// Clones rows, rolled: both runs of each before the next.
///
/// # Safety
/// They are of elements of type `T` that can be read and written, and do not
/// overlap.
#[allow(unsafe_code)]
unsafe fn rolled<T: Clone, const ARRAYS: bool, const SHORT: usize>(rows: &RolledRows) {
    // SAFETY: the caller's promise.
    unsafe {
        match rows.runs {
            [2, 1] if const { SHORT > 0 } => three::<T, 2, 1>(rows),
            [1, 2] if const { SHORT > 0 } => three::<T, 1, 2>(rows),
            [on, round] => rows.each::<T>(|from, to| {
                follow::<T, ARRAYS, SHORT>(from.add(on), to, round);
                follow::<T, ARRAYS, SHORT>(from, to.add(round), on);
            }),
        }
    }
}

/// The same for rows of three elements.
///
/// # Safety
/// That of [`rolled`], for runs of these lengths.
#[allow(unsafe_code)]
unsafe fn three<T: Clone, const ON: usize, const ROUND: usize>(rows: &RolledRows) {
    rows.each::<T>(|from, to| {
        // SAFETY: the caller's promise, for each row.
        unsafe {
            to.cast::<[T; ROUND]>().write((*from.add(ON).cast::<[T; ROUND]>()).clone());
            to.add(ROUND).cast::<[T; ON]>().write((*from.cast::<[T; ON]>()).clone());
        }
    });
}

/// Clones a value to all listed elements of a tile.
///
/// # Safety
/// They can be written, and `value` is a `T`.
#[allow(unsafe_code)]
unsafe fn fill<T: Clone>(tile: &Tile<'_>, value: *const u8) {
    // SAFETY: the caller's promise.
    let value = unsafe { &*value.cast::<T>() };
    // SAFETY: likewise.
    each_listed(tile, |place| unsafe { place.cast::<T>().write(value.clone()) });
}
