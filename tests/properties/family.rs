//! The whole family by the kind of its indices, against the reference:
//! gathers into new, initialised and uninitialised arrays, scatters and folds
//! returned and in place, each gather against its scatter.

use std::mem::MaybeUninit;

use ndarray::{ArrayD, IxDyn, ShapeBuilder};
use opkernels::{Error, IndexPlan, OutOfBounds, Reduction, Result};
use proptest::prelude::*;

use crate::cases::target;
use crate::common::oracle::{self, Kind, Reducing, Refused};
use crate::common::{
    Index, Laid, Layout, Reduce, Value, array_of, calls, plan_of, same_contents, settled,
};
use crate::kinds::{Case, case};

type Expected<A> = std::result::Result<ArrayD<A>, Refused>;

/// A returned array is what the reference says; so is a refusal.
#[track_caller]
fn assert_returned<A: Value>(output: Result<ArrayD<A>>, expected: &Expected<A>, of: Reduction) {
    match (output, expected) {
        (Ok(output), Ok(expected)) => {
            assert!(output.is_standard_layout());
            let (output, expected) = (settled(of, &output), settled(of, expected));
            assert!(same_contents(&output, &expected), "{output:?} instead of {expected:?}");
        }
        (Err(error), Err(refused)) => {
            assert!(refused.is(&error), "{error} instead of {refused:?}");
        }
        (output, expected) => panic!("{output:?} instead of {expected:?}"),
    }
}

/// An array that was written holds what the reference says, or what it held.
#[track_caller]
fn assert_written<A: Value>(
    done: Result<()>,
    (before, target): (&Laid<A>, &Laid<A>),
    expected: &Expected<A>,
    of: Reduction,
) {
    assert!(target.kept_its_margins(before), "written beside the target");
    if done.is_err() {
        assert!(same_contents(&target.view(), &before.view()), "written before {done:?}");
    }
    assert_returned(done.map(|()| target.contents()), expected, of);
}

pub(crate) fn gathers<A: Value, I: Index>(case: &Case) {
    let (kind, mode) = (case.kind, case.gather_mode::<A>());
    let (data, indices) = (case.data::<A>(), case.indices::<I>());
    let wide = I::to_wide(&indices.view());
    let expected = oracle::read(kind, &data.contents(), &wide, &mode);
    let (data, indices) = (data.view(), indices.view());
    assert_returned(calls::read(kind, &data, &indices, mode.clone()), &expected, Reduction::None);

    let shape = expected.as_ref().map_or(&case.data[..], |expected| expected.shape());
    let before = target::<A>(shape, case.layouts[2]);
    let mut out = before.clone();
    let done = calls::read_into(kind, &data, &indices, mode.clone(), &mut out.view_mut());
    if let Err(refused) = &expected {
        // The out may be refused before the index is.
        assert!(done.is_err(), "instead of {refused:?}");
        assert!(same_contents(&out.view(), &before.view()));
    } else {
        assert_written(done, (&before, &out), &expected, Reduction::None);
        let mut slots: ArrayD<MaybeUninit<A>> = match case.seed % 2 {
            0 => ArrayD::uninit(shape.to_vec()),
            _ => ArrayD::uninit(shape.to_vec().f()),
        };
        let mut view = slots.view_mut();
        calls::read_into_uninit(kind, &data, &indices, mode.clone(), &mut view).unwrap();
        #[allow(unsafe_code)]
        // SAFETY: `Ok` says that every element is initialised.
        let out = unsafe { slots.assume_init() };
        assert!(same_contents(&out, expected.as_ref().unwrap()), "{out:?}, not {expected:?}");
    }
    let planned = match &mode {
        OutOfBounds::Fill(_) => OutOfBounds::Skip,
        OutOfBounds::Clip => OutOfBounds::Clip,
        OutOfBounds::Wrap => OutOfBounds::Wrap,
        _ => OutOfBounds::Error,
    };
    if let Some(plan) = plan_of(kind, &case.data, &indices, planned) {
        gathers_by_plan(case, plan, mode.clone(), &expected);
    }
    if plain(kind) && matches!(mode, OutOfBounds::Error) {
        let output = calls::read_plainly(kind, &data, &indices);
        assert_returned(output, &expected, Reduction::None);
    }
}

/// A plan gives what its indices give, or refuses them as they are refused.
fn gathers_by_plan<A: Value>(
    case: &Case,
    plan: Result<IndexPlan<IxDyn>>,
    mode: OutOfBounds<A>,
    expected: &Expected<A>,
) {
    let (kind, data) = (case.kind, case.data::<A>());
    let Some(plan) = accepted(plan, expected) else { return };
    let output = calls::read(kind, &data.view(), &plan, mode.clone());
    assert_returned(output, expected, Reduction::None);
    if let Ok(expected) = expected {
        let mut out = target::<A>(expected.shape(), case.layouts[2]);
        calls::read_into(kind, &data.view(), &plan, mode, &mut out.view_mut()).unwrap();
        assert!(same_contents(&out.view(), expected));
    }
}

/// A plan; where its indices were refused, the call refuses them or its
/// arguments.
fn accepted<A: Value>(
    plan: Result<IndexPlan<IxDyn>>,
    expected: &Expected<A>,
) -> Option<IndexPlan<IxDyn>> {
    match (plan, expected) {
        (Ok(plan), _) => Some(plan),
        (Err(Error::IndexOutOfBounds { index, position, len, .. }), Err(refused)) => {
            if let Refused::Index { index: i, position: p, len: l, .. } = refused {
                assert_eq!((index, &position, len), (*i, p, *l));
            }
            None
        }
        (Err(error), Err(Refused::Arguments)) => {
            assert!(matches!(error, Error::EmptyAxis { .. }), "{error}");
            None
        }
        (Err(error), expected) => panic!("{error}, but {expected:?}"),
    }
}

/// Whether an axis says it all.
fn plain(kind: Kind) -> bool {
    !matches!(
        kind,
        Kind::Slices { batch_dims: 1.. | ..=-1, .. } | Kind::Tuples { batch_dims: 1.. | ..=-1 }
    )
}

/// The shape that updates should have, or any where there is none.
fn updates_shape(case: &Case, wide: &ArrayD<i128>) -> Vec<usize> {
    oracle::updates_shape(case.kind, &case.data, wide.shape())
        .unwrap_or_else(|_| case.indices.clone())
}

pub(crate) fn overwrites<A: Value, I: Index>(case: Case) {
    let case = case.of_a_scatter();
    let (kind, mode) = (case.kind, case.scatter_mode());
    let (data, indices) = (case.data::<A>(), case.indices::<I>());
    let wide = I::to_wide(&indices.view());
    let updates = case.updates::<A>(&updates_shape(&case, &wide));
    let contents = data.contents();
    let expected = oracle::overwrite_of(kind, &contents, &wide, &updates.contents(), &mode);
    let (indices, updates) = (indices.view(), updates.view());
    let output = calls::overwritten(kind, &data.view(), &indices, &updates, mode);
    assert_returned(output, &expected, Reduction::None);
    let before = Laid::new(&contents, Layout::from_number(contents.ndim(), case.layouts[3]));
    let mut target = before.clone();
    let done = calls::overwrite(kind, &mut target.view_mut(), &indices, &updates, mode);
    assert_written(done, (&before, &target), &expected, Reduction::None);
    let plan = plan_of(kind, &case.data, &indices, mode).and_then(|plan| accepted(plan, &expected));
    if let Some(plan) = plan {
        let output = calls::overwritten(kind, &data.view(), &plan, &updates, mode);
        assert_returned(output, &expected, Reduction::None);
        let mut target = before.clone();
        let said = OutOfBounds::Error;
        let done = calls::overwrite(kind, &mut target.view_mut(), &plan, &updates, said);
        assert_written(done, (&before, &target), &expected, Reduction::None);
    }
    if plain(kind) && mode == OutOfBounds::Error {
        let output = calls::overwritten_plainly(kind, &data.view(), &indices, &updates);
        assert_returned(output, &expected, Reduction::None);
        let mut target = before.clone();
        let done = calls::overwrite_plainly(kind, &mut target.view_mut(), &indices, &updates);
        assert_written(done, (&before, &target), &expected, Reduction::None);
    }
}

pub(crate) fn reduces<A: Reduce, I: Index>(case: Case) {
    let case = case.of_a_scatter();
    let (kind, how) = (case.kind, case.reducing());
    let (data, indices) = (case.data::<A>(), case.indices::<I>());
    let wide = I::to_wide(&indices.view());
    let updates = case.updates::<A>(&updates_shape(&case, &wide));
    let contents = data.contents();
    let expected = oracle::reduce_of(kind, &contents, &wide, &updates.contents(), &how);
    let (indices, updates) = (indices.view(), updates.view());
    let output = calls::reduced(kind, &data.view(), &indices, &updates, &how);
    assert_returned(output, &expected, how.reduction);
    let before = Laid::new(&contents, Layout::from_number(contents.ndim(), case.layouts[3]));
    let mut target = before.clone();
    let done = calls::reduce(kind, &mut target.view_mut(), &indices, &updates, &how);
    assert_written(done, (&before, &target), &expected, how.reduction);
    let mode = how.mode;
    let plan = plan_of(kind, &case.data, &indices, mode).and_then(|plan| accepted(plan, &expected));
    if let Some(plan) = plan {
        let said = Reducing { mode: OutOfBounds::Error, ..how };
        let output = calls::reduced(kind, &data.view(), &plan, &updates, &said);
        assert_returned(output, &expected, how.reduction);
        let mut target = before.clone();
        let done = calls::reduce(kind, &mut target.view_mut(), &plan, &updates, &how);
        assert_written(done, (&before, &target), &expected, how.reduction);
    }
    // One value is the same as the value everywhere.
    if let (Some(one), Ok(expected)) = (updates.first().filter(|_| updates.ndim() == 0), &expected)
    {
        let all = ArrayD::from_elem(updates_shape(&case, &wide), *one);
        let output = calls::reduced(kind, &contents.view(), &indices, &all.view(), &how).unwrap();
        assert!(same_contents(&settled(how.reduction, &output), &settled(how.reduction, expected)));
    }
}

/// A rule whose result depends on the order, of other types than the updates.
pub(crate) fn folds<A: Value, U: Value, I: Index>(case: Case, rule: fn(&mut A, &U)) {
    let case = case.of_a_scatter();
    let (kind, mode) = (case.kind, case.scatter_mode());
    let (data, indices) = (case.data::<A>(), case.indices::<I>());
    let wide = I::to_wide(&indices.view());
    let updates = case.updates::<U>(&updates_shape(&case, &wide));
    let contents = data.contents();
    let expected = oracle::fold(kind, &contents, &wide, &updates.contents(), &mode, rule);
    let before = Laid::new(&contents, Layout::from_number(contents.ndim(), case.layouts[3]));
    let mut target = before.clone();
    let (indices, updates) = (indices.view(), updates.view());
    let done = calls::fold(kind, &mut target.view_mut(), &indices, &updates, mode, rule);
    assert_written(done, (&before, &target), &expected, Reduction::None);
    let plan = plan_of(kind, &case.data, &indices, mode).and_then(|plan| accepted(plan, &expected));
    if let Some(plan) = plan {
        let mut target = before.clone();
        let done = calls::fold(kind, &mut target.view_mut(), &plan, &updates, mode, rule);
        assert_written(done, (&before, &target), &expected, Reduction::None);
    }
}

/// A fold by the rule of a reduction is that reduction, to the bit.
fn folds_as_reduction<A: Reduce, I: Index>(case: Case, reduction: Reduction, rule: fn(&mut A, &A)) {
    let case = case.of_a_scatter();
    let (kind, mode) = (case.kind, case.scatter_mode());
    let (contents, indices) = (array_of::<A>(&case.data, case.seed), case.indices::<I>());
    let updates = case.updates::<A>(&updates_shape(&case, &I::to_wide(&indices.view())));
    let (indices, updates) = (indices.view(), updates.view());
    let (mut folded, mut reduced) = (contents.clone(), contents);
    let how = Reducing { reduction, use_init_val: true, mode };
    let done = calls::fold(kind, &mut folded.view_mut(), &indices, &updates, mode, rule);
    let built_in = calls::reduce(kind, &mut reduced.view_mut(), &indices, &updates, &how);
    assert_eq!(done, built_in);
    assert!(same_contents(&settled(reduction, &folded), &settled(reduction, &reduced)));
}

/// `<gather(x), y> = <x, scatter_sum(0, y)>`, wrapping.
fn adjoint<I: Index>(case: Case) {
    let case = case.of_a_scatter();
    let dot = |a: &ArrayD<i64>, b: &ArrayD<i64>| {
        a.iter().zip(b).fold(0_i64, |sum, (a, b)| sum.wrapping_add(a.wrapping_mul(*b)))
    };
    let gather_mode = match case.scatter_mode() {
        OutOfBounds::Skip => OutOfBounds::Fill(0),
        OutOfBounds::Clip => OutOfBounds::Clip,
        OutOfBounds::Wrap => OutOfBounds::Wrap,
        _ => OutOfBounds::Error,
    };
    let how = Reducing { reduction: Reduction::Sum, use_init_val: true, mode: case.scatter_mode() };
    let (x, indices) = (case.data::<i64>(), case.indices::<I>());
    let (kind, indices) = (case.kind, indices.view());
    let gathered = calls::read(kind, &x.view(), &indices, gather_mode);
    let mut scattered = ArrayD::<i64>::zeros(&case.data[..]);
    let Ok(gathered) = gathered else {
        let one = ndarray::arr0(1).into_dyn();
        let done = calls::reduce(kind, &mut scattered.view_mut(), &indices, &one.view(), &how);
        assert!(done.is_err(), "{gathered:?}");
        return;
    };
    let y = array_of::<i64>(gathered.shape(), case.seed ^ 2);
    calls::reduce(kind, &mut scattered.view_mut(), &indices, &y.view(), &how).unwrap();
    assert_eq!(dot(&gathered, &y), dot(&x.contents(), &scattered));
}

macro_rules! properties {
    ($($name:ident: $check:expr;)*) => {
        proptest! {
            #![proptest_config(crate::config())]
            $(
                #[test]
                fn $name(case in case()) {
                    $check(case);
                }
            )*
        }
    };
}
properties! {
    gathers_f32_by_i64: |case| gathers::<f32, i64>(&case);
    gathers_u8_by_u8: |case| gathers::<u8, u8>(&case);
    gathers_strings_by_i32: |case| gathers::<String, i32>(&case);
    overwrites_strings_by_i16: overwrites::<String, i16>;
    overwrites_odd_elements_by_u64: overwrites::<[u8; 3], u64>;
    reduces_f32_by_i64: reduces::<f32, i64>;
    reduces_i64_by_i8: reduces::<i64, i8>;
    reduces_u8_by_usize: reduces::<u8, usize>;
    reduces_bool_by_u16: reduces::<bool, u16>;
    folds_bytes_into_i64: |case| folds::<i64, u8, i64>(case, |state, update| {
        *state = state.wrapping_mul(31).wrapping_add(i64::from(*update) + 1);
    });
    folds_strings: |case| folds::<String, u8, u32>(case, |text, update| {
        text.push(char::from(b'a' + update % 26));
    });
    folds_as_sums: |case| folds_as_reduction::<f32, i64>(case, Reduction::Sum, |sum, x| *sum += x);
    folds_as_products: |case| {
        folds_as_reduction::<i64, i64>(case, Reduction::Prod, |a, x| *a = a.wrapping_mul(*x));
    };
    folds_as_maxima: |case| {
        folds_as_reduction::<u8, i64>(case, Reduction::Max, |max, x| *max = (*max).max(*x));
    };
    adjoint_by_i64: adjoint::<i64>;
    adjoint_by_u8: adjoint::<u8>;
}
#[cfg(feature = "half")]
properties! {
    reduces_f16_by_isize: reduces::<half::f16, isize>;
}
