//! What a kernel is handed: a few loops over two arrays.

use super::combine::Set;
use super::cpu;
use super::indices::elements::Single;
use super::walk::{Loop, Walk};
use crate::threshold::threshold;

/// A loop over two arrays: how often, and by how many bytes each iteration moves in
/// each.
#[derive(Debug, Clone, Copy)]
pub(super) struct Steps {
    pub(super) len: usize,
    pub(super) selected: isize,
    pub(super) listed: isize,
}

/// Where entries lie in the listed array.
#[derive(Debug, Clone, Copy)]
pub(super) enum Places<'t> {
    /// So many bytes apart.
    Every(isize),
    /// At these offsets.
    Each(&'t [isize]),
}

impl Places<'_> {
    /// Where entry number `k` lies.
    #[inline(always)]
    pub(super) fn at(self, k: usize) -> isize {
        match self {
            Places::Every(step) => step.wrapping_mul(k as isize),
            Places::Each(places) => places[k],
        }
    }
}

/// The loops that a kernel runs:
///
/// ```text
/// for o in 0..outer.len
///   for k in 0..offsets.len()
///     for i in 0..inner.len
///       selected[o * outer + offsets[k] + i * inner]
///       listed  [o * outer + places [k] + i * inner]
/// ```
///
/// Whoever makes one promises that all these places are elements of their
/// arrays, that no other thread uses those that the kernel writes, and that
/// the two arrays do not overlap.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tile<'t> {
    pub(super) selected: *mut u8,
    pub(super) listed: *mut u8,
    pub(super) outer: Steps,
    pub(super) offsets: &'t [isize],
    pub(super) places: Places<'t>,
    pub(super) inner: Steps,
    /// The size of an element in bytes.
    pub(super) size: usize,
    /// Whether what the offsets select is spread over more memory than the
    /// caches near a core hold, so that asking for it ahead of time pays.
    pub(super) spread: bool,
    /// How many bytes each offset is apart from the one before, where no index comes in
    /// between; else 0.
    pub(super) apart: isize,
    /// Whether the list, as a whole, comes from so far away that asking for it pays, too.
    pub(super) long: bool,
    /// What is read after this tile.
    pub(super) next: NextIndices,
}

/// The indices that a walk reads next, to be asked for ahead of time: chunks are
/// resolved and worked on in turn, and memory would rest meanwhile.
#[derive(Debug, Clone, Copy)]
pub(super) struct NextIndices {
    /// Null where there are none.
    pub(super) start: *const u8,
    pub(super) step: isize,
}

impl NextIndices {
    pub(super) const NONE: Self = NextIndices { start: std::ptr::null(), step: 0 };

    /// Asks for those of the block of entries with this number: of tuples, for all of them.
    #[inline(always)]
    pub(super) fn prefetch(self, block: usize) {
        if !self.start.is_null() {
            let bytes = self.step.wrapping_mul(BLOCK as isize);
            let first = self.start.wrapping_offset(bytes.wrapping_mul(block as isize));
            cpu::prefetch_all(first, bytes.unsigned_abs().clamp(1, 3 * 64));
        }
    }
}

/// Entries whose indices share a cache line, where they have 8 bytes.
const BLOCK: usize = 8;

impl<'t> Tile<'t> {
    /// A tile with the loops of a walk, of no entry yet.
    #[inline]
    pub(super) fn like(walk: &Walk, size: usize, spread: bool) -> Self {
        let steps = |one: &Loop| Steps {
            len: one.len,
            selected: one.step.selected,
            listed: one.step.listed,
        };
        Tile {
            selected: std::ptr::null_mut(),
            listed: std::ptr::null_mut(),
            outer: steps(&walk.outer),
            offsets: &[],
            places: Places::Every(0),
            inner: steps(&walk.inner),
            size,
            spread,
            apart: 0,
            long: false,
            next: NextIndices::NONE,
        }
    }

    /// Asks for the list further on, as much of it as the bytes that are used now, if there is
    /// much of it.
    #[inline(always)]
    pub(super) fn prefetch_list(&self, listed: *const u8, bytes: usize) {
        if self.long {
            cpu::prefetch_ahead(listed, bytes);
        }
    }

    /// Calls `visit` with the places of each entry in the two arrays. For what
    /// takes but a few instructions: several are done an iteration.
    #[inline(always)]
    pub(super) fn each(&self, visit: impl Fn(*mut u8, *mut u8)) {
        if let (Places::Every(step), Some(ahead)) = (self.places, self.iterations_ahead()) {
            return self.each_prefetching(step, ahead, visit);
        }
        for iteration in 0..self.outer.len {
            let (selected, mut listed) = self.iteration(iteration);
            match self.places {
                Places::Every(step) => {
                    // Blocks of a constant length, which the compiler unrolls.
                    let place = |listed: *mut u8, k: usize| {
                        listed.wrapping_offset(step.wrapping_mul(k as isize))
                    };
                    let blocks = self.offsets.chunks_exact(BLOCK);
                    let rest = blocks.remainder();
                    // What lies further apart is not gone through in order.
                    let follows = if (0..=64).contains(&step) { BLOCK * step as usize } else { 0 };
                    for (number, block) in blocks.enumerate() {
                        self.next.prefetch(number);
                        self.prefetch_list(listed, follows);
                        for k in 0..BLOCK {
                            visit(selected.wrapping_offset(block[k]), place(listed, k));
                        }
                        listed = place(listed, BLOCK);
                    }
                    for (k, &offset) in rest.iter().enumerate() {
                        visit(selected.wrapping_offset(offset), place(listed, k));
                    }
                }
                Places::Each(places) => {
                    let visit = |offset: isize, place: isize| {
                        visit(selected.wrapping_offset(offset), listed.wrapping_offset(place));
                    };
                    let blocks = self.offsets.chunks_exact(BLOCK).zip(places.chunks_exact(BLOCK));
                    for (offsets, places) in blocks {
                        for k in 0..BLOCK {
                            visit(offsets[k], places[k]);
                        }
                    }
                    let rest = self.offsets.len() / BLOCK * BLOCK;
                    for (&offset, &place) in self.offsets[rest..].iter().zip(&places[rest..]) {
                        visit(offset, place);
                    }
                }
            }
        }
    }

    /// How many iterations of the outer loop ahead what is selected is asked for, if iterations are far
    /// apart and go through much memory: processors foresee neither the places of an iteration nor
    /// that those of the next are as far from each other.
    #[inline(always)]
    fn iterations_ahead(&self) -> Option<usize> {
        /// What iterations that are nearer select lies mostly in lines of the iterations before.
        const NEAR: usize = threshold(128, 8);
        /// With fewer entries, processors come to the next iterations by themselves.
        const FEW: usize = threshold(8, 2);
        #[inline(never)]
        fn ahead(step: usize, iterations: usize) -> Option<usize> {
            let far = step >= NEAR && cpu::is_long(step.saturating_mul(iterations));
            far.then(|| (cpu::STREAM / step).max(1))
        }
        let many = self.outer.len > 1 && self.offsets.len() >= FEW;
        many.then(|| ahead(self.outer.selected.unsigned_abs(), self.outer.len)).flatten()
    }

    /// What [`each`](Self::each) does, with what is selected so many iterations ahead asked for. Not
    /// inlined, and not a branch there: iterations of 8 entries would take a fifth longer.
    #[inline(never)]
    fn each_prefetching(&self, step: isize, ahead: usize, visit: impl Fn(*mut u8, *mut u8)) {
        for iteration in 0..self.outer.len {
            let (selected, mut listed) = self.iteration(iteration);
            let (later, _) = self.iteration((iteration + ahead).min(self.outer.len - 1));
            for &offset in self.offsets {
                cpu::prefetch_line(later.wrapping_offset(offset));
                visit(selected.wrapping_offset(offset), listed);
                listed = listed.wrapping_offset(step);
            }
        }
    }

    /// The same for what takes a loop of its own.
    #[inline(always)]
    pub(super) fn each_row(&self, visit: impl Fn(*mut u8, *mut u8)) {
        self.each_row_ahead(0, |_| {}, visit);
    }

    /// The same for rows; `ahead` is called with what the entry `distance`
    /// entries later selects, where there is one, and with its place in the list
    /// where that does not follow from the one before.
    #[inline(always)]
    pub(super) fn each_row_ahead(
        &self,
        distance: usize,
        ahead: impl Fn(*mut u8),
        visit: impl Fn(*mut u8, *mut u8),
    ) {
        for iteration in 0..self.outer.len {
            let (selected, mut listed) = self.iteration(iteration);
            let early = |k: usize| {
                if let Some(&later) = self.offsets.get(k + distance) {
                    ahead(selected.wrapping_offset(later));
                }
            };
            match self.places {
                Places::Every(step) => {
                    for (k, &offset) in self.offsets.iter().enumerate() {
                        early(k);
                        if k % BLOCK == 0 {
                            self.next.prefetch(k / BLOCK);
                        }
                        visit(selected.wrapping_offset(offset), listed);
                        listed = listed.wrapping_offset(step);
                    }
                }
                Places::Each(places) => {
                    for (k, (&offset, &place)) in self.offsets.iter().zip(places).enumerate() {
                        early(k);
                        // These places do not follow each other.
                        if let Some(&later) = places.get(k + distance) {
                            ahead(listed.wrapping_offset(later));
                        }
                        visit(selected.wrapping_offset(offset), listed.wrapping_offset(place));
                    }
                }
            }
        }
    }

    /// Where an iteration of the outer loop begins in the two arrays.
    #[inline(always)]
    pub(super) fn iteration(&self, iteration: usize) -> (*mut u8, *mut u8) {
        let iteration = iteration as isize;
        let selected = self.selected.wrapping_offset(iteration.wrapping_mul(self.outer.selected));
        (selected, self.listed.wrapping_offset(iteration.wrapping_mul(self.outer.listed)))
    }

    /// Asks for all that is selected, if that is less than a cache line for each entry and
    /// one iteration, for the second cache: lines on their way there can be more than those that
    /// a kernel waits for by itself. For what lies beyond the caches that cores share.
    #[inline(never)]
    pub(super) fn prefetch_selected(&self) {
        /// Nearer to each other is what sorted indices select, and processors ask for it by
        /// themselves.
        const NEAR: usize = 512;
        let mut pairs = self.offsets.windows(2).step_by(64);
        let near = pairs.all(|pair| pair[0].abs_diff(pair[1]) < NEAR);
        let row = self.inner.len.saturating_mul(self.size);
        if near || self.outer.len != 1 || row >= 64 {
            return;
        }
        for &offset in self.offsets {
            let first = self.selected.wrapping_offset(offset);
            cpu::prefetch_line_l2(first);
            // Rows that begin anywhere may end in the line after.
            if first.addr() % 64 + row > 64 {
                cpu::prefetch_line_l2(first.wrapping_add(row));
            }
        }
    }

    /// Whether this part of the offsets, or more, are those of the entries before them, as
    /// where indices are sorted. Of a few it does not matter.
    #[inline(always)]
    pub(super) fn repeats(&self, part: [usize; 2]) -> bool {
        const FEW: usize = threshold(16, 2);
        self.offsets.len() >= FEW && samples_repeat(self.offsets, part)
    }

    /// The tile of these entries alone.
    pub(super) fn part(&self, entries: std::ops::Range<usize>) -> Tile<'t> {
        let mut part = *self;
        part.offsets = &self.offsets[entries.clone()];
        match self.places {
            Places::Every(step) => {
                part.listed =
                    self.listed.wrapping_offset(step.wrapping_mul(entries.start as isize));
            }
            Places::Each(places) => part.places = Places::Each(&places[entries]),
        }
        part
    }
}

/// Whether offsets repeat ([`Tile::repeats`]), as a few of them tell.
#[inline(never)]
fn samples_repeat(offsets: &[isize], [part, of]: [usize; 2]) -> bool {
    const LOOKS: usize = 32;
    let pairs = offsets.windows(2).step_by((offsets.len() / LOOKS).max(1));
    let looks = pairs.len();
    pairs.filter(|pair| pair[0] == pair[1]).count() * of > looks * part
}

/// Elements whose positions are known, one after the other: a plan holds them.
///
/// Whoever makes one promises that all these are elements of their arrays, that
/// no other thread uses those that are selected, and that the two arrays do not
/// overlap.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'t> {
    /// The elements that are selected among.
    pub(super) selected: *mut u8,
    /// The elements of the list.
    pub(super) listed: *const u8,
    pub(super) positions: &'t [u32],
    /// Which element of the list belongs to each position; where there is nothing,
    /// they follow each other.
    pub(super) entries: Option<&'t [u32]>,
}

/// A kernel for known elements of the types that it was made for.
pub(super) type KnownRun = unsafe fn(&Known<'_>);

/// What is done with the elements of a tile.
pub(super) trait Kernel: Sync {
    /// Does it.
    ///
    /// # Safety
    /// The tile is what its documentation promises, of arrays that the kernel
    /// was made for, and no offset is [`NOWHERE`](super::indices::NOWHERE).
    #[allow(unsafe_code)]
    unsafe fn run(&self, tile: &Tile<'_>);

    /// Does what is due where indices select nothing: the same, but every
    /// offset is `NOWHERE`.
    ///
    /// # Safety
    /// That of [`run`](Self::run), for the listed array.
    #[allow(unsafe_code)]
    unsafe fn nowhere(&self, tile: &Tile<'_>);

    /// What does the same with elements whose positions are known, of arrays that
    /// are dense, where there is such a thing.
    fn known(&self) -> Option<KnownRun> {
        None
    }

    /// What an element starts from that takes no part, where the updates of a target
    /// come to the same bits in any order, even if some of them are combined with each
    /// other first. Then all elements are of the type of the updates.
    fn any_order(&self) -> Option<Set> {
        None
    }

    /// What does the same with single elements, while their indices are resolved.
    fn single(&self) -> Option<Single> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One update for a whole row, as often as the row is long, may be more bytes than an
    /// integer holds.
    #[test]
    fn rows_of_one_large_update() {
        let half = 1 << (usize::BITS / 2);
        let tile = Tile {
            selected: std::ptr::null_mut(),
            listed: std::ptr::null_mut(),
            outer: Steps { len: 1, selected: 0, listed: 0 },
            offsets: &[0, half as isize],
            places: Places::Every(0),
            inner: Steps { len: half, selected: 1, listed: 0 },
            size: half,
            spread: true,
            apart: 0,
            long: false,
            next: NextIndices::NONE,
        };
        tile.prefetch_selected();
    }
}
