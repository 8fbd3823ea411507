//! Copies single elements while their indices are resolved, a few at a time: from
//! memory, indices and elements then come side by side, where by chunks one would
//! rest while the other comes.

use super::Indices;
use super::resolve::beyond;
use crate::index::Meaning;
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
use crate::memory::cpu;
use crate::memory::walk::{Component, Offsets};

/// How single elements are copied, where a kernel does nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::memory) struct Single {
    /// The size of an element in bytes.
    pub(in crate::memory) size: usize,
    /// From what indices select to the list, or back.
    pub(in crate::memory) gather: bool,
}

/// Elements to copy between what indices select along an axis and a list: the first of
/// `lanes` that are `step` apart, of `count` elements each. Each index selects `beside`
/// bytes further on than the one before it would.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) struct Elements {
    pub(in crate::memory) indices: *const u8,
    pub(in crate::memory) count: usize,
    pub(in crate::memory) lanes: usize,
    pub(in crate::memory) step: Offsets,
    pub(in crate::memory) axis: Component,
    pub(in crate::memory) beside: isize,
    pub(in crate::memory) selected: *mut u8,
    pub(in crate::memory) listed: *mut u8,
    pub(in crate::memory) single: Single,
}

/// Indices of these sizes, and elements of these.
const SIZES: [usize; 3] = [1, 4, 8];

impl Indices<'_> {
    /// Whether [`copy`](Self::copy) copies such elements along such an axis, for
    /// indices so many bytes apart.
    pub(in crate::memory) fn can_copy(
        &self,
        single: Single,
        axis: &Component,
        step: isize,
    ) -> bool {
        self.kind.copy.is_some()
            && SIZES.contains(&single.size)
            && step == self.kind.size as isize
            && axis.len > 0
            // Then a product of the two is that of two halves of a register.
            && i32::try_from(axis.len).is_ok()
            && i32::try_from(axis.step).is_ok()
    }

    /// Copies elements; tells whether all of their indices are in bounds. If one is
    /// not, some element of the axis stands for what it selects.
    ///
    /// # Safety
    /// [`can_copy`](Self::can_copy) said so. In each lane the indices are elements of
    /// this array that follow each other, the listed elements follow each other too, what
    /// the axis reaches and what is listed can be read and written as `gather` asks, and
    /// the two do not overlap.
    #[allow(unsafe_code)]
    pub(in crate::memory) unsafe fn copy(&self, elements: &Elements) -> bool {
        // SAFETY: the caller's promise; `kind` is of their type.
        self.kind.copy.is_some_and(|copy| unsafe { copy(elements) })
    }
}

/// [`copy_elements`] for indices of this type, if they have one of the sizes for
/// which there is one.
pub(super) const fn copy<I: Meaning>() -> Option<unsafe fn(&Elements) -> bool> {
    match size_of::<I>() {
        4 | 8 => Some(copy_elements::<I>),
        _ => None,
    }
}

/// # Safety
/// That of [`Indices::copy`].
#[allow(unsafe_code)]
unsafe fn copy_elements<I: Meaning>(elements: &Elements) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        match (elements.single.size, elements.single.gather) {
            (1, true) => copy_of::<I, 1, true>(elements),
            (1, false) => copy_of::<I, 1, false>(elements),
            (4, true) => copy_of::<I, 4, true>(elements),
            (4, false) => copy_of::<I, 4, false>(elements),
            (8, true) => copy_of::<I, 8, true>(elements),
            (8, false) => copy_of::<I, 8, false>(elements),
            _ => unreachable!("`can_copy` allows no other"),
        }
    }
}

/// # Safety
/// That of [`Indices::copy`], for elements of `N` bytes.
#[allow(unsafe_code)]
unsafe fn copy_of<I: Meaning, const N: usize, const GATHER: bool>(elements: &Elements) -> bool {
    let Elements { count, lanes, step, axis, beside, .. } = *elements;
    let along = Along { len: axis.len, step: axis.step, beside };
    let lanes = (0..lanes).map(|lane| {
        let at = Offsets::ZERO.after(lane, step);
        let first = elements.indices.wrapping_offset(at.indices);
        // SAFETY: the caller's promise.
        let indices = unsafe { std::slice::from_raw_parts(first.cast::<I>(), count) };
        let selected = elements.selected.wrapping_offset(at.selected);
        (indices, (selected, elements.listed.wrapping_offset(at.listed)))
    });
    let visit = |(selected, listed): &mut (*mut u8, *mut u8), offset: isize| {
        // SAFETY: the offset is that of a position of the axis.
        unsafe { copy_one::<N, GATHER>(selected.wrapping_offset(offset), *listed) };
        *listed = listed.wrapping_add(N);
    };
    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
    if let Some(avx2) = cpu::Avx2::detect() {
        return cpu::fours(avx2, lanes, along, visit) >= 0;
    }
    // Negative where an index is out of bounds.
    let mut bits = 0;
    for (indices, mut lane) in lanes {
        for (k, &index) in indices.iter().enumerate() {
            let (outside, offset) = along.offset(k, index);
            bits |= outside;
            visit(&mut lane, offset);
        }
    }
    bits >= 0
}

/// What the indices of a lane select along: an axis of `len > 0` elements, both its length
/// and its step less than 2^31, and how far each selects beside the one before it.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) struct Along {
    pub(in crate::memory) len: usize,
    pub(in crate::memory) step: isize,
    pub(in crate::memory) beside: isize,
}

impl Along {
    /// The offset that an index selects, the `k`th of its lane, and a number that is
    /// negative where the index is out of bounds, for which position 0 is selected.
    #[inline(always)]
    pub(in crate::memory) fn offset<I: Meaning>(&self, k: usize, index: I) -> (i64, isize) {
        let position = index.position(self.len);
        let outside = beyond(position, self.len);
        let position = if outside < 0 { 0 } else { position as isize };
        let offset = position.wrapping_mul(self.step);
        (outside, offset.wrapping_add(self.beside.wrapping_mul(k as isize)))
    }
}

/// # Safety
/// `N` bytes of one can be read, and those of the other be written.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn copy_one<const N: usize, const GATHER: bool>(place: *mut u8, listed: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe {
        if GATHER {
            place.copy_to_nonoverlapping(listed, N);
        } else {
            listed.copy_to_nonoverlapping(place, N);
        }
    }
}
