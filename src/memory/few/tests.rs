use ndarray::{ArrayD, ArrayRef, Dimension, array};

use super::*;
use crate::error::Error;
use crate::memory::copy::Transfer;

/// An index of `[1, 2]` selects along the second of two axes of `[2, 3]`.
const SELECTED: Range<usize> = 1..2;
const NAMED: Named<'_> = Named { batches: 0, selected: &SELECTED, entries: 1, lanes: false };

/// What `gather_few` answers; nothing where a call is left to a walk.
fn gather_into<D: Dimension, Q: Dimension, O: Dimension>(
    data: &ArrayRef<i32, D>,
    indices: &ArrayRef<i64, Q>,
    out: &mut ArrayRef<i32, O>,
    policy: Policy,
    named: Named<'_>,
) -> Option<Result<(), Refused>> {
    let mut answer = None;
    _ = Transfer::over(data, None, out, |transfer| {
        let done = transfer.gather_few(&Indices::of(indices), policy, named);
        answer = done.as_ref().map(|done| done.as_ref().map(|_| ()).map_err(|_| Refused));
        // Any error: there is no proof that the array is filled.
        done.and_then(Result::ok).ok_or(Error::AllocationFailed { bytes: 0 })
    });
    answer
}

fn gathered(named: Named<'_>, policy: Policy) -> Option<[[i32; 2]; 2]> {
    let (data, indices) = (array![[1, 2, 3], [4, 5, 6]], array![2_i64, -3]);
    let mut out = array![[0, 0], [0, 0]];
    gather_into(&data, &indices, &mut out, policy, named)?.ok()?;
    Some([[out[[0, 0]], out[[0, 1]]], [out[[1, 0]], out[[1, 1]]]])
}

#[test]
fn axes_that_do_not_fit_the_arrays_are_refused() {
    assert_eq!(gathered(NAMED, Policy::Refuse), Some([[3, 1], [6, 4]]));
    let others = [
        Named { batches: 1, ..NAMED },
        Named { batches: usize::MAX, ..NAMED },
        Named { entries: 0, ..NAMED },
        Named { entries: 0, lanes: true, ..NAMED },
        Named { selected: &(0..1), ..NAMED },
        Named { selected: &(0..2), ..NAMED },
        Named { selected: &(1..1), ..NAMED },
        Named { selected: &(2..3), ..NAMED },
        Named { selected: &(0..2), entries: 0, ..NAMED },
    ];
    for named in others {
        assert_eq!(gathered(named, Policy::Refuse), None, "{named:?}");
    }
}

/// Whether the arrays of these shapes are taken for few elements.
fn takes(named: Named<'_>, [data, indices, out]: [&[usize]; 3]) -> bool {
    let (data, indices) = (ArrayD::<i32>::zeros(data), ArrayD::<i64>::zeros(indices));
    let mut out = ArrayD::zeros(out);
    gather_into(&data, &indices, &mut out, Policy::Refuse, named).is_some()
}

/// Each of what must agree, alone: all other lengths, and the number of elements, are right.
#[test]
fn batches_numbers_and_lanes_agree() {
    let tuples = Named { batches: 0, selected: &(0..2), entries: 1, lanes: false };
    assert!(takes(tuples, [&[2, 3], &[2, 2], &[2]]));
    assert!(!takes(tuples, [&[2, 3], &[2, 1], &[2]]));
    let batches = Named { batches: 1, selected: &(1..2), entries: 2, lanes: false };
    assert!(takes(batches, [&[2, 3], &[2, 1], &[2, 1]]));
    assert!(!takes(batches, [&[2, 3], &[3, 1], &[2, 1]]));
    let lanes = Named { batches: 0, selected: &(0..1), entries: 1, lanes: true };
    assert!(takes(lanes, [&[3, 2], &[1, 2], &[1, 2]]));
    assert!(!takes(lanes, [&[3, 2], &[1, 3], &[1, 2]]));
    assert!(takes(lanes, [&[3, 3], &[1, 2], &[1, 2]]));
    let list = Named { batches: 0, selected: &(0..1), entries: 1, lanes: false };
    assert!(takes(list, [&[5], &[3], &[3]]));
    assert!(!takes(list, [&[5], &[3], &[2]]));
    assert!(!takes(list, [&[0], &[3], &[3]]));
    assert!(!takes(Named { entries: 0, ..list }, [&[5], &[3], &[3]]));
    assert!(!takes(Named { selected: &(0..0), ..list }, [&[5], &[3], &[3]]));
    // Indices that would have more lanes than the data.
    let wrong = Named { batches: 0, selected: &(1..2), entries: 1, lanes: true };
    assert!(!takes(wrong, [&[1, 1, 2], &[1, 2, 2], &[1, 1, 4]]));
}

#[test]
fn what_selects_nothing_is_left_to_a_walk() {
    assert!(gathered(NAMED, Policy::Wrap).is_some());
    assert_eq!(gathered(NAMED, Policy::Skip), gathered(NAMED, Policy::Refuse));
    let (data, indices) = (array![[1, 2, 3], [4, 5, 6]], array![2_i64, 3]);
    for (policy, left) in [(Policy::Skip, true), (Policy::Refuse, false)] {
        let mut out = array![[0, 0], [0, 0]];
        let done = gather_into(&data, &indices, &mut out, policy, NAMED);
        assert!(if left { done.is_none() } else { matches!(done, Some(Err(Refused))) });
        assert_eq!(out, array![[0, 0], [0, 0]]);
    }
}
