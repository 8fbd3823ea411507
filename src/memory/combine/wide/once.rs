//! Reductions of half precision where no target has more than one update. These need no slots:
//! each result is rounded once, too, if it is combined in the target itself.

use half::{bf16, f16};

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
use super::halves::ScalarF16;
use super::halves::{Bf16, Format};
use super::kinds::OnceRun;
use crate::memory::combine::apply::elements;
use crate::memory::combine::kernels::Run;
use crate::memory::combine::rows::{self, Combine};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::memory::cpu;
use crate::memory::tile::Tile;
use crate::reduction::Reduction;

/// A type of half precision, whose targets can be combined with their only updates.
pub(crate) trait CombineOnce {
    /// The function for a reduction, which combines in `f32`; none for minima and maxima. That of
    /// means is for two terms. On x86-64 it needs what
    /// [`Rows::can_run`](super::rows::Rows::can_run) asks for.
    fn once(reduction: Reduction) -> Option<OnceRun>;
}

macro_rules! once {
    ($($half:ty: $run:ident, $cost_factor:literal;)*) => {$(
        impl CombineOnce for $half {
            fn once(reduction: Reduction) -> Option<OnceRun> {
                let run: Run = match reduction {
                    Reduction::Sum => $run::<Add>,
                    Reduction::Sub => $run::<Subtract>,
                    Reduction::Prod => $run::<Multiply>,
                    Reduction::Mean => $run::<Average>,
                    Reduction::Min | Reduction::Max | Reduction::None => return None,
                };
                Some(OnceRun { run, cost_factor: $cost_factor })
            }
        }
    )*};
}
once! {
    f16: f16_once, 2;
    bf16: bf16_once, 4;
}

/// Combines a target with its only update.
trait Operation: Copy + Default {
    fn of(self, held: f32, update: f32) -> f32;
}

macro_rules! operations {
    ($($name:ident: |$held:ident, $update:ident| $result:expr;)*) => {$(
        #[derive(Clone, Copy, Default)]
        struct $name;

        impl Operation for $name {
            #[inline(always)]
            fn of(self, $held: f32, $update: f32) -> f32 {
                $result
            }
        }
    )*};
}
operations! {
    Add: |held, update| held + update;
    Subtract: |held, update| held - update;
    Multiply: |held, update| held * update;
    Average: |held, update| (held + update) / 2.0;
}

/// Combines halves of a format, given as their bits, by an operation.
#[derive(Clone, Copy)]
struct Halves<F, O>(F, O);

impl<F: Format, O: Operation> Combine<u16, u16> for Halves<F, O> {
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
        return unsafe { rows::in_blocks::<u16, u16>(tile, short, combine) };
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
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    let format = cpu::F16c::detect();
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let format = Some(ScalarF16);
    if let Some(format) = format {
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
