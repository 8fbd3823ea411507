//! Reductions of whole rows: all updates of a target's row are accumulated in registers, a
//! block of columns at a time, and the target is read and written once:
//!
//! ```text
//! for blocks of columns of the row
//!   values = widen(target[block])         or zeros
//!   for updates of the row: values += widen(update[block])
//!   target[block] = narrow(values)        of means: divided by the count
//! ```

use std::ops::Range;

use super::integers::{Bits, divide_row};
use crate::memory::cpu;
use crate::reduction::{floor_recip_i32, floor_recip_u16, floor_recip_u48};
use crate::threshold::threshold;

/// A row of a target, and the updates that are reduced into it.
pub(crate) struct Row<'r> {
    pub(super) target: *mut u8,
    pub(super) updates: *const u8,
    /// The offsets of updates in bytes: first those of this row, then those of later rows.
    pub(super) places: &'r [isize],
    /// The number of updates of this row: one or more.
    pub(super) count: usize,
    /// The number of elements of each row, which are contiguous.
    pub(super) len: usize,
    /// Whether the value that the target holds takes part.
    pub(super) init: bool,
}

/// Reduces a row, as [`Rows::reduce`] does.
pub(super) type ReduceRow = unsafe fn(&Row<'_>, RowParams);

/// How rows are reduced: a function for their element type, and its parameters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows {
    pub(super) run: ReduceRow,
    pub(super) params: RowParams,
}

/// The parameters of a [`ReduceRow`], which need no function of their own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowParams {
    /// Bits that are inverted (XOR) in updates as they are read.
    pub(super) flip: u32,
    /// Whether sums of halves are divided by the count; those of integers always are.
    #[cfg_attr(not(feature = "half"), allow(dead_code))]
    pub(super) mean: bool,
}

impl Rows {
    /// Number of elements of the shortest row that can be reduced.
    pub(super) const MIN_LEN: usize = SHORT_BLOCK;

    /// Whether the processor has the instructions that the functions of all element types are
    /// compiled for: on x86-64 AVX2, and with the feature `half` F16C.
    #[inline]
    pub(super) fn can_run() -> bool {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if cpu::Avx2::detect().is_none() {
            return false;
        }
        #[cfg(all(feature = "half", target_arch = "x86_64", not(miri)))]
        if cpu::F16c::detect().is_none() {
            return false;
        }
        true
    }

    /// Reduces a row.
    ///
    /// # Safety
    /// [`can_run`](Self::can_run) is true. The target and the updates at all places are rows of
    /// `row.len` elements, of the type that this was made for; these are at least
    /// [`MIN_LEN`](Self::MIN_LEN). Nobody else uses the row of the target.
    #[allow(unsafe_code)]
    #[inline]
    pub(super) unsafe fn reduce(&self, row: &Row<'_>) {
        // SAFETY: the caller's promise.
        unsafe { (self.run)(row, self.params) }
    }
}

/// Number of columns of the blocks for what remains of a row behind its long blocks.
pub(super) const SHORT_BLOCK: usize = threshold(16, 8);

/// Prefetch distance: number of updates ahead of the update being added.
const AHEAD: usize = 24;

/// How the rows of an element type are accumulated in values of another type.
pub(super) trait RowAccumulator: Copy {
    type Element: Copy + Default;
    type Value: Copy;

    /// Number of elements, the one that the target holds included, whose sum a value can hold and
    /// [`block`](Self::block) can divide.
    const MAX_TERMS: usize;
    /// Number of columns of a long block, whose values fit in the registers: 32 or 64.
    const LONG_BLOCK: usize;

    /// Reads `N` elements as values.
    ///
    /// # Safety
    /// `N` elements can be read.
    #[allow(unsafe_code)]
    unsafe fn widen<const N: usize>(self, from: *const Self::Element) -> [Self::Value; N];

    fn add(held: Self::Value, update: Self::Value) -> Self::Value;

    /// Returns the reduced elements of `N` columns of the row from column `first` on, for fewer
    /// than `MAX_TERMS` updates.
    ///
    /// # Safety
    /// That of [`Rows::reduce`], and the row has `N` columns from `first` on.
    #[allow(unsafe_code)]
    unsafe fn block<const N: usize>(self, row: &Row<'_>, first: usize) -> [Self::Element; N];

    /// Returns the reduced elements of `SHORT_BLOCK` columns of the row from column `first` on, for
    /// any number of updates. Values that hold any sum need no other function than [`block`](Self::block).
    ///
    /// # Safety
    /// That of [`Rows::reduce`], and the row has `SHORT_BLOCK` columns from `first` on.
    #[allow(unsafe_code)]
    #[inline(always)]
    unsafe fn block_of_many(self, row: &Row<'_>, first: usize) -> [Self::Element; SHORT_BLOCK] {
        // SAFETY: the caller's promise.
        unsafe { self.block(row, first) }
    }

    /// Adds a range of the updates of the row to the values of `N` columns from column `first` on.
    ///
    /// # Safety
    /// That of [`block`](Self::block), and the row has all updates of the range.
    #[allow(unsafe_code)]
    #[inline(always)]
    unsafe fn accumulate<const N: usize>(
        self,
        mut values: [Self::Value; N],
        row: &Row<'_>,
        first: usize,
        updates: Range<usize>,
    ) -> [Self::Value; N] {
        let bytes = N * size_of::<Self::Element>();
        let from = row.updates.wrapping_add(first * size_of::<Self::Element>());
        let (places, last) = (row.places, row.places.len().wrapping_sub(1));
        for number in updates {
            let later = from.wrapping_offset(places[(number + AHEAD).min(last)]);
            cpu::prefetch_all(later, bytes);
            cpu::prefetch_line(later.wrapping_add(bytes - 1));
            // SAFETY: the caller's promise.
            let new = unsafe { self.widen::<N>(from.wrapping_offset(places[number]).cast()) };
            for k in 0..N {
                values[k] = Self::add(values[k], new[k]);
            }
        }
        values
    }
}

/// `from.map(f)`, as a loop, since compilers may not inline the `map` of arrays.
#[inline(always)]
pub(super) fn map_array<T: Copy, U: Copy + Default, const N: usize>(
    from: [T; N],
    f: impl Fn(T) -> U,
) -> [U; N] {
    let mut to = [U::default(); N];
    for k in 0..N {
        to[k] = f(from[k]);
    }
    to
}

/// Reduces a row, block by block.
///
/// # Safety
/// That of [`Rows::reduce`].
#[allow(unsafe_code)]
#[inline(always)]
pub(super) unsafe fn reduce_row<A: RowAccumulator>(accumulator: A, row: &Row<'_>) {
    let target = row.target.cast::<A::Element>();
    let fits = row.count < A::MAX_TERMS;
    let rest = if fits { row.len % A::LONG_BLOCK } else { row.len };
    let last = row.len - SHORT_BLOCK;
    // The last block may overlap the block before it, so it is computed before any is stored.
    let mut end = [A::Element::default(); SHORT_BLOCK];
    let overlaps = rest % SHORT_BLOCK > 0;
    let mut first = if overlaps { last } else { row.len - rest };
    // SAFETY: the caller's promise; all blocks are within the row, which has at least
    // `SHORT_BLOCK` elements (`Rows::MIN_LEN`).
    unsafe {
        let mut ahead = overlaps;
        while first <= last {
            let new = if fits {
                accumulator.block::<SHORT_BLOCK>(row, first)
            } else {
                accumulator.block_of_many(row, first)
            };
            if ahead {
                (end, ahead, first) = (new, false, row.len - rest);
            } else {
                target.add(first).cast::<[A::Element; SHORT_BLOCK]>().write(new);
                first += SHORT_BLOCK;
            }
        }
        for first in (0..row.len - rest).step_by(A::LONG_BLOCK) {
            if A::LONG_BLOCK == 64 {
                let new = accumulator.block::<64>(row, first);
                target.add(first).cast::<[A::Element; 64]>().write(new);
            } else {
                let new = accumulator.block::<32>(row, first);
                target.add(first).cast::<[A::Element; 32]>().write(new);
            }
        }
        if overlaps {
            target.add(last).cast::<[A::Element; SHORT_BLOCK]>().write(end);
        }
    }
}

/// Means of rows of unsigned integers, or of signed ones whose sign bits (`flip`) are inverted:
/// this adds the same number to each of them and to their mean.
#[derive(Clone, Copy)]
pub(super) struct IntegerRows<B> {
    flip: B,
}

/// How means of rows of integers with the bits of `B` are reduced; `flip` is the sign bit of signed
/// integers, and 0 for unsigned ones.
pub(super) const fn means<B: Bits>(flip: u32) -> Option<Rows>
where
    IntegerRows<B>: RowAccumulator,
{
    #[cfg_attr(all(target_arch = "x86_64", not(miri)), target_feature(enable = "avx2"))]
    #[allow(unsafe_code)]
    unsafe fn run<B: Bits>(row: &Row<'_>, params: RowParams)
    where
        IntegerRows<B>: RowAccumulator,
    {
        // SAFETY: the caller's promise.
        unsafe { reduce_row(IntegerRows { flip: B::of(params.flip.into()) }, row) }
    }
    Some(Rows { run: run::<B>, params: RowParams { flip, mean: true } })
}

/// [`means`] for larger integers, whose rows are not reduced in registers.
pub(super) const fn none(_flip: u32) -> Option<Rows> {
    None
}

impl<B> IntegerRows<B>
where
    Self: RowAccumulator<Element = B>,
    <Self as RowAccumulator>::Value: Default,
{
    /// The values that the sums of `N` columns start from: the target's elements if `row.init`,
    /// else zeros.
    ///
    /// # Safety
    /// That of [`RowAccumulator::block`].
    #[allow(unsafe_code)]
    #[inline(always)]
    unsafe fn start<const N: usize>(
        self,
        row: &Row<'_>,
        first: usize,
    ) -> [<Self as RowAccumulator>::Value; N] {
        if !row.init {
            return [Default::default(); N];
        }
        // SAFETY: the caller's promise: the target's row has `N` elements from `first` on.
        unsafe { self.widen::<N>(row.target.cast::<B>().add(first)) }
    }
}

macro_rules! unsigned {
    ($($bits:ident, $sum:ident, $long:literal: $most:expr, $float:ident, $floor:ident;)*) => {$(
        impl RowAccumulator for IntegerRows<$bits> {
            type Element = $bits;
            type Value = $sum;
            const MAX_TERMS: usize = $most;
            const LONG_BLOCK: usize = $long;

            #[allow(unsafe_code)]
            #[inline(always)]
            unsafe fn widen<const N: usize>(self, from: *const $bits) -> [$sum; N] {
                // SAFETY: the caller's promise.
                let bits = unsafe { from.cast::<[$bits; N]>().read() };
                map_array(bits, |bits| (bits ^ self.flip).into())
            }
            #[inline(always)]
            fn add(held: $sum, update: $sum) -> $sum {
                held.wrapping_add(update)
            }
            #[allow(unsafe_code)]
            #[inline(always)]
            unsafe fn block<const N: usize>(self, row: &Row<'_>, first: usize) -> [$bits; N] {
                let reciprocal = ((row.count + usize::from(row.init)) as $float).recip();
                // SAFETY: the caller's promise.
                let sums = unsafe {
                    let sums = self.start::<N>(row, first);
                    self.accumulate(sums, row, first, 0..row.count)
                };
                map_array(sums, |sum| $floor(sum as _, reciprocal) as $bits ^ self.flip)
            }
            #[allow(unsafe_code)]
            #[inline(always)]
            unsafe fn block_of_many(self, row: &Row<'_>, first: usize) -> [$bits; SHORT_BLOCK] {
                let (mut totals, mut done) = ([0_i64; SHORT_BLOCK], 0);
                // SAFETY: the caller's promise.
                unsafe {
                    let mut sums = self.start::<SHORT_BLOCK>(row, first);
                    while done < row.count {
                        let end = row.count.min(done + (Self::MAX_TERMS - 1));
                        sums = self.accumulate(sums, row, first, done..end);
                        for k in 0..SHORT_BLOCK {
                            totals[k] += sums[k] as i64;
                        }
                        (sums, done) = ([0; SHORT_BLOCK], end);
                    }
                    let count = row.count + usize::from(row.init);
                    divide_row(totals.as_mut_ptr().cast(), SHORT_BLOCK, count as u32);
                }
                map_array(totals, |mean| mean as $bits ^ self.flip)
            }
        }
    )*};
}
unsigned! {
    u8, u16, 64: threshold(257, 9), f32, floor_recip_u16;
    u16, u32, 64: threshold(1 << 15, 5), f64, floor_recip_i32;
    u32, u64, 32: threshold(1 << 16, 3), f64, floor_recip_u48;
}
