//! How each reduction of each element type accumulates in slots.
//!
//! Elements become *values* of a type in which they can be summed: half
//! precision becomes `f32`, integers become integers of 64 bits or of 32 if their
//! sums fit in these. Elements of other types are their own values. A *slot*, the accumulator of a
//! target, is a value, or for a mean a sum with its count:
//!
//! ```text
//! target --widen--> value --lift--> slot          start
//! update --widen--> value [--lift--> slot] --add--> slot
//! slot --divide--> value --narrow--> target       finish
//! ```
//!
//! All of these functions take contiguous elements; the code that copies others
//! to and from contiguous buffers is compiled once (`convert.rs`).

use std::marker::PhantomData;

use super::super::kernels;
#[cfg(feature = "half")]
use super::in_order::LastTarget;
use super::integers::{self, Integer};
use super::rows::Rows;
use super::slots;
use crate::memory::indices::elements::SingleFn;
#[cfg(feature = "half")]
use crate::memory::tile::Tile;
use crate::memory::tile::TileFn;
use crate::reduction::{Divide, Reduction, Running, Widened};

/// Converts `len` elements (first pointer) to values (second pointer).
pub(super) type WidenFn = unsafe fn(*const u8, *mut u8, usize);

/// Converts `len` values (first pointer) to elements (second pointer), which hold what the target
/// held before: an element whose new value is what it was widened to may keep its bits.
pub(super) type NarrowFn = unsafe fn(*const u8, *mut u8, usize);

/// Makes `len` slots (second pointer) of values (first pointer): each counts one update if the flag
/// is set, else none.
pub(super) type LiftFn = unsafe fn(*const u8, *mut u8, usize, bool);

/// Divides `len` slots (first pointer) into means, as values (second pointer). If the flag is set,
/// the value that a slot started from counts, too. A slot without updates becomes the value that it
/// started from.
pub(super) type DivideFn = unsafe fn(*const u8, *mut u8, usize, bool);

/// Divides `len` sums, in place, by a count.
pub(super) type DivideRow = unsafe fn(*mut u8, usize, u32);

/// Divides sums, in place, by a count for each, to which the number is added; a sum whose count is 0
/// stays as it is.
pub(super) type DivideEach = unsafe fn(*mut u8, &[u32], u32);

/// How sums of one element type are divided.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) struct Quotients {
    pub(super) row: DivideRow,
    pub(super) each: DivideEach,
}

impl Quotients {
    /// Those of sums of type `A`.
    const fn of<A: Divide>() -> Self {
        Quotients { row: slots::divide_row::<A>, each: slots::divide_each::<A> }
    }
}

/// The function that combines a tile of targets with their only updates.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OnceRun {
    pub(in crate::memory::combine) run: TileFn,
    /// [`Kernel::cost_factor`](crate::memory::tile::Kernel::cost_factor).
    pub(in crate::memory::combine) cost_factor: u64,
}

/// The function that reduces a tile of single elements, of one loop, whose targets' updates follow each
/// other. The accumulator is that of the last target of the tile before, and of this tile afterwards; the
/// flag is whether the value that a target holds takes part.
///
/// # Safety
/// That of [`Kernel::run`](crate::memory::tile::Kernel::run).
#[cfg(feature = "half")]
pub(super) type InOrderFn = unsafe fn(&Tile<'_>, &mut LastTarget, bool);

/// An [`InOrderFn`].
#[cfg(feature = "half")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct InOrderRun(pub(super) InOrderFn);

/// How one reduction of one element type accumulates in slots.
///
/// Invariant: all functions were made for the same types of elements, values and
/// slots, of these sizes, which may all be copied by their bits and need no
/// stricter alignment than `u128`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Accumulator {
    /// The size of an element, of a value and of a slot in bytes.
    pub(super) element: usize,
    pub(super) value: usize,
    pub(in crate::memory::combine) slot: usize,
    /// None where elements are their own values.
    pub(super) convert: Option<(WidenFn, NarrowFn)>,
    /// None where slots are values.
    pub(super) lift: Option<(LiftFn, DivideFn)>,
    /// Whether each value is lifted to a slot before it is added; else values are added to slots.
    pub(super) lifts_updates: bool,
    pub(super) add: TileFn,
    /// The same for single values, each index being resolved just before it is used.
    pub(super) add_single: Option<SingleFn>,
    /// The first bytes of an empty slot; its other bytes are zeros.
    pub(super) empty: [u8; 4],
    /// Divides the sums of a row, for means whose updates are counted by rows; none where slots
    /// count them, and for other reductions.
    pub(super) divide_row: Option<DivideRow>,
    /// How whole rows are reduced in registers instead, if they can be.
    pub(super) rows: Option<Rows>,
    /// Combines targets with their only updates, for reductions that need no slot then. That of a
    /// mean is for the update and what the target holds.
    pub(in crate::memory::combine) once: Option<OnceRun>,
    /// Reduces single elements whose targets' updates follow each other, without slots.
    #[cfg(feature = "half")]
    pub(super) in_order: Option<InOrderRun>,
}

impl Accumulator {
    /// Whether `add` adds elements as they are.
    #[inline]
    pub(super) fn adds_elements(&self) -> bool {
        self.convert.is_none() && !self.lifts_updates
    }

    /// Whether single elements need no slots where the updates of each target follow each other.
    pub(in crate::memory::combine) fn uses_order(&self) -> bool {
        #[cfg(feature = "half")]
        return self.in_order.is_some();
        #[cfg(not(feature = "half"))]
        return false;
    }

    /// The size of what `add` adds to slots in bytes.
    #[inline]
    pub(super) fn addend(&self) -> usize {
        if self.lifts_updates { self.slot } else { self.value }
    }
}

/// The facts about a reduction that decide which slots its means have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent {
    /// The number of updates of a target, at most.
    pub(crate) updates: usize,
    /// Whether the updates of whole rows are counted, instead of those of each target.
    pub(crate) rows: bool,
    /// The number of bits, without the sign, that each integer fits in.
    pub(crate) bits: u32,
}

/// Returns the number of bits, without the sign, that each of `len` elements fits in.
pub(in crate::memory) type Significant = unsafe fn(*const u8, usize) -> u32;

/// Returns how a reduction of one element type accumulates in slots; none where the target itself
/// can be the accumulator.
type AccumulatorFn = fn(Reduction, Extent) -> Option<Accumulator>;

/// The functions by which reductions of one element type accumulate, where targets of that type cannot be the
/// accumulators.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) struct AccumulatorFns {
    pub(in crate::memory::combine) of: AccumulatorFn,
    /// The function that finds how many bits the integers of an array need, where that decides in
    /// which slots a mean accumulates.
    pub(in crate::memory) significant: Option<Significant>,
    /// The functions that divide sums by their counts, where means are sums of the element type that
    /// are divided.
    pub(in crate::memory) quotients: Option<Quotients>,
}

/// [`AccumulatorFns`].
///
/// Invariant: all of them are for elements of type `A`.
pub(crate) struct Accumulators<A>(pub(in crate::memory::combine) AccumulatorFns, PhantomData<A>);

impl<A> Accumulators<A> {
    /// No reduction needs one.
    pub(crate) const NONE: Self = Self::by(|_, _| None);

    const fn by(of: AccumulatorFn) -> Self {
        Accumulators(AccumulatorFns { of, significant: None, quotients: None }, PhantomData)
    }
}

impl<A: Running + Divide> Accumulators<A> {
    /// Those of numbers whose means are their sums, divided.
    pub(crate) const DIVIDED: Self = {
        let quotients = Some(Quotients::of::<A>());
        Accumulators(AccumulatorFns { quotients, ..Self::by(running::<A>).0 }, PhantomData)
    };
}

impl<A: Integer> Accumulators<A> {
    /// Those of integers of up to 32 bits.
    pub(crate) const SMALL_INTEGERS: Self = Self::integers(small_integer::<A>);

    const fn integers(of: AccumulatorFn) -> Self {
        // Integers of 8 bits are all small, so a scan would gain nothing.
        let scanned = size_of::<A>() > 1;
        let significant: Option<Significant> =
            if scanned { Some(integers::significant::<A>) } else { None };
        Accumulators(AccumulatorFns { significant, ..Self::by(of).0 }, PhantomData)
    }
}

impl<A: Integer + Running> Accumulators<A> {
    /// Those of integers of 64 and 128 bits.
    pub(crate) const LARGE_INTEGERS: Self = Self::integers(large_integer::<A>);
}

#[cfg(feature = "half")]
impl<A: super::halves::Half> Accumulators<A> {
    /// Those of half precision.
    pub(crate) const HALVES: Self = Self::by(half::<A>);
}

const ZEROS: [u8; 4] = [0; 4];

/// Means of elements whose slots are those of [`Running`].
fn running<A: Running>(reduction: Reduction, _: Extent) -> Option<Accumulator> {
    (reduction == Reduction::Mean).then_some(Accumulator {
        element: size_of::<A>(),
        value: size_of::<A>(),
        slot: size_of::<A::Slot>(),
        convert: None,
        lift: Some((slots::start::<A>, slots::divide::<A>)),
        lifts_updates: false,
        add: slots::add::<A>,
        add_single: Some(slots::add_singly::<A>),
        empty: ZEROS,
        divide_row: None,
        rows: None,
        once: None,
        #[cfg(feature = "half")]
        in_order: None,
    })
}

/// `accumulator` for means with the slots of `A`, which is the type of its values.
fn counted<A: Running>(accumulator: Accumulator) -> Accumulator {
    Accumulator {
        slot: size_of::<A::Slot>(),
        lift: Some((slots::start::<A>, slots::divide::<A>)),
        add: slots::add::<A>,
        add_single: Some(slots::add_singly::<A>),
        ..accumulator
    }
}

/// Means of integers of up to 32 bits.
fn small_integer<A: Integer>(reduction: Reduction, extent: Extent) -> Option<Accumulator> {
    let accumulator = in_64_bits::<A>()?;
    let (add, add_single) = kernels::functions::<u32>(Reduction::Sum)?;
    let short = Accumulator {
        value: 4,
        slot: 4,
        convert: match size_of::<A>() {
            4 => None,
            _ => Some((integers::widen_short::<A>, integers::narrow_short::<A::Bits>)),
        },
        add,
        add_single,
        ..accumulator
    };
    let with_counts = || match extent.updates >> 31 {
        0 => counted::<Widened>(accumulator),
        _ => counted::<i64>(accumulator),
    };
    let mean = reduction == Reduction::Mean;
    mean.then(|| extent.narrowest(accumulator, Some(short)).unwrap_or_else(with_counts))
}

/// Means of integers of 64 and 128 bits.
fn large_integer<A: Integer + Running>(
    reduction: Reduction,
    extent: Extent,
) -> Option<Accumulator> {
    let in_64_bits = in_64_bits::<A>().filter(|_| reduction == Reduction::Mean);
    let narrowest = in_64_bits.and_then(|accumulator| extent.narrowest(accumulator, None));
    narrowest.or_else(|| running::<A>(reduction, extent))
}

/// Sums of 64 bits, without counts.
fn in_64_bits<A: Integer>() -> Option<Accumulator> {
    let (add, add_single) = kernels::functions::<u64>(Reduction::Sum)?;
    Some(Accumulator {
        element: size_of::<A>(),
        value: 8,
        slot: 8,
        convert: match size_of::<A>() {
            8 => None,
            _ => Some((integers::widen::<A>, integers::narrow::<A::Bits>)),
        },
        lift: None,
        lifts_updates: false,
        add,
        add_single,
        empty: ZEROS,
        divide_row: None,
        rows: A::ROWS,
        once: None,
        #[cfg(feature = "half")]
        in_order: None,
    })
}

impl Extent {
    /// The number of bits of the largest count of updates.
    fn count_bits(self) -> u32 {
        usize::BITS - self.updates.leading_zeros()
    }

    /// The number of bits that a sum needs beyond those of an element: for the count of updates
    /// with the value that the target holds, and for the sign.
    fn extra_bits(self) -> u32 {
        self.count_bits() + 1
    }

    /// The limit of a scan of the elements for the number of bits that they need: if all fit in
    /// this many bits, slots may be smaller than for `self.bits`. None where a scan gains nothing.
    pub(super) fn scan_limit(self) -> Option<u32> {
        let (smallest, largest) = match (self.rows, self.count_bits()) {
            (true, _) => (32, 64),
            (false, ..=12) => (integers::SHORT_SUM_BITS, 48),
            (false, ..=16) => (48, 48),
            (false, ..=24) => (40, 40),
            (false, _) => return None,
        };
        let bits = |sum: u32| sum.checked_sub(self.extra_bits());
        // If all integers of this type fit in the larger slots, only the smaller ones gain.
        let limit = match bits(largest) {
            Some(larger) if self.bits > larger => larger,
            _ => bits(smallest)?,
        };
        (self.bits > limit).then_some(limit)
    }

    /// Returns the smallest slots that hold the sums of these integers, if 64 bits do: `short` (32
    /// bits) or `accumulator` (64 bits). Of rows these are sums, otherwise sum and count share the bits.
    fn narrowest(
        self,
        accumulator: Accumulator,
        short: Option<Accumulator>,
    ) -> Option<Accumulator> {
        let packed = |accumulator: Accumulator, lift: LiftFn, divide: DivideFn| {
            let lift = Some((lift, divide));
            Some(Accumulator { lift, lifts_updates: true, ..accumulator })
        };
        let (sum, count) = (self.bits.saturating_add(self.extra_bits()), self.count_bits());
        match (sum, count, short) {
            (..=32, _, Some(short)) if self.rows => {
                Some(Accumulator { divide_row: Some(integers::divide_short_row), ..short })
            }
            (..=64, ..) if self.rows => {
                Some(Accumulator { divide_row: Some(integers::divide_row), ..accumulator })
            }
            _ if self.rows => None,
            (..=integers::SHORT_SUM_BITS, ..=12, Some(short)) => {
                packed(short, integers::lift_short, integers::divide_short)
            }
            (..=48, ..=16, _) => packed(accumulator, integers::lift::<48>, integers::divide::<48>),
            (..=40, ..=24, _) => packed(accumulator, integers::lift::<40>, integers::divide::<40>),
            _ => None,
        }
    }
}

/// Reductions of half precision, which accumulate in `f32`.
#[cfg(feature = "half")]
fn half<A: super::halves::Half>(reduction: Reduction, extent: Extent) -> Option<Accumulator> {
    use super::rows::RowParams;

    /// The sign bit of a half.
    const SIGN: u32 = 0x8000;
    let identity: f32 = match reduction {
        Reduction::Sum | Reduction::Sub | Reduction::Mean => 0.0,
        Reduction::Prod => 1.0,
        Reduction::Min => f32::INFINITY,
        Reduction::Max => f32::NEG_INFINITY,
        Reduction::None => return None,
    };
    // A mean is a sum until it is divided.
    let added = if reduction == Reduction::Mean { Reduction::Sum } else { reduction };
    let (add, add_single) = kernels::functions::<f32>(added)?;
    let in_f32 = Accumulator {
        element: size_of::<A>(),
        value: 4,
        slot: 4,
        convert: Some((A::WIDEN, A::NARROW)),
        lift: None,
        lifts_updates: false,
        add,
        add_single,
        empty: identity.to_ne_bytes(),
        divide_row: None,
        rows: match reduction {
            Reduction::Sum | Reduction::Mean => Some((A::SUM_ROW, 0)),
            Reduction::Sub => Some((A::SUM_ROW, SIGN)),
            Reduction::Prod => Some((A::MULTIPLY_ROW, 0)),
            _ => None,
        }
        .map(|(run, flip)| Rows {
            run,
            params: RowParams { flip, mean: reduction == Reduction::Mean },
        }),
        once: A::once(reduction).filter(|_| Rows::can_run()),
        in_order: A::in_order(reduction).filter(|_| Rows::can_run()),
    };
    Some(match reduction {
        Reduction::Mean if extent.rows => {
            Accumulator { divide_row: Some(slots::divide_row::<f32> as DivideRow), ..in_f32 }
        }
        Reduction::Mean => counted::<f32>(in_f32),
        _ => in_f32,
    })
}
