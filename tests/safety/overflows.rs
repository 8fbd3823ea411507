//! Lengths and strides whose products no integer holds, in arrays that ndarray
//! permits. Where overflow is checked, as in debug builds, none may happen.

use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2, Axis, ShapeBuilder, arr0, array};
use opkernels::{
    Error, Gather, GatherExt, OutOfBounds, RollExt, Scatter, ScatterElements, ScatterElementsExt,
    ScatterExt,
};

use crate::common::{REDUCTIONS, settled};

/// An eighth of all numbers: 2^61 where they have 64 bits.
const FAR: usize = 1 << (usize::BITS - 3);

/// Bytes of so many indices are no number.
#[test]
fn far_more_indices_than_addresses() {
    let (index, update) = (array![-9_i64], array![1]);
    for shape in [&[FAR][..], &[3, FAR]] {
        let axis = shape.len() - 1;
        let before = Array1::from_elem(3, 5).into_dyn();
        let before = before.broadcast(vec![3; shape.len()]).unwrap().to_owned();
        let (indices, updates) =
            (index.broadcast(shape).unwrap(), update.broadcast(shape).unwrap());
        for (reduction, init) in REDUCTIONS.into_iter().flat_map(|r| [(r, true), (r, false)]) {
            let attributes =
                ScatterElements::along(Axis(axis)).reduction(reduction).use_init_val(init);
            let mut target = before.clone();
            let in_place = target.scatter_elements_inplace(&indices, &updates, attributes);
            let copied = before.scatter_elements_with(&indices, &updates, attributes);
            for error in [in_place.unwrap_err(), copied.unwrap_err()] {
                // A mean may ask for its work memory first.
                let refused = matches!(
                    error,
                    Error::IndexOutOfBounds { index: -9, .. } | Error::AllocationFailed { .. }
                );
                assert!(refused, "{reduction}: {error}");
            }
            assert_eq!(target, before);
        }
    }
}

/// An axis of length 1 may have any stride.
const STRIDES: [usize; 3] = [FAR, 2 * FAR, isize::MAX as usize];

/// Four elements with such a stride from row to row and from column to column,
/// and with gaps or without.
fn shapes(stride: usize) -> [(Shape, Shape); 4] {
    [((1, 4), (stride, 1)), ((4, 1), (1, stride)), ((1, 4), (stride, 2)), ((4, 1), (2, stride))]
}
type Shape = (usize, usize);

fn view(elements: &[f64], (shape, strides): (Shape, Shape)) -> ArrayView2<'_, f64> {
    ArrayView2::from_shape(shape.strides(strides), elements).expect("ndarray permits it")
}

fn view_mut(elements: &mut [f64], (shape, strides): (Shape, Shape)) -> ArrayViewMut2<'_, f64> {
    ArrayViewMut2::from_shape(shape.strides(strides), elements).expect("ndarray permits it")
}

const ELEMENTS: [f64; 8] = [1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5];

#[test]
fn axes_of_length_1_with_any_stride() {
    for laid in STRIDES.into_iter().flat_map(shapes) {
        {
            let far = view(&ELEMENTS, laid);
            let near = far.to_owned();
            let near = near.as_standard_layout();
            for axis in [0, 1] {
                assert_gathered(&far, &near.view(), axis);
                let shifts = [3 - axis, axis + 1];
                assert_eq!(far.roll(3, axis), near.roll(3, axis));
                assert_eq!(far.roll(shifts, [0, 1]), near.roll(shifts, [0, 1]));
                let expected = near.roll(shifts, [0, 1]).unwrap();
                let mut buffer = ELEMENTS;
                let mut out = view_mut(&mut buffer, laid);
                far.roll_into(shifts, [0, 1], &mut out).unwrap();
                assert_eq!(out, expected);
                out.assign(&near);
                out.roll_inplace(shifts, [0, 1]).unwrap();
                assert_eq!(out, expected);
            }
        }
    }
}

fn assert_gathered(far: &ArrayView2<'_, f64>, near: &ArrayView2<'_, f64>, axis: i64) {
    for indices in [&[0_i64, -1, 0][..], &[0]] {
        assert_eq!(far.gather(indices, axis), near.gather(indices, axis));
        let fill = Gather::along(axis).out_of_bounds(OutOfBounds::Fill(0.5));
        assert_eq!(far.gather_with(&[7, 0], fill), near.gather_with(&[7, 0], fill));
        let clip = Gather::along(axis).out_of_bounds(OutOfBounds::Clip);
        let expected = near.gather_with(indices, clip).unwrap();
        let mut out = expected.clone();
        out.fill(0.0);
        far.gather_into(indices, clip, &mut out).unwrap();
        assert_eq!(out, expected);
    }
    let batched = Gather::along(1).batch_dims(1);
    let indices = Array2::<i8>::zeros((near.nrows(), 2));
    assert_eq!(far.gather_with(&indices, batched), near.gather_with(&indices, batched));
}

#[test]
fn scatters_along_axes_of_length_1_with_any_stride() {
    for laid in STRIDES.into_iter().flat_map(shapes) {
        {
            let far = view(&ELEMENTS, laid);
            let indices = Array2::<i64>::zeros(far.dim());
            for (axis, reduction) in [0, 1].into_iter().flat_map(|k| REDUCTIONS.map(|r| (k, r))) {
                for init in [true, false] {
                    let attributes =
                        ScatterElements::along(axis).reduction(reduction).use_init_val(init);
                    let near = far.to_owned();
                    let expected = near.scatter_elements_with(&indices, &near, attributes).unwrap();
                    let expected = settled(reduction, &expected);
                    assert_eq!(
                        far.scatter_elements_with(&indices, &far, attributes).unwrap(),
                        expected
                    );
                    let mut buffer = ELEMENTS;
                    let mut target = view_mut(&mut buffer, laid);
                    target.scatter_elements_inplace(&indices, &far, attributes).unwrap();
                    assert_eq!(target, expected, "{reduction}");
                }
            }
        }
    }
}

/// Elements without a size may be as far apart as numbers go. Each operation
/// has a test of its own, whose views these are.
const NOTHINGS: [(Shape, usize); 4] =
    [((2, 3), 2 * FAR), ((3, 2), FAR), ((7, 2), FAR / 2), ((2, 1), isize::MAX as usize - 1)];

fn nothings(run: impl Fn(ArrayView2<'_, ()>, ArrayViewMut2<'_, ()>)) {
    let (one, mut other) = (vec![(); isize::MAX as usize], vec![(); isize::MAX as usize]);
    for (shape, stride) in NOTHINGS {
        let far = || shape.strides((stride, 1));
        let out = ArrayViewMut2::from_shape(far(), &mut other[..]).unwrap();
        run(ArrayView2::from_shape(far(), &one[..]).unwrap(), out);
    }
}

#[test]
fn nothings_far_apart_rolled() {
    nothings(|view, mut out| {
        for axis in [0, 1] {
            assert_eq!(view.roll(1, axis).unwrap().dim(), view.dim());
            view.roll_into([1, 1], [0, 1], &mut out).unwrap();
            view.roll_into(1, axis, &mut out).unwrap();
        }
    });
}

#[test]
fn nothings_far_apart_rolled_in_place() {
    nothings(|_, mut out| {
        out.roll_inplace([1, -1], [0, 1]).unwrap();
        out.roll_inplace(1, 0).unwrap();
        out.roll_inplace(1, 1).unwrap();
    });
}

#[test]
fn nothings_far_apart_gathered() {
    nothings(|view, mut out| {
        for axis in [0, 1] {
            let len = view.len_of(Axis(axis));
            let gathered = view.gather(&[-1, 0, 0], Axis(axis)).unwrap();
            assert_eq!(gathered.len_of(Axis(axis)), 3);
            view.gather_into(&vec![0; len], Axis(axis), &mut out).unwrap();
        }
        let batched = Gather::along(1).batch_dims(1);
        view.gather_into(&Array2::<i64>::zeros(view.dim()), batched, &mut out).unwrap();
    });
}

#[test]
fn nothings_far_apart_scattered() {
    nothings(|view, mut out| {
        let indices = Array2::<i64>::zeros(view.dim());
        for axis in [0, 1] {
            let scattered = view.scatter_elements(&indices, &view, axis).unwrap();
            assert_eq!(scattered.dim(), view.dim());
            out.scatter_elements_inplace(&indices, &view, axis).unwrap();
        }
    });
}

/// A row of one update for all targets has more bytes than a number holds. The index selects nothing, so
/// that the row is not visited.
#[test]
fn one_wide_update_for_far_too_many_targets() {
    let len = FAR / 2;
    let mut cells = vec![(); len];
    let mut target = ArrayViewMut2::from_shape((1, len), &mut cells[..]).unwrap();
    let skip = Scatter::along(0).out_of_bounds(OutOfBounds::Skip);
    target.scatter_fold(&[5], &arr0([0_u64; 4]), skip, |(), _| {}).unwrap();
    target.scatter_fold(&[5, 5], &arr0([0_u64; 4]), skip, |(), _| {}).unwrap();
}
