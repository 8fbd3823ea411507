//! Scatters updates over the lanes of a target, each lane's in their order.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use ndarray::{ArrayView, ArrayViewMut, Dimension};

use super::lines::prefetch;
use super::positions::Mode;
use super::span::assert_within;
use crate::args::IndexInteger;
use crate::geometry::{Dim, Nest};
use crate::parallel::Job;

/// The loops of a scatter, with strides for indices, updates and target.
///
/// Invariant S1: two turns of `around` and `lanes` that differ select lanes of
/// the target that share no element.
#[derive(Debug)]
pub(crate) struct Loops {
    /// Lanes, outside all other loops.
    pub(crate) around: Nest<3>,
    /// Lanes, the second loop inside the first.
    pub(crate) lanes: [Dim<3>; 2],
    /// The updates of a lane; the target's stride here is the axis's own.
    pub(crate) along: Dim<3>,
    /// Whether `along` runs outside `lanes`, and not inside.
    pub(crate) lanes_innermost: bool,
    /// The length of the axis in the target.
    pub(crate) axis_len: usize,
}

impl Loops {
    /// Lengths and strides in array number `array`, with `along` turns along
    /// the axis.
    fn of(&self, array: usize, along: usize) -> impl Iterator<Item = (usize, isize)> {
        let around = self.around.dims().iter().chain(&self.lanes);
        around
            .map(move |dim| (dim.len, dim.strides[array]))
            .chain([(along, self.along.strides[array])])
    }

    /// Whether lanes have no gaps, in indices, updates and target, and run
    /// inside all other loops.
    pub(crate) fn lanes_are_dense(&self) -> bool {
        !self.lanes_innermost && self.along.strides == [1; 3]
    }

    /// Whether lanes next to each other share their indices, so that every
    /// index selects a whole row.
    pub(super) fn rows_share_indices(&self) -> bool {
        self.lanes_innermost && self.lanes[1].len > 1 && self.lanes[1].strides[0] == 0
    }
}

/// What an update does to its target.
pub(crate) trait Update<T>: Copy + Send + Sync {
    /// Whether the updates of a lane apply from the last to the first.
    const BACKWARD: bool = false;

    fn apply(self, target: &mut T, update: &T);
}

/// A scatter ready to run.
pub(crate) struct Scatter<'c, T, I> {
    pub(super) loops: &'c Loops,
    mode: Mode,
    /// The first elements of arrays that the loops do not leave (`new` asserts
    /// it).
    pub(super) indices: *const I,
    pub(super) updates: *const T,
    pub(super) target: *mut T,
    borrows: PhantomData<(&'c I, &'c T, &'c mut T)>,
}

// SAFETY: the pointers stand for shared borrows of indices and updates and an
// exclusive one of the target (`borrows`). Parts share this struct between
// threads and change the target through it, each its own lanes (S1, S2).
#[allow(unsafe_code)]
unsafe impl<T: Send + Sync, I: Sync> Sync for Scatter<'_, T, I> {}

impl<'c, T, I: IndexInteger> Scatter<'c, T, I> {
    /// A scatter into `target`, none of the arrays empty.
    ///
    /// Invariant S3: under `Mode::Refuse`, `indices::check` has found all
    /// indices within the axis, or a part finds out before it uses them. They
    /// stay borrowed, so they still are.
    pub(crate) fn new<Q: Dimension, U: Dimension, D: Dimension>(
        loops: &'c Loops,
        mode: Mode,
        indices: &'c ArrayView<'_, I, Q>,
        updates: &'c ArrayView<'_, T, U>,
        target: &'c mut ArrayViewMut<'_, T, D>,
    ) -> Self {
        let along = loops.along.len;
        assert_within(indices.shape(), indices.strides(), 0, || loops.of(0, along));
        assert_within(updates.shape(), updates.strides(), 0, || loops.of(1, along));
        assert_within(target.shape(), target.strides(), 0, || loops.of(2, loops.axis_len));
        Scatter {
            loops,
            mode,
            indices: indices.as_ptr(),
            updates: updates.as_ptr(),
            target: target.as_mut_ptr(),
            borrows: PhantomData,
        }
    }

    /// All of it, as a job that applies `update`. With `refused`, the indices of
    /// dense lanes have not been checked: a lane ends where some are out of
    /// bounds, and `refused` tells.
    pub(crate) fn whole<'g, F>(
        &'g self,
        update: F,
        refused: Option<&'g AtomicBool>,
    ) -> Part<'g, T, I, F> {
        let refused = refused.filter(|_| self.checked() && self.loops.lanes_are_dense());
        Part { scatter: self, lanes: Lanes::all(self.loops), update, refused }
    }

    /// The position that an index selects, if any. `CHECKED` says that the
    /// mode is `Mode::Refuse`.
    #[inline(always)]
    pub(super) fn position<const CHECKED: bool>(&self, index: I) -> Option<usize> {
        let axis_len = self.loops.axis_len;
        let position = index.position(axis_len);
        if CHECKED {
            debug_assert!(position < axis_len as u64, "an index was not checked");
            return Some(position as usize);
        }
        match self.mode {
            _ if position < axis_len as u64 => Some(position as usize),
            Mode::Clip => Some(index.clip(axis_len)),
            Mode::Wrap => Some(index.wrap(axis_len)),
            Mode::Refuse | Mode::Nowhere => None,
        }
    }

    pub(super) fn checked(&self) -> bool {
        self.mode == Mode::Refuse
    }
}

/// Some lanes: a range of turns of each loop over them.
#[derive(Debug, Clone)]
pub(super) struct Lanes {
    pub(super) around: Range<usize>,
    pub(super) lanes: [Range<usize>; 2],
}

impl Lanes {
    pub(super) fn all(loops: &Loops) -> Self {
        let [first, second] = &loops.lanes;
        Lanes { around: 0..loops.around.len(), lanes: [0..first.len, 0..second.len] }
    }

    pub(super) fn len(&self) -> usize {
        self.around.len() * self.lanes[0].len() * self.lanes[1].len()
    }

    /// Cuts the lanes in two, if there is more than one.
    pub(super) fn split(&self) -> Option<(Self, Self)> {
        let (mut left, mut right) = (self.clone(), self.clone());
        let ranges = if self.around.len() > 1 {
            (&mut left.around, &mut right.around)
        } else {
            let k = self.lanes.iter().position(|range| range.len() > 1)?;
            (&mut left.lanes[k], &mut right.lanes[k])
        };
        let middle = ranges.0.start + ranges.0.len() / 2;
        (ranges.0.end, ranges.1.start) = (middle, middle);
        Some((left, right))
    }
}

/// A part of a scatter: some of its lanes.
///
/// Invariant S2: no two parts that exist at a time share a lane.
/// `Scatter::whole` is one part, and `split` cuts its lanes in two.
pub(crate) struct Part<'g, T, I, F> {
    scatter: &'g Scatter<'g, T, I>,
    lanes: Lanes,
    update: F,
    refused: Option<&'g AtomicBool>,
}

impl<T: Send + Sync, I: IndexInteger, F: Update<T>> Job for Part<'_, T, I, F> {
    /// A piece may be a band of every row, and wide bands are read best.
    const PIECES: usize = 1;

    #[inline]
    fn work(&self) -> usize {
        let loops = self.scatter.loops;
        let index = if loops.rows_share_indices() { 0 } else { size_of::<I>() };
        self.lanes.len() * loops.along.len * (size_of::<T>() + index).max(1)
    }

    fn split(self) -> Result<(Self, Self), Self> {
        match self.lanes.split() {
            Some((left, right)) => {
                Ok((Part { lanes: left, ..self }, Part { lanes: right, ..self }))
            }
            None => Err(self),
        }
    }

    fn run(self) {
        let Scatter { loops, .. } = self.scatter;
        let (rows, checked) = (loops.rows_share_indices(), self.scatter.checked());
        loops.around.for_each(self.lanes.around.clone(), |offsets| match (rows, checked) {
            (true, true) => self.rows::<true>(offsets),
            (true, false) => self.rows::<false>(offsets),
            (false, true) => self.elements::<true>(offsets),
            (false, false) => self.elements::<false>(offsets),
        });
    }
}

/// A cursor into indices, updates and target at once.
struct At<T, I> {
    indices: *const I,
    updates: *const T,
    target: *mut T,
}

#[allow(unsafe_code)]
impl<T, I> At<T, I> {
    /// The place `turns` turns of a loop further on.
    ///
    /// # Safety
    /// It lies in the same three arrays.
    #[inline(always)]
    unsafe fn turned(&self, turns: usize, strides: [isize; 3]) -> Self {
        let turns = turns as isize;
        // SAFETY: the caller's promise.
        unsafe {
            At {
                indices: self.indices.offset(turns * strides[0]),
                updates: self.updates.offset(turns * strides[1]),
                target: self.target.offset(turns * strides[2]),
            }
        }
    }
}

#[allow(unsafe_code)]
impl<T, I: IndexInteger, F: Update<T>> Part<'_, T, I, F> {
    /// Where the lanes of this part begin, and the loop along the axis, both
    /// in the direction in which `F` applies. The loop's target stride is 0:
    /// positions decide how far to go there.
    ///
    /// # Safety
    /// The offsets are those of a turn of the loops around.
    #[inline]
    unsafe fn begin(&self, offsets: [isize; 3]) -> (At<T, I>, Dim<3>) {
        let Scatter { loops, indices, updates, target, .. } = *self.scatter;
        let [indices_stride, updates_stride, _] = loops.along.strides;
        let mut along = Dim { len: loops.along.len, strides: [indices_stride, updates_stride, 0] };
        // SAFETY: the starts of this part's ranges and the last turn along the
        // axis are turns of the loops, which do not leave the arrays
        // (`Scatter::new`).
        unsafe {
            let mut at = At { indices, updates, target }.turned(1, offsets);
            for (range, dim) in self.lanes.lanes.iter().zip(&loops.lanes) {
                at = at.turned(range.start, dim.strides);
            }
            if F::BACKWARD {
                at = at.turned(along.len - 1, along.strides);
                along.strides = along.strides.map(|stride| -stride);
            }
            (at, along)
        }
    }

    /// Each index selects one element.
    fn elements<const CHECKED: bool>(&self, offsets: [isize; 3]) {
        let loops = self.scatter.loops;
        let [first, second] = [0, 1].map(|k| {
            let len = self.lanes.lanes[k].len();
            Dim { len, strides: loops.lanes[k].strides }
        });
        // SAFETY: as in `begin`; all turns below are turns of the loops.
        unsafe {
            let (at, along) = self.begin(offsets);
            let [outer, middle, inner] =
                if loops.lanes_innermost { [along, first, second] } else { [first, second, along] };
            for turn in 0..outer.len {
                let at = at.turned(turn, outer.strides);
                for turn in 0..middle.len {
                    self.line::<CHECKED>(&at.turned(turn, middle.strides), inner);
                }
            }
        }
    }

    /// The innermost loop over elements.
    ///
    /// # Safety
    /// All turns of the loop from this place on lie in the arrays, in lanes of
    /// this part.
    #[inline(always)]
    unsafe fn line<const CHECKED: bool>(&self, at: &At<T, I>, inner: Dim<3>) {
        let axis = self.scatter.loops.along.strides[2];
        // SAFETY: the caller's promise. Strides that are compared with
        // constants are handed on as those constants.
        unsafe {
            match (inner.strides, axis) {
                ([1, 1, 0], 1) => {
                    let indices = std::slice::from_raw_parts(at.indices, inner.len);
                    let updates = std::slice::from_raw_parts(at.updates, inner.len);
                    match self.refused {
                        Some(refused) => self.try_lane(at.target, indices, updates, refused),
                        None => self.apply_lane::<CHECKED>(at.target, indices, updates),
                    }
                }
                ([1, 1, 0], _) => self.apply_line::<CHECKED>(at, inner.len, [1, 1, 0], axis),
                ([1, 1, 1], _) => self.apply_line::<CHECKED>(at, inner.len, [1, 1, 1], axis),
                (strides, _) => self.apply_line::<CHECKED>(at, inner.len, strides, axis),
            }
        }
    }

    /// A lane without gaps, up to the first index out of bounds. The comparison
    /// costs less here than in a pass of its own: this loop waits for memory.
    ///
    /// # Safety
    /// That of [`apply_lane`](Self::apply_lane).
    #[inline(never)]
    unsafe fn try_lane(&self, target: *mut T, indices: &[I], updates: &[T], refused: &AtomicBool) {
        let axis_len = self.scatter.loops.axis_len;
        for (&index, update) in indices.iter().zip(updates) {
            let position = index.position(axis_len);
            if position >= axis_len as u64 {
                return refused.store(true, Ordering::Relaxed);
            }
            // SAFETY: the position is within the axis, as just compared.
            unsafe { self.update.apply(&mut *target.add(position as usize), update) };
        }
    }

    /// A lane without gaps.
    ///
    /// # Safety
    /// The lane begins at `target`, has no gaps, and is this part's.
    #[inline(never)]
    unsafe fn apply_lane<const CHECKED: bool>(&self, target: *mut T, indices: &[I], updates: &[T]) {
        for (&index, update) in indices.iter().zip(updates) {
            if let Some(position) = self.scatter.position::<CHECKED>(index) {
                // SAFETY: the position is within the axis (S3, or `position`
                // compared it).
                unsafe { self.update.apply(&mut *target.add(position), update) };
            }
        }
    }

    /// # Safety
    /// That of [`line`](Self::line).
    #[inline(always)]
    unsafe fn apply_line<const CHECKED: bool>(
        &self,
        at: &At<T, I>,
        len: usize,
        strides: [isize; 3],
        axis: isize,
    ) {
        for turn in 0..len {
            // SAFETY: the caller's promise. The position is within the axis
            // (S3, or `position` compared it), so the element lies in a lane
            // that is this part's alone (S1, S2).
            unsafe {
                let at = at.turned(turn, strides);
                if let Some(position) = self.scatter.position::<CHECKED>(*at.indices) {
                    let target = at.target.offset(position as isize * axis);
                    self.update.apply(&mut *target, &*at.updates);
                }
            }
        }
    }

    /// Each index selects a row: all elements of the second loop over lanes.
    fn rows<const CHECKED: bool>(&self, offsets: [isize; 3]) {
        let loops = self.scatter.loops;
        let [first, second] = [0, 1].map(|k| {
            let len = self.lanes.lanes[k].len();
            Dim { len, strides: loops.lanes[k].strides }
        });
        let axis = loops.along.strides[2];
        // SAFETY: as in `elements`; all elements of a row lie in lanes of this
        // part.
        unsafe {
            let (at, along) = self.begin(offsets);
            for turn in 0..along.len {
                let later = along.len.min(turn + AHEAD + 1) - 1;
                let later = at.turned(later, along.strides);
                if let Some(position) = self.scatter.position::<CHECKED>(*later.indices) {
                    prefetch(later.target.offset(position as isize * axis), second.len);
                }
                let at = at.turned(turn, along.strides);
                for turn in 0..first.len {
                    let at = at.turned(turn, first.strides);
                    if let Some(position) = self.scatter.position::<CHECKED>(*at.indices) {
                        let target = at.target.offset(position as isize * axis);
                        let strides = [second.strides[1], second.strides[2]];
                        row(self.update, target, at.updates, second.len, strides);
                    }
                }
            }
        }
    }
}

/// How many rows ahead of the one being reduced the next is asked for.
const AHEAD: usize = 8;

/// Applies a row of updates to a row of the target; strides of updates and
/// target.
///
/// # Safety
/// `len` elements of both rows, with these strides, lie in their arrays. No
/// two elements of the target's row are one, nothing else uses it, and the
/// updates do not overlap it.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn row<T, F: Update<T>>(
    update: F,
    target: *mut T,
    updates: *const T,
    len: usize,
    strides: [isize; 2],
) {
    // SAFETY: the caller's promise.
    unsafe {
        if strides == [1, 1] {
            let target = std::slice::from_raw_parts_mut(target, len);
            return dense_row(update, target, std::slice::from_raw_parts(updates, len));
        }
        for j in 0..len as isize {
            let update_j = &*updates.offset(j * strides[0]);
            update.apply(&mut *target.offset(j * strides[1]), update_j);
        }
    }
}

/// Not inlined: as arguments of a function the slices are known not to
/// overlap, and the compiler works on several elements at a time.
#[inline(never)]
fn dense_row<T, F: Update<T>>(update: F, target: &mut [T], updates: &[T]) {
    for (target, update_j) in target.iter_mut().zip(updates) {
        update.apply(target, update_j);
    }
}
