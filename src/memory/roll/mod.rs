//! Rolls one array into another.
//!
//! A roll along one axis is two copies: what the shift moves on, and what comes
//! round. Along k axes it is 2^k rectangles, which together make up the
//! destination, and each is a copy between two strided arrays:
//!
//! ```text
//! destination [.. shift | shift ..]      = source [len - shift .. | .. len - shift]
//! ```
//!
//! Where rows are dense in both arrays and short, both of their runs are copied
//! together (`rows`), so that every cache line is written once.

mod blocks;
mod cloned;
mod dense;
pub(super) mod inplace;
mod rows;
#[cfg(test)]
mod tests;

use dense::Dense;
use smallvec::SmallVec;

use super::copy::{Transfer, Way};
use super::gather::copy;
use super::output::Filled;
use super::strided::Layout;
use super::walk::{Loop, Loops, Offsets, Walk};
use crate::threshold::threshold;

/// One axis of a roll. The element that ends at `i` comes from
/// `(i + len - shift) % len`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Turn {
    len: usize,
    /// Less than `len`.
    shift: usize,
    /// Steps in bytes.
    from: isize,
    to: isize,
}

impl Turn {
    /// An axis of one element, for which any step will do but none.
    const ONCE: Self = Turn { len: 1, shift: 0, from: 1, to: 1 };

    /// Whether no array jumps where a turn of `outer` ends and the next begins.
    fn continues(&self, outer: &Self) -> bool {
        let seamless =
            |inner: isize, outer: isize| inner.checked_mul(self.len as isize) == Some(outer);
        seamless(self.from, outer.from) && seamless(self.to, outer.to)
    }

    /// Makes one axis of this one, if it does not roll, and the one around it, where no array
    /// jumps between their turns: a roll of the outer one is then a roll by whole turns of
    /// the inner one.
    #[inline]
    fn merge_into(&self, outer: &mut Self) -> bool {
        let merges = self.shift == 0 && self.continues(outer);
        if merges {
            *outer = Turn { len: outer.len * self.len, shift: outer.shift * self.len, ..*self };
        }
        merges
    }

    /// The runs that this axis is copied in: from, to, and how many.
    fn runs(&self) -> impl Iterator<Item = (usize, usize, usize)> + Clone {
        let rest = self.len - self.shift;
        let runs = [(0, self.shift, rest), (rest, 0, self.shift)];
        runs.into_iter().filter(|(.., count)| *count != 0)
    }
}

/// The axes of a roll in the order of the destination's memory, outermost
/// first, and where they start.
struct Turns {
    turns: SmallVec<[Turn; 6]>,
    start: Offsets,
}

impl Turns {
    /// `to` is the layout that decides on the order.
    fn new(shifts: &[usize], from: &Layout<'_>, to: &Layout<'_>) -> Self {
        assert!(shifts.len() == to.shape().len() && from.is_shaped_like(to));
        let mut turns: SmallVec<[Turn; 6]> = SmallVec::new();
        let mut start = Offsets::ZERO;
        for (axis, &shift) in shifts.iter().enumerate() {
            let len = to.shape()[axis];
            assert!(shift < len, "a shift is less than the length of its axis");
            if len == 1 {
                continue;
            }
            let mut turn = Turn { len, shift, from: from.stride(axis), to: to.stride(axis) };
            if turn.to < 0 {
                // Walked from its other end, the axis runs with memory, and
                // the roll goes the other way.
                start.selected += turn.from * (len - 1) as isize;
                start.listed += turn.to * (len - 1) as isize;
                turn = Turn { len, shift: (len - shift) % len, from: -turn.from, to: -turn.to };
            }
            turns.push(turn);
        }
        turns.sort_by_key(|turn| std::cmp::Reverse(turn.to));
        Turns { turns, start }
    }
}

/// Dense arrays of up to so many bytes are copied without a look at their axes.
const SMALL: usize = threshold(16 << 10, 128);

/// Rows of more bytes than this are rectangles like any other.
const LONG: usize = threshold(256 << 10, 512);

impl<'id> Transfer<'_, 'id> {
    /// Copies each element to its own place: a roll by nothing.
    pub(crate) fn copy(self) -> Filled<'id> {
        let (from, to) = (self.from(), self.to());
        let bytes = to.len().saturating_mul(self.copier.size);
        let plain = matches!(self.copier.way, Way::Bytes);
        if !plain || bytes > SMALL || !from.is_dense() || !to.is_dense() {
            let shifts: SmallVec<[usize; 6]> = SmallVec::from_elem(0, to.shape().len());
            return self.roll(&shifts);
        }
        assert!(from.is_shaped_like(to), "a copy is between arrays of one shape");
        // SAFETY: both arrays are borrowed, the second exclusively, and have this
        // many bytes one after the other in the same order, which are copies of
        // their elements (`Way::Bytes`); so all of the second is written.
        #[allow(unsafe_code)]
        unsafe {
            self.from.start().copy_to_nonoverlapping(self.to.start(), bytes);
            self.filled()
        }
    }

    /// Copies with each axis rolled by its shift, which is less than its
    /// length unless both are 0.
    pub(crate) fn roll(self, shifts: &[usize]) -> Filled<'id> {
        if !self.roll_dense(shifts) && !self.to().is_empty() {
            let mut turns = Turns::new(shifts, self.from(), self.to());
            turns.turns.dedup_by(|inner, outer| inner.merge_into(outer));
            let (turns, start) = (&turns.turns[..], turns.start);
            let size = self.copier.size;
            let short = |turn: &Turn| turn.shift != 0 && turn.len.saturating_mul(size) <= LONG;
            let dense = |turn: &Turn| [turn.from, turn.to] == [size as isize; 2];
            let plain = matches!(self.copier.way, Way::Bytes);
            let rows = turns.split_last().filter(|(row, _)| size > 0 && dense(row) && short(row));
            match (rows, cloned::kernel(&self)) {
                (Some((row, around)), _) if plain => {
                    let row = blocks::Row { len: row.len * size, shift: row.shift * size };
                    rows::run(&self, around, start, row);
                }
                (Some((row, around)), Some(kernel)) => {
                    cloned::run(&self, around, start, *row, kernel);
                }
                _ => rectangles(turns, start, |loops, start| {
                    let (mut walk, rest) = Walk::new(loops, SmallVec::new(), self.order());
                    walk.base = start;
                    copy(&self, None, &walk);
                    if let Some(mut walk) = rest {
                        walk.base = walk.base.after(1, start);
                        copy(&self, None, &walk);
                    }
                }),
            }
        }
        // SAFETY: the rectangles make up the destination: for each axis, its
        // runs do.
        #[allow(unsafe_code)]
        unsafe {
            self.filled()
        }
    }
}

impl Transfer<'_, '_> {
    /// Rolls dense arrays of up to [`LONG`] bytes on this thread, if they are that.
    #[inline]
    fn roll_dense(&self, shifts: &[usize]) -> bool {
        let (from, to) = (self.from(), self.to());
        if !matches!(self.copier.way, Way::Bytes) || !from.is_dense() {
            return false;
        }
        assert!(from.is_shaped_like(to), "a roll is between arrays of one shape");
        let Some(rows) = Dense::new(to, shifts) else { return false };
        if rows.bytes() > LONG || rows::are_shuffled(rows.around(), rows.row) {
            return false;
        }
        // SAFETY: the arrays are borrowed apart from each other, and dense.
        #[allow(unsafe_code)]
        unsafe {
            rows.roll(self.from.start(), self.to.start());
        }
        true
    }
}

/// Calls `visit` with the loops of each rectangle, and where it starts.
fn rectangles(turns: &[Turn], start: Offsets, visit: impl Fn(Loops, Offsets)) {
    // Digits of a number that counts through the runs of each axis.
    let mut digits: SmallVec<[usize; 6]> = SmallVec::from_elem(0, turns.len());
    loop {
        let mut at = start;
        let mut loops = SmallVec::new();
        for (turn, &digit) in turns.iter().zip(&digits) {
            let Some((from, to, len)) = turn.runs().nth(digit) else { continue };
            let step = Offsets { selected: turn.from, indices: 0, listed: turn.to };
            at.selected += turn.from * from as isize;
            at.listed += turn.to * to as isize;
            if len > 1 {
                loops.push(Loop { len, step, entries: false });
            }
        }
        visit(loops, at);
        let Some(next) = (0..turns.len()).rfind(|&k| digits[k] + 1 < turns[k].runs().count())
        else {
            return;
        };
        digits[next] += 1;
        digits[next + 1..].fill(0);
    }
}
