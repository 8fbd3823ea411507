//! Rows that stay where they are, cut between threads as there are fewer rows than threads.
//!
//! ```text
//! row    [ a b c d e f | g h i j k l | m n o p q r ]      is rolled by 2, in three parts
//! kept     q r           e f           k l                the elements before each part, in its buffer
//! row    [ q r a b c d | e f g h i j | k l m n o p ]      once all are kept, each part moves its own
//! ```

use std::ops::Range;

use super::cycles::{Cycles, RowPosition};
use super::moves::{move_elements, move_up, swap};
use super::{Roll, StridedRow, WORK_MEMORY};
use crate::memory::work::WorkMemory;
use crate::parallel;

impl Roll {
    /// Whether rows can be cut in this number of parts: if the elements that a part keeps are few beside its own, or
    /// both halves of a row change places.
    pub(super) fn can_be_cut(&self, parts: usize) -> bool {
        let StridedRow { len, shift, size, .. } = self.row;
        let kept = self.row.shorter_run();
        let few = kept <= len / (4 * parts) && kept * size <= WORK_MEMORY / parts;
        few || (2 * shift == len && kept >= parts)
    }

    /// Rotates rows one after the other, each in as many parts as there are buffers, for which they
    /// [can be cut](Self::can_be_cut). Of halves that change places, parts swap their shares.
    pub(super) fn run_cut(&self, buffers: &WorkMemory) {
        let StridedRow { len, shift, size, .. } = self.row;
        let (cycles, parts) = (Cycles::new(&self.axes), buffers.parts());
        let fits = 2 * shift == len || self.row.shorter_run() * size <= buffers.bytes();
        assert!(self.can_be_cut(parts) && fits, "parts are long, and buffers hold what they keep");
        for number in 0..cycles.leaders.iter().product() {
            let offset = RowPosition::new(&self.axes, &cycles, number).offset;
            if 2 * shift == len {
                parallel::run(parts, &|part| {
                    self.swap_halves(offset, parallel::share(shift, parts, part));
                });
                continue;
            }
            let share = |part: usize| parallel::share(len, parts, part);
            parallel::run(parts, &|part| self.keep(offset, share(part), buffers.of(part)));
            parallel::run(parts, &|part| self.move_share(offset, share(part), buffers.of(part)));
        }
    }

    /// Swaps `elements` of the first half of the row with those of the second.
    #[allow(unsafe_code)]
    fn swap_halves(&self, offset: isize, elements: Range<usize>) {
        let StridedRow { shift, stride, size, .. } = self.row;
        let [left, right] = [0, shift].map(|half| self.at(offset, half + elements.start));
        // SAFETY: the elements are in bounds of the halves of the row (`run_cut`), and this part's alone.
        unsafe { swap(left, right, elements.len(), size, stride) };
    }

    /// Copies to the buffer those elements that a part of the row is to have and does not have.
    #[allow(unsafe_code)]
    fn keep(&self, offset: isize, part: Range<usize>, buffer: *mut u8) {
        let StridedRow { len, shift, stride, size } = self.row;
        let kept = self.row.shorter_run();
        let from = (if kept == shift { part.start + len - shift } else { part.end }) % len;
        // SAFETY: the `kept` elements before a part, or after it, are in bounds of the row, since parts are
        // longer, and nothing is written meanwhile (`run_cut`). The buffer has room for them (`run_cut`).
        unsafe {
            move_elements(self.at(offset, from), buffer, kept, size, [stride, size as isize]);
        }
    }

    /// Moves the elements of a part of the row, and those in the buffer, to where they belong in it.
    #[allow(unsafe_code)]
    fn move_share(&self, offset: isize, part: Range<usize>, buffer: *mut u8) {
        let StridedRow { shift, stride, size, .. } = self.row;
        let kept = self.row.shorter_run();
        let (first, rest, packed) = (self.at(offset, part.start), part.len() - kept, size as isize);
        let end = |elements: usize| self.at(offset, part.start + elements);
        // SAFETY: the elements are in bounds of the row and this part's alone, and those that leave it are in the
        // buffers of others (`run_cut`). Parts are longer than `kept` (`can_be_cut`).
        unsafe {
            if kept == shift {
                move_up(first, rest, kept, size, stride);
                move_elements(buffer, first, kept, size, [packed, stride]);
            } else {
                move_elements(end(kept), first, rest, size, [stride; 2]);
                move_elements(buffer, end(rest), kept, size, [packed, stride]);
            }
        }
    }
}
