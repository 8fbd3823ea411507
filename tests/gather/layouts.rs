//! Gathers between arrays of every layout, and rows of every length.

use ndarray::{Array, Array1, Array2, ArrayD, Axis, Ix3, ShapeBuilder, s};
use opkernels::{Error, Gather, GatherElements, GatherElementsExt, GatherExt, OutOfBounds};

use crate::common::oracle::Kind;
use crate::common::{Index, Laid, Layout, Numbers, Value, array_of, assert_same, oracle};

/// Data, indices and out in all pairs of layouts.
#[test]
fn every_layout_of_data_indices_and_out() {
    let data: ArrayD<u16> = array_of(&[2, 4, 3], 1);
    let wide = ArrayD::from_shape_fn(vec![3, 2], |i| (i[0] * 2 + i[1]) as i128 - 2);
    let indices = i32::from_wide(&wide);
    let expected = oracle::gather(&data, &wide, 1, 0, &OutOfBounds::Error).unwrap();
    for data_layout in Layout::all(3) {
        let data = Laid::new(&data, data_layout);
        for indices_layout in Layout::all(2) {
            let indices = Laid::new(&indices, indices_layout);
            let output = data.view().gather(&indices.view(), 1).unwrap();
            assert_same(&output, &expected);
            assert!(output.is_standard_layout());
            for out_layout in Layout::all(4) {
                let before = Laid::new(&array_of(expected.shape(), 2), out_layout);
                let mut out = before.clone();
                data.view()
                    .gather_into(&indices.view(), Gather::along(1), &mut out.view_mut())
                    .unwrap();
                assert_same(&out.view(), &expected);
                assert!(out.kept_its_margins(&before));
            }
        }
    }
}

/// Strings go another way than numbers.
#[test]
fn every_layout_of_an_out_of_strings() {
    let data: ArrayD<String> = array_of(&[3, 4], 1);
    let expected = data.select(Axis(1), &[3, 0]);
    for layout in Layout::all(2) {
        let before = Laid::new(&array_of(&[3, 2], 2), layout);
        let mut out = before.clone();
        data.gather_into(&[3, 0], Gather::along(1), &mut out.view_mut()).unwrap();
        assert_same(&out.view(), &expected);
        assert!(out.kept_its_margins(&before));
    }
}

#[test]
fn broadcast_data_and_indices() {
    let row = Array1::from_iter(0..4_i64);
    let data = row.broadcast((5, 4)).unwrap();
    let index = ndarray::arr0(-1_i8);
    let indices = index.broadcast((2, 3)).unwrap();
    assert_eq!(data.gather(&indices, 1).unwrap(), Array::from_elem((5, 2, 3), 3));
    let columns = row.view().insert_axis(Axis(1));
    let data = columns.broadcast((4, 6)).unwrap();
    assert_eq!(data.gather(&[2, 1], 0).unwrap(), ndarray::array![[2; 6], [1; 6]]);
}

/// Copies a row of every length that a kernel may treat in its own way, from
/// and to rows that are dense, stepped and reversed.
fn rows_of_every_length<A: Value>(lengths: std::ops::RangeInclusive<usize>) {
    let indices = [4, 0, -1, 2, 2];
    for len in lengths {
        let data: ArrayD<A> = array_of(&[5, len], len as u64);
        let expected = data.select(Axis(0), &[4, 0, 4, 2, 2]);
        assert_same(&data.gather(&indices, 0).unwrap(), &expected);
        for layout in [Layout::reversed(2), Layout::stepped(2), Layout::transposed(2)] {
            let laid = Laid::new(&data, layout.clone());
            assert_same(&laid.view().gather(&indices, 0).unwrap(), &expected);
            let before = Laid::new(&array_of(&[5, len], 3), layout);
            let mut out = before.clone();
            data.gather_into(&indices, Gather::along(0), &mut out.view_mut()).unwrap();
            assert_same(&out.view(), &expected);
            assert!(out.kept_its_margins(&before));
        }
    }
}

/// Short rows that are all rearranged in the same way: channels of a picture.
fn channels<A: Value>(most: usize) {
    for channels in (1..=17).chain([31, 32, 33]).filter(|&channels| channels <= most) {
        for pixels in [0, 1, 255, 256, 257, 261, 700] {
            let picture: ArrayD<A> = array_of(&[pixels, channels], 3);
            let mut numbers = Numbers(channels as u64);
            for picked in [1, 2, 3, 4, 5, 8, 15, 16, 17] {
                let places: Vec<usize> = (0..picked).map(|_| numbers.below(channels)).collect();
                let output = picture.gather(&places, 1).unwrap();
                assert_same(&output, &picture.select(Axis(1), &places));
            }
        }
    }
}

#[test]
fn channels_of_bytes() {
    channels::<u8>(33);
}

#[test]
fn channels_of_wider_elements() {
    channels::<u16>(17);
    channels::<f32>(8);
    channels::<[u8; 3]>(8);
}

/// The same in views, whose rows do not have their bytes in this order, or others between
/// them.
#[test]
fn channels_of_views() {
    let picture = array_of::<u8>(&[700, 6, 4], 5).into_dimensionality::<Ix3>().unwrap();
    let places = [2, 0, 1, 1];
    for view in [
        picture.slice(s![.., .., ..;-1]),
        picture.slice(s![.., .., ..;2]),
        picture.slice(s![.., .., 1..3]),
        picture.slice(s![.., ..5, ..]),
        picture.slice(s![.., ..;-1, ..]),
        picture.slice(s![..;2, ..;2, ..]),
        picture.slice(s![..;-1, .., ..]),
    ] {
        for pixels in [9, 300, 350] {
            let view = view.slice(s![..pixels, .., ..]);
            assert_same(&view.gather(&places, 1).unwrap(), &view.select(Axis(1), &places));
        }
    }
}

/// Rows that become columns, a few elements of many rows at a time and what is left over.
#[test]
fn rows_become_columns() {
    let data = array_of::<f32>(&[50, 64], 7);
    let data = data.slice_axis(Axis(1), (..37).into());
    let indices: Vec<i32> = (0..1500).map(|k| k * 7 % 50).collect();
    let places: Vec<usize> = indices.iter().map(|&k| k as usize).collect();
    let mut out = Array2::<f32>::zeros((1500, 37).f());
    data.gather_into(&indices, Gather::along(0), &mut out).unwrap();
    assert_same(&out, &data.select(Axis(0), &places));
}

#[test]
fn rows_of_bytes() {
    rows_of_every_length::<u8>(0..=140);
}

#[test]
fn rows_of_words() {
    rows_of_every_length::<f32>(0..=70);
}

#[test]
fn rows_of_long_words() {
    rows_of_every_length::<f64>(0..=40);
}

#[test]
fn rows_of_odd_elements() {
    rows_of_every_length::<[u8; 3]>(0..=40);
    rows_of_every_length::<(u8, u16)>(0..=20);
}

#[test]
fn rows_of_strings() {
    rows_of_every_length::<String>(0..=20);
}

/// A fill between rows of every length.
#[test]
fn fills_of_every_length() {
    for len in 0..=70 {
        let data: ArrayD<u16> = array_of(&[3, len], len as u64);
        let wide = ndarray::array![0_i128, 5, -9, 2, 3, 1, -3, -4].into_dyn();
        let fill = OutOfBounds::Fill(77);
        let expected = oracle::gather(&data, &wide, 0, 0, &fill).unwrap();
        let attributes = Gather::along(0).out_of_bounds(fill);
        assert_same(&data.gather_with(&i8::from_wide(&wide), attributes).unwrap(), &expected);
    }
}

/// Rows that spread over more memory than the caches near a core hold.
#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn rows_far_apart() {
    let data: ArrayD<u8> = array_of(&[2000, 2100], 4);
    let mut numbers = Numbers(4);
    let wide = ArrayD::from_shape_simple_fn(vec![60], || numbers.below(4000) as i128 - 2000);
    let indices = i16::from_wide(&wide);
    for len in [1, 2, 3, 4, 6, 8, 12, 16, 30, 50, 100, 257, 600, 1025, 2100] {
        let data = data.slice(s![.., ..len]).into_dyn();
        let places: Vec<usize> = wide.iter().map(|index| index.rem_euclid(2000) as usize).collect();
        let expected = data.select(Axis(0), &places);
        assert_same(&data.gather(&indices, 0).unwrap(), &expected);
    }
}

/// More indices than any block of them, in every mode, dense and strided.
#[test]
fn many_indices() {
    let mut numbers = Numbers(5);
    let data: Array1<i32> = array_of(&[300], 6).into_dimensionality().unwrap();
    let shape = [40, 131];
    let inside = ArrayD::from_shape_simple_fn(&shape[..], || numbers.below(600) as i128 - 300);
    let outside = inside.mapv(|index| index * 3);
    for (wide, mode) in [
        (&inside, OutOfBounds::Error),
        (&outside, OutOfBounds::Fill(-5)),
        (&outside, OutOfBounds::Clip),
        (&outside, OutOfBounds::Wrap),
    ] {
        let data = data.clone().into_dyn();
        let expected = oracle::gather(&data, wide, 0, 0, &mode).unwrap();
        for layout in Layout::all(2) {
            let indices = Laid::new(&i64::from_wide(wide), layout);
            let attributes = Gather::along(0).out_of_bounds(mode);
            assert_same(&data.gather_with(&indices.view(), attributes).unwrap(), &expected);
        }
    }
}

/// The first index out of bounds is named wherever it stands, and `out` is
/// left alone.
#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn an_index_out_of_bounds_far_down_the_list() {
    let data = Array2::from_shape_fn((9, 2), |(i, j)| i * 2 + j);
    for at in [0, 1, 63, 64, 1023, 1024, 1025, 2047, 2500, 2999] {
        let mut indices = Array1::from_elem(3000, -9_i32);
        indices[at] = 9;
        if at < 2999 {
            indices[2999] = -10;
        }
        let refused = Error::IndexOutOfBounds { index: 9, position: vec![at], axis: 0, len: 9 };
        assert_eq!(data.gather(&indices, 0).unwrap_err(), refused);
        let mut out = Array2::from_elem((3000, 2), 7);
        assert_eq!(data.gather_into(&indices, Gather::along(0), &mut out).unwrap_err(), refused);
        assert!(out.iter().all(|&element| element == 7));
    }
}

/// Short batches may be resolved many at a time.
#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn many_short_batches() {
    for (batches, row) in [(700, 3), (1500, 1), (3, 1500), (400, 5), (1, 2000), (1025, 2)] {
        let data: ArrayD<i16> = array_of(&[batches, 6, 2], 8);
        let mut numbers = Numbers(9);
        let shape = vec![batches, row];
        let wide = ArrayD::from_shape_simple_fn(shape, || numbers.below(12) as i128 - 6);
        let expected = oracle::gather(&data, &wide, 1, 1, &OutOfBounds::Error).unwrap();
        for layout in [Layout::standard(2), Layout::transposed(2), Layout::stepped(2)] {
            let indices = Laid::new(&i16::from_wide(&wide), layout);
            let output = data.gather_with(&indices.view(), Gather::along(1).batch_dims(1));
            assert_same(&output.unwrap(), &expected);
        }
    }
}

/// Indices and data that are broadcast along the batch.
#[test]
fn broadcast_batches() {
    let data: ArrayD<i16> = array_of(&[1, 5, 3], 1);
    let wide = ndarray::array![[0_i128, -1, 3, 4]].into_dyn();
    let indices = i64::from_wide(&wide);
    let (many_data, many) = (data.broadcast(vec![7, 5, 3]), indices.broadcast(vec![7, 4]));
    let (many_data, many) = (many_data.unwrap(), many.unwrap());
    let output = many_data.gather_with(&many, Gather::along(1).batch_dims(1)).unwrap();
    let one = oracle::gather(&data, &wide, 1, 1, &OutOfBounds::Error).unwrap();
    assert_same(&output, &one.broadcast(vec![7, 4, 3]).unwrap());
}

/// Elements along an axis, all of whose indices are in bounds but for one, wherever
/// that is: in a line, and in lanes.
#[test]
#[cfg_attr(miri, ignore = "20,000 elements of many calls take minutes")]
fn one_index_out_of_bounds_among_many() {
    fn filled<I: Index>(shape: &[usize], along: usize, bad: i128) {
        let kind = Kind::Elements { axis: along as i128 };
        let mut numbers = Numbers(3);
        let data: ArrayD<u32> = array_of(shape, 1);
        let len = shape[along] as i128;
        let low = if I::try_from(-1).is_ok() { -len } else { 0 };
        let mut lengths = shape.to_vec();
        lengths[along] = 20_000 / lengths.iter().rev().skip(1).product::<usize>();
        let wide = ArrayD::from_shape_simple_fn(lengths, || {
            low + numbers.below((len - low) as usize) as i128
        });
        for place in [None, Some(0), Some(4096), Some(9999), Some(wide.len() - 1)] {
            let mut wide = wide.clone();
            if let Some(place) = place {
                wide.as_slice_mut().unwrap()[place] = bad;
            }
            let indices = I::from_wide(&wide);
            for mode in [OutOfBounds::Fill(7), OutOfBounds::Clip, OutOfBounds::Wrap] {
                let attributes = || GatherElements::along(Axis(along)).out_of_bounds(mode);
                let expected = oracle::read(kind, &data, &wide, &mode).unwrap();
                assert_same(&data.gather_elements_with(&indices, attributes()).unwrap(), &expected);
                let mut out = array_of(wide.shape(), 2);
                data.gather_elements_into(&indices, attributes(), &mut out).unwrap();
                assert_same(&out, &expected);
            }
        }
    }
    filled::<i32>(&[100], 0, 100);
    filled::<i32>(&[100], 0, -101);
    filled::<u32>(&[100], 0, u32::MAX.into());
    filled::<i64>(&[40, 83], 1, i64::MIN.into());
    filled::<u64>(&[40, 83], 1, u64::MAX.into());
    filled::<i64>(&[7, 500], 1, 500);
    filled::<i32>(&[100, 40], 1, 40);
}
