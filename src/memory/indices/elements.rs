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
use super::axis::{Axis, Unsigned};
use super::short_runs::ShortRuns;
use crate::index::Meaning;
use crate::memory::cpu::{prefetch_line, prefetch_list};
use crate::memory::walk::{Component, Offsets};
use crate::threshold::threshold;

/// Number of indices between two prefetches, and the most indices of a block of [`ShortRuns`].
pub(in crate::memory) const BLOCK: usize = threshold(64, 8);

/// The most indices that are widened at a time.
pub(super) const WIDENED: usize = threshold(512, 16);

/// What a kernel does with single elements whose indices it resolves itself
/// ([`Kernel::run_single`](crate::memory::tile::Kernel::run_single)).
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) struct Single {
    /// Size of a listed element in bytes.
    pub(in crate::memory) size: usize,
    pub(in crate::memory) action: Action,
    /// If more than this part (numerator and denominator) of the indices in a sample repeat the one before,
    /// the kernel that runs chunk by chunk is faster: it combines the updates of a target with each other
    /// first, where an action on the same element would wait for the one before. `None`: it never is.
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
    /// Combines the listed with the selected element. Indices select along one axis.
    Combine,
    /// The same by a function of the caller's, which sees the listed element itself, not a copy.
    Fold,
}

impl Action {
    /// That of a copy, which gathers if `GATHER`.
    #[inline(always)]
    pub(in crate::memory) const fn of_copy<const GATHER: bool>() -> Self {
        if GATHER { Action::Gather } else { Action::Write }
    }
}

/// Runs a kernel over all elements and returns whether all indices are in bounds. An index out of
/// bounds selects some element of the axis instead.
///
/// # Safety
/// The invariant of [`Elements`] holds, for elements of the size that the function was made for.
pub(in crate::memory) type SingleFn = unsafe fn(&Elements<'_>) -> bool;

/// The integer type of indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::memory) struct Width {
    /// Size in bytes.
    pub(in crate::memory) size: usize,
    pub(in crate::memory) signed: bool,
}

impl Width {
    /// That of an index type.
    pub(in crate::memory) const fn of<I: Meaning>() -> Self {
        Width { size: size_of::<I>(), signed: I::SIGNED }
    }

    /// Whether kernels read such indices only once they are [widened](Elements::widened).
    pub(in crate::memory) fn is_narrow(self) -> bool {
        self.size < size_of::<u32>()
    }
}

/// Writes indices as integers of four bytes: contiguous ones from this address on, one to each slot.
///
/// # Safety
/// As many indices as there are slots can be read, of the type that the function was made for, which has
/// no more than four bytes.
pub(super) type WidenFn = unsafe fn(*const u8, &mut [MaybeUninit<u32>]);

/// The offset in bytes at which index number `k` of a lane selects, in addition to that of its
/// position along the axis.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) enum Beside<'e> {
    /// `k` times this number.
    Each(isize),
    /// That of a table, which has one for each index of a block: `k` counts from the first of these, and what a block
    /// selects is `advance` bytes further on than what the block before does.
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
///   and as many contiguous listed elements. Where a kernel runs, `width` has 4 or 8 bytes.
/// - All elements that the axes reach, from each offset of `beside`, and all listed elements can be
///   read, and written where the kernel writes them. Selected and listed elements do not overlap.
/// - If one value is `repeated`, `listed` is a block of it ([`Repeated`](super::repeated::Repeated)), and
///   `step.listed` is 0.
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
    pub(in crate::memory) prefetch: Prefetch,
}

/// What is prefetched while single elements are copied or combined.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) struct Prefetch {
    pub(in crate::memory) selected: Ahead,
    /// The prefetch distance, if that pays: how many bytes before their use indices, listed elements and what short
    /// runs select are prefetched.
    ///
    /// Where `next_lane` is not 0, `selected` is another distance: from where a lane selects to the lowest address
    /// of those among which the next lane selects.
    pub(in crate::memory) distance: Option<Offsets>,
    /// The number of bytes of what the next lane selects that are prefetched with each block of indices,
    /// if there is a `distance`: all of it, piece by piece.
    pub(in crate::memory) next_lane: usize,
}

#[cfg(test)]
impl Prefetch {
    /// Nothing is prefetched.
    pub(in crate::memory) const NOTHING: Self =
        Prefetch { selected: Ahead::Never, distance: None, next_lane: 0 };
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
    /// Whether indices can be those of [`Elements`]: contiguous (`step` is the distance in bytes from one
    /// to the next), along an axis that is short enough.
    pub(in crate::memory) fn serve_singles(&self, axis: &Component, step: isize) -> bool {
        // Then a negative index, read as an unsigned integer, is out of bounds.
        let small = i32::try_from(axis.len).is_ok();
        step == self.size() as isize && small && axis.len > 0
    }
}

/// Copies elements of `N` bytes: from the selected to the listed array if `GATHER`, else back.
///
/// # Safety
/// That of [`SingleFn`].
#[allow(unsafe_code)]
pub(in crate::memory) unsafe fn copy<const N: usize, const GATHER: bool>(
    elements: &Elements<'_>,
) -> bool {
    // SAFETY: the caller's promise. Unsigned integers have the size of signed ones.
    unsafe {
        match elements.width.size {
            4 => copy_by::<u32, N, GATHER>(elements),
            8 => copy_by::<u64, N, GATHER>(elements),
            _ => unreachable!("narrow indices are widened first"),
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
    // SAFETY: the caller's promise; blocks of short runs have `runs.len()` indices, so that `k` is
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
        // SAFETY: the caller's promise: both are elements of the arrays, which do not overlap.
        unsafe {
            if GATHER {
                selected.copy_to_nonoverlapping(listed, N);
            } else {
                listed.copy_to_nonoverlapping(selected, N);
            }
        }
    };
    // SAFETY: the caller's promise.
    unsafe {
        if elements.prefetch.selected != Ahead::AtUse {
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
        let (mut all, ahead) = (true, self.prefetch.selected == Ahead::Block);
        if ahead {
            // SAFETY: the caller's promise.
            unsafe { self.prefetch_block::<I>(0, 0, block_len) };
        }
        for lane in 0..self.lanes {
            let at = Offsets::ZERO.after(lane, self.step);
            // SAFETY: the caller's promise; there is such a lane.
            let indices = unsafe { self.lane::<I>(lane) };
            let mut selected = self.selected.wrapping_offset(at.selected);
            let mut listed = self.listed.wrapping_offset(at.listed);
            let mut later = selected;
            for (number, block) in indices.chunks(block_len).enumerate() {
                let (advance, next) = match self.beside {
                    Beside::Each(beside) => (
                        beside.wrapping_mul(block.len() as isize),
                        self.prefetch.next_lane as isize,
                    ),
                    Beside::Runs(runs) => (runs.advance, runs.advance),
                };
                if let Some(by) = self.prefetch.distance {
                    prefetch_lists(
                        (
                            block.as_ptr().cast::<u8>().wrapping_offset(by.indices),
                            size_of_val(block),
                        ),
                        (listed.wrapping_offset(by.listed), size * block.len()),
                        (later.wrapping_offset(by.selected), next.unsigned_abs()),
                    );
                    later = later.wrapping_offset(next);
                }
                if ahead {
                    // SAFETY: the caller's promise.
                    unsafe { self.prefetch_block::<I>(lane, number + 1, block_len) };
                }
                all &= visit(block, (selected, listed));
                selected = selected.wrapping_offset(advance);
                if !self.repeated {
                    listed = listed.wrapping_add(size * block.len());
                }
            }
        }
        all
    }

    /// The indices of lane number `lane`.
    ///
    /// # Safety
    /// That of [`blocks`](Self::blocks), and `lane` is less than `lanes`.
    #[allow(unsafe_code)]
    #[inline(always)]
    unsafe fn lane<I: Meaning>(&self, lane: usize) -> &[I] {
        let first = self.indices.wrapping_offset(Offsets::ZERO.after(lane, self.step).indices);
        // SAFETY: the caller's promise: the lane has `count` contiguous indices.
        unsafe { std::slice::from_raw_parts(first.cast::<I>(), self.count) }
    }

    /// Prefetches what block number `number` of a lane selects; if the lane ends before that, the first
    /// block of the next lane. 4M `f32` written in 10M 14.4 ms chunk by chunk, 12.0 by this.
    ///
    /// # Safety
    /// That of [`blocks`](Self::blocks), and `lane` is less than `lanes`.
    #[allow(unsafe_code)]
    #[inline(never)]
    unsafe fn prefetch_block<I: Meaning>(&self, lane: usize, number: usize, block_len: usize) {
        let ends = number * block_len >= self.count;
        let (lane, number) = if ends { (lane + 1, 0) } else { (lane, number) };
        if lane >= self.lanes {
            return;
        }
        // SAFETY: the caller's promise; there is such a lane.
        let indices = unsafe { self.lane::<I>(lane) };
        let block = indices.chunks(block_len).nth(number).unwrap_or_default();
        let advance = match self.beside {
            Beside::Each(beside) => beside.wrapping_mul(block_len as isize),
            Beside::Runs(runs) => runs.advance,
        };
        let at = Offsets::ZERO.after(lane, self.step).selected;
        let offset = at.wrapping_add(advance.wrapping_mul(number as isize));
        let mut first = self.selected.wrapping_offset(offset);
        let (axis, step) = (self.axis(), self.axes[0].step);
        let at = |first: *mut u8, index: &I| {
            first.wrapping_offset((axis.position_inside(*index) as isize).wrapping_mul(step))
        };
        match self.beside {
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

    /// Calls `visit` with all elements, in order, in pieces whose indices, which are [narrow](Width::is_narrow),
    /// are widened to four bytes in a buffer by `widen`. Returns whether all calls returned true. Listed elements
    /// have `size` bytes.
    ///
    /// # Safety
    /// The invariant of [`Elements`] holds, for indices of the narrow type that `widen` was made for.
    #[allow(unsafe_code)]
    pub(super) unsafe fn widened(
        self,
        size: usize,
        widen: WidenFn,
        visit: impl Fn(&Elements<'_>) -> bool,
    ) -> bool {
        let width = Width { size: size_of::<u32>(), ..self.width };
        self.pieces(size, WIDENED, 1, |piece| {
            let distance = piece.prefetch.distance.map(|by| {
                let later = piece.indices.wrapping_offset(by.indices);
                prefetch_list(later, piece.count * self.width.size);
                Offsets { indices: 0, ..by }
            });
            let prefetch = Prefetch { distance, ..piece.prefetch };
            let mut wide = [const { MaybeUninit::uninit() }; WIDENED];
            // SAFETY: the caller's promise; a piece is of one lane, and has as many indices as slots here
            // (`pieces`).
            unsafe { widen(piece.indices, &mut wide[..piece.count]) };
            visit(&Elements { indices: wide.as_ptr().cast(), width, prefetch, ..piece })
        })
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
        let (lanes, width) = (lanes.max(1), self.width.size);
        let (block, advance) = match self.beside {
            Beside::Each(beside) => (1, beside),
            Beside::Runs(runs) => (runs.len(), runs.advance),
        };
        let prefetch = |first: usize| {
            let pieces = (first / BLOCK * self.prefetch.next_lane) as isize;
            let by = |by: Offsets| Offsets { selected: by.selected.wrapping_add(pieces), ..by };
            Prefetch { distance: self.prefetch.distance.map(by), ..self.prefetch }
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
                    prefetch: prefetch(first),
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
        Axis::new(len, self.width.signed)
    }
}

/// Prefetches indices, listed and selected elements, each given by an address and a number of bytes,
/// to L2. Not inlined, since the loops that call it are compiled for each kernel.
#[inline(never)]
fn prefetch_lists(
    indices: (*const u8, usize),
    listed: (*mut u8, usize),
    selected: (*mut u8, usize),
) {
    prefetch_list(indices.0, indices.1);
    prefetch_list(listed.0, listed.1);
    prefetch_list(selected.0, selected.1);
}
