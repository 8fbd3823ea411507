//! Copies elements from one strided array to another.
//!
//! An element is copied in one of three ways, which its type decides. Types
//! that are nothing but their bytes are moved by their size, by kernels that
//! are compiled once, in this crate. Other types without drop glue are cloned
//! by a kernel of their own. Of types with drop glue, addresses are copied, and
//! safe code clones what they point to: it owns what a panic leaves behind.

mod clone;
mod plain;
pub(super) mod rows;
pub(super) mod stage;
mod strided;
mod transfer;

pub(super) use clone::{Clones, RollRows, RolledRows};
use plain::{PLAIN, is_plain};
pub(crate) use transfer::Transfer;

use super::cpu;
use super::indices::elements::{self, Does, Single, SingleRun};
use super::tile::{Kernel, Places, Tile};
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
    /// By copying its bytes, all of which are initialised.
    Bytes,
    /// By cloning each element, which these functions do.
    Clone(&'static Clones),
    /// By writing down where it is; the size is that of an address.
    Address,
}

impl Way {
    /// That of elements without drop glue, from the selected to the listed array
    /// where `GATHER`, else back.
    #[inline]
    pub(super) fn of<T: Clone, const GATHER: bool>() -> Self {
        assert!(!std::mem::needs_drop::<T>(), "what lies there is not dropped");
        if is_plain::<T>() { Way::Bytes } else { Way::Clone(clone::clones::<T, GATHER>()) }
    }
}

type Run = unsafe fn(&Tile<'_>);

/// A kernel that copies what indices select to its place in the list.
pub(super) struct Gather {
    pub(super) copier: Copier,
    pub(super) run: Run,
    /// Whether short rows may be rearranged by shuffles of bytes.
    pub(super) shuffles: bool,
    /// The value where an index selects nothing.
    pub(super) fill: Option<*const u8>,
}

// SAFETY: the value is borrowed for as long as the kernel is used, and `Sync`
// (`Transfer` asks for both).
#[allow(unsafe_code)]
unsafe impl Sync for Gather {}

#[allow(unsafe_code)]
impl Kernel for Gather {
    #[inline]
    unsafe fn run(&self, tile: &Tile<'_>) {
        // SAFETY: the caller's promise; what shuffles rely on stands at
        // `Copier::shuffles`.
        unsafe {
            if self.shuffles && tile.outer.len >= cpu::FEWEST {
                return shuffled(tile, self.run);
            }
            (self.run)(tile);
        }
    }

    unsafe fn nowhere(&self, tile: &Tile<'_>) {
        let Some(value) = self.fill else { return };
        // SAFETY: the caller's promise; the value is of the elements' type.
        unsafe {
            match self.copier.way {
                Way::Bytes => fill(tile, value, self.copier.size),
                Way::Clone(clones) => (clones.value)(tile, value),
                // As an address: bytes of one do not remember what it may reach.
                Way::Address => {
                    each_listed(tile, |place| place.cast::<*const u8>().write(value));
                }
            }
        }
    }

    fn single(&self) -> Option<Single> {
        self.copier.single::<true>()
    }
}

/// A kernel that copies what is listed to where indices select.
pub(super) struct Write {
    copier: Copier,
    run: Run,
}

#[allow(unsafe_code)]
impl Kernel for Write {
    #[inline]
    unsafe fn run(&self, tile: &Tile<'_>) {
        // SAFETY: the caller's promise.
        unsafe { (self.run)(tile) }
    }

    unsafe fn nowhere(&self, _: &Tile<'_>) {}

    fn single(&self) -> Option<Single> {
        self.copier.single::<false>()
    }
}

impl Copier {
    /// The kernel that writes along the innermost loops of a walk.
    pub(super) fn write(self, inner: &Loop) -> Write {
        Write { copier: self, run: self.kernel(inner, false, false) }
    }

    /// How it copies elements of some sizes while their indices are resolved.
    fn single<const GATHER: bool>(&self) -> Option<Single> {
        let run: SingleRun = match (&self.way, self.size) {
            (Way::Bytes, 1) => elements::copy::<1, GATHER>,
            (Way::Bytes, 2) => elements::copy::<2, GATHER>,
            (Way::Bytes, 4) => elements::copy::<4, GATHER>,
            (Way::Bytes, 8) => elements::copy::<8, GATHER>,
            _ => return None,
        };
        let does = if GATHER { Does::Gather } else { Does::Write };
        Some(Single { size: self.size, does, run })
    }

    /// The kernel for tiles whose inner loops are like this. `gather` tells in
    /// which direction it copies: from the selected to the listed array, or
    /// back; `past`, that rows may pass by the caches.
    #[inline]
    pub(super) fn kernel(&self, inner: &Loop, gather: bool, past: bool) -> Run {
        match self.way {
            Way::Bytes => {
                let step = self.size as isize;
                let row =
                    inner.len == 1 || (inner.step.selected == step && inner.step.listed == step);
                match (row, gather) {
                    (true, true) if past => rows::past,
                    (true, true) => rows::kernel::<true>(inner.len * self.size),
                    (true, false) => rows::kernel::<false>(inner.len * self.size),
                    (false, true) => strided::kernel::<true>(self.size),
                    (false, false) => strided::kernel::<false>(self.size),
                }
            }
            Way::Clone(clones) => clones.tile,
            Way::Address => strided::addresses,
        }
    }

    /// Whether short rows may be rearranged by shuffles of bytes: rows follow
    /// each other along the selected axis, and its ends along the outer loop,
    /// so that all bytes between are elements that the axis reaches.
    #[inline]
    pub(super) fn shuffles(&self, walk: &Walk) -> bool {
        walk.outer.len >= cpu::FEWEST && self.shuffles_rows(walk)
    }

    fn shuffles_rows(&self, walk: &Walk) -> bool {
        let [axis] = walk.components[..] else { return false };
        let row = walk.inner.len * self.size;
        let dense = walk.inner.len == 1
            || [walk.inner.step.selected, walk.inner.step.listed] == [self.size as isize; 2];
        matches!(self.way, Way::Bytes)
            && dense
            && axis.step == row as isize
            && axis.len.checked_mul(row) == Some(walk.outer.step.selected as usize)
            && walk.nest().iter().all(|one| one.step.selected == 0)
    }
}

/// Rearranges the rows of a tile by shuffles of bytes, where there is a pattern
/// for them, and by `run` what is left.
///
/// # Safety
/// That of [`Kernel::run`], for a walk that [`Copier::shuffles`] allows.
#[allow(unsafe_code)]
unsafe fn shuffled(tile: &Tile<'_>, run: Run) {
    let row = tile.inner.len * tile.size;
    let bytes = tile.offsets.len() * row;
    let follow = tile.outer.listed == bytes as isize
        && matches!(tile.places, Places::Every(step) if step == row as isize || tile.offsets.len() == 1);
    let from = |byte: usize| tile.offsets[byte / row] as usize + byte % row;
    let pattern = cpu::Pattern::new(bytes, tile.outer.selected as usize, from);
    let mut rest = *tile;
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(pattern) = pattern.filter(|_| follow) {
            let done = pattern.run(tile.selected, tile.listed, tile.outer.len);
            let iterations = |step: isize| step.wrapping_mul(done as isize);
            rest.outer.len -= done;
            rest.selected = tile.selected.wrapping_offset(iterations(tile.outer.selected));
            rest.listed = tile.listed.wrapping_offset(iterations(tile.outer.listed));
        }
        run(&rest);
    }
}

/// Repeats a value of `size` bytes in all listed elements of a tile.
///
/// # Safety
/// They can be written, and the value be read.
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

/// # Safety
/// That of [`fill`].
#[allow(unsafe_code)]
unsafe fn fill_with<const N: usize>(tile: &Tile<'_>, value: [u8; N]) {
    if tile.inner.listed == N as isize {
        let inner = tile.inner.len;
        // SAFETY: the caller's promise, for rows without gaps.
        return each_row(tile, |row| unsafe { repeat(value, row, inner) });
    }
    // SAFETY: the caller's promise.
    each_listed(tile, |place| unsafe { place.cast::<[u8; N]>().write(value) });
}

/// Repeats a value in elements that follow each other. Most often all of its bytes
/// are the same, and long rows of them are written without being read: zeros in
/// rows of 3 KB in half of the time.
///
/// # Safety
/// So many elements can be written.
#[allow(unsafe_code)]
#[inline(always)]
pub(in crate::memory) unsafe fn repeat<const N: usize>(value: [u8; N], to: *mut u8, count: usize) {
    /// In bytes; shorter rows are not worth a call.
    const LONG: usize = threshold(256, 16);
    let bytes = count * N;
    // SAFETY: the caller's promise.
    unsafe {
        if bytes >= LONG && value == [value[0]; N] {
            return to.write_bytes(value[0], bytes);
        }
        for k in 0..count {
            to.cast::<[u8; N]>().add(k).write(value);
        }
    }
}

/// Calls `visit` with the first listed element of each row of a tile.
#[inline(always)]
fn each_row(tile: &Tile<'_>, visit: impl Fn(*mut u8)) {
    for iteration in 0..tile.outer.len as isize {
        let listed = tile.listed.wrapping_offset(iteration.wrapping_mul(tile.outer.listed));
        for k in 0..tile.offsets.len() {
            visit(listed.wrapping_offset(tile.places.at(k)));
        }
    }
}

/// Calls `visit` with each listed element of a tile.
#[inline(always)]
fn each_listed(tile: &Tile<'_>, visit: impl Fn(*mut u8)) {
    let inner = tile.inner;
    each_row(tile, |row| {
        for k in 0..inner.len as isize {
            visit(row.wrapping_offset(k.wrapping_mul(inner.listed)));
        }
    });
}
