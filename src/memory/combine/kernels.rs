//! The kernels of each reduction of each element type, compiled once.

use std::any::TypeId;

use smallvec::SmallVec;

use super::accumulate::{Accumulator, AccumulatorFns, Extent, OnceRun};
use super::apply::{Set, apply, apply_planned, apply_singly};
use super::transposed::run_by_rows;
use crate::memory::indices::elements::{Action, Elements, Single, SingleFn};
use crate::memory::tile::{Kernel, Planned, PlannedFn, Tile, TileFn};
use crate::reduction::{Arithmetic, Reduction};

/// The functions that are compiled for an element type.
///
/// Invariant: all functions were made for the type whose id `element` returns, or for a
/// [`Twin`] of it.
#[derive(Debug, Clone, Copy)]
pub struct Kernels {
    element: fn() -> TypeId,
    supports: fn(Reduction) -> bool,
    in_target: fn(Reduction) -> Option<InTarget>,
    start: fn(Reduction) -> Set,
    pub(in crate::memory) accumulators: AccumulatorFns,
}

/// A type whose values may be read as values of `A`, and `A`'s as its own.
///
/// # Safety
/// This type and `A` have the same size, and every bit pattern of a value of one is a value of the
/// other.
#[allow(unsafe_code)]
pub(crate) unsafe trait Twin<A> {}

macro_rules! twins {
    ($($(#[$condition:meta])? $one:ty: $other:ty;)*) => {$(
        $(#[$condition])?
        #[allow(unsafe_code)]
        // SAFETY: integers of the same size.
        unsafe impl Twin<$other> for $one {}
    )*};
}
twins! {
    u8: i8; u16: i16; u32: i32; u64: i64; u128: i128;
    #[cfg(target_pointer_width = "64")] i64: isize;
    #[cfg(target_pointer_width = "64")] u64: usize;
    #[cfg(target_pointer_width = "32")] i32: isize;
    #[cfg(target_pointer_width = "32")] u32: usize;
    #[cfg(target_pointer_width = "16")] i16: isize;
    #[cfg(target_pointer_width = "16")] u16: usize;
}

// SAFETY: a type is its own twin.
#[allow(unsafe_code)]
unsafe impl<A> Twin<A> for A {}

impl Kernels {
    /// The kernels of elements of type `A`.
    pub(crate) const fn of<A: Arithmetic>() -> Self {
        Kernels {
            element: TypeId::of::<A>,
            supports: A::supports,
            in_target: in_target::<A>,
            start: start::<A>,
            accumulators: A::ACCUMULATORS.0,
        }
    }

    /// The kernels of `T`, to be used for elements of type `A`.
    pub(crate) const fn of_twin<A: 'static, T: Arithmetic + Twin<A>>() -> Self {
        Kernels { element: TypeId::of::<A>, ..Self::of::<T>() }
    }

    /// Whether these are the kernels of elements of type `T`.
    #[inline]
    pub(crate) fn are_of<T>(&self) -> bool {
        typeid::of::<T>() == (self.element)()
    }

    /// Whether the reduction is defined for the type.
    pub(crate) fn supports(&self, reduction: Reduction) -> bool {
        (self.supports)(reduction)
    }

    /// Whether updates are accumulated beside their targets, in another type.
    pub(crate) fn need_accumulator(&'static self, reduction: Reduction) -> bool {
        match reduction {
            Reduction::Mean => self.accumulators.quotients.is_none(),
            _ => Reducer { kernels: self, reduction, init: true }.has_slots(),
        }
    }
}

/// A reduction of elements of one type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reducer {
    pub(crate) kernels: &'static Kernels,
    pub(crate) reduction: Reduction,
    /// Whether the value that a target holds takes part.
    pub(crate) init: bool,
}

impl Reducer {
    /// The kernel that combines updates with their targets, where the element type itself is what
    /// the reduction accumulates in.
    #[inline]
    pub(in crate::memory) fn in_target(&self) -> Option<InTarget> {
        (self.kernels.in_target)(self.reduction)
    }

    /// How targets are combined with their updates where no target has two of them, for reductions
    /// that accumulate beside their targets otherwise.
    pub(in crate::memory) fn once(&self) -> Option<Once> {
        let reducer = match self.reduction {
            // The mean of a single value is its sum.
            Reduction::Mean if !self.init => Reducer { reduction: Reduction::Sum, ..*self },
            _ => *self,
        };
        let OnceRun { run, cost_factor } = reducer.accumulator_of_singles()?.once?;
        let combine = InTarget { run, planned: None, single: None, any_order: None, cost_factor };
        Some(Once { start: reducer.start(), combine })
    }

    /// The kernel that writes the identity of the reduction to each selected element, if the value that a
    /// target holds takes no part.
    #[inline]
    pub(in crate::memory) fn start(&self) -> Option<Set> {
        (!self.init).then(|| (self.kernels.start)(self.reduction))
    }

    /// How the reduction accumulates in slots beside the targets, if it does.
    #[inline]
    pub(in crate::memory) fn accumulator(&self, extent: Extent) -> Option<Accumulator> {
        (self.kernels.accumulators.of)(self.reduction, extent)
    }

    /// [`accumulator`](Self::accumulator) for single elements, with few updates for each.
    fn accumulator_of_singles(&self) -> Option<Accumulator> {
        self.accumulator(Extent { updates: 1, rows: false, bits: 0 })
    }

    /// The size of a slot for single elements in bytes, with few updates for each; 0 if the reduction
    /// has none.
    pub(in crate::memory) fn slot_size(&self) -> usize {
        self.accumulator_of_singles().map_or(0, |accumulator| accumulator.slot)
    }

    /// Whether the updates of a target may come in any order, which gives the same bits.
    pub(in crate::memory) fn takes_any_order(&self) -> bool {
        self.in_target().is_some_and(|kernel| kernel.any_order.is_some())
    }

    /// Whether single elements need no slots where the updates of each target follow each other.
    pub(in crate::memory) fn uses_order(&self) -> bool {
        self.accumulator_of_singles().is_some_and(|accumulator| accumulator.uses_order())
    }

    /// Whether single elements can be accumulated in slots, even if the element type itself serves
    /// as for minima and maxima of half precision.
    pub(in crate::memory) fn has_slots(&self) -> bool {
        self.slot_size() > 0
    }
}

/// Combines targets with the only update of each.
pub(in crate::memory) struct Once {
    /// Writes the identity of the reduction first.
    start: Option<Set>,
    combine: InTarget,
}

impl Once {
    /// The kernels to run one after the other.
    pub(in crate::memory) fn kernels(&self) -> SmallVec<[&dyn Kernel; 2]> {
        let start = self.start.iter().map(|start| start as &dyn Kernel);
        start.chain([&self.combine as &dyn Kernel]).collect()
    }
}

/// Combines updates with targets of their type, in which the reduction accumulates.
#[derive(Clone, Copy)]
pub(in crate::memory) struct InTarget {
    run: TileFn,
    planned: Option<PlannedFn>,
    single: Option<(Single, SingleFn)>,
    /// Writes the identity of the reduction, where the result has the same bits for any order of
    /// updates.
    any_order: Option<Set>,
    /// [`Kernel::cost_factor`].
    cost_factor: u64,
}

#[allow(unsafe_code)]
impl Kernel for InTarget {
    #[inline]
    unsafe fn run(&self, tile: &Tile<'_>) {
        // SAFETY: the caller's promise; a type that is reduced is nothing but its bytes.
        unsafe {
            if tile.inner.len == 1 && tile.outer.len == 1 {
                // Single elements have no rows to be transposed or put in another order.
                return (self.run)(tile);
            }
            run_by_rows(tile, self.run);
        }
    }

    fn planned(&self) -> Option<PlannedFn> {
        self.planned
    }

    fn any_order(&self) -> Option<Set> {
        self.any_order
    }

    fn cost_factor(&self) -> u64 {
        self.cost_factor
    }

    fn single(&self) -> Option<Single> {
        self.single.map(|(single, _)| single)
    }

    unsafe fn run_single(&self, elements: &Elements<'_>) -> bool {
        // SAFETY: the caller's promise.
        self.single.is_some_and(|(_, run)| unsafe { run(elements) })
    }
}

/// The kernel that replaces each target by `$combine` of it and its update; where elements are
/// reduced one by one, by `$combine_alone`, if that is given.
macro_rules! run {
    ($element:ty, $combine:expr) => {
        run!($element, $combine, $combine)
    };
    ($element:ty, $combine:expr, $combine_alone:expr) => {{
        #[allow(unsafe_code)]
        unsafe fn run<A: Arithmetic>(tile: &Tile<'_>) {
            // SAFETY: the caller's promise.
            unsafe { apply::<A>(tile, $combine, $combine_alone) }
        }
        run::<$element>
    }};
}

/// The kernel that replaces each target by `$combine` of it and its update, each index being
/// resolved just before it is used: for single elements whose size in bytes matches `$sizes`. Other
/// sizes are not worth functions of their own.
macro_rules! singly {
    ($sizes:pat, $element:ty, $waits:expr, $combine:expr) => {{
        #[allow(unsafe_code)]
        unsafe fn run<A: Arithmetic>(elements: &Elements<'_>) -> bool {
            // SAFETY: the caller's promise.
            unsafe { apply_singly::<A, A>(elements, $combine) }
        }
        let size = size_of::<$element>();
        if const { matches!(size_of::<$element>(), $sizes) } {
            let single = Single { size, action: Action::Combine, waits: $waits };
            Some((single, run::<$element> as SingleFn))
        } else {
            None
        }
    }};
}

/// [`Reducer::in_target`] of elements of type `A`.
pub(in crate::memory) fn in_target<A: Arithmetic>(reduction: Reduction) -> Option<InTarget> {
    /// [`Single::waits`]: 1M `f32` sums in 100,000, sorted, take 0.95 ms combined first and 0.6 one
    /// by one, in 1000 0.6 and 2.7.
    const WAITS: Option<[usize; 2]> = Some([19, 20]);
    // A sum or product of integers takes few cycles, so that waiting for the one before costs next to nothing.
    let waits = WAITS.filter(|_| !A::ANY_ORDER);
    let mut planned = None;
    let single;
    let run: TileFn = match reduction {
        Reduction::Min => {
            single = singly!(1 | 2 | 4 | 8, A, WAITS, A::least_alone);
            run!(A, A::least, A::least_alone)
        }
        Reduction::Max => {
            single = singly!(1 | 2 | 4 | 8, A, WAITS, A::greatest_alone);
            run!(A, A::greatest, A::greatest_alone)
        }
        _ if const { !A::ACCUMULATES } => return None,
        Reduction::Sum => {
            planned = Some(sum_planned::<A::Ring> as PlannedFn);
            single = singly!(1 | 2 | 4 | 8 | 16, A::Ring, waits, A::add);
            run!(A::Ring, A::add)
        }
        Reduction::Sub => {
            single = singly!(1 | 2 | 4 | 8, A::Ring, waits, A::sub);
            run!(A::Ring, A::sub)
        }
        Reduction::Prod => {
            single = singly!(1 | 2 | 4 | 8, A::Ring, waits, A::mul);
            run!(A::Ring, A::mul)
        }
        Reduction::Mean | Reduction::None => return None,
    };
    let any_order = (A::ANY_ORDER && reduction != Reduction::Sub).then(|| start::<A>(reduction));
    Some(InTarget { run, planned, single, any_order, cost_factor: 1 })
}

/// The functions of [`InTarget`]: for tiles, and for single elements.
pub(super) fn functions<A: Arithmetic>(reduction: Reduction) -> Option<(TileFn, Option<SingleFn>)> {
    in_target::<A>(reduction).map(|kernel| (kernel.run, kernel.single.map(|(_, run)| run)))
}

/// Sums updates into elements as a plan has listed both. Other reductions of such elements are not
/// worth functions of their own.
///
/// # Safety
/// That of [`apply_planned`], for elements of type `A`.
#[allow(unsafe_code)]
unsafe fn sum_planned<A: Arithmetic>(planned: &Planned<'_>) {
    // SAFETY: the caller's promise.
    unsafe { apply_planned::<A>(planned, A::add) }
}

/// The kernel that writes the identity of a reduction. It is not asked for that of [`Reduction::None`].
fn start<A: Arithmetic>(reduction: Reduction) -> Set {
    Set::to(match reduction {
        Reduction::Min => A::GREATEST,
        Reduction::Max => A::LEAST,
        Reduction::Prod => A::ONE,
        Reduction::Sum | Reduction::Sub | Reduction::Mean | Reduction::None => A::ZERO,
    })
}
