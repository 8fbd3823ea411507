//! Scatters: combines updates with the elements of a target that indices select.
//!
//! ```text
//! for k in entries { target[indices[k]] = reduce(target[indices[k]], updates[k]) }
//! ```

mod beside;
mod bins;
mod reduce;
mod split;

use ndarray::{ArrayRef, Dimension};

use super::combine::{self, Fold, Reducer};
use super::copied::{Contiguous, any_lies_across};
use super::copy::{Clones, Copier, Way, is_plain};
use super::few::{Few, Named};
use super::indexed::Run;
use super::indices::Indices;
use super::packed::Packed;
use super::refused::{Failure, Refusal, Refused};
use super::strided::{Layout, Strided, StridedMut};
use super::tile::Kernel;
use super::walk::{Axes, Loop, Order, Walk, merge};
use crate::index::Policy;
use split::run;

/// A scatter whose axes are still to be named.
///
/// Invariant: `how` was made for the element types of target and updates.
pub(crate) struct Scattering<'a> {
    target: StridedMut<'a>,
    updates: Strided<'a>,
    indices: &'a Indices<'a>,
    how: How<'a>,
}

/// How an update is combined with its target element.
enum How<'a> {
    /// The update overwrites it.
    Overwrite(Copier),
    /// The two are reduced.
    Reduce(Reducer),
    /// A function of the caller's changes it; whether updates are [plain](is_plain).
    Fold(&'a dyn Kernel, bool),
}

impl<'a> Scattering<'a> {
    /// Updates overwrite the elements that indices select.
    pub(crate) fn overwrite<A, D, U>(
        target: &'a mut ArrayRef<A, D>,
        updates: &'a ArrayRef<A, U>,
        indices: &'a Indices<'a>,
    ) -> Self
    where
        A: Clone + Send + Sync,
        D: Dimension,
        U: Dimension,
    {
        let way = if std::mem::needs_drop::<A>() {
            Way::Clone(
                const { &Clones { tile: combine::assign::<A>, value: combine::ignore, rolled: None } },
            )
        } else {
            Way::of::<A, false>()
        };
        let how = How::Overwrite(Copier { size: size_of::<A>(), way });
        Scattering { target: StridedMut::of(target), updates: Strided::of(updates), indices, how }
    }

    /// Updates are reduced with the elements that indices select, by a reduction of their type.
    pub(crate) fn reduce<A, D, U>(
        target: &'a mut ArrayRef<A, D>,
        updates: &'a ArrayRef<A, U>,
        indices: &'a Indices<'a>,
        reducer: Reducer,
    ) -> Self
    where
        A: Send + Sync,
        D: Dimension,
        U: Dimension,
    {
        assert!(reducer.kernels.are_of::<A>(), "kernels of another type");
        let how = How::Reduce(reducer);
        Scattering { target: StridedMut::of(target), updates: Strided::of(updates), indices, how }
    }

    /// A function changes the elements that indices select by their updates.
    pub(crate) fn fold<A, D, U, V, F>(
        target: &'a mut ArrayRef<A, D>,
        updates: &'a ArrayRef<U, V>,
        indices: &'a Indices<'a>,
        fold: &'a Fold<'a, A, U, F>,
    ) -> Self
    where
        A: Send,
        D: Dimension,
        U: Sync,
        V: Dimension,
        F: Fn(&mut A, &U) + Sync,
    {
        let how = How::Fold(fold, is_plain::<U>());
        Scattering { target: StridedMut::of(target), updates: Strided::of(updates), indices, how }
    }

    pub(crate) fn target(&self) -> &Layout<'a> {
        self.target.layout()
    }

    /// Runs the scatter over the axes that `name` names. Where an index is refused, the target may have been
    /// written to, unless `untouched`.
    pub(crate) fn run(
        &self,
        policy: Policy,
        untouched: bool,
        name: impl FnOnce(&mut Axes<'_>),
    ) -> Result<(), Failure> {
        let mut axes =
            Axes::new(*self.target.layout(), Some(*self.indices.layout()), *self.updates.layout());
        name(&mut axes);
        let Some(walk) = axes.finish() else {
            return Ok(());
        };
        // Counts and slots are for one target at least.
        assert!(!self.target.layout().is_empty(), "there is nothing to combine");
        let [of_indices, of_updates] = self.row_major_copies(walk);
        let size = self.updates.layout().size();
        let of_indices = of_indices.or_else(|| Contiguous::of_indices(walk, self.indices, size));
        let indices = of_indices.as_ref().map_or(*self.indices, |copy| copy.indices(self.indices));
        let updates = of_updates.as_ref().map_or(self.updates, Contiguous::updates);
        self.run_walk(walk, &indices, updates, policy, untouched)
    }

    /// Copies of indices and updates that lie across the loops of a walk, which run over them then, or as the
    /// indices lie if updates may come in any order.
    fn row_major_copies(&self, walk: &mut Walk) -> [Option<Contiguous>; 2] {
        if !any_lies_across(walk) {
            return [None, None];
        }
        // Positions of a plan lie in row-major order.
        if self.indices.positions().is_none() && self.how.takes_any_order(walk) {
            walk.loops.sort_by_key(|level| std::cmp::Reverse(level.step.indices.unsigned_abs()));
            merge(&mut walk.loops);
            return [None, None];
        }
        let plain = match self.how {
            How::Overwrite(copier) => copier.plain().is_some(),
            How::Reduce(_) => true,
            How::Fold(_, plain) => plain,
        };
        Contiguous::row_major(&mut walk.loops, self.indices, &self.updates, plain)
    }

    /// Runs the scatter of these updates by these indices over a walk.
    fn run_walk(
        &self,
        walk: &mut Walk,
        indices: &Indices<'_>,
        updates: Strided<'_>,
        policy: Policy,
        untouched: bool,
    ) -> Result<(), Failure> {
        let checks = self.checks_first(walk, policy, untouched);
        let checked = if checks { indices.checked(walk, self.how.uses_order()) } else { None };
        if checks && checked.is_none() && policy == Policy::Refuse {
            return Err(Refused.into());
        }
        // Indices in bounds select the same under any policy; by `Refuse` they are used as soon as they are
        // read.
        let policy = if checked.is_some() { Policy::Refuse } else { policy };
        let indices = checked.unwrap_or(*indices);
        let pass = Pass { scattering: self, indices: &indices, updates, policy };
        match self.how {
            How::Overwrite(copier) => Ok(pass.copy(walk, copier)?),
            How::Fold(kernel, _) => Ok(pass.run(walk, &[kernel])?),
            How::Reduce(reducer) => pass.reduce(walk, reducer),
        }
    }
}

impl Scattering<'_> {
    /// Runs the scatter where elements are few and their axes [collapse](super::few) to blocks; otherwise
    /// returns `None`. Nothing is written where an index is refused.
    pub(crate) fn run_few(&self, policy: Policy, named: Named<'_>) -> Option<Result<(), Refused>> {
        let selected = (self.target.start(), self.target.layout());
        let listed = (self.updates.start().cast_mut(), self.updates.layout());
        let few = Few::of(policy, named, selected, self.indices, listed)?;
        let (copy, start, in_target);
        let kernels: [Option<&dyn Kernel>; 2] = match self.how {
            How::Overwrite(copier) => {
                copy = copier.write(&few.row());
                [None, Some(&copy)]
            }
            How::Fold(kernel, _) => [None, Some(kernel)],
            // Borrowed: a copy of all its fields at once would wait for their stores.
            How::Reduce(ref reducer) => {
                in_target = reducer.in_target();
                let Some(in_target) = &in_target else {
                    // SAFETY: as below.
                    #[allow(unsafe_code)]
                    return unsafe { combine::accumulate_few(&few, reducer) };
                };
                start = reducer.start();
                [start.as_ref().map(|start| start as &dyn Kernel), Some(in_target)]
            }
        };
        // SAFETY: the kernels are for the element types of these arrays (invariant of
        // `Scattering`), and the arrays are borrowed, the target exclusively (`StridedMut`).
        #[allow(unsafe_code)]
        unsafe {
            few.run(|tile| kernels.iter().flatten().for_each(|kernel| kernel.run(tile)))
        }
    }

    /// Whether all indices are checked in a pass before the first is used: not those of a plan. Under `Refuse`, if the
    /// target must survive an error, or an index serves several updates. Under other policies, if each serves one: if
    /// all are in bounds, the scatter goes on as under `Refuse`.
    fn checks_first(&self, walk: &Walk, policy: Policy, untouched: bool) -> bool {
        let one_update_each = || walk.loops.iter().all(|level| level.step.indices != 0);
        let pays = match policy {
            Policy::Refuse => untouched || !one_update_each(),
            _ => one_update_each(),
        };
        pays && self.indices.positions().is_none()
    }
}

impl How<'_> {
    /// Whether the updates of a target may come in any order, which gives the same bits.
    fn takes_any_order(&self, walk: &Walk) -> bool {
        let one_value = || walk.loops.iter().all(|level| level.step.listed == 0);
        match *self {
            How::Overwrite(_) => one_value(),
            How::Reduce(reducer) => one_value() || reducer.takes_any_order(),
            How::Fold(..) => false,
        }
    }

    /// The size of the elements of target and updates, which is that of an update, if they are of the same
    /// [plain](super::copy::Way::Bytes) type.
    fn plain(&self, size: usize) -> Option<usize> {
        match self {
            How::Overwrite(copier) => copier.plain(),
            How::Reduce(_) => Some(size),
            How::Fold(..) => None,
        }
    }

    /// Whether sorted indices serve one thread, too.
    fn uses_order(&self) -> bool {
        match self {
            How::Reduce(reducer) => reducer.uses_order(),
            How::Overwrite(_) | How::Fold(..) => false,
        }
    }
}

/// A scatter with the policy of its call.
///
/// Invariant: the loops of the walks that it runs are over the target of the scatter, its indices and its updates:
/// those of the scatter, by [`Axes`]; copies, by [`Contiguous::redirect`]; or one value, in which all steps are 0. The
/// kernels are for elements of the target and of the updates.
#[derive(Clone, Copy)]
struct Pass<'p> {
    scattering: &'p Scattering<'p>,
    /// Those of the scatter, or copies, with what checking them has found out.
    indices: &'p Indices<'p>,
    /// Those of the scatter, or copies.
    updates: Strided<'p>,
    policy: Policy,
}

impl Pass<'_> {
    /// Runs one kernel after the other over all entries.
    fn run(&self, walk: &mut Walk, kernels: &[&dyn Kernel]) -> Result<(), Refused> {
        if let Some(packed) = self.packed_or_ordered(walk) {
            return kernels.iter().try_for_each(|kernel| self.packed(&packed, walk, *kernel));
        }
        kernels
            .iter()
            .try_for_each(|kernel| walk.with_rest().try_for_each(|walk| self.walk(walk, *kernel)))
    }

    /// Runs the copy kernel for the row of each walk.
    fn copy(&self, walk: &mut Walk, copier: Copier) -> Result<(), Refused> {
        if let Some(packed) = self.packed_or_ordered(walk) {
            return self.packed(&packed, walk, &copier.write(&Loop::ONCE));
        }
        walk.with_rest().try_for_each(|walk| self.walk(walk, &copier.write(&walk.inner)))
    }

    /// What of a walk is packed, if that pays; otherwise puts its loops in order.
    fn packed_or_ordered(&self, walk: &mut Walk) -> Option<Packed> {
        let plain = self.scattering.how.plain(self.updates.layout().size());
        let transposed = plain.filter(|size| combine::transposes_updates(*size));
        let order = Order::Selected(transposed.unwrap_or(0));
        let packed = Packed::of(walk, self.indices, order, plain);
        if packed.is_none() {
            walk.order(order);
        }
        packed
    }

    /// Runs a kernel over a walk of which this is packed.
    fn packed(&self, packed: &Packed, walk: &Walk, kernel: &dyn Kernel) -> Result<(), Refused> {
        let Pass { scattering: Scattering { target, .. }, updates, .. } = self;
        let refusal = Refusal::new();
        let run = Run {
            walk,
            indices: Some(self.indices),
            policy: self.policy,
            selected: target.start(),
            listed: updates.start().cast_mut(),
            size: updates.layout().size(),
            kernel,
            refusal: &refusal,
        };
        // SAFETY: the walk is over these arrays, and the kernel for their elements (invariant), one by one, which
        // are of the same plain type if lanes are packed; the target is borrowed exclusively (`StridedMut`).
        #[allow(unsafe_code)]
        unsafe {
            packed.run(&run, true);
        }
        refusal.result()
    }

    fn walk(&self, walk: &Walk, kernel: &dyn Kernel) -> Result<(), Refused> {
        let scattering = self.scattering;
        // SAFETY: the walk is over these arrays, and the kernel for their elements (invariant); the target is
        // borrowed exclusively (`StridedMut`).
        #[allow(unsafe_code)]
        unsafe {
            run(
                walk,
                (Some(self.indices), self.policy),
                (scattering.target.start(), self.updates.start()),
                self.updates.layout().size(),
                kernel,
            )
        }
    }
}
