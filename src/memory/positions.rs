//! Indices turned into positions along an axis, checked where they are made.

use std::mem::MaybeUninit;

use crate::args::IndexInteger;

/// How many positions are made at once: little enough to stay in the first
/// cache beside the rows they select, enough to hide the cost of the loops
/// around.
pub(crate) const CHUNK: usize = 1024;

/// Stands for an index that selects nothing.
pub(super) const NOWHERE: usize = usize::MAX;

/// Room for the positions of one chunk.
pub(super) type Buffer = [MaybeUninit<usize>; CHUNK];

/// What an index out of bounds turns into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The end of the operation.
    Refuse,
    /// [`NOWHERE`]: a fill, or an update that is dropped.
    Nowhere,
    /// The nearest end.
    Clip,
    /// The remainder.
    Wrap,
}

/// Positions along an axis.
///
/// Invariant C1: each is less than the `axis_len` that [`resolve`] was called
/// with, or it is [`NOWHERE`], and then `everywhere` is false.
#[derive(Debug, Clone, Copy)]
pub(super) struct Positions<'b> {
    pub(super) list: &'b [usize],
    pub(super) everywhere: bool,
}

/// The positions that `count` indices select along an axis of `axis_len`;
/// `None` where one is out of bounds and the mode refuses it.
///
/// # Safety
/// `indices + k * stride` points to a readable index for all `k < count`.
#[allow(unsafe_code)]
#[inline]
pub(super) unsafe fn resolve<I: IndexInteger>(
    indices: *const I,
    stride: isize,
    count: usize,
    axis_len: usize,
    mode: Mode,
    buffer: &mut Buffer,
) -> Option<Positions<'_>> {
    // SAFETY: the caller's promise.
    unsafe {
        if stride == 1 {
            let lane = std::slice::from_raw_parts(indices, count);
            fill_from_slice(lane, axis_len, mode, buffer)
        } else {
            let lane = (0..count).map(|k| *indices.offset(k as isize * stride));
            fill(lane, axis_len, mode, buffer)
        }
    }
}

/// Writes the positions of indices to the buffer.
#[inline(always)]
fn fill<I: IndexInteger>(
    indices: impl ExactSizeIterator<Item = I>,
    axis_len: usize,
    mode: Mode,
    buffer: &mut Buffer,
) -> Option<Positions<'_>> {
    let buffer = &mut buffer[..indices.len()];
    let slots = buffer.iter_mut().zip(indices);
    let mut everywhere = true;
    match mode {
        Mode::Refuse => {
            // Nothing but an addition, a comparison and a store: the compiler
            // does several at a time.
            let mut outside = false;
            for (slot, index) in slots {
                let position = index.position(axis_len);
                outside |= position >= axis_len as u64;
                slot.write(position as usize);
            }
            if outside {
                return None;
            }
        }
        Mode::Nowhere => {
            for (slot, index) in slots {
                let position = index.position(axis_len);
                let inside = position < axis_len as u64;
                everywhere &= inside;
                slot.write(if inside { position as usize } else { NOWHERE });
            }
        }
        Mode::Clip => slots.for_each(|(slot, index)| {
            slot.write(index.clip(axis_len).min(axis_len - 1));
        }),
        Mode::Wrap => slots.for_each(|(slot, index)| {
            let position = index.position(axis_len);
            let inside = position < axis_len as u64;
            slot.write(if inside { position as usize } else { index.wrap(axis_len) % axis_len });
        }),
    }
    Some(Positions { list: initialised(buffer), everywhere })
}

#[allow(unsafe_code)]
fn initialised(buffer: &[MaybeUninit<usize>]) -> &[usize] {
    // SAFETY: the one caller has just written every slot.
    unsafe { &*(std::ptr::from_ref(buffer) as *const [usize]) }
}

/// [`fill`] from indices that follow each other, with the widest instructions
/// that the processor has for it.
#[inline]
fn fill_from_slice<'b, I: IndexInteger>(
    indices: &[I],
    axis_len: usize,
    mode: Mode,
    buffer: &'b mut Buffer,
) -> Option<Positions<'b>> {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if mode == Mode::Refuse && indices.len() >= 64 && std::arch::is_x86_feature_detected!("avx2") {
        return fill_avx2(indices, axis_len, buffer);
    }
    fill(indices.iter().copied(), axis_len, mode, buffer)
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code)]
fn fill_avx2<'b, I: IndexInteger>(
    indices: &[I],
    axis_len: usize,
    buffer: &'b mut Buffer,
) -> Option<Positions<'b>> {
    #[target_feature(enable = "avx2")]
    fn fill_wide<'b, I: IndexInteger>(
        indices: &[I],
        axis_len: usize,
        buffer: &'b mut Buffer,
    ) -> Option<Positions<'b>> {
        fill(indices.iter().copied(), axis_len, Mode::Refuse, buffer)
    }
    // SAFETY: the caller has asked the processor for AVX2.
    unsafe { fill_wide(indices, axis_len, buffer) }
}

/// Whether all indices are within an axis of this length.
pub(crate) fn all_inside<I: IndexInteger>(indices: &[I], axis_len: usize) -> bool {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if indices.len() >= 64 && std::arch::is_x86_feature_detected!("avx2") {
        return all_inside_avx2(indices, axis_len);
    }
    all_inside_by_blocks(indices, axis_len)
}

/// Looks at a block without a branch, then decides.
#[inline(always)]
fn all_inside_by_blocks<I: IndexInteger>(indices: &[I], axis_len: usize) -> bool {
    indices.chunks(CHUNK).all(|block| {
        let outside = |index: &I| !index.is_inside(axis_len);
        !block.iter().fold(false, |any, index| any | outside(index))
    })
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code)]
fn all_inside_avx2<I: IndexInteger>(indices: &[I], axis_len: usize) -> bool {
    #[target_feature(enable = "avx2")]
    fn wide<I: IndexInteger>(indices: &[I], axis_len: usize) -> bool {
        all_inside_by_blocks(indices, axis_len)
    }
    // SAFETY: the caller has asked the processor for AVX2.
    unsafe { wide(indices, axis_len) }
}
