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
    /// A scatter into `target`, none of the arrays empty. Under
    /// `Mode::Refuse` the indices have been checked.
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

/// Calls `visit` with the numbers below `count`, in either direction.
#[inline(always)]
fn each(count: usize, backward: bool, mut visit: impl FnMut(usize)) {
    if backward {
        (0..count).rev().for_each(visit);
    } else {
        (0..count).for_each(&mut visit);
    }
}

#[allow(unsafe_code)]
impl<T, I: IndexInteger, F: Update<T>> Part<'_, T, I, F> {
    /// One lane, by itself.
    fn lane(&self, offsets: [isize; 3], buffer: &mut Buffer) {
        let Scatter { loops, updates, target, .. } = self.scatter;
        let Dim { len, strides } = loops.along;
        for chunk in chunks(0..len, F::BACKWARD) {
            let positions = self.scatter.positions_along(offsets[0], chunk.clone(), buffer);
            each(positions.list.len(), F::BACKWARD, |i| {
                let position = positions.list[i];
                if !positions.everywhere && position == NOWHERE {
                    return;
                }
                let update = offsets[1] + (chunk.start + i) as isize * strides[1];
                let element = offsets[2] + position as isize * strides[2];
                // SAFETY: the offsets are turns of the loops over lanes,
                // `chunk` lies in the loop along the axis and the position is
                // less than the axis's length (C1): none of them leaves its
                // array (`Scatter::new`). The lane is this part's alone (S1,
                // S2).
                unsafe {
                    self.update.apply(&mut *target.offset(element), &*updates.offset(update))
                };
            });
        }
    }

    /// Lanes that share their indices: whole rows at a time.
    fn rows(&self, offsets: [isize; 3], buffer: &mut Buffer) {
        let Scatter { loops, .. } = self.scatter;
        let Dim { len, strides } = loops.along;
        for chunk in chunks(0..len, F::BACKWARD) {
            let positions = self.scatter.positions_along(offsets[0], chunk.clone(), buffer);
            each(positions.list.len(), F::BACKWARD, |i| {
                let position = positions.list[i];
                if positions.everywhere || position != NOWHERE {
                    let update = offsets[1] + (chunk.start + i) as isize * strides[1];
                    self.row(update, offsets[2] + position as isize * strides[2]);
                }
            });
        }
    }

    /// One row of updates onto one row of the target, which start at these
    /// offsets.
    #[inline]
    fn row(&self, update: isize, element: isize) {
        let Scatter { loops, updates, target, .. } = self.scatter;
        let (strides, Range { start, end }) = (loops.across.strides, self.lanes.across.clone());
        // SAFETY: as in `lane`; `across` lies in the loop across the axis. No
        // two elements of a row are one (S1), and target and updates do not
        // overlap.
        unsafe {
            if strides[1..] == [1, 1] {
                let updates = updates.offset(update).add(start);
                let target = target.offset(element).add(start);
                let updates = std::slice::from_raw_parts(updates, end - start);
                let target = std::slice::from_raw_parts_mut(target, end - start);
                for (target, update) in target.iter_mut().zip(updates) {
                    self.update.apply(target, update);
                }
            } else {
                for j in start as isize..end as isize {
                    let update = updates.offset(update + j * strides[1]);
                    self.update.apply(&mut *target.offset(element + j * strides[2]), &*update);
                }
            }
        }
    }

    /// Lanes next to each other, update number k of all of them before number
    /// k + 1.
    fn lanes_abreast(&self, offsets: [isize; 3], buffer: &mut Buffer) {
        let Scatter { loops, updates, target, .. } = self.scatter;
        let (along, across) = (loops.along, loops.across.strides);
        each(along.len, F::BACKWARD, |k| {
            for chunk in chunks(self.lanes.across.clone(), false) {
                let positions = self.scatter.positions_across(offsets[0], k, chunk.clone(), buffer);
                let row = offsets[1] + k as isize * along.strides[1];
                for (j, &position) in chunk.zip(positions.list) {
                    if !positions.everywhere && position == NOWHERE {
                        continue;
                    }
                    let update = row + j as isize * across[1];
                    let lane = offsets[2] + j as isize * across[2];
                    let element = lane + position as isize * along.strides[2];
                    // SAFETY: as in `lane`; `chunk` lies in the loop across.
                    unsafe {
                        self.update.apply(&mut *target.offset(element), &*updates.offset(update));
                    }
                }
            }
        });
    }
}
