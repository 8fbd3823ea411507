//! What the processor offers beyond Rust's operators: prefetching, stores that
//! pass by the caches, shuffles of bytes, wider vectors; and how large its caches are.

mod caches;
#[cfg(all(feature = "half", target_arch = "x86_64", not(miri)))]
mod half;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod inside;
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
mod keep;
mod shuffle;
mod stream;
mod transpose;
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
mod tuples;

pub(super) use caches::{Caches, of_caches};
#[cfg(all(feature = "half", target_arch = "x86_64", not(miri)))]
pub(super) use half::F16c;
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(super) use inside::known_inside;
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
pub(super) use keep::keep;
pub(super) use shuffle::{FEWEST, Pattern, gcd};
pub(super) use stream::{fence, is_streamed, stream};
pub(super) use transpose::{LINE, Rows, transpose, transposes};
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
pub(super) use tuples::tuples;

/// A proof that the processor has AVX2.
///
/// Invariant: made by [`detect`](Self::detect) alone.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[derive(Debug, Clone, Copy)]
pub(super) struct Avx2(());

#[cfg(all(target_arch = "x86_64", not(miri)))]
impl Avx2 {
    #[inline]
    pub(super) fn detect() -> Option<Self> {
        std::arch::is_x86_feature_detected!("avx2").then_some(Avx2(()))
    }

    /// Calls a function, compiled for AVX2 where the compiler sees into it.
    #[allow(unsafe_code)]
    #[inline]
    pub(super) fn call<R>(self, f: impl FnOnce() -> R) -> R {
        #[target_feature(enable = "avx2")]
        fn wide<R>(f: impl FnOnce() -> R) -> R {
            f()
        }
        // SAFETY: the processor has AVX2, as this proof says.
        unsafe { wide(f) }
    }
}

/// Calls a function, compiled for AVX2 where the processor has it and the compiler sees
/// into it.
#[inline(always)]
pub(super) fn widely(f: impl FnOnce()) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if let Some(avx2) = Avx2::detect() {
        return avx2.call(f);
    }
    f();
}

/// How much of a row is asked for ahead of time; the rest follows by itself.
const FAR: usize = 4096;

/// Asks for the first lines of `bytes` at `first`. Any address will do: nothing
/// is read.
#[inline(always)]
pub(super) fn prefetch(first: *const u8, bytes: usize) {
    prefetch_all(first, bytes.min(FAR));
}

/// How many bytes ahead of where it is read or written a list is asked for that is gone through
/// in order. Processors do so by themselves, but not beyond a page: pairs of 48 MB are looked at
/// and used in 3.9 ms so, without in 8.1, from 2 KiB ahead in 5.2, from 4 in 4.5.
pub(super) const STREAM: usize = 8 << 10;

/// Whether lists of so many bytes come from further away than to ask for them costs.
#[inline]
pub(super) fn is_long(bytes: usize) -> bool {
    bytes >= of_caches(|caches| caches.last / 4, 256)
}

/// Asks for as many bytes of a list, [`STREAM`] further on, but for no more than that.
#[inline(always)]
pub(super) fn prefetch_ahead(first: *const u8, bytes: usize) {
    prefetch_all(first.wrapping_add(STREAM), bytes.min(STREAM));
}

/// Asks for all lines of `bytes` at `first`.
#[inline(always)]
pub(super) fn prefetch_all(first: *const u8, bytes: usize) {
    let mut line = 0;
    while line < bytes {
        prefetch_line(first.wrapping_add(line));
        line += 64;
    }
}

/// Asks for all lines of `bytes` at `first`, the one that they end in included, for
/// the second cache.
#[inline(always)]
pub(super) fn prefetch_l2(first: *const u8, bytes: usize) {
    let mut line = 0;
    while line < bytes {
        prefetch_line_l2(first.wrapping_add(line));
        line += 64;
    }
    prefetch_line_l2(first.wrapping_add(bytes - 1));
}

macro_rules! prefetch {
    ($name:ident, $hint:ident, $operand:literal) => {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        #[allow(unsafe_code)]
        #[inline(always)]
        pub(super) fn $name(address: *const u8) {
            use std::arch::x86_64::{_mm_prefetch, $hint};

            // SAFETY: SSE is part of x86_64, and a prefetch does not fault.
            unsafe { _mm_prefetch::<$hint>(address.cast()) };
        }

        #[cfg(all(target_arch = "aarch64", not(miri)))]
        #[allow(unsafe_code)]
        #[inline(always)]
        pub(super) fn $name(address: *const u8) {
            // SAFETY: a prefetch does not fault, and changes no memory, flags or stack.
            unsafe {
                std::arch::asm!(
                    concat!("prfm ", $operand, ", [{}]"), in(reg) address,
                    options(nostack, preserves_flags, readonly)
                );
            }
        }

        #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
        #[inline(always)]
        pub(super) fn $name(_address: *const u8) {}
    };
}
prefetch!(prefetch_line, _MM_HINT_T0, "pldl1keep");
prefetch!(prefetch_line_l2, _MM_HINT_T1, "pldl2keep");
