//! Every form of call, as DESIGN writes it, with the crate as a prelude.

use std::mem::MaybeUninit;

use ndarray::{Array, Array1, Array2, Array3, ArrayD, Axis, array};
use opkernels::*;

/// What was gathered into slots is initialised.
#[allow(unsafe_code)]
fn initialised<A: Clone, D: ndarray::Dimension>(slots: Array<MaybeUninit<A>, D>) -> Array<A, D> {
    // SAFETY: the gather returned `Ok`, so it wrote every slot.
    unsafe { slots.assume_init() }
}

#[test]
fn reads() -> Result<()> {
    let scores = array![[0.5, 0.1, 0.9], [0.2, 0.8, 0.4]];
    let order = array![[2, 0], [1, 2]];
    let top: Array2<f64> = scores.gather_elements(&order, 1)?;
    assert_eq!(top, array![[0.9, 0.5], [0.8, 0.4]]);
    let fill = GatherElements::along(Axis(1)).out_of_bounds(OutOfBounds::Fill(-1.0));
    let padded: Array2<f64> = scores.gather_elements_with(&array![[2, 3], [-4, 0]], fill)?;
    assert_eq!(padded, array![[0.9, -1.0], [-1.0, 0.2]]);
    assert_eq!(scores.gather_elements_with(&order, -1)?, top);

    let volume = Array3::from_shape_fn((3, 4, 5), |(i, j, k)| 100 * i + 10 * j + k);
    let coordinates = array![[0, 1, 2], [-1, -1, -1]];
    let dots: ArrayD<usize> = volume.gather_nd(&coordinates)?;
    assert_eq!(dots, array![12, 234].into_dyn());
    let rows = volume.gather_nd(&[2, 0])?;
    assert_eq!(rows, array![200, 201, 202, 203, 204].into_dyn());
    let batched =
        volume.gather_nd_with(&array![[1], [0], [3]], GatherNd::new().batch_dims(1_usize))?;
    assert_eq!(batched.shape(), [3, 5]);
    let clip = GatherNd::new().out_of_bounds(OutOfBounds::Clip);
    assert_eq!(volume.gather_nd_with(&[9, -9, 9], clip)?, ndarray::arr0(204).into_dyn());
    Ok(())
}

#[test]
fn outputs() -> Result<()> {
    let table = array![[1, 2], [3, 4], [5, 6]];
    let mut out = Array2::<i32>::zeros((2, 2));
    table.gather_into(&[2, 0], 0, &mut out)?;
    assert_eq!(out, array![[5, 6], [1, 2]]);
    table.gather_elements_into(&array![[1, 0], [2, 2]], 0, &mut out)?;
    assert_eq!(out, array![[3, 2], [5, 6]]);
    table.gather_nd_into(&array![[0], [2]], GatherNd::new(), &mut out)?;
    assert_eq!(out, array![[1, 2], [5, 6]]);

    let words = table.mapv(|number| number.to_string());
    let mut slots = Array2::uninit((2, 2));
    words.gather_into(&[2, 0], 0, &mut slots)?;
    assert_eq!(initialised(slots), array![["5", "6"], ["1", "2"]].mapv(String::from));
    let mut slots = Array2::uninit((2, 2));
    words.gather_elements_into(&array![[1, 0], [2, 2]], 0, &mut slots)?;
    assert_eq!(initialised(slots), array![["3", "2"], ["5", "6"]].mapv(String::from));
    let mut slots = Array1::uninit(2);
    words.gather_nd_into(&array![[0, 1], [2, 0]], GatherNd::new(), &mut slots)?;
    assert_eq!(initialised(slots), array!["2", "5"].mapv(String::from));
    let mut slots = Array2::uninit((3, 2));
    words.roll_into(1, 0, &mut slots)?;
    assert_eq!(initialised(slots), words.roll(1, 0)?);
    // A view of slots of any layout.
    let mut slots = Array2::<i32>::uninit((2, 2));
    table.gather_into(&[2, 0], 0, &mut slots.view_mut().reversed_axes())?;
    assert_eq!(initialised(slots), array![[5, 1], [6, 2]]);
    Ok(())
}

#[test]
fn writes() -> Result<()> {
    let (to, messages) = (array![1, 0, 1], array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    let mut nodes = Array2::zeros((2, 2));
    nodes.scatter_inplace(&to, &messages, Scatter::sum(0))?;
    assert_eq!(nodes, array![[3.0, 4.0], [6.0, 8.0]]);
    let mut counts = Array1::<u32>::zeros(4);
    counts.scatter_inplace(&[1, 3, 3], &1, Scatter::sum(0))?;
    assert_eq!(counts, array![0, 1, 0, 2]);
    let mut acc = array![[1.0, 2.0], [3.0, 4.0]];
    let mean = ScatterElements::along(0).reduction(Reduction::Mean).use_init_val(false);
    acc.scatter_elements_inplace(&array![[0, 1], [0, 1]], &array![[3.0, 8.0], [5.0, 4.0]], mean)?;
    assert_eq!(acc, array![[4.0, 2.0], [3.0, 6.0]]);
    let mut grid = Array2::<f64>::zeros((2, 2));
    grid.scatter_nd_inplace(&array![[0, 1], [0, 1]], &array![1.5, 2.0], ScatterNd::sum())?;
    assert_eq!(grid, array![[0.0, 3.5], [0.0, 0.0]]);

    let data = array![1, 2, 3];
    assert_eq!(data.scatter(&[0], &[7], 0)?, array![7, 2, 3]);
    assert_eq!(data.scatter_with(&[0], &[7], Scatter::max(0))?, array![7, 2, 3]);
    assert_eq!(data.scatter_nd(&array![[0]], &[7])?, array![7, 2, 3]);
    assert_eq!(data.scatter_nd_with(&array![[-1]], &4, ScatterNd::new())?, array![1, 2, 4]);
    Ok(())
}

/// The short constructors say what the long ones say.
#[test]
fn short_constructors() -> Result<()> {
    let (data, indices, updates) = (array![5, 7], [0, 0, 1], [2, 9, 3]);
    macro_rules! each {
        ($($short:ident: $reduction:ident = $expected:expr;)*) => {$(
            let expected = $expected;
            assert_eq!(data.scatter_with(&indices, &updates, Scatter::$short(0))?, expected);
            let long = Scatter::along(0).reduction(Reduction::$reduction);
            assert_eq!(data.scatter_with(&indices, &updates, long)?, expected);
            let short = ScatterElements::$short(0);
            assert_eq!(data.scatter_elements_with(&indices, &updates, short)?, expected);
            let tuples = array![[0], [0], [1]];
            assert_eq!(data.scatter_nd_with(&tuples, &updates, ScatterNd::$short())?, expected);
        )*};
    }
    each! {
        sum: Sum = array![16, 10];
        sub: Sub = array![-6, 4];
        prod: Prod = array![90, 21];
        min: Min = array![2, 3];
        max: Max = array![9, 7];
        mean: Mean = array![5, 5];
    }
    Ok(())
}

/// Elements of any `Clone` type, however the overwrite is told.
#[test]
fn overwrites_of_strings() -> Result<()> {
    let words = array!["a", "b", "c"].mapv(String::from);
    let (indices, updates) = ([0, 5], ["x", "y"].map(String::from));
    let expected = array!["x", "b", "c"].mapv(String::from);
    let slices = Scatter::along(0).out_of_bounds(OutOfBounds::Skip);
    assert_eq!(words.scatter_with(&indices, &updates, slices)?, expected);
    let elements = ScatterElements::along(0).out_of_bounds(OutOfBounds::Skip);
    assert_eq!(words.scatter_elements_with(&indices, &updates, elements)?, expected);
    let tuples = ScatterNd::new().out_of_bounds(OutOfBounds::Skip);
    assert_eq!(words.scatter_nd_with(&array![[0], [5]], &updates, tuples)?, expected);
    let mut target = words.clone();
    target.scatter_inplace(&indices, &updates, slices)?;
    assert_eq!(target, expected);
    let mut target = words.clone();
    target.scatter_elements_inplace(&indices, &updates, elements)?;
    assert_eq!(target, expected);
    let mut target = words.clone();
    target.scatter_nd_inplace(&array![[0], [5]], &updates, tuples)?;
    assert_eq!(target, expected);
    // One value for all, of a type that is no number.
    let one = ndarray::arr0("z".to_string());
    assert_eq!(words.scatter(&[0, 1, 2], &one, 0)?, Array1::from_elem(3, "z".to_string()));
    Ok(())
}

/// One value for all in every form of every scatter.
#[test]
fn one_value() -> Result<()> {
    let data = array![[1, 2], [3, 4]];
    assert_eq!(data.scatter(&[1], &9, 0)?, array![[1, 2], [9, 9]]);
    assert_eq!(data.scatter(&[1], &ndarray::arr0(9), 1)?, array![[1, 9], [3, 9]]);
    assert_eq!(data.scatter_elements(&array![[1, 0]], &9, 0)?, array![[1, 9], [9, 4]]);
    assert_eq!(data.scatter_nd(&array![[0, 0], [1, 1]], &9)?, array![[9, 2], [3, 9]]);
    let none = Array1::<i8>::zeros(0);
    assert_eq!(data.scatter(&none, &9, 0)?, data);
    let mut target = data.clone();
    target.scatter_fold(&[0, 0], &10_u8, 1, |sum, &by| *sum += i32::from(by))?;
    assert_eq!(target, array![[21, 2], [23, 4]]);
    // An array of one element is no single value.
    assert!(data.scatter(&[0, 1], &array![9], 0).is_err());
    assert!(data.scatter_elements(&array![[1, 0]], &array![[9]], 0).is_err());
    assert!(data.scatter_nd(&array![[0, 0], [1, 1]], &array![9]).is_err());
    Ok(())
}

/// One value is of the target's type, whatever a literal would be by itself.
#[test]
fn literals_take_the_type_of_the_target() -> Result<()> {
    let mut counts = ndarray::Array1::<u32>::zeros(3);
    counts.scatter_inplace(&[0, 2, 2], &1, Scatter::sum(0))?;
    assert_eq!(counts, array![1, 0, 2]);
    let mut sums = ndarray::Array1::<f32>::zeros(3);
    sums.scatter_elements_inplace(&[0, 2, 2], &0.5, ScatterElements::sum(0))?;
    sums.scatter_nd_inplace(&array![[1], [1]], &2.0, ScatterNd::sum())?;
    assert_eq!(sums, array![0.5, 4.0, 1.0]);
    let mut bytes = ndarray::Array1::<u8>::zeros(3);
    bytes.scatter_inplace(&[0, 2, 2], &[1, 2, 3], Scatter::sum(0))?;
    assert_eq!(bytes, array![1, 0, 5]);
    Ok(())
}
