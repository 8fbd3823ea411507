//! Folds: combines updates with their targets by a function of the caller's. The only kernels of
//! reductions that are compiled in the caller's crate.

use std::marker::PhantomData;

use super::apply::{elements, short_rows};
use super::rows::TARGETS_AHEAD;
use crate::memory::cpu;
use crate::memory::indices::axis::Unsigned;
use crate::memory::indices::elements::{Action, BLOCK, Beside, Elements, Single};
use crate::memory::tile::{Kernel, Tile};
use crate::threshold::threshold;

/// Fewest elements of a row that is worth a call.
const CALL_ROW: usize = threshold(10, 3);

/// Combines updates with their targets by a function that the user of the crate passes.
pub(crate) struct Fold<'f, A, U, F> {
    fold: &'f F,
    types: PhantomData<fn(&mut A, &U)>,
}

impl<'f, A, U, F: Fn(&mut A, &U) + Sync> Fold<'f, A, U, F> {
    pub(crate) fn new(fold: &'f F) -> Self {
        Fold { fold, types: PhantomData }
    }
}

#[allow(unsafe_code)]
impl<A, U, F: Fn(&mut A, &U) + Sync> Kernel for Fold<'_, A, U, F> {
    unsafe fn run(&self, tile: &Tile<'_>) {
        let fold = self.fold;
        let (inner, steps) = (tile.inner, [size_of::<A>() as isize, size_of::<U>() as isize]);
        // SAFETY: the caller's promise, for each element.
        let fold_one = |selected: *mut u8, listed: *mut u8| unsafe {
            fold(&mut *selected.cast::<A>(), &*listed.cast::<U>());
        };
        let are_slices = inner.len > 1 && [inner.selected, inner.listed] == steps;
        if inner.len > 1 && [inner.selected, inner.listed] == [steps[0], 0] {
            // SAFETY: the caller's promise, for each row.
            return tile.each_row(|selected, listed| unsafe {
                let target = std::slice::from_raw_parts_mut(selected.cast::<A>(), inner.len);
                fold_row(fold, target, &*listed.cast::<U>());
            });
        }
        if are_slices && inner.len < CALL_ROW {
            // SAFETY: the caller's promise; elements of a row follow each other.
            return unsafe { short_rows::<A, U>(tile, inner.len, fold_one) };
        }
        if are_slices {
            let bytes = inner.len * size_of::<A>();
            let distance = if tile.spread { TARGETS_AHEAD } else { 0 };
            return tile.each_row_ahead(
                distance,
                |row| cpu::prefetch(row, bytes),
                // SAFETY: the caller's promise, for each row.
                |selected, listed| unsafe {
                    tile.prefetch_list(listed, inner.len * size_of::<U>());
                    let target = std::slice::from_raw_parts_mut(selected.cast::<A>(), inner.len);
                    let updates = std::slice::from_raw_parts(listed.cast::<U>(), inner.len);
                    #[cfg(all(target_arch = "x86_64", not(miri)))]
                    if let Some(avx2) = cpu::Avx2::detect() {
                        return fold_slices_by_avx2(avx2, fold, target, updates);
                    }
                    fold_slices(fold, target, updates);
                },
            );
        }
        if inner.len == 1 { tile.each(Action::Fold, fold_one) } else { elements(tile, fold_one) }
    }

    fn single(&self) -> Option<Single> {
        let sized = const { size_of::<A>() > 0 && size_of::<U>() > 0 };
        sized.then_some(Single { size: size_of::<U>(), action: Action::Fold, waits: Some([3, 4]) })
    }

    unsafe fn run_single(&self, elements: &Elements<'_>) -> bool {
        // SAFETY: the caller's promise. Unsigned integers have the size of signed ones.
        unsafe {
            match elements.width.size {
                4 => self.run_by::<u32>(elements),
                8 => self.run_by::<u64>(elements),
                _ => unreachable!("narrow indices are widened first"),
            }
        }
    }
}

impl<A, U, F: Fn(&mut A, &U) + Sync> Fold<'_, A, U, F> {
    /// [`Kernel::run_single`], by indices that are read as integers of type `I`. A loop for a dense
    /// axis, which takes a sixth less time, and one for all others, since both are compiled for
    /// each fold.
    ///
    /// # Safety
    /// That of [`Kernel::run_single`], by indices of the size of `I`.
    #[allow(unsafe_code)]
    unsafe fn run_by<I: Unsigned>(&self, elements: &Elements<'_>) -> bool {
        let (axis, step, fold) = (elements.axis(), elements.axes[0].step, self.fold);
        let size = size_of::<U>();
        let fold_one = |target: *mut u8, listed: *mut u8, k: usize| {
            let update = listed.cast::<U>().wrapping_add(k);
            // SAFETY: the caller's promise: `axis.each` passes positions in bounds of the axis, and
            // there are as many updates as indices.
            unsafe { fold(&mut *target.cast::<A>(), &*update) };
        };
        let block_len = match elements.beside {
            Beside::Each(_) => BLOCK,
            Beside::Runs(runs) => runs.len(),
        };
        let dense = step == size_of::<A>() as isize && matches!(elements.beside, Beside::Each(0));
        // SAFETY: the caller's promise; a block of short runs has no more than `runs.len()` indices.
        unsafe {
            if dense {
                return elements.blocks(size, BLOCK, |indices: &[I], (first, listed)| {
                    let target = |position: u64| first.cast::<A>().wrapping_add(position as usize);
                    axis.each(indices, |position, k| fold_one(target(position).cast(), listed, k))
                });
            }
            elements.blocks(size, block_len, |indices: &[I], (first, listed)| {
                axis.each(indices, |position, k| {
                    let beside = match elements.beside {
                        Beside::Each(beside) => beside.wrapping_mul(k as isize),
                        Beside::Runs(runs) => runs.beside(k),
                    };
                    let offset = (position as isize).wrapping_mul(step).wrapping_add(beside);
                    fold_one(first.wrapping_offset(offset), listed, k);
                })
            })
        }
    }
}

/// [`fold_slices`], compiled for AVX2.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code)]
#[target_feature(enable = "avx2")]
fn fold_slices_by_avx2<A, U>(
    _proof: cpu::Avx2,
    fold: &impl Fn(&mut A, &U),
    target: &mut [A],
    updates: &[U],
) {
    for (target, update) in target.iter_mut().zip(updates) {
        fold(target, update);
    }
}

/// Calls `fold` with each target and one update. Not inlined: the compiler knows of arguments that they do not
/// overlap.
#[inline(never)]
fn fold_row<A, U>(fold: &impl Fn(&mut A, &U), target: &mut [A], update: &U) {
    for target in target {
        fold(target, update);
    }
}

/// Calls `fold` with each target and its update. Not inlined: since the slices are arguments of a
/// function, the compiler knows that they do not overlap, and vectorises the loop.
#[inline(never)]
fn fold_slices<A, U>(fold: &impl Fn(&mut A, &U), target: &mut [A], updates: &[U]) {
    for (target, update) in target.iter_mut().zip(updates) {
        fold(target, update);
    }
}
