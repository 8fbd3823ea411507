//! All numbers of indices become one offset each.

use super::{Indices, Lane, NOWHERE};
use crate::index::Policy;
use crate::memory::buffer::Buffer;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::memory::cpu::Avx2;
use crate::memory::walk::Component;

impl Indices<'_> {
    /// Adds to `offsets` what as many indices as `count` select, that begin at an offset of
    /// `at` bytes and are `step` bytes apart; these are the components of their numbers.
    /// Tells whether some select nothing, and is nothing where one is refused.
    ///
    /// # Safety
    /// All their numbers are elements of this array.
    #[allow(unsafe_code)]
    #[inline(always)]
    pub(in crate::memory) unsafe fn resolve_all(
        &self,
        (at, step): (isize, isize),
        count: usize,
        components: &[Component],
        policy: Policy,
        offsets: &mut Buffer<'_>,
        others: &mut Buffer<'_>,
    ) -> Option<bool> {
        let Some((first, rest)) = components.split_first() else {
            offsets.extend_ramp(count, 0, 0);
            return Some(false);
        };
        #[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
        if !rest.is_empty() {
            // SAFETY: the caller's promise; `Tuples::resolve` writes every slot.
            let found = unsafe {
                self.tuples(self.lane(at, step), count, components)
                    .map(|tuples| offsets.extend(count, |slots| tuples.resolve(policy, slots)))
            };
            if let Some(all) = found {
                return match policy {
                    Policy::Refuse => all.then_some(false),
                    Policy::Skip => Some(!all),
                    Policy::Clip | Policy::Wrap => Some(false),
                };
            }
        }
        let lane =
            |component: &Component| -> Lane { self.lane(at.wrapping_add(component.at), step) };
        // SAFETY: the caller's promise; `resolve` writes every slot.
        let mut all = unsafe {
            offsets.extend(count, |slots| self.resolve(lane(first), first, policy, slots))
        };
        for component in rest {
            others.clear();
            // SAFETY: as above.
            all &= unsafe {
                others
                    .extend(count, |slots| self.resolve(lane(component), component, policy, slots))
            };
            let sums = offsets.values_mut();
            let start = sums.len() - count;
            add(&mut sums[start..], others.values(), 0, policy == Policy::Skip);
        }
        if all {
            return Some(false);
        }
        (policy != Policy::Refuse).then_some(true)
    }
}

/// Adds others to offsets, and `by`; with `gaps` either may select nothing.
#[inline(never)]
pub(in crate::memory) fn add(sums: &mut [isize], others: &[isize], by: isize, gaps: bool) {
    let pairs = sums.iter_mut().zip(others);
    if gaps {
        return pairs.for_each(|(sum, &other)| {
            let nowhere = *sum == NOWHERE || other == NOWHERE;
            *sum = if nowhere { NOWHERE } else { sum.wrapping_add(other).wrapping_add(by) };
        });
    }
    let add = || pairs.for_each(|(sum, &other)| *sum = sum.wrapping_add(other).wrapping_add(by));
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if let Some(avx2) = Avx2::detect() {
        return avx2.call(add);
    }
    add();
}

/// Adds 0, `step`, twice `step`, ... to offsets, some of which with `gaps` select nothing.
#[inline(never)]
pub(in crate::memory) fn add_ramp(sums: &mut [isize], step: isize, gaps: bool) {
    if gaps {
        let mut by = 0_isize;
        for sum in sums {
            *sum = if *sum == NOWHERE { NOWHERE } else { sum.wrapping_add(by) };
            by = by.wrapping_add(step);
        }
        return;
    }
    let add = move || {
        let mut by = 0_isize;
        for sum in sums {
            *sum = sum.wrapping_add(by);
            by = by.wrapping_add(step);
        }
    };
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if let Some(avx2) = Avx2::detect() {
        return avx2.call(add);
    }
    add();
}
