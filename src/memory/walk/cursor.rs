//! The odometer: a position in a loop nest that advances by runs of the innermost loop.

use smallvec::SmallVec;

use super::{Loop, Offsets};

/// A position in a loop nest.
#[derive(Debug)]
pub(in crate::memory) struct Cursor<'a> {
    /// The innermost loop.
    run: Loop,
    /// The number of iterations of `run` that are done.
    done: usize,
    /// The loops around `run`, outermost first.
    around: &'a [Loop],
    /// The current iteration of each loop in `around`.
    counters: SmallVec<[usize; 5]>,
    /// The offsets in bytes of the current iteration.
    at: Offsets,
}

impl<'a> Cursor<'a> {
    /// The position of iteration number `iteration`, counted in row-major order, of loops that
    /// start at `base`, outermost first.
    ///
    /// Not inlined, so that the cursor is constructed in its final place. Otherwise it is moved
    /// by loads wider than the stores that have just written it, which store-to-load forwarding
    /// does not serve.
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

    /// Moves from the first iteration of all loops to iteration number `iteration`.
    fn start(&mut self, iteration: usize) {
        self.counters.resize(self.around.len(), 0);
        if iteration == 0 {
            return;
        }
        self.move_run(iteration % self.run.len);
        let mut rest = iteration / self.run.len;
        for (counter, level) in self.counters.iter_mut().zip(self.around).rev() {
            *counter = rest % level.len;
            rest /= level.len;
            self.at = self.at.after(*counter, level.step);
        }
    }

    /// Advances by iterations of the innermost loop.
    #[inline]
    fn move_run(&mut self, iterations: usize) {
        self.done += iterations;
        self.at = self.at.after(iterations, self.run.step);
    }

    /// Takes the next iterations of the innermost loop, up to its end and at most `limit`.
    /// Returns the offsets of the first of them, and their number.
    #[inline]
    pub(in crate::memory) fn take(&mut self, limit: usize) -> (Offsets, usize) {
        if self.done == self.run.len {
            self.carry();
        }
        let start = self.at;
        let count = limit.min(self.run.len - self.done);
        self.move_run(count);
        (start, count)
    }

    /// Moves to the start of the innermost loop in the next iteration of the loops around it;
    /// after the last iteration of all loops, to the first.
    fn carry(&mut self) {
        self.done = 0;
        self.at = self.at.before(self.run.len, self.run.step);
        for (counter, level) in self.counters.iter_mut().zip(self.around).rev() {
            *counter += 1;
            self.at = self.at.after(1, level.step);
            if *counter < level.len {
                return;
            }
            *counter = 0;
            self.at = self.at.before(level.len, level.step);
        }
    }
}

/// The number of iterations of a loop nest: the product of the lengths. It does not overflow,
/// since that of all axes of an array does not.
#[inline]
pub(in crate::memory) fn iterations(loops: &[Loop]) -> usize {
    let mut iterations = 1;
    for level in loops {
        iterations *= level.len;
    }
    iterations
}

/// The number of iterations of those loops that are over entries: the largest number of updates that one
/// target element can get.
#[inline]
pub(in crate::memory) fn iterations_over_entries(loops: &[Loop]) -> usize {
    loops.iter().filter(|level| level.entries).map(|level| level.len).product()
}
