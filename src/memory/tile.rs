//! What a kernel is handed: a few loops over two arrays.

mod each;
mod later;

pub(super) use each::{MANY_ENTRIES, MANY_ITERATIONS};
pub(super) use later::{Later, LaterSlots, later_slots};

use super::combine::Set;
use super::cpu;
use super::indices::elements::{Elements, Single};
use super::walk::{Loop, Walk};
use crate::threshold::threshold;

/// A loop over two arrays: the number of iterations, and the step in bytes from one to the next in
/// each array.
#[derive(Debug, Clone, Copy)]
pub(super) struct Steps {
    pub(super) len: usize,
    pub(super) selected: isize,
    pub(super) listed: isize,
}

impl Steps {
    /// A loop of one iteration.
    pub(super) const ONCE: Self = Steps { len: 1, selected: 0, listed: 0 };

    #[inline]
    pub(super) fn of(level: &Loop) -> Self {
        Steps { len: level.len, selected: level.step.selected, listed: level.step.listed }
    }
}

/// The offsets of entries in the listed array, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Places<'t> {
    /// Evenly spaced: this distance from one to the next.
    Every(isize),
    /// One offset for each entry.
    Each(&'t [isize]),
}

impl Places<'_> {
    /// The offset of entry number `k`.
    #[inline(always)]
    pub(super) fn at(self, k: usize) -> isize {
        match self {
            Places::Every(step) => step.wrapping_mul(k as isize),
            Places::Each(places) => places[k],
        }
    }
}

/// The loop nest that a kernel runs:
///
/// ```text
/// for o in 0..outer.len
///   for k in 0..offsets.len()
///     for i in 0..inner.len
///       selected[o * outer.selected + offsets[k] + i * inner.selected]
///       listed  [o * outer.listed   + places [k] + i * inner.listed]
/// ```
///
/// Invariant (upheld by the constructor's caller): all these are elements of the two arrays, no
/// other thread uses those that the kernel writes, and the two arrays do not overlap.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tile<'t> {
    pub(super) selected: *mut u8,
    pub(super) listed: *mut u8,
    pub(super) outer: Steps,
    pub(super) offsets: &'t [isize],
    pub(super) places: Places<'t>,
    pub(super) inner: Steps,
    /// Size of an element in bytes.
    pub(super) size: usize,
    /// Whether the offsets select in half of L2 or more ([`is_spread`](super::walk::is_spread)), so
    /// that prefetching what they select pays.
    pub(super) spread: bool,
    /// The distance in bytes from each offset to the next, if no index is read in between; else 0.
    /// Kernels ask for [`offset_step`](Self::offset_step).
    pub(super) offset_step: isize,
    /// Whether the whole listed array and its indices are so large that prefetching them pays.
    pub(super) long: bool,
    /// The number of iterations of the outer loop of the whole walk, whatever part of it this is.
    pub(super) all_iterations: usize,
    /// The indices that are read after this tile.
    pub(super) next: NextIndices,
}

/// The indices that a walk reads next, to be prefetched by the kernel: chunks are resolved and
/// handed to the kernel in turn, and no indices would be on their way from memory meanwhile.
#[derive(Debug, Clone, Copy)]
pub(super) struct NextIndices {
    /// The address of the first index; null if there are none.
    pub(super) start: *const u8,
    /// The distance in bytes from one index to the next.
    pub(super) step: isize,
}

impl NextIndices {
    pub(super) const NONE: Self = NextIndices { start: std::ptr::null(), step: 0 };

    /// Prefetches the indices of block number `block` of entries, of tuples all their numbers: into
    /// L2, as lists are ([`cpu::prefetch_ahead`]), but longer tuples, which wait for L2 when they are
    /// resolved, into L1. A million sums by pairs take 4.8 ms so, and 5.7 by way of L1; by triples
    /// 4.9, and 6.0 by way of L2.
    #[inline(always)]
    pub(super) fn prefetch(self, block: usize) {
        /// Most bytes of a block of indices that is prefetched into L2.
        const MAX_BYTES_L2: usize = 2 * 64;
        /// Not inlined: it is rare, and this function is inlined in every kernel.
        #[inline(never)]
        fn prefetch_to_l1(first: *const u8, bytes: usize) {
            cpu::prefetch_all(first, bytes.min(3 * 64));
        }
        if !self.start.is_null() {
            let step = self.step.wrapping_mul(BLOCK as isize);
            let first = self.start.wrapping_offset(step.wrapping_mul(block as isize));
            let bytes = step.unsigned_abs();
            if bytes > MAX_BYTES_L2 {
                return prefetch_to_l1(first, bytes);
            }
            cpu::prefetch_line_l2(first);
            if bytes > 64 {
                cpu::prefetch_line_l2(first.wrapping_add(64));
            }
        }
    }
}

/// Number of entries of an unrolled iteration. If indices have 8 bytes, those of a block share a
/// cache line.
const BLOCK: usize = 8;

impl<'t> Tile<'t> {
    /// The distance in bytes from each offset to the next, where that is known and not 0.
    #[inline(always)]
    pub(super) fn offset_step(&self) -> Option<isize> {
        let step = self.offset_step;
        debug_assert!(
            step == 0 || self.offsets.windows(2).all(|two| two[1].wrapping_sub(two[0]) == step)
        );
        (step != 0).then_some(step)
    }

    /// A tile with the outer and inner loop of a walk, without entries.
    #[inline]
    pub(super) fn of_walk(walk: &Walk, size: usize) -> Self {
        let (nowhere, none) = (std::ptr::null_mut(), (&[][..], Places::Every(0)));
        Tile {
            outer: Steps::of(&walk.outer),
            spread: walk.is_spread(),
            all_iterations: walk.outer.len,
            ..Tile::of_entries((nowhere, nowhere), none, Steps::of(&walk.inner), size)
        }
    }

    /// A tile of one iteration of the outer loop, in which nothing is prefetched.
    #[inline]
    pub(super) fn of_entries(
        (selected, listed): (*mut u8, *mut u8),
        (offsets, places): (&'t [isize], Places<'t>),
        inner: Steps,
        size: usize,
    ) -> Self {
        Tile {
            selected,
            listed,
            outer: Steps::ONCE,
            offsets,
            places,
            inner,
            size,
            spread: false,
            offset_step: 0,
            long: false,
            all_iterations: 1,
            next: NextIndices::NONE,
        }
    }

    /// Prefetches the listed array ahead of `listed`, as many bytes as are used now, if it is long.
    #[inline(always)]
    pub(super) fn prefetch_list(&self, listed: *const u8, bytes: usize) {
        if self.long {
            cpu::prefetch_ahead(listed, bytes);
        }
    }

    /// The addresses (selected, listed) at which an iteration of the outer loop starts.
    #[inline(always)]
    pub(super) fn iteration(&self, iteration: usize) -> (*mut u8, *mut u8) {
        let iteration = iteration as isize;
        let selected = self.selected.wrapping_offset(iteration.wrapping_mul(self.outer.selected));
        (selected, self.listed.wrapping_offset(iteration.wrapping_mul(self.outer.listed)))
    }

    /// Prefetches into L2 all that the offsets select, if rows have up to 128 bytes and the outer
    /// loop has one iteration. More cache lines can be on their way to L2 than a kernel has loads
    /// in flight by itself: 1M rows of 64 bytes summed into as many take 7.7 ms, without 16.3. Rows
    /// of 256 bytes would take a tenth longer. For memory that is not in the last-level cache.
    #[inline(never)]
    pub(super) fn prefetch_selected(&self) {
        /// The longest rows, in bytes: what a chunk selects stays in half of a small L2.
        const MAX_ROW: usize = 128;
        let row = self.inner.len.saturating_mul(self.size);
        let gaps = self.offsets.windows(2).step_by(16).map(|pair| pair[0].abs_diff(pair[1]));
        if self.outer.len != 1 || row > MAX_ROW || are_dense(gaps, row) {
            return;
        }
        for &offset in self.offsets {
            let first = self.selected.wrapping_offset(offset);
            cpu::prefetch_line_l2(first);
            // A row that is not aligned may end in a cache line more.
            if first.addr() % 64 + row > 64 {
                if row > 64 {
                    cpu::prefetch_line_l2(first.wrapping_add(64));
                }
                cpu::prefetch_line_l2(first.wrapping_add(row - 1));
            }
        }
    }

    /// Whether more than `part[0] / part[1]` of the offsets in a sample equal the offset before
    /// them, as those of sorted indices do. False if there are few `entries`, with which it does not matter.
    #[inline(always)]
    pub(super) fn repeats(&self, entries: usize, part: [usize; 2]) -> bool {
        const FEW: usize = threshold(16, 2);
        entries >= FEW && samples_repeat(self.offsets, part)
    }

    /// The tile with only these entries.
    pub(super) fn part(&self, entries: std::ops::Range<usize>) -> Tile<'t> {
        let mut part = *self;
        let first = entries.start as isize;
        part.offsets = &self.offsets[entries.clone()];
        if !self.next.start.is_null() {
            let by = self.next.step.wrapping_mul(first);
            part.next.start = self.next.start.wrapping_offset(by);
        }
        match self.places {
            Places::Every(step) => {
                part.listed = self.listed.wrapping_offset(step.wrapping_mul(first));
            }
            Places::Each(places) => part.places = Places::Each(&places[entries]),
        }
        part
    }
}

/// Whether rows of `row` bytes, with these gaps in bytes from each in a sample to the next in the list,
/// are those of sorted indices that leave little out: hardware prefetchers predict them. Half a million
/// sorted pairs in 32 MB of `f64` are gathered in 4.8 ms without other prefetches, and in 1.6 with them;
/// 8M in 32 MB of `f32` in 12.8 and 17.7.
pub(super) fn are_dense(gaps: impl Iterator<Item = usize>, row: usize) -> bool {
    /// A gap in bytes that only indices which are not sorted have.
    const APART: usize = 512;
    let wide = row.saturating_mul(3).max(16);
    let (mut wide_ones, mut all) = (0, 0);
    for gap in gaps {
        if gap >= APART {
            return false;
        }
        all += 1;
        wide_ones += usize::from(gap >= wide);
    }
    wide_ones * 9 <= all
}

/// Whether more than `part / of` of the offsets in a sample equal the offset before them.
#[inline(never)]
fn samples_repeat(offsets: &[isize], [part, of]: [usize; 2]) -> bool {
    const SAMPLES: usize = 32;
    let pairs = offsets.windows(2).step_by((offsets.len() / SAMPLES).max(1));
    let total = pairs.len();
    pairs.filter(|pair| pair[0] == pair[1]).count() * of > total * part
}

/// Dense elements as a plan has listed them:
///
/// ```text
/// for k in 0..positions.len()
///   selected[positions[k]]
///   listed  [entries[k]]
/// ```
///
/// Invariant (upheld by the constructor's caller): all these are elements of the two arrays, no
/// other thread uses those that are selected, and the two arrays do not overlap.
#[derive(Debug, Clone, Copy)]
pub(super) struct Planned<'t> {
    /// The element at position 0.
    pub(super) selected: *mut u8,
    /// The first listed element.
    pub(super) listed: *const u8,
    pub(super) positions: &'t [u32],
    /// The number of the listed element for each position.
    pub(super) entries: &'t [u32],
}

/// A kernel over [`Planned`] elements of the types that it was made for.
pub(super) type PlannedFn = unsafe fn(&Planned<'_>);

/// A function over tiles of the elements that it was made for.
///
/// # Safety
/// That of [`Kernel::run`].
pub(super) type TileFn = unsafe fn(&Tile<'_>);

/// What becomes of entries whose indices select nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gaps {
    /// Nothing: a scatter drops their updates.
    Dropped,
    /// A gather [fills](Kernel::fill) its output there.
    Filled,
    /// The same, whether or not something has been copied there before.
    Overwritten,
}

/// What is done with the elements of a tile: a copy, a reduction, a call of a function.
pub(super) trait Kernel: Sync {
    /// Runs the kernel over a tile.
    ///
    /// # Safety
    /// The invariant of [`Tile`] holds, for arrays that the kernel was made for, and no offset is
    /// [`NOWHERE`](super::indices::NOWHERE).
    #[allow(unsafe_code)]
    unsafe fn run(&self, tile: &Tile<'_>);

    /// What becomes of entries whose indices select nothing.
    fn gaps(&self) -> Gaps {
        Gaps::Dropped
    }

    /// Fills the listed elements of a tile whose indices select nothing, if [`gaps`](Self::gaps) says
    /// so. Its offsets have no meaning.
    ///
    /// # Safety
    /// That of [`run`](Self::run), for the listed array.
    #[allow(unsafe_code)]
    unsafe fn fill(&self, _: &Tile<'_>) {
        unreachable!("a kernel that drops what indices select nothing for");
    }

    /// The kernel that does the same with [`Planned`] elements, if there is one.
    fn planned(&self) -> Option<PlannedFn> {
        None
    }

    /// The neutral element from which accumulators start, if the updates of a target give the same
    /// bits in any order, even if some of them are combined with each other first. Then all
    /// elements are of the type of the updates.
    fn any_order(&self) -> Option<Set> {
        None
    }

    /// How many times as long the kernel takes as one that copies or adds elements.
    fn cost_factor(&self) -> u64 {
        1
    }

    /// What the kernel does with single elements whose indices it resolves itself, if it can.
    fn single(&self) -> Option<Single> {
        None
    }

    /// Does the same as [`run`](Self::run) with single elements, if [`single`](Self::single) is not
    /// `None`. Returns whether all indices are in bounds; an index out of bounds selects some
    /// element of the axis instead.
    ///
    /// # Safety
    /// The invariant of [`Elements`] holds, for elements of the arrays that the kernel was made
    /// for, along one axis, and so does what [`Action`](super::indices::elements::Action) says of
    /// the axis.
    #[allow(unsafe_code)]
    unsafe fn run_single(&self, _: &Elements<'_>) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row that repeats one update may have more bytes than a `usize` holds.
    #[test]
    fn rows_of_one_large_update() {
        let half = 1 << (usize::BITS / 2);
        let (nowhere, offsets) = (std::ptr::null_mut(), [0, half as isize]);
        let inner = Steps { len: half, selected: 1, listed: 0 };
        let entries = (&offsets[..], Places::Every(0));
        let tile = Tile::of_entries((nowhere, nowhere), entries, inner, half);
        tile.prefetch_selected();
    }
}
