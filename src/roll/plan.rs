//! What a roll means: all checks.

use smallvec::SmallVec;

use crate::arguments::{IntoAxes, IntoShifts, resolve_axis};
use crate::error::{Error, Result};

/// The shift of every axis of an array, modulo its length.
pub(super) fn shifts(
    shape: &[usize],
    shifts: &impl IntoShifts,
    axes: &impl IntoAxes,
) -> Result<SmallVec<[usize; 6]>> {
    let (given, count) = (shifts.count(), axes.count());
    if given != 1 && given != count {
        return Err(Error::ShiftCountMismatch { shifts: given, axes: count });
    }
    let mut all: SmallVec<[usize; 6]> = SmallVec::new();
    all.resize(shape.len(), 0);
    // A `SmallVec` looks where its elements are each time that it is asked for one.
    let sums = &mut all[..];
    for at in 0..count {
        let axis = resolve_axis(axes.nth(at), shape.len())?;
        let len = shape[axis];
        if len == 0 {
            continue;
        }
        // Reduced before they are added, two shifts cannot overflow: a
        // length is at most `isize::MAX`.
        let sum = sums[axis] + modulo(shifts.nth(if given == 1 { 0 } else { at }), len as i64);
        sums[axis] = if sum < len { sum } else { sum - len };
    }
    Ok(all)
}

/// A shift modulo the length of an axis; most are less than it, and to divide
/// takes as long as much else of a small roll.
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
