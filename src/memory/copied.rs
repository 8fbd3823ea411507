//! Indices and updates that are copied in whole, contiguous, before they are used.

use super::gather::copy_plain;
use super::indices::Indices;
use super::strided::Strided;
use super::walk::{Components, Loop, Loops, Offsets, Order, Walk, iterations, merge};
use super::work::Buffers;
use crate::error::Result;
use crate::parallel;
use crate::threshold::threshold;

/// The array of a walk that is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Copied {
    Indices,
    Listed,
}

impl Copied {
    /// The step of a loop in this array.
    pub(super) fn step(self, level: &Loop) -> isize {
        match self {
            Copied::Indices => level.step.indices,
            Copied::Listed => level.step.listed,
        }
    }

    fn step_mut(self, level: &mut Loop) -> &mut isize {
        match self {
            Copied::Indices => &mut level.step.indices,
            Copied::Listed => &mut level.step.listed,
        }
    }
}

/// A contiguous copy of the indices or of the updates of a walk.
///
/// Invariant: the buffer has a copy of `count` elements, of the type of the array that was copied.
pub(super) struct Contiguous {
    buffer: Buffers,
    count: [usize; 1],
}

impl Contiguous {
    /// A copy, in the order of these loops, of an array of elements of `size` bytes that begins at `start`. It
    /// repeats what the array does: a loop with a step of 0 has none in the copy.
    ///
    /// # Safety
    /// The loops do not leave the array, whose elements are plain, in memory that is borrowed.
    #[allow(unsafe_code)]
    pub(super) unsafe fn of(
        loops: &[Loop],
        array: Copied,
        start: *const u8,
        size: usize,
    ) -> Result<Self> {
        let own = || loops.iter().filter(|level| array.step(level) != 0);
        let count = own().map(|level| level.len).product::<usize>();
        let buffer = Buffers::new(1, count.saturating_mul(size))?;
        let (mut listed, mut copied) = (size as isize, Loops::new());
        for level in own().rev() {
            let step = Offsets { selected: array.step(level), indices: 0, listed };
            copied.insert(0, Loop { len: level.len, step, entries: false });
            listed *= level.len as isize;
        }
        let walks = Walk::new(copied, Components::new(), Order::Listed(size));
        let parts = parallel::parts(walks.0.cost(size));
        // SAFETY: the caller's promise; in the buffer, the loops are over as many elements, for which it has
        // room.
        unsafe { copy_plain(&walks, size, start, buffer.of(0), parts) };
        Ok(Contiguous { buffer, count: [count] })
    }

    /// Lets loops run over such a copy in place of the array.
    pub(super) fn redirect(loops: &mut Loops, array: Copied, size: usize) {
        let mut step = size as isize;
        for level in loops.iter_mut().rev().filter(|level| array.step(level) != 0) {
            *array.step_mut(level) = step;
            step *= level.len as isize;
        }
    }

    /// The copy, of indices of this type.
    pub(super) fn indices<'s>(&'s self, copied: &Indices<'_>) -> Indices<'s> {
        // SAFETY: the buffer has a copy of so many of these indices (invariant).
        #[allow(unsafe_code)]
        unsafe {
            copied.packed(self.buffer.of(0), &self.count)
        }
    }

    /// The copy, of elements of `size` bytes.
    pub(super) fn elements(&self, size: usize) -> Strided<'_> {
        // SAFETY: the buffer has a copy of so many elements (invariant).
        #[allow(unsafe_code)]
        unsafe {
            Strided::contiguous(self.buffer.of(0), &self.count, size)
        }
    }
}

impl Contiguous {
    /// A copy of indices in short rows with gaps between them, as of some columns of a table, over which the loops
    /// of the walk run then; `None` for others, and where memory is refused. Loops over rows begin anew with each: 100,000 in
    /// rows of 5 of 6.
    pub(super) fn of_short_rows(
        walk: &mut Walk,
        indices: &Indices<'_>,
        size: usize,
    ) -> Option<Self> {
        /// The fewest indices that are copied, and the most of a row.
        const FEWEST: usize = threshold(1 << 10, 20);
        const LONGEST: usize = threshold(32, 6);
        /// The most bytes that each index selects: more take longer than what is saved.
        const MOST_BYTES: usize = threshold(128, 64);
        let loops = &mut walk.loops;
        let own = || loops.iter().filter(|level| level.step.indices != 0);
        let width = indices.size() as isize;
        let run = own().find(|level| level.step.indices == width)?;
        let after = width * run.len as isize;
        let gaps = own().count() > 1 && !own().any(|level| level.step.indices == after);
        let count = own().map(|level| level.len).product::<usize>();
        let row = iterations(loops) / count.max(1) * size;
        let pays = (2..=LONGEST).contains(&run.len) && gaps && count >= FEWEST && row <= MOST_BYTES;
        if !pays || walk.components.len() > 1 || indices.positions().is_some() {
            return None;
        }
        // SAFETY: the loops are over the axes of the indices, which are plain integers.
        #[allow(unsafe_code)]
        let copy = unsafe { Self::of(loops, Copied::Indices, indices.start(), indices.size()) };
        let copy = copy.ok()?;
        Self::redirect(loops, Copied::Indices, indices.size());
        merge(loops);
        Some(copy)
    }
}
