//! Scatters of many updates into few targets on several threads, each of which accumulates in
//! its own copy of the targets (privatisation, as for a histogram):
//!
//! ```text
//! for part in parts                                      in parallel
//!   bins[part][..] = identity of the reduction
//!   for k in entries of part
//!     bins[part][indices[k]] = reduce(bins[part][indices[k]], updates[k])
//! for part in parts
//!   target[..] = reduce(target[..], bins[part][..])
//! ```
//!
//! Only for reductions whose result has the same bits in any order: those of integers and `bool`.

use crate::memory::alloc::repeated;
use crate::memory::combine::steps;
use crate::memory::cpu::of_caches;
use crate::memory::tile::Kernel;
use crate::memory::walk::{Component, Components, Loop, Loops, Offsets, Order, Walk, iterations};
use crate::threshold::threshold;

/// Largest size in bytes of the bins of one part, which are to stay in L2.
fn max_bytes() -> usize {
    of_caches(|caches| caches.second / 4, 256)
}

/// The least number of parts for which the bins of many threads pay.
const PARTS: usize = 4;

/// The least number of updates for each bin of each part. Fewer do not make up for initialising
/// the bins and reducing them into the target.
const MIN_UPDATES: usize = threshold(8, 1);

/// A copy of the targets (bins) for each part of a walk.
///
/// Invariant: `walk` is the walk that this was made for, except that it selects elements of an
/// array of `stride` bytes and not of the target. `reduce` iterates over all targets of the
/// original walk (selected) and all elements of that array (listed). `memory` holds such an array
/// for each part, of elements of the type that the kernel combines.
pub(super) struct Bins {
    pub(super) walk: Walk,
    pub(super) reduce: Walk,
    pub(super) stride: usize,
    /// The number of parts.
    pub(super) parts: usize,
    memory: Vec<u128>,
}

impl Bins {
    /// Bins for up to `threads` parts of a walk over elements of `size` bytes, where targets are few,
    /// updates are many enough for half of the threads or for four, and the kernel's reduction allows any order. `None`
    /// otherwise, and where memory cannot be allocated.
    pub(super) fn new(
        walk: &Walk,
        kernel: &dyn Kernel,
        size: usize,
        threads: usize,
    ) -> Option<Self> {
        let identity = kernel.any_order()?;
        let entries_or_lanes = |level: &Loop| level.entries || !level.reads_indices();
        let lanes = walk.loops.iter().filter(|level| !level.entries);
        let width: usize = lanes.map(|level| level.len).product();
        let (components, count) = steps(&walk.components, size, width);
        let bytes = count.checked_mul(size).filter(|&bytes| bytes <= max_bytes())?;
        let updates = iterations(&walk.loops);
        let parts = threads.min(updates.checked_div(MIN_UPDATES.saturating_mul(count))?);
        if parts < 2 || parts < PARTS.min(threads / 2) || !walk.loops.iter().all(entries_or_lanes) {
            return None;
        }
        let (mut binned, mut reduce) = (walk.loops.clone(), Loops::new());
        let mut step = size as isize;
        for level in binned.iter_mut().rev().filter(|level| !level.entries) {
            let selected = level.step.selected;
            reduce.push(Loop { step: Offsets { selected, indices: 0, listed: step }, ..*level });
            level.step.selected = step;
            step *= level.len as isize;
        }
        let pairs = walk.components.iter().zip(&components);
        reduce.extend(pairs.map(|(target, bin): (&Component, &Component)| {
            let step = Offsets { selected: target.step, indices: 0, listed: bin.step };
            Loop { len: target.len, step, entries: false }
        }));
        reduce.retain(|level| level.len > 1);
        let mut binned = Walk::new(binned, components, Order::Selected(0));
        if !binned.rest.is_empty() {
            return None;
        }
        binned.base = Offsets { selected: 0, ..walk.base };
        // No cache line of one part is also one of another part or adjacent to one (no false
        // sharing, no adjacent-line prefetch), however the memory is aligned.
        let stride = bytes.next_multiple_of(64) + 128;
        let memory = repeated(identity.repeated(), stride / size_of::<u128>() * parts).ok()?;
        let reduce = Walk::new(reduce, Components::new(), Order::Selected(0));
        Some(Bins { walk: binned, reduce, stride, parts, memory })
    }

    pub(super) fn start(&mut self) -> *mut u8 {
        self.memory.as_mut_ptr().cast()
    }
}
