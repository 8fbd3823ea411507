//! Every form of an operation, with the same input and the same answer.

use ndarray::{ArrayD, ArrayViewD};
use opkernels::{
    Error, Gather, GatherExt, IntoAxes, IntoAxis, IntoShifts, Result, RollExt, ScatterArgument,
    ScatterElements, ScatterElementsExt,
};

use crate::common::{Index, Laid, Layout, Reduce, Value, array_of, assert_same};

/// Something to write into, of this shape and in several layouts.
fn targets<A: Value>(contents: &ArrayD<A>) -> Vec<Laid<A>> {
    let rank = contents.ndim();
    [Layout::standard(rank), Layout::reversed(rank), Layout::stepped(rank)]
        .map(|layout| Laid::new(contents, layout))
        .into()
}

#[track_caller]
fn assert_answer<A: Value>(actual: Result<ArrayD<A>>, expected: &Result<ArrayD<A>>) {
    match (actual, expected) {
        (Ok(actual), Ok(expected)) => assert_same(&actual, expected),
        (Err(actual), Err(expected)) => assert_eq!(&actual, expected),
        (actual, expected) => panic!("{actual:?} instead of {expected:?}"),
    }
}

/// A target holds the expected result after success and what it held before
/// after an error; around it nothing has changed.
#[track_caller]
fn assert_target<A: Value>(
    target: &Laid<A>,
    before: &Laid<A>,
    done: Result<()>,
    expected: &Result<ArrayD<A>>,
) {
    assert!(target.kept_its_margins(before), "written beside the target");
    if done.is_err() {
        assert_same(&target.contents(), &before.contents());
    }
    assert_answer(done.map(|()| target.contents()), expected);
}

/// A gather with attributes; `out` is the shape to gather into.
#[track_caller]
pub(super) fn gather_with<A: Value, I: Index>(
    data: &ArrayViewD<'_, A>,
    indices: &ArrayViewD<'_, I>,
    attributes: &Gather<A>,
    out: &[usize],
    expected: &Result<ArrayD<A>>,
) {
    assert_answer(data.gather_with(indices, attributes.clone()), expected);
    for before in targets(&array_of(out, 5)) {
        let mut target = before.clone();
        let done = data.gather_into(indices, attributes.clone(), &mut target.view_mut());
        assert_target(&target, &before, done, expected);
    }
}

/// A gather that only an axis describes.
#[track_caller]
pub(super) fn gather<A: Value, I: Index>(
    data: &ArrayViewD<'_, A>,
    indices: &ArrayViewD<'_, I>,
    axis: impl IntoAxis,
    out: &[usize],
    expected: &Result<ArrayD<A>>,
) {
    assert_answer(data.gather(indices, axis), expected);
    gather_with(data, indices, &Gather::along(axis), out, expected);
}

/// A roll.
#[track_caller]
pub(super) fn roll<A: Value>(
    data: &ArrayD<A>,
    shifts: impl IntoShifts,
    axes: impl IntoAxes,
    expected: &Result<ArrayD<A>>,
) {
    assert_answer(data.roll(&shifts, &axes), expected);
    for before in targets(&array_of(data.shape(), 5)) {
        let mut target = before.clone();
        let done = data.roll_into(&shifts, &axes, &mut target.view_mut());
        assert_target(&target, &before, done, expected);
    }
    for before in targets(data) {
        let mut target = before.clone();
        let done = target.view_mut().roll_inplace(&shifts, &axes);
        assert_target(&target, &before, done, expected);
    }
}

fn scatter_inplace<A: Value, I: Index>(
    data: &ArrayD<A>,
    indices: &ArrayViewD<'_, I>,
    updates: &ArrayViewD<'_, A>,
    attributes: impl ScatterArgument<A> + Copy,
    expected: &Result<ArrayD<A>>,
) {
    for before in targets(data) {
        let mut target = before.clone();
        let mut view = target.view_mut();
        let done = view.scatter_elements_inplace(indices, updates, attributes);
        assert_target(&target, &before, done, expected);
    }
}

/// A scatter that overwrites.
#[track_caller]
pub(super) fn scatter<A: Value, I: Index>(
    data: &ArrayD<A>,
    indices: &ArrayViewD<'_, I>,
    updates: &ArrayViewD<'_, A>,
    axis: impl IntoAxis,
    expected: &Result<ArrayD<A>>,
) {
    assert_answer(data.scatter_elements(indices, updates, axis), expected);
    scatter_inplace(data, indices, updates, axis, expected);
}

/// A scatter with attributes.
#[track_caller]
pub(super) fn scatter_with<A: Reduce, I: Index>(
    data: &ArrayD<A>,
    indices: &ArrayViewD<'_, I>,
    updates: &ArrayViewD<'_, A>,
    attributes: ScatterElements,
    expected: &Result<ArrayD<A>>,
) {
    assert_answer(data.scatter_elements_with(indices, updates, attributes), expected);
    scatter_inplace(data, indices, updates, attributes, expected);
}

/// An index out of bounds.
pub(super) fn outside<T>(index: i128, position: &[usize], axis: usize, len: usize) -> Result<T> {
    Err(Error::IndexOutOfBounds { index, position: position.to_vec(), axis, len })
}
