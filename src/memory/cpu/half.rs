//! Converts `f16` to `f32` and back by F16C instructions.

use std::arch::x86_64::{
    _MM_FROUND_TO_NEAREST_INT, _mm_blendv_epi8, _mm_cvtph_ps, _mm_cvtps_ph, _mm_cvtsi32_si128,
    _mm_cvtsi128_si32, _mm_cvtss_f32, _mm_loadu_si128, _mm_movehdup_ps, _mm_packs_epi32,
    _mm_set_ss, _mm_set1_epi16, _mm_storeu_si128, _mm_xor_si128, _mm256_castps_si256,
    _mm256_castsi256_si128, _mm256_cmpeq_epi32, _mm256_cvtph_ps, _mm256_cvtps_ph,
    _mm256_extracti128_si256, _mm256_loadu_ps, _mm256_storeu_ps,
};

/// A proof that the processor has F16C and AVX2.
///
/// Invariant: only [`detect`](Self::detect) constructs it.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) struct F16c(());

/// Number of elements that are converted by one instruction.
const BLOCK: usize = 8;

impl F16c {
    #[inline]
    pub(in crate::memory) fn detect() -> Option<Self> {
        use std::arch::is_x86_feature_detected;

        (is_x86_feature_detected!("f16c") && is_x86_feature_detected!("avx2")).then_some(F16c(()))
    }

    /// Converts `len` values of type `f16`, given as their bits, to `f32`.
    ///
    /// # Safety
    /// `len` numbers can be read from `halves`, and as many be written to `floats`.
    #[allow(unsafe_code)]
    pub(in crate::memory) unsafe fn widen(self, halves: *const u16, floats: *mut f32, len: usize) {
        // SAFETY: the caller's promise; the processor has these instructions, by the invariant of
        // `F16c`.
        unsafe { widen(halves, floats, len) }
    }

    /// Converts `N` values of type `f16`, given as their bits, each of which is first XORed with
    /// `flip`.
    ///
    /// # Safety
    /// `N` numbers can be read from `halves`.
    #[allow(unsafe_code)]
    #[inline(always)]
    pub(in crate::memory) unsafe fn widen_block<const N: usize>(
        self,
        halves: *const u16,
        flip: u16,
    ) -> [f32; N] {
        let mut floats = [0.0; N];
        let whole = N / BLOCK * BLOCK;
        // SAFETY: the caller's promise, for blocks and single numbers among the `N`; the processor
        // has these instructions, by the invariant of `F16c`.
        unsafe {
            for done in (0..whole).step_by(BLOCK) {
                let block = _mm_loadu_si128(halves.add(done).cast());
                let block = _mm_xor_si128(block, _mm_set1_epi16(flip as i16));
                _mm256_storeu_ps(floats.as_mut_ptr().add(done), _mm256_cvtph_ps(block));
            }
            for (k, float) in floats.iter_mut().enumerate().skip(whole) {
                let half = halves.add(k).read() ^ flip;
                *float = _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(half.into())));
            }
        }
        floats
    }

    /// Rounds `N` values to `f16`, to nearest, ties to even.
    #[allow(unsafe_code)]
    #[inline(always)]
    pub(in crate::memory) fn narrow_block<const N: usize>(self, floats: [f32; N]) -> [u16; N] {
        let mut halves = [0; N];
        let whole = N / BLOCK * BLOCK;
        // SAFETY: blocks are within the arrays (`whole`); the processor has these instructions, by
        // the invariant of `F16c`.
        unsafe {
            for done in (0..whole).step_by(BLOCK) {
                let block = _mm256_loadu_ps(floats.as_ptr().add(done));
                let new = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(block);
                _mm_storeu_si128(halves.as_mut_ptr().add(done).cast(), new);
            }
            for (half, &float) in halves.iter_mut().zip(&floats).skip(whole) {
                let new = _mm_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm_set_ss(float));
                *half = _mm_cvtsi128_si32(new) as u16;
            }
        }
        halves
    }

    /// Converts a pair of `f16`, given as their bits, by one instruction. Compilers load a single half
    /// into a register whose other bits are those of the half before, for which it then waits.
    #[allow(unsafe_code)]
    #[inline(always)]
    pub(in crate::memory) fn widen_pair(self, halves: [u16; 2]) -> [f32; 2] {
        let bits = u32::from(halves[0]) | u32::from(halves[1]) << 16;
        // SAFETY: the processor has these instructions, by the invariant of `F16c`.
        unsafe {
            let floats = _mm_cvtph_ps(_mm_cvtsi32_si128(bits as i32));
            [_mm_cvtss_f32(floats), _mm_cvtss_f32(_mm_movehdup_ps(floats))]
        }
    }

    /// Rounds `len` floats to `f16`, to nearest, ties to even. A half that already widens to its
    /// float keeps its bits.
    ///
    /// # Safety
    /// `len` numbers can be read from `floats`, and as many be read from and written to `halves`.
    #[allow(unsafe_code)]
    pub(in crate::memory) unsafe fn narrow(self, floats: *const f32, halves: *mut u16, len: usize) {
        // SAFETY: the caller's promise; the processor has these instructions, by the invariant of
        // `F16c`.
        unsafe { narrow(floats, halves, len) }
    }
}

/// Does the work of [`F16c::widen`].
///
/// # Safety
/// That of [`F16c::widen`], and the processor has F16C and AVX2.
#[allow(unsafe_code)]
#[target_feature(enable = "avx2,f16c")]
unsafe fn widen(halves: *const u16, floats: *mut f32, len: usize) {
    let rest = len % BLOCK;
    let whole = len - rest;
    // SAFETY: the caller's promise, for whole blocks and for the last eight numbers; fewer than eight
    // are converted in arrays of a block.
    unsafe {
        for done in (0..whole).step_by(BLOCK) {
            widen_eight(halves.add(done), floats.add(done));
        }
        if rest > 0 && whole > 0 {
            // The last block overlaps the one before it.
            widen_eight(halves.add(len - BLOCK), floats.add(len - BLOCK));
        } else if rest > 0 {
            let (mut from, mut to) = ([0; BLOCK], [0.0; BLOCK]);
            from.as_mut_ptr().copy_from_nonoverlapping(halves, rest);
            widen_eight(from.as_ptr(), to.as_mut_ptr());
            floats.copy_from_nonoverlapping(to.as_ptr(), rest);
        }
    }
}

/// Converts eight `f16` to `f32`.
///
/// # Safety
/// Eight numbers can be read from `halves`, and as many be written to `floats`.
#[allow(unsafe_code)]
#[target_feature(enable = "avx2,f16c")]
#[inline]
unsafe fn widen_eight(halves: *const u16, floats: *mut f32) {
    // SAFETY: the caller's promise.
    unsafe { _mm256_storeu_ps(floats, _mm256_cvtph_ps(_mm_loadu_si128(halves.cast()))) }
}

/// Does the work of [`F16c::narrow`].
///
/// # Safety
/// That of [`F16c::narrow`], and the processor has F16C and AVX2.
#[allow(unsafe_code)]
#[target_feature(enable = "avx2,f16c")]
unsafe fn narrow(floats: *const f32, halves: *mut u16, len: usize) {
    let rest = len % BLOCK;
    let whole = len - rest;
    // SAFETY: the caller's promise, for whole blocks and for the last eight numbers; fewer than eight
    // are converted in arrays of a block.
    unsafe {
        for done in (0..whole).step_by(BLOCK) {
            narrow_eight(floats.add(done), halves.add(done));
        }
        if rest > 0 && whole > 0 {
            // The last block overlaps the one before it, whose halves stay as they are.
            narrow_eight(floats.add(len - BLOCK), halves.add(len - BLOCK));
        } else if rest > 0 {
            let (mut from, mut to) = ([0.0; BLOCK], [0; BLOCK]);
            from.as_mut_ptr().copy_from_nonoverlapping(floats, rest);
            to.as_mut_ptr().copy_from_nonoverlapping(halves, rest);
            narrow_eight(from.as_ptr(), to.as_mut_ptr());
            halves.copy_from_nonoverlapping(to.as_ptr(), rest);
        }
    }
}

/// Rounds eight floats to `f16`, but keeps each half that already widens to its float.
///
/// # Safety
/// Eight numbers can be read from `floats`, and as many be read from and written to `halves`.
#[allow(unsafe_code)]
#[target_feature(enable = "avx2,f16c")]
#[inline]
unsafe fn narrow_eight(floats: *const f32, halves: *mut u16) {
    // SAFETY: the caller's promise.
    unsafe {
        let (floats, old) = (_mm256_loadu_ps(floats), _mm_loadu_si128(halves.cast()));
        let same = _mm256_cmpeq_epi32(
            _mm256_castps_si256(_mm256_cvtph_ps(old)),
            _mm256_castps_si256(floats),
        );
        let new = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(floats);
        let same =
            _mm_packs_epi32(_mm256_castsi256_si128(same), _mm256_extracti128_si256::<1>(same));
        _mm_storeu_si128(halves.cast(), _mm_blendv_epi8(new, old, same));
    }
}
