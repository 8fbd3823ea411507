//! Half precision to `f32` and back.

use half::{bf16, f16};

use super::kinds::{Narrow, Widen};
use super::rows::{FoldRow, How, Row, SHORT, Values, each, fold};
use super::runs::{pairwise, widest};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::memory::cpu;

/// A type that builds up in `f32`.
pub(crate) trait Half: Copy + 'static {
    const WIDEN: Widen;
    const NARROW: Narrow;
    /// Adds up whole rows.
    const FOLD_ROW: FoldRow;
}

impl Half for f16 {
    const WIDEN: Widen = widen_f16;
    const NARROW: Narrow = narrow_f16;
    const FOLD_ROW: FoldRow = fold_f16;
}

impl Half for bf16 {
    const WIDEN: Widen = widen_bf16;
    const NARROW: Narrow = narrow_bf16;
    const FOLD_ROW: FoldRow = fold_bf16;
}

/// # Safety
/// So many elements can be read, and values written.
#[allow(unsafe_code)]
unsafe fn widen_f16(elements: *const u8, values: *mut u8, len: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if let Some(f16c) = cpu::F16c::detect() {
        // SAFETY: the caller's promise.
        return unsafe { f16c.widen(elements.cast(), values.cast(), len) };
    }
    // SAFETY: the caller's promise.
    unsafe { pairwise(elements.cast::<f16>(), values.cast::<f32>(), len, f16::to_f32) }
}

/// # Safety
/// So many values can be read, and elements read and written.
#[allow(unsafe_code)]
unsafe fn narrow_f16(values: *const u8, elements: *mut u8, len: usize) {
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

/// # Safety
/// So many elements can be read, and values written.
#[allow(unsafe_code)]
unsafe fn widen_bf16(elements: *const u8, values: *mut u8, len: usize) {
    let widen = |bits: u16| {
        // As `bf16::to_f32` does it, which makes all NaN quiet.
        let quiet = if bits & 0x7fff > 0x7f80 { 0x40 } else { 0 };
        u32::from(bits | quiet) << 16
    };
    // SAFETY: the caller's promise.
    unsafe { pairwise(elements.cast::<u16>(), values.cast::<u32>(), len, widen) }
}

/// As `bf16::from_f32` does it, but without branches: to nearest, even.
#[inline(always)]
fn nearest_bf16(bits: u32) -> u16 {
    let nan = bits & 0x7fff_ffff > 0x7f80_0000;
    let nearest = (bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16) as u16;
    if nan { (bits >> 16) as u16 | 0x40 } else { nearest }
}

/// # Safety
/// So many values can be read, and elements read and written.
#[allow(unsafe_code)]
unsafe fn narrow_bf16(values: *const u8, elements: *mut u8, len: usize) {
    let (values, elements) = (values.cast::<u32>(), elements.cast::<u16>());
    widest(move || {
        for k in 0..len {
            // SAFETY: the caller's promise.
            let (bits, held) = unsafe { (values.add(k).read(), elements.add(k).read()) };
            let new = nearest_bf16(bits);
            // A NaN that was but made quiet keeps its bits.
            let kept = (held & 0x7fff > 0x7f80) & (held | 0x40 == new);
            let new = if kept { held } else { new };
            // SAFETY: the caller's promise.
            unsafe { elements.add(k).write(new) };
        }
    });
}

/// Halves of one kind, given as their bits, whose rows are added up in `f32`.
#[derive(Clone, Copy)]
struct Floats<K> {
    kind: K,
    how: How,
}

/// A kind of halves.
trait Kind: Copy {
    /// # Safety
    /// So many can be read.
    #[allow(unsafe_code)]
    unsafe fn widen<const N: usize>(self, from: *const u16, flip: u16) -> [f32; N];

    fn narrow<const N: usize>(self, floats: [f32; N]) -> [u16; N];
}

#[derive(Clone, Copy)]
struct Brain;

impl Kind for Brain {
    #[allow(unsafe_code)]
    #[inline(always)]
    unsafe fn widen<const N: usize>(self, from: *const u16, flip: u16) -> [f32; N] {
        // SAFETY: the caller's promise.
        let bits = unsafe { from.cast::<[u16; N]>().read() };
        each(bits, |bits| f32::from_bits(u32::from(bits ^ flip) << 16))
    }
    #[inline(always)]
    fn narrow<const N: usize>(self, floats: [f32; N]) -> [u16; N] {
        each(floats, |float| nearest_bf16(float.to_bits()))
    }
}

/// `f16`, one at a time.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[derive(Clone, Copy)]
struct Single;

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
impl Kind for Single {
    #[allow(unsafe_code)]
    #[inline(always)]
    unsafe fn widen<const N: usize>(self, from: *const u16, flip: u16) -> [f32; N] {
        // SAFETY: the caller's promise.
        let bits = unsafe { from.cast::<[u16; N]>().read() };
        each(bits, |bits| f16::from_bits(bits ^ flip).to_f32())
    }
    #[inline(always)]
    fn narrow<const N: usize>(self, floats: [f32; N]) -> [u16; N] {
        each(floats, |float| f16::from_f32(float).to_bits())
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
impl Kind for cpu::F16c {
    #[allow(unsafe_code)]
    #[inline(always)]
    unsafe fn widen<const N: usize>(self, from: *const u16, flip: u16) -> [f32; N] {
        // SAFETY: the caller's promise.
        unsafe { self.widen_block(from, flip) }
    }
    #[inline(always)]
    fn narrow<const N: usize>(self, floats: [f32; N]) -> [u16; N] {
        self.narrow_block(floats)
    }
}

impl<K: Kind> Values for Floats<K> {
    type Element = u16;
    type Value = f32;
    const MOST: usize = usize::MAX;
    const LONG: usize = 64;

    #[allow(unsafe_code)]
    #[inline(always)]
    unsafe fn widen<const N: usize>(self, from: *const u16) -> [f32; N] {
        // SAFETY: the caller's promise.
        unsafe { self.kind.widen(from, self.how.flip as u16) }
    }
    #[inline(always)]
    fn add(held: f32, update: f32) -> f32 {
        held + update
    }
    #[allow(unsafe_code)]
    #[inline(always)]
    unsafe fn block<const N: usize>(self, row: &Row<'_>, first: usize) -> [u16; N] {
        let mut values = [0.0; N];
        // SAFETY: the caller's promise; the target holds elements, too.
        unsafe {
            if row.init {
                values = self.kind.widen(row.target.cast::<u16>().add(first), 0);
            }
            values = self.take(values, row, first, 0..row.count);
        }
        if self.how.mean {
            let count = (row.count + usize::from(row.init)) as u32 as f32;
            values = each(values, |sum| sum / count);
        }
        self.kind.narrow(values)
    }
    #[allow(unsafe_code)]
    #[inline(always)]
    unsafe fn far(self, row: &Row<'_>, first: usize) -> [u16; SHORT] {
        // SAFETY: the caller's promise.
        unsafe { self.block(row, first) }
    }
}

/// # Safety
/// That of [`Rows::fold`](super::rows::Rows::fold).
#[cfg_attr(all(target_arch = "x86_64", not(miri)), target_feature(enable = "avx2"))]
#[allow(unsafe_code)]
unsafe fn fold_bf16(row: &Row<'_>, how: How) {
    // SAFETY: the caller's promise.
    unsafe { fold(Floats { kind: Brain, how }, row) }
}

/// # Safety
/// That of [`Rows::fold`](super::rows::Rows::fold).
#[cfg_attr(all(target_arch = "x86_64", not(miri)), target_feature(enable = "avx2,f16c"))]
#[allow(unsafe_code)]
unsafe fn fold_f16(row: &Row<'_>, how: How) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    let kind = cpu::F16c::detect();
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let kind = Some(Single);
    if let Some(kind) = kind {
        // SAFETY: the caller's promise.
        unsafe { fold(Floats { kind, how }, row) }
    }
}
