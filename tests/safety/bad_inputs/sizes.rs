//! Sizes that no memory holds: of data, of indices, and of results.

use ndarray::{Array1, Array2, ArrayD, ArrayViewD, Axis, array};
use opkernels::{
    Error, Gather, GatherElementsExt, GatherExt, OutOfBounds, Reduction, RollExt, ScatterElements,
    ScatterElementsExt,
};

use super::Table;
use super::forms::outside;
use crate::common::REDUCTIONS;

/// More elements than addresses of today's processors reach.
const FAR: usize = 1 << 60;

pub(super) fn cases(table: &mut Table) {
    results_too_large(table);
    results_refused(table);
    behind_an_empty_axis(table);
    indices_into_far_axes(table);
    far_data_moved(table);
    far_indices(table);
}

/// One element for all places of a shape.
fn far<'a, A>(one: &'a Array1<A>, shape: &[usize]) -> ArrayViewD<'a, A> {
    one.broadcast(shape).unwrap()
}

/// A gather of `data` by `indices`, both broadcast, along the first axis.
fn gathered<A>(data: &[usize], indices: &[usize]) -> opkernels::Result<ArrayD<A>>
where
    A: Clone + Default + Send + Sync,
{
    let (element, index) = (Array1::from(vec![A::default()]), array![-1_i8]);
    far(&element, data).gather(&far(&index, indices), 0)
}

/// Products that overflow in elements, only in bytes, and to small numbers.
fn results_too_large(table: &mut Table) {
    for (data, indices, element_size) in [
        (&[1, 1 << 32][..], &[1 << 31][..], 1),
        (&[1, 1 << 32], &[1 << 32], 1),
        (&[1, 1 << 32], &[(1 << 32) + 1], 1),
        (&[1, FAR], &[FAR], 1),
        (&[1, 1 << 62], &[2], 1),
        (&[1, 3], &[isize::MAX as usize], 1),
        (&[1], &[FAR], 8),
        (&[1], &[(FAR / 2) + 1], 16),
        (&[1], &[isize::MAX as usize / 8 + 2], 8),
        (&[1, 1 << 30], &[1 << 30], 8),
        (&[1, 2], &[1 << 21, 1 << 21, 1 << 20], 1),
    ] {
        table.case(format!("gather {data:?} by {indices:?}, {element_size} bytes each"), || {
            let shape = [indices, &data[1..]].concat();
            let expected = Error::SizeOverflow { shape, element_size };
            match element_size {
                1 => assert_eq!(gathered::<u8>(data, indices).unwrap_err(), expected),
                8 => assert_eq!(gathered::<f64>(data, indices).unwrap_err(), expected),
                _ => assert_eq!(gathered::<[u64; 2]>(data, indices).unwrap_err(), expected),
            }
        });
    }
}

/// Sizes that are numbers, but that no allocator grants.
fn results_refused(table: &mut Table) {
    for (data, indices) in [
        (&[1][..], &[FAR][..]),
        (&[1], &[isize::MAX as usize]),
        (&[1, 1 << 30], &[1 << 30]),
        (&[1, 1 << 31], &[2, 1 << 30]),
    ] {
        table.case(format!("gather {data:?} by {indices:?}, u8"), || {
            let bytes = data.iter().chain(indices).product();
            assert_eq!(gathered::<u8>(data, indices), Err(Error::AllocationFailed { bytes }));
        });
    }
    table.case("gather more strings than memory holds", || {
        assert!(gathered::<String>(&[1], &[FAR]).is_err());
        assert!(gathered::<String>(&[1], &[FAR / 8]).is_err());
        assert!(gathered::<String>(&[1, 1 << 31], &[1 << 31]).is_err());
    });
}

/// Lengths that multiply beyond all numbers beside one that is 0.
fn behind_an_empty_axis(table: &mut Table) {
    for (data, indices) in [
        (&[2, FAR, 0][..], &[1 << 10][..]),
        (&[2, 0, FAR], &[1 << 10]),
        (&[2, 1 << 31, 0, 1 << 30], &[1 << 10]),
    ] {
        table.case(format!("gather {data:?} by {indices:?}"), || {
            let nothing = Array1::<u8>::zeros(0);
            let mut lengths = data.to_vec();
            let shape = vec![1; data.len()];
            let empty = lengths.iter().position(|&len| len == 0).unwrap();
            lengths[0] = 2;
            let mut shape = shape;
            shape[empty] = 0;
            let nothing = nothing.into_shape_with_order(shape).unwrap();
            let view = nothing.broadcast(lengths).unwrap();
            let expected = [indices, &data[1..]].concat();
            let expected = Error::SizeOverflow { shape: expected, element_size: 1 };
            let index = array![0_u8];
            assert_eq!(view.gather(&far(&index, indices), 0), Err(expected));
        });
    }
    table.case("gather, roll and scatter 2^61 times nothing", || {
        let nothing = Array2::<u8>::zeros((1, 0));
        let view = nothing.broadcast((FAR * 2, 0)).unwrap();
        assert_eq!(view.gather(&[-1, 5], 0).unwrap().shape(), [2, 0]);
        assert_eq!(view.roll(i64::MIN, 0).unwrap().shape(), [FAR * 2, 0]);
        let none = Array2::<i64>::zeros((3, 0));
        let updates = Array2::<u8>::zeros((3, 0));
        let scattered = view.scatter_elements(&none, &updates, 0).unwrap();
        assert_eq!(scattered.shape(), [FAR * 2, 0]);
    });
}

/// Indices at both ends of an axis of 2^60 elements.
fn indices_into_far_axes(table: &mut Table) {
    let n = FAR as i64;
    for index in [0, 1 << 32, (1 << 32) + 1, n - 1, -n, -1] {
        table.case(format!("gather {index} of 2^60"), || {
            let element = array![7_u8];
            let data = far(&element, &[FAR]);
            assert_eq!(data.gather(&[index], 0), Ok(array![7].into_dyn()));
            assert_eq!(data.gather(&[0, index], 0), Ok(array![7, 7].into_dyn()));
        });
    }
    for index in [n, -n - 1, n + (1 << 32), i64::MIN, i64::MAX] {
        table.case(format!("gather {index} of 2^60, out of bounds"), || {
            let element = array![7_u8];
            let data = far(&element, &[FAR]);
            let expected = outside(index.into(), &[1], 0, FAR);
            assert_eq!(data.gather(&[0, index], 0), expected);
            let mut out = array![1_u8, 2];
            let done = data.gather_into(&[0, index], Gather::along(0), &mut out);
            assert_eq!(done, expected.map(|_: ArrayD<u8>| ()));
            assert_eq!(out, array![1, 2]);
        });
        for mode in [OutOfBounds::Clip, OutOfBounds::Wrap, OutOfBounds::Fill(9)] {
            table.case(format!("gather {index} of 2^60, {mode:?}"), || {
                let element = array![7_u8];
                let expected = if mode == OutOfBounds::Fill(9) { array![9] } else { array![7] };
                let attributes = Gather::along(0).out_of_bounds(mode);
                let gathered = far(&element, &[FAR]).gather_with(&[index], attributes);
                assert_eq!(gathered, Ok(expected.into_dyn()));
            });
        }
    }
    for index in [1 << 60, 1 << 63, u64::MAX, u64::MAX - (1 << 60) + 1] {
        table.case(format!("gather the u64 {index} of 2^60"), || {
            let element = array![7_u8];
            let expected = outside(index.into(), &[0], 0, FAR);
            assert_eq!(far(&element, &[FAR]).gather(&[index], 0), expected);
        });
    }
    // More indices than are resolved before the first is used.
    for len in [1 << 62, (1 << 62) + 1, isize::MAX as usize - 1] {
        let end = len as i64;
        for index in [0, end - 1, 1 - end, -end, end, -end - 1, i64::MAX, i64::MIN] {
            table.case(format!("gather 5000 times {index} of {len}"), || {
                let (element, indices) = (array![7_u8], Array1::from_elem(5000, index));
                let (data, mut out) = (far(&element, &[len]), Array1::<u8>::zeros(5000));
                let inside = (-end..end).contains(&index);
                let expected = if inside { Ok(()) } else { outside(index.into(), &[0], 0, len) };
                assert_eq!(data.gather_into(&indices, 0, &mut out), expected);
                assert_eq!(data.gather_elements_into(&indices, 0, &mut out), expected);
                assert_eq!(out, Array1::from_elem(5000, if inside { 7 } else { 0 }));
            });
        }
    }
    table.case("gather rows out of 2^58", || {
        let row = array![1_u16, 2, 3, 4];
        let data = row.broadcast((FAR / 4, 4)).unwrap();
        let expected = array![[1, 2, 3, 4], [1, 2, 3, 4]];
        assert_eq!(data.gather(&[(1_u64 << 58) - 1, 1 << 57], 0), Ok(expected));
    });
}

/// Data of 2^60 elements as a whole.
fn far_data_moved(table: &mut Table) {
    table.case("roll 2^60 bytes", || {
        let element = array![7_u8];
        let refused = Err(Error::AllocationFailed { bytes: FAR });
        assert_eq!(far(&element, &[FAR]).roll(i64::MIN, 0), refused);
        assert_eq!(far(&element, &[1 << 30, 1 << 30]).roll([1, -1], [0, 1]), refused);
    });
    table.case("roll 2^60 words", || {
        let element = array![7_u64];
        let shape = vec![1 << 20, 1 << 40];
        let expected = Error::SizeOverflow { shape: shape.clone(), element_size: 8 };
        assert_eq!(far(&element, &shape).roll(1, 0), Err(expected));
    });
    table.case("roll 2^60 strings", || {
        let element = array![String::from("word")];
        let element_size = size_of::<String>();
        let expected = Error::SizeOverflow { shape: vec![FAR], element_size };
        assert_eq!(far(&element, &[FAR]).roll(1, 0), Err(expected.clone()));
        let index = array![0_i8];
        assert_eq!(element.gather(&index.broadcast(FAR).unwrap(), 0), Err(expected));
    });
    table.case("roll 2^60 bytes into three", || {
        let element = array![7_u8];
        let mut out = array![1, 2, 3];
        let expected = Error::OutShapeMismatch { expected: vec![FAR], actual: vec![3] };
        assert_eq!(far(&element, &[FAR]).roll_into(1, 0, &mut out), Err(expected));
        assert_eq!(out, array![1, 2, 3]);
    });
    table.case("scatter into a copy of 2^60 bytes", || {
        let element = array![7_u8];
        let refused = Err(Error::AllocationFailed { bytes: FAR });
        let data = far(&element, &[FAR]);
        let (indices, updates) = (array![0].into_dyn(), array![1].into_dyn());
        assert_eq!(data.scatter_elements(&indices, &updates, 0), refused);
        let sum = ScatterElements::along(0).reduction(Reduction::Sum);
        assert_eq!(data.scatter_elements_with(&indices, &updates, sum), refused);
    });
    table.case("scatter into a copy of 2^60 words", || {
        let element = array![7_i64];
        let expected = Error::SizeOverflow { shape: vec![FAR], element_size: 8 };
        let (indices, updates) = (array![0].into_dyn(), array![1].into_dyn());
        let scattered = far(&element, &[FAR]).scatter_elements(&indices, &updates, 0);
        assert_eq!(scattered, Err(expected));
    });
}

/// Every reduction of far updates is refused, before anything is written.
fn assert_refused(
    before: &ArrayD<i32>,
    (indices, updates): (ArrayViewD<'_, i16>, ArrayViewD<'_, i32>),
    axis: usize,
    error: &Error,
) {
    for reduction in REDUCTIONS {
        let attributes = ScatterElements::along(Axis(axis)).reduction(reduction);
        let mut target = before.clone();
        let done = target.scatter_elements_inplace(&indices, &updates, attributes);
        let copied = before.scatter_elements_with(&indices, &updates, attributes);
        for refused in [done.unwrap_err(), copied.unwrap_err()] {
            assert_eq!(refused, *error);
        }
        assert_eq!(target, before);
    }
}

/// 2^60 indices, of which a refusal looks at those that differ.
fn far_indices(table: &mut Table) {
    for (shape, axis) in [(&[FAR][..], 0), (&[3, FAR], 1), (&[FAR, 4], 0)] {
        table.case(format!("scatter {shape:?} indices out of bounds"), || {
            let data_shape = if shape.len() == 1 { vec![3] } else { vec![3, 4] };
            let len = data_shape[axis];
            let before = ArrayD::<i32>::from_elem(data_shape, 5);
            let (index, update) = (array![-9_i16], array![1]);
            let (indices, updates) = (far(&index, shape), far(&update, shape));
            let error = outside::<()>(-9, &vec![0; shape.len()], axis, len).unwrap_err();
            assert_refused(&before, (indices, updates), axis, &error);
        });
    }
    table.case("scatter an index out of bounds behind 2^60 of another", || {
        let (column, update) = (array![[-1_i16], [3]], array![1]);
        let indices = column.broadcast((2, FAR)).unwrap().into_dyn();
        let before = ArrayD::<i32>::from_elem(vec![2, 3], 5);
        let error = outside::<()>(3, &[1, 0], 1, 3).unwrap_err();
        assert_refused(&before, (indices, far(&update, &[2, FAR])), 1, &error);
    });
    table.case("scatter a mean of more updates than are counted", || {
        let (index, update) = (array![-1_i16], array![1]);
        for count in [FAR, u32::MAX as usize] {
            let error =
                Error::TooMany { what: "updates of a mean", count, most: u32::MAX as usize - 1 };
            let before = ArrayD::<i32>::from_elem(vec![3], 5);
            let (indices, updates) = (far(&index, &[count]), far(&update, &[count]));
            for init in [true, false] {
                let mean = ScatterElements::mean(0).use_init_val(init);
                let mut target = before.clone();
                let done = target.scatter_elements_inplace(&indices, &updates, mean);
                assert_eq!(done, Err(error.clone()));
                assert_eq!(target, before);
                assert_eq!(
                    before.scatter_elements_with(&indices, &updates, mean).unwrap_err(),
                    error
                );
            }
        }
    });
    table.case("gather 2^60 indices into three", || {
        let (data, index) = (array![1_u8, 2], array![-9_i16]);
        let mut out = array![4_u8, 5, 6];
        let expected = Error::OutShapeMismatch { expected: vec![FAR], actual: vec![3] };
        let done = data.gather_into(&far(&index, &[FAR]), Gather::along(0), &mut out);
        assert_eq!(done, Err(expected));
        assert_eq!(out, array![4, 5, 6]);
    });
    table.case("scatter 2^60 skipped indices into nothing", || {
        let (index, update) = (array![-9_i16], array![1]);
        let mut target = ArrayD::<i32>::zeros(vec![0]);
        let (indices, updates) = (far(&index, &[FAR]), far(&update, &[FAR]));
        let skip = ScatterElements::along(0).out_of_bounds(OutOfBounds::Skip);
        assert_eq!(target.scatter_elements_inplace(&indices, &updates, skip), Ok(()));
    });
}
