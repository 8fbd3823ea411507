//! Axes, shapes, empty axes, reductions and extreme values of a scatter.

use ndarray::{Array1, Array2, ArrayD, ArrayViewD, Axis, array};
use opkernels::{
    Error, IntoAxis, OutOfBounds, Reduction, Result, ScatterElements, ScatterElementsExt,
};

use super::Table;
use super::forms::{outside, scatter, scatter_with};
use crate::common::{REDUCTIONS, Reduce, array_of, oracle, settled};

pub(super) fn cases(table: &mut Table) {
    axes(table);
    ranks(table);
    updates(table);
    lengths(table);
    empty_axes(table);
    unsupported(table);
    extremes(table);
    shared_memory(table);
}

/// Every way to scatter is refused in the same words.
fn refused(
    [data, indices, updates]: [&[usize]; 3],
    axis: impl IntoAxis,
    mode: OutOfBounds,
    error: Error,
) {
    let data: ArrayD<i32> = array_of(data, 1);
    // Out of bounds themselves: what is wrong with the shapes is said first.
    let indices = ArrayD::<i64>::from_elem(indices, i64::MIN);
    let updates: ArrayD<i32> = array_of(updates, 2);
    let expected = Err(error);
    if mode == OutOfBounds::Error {
        scatter(&data, &indices.view(), &updates.view(), axis, &expected);
    }
    for reduction in REDUCTIONS {
        let attributes = ScatterElements::along(axis).reduction(reduction).out_of_bounds(mode);
        scatter_with(&data, &indices.view(), &updates.view(), attributes, &expected);
    }
}

fn refused_axis(table: &mut Table, axis: impl IntoAxis, given: i128, rank: usize) {
    table.case(format!("scatter along {given} of rank {rank}"), || {
        let shape = &[2, 3, 4][..rank];
        let error = Error::AxisOutOfBounds { axis: given, rank };
        refused([shape, &[9], &[8, 7]], axis, OutOfBounds::Error, error.clone());
        refused([shape, shape, shape], axis, OutOfBounds::Wrap, error);
    });
}

fn axes(table: &mut Table) {
    for rank in 0..=3 {
        let end = rank as i64;
        refused_axis(table, end, end.into(), rank);
        refused_axis(table, -end - 1, i128::from(-end - 1), rank);
        refused_axis(table, Axis(usize::MAX), usize::MAX as i128, rank);
    }
    refused_axis(table, i64::MIN, i64::MIN.into(), 3);
    refused_axis(table, i64::MAX, i64::MAX.into(), 3);
    refused_axis(table, i32::MIN, i32::MIN.into(), 3);
}

fn ranks(table: &mut Table) {
    for (data, indices) in [
        (&[3][..], &[][..]),
        (&[3], &[1, 1]),
        (&[2, 3], &[3]),
        (&[2, 3], &[6]),
        (&[2, 3], &[1, 2, 3]),
        (&[2, 3], &[2, 3, 1]),
        (&[2, 3], &[0]),
        (&[0, 3], &[0, 0, 0]),
    ] {
        table.case(format!("scatter {indices:?} into {data:?}"), || {
            let error = Error::RankMismatch { data: data.len(), indices: indices.len() };
            refused([data, indices, indices], 0, OutOfBounds::Error, error.clone());
            refused([data, indices, data], -1, OutOfBounds::Clip, error);
        });
    }
}

fn updates(table: &mut Table) {
    for (indices, updates) in [
        (&[2, 3][..], &[3, 2][..]),
        (&[2, 3], &[6]),
        (&[2, 3], &[2, 3, 1]),
        (&[2, 3], &[1, 3]),
        (&[2, 3], &[2, 2]),
        (&[2, 3], &[0, 3]),
        (&[0, 3], &[2, 3]),
        (&[0, 3], &[0, 2]),
        (&[2, 0], &[0, 2]),
        // Indices that do not fit either: the updates are named first.
        (&[9, 9], &[9, 8]),
    ] {
        table.case(format!("scatter updates {updates:?} at indices {indices:?}"), || {
            let error = Error::UpdatesShapeMismatch {
                indices: indices.to_vec(),
                updates: updates.to_vec(),
            };
            refused([&[2, 3], indices, updates], 1, OutOfBounds::Error, error.clone());
            refused([&[2, 3], indices, updates], 1, OutOfBounds::Skip, error);
        });
    }
}

/// Indices that reach beyond the data off the axis.
fn lengths(table: &mut Table) {
    for (data, indices, axis, dim) in [
        (&[2, 3][..], &[2, 4][..], 0, 1),
        (&[2, 3], &[3, 3], 1, 0),
        (&[2, 3], &[0, 4], 0, 1),
        (&[2, 3], &[3, 0], 1, 0),
        (&[2, 0], &[2, 1], 0, 1),
        (&[0, 3], &[1, 3], 1, 0),
        (&[0, 3], &[0, 4], 0, 1),
        (&[2, 3, 4], &[3, 9, 5], 1, 0),
        (&[2, 3, 4], &[2, 9, 5], 1, 2),
        (&[2, 3, 4], &[2, 9, usize::MAX / 256], 1, 2),
    ] {
        let fits_memory = indices[indices.len() - 1] < 1 << 20;
        table.case(format!("scatter {indices:?} along {axis} of {data:?}"), || {
            let (of_data, of_indices) = (data.to_vec(), indices.to_vec());
            let error = Error::IndicesTooLong { data: of_data, indices: of_indices, axis, dim };
            if fits_memory {
                refused([data, indices, indices], Axis(axis), OutOfBounds::Error, error.clone());
                refused([data, indices, indices], Axis(axis), OutOfBounds::Clip, error);
            } else {
                refused_unread(data, indices, axis, &error);
            }
        });
    }
}

/// The same with one index and one update broadcast to a shape that no memory
/// holds.
fn refused_unread(data: &[usize], shape: &[usize], axis: usize, error: &Error) {
    let before: ArrayD<i32> = array_of(data, 1);
    let (index, update) = (array![1_u8], array![2]);
    let (indices, updates) = (index.broadcast(shape).unwrap(), update.broadcast(shape).unwrap());
    let mut target = before.clone();
    let done = target.scatter_elements_inplace(&indices, &updates, Axis(axis));
    assert_eq!(&done.unwrap_err(), error);
    assert_eq!(target, before);
    assert_eq!(&before.scatter_elements(&indices, &updates, Axis(axis)).unwrap_err(), error);
}

fn empty_axes(table: &mut Table) {
    let modes = [OutOfBounds::Error, OutOfBounds::Skip, OutOfBounds::Clip, OutOfBounds::Wrap];
    for mode in modes {
        for (data, indices) in [
            (&[0][..], &[2][..]),
            (&[0, 3], &[2, 3]),
            (&[0, 3], &[1, 1]),
            (&[0], &[0]),
            (&[0, 3], &[0, 3]),
            (&[0, 3], &[5, 0]),
            (&[0, 0], &[5, 0]),
        ] {
            table.case(format!("scatter {indices:?} into {data:?}, {mode:?}"), || {
                into_an_empty_axis(data, indices, mode);
            });
        }
    }
}

fn into_an_empty_axis(data: &[usize], shape: &[usize], mode: OutOfBounds) {
    let data = ArrayD::<i16>::zeros(data);
    let indices = ArrayD::<u8>::zeros(shape);
    let updates: ArrayD<i16> = array_of(shape, 2);
    let expected = match mode {
        _ if indices.is_empty() => Ok(data.clone()),
        OutOfBounds::Error => outside(0, &vec![0; shape.len()], 0, 0),
        OutOfBounds::Clip => Err(Error::EmptyAxis { mode: "clip", axis: 0 }),
        OutOfBounds::Wrap => Err(Error::EmptyAxis { mode: "wrap", axis: 0 }),
        _ => Ok(data.clone()),
    };
    for reduction in REDUCTIONS {
        let attributes = ScatterElements::along(0).reduction(reduction).out_of_bounds(mode);
        for init in [true, false] {
            let attributes = attributes.use_init_val(init);
            scatter_with(&data, &indices.view(), &updates.view(), attributes, &expected);
        }
    }
}

/// Reductions without a meaning for the type, even where nothing is reduced.
fn unsupported(table: &mut Table) {
    for shape in [&[2][..], &[0]] {
        refused_reduction::<bool>(table, shape, Reduction::Mean);
        #[cfg(feature = "num-complex")]
        for reduction in [Reduction::Min, Reduction::Max] {
            refused_reduction::<num_complex::Complex<f32>>(table, shape, reduction);
            refused_reduction::<num_complex::Complex<f64>>(table, shape, reduction);
        }
    }
}

fn refused_reduction<A: Reduce>(table: &mut Table, shape: &[usize], reduction: Reduction) {
    let element = std::any::type_name::<A>();
    table.case(format!("scatter {reduction} of {shape:?} {element}"), || {
        let data: ArrayD<A> = array_of(&[3], 1);
        let indices = ArrayD::<i32>::zeros(shape);
        let updates: ArrayD<A> = array_of(shape, 2);
        let expected = Err(Error::UnsupportedReduction { reduction, element });
        let attributes = ScatterElements::along(0).reduction(reduction);
        scatter_with(&data, &indices.view(), &updates.view(), attributes, &expected);
    });
}

/// The ends of every type, reduced.
fn extremes(table: &mut Table) {
    macro_rules! each {
        ($($int:ident)*) => {$(
            let (min, max) = ($int::MIN, $int::MAX);
            reduced(table, stringify!($int), [min, max, 0], [min, max, max, min, min, 1, max]);
        )*};
    }
    each!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    reduced(table, "f32", [-0.0, inf, nan], [-inf, f32::MAX, nan, -0.0, f32::MAX, -inf, 0.0]);
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    reduced(table, "f64", [-inf, -0.0, nan], [-inf, f64::MAX, nan, -0.0, f64::MAX, inf, 0.0]);
    table.case("the maximum of nothing but -inf", || {
        let data = Array1::from(vec![3.5_f32]).into_dyn();
        let updates = Array1::from(vec![-f32::INFINITY]).into_dyn();
        let indices = Array1::from(vec![0_u8]).into_dyn();
        let attributes = ScatterElements::along(0).reduction(Reduction::Max).use_init_val(false);
        scatter_with(&data, &indices.view(), &updates.view(), attributes, &Ok(updates.clone()));
    });
}

fn reduced<A: Reduce>(table: &mut Table, name: &str, data: [A; 3], updates: [A; 7]) {
    let data = Array1::from(data.to_vec()).into_dyn();
    let updates = Array1::from(updates.to_vec()).into_dyn();
    let indices = Array1::from(vec![0_i8, 0, 0, 1, 1, 2, -1]).into_dyn();
    for reduction in REDUCTIONS {
        for use_init_val in [true, false] {
            let init = if use_init_val { "" } else { " without its old values" };
            table.case(format!("scatter {reduction} of the ends of {name}{init}"), || {
                let mode = OutOfBounds::Error;
                let scatter = oracle::Scatter { axis: 0, reduction, use_init_val, mode };
                reduced_as_the_reference(&data, &indices, &updates.view(), &scatter);
            });
        }
    }
}

/// Arithmetic may choose between NaNs, so results are compared with one NaN
/// for all.
fn reduced_as_the_reference<A: Reduce>(
    data: &ArrayD<A>,
    indices: &ArrayD<i8>,
    updates: &ArrayViewD<'_, A>,
    scatter: &oracle::Scatter,
) {
    let wide = indices.mapv(i128::from);
    let expected = oracle::reduce(data, &wide, &updates.to_owned(), scatter).unwrap();
    let settle = |array: &ArrayD<A>| settled(scatter.reduction, array);
    let returned = data.scatter_elements_with(indices, updates, scatter.attributes()).unwrap();
    crate::common::assert_same(&settle(&returned), &settle(&expected));
    let mut target = data.clone();
    target.scatter_elements_inplace(indices, updates, scatter.attributes()).unwrap();
    crate::common::assert_same(&target, &returned);
}

/// Data, indices and updates in the same memory, and such that overlap
/// themselves.
fn shared_memory(table: &mut Table) {
    table.case("scatter an array into itself by itself", || {
        let data = array![2_u16, 0, 1];
        assert_eq!(data.scatter_elements(&data, &data, 0), Ok(array![0, 1, 2]));
    });
    table.case("scatter an array into itself by itself, out of bounds", || {
        let data = array![2_u16, 3, 1];
        let expected: Result<Array1<u16>> = outside(3, &[1], 0, 3);
        assert_eq!(data.scatter_elements(&data, &data, 0), expected);
    });
    table.case("scatter one update broadcast to all places", || {
        let data: ArrayD<i64> = array_of(&[3, 4], 1);
        let (index, update) = (array![-1_i8], array![9_i64]);
        let shape = vec![5, 4];
        let indices = index.broadcast(shape.clone()).unwrap();
        let updates = update.broadcast(shape).unwrap();
        let mut expected = data.clone();
        expected.index_axis_mut(Axis(0), 2).fill(9);
        scatter(&data, &indices, &updates, 0, &Ok(expected));
    });
    for (name, bad) in [("below", -4), ("above", 3)] {
        table.case(format!("scatter by broadcast rows, one index {name}"), || {
            let data: ArrayD<i64> = array_of(&[3, 4], 1);
            let column = Array2::from_shape_vec((3, 1), vec![0_i32, 1, bad]).unwrap();
            let indices = column.broadcast(vec![3, 4]).unwrap();
            let updates: ArrayD<i64> = array_of(&[3, 4], 2);
            let expected = outside(bad.into(), &[2, 0], 0, 3);
            scatter(&data, &indices, &updates.view(), 0, &expected);
            for reduction in REDUCTIONS {
                let attributes = ScatterElements::along(0).reduction(reduction);
                scatter_with(&data, &indices, &updates.view(), attributes, &expected);
            }
        });
    }
}
