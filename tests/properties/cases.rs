//! Random arguments: numbers that shrink toward small, plain cases, and the
//! arrays they stand for.

use ndarray::ArrayD;
use proptest::prelude::*;

use crate::common::{Index, Laid, Layout, Numbers, Value, array_of};

/// The shape of data.
pub(crate) fn shape() -> impl Strategy<Value = Vec<usize>> {
    let length = prop_oneof![1 => Just(0), 15 => 1..=4_usize];
    prop_oneof![
        6 => prop::collection::vec(length, 0..=6),
        2 => prop::collection::vec(1..=40_usize, 1..=2),
        1 => (250..=300_usize, 1..=20_usize).prop_map(|(rows, row)| vec![rows, row]),
    ]
}

/// An axis of data of this rank, or seldom one that it does not have.
pub(crate) fn axis_of(number: u8, rank: usize) -> i128 {
    let (number, rank) = (i128::from(number), rank as i128);
    if number >= 250 || rank == 0 {
        [rank, -rank - 1, i128::from(i64::MIN)][number as usize % 3]
    } else {
        number % (2 * rank) - rank
    }
}

/// Indices of an axis of this length, some out of bounds if `wild`.
pub(crate) fn indices_of<I: Index>(
    shape: &[usize],
    len: usize,
    wild: bool,
    seed: u64,
) -> ArrayD<I> {
    let mut numbers = Numbers(seed);
    let n = len as i128;
    I::from_wide(&ArrayD::from_shape_simple_fn(shape, || {
        if wild && numbers.once_in(4) {
            let far = [i64::MIN.into(), i64::MAX.into(), u64::MAX.into(), 1 << 32, 127, -128];
            [n, -n - 1, 2 * n + 1, -3 * n - 2, far[numbers.below(6)]][numbers.below(5)]
        } else {
            numbers.below(2 * len.max(1)) as i128 - n
        }
    }))
}

/// An input in a layout that may broadcast it.
pub(crate) fn input<A: Value>(contents: &ArrayD<A>, layout: u64) -> Laid<A> {
    let broadcast = if layout.is_multiple_of(3) { layout >> 20 } else { 0 };
    Laid::new(contents, Layout::from_number(contents.ndim(), layout).broadcast(broadcast))
}

/// An array to be written, full of other values.
pub(crate) fn target<A: Value>(shape: &[usize], layout: u64) -> Laid<A> {
    Laid::new(&array_of(shape, 99), Layout::from_number(shape.len(), layout))
}

/// How many elements an array of this shape has.
pub(crate) fn count(shape: &[usize]) -> usize {
    shape.iter().product()
}
