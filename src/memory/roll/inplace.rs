//! Rolls an array within itself.
//!
//! Rows go where the shifts of the outer loops send them, and turn by the
//! innermost loop's shift on the way. Sending rows on is a permutation, and its
//! cycles do not touch each other: one row is lifted out, each place takes the
//! row that belongs there, and the lifted row fills the last place. So every
//! row is read once and written once. A row too long to be lifted turns first,
//! by swaps of blocks, and is then sent on in pieces.
//!
//! Elements are moved as bytes: none is cloned or dropped, and nothing in here
//! can panic between lifting a row and setting it down. What is lifted at a
//! time, over all threads together, takes no more than [`ROOM`].

use std::mem::MaybeUninit;
use std::ops::Range;

use ndarray::{ArrayRef, Dimension};
use smallvec::SmallVec;

use super::blocks::{self, rotate};
use super::dense::Dense;
use super::{Turn, Turns};
use crate::error::Result;
use crate::memory::alloc::repeated;
use crate::memory::copy::rows;
use crate::memory::cpu::{gcd, widely};
use crate::memory::strided::StridedMut;
use crate::parallel::{self, Cost};
use crate::threshold::threshold;

/// Bytes of work memory, or those of one element where these are more.
const ROOM: usize = threshold(256 << 10, 256);

/// A row that is sent on without turning is moved in pieces of about this many
/// bytes: the lifted piece stays in the first cache, and pieces are what
/// threads share.
const PIECE: usize = threshold(16 << 10, 64);

/// Rows of up to this many bytes are turned many at once.
const SHORT: usize = threshold(2 << 10, 48);

/// Bytes that are worth moving by themselves: longer rows that a roll sends on
/// stay apart from the axis along which it sends them.
const LONG: usize = threshold(4 << 10, 96);

/// Rolls each axis of an array by its shift, which is less than its length
/// unless both are 0.
pub(crate) fn roll_inplace<T: Send, D: Dimension>(
    array: &mut ArrayRef<T, D>,
    shifts: &[usize],
) -> Result<()> {
    roll(&StridedMut::of(array), shifts)
}

fn roll(array: &StridedMut<'_>, shifts: &[usize]) -> Result<()> {
    let size = array.layout().size();
    let still = || shifts.iter().all(|shift| *shift == 0);
    if array.layout().is_empty() || size == 0 || still() || roll_tiny(array, shifts) {
        return Ok(());
    }
    let Turns { mut turns, start } = Turns::new(shifts, array.layout(), array.layout());
    let long = LONG.div_ceil(size);
    // Axes that do not roll merge first, so that rows are as long as they can.
    turns.dedup_by(|inner, outer| outer.shift == 0 && inner.merge_into(outer));
    turns.dedup_by(|inner, outer| {
        let apart = outer.shift != 0 && inner.len >= long;
        !apart && inner.merge_into(outer)
    });
    let Some(row) = turns.pop() else { return Ok(()) };
    let data = array.start().wrapping_offset(start.listed);
    let row = Row { len: row.len, shift: row.shift, step: row.to, size };
    let sends = turns.iter().any(|turn| turn.shift != 0);
    let whole: usize = turns.iter().map(|turn| turn.len).product();
    let work = Cost::of_bytes(whole.saturating_mul(row.len).saturating_mul(2 * size));
    let most = parallel::threads().min(ROOM / size.max(PIECE)).max(1);
    let threads = parallel::parts(work).min(most);
    // Each part has its share of the room, and room for one element.
    let bytes = (ROOM / threads / size).max(1) * size;
    let roll = Roll { data, turns, row, parts: threads };
    let mut room = repeated(MaybeUninit::<u8>::uninit(), bytes.min(roll.needs(sends)) * threads)?;
    if !sends || row.shift == 0 || row.len * size <= bytes {
        return roll.run(sends, &mut room);
    }
    // The rows turn where they are, then go on.
    let stay = |turn: &Turn| Turn { shift: 0, ..*turn };
    let turned = Roll { turns: roll.turns.iter().map(stay).collect(), ..roll };
    turned.run(false, &mut room)?;
    Roll { turns: roll.turns, row: Row { shift: 0, ..row }, ..turned }.run(true, &mut room)
}

/// Dense arrays of up to this many bytes are rolled from a copy of them.
const TINY: usize = threshold(2 << 10, 64);

/// Rolls a dense array of few bytes, if it is that.
fn roll_tiny(array: &StridedMut<'_>, shifts: &[usize]) -> bool {
    let Some(rows) = Dense::new(array.layout(), shifts) else { return false };
    if rows.bytes() > TINY {
        return false;
    }
    let mut copy = [MaybeUninit::<u8>::uninit(); TINY];
    let (from, to) = (copy.as_mut_ptr().cast::<u8>(), array.start());
    // SAFETY: the array is borrowed exclusively, is dense, and has so many bytes; the copy has
    // room for them, and lies elsewhere.
    #[allow(unsafe_code)]
    unsafe {
        to.copy_to_nonoverlapping(from, rows.bytes());
        rows.roll(from, to);
    }
    true
}

/// A row that turns by `shift` elements, `step` bytes apart.
#[derive(Debug, Clone, Copy)]
struct Row {
    len: usize,
    shift: usize,
    step: isize,
    size: usize,
}

/// An in-place roll ready to run.
///
/// Invariant: from `data` on the turns and the row reach elements of one array,
/// which is borrowed exclusively and is not empty.
struct Roll {
    turns: SmallVec<[Turn; 6]>,
    row: Row,
    data: *mut u8,
    parts: usize,
}

/// The work memory of all parts, handed out by their numbers.
struct Rooms {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: parts move the elements of their own units, and use their own share
// of the room.
#[allow(unsafe_code)]
unsafe impl Sync for Roll {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for Rooms {}

impl Roll {
    /// Bytes that are lifted at a time, at most.
    fn needs(&self, sends: bool) -> usize {
        let Row { len, shift, size, .. } = self.row;
        match sends {
            true if shift == 0 => len.min(PIECE.div_ceil(size)) * size,
            true => len * size,
            false if self.short_rows().is_some() => len.max(PIECE / 2 / size) * size,
            false => shift.min(len - shift).max(1) * size,
        }
    }

    /// The loop around dense short rows that stay in their places.
    fn short_rows(&self) -> Option<Turn> {
        let Row { len, step, size, .. } = self.row;
        let short = len * size <= SHORT && step == size as isize;
        self.turns.last().copied().filter(|_| short)
    }

    /// Moves all rows; `sends` tells whether any goes to another place.
    fn run(&self, sends: bool, room: &mut [MaybeUninit<u8>]) -> Result<()> {
        let bytes = room.len() / self.parts;
        let rooms = Rooms { start: room.as_mut_ptr().cast(), bytes };
        let cycles = Cycles::new(&self.turns);
        let Row { len, shift, size, .. } = self.row;
        let pieces =
            if sends && shift == 0 { len.div_ceil((PIECE.min(bytes) / size).max(1)) } else { 1 };
        let units = cycles.leaders.iter().product::<usize>() * pieces;
        parallel::run(self.parts, &|part| {
            let rooms = &rooms;
            let units = parallel::share(units, self.parts, part);
            let lifted = rooms.start.wrapping_add(part * rooms.bytes);
            if !sends {
                return match self.short_rows() {
                    Some(line) => self.turn_short_rows(&cycles, line, units, lifted, rooms.bytes),
                    None => units.for_each(|unit| {
                        let place = Place::new(&self.turns, &cycles, unit);
                        self.turn_row(place.offset, lifted, rooms.bytes);
                    }),
                };
            }
            for unit in units {
                let place = Place::new(&self.turns, &cycles, unit / pieces);
                let elements = parallel::share(len, pieces, unit % pieces);
                self.send_on(place, cycles.len, elements, lifted);
            }
        });
        Ok(())
    }

    fn at(&self, offset: isize, element: usize) -> *mut u8 {
        let step = self.row.step.wrapping_mul(element as isize);
        self.data.wrapping_offset(offset.wrapping_add(step))
    }

    /// Sends these elements of all rows of a cycle on to where they belong.
    /// Where rows turn, they are all the elements.
    #[allow(unsafe_code)]
    fn send_on(&self, mut place: Place<'_>, cycle: usize, elements: Range<usize>, lifted: *mut u8) {
        let Row { shift, step, size, .. } = self.row;
        let (start, rest) = (elements.start, elements.len() - shift);
        let (dense, back) = (size as isize, [step; 2]);
        let after = |from: *mut u8, count: usize, step: isize| {
            from.wrapping_offset(step.wrapping_mul(count as isize))
        };
        // SAFETY: `elements` lies in the row and is all of it where the row
        // turns; places are turns of the loops around, whose rows differ, so
        // no run overlaps its source. The elements are this unit's alone.
        // `lifted` has room for them. Every element that is overwritten has
        // been moved on or lifted before, and the lifted ones fill the place
        // that was moved on last.
        unsafe {
            move_run(self.at(place.offset, start), lifted, elements.len(), size, [step, dense]);
            for _ in 1..cycle {
                let to = self.at(place.offset, start);
                place.step_back();
                let from = self.at(place.offset, start);
                move_run(from, after(to, shift, step), rest, size, back);
                move_run(after(from, rest, step), to, shift, size, back);
            }
            let to = self.at(place.offset, start);
            move_run(lifted, after(to, shift, step), rest, size, [dense, step]);
            move_run(after(lifted, rest, dense), to, shift, size, [dense, step]);
        }
    }

    /// Turns short rows that stay in their places: as many as there is room
    /// for are lifted, turned on the way, and set down again.
    #[allow(unsafe_code)]
    fn turn_short_rows(
        &self,
        cycles: &Cycles,
        line: Turn,
        rows: Range<usize>,
        lifted: *mut u8,
        room: usize,
    ) {
        let Row { len, shift, size, .. } = self.row;
        let row = len * size;
        let turned = blocks::Row { len: row, shift: shift * size };
        let at_once = (room.min(PIECE / 2) / row).max(1);
        let mut first = rows.start;
        while first < rows.end {
            let count = at_once.min(rows.end - first).min(line.len - first % line.len);
            let from = self.at(Place::new(&self.turns, cycles, first).offset, 0);
            debug_assert!(count * row <= room);
            // SAFETY: the rows lie in the array and are this part's alone;
            // `lifted` has room for them. All their elements are lifted, each
            // once, before any is set down.
            let turn = || unsafe {
                for k in 0..count {
                    let from = from.wrapping_offset(line.to.wrapping_mul(k as isize));
                    rotate(from, lifted.add(k * row), turned);
                }
                if line.to == row as isize {
                    rows::run(lifted, from, count * row);
                } else {
                    for k in 0..count {
                        let to = from.wrapping_offset(line.to.wrapping_mul(k as isize));
                        rows::run(lifted.add(k * row), to, row);
                    }
                }
            };
            widely(turn);
            first += count;
        }
    }

    /// Turns a row that stays in its place: while neither run of it can be
    /// lifted, blocks of the shorter one's length are swapped to where they
    /// belong.
    #[allow(unsafe_code)]
    fn turn_row(&self, offset: isize, lifted: *mut u8, room: usize) {
        let Row { mut len, mut shift, step, size } = self.row;
        let mut row = self.at(offset, 0);
        let after =
            |from: *mut u8, count: usize| from.wrapping_offset(step.wrapping_mul(count as isize));
        let dense = size as isize;
        // SAFETY: the row lies in the array and is this unit's alone; what is
        // left of it shrinks from either end. `lifted` has room for the
        // shorter run, which is lifted before the longer one takes its place.
        unsafe {
            while shift != 0 && shift != len {
                let rest = len - shift;
                if shift <= rest && shift * size <= room {
                    move_run(after(row, rest), lifted, shift, size, [step, dense]);
                    move_up(row, rest, shift, size, step);
                    return move_run(lifted, row, shift, size, [dense, step]);
                }
                if rest < shift && rest * size <= room {
                    move_run(row, lifted, rest, size, [step, dense]);
                    move_run(after(row, rest), row, shift, size, [step; 2]);
                    return move_run(lifted, after(row, shift), rest, size, [dense, step]);
                }
                if shift <= rest {
                    swap(row, after(row, rest), shift, size, step);
                    row = after(row, shift);
                    len -= shift;
                } else {
                    swap(row, after(row, shift), rest, size, step);
                    len -= rest;
                    shift -= rest;
                }
            }
        }
    }
}

/// The cycles that sending rows on consists of.
struct Cycles {
    /// For each loop around rows, at how many turns a cycle begins.
    leaders: SmallVec<[usize; 6]>,
    /// The length of every cycle.
    len: usize,
}

impl Cycles {
    fn new(turns: &[Turn]) -> Self {
        // After as many turns as the cycle is long so far, the loops so far
        // are back where they were, and this one has moved on by `step`.
        let mut len = 1;
        let leaders = turns.iter().map(|turn| {
            let step = (turn.shift as u128 * len as u128 % turn.len as u128) as usize;
            let leaders = gcd(turn.len, step);
            len *= turn.len / leaders;
            leaders
        });
        Cycles { leaders: leaders.collect(), len }
    }
}

/// A place in the loops around rows.
struct Place<'a> {
    turns: &'a [Turn],
    counters: SmallVec<[usize; 6]>,
    offset: isize,
}

impl<'a> Place<'a> {
    /// Where cycle number `number` begins.
    fn new(turns: &'a [Turn], cycles: &Cycles, number: usize) -> Self {
        let mut place = Place { turns, counters: SmallVec::from_elem(0, turns.len()), offset: 0 };
        let mut rest = number;
        for (at, &leaders) in cycles.leaders.iter().enumerate().rev() {
            place.counters[at] = rest % leaders;
            place.offset += place.counters[at] as isize * turns[at].to;
            rest /= leaders;
        }
        place
    }

    /// Goes to the place whose row belongs here.
    #[inline]
    fn step_back(&mut self) {
        for (counter, turn) in self.counters.iter_mut().zip(self.turns) {
            let from = if *counter < turn.shift { *counter + turn.len } else { *counter };
            let from = from - turn.shift;
            self.offset += (from as isize - *counter as isize) * turn.to;
            *counter = from;
        }
    }
}

/// Moves `count` elements of `size` bytes, with steps for both ends.
///
/// # Safety
/// All elements of both ends can be written. Those of the source count as moved
/// out of; what lies at the destination is overwritten, not dropped. Unless
/// elements are dense the two ends do not overlap, or the destination begins
/// first.
#[allow(unsafe_code)]
#[inline]
unsafe fn move_run(from: *const u8, to: *mut u8, count: usize, size: usize, steps: [isize; 2]) {
    // SAFETY: the caller's promise.
    unsafe {
        if steps == [size as isize; 2] {
            return rows::copy(from, to, count * size);
        }
        match size {
            1 => move_each::<1>(from, to, count, steps),
            2 => move_each::<2>(from, to, count, steps),
            4 => move_each::<4>(from, to, count, steps),
            8 => move_each::<8>(from, to, count, steps),
            16 => move_each::<16>(from, to, count, steps),
            _ => {
                for k in 0..count as isize {
                    let to = to.wrapping_offset(k.wrapping_mul(steps[1]));
                    from.wrapping_offset(k.wrapping_mul(steps[0])).copy_to_nonoverlapping(to, size);
                }
            }
        }
    }
}

/// # Safety
/// That of [`move_run`], for elements of `N` bytes.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn move_each<const N: usize>(from: *const u8, to: *mut u8, count: usize, steps: [isize; 2]) {
    for k in 0..count as isize {
        // SAFETY: the caller's promise.
        unsafe {
            let to = to.wrapping_offset(k.wrapping_mul(steps[1]));
            from.wrapping_offset(k.wrapping_mul(steps[0])).copy_to_nonoverlapping(to, N);
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
unsafe fn move_up(row: *mut u8, count: usize, by: usize, size: usize, step: isize) {
    let after = |count: isize| row.wrapping_offset(step.wrapping_mul(count));
    // SAFETY: the caller's promise.
    unsafe {
        if step == size as isize {
            return row.copy_to(after(by as isize), count * size);
        }
        for k in (0..count as isize).rev() {
            after(k).copy_to_nonoverlapping(after(k + by as isize), size);
        }
    }
}

/// Swaps `count` elements of `size` bytes, `step` bytes apart, with others.
///
/// # Safety
/// All of them can be read and written, and no two are the same.
#[allow(unsafe_code)]
unsafe fn swap(one: *mut u8, other: *mut u8, count: usize, size: usize, step: isize) {
    let swap = |one: *mut u8, other: *mut u8, bytes: usize| {
        // SAFETY: the caller's promise.
        unsafe {
            std::ptr::swap_nonoverlapping::<MaybeUninit<u8>>(one.cast(), other.cast(), bytes);
        }
    };
    if step == size as isize {
        return swap(one, other, count * size);
    }
    for k in 0..count as isize {
        let by = step.wrapping_mul(k);
        swap(one.wrapping_offset(by), other.wrapping_offset(by), size);
    }
}

#[cfg(test)]
mod tests;
