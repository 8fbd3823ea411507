//! Sums of single elements along a line, as many as are gone through while their indices are
//! resolved, by all integers that are read so.

use ndarray::{Array1, Array2, Axis, stack};
use opkernels::{Error, IndexInteger, ScatterElements, ScatterElementsExt};

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

fn refused<I: IndexInteger + Into<i128> + Default>(len: usize, outside: &[I]) {
    let updates = values(1500);
    for (&bad, place) in outside.iter().zip([0, 3, 255, 1027, 1499].into_iter().cycle()) {
        let mut indices = Array1::from_elem(1500, I::default());
        indices[place] = bad;
        let data = values(len);
        let error =
            Error::IndexOutOfBounds { index: bad.into(), position: vec![place], axis: 0, len };
        let mut target = data.clone();
        let sum = ScatterElements::sum(0);
        assert_eq!(target.scatter_elements_inplace(&indices, &updates, sum), Err(error.clone()));
        assert_eq!(target, data);
        assert_eq!(data.scatter_elements_with(&indices, &updates, sum), Err(error));
    }
}

#[test]
fn sums_are_refused_out_of_bounds() {
    // Targets that are copied first, and such as are not.
    for len in [3, 20_000] {
        let (end, before) = (len as i64, -(len as i64) - 1);
        refused::<i64>(len, &[end, before, i64::MIN, i64::MAX, 1 << 32, -(1 << 32)]);
        refused::<i32>(len, &[end as i32, before as i32, i32::MIN, i32::MAX, i32::MIN + 1]);
        refused::<u32>(len, &[len as u32, u32::MAX, 1 << 31, u32::MAX - 1, u32::MAX - 2]);
        refused::<u64>(len, &[len as u64, u64::MAX, 1 << 32, 1 << 63, u64::MAX - 2]);
    }
}
