//! Half precision to `f32` and back by the processor's own instructions.

use std::arch::x86_64::{
    __m128i, __m256, _MM_FROUND_TO_NEAREST_INT, _mm_blendv_epi8, _mm_loadu_si128, _mm_packs_epi32,
    _mm_set1_epi16, _mm_storeu_si128, _mm_xor_si128, _mm256_castps_si256, _mm256_castsi256_si128,
    _mm256_cmpeq_epi32, _mm256_cvtph_ps, _mm256_cvtps_ph, _mm256_extracti128_si256,
    _mm256_loadu_ps, _mm256_storeu_ps,
};

/// A proof that the processor has F16C and AVX2.
///
/// Invariant: made by [`detect`](Self::detect) alone.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) struct F16c(());

/// Elements that are converted at once.
const BLOCK: usize = 8;

impl F16c {
    #[inline]
    pub(in crate::memory) fn detect() -> Option<Self> {
        use std::arch::is_x86_feature_detected;

        (is_x86_feature_detected!("f16c") && is_x86_feature_detected!("avx2")).then_some(F16c(()))
    }

    /// Converts `f16`, given as their bits.
    ///
    /// # Safety
    /// So many halves can be read, and floats written.
    #[allow(unsafe_code)]
    pub(in crate::memory) unsafe fn widen(self, halves: *const u16, floats: *mut f32, len: usize) {
        // SAFETY: the caller's promise; the processor has these instructions,
        // as the proof says.
        unsafe { widen(halves, floats, len) }
    }

    /// Converts a block of `f16`, given as their bits, with these inverted.
    ///
    /// # Safety
    /// So many halves can be read.
    #[allow(unsafe_code)]
    #[inline(always)]
    pub(in crate::memory) unsafe fn widen_block<const N: usize>(
        self,
        halves: *const u16,
        flip: u16,
    ) -> [f32; N] {
        const { assert!(N.is_multiple_of(BLOCK)) };
        let mut floats = [0.0; N];
        for done in (0..N).step_by(BLOCK) {
            // SAFETY: the caller's promise; the processor has these instructions,
            // as the proof says.
            unsafe {
                let block = _mm_loadu_si128(halves.add(done).cast());
                let block = _mm_xor_si128(block, _mm_set1_epi16(flip as i16));
                _mm256_storeu_ps(floats.as_mut_ptr().add(done), _mm256_cvtph_ps(block));
            }
        }
        floats
    }

    /// Rounds a block to `f16`, to nearest, even.
    #[allow(unsafe_code)]
    #[inline(always)]
    pub(in crate::memory) fn narrow_block<const N: usize>(self, floats: [f32; N]) -> [u16; N] {
        const { assert!(N.is_multiple_of(BLOCK)) };
        let mut halves = [0; N];
        for done in (0..N).step_by(BLOCK) {
            // SAFETY: blocks lie within the arrays; the processor has these
            // instructions, as the proof says.
            unsafe {
                let block = _mm256_loadu_ps(floats.as_ptr().add(done));
                let new = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(block);
                _mm_storeu_si128(halves.as_mut_ptr().add(done).cast(), new);
            }
        }
        halves
    }

    /// Rounds to `f16`, to nearest, even; those whose value is that of the float
    /// already keep their bits.
    ///
    /// # Safety
    /// So many floats can be read, and halves read and written.
    #[allow(unsafe_code)]
    pub(in crate::memory) unsafe fn narrow(self, floats: *const f32, halves: *mut u16, len: usize) {
        // SAFETY: the caller's promise; the processor has these instructions,
        // as the proof says.
        unsafe { narrow(floats, halves, len) }
    }
}

/// # Safety
/// That of [`F16c::widen`], and the processor has F16C.
#[allow(unsafe_code)]
#[target_feature(enable = "avx2,f16c")]
unsafe fn widen(halves: *const u16, floats: *mut f32, len: usize) {
    let rest = len % BLOCK;
    let whole = len - rest;
    // SAFETY: the caller's promise; the rest has room of its own.
    unsafe {
        let mut done = 0;
        while done < whole {
            let block = _mm_loadu_si128(halves.add(done).cast());
            _mm256_storeu_ps(floats.add(done), _mm256_cvtph_ps(block));
            done += BLOCK;
        }
        if rest > 0 {
            let (mut from, mut to) = ([0; BLOCK], [0.0; BLOCK]);
            from.as_mut_ptr().copy_from_nonoverlapping(halves.add(whole), rest);
            let block = _mm_loadu_si128(from.as_ptr().cast());
            _mm256_storeu_ps(to.as_mut_ptr(), _mm256_cvtph_ps(block));
            floats.add(whole).copy_from_nonoverlapping(to.as_ptr(), rest);
        }
    }
}

/// # Safety
/// That of [`F16c::narrow`], and the processor has F16C.
#[allow(unsafe_code)]
#[target_feature(enable = "avx2,f16c")]
unsafe fn narrow(floats: *const f32, halves: *mut u16, len: usize) {
    let rest = len % BLOCK;
    let whole = len - rest;
    // SAFETY: the caller's promise; the rest has room of its own.
    unsafe {
        let mut done = 0;
        while done < whole {
            let held = halves.add(done).cast::<__m128i>();
            let new = narrow_block(_mm256_loadu_ps(floats.add(done)), _mm_loadu_si128(held));
            _mm_storeu_si128(held, new);
            done += BLOCK;
        }
        if rest > 0 {
            let (mut from, mut to) = ([0.0; BLOCK], [0_u16; BLOCK]);
            from.as_mut_ptr().copy_from_nonoverlapping(floats.add(whole), rest);
            to.as_mut_ptr().copy_from_nonoverlapping(halves.add(whole), rest);
            let held = to.as_mut_ptr().cast::<__m128i>();
            let new = narrow_block(_mm256_loadu_ps(from.as_ptr()), _mm_loadu_si128(held));
            _mm_storeu_si128(held, new);
            halves.add(whole).copy_from_nonoverlapping(to.as_ptr(), rest);
        }
    }
}

#[target_feature(enable = "avx2,f16c")]
#[inline]
fn narrow_block(floats: __m256, held: __m128i) -> __m128i {
    let same =
        _mm256_cmpeq_epi32(_mm256_castps_si256(_mm256_cvtph_ps(held)), _mm256_castps_si256(floats));
    let new = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(floats);
    let same = _mm_packs_epi32(_mm256_castsi256_si128(same), _mm256_extracti128_si256::<1>(same));
    _mm_blendv_epi8(new, held, same)
}
