//! Permutes the bytes of short rows by vector shuffles (SSSE3 `pshufb`, NEON `tbl`), 16 at a time.
//!
//! Where short rows are contiguous and all are permuted in the same way (swapped channels of an
//! image, a rolled short last axis), the bytes of each vector of the result come from at most two
//! vectors of the source, and the pattern repeats after a few rows. It is computed once: for each
//! result vector of a repetition, the offsets of its two loads and the shuffle masks.

use smallvec::SmallVec;

use crate::memory::alloc::reserved;
use crate::threshold::threshold;

/// Size of a vector in bytes.
const VECTOR: usize = 16;

/// The size in bytes of the longest row that is shuffled: with longer rows, the gain over copying
/// in blocks is small.
const MAX_ROW: usize = 64;

/// The most result vectors in a repetition: their masks stay in L1 beside the data.
const MAX_VECTORS: usize = 64;

/// The least number of rows for which computing a pattern saves more than it costs.
pub(in crate::memory) const MIN_SHUFFLED_ROWS: usize = threshold(256, 8);

/// How to make one vector of the result: two loads, each an offset in bytes in the source and a
/// shuffle mask. The mask has, for each byte of the result, the index of its byte in the loaded
/// vector, or [`ZEROED`]; the two shuffled vectors are combined by "or".
#[derive(Debug, Clone, Copy)]
#[cfg_attr(
    not(all(
        any(target_arch = "x86_64", all(target_arch = "aarch64", target_feature = "neon")),
        not(miri)
    )),
    allow(dead_code)
)]
struct VectorShuffle {
    loads: [(usize, [u8; VECTOR]); 2],
}

/// The mask of a byte that the other load provides: the shuffle makes it 0.
const ZEROED: u8 = 0x80;

/// A pattern by which the bytes of all rows are permuted.
#[derive(Debug)]
pub(in crate::memory) struct Pattern {
    /// The result vectors of one repetition.
    vectors: SmallVec<[VectorShuffle; 4]>,
    /// Number of rows in a repetition.
    rows: usize,
    /// Size of a row in the source, in bytes.
    source_row: usize,
    /// Whether every vector needs but its first load, as where rows are repeated.
    one_load: bool,
}

impl Pattern {
    /// The pattern that makes byte `b` of each result row, of `row` bytes, a copy of byte `from(b)`
    /// of the source row, of `source_row` bytes. `None` if two loads do not suffice for a vector,
    /// if rows are too long, if the processor lacks the instructions, or if memory is refused.
    pub(in crate::memory) fn new(
        row: usize,
        source_row: usize,
        from: impl Fn(usize) -> usize,
    ) -> Option<Self> {
        let short = (1..=MAX_ROW).contains(&row) && source_row <= MAX_ROW;
        if short { Self::of_any_length(row, source_row, from) } else { None }
    }

    /// The same of rows of any length, as long as repetitions are short. What copies them by less
    /// than a vector at a time gains whatever their length.
    pub(in crate::memory) fn of_any_length(
        row: usize,
        source_row: usize,
        from: impl Fn(usize) -> usize,
    ) -> Option<Self> {
        let count = row / gcd(row, VECTOR);
        if !(1..=MAX_VECTORS).contains(&count) || !supported() {
            return None;
        }
        let source = |byte: usize| byte / row * source_row + from(byte % row);
        let mut vectors = SmallVec::<[VectorShuffle; 4]>::new();
        if count > vectors.inline_size() {
            // Rows are copied without a pattern where memory for it is refused.
            vectors = SmallVec::from_vec(reserved(count).ok()?);
        }
        for k in 0..count {
            vectors.push(VectorShuffle::new(|b| source(k * VECTOR + b))?);
        }
        let one_load = vectors.iter().all(|vector| vector.loads[1].1 == [ZEROED; VECTOR]);
        Some(Pattern { vectors, rows: count * VECTOR / row, source_row, one_load })
    }

    /// Writes the first result rows, as many as whole repetitions fill without reading past the end
    /// of the source, and returns their number.
    ///
    /// # Safety
    /// `rows` rows of initialised bytes can be read from `from`, as many be written to `to`, and
    /// the two do not overlap. The pattern copies bytes from within the row: `from(b)` in
    /// [`new`](Self::new) is less than `source_row` for each `b`.
    #[allow(unsafe_code)]
    pub(in crate::memory) unsafe fn run(&self, from: *const u8, to: *mut u8, rows: usize) -> usize {
        // The number of rows after a repetition into which its loads may reach: a load begins at a
        // byte of the repetition and reads a vector.
        let spare = VECTOR.div_ceil(self.source_row);
        let repetitions = rows.saturating_sub(spare) / self.rows;
        // SAFETY: the caller's promise; every load of these repetitions begins within their rows
        // and ends within the `spare` rows after them. `new` has checked that the processor has
        // the instructions (`supported`).
        unsafe {
            let repetition = self.rows * self.source_row;
            if self.one_load {
                shuffle::<1>(&self.vectors, from, repetition, to, repetitions);
            } else {
                shuffle::<2>(&self.vectors, from, repetition, to, repetitions);
            }
        }
        repetitions * self.rows
    }
}

impl VectorShuffle {
    /// The shuffle that makes byte `b` of a vector a copy of byte `source(b)` of the source, if two
    /// loads contain all of them.
    fn new(source: impl Fn(usize) -> usize) -> Option<Self> {
        let bytes: [usize; VECTOR] = std::array::from_fn(source);
        let low = bytes.into_iter().fold(usize::MAX, usize::min);
        let far = bytes.into_iter().filter(|byte| byte - low >= VECTOR);
        let mut loads = [low, far.min().unwrap_or(low)].map(|first| (first, [ZEROED; VECTOR]));
        for (b, byte) in bytes.into_iter().enumerate() {
            let load = &mut loads[usize::from(byte - low >= VECTOR)];
            let index = byte - load.0;
            if index >= VECTOR {
                return None;
            }
            load.1[b] = index as u8;
        }
        Some(VectorShuffle { loads })
    }
}

/// The greatest common divisor.
pub(in crate::memory) fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Whether the processor has the instructions of [`shuffle_vector`].
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn supported() -> bool {
    std::arch::is_x86_feature_detected!("ssse3")
}

/// Whether the processor has the instructions of [`shuffle_vector`]: `tbl` is part of NEON.
#[cfg(all(target_arch = "aarch64", target_feature = "neon", not(miri)))]
fn supported() -> bool {
    true
}

#[cfg(not(all(
    any(target_arch = "x86_64", all(target_arch = "aarch64", target_feature = "neon")),
    not(miri)
)))]
fn supported() -> bool {
    false
}

/// Makes the result vectors of `repetitions` repetitions, each `repetition` bytes of the source, by
/// `LOADS` loads for each.
///
/// # Safety
/// For every repetition, the loads of all `vectors` can be read and each result vector be written;
/// this processor is [`supported`].
#[allow(unsafe_code)]
#[cfg_attr(all(target_arch = "x86_64", not(miri)), target_feature(enable = "ssse3"))]
unsafe fn shuffle<const LOADS: usize>(
    vectors: &[VectorShuffle],
    from: *const u8,
    repetition: usize,
    to: *mut u8,
    repetitions: usize,
) {
    if let [vector] = vectors {
        for iteration in 0..repetitions {
            // SAFETY: the caller's promise.
            unsafe {
                let to = to.add(iteration * VECTOR);
                shuffle_vector::<LOADS>(vector, from.add(iteration * repetition), to);
            }
        }
        return;
    }
    for iteration in 0..repetitions {
        // SAFETY: the caller's promise.
        unsafe {
            let from = from.add(iteration * repetition);
            let to = to.add(iteration * vectors.len() * VECTOR);
            for (k, vector) in vectors.iter().enumerate() {
                shuffle_vector::<LOADS>(vector, from, to.add(k * VECTOR));
            }
        }
    }
}

/// Makes one result vector.
///
/// # Safety
/// The loads of `vector` can be read at their offsets from `from`, and a vector be written to `to`;
/// the processor has SSSE3.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code)]
#[target_feature(enable = "ssse3")]
#[inline]
unsafe fn shuffle_vector<const LOADS: usize>(vector: &VectorShuffle, from: *const u8, to: *mut u8) {
    use std::arch::x86_64::{_mm_loadu_si128, _mm_or_si128, _mm_shuffle_epi8, _mm_storeu_si128};

    // SAFETY: the caller's promise; a mask is a vector of 16 bytes.
    unsafe {
        let load = |(offset, mask): (usize, [u8; VECTOR])| {
            let bytes = _mm_loadu_si128(from.add(offset).cast());
            _mm_shuffle_epi8(bytes, _mm_loadu_si128(mask.as_ptr().cast()))
        };
        let mut result = load(vector.loads[0]);
        if LOADS > 1 {
            result = _mm_or_si128(result, load(vector.loads[1]));
        }
        _mm_storeu_si128(to.cast(), result);
    }
}

/// Makes one result vector.
///
/// # Safety
/// The loads of `vector` can be read at their offsets from `from`, and a vector be written to `to`.
#[cfg(all(target_arch = "aarch64", target_feature = "neon", not(miri)))]
#[allow(unsafe_code)]
#[inline]
unsafe fn shuffle_vector<const LOADS: usize>(vector: &VectorShuffle, from: *const u8, to: *mut u8) {
    use std::arch::aarch64::{vld1q_u8, vorrq_u8, vqtbl1q_u8, vst1q_u8};

    // SAFETY: the caller's promise; a mask is a vector of 16 bytes. `tbl` makes 0 of an index that
    // is out of bounds, as `ZEROED` is.
    unsafe {
        let load = |(offset, mask): (usize, [u8; VECTOR])| {
            vqtbl1q_u8(vld1q_u8(from.add(offset)), vld1q_u8(mask.as_ptr()))
        };
        let mut result = load(vector.loads[0]);
        if LOADS > 1 {
            result = vorrq_u8(result, load(vector.loads[1]));
        }
        vst1q_u8(to, result);
    }
}

/// Never called: [`supported`] is false.
///
/// # Safety
/// None is needed.
#[cfg(not(all(
    any(target_arch = "x86_64", all(target_arch = "aarch64", target_feature = "neon")),
    not(miri)
)))]
#[allow(unsafe_code)]
unsafe fn shuffle_vector<const LOADS: usize>(_: &VectorShuffle, _: *const u8, _: *mut u8) {}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
mod tests {
    use super::*;

    /// Every pattern copies the bytes that its map names, and most short rows have a pattern.
    #[test]
    #[allow(unsafe_code)]
    fn patterns_follow_their_maps() {
        let mut found = 0;
        for row in 1..=24_usize {
            for source_row in [row, 4, 7] {
                let map = |byte: usize| (byte * 5 + 3) % source_row;
                let Some(pattern) = Pattern::new(row, source_row, map) else {
                    continue;
                };
                found += 1;
                let rows = 100;
                let source: Vec<u8> = (0..rows * source_row).map(|byte| byte as u8).collect();
                let mut result = vec![0xff; rows * row];
                // SAFETY: both hold `rows` rows.
                let done = unsafe { pattern.run(source.as_ptr(), result.as_mut_ptr(), rows) };
                assert!(done > 0 && done <= rows);
                for byte in 0..done * row {
                    assert_eq!(result[byte], source[byte / row * source_row + map(byte % row)]);
                }
                assert!(result[done * row..].iter().all(|&byte| byte == 0xff));
            }
        }
        assert!(found > 30, "{found}");
    }
}
