//! Reductions of half precision that need no slots, since each result is rounded once, too, if it is
//! combined in the target itself: where no target has more than one update, or where the updates of each
//! follow each other (`in_order.rs`).

use half::{bf16, f16};

use super::halves::{
    Bf16, Format, Half, f16_format, narrow_bf16, narrow_f16, reduce_row_of_bf16, reduce_row_of_f16,
    widen_bf16, widen_f16,
};
use super::in_order::LastTarget;
use super::kinds::{InOrderRun, NarrowFn, OnceRun, WidenFn};
use super::rows::ReduceRow;
use crate::memory::combine::apply::elements;
use crate::memory::combine::rows::{self, Combine};
use crate::memory::tile::{Tile, TileFn};
use crate::reduction::Reduction;

/// The functions of each format, and [`OnceRun::cost_factor`].
macro_rules! halves {
    ($($half:ty: $widen:ident, $narrow:ident, $row:ident, $run:ident, $in_order:ident, $cost_factor:literal;)*) => {$(
        impl Half for $half {
            const WIDEN: WidenFn = $widen;
            const NARROW: NarrowFn = $narrow;
            const SUM_ROW: ReduceRow = $row::<false>;
            const MULTIPLY_ROW: ReduceRow = $row::<true>;

            fn once(reduction: Reduction) -> Option<OnceRun> {
                let run: TileFn = match reduction {
                    Reduction::Sum => $run::<Add>,
                    Reduction::Sub => $run::<Subtract>,
                    Reduction::Prod => $run::<Multiply>,
                    Reduction::Mean => $run::<Average>,
                    Reduction::Min | Reduction::Max | Reduction::None => return None,
                };
                Some(OnceRun { run, cost_factor: $cost_factor })
            }

            fn in_order(reduction: Reduction) -> Option<InOrderRun> {
                Some(InOrderRun(match reduction {
                    Reduction::Sum => $in_order::<Add, false>,
                    Reduction::Sub => $in_order::<Subtract, false>,
                    Reduction::Prod => $in_order::<Multiply, false>,
                    Reduction::Mean => $in_order::<Add, true>,
                    Reduction::Min | Reduction::Max | Reduction::None => return None,
                }))
            }
        }
    )*};
}
halves! {
    f16: widen_f16, narrow_f16, reduce_row_of_f16, f16_once, f16_in_order, 2;
    bf16: widen_bf16, narrow_bf16, reduce_row_of_bf16, bf16_once, bf16_in_order, 4;
}

/// Combines a target with an update.
trait Operation: Copy + Default {
    /// What a target starts from if the value that it holds takes no part.
    const IDENTITY: f32;
    fn of(self, held: f32, update: f32) -> f32;
}

macro_rules! operations {
    ($($name:ident, $identity:literal: |$held:ident, $update:ident| $result:expr;)*) => {$(
        #[derive(Clone, Copy, Default)]
        struct $name;

        impl Operation for $name {
            const IDENTITY: f32 = $identity;
            #[inline(always)]
            fn of(self, $held: f32, $update: f32) -> f32 {
                $result
            }
        }
    )*};
}
operations! {
    Add, 0.0: |held, update| held + update;
    Subtract, 0.0: |held, update| held - update;
    Multiply, 1.0: |held, update| held * update;
    Average, 0.0: |held, update| (held + update) / 2.0;
}

/// Combines halves of a format, given as their bits, by an operation.
#[derive(Clone, Copy)]
struct Halves<F, O>(F, O);

impl<F: Format, O: Operation> Combine<u16> for Halves<F, O> {
    #[inline(always)]
    fn block<const N: usize>(self, held: [u16; N], updates: [u16; N]) -> [u16; N] {
        // SAFETY: both arrays have `N` halves.
        #[allow(unsafe_code)]
        let (mut held, updates) = unsafe {
            (self.0.widen::<N>(held.as_ptr(), 0), self.0.widen::<N>(updates.as_ptr(), 0))
        };
        for k in 0..N {
            held[k] = self.1.of(held[k], updates[k]);
        }
        self.0.narrow(held)
    }
}

/// Combines a tile of targets with their updates.
///
/// # Safety
/// That of [`Kernel::run`](crate::memory::tile::Kernel::run), for elements of the format.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn run<F: Format, O: Operation>(format: F, tile: &Tile<'_>) {
    let size = size_of::<u16>();
    let dense = [tile.inner.selected, tile.inner.listed] == [size as isize; 2];
    if dense && tile.inner.len * size >= rows::SMALL_BLOCK {
        let (short, combine) = (rows::are_short::<u16>(tile), Halves(format, O::default()));
        // SAFETY: the caller's promise, and rows have `SMALL_BLOCK` bytes or more.
        return unsafe { rows::in_blocks::<u16, false>(tile, short, combine) };
    }
    let combine = |target: *mut u8, update: *mut u8| {
        let target = target.cast::<u16>();
        // SAFETY: the caller's promise, for each element.
        unsafe {
            let [held, update] = format.widen_pair([target.read(), update.cast::<u16>().read()]);
            let [result] = format.narrow([O::default().of(held, update)]);
            target.write(result);
        }
    };
    if tile.inner.len == 1 { tile.each_here(combine) } else { elements(tile, combine) }
}

/// [`run`] for `f16`.
///
/// # Safety
/// That of [`run`], and on x86-64 the processor has AVX2 and F16C.
#[cfg_attr(all(target_arch = "x86_64", not(miri)), target_feature(enable = "avx2,f16c"))]
#[allow(unsafe_code)]
unsafe fn f16_once<O: Operation>(tile: &Tile<'_>) {
    if let Some(format) = f16_format() {
        // SAFETY: the caller's promise.
        unsafe { run::<_, O>(format, tile) }
    }
}

/// [`run`] for `bf16`.
///
/// # Safety
/// That of [`run`], and on x86-64 the processor has AVX2.
#[cfg_attr(all(target_arch = "x86_64", not(miri)), target_feature(enable = "avx2"))]
#[allow(unsafe_code)]
unsafe fn bf16_once<O: Operation>(tile: &Tile<'_>) {
    // SAFETY: the caller's promise.
    unsafe { run::<_, O>(Bf16, tile) }
}

/// Reduces single elements, given as their bits, whose targets' updates follow each other. No branch
/// depends on the indices: each update writes its target, the last one what remains.
///
/// # Safety
/// That of [`InOrderFn`](super::kinds::InOrderFn), for elements of the format.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn run_in_order<F: Format, O: Operation, const MEAN: bool>(
    format: F,
    tile: &Tile<'_>,
    last: &mut LastTarget,
    init: bool,
) {
    let target = |offset: isize| tile.selected.wrapping_offset(offset);
    let initial = u32::from(init);
    let Some(&first) = tile.offsets.first() else { return };
    let LastTarget { target: mut before, mut sum, mut count } = *last;
    // SAFETY: the caller's promise, here and below: the targets and updates of all entries.
    let [mut held, _] = format.widen_pair([unsafe { target(first).cast::<u16>().read() }; 2]);
    for (k, &offset) in tile.offsets.iter().enumerate() {
        let to = target(offset);
        // The next target is read before this one is written: a processor that reads what was just
        // written waits for it.
        let next = target(*tile.offsets.get(k + 1).unwrap_or(&offset));
        let update = tile.listed.wrapping_offset(tile.places.at(k));
        // SAFETY: see above.
        let pair = unsafe { [update.cast::<u16>().read(), next.cast::<u16>().read()] };
        let [update, next_held] = format.widen_pair(pair);
        let start = if init { held } else { O::IDENTITY };
        (sum, count) = if to.addr() == before { (sum, count) } else { (start, initial) };
        sum = O::default().of(sum, update);
        count = count.wrapping_add(1);
        let [result] = format.narrow([if MEAN { sum / count as f32 } else { sum }]);
        // SAFETY: see above.
        unsafe { to.cast::<u16>().write(result) };
        (before, held) = (to.addr(), next_held);
    }
    *last = LastTarget { target: before, sum, count };
}

/// [`run_in_order`] for `f16`.
///
/// # Safety
/// That of [`run_in_order`], and on x86-64 the processor has AVX2 and F16C.
#[cfg_attr(all(target_arch = "x86_64", not(miri)), target_feature(enable = "avx2,f16c"))]
#[allow(unsafe_code)]
unsafe fn f16_in_order<O: Operation, const MEAN: bool>(
    tile: &Tile<'_>,
    last: &mut LastTarget,
    init: bool,
) {
    if let Some(format) = f16_format() {
        // SAFETY: the caller's promise.
        unsafe { run_in_order::<_, O, MEAN>(format, tile, last, init) }
    }
}

/// [`run_in_order`] for `bf16`.
///
/// # Safety
/// That of [`run_in_order`], and on x86-64 the processor has AVX2.
#[cfg_attr(all(target_arch = "x86_64", not(miri)), target_feature(enable = "avx2"))]
#[allow(unsafe_code)]
unsafe fn bf16_in_order<O: Operation, const MEAN: bool>(
    tile: &Tile<'_>,
    last: &mut LastTarget,
    init: bool,
) {
    // SAFETY: the caller's promise.
    unsafe { run_in_order::<_, O, MEAN>(Bf16, tile, last, init) }
}
