//! Folds: any types, any rule.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use ndarray::{Array, Array1, Array2, arr0, array};
use opkernels::{
    Error, IndexInteger, OutOfBounds, Result, Scatter, ScatterElements, ScatterElementsExt,
    ScatterExt, ScatterNd, ScatterNdExt,
};

/// Neither a number nor `Clone`.
#[derive(Debug, PartialEq)]
struct Best {
    score: u32,
    name: &'static str,
}

#[test]
fn argmax_with_ties_decided() -> Result<()> {
    let mut best: Array1<Best> = (0..2).map(|_| Best { score: 0, name: "nobody" }).collect();
    let updates = [(3, "a"), (5, "b"), (5, "c"), (1, "d")];
    best.scatter_fold(&[0, 0, 0, 1], &updates, 0, |best, &(score, name)| {
        if score > best.score {
            *best = Best { score, name };
        }
    })?;
    let expected = [Best { score: 5, name: "b" }, Best { score: 1, name: "d" }];
    assert_eq!(best.as_slice().unwrap(), expected);
    Ok(())
}

#[test]
fn f64_sums_of_f32() -> Result<()> {
    let mut sums = array![f64::from(1_u32 << 24), 0.0];
    sums.scatter_fold(&[0; 1000], &1.0_f32, 0, |sum, &x| *sum += f64::from(x))?;
    assert_eq!(sums, array![f64::from((1_u32 << 24) + 1000), 0.0]);
    Ok(())
}

#[test]
fn sets_of_strings() -> Result<()> {
    let mut sets = Array2::from_elem((2, 2), BTreeSet::new());
    let cells = array![[0, 1], [1, 0], [0, 1], [-2, -1]];
    let words = ["x", "y", "z", "x"];
    sets.scatter_nd_fold(&cells, &words, ScatterNd::new(), |set, &word| {
        set.insert(word);
    })?;
    assert_eq!(sets[[0, 1]], BTreeSet::from(["x", "z"]));
    assert_eq!(sets[[1, 0]], BTreeSet::from(["y"]));
    assert!(sets[[0, 0]].is_empty() && sets[[1, 1]].is_empty());
    Ok(())
}

/// In row-major order of the indices for each target.
#[test]
fn order() -> Result<()> {
    let mut lists = Array2::from_elem((2, 2), String::new());
    let indices = array![[0, 1], [0, 1], [1, 1]];
    let letters = array![['a', 'b'], ['c', 'd'], ['e', 'f']];
    lists.scatter_elements_fold(&indices, &letters, 0, |list, &letter| list.push(letter))?;
    assert_eq!(lists, array![["ac", ""], ["e", "bdf"]].mapv(String::from));
    let mut lists = Array2::from_elem((2, 2), String::new());
    lists.scatter_fold(&[1, 1, 1], &letters, 0, |list, &letter| list.push(letter))?;
    assert_eq!(lists, array![["", ""], ["ace", "bdf"]].mapv(String::from));
    let mut lists = Array2::from_elem((2, 2), String::new());
    let turned = letters.t();
    lists.scatter_fold(&array![1, 1, 1], &turned, 1, |list, &letter| list.push(letter))?;
    assert_eq!(lists, array![["", "ace"], ["", "bdf"]].mapv(String::from));
    Ok(())
}

/// The mean and the variance in one pass.
#[test]
fn welford() -> Result<()> {
    let mut state = Array1::from_elem(1, (0.0_f64, 0.0, 0.0));
    let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
    state.scatter_fold(&[0; 8], &values, 0, |(n, mean, m2), &x| {
        *n += 1.0;
        let delta = x - *mean;
        *mean += delta / *n;
        *m2 += delta * (x - *mean);
    })?;
    let (n, mean, m2) = state[0];
    assert_eq!((n, mean), (8.0, 5.0));
    assert!((m2 / n - 4.0).abs() < 1e-12);
    Ok(())
}

/// Out of bounds: nothing has been called. With `Skip`, whatever is inside.
#[test]
fn out_of_bounds() -> Result<()> {
    let calls = AtomicUsize::new(0);
    let count = |_: &mut u8, _: &u8| {
        calls.fetch_add(1, Ordering::Relaxed);
    };
    let mut target = array![[1_u8, 2], [3, 4]];
    let refused = |position: &[usize], axis| Error::IndexOutOfBounds {
        index: 2,
        position: position.to_vec(),
        axis,
        len: 2,
    };
    let error = target.scatter_fold(&[0, 1, 2], &0_u8, 0, count).unwrap_err();
    assert_eq!(error, refused(&[2], 0));
    let error = target.scatter_elements_fold(&array![[0, 1], [2, 0]], &0_u8, 1, count).unwrap_err();
    assert_eq!(error, refused(&[1, 0], 1));
    let tuples = array![[0, 0], [1, 2]];
    let error = target.scatter_nd_fold(&tuples, &0_u8, ScatterNd::new(), count).unwrap_err();
    assert_eq!(error, refused(&[1, 1], 1));
    assert!(target.scatter_fold(&[0, 1], &array![1_u8], 0, count).is_err());
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    target.scatter_fold(
        &[0, 1, 2],
        &0_u8,
        Scatter::along(0).out_of_bounds(OutOfBounds::Skip),
        count,
    )?;
    assert_eq!(calls.swap(0, Ordering::Relaxed), 4);
    let skip = ScatterElements::along(1).out_of_bounds(OutOfBounds::Skip);
    target.scatter_elements_fold(&array![[0, 1], [2, 0]], &0_u8, skip, count)?;
    assert_eq!(calls.swap(0, Ordering::Relaxed), 3);
    let skip = ScatterNd::new().out_of_bounds(OutOfBounds::Skip);
    target.scatter_nd_fold(&tuples, &0_u8, skip, count)?;
    assert_eq!(calls.swap(0, Ordering::Relaxed), 1);
    Ok(())
}

/// An element that is not `Clone`, as large as its update or larger, and an update that is changed through a
/// shared reference: a fold has to see these themselves, not copies.
struct Hash<M>(u32, M);
struct Update(AtomicU32);

/// Many single elements, whose indices are resolved one by one: each lane of each of these shapes is
/// hashed in the order of its updates, and each update used once.
#[test]
fn single_elements() -> Result<()> {
    hashed::<i64, ()>()?;
    hashed::<i64, [u32; 2]>()?;
    hashed::<u64, u64>()?;
    hashed::<i32, ()>()?;
    hashed::<u32, [u8; 5]>()?;
    hashed::<i16, ()>()
}

fn hashed<I: IndexInteger, M: Default + Send>() -> Result<()> {
    let from_end = I::min_value() < I::zero();
    for (shape, count) in
        [([1, 40, 1], 3000), ([3, 40, 2], 700), ([2, 5, 700], 3), ([900, 5, 1], 2)]
    {
        let [outer, len, inner] = shape;
        let index = |(i, j, k): (usize, usize, usize)| (i * 7 + j * j + 3 * k) % len;
        let indices = Array::from_shape_fn((outer, count, inner), |at| {
            let index = I::from(index(at)).unwrap();
            if from_end && at.1 % 3 == 0 { index - I::from(len).unwrap() } else { index }
        });
        let updates = Array::from_shape_fn(indices.raw_dim(), |(i, j, k)| {
            Update(AtomicU32::new((i * 31 + j * 17 + k) as u32))
        });
        let mut hashes = Array::from_shape_simple_fn(shape, || Hash(0, M::default()));
        hashes.scatter_elements_fold(&indices, &updates, 1, |hash, update| {
            hash.0 = hash.0.wrapping_mul(31).wrapping_add(update.0.fetch_add(1, Ordering::Relaxed));
        })?;
        let mut expected = Array::from_elem(shape, 0_u32);
        for (at, update) in updates.indexed_iter() {
            let value = (at.0 * 31 + at.1 * 17 + at.2) as u32;
            assert_eq!(update.0.load(Ordering::Relaxed), value + 1, "{shape:?} {at:?}");
            let hash = &mut expected[[at.0, index(at), at.2]];
            *hash = hash.wrapping_mul(31).wrapping_add(value);
        }
        assert!(hashes.iter().map(|hash| hash.0).eq(expected), "{shape:?}");
        // One update for all is one that is shared, too.
        let one = arr0(Update(AtomicU32::new(0)));
        hashes.scatter_elements_fold(&indices, &one, 1, |_, update| {
            update.0.fetch_add(1, Ordering::Relaxed);
        })?;
        assert_eq!(one.into_scalar().0.into_inner() as usize, indices.len());
    }
    Ok(())
}

/// A panic of the rule goes to the caller; the elements stay valid, and each
/// update has been applied whole or not at all.
#[test]
fn panics() {
    let mut target = Array1::from_elem(3, String::from("-"));
    let done = catch_unwind(AssertUnwindSafe(|| {
        target.scatter_fold(&[0, 1, 1, 2], &['a', 'b', '!', 'c'], 0, |text, &letter| {
            if letter == '!' {
                std::panic::resume_unwind(Box::new("fold"));
            }
            text.push(letter);
        })
    }));
    assert_eq!(*done.unwrap_err().downcast::<&str>().unwrap(), "fold");
    for (text, letter) in target.iter().zip(["a", "b", "c"]) {
        assert!(text == "-" || *text == format!("-{letter}"), "{text}");
    }
}

/// A fold that adds is the built-in sum to the bit, large enough for threads.
#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn sums_as_the_built_in_one() -> Result<()> {
    let shape = (2000, 300);
    let indices = Array::from_shape_fn(shape, |(i, j)| (i * i + 7 * j) % 50);
    let updates = Array::from_shape_fn(shape, |(i, j)| 0.1_f32 * (i as f32 - 3.3 * j as f32));
    let data = Array::from_shape_fn((50, 300), |(i, j)| (i * j) as f32 * 0.01);
    let add = |sum: &mut f32, x: &f32| *sum += x;
    let rows = indices.column(0).to_owned();
    let (mut folded, mut summed) = (data.clone(), data.clone());
    folded.scatter_elements_fold(&indices, &updates, 0, add)?;
    summed.scatter_elements_inplace(&indices, &updates, ScatterElements::sum(0))?;
    assert!(folded == summed);
    folded.scatter_fold(&rows, &updates, 0, add)?;
    summed.scatter_inplace(&rows, &updates, Scatter::sum(0))?;
    assert!(folded == summed);
    let tuples =
        Array::from_shape_fn((9000, 2), |(i, j)| if j == 0 { i * i % 50 } else { i % 300 });
    let values = updates.as_slice().unwrap();
    folded.scatter_nd_fold(&tuples, &values[..9000], ScatterNd::new(), add)?;
    summed.scatter_nd_inplace(&tuples, &values[..9000], ScatterNd::sum())?;
    assert!(folded == summed);
    Ok(())
}

/// Elements so large that several threads share the work of a few thousand: each update is folded once,
/// into targets too few to be shared out, and in fewer lanes than there are parts.
#[test]
fn large_elements_are_folded_once() {
    let count = if cfg!(miri) { 20 } else { 2000 };
    for (lanes, elements) in [(1, 4), (2, 40)] {
        let updates = Array2::from_elem((lanes, count), [1_u64; 1024]);
        let indices = Array2::from_shape_fn((lanes, count), |(_, k)| (k % elements) as i64);
        let sums = crate::common::here_and_on_pools(|| {
            let calls = AtomicUsize::new(0);
            let mut target = Array2::from_elem((lanes, elements), [0_u64; 1024]);
            let fold = |held: &mut [u64; 1024], update: &[u64; 1024]| {
                calls.fetch_add(1, Ordering::Relaxed);
                held[0] += update[0];
            };
            target.scatter_elements_fold(&indices, &updates, 1, fold).unwrap();
            let mut line = Array1::from_elem(elements, [0_u64; 1024]);
            line.scatter_fold(&indices.row(0), &updates.row(0), 0, fold).unwrap();
            let sum = |held: &[u64; 1024]| held[0] as usize;
            let sums: usize = target.iter().chain(&line).map(sum).sum();
            (calls.into_inner(), sums)
        });
        let all = (lanes + 1) * count;
        assert!(sums.iter().all(|&sum| sum == (all, all)), "{sums:?}, not {all}");
    }
}
