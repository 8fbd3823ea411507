//! Short runs of indices as one lane.

use super::elements::BLOCK;
use crate::memory::walk::{Loop, iterations};
use crate::threshold::threshold;

/// Most indices of a run that is joined with others although all of its indices select along the
/// same axis, and none beside the one before it.
const SHORT: usize = threshold(16, 4);

/// Innermost loops of which each iteration of the loop around them has a run of contiguous indices
/// and listed elements, which continues where the run of the iteration before ends.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) struct Joined {
    /// The number of the first of these loops.
    pub(in crate::memory) first: usize,
    /// The number of indices of a run, `BLOCK` at most.
    pub(in crate::memory) run: usize,
}

impl Joined {
    /// As many of the innermost loops of a nest as make a short run; `None` if the innermost one does
    /// not. Its indices, of `size` bytes, and its listed elements are contiguous.
    pub(in crate::memory) fn of(nest: &[Loop], size: usize) -> Option<Self> {
        let last = nest.last()?;
        // Whether the runs of these loops, of `run` indices, follow each other.
        let follow = |first: usize, run: usize| {
            let indices = (run * size) as isize;
            let listed = (run as isize).wrapping_mul(last.step.listed);
            first > 0 && {
                let around = nest[first - 1].step;
                (around.indices, around.listed) == (indices, listed)
            }
        };
        let mut joined = Joined { first: nest.len() - 1, run: last.len };
        let most = if last.step.selected == 0 { SHORT } else { BLOCK };
        if !(2..=most).contains(&joined.run) || !follow(joined.first, joined.run) {
            return None;
        }
        while joined.first > 1 {
            let first = joined.first - 1;
            let run = joined.run * nest[first].len;
            if run > BLOCK || !follow(first, run) {
                break;
            }
            joined = Joined { first, run };
        }
        Some(joined)
    }
}

/// Short runs of indices as one lane: a table of the offset ([`Beside`](super::elements::Beside)) of
/// each index in a block of whole runs.
///
/// 85,000 runs of 2: one by one 0.42 ms -> as one lane 0.13 ms.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) struct ShortRuns {
    offsets: [isize; BLOCK],
    /// Number of indices in a block: whole runs, `BLOCK` indices at most.
    count: usize,
    /// The distance in bytes from what a block selects to what the next block does.
    pub(super) advance: isize,
}

impl ShortRuns {
    /// The table for runs over `loops`, the first of which selects `across` bytes further on than that
    /// of the run before, if they have 2 to `BLOCK` indices.
    pub(in crate::memory) fn of(loops: &[Loop], across: isize) -> Option<Self> {
        let run = iterations(loops);
        if !(2..=BLOCK).contains(&run) {
            return None;
        }
        let mut offsets = [0; BLOCK];
        for (k, offset) in offsets.iter_mut().enumerate() {
            *offset = across.wrapping_mul((k / run) as isize);
            let mut rest = k % run;
            for level in loops.iter().rev() {
                let iteration = (rest % level.len) as isize;
                *offset = offset.wrapping_add(iteration.wrapping_mul(level.step.selected));
                rest /= level.len;
            }
        }
        let runs = BLOCK / run;
        let advance = across.wrapping_mul(runs as isize);
        Some(ShortRuns { offsets, count: runs * run, advance })
    }

    /// Number of indices in a block of whole runs.
    #[inline]
    pub(in crate::memory) fn len(&self) -> usize {
        self.count
    }

    /// The offset of each index of a block, in bytes.
    pub(super) fn offsets(&self) -> &[isize] {
        &self.offsets[..self.count]
    }

    /// The offset of index number `k` of a block, in bytes.
    ///
    /// # Safety
    /// `k` is less than [`len`](Self::len).
    #[allow(unsafe_code)]
    #[inline(always)]
    pub(in crate::memory) unsafe fn beside(&self, k: usize) -> isize {
        // SAFETY: the caller's promise; whole runs have no more than `BLOCK` indices (`of`).
        unsafe { *self.offsets.get_unchecked(k) }
    }
}
