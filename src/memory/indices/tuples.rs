//! Resolves contiguous tuples of numbers to offsets, several tuples at a time, with AVX2.

use std::mem::{MaybeUninit, take};

use super::elements::{Action, Elements, Single, Width};
use super::{Indices, Lane};
use crate::index::Policy;
use crate::memory::buffer::Buffer;
use crate::memory::cpu::{self, Avx2, is_long};
use crate::memory::walk::{Component, Offsets};

/// Receives the offsets that tuples select, in the order of the tuples.
pub(in crate::memory) trait Visit {
    /// Whether the offset of an index out of bounds must be what the policy says (unless the policy
    /// refuses the index). If not, such an index has the offset of some position.
    const MENDS: bool;

    /// Receives the next four offsets.
    fn four(&mut self, offsets: [isize; 4]);
    /// Receives the next offset.
    fn one(&mut self, offset: isize);
}

/// Writes the offsets to slots.
struct WriteOffsets<'s, const MENDS: bool>(&'s mut [MaybeUninit<isize>]);

impl<const MENDS: bool> Visit for WriteOffsets<'_, MENDS> {
    const MENDS: bool = MENDS;

    #[inline(always)]
    fn four(&mut self, offsets: [isize; 4]) {
        if let Some((four, rest)) = take(&mut self.0).split_first_chunk_mut() {
            *four = offsets.map(MaybeUninit::new);
            self.0 = rest;
        }
    }

    #[inline(always)]
    fn one(&mut self, offset: isize) {
        if let Some((slot, rest)) = take(&mut self.0).split_first_mut() {
            slot.write(offset);
            self.0 = rest;
        }
    }
}

/// Discards the offsets: only the bounds are checked.
struct CheckOnly;

impl Visit for CheckOnly {
    const MENDS: bool = false;

    #[inline(always)]
    fn four(&mut self, _: [isize; 4]) {}

    #[inline(always)]
    fn one(&mut self, _: isize) {}
}

/// Finds out whether the offsets ascend: the last one, and whether one was less than the one before.
struct Ascending<'a> {
    last: isize,
    descends: &'a mut bool,
}

impl Visit for Ascending<'_> {
    const MENDS: bool = false;

    #[inline(always)]
    fn four(&mut self, [a, b, c, d]: [isize; 4]) {
        *self.descends |= (a < self.last) | (b < a) | (c < b) | (d < c);
        self.last = d;
    }

    #[inline(always)]
    fn one(&mut self, offset: isize) {
        *self.descends |= offset < self.last;
        self.last = offset;
    }
}

/// `count` contiguous tuples of two to four numbers each.
///
/// Invariant: all numbers can be read, are integers of `width`, and select along axes as short
/// as [`cpu::tuples`] requires.
pub(in crate::memory) struct Tuples<'t> {
    proof: Avx2,
    first: *const u8,
    count: usize,
    width: Width,
    axes: &'t [Component],
    /// Whether prefetching the numbers pays.
    long: bool,
}

impl Indices<'_> {
    /// Whether [`Tuples`] can resolve tuples with a distance of `step` bytes from one to the next, along
    /// these axes: two to four contiguous numbers of 4 or 8 bytes, contiguous tuples, lengths and steps of
    /// the axes that fit in an `i32`.
    #[inline]
    pub(in crate::memory) fn serve_tuples(&self, step: isize, axes: &[Component]) -> bool {
        let size = self.size() as isize;
        let short = |axis: &Component| {
            axis.len > 0 && i32::try_from(axis.len).is_ok() && i32::try_from(axis.step).is_ok()
        };
        let fits = matches!(axes.len(), 2..=4)
            && step == size * axes.len() as isize
            && axes.iter().zip(0..).all(|(axis, k)| axis.at == k * size && short(axis));
        fits && !self.width().is_narrow() && Avx2::detect().is_some()
    }

    /// The `count` tuples of a lane, if [`Tuples`] can resolve them.
    ///
    /// # Safety
    /// All numbers of the lane's tuples are elements of this array.
    #[allow(unsafe_code)]
    #[inline]
    pub(in crate::memory) unsafe fn tuples<'t>(
        &self,
        lane: Lane,
        count: usize,
        axes: &'t [Component],
    ) -> Option<Tuples<'t>> {
        if !self.serve_tuples(lane.step, axes) {
            return None;
        }
        let long = is_long(count.saturating_mul(axes.len() * self.size()));
        Some(Tuples {
            proof: Avx2::detect()?,
            first: lane.start,
            count,
            width: self.width(),
            axes,
            long,
        })
    }

    /// Appends the offset that each of the `count` tuples of a lane selects, if [`Tuples`] can resolve
    /// them; returns what [`Tuples::resolve`] does. Not inlined: tiny calls by single numbers would take
    /// up to 90 instructions more.
    ///
    /// # Safety
    /// All numbers of the lane's tuples are elements of this array.
    #[allow(unsafe_code)]
    #[inline(never)]
    pub(super) unsafe fn resolve_tuples(
        &self,
        lane: Lane,
        count: usize,
        axes: &[Component],
        policy: Policy,
        offsets: &mut Buffer<'_>,
    ) -> Option<bool> {
        // SAFETY: the caller's promise; `Tuples::resolve` writes every slot.
        unsafe {
            let tuples = self.tuples(lane, count, axes)?;
            Some(offsets.extend(count, |slots| tuples.resolve(policy, slots)))
        }
    }
}

/// Copies single elements of 1, 2, 4 or 8 bytes: from the selected to the listed array if `gather`,
/// else back.
///
/// Invariant: that of [`Elements`], for the lane whose offsets are received.
struct CopyElements {
    size: usize,
    gather: bool,
    selected: *mut u8,
    listed: *mut u8,
}

impl CopyElements {
    #[inline(always)]
    fn copy_four<const N: usize>(&mut self, offsets: [isize; 4]) {
        for offset in offsets {
            self.copy(offset, N);
        }
    }

    #[inline(always)]
    fn copy(&mut self, offset: isize, size: usize) {
        let selected = self.selected.wrapping_offset(offset);
        // SAFETY: the invariant; this is called once for each listed element, in order, with the
        // size of an element and the offset of a position that is in bounds of the axes.
        #[allow(unsafe_code)]
        unsafe {
            if self.gather {
                selected.copy_to_nonoverlapping(self.listed, size);
            } else {
                self.listed.copy_to_nonoverlapping(selected, size);
            }
        }
        self.listed = self.listed.wrapping_add(size);
    }
}

impl Visit for CopyElements {
    const MENDS: bool = false;

    #[inline(always)]
    fn four(&mut self, offsets: [isize; 4]) {
        match self.size {
            1 => self.copy_four::<1>(offsets),
            2 => self.copy_four::<2>(offsets),
            4 => self.copy_four::<4>(offsets),
            8 => self.copy_four::<8>(offsets),
            _ => unreachable!("single elements have 1, 2, 4 or 8 bytes"),
        }
    }

    #[inline(always)]
    fn one(&mut self, offset: isize) {
        self.copy(offset, self.size);
    }
}

/// Copies single elements that tuples select, while the tuples are resolved: what a
/// [`SingleFn`](super::elements::SingleFn) does for indices of one number. Returns whether all
/// elements are copied as the policy says.
///
/// # Safety
/// The invariant of [`Elements`] holds, for elements of `single.size` bytes (1, 2, 4 or 8), and
/// [`Indices::serve_tuples`] allows their tuples.
#[allow(unsafe_code)]
pub(in crate::memory) unsafe fn copy(
    elements: &Elements<'_>,
    single: &Single,
    policy: Policy,
) -> bool {
    let Some(proof) = Avx2::detect() else { return false };
    let mut inside = true;
    for lane in 0..elements.lanes {
        let at = Offsets::ZERO.after(lane, elements.step);
        let &Elements { count, width, axes, prefetch, .. } = elements;
        let long = prefetch.distance.is_some();
        let first = elements.indices.wrapping_offset(at.indices);
        let copy = CopyElements {
            size: single.size,
            gather: single.action == Action::Gather,
            selected: elements.selected.wrapping_offset(at.selected),
            listed: elements.listed.wrapping_offset(at.listed),
        };
        inside &= Tuples { proof, first, count, width, axes, long }.visit(policy, copy);
    }
    inside
}

impl Tuples<'_> {
    /// Writes the offset that each tuple selects, and returns whether all numbers are in bounds; by
    /// [`Policy::Clip`], whether all fit in 32 bits.
    #[inline]
    pub(in crate::memory) fn resolve(
        &self,
        policy: Policy,
        offsets: &mut [MaybeUninit<isize>],
    ) -> bool {
        assert_eq!(offsets.len(), self.count, "each has an offset");
        match policy {
            Policy::Refuse => self.visit(policy, WriteOffsets::<false>(offsets)),
            _ => self.visit(policy, WriteOffsets::<true>(offsets)),
        }
    }

    /// Whether all numbers are in bounds.
    pub(super) fn inside(&self) -> bool {
        self.visit(Policy::Refuse, CheckOnly)
    }

    /// Whether all numbers are in bounds and no offset is less than the one before.
    pub(super) fn ascend(&self) -> bool {
        let mut descends = false;
        let inside =
            self.visit(Policy::Refuse, Ascending { last: isize::MIN, descends: &mut descends });
        inside && !descends
    }

    /// Passes the offset of each tuple to `visit`, and returns what [`cpu::tuples`] does.
    #[inline(always)]
    fn visit(&self, policy: Policy, visit: impl Visit) -> bool {
        let Width { size, signed } = self.width;
        match size {
            4 => self.visit_by::<i32>(signed, policy, visit),
            _ => self.visit_by::<i64>(signed, policy, visit),
        }
    }

    /// [`visit`](Self::visit) for numbers of the size of `I`.
    fn visit_by<I: Copy + Default + Into<i64>>(
        &self,
        signed: bool,
        policy: Policy,
        visit: impl Visit,
    ) -> bool {
        let count = self.count * self.axes.len();
        // SAFETY: the invariant; the numbers are integers of the size of `I` (`visit`).
        #[allow(unsafe_code)]
        let numbers = unsafe { std::slice::from_raw_parts(self.first.cast::<I>(), count) };
        let (proof, numbers) = (self.proof, (numbers, self.long));
        if let Ok(axes) = <&[Component; 2]>::try_from(self.axes) {
            return cpu::tuples(proof, numbers, signed, axes, policy, visit);
        }
        if let Ok(axes) = <&[Component; 3]>::try_from(self.axes) {
            return cpu::tuples(proof, numbers, signed, axes, policy, visit);
        }
        let axes = <&[Component; 4]>::try_from(self.axes).expect("tuples of two to four numbers");
        cpu::tuples(proof, numbers, signed, axes, policy, visit)
    }
}
