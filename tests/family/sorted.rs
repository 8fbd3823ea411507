//! Sorted indices, whose entries threads share where the index changes.

use ndarray::{Array, Array1, Array2, array};
use opkernels::{Error, GatherNdExt, Scatter, ScatterExt};

use crate::common::here_and_on_pools;

/// The last of few sorted indices is out of bounds: no thread has written then. Elements are so large
/// that several threads share them.
#[test]
fn few_sorted_indices_of_which_the_last_is_out_of_bounds() {
    let count = if cfg!(miri) { 10 } else { 1000 };
    let updates = Array1::from_elem(count, [1.0_f32; 1024]);
    let mut indices = Array::from_iter(0..count as i64);
    indices[count - 1] = count as i64;
    let is_named = |done: Result<(), Error>| match done {
        Err(Error::IndexOutOfBounds { position, .. }) => position == [count - 1],
        _ => false,
    };
    let untouched = here_and_on_pools(|| {
        let mut target = Array1::from_elem(count, [0.0_f32; 1024]);
        let written = target.scatter_inplace(&indices, &updates, Scatter::along(0));
        let folded = target.scatter_fold(&indices, &updates, 0, |target, update| *target = *update);
        let untouched = target.iter().flatten().all(|&value| value == 0.0);
        is_named(written) && is_named(folded) && untouched
    });
    assert_eq!(untouched, vec![true; untouched.len()]);
}

/// Sums into a copy, whose indices are not checked before: those out of bounds, which come last, must
/// not be added to the targets of another thread (which ThreadSanitizer sees).
#[test]
fn sorted_indices_that_end_out_of_bounds() {
    let count = if cfg!(any(miri, small_thresholds)) { 2_000 } else { 400_000 };
    let len = count / 4;
    let updates = Array1::<f32>::ones(count);
    let index = |k: usize| match k {
        _ if k < count / 8 => 0,
        _ if k < count / 4 * 3 => (k - count / 8) * len / count,
        _ => len + 5,
    };
    let indices = Array1::from_shape_fn(count, |k| index(k) as i64);
    let refused = here_and_on_pools(|| {
        let sums = Array1::<f32>::zeros(len).scatter_with(&indices, &updates, Scatter::sum(0));
        matches!(sums, Err(Error::IndexOutOfBounds { position, .. }) if position == [count / 4 * 3])
    });
    assert_eq!(refused, vec![true; refused.len()]);
}

/// Few sorted pairs among much data, in each of many iterations: a sample of their distances asks for no
/// pair after the last one, which may be the last of an allocation.
#[test]
fn few_sorted_pairs_among_much_data() {
    let (side, lanes) = if cfg!(any(miri, small_thresholds)) { (64, 8) } else { (4096, 64) };
    let mut data = Array2::<u32>::zeros((side, side));
    data[[39, 39]] = 7;
    let pairs = Array2::from_shape_fn((40, 2), |(pair, _)| pair as i64);
    let broadcast = pairs.broadcast((lanes, 40, 2)).unwrap();
    let output = data.gather_nd(&broadcast).unwrap();
    assert_eq!(output.shape(), [lanes, 40]);
    assert_eq!(output.sum(), 7 * lanes as u32);
    let mut reversed = broadcast.view();
    reversed.invert_axis(ndarray::Axis(0));
    assert_eq!(data.gather_nd(&reversed).unwrap(), output);
    assert_eq!(data.gather_nd(&array![[39, 39]]).unwrap(), array![7].into_dyn());
}
