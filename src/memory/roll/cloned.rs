//! Rolls short dense rows of elements that are cloned.

use super::Turn;
use super::blocks::{Share, straight};
use crate::memory::copy::{Clones, RollRows, RolledRows, Transfer, Way};
use crate::memory::walk::Offsets;
use crate::parallel::{self, Cost};

/// The kernel that clones rows of the elements of a transfer, if they are cloned.
#[inline]
pub(super) fn kernel(transfer: &Transfer<'_, '_>) -> Option<RollRows> {
    match transfer.copier.way {
        Way::Clone(&Clones { rolled, .. }) => rolled,
        _ => None,
    }
}

/// Rolls rows by the kernel of their elements; `around` are the axes outside of them.
#[inline(never)]
pub(super) fn run(
    transfer: &Transfer<'_, '_>,
    around: &[Turn],
    start: Offsets,
    row: Turn,
    kernel: RollRows,
) {
    let runs = [row.len - row.shift, row.shift];
    let count: usize = around.iter().map(|turn| turn.len).product();
    let bytes = count * row.len * transfer.copier.size;
    let parts = parallel::parts(Cost::of_bytes(bytes).plus(Cost::of_near(count)));
    let cut = Share::cut(around, parts);
    let run = |part: usize| {
        let from = transfer.from.start().wrapping_offset(start.selected);
        let to = transfer.to.start().wrapping_offset(start.listed);
        let roll = |turn: Turn, count: usize, from: *const u8, to: *mut u8| {
            let rows = RolledRows { from, to, count, steps: [turn.from, turn.to], runs };
            // SAFETY: the rows are those of the two arrays, which are borrowed apart
            // from each other, and of this part alone; the kernel is that of their
            // elements, and `row` is dense.
            #[allow(unsafe_code)]
            unsafe {
                kernel(&rows);
            }
        };
        straight(around, &Share::of(around, cut, part), from, to, &roll);
    };
    parallel::run(cut.0, &run);
}
