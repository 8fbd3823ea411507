//! Resolves indices of several numbers: the offsets of an index's numbers are summed.

use super::{Indices, Lane, NOWHERE};
use crate::index::Policy;
use crate::memory::buffer::Buffer;
use crate::memory::cpu::widely;
use crate::memory::refused::Refused;
use crate::memory::walk::Component;

impl Indices<'_> {
    /// Appends to `offsets` what each of `count` indices selects: the sum of the offsets of its
    /// numbers, one number for each component. The first index is `at` bytes after the start of the
    /// array, each other one `step` bytes after the one before. `scratch` is overwritten.
    ///
    /// Returns whether some indices select nothing.
    ///
    /// # Safety
    /// All numbers of these indices are elements of this array.
    #[allow(unsafe_code)]
    #[inline(always)]
    pub(in crate::memory) unsafe fn resolve_all(
        &self,
        (at, step): (isize, isize),
        count: usize,
        components: &[Component],
        policy: Policy,
        offsets: &mut Buffer<'_>,
        scratch: &mut Buffer<'_>,
    ) -> Result<bool, Refused> {
        let Some((first, rest)) = components.split_first() else {
            offsets.extend_ramp(count, 0, 0);
            return Ok(false);
        };
        #[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
        if !rest.is_empty() {
            // SAFETY: the caller's promise.
            let resolved = unsafe {
                self.resolve_tuples(self.lane(at, step), count, components, policy, offsets)
            };
            if let Some(inside) = resolved {
                return match policy {
                    Policy::Refuse if !inside => Err(Refused),
                    Policy::Skip => Ok(!inside),
                    Policy::Refuse | Policy::Clip | Policy::Wrap => Ok(false),
                };
            }
        }
        let lane =
            |component: &Component| -> Lane { self.lane(at.wrapping_add(component.at), step) };
        // SAFETY: the caller's promise; `resolve` writes every slot.
        let mut inside = unsafe {
            offsets.extend(count, |slots| self.resolve(lane(first), first, policy, slots))
        };
        for component in rest {
            scratch.clear();
            // SAFETY: as above.
            inside &= unsafe {
                scratch
                    .extend(count, |slots| self.resolve(lane(component), component, policy, slots))
            };
            let sums = offsets.values_mut();
            let start = sums.len() - count;
            add(&mut sums[start..], scratch.values(), 0, policy == Policy::Skip);
        }
        if !inside && policy == Policy::Refuse { Err(Refused) } else { Ok(!inside) }
    }
}

/// `sums[k] += others[k] + by` for each `k`. If `gaps`, either offset may be [`NOWHERE`], and then
/// so is the sum.
#[inline(never)]
pub(in crate::memory) fn add(sums: &mut [isize], others: &[isize], by: isize, gaps: bool) {
    let pairs = sums.iter_mut().zip(others);
    if gaps {
        return pairs.for_each(|(sum, &other)| {
            let nowhere = *sum == NOWHERE || other == NOWHERE;
            *sum = if nowhere { NOWHERE } else { sum.wrapping_add(other).wrapping_add(by) };
        });
    }
    widely(|| pairs.for_each(|(sum, &other)| *sum = sum.wrapping_add(other).wrapping_add(by)));
}

/// `sums[k] += k * step` for each `k`. If `gaps`, some offsets may be [`NOWHERE`], and stay so.
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
    widely(move || {
        let mut by = 0_isize;
        for sum in sums {
            *sum = sum.wrapping_add(by);
            by = by.wrapping_add(step);
        }
    });
}
