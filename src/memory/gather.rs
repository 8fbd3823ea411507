//! Gathers: copies what indices select to its place in the list.

use super::copy::stage::is_past;
use super::copy::{Gather, Transfer};
use super::cpu::{LINE, is_streamed, of_caches};
use super::few::{Few, Named};
use super::indexed::{Cut, Run, is_chunk, unit};
use super::indices::{CHUNK, Indices};
use super::output::Filled;
use super::walk::{Axes, Loop, Offsets, Walk};
use crate::index::Policy;
use crate::parallel::{self, Cost};
use crate::sync::AtomicBool;
use crate::threshold::threshold;

impl<'id> Transfer<'_, 'id> {
    /// Copies what indices select, over the axes that `name` names; nothing
    /// where an index is out of bounds and the policy refuses it. Then the output
    /// may have been written to, unless `untouched` asks that it be not.
    pub(crate) fn gather(
        &self,
        indices: &Indices<'_>,
        policy: Policy,
        untouched: bool,
        name: impl FnOnce(&mut Axes<'_>),
    ) -> Option<Filled<'id>> {
        assert!(policy != Policy::Skip || self.fill.is_some(), "a gather cannot skip");
        let mut axes = Axes::new(*self.from(), Some(*indices.layout()), *self.to());
        name(&mut axes);
        if let Some(walk) = axes.finish() {
            assert!(Indices::can_map(policy, &walk.components), "an axis has no elements");
            let rest = walk.order(self.order());
            let mut untouched = untouched;
            if untouched && policy == Policy::Refuse && rest.is_some() {
                // Neither walk knows of the other's indices.
                if !indices.inside(&walk.components) {
                    return None;
                }
                untouched = false;
            }
            let selecting = Selecting { indices, policy, untouched };
            let copied = |walk: &Walk| copy(self, Some(&selecting), walk);
            if !copied(walk) || !rest.is_none_or(|rest| copied(&rest)) {
                return None;
            }
        }
        // SAFETY: the loops use all axes of the output, each for as many iterations
        // as it is long (`Axes`), so every element has been written or filled.
        #[allow(unsafe_code)]
        Some(unsafe { self.filled() })
    }
}

impl<'id> Transfer<'_, 'id> {
    /// The same where arrays are dense and elements few, of axes that are named;
    /// else nothing. False where an index is refused, before anything is written.
    pub(crate) fn gather_few(
        &self,
        indices: &Indices<'_>,
        policy: Policy,
        named: Named<'_>,
    ) -> Option<Option<Filled<'id>>> {
        let selected = (self.from.start().cast_mut(), self.from());
        let few = Few::of(policy, named, selected, indices, (self.to.start(), self.to()))?;
        let size = self.copier.size as isize;
        let step = Offsets { selected: size, indices: 0, listed: size };
        let run = self.copier.kernel(&Loop { len: few.row(), step, entries: false }, true, false);
        // SAFETY: the kernel of the transfer's copier for rows of this length, and the
        // transfer's own arrays, which it borrows. All entries are written.
        #[allow(unsafe_code)]
        unsafe {
            Some(few.run(|tile| run(tile)).then(|| self.filled()))
        }
    }
}

/// Rows of at least this many bytes may be written past the caches.
const STREAMED_ROW: usize = threshold(1 << 10, 32);

/// How a gather selects: by which indices, under which policy, and whether an
/// index that is refused must leave the output untouched.
pub(super) struct Selecting<'a> {
    indices: &'a Indices<'a>,
    policy: Policy,
    untouched: bool,
}

impl Selecting<'_> {
    /// Whether nothing is refused once the output has been written to: in one
    /// part of one chunk, all indices are resolved before that.
    #[inline]
    fn is_safe(&self, walk: &Walk, parts: usize) -> bool {
        !self.untouched
            || self.policy != Policy::Refuse
            || (parts == 1 && is_chunk(walk.nest()))
            || self.indices.inside(&walk.components)
    }
}

/// Copies along a walk: what indices select, or without them all of it. False
/// where an index is refused.
pub(super) fn copy(
    transfer: &Transfer<'_, '_>,
    selecting: Option<&Selecting<'_>>,
    walk: &Walk,
) -> bool {
    let copier = transfer.copier;
    let spread = walk.is_spread();
    let row = walk.inner.len * copier.size;
    let rows = walk.rows();
    let bytes = rows.saturating_mul(row);
    let past = row >= STREAMED_ROW
        && match selecting {
            Some(_) => is_streamed(bytes),
            None => is_past(bytes, transfer),
        };
    let kernel = Gather {
        copier,
        run: copier.kernel(&walk.inner, true, past),
        shuffles: copier.shuffles(walk),
        fill: transfer.fill,
    };
    let each = if spread { Cost::of_far(rows) } else { Cost::of_near(rows) };
    let parts = parallel::parts(each.plus(Cost::of_bytes(bytes)));
    if selecting.is_some_and(|selecting| !selecting.is_safe(walk, parts)) {
        return false;
    }
    let outside = AtomicBool::new(false);
    let run = Run {
        walk,
        indices: selecting.map(|selecting| selecting.indices),
        policy: selecting.map_or(Policy::Refuse, |selecting| selecting.policy),
        selected: transfer.from.start().cast_mut(),
        listed: transfer.to.start(),
        size: copier.size,
        kernel: &kernel,
        spread,
        outside: &outside,
    };
    let (cut, parts) = match bands(walk) {
        bands if bands > 1 && bands >= parallel::threads() => {
            (Cut::Band(walk.nest().len() - 1), bands)
        }
        _ if parts == 1 => (Cut::Entries(1), 1),
        _ => cut(walk, row, parts),
    };
    // SAFETY: the walk was made of the layouts of the transfer's arrays and of
    // these indices, by `Axes` or by a roll of the two, and the kernel of the
    // transfer's copier. Any loop of a gather may be cut.
    #[allow(unsafe_code)]
    unsafe {
        run.run(cut, parts);
    }
    !outside.into_inner()
}

/// Into how many bands to cut the innermost loop over entries, so that what a
/// band selects among stays in the caches while all of its indices are read:
/// elements along an outer axis of a large array, where each index of a row
/// selects from a column of its own. 1 where there is nothing to gain.
fn bands(walk: &Walk) -> usize {
    /// Elements of a band: a few cache lines of each row.
    const BAND: usize = threshold(512, 4);
    /// Fewer rows of indices do not come back to a band often enough, and are
    /// too little work for several threads.
    const ROWS: usize = threshold(32, 2);
    // One part of one chunk is one band, so that `is_safe` holds of it.
    const { assert!(2 * BAND * ROWS > CHUNK / 4) };
    let ([axis], [.., around, band]) = (&walk.components[..], walk.nest()) else { return 1 };
    let beside = band.step.selected.unsigned_abs();
    let across = beside != 0 && beside < axis.step.unsigned_abs();
    let reach = axis.len.saturating_mul(axis.step.unsigned_abs());
    // Beyond what a part of the caches that cores share can be expected to hold.
    let is_large = reach >= of_caches(|caches| caches.last / 4, 256);
    let again = around.step.selected == 0 && around.len >= ROWS;
    if across && again && is_large { (band.len / BAND).max(1) } else { 1 }
}

/// The loop to cut, the outermost that is long enough or the longest, and in how many
/// of at most `parts` parts: no more than it has iterations, since a part without any may
/// not know by a loop that the walk does without.
#[inline(never)]
fn cut(walk: &Walk, row: usize, parts: usize) -> (Cut, usize) {
    /// Kernels for shorter rows have the length of a whole one built in.
    const BAND: usize = threshold(2 << 10, 300);
    let unit = unit(walk.nest());
    let mut lens = [
        (Cut::Shared, walk.shared_iterations()),
        (Cut::Entries(unit), walk.entries() / unit),
        (Cut::Outer, walk.outer.len),
        (Cut::Inner, if row < BAND { 0 } else { walk.inner.len }),
    ];
    let near = walk.nest().last().is_some_and(|run| run.step.listed.unsigned_abs() < LINE);
    if near && is_chunk(walk.nest()) {
        // Few entries that share cache lines of the output stay together: each part looks
        // their indices up.
        lens.swap(1, 2);
    }
    let enough = lens.iter().find(|(_, len)| *len >= 4 * parts);
    let longest = lens.iter().rev().max_by_key(|(_, len)| *len);
    enough.or(longest).map_or((Cut::Entries(1), 1), |(cut, len)| (*cut, parts.min(*len).max(1)))
}
