//! Processor features beyond Rust's operators: prefetching, non-temporal stores, byte shuffles,
//! AVX2; and the sizes of the caches.

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
pub(super) use shuffle::{MIN_SHUFFLED_ROWS, Pattern, gcd};
pub(super) use stream::{fence, is_streamed, stream};
pub(super) use transpose::{LINE, Rows, transpose, transposes};
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
pub(super) use tuples::tuples;

/// A proof that the processor has AVX2.
///
/// Invariant: only [`detect`](Self::detect) constructs it.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[derive(Debug, Clone, Copy)]
pub(super) struct Avx2(());

#[cfg(all(target_arch = "x86_64", not(miri)))]
impl Avx2 {
    #[inline]
    pub(super) fn detect() -> Option<Self> {
        std::arch::is_x86_feature_detected!("avx2").then_some(Avx2(()))
    }

    /// Calls `f`, which is compiled for AVX2 as far as it is inlined here.
    #[allow(unsafe_code)]
    #[inline]
    pub(super) fn call<R>(self, f: impl FnOnce() -> R) -> R {
        #[target_feature(enable = "avx2")]
        fn by_avx2<R>(f: impl FnOnce() -> R) -> R {
            f()
        }
        // SAFETY: the processor has AVX2, by the invariant of `Avx2`.
        unsafe { by_avx2(f) }
    }
}

/// Calls `f`: compiled for AVX2, as far as it is inlined, where the processor has that.
#[inline(always)]
pub(super) fn widely<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if let Some(avx2) = Avx2::detect() {
        return avx2.call(f);
    }
    f()
}

/// Number of bytes of a row that are prefetched; the hardware prefetches the rest of it.
const PREFETCH_MAX: usize = 4096;

/// Prefetches the first cache lines of `bytes` bytes at `first`. Any address is valid: nothing is
/// read.
#[inline(always)]
pub(super) fn prefetch(first: *const u8, bytes: usize) {
    prefetch_all(first, bytes.min(PREFETCH_MAX));
}

/// The prefetch distance in bytes for a list that is read or written sequentially. Hardware
/// prefetchers stop at the end of a page: 48 MB of index pairs are checked and used in 8.1 ms
/// without prefetching, 5.2 with 2 KiB, 4.5 with 4 KiB, and 3.9 with this distance.
pub(in crate::memory) const STREAM: usize = 8 << 10;

/// Whether prefetching a list of `bytes` bytes saves more than it costs: one that is too long to be
/// expected in the last-level cache.
#[inline]
pub(super) fn is_long(bytes: usize) -> bool {
    bytes >= of_caches(|caches| caches.last / 4, 256)
}

/// Prefetches `bytes` bytes of a list, but at most [`STREAM`], from [`STREAM`] bytes after `first`,
/// to L2: a core has few lines on their way to L1 at a time, and these are needed by the elements
/// that indices select. 10M sums of 1M elements take 13.7 ms so, and 22.5 with prefetches to L1;
/// 500,000 rows of 16 floats summed 1.7 and 2.5.
#[inline(always)]
pub(super) fn prefetch_ahead(first: *const u8, bytes: usize) {
    prefetch_list(first.wrapping_add(STREAM), bytes);
}

/// Prefetches `bytes` bytes of a list, but at most [`STREAM`], to L2.
#[inline(always)]
pub(super) fn prefetch_list(first: *const u8, bytes: usize) {
    each_line(first, bytes.min(STREAM), prefetch_line_l2);
}

/// Calls `prefetch` with an address for every 64 bytes of `bytes` at `first`.
#[inline(always)]
fn each_line(first: *const u8, bytes: usize, prefetch: impl Fn(*const u8)) {
    let mut line = 0;
    while line < bytes {
        prefetch(first.wrapping_add(line));
        line += 64;
    }
}

/// Prefetches a cache line for every 64 bytes of `bytes` at `first`.
#[inline(always)]
pub(super) fn prefetch_all(first: *const u8, bytes: usize) {
    each_line(first, bytes, prefetch_line);
}

/// Prefetches to L2 all cache lines of `bytes` bytes at `first`, including the line that holds the
/// last byte.
#[inline(always)]
pub(super) fn prefetch_l2(first: *const u8, bytes: usize) {
    each_line(first, bytes, prefetch_line_l2);
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
