//! Converts tuples of indices to offsets, four at a time, by AVX2.

use std::arch::x86_64::*;

use super::{Avx2, prefetch_ahead};
use crate::index::{Meaning, Policy};
use crate::memory::indices::NOWHERE;
use crate::memory::indices::tuples::Visit;
use crate::memory::walk::Component;

/// Calls `visit` with the offset that each tuple selects, in order, and returns whether all numbers
/// are in bounds (by [`Policy::Clip`], whether all fit 32 bits). Functionally:
///
/// ```text
/// for tuple in numbers.chunks(K)
///   visit(sum over k: position(tuple[k], axes[k].len) * axes[k].step)
/// ```
///
/// If [`Visit::MENDS`], the position of a number out of bounds follows `policy`; by
/// [`Policy::Skip`], the tuple's offset is [`NOWHERE`]. Otherwise it is the nearest position of the
/// axis or, for a number that does not fit 32 bits, any position of it.
///
/// If `long`, numbers are prefetched. `K` is 2, 3 or 4; numbers have 4 or 8 bytes; lengths of axes are
/// at least 1, and lengths and steps less than 2^31.
#[inline]
pub(in crate::memory) fn tuples<I: Copy + Default + Into<i64>, const K: usize, V: Visit>(
    _proof: Avx2,
    (numbers, long): (&[I], bool),
    signed: bool,
    axes: &[Component; K],
    policy: Policy,
    visit: V,
) -> bool {
    // SAFETY: the processor has AVX2, by the invariant of `Avx2`.
    #[allow(unsafe_code)]
    unsafe {
        by_avx2::<I, K, V>((numbers, long), signed, axes, policy, visit)
    }
}

#[target_feature(enable = "avx2")]
fn by_avx2<I: Copy + Default + Into<i64>, const K: usize, V: Visit>(
    (numbers, long): (&[I], bool),
    signed: bool,
    axes: &[Component; K],
    policy: Policy,
    mut visit: V,
) -> bool {
    let zero = _mm256_setzero_si256();
    let (lens, sign) = (lengths(axes), Sign::of(signed));
    let steps = axes.map(|axis| _mm256_set1_epi64x(axis.step as i64));
    // Accumulated over all numbers: negative where the lower half of one is out of bounds, and not
    // zero where one does not fit 32 bits.
    let (mut any_outside, mut any_excess) = (zero, zero);
    // The last tuples may be fewer than four: they are padded by zeros, which are in bounds.
    let (mut rest, mut padded) = (numbers, [I::default(); 16]);
    while !rest.is_empty() {
        let block = match rest.get(..4 * K) {
            Some(block) => block,
            None => {
                padded[..rest.len()].copy_from_slice(rest);
                &padded[..4 * K]
            }
        };
        if long {
            prefetch_ahead(block.as_ptr().cast(), size_of_val(block));
        }
        let (mut positions, mut outside) = ([zero; 2], [zero; 2]);
        for vector in 0..(4 * K).div_ceil(8) {
            let (numbers, len) = (&block[vector * 8..], lens[vector]);
            let resolved = resolve::<I>(numbers, sign, len);
            any_outside = _mm256_or_si256(any_outside, resolved.outside);
            any_excess = _mm256_or_si256(any_excess, resolved.excess);
            positions[vector] = resolved.position;
            if V::MENDS {
                (positions[vector], outside[vector]) = resolved.mended();
                if policy == Policy::Wrap && signs_of(outside[vector]) != 0 {
                    positions[vector] = wrapped(numbers, signed, len);
                }
            }
        }
        let mut sum = zero;
        for (position, step) in spread::<K>(positions).into_iter().zip(steps) {
            sum = _mm256_add_epi64(sum, _mm256_mul_epi32(position, step));
        }
        if V::MENDS && policy == Policy::Skip {
            sum = skip_outside(sum, spread::<K>(outside));
        }
        let offsets = to_array(sum);
        match rest.get(4 * K..) {
            Some(after) => {
                visit.four(offsets);
                rest = after;
            }
            None => {
                offsets[..rest.len() / K].iter().for_each(|&offset| visit.one(offset));
                rest = &[];
            }
        }
    }
    (signs_of(any_outside) == 0 || policy == Policy::Clip)
        && _mm256_testz_si256(any_excess, any_excess) != 0
}

/// The lengths of the axes of the first eight numbers, and of the others if `K` is more than 2.
#[target_feature(enable = "avx2")]
#[inline]
fn lengths<const K: usize>(axes: &[Component; K]) -> [__m256i; 2] {
    let mut lens = [0; 16];
    lens.iter_mut().zip(axes.iter().cycle()).for_each(|(len, axis)| *len = axis.len as i32);
    [0, 8].map(|first| {
        // SAFETY: the slice has eight lengths of 4 bytes, as many bytes as are loaded.
        #[allow(unsafe_code)]
        unsafe {
            _mm256_loadu_si256(lens[first..][..8].as_ptr().cast())
        }
    })
}

/// Whether numbers are signed.
#[derive(Clone, Copy)]
struct Sign {
    /// All ones if they are, else zeros.
    mask: __m256i,
    /// The lower bound of positions, as signed numbers: 0 if they are, else none.
    floor: __m256i,
}

impl Sign {
    #[target_feature(enable = "avx2")]
    #[inline]
    fn of(signed: bool) -> Self {
        let mask = _mm256_set1_epi32(-i32::from(signed));
        Sign { mask, floor: _mm256_andnot_si256(mask, _mm256_set1_epi32(i32::MIN)) }
    }
}

/// What eight numbers select along their axes.
struct Resolved {
    /// The position of each, or the nearest one if the number fits 32 bits.
    position: __m256i,
    /// Negative where the lower half of a number is out of bounds.
    outside: __m256i,
    /// Not zero where a number does not fit 32 bits.
    excess: __m256i,
    /// The nearest position for such a number.
    nearest: __m256i,
}

/// Resolves eight numbers along axes of these lengths.
#[target_feature(enable = "avx2")]
#[inline]
fn resolve<I: Copy + Into<i64>>(numbers: &[I], sign: Sign, len: __m256i) -> Resolved {
    let (low, high) = halves(numbers);
    let end = _mm256_sub_epi32(len, _mm256_set1_epi32(1));
    let negative = _mm256_and_si256(_mm256_srai_epi32::<31>(low), sign.mask);
    let position = _mm256_add_epi32(low, _mm256_and_si256(negative, len));
    let at_front = _mm256_and_si256(_mm256_srai_epi32::<31>(high), sign.mask);
    Resolved {
        position: _mm256_min_epu32(_mm256_max_epi32(position, sign.floor), end),
        outside: _mm256_or_si256(position, _mm256_sub_epi32(end, position)),
        // The upper half of a number that fits 32 bits is its sign extension.
        excess: match size_of::<I>() {
            8 => _mm256_xor_si256(high, negative),
            _ => _mm256_setzero_si256(),
        },
        nearest: _mm256_andnot_si256(at_front, end),
    }
}

impl Resolved {
    /// The nearest position of every number, and all of those that are outside.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn mended(&self) -> (__m256i, __m256i) {
        let fits = _mm256_cmpeq_epi32(self.excess, _mm256_setzero_si256());
        let excess = _mm256_xor_si256(fits, _mm256_set1_epi32(-1));
        let position = _mm256_blendv_epi8(self.nearest, self.position, fits);
        (position, _mm256_or_si256(self.outside, excess))
    }
}

/// The signs of eight 32-bit numbers, one bit each.
#[target_feature(enable = "avx2")]
#[inline]
fn signs_of(numbers: __m256i) -> i32 {
    _mm256_movemask_ps(_mm256_castsi256_ps(numbers))
}

/// The four 64-bit numbers of a vector.
#[target_feature(enable = "avx2")]
#[inline]
fn to_array(numbers: __m256i) -> [isize; 4] {
    let (low, high) = (_mm256_castsi256_si128(numbers), _mm256_extracti128_si256::<1>(numbers));
    [
        _mm_cvtsi128_si64(low) as isize,
        _mm_extract_epi64::<1>(low) as isize,
        _mm_cvtsi128_si64(high) as isize,
        _mm_extract_epi64::<1>(high) as isize,
    ]
}

/// Replaces by [`NOWHERE`] each offset for which, in any vector of `outside`, the lower half of the
/// 64-bit lane is negative: one of the tuple's numbers is out of bounds.
#[target_feature(enable = "avx2")]
#[inline]
fn skip_outside<const K: usize>(offsets: __m256i, outside: [__m256i; K]) -> __m256i {
    let any =
        outside.into_iter().fold(_mm256_setzero_si256(), |any, axis| _mm256_or_si256(any, axis));
    _mm256_castpd_si256(_mm256_blendv_pd(
        _mm256_castsi256_pd(offsets),
        _mm256_castsi256_pd(_mm256_set1_epi64x(NOWHERE as i64)),
        _mm256_castsi256_pd(_mm256_slli_epi64::<32>(any)),
    ))
}

/// The positions of up to eight numbers, each modulo the length of its axis.
#[target_feature(enable = "avx2")]
#[inline]
fn wrapped<I: Copy + Into<i64>>(numbers: &[I], signed: bool, lens: __m256i) -> __m256i {
    let mut widened = [0; 8];
    for (widened, &number) in widened.iter_mut().zip(numbers) {
        *widened = match (size_of::<I>(), signed) {
            (4, false) => number.into() & i64::from(u32::MAX),
            _ => number.into(),
        };
    }
    modulo(widened, signed, lens)
}

/// The positions of eight numbers, each modulo the length of its axis.
#[cold]
#[inline(never)]
#[target_feature(enable = "avx2")]
fn modulo(numbers: [i64; 8], signed: bool, lens: __m256i) -> __m256i {
    let mut lanes = [0_u32; 8];
    // SAFETY: `lanes` has the 32 bytes that are stored and loaded.
    #[allow(unsafe_code)]
    unsafe {
        _mm256_storeu_si256((&raw mut lanes).cast(), lens);
        for (lane, number) in lanes.iter_mut().zip(numbers) {
            let len = *lane as usize;
            let bits = number as u64;
            let position = if signed { number.position(len) } else { bits };
            // Only numbers out of bounds need a division.
            *lane = match position < len as u64 {
                true => position as u32,
                // The bound is one that safe code has no part in.
                false if signed => number.wrap(len).min(len - 1) as u32,
                false => bits.wrap(len).min(len - 1) as u32,
            };
        }
        _mm256_loadu_si256((&raw const lanes).cast())
    }
}

/// The lower and the upper 32-bit halves of the first eight numbers, or of four if there are only
/// four. Numbers of 4 bytes are lower halves; their upper halves are 0.
#[target_feature(enable = "avx2")]
#[inline]
fn halves<I>(numbers: &[I]) -> (__m256i, __m256i) {
    let zero = _mm256_setzero_si256();
    let eight = numbers.len() >= 8;
    assert!(eight || numbers.len() == 4);
    let address = |k: usize| numbers[k..].as_ptr().cast::<__m128i>();
    // SAFETY: 16 bytes from number `k` on are two numbers of 8 bytes or four of 4; each call below
    // has as many from its `k` on, by the assertion and the match.
    #[allow(unsafe_code)]
    let load = |k: usize| unsafe { _mm_loadu_si128(address(k)) };
    match (size_of::<I>(), eight) {
        (4, true) => (_mm256_set_m128i(load(4), load(0)), zero),
        (4, false) => (_mm256_zextsi128_si256(load(0)), zero),
        (8, true) => {
            let even_pairs = _mm256_castsi256_ps(_mm256_set_m128i(load(4), load(0)));
            let odd_pairs = _mm256_castsi256_ps(_mm256_set_m128i(load(6), load(2)));
            let low = _mm256_shuffle_ps::<0b10_00_10_00>(even_pairs, odd_pairs);
            let high = _mm256_shuffle_ps::<0b11_01_11_01>(even_pairs, odd_pairs);
            (_mm256_castps_si256(low), _mm256_castps_si256(high))
        }
        (8, false) => {
            let (even_pairs, odd_pairs) = (_mm_castsi128_ps(load(0)), _mm_castsi128_ps(load(2)));
            let low = _mm_castps_si128(_mm_shuffle_ps::<0b10_00_10_00>(even_pairs, odd_pairs));
            let high = _mm_castps_si128(_mm_shuffle_ps::<0b11_01_11_01>(even_pairs, odd_pairs));
            (_mm256_zextsi128_si256(low), _mm256_zextsi128_si256(high))
        }
        _ => unreachable!("numbers of another size"),
    }
}

/// Transposes four tuples of `K` 32-bit numbers: the first vector holds the first number of each
/// tuple in the lower halves of its 64-bit lanes, the second vector the second numbers, and so on.
/// The upper halves are unspecified.
#[target_feature(enable = "avx2")]
#[inline]
fn spread<const K: usize>([first, second]: [__m256i; 2]) -> [__m256i; K] {
    let mut all = [first; K];
    if K == 2 {
        all[1] = _mm256_srli_epi64::<32>(first);
        return all;
    }
    if K == 4 {
        // The numbers of tuples 0 and 1 alternate, then those of tuples 2 and 3 beside them.
        let alternate = |numbers| {
            _mm256_permutevar8x32_epi32(numbers, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7))
        };
        let (first, second) = (alternate(first), alternate(second));
        let front = _mm256_permute2x128_si256::<0x20>(first, second);
        let back = _mm256_permute2x128_si256::<0x31>(first, second);
        for (pair, numbers) in all.chunks_mut(2).zip([front, back]) {
            pair[0] = _mm256_shuffle_epi32::<0b01_01_00_00>(numbers);
            pair[1] = _mm256_shuffle_epi32::<0b11_11_10_10>(numbers);
        }
        return all;
    }
    // The first numbers of the tuples are numbers 0, 3, 6 and 9, the second ones 1, 4, 7 and 10.
    let permute = |numbers, a, b, c, d| {
        _mm256_permutevar8x32_epi32(numbers, _mm256_setr_epi32(a, a, b, b, c, c, d, d))
    };
    all[0] = permute(_mm256_blend_epi32::<0b0010>(first, second), 0, 3, 6, 1);
    all[1] = permute(_mm256_blend_epi32::<0b0100>(first, second), 1, 4, 7, 2);
    all[2] = permute(_mm256_blend_epi32::<0b1001>(first, second), 2, 5, 0, 3);
    all
}
