//! The best plain copy of as many bytes: what no kernel can beat.

use ndarray::Array1;
use rayon::prelude::*;

/// `memcpy`, cut in one piece a thread.
pub(crate) fn memcpy<T: Copy + Send + Sync>(from: &Array1<T>, to: &mut Array1<T>) {
    let (from, to) = slices(from, to);
    let piece = to.len().div_ceil(rayon::current_num_threads()).max(1);
    if to.len() <= piece {
        return to.copy_from_slice(from);
    }
    to.par_chunks_mut(piece)
        .zip(from.par_chunks(piece))
        .for_each(|(to, from)| to.copy_from_slice(from));
}

/// Stores that pass by the caches, where the machine has them.
pub(crate) fn streaming<T: Copy + Send + Sync>(from: &Array1<T>, to: &mut Array1<T>) {
    let (from, to) = slices(from, to);
    let piece = to.len().div_ceil(rayon::current_num_threads()).max(1);
    to.par_chunks_mut(piece).zip(from.par_chunks(piece)).for_each(|(to, from)| stream(from, to));
}

fn slices<'a, T>(from: &'a Array1<T>, to: &'a mut Array1<T>) -> (&'a [T], &'a mut [T]) {
    let slices = from.as_slice().zip(to.as_slice_mut());
    slices.expect("arrays in standard layout")
}

#[cfg(target_arch = "x86_64")]
fn stream<T: Copy>(from: &[T], to: &mut [T]) {
    use std::arch::x86_64::{__m256i, _mm_sfence, _mm256_loadu_si256, _mm256_stream_si256};

    #[target_feature(enable = "avx")]
    fn lines(from: &[__m256i], to: &mut [__m256i]) {
        for (from, to) in from.iter().zip(to) {
            // SAFETY: references to whole vectors, the destination aligned.
            unsafe { _mm256_stream_si256(to, _mm256_loadu_si256(from)) };
        }
        _mm_sfence();
    }
    // SAFETY: the benchmarks copy numbers, which any bits are.
    let (head, body, tail) = unsafe { to.align_to_mut::<__m256i>() };
    let (start, end) = (head.len(), head.len() + body.len() * 32 / size_of::<T>().max(1));
    head.copy_from_slice(&from[..start]);
    tail.copy_from_slice(&from[end..]);
    if is_x86_feature_detected!("avx") {
        let vectors = from[start..end].as_ptr().cast::<__m256i>();
        // SAFETY: as many bytes as `body` holds; loads are unaligned ones, and
        // a slice of vectors is only formed where the alignment allows.
        if vectors.is_aligned() {
            // SAFETY: the vectors are those bytes, and AVX was asked for.
            unsafe { lines(std::slice::from_raw_parts(vectors, body.len()), body) };
            return;
        }
    }
    // SAFETY: the same bytes as elements.
    let body =
        unsafe { std::slice::from_raw_parts_mut(body.as_mut_ptr().cast::<T>(), end - start) };
    body.copy_from_slice(&from[start..end]);
}

#[cfg(not(target_arch = "x86_64"))]
fn stream<T: Copy>(from: &[T], to: &mut [T]) {
    to.copy_from_slice(from);
}
