//! Tuples of numbers that follow each other become offsets in one go.

use std::mem::{MaybeUninit, take};

use super::elements::{Does, Elements, Single, Width};
use super::{Indices, Lane};
use crate::index::Policy;
use crate::memory::cpu::{self, Avx2};
use crate::memory::walk::{Component, Offsets};

/// What is done with the offsets that tuples select, in their order.
pub(in crate::memory) trait Visit {
    /// Whether an index out of bounds becomes what a policy says that does not refuse it.
    const MENDS: bool;

    fn four(&mut self, offsets: [isize; 4]);
    fn one(&mut self, offset: isize);
}

/// Writes them down.
struct Write<'s, const MENDS: bool>(&'s mut [MaybeUninit<isize>]);

impl<const MENDS: bool> Visit for Write<'_, MENDS> {
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
        if let Some((one, rest)) = take(&mut self.0).split_first_mut() {
            one.write(offset);
            self.0 = rest;
        }
    }
}

/// Looks at them no further.
struct Look;

impl Visit for Look {
    const MENDS: bool = false;

    #[inline(always)]
    fn four(&mut self, _: [isize; 4]) {}

    #[inline(always)]
    fn one(&mut self, _: isize) {}
}

/// `count` tuples of two numbers or three, which follow each other.
///
/// Invariant: all numbers can be read, are integers of `width`, and select along axes as short
/// as [`cpu::tuples`] asks.
pub(in crate::memory) struct Tuples<'t> {
    proof: Avx2,
    first: *const u8,
    count: usize,
    width: Width,
    axes: &'t [Component],
}

impl Indices<'_> {
    /// As what the numbers of tuples so many bytes apart are read, where several can be taken
    /// at once that select along these axes.
    #[inline]
    pub(in crate::memory) fn together(&self, step: isize, axes: &[Component]) -> Option<Width> {
        let size = self.kind.size as isize;
        let short = |axis: &Component| {
            axis.len > 0 && i32::try_from(axis.len).is_ok() && i32::try_from(axis.step).is_ok()
        };
        let follow = matches!(axes.len(), 2 | 3)
            && step == size * axes.len() as isize
            && axes.iter().zip(0..).all(|(axis, k)| axis.at == k * size && short(axis));
        self.kind.width.filter(|_| follow && Avx2::detect().is_some())
    }

    /// The tuples of a lane of so many, where several can be taken at once.
    ///
    /// # Safety
    /// All numbers are elements of this array.
    #[allow(unsafe_code)]
    #[inline]
    pub(in crate::memory) unsafe fn tuples<'t>(
        &self,
        lane: Lane,
        count: usize,
        axes: &'t [Component],
    ) -> Option<Tuples<'t>> {
        let width = self.together(lane.step, axes)?;
        Some(Tuples { proof: Avx2::detect()?, first: lane.start, count, width, axes })
    }
}

/// Copies single elements of a few sizes, from what is selected to the list or back.
///
/// Invariant: that of [`Elements`], for the lane that is visited.
struct Copied {
    size: usize,
    gather: bool,
    selected: *mut u8,
    listed: *mut u8,
}

impl Copied {
    #[inline(always)]
    fn each<const N: usize>(&mut self, offsets: [isize; 4]) {
        for offset in offsets {
            self.copy(offset, N);
        }
    }

    #[inline(always)]
    fn copy(&mut self, offset: isize, size: usize) {
        let selected = self.selected.wrapping_offset(offset);
        // SAFETY: the invariant; this is called once for each element of the list, in order,
        // with their size and the offset of a position of the axes.
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

impl Visit for Copied {
    const MENDS: bool = false;

    #[inline(always)]
    fn four(&mut self, offsets: [isize; 4]) {
        match self.size {
            1 => self.each::<1>(offsets),
            2 => self.each::<2>(offsets),
            4 => self.each::<4>(offsets),
            _ => self.each::<8>(offsets),
        }
    }

    #[inline(always)]
    fn one(&mut self, offset: isize) {
        self.copy(offset, self.size);
    }
}

/// Copies single elements that tuples select while these are resolved, as [`SingleRun`]
/// (super::elements::SingleRun) does by single indices; tells whether all are copied as the
/// policy says.
///
/// # Safety
/// The elements are what their documentation promises, of the size that `single` names, and
/// tuples of them can be taken [together](Indices::together).
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
        let &Elements { count, width, axes, .. } = elements;
        let first = elements.indices.wrapping_offset(at.indices);
        let copied = Copied {
            size: single.size,
            gather: single.does == Does::Gather,
            selected: elements.selected.wrapping_offset(at.selected),
            listed: elements.listed.wrapping_offset(at.listed),
        };
        inside &= Tuples { proof, first, count, width, axes }.visit(policy, copied);
    }
    inside
}

impl Tuples<'_> {
    /// Writes the offsets that they select, and tells whether all are in bounds.
    #[inline]
    pub(in crate::memory) fn resolve(
        &self,
        policy: Policy,
        offsets: &mut [MaybeUninit<isize>],
    ) -> bool {
        assert_eq!(offsets.len(), self.count, "each has an offset");
        match policy {
            Policy::Refuse => self.visit(policy, Write::<false>(offsets)),
            _ => self.visit(policy, Write::<true>(offsets)),
        }
    }

    /// Whether all are in bounds.
    pub(super) fn inside(&self) -> bool {
        self.visit(Policy::Refuse, Look)
    }

    #[inline(always)]
    fn visit(&self, policy: Policy, visit: impl Visit) -> bool {
        let signed = matches!(self.width, Width::I32 | Width::I64);
        match self.width {
            Width::I32 | Width::U32 => self.visit_by::<i32>(signed, policy, visit),
            Width::I64 | Width::U64 => self.visit_by::<i64>(signed, policy, visit),
        }
    }

    fn visit_by<I: Copy + Default + Into<i64>>(
        &self,
        signed: bool,
        policy: Policy,
        visit: impl Visit,
    ) -> bool {
        let count = self.count * self.axes.len();
        // SAFETY: the invariant; they are integers of this size.
        #[allow(unsafe_code)]
        let numbers = unsafe { std::slice::from_raw_parts(self.first.cast::<I>(), count) };
        if let Ok(axes) = <&[Component; 2]>::try_from(self.axes) {
            return cpu::tuples(self.proof, numbers, signed, axes, policy, visit);
        }
        let axes = <&[Component; 3]>::try_from(self.axes).expect("tuples of two numbers or three");
        cpu::tuples(self.proof, numbers, signed, axes, policy, visit)
    }
}
