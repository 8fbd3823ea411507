//! Every form in which a gather can be called.

use std::sync::Arc;

use ndarray::{
    ArcArray2, Array, Array1, Array2, Array3, ArrayD, ArrayRef, ArrayRef2, ArrayView2, Axis,
    CowArray, Dimension, Ix1, Ix2, IxDyn, RemoveAxis, array, aview1,
};
use opkernels::{Error, Gather, GatherExt, IndexInteger, OutOfBounds, Result};

use crate::common::{Index, Value, array_of, assert_same};

fn table() -> Array2<i32> {
    array![[10, 11], [20, 21], [30, 31]]
}

/// The rows 2, 0 and the last of [`table`].
fn rows() -> Array2<i32> {
    array![[30, 31], [10, 11], [30, 31]]
}

#[test]
fn indices_in_every_form() -> Result<()> {
    let (table, rows) = (table(), rows());
    let listed = [2, 0, -1];
    let array = aview1(&listed).to_owned();
    assert_eq!(table.gather(&listed, 0)?, rows);
    assert_eq!(table.gather(&listed[..], 0)?, rows);
    assert_eq!(table.gather(listed.as_slice(), 0)?, rows);
    assert_eq!(table.gather(&vec![2, 0, -1], 0)?, rows);
    assert_eq!(table.gather(&&listed, 0)?, rows);
    assert_eq!(table.gather(&array, 0)?, rows);
    assert_eq!(table.gather(&array.view(), 0)?, rows);
    assert_eq!(table.gather(&array.clone().view_mut(), 0)?, rows);
    assert_eq!(table.gather(&array.to_shared(), 0)?, rows);
    assert_eq!(table.gather(&CowArray::from(&array), 0)?, rows);
    let reference: &ArrayRef<i32, Ix1> = &array;
    assert_eq!(table.gather(reference, 0)?, rows);
    assert_eq!(table.gather(&reference, 0)?, rows);
    let dynamic: ArrayD<i32> = table.gather(&array.into_dyn(), 0)?;
    assert_eq!(dynamic, rows.into_dyn());
    Ok(())
}

#[test]
fn an_empty_list_of_indices() -> Result<()> {
    let none: [i32; 0] = [];
    assert_eq!(table().gather(&none, 0)?, Array2::zeros((0, 2)));
    assert_eq!(table().gather(&none[..], 1)?, Array2::zeros((3, 0)));
    assert_eq!(table().gather(&Vec::<u8>::new(), 0)?, Array2::zeros((0, 2)));
    Ok(())
}

#[test]
fn scalar_indices_remove_the_axis() -> Result<()> {
    let table = table();
    let row: Array1<i32> = table.gather(&1, 0)?;
    assert_eq!(row, array![20, 21]);
    let column: Array1<i32> = table.gather(&-1, Axis(1))?;
    assert_eq!(column, array![11, 21, 31]);
    let zero_d: Array1<i32> = table.gather(&ndarray::arr0(2_u16), 0)?;
    assert_eq!(zero_d, array![30, 31]);
    let element = array![7, 8, 9].gather(&-2_i8, 0)?;
    assert_eq!(element, ndarray::arr0(8));
    assert_eq!(table.gather_with(&1_usize, Gather::along(0))?, array![20, 21].into_dyn());
    Ok(())
}

#[test]
fn axes_in_every_form() -> Result<()> {
    let columns = array![[11, 10], [21, 20], [31, 30]];
    let table = table();
    assert_eq!(table.gather(&[1, 0], Axis(1))?, columns);
    assert_eq!(table.gather(&[1, 0], 1)?, columns);
    assert_eq!(table.gather(&[1, 0], -1)?, columns);
    assert_eq!(table.gather(&[1, 0], 1_i32)?, columns);
    assert_eq!(table.gather(&[1, 0], -1_i64)?, columns);
    assert_eq!(table.gather(&[1, 0], -1_isize)?, columns);
    let attributes = Gather::along(Axis(1)).batch_dims(0_isize);
    assert_eq!(table.gather_with(&[1, 0], attributes)?, columns.into_dyn());
    Ok(())
}

fn gathers_with<I: Index>() {
    let data = array![[1.5, 2.5, 3.5], [4.5, 5.5, 6.5]];
    let index = |value: i128| I::try_from(value).ok().unwrap();
    let up = [index(2), index(0), index(1)];
    assert_eq!(data.gather(&up, 1).unwrap(), array![[3.5, 1.5, 2.5], [6.5, 4.5, 5.5]]);
    let mut values = vec![I::max_value()];
    if I::min_value() < I::zero() {
        let down = [I::zero() - I::one(), I::zero() - index(3)];
        assert_eq!(data.gather(&down, 1).unwrap(), array![[3.5, 1.5], [6.5, 4.5]]);
        values.extend([I::min_value(), I::zero() - index(4)]);
    }
    for value in values.into_iter().chain([index(3)]) {
        let refused = Error::IndexOutOfBounds {
            index: value.try_into().ok().unwrap(),
            position: vec![1],
            axis: 1,
            len: 3,
        };
        assert_eq!(data.gather(&[index(2), value], 1).unwrap_err(), refused);
        let filled = data.gather_with(
            &ndarray::arr0(value),
            Gather::along(1).out_of_bounds(OutOfBounds::Fill(0.5)),
        );
        assert_eq!(filled.unwrap(), array![0.5, 0.5].into_dyn());
    }
}

#[test]
fn every_index_type() {
    gathers_with::<i8>();
    gathers_with::<i16>();
    gathers_with::<i32>();
    gathers_with::<i64>();
    gathers_with::<isize>();
    gathers_with::<u8>();
    gathers_with::<u16>();
    gathers_with::<u32>();
    gathers_with::<u64>();
    gathers_with::<usize>();
}

#[test]
fn elements_of_any_cloneable_type() -> Result<()> {
    #[derive(Debug, Clone, PartialEq)]
    struct Station {
        name: String,
        depth: Option<Box<f64>>,
    }
    let station = |name: &str| Station { name: name.into(), depth: Some(Box::new(1.5)) };
    let stations = array![station("a"), station("b"), station("c")];
    assert_eq!(stations.gather(&[2, 0], 0)?, array![station("c"), station("a")]);

    let words = array![["so", "it"], ["goes", "on"]].mapv(String::from);
    assert_eq!(words.gather(&[-1, 0], 1)?, array![["it", "so"], ["on", "goes"]].mapv(String::from));
    let fill = Gather::along(0).out_of_bounds(OutOfBounds::Fill("?".to_string()));
    assert_eq!(words.gather_with(&[5], fill)?, array![["?", "?"]].mapv(String::from).into_dyn());

    assert_eq!(array!["so", "it"].gather(&[1, 1], 0)?, array!["it", "it"]);
    assert_eq!(array![(1_u8, 2_u16), (3, 4)].gather(&[1], 0)?, array![(3_u8, 4_u16)]);
    assert_eq!(aview1(&[[0_u8; 3], [1; 3]]).gather(&[1, 0], 0)?, aview1(&[[1_u8; 3], [0; 3]]));
    assert_eq!(array![(), ()].gather(&[1, 0, 1], 0)?, array![(), (), ()]);
    Ok(())
}

/// Elements are cloned, once for every place they go to.
#[test]
fn shared_elements_are_counted() -> Result<()> {
    let data = Array1::from_iter((0..3).map(Arc::new));
    let output = data.gather(&[1, 1, 2], 0)?;
    let counts = |a: &Array1<Arc<i32>>| a.mapv(|element| Arc::strong_count(&element) - 1);
    assert_eq!(counts(&data), array![1, 3, 2]);
    drop(output);
    assert_eq!(counts(&data), array![1, 1, 1]);

    let mut out = Array1::from_elem(2, Arc::new(9));
    let old = Arc::clone(&out[0]);
    data.gather_into(&[0, 0], Gather::along(0), &mut out)?;
    assert_eq!((Arc::strong_count(&old), Arc::strong_count(&data[0])), (1, 3));
    Ok(())
}

#[test]
fn every_receiver() -> Result<()> {
    let (mut table, rows) = (table(), rows());
    let indices = [2, 0, -1];
    assert_eq!(table.view().gather(&indices, 0)?, rows);
    assert_eq!(table.view_mut().gather(&indices, 0)?, rows);
    let shared: ArcArray2<i32> = table.to_shared();
    assert_eq!(shared.gather(&indices, 0)?, rows);
    assert_eq!(CowArray::from(table.view()).gather(&indices, 0)?, rows);
    assert_eq!(CowArray::from(table.clone()).gather(&indices, 0)?, rows);
    let reference: &ArrayRef2<i32> = &table;
    assert_eq!(reference.gather(&indices, 0)?, rows);
    assert_eq!(table.clone().into_dyn().gather(&indices, 0)?, rows.into_dyn());
    Ok(())
}

#[test]
fn every_kind_of_out() -> Result<()> {
    let (table, rows) = (table(), rows());
    let (indices, along) = ([2, 0, -1], Gather::along(0));
    let zeros = Array2::<i32>::zeros((3, 2));

    let mut owned = zeros.clone();
    table.gather_into(&indices, along, &mut owned)?;
    assert_eq!(owned, rows);

    let mut viewed = zeros.clone();
    table.gather_into(&indices, along, &mut viewed.view_mut())?;
    assert_eq!(viewed, rows);

    let mut referred = zeros.clone();
    let reference: &mut ArrayRef2<i32> = &mut referred;
    table.gather_into(&indices, along, reference)?;
    assert_eq!(referred, rows);

    let mut shared = zeros.to_shared();
    let other = shared.clone();
    table.gather_into(&indices, along, &mut shared)?;
    assert_eq!((&shared.to_owned(), &other.to_owned()), (&rows, &zeros));

    let mut dynamic = zeros.into_dyn();
    table.gather_into(&indices, along, &mut dynamic)?;
    assert_eq!(dynamic, rows.into_dyn());
    Ok(())
}

/// The rank of a result is a type, here and below in the signatures.
#[test]
fn static_output_rank() -> Result<()> {
    let cube: Array3<i16> = array_of(&[2, 3, 4], 1).into_dimensionality().unwrap();
    let indices = array![[0, 1], [1, 0]];
    let four: Array<i16, ndarray::Ix4> = cube.gather(&indices, 2)?;
    assert_eq!(four.shape(), [2, 3, 2, 2]);
    let two: Array2<i16> = cube.gather(&0, 1)?;
    assert_eq!(two.shape(), [2, 4]);
    let indices = Array::<u8, ndarray::Ix4>::zeros((1, 2, 1, 1));
    let six: Array<i16, ndarray::Ix6> = cube.gather(&indices, 0)?;
    assert_eq!(six.shape(), [1, 2, 1, 1, 3, 4]);
    let indices = Array::<u8, ndarray::Ix5>::zeros((1, 2, 1, 2, 1));
    let seven: ArrayD<i16> = cube.gather(&indices, 0)?;
    assert_eq!(seven.shape(), [1, 2, 1, 2, 1, 3, 4]);
    let dynamic: ArrayD<i16> = cube.into_dyn().gather(&[1], 0)?;
    assert_eq!(dynamic.shape(), [1, 3, 4]);
    Ok(())
}

fn keeps_rank<D: RemoveAxis>()
where
    D::Smaller: ndarray::DimAdd<Ix1, Output = D>,
{
    let rank = D::NDIM.unwrap();
    let shape: Vec<usize> = (0..rank).map(|k| 2 + k % 2).collect();
    let data: Array<f32, D> = array_of(&shape, 2).into_dimensionality().unwrap();
    for axis in 0..rank {
        let output: Array<f32, D> = data.gather(&[1, -1, 0], Axis(axis)).unwrap();
        let mut expected = data.select(Axis(axis), &[1, shape[axis] - 1, 0]);
        assert_same(&output, &expected);
        expected.fill(0.0);
        data.gather_into(&[1, -1, 0], Gather::along(Axis(axis)), &mut expected).unwrap();
        assert_same(&expected, &output);
        let dynamic = data.view().into_dyn().gather(&[1, -1, 0], Axis(axis)).unwrap();
        assert_same(&dynamic, &output);
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
    for axis in [0, -1, 1] {
        let refused = Error::AxisOutOfBounds { axis: axis.into(), rank: 0 };
        assert_eq!(ndarray::arr0(1).gather_with(&0, Gather::along(axis)).unwrap_err(), refused);
        let dynamic = ndarray::arr0(1).into_dyn();
        assert_eq!(dynamic.gather(&[0], axis).unwrap_err(), refused);
    }
}

#[test]
fn fully_qualified_calls() -> Result<()> {
    let (table, rows) = (table(), rows());
    assert_eq!(GatherExt::gather(&table, &[2, 0, -1], 0)?, rows);
    assert_eq!(<Array2<i32> as GatherExt>::gather(&table, &[2, 0, -1], 0)?, rows);
    assert_eq!(<ArrayView2<'_, i32> as GatherExt>::gather(&table.view(), &[2, 0, -1], 0)?, rows);
    assert_eq!(<ArrayRef2<i32> as GatherExt>::gather(&table, &[2, 0, -1], 0)?, rows);
    Ok(())
}

fn embed<T, I>(table: &T, ids: &I) -> Result<Array2<i32>>
where
    T: GatherExt<Elem = i32, Dim = Ix2> + ?Sized,
    I: opkernels::ArrayLike<Elem: IndexInteger, Dim = Ix1> + ?Sized,
{
    table.gather(ids, 0)
}

fn select<T: GatherExt + ?Sized>(data: &T, ids: &[usize]) -> Result<ArrayD<T::Elem>>
where
    T::Elem: Value,
    T::Dim: Dimension,
{
    data.gather_with(ids, Gather::along(0))
}

#[test]
fn generic_bounds() -> Result<()> {
    let (table, rows) = (table(), rows());
    assert_eq!(embed(&table, &[2, 0, -1])?, rows);
    assert_eq!(embed(&table.view(), &vec![2_u8, 0, 2])?, rows);
    let reference: &ArrayRef2<i32> = &table;
    assert_eq!(embed(reference, &array![2, 0, -1])?, rows);
    assert_eq!(select(&table, &[2, 0, 2])?, rows.clone().into_dyn());
    assert_eq!(select::<Array<i32, IxDyn>>(&table.into_dyn(), &[2, 0, 2])?, rows.into_dyn());
    Ok(())
}
