//! Scatters updates over the lanes of a target, each lane's in their order.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

use ndarray::{ArrayView, ArrayViewMut, Dimension};

use super::positions::{Buffer, CHUNK, Mode, NOWHERE, Positions, resolve};
use super::span::assert_within;
use crate::args::IndexInteger;
use crate::geometry::{Cursor, Dim, Nest};
use crate::parallel::Job;

/// The loops of a scatter, with strides for indices, updates and target.
///
/// Invariant S1: two turns of `around` and `across` that differ select lanes
/// of the target that share no element.
#[derive(Debug)]
pub(crate) struct Loops {
    /// Lanes, outside the loop along the axis.
    pub(crate) around: Nest<3>,
    /// The updates of a lane; the target's stride here is the axis's own.
    pub(crate) along: Dim<3>,
    /// Lanes, inside the loop along the axis.
    pub(crate) across: Dim<3>,
    /// The length of the axis in the target.
    pub(crate) axis_len: usize,
}

impl Loops {
    /// Lengths and strides in array number `array`, with `along` turns along
    /// the axis.
    fn of(&self, array: usize, along: usize) -> impl Iterator<Item = (usize, isize)> {
        let around = self.around.dims().iter().map(move |dim| (dim.len, dim.strides[array]));
        around.chain([
            (along, self.along.strides[array]),
            (self.across.len, self.across.strides[array]),
        ])
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
    indices: *const I,
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
    /// indices within the axis. They stay borrowed, so they still are.
    pub(crate) fn new<Q: Dimension, U: Dimension, D: Dimension>(
        loops: &'c Loops,
        mode: Mode,
        indices: &'c ArrayView<'_, I, Q>,
        updates: &'c ArrayView<'_, T, U>,
        target: &'c mut ArrayViewMut<'_, T, D>,
    ) -> Self {
        let along = loops.along.len;
        assert_within(indices.shape(), indices.strides(), 0, loops.of(0, along));
        assert_within(updates.shape(), updates.strides(), 0, loops.of(1, along));
        assert_within(target.shape(), target.strides(), 0, loops.of(2, loops.axis_len));
        Scatter {
            loops,
            mode,
            indices: indices.as_ptr(),
            updates: updates.as_ptr(),
            target: target.as_mut_ptr(),
            borrows: PhantomData,
        }
    }

    /// All of it, as a job that applies `update`.
    pub(crate) fn whole<F>(&self, update: F) -> Part<'_, T, I, F> {
        let lanes = Lanes { around: 0..self.loops.around.len(), across: 0..self.loops.across.len };
        Part { scatter: self, lanes, update }
    }

    /// The positions of up to [`CHUNK`] updates of a lane from number `first`
    /// on, for the lane at these offsets.
    #[allow(unsafe_code)]
    #[inline]
    pub(super) fn positions_along<'b>(
        &self,
        offset: isize,
        range: Range<usize>,
        buffer: &'b mut Buffer,
    ) -> Positions<'b> {
        let stride = self.loops.along.strides[0];
        // SAFETY: `offset` is one of the loops over lanes and `range` lies in
        // the loop along the axis; they do not leave the indices (`new`).
        let resolved = unsafe {
            let first = self.indices.offset(offset + range.start as isize * stride);
            resolve(first, stride, range.len(), self.loops.axis_len, self.mode, buffer)
        };
        resolved.unwrap_or(Positions { list: &[], everywhere: true })
    }

    /// The same for lanes next to each other, each for its update number `k`.
    #[allow(unsafe_code)]
    #[inline]
    pub(super) fn positions_across<'b>(
        &self,
        offset: isize,
        k: usize,
        range: Range<usize>,
        buffer: &'b mut Buffer,
    ) -> Positions<'b> {
        let stride = self.loops.across.strides[0];
        let offset = offset + k as isize * self.loops.along.strides[0];
        // SAFETY: as in `positions_along`.
        let resolved = unsafe {
            let first = self.indices.offset(offset + range.start as isize * stride);
            resolve(first, stride, range.len(), self.loops.axis_len, self.mode, buffer)
        };
        resolved.unwrap_or(Positions { list: &[], everywhere: true })
    }

    /// Whether lanes next to each other share their indices, so that every
    /// index selects a whole row.
    pub(super) fn rows_share_indices(&self) -> bool {
        self.loops.across.len > 1 && self.loops.across.strides[0] == 0
    }
}

/// Some lanes: a range of turns of each loop over them.
#[derive(Debug, Clone)]
pub(super) struct Lanes {
    pub(super) around: Range<usize>,
    pub(super) across: Range<usize>,
}

impl Lanes {
    pub(super) fn len(&self) -> usize {
        self.around.len() * self.across.len()
    }

    /// Cuts the lanes in two, if there is more than one.
    pub(super) fn split(&self) -> Option<(Self, Self)> {
        let (mut left, mut right) = (self.clone(), self.clone());
        if self.around.len() > 1 {
            let middle = self.around.start + self.around.len() / 2;
            (left.around.end, right.around.start) = (middle, middle);
        } else if self.across.len() > 1 {
            let middle = self.across.start + self.across.len() / 2;
            (left.across.end, right.across.start) = (middle, middle);
        } else {
            return None;
        }
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
}

impl<T: Send + Sync, I: IndexInteger, F: Update<T>> Job for Part<'_, T, I, F> {
    /// A piece may be a band of every row, and wide bands are read best.
    const PIECES: usize = 1;

    #[inline]
    fn work(&self) -> usize {
        self.lanes.len() * self.scatter.loops.along.len * size_of::<T>().max(1)
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
        let loops = self.scatter.loops;
        let mut buffer = [MaybeUninit::uninit(); CHUNK];
        let mut cursor = Cursor::new(loops.around.dims(), self.lanes.around.start);
        for _ in self.lanes.around.clone() {
            if loops.across.len == 1 {
                self.lane(cursor.offsets, &mut buffer);
            } else if self.scatter.rows_share_indices() {
                self.rows(cursor.offsets, &mut buffer);
            } else {
                self.lanes_abreast(cursor.offsets, &mut buffer);
            }
            cursor.advance();
        }
    }
}

/// The pieces of at most [`CHUNK`] of a range, in either direction.
fn chunks(range: Range<usize>, backward: bool) -> impl Iterator<Item = Range<usize>> {
    let pieces = range.len().div_ceil(CHUNK);
    (0..pieces).map(move |piece| {
        let piece = if backward { pieces - 1 - piece } else { piece };
        let start = range.start + piece * CHUNK;
        start..range.end.min(start + CHUNK)
    })
}

#[allow(unsafe_code)]
impl<T, I: IndexInteger, F: Update<T>> Part<'_, T, I, F> {
    /// One lane, by itself.
    fn lane(&self, offsets: [isize; 3], buffer: &mut Buffer) {
        let Scatter { loops, updates, target, .. } = self.scatter;
        let Dim { len, strides } = loops.along;
        if self.scatter.mode == Mode::Refuse && !F::BACKWARD && strides == [1; 3] {
            // SAFETY: as below, for all turns of the loop along the axis.
            unsafe {
                let indices = self.scatter.indices.offset(offsets[0]);
                let indices = std::slice::from_raw_parts(indices, len);
                let updates = std::slice::from_raw_parts(updates.offset(offsets[1]), len);
                let target = target.offset(offsets[2]);
                return checked_lane(self.update, target, loops.axis_len, indices, updates);
            }
        }
        for chunk in chunks(0..len, F::BACKWARD) {
            let positions = self.scatter.positions_along(offsets[0], chunk.clone(), buffer);
            // SAFETY: the offsets are turns of the loops over lanes, `chunk`
            // lies in the loop along the axis and positions are less than the
            // axis's length (C1): none of them leaves its array
            // (`Scatter::new`). The lane is this part's alone (S1, S2).
            unsafe {
                let updates = updates.offset(offsets[1] + chunk.start as isize * strides[1]);
                let target = target.offset(offsets[2]);
                lane(self.update, target, strides[2], updates, strides[1], positions);
            }
        }
    }

    /// Lanes that share their indices: whole rows at a time.
    fn rows(&self, offsets: [isize; 3], buffer: &mut Buffer) {
        let Scatter { loops, updates, target, .. } = self.scatter;
        let (Dim { len, strides: along }, across) = (loops.along, loops.across.strides);
        let Range { start, end } = self.lanes.across;
        for chunk in chunks(0..len, F::BACKWARD) {
            let positions = self.scatter.positions_along(offsets[0], chunk.clone(), buffer);
            // SAFETY: as in `lane`; `start..end` lies in the loop across.
            unsafe {
                let updates = updates.offset(offsets[1] + start as isize * across[1]);
                let updates = updates.offset(chunk.start as isize * along[1]);
                let target = target.offset(offsets[2] + start as isize * across[2]);
                each::<F, T>(positions, |k, position| {
                    let updates = updates.offset(k as isize * along[1]);
                    let target = target.offset(position as isize * along[2]);
                    row(self.update, target, across[2], updates, across[1], end - start);
                });
            }
        }
    }

    /// Lanes next to each other, update number k of all of them before number
    /// k + 1.
    fn lanes_abreast(&self, offsets: [isize; 3], buffer: &mut Buffer) {
        let Scatter { loops, updates, target, .. } = self.scatter;
        let (along, across) = (loops.along, loops.across.strides);
        for turn in 0..along.len {
            let k = if F::BACKWARD { along.len - 1 - turn } else { turn };
            for chunk in chunks(self.lanes.across.clone(), false) {
                let positions = self.scatter.positions_across(offsets[0], k, chunk.clone(), buffer);
                // SAFETY: as in `lane`; `chunk` lies in the loop across.
                unsafe {
                    let updates = updates.offset(offsets[1] + k as isize * along.strides[1]);
                    let updates = updates.offset(chunk.start as isize * across[1]);
                    let target = target.offset(offsets[2] + chunk.start as isize * across[2]);
                    let strides = [along.strides[2], across[2]];
                    abreast(self.update, target, strides, updates, across[1], positions);
                }
            }
        }
    }
}

/// Calls `visit` with number and position of every update that goes somewhere,
/// in the order in which `F` applies.
#[inline(always)]
fn each<F: Update<T>, T>(positions: Positions<'_>, mut visit: impl FnMut(usize, usize)) {
    let numbered = positions.list.iter().copied().enumerate();
    if F::BACKWARD {
        let somewhere = numbered.rev().filter(|(_, position)| *position != NOWHERE);
        somewhere.for_each(|(k, position)| visit(k, position));
    } else if positions.everywhere {
        numbered.for_each(|(k, position)| visit(k, position));
    } else {
        let somewhere = numbered.filter(|(_, position)| *position != NOWHERE);
        somewhere.for_each(|(k, position)| visit(k, position));
    }
}

/// Applies an update to the element at each index of a lane, whose indices and
/// updates follow each other. Reading indices and updates in one loop overlaps
/// their misses with those of the target.
///
/// # Safety
/// All indices are within an axis of `axis_len` elements; the lane starts at
/// `target` with that many, and nothing else uses it.
#[allow(unsafe_code)]
#[inline(never)]
unsafe fn checked_lane<T, I: IndexInteger, F: Update<T>>(
    update: F,
    target: *mut T,
    axis_len: usize,
    indices: &[I],
    updates: &[T],
) {
    for (index, update_k) in indices.iter().zip(updates) {
        let position = index.position(axis_len) as usize;
        debug_assert!(position < axis_len);
        // SAFETY: the caller's promise.
        unsafe { update.apply(&mut *target.add(position), update_k) };
    }
}

/// Applies an update to the element at each position of a lane.
///
/// # Safety
/// The elements of the lane at all positions that are somewhere, and as many
/// updates as positions, lie in their arrays; nothing else uses the lane.
#[allow(unsafe_code)]
#[inline(never)]
unsafe fn lane<T, F: Update<T>>(
    update: F,
    target: *mut T,
    target_stride: isize,
    updates: *const T,
    update_stride: isize,
    positions: Positions<'_>,
) {
    // SAFETY: the caller's promise.
    unsafe {
        if (target_stride, update_stride) == (1, 1) {
            each::<F, T>(positions, |k, position| {
                update.apply(&mut *target.add(position), &*updates.add(k));
            });
        } else {
            each::<F, T>(positions, |k, position| {
                let target = target.offset(position as isize * target_stride);
                update.apply(&mut *target, &*updates.offset(k as isize * update_stride));
            });
        }
    }
}

/// Applies an update to the element at each position, each of the next lane.
/// The strides of the target are that of its axis and that from lane to lane.
///
/// # Safety
/// That of [`lane`], for each lane its one position.
#[allow(unsafe_code)]
#[inline(never)]
unsafe fn abreast<T, F: Update<T>>(
    update: F,
    target: *mut T,
    target_strides: [isize; 2],
    updates: *const T,
    update_stride: isize,
    positions: Positions<'_>,
) {
    let [axis, next] = target_strides;
    // SAFETY: the caller's promise.
    unsafe {
        if (next, update_stride) == (1, 1) {
            each::<F, T>(positions, |j, position| {
                let target = target.offset(j as isize + position as isize * axis);
                update.apply(&mut *target, &*updates.add(j));
            });
        } else {
            each::<F, T>(positions, |j, position| {
                let target = target.offset(j as isize * next + position as isize * axis);
                update.apply(&mut *target, &*updates.offset(j as isize * update_stride));
            });
        }
    }
}

/// Applies a row of updates to a row of the target.
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
    target_stride: isize,
    updates: *const T,
    update_stride: isize,
    len: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        if (target_stride, update_stride) == (1, 1) {
            let target = std::slice::from_raw_parts_mut(target, len);
            return dense_row(update, target, std::slice::from_raw_parts(updates, len));
        }
        for j in 0..len as isize {
            let update_j = &*updates.offset(j * update_stride);
            update.apply(&mut *target.offset(j * target_stride), update_j);
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
