//! Gather: `gather`, `gather_with`, `gather_into`, of static rank too; and what all
//! gathers have in common, by plans too.

use ndarray::{Ix1, Ix2};
use opkernels::{Gather, GatherExt, OutOfBounds, Reduction};

use super::bytes::{self, Bytes, axis_len, from_front, shrink};
use super::input::Input;
use super::kinds::{Select, gathers};
use super::{Expected, Huge, Line, Page, assert_returned, assert_written, target};
use crate::common::{Index, Value, oracle};

pub(crate) fn check(input: &[u8]) {
    let mut bytes = Bytes::new(input);
    match bytes.below(28) {
        0 => run::<u8, i8>(&mut bytes),
        1 => run::<u8, u64>(&mut bytes),
        2 => run::<i32, i32>(&mut bytes),
        3 => run::<f32, i64>(&mut bytes),
        4 => run::<f32, u8>(&mut bytes),
        5 => run::<f64, usize>(&mut bytes),
        6 => run::<u64, isize>(&mut bytes),
        7 => run::<[f32; 3], u32>(&mut bytes),
        8 => run::<[f32; 3], i64>(&mut bytes),
        9 => run::<Line, i16>(&mut bytes),
        10 => run::<String, i64>(&mut bytes),
        11 => run::<String, u16>(&mut bytes),
        12 => run::<[u8; 3], i32>(&mut bytes),
        13 => run::<(u8, u16), i64>(&mut bytes),
        14 => run::<[u8; 0], i64>(&mut bytes),
        15 => run::<Page, i64>(&mut bytes),
        16 => run::<Huge, i64>(&mut bytes),
        17 => run::<u128, i64>(&mut bytes),
        18 => gathers::<u8, i32>(Select::Slices, &mut bytes),
        19 => gathers::<f32, i64>(Select::Slices, &mut bytes),
        20 => gathers::<[f32; 3], u64>(Select::Slices, &mut bytes),
        21 => gathers::<Line, i64>(Select::Slices, &mut bytes),
        22 => gathers::<Page, i32>(Select::Slices, &mut bytes),
        23 => gathers::<String, i64>(Select::Slices, &mut bytes),
        24 => gathers::<u16, u8>(Select::Slices, &mut bytes),
        25 => gathers::<f64, isize>(Select::Slices, &mut bytes),
        _ => run::<i16, i64>(&mut bytes),
    }
}

/// What is asked of a gather, beside its arrays.
struct Asked<A> {
    axis: i128,
    batch_dims: i64,
    mode: OutOfBounds<A>,
}

fn run<A: Value, I: Index>(bytes: &mut Bytes<'_>) {
    bytes.for_elements_of::<A>();
    let shape = bytes.shape();
    let axis = bytes.axis(shape.len());
    let (indices_shape, batch_dims) = indices_shape(&shape, axis, bytes);
    let mode = match bytes.byte() % 16 {
        0..=2 => OutOfBounds::Fill(A::from_number(bytes.byte().into())),
        3..=5 => OutOfBounds::Clip,
        6..=8 => OutOfBounds::Wrap,
        9 => OutOfBounds::Skip,
        _ => OutOfBounds::Error,
    };
    // Where each is refused, few calls would come to an end.
    let errors = matches!(mode, OutOfBounds::Error);
    let wild = bytes.once_in(if errors { 4 } else { 2 });
    let asked = Asked { axis, batch_dims, mode };
    let data = Input::<A>::of_values(&shape, bytes);
    let len = axis_len(&shape, axis).unwrap_or(1);
    let indices = Input::<I>::new(&indices_shape, bytes, |bytes| bytes.index(len, wild));
    compare(&data, &indices, &asked, bytes);
}

/// Indices that suit data of this shape, seldom not.
fn indices_shape(data: &[usize], axis: i128, bytes: &mut Bytes<'_>) -> (Vec<usize>, i64) {
    let mut shape: Vec<usize> = (0..bytes.below(4))
        .map(|_| match bytes.byte() {
            byte @ 240.. => usize::from(byte - 240) * 100,
            byte @ 224.. => usize::from(byte - 224) * 8,
            byte => usize::from(byte % 5),
        })
        .collect();
    let most = from_front(axis, data.len()).unwrap_or(0).min(shape.len());
    let b = bytes.below(most + 1);
    shape[..b].copy_from_slice(&data[..b]);
    let rows: usize = data.iter().filter(|&&len| len > 0).product();
    let most = (bytes::most(bytes) / rows).max(4);
    shrink(&mut shape, b, most);
    let mut batch_dims = b as i64;
    if bytes.once_in(3) && b < shape.len() {
        batch_dims -= shape.len() as i64;
    }
    match bytes.byte() {
        0..=3 => batch_dims = bytes.word() as i64,
        4..=7 => batch_dims = [9, -9, i64::MAX, i64::MIN][bytes.below(4)],
        8..=11 => batch_dims += 1,
        12..=15 if b > 0 => shape[bytes.below(b)] += 1,
        _ => return (shape, batch_dims),
    }
    // Lengths that were to be shared may multiply now.
    shrink(&mut shape, 0, most);
    (shape, batch_dims)
}

fn compare<A: Value, I: Index>(
    data: &Input<A>,
    indices: &Input<I>,
    asked: &Asked<A>,
    bytes: &mut Bytes<'_>,
) {
    let Asked { axis, batch_dims, ref mode } = *asked;
    let wide = I::to_wide(&indices.contents());
    let expected: Expected<A> =
        oracle::gather(&data.contents(), &wide, axis, batch_dims.into(), mode);
    let attributes =
        || Gather::along(axis as i64).batch_dims(batch_dims).out_of_bounds(mode.clone());
    let (values, places) = (data.view(), indices.view());
    let output = values.gather_with(&places, attributes());
    if let Ok(output) = &output {
        assert!(output.is_standard_layout());
    }
    assert_returned(output, &expected, Reduction::None);

    let mut shape = match &expected {
        Ok(expected) => expected.shape().to_vec(),
        Err(_) => vec![2; bytes.below(4)],
    };
    let wrong = bytes.once_in(32);
    if wrong {
        shape.push(1);
    }
    let before = target::<A>(&shape, bytes);
    let mut out = before.clone();
    let written = values.gather_into(&places, attributes(), &mut out.view_mut());
    match &expected {
        Ok(_) if !wrong => {
            assert_written(written, (&before, &out), &expected, Reduction::None);
        }
        // The shape of `out` may be refused before the index is.
        _ => {
            let kept = Ok(before.contents());
            assert!(written.is_err());
            assert_written(Ok(()), (&before, &out), &kept, Reduction::None);
        }
    }

    if batch_dims == 0 && matches!(mode, OutOfBounds::Error) {
        assert_returned(values.gather(&places, axis as i64), &expected, Reduction::None);
        let table = values.into_dimensionality::<Ix2>();
        if let (Ok(table), Ok(places)) = (table, places.into_dimensionality::<Ix1>()) {
            let rows = table.gather(&places, axis as i64).map(ndarray::Array::into_dyn);
            assert_returned(rows, &expected, Reduction::None);
        }
    }
}
