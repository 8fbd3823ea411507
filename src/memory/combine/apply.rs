//! Applies updates to their targets, entry by entry, in order.

use std::marker::PhantomData;

use crate::memory::copy::repeat;
use crate::memory::cpu;
use crate::memory::tile::{Kernel, Known, Places, Tile};

/// How many rows ahead of the one being combined the next is asked for.
const AHEAD: usize = 8;

/// What is asked for ahead of time takes no more than so many bytes of the cache
/// next to the core.
const AHEAD_BYTES: usize = 8 << 10;

/// The same for updates from memory that do not follow each other, and the cache
/// after that, on the way to which more lines can be.
const EARLY: usize = 32;
const EARLY_BYTES: usize = 32 << 10;

/// Bytes of the blocks that rows are combined in, and of those of rows that are
/// shorter.
const BLOCK: usize = 64;
const SHORT: usize = 16;

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
    if [inner.selected, inner.listed] != steps || inner.len * size_of::<A>() < SHORT {
        return elements(tile, one);
    }
    let short = inner.len * size_of::<A>() < BLOCK;
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if let Some(avx2) = cpu::Avx2::detect().filter(|_| !short) {
        // SAFETY: the caller's promise; the processor has AVX2, as the proof says.
        return unsafe { rows_by_avx2(avx2, tile, combine) };
    }
    // Without AVX2, 16 bytes are what x86-64 works on at a time.
    let short = short || cfg!(all(target_arch = "x86_64", not(miri)));
    // SAFETY: the caller's promise, and rows are as long as that.
    unsafe {
        if short { rows::<A, U, SHORT>(tile, combine) } else { rows::<A, U, BLOCK>(tile, combine) }
    }
}

/// Combines updates with elements whose positions are known.
///
/// # Safety
/// All places are what [`Known`] promises, of elements of type `A`.
#[allow(unsafe_code)]
#[inline(always)]
pub(super) unsafe fn apply_known<A: Copy>(known: &Known<'_>, combine: impl Fn(A, A) -> A) {
    let (targets, updates) = (known.selected.cast::<A>(), known.listed.cast::<A>());
    // SAFETY: the caller's promise, for each element.
    let one = |position: u32, entry: usize| unsafe {
        let target = targets.wrapping_add(position as usize);
        target.write(combine(target.read(), updates.wrapping_add(entry).read()));
    };
    match known.entries {
        None => known.positions.iter().enumerate().for_each(|(k, &at)| one(at, k)),
        Some(entries) => {
            known.positions.iter().zip(entries).for_each(|(&at, &entry)| one(at, entry as usize));
        }
    }
}

/// [`rows`] for AVX2. A function of its own: of closures that are called from one
/// the compiler leaves some as they are.
///
/// # Safety
/// That of [`rows`], of [`BLOCK`] bytes.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code)]
#[target_feature(enable = "avx2")]
unsafe fn rows_by_avx2<A: Copy, U: Copy>(
    _proof: cpu::Avx2,
    tile: &Tile<'_>,
    combine: impl Fn(A, U) -> A + Copy,
) {
    // SAFETY: the caller's promise.
    unsafe { rows::<A, U, BLOCK>(tile, combine) }
}

/// Combines rows that are dense in both arrays, `BYTES` of the target at a time.
///
/// # Safety
/// That of [`apply`], and rows have so many bytes or more.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn rows<A: Copy, U: Copy, const BYTES: usize>(
    tile: &Tile<'_>,
    combine: impl Fn(A, U) -> A + Copy,
) {
    // SAFETY: the caller's promise.
    unsafe {
        match (size_of::<A>(), BYTES) {
            (1, BLOCK) => rows_of::<A, U, BLOCK>(tile, combine),
            (2, BLOCK) => rows_of::<A, U, { BLOCK / 2 }>(tile, combine),
            (4, BLOCK) => rows_of::<A, U, { BLOCK / 4 }>(tile, combine),
            (8, BLOCK) => rows_of::<A, U, { BLOCK / 8 }>(tile, combine),
            (1, _) => rows_of::<A, U, SHORT>(tile, combine),
            (2, _) => rows_of::<A, U, { SHORT / 2 }>(tile, combine),
            (4, _) => rows_of::<A, U, { SHORT / 4 }>(tile, combine),
            (8, _) => rows_of::<A, U, { SHORT / 8 }>(tile, combine),
            _ => rows_of::<A, U, 1>(tile, combine),
        }
    }
}

/// Combines rows that are dense in both arrays, `N` elements at a time.
///
/// # Safety
/// That of [`apply`], and rows have `N` elements or more.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn rows_of<A: Copy, U: Copy, const N: usize>(
    tile: &Tile<'_>,
    combine: impl Fn(A, U) -> A + Copy,
) {
    let len = tile.inner.len;
    let bytes = len * size_of::<A>();
    let distance = (AHEAD_BYTES / bytes).clamp(1, AHEAD);
    let early = if tile.spread { (EARLY_BYTES / bytes).clamp(AHEAD, EARLY) } else { distance };
    let (offsets, last) = (tile.offsets, tile.offsets.len().wrapping_sub(1));
    for turn in 0..tile.outer.len {
        let (selected, mut listed) = tile.turn(turn);
        // SAFETY: the caller's promise.
        unsafe {
            match tile.places {
                Places::Every(step) => {
                    for (k, &offset) in offsets.iter().enumerate() {
                        if k % 8 == 0 {
                            tile.next.ask(k / 8);
                        }
                        let later = offsets[(k + distance).min(last)];
                        cpu::prefetch_all(selected.wrapping_offset(later), bytes);
                        let target = selected.wrapping_offset(offset).cast();
                        combine_row::<A, U, N>(target, listed.cast(), len, combine);
                        listed = listed.wrapping_offset(step);
                    }
                }
                Places::Each(places) => {
                    for (k, (&offset, &place)) in offsets.iter().zip(places).enumerate() {
                        let later = offsets[(k + distance).min(last)];
                        cpu::prefetch_all(selected.wrapping_offset(later), bytes);
                        // These rows do not follow each other, and where targets are
                        // many, updates come from memory.
                        let later = listed.wrapping_offset(places[(k + early).min(last)]);
                        if tile.spread {
                            cpu::prefetch_early(later, bytes);
                        } else {
                            cpu::prefetch_all(later, bytes);
                            cpu::prefetch_line(later.wrapping_add(bytes - 1));
                        }
                        let target = selected.wrapping_offset(offset).cast();
                        let updates = listed.wrapping_offset(place).cast();
                        combine_row::<A, U, N>(target, updates, len, combine);
                    }
                }
            }
        }
    }
}

/// Combines a row of `len` elements. The first two blocks may overlap, so each is
/// worked out before the one ahead of it is written; and a choice between two
/// values that is written right where one of them was read would become a masked
/// store, which takes far longer.
///
/// # Safety
/// `len` elements of both can be used, are `N` or more, and do not overlap.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn combine_row<A: Copy, U: Copy, const N: usize>(
    target: *mut A,
    updates: *const U,
    len: usize,
    combine: impl Fn(A, U) -> A + Copy,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut new = block::<A, U, N>(target, updates, combine);
        let first = match len % N {
            0 => N,
            rest => rest,
        };
        let (mut at, mut next) = (0, first);
        while next < len {
            let newer = block::<A, U, N>(target.add(next), updates.add(next), combine);
            target.add(at).cast::<[A; N]>().write(new);
            (new, at) = (newer, next);
            next += N;
        }
        target.add(at).cast::<[A; N]>().write(new);
    }
}

/// What becomes of `N` elements.
///
/// # Safety
/// `N` elements of both can be read.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn block<A: Copy, U: Copy, const N: usize>(
    target: *const A,
    updates: *const U,
    combine: impl Fn(A, U) -> A + Copy,
) -> [A; N] {
    // SAFETY: the caller's promise.
    let (mut held, new) =
        unsafe { (target.cast::<[A; N]>().read(), updates.cast::<[U; N]>().read()) };
    for k in 0..N {
        held[k] = combine(held[k], new[k]);
    }
    held
}

/// Calls `each` with every selected and listed element of a tile, in order.
#[inline(always)]
pub(super) fn elements(tile: &Tile<'_>, each: impl Fn(*mut u8, *mut u8)) {
    let inner = tile.inner;
    for turn in 0..tile.outer.len {
        let (selected, listed) = tile.turn(turn);
        for (k, &offset) in tile.offsets.iter().enumerate() {
            let mut selected = selected.wrapping_offset(offset);
            let mut listed = listed.wrapping_offset(tile.places.at(k));
            for _ in 0..inner.len {
                each(selected, listed);
                selected = selected.wrapping_offset(inner.selected);
                listed = listed.wrapping_offset(inner.listed);
            }
        }
    }
}

/// Writes one value to every selected element.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) struct Set {
    value: [u8; 16],
    size: usize,
}

impl Set {
    /// For a target of type `A`, which may be copied by its bits.
    #[allow(unsafe_code)]
    pub(super) fn to<A: Copy>(value: A) -> Self {
        let size = const {
            assert!(size_of::<A>() <= 16);
            size_of::<A>()
        };
        let mut bytes = [0; 16];
        // SAFETY: there is room for it, and it is nothing but its bits.
        unsafe { bytes.as_mut_ptr().cast::<A>().write_unaligned(value) };
        Set { value: bytes, size }
    }

    /// As many of it as 16 bytes hold.
    pub(in crate::memory) fn repeated(&self) -> u128 {
        let mut bytes = [0; 16];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = self.value[at % self.size.max(1)];
        }
        u128::from_ne_bytes(bytes)
    }

    /// # Safety
    /// That of [`Kernel::run`], for elements of `N` bytes.
    #[allow(unsafe_code)]
    unsafe fn each<const N: usize>(&self, tile: &Tile<'_>) {
        let Some(&value) = self.value.first_chunk::<N>() else { return };
        let inner = tile.inner;
        if inner.selected != N as isize {
            // SAFETY: the caller's promise, for each element.
            return elements(tile, |selected, _| unsafe {
                selected.cast::<[u8; N]>().write(value);
            });
        }
        let mut rows = *tile;
        rows.inner.len = 1;
        // SAFETY: the caller's promise, for each row.
        elements(&rows, |row, _| unsafe { repeat(value, row, inner.len) });
    }
}

#[allow(unsafe_code)]
impl Kernel for Set {
    unsafe fn run(&self, tile: &Tile<'_>) {
        // SAFETY: the caller's promise.
        unsafe {
            match self.size {
                1 => self.each::<1>(tile),
                2 => self.each::<2>(tile),
                4 => self.each::<4>(tile),
                8 => self.each::<8>(tile),
                _ => self.each::<16>(tile),
            }
        }
    }

    unsafe fn nowhere(&self, _: &Tile<'_>) {}
}

/// Overwrites selected elements with clones of updates, which may use what these
/// elements own.
///
/// # Safety
/// That of [`Kernel::run`], for a target and updates of type `A`.
#[allow(unsafe_code)]
pub(in crate::memory) unsafe fn assign<A: Clone>(tile: &Tile<'_>) {
    // SAFETY: the caller's promise, for each element.
    elements(tile, |selected, listed| unsafe {
        (*selected.cast::<A>()).clone_from(&*listed.cast::<A>());
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
        let one = |selected: *mut u8, listed: *mut u8| unsafe {
            fold(&mut *selected.cast::<A>(), &*listed.cast::<U>());
        };
        if inner.len == 1 { tile.each(one) } else { elements(tile, one) }
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
