//! Filters a list of offsets by a range, four at a time, by AVX2.

use std::arch::x86_64::*;
use std::ops::Range;

use super::Avx2;

/// For each mask of four lanes of 64 bits, one bit a lane: the number of set bits, and the
/// permutation of 32-bit lanes that moves the set lanes to the front, in order.
const COMPACTIONS: [(usize, [i32; 8]); 16] = {
    let mut table = [(0, [0; 8]); 16];
    let mut mask = 0;
    while mask < 16 {
        let (mut count, mut lane) = (0, 0);
        while lane < 4 {
            if mask & (1 << lane) != 0 {
                table[mask].1[2 * count] = 2 * lane;
                table[mask].1[2 * count + 1] = 2 * lane + 1;
                count += 1;
            }
            lane += 1;
        }
        table[mask].0 = count;
        mask += 1;
    }
    table
};

/// Moves the offsets that are in `range` to the front, in order, and the places of the same entries
/// with them; returns `(kept, count)`, equivalent to:
///
/// ```text
/// count = min(offsets.len(), places.len()) / 4 * 4
/// for k in 0..count
///   if range contains offsets[k]
///     offsets[kept], places[kept] = offsets[k], places[k]
///     kept += 1
/// ```
///
/// Up to three entries from `count` on are left to the caller.
pub(in crate::memory) fn keep(
    _proof: Avx2,
    offsets: &mut [isize],
    places: &mut [isize],
    range: &Range<isize>,
) -> (usize, usize) {
    #[target_feature(enable = "avx2")]
    fn by_avx2(
        offsets: &mut [isize],
        places: &mut [isize],
        range: &Range<isize>,
    ) -> (usize, usize) {
        let (start, end) =
            (_mm256_set1_epi64x(range.start as i64), _mm256_set1_epi64x(range.end as i64));
        let count = offsets.len().min(places.len()) & !3;
        let mut kept = 0;
        for k in (0..count).step_by(4) {
            // SAFETY: four numbers from `k` on are in both slices, as `count` is a multiple of four
            // and at most their length, and so are four from `kept` on, as `kept <= k`. Entries
            // from `kept` to `k` were checked before, and four from `k` on are loaded before the
            // stores: no entry that is still needed is overwritten.
            #[allow(unsafe_code)]
            unsafe {
                let four_offsets = _mm256_loadu_si256(offsets.as_ptr().add(k).cast());
                let four_places = _mm256_loadu_si256(places.as_ptr().add(k).cast());
                let below = _mm256_cmpgt_epi64(start, four_offsets);
                let in_range = _mm256_andnot_si256(below, _mm256_cmpgt_epi64(end, four_offsets));
                let mask = _mm256_movemask_pd(_mm256_castsi256_pd(in_range)) as usize & 15;
                let (set_lanes, permutation) = &COMPACTIONS[mask];
                let permutation = _mm256_loadu_si256(permutation.as_ptr().cast());
                let four_offsets = _mm256_permutevar8x32_epi32(four_offsets, permutation);
                let four_places = _mm256_permutevar8x32_epi32(four_places, permutation);
                _mm256_storeu_si256(offsets.as_mut_ptr().add(kept).cast(), four_offsets);
                _mm256_storeu_si256(places.as_mut_ptr().add(kept).cast(), four_places);
                kept += set_lanes;
            }
        }
        (kept, count)
    }
    // SAFETY: the processor has AVX2, by the invariant of `Avx2`.
    #[allow(unsafe_code)]
    unsafe {
        by_avx2(offsets, places, range)
    }
}
