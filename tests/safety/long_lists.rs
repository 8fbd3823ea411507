//! Lists of millions of axes and shifts, as arrays that are not one piece of
//! memory. Each item is looked up in constant time: were the list walked from
//! its start for each, as it once was, these would take an hour. So would arrays of
//! very many axes, were all looked at for each.

use ndarray::{Array1, Array3, ArrayD, ArrayView1, array, s};
use opkernels::{Error, GatherExt, IndexPlan, RollExt};

const MANY: usize = 2_000_000;

/// Item `k` of a list: a shift, and an axis of three.
fn item(k: usize) -> i64 {
    let k = (k % 7) as i64;
    k * k % 7 - 3
}

/// The same list in memory of every kind.
fn lists(check: impl Fn(&str, ListView<'_>)) {
    let list = Array1::from_shape_fn(MANY, item);
    check("in one piece", ListView::Line(list.view()));
    let mut backward = list.clone();
    backward.invert_axis(ndarray::Axis(0));
    let backward = backward.as_standard_layout().into_owned();
    check("backward", ListView::Line(backward.slice(s![..;-1])));
    let mut spread = Array1::zeros(3 * MANY);
    spread.slice_mut(s![1..;3]).assign(&list);
    check("in steps", ListView::Line(spread.slice(s![1..;3])));
    let cube = list.into_shape_with_order((100, 200, 100)).unwrap();
    let mut turned = Array3::zeros((100, 100, 200));
    turned.view_mut().permuted_axes([1, 2, 0]).assign(&cube);
    check("transposed", ListView::Cube(turned.view().permuted_axes([1, 2, 0])));
}

/// A list of one dimension or of three.
enum ListView<'a> {
    Line(ArrayView1<'a, i64>),
    Cube(ndarray::ArrayView3<'a, i64>),
}

#[test]
fn shifts_in_any_layout() {
    let data = array![[1, 2, 3, 4, 5], [6, 7, 8, 9, 10], [11, 12, 13, 14, 15]];
    let axes: Vec<i64> = (0..MANY).map(|k| (k % 2) as i64).collect();
    let total = |axis: usize| (axis..MANY).step_by(2).map(item).sum::<i64>();
    let expected = data.roll([total(0), total(1)], [0, 1]).unwrap();
    lists(|name, shifts| {
        let rolled = match shifts {
            ListView::Line(shifts) => data.roll(shifts, &axes),
            ListView::Cube(shifts) => data.roll(shifts, &axes),
        };
        assert_eq!(rolled.unwrap(), expected, "{name}");
    });
}

#[test]
fn axes_in_any_layout() {
    let data = Array3::from_shape_fn((2, 3, 11), |(i, j, k)| 100 * i + 10 * j + k);
    let count = |axis: i64| (0..MANY).filter(|&k| item(k).rem_euclid(3) == axis).count() as i64;
    let expected = data.roll([count(0), count(1), count(2)], [0, 1, 2]).unwrap();
    lists(|name, axes| {
        let rolled = match axes {
            ListView::Line(axes) => data.roll(1, axes),
            ListView::Cube(axes) => data.roll(1, axes),
        };
        assert_eq!(rolled.unwrap(), expected, "{name}");
    });
}

#[test]
fn arrays_of_many_axes() {
    const AXES: usize = 200_000;
    let mut shape = vec![1; AXES];
    (shape[7], shape[AXES - 7]) = (3, 2);
    let mut indices = ArrayD::from_elem(shape, -1_i64);
    let data = array![5, 6, 7];
    assert!(data.gather(&indices, 0).unwrap().iter().all(|element| *element == 7));
    let plan = IndexPlan::new(&indices, 3).unwrap();
    assert!(data.gather(&plan, 0).unwrap().iter().all(|element| *element == 7));
    let turned = indices.view().reversed_axes();
    assert_eq!(turned.roll(1, 0).unwrap(), turned);
    // Lists that have as many items as axes.
    let mut shape = vec![1; AXES];
    shape[7] = 2 * AXES;
    let list = ArrayD::from_elem(shape, 1_i64);
    let apart = list.slice_axis(ndarray::Axis(7), ndarray::Slice::new(0, None, 2));
    let line = Array1::from_iter(0..11);
    let expected = line.roll(AXES as i64, 0).unwrap();
    assert_eq!(line.roll(apart, vec![0; AXES]).unwrap(), expected);
    let mut position = vec![0; AXES];
    (position[7], position[AXES - 7]) = (2, 1);
    indices[&position[..]] = 3;
    let refused = Error::IndexOutOfBounds { index: 3, position, axis: 0, len: 3 };
    assert_eq!(data.gather(&indices, 0).unwrap_err(), refused);
    assert_eq!(IndexPlan::new(&indices, 3).unwrap_err(), refused);
}
