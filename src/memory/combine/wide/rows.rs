//! Reductions of whole rows: all updates of a target's row are added up in registers, a
//! block of columns at a time, and the target is read and written once.

use std::ops::Range;

use super::integers::{Bits, divide_row};
use crate::memory::cpu;
use crate::reduction::{floor_by, short_floor_by, wide_floor_by};
use crate::threshold::threshold;

/// A row of a target, and the updates that it takes in.
pub(crate) struct Row<'r> {
    pub(super) target: *mut u8,
    pub(super) updates: *const u8,
    /// Where updates begin, in bytes: those of this row, then those of rows that come later.
    pub(super) places: &'r [isize],
    /// How many of them are this row's: one or more.
    pub(super) count: usize,
    /// The length of all rows, whose elements lie next to each other.
    pub(super) len: usize,
    /// Whether the value that the target holds takes part.
    pub(super) init: bool,
}

/// Reduces a row, as [`Rows::fold`] does.
pub(super) type FoldRow = unsafe fn(&Row<'_>, How);

/// How rows are reduced.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows {
    pub(super) run: FoldRow,
    pub(super) how: How,
}

/// What of that needs no function of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct How {
    /// Bits that are inverted in updates as they are read.
    pub(super) flip: u32,
    /// Whether halves are divided by their count, too; integers always are.
    #[cfg_attr(not(feature = "half"), allow(dead_code))]
    pub(super) mean: bool,
}

impl Rows {
    /// The shortest row that can be reduced.
    pub(super) const LEAST: usize = SHORT;

    /// Whether the processor has the instructions that all of these are compiled for: beyond
    /// the usual ones AVX2 and F16C, on x86-64.
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
    /// They [can run](Self::can_run). The target and the updates at all places are rows of
    /// so many elements, of the type that this was made for, at least
    /// [`LEAST`](Self::LEAST), and nobody else uses those of the target.
    #[allow(unsafe_code)]
    #[inline]
    pub(super) unsafe fn fold(&self, row: &Row<'_>) {
        // SAFETY: the caller's promise.
        unsafe { (self.run)(row, self.how) }
    }
}

/// Columns of the blocks that the rest of a row is made up of.
pub(super) const SHORT: usize = threshold(16, 8);

/// How many updates ahead of the one being added the next is asked for.
const AHEAD: usize = 24;

/// How elements become values, which add up.
pub(super) trait Values: Copy {
    type Element: Copy + Default;
    type Value: Copy;

    /// How many elements a value holds.
    const MOST: usize;
    /// Columns of a long block, as many as registers hold: 32 or 64.
    const LONG: usize;

    /// # Safety
    /// So many elements can be read.
    #[allow(unsafe_code)]
    unsafe fn widen<const N: usize>(self, from: *const Self::Element) -> [Self::Value; N];

    fn add(held: Self::Value, update: Self::Value) -> Self::Value;

    /// What becomes of the `N` columns from this one on, with fewer than `MOST` updates.
    ///
    /// # Safety
    /// That of [`Rows::fold`], and there are so many columns.
    #[allow(unsafe_code)]
    unsafe fn block<const N: usize>(self, row: &Row<'_>, first: usize) -> [Self::Element; N];

    /// The same of fewer columns and more updates.
    ///
    /// # Safety
    /// The same.
    #[allow(unsafe_code)]
    unsafe fn far(self, row: &Row<'_>, first: usize) -> [Self::Element; SHORT];

    /// Adds some of the updates to values of these columns.
    ///
    /// # Safety
    /// The same, and there are so many updates.
    #[allow(unsafe_code)]
    #[inline(always)]
    unsafe fn take<const N: usize>(
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

/// `f` of each: a loop, where compilers may leave `map` a call.
#[inline(always)]
pub(super) fn each<T: Copy, U: Copy + Default, const N: usize>(
    from: [T; N],
    f: impl Fn(T) -> U,
) -> [U; N] {
    let mut to = [U::default(); N];
    for k in 0..N {
        to[k] = f(from[k]);
    }
    to
}

/// Reduces a row block by block.
///
/// # Safety
/// That of [`Rows::fold`].
#[allow(unsafe_code)]
#[inline(always)]
pub(super) unsafe fn fold<V: Values>(values: V, row: &Row<'_>) {
    let target = row.target.cast::<V::Element>();
    let near = row.count < V::MOST;
    let rest = if near { row.len % V::LONG } else { row.len };
    let last = row.len - SHORT;
    // The last block may overlap those before, so it is worked out ahead of them.
    let mut end = [V::Element::default(); SHORT];
    let overlaps = rest % SHORT > 0;
    let mut first = if overlaps { last } else { row.len - rest };
    // SAFETY: the caller's promise; blocks lie within the row.
    unsafe {
        let mut ahead = overlaps;
        while first <= last {
            let new = if near { values.block::<SHORT>(row, first) } else { values.far(row, first) };
            if ahead {
                (end, ahead, first) = (new, false, row.len - rest);
            } else {
                target.add(first).cast::<[V::Element; SHORT]>().write(new);
                first += SHORT;
            }
        }
        for first in (0..row.len - rest).step_by(V::LONG) {
            if V::LONG == 64 {
                let new = values.block::<64>(row, first);
                target.add(first).cast::<[V::Element; 64]>().write(new);
            } else {
                let new = values.block::<32>(row, first);
                target.add(first).cast::<[V::Element; 32]>().write(new);
            }
        }
        if overlaps {
            target.add(last).cast::<[V::Element; SHORT]>().write(end);
        }
    }
}

/// Unsigned integers; or signed ones whose sign bits are inverted, which adds as much to
/// each of them as to their mean.
#[derive(Clone, Copy)]
pub(super) struct Unsigned<B> {
    flip: B,
}

/// Means of integers of which the type has these bits, given what is inverted.
pub(super) const fn means<B: Bits>(flip: u32) -> Option<Rows>
where
    Unsigned<B>: Values,
{
    #[cfg_attr(all(target_arch = "x86_64", not(miri)), target_feature(enable = "avx2"))]
    #[allow(unsafe_code)]
    unsafe fn run<B: Bits>(row: &Row<'_>, how: How)
    where
        Unsigned<B>: Values,
    {
        // SAFETY: the caller's promise.
        unsafe { fold(Unsigned { flip: B::of(how.flip.into()) }, row) }
    }
    Some(Rows { run: run::<B>, how: How { flip, mean: true } })
}

/// Of other integers.
pub(super) const fn none(_flip: u32) -> Option<Rows> {
    None
}

impl<B> Unsigned<B>
where
    Self: Values<Element = B>,
    <Self as Values>::Value: Default,
{
    /// What sums start from.
    ///
    /// # Safety
    /// That of [`Values::block`].
    #[allow(unsafe_code)]
    #[inline(always)]
    unsafe fn start<const N: usize>(
        self,
        row: &Row<'_>,
        first: usize,
    ) -> [<Self as Values>::Value; N] {
        if !row.init {
            return [Default::default(); N];
        }
        // SAFETY: the caller's promise; the target holds elements, too.
        unsafe { self.widen::<N>(row.target.cast::<B>().add(first)) }
    }
}

macro_rules! unsigned {
    ($($bits:ident, $sum:ident, $long:literal: $most:expr, $by:ident, $floor:ident;)*) => {$(
        impl Values for Unsigned<$bits> {
            type Element = $bits;
            type Value = $sum;
            const MOST: usize = $most;
            const LONG: usize = $long;

            #[allow(unsafe_code)]
            #[inline(always)]
            unsafe fn widen<const N: usize>(self, from: *const $bits) -> [$sum; N] {
                // SAFETY: the caller's promise.
                let bits = unsafe { from.cast::<[$bits; N]>().read() };
                each(bits, |bits| (bits ^ self.flip).into())
            }
            #[inline(always)]
            fn add(held: $sum, update: $sum) -> $sum {
                held.wrapping_add(update)
            }
            #[allow(unsafe_code)]
            #[inline(always)]
            unsafe fn block<const N: usize>(self, row: &Row<'_>, first: usize) -> [$bits; N] {
                let by = ((row.count + usize::from(row.init)) as $by).recip();
                // SAFETY: the caller's promise.
                let sums = unsafe {
                    let sums = self.start::<N>(row, first);
                    self.take(sums, row, first, 0..row.count)
                };
                each(sums, |sum| $floor(sum as _, by) as $bits ^ self.flip)
            }
            #[allow(unsafe_code)]
            #[inline(always)]
            unsafe fn far(self, row: &Row<'_>, first: usize) -> [$bits; SHORT] {
                let (mut totals, mut done) = ([0_i64; SHORT], 0);
                // SAFETY: the caller's promise.
                unsafe {
                    let mut sums = self.start::<SHORT>(row, first);
                    while done < row.count {
                        let end = row.count.min(done + (Self::MOST - 1));
                        sums = self.take(sums, row, first, done..end);
                        for k in 0..SHORT {
                            totals[k] += sums[k] as i64;
                        }
                        (sums, done) = ([0; SHORT], end);
                    }
                    let count = row.count + usize::from(row.init);
                    divide_row(totals.as_mut_ptr().cast(), SHORT, count as u32);
                }
                each(totals, |mean| mean as $bits ^ self.flip)
            }
        }
    )*};
}
unsigned! {
    u8, u16, 64: threshold(257, 9), f32, short_floor_by;
    u16, u32, 64: threshold(1 << 15, 5), f64, floor_by;
    u32, u64, 32: threshold(1 << 16, 3), f64, wide_floor_by;
}
