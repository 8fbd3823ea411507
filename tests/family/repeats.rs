//! Reductions by indices that repeat, as sorted ones do, against the formula.

use ndarray::{ArrayD, Axis};
use opkernels::{OutOfBounds, Reduction, ScatterNd, ScatterNdExt};

use crate::common::oracle::{self, Kind, Reducing};
use crate::common::{
    Laid, Layout, Numbers, Reduce, Value, array_of, assert_same, calls, plan_of, settled,
};

/// Indices along an axis of `len` elements, each so many times or fewer in a row.
fn repeating(shape: &[usize], len: usize, times: usize) -> ArrayD<i64> {
    let mut numbers = Numbers(times as u64);
    let (mut index, mut left) = (0, 0);
    ArrayD::from_shape_simple_fn(shape, || {
        if left == 0 {
            (index, left) = (numbers.below(2 * len) as i64 - len as i64, 1 + numbers.below(times));
        }
        left -= 1;
        index
    })
}

/// Reduces updates in all layouts, and such as repeat along the first or last axis.
#[track_caller]
fn assert_reduced<A: Reduce>(kind: Kind, shape: &[usize], indices: &ArrayD<i64>) {
    let data: ArrayD<A> = array_of(shape, 1);
    let wide = indices.mapv(i128::from);
    let shape = oracle::updates_shape(kind, shape, wide.shape()).unwrap();
    let rank = shape.len();
    let layouts = [0, 3, 3 << (2 * (rank - 1))].map(|axes| Layout::standard(rank).broadcast(axes));
    let layouts = layouts.into_iter().chain(Layout::all(rank));
    for (number, layout) in layouts.enumerate() {
        let updates = Laid::new(&array_of::<A>(&shape, 2), layout);
        let reductions = [Reduction::Sum, Reduction::Sub, Reduction::Min, Reduction::Max];
        let how = Reducing {
            reduction: reductions[number % reductions.len()],
            use_init_val: number != 5,
            mode: OutOfBounds::Error,
        };
        let expected = oracle::reduce_of(kind, &data, &wide, &updates.contents(), &how).unwrap();
        let expected = settled(how.reduction, &expected);
        let (indices, updates) = (indices.view(), updates.view());
        let returned = calls::reduced(kind, &data.view(), &indices, &updates, &how).unwrap();
        assert_same(&settled(how.reduction, &returned), &expected);
        let plan = plan_of(kind, data.shape(), &indices, how.mode).unwrap().unwrap();
        for _ in 0..2 {
            let mut target = data.clone();
            calls::reduce(kind, &mut target.view_mut(), &plan, &updates, &how).unwrap();
            assert_same(&settled(how.reduction, &target), &expected);
        }
    }
}

/// How many indices there are, and how often each comes in a row.
const SHORT: [(usize, usize); 4] = [(2, 2), (17, 3), (70, 12), (150, 60)];
const LONG: [(usize, usize); 2] = [(1100, 25), (1300, 2)];

/// Rows of so many elements, shorter than a block, as long, and longer.
fn rows<A: Reduce>(lens: &[usize]) {
    for &len in lens {
        for (count, times) in SHORT {
            let indices = repeating(&[count], 5, times);
            let kind = Kind::Slices { axis: 0, batch_dims: 0 };
            assert_reduced::<A>(kind, &[5, len], &indices);
        }
        let indices = repeating(&[60], 4, 20);
        assert_reduced::<A>(Kind::Slices { axis: 1, batch_dims: 0 }, &[3, 4, len], &indices);
        let indices = repeating(&[3, 40], 4, 20);
        assert_reduced::<A>(Kind::Slices { axis: 1, batch_dims: 1 }, &[3, 4, len], &indices);
        let indices = repeating(&[60, 1], 4, 20);
        assert_reduced::<A>(Kind::Tuples { batch_dims: 0 }, &[4, len], &indices);
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long")]
fn rows_of_bytes() {
    rows::<u8>(&[2, 15, 16, 17, 31, 33, 63, 64, 65, 128, 130]);
}

#[test]
#[cfg_attr(miri, ignore = "takes long")]
fn rows_of_floats() {
    rows::<f32>(&[3, 4, 5, 7, 16, 17, 33]);
    rows::<f64>(&[2, 3, 8, 9, 130]);
}

#[test]
#[cfg_attr(miri, ignore = "takes long")]
fn rows_of_other_integers() {
    rows::<i16>(&[7, 8, 9, 33]);
    rows::<u128>(&[1, 2, 5, 70]);
}

/// Single elements: in a line, beside each other, and in lanes of their own.
fn elements<A: Reduce>() {
    for (count, times) in SHORT.into_iter().chain(LONG) {
        let line = repeating(&[count], 5, times);
        assert_reduced::<A>(Kind::Slices { axis: 0, batch_dims: 0 }, &[5], &line);
        assert_reduced::<A>(Kind::Elements { axis: 0 }, &[5], &line);
        let lanes = repeating(&[3, count], 5, times);
        assert_reduced::<A>(Kind::Elements { axis: 1 }, &[3, 5], &lanes);
        assert_reduced::<A>(Kind::Slices { axis: 1, batch_dims: 0 }, &[3, 5], &line);
        let turned = lanes.clone().permuted_axes([1, 0].as_slice());
        assert_reduced::<A>(Kind::Elements { axis: 0 }, &[5, 3], &turned);
        let pairs = ndarray::stack![Axis(1), line, line];
        assert_reduced::<A>(Kind::Tuples { batch_dims: 0 }, &[5, 5], &pairs);
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long")]
fn single_elements() {
    elements::<u8>();
    elements::<f32>();
    elements::<u128>();
}

/// Elements gathered by indices that repeat along the last axis, as those of a list that is expanded to the
/// shape of the data do; in one row of `wild` ones they are out of bounds.
fn gathered<A: Value>(shape: &[usize], count: usize, modes: &[OutOfBounds<A>], wild: bool) {
    let kind = Kind::Elements { axis: shape.len() as i128 - 2 };
    let axis = shape.len() - 2;
    let mut of_rows = shape.to_vec();
    (of_rows[axis], of_rows[axis + 1]) = (count, 1);
    let mut rows = repeating(&of_rows, shape[axis], 1);
    if wild {
        let middle = rows.len() / 2;
        rows.as_slice_mut().unwrap()[middle] = 3 * shape[axis] as i64;
    }
    of_rows[axis + 1] = shape[axis + 1];
    let indices = rows.broadcast(of_rows).unwrap().to_owned();
    let (data, wide) = (array_of::<A>(shape, 1), indices.mapv(i128::from));
    for mode in modes {
        let expected = oracle::read(kind, &data, &wide, mode);
        let into = array_of::<A>(indices.shape(), 3);
        let mut out = into.clone();
        let done =
            calls::read_into(kind, &data.view(), &indices, mode.clone(), &mut out.view_mut());
        match (expected, calls::read(kind, &data.view(), &indices, mode.clone())) {
            (Ok(expected), Ok(returned)) => {
                assert_same(&returned, &expected);
                assert_same(&out, &expected);
                done.unwrap();
            }
            (Err(refused), Err(error)) => {
                assert!(refused.is(&error) && refused.is(&done.unwrap_err()), "{error}");
                assert_same(&out, &into);
            }
            (expected, returned) => panic!("{returned:?}, expected {expected:?}"),
        }
    }
}

fn gathered_in_all_modes<A: Value>() {
    let fill = OutOfBounds::Fill(A::from_number(5));
    let modes = [OutOfBounds::Error, OutOfBounds::Clip, OutOfBounds::Wrap, fill];
    for wild in [false, true] {
        gathered::<A>(&[60, 40], 50, &modes, wild);
        gathered::<A>(&[3, 20, 9], 70, &modes, wild);
    }
}

#[test]
fn gathered_rows() {
    gathered_in_all_modes::<u8>();
    gathered_in_all_modes::<f64>();
    gathered_in_all_modes::<String>();
}

/// One value for many tuples, which select single elements.
#[test]
fn one_update_for_many_tuples() {
    one_update_for_tuples::<u8>();
    one_update_for_tuples::<i16>();
    one_update_for_tuples::<f32>();
    one_update_for_tuples::<u64>();
    one_update_for_tuples::<i128>();
}

fn one_update_for_tuples<A: Reduce>() {
    let mut numbers = Numbers(3);
    let shape = [30, 7, 20, 6];
    for axes in 2..=shape.len() {
        let shape = &shape[..axes];
        let lens = shape.iter().cycle();
        let numbers: Vec<i64> =
            lens.take(5_000 * axes).map(|&len| numbers.below(len) as i64).collect();
        let indices = ArrayD::from_shape_vec(vec![5_000, axes], numbers).unwrap();
        let (data, update) = (array_of::<A>(shape, 1), array_of::<A>(&[], 2));
        let mut expected = data.clone();
        for index in indices.rows() {
            let index: Vec<usize> = index.iter().map(|&number| number as usize).collect();
            expected[&index[..]] = *update.first().unwrap();
        }
        let [mut single, mut repeated] = [data.clone(), data];
        single.scatter_nd_inplace(&indices, &update, ScatterNd::new()).unwrap();
        let updates = update.broadcast(vec![5_000]).unwrap();
        repeated.scatter_nd_inplace(&indices, &updates, ScatterNd::new()).unwrap();
        assert_same(&single, &expected);
        assert_same(&repeated, &expected);
    }
}

/// Means in lanes with indices of their own, which lie a power of two apart in memory: the loops over
/// them run in tiles, which do not divide all numbers of lanes.
#[test]
fn means_of_lanes_whose_indices_lie_apart() {
    for batches in [65, 66, 127, 9] {
        let (others, targets, row, updates) = (20, 8, 8, 4);
        let kind = Kind::Slices { axis: 2, batch_dims: 2 };
        let mut numbers = Numbers(batches as u64);
        // Of (others, updates, batches).
        let memory = ArrayD::from_shape_simple_fn(&[others, updates, 128][..], || {
            numbers.below(targets) as i64
        });
        let indices = memory.slice_axis(Axis(2), (..batches).into()).permuted_axes(&[2, 0, 1][..]);
        let shape = [batches, others, targets, row];
        let data: ArrayD<f32> = array_of(&shape, 1);
        let listed: ArrayD<f32> = array_of(&[batches, others, updates, row], 2);
        let how =
            Reducing { reduction: Reduction::Mean, use_init_val: true, mode: OutOfBounds::Error };
        let wide = indices.mapv(i128::from);
        let expected = oracle::reduce_of(kind, &data, &wide, &listed, &how).unwrap();
        let means = calls::reduced(kind, &data.view(), &indices, &listed.view(), &how).unwrap();
        assert_same(&settled(Reduction::Mean, &means), &settled(Reduction::Mean, &expected));
        let mut target = data.clone();
        calls::reduce(kind, &mut target.view_mut(), &indices, &listed.view(), &how).unwrap();
        assert_same(&settled(Reduction::Mean, &target), &settled(Reduction::Mean, &expected));
    }
}
