//! Validates the arguments of a roll, and computes the shift of each axis.

use smallvec::SmallVec;

use crate::arguments::{IntoAxes, IntoShifts, resolve_axis};
use crate::error::{Error, Result};

/// The shift of every axis of an array, modulo its length: for each `k`, adds `shifts[k]` to the
/// shift of axis `axes[k]`.
pub(super) fn shifts(
    shape: &[usize],
    shifts: &impl IntoShifts,
    axes: &impl IntoAxes,
) -> Result<SmallVec<[usize; 6]>> {
    let (mut shifts, axes) = (shifts.shift_list()?, axes.axis_list()?);
    let (shift_count, axis_count) = (shifts.len(), axes.len());
    if shift_count != 1 && shift_count != axis_count {
        return Err(Error::ShiftCountMismatch { shifts: shift_count, axes: axis_count });
    }
    let mut result: SmallVec<[usize; 6]> = SmallVec::new();
    result.resize(shape.len(), 0);
    // A slice, because each access to a `SmallVec` checks whether its elements are on the heap.
    let sums = &mut result[..];
    let mut shift = 0;
    for axis in axes {
        // A single shift is that of all axes.
        shift = shifts.next().unwrap_or(shift);
        let axis = resolve_axis(axis, shape.len())?;
        let len = shape[axis];
        if len == 0 {
            continue;
        }
        // The sum does not overflow, since both terms are reduced already, and so less than a
        // length, which is at most `isize::MAX`.
        let sum = sums[axis] + modulo(shift, len as i64);
        sums[axis] = if sum < len { sum } else { sum - len };
    }
    Ok(result)
}

/// A shift modulo the length of an axis: `shift.rem_euclid(len)`. Most shifts are less than the
/// length and need no division, which takes up a large part of the time of a small roll.
#[inline]
fn modulo(shift: i64, len: i64) -> usize {
    let shift = match shift {
        _ if (0..len).contains(&shift) => shift,
        _ if (-len..0).contains(&shift) => shift + len,
        _ => shift.rem_euclid(len),
    };
    shift as usize
}

#[cfg(test)]
mod tests {
    #[test]
    fn shifts_of_one_axis_add_up_without_overflow() {
        let shifts = super::shifts(&[10], &[i64::MAX, i64::MAX], &[0, -1]).unwrap();
        assert_eq!(shifts[..], [4]);
    }
}
