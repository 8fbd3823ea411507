//! Indices to offsets, four at a time, each used at once.

use std::arch::x86_64::*;

use super::Avx2;
use crate::index::Meaning;
use crate::memory::indices::elements::{Along, MOST_BESIDE};

/// Calls `visit` with the offset that each index of lanes selects, in order, and with what
/// goes with its lane. Indices have 4 or 8 bytes. Returns a number that is negative where
/// an index is out of bounds, for which it visits position 0.
#[inline]
pub(in crate::memory) fn fours<'i, I: Meaning, L>(
    _proof: Avx2,
    lanes: impl Iterator<Item = (&'i [I], L)>,
    along: Along,
    visit: impl Fn(&mut L, isize),
) -> i64 {
    #[target_feature(enable = "avx2")]
    fn wide<'i, const TURNS: bool, I: Meaning, L>(
        lanes: impl Iterator<Item = (&'i [I], L)>,
        along: Along,
        visit: impl Fn(&mut L, isize),
    ) -> i64 {
        let zero = _mm256_setzero_si256();
        let len = along.len as i64;
        let last = _mm256_set1_epi64x(len - 1);
        // What is added to a negative value.
        let from_end = if I::SIGNED { _mm256_set1_epi64x(len) } else { zero };
        let step = _mm256_set1_epi64x(along.step as i64);
        // How far the next index selects beside the first of its lane.
        let (mut beside, mut turn) = (0_i64, 0);
        let mut next = || {
            let now = beside;
            (beside, turn) = (beside.wrapping_add(along.beside as i64), turn + 1);
            if turn == along.every {
                (beside, turn) = (0, 0);
            }
            now
        };
        // How far four of them do; and how much further the next four, which comes again after
        // a cycle.
        let mut four = || _mm256_setr_epi64x(next(), next(), next(), next());
        let first = four();
        let cycle = if TURNS { along.every } else { 1 };
        let mut further = [zero; MOST_BESIDE];
        let mut before = first;
        for one in &mut further[..cycle] {
            let now = four();
            (*one, before) = (_mm256_sub_epi64(now, before), now);
        }
        let (mut all, mut bits) = (zero, 0);
        for (indices, mut lane) in lanes {
            let (mut ramp, mut turn) = (first, 0);
            let fours = indices.chunks_exact(4);
            let rest = fours.remainder();
            for four in fours {
                // SAFETY: four indices of `I`'s size can be read.
                #[allow(unsafe_code)]
                let values = unsafe {
                    match (size_of::<I>(), I::SIGNED) {
                        (4, true) => _mm256_cvtepi32_epi64(_mm_loadu_si128(four.as_ptr().cast())),
                        (4, false) => _mm256_cvtepu32_epi64(_mm_loadu_si128(four.as_ptr().cast())),
                        (8, _) => _mm256_loadu_si256(four.as_ptr().cast()),
                        _ => unreachable!("indices of another size"),
                    }
                };
                let negative = _mm256_cmpgt_epi64(zero, values);
                let position = _mm256_add_epi64(values, _mm256_and_si256(negative, from_end));
                let outside = _mm256_or_si256(position, _mm256_sub_epi64(last, position));
                all = _mm256_or_si256(all, outside);
                let inside = _mm256_andnot_si256(_mm256_cmpgt_epi64(zero, outside), position);
                let offsets = _mm256_add_epi64(_mm256_mul_epi32(inside, step), ramp);
                ramp = _mm256_add_epi64(ramp, further[turn]);
                if TURNS {
                    turn = if turn + 1 == cycle { 0 } else { turn + 1 };
                }
                let (low, high) =
                    (_mm256_castsi256_si128(offsets), _mm256_extracti128_si256::<1>(offsets));
                visit(&mut lane, _mm_cvtsi128_si64(low) as isize);
                visit(&mut lane, _mm_extract_epi64::<1>(low) as isize);
                visit(&mut lane, _mm_cvtsi128_si64(high) as isize);
                visit(&mut lane, _mm_extract_epi64::<1>(high) as isize);
            }
            let done = indices.len() - rest.len();
            for (k, &index) in (done..).zip(rest) {
                let k = if TURNS { k % along.every } else { k };
                let (outside, offset) = along.offset(k, index);
                bits |= outside;
                visit(&mut lane, offset);
            }
        }
        bits | -i64::from(_mm256_movemask_pd(_mm256_castsi256_pd(all)))
    }
    // SAFETY: the processor has AVX2, as the proof says.
    #[allow(unsafe_code)]
    unsafe {
        if along.every <= MOST_BESIDE {
            wide::<true, I, L>(lanes, along, visit)
        } else {
            wide::<false, I, L>(lanes, along, visit)
        }
    }
}
