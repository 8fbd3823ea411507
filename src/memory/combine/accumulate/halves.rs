//! Conversions of half precision to `f32` and back, and reductions of its rows in `f32`.

use half::f16;

use super::convert::map_run;
use super::kinds::{InOrderRun, NarrowFn, OnceRun, WidenFn};
use super::rows::{ReduceRow, Row, RowAccumulator, RowParams, map_array, reduce_row};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::memory::cpu;
use crate::memory::cpu::widely;
use crate::reduction::Reduction;

/// A type of half precision, whose reductions accumulate in `f32`.
pub(crate) trait Half: Copy + 'static {
    const WIDEN: WidenFn;
    const NARROW: NarrowFn;
    /// Reduces whole rows in registers: sums, differences and means.
    const SUM_ROW: ReduceRow;
    /// The same of products.
    const MULTIPLY_ROW: ReduceRow;
    /// Combines targets with their only updates, in `f32`; none for minima and maxima. That of means is for
    /// two terms. On x86-64 it needs what [`Rows::can_run`](super::rows::Rows::can_run) asks for.
    fn once(reduction: Reduction) -> Option<OnceRun>;
    /// Reduces updates of which those of a target follow each other; none for minima and maxima. It needs
    /// the same.
    fn in_order(reduction: Reduction) -> Option<InOrderRun>;
}

/// Converts `f16` to `f32`.
///
/// # Safety
/// `len` elements can be read, and `len` values written.
#[allow(unsafe_code)]
pub(super) unsafe fn widen_f16(elements: *const u8, values: *mut u8, len: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if let Some(f16c) = cpu::F16c::detect() {
        // SAFETY: the caller's promise.
        return unsafe { f16c.widen(elements.cast(), values.cast(), len) };
    }
    // SAFETY: the caller's promise.
    unsafe { map_run(elements.cast::<f16>(), values.cast::<f32>(), len, f16::to_f32) }
}

/// Rounds `f32` to `f16`, to nearest, ties to even. Elements that widen to the bits of their value
/// already keep their bits.
///
/// # Safety
/// `len` values can be read, and `len` elements read and written.
#[allow(unsafe_code)]
pub(super) unsafe fn narrow_f16(values: *const u8, elements: *mut u8, len: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if let Some(f16c) = cpu::F16c::detect() {
        // SAFETY: the caller's promise.
        return unsafe { f16c.narrow(values.cast(), elements.cast(), len) };
    }
    let (values, elements) = (values.cast::<f32>(), elements.cast::<f16>());
    for k in 0..len {
        // SAFETY: the caller's promise.
        unsafe {
            let (value, element) = (*values.add(k), elements.add(k));
            if (*element).to_f32().to_bits() != value.to_bits() {
                element.write(f16::from_f32(value));
            }
        }
    }
}

/// Converts `bf16` to `f32`.
///
/// # Safety
/// `len` elements can be read, and `len` values written.
#[allow(unsafe_code)]
pub(super) unsafe fn widen_bf16(elements: *const u8, values: *mut u8, len: usize) {
    let widen = |bits: u16| {
        // The same as `bf16::to_f32`, which makes signalling NaN quiet.
        let quiet = if bits & 0x7fff > 0x7f80 { 0x40 } else { 0 };
        u32::from(bits | quiet) << 16
    };
    // SAFETY: the caller's promise.
    unsafe { map_run(elements.cast::<u16>(), values.cast::<u32>(), len, widen) }
}

/// `bf16::from_f32` without branches: rounds the bits of an `f32` to nearest, ties to even.
#[inline(always)]
fn nearest_bf16(bits: u32) -> u16 {
    let nan = bits & 0x7fff_ffff > 0x7f80_0000;
    let nearest = (bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16) as u16;
    if nan { (bits >> 16) as u16 | 0x40 } else { nearest }
}

/// Rounds `f32` to `bf16`, to nearest, ties to even. A NaN whose value is
/// unchanged keeps its bits, though widening made it quiet.
///
/// # Safety
/// `len` values can be read, and `len` elements read and written.
#[allow(unsafe_code)]
pub(super) unsafe fn narrow_bf16(values: *const u8, elements: *mut u8, len: usize) {
    let (values, elements) = (values.cast::<u32>(), elements.cast::<u16>());
    widely(move || {
        for k in 0..len {
            // SAFETY: the caller's promise.
            let (bits, held) = unsafe { (values.add(k).read(), elements.add(k).read()) };
            let new = nearest_bf16(bits);
            // The value is unchanged but for the bit that widening set.
            let kept = (held & 0x7fff > 0x7f80) & (held | 0x40 == new);
            let new = if kept { held } else { new };
            // SAFETY: the caller's promise.
            unsafe { elements.add(k).write(new) };
        }
    });
}

/// Rows of halves of one format, given as their bits, which are added, or multiplied, in `f32`.
#[derive(Clone, Copy)]
struct HalfRows<F, const PRODUCT: bool> {
    format: F,
    params: RowParams,
}

/// A format of half precision.
pub(super) trait Format: Copy {
    /// Reads `N` halves, given as their bits, inverts the bits `flip`, and converts them to `f32`.
    ///
    /// # Safety
    /// `N` halves can be read.
    #[allow(unsafe_code)]
    unsafe fn widen<const N: usize>(self, from: *const u16, flip: u16) -> [f32; N];

    /// Converts two halves, given as their bits, to `f32`.
    #[allow(unsafe_code)]
    #[inline(always)]
    fn widen_pair(self, halves: [u16; 2]) -> [f32; 2] {
        // SAFETY: there are two.
        unsafe { self.widen::<2>(halves.as_ptr(), 0) }
    }

    /// Rounds to halves, to nearest, ties to even, and returns their bits.
    fn narrow<const N: usize>(self, floats: [f32; N]) -> [u16; N];
}

/// `bf16`.
#[derive(Clone, Copy)]
pub(super) struct Bf16;

impl Format for Bf16 {
    #[allow(unsafe_code)]
    #[inline(always)]
    unsafe fn widen<const N: usize>(self, from: *const u16, flip: u16) -> [f32; N] {
        // SAFETY: the caller's promise.
        let bits = unsafe { from.cast::<[u16; N]>().read() };
        map_array(bits, |bits| f32::from_bits(u32::from(bits ^ flip) << 16))
    }
    #[inline(always)]
    fn narrow<const N: usize>(self, floats: [f32; N]) -> [u16; N] {
        map_array(floats, |float| nearest_bf16(float.to_bits()))
    }
}

/// `f16`, converted one by one.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[derive(Clone, Copy)]
struct ScalarF16;

/// The conversions of `f16`, if the processor has those that it is compiled for.
#[inline(always)]
pub(super) fn f16_format() -> Option<impl Format> {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    return cpu::F16c::detect();
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    return Some(ScalarF16);
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
impl Format for ScalarF16 {
    #[allow(unsafe_code)]
    #[inline(always)]
    unsafe fn widen<const N: usize>(self, from: *const u16, flip: u16) -> [f32; N] {
        // SAFETY: the caller's promise.
        let bits = unsafe { from.cast::<[u16; N]>().read() };
        map_array(bits, |bits| f16::from_bits(bits ^ flip).to_f32())
    }
    #[inline(always)]
    fn narrow<const N: usize>(self, floats: [f32; N]) -> [u16; N] {
        map_array(floats, |float| f16::from_f32(float).to_bits())
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
impl Format for cpu::F16c {
    #[allow(unsafe_code)]
    #[inline(always)]
    unsafe fn widen<const N: usize>(self, from: *const u16, flip: u16) -> [f32; N] {
        // SAFETY: the caller's promise.
        unsafe { self.widen_block(from, flip) }
    }
    #[inline(always)]
    fn widen_pair(self, halves: [u16; 2]) -> [f32; 2] {
        cpu::F16c::widen_pair(self, halves)
    }
    #[inline(always)]
    fn narrow<const N: usize>(self, floats: [f32; N]) -> [u16; N] {
        self.narrow_block(floats)
    }
}

impl<F: Format, const PRODUCT: bool> RowAccumulator for HalfRows<F, PRODUCT> {
    type Element = u16;
    type Value = f32;
    const MAX_TERMS: usize = usize::MAX;
    const LONG_BLOCK: usize = 64;

    #[allow(unsafe_code)]
    #[inline(always)]
    unsafe fn widen<const N: usize>(self, from: *const u16) -> [f32; N] {
        // SAFETY: the caller's promise.
        unsafe { self.format.widen(from, self.params.flip as u16) }
    }
    #[inline(always)]
    fn add(held: f32, update: f32) -> f32 {
        if PRODUCT { held * update } else { held + update }
    }
    #[allow(unsafe_code)]
    #[inline(always)]
    unsafe fn block<const N: usize>(self, row: &Row<'_>, first: usize) -> [u16; N] {
        let mut values = [if PRODUCT { 1.0 } else { 0.0 }; N];
        // SAFETY: the caller's promise: the target's row has `N` elements from `first` on, too.
        unsafe {
            if row.init {
                values = self.format.widen(row.target.cast::<u16>().add(first), 0);
            }
            values = self.accumulate(values, row, first, 0..row.count);
        }
        if self.params.mean {
            let count = (row.count + usize::from(row.init)) as u32 as f32;
            values = map_array(values, |sum| sum / count);
        }
        self.format.narrow(values)
    }
}

/// Reduces a row of `bf16`.
///
/// # Safety
/// That of [`Rows::reduce`](super::rows::Rows::reduce).
#[cfg_attr(all(target_arch = "x86_64", not(miri)), target_feature(enable = "avx2"))]
#[allow(unsafe_code)]
pub(super) unsafe fn reduce_row_of_bf16<const PRODUCT: bool>(row: &Row<'_>, params: RowParams) {
    // SAFETY: the caller's promise.
    unsafe { reduce_row(HalfRows::<_, PRODUCT> { format: Bf16, params }, row) }
}

/// Reduces a row of `f16`.
///
/// # Safety
/// That of [`Rows::reduce`](super::rows::Rows::reduce).
#[cfg_attr(all(target_arch = "x86_64", not(miri)), target_feature(enable = "avx2,f16c"))]
#[allow(unsafe_code)]
pub(super) unsafe fn reduce_row_of_f16<const PRODUCT: bool>(row: &Row<'_>, params: RowParams) {
    if let Some(format) = f16_format() {
        // SAFETY: the caller's promise.
        unsafe { reduce_row(HalfRows::<_, PRODUCT> { format, params }, row) }
    }
}
