//! Small matrices transposed on their way from one array to another.

/// Elements of a block along the side that is dense in the source, and along
/// that which is dense in the destination: a cache line.
pub(in crate::memory) const BLOCK: [usize; 2] = [4, 16];

/// Copies a block of elements of 4 bytes: 16 rows of 4 elements, which are dense,
/// from `from` on and `row` bytes apart, to 4 columns of 16, which are dense,
/// from `to` on and `column` bytes apart. All are read before the first is
/// written, and columns are written line by line.
///
/// # Safety
/// The rows can be read, their bytes are initialised, the columns can be
/// written, and the two do not overlap.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code)]
#[inline(always)]
pub(in crate::memory) unsafe fn transpose(from: *const u8, row: isize, to: *mut u8, column: isize) {
    use std::arch::x86_64::{
        __m128i, _mm_loadu_si128, _mm_storeu_si128, _mm_unpackhi_epi32, _mm_unpackhi_epi64,
        _mm_unpacklo_epi32, _mm_unpacklo_epi64,
    };

    // SAFETY: the caller's promise; SSE2 is part of x86_64.
    unsafe {
        let quarters: [[__m128i; 4]; 4] = std::array::from_fn(|quarter| {
            let load = |k: isize| {
                let at = (quarter as isize * 4 + k).wrapping_mul(row);
                _mm_loadu_si128(from.wrapping_offset(at).cast::<__m128i>())
            };
            let [a, b, c, d] = [load(0), load(1), load(2), load(3)];
            let (ab, cd) = (_mm_unpacklo_epi32(a, b), _mm_unpacklo_epi32(c, d));
            let (ab_high, cd_high) = (_mm_unpackhi_epi32(a, b), _mm_unpackhi_epi32(c, d));
            [
                _mm_unpacklo_epi64(ab, cd),
                _mm_unpackhi_epi64(ab, cd),
                _mm_unpacklo_epi64(ab_high, cd_high),
                _mm_unpackhi_epi64(ab_high, cd_high),
            ]
        });
        for k in 0..4 {
            let to = to.wrapping_offset((k as isize).wrapping_mul(column)).cast::<__m128i>();
            for (quarter, vectors) in quarters.iter().enumerate() {
                _mm_storeu_si128(to.add(quarter), vectors[k]);
            }
        }
    }
}

/// The same, element by element.
///
/// # Safety
/// The rows can be read, the columns can be written, and the two do not
/// overlap.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[allow(unsafe_code)]
#[inline(always)]
pub(in crate::memory) unsafe fn transpose(from: *const u8, row: isize, to: *mut u8, column: isize) {
    const SIZE: usize = 4;
    for k in 0..BLOCK[1] {
        for element in 0..BLOCK[0] {
            let from = from.wrapping_offset((k as isize).wrapping_mul(row));
            let to = to.wrapping_offset((element as isize).wrapping_mul(column));
            // SAFETY: the caller's promise.
            unsafe {
                from.add(element * SIZE).copy_to_nonoverlapping(to.add(k * SIZE), SIZE);
            }
        }
    }
}
