//! Reductions that build up beside their targets: means, and sums and products
//! in a wider type.
//!
//! Targets of a few lanes at a time have slots. They start from what the target
//! holds, updates are added to them by the very walk that would change the
//! target, and what they come to is written to the target:
//!
//! ```text
//! for lanes in groups                     as many as stay near a core
//!   slots = start(target)
//!   for entries: slots[index] += update   the walk, with slots for a target
//!   target = finish(slots)                where there were updates
//! ```
//!
//! Where updates touch little of the target, they are sorted by target first,
//! and only those that are touched have slots.

use std::borrow::Cow;
use std::mem::MaybeUninit;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::SmallVec;

use super::Wide;
use super::apply::apply;
use super::kernels::Plain;
use crate::error::{Error, Result};
use crate::index::Policy;
use crate::memory::alloc::{repeated, reserved};
use crate::memory::indexed::{Cut, Run};
use crate::memory::indices::Indices;
use crate::memory::tile::{Kernel, Next, Places, Steps, Tile};
use crate::memory::walk::{
    Component, Components, Cursor, Loop, Loops, Offsets, Order, Walk, turns,
};
use crate::parallel::{self, Cost};
use crate::threshold::threshold;

/// Bytes of slots that stay in the caches near a core.
const NEAR: usize = threshold(256 << 10, 64);

/// Lanes whose indices lie next to each other are read a cache line at a time,
/// so several are better than one.
const ABREAST: usize = threshold(16, 2);

/// A reduction beside a target.
///
/// Invariant: the loops are those of `Axes` over these arrays, which are
/// borrowed for as long as this, the target exclusively.
pub(in crate::memory) struct Building<'b> {
    pub(in crate::memory) target: *mut u8,
    pub(in crate::memory) updates: *const u8,
    /// The size of an element in bytes.
    pub(in crate::memory) size: usize,
    pub(in crate::memory) indices: Indices<'b>,
    pub(in crate::memory) policy: Policy,
    pub(in crate::memory) loops: &'b Loops,
    pub(in crate::memory) components: &'b Components,
    pub(in crate::memory) sparse: bool,
    pub(in crate::memory) wide: Wide,
    pub(in crate::memory) init: bool,
}

// SAFETY: stands for the borrows named above; groups of lanes that run side by
// side share no target.
#[allow(unsafe_code)]
unsafe impl Sync for Building<'_> {}

/// Room for slots, aligned for any.
type Room = Vec<MaybeUninit<u128>>;

/// Builds all values and writes them; false where an index is refused, which
/// may leave some targets written.
pub(in crate::memory) fn fold_wide(building: &Building<'_>) -> Result<bool> {
    assert!(building.wide.align <= align_of::<u128>());
    let mut lanes: Loops = building.loops.iter().copied().filter(|one| !one.entries).collect();
    lanes.sort_by_key(|one| std::cmp::Reverse(one.step.selected.unsigned_abs()));
    if building.sparse {
        return sparse(building, &lanes);
    }
    let bins: usize = building.components.iter().map(|one| one.len).product();
    let across = building.components.iter().map(|one| one.step.unsigned_abs()).min();
    let row = match lanes.last() {
        Some(last) if Some(last.step.selected.unsigned_abs()) < across => {
            lanes.pop().unwrap_or(Loop::ONCE)
        }
        _ => Loop::ONCE,
    };
    let lane_bytes = bins.saturating_mul(building.wide.size).max(1);
    let width = (NEAR / lane_bytes).max(ABREAST).min(row.len);
    let bands = row.len.div_ceil(width);
    let groups = turns(&lanes) * bands;
    let updates = building.loops.iter().map(|one| one.len).product::<usize>();
    let cost = Cost::of_near(updates).times(3);
    let parts = parallel::parts(cost).min(groups).min(parallel::threads());
    let slots = bins.checked_mul(width).and_then(|slots| slots.checked_mul(building.wide.size));
    let refused = || Error::AllocationFailed { bytes: usize::MAX };
    let words = slots.ok_or_else(refused)?.div_ceil(size_of::<u128>());
    let mut rooms: SmallVec<[Mutex<Room>; 1]> = SmallVec::new();
    for _ in 0..parts {
        rooms.push(Mutex::new(reserved(words)?));
    }
    let outside = AtomicBool::new(false);
    parallel::run(parts, &|part| {
        let Ok(mut room) = rooms[part].lock() else { return };
        for group in parallel::share(groups, parts, part) {
            let (at, _) = Cursor::new(&lanes, Offsets::ZERO, group / bands).take(1);
            let first = group % bands * width;
            let lanes = Loop { len: width.min(row.len - first), ..row };
            let group = Group { building, at: at.after(first, row.step), lanes };
            if !group.fold(room.as_mut_ptr().cast()) {
                return outside.store(true, Ordering::Relaxed);
            }
        }
    });
    Ok(!outside.into_inner())
}

/// Lanes that have slots at the same time.
struct Group<'g> {
    building: &'g Building<'g>,
    at: Offsets,
    lanes: Loop,
}

impl Group<'_> {
    /// Folds the updates of these lanes, with room for a slot for each of their
    /// targets; false where an index is refused.
    fn fold(&self, room: *mut u8) -> bool {
        let Building { wide, .. } = *self.building;
        let (components, _) = steps(self.building.components, wide.size, self.lanes.len);
        let size = wide.size as isize;
        // Targets (selected) and their slots (listed), without indices.
        let mut both: Loops = SmallVec::new();
        for (target, slot) in self.building.components.iter().zip(&components) {
            let step = Offsets { selected: target.step, indices: 0, listed: slot.step };
            both.push(Loop { len: target.len, step, entries: false });
        }
        let step = Offsets { selected: self.lanes.step.selected, indices: 0, listed: size };
        both.push(Loop { len: self.lanes.len, step, entries: false });
        let start = if self.building.init { wide.start } else { wide.start_empty };
        let between = Offsets { selected: self.at.selected, ..Offsets::ZERO };
        let (none, arrays) = (Components::new(), (self.building.target, room));
        // SAFETY: `both` goes over the targets of these lanes and, in the same
        // order, over as many slots, which there is room for.
        #[allow(unsafe_code)]
        unsafe {
            self.run(&both, &none, between, arrays, wide.size, start);
        }
        // Slots (selected) and updates (listed).
        let mut adds: Loops =
            self.building.loops.iter().copied().filter(|one| one.entries).collect();
        let step = Offsets { selected: size, ..self.lanes.step };
        adds.push(Loop { len: self.lanes.len, step, entries: false });
        let from = Offsets { selected: 0, ..self.at };
        let slots = (room, self.building.updates.cast_mut());
        // SAFETY: `adds` goes over the updates of these lanes, with the steps of
        // slots in the place of the target's; all slots have been started.
        #[allow(unsafe_code)]
        let all =
            unsafe { self.run(&adds, &components, from, slots, self.building.size, wide.add) };
        if !all {
            return false;
        }
        let finish = wide.finish[usize::from(self.building.init)];
        // SAFETY: as for the start.
        #[allow(unsafe_code)]
        unsafe {
            self.run(&both, &none, between, arrays, wide.size, finish)
        }
    }

    /// Walks over two arrays; false where an index is refused.
    ///
    /// # Safety
    /// The loops and components are over these arrays, with the steps of each,
    /// from here on, and the kernel is for their elements.
    #[allow(unsafe_code)]
    unsafe fn run(
        &self,
        loops: &Loops,
        components: &Components,
        from: Offsets,
        (selected, listed): (*mut u8, *mut u8),
        size: usize,
        kernel: unsafe fn(&Tile<'_>),
    ) -> bool {
        let loops = loops.iter().copied().filter(|one| one.len > 1).collect();
        let (walk, rest) = Walk::new(loops, components.clone(), Order::Selected);
        let outside = AtomicBool::new(false);
        for mut walk in std::iter::once(walk).chain(rest.map(|rest| *rest)) {
            walk.base = walk.base.after(1, from);
            let run = Run {
                walk: &walk,
                indices: (!components.is_empty()).then_some(&self.building.indices),
                policy: self.building.policy,
                selected,
                listed,
                size,
                kernel: &Plain(kernel),
                spread: false,
                outside: &outside,
            };
            // SAFETY: the caller's promise: loops over two arrays, of which one
            // may be the slots, with the steps of each.
            #[allow(unsafe_code)]
            unsafe {
                run.run(Cut::Entries(1), 1);
            }
        }
        !outside.into_inner()
    }
}

/// The components of an index into elements of `size` bytes that lie in
/// row-major order, `width` of them for each index; and how many there are.
fn steps(components: &[Component], size: usize, width: usize) -> (Components, usize) {
    let mut stepped: Components = components.iter().copied().collect();
    let mut count = width;
    for one in stepped.iter_mut().rev() {
        one.step = (count * size) as isize;
        count *= one.len;
    }
    (stepped, count)
}

/// An update that was not yet added: its target's offset, its number, and its
/// own offset.
type Pending = (isize, usize, isize);

/// Collects what indices select, in order.
struct Collect(Mutex<Vec<Pending>>);

#[allow(unsafe_code)]
impl Kernel for Collect {
    unsafe fn run(&self, tile: &Tile<'_>) {
        let Ok(mut pending) = self.0.lock() else { return };
        // Room for all of them was reserved.
        for (k, &offset) in tile.offsets.iter().enumerate() {
            let place = tile.places.at(k);
            let (number, base) = (pending.len(), tile.listed.addr() as isize);
            pending.push((offset, number, base.wrapping_add(place)));
        }
    }

    unsafe fn nowhere(&self, _: &Tile<'_>) {}
}

/// Lane by lane, with slots for the targets that updates touch.
fn sparse(building: &Building<'_>, lanes: &Loops) -> Result<bool> {
    let mut lanes = lanes.clone();
    // Lanes that share their indices are a row.
    let row = match lanes.iter().rposition(|one| one.step.indices == 0) {
        Some(at) => lanes.remove(at),
        None => Loop::ONCE,
    };
    let entries: Loops = building.loops.iter().copied().filter(|one| one.entries).collect();
    let count = turns(&entries);
    let Building { wide, .. } = *building;
    let slots = count.checked_mul(row.len).and_then(|slots| slots.checked_mul(wide.size));
    let refused = || Error::AllocationFailed { bytes: usize::MAX };
    let mut room: Room = reserved(slots.ok_or_else(refused)?.div_ceil(size_of::<u128>()))?;
    let mut sorted =
        Sorted { targets: reserved(count)?, slots: reserved(count)?, places: reserved(count)? };
    let collect = Collect(Mutex::new(reserved(count)?));
    let outside = AtomicBool::new(false);
    let (mut walk, _) = Walk::new(entries, building.components.clone(), Order::Selected);
    let mut cursor = Cursor::new(&lanes, Offsets::ZERO, 0);
    for _ in 0..turns(&lanes) {
        let (at, _) = cursor.take(1);
        walk.base = Offsets { indices: at.indices, ..Offsets::ZERO };
        if let Ok(mut pending) = collect.0.lock() {
            pending.clear();
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
        // SAFETY: the loops are those over a lane's indices, and the kernel looks
        // at nothing else.
        #[allow(unsafe_code)]
        unsafe {
            run.run(Cut::Entries(1), 1);
        }
        if outside.load(Ordering::Relaxed) {
            return Ok(false);
        }
        if let Ok(mut pending) = collect.0.lock() {
            sorted.sort(&mut pending, row.len * wide.size);
        }
        sorted.fold(building, at, row, room.as_mut_ptr().cast());
    }
    Ok(true)
}

/// Updates sorted by target, those of one target in their order.
struct Sorted {
    /// Offsets of the targets that are touched.
    targets: Vec<isize>,
    /// For each update, the offset of its target's slots, and its own offset.
    slots: Vec<isize>,
    places: Vec<isize>,
}

impl Sorted {
    /// Sorts updates whose targets have `bytes` of slots each. There is room
    /// for all.
    fn sort(&mut self, pending: &mut [Pending], bytes: usize) {
        pending.sort_unstable();
        self.targets.clear();
        self.slots.clear();
        self.places.clear();
        for &(target, _, place) in pending.iter() {
            if self.targets.last() != Some(&target) {
                self.targets.push(target);
            }
            self.slots.push(((self.targets.len() - 1) * bytes) as isize);
            self.places.push(place);
        }
    }

    /// Folds the updates of one lane, or of a row of lanes.
    fn fold(&self, building: &Building<'_>, at: Offsets, row: Loop, room: *mut u8) {
        let Building { wide, init, .. } = *building;
        let once = Steps { len: 1, selected: 0, listed: 0 };
        let size = wide.size as isize;
        let between = Tile {
            selected: building.target.wrapping_offset(at.selected),
            listed: room,
            outer: once,
            offsets: &self.targets,
            places: Places::Every(size * row.len as isize),
            inner: Steps { len: row.len, selected: row.step.selected, listed: size },
            size: wide.size,
            spread: false,
            adjacent: false,
            next: Next::NONE,
        };
        let adds = Tile {
            selected: room,
            listed: building.updates.cast_mut().wrapping_offset(at.listed),
            outer: once,
            offsets: &self.slots,
            places: Places::Each(&self.places),
            inner: Steps { len: row.len, selected: size, listed: row.step.listed },
            size: building.size,
            spread: false,
            adjacent: false,
            next: Next::NONE,
        };
        // SAFETY: the offsets are what indices in bounds select, the places are
        // those of their updates, and there is room for the slots of as many
        // targets as there are updates. Slots are started before they are added
        // to. The target's elements are this lane's.
        #[allow(unsafe_code)]
        unsafe {
            if init {
                (wide.start)(&between);
            } else {
                (wide.start_empty)(&between);
            }
            (wide.add)(&adds);
            (wide.finish[usize::from(init)])(&between);
        }
    }
}

/// Counts of the updates of each row: one for each target of one index, and
/// for each lane that has indices of its own.
pub(in crate::memory) struct Counts<'c> {
    counts: Cow<'c, [u32]>,
    /// The loops and components that count: counts are selected.
    pub(in crate::memory) loops: Loops,
    pub(in crate::memory) components: Components,
    /// The loops over all targets (selected) and their counts (listed).
    pub(in crate::memory) divide: Loops,
}

impl<'c> Counts<'c> {
    /// Of these loops: not yet counted, unless a plan knows them.
    pub(in crate::memory) fn new(
        loops: &Loops,
        components: &Components,
        known: Option<&'c [u32]>,
    ) -> Result<Self> {
        let size = size_of::<u32>();
        let lanes = |one: &&Loop| one.reads_indices() && !one.entries;
        let width: usize = loops.iter().filter(lanes).map(|one| one.len).product();
        let (stepped, count) = steps(components, size, width);
        let mut step = (width * size) as isize;
        let (mut counting, mut divide) = (Loops::new(), Loops::new());
        for (target, counted) in components.iter().zip(&stepped) {
            let step = Offsets { selected: target.step, indices: 0, listed: counted.step };
            divide.push(Loop { len: target.len, step, entries: false });
        }
        for one in loops {
            let Loop { len, step: Offsets { selected, indices, .. }, entries } = *one;
            let mut own = 0;
            if entries {
                counting.push(Loop {
                    len,
                    step: Offsets { selected: 0, indices, listed: 0 },
                    entries,
                });
                continue;
            }
            if one.reads_indices() {
                step /= len as isize;
                own = step;
                counting.push(Loop {
                    len,
                    step: Offsets { selected: own, indices, listed: 0 },
                    entries,
                });
            }
            divide.push(Loop { len, step: Offsets { selected, indices: 0, listed: own }, entries });
        }
        divide.retain(|one| one.len > 1);
        let counts = match known {
            Some(known) => {
                assert_eq!(known.len(), count, "counts of other targets");
                Cow::Borrowed(known)
            }
            None => Cow::Owned(repeated(0, count)?),
        };
        Ok(Counts { counts, loops: counting, components: stepped, divide })
    }

    pub(in crate::memory) fn start(&self) -> *const u8 {
        self.counts.as_ptr().cast()
    }

    /// Where to count, unless they are known.
    pub(in crate::memory) fn uncounted(&mut self) -> Option<*mut u8> {
        match &mut self.counts {
            Cow::Borrowed(_) => None,
            Cow::Owned(counts) => Some(counts.as_mut_ptr().cast()),
        }
    }
}

/// Counts an update.
///
/// # Safety
/// That of [`Kernel::run`], for a target of `u32`.
#[allow(unsafe_code)]
pub(in crate::memory) unsafe fn count(tile: &Tile<'_>) {
    // SAFETY: the caller's promise.
    unsafe { apply::<u32, u32>(tile, |count, _one| count.wrapping_add(1)) }
}
