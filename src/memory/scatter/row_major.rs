//! Scatters by indices with several axes that lie transposed, as those of images and volumes in Fortran order.
//!
//! The updates of one target keep the row-major order of their indices. In this order, each index and each update
//! of such arrays is read from a cache line of its own, and these lines do not stay cached until they are used
//! again. So if updates may come in any order, the loops follow the indices in memory. If they may not, those of the
//! two that lie so (updates of plain types only) are copied in row-major order first.

use crate::memory::copied::{Contiguous, Copied};
use crate::memory::cpu::LINE;
use crate::memory::indices::Indices;
use crate::memory::strided::Strided;
use crate::memory::walk::{Loop, Loops, Walk, iterations, merge};
use crate::threshold::threshold;

/// The fewest entries that are copied.
const FEWEST: usize = threshold(4 << 10, 20);

/// The fewest entries that share a cache line.
const SHARING: usize = threshold(8, 2);

/// Whether the innermost of loops over entries, which are all, reads a line for each element of an array in which
/// another loop reads adjacent ones.
fn array_lies_across(loops: &[Loop], array: Copied) -> bool {
    let Some((last, around)) = loops.split_last() else { return false };
    let step = |level: &Loop| array.step(level).unsigned_abs();
    let line = threshold(LINE, 4);
    let near = |level: &Loop| (1..line).contains(&step(level)) && level.len >= SHARING;
    step(last) >= line && around.iter().any(near)
}

/// Whether the loops of a walk are all entries of indices or updates that lie across their order.
pub(super) fn any_lies_across(walk: &Walk) -> bool {
    walk.loops.len() > 1
        && walk.components.len() == 1
        && walk.loops.iter().all(|level| level.entries && level.step.indices != 0)
        && [Copied::Indices, Copied::Listed]
            .iter()
            .any(|array| array_lies_across(&walk.loops, *array))
        && iterations(&walk.loops) >= FEWEST
}

/// Sorts loops over entries as the indices lie, for updates that can come in any order.
pub(super) fn run_as_indices_lie(loops: &mut Loops) {
    loops.sort_by_key(|level| std::cmp::Reverse(level.step.indices.unsigned_abs()));
    merge(loops);
}

/// Copies of the indices and of the updates of a walk, of those that lie across its loops.
pub(super) struct RowMajor {
    indices: Option<Contiguous>,
    updates: Option<Contiguous>,
}

impl RowMajor {
    /// The copies for the loops of a walk, which run over them then; an array of which none can be made is used as it
    /// is. Updates are copied if they are `plain`.
    pub(super) fn of(
        loops: &mut Loops,
        indices: &Indices<'_>,
        updates: &Strided<'_>,
        plain: bool,
    ) -> Self {
        let copy = |array: Copied, start: *const u8, size: usize| {
            if !array_lies_across(loops, array) {
                return None;
            }
            // SAFETY: the loops are over the axes of both arrays; indices are plain, and updates where they
            // are copied.
            #[allow(unsafe_code)]
            unsafe {
                Contiguous::of(loops, array, start, size)
            }
        };
        let (width, size) = (indices.size(), updates.layout().size());
        let of_indices = copy(Copied::Indices, indices.start(), width);
        let of_updates = if plain { copy(Copied::Listed, updates.start(), size) } else { None };
        for copy in [&of_indices, &of_updates].into_iter().flatten() {
            copy.redirect(loops);
        }
        merge(loops);
        RowMajor { indices: of_indices, updates: of_updates }
    }

    /// The copy of the indices, or these.
    pub(super) fn indices<'s>(&'s self, indices: &Indices<'s>) -> Indices<'s> {
        self.indices.as_ref().map_or(*indices, |copy| copy.indices(indices))
    }

    /// The copy of the updates, or these.
    pub(super) fn updates<'s>(&'s self, updates: &Strided<'s>) -> Strided<'s> {
        self.updates.as_ref().map_or(*updates, Contiguous::updates)
    }
}
