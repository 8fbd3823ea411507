//! Rolls an array within itself.
//!
//! Rows go where the shifts of the outer loops send them, and turn by the
//! innermost loop's shift on the way. Sending rows on is a permutation, and its
//! cycles do not touch each other: one row is lifted out, each place takes the
//! row that belongs there, and the lifted row fills the last place. So every
//! row is read once and written once, and one row is all the extra memory.
//!
//! No element is cloned or dropped, and nothing in here can panic between
//! lifting a row and setting it down.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

use ndarray::{ArrayViewMut, Dimension};
use smallvec::SmallVec;

use super::run::{copy_grid, move_run};
use super::span::assert_within;
use super::take::Moved;
use crate::error::{Error, Result};
use crate::geometry::{RollDim, RollLoops};
use crate::parallel::Job;

/// A row is moved in pieces of about this many bytes where it does not itself
/// roll: the lifted piece stays in cache, and pieces are what threads share.
const PIECE: usize = 16 << 10;

/// The end of a line that comes round is lifted out up to this size; a longer
/// one is rotated by swaps.
const LIFT: usize = 1 << 20;

/// Rows of up to this many bytes are turned many at once.
const SHORT: usize = 2 << 10;

/// An in-place roll ready to run.
pub(crate) struct Roll<'c, T> {
    outer: SmallVec<[RollDim<1>; 4]>,
    /// For each outer loop, the number of turns at which a cycle begins.
    leaders: SmallVec<[usize; 4]>,
    /// The length of every cycle of rows.
    cycle: usize,
    row: RollDim<1>,
    /// How many pieces a row is moved in.
    pieces: usize,
    /// Where the loops start in an array that they do not leave (`new` asserts
    /// it).
    data: *mut T,
    borrow: PhantomData<&'c mut T>,
}

// SAFETY: the pointer stands for an exclusive borrow (`borrow`). Parts share
// this struct between threads and move elements through it, each those of its
// own cycles (I1 below).
#[allow(unsafe_code)]
unsafe impl<T: Send> Sync for Roll<'_, T> {}

impl<'c, T> Roll<'c, T> {
    /// A roll of `data`, which is not empty and whose strides the loops hold.
    #[allow(unsafe_code)]
    pub(crate) fn new<D: Dimension>(
        loops: &RollLoops<1>,
        data: &'c mut ArrayViewMut<'_, T, D>,
    ) -> Self {
        assert!(!data.is_empty());
        let axes = || loops.dims.iter().map(|dim| (dim.len, dim.strides[0]));
        assert_within(data.shape(), data.strides(), loops.origin[0], axes);
        let mut outer = loops.dims.clone();
        let row = outer.pop().unwrap_or(RollDim { len: 1, shift: 0, strides: [1] });
        // After as many turns as the cycle is long so far, the loops so far
        // are back where they were, and this one has moved on by `step`.
        let mut cycle = 1;
        let leaders = outer.iter().map(|dim| {
            let step = (dim.shift as u128 * cycle as u128 % dim.len as u128) as usize;
            let leaders = gcd(dim.len, step);
            cycle *= dim.len / leaders;
            leaders
        });
        let leaders = leaders.collect();
        let bytes = row.len * size_of::<T>();
        let pieces = if row.shift == 0 { bytes.div_ceil(PIECE).clamp(1, row.len) } else { 1 };
        // SAFETY: the origin lies within the array, as just asserted.
        let data = unsafe { data.as_mut_ptr().offset(loops.origin[0]) };
        Roll { outer, leaders, cycle, row, pieces, data, borrow: PhantomData }
    }

    /// All of it, with room for the elements that are lifted out.
    pub(crate) fn whole(&self) -> Result<Part<'_, T>> {
        let units = if self.cycle == 1 && self.row.shift == 0 {
            0
        } else {
            self.leaders.iter().product::<usize>() * self.pieces
        };
        let lifted = self.room()?;
        Ok(Part { roll: self, units: 0..units, lifted })
    }

    /// How many short rows stay in the first cache.
    fn rows_at_once(&self) -> usize {
        (PIECE / 2 / (self.row.len * size_of::<T>()).max(1)).max(1)
    }

    fn room(&self) -> Result<Vec<MaybeUninit<T>>> {
        let RollDim { len, shift, .. } = self.row;
        let count = match self.cycle {
            1 if self.rotates_by_swaps() => 0,
            1 if self.short_rows().is_some() => len * self.rows_at_once(),
            1 => shift.min(len - shift),
            _ => len.div_ceil(self.pieces),
        };
        let mut room = Vec::new();
        let bytes = count * size_of::<T>();
        room.try_reserve_exact(count).map_err(|_| Error::AllocationFailed { bytes })?;
        room.resize_with(count, MaybeUninit::uninit);
        Ok(room)
    }

    /// The loop around rows that stay in their places, if they are short and
    /// contiguous: many are turned at once.
    fn short_rows(&self) -> Option<RollDim<1>> {
        let short = self.row.len * size_of::<T>() <= SHORT && self.row.strides == [1];
        self.outer.last().copied().filter(|_| self.cycle == 1 && short)
    }

    fn rotates_by_swaps(&self) -> bool {
        let RollDim { len, shift, strides } = self.row;
        strides == [1] && shift.min(len - shift) * size_of::<T>() > LIFT
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A part of an in-place roll: a range of units, each a piece of all rows of
/// one cycle.
///
/// Invariant I1: no two parts that exist at a time share a unit, and no two
/// units share an element. `Roll::whole` is one part, and `split` cuts a range
/// in two.
pub(crate) struct Part<'g, T> {
    roll: &'g Roll<'g, T>,
    units: Range<usize>,
    lifted: Vec<MaybeUninit<T>>,
}

impl<T: Send + Sync> Job for Part<'_, T> {
    #[inline]
    fn work(&self) -> usize {
        let unit = self.roll.cycle * self.roll.row.len / self.roll.pieces;
        self.units.len() * unit * size_of::<T>()
    }

    fn split(mut self) -> std::result::Result<(Self, Self), Self> {
        if self.units.len() < 2 {
            return Err(self);
        }
        let Ok(lifted) = self.roll.room() else {
            return Err(self);
        };
        let middle = self.units.start + self.units.len() / 2;
        let right = Part { roll: self.roll, units: middle..self.units.end, lifted };
        self.units.end = middle;
        Ok((self, right))
    }

    fn run(mut self) {
        let pieces = self.roll.pieces;
        if let Some(line) = self.roll.short_rows() {
            return self.turn_short_rows(line);
        }
        for unit in self.units.clone() {
            let (leader, piece) = (unit / pieces, unit % pieces);
            let len = self.roll.row.len;
            let elements = len * piece / pieces..len * (piece + 1) / pieces;
            let place = Place::new(self.roll, leader);
            if self.roll.cycle == 1 {
                self.turn_row(place.offset);
            } else {
                self.turn_cycle(place, elements);
            }
        }
    }
}

#[allow(unsafe_code)]
impl<T: Send + Sync> Part<'_, T> {
    /// Sends these elements of all rows of a cycle on to where they belong.
    fn turn_cycle(&mut self, mut place: Place<'_>, elements: Range<usize>) {
        let RollDim { len, shift, strides: [stride] } = self.roll.row;
        let (start, count) = (elements.start, elements.len());
        let at = |offset: isize, element: usize| offset + element as isize * stride;
        let data = self.roll.data;
        let lifted = self.lifted.as_mut_ptr().cast::<T>();
        // SAFETY: `elements` lies in the row, and is all of it where the row
        // rolls; places are turns of the outer loops: neither leaves the array
        // (`Roll::new`). The elements are this unit's alone (I1). The rows of a
        // cycle differ, so no run overlaps its source. `lifted` has room for
        // the elements of one piece (`Roll::room`). Every element that is
        // overwritten has been moved on or lifted before, and the lifted ones
        // fill the place that was moved on last.
        unsafe {
            move_run(data.offset(at(place.offset, start)), lifted, count, [stride, 1]);
            for _ in 1..self.roll.cycle {
                let to = place.offset;
                place.step_back();
                let from = place.offset;
                let (to, from) = (data.offset(at(to, start)), data.offset(at(from, start)));
                let on = to.offset(shift as isize * stride);
                let round = from.offset((len - shift) as isize % len as isize * stride);
                move_run(from, on, count - shift, [stride; 2]);
                move_run(round, to, shift, [stride; 2]);
            }
            let to = data.offset(at(place.offset, start));
            let on = to.offset(shift as isize * stride);
            move_run(lifted, on, count - shift, [1, stride]);
            move_run(lifted.add(count - shift), to, shift, [1, stride]);
        }
    }

    /// Turns short rows that stay in their places: as many as there is room
    /// for are lifted, turned on the way, and set down again.
    fn turn_short_rows(&mut self, line: RollDim<1>) {
        let RollDim { len, shift, .. } = self.roll.row;
        let at_once = self.roll.rows_at_once();
        let lifted = self.lifted.as_mut_ptr();
        let (row_strides, whole) = ([line.strides[0], len as isize], self.units.clone());
        let mut first = whole.start;
        while first < whole.end {
            let rows = at_once.min(whole.end - first).min(line.len - first % line.len);
            let place = Place::new(self.roll, first);
            // SAFETY: the rows lie in the array (`Roll::new`) and are this
            // part's alone (I1); `lifted` has room for them (`Roll::room`).
            // All their elements are lifted, each once, before any is set
            // down.
            unsafe {
                let row = self.roll.data.offset(place.offset).cast::<MaybeUninit<T>>();
                let (on, round) = (lifted.add(shift), row.add(len - shift));
                copy_grid::<_, Moved>(row, on, rows, row_strides, len - shift, [1, 1]);
                copy_grid::<_, Moved>(round, lifted, rows, row_strides, shift, [1, 1]);
                let back = [row_strides[1], row_strides[0]];
                if back[0] == back[1] {
                    copy_grid::<_, Moved>(lifted, row, 1, [0, 0], rows * len, [1, 1]);
                } else {
                    copy_grid::<_, Moved>(lifted, row, rows, back, len, [1, 1]);
                }
            }
            first += rows;
        }
    }

    /// Turns a row that stays in its place.
    fn turn_row(&mut self, offset: isize) {
        let RollDim { len, shift, strides: [stride] } = self.roll.row;
        let lifted = self.lifted.as_mut_ptr().cast::<T>();
        let rest = len - shift;
        // SAFETY: the row lies in the array (`Roll::new`) and is this unit's
        // alone (I1). `lifted` has room for its shorter run (`Roll::room`),
        // which is lifted before the longer one takes its place.
        unsafe {
            let row = self.roll.data.offset(offset);
            let at = |element: usize| row.offset(element as isize * stride);
            if self.roll.rotates_by_swaps() {
                std::slice::from_raw_parts_mut(row, len).rotate_right(shift);
            } else if shift <= rest {
                move_run(at(rest), lifted, shift, [stride, 1]);
                move_up(row, rest, shift, stride);
                move_run(lifted, row, shift, [1, stride]);
            } else {
                move_run(row, lifted, rest, [stride, 1]);
                move_run(at(rest), row, shift, [stride; 2]);
                move_run(lifted, at(shift), rest, [1, stride]);
            }
        }
    }
}

/// Moves the first `count` elements of a row `by` elements up, the last one
/// first.
///
/// # Safety
/// The row has `count + by` elements. Those of the destination's last `by`
/// have been moved out of.
#[allow(unsafe_code)]
unsafe fn move_up<T>(row: *mut T, count: usize, by: usize, stride: isize) {
    // SAFETY: the caller's promise.
    unsafe {
        if stride == 1 {
            std::ptr::copy(row, row.add(by), count);
        } else {
            for i in (0..count as isize).rev() {
                let from = row.offset(i * stride);
                std::ptr::copy_nonoverlapping(from, from.offset(by as isize * stride), 1);
            }
        }
    }
}

/// A place in the outer loops.
struct Place<'a> {
    dims: &'a [RollDim<1>],
    counters: SmallVec<[usize; 4]>,
    offset: isize,
}

impl<'a> Place<'a> {
    /// Where cycle number `leader` begins.
    fn new<T>(roll: &'a Roll<'_, T>, leader: usize) -> Self {
        let mut place = Place {
            dims: &roll.outer,
            counters: SmallVec::from_elem(0, roll.outer.len()),
            offset: 0,
        };
        let mut rest = leader;
        for (at, &leaders) in roll.leaders.iter().enumerate().rev() {
            place.counters[at] = rest % leaders;
            place.offset += place.counters[at] as isize * roll.outer[at].strides[0];
            rest /= leaders;
        }
        place
    }

    /// Goes to the place whose row belongs here.
    #[inline]
    fn step_back(&mut self) {
        for (counter, dim) in self.counters.iter_mut().zip(self.dims) {
            let from = if *counter < dim.shift { *counter + dim.len } else { *counter } - dim.shift;
            self.offset += (from as isize - *counter as isize) * dim.strides[0];
            *counter = from;
        }
    }
}
