//! Kernels over slots.

use super::kinds::Wide;
use super::runs::{STAGE, Stage, gathered};
use crate::memory::combine::apply::elements;
use crate::memory::tile::{Kernel, NextIndices, Places, Steps, Tile};

/// Adds updates (listed) to slots (selected): a stage of updates becomes values,
/// or slots, which are added by the kernel of their type.
pub(super) struct Adds<'w>(pub(super) &'w Wide);

#[allow(unsafe_code)]
impl Kernel for Adds<'_> {
    unsafe fn run(&self, tile: &Tile<'_>) {
        let wide = self.0;
        if wide.convert.is_none() && !wide.adds_slots {
            // SAFETY: the caller's promise.
            return unsafe { (wide.add)(tile) };
        }
        let inner = tile.inner;
        for iteration in 0..tile.outer.len {
            let (selected, listed) = tile.iteration(iteration);
            let outer = Steps { len: 1, selected: 0, listed: 0 };
            let iteration = Tile { selected, listed, outer, ..*tile };
            if inner.len <= STAGE {
                let (count, most) = (iteration.offsets.len(), STAGE / inner.len);
                for first in (0..count).step_by(most) {
                    let mut part = iteration.part(first..count.min(first + most));
                    if !part.next.start.is_null() {
                        let by = part.next.step.wrapping_mul(first as isize);
                        part.next.start = part.next.start.wrapping_offset(by);
                    }
                    // SAFETY: the caller's promise, for some of the entries.
                    unsafe { self.stage(&part) };
                }
                continue;
            }
            for entry in 0..iteration.offsets.len() {
                let mut part = iteration.part(entry..entry + 1);
                part.next = NextIndices::NONE;
                for first in (0..inner.len).step_by(STAGE) {
                    let at = |step: isize| step.wrapping_mul(first as isize);
                    let piece = Tile {
                        selected: part.selected.wrapping_offset(at(inner.selected)),
                        listed: part.listed.wrapping_offset(at(inner.listed)),
                        inner: Steps { len: STAGE.min(inner.len - first), ..inner },
                        ..part
                    };
                    // SAFETY: the caller's promise, for some of the elements.
                    unsafe { self.stage(&piece) };
                }
            }
        }
    }

    unsafe fn nowhere(&self, _: &Tile<'_>) {}
}

#[allow(unsafe_code)]
impl Adds<'_> {
    /// Adds the updates of a tile of one iteration.
    ///
    /// # Safety
    /// That of [`Kernel::run`], and there are no more than [`STAGE`].
    unsafe fn stage(&self, tile: &Tile<'_>) {
        let wide = self.0;
        let mut stages = [Stage::new(), Stage::new(), Stage::new()];
        let (entries, row) = (tile.offsets.len(), tile.inner.len);
        let size = if wide.adds_slots { wide.slot } else { wide.value };
        // SAFETY: the caller's promise; stages have room for so many.
        unsafe {
            if let Some(step) = together(tile) {
                self.addends(tile.listed, step, entries * row, &mut stages, 0);
            } else {
                for entry in 0..entries {
                    let listed = tile.listed.wrapping_offset(tile.places.at(entry));
                    let at = entry * row * size;
                    self.addends(listed, tile.inner.listed, row, &mut stages, at);
                }
            }
            (wide.add)(&Tile {
                listed: stages[2].start(),
                places: Places::Every((row * size) as isize),
                inner: Steps { listed: size as isize, ..tile.inner },
                size,
                ..*tile
            });
        }
    }

    /// Makes updates to what is added to slots: in the last stage, from so many
    /// bytes on.
    ///
    /// # Safety
    /// So many updates can be read, so far apart, and stages have room for them.
    unsafe fn addends(
        &self,
        updates: *const u8,
        step: isize,
        len: usize,
        [gather, values, addends]: &mut [Stage; 3],
        at: usize,
    ) {
        let wide = self.0;
        // SAFETY: the caller's promise.
        unsafe {
            let from = gathered(updates, step, wide.element, len, gather.start());
            let to = addends.start().add(at);
            match (wide.convert, wide.lift.filter(|_| wide.adds_slots)) {
                (Some((widen, _)), Some((lift, _))) => {
                    widen(from, values.start(), len);
                    lift(values.start(), to, len, true);
                }
                (Some((widen, _)), None) => widen(from, to, len),
                (None, Some((lift, _))) => lift(from, to, len, true),
                (None, None) => to.copy_from_nonoverlapping(from, len * wide.value),
            }
        }
    }
}

/// How far apart the updates of a tile are, where all are as far.
fn together(tile: &Tile<'_>) -> Option<isize> {
    let Steps { len, listed, .. } = tile.inner;
    match tile.places {
        Places::Every(step) if len == 1 => Some(step),
        Places::Every(step) if step == listed.wrapping_mul(len as isize) => Some(listed),
        _ if tile.offsets.len() == 1 => {
            // The one place need not be that of the tile.
            (tile.places.at(0) == 0).then_some(listed)
        }
        _ => None,
    }
}

/// Starts slots (selected) anew.
pub(super) struct Anew<'w>(pub(super) &'w Wide);

#[allow(unsafe_code)]
impl Kernel for Anew<'_> {
    unsafe fn run(&self, tile: &Tile<'_>) {
        let Wide { slot: size, empty, .. } = *self.0;
        // SAFETY: the caller's promise, for slots of this size.
        elements(tile, |slot, _| unsafe {
            slot.write_bytes(0, size);
            slot.copy_from_nonoverlapping(empty.as_ptr(), empty.len());
        });
    }

    unsafe fn nowhere(&self, _: &Tile<'_>) {}
}
