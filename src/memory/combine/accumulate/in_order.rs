//! Reductions of single elements by sorted indices. The updates of a target follow each other, so that
//! one accumulator serves all targets, one after the other:
//!
//! ```text
//! for k in entries
//!   sum = (if indices[k] == indices[k - 1] { sum } else { target[indices[k]] }) + updates[k]
//!   target[indices[k]] = round(sum)
//! ```

use super::Accumulation;
use super::kinds::InOrderRun;
use crate::memory::refused::{Refusal, Refused};
use crate::memory::tile::{Kernel, Tile};
use crate::memory::walk::{Order, Walk};
use crate::parallel::{self, Cost};
use crate::sync::Mutex;
use crate::threshold::threshold;

/// Targets for each update, at least, with which few updates share a target: the next update of a target
/// waits for the one before.
const FEW_REPEAT: usize = threshold(5, 2);

/// The accumulator of the last target.
pub(super) struct LastTarget {
    /// The address of the target, or 0 before the first.
    pub(super) target: usize,
    pub(super) sum: f32,
    /// The number of values in the sum.
    pub(super) count: u32,
}

/// The kernel of a part of the entries, which have no target in common with other parts.
struct InOrder {
    run: InOrderRun,
    init: bool,
    /// That of the target of the last entry of the tile before.
    last: Mutex<LastTarget>,
}

#[allow(unsafe_code)]
impl Kernel for InOrder {
    unsafe fn run(&self, tile: &Tile<'_>) {
        let Ok(mut last) = self.last.lock() else { return };
        // SAFETY: the caller's promise; the entries are of one loop (the function `run` below).
        unsafe { (self.run.0)(tile, &mut last, self.init) }
    }
}

/// Reduces `updates` single elements of one lane, if their indices are sorted, and few repeat; else returns
/// `None`, and nothing was done.
pub(super) fn run(
    accumulation: &Accumulation<'_>,
    run: InOrderRun,
    updates: usize,
) -> Option<Result<(), Refused>> {
    if accumulation.targets() / FEW_REPEAT < updates {
        return None;
    }
    let loops = accumulation.loops.iter().copied().filter(|level| level.len > 1).collect();
    let walk = Walk::new(loops, accumulation.components.clone(), Order::Selected(0));
    let one_lane = walk.rest.is_empty() && walk.is_nest();
    if !one_lane || !accumulation.indices.are_sorted(&walk, accumulation.policy) {
        return None;
    }
    let cost = Cost::of_near(walk.entries()).times(4);
    let parts = parallel::parts_at_once(cost);
    let refusal = Refusal::new();
    parallel::run(parts, &|part| {
        let last = LastTarget { target: 0, sum: 0.0, count: 0 };
        let kernel = InOrder { run, init: accumulation.reducer.init, last: Mutex::new(last) };
        let arrays =
            (accumulation.target.start(), accumulation.updates.start(), accumulation.size());
        let run = accumulation.run(&walk, arrays, &kernel, &refusal);
        // SAFETY: the loops are those over these arrays, of whose elements the kernel is (invariant of
        // `Accumulation`), and indices are sorted, so that parts have no target in common.
        #[allow(unsafe_code)]
        unsafe {
            run.segment(parts, part);
        }
    });
    Some(refusal.result())
}
