//! Indices turned into places in memory, checked where they are made.
//!
//! What depends on the type of an index ends here: a few functions for each of
//! the integer types, compiled in this crate. Everything else sees offsets.

pub(super) mod elements;
mod resolve;
mod sums;
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
pub(super) mod tuples;

use std::any::TypeId;
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering;

use ndarray::{ArrayRef, Dimension};
use smallvec::SmallVec;

pub(super) use sums::{add, add_ramp};

use super::plan::{Listing, Positions};
use super::strided::{Layout, Strided};
use super::walk::{Component, Components, Cursor, Loop, Loops, Offsets, Walk, iterations, merge};
use crate::error::{Error, Result};
use crate::index::{IndexInteger, Meaning, Policy};
use crate::parallel::{self, Cost};
use crate::sync::AtomicBool;
use crate::threshold::threshold;

/// How many indices are resolved at once: few enough that their offsets stay
/// in the first cache beside the rows they select, enough to hide the cost of
/// the loops around.
pub(super) const CHUNK: usize = threshold(1024, 16);

/// Stands for an index that selects nothing. No offset within an array comes
/// near it.
pub(super) const NOWHERE: isize = isize::MIN;

/// A lane of indices: where it starts, and how many bytes apart they are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lane {
    pub(super) start: *const u8,
    pub(super) step: isize,
}

/// The axes that the numbers of an index select along: the first of them, and their
/// lengths. Where indices are `tuples`, their last axis holds these numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Along<'a> {
    pub(crate) axis: usize,
    pub(crate) lens: &'a [usize],
    pub(crate) tuples: bool,
}

/// An index type without its type.
#[derive(Debug, Clone, Copy)]
pub struct IndexKind {
    size: usize,
    /// The type, by a function, since its identity is not known to constants.
    element: fn() -> TypeId,
    resolve: unsafe fn(Lane, &Component, Policy, &mut [MaybeUninit<isize>]) -> bool,
    all_inside: unsafe fn(Lane, usize, usize) -> bool,
    all_same: unsafe fn(Lane, usize) -> bool,
    all_sorted: unsafe fn(Lane, usize) -> bool,
    repeats: unsafe fn(Lane, usize) -> bool,
    value: unsafe fn(*const u8) -> i128,
    width: Option<elements::Width>,
}

impl IndexKind {
    pub(crate) const fn of<I: Meaning>() -> Self {
        IndexKind {
            size: size_of::<I>(),
            element: TypeId::of::<I>,
            resolve: resolve::resolve::<I>,
            all_inside: resolve::all_inside::<I>,
            all_same: resolve::all_same::<I>,
            all_sorted: resolve::all_sorted::<I>,
            repeats: resolve::repeats::<I>,
            value: resolve::value::<I>,
            width: elements::Width::of::<I>(),
        }
    }
}

/// An array of indices without its type.
///
/// Invariant: the elements of `array` are of the type that `kind` was made of.
#[derive(Debug, Clone, Copy)]
pub struct Indices<'a> {
    array: Strided<'a>,
    kind: &'static IndexKind,
    /// What was found out about them once, where they are those of a plan.
    positions: Option<&'a Positions>,
}

impl<'a> Indices<'a> {
    #[inline]
    pub(crate) fn of<I: IndexInteger, Q: Dimension>(array: &'a ArrayRef<I, Q>) -> Self {
        assert!((I::KIND.element)() == TypeId::of::<I>(), "functions of another index type");
        Indices { array: Strided::of(array), kind: I::KIND, positions: None }
    }

    /// Those of a plan, in bounds already, but for those that select nothing.
    pub(super) fn planned<I: IndexInteger, Q: Dimension>(
        array: &'a ArrayRef<I, Q>,
        positions: &'a Positions,
    ) -> Self {
        Indices { positions: Some(positions), ..Indices::of(array) }
    }

    /// Whether each index of a walk is an entry of its one loop over entries, and
    /// no target comes again after another. Looked at is little further than the
    /// first index that is less than the one before.
    pub(super) fn are_sorted(&self, walk: &Walk, policy: Policy) -> bool {
        let ([entries], [_]) = (walk.nest(), &walk.components[..]) else { return false };
        // Different indices then select different targets.
        let distinct = matches!(policy, Policy::Refuse | Policy::Skip);
        if !(distinct && entries.entries && entries.step.indices != 0) {
            return false;
        }
        let lane = self.lane(walk.base.indices, entries.step.indices);
        // SAFETY: the loop over the indices' own axes.
        #[allow(unsafe_code)]
        unsafe {
            (self.kind.all_sorted)(lane, entries.len)
        }
    }

    /// Whether the first indices of a walk's innermost loop rise: where they do, those after them
    /// mostly do too.
    pub(super) fn begin_sorted(&self, walk: &Walk) -> bool {
        /// So many do not rise by chance.
        const FIRST: usize = 32;
        let Some(run) = walk.nest().last().filter(|run| run.len >= FIRST) else { return false };
        // SAFETY: the loop over the indices' own axes.
        #[allow(unsafe_code)]
        unsafe {
            (self.kind.all_sorted)(self.lane(walk.base.indices, run.step.indices), FIRST)
        }
    }

    /// Whether most indices of a walk's innermost loop are those before them, as a few tell.
    pub(super) fn repeat(&self, walk: &Walk) -> bool {
        let Some(run) = walk.nest().last() else { return false };
        // SAFETY: the loop over the indices' own axes.
        #[allow(unsafe_code)]
        unsafe {
            (self.kind.repeats)(self.lane(walk.base.indices, run.step.indices), run.len)
        }
    }

    /// The index at an offset of so many bytes.
    ///
    /// # Safety
    /// There is one.
    #[allow(unsafe_code)]
    pub(super) unsafe fn value(&self, at: isize) -> i128 {
        // SAFETY: the caller's promise.
        unsafe { (self.kind.value)(self.start().wrapping_offset(at)) }
    }

    /// How several threads share the updates of a walk, where a plan has listed
    /// them: each index is an entry of the one loop over entries.
    pub(super) fn listing(&self, walk: &Walk) -> Option<&'a Listing> {
        let positions = self.positions?;
        // Offsets are then proportional to the targets' numbers.
        let even = walk
            .components
            .windows(2)
            .all(|pair| pair[1].step.checked_mul(pair[1].len as isize) == Some(pair[0].step));
        let along = positions.are_along(walk.components.iter().map(|one| one.len));
        if self.is_one_loop(walk) && even && along { positions.listing() } else { None }
    }

    /// The positions of a walk along one axis, where a plan knows them and none is
    /// nowhere: each is an entry of the one loop over entries.
    pub(super) fn known(&self, walk: &Walk) -> Option<&'a [u32]> {
        let positions = self.positions?;
        let along = positions.are_along(walk.components.iter().map(|one| one.len));
        if self.is_one_loop(walk) && along { positions.all() } else { None }
    }

    /// Whether the one loop over entries goes through all indices as they are
    /// stored.
    fn is_one_loop(&self, walk: &Walk) -> bool {
        let [entries] = walk.nest() else { return false };
        entries.entries
            && entries.step.indices == self.kind.size as isize
            && entries.len * walk.components.len() == self.layout().len()
            && walk.base.indices == 0
    }

    /// How many updates each target of a walk gets, where a plan knows: its
    /// loops go over all indices, and lanes share these.
    pub(super) fn counts(&self, walk: &Walk) -> Option<&'a [u32]> {
        let positions = self.positions?;
        let entries = walk.loops.iter().filter(|one| one.entries).map(|one| one.len);
        let all = entries.product::<usize>() * walk.components.len() == self.layout().len();
        let shared = walk.loops.iter().all(|one| one.entries || !one.reads_indices());
        let same = positions.are_along(walk.components.iter().map(|one| one.len));
        if all && shared && same { positions.counts().ok() } else { None }
    }

    /// The plan that these were made from.
    pub(crate) fn positions(&self) -> Option<&'a Positions> {
        self.positions
    }

    pub(crate) fn layout(&self) -> &Layout<'a> {
        self.array.layout()
    }

    pub(crate) fn shape(&self) -> &'a [usize] {
        self.layout().shape()
    }

    /// The size of an index in bytes.
    pub(super) fn size(&self) -> usize {
        self.kind.size
    }

    pub(super) fn start(&self) -> *const u8 {
        self.array.start()
    }

    /// The lane that starts at an offset of so many bytes.
    pub(super) fn lane(&self, at: isize, step: isize) -> Lane {
        Lane { start: self.start().wrapping_offset(at), step }
    }

    /// Writes the offsets that as many indices of a lane select as there are
    /// slots, and tells whether all of them are in bounds, or made so.
    ///
    /// # Safety
    /// All indices of the lane are elements of this array, and there are as
    /// many as `offsets` has room for.
    #[allow(unsafe_code)]
    #[inline]
    pub(super) unsafe fn resolve(
        &self,
        lane: Lane,
        component: &Component,
        policy: Policy,
        offsets: &mut [MaybeUninit<isize>],
    ) -> bool {
        // SAFETY: the caller's promise; `kind` is of their type.
        unsafe { (self.kind.resolve)(lane, component, policy, offsets) }
    }

    /// The same indices, where each repeats along all axes after this one so
    /// that it selects a whole row; looked at is little further than the first
    /// row that differs.
    pub(crate) fn of_rows(self, axis: usize) -> Self {
        /// Shorter rows gain nothing from being whole.
        const WIDE: usize = threshold(8, 4);
        let layout = self.layout();
        let rows: usize = layout.shape()[..=axis].iter().product();
        let width: usize = layout.shape()[axis + 1..].iter().product();
        if width < WIDE || rows == 0 || !layout.is_dense() || self.positions.is_some() {
            return self;
        }
        let differ = AtomicBool::new(false);
        let row = width * self.kind.size;
        let parts = parallel::parts(Cost::of_bytes(rows.saturating_mul(row))).min(rows);
        parallel::run(parts, &|part| {
            for row_number in parallel::share(rows, parts, part) {
                let lane = Lane {
                    start: self.start().wrapping_add(row_number * row),
                    step: self.kind.size as isize,
                };
                // SAFETY: rows follow each other in the array (`is_dense`).
                #[allow(unsafe_code)]
                let same = unsafe { (self.kind.all_same)(lane, width) };
                if !same || differ.load(Ordering::Relaxed) {
                    return differ.store(true, Ordering::Relaxed);
                }
            }
        });
        if differ.into_inner() {
            return self;
        }
        Indices { array: self.array.repeating_from(axis + 1), ..self }
    }

    /// The same indices, each once where it repeats along the last axes.
    pub(super) fn without_repeats(self) -> Self {
        let repeated = |axis: usize| {
            let rows = self.of_rows(axis);
            (rows.layout().stride(axis + 1) == 0 && self.layout().stride(axis + 1) != 0)
                .then_some(rows)
        };
        (0..self.shape().len().saturating_sub(1)).find_map(repeated).unwrap_or(self)
    }

    /// Whether there are many, that take at least four times as many bytes as a
    /// target, none of which stands for several updates.
    pub(crate) fn outweigh(&self, target: usize) -> bool {
        /// From how many on it matters.
        const MANY: usize = threshold(1 << 10, 16);
        let layout = self.layout();
        let own = |axis: usize| layout.shape()[axis] <= 1 || layout.stride(axis) != 0;
        let count = layout.len();
        count >= MANY
            && count.saturating_mul(self.kind.size) >= target.saturating_mul(4)
            && self.positions.is_none()
            && (0..layout.shape().len()).all(own)
    }

    /// Whether each number of an index can be mapped as this policy does: not
    /// onto an axis without elements.
    pub(super) fn can_map(policy: Policy, components: &[Component]) -> bool {
        !matches!(policy, Policy::Clip | Policy::Wrap) || components.iter().all(|one| one.len > 0)
    }

    /// Whether all indices are within the axes that their numbers select along.
    #[inline(never)]
    pub(super) fn inside(&self, components: &[Component]) -> bool {
        let rank = self.layout().shape().len();
        let axes = if components.len() == 1 { rank } else { rank - 1 };
        self.layout().is_empty()
            || self.positions.is_some()
            || self.components_inside(axes, components)
    }

    /// Refuses indices outside `-len..=len - 1`, naming the first in row-major
    /// order.
    pub(crate) fn check(&self, along: Along<'_>) -> Result<()> {
        let axes = self.layout().shape().len() - usize::from(along.tuples);
        let apart = if along.tuples { self.layout().stride(axes) } else { 0 };
        let component = |(number, &len): (usize, &usize)| {
            // Nobody asks where they select.
            Component { len, step: 0, at: apart.wrapping_mul(number as isize) }
        };
        let components: Components = along.lens.iter().enumerate().map(component).collect();
        let known = self.layout().is_empty() || self.positions.is_some();
        if known || self.components_inside(axes, &components) {
            return Ok(());
        }
        Err(self.first_outside(along))
    }

    /// Whether the numbers over the first `axes` axes are all within the axes of their
    /// components.
    fn components_inside(&self, axes: usize, components: &[Component]) -> bool {
        /// Of so many indices nobody asks for help.
        const FEW: usize = threshold(4 << 10, 4);
        if let Some([count, numbers, ..]) = self.layout().blocks([axes, usize::MAX, usize::MAX]) {
            if count <= FEW {
                let lane = self.lane(0, (numbers * self.kind.size) as isize);
                // SAFETY: so many follow each other, of so many numbers (`blocks`).
                #[allow(unsafe_code)]
                return unsafe { self.lane_inside(lane, count, components) };
            }
        }
        let loops = self.lanes(axes);
        let (lane, around) = match loops.split_last() {
            Some((last, around)) => (*last, around),
            None => (Loop::ONCE, &[][..]),
        };
        let outside = AtomicBool::new(false);
        let indices = (iterations(around) * lane.len).saturating_mul(components.len());
        let parts = parallel::parts(Cost::of_looking(indices.saturating_mul(self.kind.size)));
        let over_lanes = iterations(around) >= parts;
        parallel::run(parts, &|part| {
            let whole = if over_lanes { iterations(around) } else { lane.len };
            let range = parallel::share(whole, parts, part);
            let (lanes, within) =
                if over_lanes { (range, 0..lane.len) } else { (0..iterations(around), range) };
            let mut cursor = Cursor::new(around, Offsets::ZERO, lanes.start);
            for _ in lanes {
                let (place, _) = cursor.take(1);
                let place = place.after(within.start, lane.step);
                let lane = self.lane(place.indices, lane.step.indices);
                // SAFETY: the loops are those of the array's own axes.
                #[allow(unsafe_code)]
                let inside = unsafe { self.lane_inside(lane, within.len(), components) };
                if !inside {
                    return outside.store(true, Ordering::Relaxed);
                }
            }
        });
        !outside.into_inner()
    }

    /// # Safety
    /// Of all indices of the lane, all numbers are elements of this array.
    #[allow(unsafe_code)]
    unsafe fn lane_inside(&self, lane: Lane, count: usize, components: &[Component]) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            #[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
            if let Some(tuples) = self.tuples(lane, count, components) {
                return tuples.inside();
            }
            components.iter().all(|one| {
                let lane = Lane { start: lane.start.wrapping_offset(one.at), ..lane };
                (self.kind.all_inside)(lane, count, one.len)
            })
        }
    }

    /// The loops over the first `axes` axes in the order of memory. An axis
    /// along which indices are broadcast holds nothing new after its first.
    fn lanes(&self, axes: usize) -> Loops {
        let layout = self.layout();
        let mut loops: Loops = (0..axes)
            .map(|axis| Loop {
                len: layout.shape()[axis],
                step: Offsets { indices: layout.stride(axis), ..Offsets::ZERO },
                entries: false,
            })
            .filter(|one| one.step.indices != 0)
            .collect();
        loops.sort_by_key(|one| std::cmp::Reverse(one.step.indices.unsigned_abs()));
        merge(&mut loops);
        loops
    }

    /// The error for the first index out of bounds in row-major order.
    #[cold]
    #[allow(unsafe_code)]
    pub(crate) fn first_outside(&self, Along { axis: first, lens, tuples }: Along<'_>) -> Error {
        let layout = self.layout();
        assert!(!layout.is_empty(), "no index is out of bounds where there is none");
        let mut position: SmallVec<[usize; 8]> = SmallVec::from_elem(0, layout.shape().len());
        loop {
            let offset: isize = position
                .iter()
                .enumerate()
                .map(|(axis, &at)| at as isize * layout.stride(axis))
                .sum();
            let number = if tuples { position.last().copied().unwrap_or(0) } else { 0 };
            // SAFETY: the position is within the array.
            let index = unsafe { (self.kind.value)(self.start().wrapping_offset(offset)) };
            if let Some(&len) = lens.get(number) {
                if !(-(len as i128)..len as i128).contains(&index) {
                    return Error::IndexOutOfBounds {
                        index,
                        position: position.to_vec(),
                        axis: first + number,
                        len,
                    };
                }
            }
            // The next position that holds something new.
            let mut axis = position.len();
            loop {
                let Some(next) = axis.checked_sub(1) else {
                    // Not reached: somebody has seen an index out of bounds.
                    return Error::IndexOutOfBounds { index, position: vec![], axis: 0, len: 0 };
                };
                axis = next;
                position[axis] += 1;
                // The numbers of a tuple select along axes of their own.
                let new = layout.stride(axis) != 0 || (tuples && axis + 1 == position.len());
                if new && position[axis] < layout.shape()[axis] {
                    break;
                }
                position[axis] = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests;
