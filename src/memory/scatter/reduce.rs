//! Reductions that count updates, start from an identity, or accumulate beside the target.

use super::Pass;
use super::beside::{beside, is_sparse, means_in_place};
use super::split::run;
use crate::error::{Result, countable};
use crate::index::Policy;
use crate::memory::combine::{
    self, DivideCounted, HAS_KERNELS, Quotients, Reducer, Set, SetCounted,
};
use crate::memory::copy::Copier;
use crate::memory::refused::{Failure, Refused};
use crate::memory::tile::Kernel;
use crate::memory::walk::{Components, Loop, Order, Walk, iterations_over_entries};
use crate::reduction::Reduction;
use crate::threshold::threshold;

/// Whether targets have so many updates that each is better set once, by its count, than by each update.
fn sets_once(walk: &Walk) -> bool {
    walk.targets() <= iterations_over_entries(&walk.loops) / threshold(4, 1)
}

/// Refuses more updates of a lane, all of which may be of one target, than a `u32` counts together with the
/// value that the target held. Only means need counts: other reductions do without.
fn countable_updates(walk: &Walk) -> Result<()> {
    let updates = iterations_over_entries(&walk.loops);
    countable("updates of a mean", updates, u32::MAX - 1).map(|_| ())
}

impl<'p> Pass<'p> {
    /// Reduces updates with their targets: in the target itself, or in buffers of the reduction's own.
    pub(super) fn reduce(&self, walk: &mut Walk, reducer: Reducer) -> Result<(), Failure> {
        let size = self.updates.layout().size();
        match (reducer.in_target(), reducer.kernels.accumulators.quotients) {
            (Some(in_target), _) if !beside(walk, reducer) => {
                match reducer.start() {
                    Some(start) => self.reduce_from(walk, start, &in_target)?,
                    None => self.run(walk, &[&in_target])?,
                }
                Ok(())
            }
            (None, Some(quotients)) if means_in_place(walk, reducer, size) => {
                self.mean_in_place(walk, reducer, quotients)
            }
            _ => self.accumulate(walk, reducer),
        }
    }

    /// The mean of rows:
    ///
    /// ```text
    /// for k in entries { counts[indices[k]] += 1 }
    /// for k in entries { target[indices[k], ..] += updates[k, ..] }
    /// for row in target { if counts[row] > 0 { target[row, ..] /= counts[row] + init } }
    /// ```
    fn mean_in_place(
        &self,
        walk: &mut Walk,
        reducer: Reducer,
        quotients: Quotients,
    ) -> Result<(), Failure> {
        let sum = Reducer { reduction: Reduction::Sum, ..reducer };
        let add = sum.in_target().expect(HAS_KERNELS);
        let counts = self.counts(walk)?;
        let size = self.scattering.target.layout().size();
        match sum.start() {
            None => self.run(walk, &[&add])?,
            Some(start) => self.run_from(walk, start, &add, sets_once(walk).then_some(&counts))?,
        }
        // SAFETY: the kernel is for the elements of the target and `u32` counts.
        #[allow(unsafe_code)]
        unsafe {
            self.run_counted(&counts, &DivideCounted { quotients, size, init: reducer.init });
        }
        Ok(())
    }

    /// Reduces updates with each other alone: targets that have some are set to `start` first.
    ///
    /// Rows whose updates are counted are set once, and not by each update.
    fn reduce_from(&self, walk: &mut Walk, start: Set, reduce: &dyn Kernel) -> Result<(), Refused> {
        /// Fewest elements of a row with which counting is little work beside setting.
        const ROW: usize = threshold(8, 2);
        let rows = walk.loops.iter().any(|level| !level.reads_indices() && level.len >= ROW);
        let pays = rows && sets_once(walk);
        // Without memory for counts it goes without.
        match pays.then(|| self.counts(walk)) {
            Some(Ok(counts)) => self.run_from(walk, start, reduce, Some(&counts)),
            Some(Err(Failure::Index)) => Err(Refused),
            Some(Err(Failure::Error(_))) | None => self.run_from(walk, start, reduce, None),
        }
    }

    /// Sets targets that have updates to `start`, by their `counts` or else by each update, and then reduces.
    fn run_from(
        &self,
        walk: &mut Walk,
        start: Set,
        reduce: &dyn Kernel,
        counts: Option<&combine::Counts<'_>>,
    ) -> Result<(), Refused> {
        let Some(counts) = counts else {
            if walk.loops.iter().all(Loop::reads_indices) {
                self.overwrite(walk.clone(), &start)?;
                return self.run(walk, &[reduce]);
            }
            return self.run(walk, &[&start, reduce]);
        };
        // SAFETY: the kernel is for the elements of the target and `u32` counts.
        #[allow(unsafe_code)]
        unsafe {
            self.run_counted(counts, &SetCounted(start));
        }
        self.run(walk, &[reduce])
    }

    /// Overwrites all elements that indices select with one value.
    fn overwrite(&self, mut walk: Walk, value: &Set) -> Result<(), Refused> {
        walk.loops.iter_mut().for_each(|level| level.step.listed = 0);
        Pass { updates: value.as_update(), ..*self }.copy(&mut walk, Copier::of_bytes(value.size()))
    }

    /// Runs a kernel over all targets (selected) and their counts (listed).
    ///
    /// # Safety
    /// The kernel is for the elements of the target and for counts, which are `u32`.
    #[allow(unsafe_code)]
    unsafe fn run_counted(&self, counts: &combine::Counts<'_>, kernel: &dyn Kernel) {
        let walk = Walk::new(counts.divide.clone(), Components::new(), Order::Selected(0));
        for walk in walk.with_rest() {
            let arrays = (self.scattering.target.start(), counts.start());
            // SAFETY: these loops iterate over all targets and their counts (`Counts::divide`); the target is
            // borrowed exclusively (`StridedMut`); the caller's promise.
            unsafe {
                // There are no indices to refuse.
                _ = run(walk, (None, Policy::Refuse), arrays, size_of::<u32>(), kernel);
            }
        }
    }

    /// The counts of the updates of each target.
    fn counts(&self, walk: &Walk) -> Result<combine::Counts<'p>, Failure> {
        countable_updates(walk)?;
        let known = self.indices.counts(walk);
        let mut counts = combine::Counts::new(&walk.loops, &walk.components, known)?;
        let Some(slots) = counts.uncounted() else { return Ok(counts) };
        let (loops, components) = (counts.loops.clone(), counts.components.clone());
        let counted = Walk::new(loops, components, Order::Selected(0));
        let update = 1_u32;
        let arrays = (slots, (&raw const update).cast());
        let indices = (Some(self.indices), self.policy);
        let kernel = combine::in_target::<u32>(Reduction::Sum).expect(HAS_KERNELS);
        // SAFETY: the loops are those over the target, but with the strides of the counts in
        // place of the target's (`Counts::loops`), the counts are borrowed exclusively, and
        // all steps in the updates are 0, so that one value serves as all of them.
        #[allow(unsafe_code)]
        counted.with_rest().try_for_each(|walk| unsafe {
            run(walk, indices, arrays, size_of::<u32>(), &kernel)
        })?;
        Ok(counts)
    }

    /// Whether no target has two updates, where it costs little to know.
    fn is_once(&self, walk: &Walk) -> bool {
        /// The fewest lanes whose indices are counted once for all.
        const LANES: usize = threshold(8, 2);
        let (updates, targets) = (iterations_over_entries(&walk.loops), walk.targets());
        let lanes = walk.loops.iter().filter(|level| !level.entries).map(|level| level.len);
        let lanes = lanes.fold(1, usize::saturating_mul);
        let cheap = walk.shares_indices()
            && lanes >= LANES
            && targets / 4 <= updates.saturating_mul(lanes / 8);
        // A scatter needs no counts, so it does without if memory for them is refused.
        let distinct = || self.counts(walk).is_ok_and(|counts| counts.are_at_most_one());
        updates <= 1 || (updates <= targets && cheap && distinct())
    }

    /// Reductions that accumulate in buffers of their own and then write the target; in the target
    /// itself where no target has two updates.
    fn accumulate(&self, walk: &mut Walk, reducer: Reducer) -> Result<(), Failure> {
        if reducer.reduction == Reduction::Mean {
            countable_updates(walk)?;
        }
        if let Some(once) = reducer.once() {
            if self.is_once(walk) {
                return Ok(self.run(walk, &once.kernels())?);
            }
        }
        let target = &self.scattering.target;
        // The walk and the kernels are those of these arrays (invariant of `Pass`).
        combine::accumulate(&combine::Accumulation {
            target,
            updates: self.updates,
            indices: *self.indices,
            policy: self.policy,
            loops: &walk.loops,
            components: &walk.components,
            sparse: is_sparse(walk, target.layout().size(), true),
            reducer,
        })
    }
}
