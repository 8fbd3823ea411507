//! Matrices transposed on their way from one array to another, block by block.
//!
//! A block is as long along each side as a cache line, so that each line of
//! either array is touched once. It is put together in the first cache and
//! written line by line: rows are often as far apart as the places of a cache
//! repeat, and lines written piece by piece would push each other out.

use std::mem::MaybeUninit;
use std::ops::Range;

/// Bytes of a cache line.
pub(in crate::memory) const LINE: usize = 64;

/// Whether a matrix of elements of so many bytes that lie `step` bytes apart in its rows is
/// worth being transposed block by block, as it is `copied` or of rows that are selected.
/// Where elements do not follow each other, bytes take as long to be put together first as
/// they would to be copied one by one, and so do large elements.
pub(in crate::memory) fn transposes(size: usize, step: usize, copied: bool) -> bool {
    match size {
        2 | 4 => step != 0 && step < LINE,
        8 => step == size || (!copied && step != 0 && step < LINE),
        1 | 16 => step == size,
        _ => false,
    }
}

/// Rows of bytes that are dense and lie so many bytes apart.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) struct Rows<P> {
    pub(in crate::memory) first: P,
    pub(in crate::memory) step: isize,
}

/// Rows that are read, and rows that are written.
type Source = Rows<*const u8>;
type Target = Rows<*mut u8>;

impl Source {
    #[inline(always)]
    pub(in crate::memory) fn row(self, k: usize) -> *const u8 {
        self.first.wrapping_offset(self.step.wrapping_mul(k as isize))
    }

    /// The rows from number `row` and byte `byte` on.
    #[inline(always)]
    fn at(self, row: usize, byte: usize) -> Self {
        Rows { first: self.row(row).wrapping_add(byte), step: self.step }
    }
}

impl Target {
    #[inline(always)]
    pub(in crate::memory) fn row(self, k: usize) -> *mut u8 {
        self.first.wrapping_offset(self.step.wrapping_mul(k as isize))
    }

    /// The rows from number `row` and byte `byte` on.
    #[inline(always)]
    fn at(self, row: usize, byte: usize) -> Self {
        Rows { first: self.row(row).wrapping_add(byte), step: self.step }
    }
}

/// Copies `rows` rows of `columns` elements to as many rows as there are
/// columns. Elements have `N` bytes, and `M` of them 16.
///
/// # Safety
/// The rows of `from` can be read, their bytes are initialised, those of `to`
/// can be written, and the two do not overlap.
#[allow(unsafe_code)]
pub(in crate::memory) unsafe fn transpose<const N: usize, const M: usize>(
    from: Source,
    to: Target,
    rows: usize,
    columns: usize,
) {
    const { assert!(N * M == 16) };
    if M == 1 {
        // SAFETY: the caller's promise.
        return unsafe { vectors(from, to, rows, columns) };
    }
    if rows.min(columns) < M {
        // SAFETY: the caller's promise.
        return unsafe { elements::<N>(from, to, rows, columns) };
    }
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if let Some(avx2) = super::Avx2::detect() {
        // Inlined all the way down, or the vectors of AVX2 would be passed to
        // functions that do not know it.
        // SAFETY: the caller's promise; the processor has AVX2.
        return avx2.call(
            #[inline(always)]
            || unsafe { matrix::<N, M, true>(from, to, rows, columns) },
        );
    }
    // SAFETY: the caller's promise.
    unsafe { matrix::<N, M, false>(from, to, rows, columns) };
}

/// The same for a matrix that is narrower than a vector.
///
/// # Safety
/// That of [`transpose`].
#[allow(unsafe_code)]
unsafe fn elements<const N: usize>(from: Source, to: Target, rows: usize, columns: usize) {
    let (mut first, mut line) = (from.first, to.first);
    for _ in 0..columns {
        let (mut element, mut place) = (first, line);
        for _ in 0..rows {
            // SAFETY: the caller's promise, for this element.
            unsafe { element.copy_to_nonoverlapping(place, N) };
            element = element.wrapping_offset(from.step);
            place = place.wrapping_add(N);
        }
        first = first.wrapping_add(N);
        line = line.wrapping_offset(to.step);
    }
}

/// The same for elements that fill a vector: line by line of the source, of
/// which there are so few elements that each goes to a row of its own.
///
/// # Safety
/// That of [`transpose`], for elements of 16 bytes.
#[allow(unsafe_code)]
unsafe fn vectors(from: Source, to: Target, rows: usize, columns: usize) {
    const AT_ONCE: usize = LINE / 16;
    let whole = columns - columns % AT_ONCE;
    for column in (0..whole).step_by(AT_ONCE) {
        for row in 0..rows {
            for k in column..column + AT_ONCE {
                // SAFETY: the caller's promise, for this element.
                unsafe {
                    let from = from.row(row).wrapping_add(k * 16);
                    from.copy_to_nonoverlapping(to.row(k).wrapping_add(row * 16), 16);
                }
            }
        }
    }
    let at = whole * 16;
    // SAFETY: the caller's promise, for the columns that are left.
    unsafe { elements::<16>(from.at(0, at), to.at(whole, 0), rows, columns - whole) };
}

/// The same by blocks, and by squares of vectors where no whole block is left;
/// these overlap at the ends.
///
/// # Safety
/// That of [`transpose`]; no side is shorter than `M`, and the processor has
/// AVX2 where `WIDE`.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn matrix<const N: usize, const M: usize, const WIDE: bool>(
    from: Source,
    to: Target,
    rows: usize,
    columns: usize,
) {
    let down = blocks::<N>(to.first, to.step, rows);
    let across = blocks::<N>(from.first, from.step, columns);
    let side = LINE / N;
    // Of the rows that are further apart few at a time, and all along these:
    // each may be in a page of its own.
    let by_columns = to.step.unsigned_abs() >= from.step.unsigned_abs();
    let (outer, inner) = if by_columns { (&across, &down) } else { (&down, &across) };
    for outer in outer.clone().step_by(side) {
        for inner in inner.clone().step_by(side) {
            let (row, column) = if by_columns { (inner, outer) } else { (outer, inner) };
            // SAFETY: the caller's promise, for the rows and columns of the
            // block.
            unsafe {
                block::<N, M, WIDE>(from.at(row, column * N), to.at(column, row * N));
            }
        }
    }
    let squares = |down: Range<usize>, across: Range<usize>| {
        for column in across.step_by(M) {
            let column = column.min(columns - M);
            for row in down.clone().step_by(M) {
                let row = row.min(rows - M);
                // SAFETY: the caller's promise, for the rows and columns of the
                // square.
                unsafe { square::<N, M>(from.at(row, column * N), to.at(column, row * N)) };
            }
        }
    };
    squares(0..down.start, 0..columns);
    squares(down.end..rows, 0..columns);
    squares(down.clone(), 0..across.start);
    squares(down, across.end..columns);
}

/// The whole blocks of one side of a matrix, `len` elements of `N` bytes that
/// are dense from `first` on. Where all rows begin alike in their lines, blocks
/// begin with a line.
fn blocks<const N: usize>(first: *const u8, step: isize, len: usize) -> Range<usize> {
    let alike = step % LINE as isize == 0;
    let before = if alike { first.addr().wrapping_neg() % LINE / N } else { 0 };
    let start = before.min(len);
    start..len - (len - start) % (LINE / N)
}

/// Lines of a block of the smallest elements.
#[repr(C, align(64))]
struct Room([MaybeUninit<u8>; LINE * LINE]);

/// Copies a whole block.
///
/// # Safety
/// That of [`transpose`]; the processor has AVX2 where `WIDE`.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn block<const N: usize, const M: usize, const WIDE: bool>(from: Source, to: Target) {
    let side = LINE / N;
    let mut room = Room([MaybeUninit::uninit(); LINE * LINE]);
    let lines = Rows { first: room.0.as_mut_ptr().cast::<u8>(), step: LINE as isize };
    for column in (0..side).step_by(M) {
        for row in (0..side).step_by(if WIDE { 2 * M } else { M }) {
            let (from, to) = (from.at(row, column * N), lines.at(column, row * N));
            // SAFETY: the caller's promise; the room has a line for each column.
            unsafe { if WIDE { squares::<N, M>(from, to) } else { square::<N, M>(from, to) } }
        }
    }
    for column in 0..side {
        // SAFETY: the caller's promise; the squares have filled these lines.
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

    use super::{Source, Target};

    /// Copies `M` rows of `M` elements of `N` bytes.
    ///
    /// # Safety
    /// That of [`transpose`](super::transpose).
    #[allow(unsafe_code)]
    #[inline(always)]
    pub(super) unsafe fn square<const N: usize, const M: usize>(from: Source, to: Target) {
        // SAFETY: the caller's promise; SSE2 is part of x86_64.
        unsafe {
            let rows: [__m128i; M] = from_fn(|k| _mm_loadu_si128(from.row(k).cast()));
            let columns = iteration(rows, |a, b, upper| match (N, upper) {
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

    /// Copies two squares, the second below the first.
    ///
    /// # Safety
    /// That of [`transpose`](super::transpose); the processor has AVX2.
    #[allow(unsafe_code)]
    #[inline(always)]
    pub(super) unsafe fn squares<const N: usize, const M: usize>(from: Source, to: Target) {
        // SAFETY: the caller's promise.
        unsafe {
            let rows: [__m256i; M] =
                from_fn(|k| _mm256_loadu2_m128i(from.row(k + M).cast(), from.row(k).cast()));
            let columns = iteration(rows, |a, b, upper| match (N, upper) {
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

    /// Transposes a square of `M` vectors. `interleave` takes elements of the
    /// lower or upper halves of two vectors in turn. That of rows 0 and `M / 2`,
    /// then of 1 and `M / 2 + 1`, and so on moves the lowest bit of a row's
    /// number to that of the column's, as a riffle of cards does; after as many
    /// times as numbers have bits, both have changed places.
    #[inline(always)]
    fn iteration<V: Copy, const M: usize>(
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

/// Copies `M` rows of `M` elements of `N` bytes.
///
/// # Safety
/// That of [`transpose`].
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn square<const N: usize, const M: usize>(from: Source, to: Target) {
    // SAFETY: the caller's promise.
    unsafe { elements::<N>(from, to, M, M) };
}

/// Copies two squares, the second below the first.
///
/// # Safety
/// That of [`transpose`].
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn squares<const N: usize, const M: usize>(from: Source, to: Target) {
    // SAFETY: the caller's promise.
    unsafe { elements::<N>(from, to, 2 * M, M) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every element arrives, and nothing else is written, whatever the sides
    /// and the places in their lines.
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
                // SAFETY: both hold so many rows from there on.
                unsafe {
                    let from = Rows { first: source[at..].as_ptr(), step: row as isize };
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
