//! Keeping some of a list of numbers, four at a time.

use std::arch::x86_64::*;
use std::ops::Range;

use super::Avx2;

/// For each choice of four numbers of 64 bits, a bit each: its number of bits,
/// and as numbers of 32 bits where the halves of those that are chosen lie.
const CHOICES: [(usize, [i32; 8]); 16] = {
    let mut choices = [(0, [0; 8]); 16];
    let mut choice = 0;
    while choice < 16 {
        let (mut count, mut lane) = (0, 0);
        while lane < 4 {
            if choice & (1 << lane) != 0 {
                choices[choice].1[2 * count] = 2 * lane;
                choices[choice].1[2 * count + 1] = 2 * lane + 1;
                count += 1;
            }
            lane += 1;
        }
        choices[choice].0 = count;
        choice += 1;
    }
    choices
};

/// Moves the offsets that are in a range to the front, in order, and the places
/// beside them; returns how many there are. Takes four at a time, and so up to
/// three at the end are left to the caller: the second number says from where.
pub(in crate::memory) fn keep(
    _proof: Avx2,
    offsets: &mut [isize],
    places: &mut [isize],
    range: &Range<isize>,
) -> (usize, usize) {
    #[target_feature(enable = "avx2")]
    fn wide(offsets: &mut [isize], places: &mut [isize], range: &Range<isize>) -> (usize, usize) {
        let (start, end) =
            (_mm256_set1_epi64x(range.start as i64), _mm256_set1_epi64x(range.end as i64));
        let count = offsets.len().min(places.len()) & !3;
        let mut kept = 0;
        for k in (0..count).step_by(4) {
            // SAFETY: four numbers from `k` on are in both slices, and so they are
            // from `kept` on, which is not beyond. Those from there to `k` were
            // looked at before.
            #[allow(unsafe_code)]
            unsafe {
                let four = _mm256_loadu_si256(offsets.as_ptr().add(k).cast());
                let beside = _mm256_loadu_si256(places.as_ptr().add(k).cast());
                let below = _mm256_cmpgt_epi64(start, four);
                let inside = _mm256_andnot_si256(below, _mm256_cmpgt_epi64(end, four));
                let choice = _mm256_movemask_pd(_mm256_castsi256_pd(inside)) as usize & 15;
                let (chosen, order) = &CHOICES[choice];
                let order = _mm256_loadu_si256(order.as_ptr().cast());
                let four = _mm256_permutevar8x32_epi32(four, order);
                let beside = _mm256_permutevar8x32_epi32(beside, order);
                _mm256_storeu_si256(offsets.as_mut_ptr().add(kept).cast(), four);
                _mm256_storeu_si256(places.as_mut_ptr().add(kept).cast(), beside);
                kept += chosen;
            }
        }
        (kept, count)
    }
    // SAFETY: the processor has AVX2, as the proof says.
    #[allow(unsafe_code)]
    unsafe {
        wide(offsets, places, range)
    }
}
