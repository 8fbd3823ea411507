//! The same bits on every number of threads, for work large enough to be
//! split.

use ndarray::{Array2, ArrayD};
use opkernels::{OutOfBounds, Reduction};

use crate::common::oracle::{self, Kind, Reducing};
use crate::common::{Numbers, array_of, assert_same, calls, settled};

fn on_every_pool<R: Send>(run: impl Fn() -> R + Sync, check: impl Fn(R)) {
    for threads in [1, 2, 4] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        check(pool.install(&run));
    }
}

/// Data, and indices of every kind in it: rows, elements along either axis,
/// cells, rows as tuples.
fn cases(rows: usize, columns: usize, many: usize) -> Vec<(Kind, ArrayD<i32>)> {
    let mut numbers = Numbers(7);
    let mut below = |shape: &[usize], len: usize| {
        ArrayD::from_shape_simple_fn(shape, || numbers.below(2 * len) as i32 - len as i32)
    };
    let mut cells = below(&[many * columns / 2, 2], rows);
    let last = below(&[many * columns / 2], columns);
    cells.index_axis_mut(ndarray::Axis(1), 1).assign(&last);
    vec![
        (Kind::Slices { axis: 0, batch_dims: 0 }, below(&[many], rows)),
        (Kind::Slices { axis: 1, batch_dims: 1 }, below(&[rows, columns], columns)),
        (Kind::Elements { axis: 0 }, below(&[many, columns], rows)),
        (Kind::Elements { axis: 1 }, below(&[rows, many], columns)),
        (Kind::Tuples { batch_dims: 0 }, cells),
        (Kind::Tuples { batch_dims: 0 }, below(&[many, 1], rows)),
    ]
}

#[test]
fn gathers() {
    let data = array_of::<f64>(&[700, 400], 1);
    let turned = data.t().as_standard_layout().into_owned();
    for (kind, indices) in cases(700, 400, 750) {
        let wide = indices.mapv(i128::from);
        let expected = oracle::read(kind, &data, &wide, &OutOfBounds::Error).unwrap();
        for data in [data.view(), turned.t()] {
            let run = || calls::read(kind, &data, &indices.view(), OutOfBounds::Error).unwrap();
            on_every_pool(run, |output| assert_same(&output, &expected));
        }
    }
}

#[test]
fn scatters() {
    let data = array_of::<f32>(&[70, 300], 1);
    for (kind, indices) in cases(70, 300, 500) {
        let wide = indices.mapv(i128::from);
        let shape = oracle::updates_shape(kind, data.shape(), &wide).unwrap();
        let updates = array_of::<f32>(&shape, 2);
        for reduction in [Reduction::None, Reduction::Sum, Reduction::Mean] {
            let how = Reducing { reduction, use_init_val: true, mode: OutOfBounds::Error };
            let expected = oracle::reduce_of(kind, &data, &wide, &updates, &how).unwrap();
            let expected = settled(reduction, &expected);
            let run = || {
                let (indices, updates) = (indices.view(), updates.view());
                let returned = calls::reduced(kind, &data.view(), &indices, &updates, &how);
                let mut columns: Array2<f32> = Array2::zeros((300, 70));
                let mut target = columns.view_mut().reversed_axes().into_dyn();
                target.assign(&data);
                calls::reduce(kind, &mut target, &indices, &updates, &how).unwrap();
                (returned.unwrap(), target.to_owned())
            };
            on_every_pool(run, |(returned, target)| {
                assert_same(&settled(reduction, &returned), &expected);
                assert_same(&settled(reduction, &target), &expected);
            });
        }
    }
}

/// Each target's updates in order, whatever the rule.
#[test]
fn folds() {
    let data = array_of::<i64>(&[70, 300], 1);
    let rule = |state: &mut i64, update: &u8| {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(i64::from(*update) + 1);
    };
    for (kind, indices) in cases(70, 300, 500) {
        let wide = indices.mapv(i128::from);
        let shape = oracle::updates_shape(kind, data.shape(), &wide).unwrap();
        let updates = array_of::<u8>(&shape, 2);
        let mode = OutOfBounds::Error;
        let expected = oracle::fold(kind, &data, &wide, &updates, &mode, rule).unwrap();
        let run = || {
            let (indices, updates) = (indices.view(), updates.view());
            let mut target = data.clone();
            calls::fold(kind, &mut target.view_mut(), &indices, &updates, mode, rule).unwrap();
            target
        };
        on_every_pool(run, |target| assert_same(&target, &expected));
    }
}
