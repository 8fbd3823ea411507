//! Every form in which a scatter can be called.

use std::sync::Arc;

use ndarray::{
    ArcArray1, Array, Array1, Array2, ArrayD, ArrayRef1, ArrayView1, ArrayViewMut1, Axis, CowArray,
    Dimension, Ix1, array, aview1,
};
use opkernels::{
    ArrayLike, AsArrayMut, Error, IndexInteger, OutOfBounds, ReduceElement, Reduction, Result,
    ScatterElements, ScatterElementsExt,
};

use crate::common::oracle::{self, Scatter};
use crate::common::{Index, Value, array_of, assert_same};

fn data() -> Array1<i32> {
    array![10, 20, 30, 40]
}

/// [`data`] with 1 written at 3 and 2 at 0.
fn put() -> Array1<i32> {
    array![2, 20, 30, 1]
}

#[test]
fn indices_and_updates_in_every_form() -> Result<()> {
    let (data, put) = (data(), put());
    let (indices, updates) = ([-1, 0], [1, 2]);
    assert_eq!(data.scatter_elements(&indices, &updates, 0)?, put);
    assert_eq!(data.scatter_elements(&indices[..], &updates[..], 0)?, put);
    assert_eq!(data.scatter_elements(&vec![-1, 0], &vec![1, 2], 0)?, put);
    assert_eq!(data.scatter_elements(&&indices, &&updates, 0)?, put);
    let (indices, updates) = (aview1(&indices).to_owned(), aview1(&updates).to_owned());
    assert_eq!(data.scatter_elements(&indices, &updates, 0)?, put);
    assert_eq!(data.scatter_elements(&indices.view(), &updates.view(), 0)?, put);
    assert_eq!(data.scatter_elements(&indices.to_shared(), &updates.to_shared(), 0)?, put);
    assert_eq!(data.scatter_elements(&CowArray::from(&indices), &updates, 0)?, put);
    let (i, u): (&ArrayRef1<i32>, &ArrayRef1<i32>) = (&indices, &updates);
    assert_eq!(data.scatter_elements(i, u, 0)?, put);
    assert_eq!(data.scatter_elements(&i, &u, 0)?, put);
    assert_eq!(data.scatter_elements(&[3_u8, 0], &indices.into_dyn(), 0)?[3], -1);
    assert_eq!(data.scatter_elements(&[3_u8, 0], &updates.into_dyn(), 0)?, put);
    Ok(())
}

#[test]
fn axes_and_attributes_in_every_form() -> Result<()> {
    let (data, put) = (data(), put());
    assert_eq!(data.scatter_elements(&[-1, 0], &[1, 2], Axis(0))?, put);
    assert_eq!(data.scatter_elements(&[-1, 0], &[1, 2], -1_i64)?, put);
    assert_eq!(data.scatter_elements(&[-1, 0], &[1, 2], 0_isize)?, put);
    let attributes = [
        ScatterElements::default(),
        ScatterElements::along(Axis(0)),
        ScatterElements::along(-1_i64),
        ScatterElements::along(0_isize).use_init_val(false),
    ];
    for attributes in attributes {
        assert_eq!(data.scatter_elements_with(&[-1, 0], &[1, 2], attributes)?, put);
        let mut target = data.clone();
        target.scatter_elements_inplace(&[-1, 0], &[1, 2], attributes)?;
        assert_eq!(target, put);
    }
    let mut target = data.clone();
    target.scatter_elements_inplace(&[-1], &[1], 0)?;
    target.scatter_elements_inplace(&[0], &[2], Axis(0))?;
    target.scatter_elements_inplace(&[0], &[2], -1_i64)?;
    target.scatter_elements_inplace(&[0], &[2], -1_isize)?;
    assert_eq!(target, put);
    Ok(())
}

fn scatters_with<I: Index>() {
    let data = array![[1.5, 2.5, 3.5], [4.5, 5.5, 6.5]];
    let index = |value: i128| I::try_from(value).ok().unwrap();
    let put = data.scatter_elements(&array![[index(2)], [index(0)]], &array![[0.0], [9.0]], 1);
    assert_eq!(put.unwrap(), array![[1.5, 2.5, 0.0], [9.0, 5.5, 6.5]]);
    let mut values = vec![I::max_value(), index(3)];
    if I::min_value() < I::zero() {
        let down = array![[index(-1)], [index(-3)]];
        let put = data.scatter_elements(&down, &array![[0.0], [9.0]], 1).unwrap();
        assert_eq!(put, array![[1.5, 2.5, 0.0], [9.0, 5.5, 6.5]]);
        values.extend([I::min_value(), index(-4)]);
    }
    for value in values {
        let wide = value.try_into().ok().unwrap();
        let refused =
            Error::IndexOutOfBounds { index: wide, position: vec![1, 0], axis: 1, len: 3 };
        let indices = array![[index(0)], [value]];
        let updates = array![[0.25], [0.5]];
        assert_eq!(data.scatter_elements(&indices, &updates, 1).unwrap_err(), refused);
        let mut put = array![[0.25, 2.5, 3.5], [4.5, 5.5, 6.5]];
        let attributes = ScatterElements::along(1);
        let skip = attributes.out_of_bounds(OutOfBounds::Skip);
        assert_eq!(data.scatter_elements_with(&indices, &updates, skip).unwrap(), put);
        let clip = attributes.out_of_bounds(OutOfBounds::Clip);
        put[[1, if wide < 0 { 0 } else { 2 }]] = 0.5;
        assert_eq!(data.scatter_elements_with(&indices, &updates, clip).unwrap(), put);
        let wrap = attributes.out_of_bounds(OutOfBounds::Wrap);
        let mut put = array![[0.25, 2.5, 3.5], [4.5, 5.5, 6.5]];
        put[[1, wide.rem_euclid(3) as usize]] = 0.5;
        assert_eq!(data.scatter_elements_with(&indices, &updates, wrap).unwrap(), put);
    }
}

#[test]
fn every_index_type() {
    scatters_with::<i8>();
    scatters_with::<i16>();
    scatters_with::<i32>();
    scatters_with::<i64>();
    scatters_with::<isize>();
    scatters_with::<u8>();
    scatters_with::<u16>();
    scatters_with::<u32>();
    scatters_with::<u64>();
    scatters_with::<usize>();
}

#[test]
fn overwriting_elements_of_any_cloneable_type() -> Result<()> {
    #[derive(Debug, Clone, PartialEq)]
    struct Station {
        name: String,
        depth: Option<Box<f64>>,
    }
    let station = |name: &str| Station { name: name.into(), depth: Some(Box::new(1.5)) };
    let stations = array![station("a"), station("b")];
    let put = stations.scatter_elements(&[1, 1], &[station("c"), station("d")], 0)?;
    assert_eq!(put, array![station("a"), station("d")]);

    let mut words = array![["so", "it"], ["goes", "on"]].mapv(String::from);
    let updates = array![["a"], ["b"]].mapv(String::from);
    words.scatter_elements_inplace(&array![[0], [-1]], &updates, 1)?;
    assert_eq!(words, array![["a", "it"], ["goes", "b"]].mapv(String::from));

    assert_eq!(array![(1_u8, 2_u16), (3, 4)].scatter_elements(&[0], &[(5, 6)], 0)?[0], (5, 6));
    assert_eq!(array![(), ()].scatter_elements(&[1], &[()], 0)?, array![(), ()]);
    Ok(())
}

/// What is overwritten is dropped, and every update is cloned.
#[test]
fn shared_elements_are_counted() -> Result<()> {
    let (old, new) = (Arc::new(1), Arc::new(2));
    let mut target = Array1::from_elem(4, Arc::clone(&old));
    let updates = Array1::from_elem(3, Arc::clone(&new));
    target.scatter_elements_inplace(&[1, 3, 1], &updates, 0)?;
    assert_eq!((Arc::strong_count(&old), Arc::strong_count(&new)), (3, 6));
    let output = target.scatter_elements(&[0, 2, 0], &updates, 0)?;
    assert_eq!((Arc::strong_count(&old), Arc::strong_count(&new)), (3, 10));
    drop((output, target, updates));
    assert_eq!((Arc::strong_count(&old), Arc::strong_count(&new)), (1, 1));
    Ok(())
}

#[test]
fn every_receiver() -> Result<()> {
    let (mut data, put) = (data(), put());
    let (indices, updates) = ([-1, 0], [1, 2]);
    assert_eq!(data.view().scatter_elements(&indices, &updates, 0)?, put);
    assert_eq!(data.view_mut().scatter_elements(&indices, &updates, 0)?, put);
    let shared: ArcArray1<i32> = data.to_shared();
    assert_eq!(shared.scatter_elements(&indices, &updates, 0)?, put);
    assert_eq!(CowArray::from(data.view()).scatter_elements(&indices, &updates, 0)?, put);
    let reference: &ArrayRef1<i32> = &data;
    assert_eq!(reference.scatter_elements(&indices, &updates, 0)?, put);
    let attributes = ScatterElements::default();
    assert_eq!(reference.scatter_elements_with(&indices, &updates, attributes)?, put);
    let dynamic: ArrayD<i32> = data.into_dyn().scatter_elements(&indices, &updates, 0)?;
    assert_eq!(dynamic, put.into_dyn());
    Ok(())
}

#[test]
fn every_receiver_in_place() -> Result<()> {
    let (data, put) = (data(), put());
    let (indices, updates) = ([-1, 0], [1, 2]);
    let mut viewed = data.clone();
    viewed.view_mut().scatter_elements_inplace(&indices, &updates, 0)?;
    assert_eq!(viewed, put);

    let mut shared: ArcArray1<i32> = data.to_shared();
    let other = shared.clone();
    shared.scatter_elements_inplace(&indices, &updates, ScatterElements::default())?;
    assert_eq!((&shared.to_owned(), &other.to_owned()), (&put, &data));

    let mut copied = CowArray::from(&data);
    copied.scatter_elements_inplace(&indices, &updates, 0)?;
    assert_eq!(copied, put);

    let mut referred = data.clone();
    let reference: &mut ArrayRef1<i32> = &mut referred;
    reference.scatter_elements_inplace(&indices, &updates, 0)?;
    assert_eq!(referred, put);

    let mut dynamic = data.into_dyn();
    dynamic.scatter_elements_inplace(&indices, &updates, 0)?;
    assert_eq!(dynamic, put.into_dyn());
    Ok(())
}

fn keeps_rank<D: Dimension>() {
    let rank = D::NDIM.unwrap();
    let shape: Vec<usize> = (0..rank).map(|k| 2 + k % 3).collect();
    let data: Array<f32, D> = array_of(&shape, 1).into_dimensionality().unwrap();
    for axis in 0..rank {
        let mut longer = shape.clone();
        longer[axis] += 2;
        let updates: ArrayD<f32> = array_of(&longer, 2);
        let len = shape[axis] as i128;
        let wide = ArrayD::from_shape_fn(longer, |i| {
            (0..rank).map(|k| i[k] as i128 * (k as i128 + 1)).sum::<i128>() % (2 * len) - len
        });
        let indices: Array<i64, D> = i64::from_wide(&wide).into_dimensionality().unwrap();
        let dynamic = data.clone().into_dyn();
        let expected = oracle::overwrite(&dynamic, &wide, &updates, axis as i128).unwrap();
        let output: Array<f32, D> = data.scatter_elements(&indices, &updates, Axis(axis)).unwrap();
        assert_same(&output, &expected);
        assert_same(&dynamic.scatter_elements(&indices, &updates, axis as i64).unwrap(), &expected);
        let scatter = Scatter {
            axis: axis as i128,
            reduction: Reduction::Max,
            use_init_val: true,
            mode: OutOfBounds::Error,
        };
        let expected = oracle::reduce(&dynamic, &wide, &updates, &scatter).unwrap();
        let mut target = data.clone();
        target.scatter_elements_inplace(&indices, &updates, scatter.attributes()).unwrap();
        assert_same(&target, &expected);
    }
}

#[test]
fn every_static_rank() {
    keeps_rank::<ndarray::Ix1>();
    keeps_rank::<ndarray::Ix2>();
    keeps_rank::<ndarray::Ix3>();
    keeps_rank::<ndarray::Ix4>();
    keeps_rank::<ndarray::Ix5>();
    keeps_rank::<ndarray::Ix6>();
}

#[test]
fn rank_0_has_no_axis() {
    let refused = Error::AxisOutOfBounds { axis: 0, rank: 0 };
    let data = ndarray::arr0(1.5);
    assert_eq!(data.scatter_elements(&0, &ndarray::arr0(2.5), 0).unwrap_err(), refused);
    let attributes = ScatterElements::default();
    let error = data.scatter_elements_with(&0, &ndarray::arr0(2.5), attributes).unwrap_err();
    assert_eq!(error, refused);
}

#[test]
fn fully_qualified_calls() -> Result<()> {
    let (mut data, put) = (data(), put());
    let (indices, updates) = ([-1, 0], [1, 2]);
    assert_eq!(ScatterElementsExt::scatter_elements(&data, &indices, &updates, 0)?, put);
    let view: ArrayView1<'_, i32> = data.view();
    let scattered =
        <ArrayView1<'_, i32> as ScatterElementsExt>::scatter_elements(&view, &indices, &updates, 0);
    assert_eq!(scattered?, put);
    let mut view: ArrayViewMut1<'_, i32> = data.view_mut();
    ScatterElementsExt::scatter_elements_inplace(&mut view, &indices, &updates, 0)?;
    assert_eq!(data, put);
    Ok(())
}

/// A histogram of any numbers.
fn count<T>(bins: &mut T, ids: &[u32], one: T::Elem) -> Result<()>
where
    T: ScatterElementsExt<Dim = Ix1> + AsArrayMut + ?Sized,
    T::Elem: ReduceElement,
{
    let sum = ScatterElements::along(0).reduction(Reduction::Sum);
    bins.scatter_elements_inplace(ids, &vec![one; ids.len()], sum)
}

fn replaced<T, I, U>(data: &T, indices: &I, updates: &U) -> Result<Array<T::Elem, T::Dim>>
where
    T: ScatterElementsExt + ?Sized,
    T::Elem: Value,
    I: ArrayLike<Elem: IndexInteger> + ?Sized,
    U: ArrayLike<Elem = T::Elem> + ?Sized,
{
    data.scatter_elements(indices, updates, -1)
}

#[test]
fn generic_bounds() -> Result<()> {
    let mut bins = Array1::<u16>::zeros(4);
    count(&mut bins, &[3, 1, 3, 3], 1)?;
    assert_eq!(bins, array![0, 1, 0, 3]);
    let mut bins = Array2::<f64>::zeros((2, 3));
    count(&mut bins.row_mut(1), &[0, 2, 2], 0.5)?;
    assert_eq!(bins, array![[0.0, 0.0, 0.0], [0.5, 0.0, 1.0]]);
    assert_eq!(replaced(&data(), &[-1, 0], &vec![1, 2])?, put());
    let words = array!["a", "b"].mapv(String::from);
    assert_eq!(replaced(&words.view(), &[1_u8], &["c".to_string()])?[1], "c");
    Ok(())
}
