//! Copies or combines single elements while their indices are resolved, in one loop: for a gather
//!
//! ```text
//! for k in 0..indices.len()
//!   listed[k] = selected[indices[k]]       if indices[k] is in bounds
//! ```
//!
//! Indices and elements are then read from memory at the same time; chunk by chunk, one of the two
//! streams would be idle while the other is read.
//!
//! An index that is not negative is a position as it is, which is compared with the length of the
//! axis and used at once, as in a hand-written loop. From the first index of a block on that is
//! negative or out of bounds, the rest of the block is resolved to positions before it is used.

use std::mem::MaybeUninit;

use super::Indices;
use super::short_runs::ShortRuns;
use crate::index::Meaning;
use crate::memory::cpu::{prefetch_ahead, prefetch_line};
use crate::memory::walk::{Component, Offsets};
use crate::threshold::threshold;

/// Number of indices between two prefetches, and the most indices of a block of [`ShortRuns`].
pub(in crate::memory) const BLOCK: usize = threshold(64, 8);

/// What a kernel does with single elements whose indices it resolves itself
/// ([`Kernel::run_single`](crate::memory::tile::Kernel::run_single)).
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) struct Single {
    /// Size of a listed element in bytes.
    pub(in crate::memory) size: usize,
    /// Size of a selected element: the same, but for updates that are converted when they are
    /// combined.
    pub(in crate::memory) selected: usize,
    pub(in crate::memory) action: Action,
    /// From which part of indices that equal the index before them on it pays to combine the updates
    /// of a target with each other first, a chunk at a time: for actions that take so long that the
    /// next one on the same element waits.
    pub(in crate::memory) waits: Option<[usize; 2]>,
}

/// What a kernel does with an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::memory) enum Action {
    /// Copies it from the selected to the listed array. What is written there for an index out of
    /// bounds does no harm, since it may be overwritten later.
    Gather,
    /// Copies it from the listed to the selected array.
    Write,
    /// Combines the listed with the selected element. Indices select along one axis, which is dense
    /// or along which each index selects one element beside the index before ([`Beside`]).
    Combine,
    /// The same, along the same axes, by a function of the caller's, which sees the listed element
    /// itself, not a copy.
    Fold,
}

/// Runs a kernel over all elements and returns whether all indices are in bounds. An index out of
/// bounds selects some element of the axis instead.
///
/// # Safety
/// The invariant of [`Elements`] holds, for elements of the size that the function was made for.
pub(in crate::memory) type SingleRun = unsafe fn(&Elements<'_>) -> bool;

/// The integer type as which the numbers of indices are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::memory) enum Width {
    I32,
    U32,
    I64,
    U64,
}

impl Width {
    /// The variant for an index type, if it has 4 or 8 bytes.
    pub(super) const fn of<I: Meaning>() -> Option<Self> {
        match (size_of::<I>(), I::SIGNED) {
            (4, true) => Some(Width::I32),
            (4, false) => Some(Width::U32),
            (8, true) => Some(Width::I64),
            (8, false) => Some(Width::U64),
            _ => None,
        }
    }

    /// Size in bytes.
    pub(in crate::memory) fn size(self) -> usize {
        match self {
            Width::I32 | Width::U32 => 4,
            Width::I64 | Width::U64 => 8,
        }
    }
}

/// The offset in bytes at which index number `k` of a lane selects, in addition to that of its
/// position along the axis.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) enum Beside<'e> {
    /// `k` times this number.
    Each(isize),
    /// That of a table.
    Runs(&'e ShortRuns),
}

/// What a kernel of [single elements](Single) runs over: `lanes` lanes of `count` indices, the
/// elements that these select, and the elements of the listed array.
///
/// ```text
/// for lane in 0..lanes
///   for k in 0..count
///     position = indices[lane * step.indices + k * width]                for a single axis
///     selected[lane * step.selected + beside(k) + position * axes[0].step]
///     listed  [lane * step.listed   + k * size]
/// ```
///
/// Pointers are to the first element of the first lane, offsets and steps in bytes.
///
/// Invariant (upheld by the constructor's caller):
/// - Each lane has `count` contiguous indices, each of an integer of `width` for each of the axes,
///   and as many contiguous listed elements.
/// - All elements that the axes reach, from each offset of `beside`, and all listed elements can be
///   read, and written where the kernel writes them. Selected and listed elements do not overlap.
/// - If one value is `repeated`, `listed` is a block of it ([`Repeated`](super::repeated::Repeated)) and `step.listed` is 0.
/// - Lengths of the axes are less than 2^31, and not 0. If there are several axes, their steps are
///   less than 2^31 too, and `beside` is `Each(0)`.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) struct Elements<'e> {
    pub(in crate::memory) indices: *const u8,
    pub(in crate::memory) width: Width,
    pub(in crate::memory) count: usize,
    pub(in crate::memory) lanes: usize,
    pub(in crate::memory) step: Offsets,
    pub(in crate::memory) axes: &'e [Component],
    pub(in crate::memory) beside: Beside<'e>,
    pub(in crate::memory) selected: *mut u8,
    pub(in crate::memory) listed: *mut u8,
    /// Whether all listed elements are one [repeated](super::repeated::Repeated) value, which is only
    /// read.
    pub(in crate::memory) repeated: bool,
    /// Whether the whole walk has so many indices and listed elements that prefetching them pays.
    pub(in crate::memory) long: bool,
    pub(in crate::memory) ahead: Ahead,
}

/// When selected elements are prefetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::memory) enum Ahead {
    /// Not at all: processors load several at a time by themselves.
    Never,
    /// Just before they are copied: more loads are in flight then, and stores do not wait for their
    /// cache lines one after the other.
    AtUse,
    /// When the block of indices before theirs begins.
    Block,
}

impl Indices<'_> {
    /// The integer type as which to read indices, if they can be those of [`Elements`]: contiguous
    /// (`step` is the distance in bytes from one to the next), along an axis that is short enough.
    pub(in crate::memory) fn single_width(&self, axis: &Component, step: isize) -> Option<Width> {
        let dense = step == self.kind.size as isize;
        // Then a negative index, read as an unsigned integer, is out of bounds.
        let small = i32::try_from(axis.len).is_ok();
        self.kind.width.filter(|_| dense && small && axis.len > 0)
    }
}

/// Copies elements of `N` bytes: from the selected to the listed array if `GATHER`, else back.
///
/// # Safety
/// That of [`SingleRun`].
#[allow(unsafe_code)]
pub(in crate::memory) unsafe fn copy<const N: usize, const GATHER: bool>(
    elements: &Elements<'_>,
) -> bool {
    // SAFETY: upheld by the caller. Unsigned integers have the size of signed ones.
    unsafe {
        match elements.width {
            Width::I32 | Width::U32 => copy_by::<u32, N, GATHER>(elements),
            Width::I64 | Width::U64 => copy_by::<u64, N, GATHER>(elements),
        }
    }
}

/// [`copy`] by indices that are read as `I`, with a loop for each kind of [`Beside`].
///
/// # Safety
/// That of [`copy`], by indices of the size of `I`.
#[allow(unsafe_code)]
unsafe fn copy_by<I: Unsigned, const N: usize, const GATHER: bool>(
    elements: &Elements<'_>,
) -> bool {
    let step = elements.axes[0].step;
    let at = |first: *mut u8, position: u64| {
        first.wrapping_offset((position as isize).wrapping_mul(step))
    };
    // SAFETY: upheld by the caller; blocks of short runs have `runs.len()` indices, so that `k` is
    // less.
    unsafe {
        match elements.beside {
            Beside::Each(0) if step == N as isize => {
                copy_from::<I, N, GATHER>(elements, BLOCK, |first, position, _| {
                    first.wrapping_add(position as usize * N)
                })
            }
            Beside::Each(beside) if beside == N as isize => {
                copy_from::<I, N, GATHER>(elements, BLOCK, |first, position, k| {
                    at(first, position).wrapping_add(k * N)
                })
            }
            Beside::Each(beside) => {
                copy_from::<I, N, GATHER>(elements, BLOCK, |first, position, k| {
                    at(first, position).wrapping_offset(beside.wrapping_mul(k as isize))
                })
            }
            Beside::Runs(runs) => {
                copy_from::<I, N, GATHER>(elements, runs.len(), |first, position, k| {
                    at(first, position).wrapping_offset(runs.beside(k))
                })
            }
        }
    }
}

/// [`copy`] in blocks of `block_len` indices. `address(first, position, k)` is the address of the
/// element that index number `k` of a block selects, whose position is `position`; `first` is where
/// position 0 is for the first index of the block.
///
/// # Safety
/// That of [`copy`], by indices of the size of `I`.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn copy_from<I: Unsigned, const N: usize, const GATHER: bool>(
    elements: &Elements<'_>,
    block_len: usize,
    address: impl Fn(*mut u8, u64, usize) -> *mut u8,
) -> bool {
    let axis = elements.axis();
    let copy = |selected: *mut u8, listed: *mut u8| {
        // SAFETY: upheld by the caller: both are elements of the arrays, which do not overlap.
        unsafe {
            if GATHER {
                selected.copy_to_nonoverlapping(listed, N);
            } else {
                listed.copy_to_nonoverlapping(selected, N);
            }
        }
    };
    // SAFETY: upheld by the caller.
    unsafe {
        if elements.ahead != Ahead::AtUse {
            return elements.blocks(N, block_len, |indices: &[I], (first, listed)| {
                axis.each(indices, |position, k| {
                    copy(address(first, position, k), listed.wrapping_add(k * N));
                })
            });
        }
        elements.blocks(N, block_len, |indices: &[I], (first, listed)| {
            axis.each(indices, |position, k| {
                let selected = address(first, position, k);
                prefetch_line(selected);
                copy(selected, listed.wrapping_add(k * N));
            })
        })
    }
}

impl Elements<'_> {
    /// Calls `visit` with each block of up to `block_len` indices, and with the addresses in the
    /// selected and the listed array at which the block starts, for elements of `size` bytes.
    /// Returns whether all calls returned true.
    ///
    /// # Safety
    /// The invariant of [`Elements`] holds, and indices have the size of `I`.
    #[allow(unsafe_code)]
    #[inline(always)]
    pub(in crate::memory) unsafe fn blocks<I: Meaning>(
        self,
        size: usize,
        block_len: usize,
        visit: impl Fn(&[I], (*mut u8, *mut u8)) -> bool,
    ) -> bool {
        let mut all = true;
        for lane in 0..self.lanes {
            let at = Offsets::ZERO.after(lane, self.step);
            let first = self.indices.wrapping_offset(at.indices);
            // SAFETY: upheld by the caller: the lane has `count` contiguous indices.
            let indices = unsafe { std::slice::from_raw_parts(first.cast::<I>(), self.count) };
            let mut selected = self.selected.wrapping_offset(at.selected);
            let mut listed = self.listed.wrapping_offset(at.listed);
            let mut later =
                if self.ahead == Ahead::Block { indices } else { &[] }.chunks(block_len);
            let mut prefetch = |first: *mut u8| {
                if let Some(block) = later.next() {
                    prefetch_selected(block, (self.axis(), self.axes[0].step), first, self.beside);
                }
            };
            prefetch(selected);
            for block in indices.chunks(block_len) {
                let (advance, lanes) = match self.beside {
                    Beside::Each(beside) => (beside.wrapping_mul(block.len() as isize), 0),
                    Beside::Runs(runs) => (runs.advance, runs.advance.unsigned_abs()),
                };
                if self.long {
                    prefetch_lists(
                        (block.as_ptr().cast(), size_of_val(block)),
                        (listed, size * block.len()),
                        (selected, lanes),
                    );
                }
                prefetch(selected.wrapping_offset(advance));
                all &= visit(block, (selected, listed));
                selected = selected.wrapping_offset(advance);
                if !self.repeated {
                    listed = listed.wrapping_add(size * block.len());
                }
            }
        }
        all
    }

    /// Calls `visit` with all elements, in order, in pieces of up to `most` elements of `size` bytes:
    /// parts of a lane, or up to `lanes` whole ones. Returns whether all calls returned true.
    ///
    /// `most` is at least [`BLOCK`], and `lanes` lanes are no more than `most` elements.
    pub(in crate::memory) fn pieces(
        self,
        size: usize,
        most: usize,
        lanes: usize,
        visit: impl Fn(Self) -> bool,
    ) -> bool {
        let (lanes, width) = (lanes.max(1), self.width.size());
        let (block, advance) = match self.beside {
            Beside::Each(beside) => (1, beside),
            Beside::Runs(runs) => (runs.len(), runs.advance),
        };
        let (most, mut all) = (most / block * block, true);
        for lane in (0..self.lanes).step_by(lanes) {
            let at = Offsets::ZERO.after(lane, self.step);
            for first in (0..self.count).step_by(most) {
                let beside = advance.wrapping_mul((first / block) as isize);
                let listed = if self.repeated { 0 } else { first * size };
                all &= visit(Elements {
                    indices: self.indices.wrapping_offset(at.indices).wrapping_add(first * width),
                    count: most.min(self.count - first),
                    lanes: lanes.min(self.lanes - lane),
                    selected: self.selected.wrapping_offset(at.selected.wrapping_add(beside)),
                    listed: self.listed.wrapping_offset(at.listed).wrapping_add(listed),
                    ..self
                });
            }
        }
        all
    }

    /// The axis along which indices select, if it is the only one.
    #[inline(always)]
    pub(in crate::memory) fn axis(&self) -> Axis {
        let len = self.axes[0].len as u64;
        let signed = matches!(self.width, Width::I32 | Width::I64);
        Axis { len, from_end: if signed { len } else { 0 } }
    }
}

/// An integer as which an index is read: unsigned, whether or not the index is.
pub(in crate::memory) trait Unsigned: Meaning + TryFrom<u64> {}

impl Unsigned for u32 {}
impl Unsigned for u64 {}

/// An axis along which indices select, for indices that are read as unsigned integers.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) struct Axis {
    len: u64,
    /// Added to indices that are no positions as they are: `len` if they are signed, else 0.
    from_end: u64,
}

impl Axis {
    /// Calls `visit` with the position of each index of a block, of at most `BLOCK` indices, and
    /// the number of the index in the block. Returns whether all indices are in bounds; an index
    /// out of bounds has position 0.
    #[inline(always)]
    pub(in crate::memory) fn each<I: Unsigned>(
        self,
        indices: &[I],
        visit: impl Fn(u64, usize),
    ) -> bool {
        // A longer block would be read beyond the end of `resolved`.
        assert!(indices.len() <= BLOCK);
        let mut resolved = [const { MaybeUninit::uninit() }; BLOCK];
        let (mut source, mut first, mut inside) = (indices.as_ptr(), 0, true);
        // One loop visits both the indices that are positions as they are and resolved positions,
        // since its code is compiled for each kernel.
        loop {
            // SAFETY: the rest of `indices`, or as many positions that `resolve` has written: there
            // are at most `BLOCK` (asserted above).
            #[allow(unsafe_code)]
            let rest = unsafe { std::slice::from_raw_parts(source, indices.len() - first) };
            first += self.positions(rest, |position, k| visit(position, first + k));
            if first == indices.len() {
                return inside;
            }
            // All of `resolved` are positions: the next iteration visits them to the end.
            inside = self.resolve(&indices[first..], &mut resolved);
            source = resolved.as_ptr().cast();
        }
    }

    /// Calls `visit` with each index that is a position as it is, up to the first that is not, and
    /// returns the number of calls. The loop is unrolled by four: how long an iteration with one
    /// index takes depends on the alignment of its code.
    #[inline(always)]
    fn positions<I: Meaning>(self, indices: &[I], visit: impl Fn(u64, usize)) -> usize {
        let fours = indices.chunks_exact(4);
        let rest = fours.remainder();
        for (iteration, four) in fours.enumerate() {
            for (k, index) in four.iter().enumerate() {
                let position = index.value() as u64;
                if position >= self.len {
                    return 4 * iteration + k;
                }
                visit(position, 4 * iteration + k);
            }
        }
        for (k, index) in (indices.len() - rest.len()..).zip(rest) {
            let position = index.value() as u64;
            if position >= self.len {
                return k;
            }
            visit(position, k);
        }
        indices.len()
    }

    /// Writes the position of each of up to `BLOCK` indices, or 0 if the index is out of bounds.
    /// Returns whether all are in bounds.
    #[inline(never)]
    fn resolve<I: Unsigned>(self, indices: &[I], slots: &mut [MaybeUninit<I>; BLOCK]) -> bool {
        let mut all = true;
        for (slot, &index) in slots.iter_mut().zip(indices) {
            let (position, inside) = self.position(index);
            all &= inside;
            slot.write(I::try_from(position).unwrap_or(index));
        }
        all
    }

    /// The position of an index and true, or 0 and false if the index is out of bounds.
    #[inline(always)]
    fn position<I: Meaning>(self, index: I) -> (u64, bool) {
        let position = self.nearest(index);
        let inside = position < self.len;
        (if inside { position } else { 0 }, inside)
    }

    /// The position of an index that is in bounds.
    #[inline(always)]
    fn nearest<I: Meaning>(self, index: I) -> u64 {
        let value = index.value() as u64;
        let sum = value.wrapping_add(if value >= self.len { self.from_end } else { 0 });
        if size_of::<I>() == 4 { u64::from(sum as u32) } else { sum }
    }
}

/// Prefetches what a block of indices selects, `first` being where position 0 is for the first of them,
/// along an axis of this step. 4M `f32` written in 10M 14.4 ms chunk by chunk, 12.0 by this.
#[inline(never)]
fn prefetch_selected<I: Meaning>(
    block: &[I],
    (axis, step): (Axis, isize),
    mut first: *mut u8,
    beside: Beside<'_>,
) {
    let at = |first: *mut u8, index: &I| {
        first.wrapping_offset((axis.nearest(*index) as isize).wrapping_mul(step))
    };
    match beside {
        Beside::Each(beside) => {
            for index in block {
                prefetch_line(at(first, index));
                first = first.wrapping_offset(beside);
            }
        }
        Beside::Runs(runs) => {
            for (index, beside) in block.iter().zip(runs.offsets()) {
                prefetch_line(at(first, index).wrapping_offset(*beside));
            }
        }
    }
}

/// Prefetches ahead of what is used now: indices, listed elements, and short lanes, each given by an
/// address and a number of bytes. Not inlined, since the loops that call it are compiled for each
/// kernel.
#[inline(never)]
fn prefetch_lists(indices: (*const u8, usize), listed: (*mut u8, usize), lanes: (*mut u8, usize)) {
    prefetch_ahead(indices.0, indices.1);
    prefetch_ahead(listed.0, listed.1);
    prefetch_ahead(lanes.0, lanes.1);
}
