//! Reductions that build up beside the target: means, and sums and products in
//! a wider type.
//!
//! Where the updates of a lane would touch much of the axis, every element of
//! the axis has a slot of its own that builds up its value. Where they touch
//! little of it, or where lanes share their indices, the updates are sorted by
//! position, which keeps the order of equal positions, and each group folds
//! into one element, or one row of elements, of the target. So the memory this
//! takes follows the number of updates, not the length of the axis.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::lines::prefetch;
use super::scatter::{Lanes, Scatter};
use crate::args::IndexInteger;
use crate::error::{Error, Result};
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

/// What builds up for one element of an axis, and from how many updates.
#[derive(Debug, Clone, Copy)]
struct Slot<S> {
    sum: S,
    count: u32,
}

/// An update by position: the position, and the number of the update.
type Placed = (usize, usize);

/// Work memory, allocated before anything is written.
struct Room<S> {
    slots: Vec<Slot<S>>,
    placed: Vec<Placed>,
    /// Room to sort `placed` in, and where each position's updates begin.
    sorted: Vec<Placed>,
    begins: Vec<usize>,
    /// The sums of one row.
    row: Vec<S>,
}

/// How a scatter's updates are brought together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// A slot for every element of the axis, for this many lanes at once.
    Slots { abreast: usize },
    /// Sorted by counting: the positions are about as many as the updates.
    Counted,
    /// Sorted by comparing.
    Compared,
}

impl Way {
    /// Bytes of slots that stay in the caches near a core.
    const NEAR: usize = 256 << 10;

    fn of<T, I: IndexInteger, S>(scatter: &Scatter<'_, T, I>) -> Self {
        let loops = scatter.loops;
        let (axis_len, updates) = (loops.axis_len, loops.along.len);
        if axis_len / 4 > updates {
            Way::Compared
        } else if loops.rows_share_indices() || u32::try_from(updates).is_err() {
            Way::Counted
        } else {
            // Lanes whose indices follow each other are read a cache line at a
            // time, so several are better than one.
            let bytes = axis_len * size_of::<Slot<S>>();
            let widest = if loops.lanes_innermost { 16 } else { 1 };
            Way::Slots { abreast: (Self::NEAR / bytes.max(1)).clamp(1, widest) }
        }
    }
}

fn reserved<V>(capacity: usize) -> Result<Vec<V>> {
    let mut vec = Vec::new();
    let bytes = capacity.saturating_mul(size_of::<V>());
    vec.try_reserve_exact(capacity).map_err(|_| Error::AllocationFailed { bytes })?;
    Ok(vec)
}

impl<S> Room<S> {
    fn new<T, I: IndexInteger>(scatter: &Scatter<'_, T, I>, way: Way) -> Result<Self> {
        let loops = scatter.loops;
        let (axis_len, updates) = (loops.axis_len, loops.along.len);
        let none = || Room {
            slots: Vec::new(),
            placed: Vec::new(),
            sorted: Vec::new(),
            begins: Vec::new(),
            row: Vec::new(),
        };
        if let Way::Slots { abreast } = way {
            return Ok(Room { slots: reserved(axis_len * abreast)?, ..none() });
        }
        let width = if loops.rows_share_indices() { loops.lanes[1].len } else { 1 };
        let (placed, row) = (reserved(updates)?, reserved(width)?);
        if way == Way::Compared {
            return Ok(Room { placed, row, ..none() });
        }
        let (sorted, begins) = (reserved(updates)?, reserved(axis_len + 1)?);
        Ok(Room { placed, sorted, begins, row, ..none() })
    }
}

/// Some lanes of a scatter, and the room to fold their updates in.
///
/// Invariant W1: no two parts that exist at a time share a lane.
/// [`whole`](Self::whole) is one part, and `split` cuts its lanes in two.
pub(crate) struct Part<'g, T, I, F: Fold<T>> {
    scatter: &'g Scatter<'g, T, I>,
    lanes: Lanes,
    fold: F,
    way: Way,
    room: Room<F::Sum>,
    /// Where to tell of an index out of bounds, if none has been looked at yet.
    refused: Option<&'g AtomicBool>,
}

impl<'g, T, I: IndexInteger, F: Fold<T>> Part<'g, T, I, F> {
    /// All of a scatter, as a job that folds its updates. With `refused`, the
    /// indices have not been checked: where a lane has one out of bounds,
    /// nothing is written to that lane, and `refused` tells.
    pub(crate) fn whole(
        scatter: &'g Scatter<'g, T, I>,
        fold: F,
        refused: Option<&'g AtomicBool>,
    ) -> Result<Self> {
        let way = Way::of::<T, I, F::Sum>(scatter);
        let room = Room::new(scatter, way)?;
        let refused = refused.filter(|_| scatter.checked());
        Ok(Part { scatter, lanes: Lanes::all(scatter.loops), fold, way, room, refused })
    }
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
        match Room::new(self.scatter, self.way) {
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
        let strides = loops.lanes[0].strides;
        loops.around.for_each(self.lanes.around.clone(), |offsets| {
            for turn in self.lanes.lanes[0].clone() {
                let offset = |k: usize| offsets[k] + turn as isize * strides[k];
                self.fold_lanes([offset(0), offset(1), offset(2)]);
            }
        });
    }
}

#[allow(unsafe_code)]
impl<T, I: IndexInteger, F: Fold<T>> Part<'_, T, I, F> {
    /// All lanes of the second loop over lanes.
    fn fold_lanes(&mut self, offsets: [isize; 3]) {
        let lanes = self.lanes.lanes[1].clone();
        if let Way::Slots { abreast } = self.way {
            let mut first = lanes.start;
            while first < lanes.end {
                let last = lanes.end.min(first + abreast);
                self.fold_in_slots(offsets, first..last);
                first = last;
            }
        } else if self.scatter.loops.rows_share_indices() {
            self.sort_and_fold(offsets, offsets[0], lanes);
        } else {
            for lane in lanes {
                let indices = offsets[0] + lane as isize * self.scatter.loops.lanes[1].strides[0];
                self.sort_and_fold(offsets, indices, lane..lane + 1);
            }
        }
    }

    /// Lanes that share the indices from this offset on.
    fn sort_and_fold(&mut self, offsets: [isize; 3], indices: isize, lanes: Range<usize>) {
        self.sort(indices);
        if !self.refuses(self.room.placed.len() == self.scatter.loops.along.len) {
            self.fold_groups(offsets, lanes);
        }
    }

    /// Whether a lane is to be left as it is, because some of its indices are
    /// out of bounds; if so, tells.
    fn refuses(&self, none_outside: bool) -> bool {
        let refused = self.refused.filter(|_| !none_outside);
        refused.inspect(|refused| refused.store(true, Ordering::Relaxed)).is_some()
    }

    /// A few lanes next to each other: slot `position * lanes.len() + lane`.
    fn fold_in_slots(&mut self, offsets: [isize; 3], lanes: Range<usize>) {
        let Scatter { loops, target, .. } = *self.scatter;
        let (axis, across) = (loops.along.strides[2], loops.lanes[1].strides[2]);
        let element = |position: usize, lane: usize| {
            offsets[2] + position as isize * axis + (lanes.start + lane) as isize * across
        };
        let (fold, width) = (self.fold, lanes.len());
        self.room.slots.clear();
        for position in 0..loops.axis_len {
            self.room.slots.extend((0..width).map(|lane| {
                // SAFETY: the offsets and `lanes` are turns of the loops over
                // lanes, and `position` is within the axis: they do not leave
                // the target (`Scatter::new`). The lanes are this part's alone
                // (S1, W1).
                let sum = unsafe { fold.start(&*target.offset(element(position, lane))) };
                Slot { sum, count: 0 }
            }));
        }
        let none_outside = if self.scatter.checked() && self.refused.is_none() {
            self.add_to_slots::<true>(offsets, lanes.clone())
        } else {
            self.add_to_slots::<false>(offsets, lanes.clone())
        };
        if self.refuses(none_outside) {
            return;
        }
        let slots = self.room.slots.iter().enumerate();
        for (number, slot) in slots.filter(|(_, slot)| slot.count != 0) {
            // SAFETY: as above.
            unsafe {
                let target = target.offset(element(number / width, number % width));
                *target = fold.finish(slot.sum, slot.count as usize);
            }
        }
    }

    /// Adds the updates of these lanes to their slots, and tells whether each of
    /// them had one.
    fn add_to_slots<const CHECKED: bool>(
        &mut self,
        offsets: [isize; 3],
        lanes: Range<usize>,
    ) -> bool {
        let Scatter { loops, indices, updates, .. } = *self.scatter;
        let (along, across) = (loops.along, loops.lanes[1].strides);
        let (scatter, fold, width) = (self.scatter, self.fold, lanes.len());
        let slots = &mut self.room.slots[..];
        let mut all = true;
        let mut add = |index: I, update: &T, lane: usize| {
            let position = scatter.position::<CHECKED>(index);
            all &= position.is_some();
            if let Some(position) = position {
                // SAFETY: the position is within the axis (S3, or `position`
                // compared it), and there is a slot for each and each lane.
                let slot = unsafe { slots.get_unchecked_mut(position * width + lane) };
                slot.sum = fold.add(slot.sum, update);
                slot.count += 1;
            }
        };
        // SAFETY: the offsets and `lanes` are turns of the loops over lanes and
        // `k` is one of the loop along the axis: they leave neither indices
        // nor updates (`Scatter::new`).
        unsafe {
            let indices = indices.offset(offsets[0] + lanes.start as isize * across[0]);
            let updates = updates.offset(offsets[1] + lanes.start as isize * across[1]);
            if width == 1 && along.strides[..2] == [1, 1] {
                let indices = std::slice::from_raw_parts(indices, along.len);
                let updates = std::slice::from_raw_parts(updates, along.len);
                indices.iter().zip(updates).for_each(|(&index, update)| add(index, update, 0));
                return all;
            }
            for k in 0..along.len as isize {
                for lane in 0..width as isize {
                    let index = *indices.offset(k * along.strides[0] + lane * across[0]);
                    let update = &*updates.offset(k * along.strides[1] + lane * across[1]);
                    add(index, update, lane as usize);
                }
            }
        }
        all
    }

    /// Sorts the updates of the lane whose indices start at `offset` by
    /// position; those of one position keep their order.
    fn sort(&mut self, offset: isize) {
        let Scatter { loops, indices, .. } = *self.scatter;
        let Room { placed, sorted, begins, .. } = &mut self.room;
        placed.clear();
        for k in 0..loops.along.len {
            // SAFETY: `offset` is one of the loops over lanes and `k` a turn
            // of the loop along the axis.
            let index = unsafe { *indices.offset(offset + k as isize * loops.along.strides[0]) };
            placed.extend(self.scatter.position::<false>(index).map(|position| (position, k)));
        }
        if self.way == Way::Compared {
            return placed.sort_unstable();
        }
        begins.clear();
        begins.resize(loops.axis_len + 1, 0);
        for &(position, _) in placed.iter() {
            begins[position + 1] += 1;
        }
        let mut sum = 0;
        for begin in begins.iter_mut() {
            sum += *begin;
            *begin = sum;
        }
        sorted.clear();
        sorted.resize(placed.len(), (0, 0));
        for &entry in placed.iter() {
            let place = &mut begins[entry.0];
            sorted[*place] = entry;
            *place += 1;
        }
        std::mem::swap(placed, sorted);
    }

    /// Folds the sorted updates, group by group, over these lanes of the
    /// second loop.
    fn fold_groups(&mut self, offsets: [isize; 3], lanes: Range<usize>) {
        let Scatter { loops, updates, target, .. } = *self.scatter;
        let (along, across) = (loops.along.strides, loops.lanes[1].strides);
        let (fold, row) = (self.fold, &mut self.room.row);
        let start = lanes.start as isize;
        // SAFETY: `k` is a turn of the loop along the axis and `lanes` are
        // turns of the loop across: they do not leave the updates
        // (`Scatter::new`).
        let row_of = |k: usize| unsafe {
            updates.offset(offsets[1] + k as isize * along[1] + start * across[1])
        };
        let placed = &self.room.placed[..];
        let mut first = 0;
        for group in placed.chunk_by(|a, b| a.0 == b.0) {
            let element = offsets[2] + group[0].0 as isize * along[2] + start * across[2];
            // SAFETY: as in `fold_in_slots`.
            unsafe {
                let target = target.offset(element);
                let target_of = |lane: usize| target.offset(lane as isize * across[2]);
                row.clear();
                row.extend((0..lanes.len()).map(|lane| fold.start(&*target_of(lane))));
                for (at, &(_, k)) in group.iter().enumerate() {
                    if let Some(&(_, later)) = placed.get(first + at + AHEAD) {
                        prefetch(row_of(later), lanes.len());
                    }
                    fold_row(fold, row, row_of(k), across[1]);
                }
                for (lane, &sum) in row.iter().enumerate() {
                    *target_of(lane) = fold.finish(sum, group.len());
                }
            }
            first += group.len();
        }
    }
}

/// How many rows ahead of the one being added the next is asked for: sorted by
/// position they lie all over the updates.
const AHEAD: usize = 8;

/// Adds a row of updates to a row of sums.
///
/// # Safety
/// As many updates as there are sums, with this stride, can be read.
#[allow(unsafe_code)]
unsafe fn fold_row<T, F: Fold<T>>(fold: F, sums: &mut [F::Sum], updates: *const T, stride: isize) {
    // SAFETY: the caller's promise.
    unsafe {
        if stride == 1 {
            let updates = std::slice::from_raw_parts(updates, sums.len());
            for (sum, update) in sums.iter_mut().zip(updates) {
                *sum = fold.add(*sum, update);
            }
        } else {
            for (lane, sum) in sums.iter_mut().enumerate() {
                *sum = fold.add(*sum, &*updates.offset(lane as isize * stride));
            }
        }
    }
}
