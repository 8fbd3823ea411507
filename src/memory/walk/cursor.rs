//! The odometer: a place in nested loops that moves on run by run.

use smallvec::SmallVec;

use super::{Loop, Offsets};

/// A place in nested loops, outermost first.
#[derive(Debug)]
pub(in crate::memory) struct Cursor<'a> {
    /// The innermost loop, and how many of its iterations are done.
    run: Loop,
    done: usize,
    /// The loops around it, and the iteration that each is in.
    around: &'a [Loop],
    counters: SmallVec<[usize; 5]>,
    at: Offsets,
}

impl<'a> Cursor<'a> {
    /// The place of iteration number `iteration`, in row-major order, of loops that start
    /// at `base`.
    ///
    /// Not inlined, since it is then made where it stays: moved, it waits for what has just been
    /// written of it.
    #[inline(never)]
    pub(in crate::memory) fn new(loops: &'a [Loop], base: Offsets, iteration: usize) -> Self {
        let (run, around) = match loops.split_last() {
            Some((run, around)) => (*run, around),
            None => (Loop::ONCE, loops),
        };
        let (done, counters) = (0, SmallVec::new());
        let mut cursor = Cursor { run, done, around, counters, at: base };
        if around.is_empty() {
            cursor.move_run(iteration);
        } else {
            cursor.start(iteration);
        }
        cursor
    }

    /// Moves from the first iteration of all loops to this one.
    fn start(&mut self, iteration: usize) {
        self.counters.resize(self.around.len(), 0);
        if iteration == 0 {
            return;
        }
        self.move_run(iteration % self.run.len);
        let mut rest = iteration / self.run.len;
        for (counter, one) in self.counters.iter_mut().zip(self.around).rev() {
            *counter = rest % one.len;
            rest /= one.len;
            self.at = self.at.after(*counter, one.step);
        }
    }

    #[inline]
    fn move_run(&mut self, iterations: usize) {
        self.done += iterations;
        self.at = self.at.after(iterations, self.run.step);
    }

    /// Takes iterations of the innermost loop, up to its end and no more than
    /// `most`: where they start, and how many.
    #[inline]
    pub(in crate::memory) fn take(&mut self, most: usize) -> (Offsets, usize) {
        if self.done == self.run.len {
            self.carry();
        }
        let start = self.at;
        let count = most.min(self.run.len - self.done);
        self.move_run(count);
        (start, count)
    }

    /// Starts the innermost loop anew in the next iteration of those around it, or
    /// from the end back at the first.
    fn carry(&mut self) {
        self.done = 0;
        self.at = self.at.before(self.run.len, self.run.step);
        for (counter, one) in self.counters.iter_mut().zip(self.around).rev() {
            *counter += 1;
            self.at = self.at.after(1, one.step);
            if *counter < one.len {
                return;
            }
            *counter = 0;
            self.at = self.at.before(one.len, one.step);
        }
    }
}

/// How many iterations nested loops take. The product of the lengths of an array's
/// axes does not overflow; neither does that of loops over some of them.
#[inline]
pub(in crate::memory) fn iterations(loops: &[Loop]) -> usize {
    let mut iterations = 1;
    for one in loops {
        iterations *= one.len;
    }
    iterations
}
