//! Sorted indices: the updates of each target follow each other, so that several threads may each take
//! a piece of them.

use std::ops::Range;
use std::sync::atomic::Ordering;

use super::{CHUNK, Indices, Walk};
use crate::index::Policy;
use crate::parallel::{self, Cost};
use crate::sync::AtomicBool;

impl Indices<'_> {
    /// Whether the indices of a walk are sorted, so that the entries of each target are contiguous:
    /// `0 <= indices[0] <= indices[1] <= ...`. False unless each index is an entry of the walk's
    /// only loop over entries. The scan ends soon after the first index that is less than the one
    /// before.
    pub(in crate::memory) fn are_sorted(&self, walk: &Walk, policy: Policy) -> bool {
        let ([entries], [_]) = (walk.nest(), &walk.components[..]) else { return false };
        // Under these policies different indices select different targets.
        let distinct = matches!(policy, Policy::Refuse | Policy::Skip);
        if !(distinct && entries.entries && entries.step.indices != 0) {
            return false;
        }
        let (first, step) = (walk.base.indices, entries.step.indices);
        // SAFETY: the lane is a loop of the walk over the indices' own axes, which stays in them.
        #[allow(unsafe_code)]
        unsafe {
            (self.sorted && self.is_one_loop(walk)) || self.lane_sorted(first, step, entries.len)
        }
    }

    /// Whether the first indices of a walk's innermost loop over entries are sorted; if they are,
    /// the others mostly are too.
    pub(in crate::memory) fn begin_sorted(&self, walk: &Walk) -> bool {
        /// This many indices are not sorted by chance.
        const FIRST: usize = 32;
        let Some(run) = walk.nest().last().filter(|run| run.len >= FIRST) else { return false };
        // SAFETY: the lane is a loop of the walk over the indices' own axes, which stays in them.
        #[allow(unsafe_code)]
        unsafe {
            (self.kind.all_sorted)(self.lane(walk.base.indices, run.step.indices), FIRST)
        }
    }

    /// The same indices, if all are in bounds of the axes along which their numbers select. If several
    /// threads may use what is sorted, it is known then whether these are, which takes no longer to find
    /// out: only the last of sorted indices is compared with the axis.
    pub(in crate::memory) fn checked(self, walk: &Walk) -> Option<Self> {
        let one_each = || walk.loops.iter().all(|level| level.entries || level.step.indices == 0);
        if let [axis] = &walk.components[..] {
            if let Some(last) = one_each().then(|| self.last_sorted()).flatten() {
                return (last < axis.len as i128).then_some(Indices { sorted: true, ..self });
            }
        }
        self.inside(&walk.components).then_some(self)
    }

    /// The last of many contiguous indices, if they are sorted and not negative.
    fn last_sorted(&self) -> Option<i128> {
        let (count, size) = (self.layout().len(), self.kind.size);
        let scattered = Cost::of_near(count).plus(Cost::of_bytes(count.saturating_mul(size)));
        let useless = self.positions.is_some() || parallel::parts(scattered) == 1;
        if useless || !self.layout().is_dense() {
            return None;
        }
        // SAFETY: the indices are all of the array, contiguous (`is_dense`) and not empty, as work for
        // several threads is not.
        #[allow(unsafe_code)]
        unsafe {
            self.lane_sorted(0, size as isize, count)
                .then(|| self.value(((count - 1) * size) as isize))
        }
    }

    /// Whether `count` indices, at least one, are sorted and not negative: those of the
    /// [lane](Self::lane) that starts `first` bytes after the first index.
    ///
    /// # Safety
    /// All indices of the lane are elements of this array.
    #[allow(unsafe_code)]
    unsafe fn lane_sorted(&self, first: isize, step: isize, count: usize) -> bool {
        // SAFETY: upheld by the caller; `kind` is that of the elements (the invariant).
        let sorted = |start: usize, count: usize| unsafe {
            let offset = first.wrapping_add(step.wrapping_mul(start as isize));
            (self.kind.all_sorted)(self.lane(offset, step), count)
        };
        let first_sorted = sorted(0, count.min(CHUNK));
        // No other thread is asked if the first indices answer.
        if !first_sorted || count <= CHUNK {
            return first_sorted;
        }
        let descends = AtomicBool::new(false);
        let cost = Cost::of_looking(count.saturating_mul(self.kind.size));
        let parts = parallel::parts(cost).min(count);
        parallel::run(parts, &|part| {
            let Range { start, end } = parallel::share(count, parts, part);
            // The last index is compared with the first of the next part.
            if !sorted(start, (end + 1).min(count) - start) {
                descends.store(true, Ordering::Relaxed);
            }
        });
        !descends.into_inner()
    }
}
