//! In which order loops run.
//!
//! Loops are free to run in any order, but for those over entries of a scatter,
//! which keep theirs. What decides is memory: the loop with the shortest steps
//! runs innermost, so that cache lines are used whole. A gather looks at the
//! array that it writes, a scatter at the one that it changes.
//!
//! Where two arrays disagree, as when the rows of a transposed matrix are
//! gathered, either order touches a cache line for every element. Then one loop
//! is cut in tiles of a few iterations:
//!
//! ```text
//! for tile in columns by 16          every line of the data that a tile
//!   for k in indices                 touches is used by all indices
//!     for c in tile                  while it is in cache, and 16 neighbours
//!       output[k, c] = data[k, c]    of the output are written together
//! ```

use std::ops::Range;

use super::{Component, Components, Loop, Loops, Offsets, iterations};
use crate::memory::cpu::{self, Caches, of_caches, transposes};
use crate::memory::indices::CHUNK;
use crate::parallel;
use crate::threshold::threshold;

/// Which array's memory the order follows first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::memory) enum Order {
    /// That of the output of a gather or a copy. If elements are so many bytes, what is
    /// transposed on its way is not cut in tiles: the kernel goes through it block by
    /// block. Other elements are said to have 0.
    Listed(usize),
    /// That of a scatter's target. If updates are so many bytes, they are transposed where
    /// they lie across it, in longer tiles; others are said to have 0.
    Selected(usize),
}

/// Loops in the order in which they run, and what each does.
#[derive(Debug, Clone)]
pub(in crate::memory) struct Walk {
    /// Where the loops start.
    pub(in crate::memory) base: Offsets,
    pub(in crate::memory) components: Components,
    /// The innermost of the shared loops, which kernels run themselves.
    pub(in crate::memory) outer: Loop,
    /// The loop over the elements of a row, inside all that read indices.
    pub(in crate::memory) inner: Loop,
    /// All loops, outermost first.
    pub(in crate::memory) loops: Loops,
    /// How many of them are shared, and how many iterations these take.
    shared: (usize, usize),
    /// Which of them are over entries, and how many iterations these take.
    nest: (Range<usize>, usize),
}

/// Loops of up to so many iterations are few: in which order memory is read does not
/// matter, and all entries are a chunk.
pub(in crate::memory) const FEW: usize = threshold(256, 4);

impl Walk {
    /// Loops that were given in row-major order, not yet in that of memory.
    #[inline]
    pub(super) fn of(loops: Loops, components: Components) -> Self {
        let (outer, inner) = (Loop::ONCE, Loop::ONCE);
        let base = Offsets::ZERO;
        Walk { base, components, outer, inner, loops, shared: (0, 1), nest: (0..0, 1) }
    }

    /// Adds a loop inside all others.
    #[inline]
    pub(super) fn push(&mut self, inner: Loop) {
        if let Some(last) = self.loops.last_mut() {
            if let Some(merged) = last.merged(&inner) {
                *last = merged;
                return;
            }
        }
        self.loops.push(inner);
    }

    /// The loops in the order of memory, and those that remain where one was
    /// cut in tiles.
    pub(in crate::memory) fn new(
        loops: Loops,
        components: Components,
        order: Order,
    ) -> (Self, Option<Box<Self>>) {
        let mut walk = Walk::of(loops, components);
        merge(&mut walk.loops);
        let rest = walk.order(order);
        (walk, rest)
    }

    /// Loops that read no indices, outside all that do: what indices select is
    /// worked out once for all their iterations.
    #[inline]
    pub(in crate::memory) fn shared(&self) -> &[Loop] {
        &self.loops[..self.shared.0]
    }

    /// How many iterations the shared loops take.
    #[inline]
    pub(in crate::memory) fn shared_iterations(&self) -> usize {
        self.shared.1
    }

    /// The loops over entries.
    #[inline]
    pub(in crate::memory) fn nest(&self) -> &[Loop] {
        &self.loops[self.nest.0.clone()]
    }

    /// How many entries there are.
    #[inline]
    pub(in crate::memory) fn entries(&self) -> usize {
        self.nest.1
    }

    /// How many rows all loops but the innermost make.
    #[inline]
    pub(in crate::memory) fn rows(&self) -> usize {
        self.shared_iterations() * self.outer.len * self.entries()
    }

    /// Whether the loops are so few, over elements of so many bytes, that one
    /// thread resolves all entries before it uses the first.
    pub(in crate::memory) fn is_at_once(&self, size: usize) -> bool {
        const BYTES: usize = 64;
        iterations(&self.loops).saturating_mul(size.max(BYTES)) <= FEW * BYTES
    }

    /// Whether what indices select [is spread](is_spread).
    #[inline]
    pub(in crate::memory) fn is_spread(&self) -> bool {
        is_spread(&self.components)
    }

    /// Whether what indices select [is far](is_far) apart.
    #[inline]
    pub(in crate::memory) fn is_far(&self) -> bool {
        is_far(&self.components, self.inner.len)
    }

    /// Whether the list comes from further away than [asking for it costs](cpu::is_long).
    pub(in crate::memory) fn is_long(&self) -> bool {
        cpu::is_long(self.passing())
    }

    /// How many bytes of indices and the list are gone through.
    fn passing(&self) -> usize {
        let bytes = |one: &Loop| {
            let Offsets { indices, listed, .. } = one.step;
            one.len.saturating_mul(indices.unsigned_abs().saturating_add(listed.unsigned_abs()))
        };
        self.loops.iter().map(bytes).max().unwrap_or(0)
    }

    /// How many bytes what indices select lies apart.
    pub(in crate::memory) fn reach(&self) -> usize {
        reach(&self.components)
    }

    /// Puts loops in the order of memory. Where one is cut in tiles, what makes
    /// no whole tile is left to a walk of its own.
    #[inline]
    pub(in crate::memory) fn order(&mut self, order: Order) -> Option<Box<Self>> {
        let cut = if self.loops.len() > 1 { self.sort(order) } else { None };
        self.arrange();
        cut.filter(|cut| cut.rest > 0).map(|cut| self.rest(cut))
    }

    /// Sorts loops, and cuts one in tiles where that pays.
    fn sort(&mut self, order: Order) -> Option<Cut> {
        let moved = match order {
            Order::Listed(_) => sort(&mut self.loops, |one| one.step.listed.unsigned_abs()),
            Order::Selected(_) => {
                let keys = Keys::new(&self.components).or_of_updates(&self.loops);
                sort(&mut self.loops, |one| keys.selected(one))
            }
        };
        if moved {
            merge(&mut self.loops);
        }
        if iterations(&self.loops) <= FEW {
            return None;
        }
        tile(&mut self.loops, Keys::new(&self.components), order)
    }

    #[cold]
    fn rest(&self, cut: Cut) -> Box<Self> {
        let mut loops = self.loops.clone();
        loops.remove(cut.tiles);
        if let Some(inner) = loops.last_mut() {
            inner.len = cut.rest;
        }
        let mut rest = Walk::of(loops, self.components.clone());
        rest.base = cut.base;
        rest.arrange();
        Box::new(rest)
    }

    /// Gives each loop its task.
    #[inline]
    fn arrange(&mut self) {
        let mut around = &self.loops[..];
        if let Some((last, others)) = around.split_last() {
            if !last.reads_indices() {
                self.inner = *last;
                around = others;
            }
        }
        let mut start = around.iter().position(Loop::reads_indices).unwrap_or(0);
        if self.is_lane_by_lane(&around[..start], &around[start..]) {
            start = 0;
        }
        if start > 0 {
            self.shared = (start - 1, iterations(&around[..start - 1]));
            self.outer = around[start - 1];
        }
        self.nest = (start..around.len(), iterations(&around[start..]));
    }
}

/// Whether what indices select lies further apart than the caches near a core reach.
#[inline]
pub(in crate::memory) fn is_spread(components: &[Component]) -> bool {
    reach(components) >= of_caches(|caches| caches.second / 2, 128)
}

/// The same of the caches that cores share, of rows of so many elements: these wait longer if they
/// are in no cache, and gain from less on.
#[inline]
pub(in crate::memory) fn is_far(components: &[Component], row: usize) -> bool {
    let part = |caches: Caches| if row > 1 { caches.last / 8 * 3 } else { caches.last / 2 };
    reach(components) >= of_caches(part, 512)
}

fn reach(components: &[Component]) -> usize {
    let reach = |one: &Component| one.len.saturating_mul(one.step.unsigned_abs());
    components.iter().map(reach).max().unwrap_or(0)
}

impl Walk {
    /// Whether each iteration of the shared loops goes through all entries before the next, though
    /// it looks their indices up again: what it selects among then stays near the core, or at
    /// least its pages do, where what all iterations of a thread select among has no room.
    fn is_lane_by_lane(&self, shared: &[Loop], entries: &[Loop]) -> bool {
        /// What an iteration selects among, where that comes back to the first cache with each chunk.
        const FIRST: usize = threshold(32 << 10, 16);
        let apart = |one: &Loop| one.step.selected.unsigned_abs().saturating_mul(one.len - 1);
        let all = shared.iter().map(apart).fold(0, usize::saturating_add);
        // Below that on one thread or two it gained nothing. Rows are asked for ahead of time.
        let caches = if self.inner.len == 1 { 4 } else { 6 };
        all > 0
            && iterations(entries) > CHUNK
            && self.reach() >= FIRST
            && all / parallel::threads() >= of_caches(|caches| caches.second, 8) * caches
    }
}

/// Bytes of a cache line.
const LINE: usize = threshold(64, 16);

/// How far the iterations of a loop are apart.
#[derive(Clone, Copy)]
struct Keys {
    /// The least step along a selected axis: entries are that far apart.
    across: usize,
}

impl Keys {
    #[inline]
    fn new(components: &[Component]) -> Self {
        let steps = components.iter().map(|one| one.step.unsigned_abs());
        Keys { across: steps.filter(|&step| step != 0).min().unwrap_or(0) }
    }

    /// Where all entries select one place, as along axes of one element, a target does not
    /// say where their loop belongs, and updates do: outside the loops with shorter steps.
    /// Innermost, each update would wait for the one before it: maxima of 33 rows of 6744
    /// `f32` took 745 us, and take 24.
    #[inline]
    fn or_of_updates(self, loops: &[Loop]) -> Self {
        if self.across != 0 {
            return self;
        }
        let entries = loops.iter().filter(|one| one.entries).map(|one| self.listed(one)).min();
        let shorter = |one: &&Loop| !one.entries && Some(self.listed(one)) < entries;
        let across = loops.iter().filter(shorter).map(|one| self.selected(one) + 1).max();
        Keys { across: across.unwrap_or(0) }
    }

    fn selected(self, one: &Loop) -> usize {
        if one.entries { self.across } else { one.step.selected.unsigned_abs() }
    }

    fn listed(self, one: &Loop) -> usize {
        one.step.listed.unsigned_abs()
    }
}

/// Sorts by falling key; equal keys keep their order, and so do entries, which
/// all have one key where their order matters. Tells whether any loop moved.
#[inline]
fn sort(loops: &mut [Loop], key: impl Fn(&Loop) -> usize) -> bool {
    let mut moved = false;
    for end in 1..loops.len() {
        let mut at = end;
        while at > 0 && key(&loops[at - 1]) < key(&loops[at]) {
            loops.swap(at - 1, at);
            at -= 1;
            moved = true;
        }
    }
    moved
}

/// Merges loops that no array jumps between.
#[inline]
pub(in crate::memory) fn merge(loops: &mut Loops) {
    loops.dedup_by(|inner, outer| match outer.merged(inner) {
        Some(merged) => {
            *outer = merged;
            true
        }
        None => false,
    });
}

/// A loop that was cut in tiles.
#[derive(Clone, Copy)]
struct Cut {
    /// The place of the loop over whole tiles.
    tiles: usize,
    /// Turns that make no whole tile, and where they start.
    rest: usize,
    base: Offsets,
}

/// Bytes of a tile of updates that are transposed.
const WIDE: usize = threshold(256, 32);

/// Turns of a tile whose iterations are `step` bytes apart: some lines of the array
/// that it is written to or read from in order.
fn tile_len(step: usize) -> usize {
    (LINE / step.max(1)).clamp(threshold(8, 2), threshold(32, 4))
}

/// Whether the loops `across` and `down` go through a matrix that is transposed on its way,
/// of elements whose size there are blocks for: all entries of one loop, or none.
fn is_transposed(loops: &[Loop], [across, down]: [usize; 2], keys: Keys, size: usize) -> bool {
    /// Runs of fewer entries are put together, from wherever they lie.
    const RUN: usize = 16;
    let selecting = loops.iter().filter(|one| one.reads_indices()).count();
    let (across, down) = (&loops[across], &loops[down]);
    let (near, far) = (keys.selected(across), keys.selected(down));
    let runs =
        if down.reads_indices() { selecting == 1 } else { selecting == 0 || across.len >= RUN };
    let dense = down.step.listed == size as isize && near < far;
    dense && runs && !across.reads_indices() && transposes(size, near, !down.reads_indices())
}

/// Cuts a loop in tiles where two arrays disagree about which loop runs
/// innermost.
#[inline(never)]
fn tile(loops: &mut Loops, keys: Keys, order: Order) -> Option<Cut> {
    let nearest = |key: &dyn Fn(&Loop) -> usize| {
        (0..loops.len()).filter(|&at| key(&loops[at]) != 0).min_by_key(|&at| key(&loops[at]))
    };
    let near_selected = nearest(&|one| keys.selected(one))?;
    let near_listed = nearest(&|one| keys.listed(one))?;
    let pair = [near_selected, near_listed];
    let (Order::Listed(size) | Order::Selected(size)) = order;
    let scatters = matches!(order, Order::Selected(_));
    let (across, down) = (&loops[near_selected], &loops[near_listed]);
    let blocks = is_transposed(loops, pair, keys, size)
        && (!scatters || across.step.selected == size as isize);
    let disagree = near_selected != near_listed
        && keys.selected(down) >= LINE
        && keys.listed(across) >= LINE
        && keys.selected(across) < LINE
        && keys.listed(down) < LINE;
    if !disagree && !blocks {
        return None;
    }
    let (cut, partner) = if !loops[near_listed].reads_indices() {
        (near_listed, near_selected)
    } else if !loops[near_selected].entries {
        (near_selected, near_listed)
    } else {
        return None;
    };
    let last_entries = loops.iter().rposition(|one| one.entries);
    if scatters && loops[partner].entries && last_entries != Some(partner) {
        return None;
    }
    let (strip, partner_loop) = (loops[cut], loops[partner]);
    loops.remove(cut.max(partner));
    loops.remove(cut.min(partner));
    if strip.reads_indices() && partner_loop.reads_indices() {
        // An index for each element: lanes one by one, whose lines wait in the second
        // cache for the next lane. In tiles, few updates or results in a row would
        // follow each other.
        loops.extend([strip, partner_loop]);
        return None;
    }
    let step = keys.listed(&strip).min(keys.selected(&strip));
    let len = if blocks && scatters { WIDE / size } else { tile_len(step) };
    if (blocks && !scatters) || strip.len < 2 * len {
        loops.extend([partner_loop, strip]);
        return None;
    }
    let tiles = strip.len / len;
    let base = Offsets::ZERO.after(tiles * len, strip.step);
    let across = Loop { len: tiles, step: Offsets::ZERO.after(len, strip.step), ..strip };
    let at = loops.len();
    loops.extend([across, partner_loop, Loop { len, ..strip }]);
    Some(Cut { tiles: at, rest: strip.len % len, base })
}
