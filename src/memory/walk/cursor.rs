//! The odometer: a place in nested loops that moves on run by run.

use smallvec::SmallVec;

use super::{Loop, Offsets};

/// A place in nested loops, outermost first.
#[derive(Debug)]
pub(in crate::memory) struct Cursor<'a> {
    loops: &'a [Loop],
    counters: SmallVec<[usize; 6]>,
    at: Offsets,
}

impl<'a> Cursor<'a> {
    /// The place of turn number `turn`, in row-major order, of loops that start
    /// at `base`.
    #[inline]
    pub(in crate::memory) fn new(loops: &'a [Loop], base: Offsets, turn: usize) -> Self {
        let mut cursor = Cursor { loops, counters: SmallVec::from_elem(0, loops.len()), at: base };
        let mut rest = turn;
        for (counter, one) in cursor.counters.iter_mut().zip(loops).rev() {
            if rest == 0 {
                break;
            }
            *counter = rest % one.len;
            rest /= one.len;
            cursor.at = cursor.at.after(*counter, one.step);
        }
        cursor
    }

    /// Takes turns of the innermost loop, up to its end and no more than
    /// `most`: where they start, and how many.
    #[inline]
    pub(in crate::memory) fn take(&mut self, most: usize) -> (Offsets, usize) {
        let start = self.at;
        let Some((run, around)) = self.loops.split_last() else {
            return (start, 1);
        };
        let innermost = around.len();
        let count = most.min(run.len - self.counters[innermost]);
        self.counters[innermost] += count;
        self.at = self.at.after(count, run.step);
        if self.counters[innermost] == run.len {
            self.carry();
        }
        (start, count)
    }

    /// Moves the loops around on by one turn, back to the start from the end.
    fn carry(&mut self) {
        for (number, one) in self.loops.iter().enumerate().rev() {
            let counter = &mut self.counters[number];
            if *counter < one.len {
                return;
            }
            *counter = 0;
            let back = |by: isize| by.wrapping_neg();
            let step = one.step;
            let step = Offsets {
                selected: back(step.selected),
                indices: back(step.indices),
                listed: back(step.listed),
            };
            self.at = self.at.after(one.len, step);
            if let Some(around) = number.checked_sub(1) {
                self.counters[around] += 1;
                self.at = self.at.after(1, self.loops[around].step);
            }
        }
    }
}

/// How many turns nested loops take. The product of the lengths of an array's
/// axes does not overflow; neither does that of loops over some of them.
pub(in crate::memory) fn turns(loops: &[Loop]) -> usize {
    loops.iter().map(|one| one.len).product()
}
