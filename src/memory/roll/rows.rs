//! Rolls short dense rows: both runs of a row while it is in the first cache.

use std::ops::Range;

use super::{Turn, rectangles};
use crate::index::Policy;
use crate::memory::copy::stage::{self, Stage};
use crate::memory::copy::{Transfer, rows};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::memory::cpu::Avx2;
use crate::memory::cpu::{FEWEST, Pattern};
use crate::memory::indexed::{Cut, Run, unit};
use crate::memory::tile::{Kernel, Places, Tile};
use crate::memory::walk::{Offsets, Walk, turns};
use crate::parallel::{self, Cost};
use crate::sync::AtomicBool;
use crate::threshold::threshold;

/// A row and its shift in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) len: usize,
    pub(super) shift: usize,
}

/// Longer rows are sent on without being put together: they fill most lines by
/// themselves.
const ALONE: usize = threshold(4 << 10, 128);
const _: () = assert!(Stage::rows(ALONE) > 0);

impl Row {
    /// The runs of a row, the longer one first, so that memory is read in
    /// order.
    fn pieces(self) -> [Piece; 2] {
        let Row { len, shift } = self;
        let on = Piece { from: 0, to: shift, len: len - shift };
        let round = Piece { from: len - shift, to: 0, len: shift };
        if on.len >= round.len { [on, round] } else { [round, on] }
    }
}

/// Shorter rows pass through the caches however large the result is: 800 bytes take as long
/// either way, 372 half as long.
const PAST: usize = threshold(1 << 10, 64);

/// Rolls rows; `around` are the axes outside of them.
pub(super) fn run(transfer: &Transfer<'_, '_>, around: &[Turn], start: Offsets, row: Row) {
    let count: usize = around.iter().map(|turn| turn.len).product();
    let dense = around.last().is_none_or(|turn| turn.to == row.len as isize);
    let step = row.len as isize;
    let shuffle = if count >= FEWEST { pattern(row) } else { None };
    if let ([Turn { shift: 0, from, to, .. }], Some(pattern)) = (around, &shuffle) {
        if [*from, *to] == [step; 2] {
            return shuffled(transfer, start, row, count, pattern);
        }
    }
    let past =
        dense && shuffle.is_none() && row.len >= PAST && stage::is_past(count * row.len, transfer);
    let cost = Cost::of_bytes(count * row.len).plus(Cost::of_near(count));
    if !past && shuffle.is_none() && parallel::parts(cost) == 1 {
        let from = transfer.from.start().wrapping_offset(start.selected);
        let to = transfer.to.start().wrapping_offset(start.listed);
        let turns = around.first().map_or(1, |turn| turn.len);
        // SAFETY: the rows are those of the two arrays, which are borrowed apart
        // from each other.
        #[allow(unsafe_code)]
        return straight(around, 0..turns, from, to, &|turn, count, from, to| unsafe {
            follow(turn, count, from, to, row);
        });
    }
    let kernel = Rotate { row, past, shuffle };
    rectangles(around, start, |loops, base| {
        let walk = Walk::around_rows(loops, base);
        let entries = turns(walk.nest());
        let bytes = Cost::of_bytes(entries * row.len);
        let unit = unit(walk.nest());
        let parts = parallel::parts(bytes.plus(Cost::of_near(entries))).min(entries / unit);
        let run = Run {
            walk: &walk,
            indices: None,
            policy: Policy::Refuse,
            selected: transfer.from.start().cast_mut(),
            listed: transfer.to.start(),
            size: row.len,
            kernel: &kernel,
            spread: false,
            outside: &AtomicBool::new(false),
        };
        // SAFETY: the loops are those around rows of these two arrays, which the
        // kernel rolls as a whole; each row is one entry.
        #[allow(unsafe_code)]
        unsafe {
            run.run(Cut::Entries(unit), parts);
        }
    });
}

/// Arrays of up to this many bytes are copied row by row, rolled or not: to
/// prepare anything else would take longer.
pub(super) const TINY: usize = threshold(2 << 10, 64);

/// Calls `visit` with the rows that these axes make, run by run, where they begin in the two
/// arrays and how many are turns of the axis beside them: nothing is listed before. Of the
/// outermost axis takes these turns of the destination.
pub(super) fn straight(
    around: &[Turn],
    share: Range<usize>,
    from: *const u8,
    to: *mut u8,
    visit: &impl Fn(Turn, usize, *const u8, *mut u8),
) {
    let Some((turn, inside)) = around.split_first() else {
        return visit(Turn::ONCE, 1, from, to);
    };
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
                straight(inside, 0..inside[0].len, from, to, visit);
            }
        }
    }
}

/// Rolls `count` rows that are turns of one axis.
///
/// # Safety
/// They can be read and written from here on, and do not overlap.
#[allow(unsafe_code)]
unsafe fn follow(turn: Turn, count: usize, from: *const u8, to: *mut u8, row: Row) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if let Some(avx2) = Avx2::detect() {
        return avx2.call(
            #[inline(always)]
            // SAFETY: the caller's promise.
            || unsafe { follow_with(turn, count, from, to, row) },
        );
    }
    // SAFETY: the caller's promise.
    unsafe { follow_with(turn, count, from, to, row) };
}

/// # Safety
/// That of [`follow`].
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn follow_with(turn: Turn, count: usize, from: *const u8, to: *mut u8, row: Row) {
    // SAFETY: the caller's promise.
    unsafe {
        rotated(
            0..count,
            #[inline(always)]
            |k| {
                let from = from.wrapping_offset(k as isize * turn.from);
                (from, to.wrapping_offset(k as isize * turn.to))
            },
            row,
        );
    }
}

/// Rows of up to this many bytes are copied one run of some of them after the other: to ask
/// for each how long its runs are would take longer.
const NARROW: usize = threshold(128, 24);
const _: () = assert!(NARROW <= 128);

/// So many bytes of them, which stay in the first cache beside what is around them: twice as
/// many, of 60 bytes, took a tenth longer.
const TOGETHER: usize = threshold(4 << 10, 100);
const _: () = assert!(NARROW <= TOGETHER);

/// Copies rows, rolled, given where each starts in both arrays. Wide ones are written in the
/// order of memory, which the processor sees coming: 4 MiB in rows of 372 bytes take 150 us,
/// and 200 where one run of 16 KiB of rows is written after the other.
///
/// # Safety
/// They can be read and written, and do not overlap.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn rotated(rows: Range<usize>, at: impl Fn(usize) -> (*const u8, *mut u8), row: Row) {
    if row.len > NARROW {
        for k in rows {
            let (from, to) = at(k);
            // SAFETY: the caller's promise, for this row.
            unsafe { rotate(from, to, row) };
        }
        return;
    }
    let at_once = TOGETHER / row.len;
    for first in rows.clone().step_by(at_once) {
        let group = first..rows.end.min(first + at_once);
        for piece in row.pieces() {
            // SAFETY: the caller's promise, for each row.
            unsafe { pieces(group.clone().map(&at), piece) };
        }
    }
}

/// How to rearrange the bytes of a short row, unless its runs fill vectors by themselves.
fn pattern(row: Row) -> Option<Pattern> {
    let Row { len, shift } = row;
    if shift.min(len - shift) >= 16 {
        return None;
    }
    let from = |byte: usize| if byte < shift { byte + len - shift } else { byte - shift };
    Pattern::new(len, len, from)
}

/// Rows that follow each other in both arrays, by shuffles of bytes.
fn shuffled(
    transfer: &Transfer<'_, '_>,
    start: Offsets,
    row: Row,
    count: usize,
    pattern: &Pattern,
) {
    let from = Shared(transfer.from.start().wrapping_offset(start.selected).cast_mut());
    let to = Shared(transfer.to.start().wrapping_offset(start.listed));
    let parts = parallel::parts(Cost::of_bytes(count * row.len)).min(count);
    parallel::run(parts, &|part| {
        let rows = parallel::share(count, parts, part);
        let at = |rows: usize| rows * row.len;
        // SAFETY: `count` rows of initialised bytes follow each other in both
        // arrays from here on, and these are this part's alone.
        #[allow(unsafe_code)]
        unsafe {
            let (from, to) = (from.get().add(at(rows.start)), to.get().add(at(rows.start)));
            let done = pattern.run(from, to, rows.len());
            for k in done..rows.len() {
                rotate(from.add(at(k)), to.add(at(k)), row);
            }
        }
    });
}

/// A pointer that parts share.
#[derive(Clone, Copy)]
struct Shared(*mut u8);

impl Shared {
    fn get(self) -> *mut u8 {
        self.0
    }
}

// SAFETY: stands for a borrow that may be shared (`Transfer`).
#[allow(unsafe_code)]
unsafe impl Sync for Shared {}

/// Copies a row, rolled.
///
/// # Safety
/// A row can be read from `from` and written to `to`, and the two do not
/// overlap.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn rotate(from: *const u8, to: *mut u8, row: Row) {
    let rest = row.len - row.shift;
    // SAFETY: the caller's promise.
    unsafe {
        run_of(from.add(rest), to, row.shift);
        run_of(from, to.add(row.shift), rest);
    }
}

/// Runs of up to this many bytes are copied block by block: a copy routine that is called for
/// each takes longer to begin.
const MEDIUM: usize = threshold(32 << 10, 200);

/// Copies a run of a row.
///
/// # Safety
/// It can be read from `from` and written to `to`, and the two do not overlap.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn run_of(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise; each block lies in the run.
    unsafe {
        match len {
            65.. if len > MEDIUM => from.copy_to_nonoverlapping(to, len),
            65.. => {
                for at in (0..len - 64).step_by(64) {
                    rows::block::<64, false>(from.add(at), to.add(at), 64);
                }
                rows::block::<64, false>(from.add(len - 64), to.add(len - 64), 64);
            }
            32..=64 => rows::block::<32, true>(from, to, len),
            16..=31 => rows::block::<16, true>(from, to, len),
            8..=15 => rows::block::<8, true>(from, to, len),
            4..=7 => rows::block::<4, true>(from, to, len),
            2..=3 => rows::block::<2, true>(from, to, len),
            1 => rows::block::<1, false>(from, to, len),
            0 => {}
        }
    }
}

/// Copies rows, rolled.
struct Rotate {
    row: Row,
    past: bool,
    shuffle: Option<Pattern>,
}

/// A run of a row, in bytes.
#[derive(Clone, Copy)]
struct Piece {
    from: usize,
    to: usize,
    len: usize,
}

#[allow(unsafe_code)]
impl Kernel for Rotate {
    unsafe fn run(&self, tile: &Tile<'_>) {
        // SAFETY: the caller's promise.
        unsafe {
            match &self.shuffle {
                Some(pattern) => self.shuffle(tile, pattern),
                None if self.past => self.send(tile),
                None => self.copy(tile, 0..tile.offsets.len()),
            }
        }
    }

    unsafe fn nowhere(&self, _: &Tile<'_>) {}
}

#[allow(unsafe_code)]
impl Rotate {
    /// The rows from number `first` on that follow each other in the
    /// destination, up to `most`.
    fn group(&self, tile: &Tile<'_>, first: usize, most: usize) -> Range<usize> {
        let end = tile.offsets.len().min(first.saturating_add(most));
        let step = self.row.len as isize;
        match tile.places {
            Places::Every(every) if every == step => first..end,
            Places::Every(_) => first..first + 1,
            Places::Each(places) => {
                let jump = places[first..end].windows(2).position(|pair| pair[1] - pair[0] != step);
                first..jump.map_or(end, |jump| first + jump + 1)
            }
        }
    }

    /// Copies these rows.
    ///
    /// # Safety
    /// That of [`Kernel::run`].
    unsafe fn copy(&self, tile: &Tile<'_>, rows: Range<usize>) {
        let at = |k: usize| {
            let from = tile.selected.wrapping_offset(tile.offsets[k]);
            (from.cast_const(), tile.listed.wrapping_offset(tile.places.at(k)))
        };
        // SAFETY: the caller's promise, for each row.
        unsafe { rotated(rows, at, self.row) };
    }

    /// Copies the rows of a tile, by shuffles those that follow each other.
    ///
    /// # Safety
    /// That of [`Kernel::run`].
    unsafe fn shuffle(&self, tile: &Tile<'_>, pattern: &Pattern) {
        let step = self.row.len as isize;
        let mut next = 0;
        while next < tile.offsets.len() {
            let mut group = self.group(tile, next, usize::MAX);
            next = group.end;
            let offsets = &tile.offsets[group.clone()];
            // SAFETY: the caller's promise, for each row of the group.
            unsafe {
                if offsets.windows(2).all(|pair| pair[1] - pair[0] == step) {
                    let from = tile.selected.wrapping_offset(offsets[0]);
                    let to = tile.listed.wrapping_offset(tile.places.at(group.start));
                    group.start += pattern.run(from, to, group.len());
                }
                self.copy(tile, group);
            }
        }
    }

    /// Puts rows that follow each other in the destination together, as many as there
    /// is room for, and sends them on past the caches; rows that fill most lines by
    /// themselves at once.
    ///
    /// # Safety
    /// That of [`Kernel::run`].
    unsafe fn send(&self, tile: &Tile<'_>) {
        let source = |k: usize| tile.selected.wrapping_offset(tile.offsets[k]).cast_const();
        let at_once = if self.row.len > ALONE { 1 } else { Stage::rows(self.row.len) };
        let mut stage = Stage::new();
        let mut next = 0;
        while next < tile.offsets.len() {
            let group = self.group(tile, next, at_once);
            next = group.end;
            let to = tile.listed.wrapping_offset(tile.places.at(group.start));
            // SAFETY: the caller's promise, for each row; plain elements are
            // initialised bytes, and the stage has room for a group of rows.
            unsafe {
                if self.row.len > ALONE {
                    for Piece { from, to: at, len } in self.row.pieces() {
                        stage::straight(source(group.start).add(from), to.add(at), len);
                    }
                    continue;
                }
                let room = stage.room(source(group.start));
                for (row, k) in group.clone().enumerate() {
                    rotate(source(k), room.add(row * self.row.len), self.row);
                }
                let ahead = source(group.end.min(tile.offsets.len() - 1));
                stage.send(to, group.len() * self.row.len, ahead);
            }
        }
        stage::finish();
    }
}

/// Copies a run of each narrow row, given where rows start.
///
/// # Safety
/// The run can be read and written in each pair of rows, which do not overlap.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn pieces(pairs: impl Iterator<Item = (*const u8, *mut u8)> + Clone, piece: Piece) {
    let Piece { from, to, len } = piece;
    macro_rules! blocks {
        ($bytes:literal, $more:literal) => {
            for (source, place) in pairs {
                // SAFETY: the caller's promise.
                unsafe { rows::block::<$bytes, $more>(source.add(from), place.add(to), len) };
            }
        };
    }
    match len {
        0 => {}
        1 => blocks!(1, false),
        2..=3 => blocks!(2, true),
        4..=8 => blocks!(4, true),
        16 => blocks!(16, false),
        9..=15 => blocks!(8, true),
        32 => blocks!(32, false),
        17..=31 => blocks!(16, true),
        33..=64 => blocks!(32, true),
        65..=128 => blocks!(64, true),
        _ => unreachable!("a narrow row"),
    }
}
