//! Walks whose elements or indices are packed, part by part, before they are used: where they lie apart in
//! memory, in cache lines that other iterations share and that do not stay cached until then.
//!
//! - [`Panels`]: lanes of the selected array, packed side by side (`panels.rs`).
//! - [`Blocks`]: indices, or the output of a gather, that lie across both other arrays, packed as these lie
//!   (`blocks.rs`).

mod blocks;
mod panels;

pub(super) use self::blocks::{Blocks, FEWEST};
use self::panels::Panels;
use super::indexed::Run;
use super::indices::Indices;
use super::walk::{Cursor, Loop, Offsets, Order, Walk, iterations};
use super::work::WorkMemory;
use crate::parallel;

/// What of a walk is packed.
// Not boxed: `Box::new` ends the process where memory is refused.
#[allow(clippy::large_enum_variant)]
pub(super) enum Packed {
    Lanes(Panels),
    Blocks(Blocks),
}

impl Packed {
    /// What is packed of a walk, not yet ordered, by these indices; `None` if nothing pays, or if memory
    /// for buffers is refused. `plain` is the size of the elements of both arrays if they may be packed,
    /// as they are of the same [plain](crate::memory::copy::Way::Bytes) type.
    pub(super) fn of(
        walk: &Walk,
        indices: &Indices<'_>,
        order: Order,
        plain: Option<usize>,
    ) -> Option<Self> {
        if walk.loops.len() < 2 {
            return None;
        }
        match plain.and_then(|size| Panels::of(walk, size)) {
            Some(panels) => Some(Packed::Lanes(panels)),
            None => Blocks::of(walk, indices, order, parallel::parts_at_once).map(Packed::Blocks),
        }
    }

    /// Runs the whole walk, unless an index is refused; `writes` is whether the kernel writes the selected
    /// array.
    ///
    /// # Safety
    /// The invariant of [`Run`] holds for `run`, whose walk and indices are those that this was made of,
    /// and whose kernel is for single elements; lanes are of elements of the size that they were made for.
    /// If the kernel writes the selected array, that is borrowed exclusively, otherwise the listed array is.
    #[allow(unsafe_code)]
    pub(super) unsafe fn run(&self, run: &Run<'_>, writes: bool) {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Packed::Lanes(panels) => panels.run(run, writes),
                Packed::Blocks(blocks) => blocks.run(run),
            }
        }
    }
}

/// Runs a walk piece by piece, in a part for each buffer, until an index is refused: `piece` is called with
/// the piece's number in the loops `around`, the offsets of its first iteration, the buffer of its part and what
/// the part keeps from one piece to the next. Parts share `units` that may run at the same time; each has the same
/// number of pieces, which follow each other.
fn each_piece<K: Default>(
    run: &Run<'_>,
    around: &[Loop],
    units: usize,
    buffers: &WorkMemory,
    piece: impl Fn(usize, Offsets, *mut u8, &mut K) + Sync,
) {
    let inside = iterations(around) / units;
    parallel::run(buffers.parts(), &|part| {
        let share = parallel::share(units, buffers.parts(), part);
        let mut cursor = Cursor::new(around, run.walk.base, share.start * inside);
        let mut kept = K::default();
        for number in share.start * inside..share.end * inside {
            let (at, _) = cursor.take(1);
            piece(number, at, buffers.of(part), &mut kept);
            if run.refusal.is_set() {
                return;
            }
        }
    });
}
