//! Reductions of updates that touch little of the target: updates are sorted by their target, and
//! only the targets that are touched have slots.

use std::sync::atomic::Ordering;

use super::adds::{AddToSlots, ClearSlots};
use super::kinds::Wide;
use super::{Building, SHORT_ROW, SlotBuffer, slot_buffer};
use crate::error::Result;
use crate::memory::alloc::reserved;
use crate::memory::copy::rows;
use crate::memory::indexed::{Cut, Run};
use crate::memory::tile::{Kernel, Places, Steps, Tile};
use crate::memory::walk::{Cursor, Loop, Loops, Offsets, Order, Walk, iterations};
use crate::parallel::{self, Cost};
use crate::sync::{AtomicBool, Mutex};
use crate::threshold::threshold;

/// The least number of elements of a piece of a row: each piece sorts the updates anew.
const MIN_PIECE: usize = threshold(256, 20);

/// The offset in bytes of an update's target, and the update's number: sorted by the offset, then by
/// the number. One integer sorts faster than a pair.
trait Key: Copy + Ord + Send {
    /// A key for an offset that is `above` the lowest offset of any target, with `bits` bits for the
    /// number.
    fn new(above: u64, number: usize, bits: u32) -> Self;
    /// The offset above the lowest, and the number.
    fn parts(self, bits: u32) -> (u64, usize);
}

impl Key for u64 {
    #[inline(always)]
    fn new(above: u64, number: usize, bits: u32) -> Self {
        above << bits | number as u64
    }
    #[inline(always)]
    fn parts(self, bits: u32) -> (u64, usize) {
        (self >> bits, (self & ((1 << bits) - 1)) as usize)
    }
}

impl Key for u128 {
    #[inline(always)]
    fn new(above: u64, number: usize, _: u32) -> Self {
        u128::from(above) << 64 | number as u128
    }
    #[inline(always)]
    fn parts(self, _: u32) -> (u64, usize) {
        ((self >> 64) as u64, self as usize)
    }
}

/// Updates that were not yet accumulated, in their order.
struct Pending<K> {
    /// For each update, its target and its number.
    keys: Vec<K>,
    /// For each update, its own offset in bytes.
    places: Vec<isize>,
}

/// Collects the offsets of targets and updates.
struct Collect<K> {
    pending: Mutex<Pending<K>>,
    /// The lowest offset of any target.
    lowest: isize,
    /// The number of bits of the number of an update.
    bits: u32,
}

#[allow(unsafe_code)]
impl<K: Key> Kernel for Collect<K> {
    unsafe fn run(&self, tile: &Tile<'_>) {
        let Ok(mut pending) = self.pending.lock() else { return };
        let (number, base) = (pending.keys.len(), tile.listed.addr() as isize);
        // The vectors were reserved for the updates of a lane, so they do not grow.
        pending.keys.extend(tile.offsets.iter().enumerate().map(|(k, &offset)| {
            let above = offset.wrapping_sub(self.lowest) as usize as u64;
            K::new(above, number + k, self.bits)
        }));
        let places = (0..tile.offsets.len()).map(|k| base.wrapping_add(tile.places.at(k)));
        pending.places.extend(places);
    }

    unsafe fn nowhere(&self, _: &Tile<'_>) {}
}

/// Reduces lane by lane, with slots for the targets that updates touch. Returns false if the policy
/// refuses an index out of bounds.
pub(super) fn fold(building: &Building<'_>, wide: &Wide, lanes: &Loops) -> Result<bool> {
    let sparse = Sparse::of(building, wide, lanes);
    // How far the offsets of targets are apart, at most, and how many updates there are.
    let (lowest, highest) = sparse.reach();
    let bits = usize::BITS - sparse.count.leading_zeros();
    let unused_bits = (highest.wrapping_sub(lowest) as usize as u64).leading_zeros();
    if unused_bits >= bits + threshold(0, 52) as u32 {
        sparse.fold::<u64>(lowest, bits)
    } else {
        sparse.fold::<u128>(lowest, bits)
    }
}

/// A reduction of updates that are sorted by their target.
struct Sparse<'s> {
    building: &'s Building<'s>,
    wide: &'s Wide,
    /// The loops over lanes but for those of a row, and lanes that share their indices: a row,
    /// which is reduced at once.
    lanes: Loops,
    row: Loop,
    /// The loops over the updates of a lane, and their number.
    entries: Loops,
    count: usize,
    /// Whether rows are put side by side.
    short: bool,
    /// The number of pieces into which each row is cut, and of parts, which share out all pieces.
    pieces: usize,
    parts: usize,
}

/// What one thread reduces a lane with.
struct Buffers<K> {
    collect: Collect<K>,
    sorted: Sorted,
    /// Slots of the targets, and elements that short rows of targets hold.
    slots: SlotBuffer,
    held: SlotBuffer,
}

impl<'s> Sparse<'s> {
    fn of(building: &'s Building<'s>, wide: &'s Wide, lanes: &Loops) -> Self {
        let mut lanes = lanes.clone();
        let row = match lanes.iter().rposition(|level| level.step.indices == 0) {
            Some(at) => lanes.remove(at),
            None => Loop::ONCE,
        };
        let dense = row.len == 1 || row.step.selected == building.size as isize;
        let entries: Loops = building.entries().collect();
        let count = iterations(&entries);
        let short = dense && row.len <= SHORT_ROW;
        let rows = iterations(&lanes);
        let updates = count.saturating_mul(rows);
        let elements = Cost::of_near(updates.saturating_mul(row.len)).times(3);
        let cost = Cost::of_near(updates).times(30).plus(elements);
        let parts = parallel::parts(cost).min(parallel::threads());
        let most = if short { 1 } else { (row.len / MIN_PIECE).max(1) };
        let pieces = parts.div_ceil(rows.max(1)).min(most);
        let parts = parts.min(rows * pieces);
        Sparse { building, wide, lanes, row, entries, count, short, pieces, parts }
    }

    /// The lowest and the highest offset that an index selects.
    fn reach(&self) -> (isize, isize) {
        let components = self.building.components.iter();
        let ends =
            components.map(|component| component.step * component.len.saturating_sub(1) as isize);
        ends.fold((0, 0), |(lowest, highest), end| (lowest + end.min(0), highest + end.max(0)))
    }

    fn buffers<K>(&self, lowest: isize, bits: u32) -> Result<Buffers<K>> {
        let Sparse { wide, count, .. } = *self;
        let elements = count.checked_mul(self.row.len.div_ceil(self.pieces));
        let held = if self.short { elements } else { Some(0) };
        let pending = Pending { keys: reserved(count)?, places: reserved(count)? };
        Ok(Buffers {
            collect: Collect { pending: Mutex::new(pending), lowest, bits },
            sorted: Sorted {
                targets: reserved(count)?,
                slots: reserved(count)?,
                places: reserved(count)?,
            },
            slots: slot_buffer(elements, wide.slot)?,
            held: slot_buffer(held, wide.element)?,
        })
    }

    /// Reduces all lanes. Returns false if the policy refuses an index out of bounds.
    fn fold<K: Key>(&self, lowest: isize, bits: u32) -> Result<bool> {
        let (parts, units) = (self.parts, iterations(&self.lanes) * self.pieces);
        let mut buffers = reserved(parts)?;
        for _ in 0..parts {
            buffers.push(Mutex::new(self.buffers::<K>(lowest, bits)?));
        }
        let outside = AtomicBool::new(false);
        parallel::run(parts, &|part| {
            let Ok(mut buffers) = buffers[part].lock() else { return };
            let units = parallel::share(units, parts, part);
            let (mut walk, _) = Walk::new(
                self.entries.clone(),
                self.building.components.clone(),
                Order::Selected(0),
            );
            for unit in units {
                let lane = unit / self.pieces;
                let (at, _) = Cursor::new(&self.lanes, Offsets::ZERO, lane).take(1);
                walk.base = Offsets { indices: at.indices, ..Offsets::ZERO };
                if !self.collect(&walk, &mut buffers.collect, &outside) {
                    return;
                }
                let piece = parallel::share(self.row.len, self.pieces, unit % self.pieces);
                let row = Loop { len: piece.len(), ..self.row };
                self.fold_lane(at.after(piece.start, row.step), row, &mut buffers);
            }
        });
        Ok(!outside.into_inner())
    }

    /// Collects the updates of a lane. Returns false if the policy refuses an index out of bounds,
    /// of this lane or of another part's.
    fn collect<K: Key>(&self, walk: &Walk, collect: &mut Collect<K>, outside: &AtomicBool) -> bool {
        if let Ok(mut pending) = collect.pending.lock() {
            pending.keys.clear();
            pending.places.clear();
        }
        let run = Run {
            walk,
            indices: Some(&self.building.indices),
            policy: self.building.policy,
            selected: std::ptr::null_mut(),
            listed: std::ptr::null_mut(),
            size: self.building.size,
            kernel: collect,
            spread: false,
            outside,
        };
        // SAFETY: the loops are those over a lane's indices, and the kernel `Collect` accesses
        // neither array.
        #[allow(unsafe_code)]
        unsafe {
            run.run(Cut::Entries(1), 1);
        }
        !outside.load(Ordering::Relaxed)
    }

    /// Reduces the updates of one lane, or of a piece of a row of lanes, that were collected.
    fn fold_lane<K: Key>(&self, at: Offsets, row: Loop, buffers: &mut Buffers<K>) {
        let Sparse { building, wide, .. } = *self;
        let Buffers { collect, sorted, slots, held } = buffers;
        let (lowest, bits) = (collect.lowest, collect.bits);
        let Ok(mut pending) = collect.pending.lock() else { return };
        sorted.sort(&mut pending, row.len * wide.slot, |key| {
            let (above, number) = key.parts(bits);
            (lowest.wrapping_add(above as usize as isize), number)
        });
        let first = building.target.wrapping_offset(at.selected);
        let [slots, held] = [slots, held].map(|buffer| buffer.as_mut_ptr().cast::<u8>());
        let runs = || {
            let slots = (0..).map(|number| slots.wrapping_add(number * row.len * wide.slot));
            sorted.targets.iter().map(|&offset| first.wrapping_offset(offset)).zip(slots)
        };
        let listed = building.updates.cast_mut().wrapping_offset(at.listed);
        let entries = (&sorted.slots[..], Places::Each(&sorted.places));
        let inner = Steps { len: row.len, selected: wide.slot as isize, listed: row.step.listed };
        let tile = Tile::of_entries((slots, listed), entries, inner, building.size);
        let (size, bytes) = (building.size as isize, row.len * building.size);
        let side_by_side = Tile {
            selected: first,
            listed: held,
            offsets: &sorted.targets,
            places: Places::Every(bytes as isize),
            inner: Steps { len: row.len, selected: size, listed: size },
            ..tile
        };
        let (init, elements) = (building.init, sorted.targets.len() * row.len);
        // SAFETY: the offsets are what indices in bounds select, the places are
        // those of their updates, and the buffers have a slot, and an element of a short row, for
        // as many targets as there are updates. Slots are started before they are added to, and
        // elements of the buffer copied there before they are read. The target's elements are this
        // lane's.
        #[allow(unsafe_code)]
        unsafe {
            if self.short {
                rows::kernel::<true>(bytes)(&side_by_side);
                wide.start(held, size, slots, elements);
            } else {
                for (target, slots) in runs() {
                    wide.start(target, row.step.selected, slots, row.len);
                }
            }
            if !init {
                ClearSlots(wide).run(&tile);
            }
            AddToSlots(wide).run(&tile);
            if self.short {
                wide.finish(slots, held, size, elements, init);
                rows::kernel::<false>(bytes)(&side_by_side);
            } else {
                for (target, slots) in runs() {
                    wide.finish(slots, target, row.step.selected, row.len, init);
                }
            }
        }
    }
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
    /// Sorts updates whose targets have `bytes` bytes of slots each; `parts` returns the offset and
    /// the number of a key. The vectors were reserved for all of them.
    fn sort<K: Key>(
        &mut self,
        pending: &mut Pending<K>,
        bytes: usize,
        parts: impl Fn(K) -> (isize, usize),
    ) {
        pending.keys.sort_unstable();
        self.targets.clear();
        self.slots.clear();
        self.places.clear();
        for &key in &pending.keys {
            let (target, number) = parts(key);
            if self.targets.last() != Some(&target) {
                self.targets.push(target);
            }
            self.slots.push(((self.targets.len() - 1) * bytes) as isize);
            self.places.push(pending.places[number]);
        }
    }
}
