//! Roll: `roll`, `roll_into`, `roll_inplace`, of static rank too.

use ndarray::{Array, ArrayD, Ix2};
use opkernels::{Reduction, RollExt};

use super::bytes::Bytes;
use super::input::Input;
use super::{Expected, Huge, Line, Page, assert_returned, assert_written, laid, target};
use crate::common::{Value, oracle};

pub(crate) fn check(input: &[u8]) {
    let mut bytes = Bytes::new(input);
    match bytes.below(16) {
        0 | 1 => run::<u8>(&mut bytes),
        2 => run::<i32>(&mut bytes),
        3 => run::<f32>(&mut bytes),
        4 => run::<f64>(&mut bytes),
        5 => run::<u64>(&mut bytes),
        6 => run::<[f32; 3]>(&mut bytes),
        7 => run::<Line>(&mut bytes),
        8 => run::<String>(&mut bytes),
        9 => run::<[u8; 3]>(&mut bytes),
        10 => run::<(u8, u16)>(&mut bytes),
        11 => run::<Page>(&mut bytes),
        12 => run::<Huge>(&mut bytes),
        13 => run::<u16>(&mut bytes),
        14 => run::<u128>(&mut bytes),
        _ => run::<[u8; 0]>(&mut bytes),
    }
}

/// Shifts for axes, seldom too many or too few.
fn turns(rank: usize, bytes: &mut Bytes<'_>) -> (Vec<i64>, Vec<i64>) {
    let axes: Vec<i64> = (0..bytes.below(5)).map(|_| bytes.axis(rank) as i64).collect();
    let mut shifts: Vec<i64> = axes.iter().map(|_| shift(bytes)).collect();
    match bytes.byte() {
        0..=31 => shifts = vec![shift(bytes)],
        32..=35 => shifts.push(1),
        36..=39 => shifts.clear(),
        _ => {}
    }
    (shifts, axes)
}

fn shift(bytes: &mut Bytes<'_>) -> i64 {
    match bytes.byte() {
        255 => i64::MAX,
        254 => i64::MIN,
        253 => bytes.word() as i64,
        192..=252 => bytes.word() as i16 as i64,
        byte => i64::from(byte) - 96,
    }
}

fn run<A: Value>(bytes: &mut Bytes<'_>) {
    bytes.for_elements_of::<A>();
    let shape = bytes.shape();
    let (shifts, axes) = turns(shape.len(), bytes);
    let data = Input::<A>::of_values(&shape, bytes);
    let contents = data.contents();
    let wide: Vec<i128> = axes.iter().map(|&axis| axis.into()).collect();
    let expected: Expected<A> = oracle::roll(&contents, &shifts, &wide);
    let values = data.view();

    let output = values.roll(&shifts, &axes);
    if let (Ok(output), None) = (&output, values.as_slice_memory_order()) {
        assert!(output.is_standard_layout() || values.is_empty());
    }
    assert_returned(output, &expected, Reduction::None);

    let before = target::<A>(&shape, bytes);
    let mut out = before.clone();
    let written = values.roll_into(&shifts, &axes, &mut out.view_mut());
    assert_written(written, (&before, &out), &expected, Reduction::None);

    if bytes.once_in(8) {
        let mut longer = shape.clone();
        longer.push(1);
        let before = target::<A>(&longer, bytes);
        let mut out = before.clone();
        assert!(values.roll_into(&shifts, &axes, &mut out.view_mut()).is_err());
        let kept = Ok(before.contents());
        assert_written(Ok(()), (&before, &out), &kept, Reduction::None);
    }

    let before = laid(&contents, bytes);
    let mut turned = before.clone();
    let result = turned.view_mut().roll_inplace(&shifts, &axes);
    assert_written(result, (&before, &turned), &expected, Reduction::None);

    if let (Ok(rows), &[shift], &[axis]) =
        (values.into_dimensionality::<Ix2>(), &shifts[..], &axes[..])
    {
        assert_returned(rows.roll(shift, axis).map(Array::into_dyn), &expected, Reduction::None);
        assert_round_trip(&contents, shift, axis);
    }
}

/// A roll and its opposite leave an array as it was.
fn assert_round_trip<A: Value>(contents: &ArrayD<A>, shift: i64, axis: i64) {
    let mut turned = contents.clone();
    if turned.roll_inplace(shift, axis).is_ok() {
        // `i64::MIN` has no opposite.
        let back = shift.checked_neg().map(|shift| turned.roll_inplace(shift, axis));
        if let Some(back) = back {
            assert_returned(back.map(|()| turned), &Ok(contents.clone()), Reduction::None);
        }
    }
}
