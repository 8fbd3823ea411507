//! Sorted indices: the updates of each target follow each other, so that several threads may each take
//! a piece of them. Tuples, as those of a sparse array mostly are, in the order of their targets in memory.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::Ordering;

use super::{CHUNK, Component, Indices, Walk};
use crate::index::Policy;
use crate::memory::buffer::Buffer;
use crate::memory::walk::Loop;
use crate::parallel::{self, Cost};
use crate::sync::AtomicBool;

/// Number of indices that are looked at first: so many are seldom sorted by chance.
const FIRST: usize = 32;

impl Indices<'_> {
    /// Whether the indices of a walk are sorted, so that the entries of each target are contiguous:
    /// `0 <= indices[0] <= indices[1] <= ...`, or tuples in the order of their targets. False unless each
    /// index is an entry of the walk's only loop over entries, and if the policy refuses one of them: then
    /// parts of the entries, each of which finds out only about its own, would write before, and those out
    /// of bounds would be written at the front of the axis. The scan ends soon after the first index that
    /// is less than the one before.
    pub(in crate::memory) fn are_sorted(&self, walk: &Walk, policy: Policy) -> bool {
        let [entries] = walk.nest() else { return false };
        // Under these policies different indices select different targets.
        let distinct = matches!(policy, Policy::Refuse | Policy::Skip);
        if !(distinct && entries.entries && entries.step.indices != 0) {
            return false;
        }
        let (first, step) = (walk.base.indices, entries.step.indices);
        let numbers = walk.components.len();
        let all = self.is_one_loop(walk, numbers * self.size());
        if numbers != 1 {
            return all && (self.sorted || self.all_sorted(&walk.components, true));
        }
        // SAFETY: the lane is a loop of the walk over the indices' own axes, which stays in them.
        #[allow(unsafe_code)]
        unsafe {
            if self.sorted && all {
                return true;
            }
            let last = first.wrapping_add(step.wrapping_mul(entries.len as isize - 1));
            let inside = || self.value(last) < walk.components[0].len as i128;
            self.lane_sorted((first, step), entries.len, &walk.components)
                && (policy == Policy::Skip || inside())
        }
    }

    /// Whether the first indices of a walk's innermost loop over entries are sorted, or, if it is short,
    /// those of its first iterations of the loop around; if they are, the others mostly are too.
    pub(in crate::memory) fn begin_sorted(&self, walk: &Walk) -> bool {
        let Some((run, around)) = walk.nest().split_last().filter(|(run, _)| run.len > 1) else {
            return false;
        };
        let around = around.last().copied().unwrap_or(Loop::ONCE);
        let (count, lanes) = (run.len.min(FIRST), FIRST.div_ceil(run.len));
        lanes <= around.len
            && (0..lanes).all(|lane| {
                let first = walk.base.after(lane, around.step).indices;
                // SAFETY: the lane is a loop of the walk over the indices' own axes, which stays in them.
                #[allow(unsafe_code)]
                unsafe {
                    (self.kind.all_sorted)(self.lane(first, run.step.indices), count)
                }
            })
    }

    /// The same indices, or `None` if one is out of bounds of the axes along which its numbers select. If
    /// [`all_sorted`](Self::all_sorted) finds them sorted, the result says so, which saves the pass over all bounds:
    /// only the last of sorted indices is compared with the axis, and sorted tuples are in bounds.
    pub(in crate::memory) fn checked(self, walk: &Walk, alone: bool) -> Option<Self> {
        let one_each = || walk.loops.iter().all(|level| level.entries || level.step.indices == 0);
        let sorted = Indices { sorted: true, ..self };
        let axes = &walk.components[..];
        if one_each() && self.all_sorted(axes, alone) {
            let [axis] = axes else { return Some(sorted) };
            let last = (self.layout().len() - 1) * self.size();
            // SAFETY: the indices are contiguous, and there are some (`all_sorted`).
            #[allow(unsafe_code)]
            let last = unsafe { self.value(last as isize) };
            return (last < axis.len as i128).then_some(sorted);
        }
        self.inside(axes).then_some(self)
    }

    /// Whether these are contiguous and [sorted](Self::lane_sorted). Indices so few that one thread scatters them are
    /// not looked at, unless it is of use to one thread `alone`, too, that they are sorted.
    fn all_sorted(&self, axes: &[Component], alone: bool) -> bool {
        let size = axes.len() * self.size();
        let Some(count) = self.layout().len().checked_div(axes.len()) else { return false };
        let scattered = Cost::of_near(count).plus(Cost::of_bytes(count.saturating_mul(size)));
        let useless = self.positions.is_some() || !alone && parallel::parts(scattered) == 1;
        if useless || count == 0 || !self.layout().is_dense() {
            return false;
        }
        // SAFETY: the indices are all of the array, contiguous (`is_dense`) and not empty.
        #[allow(unsafe_code)]
        unsafe {
            self.lane_sorted((0, size as isize), count, axes)
        }
    }

    /// Whether `count` indices, at least one, are sorted and not negative, or, if they are tuples, in
    /// bounds and in the order of their targets: those of the [lane](Self::lane) that starts `first` bytes
    /// after the first index, with `step` bytes from one to the next.
    ///
    /// # Safety
    /// All numbers of all indices of the lane are elements of this array.
    #[allow(unsafe_code)]
    unsafe fn lane_sorted(
        &self,
        (first, step): (isize, isize),
        count: usize,
        axes: &[Component],
    ) -> bool {
        let sorted = |start: usize, count: usize| {
            let offset = first.wrapping_add(step.wrapping_mul(start as isize));
            // SAFETY: the caller's promise; `kind` is that of the elements (the invariant).
            unsafe {
                match axes {
                    [_] => (self.kind.all_sorted)(self.lane(offset, step), count),
                    _ => self.tuples_sorted((offset, step), count, axes),
                }
            }
        };
        let first_sorted = sorted(0, count.min(FIRST)) && sorted(0, count.min(CHUNK));
        // No other thread is asked if the first indices answer.
        if !first_sorted || count <= CHUNK {
            return first_sorted;
        }
        let descends = AtomicBool::new(false);
        let bytes = axes.len().saturating_mul(self.size());
        let parts = parallel::parts(Cost::of_looking(count.saturating_mul(bytes))).min(count);
        parallel::run(parts, &|part| {
            let Range { start, end } = parallel::share(count, parts, part);
            // The last index is compared with the first of the next part.
            if !sorted(start, (end + 1).min(count) - start) {
                descends.store(true, Ordering::Relaxed);
            }
        });
        !descends.into_inner()
    }

    /// Whether `count` tuples of a lane are in bounds and in the order of their targets in memory. In
    /// another order, threads that share the tuples would write the same lines.
    ///
    /// # Safety
    /// All numbers of all tuples of the lane are elements of this array.
    #[allow(unsafe_code)]
    unsafe fn tuples_sorted(
        &self,
        (first, step): (isize, isize),
        count: usize,
        axes: &[Component],
    ) -> bool {
        #[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
        // SAFETY: the caller's promise.
        if let Some(tuples) = unsafe { self.tuples(self.lane(first, step), count, axes) } {
            return tuples.ascend();
        }
        let mut slots = [[MaybeUninit::uninit(); CHUNK]; 2];
        let [offsets, scratch] = &mut slots;
        let (mut offsets, mut scratch) = (Buffer::new(offsets), Buffer::new(scratch));
        let mut before = isize::MIN;
        (0..count).step_by(CHUNK).all(|start| {
            let at = first.wrapping_add(step.wrapping_mul(start as isize));
            let some = CHUNK.min(count - start);
            offsets.clear();
            // SAFETY: the caller's promise.
            let resolved = unsafe {
                let (to, policy) = (&mut offsets, Policy::Refuse);
                self.resolve_all((at, step), some, axes, policy, to, &mut scratch)
            };
            let found = offsets.values();
            let ascend = |all, pair: &[isize]| all & (pair[0] <= pair[1]);
            let sorted = before <= found[0] && found.windows(2).fold(true, ascend);
            before = found[some - 1];
            resolved.is_ok() && sorted
        })
    }
}
