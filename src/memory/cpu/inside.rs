//! Whether indices are in bounds, many at a time.

use std::arch::x86_64::*;

use super::Avx2;
use crate::index::Meaning;

/// Indices that are taken at once.
const TOGETHER: usize = 16;

/// Whether all indices, of 8 bytes, are known to be within an axis of `len`. It is not known
/// where one is negative, nor of some numbers beyond 32 bits.
///
/// AVX2 finds the greater of two numbers of 32 bits, not of 64. The greatest upper half and the
/// greatest lower half make a number that none of the indices exceeds. To look at each takes
/// twice as long: 0.07 ns an index in the first cache, so 0.035.
pub(in crate::memory) fn known_inside<I: Meaning>(_proof: Avx2, indices: &[I], len: usize) -> bool {
    #[target_feature(enable = "avx2")]
    fn wide<I: Meaning>(indices: &[I], len: usize) -> bool {
        let mut most = [_mm256_setzero_si256(); 4];
        let together = indices.chunks_exact(TOGETHER);
        let rest = together.remainder();
        for indices in together {
            for (most, four) in most.iter_mut().zip(indices.chunks_exact(TOGETHER / 4)) {
                // SAFETY: four integers of 8 bytes, as `Meaning` is for integers alone.
                #[allow(unsafe_code)]
                let four = unsafe { _mm256_loadu_si256(four.as_ptr().cast()) };
                *most = _mm256_max_epu32(*most, four);
            }
        }
        let [a, b, c, d] = most;
        let most = _mm256_max_epu32(_mm256_max_epu32(a, b), _mm256_max_epu32(c, d));
        let mut lanes = [0_u64; 4];
        // SAFETY: there is room for as many bytes as are stored.
        #[allow(unsafe_code)]
        unsafe {
            _mm256_storeu_si256(lanes.as_mut_ptr().cast(), most);
        }
        lanes.iter().all(|&most| most < len as u64)
            && rest.iter().fold(0, |bits, index| bits | index.outside(len)) >= 0
    }
    if size_of::<I>() != 8 {
        return false;
    }
    // SAFETY: the processor has AVX2, as the proof says.
    #[allow(unsafe_code)]
    unsafe {
        wide(indices, len)
    }
}
