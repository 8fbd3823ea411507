//! Axes longer than any memory: of elements that stand at many places, and of
//! elements without a size. Random indices around the ends of axes and of index
//! types are taken as numbers of 128 bits are, or refused.

use ndarray::{ArrayD, ArrayViewMutD, Axis, Dimension, Slice};
use opkernels::{Error, OutOfBounds};

use crate::common::calls::{overwrite, read, read_into};
use crate::common::oracle::{Kind, Refused, selected};
use crate::common::value::Numbers;
use crate::common::{Index, plan_of};

/// What stands where an index selects nothing, and what `out` held.
const FILL: u8 = 9;
const KEPT: u8 = 1;

/// An element without a size, and as many of them as an axis can have.
type Nothing = [u8; 0];
const ALL: [Nothing; isize::MAX as usize] = [[]; isize::MAX as usize];

/// On both sides of what 1 to 8 bytes hold, of what doubles count, and of what
/// can be added to an index.
fn lengths() -> Vec<usize> {
    let bits = [1, 7, 8, 15, 16, 31, 32, 53, 61, 62, 63];
    let around = bits.iter().flat_map(|bits| [-1, 0, 1].map(|beside| (1_i128 << bits) + beside));
    around.filter_map(|len| isize::try_from(len).ok()).map(|len| len as usize).collect()
}

/// A number within an axis from either end, often near one.
fn inside(numbers: &mut Numbers, len: usize) -> i128 {
    let near = numbers.below(len.min(3)) as i128;
    let (n, any) = (len as i128, numbers.below(len) as i128);
    [near, n - 1 - near, -n + near, -1 - near, any, any - n][numbers.below(6)]
}

/// A number outside of it.
fn outside(numbers: &mut Numbers, len: usize) -> i128 {
    let (n, near) = (len as i128, numbers.below(3) as i128);
    let (first, last, any) = (i64::MIN.into(), i64::MAX.into(), (numbers.next() >> 1) as i128);
    [n + near, -n - 1 - near, first, last, u64::MAX.into(), n + any][numbers.below(6)]
}

/// What is called: how indices select, the shape of data, that of indices, and
/// that of updates.
type Case = (Kind, Vec<usize>, Vec<usize>, Vec<usize>);

fn cases(len: usize, count: usize) -> Vec<Case> {
    let slices = Kind::Slices { axis: 0, batch_dims: 0 };
    let tuples = Kind::Tuples { batch_dims: 0 };
    let mut cases: Vec<Case> = vec![
        (slices, vec![len], vec![count], vec![count]),
        (Kind::Elements { axis: 0 }, vec![len], vec![count], vec![count]),
        (tuples, vec![len], vec![count, 1], vec![count]),
    ];
    if len <= isize::MAX as usize / 2 {
        let batches = Kind::Slices { axis: 1, batch_dims: 1 };
        cases.extend([
            (slices, vec![len, 2], vec![count], vec![count, 2]),
            (batches, vec![2, len], vec![2, count], vec![2, count]),
            (Kind::Elements { axis: 1 }, vec![2, len], vec![2, count], vec![2, count]),
            (Kind::Elements { axis: 0 }, vec![len, 2], vec![count, 2], vec![count, 2]),
            (tuples, vec![2, len], vec![count, 2], vec![count]),
            (tuples, vec![len, 2], vec![count, 1], vec![count, 2]),
        ]);
    }
    cases
}

/// Indices of a case: all within, one outside, or any number of them.
fn drawn<I: Index>(numbers: &mut Numbers, (kind, data, shape, _): &Case) -> ArrayD<I> {
    let count = shape.iter().product();
    let how = numbers.below(3);
    let bad = numbers.below(count);
    let mut k = 0;
    let wide = ArrayD::from_shape_simple_fn(&shape[..], || {
        let axis = match kind {
            Kind::Tuples { .. } => k % shape[shape.len() - 1],
            Kind::Slices { axis, .. } | Kind::Elements { axis } => *axis as usize,
        };
        let out = (how == 1 && k == bad) || (how == 2 && numbers.once_in(count.min(9)));
        k += 1;
        if out { outside(numbers, data[axis]) } else { inside(numbers, data[axis]) }
    });
    I::from_wide(&wide)
}

fn as_expected<T: PartialEq + std::fmt::Debug>(
    answer: &Result<T, Error>,
    expected: &Result<T, Refused>,
    what: &str,
) {
    match (answer, expected) {
        (Ok(answer), Ok(expected)) => assert_eq!(answer, expected, "{what}"),
        (Err(error), Err(refused)) => {
            assert!(refused.is(error), "{what}: {error}, not {refused:?}");
        }
        _ => panic!("{what}: {answer:?}, not {expected:?}"),
    }
}

/// Reads one of two elements by which place it is on an axis of two.
fn reads<I: Index>(case: &Case, indices: &ArrayD<I>, mode: OutOfBounds<u8>) {
    let (kind, shape, ..) = case;
    let what = format!("read {kind:?} {shape:?} by {:?}, {mode:?}", indices.shape());
    let short = shape.iter().position(|&len| len == 2).filter(|_| shape.len() == 2);
    // Which of two: an element's place on the axis of two.
    let of = |which: usize| 7 + which as u8;
    let element = |number: usize| match short {
        Some(0) => of(number / shape[1]),
        Some(_) => of(number % 2),
        None => of(0),
    };
    let two = match short {
        Some(0) => vec![2, 1],
        Some(_) => vec![1, 2],
        None => vec![1],
    };
    let pair = ArrayD::from_shape_fn(two, |place| of(place.slice().iter().sum()));
    let data = pair.broadcast(&shape[..]).unwrap();
    let expected = selected(*kind, shape, &I::to_wide(indices), &mode)
        .map(|numbers| numbers.map(|number| number.map_or(FILL, element)));
    as_expected(&read(*kind, &data, indices, mode), &expected, &what);
    let mut out = ArrayD::from_elem(&case.3[..], KEPT);
    let done = read_into(*kind, &data, indices, mode, &mut out.view_mut());
    if done.is_err() {
        assert!(out.iter().all(|&element| element == KEPT), "{what}, into: written");
    }
    as_expected(&done.map(|()| out), &expected, &what);
    let skip = match mode {
        OutOfBounds::Clip => OutOfBounds::Clip,
        OutOfBounds::Wrap => OutOfBounds::Wrap,
        OutOfBounds::Fill(_) => OutOfBounds::Skip,
        _ => OutOfBounds::Error,
    };
    match plan_of(*kind, shape, &indices.view(), skip).expect("axes to select along") {
        Ok(plan) => as_expected(&read(*kind, &data, &plan, mode), &expected, &what),
        Err(_) => assert!(expected.is_err(), "{what}, plan: refused"),
    }
}

/// Writes elements without a size.
fn writes<I: Index>(case: &Case, indices: &ArrayD<I>, mode: OutOfBounds) {
    let (kind, shape, _, updates) = case;
    let what = format!("write {kind:?} {shape:?} by {:?}, {mode:?}", indices.shape());
    let mut all = ALL;
    let mut target = ArrayViewMutD::from_shape(vec![all.len()], &mut all).unwrap();
    target.slice_axis_inplace(Axis(0), Slice::from(..shape.iter().product::<usize>()));
    let mut target = target.into_shape_with_order(&shape[..]).unwrap();
    let updates = ArrayD::from_elem(&updates[..], []);
    let expected = selected(*kind, shape, &I::to_wide(indices), &mode).map(|_| ());
    as_expected(&overwrite(*kind, &mut target, indices, &updates.view(), mode), &expected, &what);
    if let Some(Ok(plan)) = plan_of(*kind, shape, &indices.view(), mode) {
        as_expected(&overwrite(*kind, &mut target, &plan, &updates.view(), mode), &expected, &what);
    }
}

fn check<I: Index>(seed: u64) {
    let mut numbers = Numbers(seed);
    let counts = [1, 2, 7, 40, 300, 1025, 2500];
    let (lengths, counts) = (lengths(), if cfg!(miri) { &counts[..4] } else { &counts });
    for _ in 0..if cfg!(miri) { 2 } else { 120 } {
        let len = lengths[numbers.below(lengths.len())];
        let cases = cases(len, counts[numbers.below(counts.len())]);
        let case = &cases[numbers.below(cases.len())];
        let indices: ArrayD<I> = drawn(&mut numbers, case);
        let mode = numbers.below(4);
        let read =
            [OutOfBounds::Error, OutOfBounds::Fill(FILL), OutOfBounds::Clip, OutOfBounds::Wrap];
        reads(case, &indices, read[mode]);
        let write = [OutOfBounds::Error, OutOfBounds::Skip, OutOfBounds::Clip, OutOfBounds::Wrap];
        writes(case, &indices, write[mode]);
    }
}

#[test]
fn indices_along_axes_longer_than_memory() {
    check::<i8>(1);
    check::<i16>(2);
    check::<i32>(3);
    check::<i64>(4);
    check::<isize>(5);
    check::<u8>(6);
    check::<u16>(7);
    check::<u32>(8);
    check::<u64>(9);
    check::<usize>(10);
}
