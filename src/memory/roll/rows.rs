//! Rolls short dense rows: both runs of a row while it is in the first cache.

use std::ops::Range;

use super::{Turn, rectangles};
use crate::index::Policy;
use crate::memory::copy::stage::{self, Stage, Store};
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

/// Rows of up to this many bytes are staged; longer ones copy well by
/// themselves.
const SHORT: usize = threshold(2 << 10, 384);

/// To list rows that are this short takes longer than to copy them: 100,000 of three `u128`
/// 330 and 175 µs.
const SHORTEST: usize = threshold(64, 16);

/// Rolls rows; `around` are the axes outside of them.
pub(super) fn run(transfer: &Transfer<'_, '_>, around: &[Turn], start: Offsets, row: Row) {
    let count: usize = around.iter().map(|turn| turn.len).product();
    let follow = around.last().is_none_or(|turn| turn.to == row.len as isize);
    let store = match Store::of(count * row.len, transfer) {
        _ if !follow => Store::Direct,
        Store::Staged if row.len > SHORT || row.len <= SHORTEST => Store::Direct,
        store => store,
    };
    let step = row.len as isize;
    let shuffle = if count >= FEWEST { pattern(row) } else { None };
    if let ([Turn { shift: 0, from, to, .. }], Some(pattern)) = (around, &shuffle) {
        if [*from, *to] == [step; 2] {
            return shuffled(transfer, start, row, count, pattern);
        }
    }
    let store = if shuffle.is_some() { Store::Direct } else { store };
    let cost = Cost::of_bytes(count * row.len).plus(Cost::of_near(count));
    if store == Store::Direct && shuffle.is_none() && parallel::parts(cost) == 1 {
        let from = transfer.from.start().wrapping_offset(start.selected);
        // SAFETY: the rows are those of the two arrays, which are borrowed apart
        // from each other.
        #[allow(unsafe_code)]
        unsafe {
            straight(around, from, transfer.to.start().wrapping_offset(start.listed), row);
        }
        return;
    }
    let kernel = Rotate { row, store, shuffle };
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

/// Rolls all rows that these axes make, run by run: nothing is listed before.
///
/// # Safety
/// They can be read and written from here on, and do not overlap.
#[allow(unsafe_code)]
unsafe fn straight(around: &[Turn], from: *const u8, to: *mut u8, row: Row) {
    let Some((turn, inside)) = around.split_first() else {
        // SAFETY: the caller's promise.
        return unsafe { follow(Turn::ONCE, 1, from, to, row) };
    };
    for (first, place, count) in turn.runs() {
        let at = |k: usize| {
            let from = from.wrapping_offset((first + k) as isize * turn.from);
            (from, to.wrapping_offset((place + k) as isize * turn.to))
        };
        // SAFETY: the caller's promise, for turns of this axis.
        unsafe {
            if inside.is_empty() {
                let (from, to) = at(0);
                follow(*turn, count, from, to, row);
            } else {
                for k in 0..count {
                    let (from, to) = at(k);
                    straight(inside, from, to, row);
                }
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
            || unsafe { groups(turn, count, from, to, row) },
        );
    }
    // SAFETY: the caller's promise.
    unsafe { groups(turn, count, from, to, row) };
}

/// The same, some rows at a time, so that their second runs find them in the
/// first cache.
///
/// # Safety
/// That of [`follow`].
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn groups(turn: Turn, count: usize, from: *const u8, to: *mut u8, row: Row) {
    let at_once = Stage::rows(row.len).max(1);
    for first in (0..count).step_by(at_once) {
        let group = first..count.min(first + at_once);
        for piece in row.pieces() {
            let pairs = group.clone().map(
                #[inline(always)]
                |k| {
                    let from = from.wrapping_offset(k as isize * turn.from);
                    (from, to.wrapping_offset(k as isize * turn.to))
                },
            );
            // SAFETY: the caller's promise, for each row.
            unsafe { pieces(pairs, piece) };
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
unsafe fn rotate(from: *const u8, to: *mut u8, row: Row) {
    let rest = row.len - row.shift;
    // SAFETY: the caller's promise.
    unsafe {
        from.copy_to_nonoverlapping(to.add(row.shift), rest);
        from.add(rest).copy_to_nonoverlapping(to, row.shift);
    }
}

/// Copies rows, rolled.
struct Rotate {
    row: Row,
    store: Store,
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
        let mut stage = (self.store != Store::Direct).then(Stage::new);
        let at_once = if self.shuffle.is_some() { usize::MAX } else { Stage::rows(self.row.len) };
        let mut next = 0;
        while next < tile.offsets.len() {
            let group = self.group(tile, next, at_once.max(1));
            next = group.end;
            // SAFETY: the caller's promise, for each row of the group.
            unsafe {
                match &mut stage {
                    Some(stage) => self.send(tile, group, stage),
                    None => self.copy(tile, group),
                }
            }
        }
        if stage.is_some() {
            stage::finish();
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
            // Rows that are copied straight need not follow each other.
            _ if self.store == Store::Direct && self.shuffle.is_none() => first..end,
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
    unsafe fn copy(&self, tile: &Tile<'_>, group: Range<usize>) {
        let place = |k: usize| tile.places.at(k);
        let mut group = group;
        let step = self.row.len as isize;
        // SAFETY: the caller's promise, for each row.
        unsafe {
            if let Some(pattern) = &self.shuffle {
                let offsets = &tile.offsets[group.clone()];
                let follow = offsets.windows(2).all(|pair| pair[1] - pair[0] == step);
                if follow
                    && (group.len() == 1 || place(group.start + 1) - place(group.start) == step)
                {
                    let from = tile.selected.wrapping_offset(tile.offsets[group.start]);
                    let to = tile.listed.wrapping_offset(place(group.start));
                    group.start += pattern.run(from, to, group.len());
                }
            }
            for piece in self.row.pieces() {
                let pairs = group.clone().map(|k| {
                    let from = tile.selected.wrapping_offset(tile.offsets[k]);
                    (from.cast_const(), tile.listed.wrapping_offset(place(k)))
                });
                pieces(pairs, piece);
            }
        }
    }

    /// Puts these rows, which follow each other in the destination, together
    /// and sends them on.
    ///
    /// # Safety
    /// That of [`Kernel::run`].
    unsafe fn send(&self, tile: &Tile<'_>, group: Range<usize>, stage: &mut Stage) {
        let to = tile.listed.wrapping_offset(tile.places.at(group.start));
        let source = |k: usize| tile.selected.wrapping_offset(tile.offsets[k]).cast_const();
        let past = self.store == Store::Past;
        // SAFETY: the caller's promise, for each row; plain elements are
        // initialised bytes, and the stage has room for a group of rows.
        unsafe {
            if self.row.len > ALONE {
                for k in group {
                    let to = tile.listed.wrapping_offset(tile.places.at(k));
                    for Piece { from, to: at, len } in self.row.pieces() {
                        stage::straight(source(k).add(from), to.add(at), len, past);
                    }
                }
                return;
            }
            let room = stage.room(source(group.start));
            for piece in self.row.pieces() {
                let pairs = group
                    .clone()
                    .enumerate()
                    .map(|(row, k)| (source(k), room.add(row * self.row.len)));
                pieces(pairs, piece);
            }
            let next = source(group.end.min(tile.offsets.len() - 1));
            stage.send(to, group.len() * self.row.len, next, past);
        }
    }
}

/// Rows of up to this many bytes are copied block by block: a copy routine that
/// is called for each does not know that the next row follows. 93 x 93 x 93
/// floats rolled along all axes took 210 µs so, and take 105.
const MEDIUM: usize = threshold(32 << 10, 200);

/// Copies a run of each row, given where rows start.
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
        _ if len <= MEDIUM => {
            for (source, place) in pairs {
                // SAFETY: the caller's promise; each block lies in the run.
                unsafe {
                    let (source, place) = (source.add(from), place.add(to));
                    for block in 0..len / 64 {
                        rows::block::<64, false>(source.add(block * 64), place.add(block * 64), 64);
                    }
                    let last = len - 64;
                    rows::block::<64, false>(source.add(last), place.add(last), 64);
                }
            }
        }
        _ => {
            for (source, place) in pairs {
                // SAFETY: the caller's promise.
                unsafe { source.add(from).copy_to_nonoverlapping(place.add(to), len) };
            }
        }
    }
}
