//! What is done with lanes of indices: a few functions, compiled for each of the
//! integer types.

use std::mem::MaybeUninit;

use super::{CHUNK, Lane, NOWHERE};
use crate::index::{LONGEST, Meaning, Policy};
use crate::memory::buffer::Buffer;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::memory::cpu::{Avx2, known_inside};
use crate::memory::cpu::{is_long, prefetch_ahead};
use crate::memory::walk::Component;
use crate::threshold::threshold;

/// Indices after which those further on are asked for.
const BLOCK: usize = threshold(512, 8);

impl Buffer<'_> {
    /// Adds the offsets of positions along an axis; tells whether all of them
    /// are in bounds.
    #[inline]
    pub(in crate::memory) fn extend_resolved(
        &mut self,
        positions: &[u32],
        component: &Component,
    ) -> bool {
        let write = |slots: &mut [MaybeUninit<isize>]| {
            resolve_slice(positions, component, Policy::Refuse, slots)
        };
        // SAFETY: it writes as many slots as there are positions.
        #[allow(unsafe_code)]
        unsafe {
            self.extend(positions.len(), write)
        }
    }
}

/// Does a lane's work, and returns what it gives: with the widest instructions
/// that the processor has for it, where there is enough to do. A macro, since a
/// closure that is called in two places is compiled apart, without them.
macro_rules! widest {
    ($count:expr, $work:expr) => {{
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if $count >= 64 {
            if let Some(avx2) = Avx2::detect() {
                return avx2.call(|| $work);
            }
        }
        return $work;
    }};
}

/// Writes the offsets that a lane of indices selects, one to every slot, and
/// tells whether all were in bounds, or made so.
///
/// # Safety
/// As many indices of the lane as there are slots are readable values of `I`.
#[allow(unsafe_code)]
pub(super) unsafe fn resolve<I: Meaning>(
    lane: Lane,
    component: &Component,
    policy: Policy,
    offsets: &mut [MaybeUninit<isize>],
) -> bool {
    let (count, size) = (offsets.len(), size_of::<I>() as isize);
    // SAFETY: the caller's promise.
    unsafe {
        if lane.step == size {
            let indices = std::slice::from_raw_parts(lane.start.cast::<I>(), count);
            return resolve_slice(indices, component, policy, offsets);
        }
        if lane.step == 2 * size {
            let indices = (0..count).map(every::<I, 2>(lane.start));
            widest!(count, resolve_each(indices, component, policy, offsets));
        }
        if lane.step == 3 * size {
            let indices = (0..count).map(every::<I, 3>(lane.start));
            widest!(count, resolve_each(indices, component, policy, offsets));
        }
        let start = lane.start.cast::<I>();
        let at = |k: usize| *start.wrapping_byte_offset(k as isize * lane.step);
        resolve_each((0..count).map(at), component, policy, offsets)
    }
}

/// [`resolve_each`] from indices that follow each other.
#[inline]
fn resolve_slice<I: Meaning>(
    indices: &[I],
    component: &Component,
    policy: Policy,
    offsets: &mut [MaybeUninit<isize>],
) -> bool {
    widest!(indices.len(), resolve_each(indices.iter().copied(), component, policy, offsets));
}

/// Reads one of `N` indices that follow each other, such as the first of each
/// pair. `N` is a constant, so that the compiler loads several at a time.
///
/// # Safety
/// The function is called with numbers of indices that can be read.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn every<I: Meaning, const N: usize>(start: *const u8) -> impl Fn(usize) -> I + Copy {
    let start = start.cast::<I>();
    // SAFETY: the caller's promise.
    move |k| unsafe { *start.wrapping_add(k * N) }
}

#[inline(always)]
fn resolve_each<I: Meaning>(
    indices: impl Iterator<Item = I> + Clone,
    component: &Component,
    policy: Policy,
    offsets: &mut [MaybeUninit<isize>],
) -> bool {
    // Steps are mostly powers of two, and to shift takes less than to multiply.
    // Less than `len`, a position fits, and so does the offset of an element.
    let Component { len, step, .. } = *component;
    if step.count_ones() == 1 {
        let shift = step.trailing_zeros();
        let offset = |position: u64| (position << shift) as isize;
        return resolve_to(indices, len, policy, offsets, offset);
    }
    resolve_to(indices, len, policy, offsets, |position| (position as isize).wrapping_mul(step))
}

/// A number that is negative where a position is not one of an axis of `len`.
#[inline(always)]
fn beyond(position: u64, len: usize) -> i64 {
    position as i64 | (len as i64 - 1).wrapping_sub(position as i64)
}

#[inline(always)]
fn resolve_to<I: Meaning>(
    indices: impl Iterator<Item = I> + Clone,
    len: usize,
    policy: Policy,
    offsets: &mut [MaybeUninit<isize>],
    offset: impl Fn(u64) -> isize,
) -> bool {
    let slots = offsets.iter_mut().zip(indices.clone());
    if policy == Policy::Clip {
        slots.for_each(|(slot, index)| {
            slot.write(offset(index.clip(len).min(len - 1) as u64));
        });
        return true;
    }
    // Mostly none is negative; then each is the position that it means.
    let mut bits = 0;
    slots.for_each(|(slot, index)| {
        let position = index.value() as u64;
        bits |= beyond(position, len);
        slot.write(offset(position));
    });
    if bits >= 0 {
        return true;
    }
    // Negative where a position was out of bounds.
    let mut bits = 0;
    offsets.iter_mut().zip(indices.clone()).for_each(|(slot, index)| {
        let position = index.position(len);
        let outside = beyond(position, len);
        bits |= outside;
        slot.write(if outside < 0 { NOWHERE } else { offset(position) });
    });
    if bits < 0 && policy == Policy::Wrap {
        // Divisions are for those alone that are out of bounds.
        offsets.iter_mut().zip(indices).for_each(|(slot, index)| {
            let position = index.position(len);
            let inside = position < len as u64;
            let position = if inside { position } else { index.wrap(len).min(len - 1) as u64 };
            slot.write(offset(position));
        });
        return true;
    }
    bits >= 0
}

/// Whether all indices of a lane are within an axis of `len`.
///
/// # Safety
/// They are readable values of `I`.
#[allow(unsafe_code)]
pub(super) unsafe fn all_inside<I: Meaning>(lane: Lane, count: usize, len: usize) -> bool {
    let size = size_of::<I>() as isize;
    let start = lane.start.cast::<I>();
    // SAFETY: the caller's promise.
    unsafe {
        let at = |k: usize| *start.wrapping_byte_offset(k as isize * lane.step);
        if len as u64 > LONGEST {
            // Of elements without a size, or one element that is broadcast.
            return (0..count).all(|k| at(k).position(len) < len as u64);
        }
        if lane.step == size {
            let indices = std::slice::from_raw_parts(start, count);
            if !is_long(size_of_val(indices)) {
                return slice_inside(indices, len);
            }
            return indices.chunks(BLOCK).all(|block| {
                prefetch_ahead(block.as_ptr().cast(), size_of_val(block));
                slice_inside(block, len)
            });
        }
        if lane.step == 2 * size {
            widest!(count, none_outside(count, len, every::<I, 2>(lane.start)));
        }
        if lane.step == 3 * size {
            widest!(count, none_outside(count, len, every::<I, 3>(lane.start)));
        }
        none_outside(count, len, at)
    }
}

/// The same of indices that follow each other.
fn slice_inside<I: Meaning>(indices: &[I], len: usize) -> bool {
    let count = indices.len();
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if const { size_of::<I>() == 8 } && count >= 16 {
        if let Some(avx2) = Avx2::detect() {
            // Where one is negative, all of its block are looked at, one by one.
            let each = |block: &[I]| none_outside(block.len(), len, |k| block[k]);
            return indices
                .chunks(CHUNK)
                .all(|block| known_inside(avx2, block, len) || avx2.call(|| each(block)));
        }
    }
    widest!(count, none_outside(count, len, |k| indices[k]));
}

/// Whether all of `count` indices are within an axis of `len`.
#[inline(always)]
fn none_outside<I: Meaning>(count: usize, len: usize, index: impl Fn(usize) -> I) -> bool {
    (0..count).step_by(CHUNK).all(|first| {
        // A block without a branch, then a decision.
        let block = first..count.min(first + CHUNK);
        if const { size_of::<I>() < 8 } {
            // Processors have instructions for the least and the greatest of these, many
            // at a time: 100,000 elements by `u32` 83 and 45 µs.
            let ends = (index(first), index(first));
            let (least, most) = block.fold(ends, |(least, most), k| {
                let one = index(k);
                (if one < least { one } else { least }, if one > most { one } else { most })
            });
            return least.outside(len) | most.outside(len) >= 0;
        }
        block.fold(0, |bits, k| bits | index(k).outside(len)) >= 0
    })
}

/// Whether a dense lane repeats one index.
///
/// # Safety
/// `count` values of `I` can be read, at least one.
#[allow(unsafe_code)]
pub(super) unsafe fn all_same<I: Meaning>(lane: Lane, count: usize) -> bool {
    // SAFETY: the caller's promise.
    let indices = unsafe { std::slice::from_raw_parts(lane.start.cast::<I>(), count) };
    let first = indices[0];
    indices.iter().fold(true, |same, &index| same & (index == first))
}

/// Whether no index of a lane is negative, or less than the one before.
///
/// # Safety
/// They are readable values of `I`.
#[allow(unsafe_code)]
pub(super) unsafe fn all_sorted<I: Meaning>(lane: Lane, count: usize) -> bool {
    // SAFETY: the caller's promise.
    let at =
        |k: usize| unsafe { *lane.start.cast::<I>().wrapping_byte_offset(k as isize * lane.step) };
    let rises = |k: usize| at(k - 1) <= at(k);
    at(0).value() >= 0
        && (1..count).step_by(CHUNK).all(|first| {
            let rest = first..(first + CHUNK).min(count);
            // Mostly the first few tell; then blocks without a branch.
            rises(first) && rest.fold(true, |all, k| all & rises(k))
        })
}

/// Whether most indices of a lane, of those looked at, are those before them.
///
/// # Safety
/// They are readable values of `I`.
#[allow(unsafe_code)]
pub(super) unsafe fn repeats<I: Meaning>(lane: Lane, count: usize) -> bool {
    const LOOKS: usize = 32;
    // SAFETY: the caller's promise.
    let at =
        |k: usize| unsafe { *lane.start.cast::<I>().wrapping_byte_offset(k as isize * lane.step) };
    let looks = (1..count).step_by((count / LOOKS).max(1));
    let all = looks.len();
    looks.filter(|&k| at(k - 1) == at(k)).count() * 4 > all * 3
}

/// # Safety
/// `index` can be read.
#[allow(unsafe_code)]
pub(super) unsafe fn value<I: Meaning>(index: *const u8) -> i128 {
    // SAFETY: the caller's promise.
    unsafe { index.cast::<I>().read() }.value()
}
