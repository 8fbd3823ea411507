//! Reductions of updates that touch little of the target: updates are sorted by their target, and
//! only the targets that are touched have slots.

use std::sync::atomic::Ordering;

use super::adds::{AddToSlots, ClearSlots};
use super::kinds::Wide;
use super::{Building, slot_buffer};
use crate::error::Result;
use crate::memory::alloc::reserved;
use crate::memory::copy::rows;
use crate::memory::indexed::{Cut, Run};
use crate::memory::tile::{Kernel, NextIndices, Places, Steps, Tile};
use crate::memory::walk::{Cursor, Loop, Loops, Offsets, Order, Walk, iterations};
use crate::sync::{AtomicBool, Mutex};

/// Updates that were not yet accumulated, in their order.
struct Pending {
    /// For each update, the offset in bytes of its target (the high 64 bits), and its number.
    /// One integer sorts a fifth faster than a tuple.
    keys: Vec<i128>,
    /// For each update, its own offset in bytes.
    places: Vec<isize>,
}

/// Collects the offsets of targets and updates.
struct Collect(Mutex<Pending>);

#[allow(unsafe_code)]
impl Kernel for Collect {
    unsafe fn run(&self, tile: &Tile<'_>) {
        let Ok(mut pending) = self.0.lock() else { return };
        let (number, base) = (pending.keys.len(), tile.listed.addr() as isize);
        // The vectors were reserved for the updates of a lane, so they do not grow.
        for (k, &offset) in tile.offsets.iter().enumerate() {
            pending.keys.push(i128::from(offset as i64) << 64 | (number + k) as i128);
            pending.places.push(base.wrapping_add(tile.places.at(k)));
        }
    }

    unsafe fn nowhere(&self, _: &Tile<'_>) {}
}

/// Reduces lane by lane, with slots for the targets that updates touch. Returns false if the policy
/// refuses an index out of bounds.
pub(super) fn fold(building: &Building<'_>, wide: &Wide, lanes: &Loops) -> Result<bool> {
    let mut lanes = lanes.clone();
    // Lanes that share their indices form a row, which is reduced at once.
    let row = match lanes.iter().rposition(|level| level.step.indices == 0) {
        Some(at) => lanes.remove(at),
        None => Loop::ONCE,
    };
    let entries: Loops = building.entries().collect();
    let count = iterations(&entries);
    let mut buffer = slot_buffer(count.checked_mul(row.len), wide.slot)?;
    let mut held = slot_buffer(Some(if row.len == 1 { count } else { 0 }), wide.element)?;
    let mut sorted =
        Sorted { targets: reserved(count)?, slots: reserved(count)?, places: reserved(count)? };
    let collect = Collect(Mutex::new(Pending { keys: reserved(count)?, places: reserved(count)? }));
    let outside = AtomicBool::new(false);
    let (mut walk, _) = Walk::new(entries, building.components.clone(), Order::Selected(0));
    let mut cursor = Cursor::new(&lanes, Offsets::ZERO, 0);
    for _ in 0..iterations(&lanes) {
        let (at, _) = cursor.take(1);
        walk.base = Offsets { indices: at.indices, ..Offsets::ZERO };
        if let Ok(mut pending) = collect.0.lock() {
            pending.keys.clear();
            pending.places.clear();
        }
        let run = Run {
            walk: &walk,
            indices: Some(&building.indices),
            policy: building.policy,
            selected: std::ptr::null_mut(),
            listed: std::ptr::null_mut(),
            size: building.size,
            kernel: &collect,
            spread: false,
            outside: &outside,
        };
        // SAFETY: the loops are those over a lane's indices, and the kernel `Collect` accesses
        // neither array.
        #[allow(unsafe_code)]
        unsafe {
            run.run(Cut::Entries(1), 1);
        }
        if outside.load(Ordering::Relaxed) {
            return Ok(false);
        }
        if let Ok(mut pending) = collect.0.lock() {
            sorted.sort(&mut pending, row.len * wide.slot);
        }
        sorted.fold(
            building,
            wide,
            (at, row),
            [&mut buffer, &mut held].map(|buffer| buffer.as_mut_ptr().cast()),
        );
    }
    Ok(true)
}

/// Updates sorted by target; those of one target are in the order of updates.
struct Sorted {
    /// Offsets in bytes of the targets that are touched.
    targets: Vec<isize>,
    /// For each update, the offset in bytes of its target's slots, and its own.
    slots: Vec<isize>,
    places: Vec<isize>,
}

impl Sorted {
    /// Sorts updates whose targets have `bytes` bytes of slots each. The vectors were reserved for
    /// all of them.
    fn sort(&mut self, pending: &mut Pending, bytes: usize) {
        pending.keys.sort_unstable();
        self.targets.clear();
        self.slots.clear();
        self.places.clear();
        for &key in &pending.keys {
            let (target, number) = ((key >> 64) as isize, key as usize);
            if self.targets.last() != Some(&target) {
                self.targets.push(target);
            }
            self.slots.push(((self.targets.len() - 1) * bytes) as isize);
            self.places.push(pending.places[number]);
        }
    }

    /// Reduces the updates of one lane, or of a row of lanes, in a buffer of slots, and one of single
    /// elements that targets hold.
    fn fold(
        &self,
        building: &Building<'_>,
        wide: &Wide,
        (at, row): (Offsets, Loop),
        [slots, held]: [*mut u8; 2],
    ) {
        let first = building.target.wrapping_offset(at.selected);
        let runs = || {
            let slots = (0..).map(|number| slots.wrapping_add(number * row.len * wide.slot));
            self.targets.iter().map(|&offset| first.wrapping_offset(offset)).zip(slots)
        };
        let tile = Tile {
            selected: slots,
            listed: building.updates.cast_mut().wrapping_offset(at.listed),
            outer: Steps { len: 1, selected: 0, listed: 0 },
            offsets: &self.slots,
            places: Places::Each(&self.places),
            inner: Steps { len: row.len, selected: wide.slot as isize, listed: row.step.listed },
            size: building.size,
            spread: false,
            offset_step: 0,
            long: false,
            next: NextIndices::NONE,
        };
        let size = building.size as isize;
        let single = Tile {
            selected: first,
            listed: held,
            offsets: &self.targets,
            places: Places::Every(size),
            inner: Steps { len: 1, selected: size, listed: size },
            ..tile
        };
        let (count, init) = (self.targets.len(), building.init);
        // SAFETY: the offsets are what indices in bounds select, the places are
        // those of their updates, and the buffers have a slot, and an element, for as many targets
        // as there are updates. Slots are started before they are added to, and elements
        // of the buffer copied there before they are read. The target's elements are this lane's.
        #[allow(unsafe_code)]
        unsafe {
            if row.len == 1 {
                rows::kernel::<true>(building.size)(&single);
                wide.start(held, size, slots, count);
            } else {
                for (target, slots) in runs() {
                    wide.start(target, row.step.selected, slots, row.len);
                }
            }
            if !init {
                ClearSlots(wide).run(&tile);
            }
            AddToSlots(wide).run(&tile);
            if row.len == 1 {
                wide.finish(slots, held, size, count, init);
                rows::kernel::<false>(building.size)(&single);
            } else {
                for (target, slots) in runs() {
                    wide.finish(slots, target, row.step.selected, row.len, init);
                }
            }
        }
    }
}
