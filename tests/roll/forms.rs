//! Every form in which a roll can be called.

use std::sync::Arc;
use std::sync::atomic::AtomicU8;

use ndarray::{
    ArcArray2, Array, Array1, Array2, ArrayD, ArrayRef2, ArrayView2, Axis, CowArray, Dimension,
    Ix2, array,
};
use opkernels::{AsArrayMut, Error, Result, RollExt};

use crate::common::{Value, array_of, assert_same, oracle};

fn data() -> Array2<i32> {
    array![[1, 2, 3], [4, 5, 6]]
}

/// [`data`] rolled by 1 along axis 0 and by -1 along axis 1.
fn rolled() -> Array2<i32> {
    array![[5, 6, 4], [2, 3, 1]]
}

#[test]
fn shifts_and_axes_in_every_form() -> Result<()> {
    let (data, rolled) = (data(), rolled());
    let (shifts, axes) = ([1, -1], [0, 1]);
    assert_eq!(data.roll([1_i64, -1], [0_i64, -1])?, rolled);
    assert_eq!(data.roll([1_isize, -1], [-2_isize, -1])?, rolled);
    assert_eq!(data.roll([1, -1], [Axis(0), Axis(1)])?, rolled);
    assert_eq!(data.roll(shifts, axes)?, rolled);
    let (shifts_ref, axes_ref): (&[i32; 2], &[i32; 2]) = (&shifts, &axes);
    assert_eq!(data.roll(shifts_ref, axes_ref)?, rolled);
    assert_eq!(data.roll(&[1, -1][..], &[0, 1][..])?, rolled);
    assert_eq!(data.roll(vec![1, -1], vec![0, 1])?, rolled);
    let (shifts, axes) = (shifts.to_vec(), vec![Axis(0), Axis(1)]);
    assert_eq!(data.roll(&shifts, &axes)?, rolled);
    assert_eq!(data.roll(shifts, axes)?, rolled);
    let tensors = (array![[-1_i64, 1]].into_dyn(), array![Axis(1), Axis(0)]);
    assert_eq!(data.roll(&tensors.0, &tensors.1)?, rolled);
    assert_eq!(data.roll(tensors.0.slice(ndarray::s![0, ..;-1]), [0, 1])?, rolled);

    let columns = array![[3, 1, 2], [6, 4, 5]];
    assert_eq!(data.roll(1, 1)?, columns);
    let one: &i32 = &1;
    assert_eq!(data.roll(one, one)?, columns);
    assert_eq!(data.roll(1_i64, -1_i64)?, columns);
    assert_eq!(data.roll(1_isize, -1_isize)?, columns);
    assert_eq!(data.roll(1, Axis(1))?, columns);
    assert_eq!(data.roll([1], 1)?, columns);
    assert_eq!(data.roll(1, [1])?, columns);
    Ok(())
}

#[test]
fn one_shift_for_several_axes() -> Result<()> {
    let expected = array![[6, 4, 5], [3, 1, 2]];
    assert_eq!(data().roll(1, [0, 1])?, expected);
    assert_eq!(data().roll([1], [0, 1])?, expected);
    let mut turned = data();
    turned.roll_inplace(vec![1], [0, 1])?;
    assert_eq!(turned, expected);
    Ok(())
}

#[test]
fn no_axes() -> Result<()> {
    let none: [i32; 0] = [];
    assert_eq!(data().roll(none, none)?, data());
    assert_eq!(data().roll(5, none)?, data());
    assert_eq!(ndarray::arr0(4).roll(none, none)?, ndarray::arr0(4));
    let mut turned = data();
    turned.roll_inplace(none, none)?;
    assert_eq!(turned, data());
    let mut out = Array2::<i32>::zeros((2, 3));
    data().roll_into(none, none, &mut out)?;
    assert_eq!(out, data());
    Ok(())
}

#[test]
fn counts_that_do_not_match() {
    let none: [i32; 0] = [];
    let refused = |shifts, axes| Error::ShiftCountMismatch { shifts, axes };
    assert_eq!(data().roll([1, 2], 0).unwrap_err(), refused(2, 1));
    assert_eq!(data().roll([1, 2], [0, 1, 0]).unwrap_err(), refused(2, 3));
    assert_eq!(data().roll(none, [0, 1]).unwrap_err(), refused(0, 2));
    assert_eq!(data().roll([1, 2], none).unwrap_err(), refused(2, 0));
}

#[test]
fn axes_that_are_not_there() {
    for axis in [2, -3, i32::MAX, i32::MIN] {
        let refused = Error::AxisOutOfBounds { axis: axis.into(), rank: 2 };
        assert_eq!(data().roll(1, axis).unwrap_err(), refused);
        assert_eq!(data().roll(1, [0, axis]).unwrap_err(), refused);
        let mut kept = data();
        assert_eq!(kept.roll_inplace(1, [0, axis]).unwrap_err(), refused);
        assert_eq!(kept, data());
        let mut out = Array2::<i32>::zeros((2, 3));
        assert_eq!(data().roll_into(1, [0, axis], &mut out).unwrap_err(), refused);
        assert_eq!(out, Array2::zeros((2, 3)));
    }
    let refused = Error::AxisOutOfBounds { axis: 0, rank: 0 };
    assert_eq!(ndarray::arr0(1).roll(1, 0).unwrap_err(), refused);
}

#[test]
fn an_out_of_another_shape() {
    let refused = |actual: &[usize]| Error::OutShapeMismatch {
        expected: vec![2, 3],
        actual: actual.to_vec(),
    };
    let mut turned = Array2::zeros((3, 2));
    assert_eq!(data().roll_into(1, 0, &mut turned).unwrap_err(), refused(&[3, 2]));
    let mut flat = Array1::<i32>::zeros(6);
    assert_eq!(data().roll_into(1, 0, &mut flat).unwrap_err(), refused(&[6]));
    assert!(turned.iter().chain(&flat).all(|&element| element == 0));
}

#[test]
fn elements_of_any_type() -> Result<()> {
    let words = array!["so", "it", "goes"].mapv(String::from);
    assert_eq!(words.roll(1, 0)?, array!["goes", "so", "it"].mapv(String::from));
    let mut out = words.clone();
    words.roll_into(-1, 0, &mut out)?;
    assert_eq!(out, array!["it", "goes", "so"].mapv(String::from));
    assert_eq!(array![(1_u8, 2_u16), (3, 4)].roll(1, 0)?, array![(3, 4), (1, 2)]);
    assert_eq!(array![(), ()].roll(1, 0)?, array![(), ()]);

    let shared = Array1::from_iter((0..3).map(Arc::new));
    let turned = shared.roll(1, 0)?;
    assert!(shared.iter().all(|element| Arc::strong_count(element) == 2));
    assert_eq!(turned, array![2, 0, 1].mapv(Arc::new));
    Ok(())
}

/// In place, elements move and need not be `Clone`.
#[test]
fn elements_that_cannot_be_cloned() -> Result<()> {
    let mut flags = Array2::from_shape_fn((2, 3), |(i, j)| AtomicU8::new((3 * i + j) as u8));
    flags.roll_inplace([1, 1], [0, 1])?;
    let values: Vec<u8> = flags.into_iter().map(AtomicU8::into_inner).collect();
    assert_eq!(values, [5, 3, 4, 2, 0, 1]);
    let mut boxes = Array1::from_iter((0..5).map(Box::new));
    boxes.roll_inplace(2, 0)?;
    assert_eq!(boxes, array![3, 4, 0, 1, 2].mapv(Box::new));
    Ok(())
}

#[test]
fn every_receiver() -> Result<()> {
    let (mut data, rolled) = (data(), rolled());
    let (shifts, axes) = ([1, -1], [0, 1]);
    assert_eq!(data.view().roll(shifts, axes)?, rolled);
    assert_eq!(data.view_mut().roll(shifts, axes)?, rolled);
    let shared: ArcArray2<i32> = data.to_shared();
    assert_eq!(shared.roll(shifts, axes)?, rolled);
    assert_eq!(CowArray::from(data.view()).roll(shifts, axes)?, rolled);
    let reference: &ArrayRef2<i32> = &data;
    assert_eq!(reference.roll(shifts, axes)?, rolled);
    let dynamic: ArrayD<i32> = data.clone().into_dyn().roll(shifts, axes)?;
    assert_eq!(dynamic, rolled.into_dyn());
    Ok(())
}

#[test]
fn every_receiver_in_place() -> Result<()> {
    let (data, rolled) = (data(), rolled());
    let (shifts, axes) = ([1, -1], [0, 1]);
    let mut viewed = data.clone();
    viewed.view_mut().roll_inplace(shifts, axes)?;
    assert_eq!(viewed, rolled);

    let mut shared: ArcArray2<i32> = data.to_shared();
    let other = shared.clone();
    shared.roll_inplace(shifts, axes)?;
    assert_eq!((&shared.to_owned(), &other.to_owned()), (&rolled, &data));

    let mut copied = CowArray::from(&data);
    copied.roll_inplace(shifts, axes)?;
    assert_eq!(copied, rolled);

    let mut referred = data.clone();
    let reference: &mut ArrayRef2<i32> = &mut referred;
    reference.roll_inplace(shifts, axes)?;
    assert_eq!(referred, rolled);

    let mut dynamic = data.into_dyn();
    dynamic.roll_inplace(shifts, axes)?;
    assert_eq!(dynamic, rolled.into_dyn());
    Ok(())
}

fn keeps_rank<D: Dimension>() {
    let rank = D::NDIM.unwrap();
    let shape: Vec<usize> = (0..rank).map(|k| 2 + k % 3).collect();
    let data: Array<f32, D> = array_of(&shape, 1).into_dimensionality().unwrap();
    let axes: Vec<i64> = (0..rank as i64).collect();
    let shifts: Vec<i64> = axes.iter().map(|k| 2 * k - 3).collect();
    let wide: Vec<i128> = axes.iter().map(|&axis| axis.into()).collect();
    let expected = oracle::roll(&data.clone().into_dyn(), &shifts, &wide).unwrap();
    let output: Array<f32, D> = data.roll(&shifts, &axes).unwrap();
    assert_same(&output, &expected);
    let mut out = data.clone();
    data.roll_into(&shifts, &axes, &mut out).unwrap();
    assert_same(&out, &expected);
    let mut dynamic = data.clone().into_dyn();
    data.roll_into(&shifts, &axes, &mut dynamic).unwrap();
    assert_same(&dynamic, &expected);
    let mut turned = data;
    turned.roll_inplace(&shifts, &axes).unwrap();
    assert_same(&turned, &expected);
}

#[test]
fn every_static_rank() {
    keeps_rank::<ndarray::Ix0>();
    keeps_rank::<ndarray::Ix1>();
    keeps_rank::<ndarray::Ix2>();
    keeps_rank::<ndarray::Ix3>();
    keeps_rank::<ndarray::Ix4>();
    keeps_rank::<ndarray::Ix5>();
    keeps_rank::<ndarray::Ix6>();
}

#[test]
fn fully_qualified_calls() -> Result<()> {
    let (mut data, rolled) = (data(), rolled());
    let (shifts, axes) = ([1, -1], [0, 1]);
    assert_eq!(RollExt::roll(&data, shifts, axes)?, rolled);
    assert_eq!(<ArrayView2<'_, i32> as RollExt>::roll(&data.view(), shifts, axes)?, rolled);
    assert_eq!(<ArrayRef2<i32> as RollExt>::roll(&data, shifts, axes)?, rolled);
    RollExt::roll_inplace(&mut data, shifts, axes)?;
    assert_eq!(data, rolled);
    Ok(())
}

/// There and back again.
fn there_and_back<T>(field: &mut T) -> Result<Array2<T::Elem>>
where
    T: RollExt<Dim = Ix2> + AsArrayMut + ?Sized,
    T::Elem: Value,
{
    let there = field.roll(1, 0)?;
    field.roll_inplace(1, 0)?;
    field.roll_inplace(-1, 0)?;
    Ok(there)
}

#[test]
fn generic_bounds() -> Result<()> {
    let mut field = data();
    let there = array![[4, 5, 6], [1, 2, 3]];
    assert_eq!(there_and_back(&mut field)?, there);
    assert_eq!(there_and_back(&mut field.view_mut())?, there);
    let reference: &mut ArrayRef2<i32> = &mut field;
    assert_eq!(there_and_back(reference)?, there);
    assert_eq!(field, data());
    Ok(())
}
