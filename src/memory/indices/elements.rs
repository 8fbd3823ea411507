//! Goes through single elements while their indices are resolved: from memory, indices and
//! elements then come side by side, where by chunks one would rest while the other comes.
//!
//! Each index that is not negative is a position as it is, which is compared with the axis and
//! used at once, by the loop that one would write by hand. From the first one of a block on that
//! is not, what all of them mean is worked out first.

use std::mem::MaybeUninit;

use super::Indices;
use crate::index::Meaning;
use crate::memory::cpu::{is_long, of_caches, prefetch_ahead, prefetch_line};
use crate::memory::walk::{Component, Offsets};
use crate::threshold::threshold;

/// Indices after which those further on are asked for; and no longer are lanes that are joined.
pub(in crate::memory) const BLOCK: usize = threshold(64, 8);

/// What a kernel does with single elements while their indices are resolved.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) struct Single {
    /// The size of an element of both arrays in bytes.
    pub(in crate::memory) size: usize,
    pub(in crate::memory) does: Does,
    pub(in crate::memory) run: SingleRun,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::memory) enum Does {
    /// It copies to the list: what it wrote may be written again, so that what an index
    /// out of bounds stood for does no harm.
    Gather,
    /// It copies from the list.
    Write,
    /// It combines what is listed with what is selected, along one axis, which is dense, or where
    /// each selects beside the one before it.
    Combine,
}

/// Does it; tells whether all indices are in bounds. If one is not, some element of the
/// axis stands for what it selects.
///
/// # Safety
/// The elements are what their documentation promises, of the size that the function was
/// made for.
pub(in crate::memory) type SingleRun = unsafe fn(&Elements<'_>) -> bool;

/// As which integers indices are read, some at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::memory) enum Width {
    I32,
    U32,
    I64,
    U64,
}

impl Width {
    /// That of a type, if it has one of these sizes.
    pub(super) const fn of<I: Meaning>() -> Option<Self> {
        match (size_of::<I>(), I::SIGNED) {
            (4, true) => Some(Width::I32),
            (4, false) => Some(Width::U32),
            (8, true) => Some(Width::I64),
            (8, false) => Some(Width::U64),
            _ => None,
        }
    }

    /// In bytes.
    pub(in crate::memory) fn size(self) -> usize {
        match self {
            Width::I32 | Width::U32 => 4,
            Width::I64 | Width::U64 => 8,
        }
    }
}

/// How many bytes further on an index selects than the first of its lane would.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) enum Beside<'e> {
    /// So many for each before it.
    Each(isize),
    /// As [`ShortRuns`] say.
    Runs(&'e ShortRuns),
}

/// Short runs as one lane: each index selects beside the one before it, or the same axis, and the
/// first of each run beside the first of the run before. 85,000 runs of 2 take 0.13 ms so, each by
/// itself 0.42.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) struct ShortRuns {
    besides: [isize; BLOCK],
    /// How many of these are in whole runs: `BLOCK` at most.
    count: usize,
    /// How far so many select beside as many before them.
    on: isize,
}

impl ShortRuns {
    /// Of runs of so many indices, if they are short; each index selects `beside` the one before
    /// it, and the first of each run `across` from the first of the run before.
    pub(in crate::memory) fn of(run: usize, beside: isize, across: isize) -> Option<Self> {
        if !(2..=BLOCK).contains(&run) {
            return None;
        }
        let mut besides = [0; BLOCK];
        for (iteration, run) in besides.chunks_mut(run).enumerate() {
            let first = across.wrapping_mul(iteration as isize);
            for (k, one) in run.iter_mut().enumerate() {
                *one = first.wrapping_add(beside.wrapping_mul(k as isize));
            }
        }
        let runs = BLOCK / run;
        let on = across.wrapping_mul(runs as isize);
        Some(ShortRuns { besides, count: runs * run, on })
    }

    /// In whole runs.
    #[inline]
    pub(in crate::memory) fn len(&self) -> usize {
        self.count
    }

    /// How far the index of this number selects beside the first.
    ///
    /// # Safety
    /// There are more than that.
    #[allow(unsafe_code)]
    #[inline(always)]
    pub(in crate::memory) unsafe fn beside(&self, k: usize) -> isize {
        // SAFETY: the caller's promise; no more than `BLOCK` are in whole runs.
        unsafe { *self.besides.get_unchecked(k) }
    }
}

/// Elements that indices select along an axis, and those of a list: the first of `lanes`
/// that are `step` apart, of `count` elements each.
///
/// Promised is: in each lane there are `count` indices that follow each other, an integer of
/// `width` for each of the axes, and as many listed elements that follow each other too; what
/// the axes reach, from each of the places beside, and what is listed can be read, and
/// written where that is what is done; the two do not overlap. Where one value is `repeated`, a
/// block of it is listed, and nothing is `step.listed` apart. Lengths of the axes are
/// less than 2^31, and not 0; of several also their steps, and nothing is beside.
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
    /// Whether what is listed for all is one [`Repeated`] value, which is only read.
    pub(in crate::memory) repeated: bool,
}

/// One value for all indices, as often as a block may read it: so kernels that read a list need no
/// loops of their own for it.
#[derive(Debug)]
pub(in crate::memory) struct Repeated {
    room: [MaybeUninit<u128>; BLOCK],
}

impl Repeated {
    /// Larger values have no room.
    pub(in crate::memory) const LARGEST: usize = size_of::<u128>();

    /// # Safety
    /// A value of so many bytes can be read, of 1 to [`LARGEST`](Self::LARGEST).
    #[allow(unsafe_code)]
    pub(in crate::memory) unsafe fn of(value: *const u8, size: usize) -> Self {
        let mut room = [MaybeUninit::uninit(); BLOCK];
        let (first, mut len) = (room.as_mut_ptr().cast::<u8>(), size);
        // SAFETY: the caller's promise; `len` bytes are values, and no more than `BLOCK` of them
        // are made.
        unsafe {
            first.copy_from_nonoverlapping(value, size);
            while len < BLOCK * size {
                let more = len.min(BLOCK * size - len);
                first.add(len).copy_from_nonoverlapping(first, more);
                len += more;
            }
        }
        Repeated { room }
    }

    /// Where a list of them begins.
    pub(in crate::memory) fn start(&self) -> *const u8 {
        self.room.as_ptr().cast()
    }
}

impl Indices<'_> {
    /// As what indices so many bytes apart are read, where elements along such an axis can be
    /// gone through as [`Elements`] are.
    pub(in crate::memory) fn singly(&self, axis: &Component, step: isize) -> Option<Width> {
        let dense = step == self.kind.size as isize;
        // Then a negative index that is read without its sign is no position.
        let small = i32::try_from(axis.len).is_ok();
        self.kind.width.filter(|_| dense && small && axis.len > 0)
    }
}

/// Copies elements of `N` bytes, to the list or from it.
///
/// # Safety
/// That of [`SingleRun`].
#[allow(unsafe_code)]
pub(in crate::memory) unsafe fn copy<const N: usize, const GATHER: bool>(
    elements: &Elements<'_>,
) -> bool {
    // SAFETY: the caller's promise. Integers without a sign have the size of those with one.
    unsafe {
        match elements.width {
            Width::I32 | Width::U32 => copy_by::<u32, N, GATHER>(elements),
            Width::I64 | Width::U64 => copy_by::<u64, N, GATHER>(elements),
        }
    }
}

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
    // SAFETY: the caller's promise; blocks of short runs are as long as these.
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

/// Copies elements in blocks of so many. Which is selected, `place` tells from the first of its
/// lane, the position that an index means, and its number in the block.
///
/// # Safety
/// That of [`copy`], by indices of the size of `I`.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn copy_from<I: Unsigned, const N: usize, const GATHER: bool>(
    elements: &Elements<'_>,
    most: usize,
    place: impl Fn(*mut u8, u64, usize) -> *mut u8,
) -> bool {
    let axis = elements.axis();
    let copy = |selected: *mut u8, listed: *mut u8| {
        // SAFETY: the caller's promise: elements of these arrays.
        unsafe {
            if GATHER {
                selected.copy_to_nonoverlapping(listed, N);
            } else {
                listed.copy_to_nonoverlapping(selected, N);
            }
        }
    };
    let reach = elements.axes[0].len.saturating_mul(elements.axes[0].step.unsigned_abs());
    // SAFETY: the caller's promise.
    unsafe {
        if reach < of_caches(|caches| caches.second / 4, 32) {
            return elements.blocks(N, most, |indices: &[I], (first, listed)| {
                axis.each(indices, |position, k| {
                    copy(place(first, position, k), listed.wrapping_add(k * N));
                })
            });
        }
        // Each line is asked for just before it is used: then more loads are on their way, and
        // stores do not wait for their lines one after the other.
        elements.blocks(N, most, |indices: &[I], (first, listed)| {
            axis.each(indices, |position, k| {
                let selected = place(first, position, k);
                prefetch_line(selected);
                copy(selected, listed.wrapping_add(k * N));
            })
        })
    }
}

impl Elements<'_> {
    /// Calls `visit` with blocks of up to so many indices, and with the places where what they
    /// select and what is listed begins, of elements of `size` bytes; tells whether all calls did.
    ///
    /// # Safety
    /// The elements are what their documentation promises, and indices have the size of `I`.
    #[allow(unsafe_code)]
    #[inline(always)]
    pub(in crate::memory) unsafe fn blocks<I: Meaning>(
        self,
        size: usize,
        most: usize,
        visit: impl Fn(&[I], (*mut u8, *mut u8)) -> bool,
    ) -> bool {
        let long =
            is_long(self.lanes.saturating_mul(self.count).saturating_mul(size_of::<I>() + size));
        let mut all = true;
        for lane in 0..self.lanes {
            let at = Offsets::ZERO.after(lane, self.step);
            let first = self.indices.wrapping_offset(at.indices);
            // SAFETY: the caller's promise.
            let indices = unsafe { std::slice::from_raw_parts(first.cast::<I>(), self.count) };
            let mut selected = self.selected.wrapping_offset(at.selected);
            let mut listed = self.listed.wrapping_offset(at.listed);
            for block in indices.chunks(most) {
                if long {
                    prefetch_lists(
                        block.as_ptr().cast(),
                        size_of_val(block),
                        listed,
                        size * block.len(),
                    );
                }
                all &= visit(block, (selected, listed));
                let on = match self.beside {
                    Beside::Each(beside) => beside.wrapping_mul(block.len() as isize),
                    Beside::Runs(runs) => runs.on,
                };
                selected = selected.wrapping_offset(on);
                if !self.repeated {
                    listed = listed.wrapping_add(size * block.len());
                }
            }
        }
        all
    }

    /// What indices select along, where that is one axis.
    #[inline(always)]
    pub(in crate::memory) fn axis(&self) -> Axis {
        let len = self.axes[0].len as u64;
        let signed = matches!(self.width, Width::I32 | Width::I64);
        Axis { len, from_end: if signed { len } else { 0 } }
    }
}

/// An index as it is read.
pub(in crate::memory) trait Unsigned: Meaning + TryFrom<u64> {}

impl Unsigned for u32 {}
impl Unsigned for u64 {}

/// What indices select along, which are read as if they had no sign.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) struct Axis {
    len: u64,
    /// What is added to those that are no positions.
    from_end: u64,
}

impl Axis {
    /// Calls `visit` with the position that each index of a block means, and its number; tells
    /// whether all are in bounds. For one that is not, it visits position 0.
    #[inline(always)]
    pub(in crate::memory) fn each<I: Unsigned>(
        self,
        indices: &[I],
        visit: impl Fn(u64, usize),
    ) -> bool {
        let mut room = [const { MaybeUninit::uninit() }; BLOCK];
        let (mut list, mut first, mut inside) = (indices.as_ptr(), 0, true);
        // One loop for both, since it is compiled for each kernel.
        loop {
            // SAFETY: the rest of the indices, or as many in the room.
            #[allow(unsafe_code)]
            let rest = unsafe { std::slice::from_raw_parts(list, indices.len() - first) };
            first += self.positions(rest, |position, k| visit(position, first + k));
            if first == indices.len() {
                return inside;
            }
            // Of these all are positions.
            inside = self.resolve(&indices[first..], &mut room);
            list = room.as_ptr().cast();
        }
    }

    /// Calls `visit` with the indices that are positions as they are, four an iteration, up to the first
    /// that is not, and tells how many: how long an iteration of one takes depends on where its code lies.
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

    /// Writes the positions that up to a block of indices mean, or 0, and tells whether all are in
    /// bounds.
    #[inline(never)]
    fn resolve<I: Unsigned>(self, indices: &[I], room: &mut [MaybeUninit<I>; BLOCK]) -> bool {
        let mut all = true;
        for (slot, &index) in room.iter_mut().zip(indices) {
            let (position, inside) = self.position(index);
            all &= inside;
            slot.write(I::try_from(position).unwrap_or(index));
        }
        all
    }

    /// The position that an index means, or 0, and whether there is one.
    #[inline(always)]
    fn position<I: Meaning>(self, index: I) -> (u64, bool) {
        let value = index.value() as u64;
        let sum = value.wrapping_add(if value >= self.len { self.from_end } else { 0 });
        let position = if size_of::<I>() == 4 { u64::from(sum as u32) } else { sum };
        let inside = position < self.len;
        (if inside { position } else { 0 }, inside)
    }
}

/// Asks for two lists further on. Not inlined, since the loops that call it are compiled for each
/// kernel.
#[inline(never)]
fn prefetch_lists(indices: *const u8, bytes: usize, listed: *const u8, listed_bytes: usize) {
    prefetch_ahead(indices, bytes);
    prefetch_ahead(listed, listed_bytes);
}
