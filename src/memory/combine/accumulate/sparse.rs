//! Reductions of updates that touch little of the target: updates are sorted by their target, and
//! only the targets that are touched have slots. Where a target has but one update, this needs no
//! sorting (`marks.rs`).

use std::ops::Range;

use super::kinds::Accumulator;
use super::marks::Marks;
use super::touched::{Touched, TouchedBuffers, is_apart};
use super::{Accumulation, SHORT_ROW};
use crate::error::Result;
use crate::memory::alloc::{made, reserved};
use crate::memory::combine::kernels::Once;
use crate::memory::refused::{Failure, Refusal, Refused};
use crate::memory::tile::{Kernel, Places, Tile};
use crate::memory::walk::{Cursor, Loop, Loops, Offsets, iterations};
use crate::parallel::{self, Cost};
use crate::sync::Mutex;
use crate::threshold::threshold;

/// The least number of elements of a piece of a row, next to each other and apart: each piece sorts the
/// updates anew.
const MIN_PIECE: [usize; 2] = [threshold(256, 20), threshold(32, 10)];

/// The least number of updates for each share of the targets of a single lane: each part looks at all
/// indices for those of its targets. One thread -> two: 705 `f16` summed into 10M 5.7 -> 9.8 µs, 3300 into
/// 100,000 18.1 -> 17.7, 9000 into 300,000 54 -> 41, 100,000 into 9M 780 -> 510.
const MIN_SHARE: usize = threshold(2 << 10, 4);
/// The most shares: each has room for all updates.
const MAX_SHARES: usize = 8;

/// Fewest elements of a row with which sorted updates pay to be combined in the target, if some targets
/// have others: they make a block. 20,000 rows of four `bf16` take 290 µs so, and 220 in slots.
const BLOCK: usize = threshold(8, 3);

/// Lanes are sorted together up to this number of updates: 26,130 lanes of one update each take
/// 200 ns a lane one by one, and 22 together.
const BATCH: usize = threshold(1 << 14, 20);

/// The same of lanes that share their indices.
const SHARING: usize = threshold(256, 6);

/// The offset in bytes of an update's target, and the update's number: sorted by the offset, then by
/// the number. One integer sorts faster than a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(u64);

impl Key {
    /// A key for an offset that is `above` the lowest offset of any target, with `bits` bits for the
    /// number.
    #[inline(always)]
    pub(super) fn new(above: u64, number: usize, bits: u32) -> Self {
        Key(above << bits | number as u64)
    }

    /// The offset above the lowest, and the number.
    #[inline(always)]
    pub(super) fn parts(self, bits: u32) -> (u64, usize) {
        (self.0 >> bits, (self.0 & ((1 << bits) - 1)) as usize)
    }
}

/// Updates that were not yet accumulated, in their order.
struct Pending {
    /// For each update, its target and its number.
    keys: Vec<Key>,
    /// For each update, its own offset in bytes, unless they are evenly spaced.
    places: Vec<isize>,
}

/// Collects the offsets of targets and updates.
struct Collect {
    pending: Mutex<Pending>,
    /// The lowest offset of any target.
    lowest: isize,
    /// The number of bits of the number of an update.
    bits: u32,
    /// The distance in bytes from one update to the next, if all are evenly spaced. Then the number
    /// of an update is that of its entry, even where others before it are dropped.
    evenly: Option<isize>,
    /// The targets whose updates are collected, as bytes above the lowest offset, unless all are.
    share: Option<Range<usize>>,
}

impl Collect {
    #[inline(always)]
    fn key(&self, target: isize, number: usize) -> Key {
        Key::new(target.wrapping_sub(self.lowest) as usize as u64, number, self.bits)
    }
}

#[allow(unsafe_code)]
impl Kernel for Collect {
    unsafe fn run(&self, tile: &Tile<'_>) {
        let Ok(mut pending) = self.pending.lock() else { return };
        // The arrays begin at address 0, so that addresses are offsets.
        let offset_of = |address: *mut u8| address.addr() as isize;
        if let Some(step) = self.evenly {
            assert!(tile.outer.len == 1 && tile.inner.len == 1, "updates of one loop");
            let first = offset_of(tile.listed);
            let number = |k: usize| match tile.places {
                Places::Every(_) => (first / step) as usize + k,
                Places::Each(places) => (first.wrapping_add(places[k]) / step) as usize,
            };
            // The vectors were reserved for the updates of a batch, so they do not grow.
            let keys = &mut pending.keys;
            let numbers = tile.offsets.iter().enumerate().map(|(k, &offset)| (offset, number(k)));
            let Some(share) = &self.share else {
                return keys.extend(numbers.map(|(offset, number)| self.key(offset, number)));
            };
            let mut end = keys.len();
            keys.resize(end + tile.offsets.len(), self.key(self.lowest, 0));
            for (offset, number) in numbers {
                // Each is stored and not all are kept: no branch depends on the indices.
                keys[end] = self.key(offset, number);
                end += usize::from(share.contains(&(offset.wrapping_sub(self.lowest) as usize)));
            }
            keys.truncate(end);
            return;
        }
        let Pending { keys, places } = &mut *pending;
        for iteration in 0..tile.outer.len {
            let (selected, listed) = tile.iteration(iteration);
            for (k, &offset) in tile.offsets.iter().enumerate() {
                let target = offset_of(selected).wrapping_add(offset);
                let place = offset_of(listed).wrapping_add(tile.places.at(k));
                for i in 0..tile.inner.len as isize {
                    let by = |step: isize| step.wrapping_mul(i);
                    let number = keys.len();
                    keys.push(self.key(target.wrapping_add(by(tile.inner.selected)), number));
                    places.push(place.wrapping_add(by(tile.inner.listed)));
                }
            }
        }
    }
}

/// Reduces lane by lane, with slots for the targets that updates touch; `None`, with nothing done, if there are so
/// many of both that a [`Key`] does not hold their numbers.
pub(super) fn run(
    accumulation: &Accumulation<'_>,
    accumulator: &Accumulator,
    lanes: &Loops,
) -> Option<Result<(), Failure>> {
    let sparse = Sparse::of(accumulation, accumulator, lanes);
    // How far the offsets of targets are apart, at most, and how many updates there are.
    let (lowest, highest) = sparse.reach();
    let bits = usize::BITS - sparse.updates().leading_zeros();
    let unused_bits = (highest.wrapping_sub(lowest) as usize as u64).leading_zeros();
    if unused_bits < bits {
        return None;
    }
    Some(match sparse.run((lowest, highest), bits) {
        // Nothing was written where memory was refused: each share asks for room for all updates.
        Err(Failure::Error(_)) if sparse.shares > 1 => {
            Sparse { shares: 1, parts: 1, ..sparse }.run((lowest, highest), bits)
        }
        done => done,
    })
}

/// A reduction of updates that are sorted by their target.
struct Sparse<'s> {
    accumulation: &'s Accumulation<'s>,
    accumulator: &'s Accumulator,
    /// The loops around all others.
    lanes: Loops,
    /// The innermost loop but for `row`, or the longest if that is short, of which `batch` iterations are sorted
    /// together.
    batched: Loop,
    batch: usize,
    /// The innermost loop whose lanes share their indices, which are reduced at once.
    row: Loop,
    /// The loops over the updates of a lane, and their number.
    entries: Loops,
    count: usize,
    /// The distance in bytes from each update of a batch to the next, if it is the same.
    evenly: Option<isize>,
    /// The number of pieces of each row.
    pieces: usize,
    /// The number of shares of the targets, where there is a single lane.
    shares: usize,
    /// The number of parts, which share out all of these.
    parts: usize,
    /// The kernels for targets that have one update.
    once: Option<Once>,
}

/// What one thread reduces a lane with.
struct Buffers {
    collect: Collect,
    marks: Marks,
    /// Updates whose targets have others.
    others: Vec<Key>,
    /// The offset of the indices whose updates were collected and sorted last, if they are those of a whole
    /// batch, and the number of updates that are the only ones of their targets.
    sorted: Option<(isize, usize)>,
    touched: TouchedBuffers,
}

impl<'s> Sparse<'s> {
    fn of(accumulation: &'s Accumulation<'s>, accumulator: &'s Accumulator, lanes: &Loops) -> Self {
        let mut lanes = lanes.clone();
        let row = match lanes.iter().rposition(|level| level.step.indices == 0) {
            Some(at) => lanes.remove(at),
            None => Loop::ONCE,
        };
        let entries: Loops = accumulation.entries().collect();
        let count = iterations(&entries);
        let fills = |level: &&Loop| level.len.saturating_mul(count) >= BATCH / 4;
        let batched = match lanes.last().filter(fills) {
            Some(_) => lanes.pop(),
            None => {
                let longest = (0..lanes.len()).max_by_key(|&at| lanes[at].len);
                longest.map(|at| lanes.remove(at))
            }
        };
        let batched = batched.unwrap_or(Loop::ONCE);
        let around = iterations(&lanes);
        let updates = count.saturating_mul(around * batched.len);
        let elements = Cost::of_near(updates.saturating_mul(row.len)).times(3);
        let cost = Cost::of_near(updates).times(30).plus(elements);
        let parts = parallel::parts_at_once(cost);
        // Batches are of one length, so that all parts have as much to do.
        let share = batched.len.div_ceil(parts.div_ceil(around.max(1))).max(1);
        // Batches that share their indices are sorted once for all.
        let most = if batched.step.indices == 0 { SHARING } else { BATCH };
        let batch = share.div_ceil(share.div_ceil((most / count.max(1)).max(1)));
        let rows = around * batched.len.div_ceil(batch);
        let piece = MIN_PIECE[usize::from(is_apart(accumulation, &row))];
        let most = if row.len <= SHORT_ROW { 1 } else { (row.len / piece).max(1) };
        let pieces = parts.div_ceil(rows.max(1)).min(most);
        let evenly = match &entries[..] {
            [entries] if batch == 1 => Some(entries.step.listed).filter(|step| *step != 0),
            _ => None,
        };
        let single = evenly.is_some() && rows * pieces == 1;
        let shares = if single { parts.min(count / MIN_SHARE).clamp(1, MAX_SHARES) } else { 1 };
        let parts = parts.min(rows * pieces * shares);
        let once = accumulation.reducer.once();
        Sparse {
            accumulation,
            accumulator,
            lanes,
            batched,
            batch,
            row,
            entries,
            count,
            evenly,
            pieces,
            shares,
            parts,
            once,
        }
    }

    /// The most updates that are sorted together.
    fn updates(&self) -> usize {
        self.count * self.batch
    }

    /// The lowest and the highest offset that an index selects, from the first lane of a batch on.
    fn reach(&self) -> (isize, isize) {
        let components = self.accumulation.components.iter();
        let axes = components.map(|component| (component.step, component.len));
        let axes = axes.chain([(self.batched.step.selected, self.batch)]);
        let ends = axes.map(|(step, len)| step * len.saturating_sub(1) as isize);
        ends.fold((0, 0), |(lowest, highest), end| (lowest + end.min(0), highest + end.max(0)))
    }

    fn buffers(&self, lowest: isize, bits: u32) -> Result<Buffers> {
        let (count, evenly) = (self.updates(), self.evenly);
        let places = if evenly.is_some() { 0 } else { count };
        let pending = Pending { keys: reserved(count)?, places: reserved(places)? };
        let row = self.row.len.div_ceil(self.pieces);
        Ok(Buffers {
            collect: Collect { pending: Mutex::new(pending), lowest, bits, evenly, share: None },
            marks: Marks::new(count)?,
            others: reserved(count)?,
            sorted: None,
            touched: TouchedBuffers::new(self.accumulator, count, row)?,
        })
    }

    /// Reduces all lanes.
    fn run(&self, (lowest, highest): (isize, isize), bits: u32) -> Result<(), Failure> {
        let Sparse { batched, batch, row, pieces, shares, parts, .. } = *self;
        let batches = batched.len.div_ceil(batch);
        let units = iterations(&self.lanes) * batches * pieces * shares;
        let span = highest.wrapping_sub(lowest) as usize + 1;
        let mut buffers = made(parts, || self.buffers(lowest, bits))?;
        let refusal = Refusal::new();
        parallel::run_each(&mut buffers, &|part, buffers| {
            let units = parallel::share(units, parts, part);
            for unit in units {
                let (unit, share) = (unit / shares, unit % shares);
                buffers.collect.share = (shares > 1).then(|| parallel::share(span, shares, share));
                let (lane, piece) = (unit / pieces, unit % pieces);
                let (at, _) = Cursor::new(&self.lanes, Offsets::ZERO, lane / batches).take(1);
                let first = lane % batches * batch;
                let at = at.after(first, batched.step);
                let lanes = Loop { len: batch.min(batched.len - first), ..batched };
                let piece = parallel::share(row.len, pieces, piece);
                let row = Loop { len: piece.len(), ..row };
                let whole = lanes.len == batch && shares == 1;
                let sorted = buffers.sorted.filter(|sorted| whole && sorted.0 == at.indices);
                let singles = match sorted {
                    Some((_, singles)) => singles,
                    None if self.collect(at, lanes, &mut buffers.collect).is_err() => {
                        return refusal.set();
                    }
                    None => self.sort(buffers),
                };
                buffers.sorted = whole.then_some((at.indices, singles));
                if refusal.is_set() {
                    return;
                }
                self.reduce_lanes(at.after(piece.start, row.step), row, singles, buffers);
            }
        });
        Ok(refusal.result()?)
    }

    /// Collects the updates of the lanes from `at` on.
    fn collect(&self, at: Offsets, lanes: Loop, collect: &mut Collect) -> Result<(), Refused> {
        if let Ok(mut pending) = collect.pending.lock() {
            pending.keys.clear();
            pending.places.clear();
        }
        let accumulation = self.accumulation;
        let loops = self.entries.iter().copied().chain([lanes]).collect();
        let from = Offsets { indices: at.indices, ..Offsets::ZERO };
        let nowhere = (std::ptr::null_mut(), std::ptr::null(), accumulation.size());
        // SAFETY: the loops are those over the indices of these lanes, and the kernel `Collect`
        // accesses neither array.
        #[allow(unsafe_code)]
        unsafe {
            accumulation.walk(loops, accumulation.components, from, nowhere, collect, 1)
        }
    }

    /// Sorts the updates that were collected, but for those that are the only ones of their targets, which
    /// come first; returns how many these are.
    fn sort(&self, buffers: &mut Buffers) -> usize {
        let Buffers { collect, marks, others, .. } = buffers;
        let mixed = self.once.is_some() && (self.row.len == 1 || self.row.len >= BLOCK);
        let Ok(pending) = collect.pending.get_mut() else { return 0 };
        marks.singles(&mut pending.keys, mixed.then_some(others), collect.bits)
    }

    /// Reduces the updates of lanes, or of a piece of a row of them, that were collected and sorted, the
    /// first `singles` of which are the only ones of their targets.
    fn reduce_lanes(&self, at: Offsets, row: Loop, singles: usize, buffers: &mut Buffers) {
        let Buffers { collect, touched, .. } = buffers;
        let Collect { lowest, bits, evenly, .. } = *collect;
        let Ok(pending) = collect.pending.get_mut() else { return };
        let Pending { keys, places } = &*pending;
        let pair = |&key: &Key| {
            let (above, number) = key.parts(bits);
            let place = match evenly {
                Some(step) => step.wrapping_mul(number as isize),
                None => places[number],
            };
            (lowest.wrapping_add(above as usize as isize), place)
        };
        // SAFETY: the lanes are this part's, the buffers are those of `buffers`, for rows of as many
        // elements (`pieces`). The keys are of offsets that indices in bounds select and of the
        // updates that have these indices, those of a target one after the other: single ones, then
        // the others, sorted.
        #[allow(unsafe_code)]
        unsafe {
            let mut touched = Touched::new(self.accumulation, self.accumulator, (at, row), touched);
            let (singles, others) = keys.split_at(singles);
            match &self.once {
                Some(once) => {
                    touched.combine_singles(&once.kernels(), singles, pair);
                }
                None => touched.push_all(singles.iter().map(pair)),
            }
            touched.push_all(others.iter().map(pair));
            touched.finish();
        }
    }
}
