//! Tuples of indices to offsets, four at a time.

use std::arch::x86_64::*;

use super::{Avx2, is_long, prefetch_ahead};
use crate::index::{Meaning, Policy};
use crate::memory::indices::NOWHERE;
use crate::memory::indices::tuples::Visit;
use crate::memory::walk::Component;

/// Calls `visit` with the offset that each tuple selects, in order, and tells whether all
/// numbers are in bounds. If one is not, and `visit` does not ask to mend it, the nearest end of
/// its axis stands for it, or, if it does not fit 32 bits, some position. By [`Policy::Clip`] it
/// tells whether all fit.
///
/// Tuples have two numbers or three of 4 or 8 bytes, and lengths, of 1 and more, and steps
/// less than 2^31.
#[inline]
pub(in crate::memory) fn tuples<I: Copy + Default + Into<i64>, const K: usize, V: Visit>(
    _proof: Avx2,
    numbers: &[I],
    signed: bool,
    axes: &[Component; K],
    policy: Policy,
    visit: V,
) -> bool {
    // SAFETY: the processor has AVX2, as the proof says.
    #[allow(unsafe_code)]
    unsafe {
        wide::<I, K, V>(numbers, signed, axes, policy, visit)
    }
}

#[target_feature(enable = "avx2")]
fn wide<I: Copy + Default + Into<i64>, const K: usize, V: Visit>(
    numbers: &[I],
    signed: bool,
    axes: &[Component; K],
    policy: Policy,
    mut visit: V,
) -> bool {
    let (zero, ones) = (_mm256_setzero_si256(), _mm256_set1_epi32(-1));
    // What stands for a negative number, and the least of a position.
    let signs = _mm256_set1_epi32(-i32::from(signed));
    let floor = _mm256_andnot_si256(signs, _mm256_set1_epi32(i32::MIN));
    // Of the eight numbers that come first, and of those after them.
    let mut lens = [0; 16];
    lens.iter_mut().zip(axes.iter().cycle()).for_each(|(len, axis)| *len = axis.len as i32);
    let lens = [0, 8].map(|first| {
        // SAFETY: as many bytes as eight lengths have.
        #[allow(unsafe_code)]
        unsafe {
            _mm256_loadu_si256(lens[first..][..8].as_ptr().cast())
        }
    });
    let steps = axes.map(|axis| _mm256_set1_epi64x(axis.step as i64));
    // Negative, and not zero, where a number is out of bounds.
    let (mut below, mut odd) = (zero, zero);
    // Of the last there may be fewer than four: zeros are in bounds.
    let (mut left, mut last) = (numbers, [I::default(); 12]);
    let long = is_long(size_of_val(numbers));
    while !left.is_empty() {
        let four = match left.get(..4 * K) {
            Some(four) => four,
            None => {
                last[..left.len()].copy_from_slice(left);
                &last[..4 * K]
            }
        };
        if long {
            prefetch_ahead(four.as_ptr().cast(), size_of_val(four));
        }
        let (mut positions, mut outside) = ([zero; 2], [zero; 2]);
        for half in 0..(4 * K).div_ceil(8) {
            let (low, high) = halves(&four[half * 8..]);
            let len = lens[half];
            let end = _mm256_sub_epi32(len, _mm256_set1_epi32(1));
            let negative = _mm256_and_si256(_mm256_srai_epi32::<31>(low), signs);
            let position = _mm256_add_epi32(low, _mm256_and_si256(negative, len));
            let beyond = _mm256_or_si256(position, _mm256_sub_epi32(end, position));
            // The upper half of a number that fits repeats its sign.
            let more = if size_of::<I>() == 8 { _mm256_xor_si256(high, negative) } else { zero };
            below = _mm256_or_si256(below, beyond);
            odd = _mm256_or_si256(odd, more);
            positions[half] = _mm256_min_epu32(_mm256_max_epi32(position, floor), end);
            if V::MENDS {
                let fits = _mm256_cmpeq_epi32(more, zero);
                outside[half] = _mm256_or_si256(beyond, _mm256_xor_si256(fits, ones));
                let front = _mm256_and_si256(_mm256_srai_epi32::<31>(high), signs);
                let nearest = _mm256_andnot_si256(front, end);
                positions[half] = _mm256_blendv_epi8(nearest, positions[half], fits);
                if policy == Policy::Wrap && signs_of(outside[half]) != 0 {
                    positions[half] = wrapped(&four[half * 8..], signed, len);
                }
            }
        }
        let mut sum = zero;
        for (position, step) in spread::<K>(positions).into_iter().zip(steps) {
            sum = _mm256_add_epi64(sum, _mm256_mul_epi32(position, step));
        }
        if V::MENDS && policy == Policy::Skip {
            sum = unless_any(sum, spread::<K>(outside));
        }
        let offsets = four_of(sum);
        match left.get(4 * K..) {
            Some(more) => {
                visit.four(offsets);
                left = more;
            }
            None => {
                offsets[..left.len() / K].iter().for_each(|&offset| visit.one(offset));
                left = &[];
            }
        }
    }
    (signs_of(below) == 0 || policy == Policy::Clip) && _mm256_testz_si256(odd, odd) != 0
}

/// The signs of eight numbers, a bit each.
#[target_feature(enable = "avx2")]
#[inline]
fn signs_of(numbers: __m256i) -> i32 {
    _mm256_movemask_ps(_mm256_castsi256_ps(numbers))
}

#[target_feature(enable = "avx2")]
#[inline]
fn four_of(numbers: __m256i) -> [isize; 4] {
    let (low, high) = (_mm256_castsi256_si128(numbers), _mm256_extracti128_si256::<1>(numbers));
    [
        _mm_cvtsi128_si64(low) as isize,
        _mm_extract_epi64::<1>(low) as isize,
        _mm_cvtsi128_si64(high) as isize,
        _mm_extract_epi64::<1>(high) as isize,
    ]
}

/// Offsets, but [`NOWHERE`] in whose place the lower half of any of the others is negative.
#[target_feature(enable = "avx2")]
#[inline]
fn unless_any<const K: usize>(offsets: __m256i, outside: [__m256i; K]) -> __m256i {
    let any =
        outside.into_iter().fold(_mm256_setzero_si256(), |any, one| _mm256_or_si256(any, one));
    _mm256_castpd_si256(_mm256_blendv_pd(
        _mm256_castsi256_pd(offsets),
        _mm256_castsi256_pd(_mm256_set1_epi64x(NOWHERE as i64)),
        _mm256_castsi256_pd(_mm256_slli_epi64::<32>(any)),
    ))
}

/// Up to eight numbers, each modulo the length of its axis.
#[target_feature(enable = "avx2")]
#[inline]
fn wrapped<I: Copy + Into<i64>>(numbers: &[I], signed: bool, lens: __m256i) -> __m256i {
    let mut wide = [0; 8];
    for (wide, &number) in wide.iter_mut().zip(numbers) {
        *wide = match (size_of::<I>(), signed) {
            (4, false) => number.into() & i64::from(u32::MAX),
            _ => number.into(),
        };
    }
    modulo(wide, signed, lens)
}

#[cold]
#[inline(never)]
#[target_feature(enable = "avx2")]
fn modulo(numbers: [i64; 8], signed: bool, lens: __m256i) -> __m256i {
    let mut lanes = [0_u32; 8];
    // SAFETY: as many bytes as there are.
    #[allow(unsafe_code)]
    unsafe {
        _mm256_storeu_si256((&raw mut lanes).cast(), lens);
        for (lane, number) in lanes.iter_mut().zip(numbers) {
            let len = *lane as usize;
            let bits = number as u64;
            let position = if signed { number.position(len) } else { bits };
            // Divisions are for those alone that are out of bounds.
            *lane = match position < len as u64 {
                true => position as u32,
                false if signed => number.wrap(len) as u32,
                false => bits.wrap(len) as u32,
            };
        }
        _mm256_loadu_si256((&raw const lanes).cast())
    }
}

/// The lower and the upper halves of eight numbers, or of four if there are no more; of
/// numbers of 4 bytes the lower halves are all.
#[target_feature(enable = "avx2")]
#[inline]
fn halves<I>(numbers: &[I]) -> (__m256i, __m256i) {
    let zero = _mm256_setzero_si256();
    let whole = numbers.len() >= 8;
    assert!(whole || numbers.len() == 4);
    let at = |k: usize| numbers[k..].as_ptr().cast::<__m128i>();
    // SAFETY: 16 bytes from number `k` on are two numbers of 8 bytes or four of 4.
    #[allow(unsafe_code)]
    let two = |k: usize| unsafe { _mm_loadu_si128(at(k)) };
    match (size_of::<I>(), whole) {
        (4, true) => (_mm256_set_m128i(two(4), two(0)), zero),
        (4, false) => (_mm256_castsi128_si256(two(0)), zero),
        (8, true) => {
            let even = _mm256_castsi256_ps(_mm256_set_m128i(two(4), two(0)));
            let odd = _mm256_castsi256_ps(_mm256_set_m128i(two(6), two(2)));
            let low = _mm256_shuffle_ps::<0b10_00_10_00>(even, odd);
            let high = _mm256_shuffle_ps::<0b11_01_11_01>(even, odd);
            (_mm256_castps_si256(low), _mm256_castps_si256(high))
        }
        (8, false) => {
            let (even, odd) = (_mm_castsi128_ps(two(0)), _mm_castsi128_ps(two(2)));
            let low = _mm_castps_si128(_mm_shuffle_ps::<0b10_00_10_00>(even, odd));
            let high = _mm_castps_si128(_mm_shuffle_ps::<0b11_01_11_01>(even, odd));
            (_mm256_castsi128_si256(low), _mm256_castsi128_si256(high))
        }
        _ => unreachable!("numbers of another size"),
    }
}

/// The first numbers of four tuples, each in the lower half of 64 bits, the second, and so on.
#[target_feature(enable = "avx2")]
#[inline]
fn spread<const K: usize>([first, second]: [__m256i; 2]) -> [__m256i; K] {
    let mut all = [first; K];
    if K == 2 {
        all[1] = _mm256_srli_epi64::<32>(first);
        return all;
    }
    // The first numbers are number 0, 3, 6 and 9, and so on.
    let put = |numbers, a, b, c, d| {
        _mm256_permutevar8x32_epi32(numbers, _mm256_setr_epi32(a, a, b, b, c, c, d, d))
    };
    all[0] = put(_mm256_blend_epi32::<0b0010>(first, second), 0, 3, 6, 1);
    all[1] = put(_mm256_blend_epi32::<0b0100>(first, second), 1, 4, 7, 2);
    all[2] = put(_mm256_blend_epi32::<0b1001>(first, second), 2, 5, 0, 3);
    all
}
