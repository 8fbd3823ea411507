//! Rolls short contiguous rows of elements that are cloned.

use super::RolledAxis;
use super::blocks::{Share, for_each_run};
use crate::memory::copy::{Clones, RollRows, RolledRows, Transfer, Way};
use crate::memory::walk::Offsets;
use crate::parallel::{self, Cost};

/// The kernel that clones and rolls rows of the transfer's element type, if elements are cloned
/// and the type has one.
#[inline]
pub(super) fn kernel(transfer: &Transfer<'_, '_>) -> Option<RollRows> {
    match transfer.copier.way {
        Way::Clone(&Clones { rolled, .. }) => rolled,
        _ => None,
    }
}

/// Rolls rows by `kernel`, that of their elements; `outer_axes` are the axes outside the rows.
#[inline(never)]
pub(super) fn run(
    transfer: &Transfer<'_, '_>,
    outer_axes: &[RolledAxis],
    start: Offsets,
    row: RolledAxis,
    kernel: RollRows,
) {
    let runs = [row.len - row.shift, row.shift];
    let count: usize = outer_axes.iter().map(|axis| axis.len).product();
    let bytes = count * row.len * transfer.copier.size;
    let parts = parallel::parts(Cost::of_bytes(bytes).plus(Cost::of_near(count)));
    let (parts, share) = Share::cut(outer_axes, parts);
    let run = |part: usize| {
        let from = transfer.from.start().wrapping_offset(start.selected);
        let to = transfer.to.start().wrapping_offset(start.listed);
        let roll = |axis: RolledAxis, count: usize, from: *const u8, to: *mut u8| {
            let rows =
                RolledRows { from, to, count, steps: [axis.from_stride, axis.to_stride], runs };
            // SAFETY: the rows are in bounds of the two arrays, which are borrowed separately,
            // the destination exclusively, and no other part has these rows (`Share::cut`). The
            // kernel is that of the arrays' elements (`kernel`), and the elements of `row` are
            // contiguous (checked by the caller).
            #[allow(unsafe_code)]
            unsafe {
                kernel(&rows);
            }
        };
        for_each_run(outer_axes, &share(part), from, to, &roll);
    };
    parallel::run(parts, &run);
}
