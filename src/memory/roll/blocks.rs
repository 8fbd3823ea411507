//! Copies rolled rows in blocks of bytes, on the thread that asks.

use std::ops::Range;

use super::Turn;
use crate::memory::copy::rows::{block, run};
use crate::memory::cpu::widely;
use crate::parallel;
use crate::threshold::threshold;

/// A row and its shift in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) len: usize,
    pub(super) shift: usize,
}

/// A run of a row, in bytes.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) len: usize,
}

impl Row {
    /// The runs of a row, the longer one first, so that memory is read in
    /// order.
    #[inline(always)]
    pub(super) fn pieces(self) -> [Piece; 2] {
        let Row { len, shift } = self;
        let on = Piece { from: 0, to: shift, len: len - shift };
        let round = Piece { from: len - shift, to: 0, len: shift };
        if on.len >= round.len { [on, round] } else { [round, on] }
    }
}

/// Which turns of the axes around rows are taken: along one axis a share of the places in the
/// destination, along the others all.
#[derive(Debug, Clone)]
pub(super) struct Share {
    /// The number of the axis from the outermost one; any other number is no axis.
    pub(super) axis: usize,
    pub(super) places: Range<usize>,
}

impl Share {
    pub(super) const ALL: Self = Share { axis: usize::MAX, places: 0..0 };

    /// Into how many parts to cut axes, at most so many, and along which: the outermost that
    /// is long enough, or the longest.
    pub(super) fn cut(around: &[Turn], parts: usize) -> (usize, usize) {
        let len = |axis: &usize| around[*axis].len;
        let long = (0..around.len()).find(|axis| len(axis) >= parts);
        let axis = long.or_else(|| (0..around.len()).max_by_key(len));
        axis.map_or((1, usize::MAX), |axis| (parts.min(len(&axis)), axis))
    }

    /// Part number `part` of so many along an axis, as [`cut`](Self::cut) has it.
    pub(super) fn of(around: &[Turn], (parts, axis): (usize, usize), part: usize) -> Self {
        let len = around.get(axis).map_or(0, |turn| turn.len);
        Share { axis, places: parallel::share(len, parts, part) }
    }

    /// The places along the outermost axis, and the share inside of it.
    fn split(&self, outermost: &Turn) -> (Range<usize>, Self) {
        let Share { axis, ref places } = *self;
        let here = if axis == 0 { places.clone() } else { 0..outermost.len };
        (here, Share { axis: axis.wrapping_sub(1), places: places.clone() })
    }
}

/// Calls `visit` with the rows that these axes make, run by run, where they begin in the two
/// arrays and how many are turns of the axis beside them: nothing is listed before.
pub(super) fn straight(
    around: &[Turn],
    share: &Share,
    from: *const u8,
    to: *mut u8,
    visit: &impl Fn(Turn, usize, *const u8, *mut u8),
) {
    let Some((turn, inside)) = around.split_first() else {
        return visit(Turn::ONCE, 1, from, to);
    };
    let (share, within) = share.split(turn);
    for (first, place, count) in turn.runs() {
        let places = share.start.max(place)..share.end.min(place + count);
        let at = |place_of: usize| {
            let from = from.wrapping_offset((first + (place_of - place)) as isize * turn.from);
            (from, to.wrapping_offset(place_of as isize * turn.to))
        };
        if places.is_empty() {
            continue;
        }
        if inside.is_empty() {
            let (from, to) = at(places.start);
            visit(*turn, places.len(), from, to);
        } else {
            for place in places {
                let (from, to) = at(place);
                straight(inside, &within, from, to, visit);
            }
        }
    }
}

/// Rolls this share of rows; `around` are the axes outside of them.
///
/// # Safety
/// From these places on the rows that the axes make can be read and written, and those that
/// are written do not overlap any other.
#[allow(unsafe_code)]
pub(super) unsafe fn roll(around: &[Turn], share: &Share, from: *const u8, to: *mut u8, row: Row) {
    let (line, outside) = match around.split_last() {
        Some((line, outside)) => (*line, outside),
        None => (Turn::ONCE, around),
    };
    let narrow = row.len <= NARROW;
    let bytes = line.len * row.len;
    if share.axis == outside.len() || (narrow && bytes > together(row)) {
        // Run by run.
        let at_once = if narrow { together(row) / row.len } else { usize::MAX };
        return straight(around, share, from, to, &|turn, mut count, mut from, mut to| {
            while count > 0 {
                let line = Turn { len: count.min(at_once), shift: 0, ..turn };
                // SAFETY: the caller's promise, for these rows.
                unsafe { Lines { from, to, beside: Turn::ONCE, count: 1, line }.roll(row) };
                count -= line.len;
                from = from.wrapping_offset(line.len as isize * line.from);
                to = to.wrapping_offset(line.len as isize * line.to);
            }
        });
    }
    // Line by line, of which each has both of its runs.
    if outside.is_empty() {
        // SAFETY: the caller's promise.
        return unsafe { Lines { from, to, beside: Turn::ONCE, count: 1, line }.roll(row) };
    }
    let at_once = if narrow { together(row) / bytes } else { usize::MAX };
    straight(outside, share, from, to, &|beside, mut count, mut from, mut to| {
        while count > 0 {
            let lines = Lines { from, to, beside, count: count.min(at_once), line };
            // SAFETY: the caller's promise, for these rows.
            unsafe { lines.roll(row) };
            count -= lines.count;
            from = from.wrapping_offset(lines.count as isize * beside.from);
            to = to.wrapping_offset(lines.count as isize * beside.to);
        }
    });
}

/// Rows of up to this many bytes are copied one run of some of them after the other: to ask
/// for each how long its runs are would take longer.
const NARROW: usize = threshold(64, 24);
const _: () = assert!(NARROW <= 64);

/// So many bytes of them, which stay in the first cache beside what is around them: half as
/// many take a tenth longer of rows of 40 to 64 bytes, and twice as many of 14.
#[inline(always)]
fn together(row: Row) -> usize {
    const LEAST: usize = threshold(4 << 10, 100);
    const { assert!(NARROW <= LEAST) };
    if row.len <= 32 { LEAST } else { threshold(8 << 10, 100) }
}

/// Rows of which those along an axis that rolls make a line, and lines beside each other.
#[derive(Clone, Copy)]
struct Lines {
    from: *const u8,
    to: *mut u8,
    beside: Turn,
    count: usize,
    line: Turn,
}

#[allow(unsafe_code)]
impl Lines {
    /// Calls `visit` with where each row is and where it goes.
    #[inline(always)]
    fn each(&self, mut visit: impl FnMut(*const u8, *mut u8)) {
        let Lines { mut from, mut to, beside, count, line } = *self;
        let after = |to: *mut u8, count: usize, step: isize| {
            to.wrapping_offset(step.wrapping_mul(count as isize))
        };
        let end = after(to, count, beside.to);
        let rest = line.len - line.shift;
        let round = line.from.wrapping_mul(rest as isize);
        loop {
            let (on, last) = (after(to, line.shift, line.to), after(to, line.len, line.to));
            // These loops end at a place: from a number of turns the compiler would make several
            // loops, which few rows do not pay for. With two rows a turn many take a tenth less.
            for (mut from, mut to, end) in [(from.wrapping_offset(round), to, on), (from, on, last)]
            {
                while to != end {
                    visit(from, to);
                    (from, to) = (from.wrapping_offset(line.from), to.wrapping_offset(line.to));
                    if to == end {
                        break;
                    }
                    visit(from, to);
                    (from, to) = (from.wrapping_offset(line.from), to.wrapping_offset(line.to));
                }
            }
            (from, to) = (from.wrapping_offset(beside.from), to.wrapping_offset(beside.to));
            if to == end {
                return;
            }
        }
    }

    /// Copies rows, rolled. Wide ones are written in the order of memory, which the processor
    /// sees coming: 4 MiB in rows of 372 bytes take 150 us, and 200 where one run of 16 KiB of
    /// rows is written after the other.
    ///
    /// # Safety
    /// They can be read and written, and do not overlap.
    unsafe fn roll(&self, row: Row) {
        // SAFETY: the caller's promise.
        unsafe {
            if row.len > NARROW {
                return self.roll_wide(row);
            }
            for piece in row.pieces() {
                self.copy(piece);
            }
        }
    }

    /// # Safety
    /// That of [`roll`](Self::roll).
    #[inline(never)]
    unsafe fn roll_wide(&self, row: Row) {
        // SAFETY: the caller's promise, for each row.
        widely(|| self.each(|from, to| unsafe { rotate(from, to, row) }));
    }

    /// Copies a run of each row, which is narrow.
    ///
    /// # Safety
    /// That of [`roll`](Self::roll), for these runs.
    #[inline]
    unsafe fn copy(&self, piece: Piece) {
        // SAFETY: the caller's promise.
        unsafe {
            match piece.len {
                0 => {}
                1 => self.copy_blocks::<1, false>(piece),
                2..=3 => self.copy_blocks::<2, true>(piece),
                4..=7 => self.copy_blocks::<4, true>(piece),
                16 => self.copy_blocks::<16, false>(piece),
                8..=15 => self.copy_blocks::<8, true>(piece),
                32 => self.copy_blocks::<32, false>(piece),
                17..=31 => self.copy_blocks::<16, true>(piece),
                33..=64 => self.copy_blocks::<32, true>(piece),
                _ => unreachable!("a narrow row"),
            }
        }
    }

    /// Apart from each other, so that none prepares the loops of all sizes.
    ///
    /// # Safety
    /// That of [`copy`](Self::copy); the runs have `N` bytes, or `N` to `2 * N` where `MORE`.
    #[inline(never)]
    unsafe fn copy_blocks<const N: usize, const MORE: bool>(&self, piece: Piece) {
        let Piece { from, to, len } = piece;
        let mut runs = *self;
        runs.from = runs.from.wrapping_add(from);
        runs.to = runs.to.wrapping_add(to);
        // SAFETY: the caller's promise, for each row.
        let copy = || runs.each(|from, to| unsafe { block::<N, MORE>(from, to, len) });
        if N < 32 { copy() } else { widely(copy) }
    }
}

/// Copies a row, rolled.
///
/// # Safety
/// A row can be read from `from` and written to `to`, and the two do not
/// overlap.
#[allow(unsafe_code)]
#[inline(always)]
pub(super) unsafe fn rotate(from: *const u8, to: *mut u8, row: Row) {
    let rest = row.len - row.shift;
    // SAFETY: the caller's promise.
    unsafe {
        run(from.add(rest), to, row.shift);
        run(from, to.add(row.shift), rest);
    }
}
