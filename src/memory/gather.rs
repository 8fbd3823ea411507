//! Gathers: copies the elements that indices select to an output.
//!
//! ```text
//! for k in entries { output[k] = data[indices[k]] }
//! ```

use super::copied::Contiguous;
use super::copy::rows::are_large;
use super::copy::stage::streams_past_caches;
use super::copy::{Copier, Transfer};
use super::cpu::{LINE, is_long, is_streamed, of_caches};
use super::few::{Few, Named};
use super::indexed::{Cut, Run, is_chunk, unit};
use super::indices::Indices;
use super::output::Filled;
use super::packed::Packed;
use super::refused::{Refusal, Refused};
use super::strided::Layout;
use super::walk::{Axes, Walk};
use crate::index::Policy;
use crate::parallel;
use crate::threshold::threshold;

impl<'id> Transfer<'_, 'id> {
    /// Runs the gather over the axes that `name` names. Where an index is refused, the output may have been
    /// written to, unless `untouched`.
    pub(crate) fn gather(
        &self,
        indices: &Indices<'_>,
        policy: Policy,
        untouched: bool,
        name: impl FnOnce(&mut Axes<'_>),
    ) -> Result<Filled<'id>, Refused> {
        assert!(policy != Policy::Skip || self.fill.is_some(), "a gather cannot skip");
        let mut axes = Axes::new(*self.from(), Some(*indices.layout()), *self.to());
        name(&mut axes);
        if let Some(walk) = axes.finish() {
            assert!(Indices::can_map(policy, &walk.components), "an axis has no elements");
            let plain = self.copier.plain();
            let copied = Contiguous::of_indices(walk, indices, self.copier.size);
            let indices = &copied.as_ref().map_or(*indices, |copy| copy.indices(indices));
            if untouched && policy == Policy::Refuse && !indices.inside(&walk.components) {
                return Err(Refused);
            }
            let selection = Selection { indices, policy };
            if let Some(packed) = Packed::of(walk, indices, self.order(), plain) {
                return self.gather_packed(&packed, &selection, walk);
            }
            walk.order(self.order());
            let copied = |walk: &Walk| {
                let parts = parallel::parts(walk.cost(self.copier.size));
                copy(self, Some(&selection), walk, parts)
            };
            walk.with_rest().try_for_each(copied)?;
        }
        // SAFETY: the loops use each axis of the output, over its whole length (`Axes`), so every
        // element has been written or filled.
        #[allow(unsafe_code)]
        Ok(unsafe { self.filled() })
    }

    /// Runs the gather over a walk of which this is packed.
    #[inline(never)]
    fn gather_packed(
        &self,
        packed: &Packed,
        selection: &Selection<'_>,
        walk: &Walk,
    ) -> Result<Filled<'id>, Refused> {
        let Selection { indices, policy } = *selection;
        let refusal = Refusal::new();
        let run = Run {
            walk,
            indices: Some(indices),
            policy,
            selected: self.from.start().cast_mut(),
            listed: self.to.start(),
            size: self.copier.size,
            kernel: &self.copier.gather(walk, false, self.fill),
            refusal: &refusal,
        };
        // SAFETY: the walk was made from the layouts of the transfer's arrays and of these indices by
        // `Axes`, or for a copy of the indices by `Contiguous`, and the kernel is that of the transfer's
        // copier, for single elements, whose type is plain if lanes are packed. The whole walk runs, so every
        // element has been written or filled.
        #[allow(unsafe_code)]
        unsafe {
            packed.run(&run, false);
            refusal.result().map(|()| self.filled())
        }
    }

    /// Runs the gather where elements are few and their axes [collapse](super::few) to blocks; otherwise
    /// returns `None`. Nothing is written where an index is refused.
    pub(crate) fn gather_few(
        &self,
        indices: &Indices<'_>,
        policy: Policy,
        named: Named<'_>,
    ) -> Option<Result<Filled<'id>, Refused>> {
        let selected = (self.from.start().cast_mut(), self.from());
        let few = Few::of(policy, named, selected, indices, (self.to.start(), self.to()))?;
        let run = self.copier.kernel(&few.row(), true, false);
        // SAFETY: the kernel is that of the transfer's copier for rows of this length, the arrays
        // are those of the transfer, which borrows them, and all entries are written (`Few`).
        #[allow(unsafe_code)]
        unsafe {
            let done = few.run(|tile| run(tile))?;
            Some(done.map(|()| self.filled()))
        }
    }
}

/// The least size in bytes of rows that are written by non-temporal stores.
const STREAMED_ROW: usize = threshold(1 << 10, 32);

/// Whether a result in [large](are_large) rows had better stay in the last-level cache, which it fits: in
/// several parts, or out of a source that stays there, too.
///
/// 51 of 18 rows of 392 KB take 446 µs by non-temporal stores and 308 so, on two threads 444 and 167;
/// 1000 of 2000 rows of 20 KB 480 and 690, on two threads 511 and 377.
fn stays_cached(transfer: &Transfer<'_, '_>, parts: usize) -> bool {
    let bytes = |array: &Layout<'_>| array.len().saturating_mul(transfer.copier.size);
    bytes(transfer.to()) < of_caches(|caches| caches.last, 2 << 10)
        && (parts > 1 || bytes(transfer.from()) <= of_caches(|caches| caches.last / 4, 256))
}

/// What a gather selects by.
pub(super) struct Selection<'a> {
    indices: &'a Indices<'a>,
    policy: Policy,
}

/// Copies the elements that a walk iterates over, in up to `parts` parts: those that indices select,
/// or without a selection all of them.
pub(super) fn copy(
    transfer: &Transfer<'_, '_>,
    selection: Option<&Selection<'_>>,
    walk: &Walk,
    parts: usize,
) -> Result<(), Refused> {
    let copier = transfer.copier;
    let spread = walk.is_spread();
    let row = walk.inner.len * copier.size;
    let rows = walk.rows();
    let bytes = rows.saturating_mul(row);
    let streamed = row >= STREAMED_ROW
        && !(are_large(row, spread) && stays_cached(transfer, parts))
        && match selection {
            Some(_) => is_streamed(bytes),
            None => streams_past_caches(bytes, transfer),
        };
    let kernel = copier.gather(walk, streamed, transfer.fill);
    let refusal = Refusal::new();
    let run = Run {
        walk,
        indices: selection.map(|selection| selection.indices),
        policy: selection.map_or(Policy::Refuse, |selection| selection.policy),
        selected: transfer.from.start().cast_mut(),
        listed: transfer.to.start(),
        size: copier.size,
        kernel: &kernel,
        refusal: &refusal,
    };
    let cut = match bands(walk) {
        bands if bands > 1 && bands >= parallel::threads() => {
            (Cut::Band(walk.nest().len() - 1), bands)
        }
        _ if parts == 1 => Cut::NONE,
        _ => cut(walk, row, parts),
    };
    // SAFETY: the walk was made from the layouts of the transfer's arrays and of these indices by
    // `Axes`, for a copy of the indices by `Contiguous`, or by a roll of the two arrays, and the kernel is
    // that of the transfer's copier. Any loop of a gather may be cut (`Part`).
    #[allow(unsafe_code)]
    unsafe {
        run.run(cut);
    }
    refusal.result()
}

/// Copies plain elements of `size` bytes along a walk and its rest, each in up to `parts` parts.
///
/// # Safety
/// The walk is over elements of this size, without entries; those at `from` can be read, those at `to` be
/// written, and the two do not overlap.
#[allow(unsafe_code)]
pub(super) unsafe fn copy_plain(
    walk: &Walk,
    size: usize,
    from: *const u8,
    to: *mut u8,
    parts: usize,
) {
    let copier = Copier::of_bytes(size);
    for walk in walk.with_rest() {
        let run = Run {
            walk,
            indices: None,
            policy: Policy::Refuse,
            selected: from.cast_mut(),
            listed: to,
            size,
            kernel: &copier.gather(walk, false, None),
            refusal: &Refusal::new(),
        };
        let cut = if parts == 1 { Cut::NONE } else { cut(walk, walk.inner.len * size, parts) };
        // SAFETY: the caller's promise. Any loop of a copy may be cut (`Part`).
        unsafe { run.run(cut) };
    }
}

/// Into how many bands (blocks of columns) to cut the innermost loop over entries where elements
/// are gathered along an outer axis of a large array, so that each index of a row selects from
/// a column of its own:
///
/// ```text
/// for band in columns by 512
///   for row in indices                       the columns of the band stay in the caches
///     for column in band { output[row, column] = data[indices[row, column], column] }
/// ```
///
/// 1 where bands gain nothing.
fn bands(walk: &Walk) -> usize {
    /// The least number of columns of a band: a few cache lines of each row.
    const BAND: usize = threshold(512, 4);
    /// The least number of rows of indices. Fewer do not reuse a band often enough, and are too
    /// little work for several threads.
    const ROWS: usize = threshold(32, 2);
    let ([axis], [.., around, band]) = (&walk.components[..], walk.nest()) else { return 1 };
    let column_step = band.step.selected.unsigned_abs();
    let has_columns = column_step != 0 && column_step < axis.step.unsigned_abs();
    // More than the part of the last-level cache that the data can be expected to have.
    let is_large = is_long(walk.reach());
    let reuses_band = around.step.selected == 0 && around.len >= ROWS;
    if has_columns && reuses_band && is_large { parallel::even(band.len / BAND).max(1) } else { 1 }
}

/// Which loop to cut, and in how many parts, at most `parts`, for rows of `row` bytes: a loop that is
/// long enough, or else the longest.
///
/// There are no more parts than the loop has iterations: the others would have none.
#[inline(never)]
fn cut(walk: &Walk, row: usize, parts: usize) -> (Cut, usize) {
    /// The least size in bytes of rows that are cut: kernels for shorter rows are specialised for
    /// the length of a whole row.
    const CUT_ROW: usize = threshold(2 << 10, 300);
    let unit = unit(walk.nest(), parts);
    let mut lens = [
        (Cut::Shared, walk.shared_iterations()),
        (Cut::Entries(unit), walk.entries() / unit),
        (Cut::Outer, walk.outer.len),
        (Cut::Inner, if row < CUT_ROW { 0 } else { walk.inner.len }),
    ];
    let shares_lines = walk.nest().last().is_some_and(|run| {
        let near = |step: isize| step.unsigned_abs() < LINE;
        near(run.step.listed) || (!run.reads_indices() && near(run.step.selected))
    });
    // Entries that select next to each other: each part of them would load all of the data.
    let selects_lines = walk.components.iter().any(|component| component.len > 1)
        && walk.components.iter().all(|component| component.step.unsigned_abs() < LINE);
    if selects_lines || (shares_lines && is_chunk(walk.nest())) {
        // Entries that share cache lines of an array are not cut if another loop can be: each part
        // resolves all of their indices. Without indices, this transposes.
        lens[1..].rotate_left(1);
    }
    let enough = lens.iter().find(|(_, len)| *len >= 4 * parts);
    let longest = lens.iter().rev().max_by_key(|(_, len)| *len);
    enough
        .or(longest)
        .map_or(Cut::NONE, |(cut, len)| (*cut, parallel::even(parts.min(*len)).max(1)))
}
