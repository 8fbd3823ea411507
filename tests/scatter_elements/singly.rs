//! Sums of single elements along a line, as many as are gone through while their indices are
//! resolved, by all integers that are read so.

use ndarray::{Array1, Array2, Axis, s, stack};
use opkernels::{Error, GatherExt, IndexInteger, ScatterElements, ScatterElementsExt};

use crate::common::Numbers;

/// How indices come: as positions, counted from the end, both, each many times in a row, and one
/// alone.
const PATTERNS: [fn(usize, usize, &mut Numbers) -> i64; 5] = [
    |_, len, numbers| numbers.below(len) as i64,
    |_, len, numbers| -1 - numbers.below(len) as i64,
    |_, len, numbers| numbers.below(2 * len) as i64 - len as i64,
    |k, len, _| (k / 40 % len) as i64,
    |_, len, _| len as i64 - 1,
];

/// Whole numbers, whose sums are the same in any order.
fn values(count: usize) -> Array1<f32> {
    Array1::from_shape_fn(count, |k| (k % 19) as f32 - 9.0)
}

fn summed(data: &Array1<f32>, indices: &[i64], updates: &Array1<f32>) -> Array1<f32> {
    let mut sums = data.clone();
    for (&index, update) in indices.iter().zip(updates) {
        sums[index.rem_euclid(data.len() as i64) as usize] += update;
    }
    sums
}

fn sums_by<I: IndexInteger + TryFrom<i64>>() {
    let sum = ScatterElements::sum(0);
    let mut numbers = Numbers(5);
    for (len, count) in [(1, 1025), (7, 1100), (300, 1500), (3000, 4099), (40_000, 2000)] {
        for pattern in PATTERNS {
            let indices: Vec<i64> = (0..count).map(|k| pattern(k, len, &mut numbers)).collect();
            let converted = indices.iter().map(|&index| I::try_from(index).ok());
            // Of a type without a sign only some patterns can be.
            let Some(narrow) = converted.collect::<Option<Array1<I>>>() else { continue };
            let (data, updates) = (values(len), values(count));
            let expected = summed(&data, &indices, &updates);
            let mut target = data.clone();
            target.scatter_elements_inplace(&narrow, &updates, sum).unwrap();
            assert_eq!(target, expected);
            assert_eq!(data.scatter_elements_with(&narrow, &updates, sum).unwrap(), expected);

            // Along elements that lie apart, in either direction.
            for step in [3_isize, -2] {
                let mut wide = Array1::from_elem(len * step.unsigned_abs(), 0.5);
                let mut target = wide.slice_mut(s![..;step]);
                target.assign(&data);
                target.scatter_elements_inplace(&narrow, &updates, sum).unwrap();
                assert_eq!(target, expected);
                target.assign(&data);
                target.scatter_elements_fold(&narrow, &updates, 0, |sum, u| *sum += u).unwrap();
                assert_eq!(target, expected);
            }

            // Lanes of their own.
            let both = |line: &Array1<f32>| stack![Axis(0), *line, -line];
            let lanes = stack![Axis(0), narrow, narrow];
            let mut targets = both(&data);
            let sums: Array2<f32> = both(&expected);
            targets
                .scatter_elements_inplace(&lanes, &both(&updates), ScatterElements::sum(1))
                .unwrap();
            assert_eq!(targets, sums);
        }
    }
}

/// Along the first axis of two, each element beside the one before it.
fn sums_beside<I: IndexInteger + TryFrom<i64>>() {
    let mut numbers = Numbers(7);
    for (len, rows, width) in [(1, 9, 130), (7, 31, 65), (300, 40, 64), (50, 12, 1100)] {
        for pattern in PATTERNS {
            let indices =
                Array2::from_shape_fn((rows, width), |(row, _)| pattern(row, len, &mut numbers));
            let narrow: Option<Vec<I>> =
                indices.iter().map(|&index| I::try_from(index).ok()).collect();
            let Some(narrow) = narrow else { continue };
            let narrow = Array2::from_shape_vec((rows, width), narrow).unwrap();
            let data = values(len * width).into_shape_with_order((len, width)).unwrap();
            let updates = values(rows * width).into_shape_with_order((rows, width)).unwrap();
            let mut sums = data.clone();
            let mut extremes = data.clone();
            for (((_, column), &index), &update) in indices.indexed_iter().zip(&updates) {
                let at = (index.rem_euclid(len as i64) as usize, column);
                sums[at] += update;
                extremes[at] = extremes[at].max(update);
            }
            let mut target = data.clone();
            target.scatter_elements_inplace(&narrow, &updates, ScatterElements::sum(0)).unwrap();
            assert_eq!(target, sums);
            let maxima = data.scatter_elements_with(&narrow, &updates, ScatterElements::max(0));
            assert_eq!(maxima.unwrap(), extremes);
            let mut wide = Array2::from_elem((len, 2 * width), 0.5);
            let mut target = wide.slice_mut(s![.., ..;2]);
            target.assign(&data);
            target.scatter_elements_inplace(&narrow, &updates, ScatterElements::sum(0)).unwrap();
            assert_eq!(target, sums);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long")]
fn sums_by_all_integers_beside() {
    sums_beside::<i32>();
    sums_beside::<u32>();
    sums_beside::<i64>();
    sums_beside::<u64>();
}

#[test]
#[cfg_attr(miri, ignore = "takes long")]
fn sums_by_all_integers() {
    sums_by::<i32>();
    sums_by::<u32>();
    sums_by::<i64>();
    sums_by::<u64>();
    sums_by::<isize>();
    sums_by::<i16>();
}

/// Indices out of bounds among so many that all are resolved before the first is used, as many
/// as that, and more.
const COUNTS: [usize; 7] = [8, 16, 17, 1023, 1024, 1025, 1500];

fn refused<I: IndexInteger + Into<i128> + Default + std::fmt::Debug>(len: usize, outside: &[I]) {
    for (count, &bad) in
        COUNTS.into_iter().flat_map(|count| outside.iter().map(move |one| (count, one)))
    {
        for place in [0, 3, count / 2, count - 1] {
            let updates = values(count);
            let mut indices = Array1::from_elem(count, I::default());
            indices[place] = bad;
            let data = values(len);
            let error =
                Error::IndexOutOfBounds { index: bad.into(), position: vec![place], axis: 0, len };
            for how in [ScatterElements::sum(0), ScatterElements::max(0), ScatterElements::along(0)]
            {
                let mut target = data.clone();
                let refused = target.scatter_elements_inplace(&indices, &updates, how);
                assert_eq!(refused, Err(error.clone()));
                assert_eq!(target, data, "{count} indices, that at {place} is {bad:?}");
                let returned = data.scatter_elements_with(&indices, &updates, how);
                assert_eq!(returned, Err(error.clone()));
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long")]
fn single_elements_are_refused_out_of_bounds() {
    // Targets that are copied first, and such as are not.
    for len in [3, 100, 20_000] {
        let (end, before) = (len as i64, -(len as i64) - 1);
        refused::<i64>(len, &[end, before, i64::MIN, i64::MAX, 1 << 32, -(1 << 32)]);
        refused::<i32>(len, &[end as i32, before as i32, i32::MIN, i32::MAX, i32::MIN + 1]);
        refused::<u32>(len, &[len as u32, u32::MAX, 1 << 31, u32::MAX - 1, u32::MAX - 2]);
        refused::<u64>(len, &[len as u64, u64::MAX, 1 << 32, 1 << 63, u64::MAX - 2]);
    }
}

/// Indices that do not follow each other, and one list for several lanes.
#[test]
#[cfg_attr(miri, ignore = "takes long")]
fn single_elements_by_indices_apart() {
    let mut numbers = Numbers(11);
    for count in [40, 1500] {
        let all = Array1::from_shape_fn(2 * count, |_| numbers.below(400) as i64 - 200);
        for indices in [all.slice(s![..;2]), all.slice(s![..;-2]), all.slice(s![count..])] {
            let (data, updates) = (values(200), values(count));
            let listed: Vec<i64> = indices.to_vec();
            let sums = summed(&data, &listed, &updates);
            let mut target = data.clone();
            target.scatter_elements_inplace(&indices, &updates, ScatterElements::sum(0)).unwrap();
            assert_eq!(target, sums);

            let gathered: Array1<f32> =
                listed.iter().map(|&index| data[index.rem_euclid(200) as usize]).collect();
            assert_eq!(data.gather(&indices, 0).unwrap(), gathered);
            let lanes = stack![Axis(0), data, -&data, data, -&data, data];
            let all_gathered = lanes.gather(&indices, 1).unwrap();
            let lane = |gathered: &Array1<f32>| {
                stack![Axis(0), *gathered, -gathered, *gathered, -gathered, *gathered]
            };
            assert_eq!(all_gathered, lane(&gathered));

            let mut written = data.clone();
            written
                .scatter_elements_inplace(&indices, &updates, ScatterElements::along(0))
                .unwrap();
            let mut expected = data.clone();
            for (&index, &update) in listed.iter().zip(&updates) {
                expected[index.rem_euclid(200) as usize] = update;
            }
            assert_eq!(written, expected);
        }
    }
}
