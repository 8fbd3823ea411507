//! Goes through single elements while their indices are resolved: from memory, indices and
//! elements then come side by side, where by chunks one would rest while the other comes.
//!
//! Indices that are not negative are used as they are along an axis whose elements follow each
//! other, by the loop that one would write by hand. Others, and those that select beside each
//! other, become offsets four at a time.

use super::Indices;
use super::resolve::beyond;
use crate::index::Meaning;
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
use crate::memory::cpu::{Avx2, fours};
use crate::memory::cpu::{ask_on, is_long, prefetch_line};
use crate::memory::walk::{Component, Offsets};

/// Indices after which those further on are asked for.
const BLOCK: usize = 64;

/// In how many lanes side by side indices may select by turns.
pub(in crate::memory) const MOST_BESIDE: usize = 8;

/// What a kernel does with single elements while their indices are resolved.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) struct Single {
    /// The size of an element of both arrays in bytes.
    pub(in crate::memory) size: usize,
    /// Whether it copies to the list: what it wrote may be written again, so that what an index
    /// out of bounds stood for does no harm.
    pub(in crate::memory) gather: bool,
    pub(in crate::memory) run: SingleRun,
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
}

/// Elements that indices select along an axis, and those of a list: the first of `lanes`
/// that are `step` apart, of `count` elements each. Each index selects `beside`
/// bytes further on than the one before it would.
///
/// Promised is: in each lane there are `count` indices that follow each other, an integer of
/// `width` for each of the axes, and as many listed elements that follow each other too; what
/// the axes reach, from each of the places beside, and what is listed can be read, and
/// written where that is what is done; the two do not overlap. Lengths and steps of the axes
/// are less than 2^31, and no length is 0. Of several axes nothing is beside.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) struct Elements<'e> {
    pub(in crate::memory) indices: *const u8,
    pub(in crate::memory) width: Width,
    pub(in crate::memory) count: usize,
    pub(in crate::memory) lanes: usize,
    pub(in crate::memory) step: Offsets,
    pub(in crate::memory) axes: &'e [Component],
    pub(in crate::memory) beside: isize,
    pub(in crate::memory) selected: *mut u8,
    pub(in crate::memory) listed: *mut u8,
}

impl Indices<'_> {
    /// As what indices so many bytes apart are read, where elements along such an axis can be
    /// gone through as [`Elements`] are.
    pub(in crate::memory) fn singly(&self, axis: &Component, step: isize) -> Option<Width> {
        let dense = step == self.kind.size as isize;
        // Then a product of the two is that of two halves of a register.
        let small = i32::try_from(axis.len).is_ok() && i32::try_from(axis.step).is_ok();
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
    // SAFETY: the caller's promise.
    unsafe {
        match elements.width {
            Width::I32 => copy_by::<i32, N, GATHER>(elements),
            Width::U32 => copy_by::<u32, N, GATHER>(elements),
            Width::I64 => copy_by::<i64, N, GATHER>(elements),
            Width::U64 => copy_by::<u64, N, GATHER>(elements),
        }
    }
}

/// # Safety
/// That of [`copy`], by indices of this type.
#[allow(unsafe_code)]
unsafe fn copy_by<I: Meaning, const N: usize, const GATHER: bool>(elements: &Elements<'_>) -> bool {
    let Component { len, step, .. } = elements.axes[0];
    // SAFETY: the caller's promise.
    unsafe {
        if elements.beside != 0 || step != N as isize {
            let (elements, every) = elements.joined(size_of::<I>(), N);
            return offsets::<I, N, GATHER>(elements.lanes::<I>(), elements.along(every));
        }
        let along = elements.along(usize::MAX);
        let count = elements.lanes.saturating_mul(elements.count);
        let long = is_long(count.saturating_mul(size_of::<I>() + N));
        elements.lanes::<I>().fold(true, |inside, (indices, places)| {
            let done = positions::<I, N, GATHER>(indices, (len, long), places);
            let rest = (&indices[done..], (places.0, places.1.wrapping_add(N * done)));
            inside & (done == indices.len() || offsets::<I, N, GATHER>([rest].into_iter(), along))
        })
    }
}

/// Copies the elements that indices select along an axis of `len` whose elements of `N` bytes
/// follow each other, up to an index that is no position as it is; tells how many. `long` lists
/// are asked for ahead, and each line that is selected just before it is used: then more loads
/// are on their way, and stores do not wait for their lines one after the other.
///
/// # Safety
/// The axis begins at the first place, and at the second a list as long as there are indices;
/// both can be read, and written where that is what is done.
#[allow(unsafe_code)]
unsafe fn positions<I: Meaning, const N: usize, const GATHER: bool>(
    indices: &[I],
    (len, long): (usize, bool),
    places: (*mut u8, *mut u8),
) -> usize {
    let (selected, mut listed) = places;
    let mut done = 0;
    for block in indices.chunks(BLOCK) {
        if long {
            ask_on(block.as_ptr().cast(), size_of_val(block));
            ask_on(listed, N * block.len());
        }
        // SAFETY: the caller's promise.
        let count = unsafe { positions_of_block::<I, N, GATHER>(block, len, (selected, listed)) };
        done += count;
        if count < block.len() {
            break;
        }
        listed = listed.wrapping_add(N * count);
    }
    done
}

/// # Safety
/// That of [`positions`].
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn positions_of_block<I: Meaning, const N: usize, const GATHER: bool>(
    indices: &[I],
    len: usize,
    places: (*mut u8, *mut u8),
) -> usize {
    let position = |index: &I| index.value() as u64;
    let copy = |k: usize, index: &I| {
        let offset = position(index) as isize * N as isize;
        prefetch_line(places.0.wrapping_offset(offset));
        // SAFETY: the caller's promise.
        unsafe { one::<N, GATHER>(offset, k, places) };
    };
    // Gathers go four a turn: how long a turn of one takes depends on where its code lies.
    // Writes one a turn: four wait longer for lines that come from memory.
    let fours = indices[..if GATHER { indices.len() } else { 0 }].chunks_exact(4);
    let rest = if GATHER { fours.remainder() } else { indices };
    for (turn, four) in fours.enumerate() {
        if four.iter().any(|index| position(index) >= len as u64) {
            return 4 * turn;
        }
        four.iter().enumerate().for_each(|(k, index)| copy(4 * turn + k, index));
    }
    let done = indices.len() - rest.len();
    let inside = rest.iter().take_while(|index| position(index) < len as u64);
    done + inside.enumerate().map(|(k, index)| copy(done + k, index)).count()
}

/// Copies the elements that the indices of lanes select, as [`SingleRun`] says.
///
/// # Safety
/// Each lane's are those of [`copy`], and its places where what they select and what is
/// listed begins.
#[allow(unsafe_code)]
unsafe fn offsets<'i, I: Meaning, const N: usize, const GATHER: bool>(
    lanes: impl Iterator<Item = (&'i [I], (*mut u8, *mut u8))>,
    along: Along,
) -> bool {
    let visit = |(selected, listed): &mut (*mut u8, *mut u8), offset: isize| {
        // SAFETY: the caller's promise; the offset is that of a position of the axis.
        unsafe { one::<N, GATHER>(offset, 0, (*selected, *listed)) };
        *listed = listed.wrapping_add(N);
    };
    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
    if let Some(avx2) = Avx2::detect() {
        return fours(avx2, lanes, along, visit) >= 0;
    }
    // Negative where an index is out of bounds.
    let mut bits = 0;
    for (indices, mut lane) in lanes {
        for turn in indices.chunks(along.every) {
            for (k, &index) in turn.iter().enumerate() {
                let (outside, offset) = along.offset(k, index);
                bits |= outside;
                visit(&mut lane, offset);
            }
        }
    }
    bits >= 0
}

/// Copies the element at an offset to the list, where it is the `k`-th, or from there.
///
/// # Safety
/// There are elements of `N` bytes at both places, which can be read, and written where that is
/// what is done.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn one<const N: usize, const GATHER: bool>(
    offset: isize,
    k: usize,
    (selected, listed): (*mut u8, *mut u8),
) {
    let (selected, listed) = (selected.wrapping_offset(offset), listed.wrapping_add(k * N));
    // SAFETY: the caller's promise.
    unsafe {
        if GATHER {
            selected.copy_to_nonoverlapping(listed, N);
        } else {
            listed.copy_to_nonoverlapping(selected, N);
        }
    }
}

impl Elements<'_> {
    /// Each lane's indices, and where what they select and what is listed begins.
    ///
    /// # Safety
    /// The elements are what their documentation promises, and indices are of this type.
    #[allow(unsafe_code)]
    #[inline(always)]
    unsafe fn lanes<'i, I: Meaning>(self) -> impl Iterator<Item = (&'i [I], (*mut u8, *mut u8))> {
        (0..self.lanes).map(move |lane| {
            let at = Offsets::ZERO.after(lane, self.step);
            let first = self.indices.wrapping_offset(at.indices);
            // SAFETY: the caller's promise.
            let indices = unsafe { std::slice::from_raw_parts(first.cast::<I>(), self.count) };
            let selected = self.selected.wrapping_offset(at.selected);
            (indices, (selected, self.listed.wrapping_offset(at.listed)))
        })
    }

    fn along(&self, every: usize) -> Along {
        Along { len: self.axes[0].len, step: self.axes[0].step, beside: self.beside, every }
    }

    /// Short lanes that follow each other and select beside the same element are one, in which
    /// indices select beside it anew every so many: 85,000 lanes of 2 take 0.13 ms so, each
    /// by itself 0.42.
    fn joined(self, index: usize, size: usize) -> (Self, usize) {
        let Elements { count, lanes, step, .. } = self;
        let apart = [step.selected, step.indices, step.listed];
        let follow = apart == [0, index, size].map(|bytes| (bytes * count) as isize);
        if !follow || !(1..=MOST_BESIDE).contains(&count) {
            return (self, usize::MAX);
        }
        (Elements { count: count * lanes, lanes: 1, ..self }, count)
    }
}

/// What the indices of a lane select along: an axis of `len > 0` elements, both its length
/// and its step less than 2^31, and how far each selects beside the one before it, or, after
/// `every` of them, again where the first did.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) struct Along {
    pub(in crate::memory) len: usize,
    pub(in crate::memory) step: isize,
    pub(in crate::memory) beside: isize,
    pub(in crate::memory) every: usize,
}

impl Along {
    /// The offset that an index selects, which is less than `every` after one that selects
    /// where the first of its lane does, and a number that is negative where the index is out
    /// of bounds, for which position 0 is selected.
    #[inline(always)]
    pub(in crate::memory) fn offset<I: Meaning>(&self, k: usize, index: I) -> (i64, isize) {
        let position = index.position(self.len);
        let outside = beyond(position, self.len);
        let position = if outside < 0 { 0 } else { position as isize };
        let offset = position.wrapping_mul(self.step);
        (outside, offset.wrapping_add(self.beside.wrapping_mul(k as isize)))
    }
}
