//! How each reduction of each element type builds up beside its target.
//!
//! Elements become *values* of a type in which they can be added up: half
//! precision `f32`, integers of up to 32 bits 64. Others are their own values.
//! What is kept for a target, its *slot*, is a value, or for a mean a sum with
//! its count:
//!
//! ```text
//! target --widen--> value --lift--> slot      as it starts
//! update --widen--> value [--lift-->] add to the slot
//! slot --divide--> value --narrow--> target   as it is finished
//! ```
//!
//! All of these are functions for elements that lie next to each other; what
//! gathers and spreads others is compiled once.

use super::super::kernels::{self, Run};
use super::integers::{self, Integer};
use super::rows::Rows;
use super::slots;
use crate::reduction::{Reduction, Running, Widened};

/// Elements to as many values.
pub(super) type Widen = unsafe fn(*const u8, *mut u8, usize);

/// Values back to elements. An element whose value is what it was widened to
/// may keep its bits.
pub(super) type Narrow = unsafe fn(*const u8, *mut u8, usize);

/// Values to as many slots, which count one update each, or none.
pub(super) type Lift = unsafe fn(*const u8, *mut u8, usize, bool);

/// Slots to means, as values; the flag tells whether what a slot started from
/// counts, too. A slot without updates is what it started from.
pub(super) type Divide = unsafe fn(*const u8, *mut u8, usize, bool);

/// Sums to means of so many values.
pub(crate) type DivideRow = unsafe fn(*mut u8, usize, u32);

/// How values build up beside their targets.
///
/// Invariant: all functions were made for the same elements, values and slots,
/// of these sizes, which may all be copied by their bits and need no stricter
/// alignment than `u128`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wide {
    /// The size of an element, of a value and of a slot in bytes.
    pub(super) element: usize,
    pub(super) value: usize,
    pub(super) slot: usize,
    /// None where elements are values.
    pub(super) convert: Option<(Widen, Narrow)>,
    /// None where values are slots.
    pub(super) lift: Option<(Lift, Divide)>,
    /// Whether slots are what is added to slots, or else values.
    pub(super) adds_slots: bool,
    pub(super) add: Run,
    /// The first bytes of a slot that starts anew; all others are zeros.
    pub(super) empty: [u8; 4],
    /// None where means are counted by their slots.
    pub(super) divide_row: Option<DivideRow>,
    /// How whole rows are reduced, if not like that.
    pub(super) rows: Option<Rows>,
}

/// What decides how a mean is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent {
    /// How many updates an element sees, at most.
    pub(crate) updates: usize,
    /// Whether whole rows are counted.
    pub(crate) rows: bool,
    /// How many bits integers need beside their sign, at most.
    pub(crate) bits: u32,
}

/// How many bits the largest of so many elements needs beside its sign.
pub(crate) type Significant = unsafe fn(*const u8, usize) -> u32;

/// A reduction of one element type in one extent; none where the target can
/// hold what builds up.
pub(crate) type Widely = fn(Reduction, Extent) -> Option<Wide>;

const ZEROS: [u8; 4] = [0; 4];

/// Means of what is its own sum, or has one in its slot.
pub(crate) fn running<A: Running>(reduction: Reduction, _: Extent) -> Option<Wide> {
    (reduction == Reduction::Mean).then_some(Wide {
        element: size_of::<A>(),
        value: size_of::<A>(),
        slot: size_of::<A::Slot>(),
        convert: None,
        lift: Some((slots::start::<A>, slots::divide::<A>)),
        adds_slots: false,
        add: slots::add::<A>,
        empty: ZEROS,
        divide_row: None,
        rows: None,
    })
}

/// The same with the slots of `A`, which is what its values are.
fn counted<A: Running>(wide: Wide) -> Wide {
    Wide {
        slot: size_of::<A::Slot>(),
        lift: Some((slots::start::<A>, slots::divide::<A>)),
        adds_slots: false,
        add: slots::add::<A>,
        divide_row: None,
        ..wide
    }
}

/// Means of integers of up to 32 bits.
pub(crate) fn small_integer<A: Integer>(reduction: Reduction, extent: Extent) -> Option<Wide> {
    let wide = in_64_bits::<A>();
    let short = Wide {
        value: 4,
        slot: 4,
        convert: match size_of::<A>() {
            4 => None,
            _ => Some((integers::widen_short::<A>, integers::narrow_short::<A::Bits>)),
        },
        adds_slots: size_of::<A>() < 4,
        add: kernels::sum::<u32>(),
        divide_row: Some(integers::divide_short_row),
        ..wide
    };
    match reduction {
        Reduction::Mean => Some(extent.narrowest(wide, Some(short)).unwrap_or_else(|| {
            if extent.updates >> 31 == 0 { counted::<Widened>(wide) } else { counted::<i64>(wide) }
        })),
        _ => None,
    }
}

/// Means of integers of 64 and 128 bits.
pub(crate) fn large_integer<A: Integer + Running>(
    reduction: Reduction,
    extent: Extent,
) -> Option<Wide> {
    match reduction {
        Reduction::Mean => extent.narrowest(in_64_bits::<A>(), None),
        _ => None,
    }
    .or_else(|| running::<A>(reduction, extent))
}

/// Sums of 64 bits, for rows that are counted apart.
fn in_64_bits<A: Integer>() -> Wide {
    Wide {
        element: size_of::<A>(),
        value: 8,
        slot: 8,
        convert: match size_of::<A>() {
            8 => None,
            _ => Some((integers::widen::<A>, integers::narrow::<A::Bits>)),
        },
        lift: None,
        adds_slots: size_of::<A>() != 8,
        add: kernels::sum::<u64>(),
        empty: ZEROS,
        divide_row: Some(integers::divide_row),
        rows: A::ROWS,
    }
}

impl Extent {
    /// Bits of the largest count.
    fn count_bits(self) -> u32 {
        usize::BITS - self.updates.leading_zeros()
    }

    /// What a sum needs beyond the bits of an element: with the sign, and with what the
    /// target holds for one more.
    fn more_bits(self) -> u32 {
        self.count_bits() + 1
    }

    /// Up to which bits of integers slots may be smaller than for as many as this has, if
    /// they may.
    pub(super) fn smaller(self) -> Option<u32> {
        let (smallest, largest) = match (self.rows, self.count_bits()) {
            (true, _) => (32, 64),
            (false, ..=12) => (integers::SHORT_SUM, 48),
            (false, ..=16) => (48, 48),
            (false, _) => (40, 40),
        };
        let bits = |sum: u32| sum.checked_sub(self.more_bits());
        let enough = bits(smallest).is_some_and(|smallest| self.bits <= smallest);
        bits(largest).filter(|_| !enough)
    }

    /// The smallest slots that hold the sums of integers, if such do: of 32 bits or 64, as
    /// they are for rows or with a count.
    fn narrowest(self, wide: Wide, short: Option<Wide>) -> Option<Wide> {
        let packed = |wide: Wide, lift: Lift, divide: Divide| {
            let lift = Some((lift, divide));
            Some(Wide { lift, adds_slots: true, divide_row: None, ..wide })
        };
        let (sum, count) = (self.bits.saturating_add(self.more_bits()), self.count_bits());
        match (sum, count, short) {
            (..=32, _, Some(short)) if self.rows => Some(short),
            (..=64, ..) if self.rows => Some(wide),
            _ if self.rows => None,
            (..=integers::SHORT_SUM, ..=12, Some(short)) => {
                packed(short, integers::lift_short, integers::divide_short)
            }
            (..=48, ..=16, _) => packed(wide, integers::lift::<48>, integers::divide::<48>),
            (..=40, ..=24, _) => packed(wide, integers::lift::<40>, integers::divide::<40>),
            _ => None,
        }
    }
}

/// Half precision builds up in `f32`.
#[cfg(feature = "half")]
pub(crate) fn half<A: super::halves::Half>(reduction: Reduction, extent: Extent) -> Option<Wide> {
    use super::rows::How;

    /// That of a half.
    const SIGN: u32 = 0x8000;
    let in_f32 = |add: Run, empty: f32| Wide {
        element: size_of::<A>(),
        value: 4,
        slot: 4,
        convert: Some((A::WIDEN, A::NARROW)),
        lift: None,
        adds_slots: true,
        add,
        empty: empty.to_ne_bytes(),
        divide_row: None,
        rows: match reduction {
            Reduction::Sum => Some((0, false)),
            Reduction::Sub => Some((SIGN, false)),
            Reduction::Mean => Some((0, true)),
            _ => None,
        }
        .map(|(flip, mean)| Rows { run: A::FOLD_ROW, how: How { flip, mean } }),
    };
    Some(match reduction {
        Reduction::Sum => in_f32(kernels::sum::<f32>(), 0.0),
        Reduction::Sub => in_f32(kernels::difference::<f32>(), 0.0),
        Reduction::Prod => in_f32(kernels::product::<f32>(), 1.0),
        Reduction::Mean if extent.rows => {
            let divide_row = Some(slots::divide_row::<f32> as DivideRow);
            Wide { divide_row, ..in_f32(kernels::sum::<f32>(), 0.0) }
        }
        Reduction::Mean => counted::<f32>(in_f32(slots::add::<f32>, 0.0)),
        _ => return None,
    })
}
