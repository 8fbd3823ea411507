//! Copies a matrix from one array to another, transposed, block by block.
//!
//! A block is as long along each side as a cache line, so that each line of either array is
//! accessed once. It is transposed into a buffer in L1 and written line by line: the stride of rows
//! is often a multiple of the distance at which addresses map to the same cache set, and lines that
//! are written piece by piece would evict each other.

use std::mem::MaybeUninit;
use std::ops::Range;

/// Size of a cache line in bytes.
pub(in crate::memory) const LINE: usize = 64;

/// Whether transposing a matrix block by block pays, for elements of `size` bytes with a distance
/// of `step` bytes from one to the next in a row. `evenly_spaced` tells that rows have a constant
/// stride, as in a copy; otherwise each row is selected by an index.
///
/// Where the elements of a row are not contiguous, collecting elements of one byte, or large ones,
/// in a buffer first takes as long as copying each to its place, and so does collecting every fourth
/// of 8 bytes.
pub(in crate::memory) fn transposes(size: usize, step: usize, evenly_spaced: bool) -> bool {
    match size {
        2 | 4 => step != 0 && step < LINE,
        8 => step != 0 && step < if evenly_spaced { LINE / 2 } else { LINE },
        1 | 16 => step == size,
        _ => false,
    }
}

/// Rows of contiguous elements: the address of the first row, and the distance in bytes from the
/// start of one row to the start of the next.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) struct Rows {
    pub(in crate::memory) first: *mut u8,
    pub(in crate::memory) step: isize,
}

impl Rows {
    /// The address of row `k`.
    #[inline(always)]
    pub(in crate::memory) fn row(self, k: usize) -> *mut u8 {
        self.first.wrapping_offset(self.step.wrapping_mul(k as isize))
    }

    /// The submatrix that begins at byte `byte` of row `row`.
    #[inline(always)]
    fn at(self, row: usize, byte: usize) -> Self {
        Rows { first: self.row(row).wrapping_add(byte), step: self.step }
    }
}

/// Transposes a matrix of `rows` rows and `columns` columns: `to[c][r] = from[r][c]`. Elements have
/// `N` bytes, and `M` of them fill a vector of 16.
///
/// # Safety
/// The rows of `from` can be read and their bytes are initialised, the rows of `to` can be written,
/// and the two do not overlap.
#[allow(unsafe_code)]
pub(in crate::memory) unsafe fn transpose<const N: usize, const M: usize>(
    from: Rows,
    to: Rows,
    rows: usize,
    columns: usize,
) {
    const { assert!(N * M == 16) };
    if M == 1 {
        // SAFETY: the caller's promise.
        return unsafe { whole_vectors(from, to, rows, columns) };
    }
    if rows.min(columns) < M {
        // SAFETY: the caller's promise.
        return unsafe { one_by_one::<N>(from, to, rows, columns) };
    }
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if let Some(avx2) = super::Avx2::detect() {
        // All callees are inlined: AVX2 vectors must not be passed to functions that are compiled
        // without AVX2.
        // SAFETY: the caller's promise; the processor has AVX2, as `detect` found.
        return avx2.call(
            #[inline(always)]
            || unsafe { matrix::<N, M, true>(from, to, rows, columns) },
        );
    }
    // SAFETY: the caller's promise.
    unsafe { matrix::<N, M, false>(from, to, rows, columns) };
}

/// Transposes element by element, for a matrix that is narrower than a vector.
///
/// # Safety
/// That of [`transpose`].
#[allow(unsafe_code)]
unsafe fn one_by_one<const N: usize>(from: Rows, to: Rows, rows: usize, columns: usize) {
    let (mut from_column, mut to_row) = (from.first, to.first);
    for _ in 0..columns {
        let (mut from_element, mut to_element) = (from_column, to_row);
        for _ in 0..rows {
            // SAFETY: the caller's promise, for this element.
            unsafe { from_element.copy_to_nonoverlapping(to_element, N) };
            from_element = from_element.wrapping_offset(from.step);
            to_element = to_element.wrapping_add(N);
        }
        from_column = from_column.wrapping_add(N);
        to_row = to_row.wrapping_offset(to.step);
    }
}

/// Transposes elements of 16 bytes, which need no interleaving of vectors: four elements, a cache
/// line of the source, are copied to four rows.
///
/// # Safety
/// That of [`transpose`], for elements of 16 bytes.
#[allow(unsafe_code)]
unsafe fn whole_vectors(from: Rows, to: Rows, rows: usize, columns: usize) {
    const PER_LINE: usize = LINE / 16;
    let whole = columns - columns % PER_LINE;
    for column in (0..whole).step_by(PER_LINE) {
        for row in 0..rows {
            for k in column..column + PER_LINE {
                // SAFETY: the caller's promise, for this element.
                unsafe {
                    let from = from.row(row).wrapping_add(k * 16);
                    from.copy_to_nonoverlapping(to.row(k).wrapping_add(row * 16), 16);
                }
            }
        }
    }
    let byte = whole * 16;
    // SAFETY: the caller's promise, for the remaining columns.
    unsafe { one_by_one::<16>(from.at(0, byte), to.at(whole, 0), rows, columns - whole) };
}

/// Transposes whole blocks, and squares of `M` by `M` elements outside of them. The last squares
/// along a side overlap those before.
///
/// # Safety
/// That of [`transpose`]; no side is shorter than `M`, and the processor has AVX2 where `WIDE`.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn matrix<const N: usize, const M: usize, const WIDE: bool>(
    from: Rows,
    to: Rows,
    rows: usize,
    columns: usize,
) {
    let row_blocks = whole_blocks::<N>(to.first, to.step, rows);
    let column_blocks = whole_blocks::<N>(from.first, from.step, columns);
    let side = LINE / N;
    // Rows with the larger stride are processed few at a time and along their whole length: each
    // row may be in a page of its own, and few pages then are in use at a time.
    let by_columns = to.step.unsigned_abs() >= from.step.unsigned_abs();
    let (outer, inner) =
        if by_columns { (&column_blocks, &row_blocks) } else { (&row_blocks, &column_blocks) };
    for outer in outer.clone().step_by(side) {
        for inner in inner.clone().step_by(side) {
            let (row, column) = if by_columns { (inner, outer) } else { (outer, inner) };
            // SAFETY: the caller's promise, for the rows and columns of the block.
            unsafe {
                block::<N, M, WIDE>(from.at(row, column * N), to.at(column, row * N));
            }
        }
    }
    let remainder = |row_range: Range<usize>, column_range: Range<usize>| {
        for column in column_range.step_by(M) {
            let column = column.min(columns - M);
            for row in row_range.clone().step_by(M) {
                let row = row.min(rows - M);
                // SAFETY: the caller's promise, for the rows and columns of the square, which is
                // within the matrix: no side is shorter than `M`.
                unsafe { square::<N, M>(from.at(row, column * N), to.at(column, row * N)) };
            }
        }
    };
    remainder(0..row_blocks.start, 0..columns);
    remainder(row_blocks.end..rows, 0..columns);
    remainder(row_blocks.clone(), 0..column_blocks.start);
    remainder(row_blocks, column_blocks.end..columns);
}

/// The range of one side of a matrix, `len` elements of `N` bytes, that whole blocks cover. `first`
/// and `step` are those of the array whose rows run along this side: where all of its rows have the
/// same alignment within cache lines, blocks begin at the start of a line.
fn whole_blocks<const N: usize>(first: *const u8, step: isize, len: usize) -> Range<usize> {
    let same_alignment = step % LINE as isize == 0;
    let before = if same_alignment { first.addr().wrapping_neg() % LINE / N } else { 0 };
    let start = before.min(len);
    start..len - (len - start) % (LINE / N)
}

/// A buffer for one transposed block, large enough for elements of one byte.
#[repr(C, align(64))]
struct Buffer([MaybeUninit<u8>; LINE * LINE]);

/// Transposes a whole block.
///
/// # Safety
/// That of [`transpose`]; the processor has AVX2 where `WIDE`.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn block<const N: usize, const M: usize, const WIDE: bool>(from: Rows, to: Rows) {
    let side = LINE / N;
    let mut buffer = Buffer([MaybeUninit::uninit(); LINE * LINE]);
    let lines = Rows { first: buffer.0.as_mut_ptr().cast::<u8>(), step: LINE as isize };
    for column in (0..side).step_by(M) {
        for row in (0..side).step_by(if WIDE { 2 * M } else { M }) {
            let (from, to) = (from.at(row, column * N), lines.at(column, row * N));
            // SAFETY: the caller's promise; the buffer has a line for each column.
            unsafe { if WIDE { squares::<N, M>(from, to) } else { square::<N, M>(from, to) } }
        }
    }
    for column in 0..side {
        // SAFETY: the caller's promise; the squares above have filled the buffer's lines.
        unsafe { lines.row(column).copy_to_nonoverlapping(to.row(column), LINE) };
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
use x86::{square, squares};

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86 {
    use std::arch::x86_64::{
        __m128i, __m256i, _mm_loadu_si128, _mm_storeu_si128, _mm_unpackhi_epi8, _mm_unpackhi_epi16,
        _mm_unpackhi_epi32, _mm_unpackhi_epi64, _mm_unpacklo_epi8, _mm_unpacklo_epi16,
        _mm_unpacklo_epi32, _mm_unpacklo_epi64, _mm256_loadu2_m128i, _mm256_storeu_si256,
        _mm256_unpackhi_epi8, _mm256_unpackhi_epi16, _mm256_unpackhi_epi32, _mm256_unpackhi_epi64,
        _mm256_unpacklo_epi8, _mm256_unpacklo_epi16, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64,
    };
    use std::array::from_fn;

    use super::Rows;

    /// Transposes `M` rows of `M` elements of `N` bytes.
    ///
    /// # Safety
    /// That of [`transpose`](super::transpose).
    #[allow(unsafe_code)]
    #[inline(always)]
    pub(super) unsafe fn square<const N: usize, const M: usize>(from: Rows, to: Rows) {
        // SAFETY: the caller's promise; SSE2 is part of x86_64.
        unsafe {
            let rows: [__m128i; M] = from_fn(|k| _mm_loadu_si128(from.row(k).cast()));
            let columns = transpose_vectors(rows, |a, b, upper| match (N, upper) {
                (1, false) => _mm_unpacklo_epi8(a, b),
                (1, true) => _mm_unpackhi_epi8(a, b),
                (2, false) => _mm_unpacklo_epi16(a, b),
                (2, true) => _mm_unpackhi_epi16(a, b),
                (4, false) => _mm_unpacklo_epi32(a, b),
                (4, true) => _mm_unpackhi_epi32(a, b),
                (_, false) => _mm_unpacklo_epi64(a, b),
                (_, true) => _mm_unpackhi_epi64(a, b),
            });
            for k in 0..M {
                _mm_storeu_si128(to.row(k).cast(), columns[k]);
            }
        }
    }

    /// Transposes two squares, the second below the first.
    ///
    /// # Safety
    /// That of [`transpose`](super::transpose); the processor has AVX2.
    #[allow(unsafe_code)]
    #[inline(always)]
    pub(super) unsafe fn squares<const N: usize, const M: usize>(from: Rows, to: Rows) {
        // SAFETY: the caller's promise.
        unsafe {
            let rows: [__m256i; M] =
                from_fn(|k| _mm256_loadu2_m128i(from.row(k + M).cast(), from.row(k).cast()));
            let columns = transpose_vectors(rows, |a, b, upper| match (N, upper) {
                (1, false) => _mm256_unpacklo_epi8(a, b),
                (1, true) => _mm256_unpackhi_epi8(a, b),
                (2, false) => _mm256_unpacklo_epi16(a, b),
                (2, true) => _mm256_unpackhi_epi16(a, b),
                (4, false) => _mm256_unpacklo_epi32(a, b),
                (4, true) => _mm256_unpackhi_epi32(a, b),
                (_, false) => _mm256_unpacklo_epi64(a, b),
                (_, true) => _mm256_unpackhi_epi64(a, b),
            });
            for k in 0..M {
                _mm256_storeu_si256(to.row(k).cast(), columns[k]);
            }
        }
    }

    /// Transposes a square of `M` vectors of `M` elements, in `log2(M)` passes. `interleave`
    /// alternates the elements of the lower or of the upper halves of two vectors (x86 `unpack`).
    ///
    /// A pass interleaves rows 0 and `M / 2`, then 1 and `M / 2 + 1`, and so on, like a riffle of
    /// cards. It rotates the bits of `row * M + column`, an element's position, left by one; after
    /// `log2(M)` passes, the bits of row and column have changed places.
    #[inline(always)]
    fn transpose_vectors<V: Copy, const M: usize>(
        mut square: [V; M],
        interleave: impl Fn(V, V, bool) -> V,
    ) -> [V; M] {
        let mut width = 1;
        while width < M {
            square = from_fn(|k| interleave(square[k / 2], square[k / 2 + M / 2], k % 2 == 1));
            width *= 2;
        }
        square
    }
}

/// Transposes `M` rows of `M` elements of `N` bytes.
///
/// # Safety
/// That of [`transpose`].
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn square<const N: usize, const M: usize>(from: Rows, to: Rows) {
    // SAFETY: the caller's promise.
    unsafe { one_by_one::<N>(from, to, M, M) };
}

/// Transposes two squares, the second below the first.
///
/// # Safety
/// That of [`transpose`].
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn squares<const N: usize, const M: usize>(from: Rows, to: Rows) {
    // SAFETY: the caller's promise.
    unsafe { one_by_one::<N>(from, to, 2 * M, M) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every element arrives, and nothing else is written, for all lengths of sides and alignments
    /// within cache lines.
    #[test]
    #[allow(unsafe_code)]
    fn elements_arrive() {
        check::<1, 16>();
        check::<2, 8>();
        check::<4, 4>();
        check::<8, 2>();
        check::<16, 1>();
    }

    #[allow(unsafe_code)]
    fn check<const N: usize, const M: usize>() {
        let side = LINE / N;
        let lens = [1, M.max(2) - 1, M + 1, side, side + M + 1, 2 * side + 3];
        for (k, rows) in lens.into_iter().enumerate() {
            for columns in lens {
                let pad = (columns + rows) % 3 * N + k;
                let aligned = |len: usize| (len * N + pad).next_multiple_of(LINE);
                let (row, line) = (aligned(columns), rows * N + pad);
                let source: Vec<u8> = (0..rows * row + LINE).map(|b| (b * 7 % 251) as u8).collect();
                let mut result = vec![255; columns * line + LINE];
                let (at, to) = (pad, LINE - pad % LINE - 1);
                // SAFETY: `source` from `at` on and `result` from `to` on hold all rows.
                unsafe {
                    let from = Rows { first: source[at..].as_ptr().cast_mut(), step: row as isize };
                    let to = Rows { first: result[to..].as_mut_ptr(), step: line as isize };
                    transpose::<N, M>(from, to, rows, columns);
                }
                let mut expected = vec![255; result.len()];
                for r in 0..rows {
                    for c in 0..columns {
                        let from = &source[at + r * row + c * N..][..N];
                        expected[to + c * line + r * N..][..N].copy_from_slice(from);
                    }
                }
                assert_eq!(result, expected, "{rows} rows of {columns} elements of {N} bytes");
            }
        }
    }
}
