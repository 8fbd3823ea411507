//! How a scatter moves memory.

use std::sync::atomic::AtomicBool;

use ndarray::{Array, ArrayRef, ArrayView, ArrayViewMut, Axis, Dimension};

use super::ScatterElements;
use super::plan::Plan;
use crate::args::IndexInteger;
use crate::error::{Error, Result};
use crate::indices::{self, first_outside, rows_repeat};
use crate::memory::positions::Mode;
use crate::memory::scatter::{Scatter, Update};
use crate::memory::scatter_wide::{self, Fold};
use crate::parallel;
use crate::reduce::{ReduceElement, Reduction};
use crate::roll::standard_copy;

/// Bytes of updates from which on a second thread gives more than it costs.
const GRAIN: usize = 1 << 18;

/// A copy of the data with updates written over it.
pub(super) fn overwrite_returned<A, D, I, Q, U>(
    data: &ArrayRef<A, D>,
    indices: ArrayView<'_, I, Q>,
    updates: ArrayView<'_, A, U>,
    attributes: &ScatterElements,
) -> Result<Array<A, D>>
where
    A: Clone + Send + Sync,
    D: Dimension,
    I: IndexInteger,
    Q: Dimension,
    U: Dimension,
{
    let call = Call::new(data.shape(), indices, updates, attributes)?;
    let mut target = standard_copy(data)?;
    call.apply(target.view_mut(), Overwrite, Check::OnTheWay)?;
    Ok(target)
}

/// Writes updates over the target.
pub(super) fn overwrite_inplace<A, D, I, Q, U>(
    target: &mut ArrayRef<A, D>,
    indices: ArrayView<'_, I, Q>,
    updates: ArrayView<'_, A, U>,
    attributes: &ScatterElements,
) -> Result<()>
where
    A: Clone + Send + Sync,
    D: Dimension,
    I: IndexInteger,
    Q: Dimension,
    U: Dimension,
{
    let call = Call::new(target.shape(), indices, updates, attributes)?;
    call.apply(target.view_mut(), Overwrite, Check::First)
}

/// A copy of the data with updates reduced into it.
pub(super) fn reduce_returned<A, D, I, Q, U>(
    data: &ArrayRef<A, D>,
    indices: ArrayView<'_, I, Q>,
    updates: ArrayView<'_, A, U>,
    attributes: &ScatterElements,
) -> Result<Array<A, D>>
where
    A: ReduceElement,
    D: Dimension,
    I: IndexInteger,
    Q: Dimension,
    U: Dimension,
{
    supported::<A>(attributes.reduction)?;
    let call = Call::new(data.shape(), indices, updates, attributes)?;
    let mut target = standard_copy(data)?;
    call.reduce(target.view_mut(), attributes, Check::OnTheWay)?;
    Ok(target)
}

/// Reduces updates into the target.
pub(super) fn reduce_inplace<A, D, I, Q, U>(
    target: &mut ArrayRef<A, D>,
    indices: ArrayView<'_, I, Q>,
    updates: ArrayView<'_, A, U>,
    attributes: &ScatterElements,
) -> Result<()>
where
    A: ReduceElement,
    D: Dimension,
    I: IndexInteger,
    Q: Dimension,
    U: Dimension,
{
    supported::<A>(attributes.reduction)?;
    let call = Call::new(target.shape(), indices, updates, attributes)?;
    // A mean is written when it is complete, and needs no copy to be safe.
    let serves =
        attributes.reduction != Reduction::Mean && call.many_indices(target.len() * size_of::<A>());
    let copy = if serves { standard_copy(target).ok() } else { None };
    if let Some(mut copy) = copy {
        call.reduce(copy.view_mut(), attributes, Check::OnTheWay)?;
        target.assign(&copy);
        return Ok(());
    }
    call.reduce(target.view_mut(), attributes, Check::First)
}

/// When indices are compared with the axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    /// All before the first update, so that an error leaves the target as it
    /// was.
    First,
    /// Where that is faster, a few at a time just before they are used: on an
    /// error the target is discarded.
    OnTheWay,
    /// They have been.
    Done,
}

fn supported<A: ReduceElement>(reduction: Reduction) -> Result<()> {
    if A::supports(reduction) {
        return Ok(());
    }
    Err(Error::UnsupportedReduction { reduction, element: std::any::type_name::<A>() })
}

/// A scatter whose attributes and shapes have been checked.
pub(super) struct Call<'a, A, I, Q: Dimension, U: Dimension> {
    pub(super) plan: Plan,
    /// One index a row where each selects a whole row.
    pub(super) indices: ArrayView<'a, I, Q>,
    pub(super) updates: ArrayView<'a, A, U>,
}

impl<'a, A, I, Q, U> Call<'a, A, I, Q, U>
where
    A: Send + Sync,
    I: IndexInteger,
    Q: Dimension,
    U: Dimension,
{
    fn new(
        data: &[usize],
        indices: ArrayView<'a, I, Q>,
        updates: ArrayView<'a, A, U>,
        attributes: &ScatterElements,
    ) -> Result<Self> {
        let plan = Plan::new(data, indices.shape(), updates.shape(), attributes)?;
        let mut indices = indices;
        if rows_repeat(&indices, plan.axis) {
            (plan.axis + 1..data.len()).for_each(|dim| indices.collapse_axis(Axis(dim), 0));
        }
        Ok(Call { plan, indices, updates })
    }

    /// Whether there are so many indices along the last axis that copying a
    /// target of `target_bytes` there and back costs less than looking at them
    /// all first.
    fn many_indices(&self, target_bytes: usize) -> bool {
        /// From how many on it matters.
        const MANY: usize = 1 << 10;
        let Plan { axis, mode, .. } = self.plan;
        let indices = self.indices.len();
        mode == Mode::Refuse
            && indices >= MANY
            && indices * size_of::<I>() >= target_bytes.saturating_mul(2)
            && axis + 1 == self.indices.ndim()
            && self.indices.strides()[axis] == 1
            && self.updates.strides()[axis] == 1
    }

    pub(super) fn check(&self, check: Check) -> Result<()> {
        let Plan { mode, axis, axis_len } = self.plan;
        if check == Check::Done {
            return Ok(());
        }
        indices::check(&self.indices, mode, axis, axis_len)
    }

    /// Hands the scatter to `run`, unless there is nothing to do.
    fn scatter<D: Dimension>(
        &self,
        mut target: ArrayViewMut<'_, A, D>,
        check: Check,
        run: impl FnOnce(&Scatter<'_, A, I>) -> Result<()>,
    ) -> Result<()> {
        // A target can be empty with indices left where all are skipped.
        if self.indices.is_empty() || target.is_empty() {
            return self.check(check);
        }
        let (indices, updates) = (self.indices.view(), self.updates.view());
        let indices_axes = (indices.shape(), indices.strides());
        let updates_axes = (updates.shape(), updates.strides());
        let loops = self.plan.loops(indices_axes, updates_axes, target.strides());
        if check != Check::OnTheWay || !loops.lanes_are_dense() {
            self.check(check)?;
        }
        run(&Scatter::new(&loops, self.plan.mode, &indices, &updates, &mut target))
    }

    /// Applies every update to its target.
    pub(super) fn apply<D: Dimension, F: Update<A>>(
        &self,
        target: ArrayViewMut<'_, A, D>,
        update: F,
        check: Check,
    ) -> Result<()> {
        let check = if F::BACKWARD && check == Check::OnTheWay { Check::First } else { check };
        let refused = AtomicBool::new(false);
        self.scatter(target, check, |scatter| {
            let refused = (check == Check::OnTheWay).then_some(&refused);
            parallel::run(scatter.whole(update, refused), GRAIN);
            Ok(())
        })?;
        self.none_refused(refused)
    }

    fn none_refused(&self, refused: AtomicBool) -> Result<()> {
        if refused.into_inner() {
            return Err(first_outside(&self.indices, self.plan.axis, self.plan.axis_len));
        }
        Ok(())
    }
}

impl<A, I, Q, U> Call<'_, A, I, Q, U>
where
    A: ReduceElement,
    I: IndexInteger,
    Q: Dimension,
    U: Dimension,
{
    fn reduce<D: Dimension>(
        &self,
        target: ArrayViewMut<'_, A, D>,
        attributes: &ScatterElements,
        check: Check,
    ) -> Result<()> {
        let init = attributes.use_init_val;
        match attributes.reduction {
            Reduction::None => self.apply(target, Overwrite, check),
            Reduction::Min => self.with_first(target, init, Min, check),
            Reduction::Max => self.with_first(target, init, Max, check),
            Reduction::Sum if A::NARROW => self.with_start(target, init, A::ZERO, Sum, check),
            Reduction::Prod if A::NARROW => self.with_start(target, init, A::ONE, Prod, check),
            Reduction::Sum => self.fold(target, WideSum { init }, check),
            Reduction::Prod => self.fold(target, WideProd { init }, check),
            Reduction::Mean => match self.axis_across(&target) {
                Some(across) => self.mean_of_rows(target, across, init, check),
                None => self.fold(target, Mean { init }, check),
            },
        }
    }

    /// A reduction that starts from what the target holds, or from `start`.
    pub(super) fn with_start<D: Dimension>(
        &self,
        mut target: ArrayViewMut<'_, A, D>,
        init: bool,
        start: A::Wide,
        update: impl Update<A>,
        mut check: Check,
    ) -> Result<()> {
        if !init {
            self.apply(target.view_mut(), Set(A::narrow(start)), check)?;
            check = Check::Done;
        }
        self.apply(target, update, check)
    }

    /// A reduction that starts from what the target holds, or from the first
    /// update.
    fn with_first<D: Dimension>(
        &self,
        mut target: ArrayViewMut<'_, A, D>,
        init: bool,
        update: impl Update<A>,
        mut check: Check,
    ) -> Result<()> {
        if !init {
            self.apply(target.view_mut(), FirstWins, check)?;
            check = Check::Done;
        }
        self.apply(target, update, check)
    }

    fn fold<D: Dimension>(
        &self,
        target: ArrayViewMut<'_, A, D>,
        fold: impl Fold<A>,
        check: Check,
    ) -> Result<()> {
        // The target of a single lane is written after its last index.
        let single = self.updates.len() == self.updates.shape()[self.plan.axis];
        let on_the_way = check == Check::OnTheWay || (check == Check::First && single);
        if !on_the_way || target.is_empty() {
            self.check(check)?;
        }
        let refused = AtomicBool::new(false);
        self.scatter(target, Check::Done, |scatter| {
            let refused = on_the_way.then_some(&refused);
            parallel::run(scatter_wide::Part::whole(scatter, fold, refused)?, GRAIN);
            Ok(())
        })?;
        self.none_refused(refused)
    }
}

/// The last update wins.
#[derive(Clone, Copy)]
struct Overwrite;

impl<A: Clone> Update<A> for Overwrite {
    #[inline(always)]
    fn apply(self, target: &mut A, update: &A) {
        *target = update.clone();
    }
}

/// The first update wins: applied backward, it is the last to overwrite.
#[derive(Clone, Copy)]
struct FirstWins;

impl<A: Copy> Update<A> for FirstWins {
    const BACKWARD: bool = true;

    #[inline(always)]
    fn apply(self, target: &mut A, update: &A) {
        *target = *update;
    }
}

/// Every target gets this value.
#[derive(Clone, Copy)]
struct Set<A>(A);

impl<A: Copy + Send + Sync> Update<A> for Set<A> {
    #[inline(always)]
    fn apply(self, target: &mut A, _update: &A) {
        *target = self.0;
    }
}

macro_rules! updates {
    ($($name:ident: |$target:ident, $update:ident| $value:expr;)*) => {$(
        #[derive(Clone, Copy)]
        pub(super) struct $name;

        impl<A: ReduceElement> Update<A> for $name {
            #[inline(always)]
            fn apply(self, target: &mut A, update: &A) {
                let ($target, $update) = (*target, *update);
                *target = $value;
            }
        }
    )*};
}
updates! {
    Sum: |target, update| A::narrow(A::add(target.widen(), update));
    Prod: |target, update| A::narrow(A::mul(target.widen(), update));
    Min: |target, update| target.least(update);
    Max: |target, update| target.greatest(update);
}

macro_rules! folds {
    ($($name:ident -> $sum:ident: $zero:ident, $start:ident, $add:ident,
       |$value:ident, $count:ident, $init:ident| $finish:expr;)*) => {$(
        #[derive(Clone, Copy)]
        struct $name {
            /// Whether the value that the target holds takes part.
            init: bool,
        }

        impl<A: ReduceElement> Fold<A> for $name {
            type Sum = A::$sum;

            #[inline(always)]
            fn start(self, target: &A) -> A::$sum {
                if self.init { target.$start() } else { A::$zero }
            }
            #[inline(always)]
            fn add(self, sum: A::$sum, update: &A) -> A::$sum {
                A::$add(sum, *update)
            }
            #[inline(always)]
            fn finish(self, $value: A::$sum, $count: usize) -> A {
                let $init = self.init;
                $finish
            }
        }
    )*};
}
folds! {
    WideSum -> Wide: ZERO, widen, add, |sum, _count, _init| A::narrow(sum);
    WideProd -> Wide: ONE, widen, mul, |product, _count, _init| A::narrow(product);
    Mean -> MeanSum: MEAN_ZERO, mean_start, mean_add,
        |sum, count, init| A::mean(sum, count as u64 + u64::from(init));
}
