//! Combines updates with their targets, entry by entry, in the order of the entries.

use super::rows::{self, Combine, TARGETS_AHEAD};
use crate::memory::copy::repeat;
use crate::memory::cpu;
use crate::memory::indices::axis::Unsigned;
use crate::memory::indices::elements::{Action, BLOCK, Beside, Elements};
use crate::memory::strided::Strided;
use crate::memory::tile::{Kernel, Places, Planned, Tile};

/// Combines each update of a tile with the element that its index selects:
///
/// ```text
/// for each entry k, for each element i of a row
///   selected[offsets[k] + i] = combine(selected[offsets[k] + i], listed[places[k] + i])
/// ```
///
/// Contiguous rows are combined by `combine`, in blocks of several elements, and so are those with one update for
/// the whole row; single elements, strided rows and rows shorter than such a block by `combine_alone`, one element
/// at a time.
///
/// # Safety
/// That of [`Kernel::run`], for a target and updates of type `A`, which may be copied by its bits.
#[allow(unsafe_code)]
#[inline(always)]
pub(super) unsafe fn apply<A: Copy>(
    tile: &Tile<'_>,
    combine: impl Combine<A>,
    combine_alone: impl Fn(A, A) -> A + Copy,
) {
    // SAFETY: the caller's promise, for each element.
    let combine_one = unsafe { one(combine_alone) };
    let (inner, steps) = (tile.inner, [size_of::<A>() as isize; 2]);
    let short = inner.len * size_of::<A>() < rows::SMALL_BLOCK;
    // SAFETY: the caller's promise.
    unsafe {
        if inner.len == 1 {
            apply_alone(tile, combine_alone);
        } else if [inner.selected, inner.listed] == [steps[0], 0] && !short {
            rows::apply::<A, true>(tile, combine);
        } else if [inner.selected, inner.listed] != steps {
            elements(tile, combine_one);
        } else if short {
            // Coordinates, and the colours of a picture, have a loop whose length the compiler knows.
            match inner.len {
                2 => short_rows::<A, A>(tile, 2, combine_one),
                3 => short_rows::<A, A>(tile, 3, combine_one),
                4 => short_rows::<A, A>(tile, 4, combine_one),
                len => short_rows::<A, A>(tile, len, combine_one),
            }
        } else {
            rows::apply::<A, false>(tile, combine);
        }
    }
}

/// [`apply`] for rows of `len` elements, one element at a time.
///
/// # Safety
/// That of [`apply`], and rows have `len` elements.
#[allow(unsafe_code)]
#[inline(always)]
pub(super) unsafe fn short_rows<A, U>(
    tile: &Tile<'_>,
    len: usize,
    combine_one: impl Fn(*mut u8, *mut u8) + Copy,
) {
    let distance = if tile.spread { TARGETS_AHEAD } else { 0 };
    tile.each_row_ahead(
        distance,
        |row| cpu::prefetch_line(row),
        |target, updates| {
            for k in 0..len {
                combine_one(
                    target.wrapping_add(k * size_of::<A>()),
                    updates.wrapping_add(k * size_of::<U>()),
                );
            }
        },
    );
}

/// Returns a function that combines an update (listed) with its target (selected), of which it is given
/// the addresses.
///
/// # Safety
/// The returned function is called only with addresses of a target of type `A` that it may change and
/// an update of type `U`, both of which may be copied by their bits.
#[allow(unsafe_code)]
#[inline(always)]
pub(super) unsafe fn one<A: Copy, U: Copy>(
    combine: impl Fn(A, U) -> A + Copy,
) -> impl Fn(*mut u8, *mut u8) + Copy {
    move |selected, listed| {
        let target = selected.cast::<A>();
        // SAFETY: the caller's promise.
        unsafe { target.write(combine(target.read(), listed.cast::<U>().read())) };
    }
}

/// [`apply`] for rows of one element.
///
/// # Safety
/// That of [`apply`].
#[allow(unsafe_code)]
#[inline(always)]
pub(super) unsafe fn apply_alone<A: Copy, U: Copy>(
    tile: &Tile<'_>,
    combine: impl Fn(A, U) -> A + Copy,
) {
    let repeats = || tile.repeats(tile.offsets.len(), [7, 8]);
    // SAFETY: the caller's promise, for each element.
    unsafe {
        match tile.places {
            Places::Every(step) if repeats() => {
                runs(tile, |k| step.wrapping_mul(k as isize), combine);
            }
            Places::Each(places) if repeats() => runs(tile, |k| places[k], combine),
            _ => tile.each(Action::Combine, one(combine)),
        }
    }
}

/// Combines single updates with their targets, each of which is loaded and stored once for all of
/// its updates that follow each other, so that none of these waits for store-to-load forwarding.
///
/// # Safety
/// That of [`apply`], and `place(k)` is the offset in bytes of the update of entry number `k`.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn runs<A: Copy, U: Copy>(
    tile: &Tile<'_>,
    place: impl Fn(usize) -> isize,
    combine: impl Fn(A, U) -> A + Copy,
) {
    let Some(&first) = tile.offsets.first() else { return };
    for iteration in 0..tile.outer.len {
        let (selected, updates) = tile.iteration(iteration);
        let target = |offset: isize| selected.wrapping_offset(offset).cast::<A>();
        // SAFETY: the caller's promise, for each element.
        unsafe {
            let (mut current, mut held) = (first, target(first).read());
            for (k, &offset) in tile.offsets.iter().enumerate() {
                if offset != current {
                    target(current).write(held);
                    (current, held) = (offset, target(offset).read());
                }
                held = combine(held, updates.wrapping_offset(place(k)).cast::<U>().read());
            }
            target(current).write(held);
        }
    }
}

/// Combines updates with elements as a plan has listed both:
/// `selected[positions[k]] = combine(selected[positions[k]], listed[entries[k]])`.
///
/// # Safety
/// The invariant of [`Planned`] holds, for elements of type `A` in both arrays.
#[allow(unsafe_code)]
#[inline(always)]
pub(super) unsafe fn apply_planned<A: Copy>(planned: &Planned<'_>, combine: impl Fn(A, A) -> A) {
    let (targets, updates) = (planned.selected.cast::<A>(), planned.listed.cast::<A>());
    // SAFETY: the caller's promise, for each element.
    let combine_one = |position: u32, entry: usize| unsafe {
        let target = targets.wrapping_add(position as usize);
        target.write(combine(target.read(), updates.wrapping_add(entry).read()));
    };
    for (&position, &entry) in planned.positions.iter().zip(planned.entries) {
        combine_one(position, entry as usize);
    }
}

/// Combines single updates with elements along one axis, each index being resolved just before it
/// is used; returns whether all indices are in bounds.
///
/// # Safety
/// That of [`SingleFn`](crate::memory::indices::elements::SingleFn), for a target of type `A` and
/// updates of type `U`, along one axis.
#[allow(unsafe_code)]
#[inline(always)]
pub(super) unsafe fn apply_singly<A: Copy, U: Copy>(
    elements: &Elements<'_>,
    combine: impl Fn(A, U) -> A + Copy,
) -> bool {
    // SAFETY: the caller's promise. Unsigned integers have the size of signed ones.
    unsafe {
        match elements.width.size {
            4 => apply_by::<u32, A, U>(elements, combine),
            8 => apply_by::<u64, A, U>(elements, combine),
            _ => unreachable!("narrow indices are widened first"),
        }
    }
}

/// [`apply_singly`], for indices that are read as integers of type `I`.
///
/// # Safety
/// That of [`apply_singly`], by indices of the size of `I`.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn apply_by<I: Unsigned, A: Copy, U: Copy>(
    elements: &Elements<'_>,
    combine: impl Fn(A, U) -> A + Copy,
) -> bool {
    let (axis, step, size) = (elements.axis(), elements.axes[0].step, size_of::<A>());
    let listed_size = size_of::<U>();
    let combine_one = |target: *mut u8, listed: *mut u8, entry: usize| {
        let (target, update) = (target.cast::<A>(), listed.cast::<U>().wrapping_add(entry));
        // SAFETY: the caller's promise: `axis.each` passes positions in bounds of the axis, and
        // there are as many updates as indices.
        unsafe { target.write(combine(target.read(), update.read())) };
    };
    let at = |first: *mut u8, position: u64| {
        first.wrapping_offset((position as isize).wrapping_mul(step))
    };
    // SAFETY: the caller's promise.
    unsafe {
        match elements.beside {
            Beside::Each(0) if step == size as isize => {
                elements.blocks(listed_size, BLOCK, |indices: &[I], (first, listed)| {
                    let place = |position: u64| first.wrapping_add(position as usize * size);
                    axis.each(indices, |position, k| combine_one(place(position), listed, k))
                })
            }
            Beside::Each(beside) => {
                elements.blocks(listed_size, BLOCK, |indices: &[I], (first, listed)| {
                    let beside = |k: usize| beside.wrapping_mul(k as isize);
                    let place = |position, k| at(first, position).wrapping_offset(beside(k));
                    axis.each(indices, |position, k| combine_one(place(position, k), listed, k))
                })
            }
            Beside::Runs(runs) => {
                elements.blocks(listed_size, runs.len(), |indices: &[I], (first, listed)| {
                    let place = |position, k| at(first, position).wrapping_offset(runs.beside(k));
                    axis.each(indices, |position, k| combine_one(place(position, k), listed, k))
                })
            }
        }
    }
}

/// Calls `visit` with every selected and listed element of a tile, in order: the plain loop nest
/// of [`Tile`].
#[inline(always)]
pub(super) fn elements(tile: &Tile<'_>, visit: impl Fn(*mut u8, *mut u8)) {
    let inner = tile.inner;
    for iteration in 0..tile.outer.len {
        let (selected, listed) = tile.iteration(iteration);
        for (k, &offset) in tile.offsets.iter().enumerate() {
            let mut selected = selected.wrapping_offset(offset);
            let mut listed = listed.wrapping_offset(tile.places.at(k));
            for _ in 0..inner.len {
                visit(selected, listed);
                selected = selected.wrapping_offset(inner.selected);
                listed = listed.wrapping_offset(inner.listed);
            }
        }
    }
}

/// Writes one value to every selected element.
///
/// Aligned, as an update of any type may have to be.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(16))]
pub(in crate::memory) struct Set {
    value: [u8; 16],
    size: usize,
}

impl Set {
    /// The kernel that writes `value`, for a target of type `A`, which may be copied by its bits.
    #[allow(unsafe_code)]
    pub(super) fn to<A: Copy>(value: A) -> Self {
        let size = const {
            assert!(size_of::<A>() <= 16);
            size_of::<A>()
        };
        let mut bytes = [0; 16];
        // SAFETY: an `A` takes no more than the 16 bytes (asserted above), and is nothing but
        // its bits.
        unsafe { bytes.as_mut_ptr().cast::<A>().write_unaligned(value) };
        Set { value: bytes, size }
    }

    /// The kernel that writes the first `size` of these bytes, if it is one for elements of this size.
    pub(super) fn of_bytes(value: [u8; 16], size: usize) -> Option<Self> {
        [1, 2, 4, 8, 16].contains(&size).then_some(Set { value, size })
    }

    /// The size of the value in bytes.
    pub(in crate::memory) fn size(&self) -> usize {
        self.size
    }

    /// An array of the value alone, all of whose updates it may be.
    pub(in crate::memory) fn as_update(&self) -> Strided<'_> {
        // SAFETY: the bytes of the value are borrowed; it is no longer than they are (`to`, `of_bytes`).
        #[allow(unsafe_code)]
        unsafe {
            Strided::contiguous(self.value.as_ptr(), &[1], self.size)
        }
    }

    /// Writes the value to `len` contiguous elements.
    ///
    /// # Safety
    /// They can be written, and are of the type that this was made for.
    #[allow(unsafe_code)]
    pub(super) unsafe fn row(&self, row: *mut u8, len: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            match self.size {
                1 => self.row_of::<1>(row, len),
                2 => self.row_of::<2>(row, len),
                4 => self.row_of::<4>(row, len),
                8 => self.row_of::<8>(row, len),
                _ => self.row_of::<16>(row, len),
            }
        }
    }

    /// [`row`](Self::row) for elements of `N` bytes.
    ///
    /// # Safety
    /// That of [`row`](Self::row).
    #[allow(unsafe_code)]
    unsafe fn row_of<const N: usize>(&self, row: *mut u8, len: usize) {
        let Some(&value) = self.value.first_chunk::<N>() else { return };
        // SAFETY: the caller's promise.
        unsafe { repeat(value, row, len) };
    }

    /// The value repeated, as often as 16 bytes hold it.
    pub(in crate::memory) fn repeated(&self) -> u128 {
        let mut bytes = [0; 16];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = self.value[at % self.size.max(1)];
        }
        u128::from_ne_bytes(bytes)
    }

    /// Writes the value, of `N` bytes, to the elements of a tile.
    ///
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
        // SAFETY: the caller's promise, for each row. Short ones have a constant length.
        unsafe {
            match inner.len {
                2 => elements(&rows, |row, _| row.cast::<[[u8; N]; 2]>().write([value; 2])),
                3 => elements(&rows, |row, _| row.cast::<[[u8; N]; 3]>().write([value; 3])),
                4 => elements(&rows, |row, _| row.cast::<[[u8; N]; 4]>().write([value; 4])),
                len => elements(&rows, |row, _| self.row_of::<N>(row, len)),
            }
        }
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
}

/// Overwrites selected elements with clones of updates, by [`Clone::clone_from`], which may use
/// what these elements own.
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

/// Does nothing: a scatter leaves all targets as they are where an index selects nothing.
///
/// # Safety
/// None is needed.
#[allow(unsafe_code)]
pub(in crate::memory) unsafe fn ignore(_: &Tile<'_>, _: *const u8) {}
