//! Copies elements from one strided array to another.
//!
//! The element type decides in which of three ways ([`Way`]):
//!
//! - Plain types (numbers, `bool`, `char`) are copied as bytes, by kernels for each element size
//!   that are compiled once, in this crate.
//! - Other types without drop glue are cloned, by kernels that are generic over the type.
//! - Of elements with drop glue, gathers and rolls copy only the addresses. Safe code then clones the elements:
//!   it owns, and drops, the clones that exist when a `clone` panics. Scatters assign them one by one.

mod clone;
mod interleave;
mod plain;
pub(super) mod rows;
pub(super) mod stage;
mod strided;
mod transfer;

pub(super) use clone::{Clones, RollRows, RolledRows};
use plain::PLAIN;
pub(crate) use plain::is_plain;
pub(in crate::memory) use strided::copy_strided;
pub(crate) use transfer::Transfer;

use super::combine::run_transposed;
use super::cpu;
use super::indices::elements::{self, Action, Elements, Single, SingleFn};
use super::tile::{Gaps, Kernel, Places, Tile, TileFn};
use super::walk::{Loop, Walk};
use crate::threshold::threshold;

/// How elements of one type are copied.
#[derive(Debug, Clone, Copy)]
pub(super) struct Copier {
    /// The size of an element in bytes.
    pub(super) size: usize,
    pub(super) way: Way,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Way {
    /// The bytes of the element, all of which are initialised, are copied.
    Bytes,
    /// The element is cloned by these functions.
    Clone(&'static Clones),
    /// The address of the element is stored; [`Copier::size`] is the size of an address.
    Address,
}

impl Way {
    /// The way for elements without drop glue: from the selected to the listed array where
    /// `GATHER`, else from the listed to the selected array.
    #[inline]
    pub(super) fn of<T: Clone, const GATHER: bool>() -> Self {
        assert!(!std::mem::needs_drop::<T>(), "what lies there is not dropped");
        if is_plain::<T>() { Way::Bytes } else { Way::Clone(clone::clones::<T, GATHER>()) }
    }
}

/// A kernel that copies each selected element to its place in the listed array.
pub(super) struct Gather {
    pub(super) copier: Copier,
    pub(super) run: TileFn,
    /// Whether short rows may be gathered by byte shuffles: [`Copier::shuffles`] of the walk.
    pub(super) shuffles: bool,
    /// The value of listed elements whose index selects nothing.
    pub(super) fill: Option<*const u8>,
}

// SAFETY: `fill` points to a value that is borrowed for as long as the kernel is used and that is
// `Sync`: the constructors of `Transfer` require both.
#[allow(unsafe_code)]
unsafe impl Sync for Gather {}

#[allow(unsafe_code)]
impl Kernel for Gather {
    #[inline]
    unsafe fn run(&self, tile: &Tile<'_>) {
        // SAFETY: the caller's promise; `self.shuffles` says that `Copier::shuffles` allows the
        // walk of this tile, as `shuffled` requires.
        unsafe {
            if self.shuffles && tile.outer.len >= cpu::MIN_SHUFFLED_ROWS {
                return shuffled(tile, self.run);
            }
            (self.run)(tile);
        }
    }

    fn gaps(&self) -> Gaps {
        match self.copier.way {
            Way::Bytes => Gaps::Overwritten,
            Way::Clone(_) | Way::Address => Gaps::Filled,
        }
    }

    unsafe fn fill(&self, tile: &Tile<'_>) {
        let Some(value) = self.fill else { return };
        // SAFETY: the caller's promise; `fill` points to a value of the elements' type (invariant
        // of `Transfer`).
        unsafe {
            match self.copier.way {
                Way::Bytes => fill(tile, value, self.copier.size),
                Way::Clone(clones) => (clones.value)(tile, value),
                // Written as a pointer: copied as plain bytes, it would lose its provenance.
                Way::Address => {
                    each_listed(tile, |element| element.cast::<*const u8>().write(value));
                }
            }
        }
    }

    fn single(&self) -> Option<Single> {
        self.copier.single::<true>()
    }

    unsafe fn run_single(&self, elements: &Elements<'_>) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.copier.run_single::<true>(elements) }
    }
}

/// A kernel that copies each listed element over the selected one: a scatter without a reduction.
pub(super) struct Write {
    copier: Copier,
    run: TileFn,
}

#[allow(unsafe_code)]
impl Kernel for Write {
    #[inline]
    unsafe fn run(&self, tile: &Tile<'_>) {
        // SAFETY: the caller's promise.
        unsafe { (self.run)(tile) }
    }

    fn single(&self) -> Option<Single> {
        self.copier.single::<false>()
    }

    unsafe fn run_single(&self, elements: &Elements<'_>) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.copier.run_single::<false>(elements) }
    }
}

impl Copier {
    /// How plain elements of `size` bytes are copied.
    pub(super) const fn of_bytes(size: usize) -> Self {
        Copier { size, way: Way::Bytes }
    }

    /// The size of elements that are copied as bytes; `None` for others.
    #[inline]
    pub(super) fn plain(&self) -> Option<usize> {
        matches!(self.way, Way::Bytes).then_some(self.size)
    }

    /// The kernel that copies selected elements to the listed array along a walk, and `fill` where an
    /// index selects nothing. If `streamed`, rows are written by non-temporal stores.
    #[inline]
    pub(super) fn gather(self, walk: &Walk, streamed: bool, fill: Option<*const u8>) -> Gather {
        let run = self.kernel(&walk.inner, true, streamed);
        Gather { copier: self, run, shuffles: self.shuffles(walk), fill }
    }

    /// The kernel that overwrites selected elements, for tiles with this inner loop.
    pub(super) fn write(self, inner: &Loop) -> Write {
        Write { copier: self, run: self.kernel(inner, false, false) }
    }

    /// The function that copies single elements while their indices are resolved, for plain elements
    /// of up to 8 bytes: from the selected to the listed array if `GATHER`, else back.
    fn single_function<const GATHER: bool>(&self) -> Option<SingleFn> {
        match (&self.way, self.size) {
            (Way::Bytes, 1) => Some(elements::copy::<1, GATHER>),
            (Way::Bytes, 2) => Some(elements::copy::<2, GATHER>),
            (Way::Bytes, 4) => Some(elements::copy::<4, GATHER>),
            (Way::Bytes, 8) => Some(elements::copy::<8, GATHER>),
            _ => None,
        }
    }

    /// What [`Kernel::single`] returns.
    fn single<const GATHER: bool>(&self) -> Option<Single> {
        let action = Action::of_copy::<GATHER>();
        self.single_function::<GATHER>().map(|_| Single { size: self.size, action, waits: None })
    }

    /// Copies single elements by that function.
    ///
    /// # Safety
    /// That of [`Kernel::run_single`], for elements of this copier.
    #[allow(unsafe_code)]
    unsafe fn run_single<const GATHER: bool>(&self, elements: &Elements<'_>) -> bool {
        // SAFETY: the caller's promise; the function is that for elements of this size.
        self.single_function::<GATHER>().is_some_and(|run| unsafe { run(elements) })
    }

    /// The function that copies tiles with this inner loop: from the selected to the listed array
    /// if `gather`, else from the listed to the selected array. If `streamed`, gathered rows are
    /// written by non-temporal stores.
    #[inline]
    pub(super) fn kernel(&self, inner: &Loop, gather: bool, streamed: bool) -> TileFn {
        match self.way {
            Way::Bytes => {
                let step = self.size as isize;
                let dense =
                    inner.len == 1 || (inner.step.selected == step && inner.step.listed == step);
                match (dense, gather) {
                    (true, true) if streamed => rows::streamed,
                    (true, true) => rows::kernel::<true>(inner.len * self.size),
                    (true, false) => rows::kernel::<false>(inner.len * self.size),
                    (false, true) => strided::kernel::<true>(self.size),
                    (false, false) => write_apart,
                }
            }
            Way::Clone(clones) => clones.tile,
            Way::Address => strided::addresses,
        }
    }

    /// Whether short rows may be gathered by byte shuffles, which also load bytes between the
    /// selected ones.
    ///
    /// That needs a selected array without gaps: rows are contiguous along the selected axis, and
    /// each iteration of the outer loop begins where the axis of the one before ends. Then all
    /// bytes between selected rows are elements of the array.
    #[inline]
    pub(super) fn shuffles(&self, walk: &Walk) -> bool {
        walk.outer.len >= cpu::MIN_SHUFFLED_ROWS && self.shuffles_rows(walk)
    }

    fn shuffles_rows(&self, walk: &Walk) -> bool {
        let [axis] = walk.components[..] else { return false };
        let row = walk.inner.len * self.size;
        let dense = walk.inner.len == 1
            || [walk.inner.step.selected, walk.inner.step.listed] == [self.size as isize; 2];
        self.plain().is_some()
            && dense
            && (axis.len == 1 || axis.step == row as isize)
            && axis.len.checked_mul(row) == Some(walk.outer.step.selected as usize)
            && walk.nest().iter().all(|around| around.step.selected == 0)
    }
}

/// Writes rows that are not contiguous in both arrays.
///
/// # Safety
/// That of [`Kernel::run`], for plain elements.
#[allow(unsafe_code)]
unsafe fn write_apart(tile: &Tile<'_>) {
    // SAFETY: the caller's promise.
    unsafe {
        if !run_transposed(tile, write_rows) {
            strided::kernel::<false>(tile.size)(tile);
        }
    }
}

/// Writes rows of any steps.
///
/// # Safety
/// That of [`Kernel::run`], for plain elements.
#[allow(unsafe_code)]
unsafe fn write_rows(tile: &Tile<'_>) {
    let step = tile.size as isize;
    // SAFETY: the caller's promise; the kernel for rows is that of their length.
    unsafe {
        if [tile.inner.selected, tile.inner.listed] == [step; 2] {
            rows::kernel::<false>(tile.inner.len * tile.size)(tile);
        } else {
            strided::kernel::<false>(tile.size)(tile);
        }
    }
}

/// Copies a tile like `copy`, but by byte shuffles as far as there is a [`Pattern`](cpu::Pattern)
/// for its offsets; `copy` copies the remaining iterations of the outer loop.
///
/// # Safety
/// That of [`Kernel::run`], for a walk that [`Copier::shuffles`] allows.
#[allow(unsafe_code)]
unsafe fn shuffled(tile: &Tile<'_>, copy: TileFn) {
    let row = tile.inner.len * tile.size;
    let bytes = tile.offsets.len() * row;
    let contiguous = tile.outer.listed == bytes as isize
        && matches!(tile.places, Places::Every(step) if step == row as isize || tile.offsets.len() == 1);
    let source_byte = |byte: usize| tile.offsets[byte / row] as usize + byte % row;
    let pattern = cpu::Pattern::new(bytes, tile.outer.selected as usize, source_byte);
    let mut rest = *tile;
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(pattern) = pattern.filter(|_| contiguous) {
            let done = pattern.run(tile.selected, tile.listed, tile.outer.len);
            let advance = |step: isize| step.wrapping_mul(done as isize);
            rest.outer.len -= done;
            rest.selected = tile.selected.wrapping_offset(advance(tile.outer.selected));
            rest.listed = tile.listed.wrapping_offset(advance(tile.outer.listed));
        }
        copy(&rest);
    }
}

/// Writes a value of `size` bytes to all listed elements of a tile.
///
/// # Safety
/// The listed elements can be written, and `size` bytes be read from `value`.
#[allow(unsafe_code)]
unsafe fn fill(tile: &Tile<'_>, value: *const u8, size: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match size {
            1 => fill_with(tile, value.cast::<[u8; 1]>().read()),
            2 => fill_with(tile, value.cast::<[u8; 2]>().read()),
            4 => fill_with(tile, value.cast::<[u8; 4]>().read()),
            8 => fill_with(tile, value.cast::<[u8; 8]>().read()),
            16 => fill_with(tile, value.cast::<[u8; 16]>().read()),
            _ => unreachable!("{PLAIN}"),
        }
    }
}

/// Writes `value` to all listed elements of a tile.
///
/// # Safety
/// That of [`fill`].
#[allow(unsafe_code)]
unsafe fn fill_with<const N: usize>(tile: &Tile<'_>, value: [u8; N]) {
    if tile.inner.listed == N as isize {
        let inner = tile.inner.len;
        // SAFETY: the caller's promise; the elements of a row are contiguous.
        return each_row(tile, |row| unsafe { repeat(value, row, inner) });
    }
    // SAFETY: the caller's promise.
    each_listed(tile, |element| unsafe { element.cast::<[u8; N]>().write(value) });
}

/// Writes `value` to `count` contiguous elements: equivalent to `slice.fill(value)`.
///
/// The bytes of most values (zero, above all) are equal, and `memset` writes long rows of them
/// without reading the overwritten cache lines first: zeros in rows of 3 KB take half of the time.
///
/// # Safety
/// `count` elements can be written to `to`.
#[allow(unsafe_code)]
#[inline(always)]
pub(in crate::memory) unsafe fn repeat<const N: usize>(value: [u8; N], to: *mut u8, count: usize) {
    /// Rows of fewer bytes are not worth the call of `memset`.
    const MEMSET_MIN: usize = threshold(256, 16);
    let bytes = count * N;
    // SAFETY: the caller's promise.
    unsafe {
        if bytes >= MEMSET_MIN && value == [value[0]; N] {
            return to.write_bytes(value[0], bytes);
        }
        for k in 0..count {
            to.cast::<[u8; N]>().add(k).write(value);
        }
    }
}

/// Orders two values as (source's, destination's).
#[inline(always)]
fn from_to<const GATHER: bool, T>(selected: T, listed: T) -> (T, T) {
    if GATHER { (selected, listed) } else { (listed, selected) }
}

/// Calls `visit` with the address of the first listed element of each row of a tile.
#[inline(always)]
fn each_row(tile: &Tile<'_>, visit: impl Fn(*mut u8)) {
    for iteration in 0..tile.outer.len as isize {
        let listed = tile.listed.wrapping_offset(iteration.wrapping_mul(tile.outer.listed));
        for k in 0..tile.offsets.len() {
            visit(listed.wrapping_offset(tile.places.at(k)));
        }
    }
}

/// Calls `visit` with the address of each listed element of a tile.
#[inline(always)]
fn each_listed(tile: &Tile<'_>, visit: impl Fn(*mut u8)) {
    let inner = tile.inner;
    each_row(tile, |row| {
        for k in 0..inner.len as isize {
            visit(row.wrapping_offset(k.wrapping_mul(inner.listed)));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::tile::Steps;

    /// Updates that are contiguous along the elements of a row are transposed where places of entries
    /// are near each other, of which each need not be beside the one before it.
    #[test]
    fn rows_that_lie_apart_are_written() {
        const SIDE: usize = 40;
        // Elements from one element of a row to the next, in the target, and from one entry to the
        // next, in the updates: multiples of lines, and of what maps to one set of a cache.
        let (across, every) = (1 << 10, 1 << 7);
        for entry_step in [1, 2, 3] {
            let mut updates: Vec<u16> = (0..SIDE * every).map(|k| k as u16 + 1).collect();
            let mut target = vec![0_u16; SIDE * across];
            let mut expected = target.clone();
            for entry in 0..SIDE {
                for k in 0..SIDE {
                    expected[k * across + entry * entry_step] = updates[entry * every + k];
                }
            }
            let bytes = |elements: usize| 2 * elements as isize;
            let offsets: Vec<isize> = (0..SIDE).map(|entry| bytes(entry * entry_step)).collect();
            let arrays = (target.as_mut_ptr().cast(), updates.as_mut_ptr().cast());
            let inner = Steps { len: SIDE, selected: bytes(across), listed: 2 };
            let tile = Tile::of_entries(arrays, (&offsets, Places::Every(bytes(every))), inner, 2);
            let tile = Tile { offset_step: bytes(entry_step), ..tile };
            // SAFETY: all elements of the tile are in the arrays.
            #[allow(unsafe_code)]
            unsafe {
                write_apart(&tile);
            }
            assert_eq!(target, expected, "entries {entry_step} elements apart");
        }
    }
}
