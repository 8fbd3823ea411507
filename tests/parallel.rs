//! The same bits on every number of threads, for work large enough to be split
//! and for results too large for the caches.
#![cfg(feature = "rayon")]

mod common;

use common::{
    Laid, Layout, Numbers, REDUCTIONS, Reduce, Value, array_of, assert_same, on_every_pool, settled,
};
use ndarray::{Array, Array1, Array2, Array3, ArrayD, Axis, Dimension, Zip, s};
use opkernels::{
    Error, Gather, GatherElementsExt, GatherExt, IndexPlan, OutOfBounds, Reduction, RollExt,
    Scatter, ScatterElements, ScatterElementsExt, ScatterExt, ScatterNd, ScatterNdExt,
};

/// The result is the same on every pool, and the one expected.
fn assert_on_every_pool<A: Value, D: Dimension>(
    run: impl Fn() -> opkernels::Result<Array<A, D>> + Send + Sync,
    expected: &Array<A, D>,
) {
    assert_reduced_on_every_pool(Reduction::None, run, expected);
}

/// The same after a reduction, whose NaNs are like each other but need not be
/// like those expected.
fn assert_reduced_on_every_pool<A: Value, D: Dimension>(
    reduction: Reduction,
    run: impl Fn() -> opkernels::Result<Array<A, D>> + Send + Sync,
    expected: &Array<A, D>,
) {
    let [one, two, four] = on_every_pool(run).map(opkernels::Result::unwrap);
    assert_same(&two, &one);
    assert_same(&four, &one);
    assert_same(&settled(reduction, &one), &settled(reduction, expected));
}

fn array2<A: Value>(shape: [usize; 2], seed: u64) -> Array2<A> {
    array_of(&shape, seed).into_dimensionality().unwrap()
}

fn array3<A: Value>(shape: [usize; 3], seed: u64) -> Array3<A> {
    array_of(&shape, seed).into_dimensionality().unwrap()
}

/// Numbers below `len`.
fn places(count: usize, len: usize, seed: u64) -> Array1<usize> {
    let mut numbers = Numbers(seed);
    Array1::from_shape_simple_fn(count, || numbers.below(len))
}

#[test]
fn gathered_rows() {
    let table: Array2<f32> = array2([5000, 64], 1);
    let indices = places(20_000, 5000, 2);
    let expected = table.select(Axis(0), indices.as_slice().unwrap());
    let negative = indices.mapv(|place| place as i32 - 5000);
    assert_on_every_pool(|| table.gather(&indices, 0), &expected);
    assert_on_every_pool(|| table.gather(&negative, 0), &expected);
    let columns = table.t().as_standard_layout().into_owned();
    assert_on_every_pool(|| columns.t().gather(&indices, 0), &expected);
    let into = || {
        let mut out = Array2::<f32>::zeros((64, 20_000));
        table.gather_into(&negative, Gather::along(0), &mut out.view_mut().reversed_axes())?;
        Ok(out.reversed_axes())
    };
    assert_on_every_pool(into, &expected);
}

#[test]
fn gathered_middle_axis_and_batches() {
    let data: Array3<u16> = array3([40, 300, 50], 1);
    let indices = places(1000, 300, 2);
    let expected = data.select(Axis(1), indices.as_slice().unwrap());
    assert_on_every_pool(|| data.gather(&indices, 1), &expected);

    let ids = Array2::from_shape_fn((40, 700), |(b, k)| (b * 37 + k * 11) % 300);
    let mut expected = ArrayD::zeros(vec![40, 700, 50]);
    for (b, ids) in ids.outer_iter().enumerate() {
        let batch = data.index_axis(Axis(0), b).select(Axis(0), &ids.to_vec());
        expected.slice_mut(s![b, .., ..]).assign(&batch);
    }
    let batched = Gather::along(1).batch_dims(1);
    assert_on_every_pool(|| data.gather_with(&ids, batched), &expected);
}

#[test]
fn gathered_words_in_every_mode() {
    let data: Array1<f64> = array_of(&[100_000], 1).into_dimensionality().unwrap();
    let mut numbers = Numbers(2);
    let n = data.len() as i64;
    let indices = Array1::from_shape_simple_fn(600_000, || numbers.below(400_000) as i64 - 2 * n);
    let inside = |index: &i64| (-n..n).contains(index);
    for mode in [OutOfBounds::Fill(0.5), OutOfBounds::Clip, OutOfBounds::Wrap] {
        let expected = indices.map(|index| match mode {
            OutOfBounds::Fill(value) if !inside(index) => value,
            OutOfBounds::Clip if *index < -n => data[0],
            OutOfBounds::Clip if *index >= n => data[data.len() - 1],
            _ => data[index.rem_euclid(n) as usize],
        });
        let attributes = Gather::along(0).out_of_bounds(mode);
        assert_on_every_pool(|| data.gather_with(&indices, attributes), &expected.into_dyn());
    }
}

/// Few long rows of single elements, which parts cut anywhere.
#[test]
fn gathered_elements_of_long_rows() {
    let data = array2::<f32>([3, 50], 1);
    let indices = Array2::from_shape_fn((3, 70_001), |(row, k)| ((k * 7 + row) % 50) as i32);
    let expected = Array2::from_shape_fn(indices.dim(), |(row, k)| data[[row, (k * 7 + row) % 50]]);
    assert_on_every_pool(|| data.gather_elements(&indices, 1), &expected);
}

#[test]
fn gathered_strings() {
    let data: Array1<String> = array_of(&[1000], 1).into_dimensionality().unwrap();
    let indices = places(300_000, 1000, 2);
    let expected = indices.mapv(|place| data[place].clone());
    assert_on_every_pool(|| data.gather(&indices, 0), &expected);
}

/// The first index out of bounds is named, whichever thread finds it.
#[test]
fn refused_indices() {
    let data = Array2::<u8>::zeros((100, 4));
    let mut indices = Array1::from_elem(700_000, 99_i64);
    indices.slice_mut(s![400_000..;50_000]).fill(100);
    let refused =
        Error::IndexOutOfBounds { index: 100, position: vec![400_000], axis: 0, len: 100 };
    let results = on_every_pool(|| {
        let mut out = Array2::from_elem((700_000, 4), 7_u8);
        let into = data.gather_into(&indices, Gather::along(0), &mut out);
        (data.gather(&indices, 0), into, out)
    });
    for (output, into, out) in results {
        assert_eq!(output.unwrap_err(), refused);
        assert_eq!(into.unwrap_err(), refused);
        assert!(out.as_slice().unwrap().iter().all(|&element| element == 7));
    }
}

/// The roll of an array in standard layout, by copying runs.
fn rolled<A: Copy>(data: &Array3<A>, shifts: [usize; 3]) -> Array3<A> {
    let mut output = data.clone();
    let [a, b, c] = [0, 1, 2].map(|k| data.shape()[k]);
    for i in 0..a {
        for j in 0..b {
            let from = data.slice(s![(i + a - shifts[0]) % a, (j + b - shifts[1]) % b, ..]);
            let mut to = output.slice_mut(s![i, j, ..]);
            let (from, to) = (from.to_slice().unwrap(), to.as_slice_mut().unwrap());
            to[shifts[2]..].copy_from_slice(&from[..c - shifts[2]]);
            to[..shifts[2]].copy_from_slice(&from[c - shifts[2]..]);
        }
    }
    output
}

fn assert_rolled<A: Value + Copy>(shape: [usize; 3], shifts: [usize; 3]) {
    let data: Array3<A> = array3(shape, 1);
    let expected = rolled(&data, shifts);
    let by = shifts.map(|shift| shift as i64);
    assert_on_every_pool(|| data.roll(by, [0, 1, 2]), &expected);
    let in_place = || {
        let mut turned = data.clone();
        turned.roll_inplace(by, [0, 1, 2])?;
        Ok(turned)
    };
    assert_on_every_pool(in_place, &expected);
}

#[test]
fn rolled_axes() {
    assert_rolled::<f64>([40, 80, 100], [7, 0, 0]);
    assert_rolled::<f64>([40, 80, 100], [0, 49, 0]);
    assert_rolled::<f64>([40, 80, 100], [0, 0, 33]);
    assert_rolled::<f64>([40, 80, 100], [16, 50, 99]);
    assert_rolled::<u16>([3, 7, 90_001], [1, 2, 45_000]);
    assert_rolled::<u8>([1, 400_000, 7], [0, 3, 2]);
    assert_rolled::<u8>([400_000, 1, 7], [0, 0, 3]);
    assert_rolled::<[u8; 3]>([1, 1200, 700], [0, 1199, 1]);
    assert_rolled::<[u8; 3]>([70, 1001, 3], [69, 30, 2]);
    assert_rolled::<[f32; 8]>([2, 4001, 3], [1, 30, 1]);
}

#[test]
fn rolled_between_layouts() {
    let data: Array3<f64> = array3([60, 50, 100], 1);
    let expected = rolled(&data, [3, 40, 99]).into_dyn();
    for layout in [Layout::transposed(3), Layout::stepped(3), Layout::mixed(3)] {
        let laid = Laid::new(&data.clone().into_dyn(), layout);
        let returned = || laid.view().roll([3, 40, -1], [0, 1, 2]);
        assert_on_every_pool(returned, &expected);
        let into = || {
            let mut out = laid.clone();
            data.roll_into([3, 40, -1], [0, 1, 2], &mut out.view_mut())?;
            Ok(out.contents())
        };
        assert_on_every_pool(into, &expected);
        let in_place = || {
            let mut turned = laid.clone();
            turned.view_mut().roll_inplace([3, 40, -1], [0, 1, 2])?;
            Ok(turned.contents())
        };
        assert_on_every_pool(in_place, &expected);
    }
}

/// Results too large for the caches near a core.
#[test]
fn large_rolls() {
    const LEN: usize = 2_200_000;
    for (shape, shifts) in [
        ([5, 440, 1000], [1, 439, 3]),
        ([5, 440_000, 1], [2, 0, 0]),
        ([1, 1, LEN], [0, 0, 1_234_567]),
        ([1, 220_000, 10], [0, 77_777, 9]),
    ] {
        let data = Array1::from_iter(0..LEN as u128).into_shape_with_order(shape).unwrap();
        let expected = rolled(&data, shifts);
        let by = shifts.map(|shift| shift as i64);
        assert_same(&data.roll(by, [0, 1, 2]).unwrap(), &expected);
        let mut turned = data;
        turned.roll_inplace(by, [0, 1, 2]).unwrap();
        assert_same(&turned, &expected);
    }
    let data = Array1::from_iter(0..LEN as u128);
    let expected = data.mapv(|k| (k + 1_000_001) % LEN as u128);
    for output in on_every_pool(|| data.roll(-1_000_001, 0).unwrap()) {
        assert_same(&output, &expected);
    }
}

/// Rows may be cut in pieces that are shorter than any block of their kernels.
#[test]
fn gathered_rows_in_pieces_of_few_bytes() {
    let data: Array3<u8> = array3([90, 300, 2048], 3);
    let indices = places(90, 300, 4);
    let expected = data.select(Axis(1), &indices.to_vec());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(64).build().unwrap();
    assert_same(&pool.install(|| data.gather(&indices, Axis(1))).unwrap(), &expected);
}

#[test]
fn large_gathers() {
    let table = Array1::from_iter(0..600_000_u64).into_shape_with_order((2000, 300)).unwrap();
    let indices = places(17_000, 2000, 3);
    let expected = table.select(Axis(0), indices.as_slice().unwrap());
    for output in on_every_pool(|| table.gather(&indices, 0).unwrap()) {
        assert_same(&output, &expected);
    }
}

/// The scatter of a matrix, target by target.
fn scattered<A: Reduce>(
    data: &Array2<A>,
    indices: &Array2<usize>,
    updates: &Array2<A>,
    (axis, reduction, use_init_val): (usize, Reduction, bool),
) -> Array2<A> {
    let mut lists = Array2::from_elem(data.raw_dim(), Vec::new());
    for (((i, j), &index), &update) in indices.indexed_iter().zip(updates) {
        lists[if axis == 0 { [index, j] } else { [i, index] }].push(update);
    }
    let mut output = data.clone();
    Zip::from(&mut output).and(&lists).for_each(|old, list| {
        if !list.is_empty() {
            *old = A::reduced(reduction, use_init_val.then_some(*old), list);
        }
    });
    output
}

/// Every reduction that is named, returned and in place, on every pool.
fn assert_scattered<A: Reduce>(
    data: &Array2<A>,
    indices: &Array2<usize>,
    updates: &Array2<A>,
    axis: usize,
    reductions: &[Reduction],
) {
    for (k, &reduction) in reductions.iter().enumerate() {
        let use_init_val = k % 2 == 0;
        let expected = scattered(data, indices, updates, (axis, reduction, use_init_val));
        let attributes =
            ScatterElements::along(Axis(axis)).reduction(reduction).use_init_val(use_init_val);
        let returned = || data.scatter_elements_with(indices, updates, attributes);
        assert_reduced_on_every_pool(reduction, returned, &expected);
        let in_place = || {
            let mut target = data.clone();
            target.scatter_elements_inplace(indices, updates, attributes)?;
            Ok(target)
        };
        assert_reduced_on_every_pool(reduction, in_place, &expected);
    }
}

/// Values without NaN, whose sums depend on their order.
fn tenths(shape: [usize; 2]) -> Array2<f32> {
    Array2::from_shape_fn(shape, |(i, j)| ((i * 31 + j * 17) % 1009) as f32 * 0.1 - 33.3)
}

#[test]
fn scattered_columns() {
    let (data, updates) = (tenths([50, 300]), tenths([1500, 300]));
    let indices = Array2::from_shape_fn((1500, 300), |(i, j)| (i * i + j * 7) % 50);
    assert_scattered(&data, &indices, &updates, 0, &REDUCTIONS);
}

#[test]
fn scattered_rows() {
    let (data, updates) = (tenths([300, 50]), tenths([300, 1500]));
    let indices = Array2::from_shape_fn((300, 1500), |(i, j)| (i * 7 + j * j) % 50);
    assert_scattered(&data, &indices, &updates, 1, &REDUCTIONS);
}

/// Two axes beside the one that is scattered along, the inner one too short to be shared, and
/// shorter than the target's.
#[test]
fn scattered_planes() {
    let data = Array3::from_shape_fn((50, 45, 7), |(i, j, k)| (i * 31 + j * 17 + k) as f32 * 0.1);
    let updates = Array3::from_shape_fn((900, 40, 6), |(i, j, k)| (i + j * 7 + k) as f32 * 0.1);
    let indices = Array3::from_shape_fn((900, 40, 6), |(i, j, k)| (i * i + j * 7 + k) % 50);
    let mut expected = data.clone();
    for (((_, j, k), &index), &update) in indices.indexed_iter().zip(&updates) {
        expected[[index, j, k]] += update;
    }
    let run = || data.scatter_elements_with(&indices, &updates, ScatterElements::sum(0));
    assert_reduced_on_every_pool(Reduction::Sum, run, &expected);
    let backwards = s![..;-1, .., ..];
    let (indices, updates) = (indices.slice(backwards), updates.slice(backwards));
    let mut written = data.clone();
    for (((_, j, k), &index), &update) in indices.indexed_iter().zip(&updates) {
        written[[index, j, k]] = update;
    }
    assert_on_every_pool(|| data.scatter_elements(&indices, &updates, 0), &written);
}

/// Few lanes and an axis longer than the updates; one lane alone.
#[test]
fn scattered_long_lanes() {
    let (data, updates) = (tenths([100_000, 2]), tenths([150_000, 2]));
    let indices = Array2::from_shape_fn((150_000, 2), |(i, j)| (i * 7919 + j) % 100_000);
    let some = [Reduction::Sum, Reduction::Mean];
    assert_scattered(&data, &indices, &updates, 0, &some);
    let narrow = |a: &Array2<f32>| a.slice(s![.., ..1]).to_owned();
    let one = indices.slice(s![.., ..1]).to_owned();
    assert_scattered(&narrow(&data), &one, &narrow(&updates), 0, &some);
}

/// Whole rows by one index each, as in message passing.
#[test]
fn scattered_messages() {
    let (data, updates) = (tenths([1000, 64]), tenths([4000, 64]));
    let ids = places(4000, 1000, 3);
    let wide = ids.view().insert_axis(Axis(1));
    let wide = wide.broadcast((4000, 64)).unwrap();
    let indices = wide.to_owned();
    for reduction in REDUCTIONS {
        for use_init_val in [true, false] {
            let expected = scattered(&data, &indices, &updates, (0, reduction, use_init_val));
            let attributes =
                ScatterElements::along(0).reduction(reduction).use_init_val(use_init_val);
            let returned = || data.scatter_elements_with(&wide, &updates, attributes);
            assert_reduced_on_every_pool(reduction, returned, &expected);
        }
    }
}

/// By a plan, many elements to few targets: each thread has targets of its own.
#[test]
fn scattered_to_few_targets_by_a_plan() {
    let indices = places(200_000, 5, 1);
    let updates = Array1::from_shape_fn(200_000, |k| k as i32);
    let mut expected = Array1::<i32>::ones(5);
    for (&index, &update) in indices.iter().zip(&updates) {
        expected[index] = expected[index].wrapping_add(update);
    }
    let plan = IndexPlan::new(&indices, 5).unwrap();
    let scattered = || Array1::ones(5).scatter_with(&plan, &updates, Scatter::sum(0));
    assert_on_every_pool(scattered, &expected);
}

/// By a plan, tuples of which one number selects nothing, the other, or both.
#[test]
fn scattered_tuples_in_part_out_of_bounds() {
    let shape = [40, 300];
    let tuples = Array2::from_shape_fn((100_000, 2), |(k, number)| {
        (k * [7, 31][number] % [44, 330][number]) as i64
    });
    let updates = Array1::from_shape_fn(100_000, |k| k as i64);
    let mut expected = Array2::<i64>::ones(shape);
    let mut counts = Array2::<u32>::zeros(shape);
    for (tuple, update) in tuples.rows().into_iter().zip(&updates) {
        let place = [tuple[0] as usize, tuple[1] as usize];
        if let Some(sum) = expected.get_mut(place) {
            *sum += update;
            counts[place] += 1;
        }
    }
    let scattered = || {
        let plan = IndexPlan::tuples(&tuples, &shape, OutOfBounds::Skip)?;
        assert_eq!(plan.counts()?, counts.flatten());
        Array2::ones(shape).scatter_nd_with(&plan, &updates, ScatterNd::sum())
    };
    assert_on_every_pool(scattered, &expected);
}

/// All indices name one row, but for a single one: wherever that lies, it is
/// followed.
#[test]
fn scattered_to_one_row_but_for_one_index() {
    let (rows, width) = (45_000, 7);
    let (data, updates) = (Array2::<u32>::zeros((2, width)), Array2::ones((rows, width)));
    let last = rows * width - 1;
    for place in [0, last / 3, last / 2, last / 2 + 1, last] {
        let mut indices = Array2::<usize>::zeros((rows, width));
        indices[[place / width, place % width]] = 1;
        let mut expected = data.clone();
        expected.row_mut(0).fill(rows as u32);
        expected[[0, place % width]] -= 1;
        expected[[1, place % width]] += 1;
        let sum = ScatterElements::along(0).reduction(Reduction::Sum);
        let run = || data.scatter_elements_with(&indices, &updates, sum);
        assert_on_every_pool(run, &expected);
    }
}

/// A single row, wide enough for several threads.
#[test]
fn scattered_to_one_wide_row() {
    let width = 300_000;
    let (data, updates) = (array2::<u32>([2, width], 1), array2([1, width], 2));
    let indices = Array2::<usize>::ones((1, width));
    let mut expected = data.clone();
    expected.row_mut(1).assign(&updates.row(0));
    let run = || data.scatter_elements(&indices, &updates, 0);
    assert_on_every_pool(run, &expected);
}

#[cfg(feature = "half")]
#[test]
fn scattered_halves() {
    let half = |a: Array2<f32>| a.mapv(half::f16::from_f32);
    let (data, updates) = (half(tenths([50, 300])), half(tenths([1500, 300])));
    let indices = Array2::from_shape_fn((1500, 300), |(i, j)| (i * i + j * 7) % 50);
    assert_scattered(&data, &indices, &updates, 0, &[Reduction::Sum, Reduction::Mean]);
    assert_scattered(
        &data.t().to_owned(),
        &indices.t().to_owned(),
        &updates.t().to_owned(),
        1,
        &[Reduction::Sum, Reduction::Mean],
    );
}

#[test]
fn scattered_strings() {
    let data = Array2::from_elem((100, 300), String::from("old"));
    let indices = Array2::from_shape_fn((400, 300), |(i, j)| (i * i + j) % 100);
    let updates = Array2::from_shape_fn((400, 300), |(i, j)| format!("{i} {j}"));
    let mut expected = data.clone();
    for (((_, j), &index), update) in indices.indexed_iter().zip(&updates) {
        expected[[index, j]].clone_from(update);
    }
    assert_on_every_pool(|| data.scatter_elements(&indices, &updates, 0), &expected);
}

/// Calls from the tasks of a pool that is already busy.
#[test]
fn nested_calls() {
    let table: Array2<f32> = array2([3000, 100], 1);
    let indices = places(9000, 3000, 2);
    let rows = table.select(Axis(0), indices.as_slice().unwrap());
    let turned = rolled(&table.clone().insert_axis(Axis(0)), [0, 1000, 50]).remove_axis(Axis(0));
    let results = on_every_pool(|| {
        rayon::join(
            || (table.gather(&indices, 0).unwrap(), table.roll(1000, 0).unwrap()),
            || table.roll([1000, 50], [0, 1]).unwrap(),
        )
    });
    for ((gathered, rolled), both) in results {
        assert_same(&gathered, &rows);
        assert_same(&rolled.roll(50, 1).unwrap(), &turned);
        assert_same(&both, &turned);
    }
}

/// Rows that are short, but the longest of the loops: threads share rows, not
/// parts of one.
#[test]
fn few_short_rows_along_every_axis() {
    for row in [64, 96, 128, 200, 256] {
        let whole: ArrayD<u8> = array_of(&[31, 32, 31, row], 1);
        let data = whole.slice(s![.., ..31, .., ..]);
        let indices = places(31, 31, 2);
        let expected = data.select(Axis(2), indices.as_slice().unwrap());
        assert_on_every_pool(|| data.gather(&indices, 2), &expected);
    }
}

/// The last column makes no whole tile and is a walk of its own, which begins beside the
/// first: the shares of targets that threads have begin there too.
#[test]
fn scattered_updates_that_lie_transposed() {
    let (targets, width, count) = (800_000, 65, 20_000);
    let mut numbers = Numbers(7);
    let along_columns = Array::from_shape_simple_fn((width, count, 3), || numbers.next() as u8);
    let updates = along_columns.permuted_axes([1, 2, 0]);
    let mut idx = Array2::from_shape_simple_fn((count, 3), || numbers.below(targets) as i32);
    idx.row_mut(count - 1).fill(targets as i32 - 1);
    // Neither loop over indices continues the other.
    let idx = idx.slice(s![.., ..;-1]);
    let mut expected = Array2::<u8>::zeros((targets, width));
    for (row, update) in idx.iter().zip(updates.lanes(Axis(2))) {
        let mut target = expected.row_mut(*row as usize);
        target.zip_mut_with(&update, |sum, &one| *sum = sum.wrapping_add(one));
    }
    let zeros = Array2::<u8>::zeros((targets, width));
    for sums in on_every_pool(|| zeros.scatter_with(&idx, &updates, Scatter::sum(0)).unwrap()) {
        assert_same(&sums, &expected);
    }
}
