//! Functions over lanes of indices, compiled for each of the integer types.

use std::mem::MaybeUninit;

use super::{CHUNK, Lane, NOWHERE};
use crate::index::{LONGEST, Meaning, Policy};
use crate::memory::buffer::Buffer;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::memory::cpu::{Avx2, known_inside};
use crate::memory::cpu::{is_long, prefetch_ahead};
use crate::memory::walk::Component;
use crate::threshold::threshold;

/// Number of indices that are checked between two prefetches.
const BLOCK: usize = threshold(512, 8);

impl Buffer<'_> {
    /// Appends the offsets of positions along an axis; returns whether all of them are in bounds.
    #[inline]
    pub(in crate::memory) fn extend_resolved(
        &mut self,
        positions: &[u32],
        component: &Component,
    ) -> bool {
        let write = |slots: &mut [MaybeUninit<isize>]| {
            resolve_slice(positions, component, Policy::Refuse, slots)
        };
        // SAFETY: `resolve_slice` writes a slot for each position, and there are as many slots.
        #[allow(unsafe_code)]
        unsafe {
            self.extend(positions.len(), write)
        }
    }
}

/// Returns the value of `$work` from the enclosing function. The work is compiled twice, and the
/// version for AVX2 runs if the processor has it and there are enough elements. A macro, since a
/// closure that is called in two places is not inlined, and so not compiled for AVX2.
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

/// Writes to each slot of `offsets` what the corresponding index of a lane selects. Returns whether
/// all indices are in bounds, or mapped into bounds by the policy.
///
/// # Safety
/// The lane has as many indices as `offsets` has slots, all of them readable values of `I`.
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
            let indices = (0..count).map(every_nth::<I, 2>(lane.start));
            widest!(count, resolve_each(indices, component, policy, offsets));
        }
        if lane.step == 3 * size {
            let indices = (0..count).map(every_nth::<I, 3>(lane.start));
            widest!(count, resolve_each(indices, component, policy, offsets));
        }
        let start = lane.start.cast::<I>();
        if let (0, Some((first, others))) = (lane.step, offsets.split_first_mut()) {
            // One index for all entries.
            let slot = std::slice::from_mut(first);
            let inside = resolve_each(std::iter::once(*start), component, policy, slot);
            others.fill(*first);
            return inside;
        }
        let at = |k: usize| *start.wrapping_byte_offset(k as isize * lane.step);
        resolve_each((0..count).map(at), component, policy, offsets)
    }
}

/// A [`WidenFn`](super::elements::WidenFn).
///
/// # Safety
/// That of `WidenFn`.
#[allow(unsafe_code)]
pub(super) unsafe fn widen<I: Meaning>(start: *const u8, slots: &mut [MaybeUninit<u32>]) {
    // SAFETY: the caller's promise.
    let indices = unsafe { std::slice::from_raw_parts(start.cast::<I>(), slots.len()) };
    for (slot, index) in slots.iter_mut().zip(indices) {
        slot.write(index.value() as u32);
    }
}

/// [`resolve_each`] for contiguous indices.
#[inline]
fn resolve_slice<I: Meaning>(
    indices: &[I],
    component: &Component,
    policy: Policy,
    offsets: &mut [MaybeUninit<isize>],
) -> bool {
    widest!(indices.len(), resolve_each(indices.iter().copied(), component, policy, offsets));
}

/// Returns a function that reads every `N`-th of contiguous indices: `|k| start[k * N]`. `N` is a
/// constant, so that the compiler vectorises the loads.
///
/// # Safety
/// The returned function is called only with `k` for which `start[k * N]` can be read.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn every_nth<I: Meaning, const N: usize>(start: *const u8) -> impl Fn(usize) -> I + Copy {
    let start = start.cast::<I>();
    // SAFETY: the caller's promise.
    move |k| unsafe { *start.wrapping_add(k * N) }
}

/// [`resolve_to`] for positions whose offset is `position * step`.
#[inline(always)]
fn resolve_each<I: Meaning>(
    indices: impl Iterator<Item = I> + Clone,
    component: &Component,
    policy: Policy,
    offsets: &mut [MaybeUninit<isize>],
) -> bool {
    // Steps are mostly powers of two, and a shift takes less time than a multiplication. A position
    // below `len` fits in an `isize`, and so does the offset of an element.
    let Component { len, step, .. } = *component;
    if step.count_ones() == 1 {
        let shift = step.trailing_zeros();
        let offset = |position: u64| (position << shift) as isize;
        return resolve_to(indices, len, policy, offsets, offset);
    }
    resolve_to(indices, len, policy, offsets, |position| (position as isize).wrapping_mul(step))
}

/// Writes `offset(position)` for each index, or what the policy says if the index is out of bounds.
/// Returns whether all indices are in bounds, or mapped into bounds by the policy.
#[inline(always)]
fn resolve_to<I: Meaning>(
    indices: impl Iterator<Item = I> + Clone,
    len: usize,
    policy: Policy,
    offsets: &mut [MaybeUninit<isize>],
    offset: impl Fn(u64) -> isize,
) -> bool {
    let slots = offsets.iter_mut().zip(indices.clone());
    // Whatever `Meaning`, which is safe code, returns, offsets are in bounds: hence `min`.
    if policy == Policy::Clip {
        slots.for_each(|(slot, index)| {
            slot.write(offset(index.clip(len).min(len - 1) as u64));
        });
        return true;
    }
    // Mostly no index is negative, and so each is a position as it is. Compilers vectorise this loop
    // for all types of indices; the sign of all differences together they did not for unsigned ones.
    let mut all_inside = true;
    slots.for_each(|(slot, index)| {
        let position = index.value() as u64;
        all_inside &= position < len as u64;
        slot.write(offset(position));
    });
    if all_inside {
        return true;
    }
    // Negative indices count from the end.
    let mut all_inside = true;
    offsets.iter_mut().zip(indices.clone()).for_each(|(slot, index)| {
        let position = index.position(len);
        let inside = position < len as u64;
        all_inside &= inside;
        slot.write(if inside { offset(position) } else { NOWHERE });
    });
    if !all_inside && policy == Policy::Wrap {
        // Only indices out of bounds take a division.
        offsets.iter_mut().zip(indices).for_each(|(slot, index)| {
            let position = index.position(len);
            let inside = position < len as u64;
            let position = if inside { position } else { index.wrap(len).min(len - 1) as u64 };
            slot.write(offset(position));
        });
        return true;
    }
    all_inside
}

/// Whether the `count` indices of a lane are in bounds of an axis of length `len`.
///
/// # Safety
/// All indices of the lane are readable values of `I`.
#[allow(unsafe_code)]
pub(super) unsafe fn all_inside<I: Meaning>(lane: Lane, count: usize, len: usize) -> bool {
    let size = size_of::<I>() as isize;
    let start = lane.start.cast::<I>();
    // SAFETY: the caller's promise.
    unsafe {
        let at = |k: usize| *start.wrapping_byte_offset(k as isize * lane.step);
        if len as u64 > LONGEST {
            // An axis of zero-sized elements, or of one element that is broadcast.
            return (0..count).all(|k| at(k).position(len) < len as u64);
        }
        if I::ENDS.iter().all(|end| end.outside(len) >= 0) {
            // All values of the type, as those of bytes along an axis of 256 elements.
            return true;
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
            widest!(count, none_outside(count, len, every_nth::<I, 2>(lane.start)));
        }
        if lane.step == 3 * size {
            widest!(count, none_outside(count, len, every_nth::<I, 3>(lane.start)));
        }
        none_outside(count, len, at)
    }
}

/// [`all_inside`] for contiguous indices.
fn slice_inside<I: Meaning>(indices: &[I], len: usize) -> bool {
    let count = indices.len();
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if const { size_of::<I>() == 8 } && count >= 16 {
        if let Some(avx2) = Avx2::detect() {
            // A block that `known_inside` cannot tell about, such as one with a negative index, is
            // checked index by index.
            let each = |block: &[I]| none_outside(block.len(), len, |k| block[k]);
            return indices
                .chunks(CHUNK)
                .all(|block| known_inside(avx2, block, len) || avx2.call(|| each(block)));
        }
    }
    if const { size_of::<I>() < 4 } {
        widest!(count, indices.chunks(CHUNK).all(|block| ends_inside(block, len)));
    }
    widest!(count, none_outside(count, len, |k| indices[k]));
}

/// Whether the least and the greatest of some indices are in bounds of an axis of length `len`, and so all.
#[inline(always)]
fn ends_inside<I: Meaning>(indices: &[I], len: usize) -> bool {
    // Compilers make vectors of arrays; for a single least value of such small integers they make none.
    const SIDE_BY_SIDE: usize = 32;
    let Some(&first) = indices.first() else { return true };
    let (mut least, mut greatest) = ([first; SIDE_BY_SIDE], [first; SIDE_BY_SIDE]);
    let blocks = indices.chunks_exact(SIDE_BY_SIDE);
    let rest = blocks.remainder();
    for block in blocks {
        for k in 0..SIDE_BY_SIDE {
            least[k] = if block[k] < least[k] { block[k] } else { least[k] };
            greatest[k] = if block[k] > greatest[k] { block[k] } else { greatest[k] };
        }
    }
    rest.iter().chain(&least).chain(&greatest).fold(0, |bits, end| bits | end.outside(len)) >= 0
}

/// Whether all of `count` indices are in bounds of an axis of length `len`.
#[inline(always)]
fn none_outside<I: Meaning>(count: usize, len: usize, index: impl Fn(usize) -> I) -> bool {
    (0..count).step_by(CHUNK).all(|first| {
        // One branch per block, none within it: the loop is vectorised.
        let block = first..count.min(first + CHUNK);
        if const { size_of::<I>() < 8 } {
            // Only the minimum and the maximum are compared with `len`: SIMD has instructions for
            // both, of integers of up to 4 bytes. 100,000 elements by `u32`: 83 -> 45 µs.
            let start = (index(first), index(first));
            let (min, max) = block.fold(start, |(min, max), k| {
                let value = index(k);
                (if value < min { value } else { min }, if value > max { value } else { max })
            });
            return min.outside(len) | max.outside(len) >= 0;
        }
        block.fold(0, |bits, k| bits | index(k).outside(len)) >= 0
    })
}

/// Whether all `count` indices of a contiguous lane are equal.
///
/// # Safety
/// `count` values of `I` can be read, at least one.
#[allow(unsafe_code)]
pub(super) unsafe fn all_same<I: Meaning>(lane: Lane, count: usize) -> bool {
    // SAFETY: the caller's promise.
    let indices = unsafe { std::slice::from_raw_parts(lane.start.cast::<I>(), count) };
    let first = indices[0];
    // No branch within a block, which is vectorised; a long row mostly ends with its first block.
    let same = |block: &[I]| block.iter().fold(true, |same, &index| same & (index == first));
    indices.chunks(BLOCK).all(same)
}

/// Whether the `count` indices of a lane, at least one, are sorted and not negative:
/// `0 <= indices[0] <= indices[1] <= ...`.
///
/// # Safety
/// All indices of the lane are readable values of `I`.
#[allow(unsafe_code)]
pub(super) unsafe fn all_sorted<I: Meaning>(lane: Lane, count: usize) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let at = |k: usize| *lane.start.cast::<I>().wrapping_byte_offset(k as isize * lane.step);
        if at(0).value() < 0 {
            return false;
        }
        if lane.step == size_of::<I>() as isize {
            let indices = std::slice::from_raw_parts(lane.start.cast::<I>(), count);
            widest!(count, ascend(count, |k| indices[k]));
        }
        ascend(count, at)
    }
}

/// Whether each of `count` indices is at least as large as the one before it.
#[inline(always)]
fn ascend<I: Meaning>(count: usize, index: impl Fn(usize) -> I) -> bool {
    let ascends = |k: usize| index(k - 1) <= index(k);
    (1..count).step_by(CHUNK).all(|first| {
        let rest = first..(first + CHUNK).min(count);
        // If indices are not sorted, mostly the first pair shows it; the rest of the block is
        // compared without a branch.
        ascends(first) && rest.fold(true, |all, k| all & ascends(k))
    })
}

/// Whether more than `part[0] / part[1]` of the indices of some lanes, in a sample, equal the index
/// before them. Of the lanes, each of `count` indices, the first is given, their number, and the distance
/// in bytes from one to the next.
///
/// # Safety
/// All indices of the lanes are readable values of `I`.
#[allow(unsafe_code)]
pub(super) unsafe fn repeats<I: Meaning>(
    lane: Lane,
    count: usize,
    (lanes, next): (usize, isize),
    part: [usize; 2],
) -> bool {
    const SAMPLES: usize = 64;
    if count < 2 {
        return false;
    }
    // Spread over the lanes and over their places: a sample of a few short lanes says little.
    let spread =
        |sample: usize, len: usize| (len as u128 * sample as u128 / SAMPLES as u128) as isize;
    let equal = |sample: usize| {
        let (number, k) = (spread(sample, lanes), spread(sample, count - 1));
        let offset = next.wrapping_mul(number).wrapping_add(lane.step.wrapping_mul(k));
        let index = lane.start.cast::<I>().wrapping_byte_offset(offset);
        // SAFETY: the caller's promise: `number < lanes` and `k + 1 < count`.
        unsafe { *index == *index.wrapping_byte_offset(lane.step) }
    };
    (0..SAMPLES).filter(|&sample| equal(sample)).count() * part[1] > SAMPLES * part[0]
}

/// The value of an index.
///
/// # Safety
/// `index` can be read.
#[allow(unsafe_code)]
pub(super) unsafe fn value<I: Meaning>(index: *const u8) -> i128 {
    // SAFETY: the caller's promise.
    unsafe { index.cast::<I>().read() }.value()
}
