//! The same bits on pools of 1 to 16 threads, by indices and by plans of them, for
//! every element type and reduction.
#![cfg(feature = "rayon")]

mod common;

use common::{Numbers, REDUCTIONS, Reduce, array_of, assert_same, settled};
use ndarray::{Array1, Array2, Array3, ArrayD, s};
use opkernels::{
    Error, IndexPlan, OutOfBounds, Reduction, Scatter, ScatterExt, ScatterNd, ScatterNdExt,
};

/// Pools of so many threads.
fn pools(threads: impl IntoIterator<Item = usize>) -> Vec<rayon::ThreadPool> {
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    threads.into_iter().map(pool).collect()
}

/// Indices below `targets`, negative ones too, of which every so many repeat the
/// one before.
fn indices(count: usize, targets: usize) -> Array1<i32> {
    let mut numbers = Numbers(count as u64 + targets as u64);
    let mut last = 0;
    Array1::from_shape_simple_fn(count, || {
        if !numbers.once_in(3) {
            last = numbers.below(2 * targets) as i32 - targets as i32;
        }
        last
    })
}

/// Rows reduced one after the other.
fn reduced<A: Reduce>(
    data: &Array2<A>,
    indices: &Array1<i32>,
    updates: &Array2<A>,
    (reduction, use_init_val): (Reduction, bool),
) -> Array2<A> {
    let mut lists = Array2::from_elem(data.raw_dim(), Vec::new());
    for (&index, updates) in indices.iter().zip(updates.outer_iter()) {
        let row = index.rem_euclid(data.nrows() as i32) as usize;
        lists.row_mut(row).iter_mut().zip(updates).for_each(|(list, &update)| list.push(update));
    }
    let mut output = data.clone();
    output.zip_mut_with(&lists, |old, list| {
        if !list.is_empty() {
            *old = A::reduced(reduction, use_init_val.then_some(*old), list);
        }
    });
    output
}

/// Every reduction of `count` rows of `width` elements into `targets`, returned and in place.
fn assert_reduced<A: Reduce>([targets, count, width]: [usize; 3], pools: &[rayon::ThreadPool]) {
    // Without the corners of floats, which would soon make each sum a NaN: `Value`
    // takes the third bit of a number, and of the one for an imaginary part, for none.
    let array = |rows, seed| -> Array2<A> {
        let mut numbers = Numbers(seed);
        Array2::from_shape_simple_fn((rows, width), || {
            A::from_number(numbers.next() | 1 << 3 | 1 << 38)
        })
    };
    let (data, updates, indices) = (array(targets, 1), array(count, 2), indices(count, targets));
    for (k, &reduction) in REDUCTIONS.iter().enumerate() {
        if !A::defines(reduction) {
            continue;
        }
        let how = (reduction, k % 2 == 0);
        let scatter = Scatter::along(0).reduction(how.0).use_init_val(how.1);
        let expected = settled(reduction, &reduced(&data, &indices, &updates, how));
        for pool in pools {
            pool.install(|| {
                let plan = IndexPlan::new(&indices, targets).unwrap();
                let (mut plain, mut planned) = (data.clone(), data.clone());
                plain.scatter_inplace(&indices, &updates, scatter).unwrap();
                planned.scatter_inplace(&plan, &updates, scatter).unwrap();
                let returned = data.scatter_with(&plan, &updates, scatter).unwrap();
                for output in [plain, planned, returned] {
                    assert_same(&settled(reduction, &output), &expected);
                }
            });
        }
    }
}

/// Few targets of many updates, and rows.
fn assert_all<A: Reduce>() {
    let pools = pools([1, 4]);
    for shape in [[30, 50_000, 1], [100, 4_000, 17]] {
        assert_reduced::<A>(shape, &pools);
    }
}

macro_rules! every {
    ($($name:ident: $element:ty;)*) => {$(
        #[test]
        fn $name() {
            assert_all::<$element>();
        }
    )*};
}
every! {
    floats: f32; doubles: f64; bytes: u8; signed_bytes: i8; words: u16; signed_words: i16;
    numbers: u32; signed_numbers: i32; long_numbers: u64; signed_long_numbers: i64;
    addresses: usize; signed_addresses: isize; longest: u128; signed_longest: i128; truths: bool;
}

#[cfg(feature = "half")]
every! { halves: half::f16; brain_floats: half::bf16; }

#[cfg(feature = "num-complex")]
every! { complex: num_complex::Complex<f32>; complex_doubles: num_complex::Complex<f64>; }

/// The same, and elements all over memory.
#[test]
fn every_number_of_threads() {
    let pools = pools(1..=16);
    for shape in [[5, 50_000, 1], [140_000, 30_000, 1], [300, 3_000, 40]] {
        assert_reduced::<f32>(shape, &pools);
        assert_reduced::<i32>(shape, &pools[1..4]);
    }
}

/// Sums of many updates to few targets, in views of any steps.
#[test]
fn few_targets_apart() {
    let (indices, count) = (indices(60_000, 7), 60_000);
    let updates: ArrayD<u8> = array_of(&[count, 3], 3);
    let updates: Array2<u8> = updates.into_dimensionality().unwrap();
    let data: Array2<u8> = array_of(&[7, 3], 4).into_dimensionality().unwrap();
    let expected = reduced(&data, &indices, &updates, (Reduction::Sum, true));
    for pool in pools([1, 2, 3, 8]) {
        pool.install(|| {
            let mut wide = Array2::<u8>::from_elem((14, 9), 77);
            let mut view = wide.slice_mut(s![..;-2, 1..;3]);
            view.assign(&data);
            view.scatter_inplace(&indices, &updates, Scatter::sum(0)).unwrap();
            assert_eq!(view, expected);
            view.fill(77);
            assert!(wide.iter().all(|&rest| rest == 77));
            // One value for all, along the other axis.
            let mut turned = Array2::<u8>::zeros((3, 7));
            turned.scatter_inplace(&indices, &1, Scatter::sum(1)).unwrap();
            let counts = IndexPlan::new(&indices, 7).unwrap().counts().unwrap();
            assert_eq!(turned, Array2::from_shape_fn((3, 7), |(_, k)| counts[k] as u8));
        });
    }
}

/// An index out of bounds among many, wherever it is: an error, and nothing written.
#[test]
fn few_targets_and_an_error() {
    let (data, updates) = (Array1::from_elem(10, 250_u8), Array1::ones(80_000));
    for place in [0, 40_000, 79_999] {
        let mut wrong = indices(80_000, 10);
        wrong[place] = 10;
        let skipped: Array1<i32> = wrong.iter().copied().filter(|&index| index < 10).collect();
        for pool in pools([1, 2, 4]) {
            pool.install(|| {
                let mut target = data.clone();
                let error = target.scatter_inplace(&wrong, &updates, Scatter::sum(0)).unwrap_err();
                let place = vec![place];
                let refused =
                    Error::IndexOutOfBounds { index: 10, position: place, axis: 0, len: 10 };
                assert_eq!(error, refused);
                assert_eq!(target, data);
                let error = data.scatter_with(&wrong, &updates, Scatter::sum(0)).unwrap_err();
                assert_eq!(error, refused);
                assert_eq!(IndexPlan::new(&wrong, 10).unwrap_err(), refused);
                let skipping = Scatter::sum(0).out_of_bounds(OutOfBounds::Skip);
                let plan = IndexPlan::with(&wrong, 10, OutOfBounds::Skip).unwrap();
                let ones = updates.slice(s![..skipped.len()]);
                let expected = data.scatter_with(&skipped, &ones, Scatter::sum(0)).unwrap();
                assert_eq!(data.scatter_with(&wrong, &updates, skipping).unwrap(), expected);
                assert_eq!(data.scatter_with(&plan, &updates, skipping).unwrap(), expected);
                let counts = plan.counts().unwrap().mapv(|count| count as u8);
                let mut sums = data.clone();
                sums.zip_mut_with(&counts, |sum, &count| *sum = sum.wrapping_add(count));
                assert_eq!(expected, sums);
            });
        }
    }
}

/// Updates that are enough for bins of some of the threads.
#[test]
fn bins_of_some_threads() {
    let (targets, count) = (8_500, 340_000);
    let indices = indices(count, targets);
    let updates = Array1::from_iter(0..count as u32);
    let mut expected = Array1::<u32>::ones(targets);
    for (&index, update) in indices.iter().zip(&updates) {
        let sum = &mut expected[index.rem_euclid(targets as i32) as usize];
        *sum = sum.wrapping_add(*update);
    }
    for pool in pools([6, 8, 10]) {
        let mut target = Array1::ones(targets);
        pool.install(|| target.scatter_inplace(&indices, &updates, Scatter::sum(0)).unwrap());
        assert_eq!(target, expected);
    }
}

/// Means of so many updates that threads share their counting, of which some select nothing.
#[test]
fn many_counted_rows() {
    let rows = 3;
    let indices = indices(500_000, rows + 1).mapv(i32::abs);
    let data = Array2::from_shape_fn((rows, 8), |(row, column)| (row + column) as f32);
    let counts = [0, 1, 2].map(|row| indices.iter().filter(|&&index| index == row).count() as f32);
    let expected = Array2::from_shape_fn((rows, 8), |(row, column)| {
        (data[[row, column]] + counts[row]) / (counts[row] + 1.0)
    });
    let mean = Scatter::mean(0).out_of_bounds(OutOfBounds::Skip);
    for pool in pools([1, 2, 4]) {
        let mut target = data.clone();
        pool.install(|| target.scatter_inplace(&indices, &1.0, mean).unwrap());
        assert_eq!(target, expected);
    }
}

/// Wide rows into fewer targets than each of the threads would have four of.
#[test]
fn more_threads_than_quarters_of_targets() {
    let (targets, count, width) = (90, 60_000, 80);
    let indices = indices(count, targets);
    let updates = Array2::from_shape_fn((count, width), |(row, column)| (row ^ column) as f32);
    let mut expected = Array2::<f32>::ones((targets, width));
    for (&index, update) in indices.iter().zip(updates.rows()) {
        let mut row = expected.row_mut(index.rem_euclid(targets as i32) as usize);
        row += &update;
    }
    for pool in pools([2, 24, 40]) {
        let mut target = Array2::ones((targets, width));
        pool.install(|| target.scatter_inplace(&indices, &updates, Scatter::sum(0)).unwrap());
        assert_eq!(target, expected);
    }
}

/// By a plan of tuples, some of whose axes have one position: the others number the targets.
#[test]
fn planned_tuples_along_axes_of_one_position() {
    let count = 70_000;
    let updates = Array1::from_shape_fn(count, |k| k as f32);
    for lens in [[1, 80, 70], [80, 1, 70], [80, 70, 1], [1, 5600, 1], [1, 1, 1]] {
        let tuples = Array2::from_shape_fn((count, 3), |(k, number)| {
            (k * [7, 31, 13][number] % lens[number]) as u16
        });
        let plan = IndexPlan::tuples(&tuples, &lens, OutOfBounds::Error).unwrap();
        let mut expected = Array3::<f32>::ones(lens);
        for (tuple, update) in tuples.rows().into_iter().zip(&updates) {
            expected[[0, 1, 2].map(|number| usize::from(tuple[number]))] += update;
        }
        for pool in pools([1, 2, 5]) {
            let mut target = Array3::ones(lens);
            let sum = || target.scatter_nd_inplace(&plan, &updates, ScatterNd::sum());
            pool.install(sum).unwrap();
            assert_eq!(target, expected);
        }
    }
}
