//! Reductions of few elements: all elements of the target have slots, on the stack.

use std::mem::MaybeUninit;

use super::Extent;
use super::adds::{AddToSlots, ClearSlots};
use crate::memory::combine::{HAS_KERNELS, Reducer};
use crate::memory::few::Few;
use crate::memory::refused::Refused;
use crate::memory::tile::Kernel;
use crate::threshold::threshold;

/// The most memory for slots, in numbers of 16 bytes.
const NUMBERS: usize = threshold(256, 16);

/// Runs the reduction if the target has few elements, evenly spaced. Nothing is written where an index is
/// refused, or where it returns `None`: one selects nothing, or the target is another one.
///
/// # Safety
/// The reducer is one of the elements of these arrays, which may be read; nothing else uses the target,
/// which is the selected one.
#[allow(unsafe_code)]
#[inline(never)]
pub(in crate::memory) unsafe fn accumulate_few(
    few: &Few<'_>,
    reducer: &Reducer,
) -> Option<Result<(), Refused>> {
    let (target, all, size) = few.target()?;
    let extent = Extent { updates: few.count(), rows: false, bits: size as u32 * 8 };
    let accumulator = reducer.accumulator(extent).expect(HAS_KERNELS);
    let init = reducer.init;
    if all.len.checked_mul(accumulator.slot)? > size_of::<u128>() * NUMBERS {
        return None;
    }
    let mut memory = [const { MaybeUninit::<u128>::uninit() }; NUMBERS];
    let slots = memory.as_mut_ptr().cast::<u8>();
    let scale = |step: isize| step / all.step * accumulator.slot as isize;
    // SAFETY: the caller's promise; the target is `all.len` elements, for each of which there is room for a
    // slot; steps between them are multiples of that from one to the next, and slots lie in the same order.
    unsafe {
        accumulator.start(target, all.step, slots, all.len);
        let done = few.run_over(slots, scale, |tile| {
            if !init {
                ClearSlots(&accumulator).run(tile);
            }
            AddToSlots(&accumulator).run(tile);
        });
        if done == Some(Ok(())) {
            accumulator.finish(slots, target, all.step, all.len, init);
        }
        done
    }
}
