//! Scatters: combines updates with what indices select.

mod bins;
mod split;

use ndarray::{ArrayRef, Dimension};

use super::combine::{self, Divide, Fold, Kernels, Plain};
use super::copy::{Clones, Copier, Way};
use super::few::{Few, Named};
use super::indexed::is_chunk;
use super::indices::Indices;
use super::strided::{Layout, Strided, StridedMut};
use super::tile::Kernel;
use super::walk::{Axes, Components, Loop, Offsets, Order, Walk};
use crate::error::{Error, Result};
use crate::index::Policy;
use crate::reduction::Reduction;
use split::run;

/// A scatter whose axes are being named.
///
/// Invariant: `how` was made for the element types of target and updates.
pub(crate) struct Scattering<'a> {
    target: StridedMut<'a>,
    updates: Strided<'a>,
    indices: &'a Indices<'a>,
    how: How<'a>,
}

/// What becomes of a target and its update.
enum How<'a> {
    /// The update takes the target's place.
    Overwrite(Copier),
    /// They are reduced; `init` tells whether the value that the target holds
    /// takes part.
    Reduce { kernels: &'static Kernels, reduction: Reduction, init: bool },
    /// A function of the caller's.
    Fold(&'a dyn Kernel),
}

/// A function of the caller's, made for the types of its arguments.
pub(crate) struct Folding<'f, A, U, F>(Fold<'f, A, U, F>);

impl<'f, A, U, F: Fn(&mut A, &U) + Sync> Folding<'f, A, U, F> {
    pub(crate) fn new(fold: &'f F) -> Self {
        Folding(Fold::new(fold))
    }
}

impl<'a> Scattering<'a> {
    /// Updates take the place of what indices select.
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

    /// Updates are reduced with what indices select, by the kernels of their
    /// type.
    pub(crate) fn reduce<A, D, U>(
        target: &'a mut ArrayRef<A, D>,
        updates: &'a ArrayRef<A, U>,
        indices: &'a Indices<'a>,
        kernels: &'static Kernels,
        (reduction, init): (Reduction, bool),
    ) -> Self
    where
        A: Send + Sync,
        D: Dimension,
        U: Dimension,
    {
        assert!(kernels.are_of::<A>(), "kernels of another type");
        let how = How::Reduce { kernels, reduction, init };
        Scattering { target: StridedMut::of(target), updates: Strided::of(updates), indices, how }
    }

    /// A function changes what indices select by updates.
    pub(crate) fn fold<A, D, U, V, F>(
        target: &'a mut ArrayRef<A, D>,
        updates: &'a ArrayRef<U, V>,
        indices: &'a Indices<'a>,
        fold: &'a Folding<'a, A, U, F>,
    ) -> Self
    where
        A: Send,
        D: Dimension,
        U: Sync,
        V: Dimension,
        F: Fn(&mut A, &U) + Sync,
    {
        let how = How::Fold(&fold.0);
        Scattering { target: StridedMut::of(target), updates: Strided::of(updates), indices, how }
    }

    pub(crate) fn target(&self) -> &Layout<'a> {
        self.target.layout()
    }

    /// Runs over the axes that `name` names. False where an index is out of
    /// bounds and the policy refuses it: then the target may have been written
    /// to, unless `untouched` asks that it be not.
    pub(crate) fn run(
        &self,
        policy: Policy,
        untouched: bool,
        name: impl FnOnce(&mut Axes<'_>),
    ) -> Result<bool> {
        let mut axes =
            Axes::new(*self.target.layout(), Some(*self.indices.layout()), *self.updates.layout());
        name(&mut axes);
        let Some(walk) = axes.finish() else {
            return Ok(true);
        };
        assert!(Indices::can_map(policy, &walk.components), "an axis has no elements");
        // Where a target can be discarded, an index is checked where it is used;
        // but not where it stands for many updates, and looking at it once is
        // little work. Few indices are all resolved before the first is used.
        let on_the_way = || walk.loops.iter().all(|one| one.step.indices != 0);
        let unchecked = policy != Policy::Refuse
            || self.indices.positions().is_some()
            || (!untouched && on_the_way())
            || (self.how.writes_after_resolving() && self.is_chunk(walk));
        if !unchecked && !self.indices.inside(&walk.components) {
            return Ok(false);
        }
        let pass = Pass { scattering: self, policy };
        match self.how {
            How::Overwrite(copier) => Ok(pass.copy(walk, copier)),
            How::Fold(kernel) => Ok(pass.run(walk, &[kernel])),
            How::Reduce { kernels, reduction, init } => match kernels.narrow(reduction) {
                Some(narrow) if reduction != Reduction::Mean => {
                    match kernels.start(reduction).filter(|_| !init) {
                        Some(start) => Ok(pass.run(walk, &[&start, &narrow])),
                        None => Ok(pass.run(walk, &[&narrow])),
                    }
                }
                Some(_) if means_by_rows(walk) => pass.mean_by_rows(walk, kernels, init),
                _ => pass.wide(walk, kernels, reduction, init),
            },
        }
    }
}

impl Scattering<'_> {
    /// The same where arrays are dense and elements few, of axes that are named; else nothing.
    /// False where an index is refused, before anything is written.
    pub(crate) fn run_few(&self, policy: Policy, named: Named<'_>) -> Option<bool> {
        let selected = (self.target.start(), self.target.layout());
        let listed = (self.updates.start().cast_mut(), self.updates.layout());
        let few = Few::of(policy, named, selected, self.indices, listed)?;
        // SAFETY: kernels for the types of these arrays (`How`), which are borrowed, the
        // target exclusively.
        #[allow(unsafe_code)]
        let run = |kernels: &[&dyn Kernel]| unsafe {
            few.run(|tile| kernels.iter().for_each(|kernel| kernel.run(tile)))
        };
        Some(match self.how {
            How::Overwrite(copier) => {
                let size = copier.size as isize;
                let step = Offsets { selected: size, indices: 0, listed: size };
                let row = Loop { len: few.row(), step, entries: false };
                run(&[&copier.write(&row)])
            }
            How::Fold(kernel) => run(&[kernel]),
            How::Reduce { kernels, reduction, init } => {
                let narrow = kernels.narrow(reduction).filter(|_| reduction != Reduction::Mean)?;
                match kernels.start(reduction).filter(|_| !init) {
                    Some(start) => run(&[&start, &narrow]),
                    None => run(&[&narrow]),
                }
            }
        })
    }

    /// Whether all entries are resolved before the first is used, on however many
    /// threads: loops over entries are not cut.
    fn is_chunk(&self, walk: &Walk) -> bool {
        walk.is_at_once(self.updates.layout().size())
            || (walk.loops.iter().all(|one| one.entries) && is_chunk(&walk.loops))
    }
}

impl How<'_> {
    /// Whether a chunk of indices is resolved before anything is written for it.
    fn writes_after_resolving(&self) -> bool {
        match self {
            How::Overwrite(_) | How::Fold(_) => true,
            How::Reduce { kernels, reduction, .. } => {
                *reduction != Reduction::Mean && kernels.narrow(*reduction).is_some()
            }
        }
    }
}

/// How many entries each target sees, at most.
fn entries(loops: &[Loop]) -> usize {
    loops.iter().filter(|one| one.entries).map(|one| one.len).product()
}

/// Walks over the arrays of a scatter.
struct Pass<'p> {
    scattering: &'p Scattering<'p>,
    policy: Policy,
}

impl Pass<'_> {
    /// Walks with one kernel after the other; false where an index is refused.
    fn run(&self, walk: &mut Walk, kernels: &[&dyn Kernel]) -> bool {
        let reduces = matches!(self.scattering.how, How::Reduce { .. });
        let size = self.scattering.updates.layout().size();
        let size = if reduces && combine::transposes_updates(size) { size } else { 0 };
        let rest = walk.order(Order::Selected(size));
        kernels.iter().all(|kernel| {
            self.walk(walk, *kernel) && rest.as_deref().is_none_or(|rest| self.walk(rest, *kernel))
        })
    }

    /// Walks with the copy kernel that serves the loops.
    fn copy(&self, walk: &mut Walk, copier: Copier) -> bool {
        let rest = walk.order(Order::Selected(0));
        std::iter::once(&*walk)
            .chain(rest.as_deref())
            .all(|walk| self.walk(walk, &copier.write(&walk.inner)))
    }

    fn walk(&self, walk: &Walk, kernel: &dyn Kernel) -> bool {
        let scattering = self.scattering;
        // SAFETY: the walk was made of the layouts of these arrays (`Axes`), and
        // the kernel for their types (`How`).
        #[allow(unsafe_code)]
        unsafe {
            run(
                walk,
                (Some(scattering.indices), self.policy),
                (scattering.target.start(), scattering.updates.start()),
                scattering.updates.layout().size(),
                kernel,
            )
        }
    }
}

/// What counts can hold, with one for the value that a target held.
fn countable(entries: usize) -> Result<()> {
    if u32::try_from(entries).is_ok_and(|entries| entries < u32::MAX) {
        return Ok(());
    }
    Err(Error::AllocationFailed { bytes: entries.saturating_mul(16) })
}

/// Whether each index selects a row, and dividing all rows costs less than
/// sorting the updates.
fn means_by_rows(walk: &Walk) -> bool {
    let rows = walk.loops.iter().any(|one| !one.reads_indices() && one.len >= combine::WIDE_ROW);
    rows && !is_sparse(walk)
}

/// Whether updates touch little of the target.
fn is_sparse(walk: &Walk) -> bool {
    let targets = walk.components.iter().map(|one| one.len).product::<usize>();
    targets / 4 > entries(&walk.loops)
}

impl Pass<'_> {
    /// The mean of rows: the target holds its own sums, and one count serves a
    /// row.
    fn mean_by_rows(&self, walk: &mut Walk, kernels: &Kernels, init: bool) -> Result<bool> {
        countable(entries(&walk.loops))?;
        let (Some(start), Some(add), Some(row)) =
            (kernels.start(Reduction::Mean), kernels.narrow(Reduction::Mean), kernels.divide_row())
        else {
            return Ok(true);
        };
        let known = self.scattering.indices.counts(walk);
        let mut counts = combine::Counts::new(&walk.loops, &walk.components, known)?;
        if let Some(slots) = counts.uncounted() {
            let counting = (counts.loops.clone(), counts.components.clone());
            let (counted, _) = Walk::new(counting.0, counting.1, Order::Selected(0));
            let one = 1_u32;
            let arrays = (slots, (&raw const one).cast());
            let indices = (Some(self.scattering.indices), self.policy);
            let kernel = Plain(combine::count);
            // SAFETY: the loops are those of the target, with the counts' own
            // steps in its place (`Counts`); one value stands for all updates.
            #[allow(unsafe_code)]
            let all = unsafe { run(&counted, indices, arrays, size_of::<u32>(), &kernel) };
            if !all {
                return Ok(false);
            }
        }
        let sum: &[&dyn Kernel] = if init { &[&add] } else { &[&start, &add] };
        if !self.run(walk, sum) {
            return Ok(false);
        }
        let (divided, rest) =
            Walk::new(counts.divide.clone(), Components::new(), Order::Selected(0));
        let size = self.scattering.target.layout().size();
        let divide = Divide { row, size, init };
        for walk in std::iter::once(&divided).chain(rest.as_deref()) {
            let arrays = (self.scattering.target.start(), counts.start());
            // SAFETY: these loops go over all targets and their counts.
            #[allow(unsafe_code)]
            unsafe {
                run(walk, (None, Policy::Refuse), arrays, size_of::<u32>(), &divide);
            }
        }
        Ok(true)
    }

    /// Values that build up beside their targets.
    fn wide(
        &self,
        walk: &Walk,
        kernels: &Kernels,
        reduction: Reduction,
        init: bool,
    ) -> Result<bool> {
        countable(entries(&walk.loops))?;
        let scattering = self.scattering;
        let (target, updates) = (&scattering.target, &scattering.updates);
        // SAFETY: the layouts are those of the arrays, the first of which nobody else
        // uses meanwhile.
        #[allow(unsafe_code)]
        let dense = unsafe {
            combine::Dense::of(target.start(), target.layout())
                .zip(combine::Dense::of(updates.start(), updates.layout()))
                .map(<[_; 2]>::from)
        };
        combine::fold_wide(&combine::Building {
            target: scattering.target.start(),
            updates: scattering.updates.start(),
            size: scattering.updates.layout().size(),
            indices: *scattering.indices,
            policy: self.policy,
            loops: &walk.loops,
            components: &walk.components,
            sparse: is_sparse(walk),
            kernels,
            reduction,
            init,
            dense,
        })
    }
}
