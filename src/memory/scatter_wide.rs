//! Reductions that build up beside the target: means, and sums and products in
//! a wider type.
//!
//! A lane's updates are sorted by position, which keeps the order of equal
//! positions, and each group folds into one element of the target. The memory
//! this takes follows the number of updates, not the length of the axis. Where
//! lanes share their indices they share the sorting, and whole rows fold at a
//! time. Lanes that do not, and whose updates would touch much of the axis
//! anyway, keep one fold for every element of the axis instead.

use std::mem::MaybeUninit;
use std::ops::Range;

use super::positions::{Buffer, CHUNK, NOWHERE};
use super::scatter::{Lanes, Scatter};
use crate::args::IndexInteger;
use crate::error::{Error, Result};
use crate::geometry::Cursor;
use crate::parallel::Job;

/// How updates build up to a value.
pub(crate) trait Fold<T>: Copy + Send + Sync {
    type Sum: Copy + Send;

    /// Nothing yet but what the target holds, or nothing at all.
    fn start(self, target: &T) -> Self::Sum;
    fn add(self, sum: Self::Sum, update: &T) -> Self::Sum;
    /// The value of a sum of `count` updates, at least one.
    fn finish(self, sum: Self::Sum, count: usize) -> T;
}

/// What is built up for one element of an axis: nothing while `count` is 0.
#[derive(Debug, Clone, Copy)]
struct Slot<S: Copy> {
    sum: MaybeUninit<S>,
    count: u32,
}

/// Work memory, allocated before anything is written.
struct Room<S: Copy> {
    /// One slot for every element of the axis, all of count 0 between lanes.
    slots: Vec<Slot<S>>,
    /// Updates by position: position and number of the update.
    sorted: Vec<(usize, usize)>,
    /// The sums of one row.
    row: Vec<S>,
}

fn reserved<V>(capacity: usize) -> Result<Vec<V>> {
    let mut vec = Vec::new();
    let bytes = capacity.saturating_mul(size_of::<V>());
    vec.try_reserve_exact(capacity).map_err(|_| Error::AllocationFailed { bytes })?;
    Ok(vec)
}

/// Some lanes of a scatter, and the room to fold their updates in.
///
/// Invariant W1: no two parts that exist at a time share a lane.
/// [`whole`](Self::whole) is one part, and `split` cuts its lanes in two.
pub(crate) struct Part<'g, T, I, F: Fold<T>> {
    scatter: &'g Scatter<'g, T, I>,
    lanes: Lanes,
    fold: F,
    room: Room<F::Sum>,
}

impl<'g, T, I: IndexInteger, F: Fold<T>> Part<'g, T, I, F> {
    /// All of a scatter, as a job that folds its updates.
    pub(crate) fn whole(scatter: &'g Scatter<'g, T, I>, fold: F) -> Result<Self> {
        let loops = scatter.loops;
        let lanes = Lanes { around: 0..loops.around.len(), across: 0..loops.across.len };
        let room = room(scatter, lanes.across.len())?;
        Ok(Part { scatter, lanes, fold, room })
    }
}

/// Whether one slot for every element of the axis costs less than sorting.
fn dense<T, I: IndexInteger>(scatter: &Scatter<'_, T, I>) -> bool {
    let (axis_len, updates) = (scatter.loops.axis_len, scatter.loops.along.len);
    !scatter.rows_share_indices() && axis_len / 4 <= updates && u32::try_from(updates).is_ok()
}

fn room<T, I: IndexInteger, S: Copy>(scatter: &Scatter<'_, T, I>, width: usize) -> Result<Room<S>> {
    let mut room = Room { slots: Vec::new(), sorted: Vec::new(), row: Vec::new() };
    if dense(scatter) {
        room.slots = reserved(scatter.loops.axis_len)?;
        let empty = Slot { sum: MaybeUninit::uninit(), count: 0 };
        room.slots.resize(scatter.loops.axis_len, empty);
    } else {
        room.sorted = reserved(scatter.loops.along.len)?;
        room.row = reserved(if scatter.rows_share_indices() { width } else { 1 })?;
    }
    Ok(room)
}

impl<T: Send + Sync, I: IndexInteger, F: Fold<T>> Job for Part<'_, T, I, F> {
    /// A piece has work memory of its own, and may be a band of every row.
    const PIECES: usize = 1;

    #[inline]
    fn work(&self) -> usize {
        self.lanes.len() * self.scatter.loops.along.len * size_of::<T>()
    }

    fn split(mut self) -> std::result::Result<(Self, Self), Self> {
        let Some((left, right)) = self.lanes.split() else {
            return Err(self);
        };
        match room(self.scatter, right.across.len()) {
            Ok(room) => {
                let right = Part { lanes: right, room, ..self };
                self.lanes = left;
                Ok((self, right))
            }
            // One thread with the room there is does it all.
            Err(_) => Err(self),
        }
    }

    fn run(mut self) {
        let loops = self.scatter.loops;
        let mut buffer = [MaybeUninit::uninit(); CHUNK];
        let mut cursor = Cursor::new(loops.around.dims(), self.lanes.around.start);
        for _ in self.lanes.around.clone() {
            if self.scatter.rows_share_indices() {
                self.sort(cursor.offsets[0], &mut buffer);
                self.fold_groups(cursor.offsets, self.lanes.across.clone());
            } else {
                for lane in self.lanes.across.clone() {
                    self.fold_lane(cursor.offsets, lane, &mut buffer);
                }
            }
            cursor.advance();
        }
    }
}

#[allow(unsafe_code)]
impl<T, I: IndexInteger, F: Fold<T>> Part<'_, T, I, F> {
    /// Calls `visit` with position and number of each update of the lane whose
    /// indices start at `offset`, in order.
    #[inline]
    fn each_update(
        scatter: &Scatter<'_, T, I>,
        offset: isize,
        buffer: &mut Buffer,
        mut visit: impl FnMut(usize, usize),
    ) {
        let len = scatter.loops.along.len;
        for first in (0..len).step_by(CHUNK) {
            let chunk = first..len.min(first + CHUNK);
            let positions = scatter.positions_along(offset, chunk, buffer);
            for (i, &position) in positions.list.iter().enumerate() {
                if positions.everywhere || position != NOWHERE {
                    visit(position, first + i);
                }
            }
        }
    }

    /// Lane number `lane` of the loop across.
    fn fold_lane(&mut self, offsets: [isize; 3], lane: usize, buffer: &mut Buffer) {
        let across = self.scatter.loops.across.strides;
        let indices = offsets[0] + lane as isize * across[0];
        if self.room.slots.is_empty() {
            self.sort(indices, buffer);
            self.fold_groups(offsets, lane..lane + 1);
            return;
        }
        let (scatter, fold) = (self.scatter, self.fold);
        let (updates, target) = (scatter.updates, scatter.target);
        let along = scatter.loops.along.strides;
        let [update, element] = [1, 2].map(|array| offsets[array] + lane as isize * across[array]);
        let slots = &mut self.room.slots[..];
        Self::each_update(scatter, indices, buffer, |position, k| {
            let slot = &mut slots[position];
            // SAFETY: the offsets are turns of the loops over lanes, `k` of the
            // loop along the axis, and `position` is less than its length
            // (C1). The lane is this part's alone (S1, W1). A slot that has
            // counted an update holds a sum.
            unsafe {
                if slot.count == 0 {
                    let target = target.offset(element + position as isize * along[2]);
                    slot.sum.write(fold.start(&*target));
                }
                let update = updates.offset(update + k as isize * along[1]);
                slot.sum.write(fold.add(slot.sum.assume_init(), &*update));
            }
            slot.count += 1;
        });
        for (position, slot) in slots.iter_mut().enumerate().filter(|(_, slot)| slot.count != 0) {
            // SAFETY: as above.
            unsafe {
                let target = target.offset(element + position as isize * along[2]);
                *target = fold.finish(slot.sum.assume_init(), slot.count as usize);
            }
            slot.count = 0;
        }
    }

    /// Sorts the updates of a lane by position; those of one position keep
    /// their order.
    fn sort(&mut self, offset: isize, buffer: &mut Buffer) {
        let sorted = &mut self.room.sorted;
        sorted.clear();
        Self::each_update(self.scatter, offset, buffer, |position, k| sorted.push((position, k)));
        sorted.sort_unstable();
    }

    /// Folds the sorted updates, group by group, over these lanes of the loop
    /// across.
    fn fold_groups(&mut self, offsets: [isize; 3], lanes: Range<usize>) {
        let Scatter { loops, updates, target, .. } = self.scatter;
        let (along, across) = (loops.along.strides, loops.across.strides);
        let (fold, row) = (self.fold, &mut self.room.row);
        for group in self.room.sorted.chunk_by(|a, b| a.0 == b.0) {
            let element = |lane: usize| {
                offsets[2] + group[0].0 as isize * along[2] + lane as isize * across[2]
            };
            // SAFETY: as in `fold_lane`.
            unsafe {
                row.clear();
                row.extend(lanes.clone().map(|lane| fold.start(&*target.offset(element(lane)))));
                for &(_, k) in group {
                    let update = updates.offset(offsets[1] + k as isize * along[1]);
                    for (lane, sum) in lanes.clone().zip(row.iter_mut()) {
                        *sum = fold.add(*sum, &*update.offset(lane as isize * across[1]));
                    }
                }
                for (lane, &sum) in lanes.clone().zip(row.iter()) {
                    *target.offset(element(lane)) = fold.finish(sum, group.len());
                }
            }
        }
    }
}
