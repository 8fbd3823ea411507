//! Rolls short dense rows: both runs of a row while it is in the first cache.

use super::Turn;
use super::blocks::{self, Row, Share, rotate, straight};
use crate::memory::copy::Transfer;
use crate::memory::copy::stage::{self, Stage};
use crate::memory::cpu::{Pattern, is_streamed, prefetch_line_l2, stream};
use crate::memory::walk::Offsets;
use crate::parallel::{self, Cost};
use crate::threshold::threshold;

/// Rows of more bytes go past the caches run by run: what of a run shares a cache line with another
/// is little of it.
const ALONE: usize = threshold(4 << 10, 128);
const _: () = assert!(Stage::rows(ALONE) > 0);

/// Shorter rows pass through the caches however large the result is: 800 bytes take as long
/// either way, 372 half as long.
const PAST: usize = threshold(1 << 10, 64);

/// Rolls rows; `around` are the axes outside of them.
pub(super) fn run(transfer: &Transfer<'_, '_>, around: &[Turn], start: Offsets, row: Row) {
    let count: usize = around.iter().map(|turn| turn.len).product();
    let bytes = count * row.len;
    let pattern = if are_shuffled(around, row) { pattern(row) } else { None };
    let sent = pattern.is_none() && is_sent(transfer, around, row, bytes);
    let roll = |share: &Share| {
        let from = transfer.from.start().wrapping_offset(start.selected);
        let to = transfer.to.start().wrapping_offset(start.listed);
        // SAFETY: the rows are those of the two arrays, which are borrowed apart from each
        // other; plain elements are initialised bytes; no two parts have the same row. Where
        // there is a pattern, rows along the innermost axis follow each other. Those that are
        // sent are short enough (`is_sent`).
        #[allow(unsafe_code)]
        unsafe {
            if let Some(pattern) = &pattern {
                straight(around, share, from, to, &|turn, count, from, to| {
                    shuffle(turn, count, from, to, row, pattern);
                });
            } else if sent {
                straight(around, share, from, to, &|turn, count, from, to| {
                    if row.len <= ALONE {
                        send(turn, count, from, to, row);
                    } else {
                        send_alone(turn, count, from, to, row);
                    }
                });
                stage::finish();
            } else {
                blocks::roll(around, share, from, to, row);
            }
        }
    };
    let parts = parallel::parts(Cost::of_bytes(bytes).plus(Cost::of_near(count)));
    if parts == 1 {
        return roll(&Share::ALL);
    }
    let cut = Share::cut(around, parts);
    parallel::run(cut.0, &|part| roll(&Share::of(around, cut, part)));
}

/// Whether rows go past the caches.
fn is_sent(transfer: &Transfer<'_, '_>, around: &[Turn], row: Row, bytes: usize) -> bool {
    let dense = around.last().is_none_or(|turn| turn.to == row.len as isize);
    (dense || row.len > ALONE) && row.len >= PAST && stage::is_past(bytes, transfer)
}

/// Rows of more bytes are copied in blocks sooner than they are shuffled: 5000 of 28 bytes take
/// 5 us, and 8.
const SHORT: usize = 12;

/// Fewer rows, in runs of about half as many, are copied in blocks before a pattern is worked
/// out.
const MANY: usize = threshold(1 << 10, 8);

/// Whether rows are many and short, and follow each other in long runs. In memory beyond the
/// caches, where one pass is what counts, also those that are longer, unless both of their runs
/// fill vectors: a million of 28 bytes take 2.0 ms, and 2.4 in blocks.
pub(super) fn are_shuffled(around: &[Turn], row: Row) -> bool {
    let count: usize = around.iter().map(|turn| turn.len).product();
    let follow =
        |line: &Turn| line.len >= MANY / 2 && [line.from, line.to] == [row.len as isize; 2];
    let short = || {
        let run = row.shift.min(row.len - row.shift);
        row.len <= SHORT || (run < 16 && is_streamed(count * row.len))
    };
    count >= MANY && around.last().is_some_and(follow) && short()
}

/// How to rearrange the bytes of a row.
fn pattern(row: Row) -> Option<Pattern> {
    let Row { len, shift } = row;
    let from = |byte: usize| if byte < shift { byte + len - shift } else { byte - shift };
    Pattern::new(len, len, from)
}

/// Rolls `count` rows that are turns of one axis and follow each other in both arrays, by
/// shuffles.
///
/// # Safety
/// They can be read and written, are initialised, and do not overlap.
#[allow(unsafe_code)]
unsafe fn shuffle(
    turn: Turn,
    count: usize,
    from: *const u8,
    to: *mut u8,
    row: Row,
    pattern: &Pattern,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let done = pattern.run(from, to, count);
        let (from, to) = (from.add(done * row.len), to.add(done * row.len));
        let rest = Turn { len: count - done, shift: 0, ..turn };
        blocks::roll(&[rest], &Share::ALL, from, to, row);
    }
}

/// Rolls `count` rows that are turns of one axis and follow each other in the destination:
/// puts as many of them together as there is room for, and sends them on past the caches.
///
/// # Safety
/// They can be read and written, are initialised, do not overlap, and have [`ALONE`] bytes at
/// most.
#[allow(unsafe_code)]
unsafe fn send(turn: Turn, count: usize, from: *const u8, to: *mut u8, row: Row) {
    let source = |k: usize| from.wrapping_offset(k as isize * turn.from);
    let at_once = Stage::rows(row.len);
    let mut stage = Stage::new();
    for first in (0..count).step_by(at_once) {
        let group = first..count.min(first.saturating_add(at_once));
        let to = to.wrapping_offset(first as isize * turn.to);
        // SAFETY: the caller's promise, for each row, and the stage has room for a group.
        unsafe {
            let room = stage.room(source(first));
            for (number, k) in group.clone().enumerate() {
                rotate(source(k), room.add(number * row.len), row);
            }
            let ahead = source(group.end.min(count - 1));
            stage.send(to, group.len() * row.len, ahead);
        }
    }
}

/// Rolls `count` rows that are turns of one axis, each past the caches, run by run.
///
/// # Safety
/// They can be read and written, are initialised, and do not overlap.
#[allow(unsafe_code)]
unsafe fn send_alone(turn: Turn, count: usize, from: *const u8, to: *mut u8, row: Row) {
    for k in 0..count as isize {
        let (from, to) = (from.wrapping_offset(k * turn.from), to.wrapping_offset(k * turn.to));
        for piece in row.pieces() {
            let next = from.wrapping_offset(turn.from).wrapping_add(piece.from);
            let on_line = |at| prefetch_line_l2(next.wrapping_add(at));
            // SAFETY: the caller's promise, for this row.
            unsafe { stream(from.add(piece.from), to.add(piece.to), piece.len, on_line) };
        }
    }
}
