//! Applies updates to their targets, entry by entry, in order.

use std::marker::PhantomData;

use crate::memory::cpu;
use crate::memory::tile::{Kernel, Places, Tile};

/// How many rows ahead of the one being combined the next is asked for.
const AHEAD: usize = 8;

/// Combines each update of a tile with the element that its index selects.
///
/// # Safety
/// That of [`Kernel::run`], for a target of type `A` and updates of type `U`,
/// both of which may be copied by their bits.
#[allow(unsafe_code)]
#[inline(always)]
pub(super) unsafe fn apply<A: Copy, U: Copy>(tile: &Tile<'_>, combine: impl Fn(A, U) -> A + Copy) {
    let one = |selected: *mut u8, listed: *mut u8| {
        // SAFETY: the caller's promise, for each element.
        unsafe {
            let target = selected.cast::<A>();
            target.write(combine(target.read(), listed.cast::<U>().read()));
        }
    };
    let (inner, steps) = (tile.inner, [size_of::<A>() as isize, size_of::<U>() as isize]);
    if inner.len == 1 {
        return tile.each(one);
    }
    if [inner.selected, inner.listed] == steps {
        let bytes = inner.len * size_of::<A>();
        // SAFETY: the caller's promise, for each row.
        let row = |selected: *mut u8, listed: *mut u8| unsafe {
            dense(selected.cast::<A>(), listed.cast::<U>(), inner.len, combine);
        };
        // One loop for all: where there is nothing to ask for, no row is ahead.
        let asks = tile.spread || matches!(tile.places, Places::Each(_));
        let distance = if asks { AHEAD } else { tile.offsets.len() };
        let ahead = |row: *mut u8| {
            // A row may begin in one line and end in the next.
            cpu::prefetch_line(row.wrapping_add(bytes - 1));
            cpu::prefetch(row, bytes);
        };
        let rows = || tile.each_row_ahead(distance, ahead, row);
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if let Some(avx2) = cpu::Avx2::detect() {
            return avx2.call(rows);
        }
        return rows();
    }
    elements(tile, one);
}

/// Combines a row of updates with a row of targets, both dense. Blocks are read
/// as a whole before they are written, so that the compiler works on several
/// elements at a time.
///
/// # Safety
/// Both rows have `len` elements, and do not overlap.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn dense<A: Copy, U: Copy>(
    target: *mut A,
    updates: *const U,
    len: usize,
    combine: impl Fn(A, U) -> A + Copy,
) {
    const BLOCK: usize = 16;
    let mut done = 0;
    // SAFETY: the caller's promise; a block lies in the row.
    unsafe {
        while len - done >= BLOCK {
            block::<A, U, BLOCK>(target.add(done), updates.add(done), combine);
            done += BLOCK;
        }
        while len - done >= 4 {
            block::<A, U, 4>(target.add(done), updates.add(done), combine);
            done += 4;
        }
        for k in done..len {
            block::<A, U, 1>(target.add(k), updates.add(k), combine);
        }
    }
}

/// # Safety
/// `N` elements of both can be used, and they do not overlap.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn block<A: Copy, U: Copy, const N: usize>(
    target: *mut A,
    updates: *const U,
    combine: impl Fn(A, U) -> A + Copy,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let held = target.cast::<[A; N]>().read();
        let new = updates.cast::<[U; N]>().read();
        target.cast::<[A; N]>().write(std::array::from_fn(|k| combine(held[k], new[k])));
    }
}

/// Calls `each` with every selected and listed element of a tile, in order.
#[inline(always)]
pub(super) fn elements(tile: &Tile<'_>, each: impl Fn(*mut u8, *mut u8)) {
    let inner = tile.inner;
    tile.each_row(|selected, listed| {
        for k in 0..inner.len as isize {
            let selected = selected.wrapping_offset(k.wrapping_mul(inner.selected));
            each(selected, listed.wrapping_offset(k.wrapping_mul(inner.listed)));
        }
    });
}

/// Writes one value to every selected element of a tile.
///
/// # Safety
/// That of [`Kernel::run`], for a target of type `A`.
#[allow(unsafe_code)]
pub(super) unsafe fn set<A: Copy>(tile: &Tile<'_>, value: A) {
    let (inner, dense) = (tile.inner, tile.inner.selected == size_of::<A>() as isize);
    tile.each_row(|selected, _| {
        let target = selected.cast::<A>();
        for k in 0..inner.len {
            let by = inner.selected.wrapping_mul(k as isize);
            let place =
                if dense { target.wrapping_add(k) } else { target.wrapping_byte_offset(by) };
            // SAFETY: the caller's promise, for each element.
            unsafe { place.write(value) };
        }
    });
}

/// Overwrites selected elements with clones of updates.
///
/// # Safety
/// That of [`Kernel::run`], for a target and updates of type `A`.
#[allow(unsafe_code)]
pub(in crate::memory) unsafe fn assign<A: Clone>(tile: &Tile<'_>) {
    // SAFETY: the caller's promise, for each element.
    elements(tile, |selected, listed| unsafe {
        *selected.cast::<A>() = (*listed.cast::<A>()).clone();
    });
}

/// What is due where indices select nothing: nothing.
///
/// # Safety
/// None is needed.
#[allow(unsafe_code)]
pub(in crate::memory) unsafe fn ignore(_: &Tile<'_>, _: *const u8) {}

/// Combines updates with their targets as a function of the caller's does.
pub(in crate::memory) struct Fold<'f, A, U, F> {
    fold: &'f F,
    types: PhantomData<fn(&mut A, &U)>,
}

impl<'f, A, U, F: Fn(&mut A, &U) + Sync> Fold<'f, A, U, F> {
    pub(in crate::memory) fn new(fold: &'f F) -> Self {
        Fold { fold, types: PhantomData }
    }
}

#[allow(unsafe_code)]
impl<A, U, F: Fn(&mut A, &U) + Sync> Kernel for Fold<'_, A, U, F> {
    unsafe fn run(&self, tile: &Tile<'_>) {
        let fold = self.fold;
        let (inner, steps) = (tile.inner, [size_of::<A>() as isize, size_of::<U>() as isize]);
        if inner.len > 1 && [inner.selected, inner.listed] == steps {
            let bytes = inner.len * size_of::<A>();
            let distance = if tile.spread { AHEAD } else { tile.offsets.len() };
            return tile.each_row_ahead(
                distance,
                |row| cpu::prefetch(row, bytes),
                // SAFETY: the caller's promise, for each row.
                |selected, listed| unsafe {
                    let target = std::slice::from_raw_parts_mut(selected.cast::<A>(), inner.len);
                    let updates = std::slice::from_raw_parts(listed.cast::<U>(), inner.len);
                    row(fold, target, updates);
                },
            );
        }
        // SAFETY: the caller's promise, for each element.
        elements(tile, |selected, listed| unsafe {
            fold(&mut *selected.cast::<A>(), &*listed.cast::<U>());
        });
    }

    unsafe fn nowhere(&self, _: &Tile<'_>) {}
}

/// Not inlined: as arguments of a function the slices are known not to
/// overlap, and the compiler works on several elements at a time.
#[inline(never)]
fn row<A, U>(fold: &impl Fn(&mut A, &U), target: &mut [A], updates: &[U]) {
    for (target, update) in target.iter_mut().zip(updates) {
        fold(target, update);
    }
}
