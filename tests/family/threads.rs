//! The same bits on every number of threads, for work large enough to be
//! split.

use ndarray::{Array1, Array2, ArrayD, Axis, s};
use opkernels::{OutOfBounds, Reduction, ScatterExt};

use crate::common::oracle::{self, Kind, Reducing};
use crate::common::{
    Numbers, Reduce, array_of, assert_same, calls, on_every_pool, plan_of, settled,
};

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
            on_every_pool(run).iter().for_each(|output| assert_same(output, &expected));
        }
    }
}

#[test]
fn scatters() {
    let data = array_of::<f32>(&[70, 300], 1);
    for (kind, indices) in cases(70, 300, 500) {
        let wide = indices.mapv(i128::from);
        let shape = oracle::updates_shape(kind, data.shape(), wide.shape()).unwrap();
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
                let plan = plan_of(kind, data.shape(), &indices, how.mode).unwrap().unwrap();
                let planned = calls::reduced(kind, &data.view(), &plan, &updates, &how);
                let again = calls::reduced(kind, &data.view(), &plan.clone(), &updates, &how);
                [returned.unwrap(), target.to_owned(), planned.unwrap(), again.unwrap()]
            };
            for output in on_every_pool(run).into_iter().flatten() {
                assert_same(&settled(reduction, &output), &expected);
            }
        }
    }
}

/// Rows of what builds up beside its target, in batches with indices of their own, with the
/// same ones, and in none; some of the indices are out of bounds.
fn rows_beside<A: Reduce>() {
    let batches = Kind::Slices { axis: 1, batch_dims: 1 };
    let (shared, alone) =
        (Kind::Slices { axis: 1, batch_dims: 0 }, Kind::Slices { axis: 0, batch_dims: 0 });
    for (kind, shape, indices) in [
        (batches, vec![30, 20, 21], vec![30, 25]),
        (batches, vec![2, 90, 85], vec![2, 200]),
        (shared, vec![30, 20, 21], vec![25]),
        (shared, vec![2, 150, 16], vec![300]),
        (alone, vec![400, 70], vec![1000]),
        (alone, vec![3, 70], vec![400]),
        (Kind::Tuples { batch_dims: 0 }, vec![12, 20, 70], vec![300, 2]),
    ] {
        let data = array_of::<A>(&shape, 1);
        let mut numbers = Numbers(3);
        let tuples = matches!(kind, Kind::Tuples { .. });
        let (end, mode) = if tuples { (12, OutOfBounds::Error) } else { (35, OutOfBounds::Skip) };
        let indices = ArrayD::from_shape_simple_fn(indices, || numbers.below(end) as i32 - 3);
        let wide = indices.mapv(i128::from);
        let updates = oracle::updates_shape(kind, data.shape(), wide.shape()).unwrap();
        let updates = array_of::<A>(&updates, 2);
        for reduction in [Reduction::Sub, Reduction::Mean] {
            for use_init_val in [true, false] {
                let how = Reducing { reduction, use_init_val, mode };
                let expected = oracle::reduce_of(kind, &data, &wide, &updates, &how);
                let Ok(expected) = expected else { continue };
                let expected = settled(reduction, &expected);
                let run = || {
                    let (indices, updates) = (indices.view(), updates.view());
                    calls::reduced(kind, &data.view(), &indices, &updates, &how).unwrap()
                };
                for output in on_every_pool(run) {
                    assert_same(&settled(reduction, &output), &expected);
                }
            }
        }
    }
}

#[test]
fn rows_beside_their_targets() {
    rows_beside::<u8>();
    rows_beside::<i16>();
    rows_beside::<u32>();
    #[cfg(feature = "half")]
    {
        rows_beside::<half::f16>();
        rows_beside::<half::bf16>();
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
        let shape = oracle::updates_shape(kind, data.shape(), wide.shape()).unwrap();
        let updates = array_of::<u8>(&shape, 2);
        let mode = OutOfBounds::Error;
        let expected = oracle::fold(kind, &data, &wide, &updates, &mode, rule).unwrap();
        let run = || {
            let (indices, updates) = (indices.view(), updates.view());
            let mut target = data.clone();
            calls::fold(kind, &mut target.view_mut(), &indices, &updates, mode, rule).unwrap();
            let plan = plan_of(kind, data.shape(), &indices, mode).unwrap().unwrap();
            let mut planned = data.clone();
            calls::fold(kind, &mut planned.view_mut(), &plan, &updates, mode, rule).unwrap();
            [target, planned]
        };
        on_every_pool(run).iter().flatten().for_each(|one| assert_same(one, &expected));
    }
}

/// Sorted indices, whose targets threads take in pieces: many updates a target,
/// few, one target alone, and positions that two values name.
#[test]
fn sorted_indices() {
    // Enough to be split, in rows of one element and of twenty.
    for (many, width) in [(60_000, 1), (9_000, 20)] {
        sorted_indices_into_rows(many, width);
    }
}

fn sorted_indices_into_rows(many: usize, width: usize) {
    let sorted = |of: &dyn Fn(usize) -> i64| ArrayD::from_shape_fn(&[many][..], |k| of(k[0]));
    let rows = many / 6;
    let cases = [
        sorted(&|k| k as i64 / 7),
        sorted(&|k| k as i64 * 7 / many as i64),
        sorted(&|_| rows as i64 - 1),
        sorted(&|k| k as i64 - many as i64 + 1000).mapv(|index| index.max(0)),
        // The last position by its two names, in order of the values.
        sorted(&|k| if k < many / 2 { -1 } else { rows as i64 - 1 }),
        // Beyond the end.
        sorted(&|k| k as i64 / 3),
    ];
    for indices in &cases {
        let data = array_of::<f32>(&[rows, width], 1);
        let wide = indices.mapv(i128::from);
        let kind = Kind::Slices { axis: 0, batch_dims: 0 };
        let updates = array_of::<f32>(&[many, width], 2);
        for mode in [OutOfBounds::Skip, OutOfBounds::Clip] {
            let how = Reducing { reduction: Reduction::Sum, use_init_val: true, mode };
            let expected = oracle::reduce_of(kind, &data, &wide, &updates, &how).unwrap();
            let expected = settled(Reduction::Sum, &expected);
            let plan = plan_of(kind, data.shape(), &indices.view(), mode).unwrap().unwrap();
            let run = || {
                let (data, updates) = (data.view(), updates.view());
                let plain = calls::reduced(kind, &data, &indices.view(), &updates, &how).unwrap();
                [plain, calls::reduced(kind, &data, &plan, &updates, &how).unwrap()]
            };
            for output in on_every_pool(run).into_iter().flatten() {
                assert_same(&settled(Reduction::Sum, &output), &expected);
            }
        }
    }
}

/// Indices that are sorted, or nearly: in place an error names the first that is out of bounds, and
/// leaves the target as it was.
#[test]
fn sorted_indices_in_place() {
    let reductions = [Reduction::None, Reduction::Sum];
    sorted_indices_into::<f32>(&sorted_cases(), &reductions, true);
}

/// The same for reductions that accumulate beside the target.
#[test]
fn sorted_indices_beside_the_target() {
    // Seven updates of each target, hundreds, and one index that is not in its place.
    let cases: Vec<_> = sorted_cases().into_iter().step_by(5).collect();
    sorted_indices_into::<f32>(&cases, &[Reduction::Mean], false);
    sorted_indices_into::<i8>(&cases, &[Reduction::Mean], true);
    #[cfg(feature = "half")]
    {
        sorted_indices_into::<half::f16>(&cases, &[Reduction::Max], true);
        sorted_indices_into::<half::bf16>(&cases, &[Reduction::Sum, Reduction::Mean], false);
    }
}

/// Halves in so many targets that few updates share one: those of a target follow each other across the
/// borders of chunks and of threads' shares.
#[test]
#[cfg(feature = "half")]
fn sorted_halves_in_many_targets() {
    const APART: i64 = 40;
    let apart = |indices: &ArrayD<i64>| indices.mapv(|index| index * APART);
    let cases: Vec<_> = sorted_cases().iter().step_by(6).map(apart).collect();
    let shape = [SORTED[1] * APART as usize];
    let kind = Kind::Slices { axis: 0, batch_dims: 0 };
    let sums = [Reduction::Sum, Reduction::Mean];
    sorted_into::<half::f16>(&cases, (kind, &shape), &sums, true);
    sorted_into::<half::bf16>(&cases, (kind, &shape), &[Reduction::Sub, Reduction::Prod], true);
    sorted_into::<half::bf16>(&cases[..1], (kind, &shape), &sums, false);
    sorted_into::<half::f16>(&cases[..1], (kind, &shape), &[Reduction::Prod], false);
}

/// Indices that lie apart: as many beside each other, of which half lie between them, are sorted, too,
/// but in bounds.
#[test]
fn sorted_indices_apart() {
    let (many, rows) = (60_000, 40_000);
    let beside: Array1<i64> = (0..2 * many).map(|k| k / 2).collect();
    let apart = beside.slice(s![..;2]);
    // Of rows, since indices of single elements that lie apart are copied first.
    let data = array_of::<f32>(&[rows, 5], 1);
    let updates = array_of::<f32>(&[apart.len(), 5], 2);
    let run = || {
        let mut target = data.clone();
        let result = target.scatter_inplace(&apart, &updates, Axis(0));
        (result.map_err(|error| error.to_string()), target)
    };
    for (result, target) in on_every_pool(run) {
        assert!(result.unwrap_err().contains("40000"));
        assert_same(&target, &data);
    }
}

/// The number of indices of each of the [cases](sorted_cases), and of rows.
const SORTED: [usize; 2] = [60_000, 8_572];

fn sorted_cases() -> Vec<ArrayD<i64>> {
    let [many, rows] = SORTED;
    // Shares of threads end within the updates of a target.
    let sorted = ArrayD::from_shape_fn(&[many][..], |k| k[0] as i64 / 7);
    let mut cases =
        vec![sorted.clone(), sorted.mapv(|index| index + 1), sorted.mapv(|index| index - 1)];
    // One index that is not in its place, near the borders of threads' shares and at the end.
    let last = rows as i64 - 1;
    for at in [1, many / 2 - 1, many / 2, many - 1] {
        for index in [-1, 0, last + 1, -last - 2] {
            let mut indices = sorted.clone();
            indices[at] = index;
            cases.push(indices);
        }
    }
    // Many updates of each target.
    cases.insert(5, sorted.mapv(|index| index / 50));
    cases
}

/// Tuples that are sorted, or nearly, each number counted from the front or from the end, into
/// elements and rows.
#[test]
fn sorted_tuples_in_place() {
    /// The number of columns.
    const COLUMNS: i64 = 4;
    let pairs = |indices: &ArrayD<i64>| {
        ArrayD::from_shape_fn(&[indices.len(), 2][..], |at| {
            let (entry, index) = (at[0], indices[at[0]]);
            match at[1] {
                0 => index.div_euclid(COLUMNS),
                _ if entry.is_multiple_of(3) => index.rem_euclid(COLUMNS) - COLUMNS,
                _ => index.rem_euclid(COLUMNS),
            }
        })
    };
    let cases: Vec<_> = sorted_cases().iter().step_by(3).map(pairs).collect();
    let shape = [SORTED[1] / COLUMNS as usize, COLUMNS as usize];
    let kind = Kind::Tuples { batch_dims: 0 };
    sorted_into::<f32>(&cases, (kind, &shape), &[Reduction::None, Reduction::Sum], true);
    let some: Vec<_> = cases.into_iter().step_by(5).collect();
    let rows = [shape[0], shape[1], 3];
    sorted_into::<f32>(&some, (kind, &rows), &[Reduction::Sum], false);
    #[cfg(feature = "half")]
    sorted_into::<half::bf16>(&some, (kind, &shape), &[Reduction::Sum, Reduction::Mean], true);
}

fn sorted_indices_into<A: Reduce>(
    cases: &[ArrayD<i64>],
    reductions: &[Reduction],
    use_init_val: bool,
) {
    let kind = Kind::Slices { axis: 0, batch_dims: 0 };
    sorted_into::<A>(cases, (kind, &[SORTED[1]]), reductions, use_init_val);
}

fn sorted_into<A: Reduce>(
    cases: &[ArrayD<i64>],
    (kind, shape): (Kind, &[usize]),
    reductions: &[Reduction],
    use_init_val: bool,
) {
    let data = array_of::<A>(shape, 1);
    let selected = if let Kind::Tuples { .. } = kind { 2 } else { 1 };
    let listed: Vec<_> = [SORTED[0]].iter().chain(&shape[selected..]).copied().collect();
    let updates = array_of::<A>(&listed, 2);
    for indices in cases {
        for &reduction in reductions {
            let how = Reducing { reduction, use_init_val, mode: OutOfBounds::Error };
            let expected =
                oracle::reduce_of(kind, &data, &indices.mapv(i128::from), &updates, &how);
            let run = || {
                let mut target = data.clone();
                let (indices, updates) = (indices.view(), updates.view());
                let result = calls::reduce(kind, &mut target.view_mut(), &indices, &updates, &how);
                (result, target)
            };
            for (result, target) in on_every_pool(run) {
                let expected = match (&expected, result) {
                    (Ok(expected), Ok(())) => expected,
                    (Err(refused), Err(error)) if refused.is(&error) => &data,
                    (expected, result) => panic!("{result:?}, not {:?}", expected.as_ref().err()),
                };
                assert_same(&settled(reduction, &target), &settled(reduction, expected));
            }
        }
    }
}
