//! Memory on the stack for the offsets of a chunk.

use std::mem::MaybeUninit;

use super::cpu::{Rows, transpose};

/// Memory for an offset. Slots are not part of [`Buffer`], since compilers clear a struct as a
/// whole rather than leave most of it uninitialised.
pub(super) type Slot = MaybeUninit<isize>;

/// A list of offsets, of the capacity of the borrowed slots.
///
/// Invariant: the first `len` slots have been written.
pub(super) struct Buffer<'b> {
    slots: &'b mut [Slot],
    len: usize,
}

impl<'b> Buffer<'b> {
    #[inline(always)]
    pub(super) fn new(slots: &'b mut [Slot]) -> Self {
        Buffer { slots, len: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Keeps the first `len` offsets, or all if there are fewer.
    pub(super) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Appends `count` offsets, which `write` writes to their slots; returns what `write` does.
    ///
    /// # Safety
    /// `write` writes every slot that it is handed.
    #[allow(unsafe_code)]
    #[inline(always)]
    pub(super) unsafe fn extend<R>(
        &mut self,
        count: usize,
        write: impl FnOnce(&mut [MaybeUninit<isize>]) -> R,
    ) -> R {
        let result = write(&mut self.slots[self.len..self.len + count]);
        self.len += count;
        result
    }

    /// Appends an offset.
    #[inline]
    pub(super) fn push(&mut self, offset: isize) {
        self.slots[self.len].write(offset);
        self.len += 1;
    }

    /// Appends these offsets.
    pub(super) fn extend_copy(&mut self, offsets: &[isize]) {
        let slots = &mut self.slots[self.len..self.len + offsets.len()];
        for (slot, offset) in slots.iter_mut().zip(offsets) {
            slot.write(*offset);
        }
        self.len += offsets.len();
    }

    /// Appends `count` offsets: `start`, `start + step`, ...
    #[inline]
    pub(super) fn extend_ramp(&mut self, count: usize, start: isize, step: isize) {
        let mut value = start;
        for slot in &mut self.slots[self.len..self.len + count] {
            slot.write(value);
            value = value.wrapping_add(step);
        }
        self.len += count;
    }

    /// Appends the offsets of a matrix with rows of `columns`, column by column.
    pub(super) fn extend_transposed(&mut self, matrix: &[isize], columns: usize) {
        const SIZE: usize = size_of::<isize>();
        let rows = matrix.len() / columns;
        let step = |len: usize| (len * SIZE) as isize;
        let to = &mut self.slots[self.len..][..rows * columns];
        let from = Rows { first: matrix.as_ptr().cast_mut().cast(), step: step(columns) };
        let to = Rows { first: to.as_mut_ptr().cast(), step: step(rows) };
        // SAFETY: `rows` rows of the matrix hold `rows * columns` of its offsets, at most all, and the
        // slots are as many; they are borrowed exclusively.
        #[allow(unsafe_code)]
        unsafe {
            transpose::<SIZE, { 16 / SIZE }>(from, to, rows, columns);
        }
        self.len += rows * columns;
    }

    /// Replaces each offset by as many of its kind as `times` says.
    #[inline]
    pub(super) fn repeat_each(&mut self, times: usize) {
        let len = self.len;
        // From the last one on, so that none is overwritten before it is read.
        for number in (0..len).rev() {
            let slot = self.slots[number];
            self.slots[number * times..][..times].fill(slot);
        }
        self.len = len * times;
    }

    /// Holds from now on the offset of each iteration of a loop nest, given the number of iterations
    /// and the step of each loop, outermost first. For two loops:
    ///
    /// ```text
    /// for i in 0..iterations[0]
    ///   for j in 0..iterations[1]
    ///     push(i * step[0] + j * step[1])
    /// ```
    #[inline(never)]
    pub(super) fn set_iterations(
        &mut self,
        loops: impl DoubleEndedIterator<Item = (usize, isize)>,
    ) {
        self.clear();
        self.push(0);
        for (iterations, step) in loops.rev() {
            // Append a shifted copy of all offsets of the loop so far: their number doubles each
            // time.
            let (end, mut by) = (self.len * iterations, step);
            while self.len < end {
                let (done, rest) = self.slots.split_at_mut(self.len);
                let rest = &mut rest[..end - self.len];
                for (slot, value) in rest.iter_mut().zip(done) {
                    // SAFETY: slots below `len` have been written.
                    #[allow(unsafe_code)]
                    let value = unsafe { value.assume_init() };
                    slot.write(value.wrapping_add(by));
                }
                self.len = end.min(2 * self.len);
                by = by.wrapping_mul(2);
            }
        }
    }

    #[allow(unsafe_code)]
    #[inline(always)]
    pub(super) fn values(&self) -> &[isize] {
        // SAFETY: the first `len` slots have been written.
        unsafe { &*(std::ptr::from_ref(&self.slots[..self.len]) as *const [isize]) }
    }

    #[inline(always)]
    pub(super) fn values_mut(&mut self) -> &mut [isize] {
        Buffer { slots: &mut *self.slots, len: self.len }.into_values()
    }

    /// The offsets, for as long as the slots are borrowed.
    #[allow(unsafe_code)]
    #[inline(always)]
    pub(super) fn into_values(self) -> &'b mut [isize] {
        // SAFETY: the first `len` slots have been written.
        unsafe { &mut *(std::ptr::from_mut(&mut self.slots[..self.len]) as *mut [isize]) }
    }
}
