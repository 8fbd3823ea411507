//! Counts of the updates of rows: one count for each index value, instead of one for each target.

use std::borrow::Cow;

use super::kinds::Quotients;
use super::{Accumulation, steps};
use crate::error::Result;
use crate::memory::alloc::repeated;
use crate::memory::combine::apply::{Set, elements};
use crate::memory::combine::{HAS_KERNELS, in_target};
use crate::memory::refused::Refused;
use crate::memory::tile::{Kernel, Steps, Tile};
use crate::memory::walk::{Components, Loop, Loops, Offsets};
use crate::reduction::Reduction;

/// Counts of the updates of each row: one for each value of an index, in each lane
/// that has indices of its own.
pub(in crate::memory) struct Counts<'c> {
    counts: Cow<'c, [u32]>,
    /// The loops and components of the walk that counts, in which counts are selected.
    pub(in crate::memory) loops: Loops,
    pub(in crate::memory) components: Components,
    /// The loops of the walk that divides: over all targets (selected) and their counts (listed).
    pub(in crate::memory) divide: Loops,
}

impl<'c> Counts<'c> {
    /// The counts for these loops of a scatter: `known` counts of an index plan, or zeros that are
    /// still to be counted.
    pub(in crate::memory) fn new(
        loops: &Loops,
        components: &Components,
        known: Option<&'c [u32]>,
    ) -> Result<Self> {
        let size = size_of::<u32>();
        let lanes = |level: &&Loop| level.reads_indices() && !level.entries;
        let width: usize = loops.iter().filter(lanes).map(|level| level.len).product();
        let (stepped, count) = steps(components, size, width);
        let mut step = (width * size) as isize;
        let (mut counting, mut divide) = (Loops::new(), Loops::new());
        for (target, counted) in components.iter().zip(&stepped) {
            let step = Offsets { selected: target.step, indices: 0, listed: counted.step };
            divide.push(Loop { len: target.len, step, entries: false });
        }
        for level in loops {
            let own = level.reads_indices() && !level.entries;
            if own {
                step /= level.len as isize;
            }
            let count = if own { step } else { 0 };
            if level.reads_indices() {
                let step = Offsets { selected: count, listed: 0, ..level.step };
                counting.push(Loop { step, ..*level });
            }
            if !level.entries {
                let step = Offsets { indices: 0, listed: count, ..level.step };
                divide.push(Loop { step, ..*level });
            }
        }
        divide.retain(|level| level.len > 1);
        let counts = match known {
            Some(known) => {
                assert_eq!(known.len(), count, "counts of other targets");
                Cow::Borrowed(known)
            }
            None => Cow::Owned(repeated(0, count)?),
        };
        Ok(Counts { counts, loops: counting, components: stepped, divide })
    }

    /// The first count.
    pub(in crate::memory) fn start(&self) -> *const u8 {
        self.counts.as_ptr().cast()
    }

    /// The first count, to count in; none if the counts are known.
    pub(in crate::memory) fn uncounted(&mut self) -> Option<*mut u8> {
        match &mut self.counts {
            Cow::Borrowed(_) => None,
            Cow::Owned(counts) => Some(counts.as_mut_ptr().cast()),
        }
    }

    /// Whether no target has two updates.
    pub(in crate::memory) fn are_at_most_one(&self) -> bool {
        self.counts.iter().fold(true, |least, &count| least & (count <= 1))
    }
}

impl Accumulation<'_> {
    /// Counts the updates of each target of a lane whose indices begin at this place.
    pub(super) fn count(&self, counts: &mut [u32], indices: isize) -> Result<(), Refused> {
        let (components, targets) = steps(self.components, size_of::<u32>(), 1);
        assert_eq!(counts.len(), targets, "a count for each target");
        counts.fill(0);
        let mut loops: Loops = self.entries().collect();
        loops.iter_mut().for_each(|level| level.step.listed = 0);
        let from = Offsets { indices, ..Offsets::ZERO };
        let one = 1_u32;
        let arrays = (counts.as_mut_ptr().cast(), (&raw const one).cast(), size_of::<u32>());
        let sum = in_target::<u32>(Reduction::Sum).expect(HAS_KERNELS);
        // SAFETY: the loops are those over the updates of a lane, with the steps of counts, of which there is one
        // for each target, in the place of the target's; all steps in the updates are 0, so that one value serves
        // as all of them.
        #[allow(unsafe_code)]
        unsafe {
            self.walk(loops, &components, from, arrays, &sum, 1)
        }
    }
}

/// The rows of a tile, each as one element, and their length, if they are dense and have one count each;
/// otherwise its elements, and 1. Elements have `size` bytes.
fn counted_rows<'t>(tile: &Tile<'t>, size: usize) -> (Tile<'t>, usize) {
    let inner = tile.inner;
    match inner.selected == size as isize && inner.listed == 0 {
        true => (Tile { inner: Steps { len: 1, ..inner }, ..*tile }, inner.len),
        false => (*tile, 1),
    }
}

/// Writes a value to all elements of rows (selected) whose counts (listed, `u32`) are not 0.
pub(in crate::memory) struct SetCounted(pub(in crate::memory) Set);

#[allow(unsafe_code)]
impl Kernel for SetCounted {
    unsafe fn run(&self, tile: &Tile<'_>) {
        let (rows, len) = counted_rows(tile, self.0.size());
        // SAFETY: the caller's promise, for each row or element.
        elements(&rows, |row, count| unsafe {
            if count.cast::<u32>().read() > 0 {
                self.0.row(row, len);
            }
        });
    }
}

/// Divides rows of sums (selected), which are elements, by their counts (listed, `u32`); counts
/// that are 0 leave their row as it is.
pub(in crate::memory) struct DivideCounted {
    pub(in crate::memory) quotients: Quotients,
    /// The size of an element in bytes.
    pub(in crate::memory) size: usize,
    /// Whether the value that the target held takes part: then each count is one more.
    pub(in crate::memory) init: bool,
}

#[allow(unsafe_code)]
impl Kernel for DivideCounted {
    unsafe fn run(&self, tile: &Tile<'_>) {
        let inner = tile.inner;
        let (dense, more) = (inner.selected == self.size as isize, u32::from(self.init));
        let row_by_row = Tile { inner: Steps { len: 1, ..inner }, ..*tile };
        if dense && inner.len > 1 && inner.listed == size_of::<u32>() as isize {
            // SAFETY: the caller's promise, for each row and its counts.
            return elements(&row_by_row, |sums, counts| unsafe {
                let counts = std::slice::from_raw_parts(counts.cast::<u32>(), inner.len);
                (self.quotients.each)(sums, counts, more);
            });
        }
        let (rows, len) = counted_rows(tile, self.size);
        // SAFETY: the caller's promise, for each row or element.
        elements(&rows, |sums, count| unsafe {
            let count = count.cast::<u32>().read();
            if count > 0 {
                (self.quotients.row)(sums, len, count + more);
            }
        });
    }
}
