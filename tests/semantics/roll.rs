//! Decisions about roll.

use std::sync::atomic::{AtomicUsize, Ordering};

use ndarray::{Array, Array1, Array2, ShapeBuilder, arr0, array, s};
use opkernels::{Error, RollExt};

/// One integer, or one for each axis; a single one goes to every axis.
#[test]
fn shifts() {
    let data = array![[1, 2, 3], [4, 5, 6]];
    let both = array![[6, 4, 5], [3, 1, 2]];
    assert_eq!(data.roll(1, [0, 1]).unwrap(), both);
    assert_eq!(data.roll([1], [0, 1]).unwrap(), both);
    assert_eq!(data.roll([1, 1], [0, 1]).unwrap(), both);
    for (shifts, axes) in [(vec![1, 1], vec![0]), (vec![], vec![0]), (vec![1; 3], vec![0, 1])] {
        let refused = Error::ShiftCountMismatch { shifts: shifts.len(), axes: axes.len() };
        assert_eq!(data.roll(&shifts, &axes).unwrap_err(), refused);
    }
}

/// Shifts of one axis, under both its numbers, add up.
#[test]
fn repeated_axis() {
    let data = array![[1, 2, 3], [4, 5, 6]];
    assert_eq!(data.roll([1, 1], [1, -1]).unwrap(), data.roll(2, 1).unwrap());
    assert_eq!(data.roll([1, 5, -3], [-1, 1, 1]).unwrap(), data);
    assert_eq!(data.roll(1, [0, -2]).unwrap(), data);
    let line = Array1::from_iter(0..10);
    // i64::MAX is 7 modulo 10, and 14 is 4.
    assert_eq!(line.roll([i64::MAX, i64::MAX], [0, 0]).unwrap(), line.roll(4, 0).unwrap());
    let mut turned = line.clone();
    turned.roll_inplace([i64::MIN, i64::MIN, i64::MAX], [0, -1, 0]).unwrap();
    // i64::MIN is 2 modulo 10.
    assert_eq!(turned, line.roll(2 + 2 + 7, 0).unwrap());
}

/// All of i64, modulo the length; of length 0 nothing happens.
#[test]
fn shift_range() {
    let line = Array1::from_iter(0..7_i64);
    for shift in [i64::MIN, i64::MIN + 1, -8, -7, -1, 0, 6, 7, 15, i64::MAX - 1, i64::MAX] {
        let from = |i: i64| (i128::from(i) - i128::from(shift)).rem_euclid(7) as i64;
        assert_eq!(line.roll(shift, 0).unwrap(), line.mapv(from));
    }
    let empty = Array2::<u8>::zeros((0, 2));
    assert_eq!(empty.roll(i64::MIN, [0, 1]).unwrap(), empty);
    let mut turned = empty.clone();
    turned.roll_inplace(3, 0).unwrap();
    assert_eq!(turned, empty);
}

static CLONES: AtomicUsize = AtomicUsize::new(0);

#[derive(Debug, PartialEq)]
struct Counted(Box<usize>);

impl Clone for Counted {
    fn clone(&self) -> Self {
        CLONES.fetch_add(1, Ordering::Relaxed);
        Counted(self.0.clone())
    }
}

/// One pass: every element is cloned once, however many axes are rolled, and
/// not at all in place.
#[test]
fn several_axes() {
    let data = Array::from_shape_fn((3, 4, 5), |(i, j, k)| Counted(Box::new(20 * i + 5 * j + k)));
    let output = data.roll([1, 2, 3], [0, 1, 2]).unwrap();
    assert_eq!(CLONES.swap(0, Ordering::Relaxed), data.len());
    let expected = Array::from_shape_fn((3, 4, 5), |(i, j, k)| {
        Counted(Box::new(20 * ((i + 2) % 3) + 5 * ((j + 2) % 4) + (k + 2) % 5))
    });
    assert_eq!(output, expected);
    let mut turned = data;
    turned.roll_inplace([1, 2, 3], [0, 1, 2]).unwrap();
    assert_eq!(CLONES.load(Ordering::Relaxed), 0);
    assert_eq!(turned, expected);
}

/// An unchanged copy.
#[test]
fn no_axes() {
    let none: [i32; 0] = [];
    let data = array![[1, 2, 3], [4, 5, 6]];
    assert_eq!(data.roll(none, none).unwrap(), data);
    assert_eq!(data.roll(4, none).unwrap(), data);
    assert_eq!(arr0(3).roll(4, none).unwrap(), arr0(3));
    let mut out = Array2::<i32>::zeros((2, 3));
    data.roll_into(none, none, &mut out).unwrap();
    assert_eq!(out, data);
}

/// That of the input where it is contiguous in some order of axes, else
/// standard.
#[test]
fn result_layout() {
    let columns = Array2::<f32>::zeros((3, 4).f());
    assert_eq!(columns.roll(1, 0).unwrap().strides(), [1, 3]);
    let turned = Array::<f32, _>::zeros((2, 3, 4)).permuted_axes([2, 0, 1]);
    assert_eq!(turned.roll([1, 1], [0, 1]).unwrap().strides(), turned.strides());
    let gaps = turned.slice(s![..;2, .., ..]);
    assert_eq!(gaps.roll(1, 0).unwrap().strides(), [6, 3, 1]);
    let repeated = turned.broadcast((5, 4, 2, 3)).unwrap();
    assert_eq!(repeated.roll(1, 0).unwrap().strides(), [24, 6, 3, 1]);
}
