//! Rolls into an array and in place.

use opkernels::RollExt;
use proptest::prelude::*;

use super::{Case, around_the_grain, assert_all_or_nothing, case, one_case_in, other, small};
use crate::common::oracle::Refused;
use crate::common::{Numbers, Value, array_of, oracle};

fn check<A: Value>(case: &Case) {
    let mut numbers = Numbers(case.seed);
    let [rows, length] = case.size.rows(size_of::<A>(), &mut numbers);
    let shape = match numbers.below(3) {
        0 => vec![rows * length],
        1 => vec![rows, length],
        _ => vec![rows, 1, length],
    };
    let rank = shape.len() as i64;
    // Now and then one shift too many, or an axis too far.
    let mut axis = || numbers.below(shape.len() * 2 + 1) as i64 - rank;
    let axes = [axis(), axis()];
    let mut shift = || numbers.next() as i64;
    let mut shifts = vec![shift(), shift()];
    shifts.truncate([2, 2, 2, 1, 0][numbers.below(5)]);
    let axes_wide = axes.map(i128::from);

    let data = case.laid::<A>(&array_of(&shape, case.seed), 0);
    let expected = oracle::roll(&data.contents(), &shifts, &axes_wide);
    let wrong_out = numbers.once_in(8);
    let out = if wrong_out { vec![rows + 1, length] } else { shape };
    let before = case.laid(&other::<A>(&out), 2);
    let mut target = before.clone();
    let done = data.view().roll_into(&shifts, &axes, &mut target.view_mut());
    let into = if wrong_out { Err(Refused::Arguments) } else { expected.clone() };
    assert_all_or_nothing(done, &target, &before, &into);

    let mut target = data.clone();
    let done = target.view_mut().roll_inplace(&shifts, &axes);
    assert_all_or_nothing(done, &target, &data, &expected);
}

proptest! {
    #![proptest_config(one_case_in(1))]

    #[test]
    fn small_floats(case in case(small())) {
        check::<f32>(&case);
    }

    #[test]
    fn small_strings(case in case(small())) {
        check::<String>(&case);
    }
}

#[cfg(not(miri))]
proptest! {
    #![proptest_config(one_case_in(32))]

    #[test]
    fn pages_around_the_grain_of_threads(case in case(around_the_grain())) {
        check::<[u64; 512]>(&case);
    }

    #[test]
    fn rows_around_the_grain_of_threads(case in case(around_the_grain())) {
        check::<[u64; 125]>(&case);
    }
}
