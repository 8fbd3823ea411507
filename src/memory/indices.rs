//! Indices, resolved to byte offsets into an array and checked where they are resolved.
//!
//! This module, and the loops that use single elements or tuples at once (`combine/apply.rs` and
//! `combine/fold.rs`, `cpu/inside.rs` and `cpu/tuples.rs`), depend on the integer type of the
//! indices: a few functions for each of the types. All other code sees offsets, copies indices as bytes
//! (`copied.rs`, `packed/blocks.rs`), or reads the positions of a plan.

pub(super) mod axis;
pub(super) mod elements;
pub(super) mod repeated;
mod resolve;
pub(super) mod short_runs;
mod sorted;
mod sums;
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
pub(super) mod tuples;

use std::any::TypeId;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::Ordering;

use ndarray::{ArrayRef, Dimension};

pub(super) use sums::{add, add_ramp};

use elements::{Elements, Width};

use super::plan::{Listing, Positions};
use super::strided::{Layout, Strided};
use super::walk::{
    Component, Components, Cursor, Loop, Loops, Offsets, Walk, iterations, iterations_over_entries,
    merge,
};
use crate::error::{Error, Result};
use crate::index::{IndexInteger, Meaning, Policy};
use crate::parallel::{self, Cost};
use crate::sync::AtomicBool;
use crate::threshold::threshold;

/// Number of indices resolved at once: few enough that their offsets stay in L1 beside the rows
/// that they select, enough to hide the cost of the loops around.
pub(super) const CHUNK: usize = threshold(1024, 16);

/// The offset of an index that selects nothing: one out of bounds under [`Policy::Skip`]. No offset
/// within an array comes near it.
pub(super) const NOWHERE: isize = isize::MIN;

/// Why indices along several axes have as many numbers: unsafe code reads that many.
pub(super) const TUPLES: &str = "a tuple has a number for each selected axis";

/// A lane of indices: the address of the first, and the distance in bytes from one to the next.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lane {
    pub(super) start: *const u8,
    pub(super) step: isize,
}

/// The axes along which the numbers of an index select: the number of the first axis, and the
/// lengths of all of them. If these are several, the last axis of the indices holds the numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Along<'a> {
    pub(crate) axis: usize,
    pub(crate) lens: &'a [usize],
}

/// The functions for one integer type of indices, with the type erased.
#[derive(Debug, Clone, Copy)]
pub struct IndexKind {
    width: Width,
    /// Returns the identity of the integer type; a function, since it is not known to constants.
    element: fn() -> TypeId,
    resolve: unsafe fn(Lane, &Component, Policy, &mut [MaybeUninit<isize>]) -> bool,
    all_inside: unsafe fn(Lane, usize, usize) -> bool,
    all_same: unsafe fn(Lane, usize) -> bool,
    all_sorted: unsafe fn(Lane, usize) -> bool,
    repeats: unsafe fn(Lane, usize, (usize, isize), [usize; 2]) -> bool,
    value: unsafe fn(*const u8) -> i128,
    widen: elements::WidenFn,
}

impl IndexKind {
    pub(crate) const fn of<I: Meaning>() -> Self {
        IndexKind {
            width: Width::of::<I>(),
            element: TypeId::of::<I>,
            resolve: resolve::resolve::<I>,
            all_inside: resolve::all_inside::<I>,
            all_same: resolve::all_same::<I>,
            all_sorted: resolve::all_sorted::<I>,
            repeats: resolve::repeats::<I>,
            value: resolve::value::<I>,
            widen: resolve::widen::<I>,
        }
    }
}

/// An array of indices, with their integer type erased.
///
/// Invariant: the elements of `array` are of the integer type that `kind` was made for. If there are `positions`, they
/// are those of the plan, broadcast to the shape of its indices. If `sorted`, they are.
#[derive(Debug, Clone, Copy)]
pub struct Indices<'a> {
    array: Strided<'a>,
    kind: &'static IndexKind,
    /// The plan that holds these indices, if one does: what it has found out about them.
    positions: Option<&'a Positions>,
    /// Whether they are known to be sorted, in the order of memory, in which they are contiguous: so
    /// that those of one target follow each other.
    sorted: bool,
}

impl<'a> Indices<'a> {
    #[inline]
    pub(crate) fn of<I: IndexInteger, Q: Dimension>(array: &'a ArrayRef<I, Q>) -> Self {
        assert!((I::KIND.element)() == TypeId::of::<I>(), "functions of another index type");
        Indices { array: Strided::of(array), kind: I::KIND, positions: None, sorted: false }
    }

    /// The indices of a plan: all are in bounds already, except those that select nothing.
    pub(super) fn of_plan<I: IndexInteger, Q: Dimension>(
        array: &'a ArrayRef<I, Q>,
        positions: &'a Positions,
    ) -> Self {
        Indices { positions: Some(positions), ..Indices::of(array) }
    }

    /// Contiguous indices of the same integer type.
    ///
    /// # Safety
    /// So many such indices from `start` on can be read for `'m`, by any thread.
    #[allow(unsafe_code)]
    pub(super) unsafe fn packed<'m>(&self, start: *const u8, len: &'m [usize; 1]) -> Indices<'m> {
        // SAFETY: the caller's promise.
        let array = unsafe { Strided::contiguous(start, len, self.size()) };
        Indices { array, kind: self.kind, positions: None, sorted: false }
    }

    /// Whether more than `part[0] / part[1]` of the indices of a walk's innermost loop over entries
    /// equal the index before them, judged by a sample.
    pub(super) fn repeat(&self, walk: &Walk, part: [usize; 2]) -> bool {
        let Some((run, around)) = walk.nest().split_last() else { return false };
        let lane = self.lane(walk.base.indices, run.step.indices);
        let lanes = around.last().map_or((1, 0), |level| (level.len, level.step.indices));
        // SAFETY: the lanes are loops of the walk over the indices' own axes, which stay in them.
        #[allow(unsafe_code)]
        unsafe {
            (self.kind.repeats)(lane, run.len, lanes, part)
        }
    }

    /// Calls `visit` with elements whose indices are of this array and of its integer type, or with pieces of
    /// them whose indices are [widened](Elements::widened). Listed elements have `size` bytes.
    ///
    /// # Safety
    /// The invariant of [`Elements`] holds, for indices of any width.
    #[allow(unsafe_code)]
    #[inline]
    pub(super) unsafe fn visit_widened(
        &self,
        elements: Elements<'_>,
        size: usize,
        visit: impl Fn(&Elements<'_>) -> bool,
    ) -> bool {
        if !self.width().is_narrow() {
            return visit(&elements);
        }
        // SAFETY: the caller's promise; `widen` is of the type of the indices.
        unsafe { elements.widened(size, self.kind.widen, visit) }
    }

    /// The value of the index `offset` bytes after the first.
    ///
    /// # Safety
    /// An index of this array is stored there.
    #[allow(unsafe_code)]
    pub(super) unsafe fn value(&self, offset: isize) -> i128 {
        // SAFETY: the caller's promise; `kind` is that of the elements (the invariant).
        unsafe { (self.kind.value)(self.start().wrapping_offset(offset)) }
    }

    /// The positions of a plan, if it was made for the axes of this walk.
    fn positions_along(&self, walk: &Walk) -> Option<&'a Positions> {
        let lens = || walk.components.iter().map(|axis| axis.len);
        self.positions.filter(|positions| positions.are_along(lens()))
    }

    /// The updates of a walk as a plan has listed them by target, for several threads to share.
    /// `None` unless each index is an entry of the walk's only loop over entries.
    pub(super) fn listing(&self, walk: &Walk) -> Option<&'a Listing> {
        let positions = self.positions_along(walk)?;
        let evenly_spaced = walk.target_step().is_some();
        // Those of tuples are stored number by number.
        let one_loop = self.is_one_loop(walk, self.size());
        if one_loop && evenly_spaced { positions.listing() } else { None }
    }

    /// Whether a walk has one loop over entries, which reads all indices in the order in which they
    /// are stored, `step` bytes from one to the next.
    fn is_one_loop(&self, walk: &Walk, step: usize) -> bool {
        let [entries] = walk.nest() else { return false };
        entries.entries
            && entries.step.indices == step as isize
            && entries.len * walk.components.len() == self.layout().len()
            && walk.base.indices == 0
    }

    /// The number of updates that each target of a walk gets, if a plan knows it. `None` unless the
    /// loops over entries read all indices, and all other loops share these.
    pub(super) fn counts(&self, walk: &Walk) -> Option<&'a [u32]> {
        let positions = self.positions_along(walk)?;
        let all =
            iterations_over_entries(&walk.loops) * walk.components.len() == self.layout().len();
        if all && walk.shares_indices() { positions.counts().ok() } else { None }
    }

    /// The plan that holds these indices, if one does.
    pub(crate) fn positions(&self) -> Option<&'a Positions> {
        self.positions
    }

    pub(crate) fn layout(&self) -> &Layout<'a> {
        self.array.layout()
    }

    pub(crate) fn shape(&self) -> &'a [usize] {
        self.layout().shape()
    }

    /// Size of an index in bytes.
    pub(super) fn size(&self) -> usize {
        self.kind.width.size
    }

    /// The integer type of the indices.
    pub(super) fn width(&self) -> Width {
        self.kind.width
    }

    /// Address of the first index.
    pub(super) fn start(&self) -> *const u8 {
        self.array.start()
    }

    /// The lane that starts `offset` bytes after the first index, with a distance of `step` bytes
    /// from one index to the next.
    pub(super) fn lane(&self, offset: isize, step: isize) -> Lane {
        Lane { start: self.start().wrapping_offset(offset), step }
    }

    /// Writes to each slot of `offsets` what the corresponding index of a lane selects. Returns
    /// whether all indices are in bounds, or mapped into bounds by the policy.
    ///
    /// # Safety
    /// The lane has as many indices as `offsets` has slots, all of them elements of this array.
    #[allow(unsafe_code)]
    #[inline]
    pub(super) unsafe fn resolve(
        &self,
        lane: Lane,
        component: &Component,
        policy: Policy,
        offsets: &mut [MaybeUninit<isize>],
    ) -> bool {
        // SAFETY: the caller's promise; `kind` is that of the elements (the invariant).
        unsafe { (self.kind.resolve)(lane, component, policy, offsets) }
    }

    /// The same indices with a stride of 0 along all axes after `axis`, if each repeats along these
    /// axes and so selects a whole row; otherwise `self`. The scan ends soon after the first row
    /// with different indices.
    pub(crate) fn of_rows(self, axis: usize) -> Self {
        /// Fewest indices of a row with which a stride of 0 gains anything.
        const MIN_WIDTH: usize = threshold(8, 4);
        let layout = self.layout();
        let rows: usize = layout.shape()[..=axis].iter().product();
        let width: usize = layout.shape()[axis + 1..].iter().product();
        // Calls of few elements gain nothing, and may lose being one tile.
        let few = rows.saturating_mul(width) <= super::few::ENTRIES;
        if few || width < MIN_WIDTH || !layout.is_dense() || self.positions.is_some() {
            return self;
        }
        let row_bytes = width * self.size();
        let is_same = |row_number: usize| {
            let lane = self.lane((row_number * row_bytes) as isize, self.size() as isize);
            // SAFETY: the rows are contiguous in the array (`is_dense`), and none is empty
            // (`MIN_WIDTH`).
            #[allow(unsafe_code)]
            unsafe {
                (self.kind.all_same)(lane, width)
            }
        };
        // No other thread is asked if the first row answers.
        if !is_same(0) {
            return self;
        }
        let differ = AtomicBool::new(false);
        let parts = parallel::parts(Cost::of_bytes(rows.saturating_mul(row_bytes))).min(rows);
        parallel::run(parts, &|part| {
            for row_number in parallel::share(rows, parts, part) {
                if !is_same(row_number) || differ.load(Ordering::Relaxed) {
                    return differ.store(true, Ordering::Relaxed);
                }
            }
        });
        if differ.into_inner() {
            return self;
        }
        Indices { array: self.array.repeating_from(axis + 1), ..self }
    }

    /// The same indices with a stride of 0 along as many of the last axes as each repeats along, so
    /// that each is stored once.
    pub(super) fn without_repeats(self) -> Self {
        // Axes of one position have a stride of 0: no more than 63 are longer.
        let axes = 1..self.shape().len().max(1);
        let mut rows = axes.filter(|axis| self.layout().stride(*axis) != 0).filter_map(|axis| {
            let rows = self.of_rows(axis - 1);
            (rows.layout().stride(axis) == 0).then_some(rows)
        });
        rows.next().unwrap_or(self)
    }

    /// Whether these are many indices, take at least four times `target_bytes`, and each stands for
    /// one update.
    pub(crate) fn outweigh(&self, target_bytes: usize) -> bool {
        /// Fewest indices with which the difference matters.
        const MANY: usize = threshold(1 << 10, 16);
        let layout = self.layout();
        let own = |axis: usize| layout.shape()[axis] <= 1 || layout.stride(axis) != 0;
        let count = layout.len();
        count >= MANY
            && count.saturating_mul(self.size()) >= target_bytes.saturating_mul(4)
            && self.positions.is_none()
            && (0..layout.shape().len()).all(own)
    }

    /// Whether the policy can map every number of an index into bounds. Clipping and wrapping need
    /// axes with elements.
    pub(super) fn can_map(policy: Policy, components: &[Component]) -> bool {
        !matches!(policy, Policy::Clip | Policy::Wrap) || components.iter().all(|axis| axis.len > 0)
    }

    /// Whether all indices are in bounds of the axes along which their numbers select.
    #[inline(never)]
    pub(super) fn inside(&self, components: &[Component]) -> bool {
        self.layout().is_empty() || self.positions.is_some() || self.components_inside(components)
    }

    /// Returns an error for the first index in row-major order that is outside `-len..=len - 1`.
    pub(crate) fn check(&self, along: Along<'_>) -> Result<()> {
        if self.inside(&self.components(along)) { Ok(()) } else { Err(self.first_outside(along)) }
    }

    /// The numbers of these indices, to check their bounds: the step along the axis does not matter.
    fn components(&self, along: Along<'_>) -> Components {
        let one = along.lens.len() == 1;
        assert!(one || self.shape().last() == Some(&along.lens.len()), "{TUPLES}");
        let axes = self.axes(along.lens.len());
        let step = if axes < self.shape().len() { self.layout().stride(axes) } else { 0 };
        let lens = along.lens.iter().enumerate();
        let at = |number: usize| step.wrapping_mul(number as isize);
        lens.map(|(number, &len)| Component { len, step: 0, at: at(number) }).collect()
    }

    /// The number of axes of indices, each of so many numbers: all, or all but the one that holds the numbers.
    fn axes(&self, numbers: usize) -> usize {
        self.shape().len() - usize::from(numbers > 1)
    }

    /// Whether all numbers of all indices are in bounds of the axes of their components.
    fn components_inside(&self, components: &[Component]) -> bool {
        /// Most evenly spaced indices that are checked at once, on the calling thread.
        const FEW: usize = threshold(4 << 10, 4);
        let (axes, rank) = (self.axes(components.len()), self.shape().len());
        if let Some([all, _]) = self.layout().blocks([axes, rank]).filter(|all| all[0].len <= FEW) {
            let lane = self.lane(0, all.step);
            // SAFETY: so many indices, evenly spaced, are all of the array (`blocks`).
            #[allow(unsafe_code)]
            return unsafe { self.lane_inside(lane, all.len, components) };
        }
        self.loops_inside(0, self.loops_over(0..axes), components)
    }

    /// Whether all numbers are in bounds of those indices that these loops reach, from the one `start` bytes after
    /// the first on.
    fn loops_inside(&self, start: isize, mut loops: Loops, components: &[Component]) -> bool {
        loops.sort_by_key(|level| std::cmp::Reverse(level.step.indices.unsigned_abs()));
        merge(&mut loops);
        let (run, around) = match loops.split_last() {
            Some((last, around)) => (*last, around),
            None => (Loop::ONCE, &[][..]),
        };
        let outside = AtomicBool::new(false);
        let indices = (iterations(around) * run.len).saturating_mul(components.len());
        let parts = parallel::parts(Cost::of_looking(indices.saturating_mul(self.size())));
        let over_lanes = iterations(around) >= parts;
        parallel::run(parts, &|part| {
            let whole = if over_lanes { iterations(around) } else { run.len };
            let range = parallel::share(whole, parts, part);
            let (lanes, within) =
                if over_lanes { (range, 0..run.len) } else { (0..iterations(around), range) };
            let mut cursor = Cursor::new(around, Offsets::ZERO, lanes.start);
            for _ in lanes {
                let (place, _) = cursor.take(1);
                let place = place.after(within.start, run.step);
                let lane = self.lane(start + place.indices, run.step.indices);
                // SAFETY: the loops are those over the array's own axes, or a part of them, which do not leave it.
                #[allow(unsafe_code)]
                let inside = unsafe { self.lane_inside(lane, within.len(), components) };
                if !inside {
                    return outside.store(true, Ordering::Relaxed);
                }
            }
        });
        !outside.into_inner()
    }

    /// Whether all numbers of the `count` indices of a lane are in bounds.
    ///
    /// # Safety
    /// All numbers of all indices of the lane are elements of this array.
    #[allow(unsafe_code)]
    unsafe fn lane_inside(&self, lane: Lane, count: usize, components: &[Component]) -> bool {
        // SAFETY: the caller's promise; `kind` is that of the elements (the invariant).
        unsafe {
            #[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
            if let Some(tuples) = self.tuples(lane, count, components) {
                return tuples.inside();
            }
            components.iter().all(|component| {
                let lane = Lane { start: lane.start.wrapping_offset(component.at), ..lane };
                (self.kind.all_inside)(lane, count, component.len)
            })
        }
    }

    /// The loops over these axes. Axes along which indices are broadcast are left out: they only repeat their first
    /// index.
    fn loops_over(&self, axes: Range<usize>) -> Loops {
        let layout = self.layout();
        let level = |axis: usize| Loop {
            len: layout.shape()[axis],
            step: Offsets { indices: layout.stride(axis), ..Offsets::ZERO },
            entries: false,
        };
        axes.map(level).filter(|level| level.step.indices != 0).collect()
    }

    /// The error for the first index out of bounds in row-major order. It is found axis by axis: of the positions
    /// along an axis, the first half is searched if it holds an index out of bounds, or else the second.
    #[cold]
    pub(crate) fn first_outside(&self, along: Along<'_>) -> Error {
        let (layout, components) = (self.layout(), self.components(along));
        assert!(!layout.is_empty(), "no index is out of bounds where there is none");
        let axes = self.axes(components.len());
        let mut position: Vec<usize> = vec![0; layout.shape().len()];
        let mut start = 0;
        for axis in 0..axes {
            let step = layout.stride(axis);
            let mut range = 0..if step == 0 { 1 } else { layout.shape()[axis] };
            while range.len() > 1 {
                let middle = range.start + range.len() / 2;
                let mut half = self.loops_over(axis..axes);
                half[0].len = middle - range.start;
                if self.loops_inside(start, half, &components) {
                    start += (middle - range.start) as isize * step;
                    range.start = middle;
                } else {
                    range.end = middle;
                }
            }
            position[axis] = range.start;
        }
        for (number, component) in components.iter().enumerate() {
            // SAFETY: the start is that of an index of the array, which is not empty, and this one of its numbers.
            #[allow(unsafe_code)]
            let index = unsafe { self.value(start + component.at) };
            let len = component.len;
            if !(-(len as i128)..len as i128).contains(&index) {
                if let Some(place) = position.get_mut(axes) {
                    *place = number;
                }
                return Error::IndexOutOfBounds { index, position, axis: along.axis + number, len };
            }
        }
        unreachable!("the caller has found an index out of bounds")
    }
}

#[cfg(test)]
mod tests;
