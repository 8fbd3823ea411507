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
/// `lanes` that are `step` apart, of `count` elements each.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) struct Elements {
    pub(in crate::memory) indices: *const u8,
    pub(in crate::memory) count: usize,
    pub(in crate::memory) lanes: usize,
    pub(in crate::memory) step: Offsets,
    pub(in crate::memory) axis: Component,
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
            && axis.step > 0
            && axis.step.count_ones() == 1
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
    let Elements { count, lanes, step, axis, .. } = *elements;
    let along = (axis.len, axis.step.trailing_zeros());
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
        for &index in indices {
            let (outside, offset) = offset(index, along);
            bits |= outside;
            visit(&mut lane, offset);
        }
    }
    bits >= 0
}

/// The offset that an index selects along an axis of `len > 0` elements, whose step is 2
/// to the power of `shift`, and a number that is negative where the index is out of
/// bounds, for which the offset is 0.
#[inline(always)]
pub(in crate::memory) fn offset<I: Meaning>(index: I, (len, shift): (usize, u32)) -> (i64, isize) {
    let position = index.position(len);
    let outside = beyond(position, len);
    (outside, if outside < 0 { 0 } else { (position << shift) as isize })
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
