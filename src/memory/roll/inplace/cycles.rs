//! The cycles of a permutation of rows, and positions on them.

use smallvec::SmallVec;

use crate::memory::cpu::gcd;
use crate::memory::roll::RolledAxis;

/// The cycles of the permutation of rows by the shifts of the axes outside them. All have the
/// same length.
pub(super) struct Cycles {
    /// For each axis, the number of positions at which a cycle begins. Each cycle has exactly one
    /// row whose position is less than this along every axis: its leader.
    pub(super) leaders: SmallVec<[usize; 6]>,
    /// Number of rows in a cycle.
    pub(super) len: usize,
}

impl Cycles {
    pub(super) fn new(axes: &[RolledAxis]) -> Self {
        // After `len` steps, the length of a cycle along the axes so far, these axes are back at
        // their first positions, and the next axis has moved on by `step`.
        let mut len = 1;
        let leaders = axes.iter().map(|axis| {
            let step = (axis.shift as u128 * len as u128 % axis.len as u128) as usize;
            let leaders = gcd(axis.len, step);
            len *= axis.len / leaders;
            leaders
        });
        Cycles { leaders: leaders.collect(), len }
    }
}

/// The position of a row: an odometer over the axes outside the rows.
pub(super) struct RowPosition<'a> {
    axes: &'a [RolledAxis],
    counters: SmallVec<[usize; 6]>,
    /// The row's offset in bytes.
    pub(super) offset: isize,
}

impl<'a> RowPosition<'a> {
    /// The leader of cycle number `number`.
    pub(super) fn new(axes: &'a [RolledAxis], cycles: &Cycles, number: usize) -> Self {
        let mut position =
            RowPosition { axes, counters: SmallVec::from_elem(0, axes.len()), offset: 0 };
        let mut rest = number;
        for (k, &leaders) in cycles.leaders.iter().enumerate().rev() {
            position.counters[k] = rest % leaders;
            position.offset += position.counters[k] as isize * axes[k].to_stride;
            rest /= leaders;
        }
        position
    }

    /// Steps to the position whose row moves to the present one.
    #[inline]
    pub(super) fn step_to_source(&mut self) {
        for (counter, axis) in self.counters.iter_mut().zip(self.axes) {
            let source = if *counter < axis.shift { *counter + axis.len } else { *counter };
            let source = source - axis.shift;
            self.offset += (source as isize - *counter as isize) * axis.to_stride;
            *counter = source;
        }
    }
}
