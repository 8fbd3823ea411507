//! Half precision to `f32` and back.

use half::{bf16, f16};

use super::kinds::{Narrow, Widen};
use super::runs::{pairwise, widest};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::memory::cpu;

/// A type that builds up in `f32`.
pub(crate) trait Half: Copy + 'static {
    const WIDEN: Widen;
    const NARROW: Narrow;
}

impl Half for f16 {
    const WIDEN: Widen = widen_f16;
    const NARROW: Narrow = narrow_f16;
}

impl Half for bf16 {
    const WIDEN: Widen = widen_bf16;
    const NARROW: Narrow = narrow_bf16;
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

/// # Safety
/// So many values can be read, and elements read and written.
#[allow(unsafe_code)]
unsafe fn narrow_bf16(values: *const u8, elements: *mut u8, len: usize) {
    let (values, elements) = (values.cast::<u32>(), elements.cast::<u16>());
    widest(move || {
        for k in 0..len {
            // SAFETY: the caller's promise.
            let (bits, held) = unsafe { (values.add(k).read(), elements.add(k).read()) };
            // As `bf16::from_f32` does it, but without branches: to nearest, even.
            let nan = bits & 0x7fff_ffff > 0x7f80_0000;
            let nearest = (bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16) as u16;
            let new = if nan { (bits >> 16) as u16 | 0x40 } else { nearest };
            // A NaN that was but made quiet keeps its bits.
            let kept = (held & 0x7fff > 0x7f80) & (held | 0x40 == new);
            let new = if kept { held } else { new };
            // SAFETY: the caller's promise.
            unsafe { elements.add(k).write(new) };
        }
    });
}
