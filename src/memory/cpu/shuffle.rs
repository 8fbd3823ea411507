//! Rearranges the bytes of short rows, sixteen at a time.
//!
//! Where short rows follow each other and each is rearranged in the same way
//! (the channels of a picture swapped, a short last axis rolled), every vector
//! of the result takes its bytes from at most two vectors of the source, and
//! the pattern repeats after a few rows. It is worked out once: for each vector
//! of a repetition, where the two loads are and which of their bytes go where.

use crate::threshold::threshold;
use smallvec::SmallVec;

/// Bytes of a vector.
const VECTOR: usize = 16;

/// Longer rows gain little over being copied in blocks.
const LONGEST: usize = 64;

/// Rows below which working out the pattern costs more than it saves.
pub(in crate::memory) const FEWEST: usize = threshold(256, 8);

/// A vector of the result: two places in the source, and for each byte of the
/// result which byte of what is loaded there it is, if any.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(
    not(all(
        any(target_arch = "x86_64", all(target_arch = "aarch64", target_feature = "neon")),
        not(miri)
    )),
    allow(dead_code)
)]
struct Step {
    loads: [(usize, [u8; VECTOR]); 2],
}

/// In a mask, a byte that comes from the other load.
const ELSEWHERE: u8 = 0x80;

/// The pattern by which rows are rearranged.
#[derive(Debug)]
pub(in crate::memory) struct Pattern {
    steps: SmallVec<[Step; 4]>,
    /// Rows in a repetition, and bytes of a row in the source.
    rows: usize,
    source_row: usize,
}

impl Pattern {
    /// The pattern that fills byte `b` of a row of `row` bytes from byte
    /// `from(b)` of a row of `source_row` bytes, if there is one for this
    /// processor.
    pub(in crate::memory) fn new(
        row: usize,
        source_row: usize,
        from: impl Fn(usize) -> usize,
    ) -> Option<Self> {
        if !(1..=LONGEST).contains(&row) || source_row > LONGEST || !supported() {
            return None;
        }
        let source = |byte: usize| byte / row * source_row + from(byte % row);
        let vectors = row / gcd(row, VECTOR);
        let steps = (0..vectors).map(|vector| Step::new(|b| source(vector * VECTOR + b)));
        let steps = steps.collect::<Option<_>>()?;
        Some(Pattern { steps, rows: vectors * VECTOR / row, source_row })
    }

    /// Fills as many rows of the result as whole repetitions allow without
    /// reading past the source, and returns how many.
    ///
    /// # Safety
    /// `rows` rows of initialised bytes can be read from `from`, as many be
    /// written to `to`, and the two do not overlap. The bytes that the pattern
    /// asks for lie in their row.
    #[allow(unsafe_code)]
    pub(in crate::memory) unsafe fn run(&self, from: *const u8, to: *mut u8, rows: usize) -> usize {
        // A load reaches at most a vector past the first byte it is for.
        let spare = VECTOR.div_ceil(self.source_row);
        let repetitions = rows.saturating_sub(spare) / self.rows;
        // SAFETY: the caller's promise; every load of these repetitions begins
        // within their rows and ends within the rows to spare. `new` has asked
        // the processor for the instructions.
        unsafe { shuffle(&self.steps, from, self.rows * self.source_row, to, repetitions) };
        repetitions * self.rows
    }
}

impl Step {
    /// The step that loads `source(b)` for each byte `b` of a vector, if two
    /// loads have them all.
    fn new(source: impl Fn(usize) -> usize) -> Option<Self> {
        let bytes: [usize; VECTOR] = std::array::from_fn(source);
        let low = bytes.into_iter().fold(usize::MAX, usize::min);
        let far = bytes.into_iter().filter(|byte| byte - low >= VECTOR);
        let second = far.clone().fold(usize::MAX, usize::min);
        let mut loads = [(low, [ELSEWHERE; VECTOR]), (low, [ELSEWHERE; VECTOR])];
        if far.clone().next().is_some() {
            loads[1].0 = second;
        }
        for (b, byte) in bytes.into_iter().enumerate() {
            let load = &mut loads[usize::from(byte - low >= VECTOR)];
            let at = byte - load.0;
            if at >= VECTOR {
                return None;
            }
            load.1[b] = at as u8;
        }
        Some(Step { loads })
    }
}

pub(in crate::memory) fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
fn supported() -> bool {
    std::arch::is_x86_feature_detected!("ssse3")
}

/// Table look-ups are part of every such processor.
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

/// # Safety
/// For every repetition, the loads of all steps can be read and a vector for
/// each step be written; this processor is `supported`.
#[allow(unsafe_code)]
#[cfg_attr(all(target_arch = "x86_64", not(miri)), target_feature(enable = "ssse3"))]
unsafe fn shuffle(
    steps: &[Step],
    from: *const u8,
    repetition: usize,
    to: *mut u8,
    repetitions: usize,
) {
    for iteration in 0..repetitions {
        // SAFETY: the caller's promise.
        unsafe {
            let from = from.add(iteration * repetition);
            let to = to.add(iteration * steps.len() * VECTOR);
            for (k, step) in steps.iter().enumerate() {
                arrange(step, from, to.add(k * VECTOR));
            }
        }
    }
}

/// # Safety
/// The loads of the step can be read and a vector be written; the processor has
/// SSSE3.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code)]
#[target_feature(enable = "ssse3")]
#[inline]
unsafe fn arrange(step: &Step, from: *const u8, to: *mut u8) {
    use std::arch::x86_64::{_mm_loadu_si128, _mm_or_si128, _mm_shuffle_epi8, _mm_storeu_si128};

    // SAFETY: the caller's promise; a mask is a vector of 16 bytes.
    unsafe {
        let [first, second] = step.loads.map(|(offset, mask)| {
            let bytes = _mm_loadu_si128(from.add(offset).cast());
            _mm_shuffle_epi8(bytes, _mm_loadu_si128(mask.as_ptr().cast()))
        });
        _mm_storeu_si128(to.cast(), _mm_or_si128(first, second));
    }
}

/// # Safety
/// The loads of the step can be read and a vector be written.
#[cfg(all(target_arch = "aarch64", target_feature = "neon", not(miri)))]
#[allow(unsafe_code)]
#[inline]
unsafe fn arrange(step: &Step, from: *const u8, to: *mut u8) {
    use std::arch::aarch64::{vld1q_u8, vorrq_u8, vqtbl1q_u8, vst1q_u8};

    // SAFETY: the caller's promise; a mask is a vector of 16 bytes. What a table does
    // not have is 0.
    unsafe {
        let [first, second] = step
            .loads
            .map(|(offset, mask)| vqtbl1q_u8(vld1q_u8(from.add(offset)), vld1q_u8(mask.as_ptr())));
        vst1q_u8(to, vorrq_u8(first, second));
    }
}

/// Never called: nothing is `supported`.
///
/// # Safety
/// None is needed.
#[cfg(not(all(
    any(target_arch = "x86_64", all(target_arch = "aarch64", target_feature = "neon")),
    not(miri)
)))]
#[allow(unsafe_code)]
unsafe fn arrange(_: &Step, _: *const u8, _: *mut u8) {}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
mod tests {
    use super::*;

    /// Every pattern does what its map says, and most short rows have one.
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
