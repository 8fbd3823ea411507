//! Counts of updates, kept apart from what they are updates of.

use std::borrow::Cow;

use super::kinds::DivideRow;
use super::steps;
use crate::error::Result;
use crate::memory::alloc::repeated;
use crate::memory::combine::apply::elements;
use crate::memory::tile::{Kernel, Steps, Tile};
use crate::memory::walk::{Components, Loop, Loops, Offsets};

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
    unsafe {
        let one = |count: *mut u8, _: *mut u8| *count.cast::<u32>() += 1;
        if tile.inner.len == 1 { tile.each(one) } else { elements(tile, one) }
    }
}

/// Divides rows of sums (selected) by their counts (listed, `u32`), where a sum
/// is an element; `init` tells whether the value that the target held takes part.
pub(in crate::memory) struct Divide {
    pub(in crate::memory) row: DivideRow,
    pub(in crate::memory) size: usize,
    pub(in crate::memory) init: bool,
}

#[allow(unsafe_code)]
impl Kernel for Divide {
    unsafe fn run(&self, tile: &Tile<'_>) {
        let inner = tile.inner;
        let dense = inner.selected == self.size as isize && inner.listed == 0;
        let (rows, len) = if dense {
            (Tile { inner: Steps { len: 1, ..inner }, ..*tile }, inner.len)
        } else {
            (*tile, 1)
        };
        // SAFETY: the caller's promise, for each row, or else each element.
        elements(&rows, |sums, count| unsafe {
            let count = count.cast::<u32>().read();
            if count > 0 {
                (self.row)(sums, len, count + u32::from(self.init));
            }
        });
    }

    unsafe fn nowhere(&self, _: &Tile<'_>) {}
}
