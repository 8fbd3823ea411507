//! Results that are NaN: whether one is does not depend on layouts, threads or
//! columns, nor does any bit of all other results. Which NaN it is does: of two
//! that are added, compilers and processors choose.

use ndarray::{ArrayD, Axis};
use opkernels::{Reduction, ScatterElements, ScatterElementsExt};

use crate::common::oracle::{self, Scatter};
use crate::common::{
    Laid, Layout, Numbers, REDUCTIONS, Reduce, array_of, assert_same, here_and_on_pools, settled,
};

/// The first column in every other one. `axis` is the one that is reduced.
fn columns_alike<A: Clone>(mut array: ArrayD<A>, axis: usize) -> ArrayD<A> {
    let first = array.index_axis(Axis(1 - axis), 0).to_owned();
    array.axis_iter_mut(Axis(1 - axis)).for_each(|mut lane| lane.assign(&first));
    array
}

/// Infinities of both signs, NaNs of many payloads and finite numbers in every
/// lane, all lanes the same; `lanes` of them, with `updates` each.
fn same_in<A: Reduce>(lanes: usize, updates: usize, reductions: &[Reduction], layouts: &[Layout]) {
    const TARGETS: usize = 29;
    for axis in [0, 1] {
        let shape = |len: usize| if axis == 0 { [len, lanes] } else { [lanes, len] };
        let data: ArrayD<A> = columns_alike(array_of(&shape(TARGETS), 3), axis);
        let values: ArrayD<A> = columns_alike(array_of(&shape(updates), 4), axis);
        let mut numbers = Numbers(5);
        let indices =
            ArrayD::from_shape_simple_fn(&shape(updates)[..], || numbers.below(TARGETS) as i128);
        let indices = columns_alike(indices, axis);
        for &reduction in reductions.iter().filter(|&&reduction| A::defines(reduction)) {
            for use_init_val in [true, false] {
                let mode = opkernels::OutOfBounds::Error;
                let scatter = Scatter { axis: axis as i128, reduction, use_init_val, mode };
                let expected = oracle::reduce(&data, &indices, &values, &scatter).unwrap();
                let expected = settled(reduction, &expected);
                same_in_layouts((&data, &indices, &values), &scatter, &expected, layouts);
            }
        }
    }
}

fn same_in_layouts<A: Reduce>(
    (data, indices, updates): (&ArrayD<A>, &ArrayD<i128>, &ArrayD<A>),
    scatter: &Scatter,
    expected: &ArrayD<A>,
    layouts: &[Layout],
) {
    let attributes: ScatterElements = scatter.attributes();
    let indices = indices.mapv(|index| index as i32);
    let settled = |array: &ArrayD<A>| settled(scatter.reduction, array);
    for layout in layouts {
        let (data, updates) = (Laid::new(data, layout.clone()), Laid::new(updates, layout.clone()));
        let indices = Laid::new(&indices, layout.clone());
        let returned = || {
            let (indices, updates) = (indices.view(), updates.view());
            data.view().scatter_elements_with(&indices, &updates, attributes).unwrap()
        };
        let same = |output| assert_same(&settled(&output), expected);
        here_and_on_pools(returned).into_iter().for_each(same);
        let in_place = || {
            let mut target = data.clone();
            let (indices, updates) = (indices.view(), updates.view());
            target.view_mut().scatter_elements_inplace(&indices, &updates, attributes).unwrap();
            target.contents()
        };
        here_and_on_pools(in_place).into_iter().for_each(same);
    }
}

fn same_everywhere<A: Reduce>() {
    let lanes = if cfg!(miri) { 3 } else { 37 };
    same_in::<A>(lanes, 67, &REDUCTIONS, &Layout::all(2));
}

#[test]
fn floats() {
    same_everywhere::<f32>();
    same_everywhere::<f64>();
}

#[cfg(feature = "half")]
#[test]
fn halves() {
    same_everywhere::<half::f16>();
    same_everywhere::<half::bf16>();
}

#[cfg(feature = "num-complex")]
#[test]
fn complex_numbers() {
    same_everywhere::<num_complex::Complex<f32>>();
    same_everywhere::<num_complex::Complex<f64>>();
}

/// Lanes enough for several threads.
#[cfg(not(miri))]
#[test]
fn wide_arrays() {
    let layouts = [Layout::standard(2), Layout::transposed(2), Layout::stepped(2)];
    same_in::<f32>(1024, 140, &[Reduction::Sum, Reduction::Mean], &layouts);
}

/// Elements without updates keep their bits, those of signalling NaNs, too, which arithmetic would
/// make quiet.
#[cfg(feature = "half")]
fn kept_without_updates<A: Reduce>(from_bits: fn(u16) -> A, to_bits: fn(A) -> u16, infinity: u16) {
    const TOUCHED: usize = 3;
    let data = ArrayD::from_shape_fn(vec![24, 7], |at| {
        from_bits(infinity + 1 + at[0] as u16 + 32 * at[1] as u16)
    });
    let indices = ArrayD::from_elem(vec![50, 7], TOUCHED);
    let updates: ArrayD<A> = array_of(&[50, 7], 6);
    for &reduction in REDUCTIONS.iter().filter(|&&reduction| A::defines(reduction)) {
        for layout in Layout::all(2) {
            let (mut target, updates) =
                (Laid::new(&data, layout.clone()), Laid::new(&updates, layout.clone()));
            let attributes = ScatterElements::along(0).reduction(reduction);
            let (mut array, updates) = (target.view_mut(), updates.view());
            array.scatter_elements_inplace(&indices, &updates, attributes).unwrap();
            for ((at, held), new) in data.indexed_iter().zip(&target.contents()) {
                let kept = to_bits(*held) == to_bits(*new);
                assert!(kept || at[0] == TOUCHED, "{reduction:?} at {at:?}, {layout:?}");
            }
        }
    }
}

#[cfg(feature = "half")]
#[test]
fn halves_without_updates_keep_their_bits() {
    use half::{bf16, f16};

    kept_without_updates(f16::from_bits, f16::to_bits, 0x7c00);
    kept_without_updates(bf16::from_bits, bf16::to_bits, 0x7f80);
}

/// Some results are NaN, some are not, or nothing above says anything.
#[test]
fn there_are_both() {
    let data: ArrayD<f32> = array_of(&[29], 3);
    let updates: ArrayD<f32> = array_of(&[67], 4);
    let indices = ArrayD::from_shape_fn(vec![67], |k| k[0] % 29);
    let sum = ScatterElements::along(0).reduction(Reduction::Sum);
    let output = data.scatter_elements_with(&indices, &updates, sum).unwrap();
    let nans = output.iter().filter(|value| value.is_nan()).count();
    assert!((1..output.len()).contains(&nans), "{nans} of {} are NaN", output.len());
}
