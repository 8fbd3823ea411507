//! Indices and updates that are copied in whole, contiguous, before they are used.
//!
//! Among them are those of scatters that lie transposed, as images and volumes in Fortran order. The updates of one
//! target keep the row-major order of their indices, in which each index and each update of such arrays is read from
//! a cache line of its own; these lines do not stay cached until they are used again. So if updates may come in any
//! order, the loops follow the indices in memory. If they may not, those of the two that lie so (updates of plain
//! types only) are copied in row-major order first.

use super::cpu::LINE;
use super::gather::copy_plain;
use super::indices::Indices;
use super::strided::Strided;
use super::walk::{Components, Loop, Loops, Offsets, Order, Walk, iterations, merge};
use super::work::WorkMemory;
use crate::parallel;
use crate::threshold::threshold;

/// The most bytes that each index selects for which a copy of the indices pays; `None` if it never does. Indices have
/// `width` bytes, and these loops read them.
fn most_bytes(own: &[Loop], width: isize) -> Option<usize> {
    /// The most indices of a short row.
    const LONGEST: usize = threshold(32, 6);
    let step = |level: &Loop| level.step.indices;
    let Some(run) = own.iter().find(|level| step(level) == width) else {
        // Evenly spaced indices, as a column of a table, are resolved by scalar instructions: 100,000 `f32` gathered
        // by a column of two 133 -> 91 µs, of five 239 -> 120, by a reversed list 181 -> 81.
        return Some(16);
    };
    // Loops over short rows begin anew with each: rows of 3 `f32` by 5,000 rows of 5 of 6 indices 166 -> 53 µs.
    let after = width * run.len as isize;
    let apart = own.len() > 1 && !own.iter().any(|level| step(level) == after);
    ((2..=LONGEST).contains(&run.len) && apart).then_some(threshold(128, 64))
}

/// The array of a walk that is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Copied {
    Indices,
    Listed,
}

impl Copied {
    /// The step of a loop in this array.
    fn step(self, level: &Loop) -> isize {
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

/// Whether the innermost of loops over entries, which are all, reads a line for each element of an array in which
/// another loop reads adjacent ones.
fn array_lies_across(loops: &[Loop], array: Copied) -> bool {
    /// The fewest entries that share a cache line.
    const SHARING: usize = threshold(8, 2);
    let Some((last, around)) = loops.split_last() else { return false };
    let step = |level: &Loop| array.step(level).unsigned_abs();
    let line = threshold(LINE, 4);
    let near = |level: &Loop| (1..line).contains(&step(level)) && level.len >= SHARING;
    step(last) >= line && around.iter().any(near)
}

/// The fewest entries that are copied as they lie across their order.
const FEWEST: usize = threshold(4 << 10, 20);

/// Whether the loops of a walk are all entries of indices or updates that lie across their order.
pub(super) fn any_lies_across(walk: &Walk) -> bool {
    walk.loops.len() > 1
        && walk.components.len() == 1
        && walk.loops.iter().all(|level| level.entries && level.step.indices != 0)
        && [Copied::Indices, Copied::Listed]
            .iter()
            .any(|array| array_lies_across(&walk.loops, *array))
        && iterations(&walk.loops) >= FEWEST
}

/// A contiguous copy of the indices or of the updates of a walk.
///
/// Invariant: the buffer has a copy of `count` elements of `size` bytes, of the type of the array that was copied.
pub(super) struct Contiguous {
    array: Copied,
    buffer: WorkMemory,
    count: [usize; 1],
    size: usize,
}

impl Contiguous {
    /// A copy, in the order of these loops, of an array of elements of `size` bytes that begins at `start`. What the
    /// array repeats is copied once: a loop with a step of 0 keeps it. `None` where memory is refused, and of an array
    /// whose elements overlap, of which a copy might take far more memory than the array.
    ///
    /// # Safety
    /// The loops do not leave the array, whose elements are plain, in memory that is borrowed.
    #[allow(unsafe_code)]
    unsafe fn of(loops: &[Loop], array: Copied, start: *const u8, size: usize) -> Option<Self> {
        let own = || loops.iter().filter(|level| array.step(level) != 0);
        let count = own().map(|level| level.len).product::<usize>();
        let distance = |level: &Loop| {
            array.step(level).unsigned_abs().saturating_mul(level.len.saturating_sub(1))
        };
        let span = own().map(distance).fold(size, usize::saturating_add);
        let bytes = count.checked_mul(size).filter(|&bytes| bytes <= span)?;
        let buffer = WorkMemory::new(1, bytes).ok()?;
        let (mut listed, mut copied) = (size as isize, Loops::new());
        for level in own().rev() {
            let step = Offsets { selected: array.step(level), indices: 0, listed };
            copied.insert(0, Loop { len: level.len, step, entries: false });
            listed *= level.len as isize;
        }
        let walk = Walk::new(copied, Components::new(), Order::Listed(size));
        let parts = parallel::parts(walk.cost(size));
        // SAFETY: the caller's promise; in the buffer, the loops are over as many elements, for which it has
        // room.
        unsafe { copy_plain(&walk, size, start, buffer.of(0), parts) };
        Some(Contiguous { array, buffer, count: [count], size })
    }

    /// A copy of indices that lie apart, as some columns of a table, over which the loops of the walk run then;
    /// `None` for others, and where [`of`](Self::of) makes none. Each index selects elements of `size` bytes.
    pub(super) fn of_indices(walk: &mut Walk, indices: &Indices<'_>, size: usize) -> Option<Self> {
        /// The fewest indices that are copied.
        const MANY: usize = threshold(1 << 10, 20);
        if walk.components.len() > 1 || indices.positions().is_some() {
            return None;
        }
        let loops = &mut walk.loops;
        let own: Loops = loops.iter().filter(|level| level.step.indices != 0).copied().collect();
        let count = iterations(&own);
        let row = (iterations(loops) / count.max(1)).saturating_mul(size);
        let most = most_bytes(&own, indices.size() as isize)?;
        if count < MANY || !(1..=most).contains(&row) {
            return None;
        }
        // SAFETY: the loops are over the axes of the indices, with their steps.
        #[allow(unsafe_code)]
        unsafe {
            Self::of_all(loops, indices)
        }
    }

    /// A copy of indices of one number that lie across these loops over all of them, which run over it then; `None` of
    /// others, and where [`of`](Self::of) makes none. A plan of 4M transposed ones is made in 25 -> 14.5 ms.
    pub(super) fn of_transposed(
        loops: &mut Loops,
        indices: &Indices<'_>,
        numbers: usize,
    ) -> Option<Self> {
        if numbers > 1 || !array_lies_across(loops, Copied::Indices) || iterations(loops) < FEWEST {
            return None;
        }
        // SAFETY: the loops are over the axes of the indices, with their steps.
        #[allow(unsafe_code)]
        unsafe {
            Self::of_all(loops, indices)
        }
    }

    /// A copy of indices, over which these loops run then.
    ///
    /// # Safety
    /// The loops do not leave the array of the indices.
    #[allow(unsafe_code)]
    unsafe fn of_all(loops: &mut Loops, indices: &Indices<'_>) -> Option<Self> {
        // SAFETY: the caller's promise; indices are plain integers.
        let copy = unsafe { Self::of(loops, Copied::Indices, indices.start(), indices.size()) }?;
        copy.redirect(loops);
        merge(loops);
        Some(copy)
    }

    /// Copies of the indices and of the updates of a walk, of those that lie across its loops, which run over them
    /// then; an array of which none can be made is used as it is. Updates are copied if they are `plain`.
    pub(super) fn row_major(
        loops: &mut Loops,
        indices: &Indices<'_>,
        updates: &Strided<'_>,
        plain: bool,
    ) -> [Option<Self>; 2] {
        let mut copy = |array: Copied, start: *const u8, size: usize| {
            if !array_lies_across(loops, array) {
                return None;
            }
            // SAFETY: the loops are over the axes of the array, with its steps; indices are plain, and updates
            // where they are copied.
            #[allow(unsafe_code)]
            let copy = unsafe { Self::of(loops, array, start, size) }?;
            copy.redirect(loops);
            Some(copy)
        };
        let of_indices = copy(Copied::Indices, indices.start(), indices.size());
        let size = updates.layout().size();
        let of_updates = if plain { copy(Copied::Listed, updates.start(), size) } else { None };
        merge(loops);
        [of_indices, of_updates]
    }

    /// Lets the loops that this was made for run over the copy in place of the array.
    fn redirect(&self, loops: &mut Loops) {
        let mut step = self.size as isize;
        for level in loops.iter_mut().rev().filter(|level| self.array.step(level) != 0) {
            *self.array.step_mut(level) = step;
            step *= level.len as isize;
        }
    }

    /// The copy, of indices of this type.
    pub(super) fn indices<'s>(&'s self, copied: &Indices<'_>) -> Indices<'s> {
        assert!(self.array == Copied::Indices && copied.size() == self.size, "a copy of others");
        // SAFETY: the buffer has a copy of so many indices (invariant) of this size (asserted), and so of a
        // type of which all bytes are valid.
        #[allow(unsafe_code)]
        unsafe {
            copied.packed(self.buffer.of(0), &self.count)
        }
    }

    /// The copy, of updates.
    pub(super) fn updates(&self) -> Strided<'_> {
        assert!(self.array == Copied::Listed, "a copy of others");
        // SAFETY: the buffer has a copy of so many elements of this size (invariant).
        #[allow(unsafe_code)]
        unsafe {
            Strided::contiguous(self.buffer.of(0), &self.count, self.size)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A copy of what overlaps would take more memory than the array.
    #[test]
    fn arrays_that_overlap_are_not_copied() {
        let bytes: Vec<u8> = (0..100).collect();
        let copy = |steps: [isize; 2], size: usize| {
            let level = |indices: isize| Loop {
                len: 5,
                step: Offsets { selected: 0, indices, listed: 0 },
                entries: true,
            };
            // SAFETY: the loops reach byte 92 at most, of 100 plain ones.
            #[allow(unsafe_code)]
            unsafe {
                Contiguous::of(&steps.map(level), Copied::Indices, bytes.as_ptr(), size)
            }
        };
        assert!(copy([2, 2], 2).is_none());
        assert!(copy([1, 4], 1).is_none());
        assert!(copy([4, 0], 8).is_none());
        assert!(copy([5, 1], 1).is_some());
        assert!(copy([3, 20], 2).is_some());
        assert!(copy([8, 0], 8).is_some());
    }
}
