//! The kernels of each element type: what each reduction does, compiled once.

use std::any::TypeId;

use super::apply::{Set, apply, elements};
use crate::memory::tile::{Kernel, Tile};
use crate::reduction::{Arithmetic, Reduction};

type Run = unsafe fn(&Tile<'_>);

/// What is compiled for an element type.
///
/// Invariant: all functions were made for the type that `element` names, or for a
/// [`Twin`] of it.
#[derive(Debug, Clone, Copy)]
pub struct Kernels {
    element: fn() -> TypeId,
    supports: fn(Reduction) -> bool,
    narrow: fn(Reduction) -> Option<Run>,
    start: fn(Reduction) -> Option<Set>,
    wide: fn(Reduction) -> Option<Wide>,
    divide: Option<[Run; 2]>,
}

/// What has the size of `A` and a value for all of its bits, and the other way
/// round.
///
/// # Safety
/// That is so.
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
    pub(crate) const fn of<A: Arithmetic>() -> Self {
        Kernels {
            element: TypeId::of::<A>,
            supports: A::supports,
            narrow: narrow::<A>,
            start: start::<A>,
            wide: wide::<A>,
            divide: if A::MEAN_IS_SUM {
                Some([divide::<A, false>, divide::<A, true>])
            } else {
                None
            },
        }
    }

    /// Those of `T` for elements of type `A`.
    pub(crate) const fn of_twin<A: 'static, T: Arithmetic + Twin<A>>() -> Self {
        Kernels { element: TypeId::of::<A>, ..Self::of::<T>() }
    }

    /// Whether these are the kernels of elements of type `T`.
    #[inline]
    pub(crate) fn are_of<T>(&self) -> bool {
        typeid::of::<T>() == (self.element)()
    }

    /// Whether the reduction has a meaning for the type.
    pub(crate) fn supports(&self, reduction: Reduction) -> bool {
        (self.supports)(reduction)
    }

    /// Combines updates with their targets, where a target can hold what builds
    /// up. A mean is summed first.
    pub(in crate::memory) fn narrow(&self, reduction: Reduction) -> Option<Run> {
        (self.narrow)(reduction)
    }

    /// Writes to each selected element what its reduction starts from, where
    /// the value that it holds takes no part.
    pub(in crate::memory) fn start(&self, reduction: Reduction) -> Option<Set> {
        (self.start)(reduction)
    }

    /// How values build up beside their targets.
    pub(in crate::memory) fn wide(&self, reduction: Reduction) -> Option<Wide> {
        (self.wide)(reduction)
    }

    /// Divides sums (selected) by their counts (listed, `u32`), where a sum of
    /// the type is what a mean divides. `init` tells whether the value that the
    /// target held takes part.
    pub(in crate::memory) fn divide(&self, init: bool) -> Option<Run> {
        self.divide.map(|kernels| kernels[usize::from(init)])
    }
}

/// A kernel that is one function.
pub(in crate::memory) struct Plain(pub(in crate::memory) Run);

#[allow(unsafe_code)]
impl Kernel for Plain {
    #[inline]
    unsafe fn run(&self, tile: &Tile<'_>) {
        // SAFETY: the caller's promise.
        unsafe { (self.0)(tile) }
    }

    unsafe fn nowhere(&self, _: &Tile<'_>) {}
}

macro_rules! run {
    ($element:ty, |$held:ident, $update:ident| $value:expr) => {{
        #[allow(unsafe_code)]
        unsafe fn run<A: Arithmetic>(tile: &Tile<'_>) {
            // SAFETY: the caller's promise.
            unsafe { apply::<A, A>(tile, |$held, $update| $value) }
        }
        run::<$element>
    }};
}

fn narrow<A: Arithmetic>(reduction: Reduction) -> Option<Run> {
    let run: Run = match reduction {
        Reduction::Min => run!(A, |held, update| held.least(update)),
        Reduction::Max => run!(A, |held, update| held.greatest(update)),
        _ if const { !A::NARROW } => return None,
        Reduction::Mean if !A::MEAN_IS_SUM => return None,
        Reduction::Sum | Reduction::Mean => {
            run!(A::Ring, |held, update| A::narrow(A::add(held.widen(), update)))
        }
        Reduction::Sub => run!(A::Ring, |held, update| A::narrow(A::sub(held.widen(), update))),
        Reduction::Prod => run!(A::Ring, |held, update| A::narrow(A::mul(held.widen(), update))),
        Reduction::None => return None,
    };
    Some(run)
}

fn start<A: Arithmetic>(reduction: Reduction) -> Option<Set> {
    Some(Set::to(match reduction {
        Reduction::Min => A::GREATEST,
        Reduction::Max => A::LEAST,
        Reduction::Prod => A::narrow(A::ONE),
        Reduction::Sum | Reduction::Sub | Reduction::Mean => A::narrow(A::ZERO),
        Reduction::None => return None,
    }))
}

#[allow(unsafe_code)]
unsafe fn divide<A: Arithmetic, const INIT: bool>(tile: &Tile<'_>) {
    let of = |count: u32| u64::from(count) + u64::from(INIT);
    let (inner, one) = (tile.inner, |sum: A, count| A::mean(sum.mean_start(), count));
    if [inner.selected, inner.listed] != [size_of::<A>() as isize, 0] {
        // SAFETY: the caller's promise.
        return elements(tile, |sum, count| unsafe {
            let (sum, count) = (sum.cast::<A>(), count.cast::<u32>().read());
            if count != 0 {
                sum.write(one(sum.read(), of(count)));
            }
        });
    }
    // One count for a row.
    let mut rows = *tile;
    rows.inner.len = 1;
    // SAFETY: the caller's promise.
    elements(&rows, |sums, count| unsafe {
        let (sums, count) = (sums.cast::<A>(), count.cast::<u32>().read());
        if count != 0 {
            for k in 0..inner.len {
                sums.add(k).write(one(sums.add(k).read(), of(count)));
            }
        }
    });
}

/// What builds up for one target, and from how many updates.
#[derive(Debug, Clone, Copy)]
struct Slot<S> {
    sum: S,
    count: u32,
}

/// How values build up in slots beside their targets. Slots are listed where
/// they start and finish, and selected where updates are added.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) struct Wide {
    /// The size and the alignment of a slot in bytes.
    pub(in crate::memory) size: usize,
    pub(in crate::memory) align: usize,
    /// Slots (listed) start from targets (selected), or from nothing.
    pub(in crate::memory) start: Run,
    pub(in crate::memory) start_empty: Run,
    /// Adds updates (listed) to slots (selected).
    pub(in crate::memory) add: Run,
    /// Writes slots (listed) to targets (selected), where there were updates;
    /// the second counts the value that the target held.
    pub(in crate::memory) finish: [Run; 2],
}

/// How one reduction builds up.
trait Build<A: Arithmetic> {
    type Sum: Copy + 'static;
    const EMPTY: Self::Sum;
    fn start(held: A) -> Self::Sum;
    fn add(sum: Self::Sum, update: A) -> Self::Sum;
    fn finish(sum: Self::Sum, count: u64) -> A;
}

struct Sum;
struct Sub;
struct Prod;
struct Mean;

macro_rules! builds {
    ($($name:ident: $sum:ident $empty:ident $start:ident $add:ident, |$value:ident, $count:ident| $finish:expr;)*) => {$(
        impl<A: Arithmetic> Build<A> for $name {
            type Sum = A::$sum;
            const EMPTY: A::$sum = A::$empty;
            #[inline(always)]
            fn start(held: A) -> A::$sum {
                held.$start()
            }
            #[inline(always)]
            fn add(sum: A::$sum, update: A) -> A::$sum {
                A::$add(sum, update)
            }
            #[inline(always)]
            fn finish($value: A::$sum, $count: u64) -> A {
                $finish
            }
        }
    )*};
}
builds! {
    Sum: Wide ZERO widen add, |sum, _count| A::narrow(sum);
    Sub: Wide ZERO widen sub, |difference, _count| A::narrow(difference);
    Prod: Wide ONE widen mul, |product, _count| A::narrow(product);
    Mean: MeanSum MEAN_ZERO mean_start mean_add, |sum, count| A::mean(sum, count);
}

fn wide<A: Arithmetic>(reduction: Reduction) -> Option<Wide> {
    Some(match reduction {
        Reduction::Mean => build::<A, Mean>(),
        _ if const { A::NARROW } => return None,
        Reduction::Sum => build::<A, Sum>(),
        Reduction::Sub => build::<A, Sub>(),
        Reduction::Prod => build::<A, Prod>(),
        _ => return None,
    })
}

fn build<A: Arithmetic, B: Build<A>>() -> Wide {
    Wide {
        size: size_of::<Slot<B::Sum>>(),
        align: align_of::<Slot<B::Sum>>(),
        start: start_slots::<A, B>,
        start_empty: empty_slots::<A, B>,
        add: add::<A, B>,
        finish: [finish::<A, B, false>, finish::<A, B, true>],
    }
}

#[allow(unsafe_code)]
unsafe fn start_slots<A: Arithmetic, B: Build<A>>(tile: &Tile<'_>) {
    // SAFETY: the caller's promise.
    elements(tile, |target, slot| unsafe {
        let sum = B::start(target.cast::<A>().read());
        slot.cast::<Slot<B::Sum>>().write(Slot { sum, count: 0 });
    });
}

#[allow(unsafe_code)]
unsafe fn empty_slots<A: Arithmetic, B: Build<A>>(tile: &Tile<'_>) {
    // SAFETY: the caller's promise.
    elements(tile, |_, slot| unsafe {
        slot.cast::<Slot<B::Sum>>().write(Slot { sum: B::EMPTY, count: 0 });
    });
}

#[allow(unsafe_code)]
unsafe fn add<A: Arithmetic, B: Build<A>>(tile: &Tile<'_>) {
    // SAFETY: the caller's promise.
    unsafe {
        apply::<Slot<B::Sum>, A>(tile, |slot, update| Slot {
            sum: B::add(slot.sum, update),
            count: slot.count.wrapping_add(1),
        });
    }
}

#[allow(unsafe_code)]
unsafe fn finish<A: Arithmetic, B: Build<A>, const INIT: bool>(tile: &Tile<'_>) {
    // SAFETY: the caller's promise.
    elements(tile, |target, slot| unsafe {
        let Slot { sum, count } = slot.cast::<Slot<B::Sum>>().read();
        if count != 0 {
            let count = u64::from(count) + u64::from(INIT);
            target.cast::<A>().write(B::finish(sum, count));
        }
    });
}
