//! Scatters of many updates into few targets on several threads, each of which has
//! targets of its own:
//!
//! ```text
//! for part                                          in parallel
//!   bins = what changes nothing
//!   for its entries: bins[index] = reduce(bins[index], update)
//! for part
//!   target = reduce(target, its bins)
//! ```
//!
//! For reductions that come to the same bits in any order: those of integers and
//! `bool`.

use crate::memory::alloc::repeated;
use crate::memory::combine::steps;
use crate::memory::cpu::of_caches;
use crate::memory::tile::Kernel;
use crate::memory::walk::{Component, Components, Loop, Loops, Offsets, Order, Walk};
use crate::threshold::threshold;

/// Bytes of the bins of a part, which stay in the caches near its core.
fn most_bytes() -> usize {
    of_caches(|caches| caches.second / 4, 256)
}

/// Updates for each bin of all parts: fewer are not worth what it takes to fill and
/// to add them.
const UPDATES: usize = threshold(8, 1);

/// Targets for each part of a walk.
///
/// Invariant: `walk` is the one that this was made for, but that it selects in
/// an array of `every` bytes; `add` goes over all targets of the one that it was
/// made for (selected) and of that array (listed). `memory` holds such an array for each
/// part, of elements that its kernel combines.
pub(super) struct Bins {
    pub(super) walk: Walk,
    pub(super) add: (Walk, Option<Box<Walk>>),
    pub(super) every: usize,
    memory: Vec<u128>,
}

impl Bins {
    /// Bins for so many parts of a walk over elements of `size` bytes, where they are
    /// few enough and the kernel may combine updates with each other first. Nothing
    /// where memory is refused.
    pub(super) fn new(walk: &Walk, kernel: &dyn Kernel, size: usize, parts: usize) -> Option<Self> {
        let nothing = kernel.any_order()?;
        let own = |one: &Loop| one.entries || !one.reads_indices();
        let lanes = walk.loops.iter().filter(|one| !one.entries);
        let width: usize = lanes.map(|one| one.len).product();
        let (components, count) = steps(&walk.components, size, width);
        let bytes = count.checked_mul(size).filter(|&bytes| bytes <= most_bytes())?;
        let updates = walk.entries().saturating_mul(width);
        let many = updates >= UPDATES.saturating_mul(parts).saturating_mul(count);
        if parts < 2 || !many || !walk.loops.iter().all(own) {
            return None;
        }
        let (mut binned, mut add) = (walk.loops.clone(), Loops::new());
        let mut step = size as isize;
        for one in binned.iter_mut().rev().filter(|one| !one.entries) {
            let selected = one.step.selected;
            add.push(Loop { step: Offsets { selected, indices: 0, listed: step }, ..*one });
            one.step.selected = step;
            step *= one.len as isize;
        }
        let pairs = walk.components.iter().zip(&components);
        add.extend(pairs.map(|(target, bin): (&Component, &Component)| {
            let step = Offsets { selected: target.step, indices: 0, listed: bin.step };
            Loop { len: target.len, step, entries: false }
        }));
        add.retain(|one| one.len > 1);
        let (mut binned, rest) = Walk::new(binned, components, Order::Selected(0));
        if rest.is_some() {
            return None;
        }
        binned.base = Offsets { selected: 0, ..walk.base };
        // No line of one part is one of another, or next to it, wherever memory starts.
        let every = bytes.next_multiple_of(64) + 128;
        let memory = repeated(nothing.repeated(), every / size_of::<u128>() * parts).ok()?;
        let add = Walk::new(add, Components::new(), Order::Selected(0));
        Some(Bins { walk: binned, add, every, memory })
    }

    pub(super) fn start(&mut self) -> *mut u8 {
        self.memory.as_mut_ptr().cast()
    }
}
