//! Rolls of and into arrays of every layout, by every shift.

use ndarray::{Array, Array2, ArrayD, Axis, ShapeBuilder, Slice};
use opkernels::RollExt;

use crate::common::{Laid, Layout, Value, array_of, assert_same, here_and_on_pools, oracle};

/// Rolls in the three ways: returned, into an array and in place, the latter
/// two in this layout.
#[track_caller]
fn assert_rolled<A: Value>(data: &ArrayD<A>, shifts: &[i64], axes: &[i64], layout: &Layout) {
    let wide: Vec<i128> = axes.iter().map(|&axis| axis.into()).collect();
    let expected = oracle::roll(data, shifts, &wide).unwrap();
    let laid = Laid::new(data, layout.clone());
    assert_same(&laid.view().roll(shifts, axes).unwrap(), &expected);

    let before = Laid::new(&array_of(data.shape(), 2), layout.clone());
    let mut out = before.clone();
    data.roll_into(shifts, axes, &mut out.view_mut()).unwrap();
    assert_same(&out.view(), &expected);
    assert!(out.kept_its_margins(&before));

    let mut turned = laid.clone();
    turned.view_mut().roll_inplace(shifts, axes).unwrap();
    assert_same(&turned.view(), &expected);
    assert!(turned.kept_its_margins(&laid));
}

/// All shifts of all axes of a small array.
#[test]
fn every_shift_in_every_layout() {
    let data: ArrayD<u16> = array_of(&[3, 4, 2], 1);
    for layout in Layout::all(3) {
        for a in 0..3 {
            for b in -2..2 {
                for c in 0..2 {
                    assert_rolled(&data, &[a, b, c], &[0, 1, 2], &layout);
                }
            }
        }
    }
}

/// Data and out in all pairs of layouts.
#[test]
fn every_pair_of_layouts() {
    let data: ArrayD<i64> = array_of(&[3, 4, 2], 1);
    let expected = oracle::roll(&data, &[1, -1, 1], &[0, 1, 2]).unwrap();
    for from in Layout::all(3) {
        let data = Laid::new(&data, from);
        for to in Layout::all(3) {
            let before = Laid::new(&array_of(&[3, 4, 2], 2), to);
            let mut out = before.clone();
            data.view().roll_into([1, -1, 1], [0, 1, 2], &mut out.view_mut()).unwrap();
            assert_same(&out.view(), &expected);
            assert!(out.kept_its_margins(&before));
        }
    }
}

#[test]
fn strings_in_every_layout() {
    let data: ArrayD<String> = array_of(&[3, 5], 1);
    for layout in Layout::all(2) {
        assert_rolled(&data, &[1, 3], &[0, 1], &layout);
    }
}

/// Lengths that a kernel may treat in their own way, by every shift.
#[test]
fn lines_of_every_length() {
    for len in (0..20).chain([31, 32, 33, 63, 64, 65, 130]) {
        let bytes: ArrayD<u8> = array_of(&[len], 1);
        let elements: ArrayD<[u8; 3]> = array_of(&[len], 1);
        for shift in 0..=len as i64 {
            for layout in [Layout::standard(1), Layout::reversed(1), Layout::stepped(1)] {
                assert_rolled(&bytes, &[shift], &[0], &layout);
                assert_rolled(&elements, &[-shift], &[0], &layout);
            }
        }
    }
}

/// Many short rows that all turn in the same way.
#[test]
fn short_rows() {
    fn turned<A: Value>(lengths: std::ops::RangeInclusive<usize>) {
        for len in lengths {
            for rows in [255, 300] {
                let data: ArrayD<A> = array_of(&[rows, len], 1);
                for shift in (0..len).step_by(len / 8 + 1) {
                    let (head, tail) = data.view().split_at(Axis(1), len - shift);
                    let expected = ndarray::concatenate![Axis(1), tail, head];
                    assert_same(&data.roll(shift as i64, 1).unwrap(), &expected);
                    let mut turned = data.clone();
                    turned.roll_inplace(shift as i64, 1).unwrap();
                    assert_same(&turned, &expected);
                }
            }
        }
    }
    turned::<u8>(1..=66);
    turned::<u16>(1..=20);
    turned::<[u8; 3]>(1..=8);
    turned::<(u32, u8)>(2..=4);
    turned::<[f32; 8]>(2..=14);
    turned::<[u64; 9]>(2..=4);
    turned::<f64>(1..=9);
    turned::<u128>(2..=5);
}

/// Many tiny planes that turn along both of their axes in the same way, at places that turn too.
#[test]
#[cfg_attr(miri, ignore = "takes long")]
fn tiny_planes() {
    fn turned<A: Value>(planes: &[[usize; 2]]) {
        for &[rows, columns] in planes {
            let data: ArrayD<A> = array_of(&[2, 515, rows, columns], 1);
            for shifts in [[0, 0, 1, 1], [1, 400, -1, columns as i64 - 1]] {
                for layout in [Layout::standard(4), lines_apart()] {
                    assert_rolled(&data, &shifts, &[0, 1, 2, 3], &layout);
                }
            }
        }
    }
    turned::<u8>(&[[2, 2], [2, 3], [5, 3], [7, 9], [8, 8], [2, 33]]);
    turned::<u8>(&[[20, 3], [32, 16], [33, 16]]);
    turned::<u16>(&[[2, 2], [3, 2], [5, 6]]);
    turned::<[u8; 3]>(&[[2, 2], [3, 4], [2, 10]]);
    turned::<f32>(&[[2, 2], [3, 3], [5, 3], [2, 9], [16, 2]]);
    turned::<u64>(&[[2, 2], [4, 2], [2, 4], [3, 3]]);
}

/// Dense rows of every width and in few or many lines, which roll along all axes.
#[test]
#[cfg_attr(miri, ignore = "takes long")]
fn rows_of_every_width() {
    let shapes = [[1, 1, 3], [2, 3, 4], [2, 1, 70], [70, 1, 2], [3, 5, 3]];
    let widths = (1..=70).chain([127, 128, 129, 191, 193, 200, 201, 257]);
    for width in widths {
        for [a, b, c] in [shapes[width % 5], shapes[width / 5 % 5]] {
            let data: ArrayD<u8> = array_of(&[a, b, c, width], 1);
            let (a, b, c, width) = (a as i64, b as i64, c as i64, width as i64);
            for (outer, line, row) in [(0, 1, 1), (0, c - 1, width / 2), (a / 2, 2, width - 1)] {
                let shifts = [outer, b / 2, line, row];
                assert_rolled(&data, &shifts, &[0, 1, 2, 3], &Layout::standard(4));
            }
            // Beside a gap, lines do not follow each other.
            assert_rolled(&data, &[1, 1, 1], &[0, 2, 3], &lines_apart());
        }
    }
}

/// Short rows that turn where they are, in lines with gaps between them: what is lifted at a time
/// ends where a line does.
#[test]
fn short_rows_of_lines_apart() {
    for (lines, rows, width) in [(1, 300, 5), (3, 5, 3), (4, 7, 9), (5, 3, 40), (3, 500, 33)] {
        let data: ArrayD<u8> = array_of(&[2, lines, rows, width], 1);
        for shift in [1, width as i64 / 2] {
            assert_rolled(&data, &[shift], &[3], &lines_apart());
        }
    }
}

/// Rows that follow each other in lines that do not.
fn lines_apart() -> Layout {
    let mut layout = Layout::standard(4);
    layout.steps[1] = 2;
    layout
}

/// Rows that are sent on along several axes, whose lengths have common
/// divisors with the shifts and with each other.
#[test]
fn cycles_of_rows() {
    let data: ArrayD<u32> = array_of(&[6, 4, 9, 3], 1);
    for shifts in [[2, 2, 3, 0], [3, 2, 6, 1], [4, 1, 3, 0], [0, 2, 5, 2], [3, 3, 3, 0]] {
        assert_rolled(&data, &shifts, &[0, 1, 2, 3], &Layout::standard(4));
        assert_rolled(&data, &shifts, &[0, 1, 2, 3], &Layout::mixed(4));
        assert_rolled(&data, &shifts, &[3, 2, 1, 0], &Layout::transposed(4));
    }
}

/// Rows longer than the pieces in which they are moved, and lines longer than
/// what is lifted out of them.
#[test]
#[cfg_attr(miri, ignore = "100,000 elements take minutes")]
fn long_rows() {
    let data = Array2::from_shape_fn((5, 20_000), |(i, j)| (i * 20_000 + j) as u32);
    for (shift, along) in [(2, 0), (7_000, 1), (-3, 1)] {
        let len = data.shape()[along];
        let cut = Axis(along);
        let by = i64::rem_euclid(shift, len as i64) as usize;
        let (head, tail) = data.view().split_at(cut, len - by);
        let expected = ndarray::concatenate![cut, tail, head];
        assert_eq!(data.roll(shift, cut).unwrap(), expected);
        let mut turned = data.clone();
        turned.roll_inplace(shift, cut).unwrap();
        assert_eq!(turned, expected);
    }
    let line = Array::from_iter(0..3_000_000_u32);
    for shift in [1_000_000, -5, 1_499_999] {
        let mut turned = line.clone();
        turned.roll_inplace(shift, 0).unwrap();
        let mut expected = line.clone().into_raw_vec_and_offset().0;
        expected.rotate_right(i64::rem_euclid(shift, 3_000_000) as usize);
        assert_eq!(turned.as_slice().unwrap(), expected);
        assert_eq!(line.roll(shift, 0).unwrap(), turned);
    }
}

/// Few long rows, which several threads share.
#[test]
#[cfg_attr(miri, ignore = "a million elements take minutes")]
fn rows_that_threads_share() {
    let line = Array::from_iter(0..1_000_000_u32);
    for shift in [5, -5, 500_000] {
        let mut expected = line.to_vec();
        expected.rotate_right(i64::rem_euclid(shift, 1_000_000) as usize);
        let rolled = here_and_on_pools(|| {
            let mut turned = line.clone();
            turned.roll_inplace(shift, 0).unwrap();
            turned
        });
        for turned in rolled {
            assert_eq!(turned.as_slice().unwrap(), expected);
        }
    }
}

/// An out that is a part of a larger array: nothing else of it changes.
#[test]
fn a_window_of_a_picture() {
    let window: Array2<u8> = array_of(&[3, 4], 1).into_dimensionality().unwrap();
    let mut picture = Array2::from_elem((7, 9), 255_u8);
    window.roll_into(1, 1, &mut picture.slice_mut(ndarray::s![2..5, 3..7])).unwrap();
    let mut expected = Array2::from_elem((7, 9), 255_u8);
    for ((i, j), &element) in window.indexed_iter() {
        expected[[2 + i, 3 + (j + 1) % 4]] = element;
    }
    assert_eq!(picture, expected);
    picture.slice_mut(ndarray::s![2..5, 3..7]).roll_inplace(-1, 1).unwrap();
    expected.slice_mut(ndarray::s![2..5, 3..7]).assign(&window);
    assert_eq!(picture, expected);
}

/// The result lies in memory as its input does, where that has no gaps.
#[test]
fn result_layouts() {
    let rows = Array2::<f32>::zeros((3, 4));
    let columns = Array2::<f32>::zeros((3, 4).f());
    assert_eq!(rows.roll(1, 0).unwrap().strides(), [4, 1]);
    assert_eq!(columns.roll(1, 0).unwrap().strides(), [1, 3]);
    let cube = Array::<f32, _>::zeros((2, 3, 4)).permuted_axes([1, 2, 0]);
    assert_eq!(cube.roll([1, 1], [0, 2]).unwrap().strides(), cube.strides());
    let mut gaps = columns.view();
    gaps.slice_axis_inplace(Axis(0), Slice::new(0, None, 2));
    assert!(gaps.roll(1, 0).unwrap().is_standard_layout());
    let line = Array::<f32, _>::zeros(4);
    assert!(line.broadcast((3, 4)).unwrap().roll(1, 0).unwrap().is_standard_layout());
}

#[test]
fn broadcast_data() {
    let line = Array::from_iter(0..5_i16);
    let data = line.broadcast((3, 5)).unwrap();
    let expected = ndarray::array![[3, 4, 0, 1, 2], [3, 4, 0, 1, 2], [3, 4, 0, 1, 2]];
    assert_eq!(data.roll([2, 2], [0, 1]).unwrap(), expected);
    let mut out = Array2::<i16>::zeros((3, 5));
    data.roll_into([2, 2], [0, 1], &mut out).unwrap();
    assert_eq!(out, expected);
}

/// Short rows and tiny planes, of which rolls in place move many at once: planes that are contiguous, in
/// rows apart, in arrays apart; the axes around them turn, too, or stay.
#[test]
fn short_rows_in_place() {
    fn check<A: Value>() {
        let (row, both, all) = (&[1_i64][..], &[1, 2][..], &[3, 1, 2][..]);
        let shapes: [(&[usize], &[i64], &[i64]); 11] = [
            (&[3000, 3], row, &[1]),
            (&[3000, 3], &[1234, 1], &[0, 1]),
            (&[1100, 17], &[-1, 16], &[0, 1]),
            (&[130, 40], &[64, 7], &[0, 1]),
            (&[1500, 2, 2], row, &[2]),
            (&[1500, 2, 2], &[1, 1], &[1, 2]),
            (&[700, 3, 3], all, &[0, 1, 2]),
            (&[90, 7, 9], both, &[1, 2]),
            (&[20, 40, 11], &[5, 8], &[0, 2]),
            (&[6, 30, 2, 5], &[2, 1, 4], &[1, 2, 3]),
            (&[3, 600, 4], &[1, 300, 1], &[0, 1, 2]),
        ];
        for (shape, shifts, axes) in shapes {
            let data = array_of::<A>(shape, 5);
            let mut layouts = vec![Layout::standard(shape.len())];
            layouts.extend([1, 2, 5, 9].map(|number| Layout::from_number(shape.len(), number)));
            for layout in layouts {
                assert_rolled(&data, shifts, axes, &layout);
            }
        }
    }
    check::<u8>();
    check::<u16>();
    check::<f32>();
    check::<[u8; 3]>();
    check::<u128>();
}
