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
            fill(lane.iter().copied(), axis_len, mode, buffer)
        } else {
            let lane = (0..count).map(|k| *indices.offset(k as isize * stride));
            fill(lane, axis_len, mode, buffer)
        }
    }
}

#[inline(always)]
fn fill<I: IndexInteger>(
    indices: impl ExactSizeIterator<Item = I>,
    axis_len: usize,
    mode: Mode,
    buffer: &mut Buffer,
) -> Option<Positions<'_>> {
    let count = indices.len();
    let buffer = &mut buffer[..count];
    let slots = buffer.iter_mut().zip(indices);
    let mut everywhere = true;
    match mode {
        Mode::Refuse | Mode::Nowhere => {
            for (slot, index) in slots {
                let position = index.position(axis_len);
                let inside = position < axis_len as u64;
                everywhere &= inside;
                slot.write(if inside { position as usize } else { NOWHERE });
            }
            if !everywhere && mode == Mode::Refuse {
                return None;
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
