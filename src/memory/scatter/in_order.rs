//! Scatters by indices with several axes that lie transposed, as those of images and volumes in Fortran order.
//!
//! The updates of one target keep the row-major order of their indices. In this order, each index and each update
//! of such arrays is read from a cache line of its own, and these lines do not stay cached until they are used
//! again. So the loops run as the indices lie, where updates can come in any order; where they cannot, indices and
//! updates are copied in row-major order first.

use crate::error::Result;
use crate::memory::cpu::LINE;
use crate::memory::gather::copy_plain;
use crate::memory::indices::Indices;
use crate::memory::strided::Strided;
use crate::memory::walk::{Components, Loop, Loops, Offsets, Order, Walk, iterations, merge};
use crate::memory::work::Buffers;
use crate::parallel;
use crate::threshold::threshold;

/// The fewest entries that are copied.
const FEWEST: usize = threshold(4 << 10, 20);

/// The fewest entries that share a cache line.
const SHARING: usize = threshold(8, 2);

/// Whether the innermost of loops over entries, which are all, reads a line for each element of an array in which
/// another loop reads adjacent ones.
fn lies_across(loops: &[Loop], step: impl Fn(&Loop) -> isize) -> bool {
    let Some((last, around)) = loops.split_last() else { return false };
    let line = threshold(LINE, 4);
    let near =
        |level: &Loop| (1..line).contains(&step(level).unsigned_abs()) && level.len >= SHARING;
    step(last).unsigned_abs() >= line && around.iter().any(near)
}

/// Whether the loops of a walk may all be entries of indices or updates that lie across their order.
pub(super) fn may_lie_across(walk: &Walk) -> bool {
    walk.loops.len() > 1
        && walk.components.len() == 1
        && walk.loops.iter().all(|level| level.entries && level.step.indices != 0)
        && (lies_across(&walk.loops, |level| level.step.indices)
            || lies_across(&walk.loops, |level| level.step.listed))
        && iterations(&walk.loops) >= FEWEST
}

/// Sorts loops over entries as the indices lie, for updates that can come in any order.
pub(super) fn run_as_indices_lie(loops: &mut Loops) {
    loops.sort_by_key(|level| std::cmp::Reverse(level.step.indices.unsigned_abs()));
    merge(loops);
}

/// Copies of the indices and of the updates of a walk, of those that lie across its loops.
pub(super) struct InOrder {
    indices: Option<Buffers>,
    updates: Option<Buffers>,
    count: [usize; 1],
}

impl InOrder {
    /// The copies for the loops of a walk, which are changed to run over them. Updates are copied if they are
    /// `plain`.
    pub(super) fn of(
        loops: &mut Loops,
        indices: &Indices<'_>,
        updates: &Strided<'_>,
        plain: bool,
    ) -> Result<Self> {
        let count = iterations(loops);
        let copy = |start: *const u8, size: usize, step: fn(&Loop) -> isize| {
            let buffers = Buffers::new(1, count.saturating_mul(size))?;
            let mut listed = size as isize;
            let mut copied = Loops::new();
            for level in loops.iter().rev() {
                let step = Offsets { selected: step(level), indices: 0, listed };
                copied.push(Loop { len: level.len, step, entries: false });
                listed *= level.len as isize;
            }
            copied.reverse();
            let walks = Walk::new(copied, Components::new(), Order::Listed(size));
            // SAFETY: the loops are those of the walk, over this array; in the buffer, they are over as many
            // elements, for which it has room.
            #[allow(unsafe_code)]
            unsafe {
                let parts = parallel::parts(walks.0.cost(size));
                copy_plain(&walks, size, start, buffers.of(0), parts);
            }
            Ok(buffers)
        };
        let own = if lies_across(loops, |level| level.step.indices) {
            Some(copy(indices.start(), indices.size(), |level| level.step.indices)?)
        } else {
            None
        };
        let size = updates.layout().size();
        let listed = if plain && lies_across(loops, |level| level.step.listed) {
            Some(copy(updates.start(), size, |level| level.step.listed)?)
        } else {
            None
        };
        let mut inside = 1;
        for level in loops.iter_mut().rev() {
            if own.is_some() {
                level.step.indices = (inside * indices.size()) as isize;
            }
            if listed.is_some() {
                level.step.listed = (inside * size) as isize;
            }
            inside *= level.len;
        }
        merge(loops);
        Ok(InOrder { indices: own, updates: listed, count: [count] })
    }

    /// The copy of the indices, or these.
    pub(super) fn indices<'s>(&'s self, indices: &Indices<'s>) -> Indices<'s> {
        match &self.indices {
            // SAFETY: the buffer has a copy of so many indices of the same type (`of`).
            #[allow(unsafe_code)]
            Some(copy) => unsafe { indices.packed(copy.of(0), &self.count) },
            None => *indices,
        }
    }

    /// The copy of the updates, or these.
    pub(super) fn updates<'s>(&'s self, updates: &Strided<'s>) -> Strided<'s> {
        match &self.updates {
            // SAFETY: the buffer has a copy of so many updates (`of`).
            #[allow(unsafe_code)]
            Some(copy) => unsafe {
                Strided::contiguous(copy.of(0), &self.count, updates.layout().size())
            },
            None => *updates,
        }
    }
}
