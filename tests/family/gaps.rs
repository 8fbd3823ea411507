//! Entries that select nothing, at either end of a list, in its middle, few or many, of arrays in all layouts:
//! against the formula.

use ndarray::{Array1, ArrayD};
use opkernels::{OutOfBounds, Reduction};

use crate::common::oracle::{self, Kind, Reducing};
use crate::common::{Laid, Layout, Numbers, Reduce, Value, array_of, assert_same, calls, settled};

/// The axis along which indices select, the shape of the array, and the number of indices.
const CASES: [(usize, &[usize], usize); 5] = [
    (1, &[40, 37], 45),
    (0, &[37, 30], 45),
    (1, &[200, 6], 4),
    (1, &[5, 30, 20], 40),
    (0, &[21, 2, 40], 45),
];

/// So many indices below `len`, in each of the ways in which some may select nothing.
fn lists(count: usize, len: usize) -> Vec<Array1<i64>> {
    let ways: [&dyn Fn(usize) -> bool; 8] = [
        &|k| k + 1 == count,
        &|k| k + 3 >= count,
        &|k| k == 0,
        &|k| k < 2 || k + 2 >= count,
        &|k| k == count / 2,
        &|k| k % 19 == 7,
        &|k| k % 2 == 1,
        &|k| k + 1 != count,
    ];
    let list = |is_gap: &&dyn Fn(usize) -> bool| {
        let mut numbers = Numbers(count as u64);
        Array1::from_shape_fn(count, |k| {
            let position = numbers.below(len) as i64;
            if is_gap(k) { i64::MAX } else { position }
        })
    };
    ways.iter().map(list).collect()
}

fn layouts(rank: usize) -> [Layout; 3] {
    [Layout::standard(rank), Layout::transposed(rank), Layout::mixed(rank)]
}

fn each_case(check: impl Fn(Kind, &[usize], &ArrayD<i64>)) {
    for (axis, shape, count) in CASES {
        for indices in lists(count, shape[axis]) {
            let kind = Kind::Slices { axis: axis as i128, batch_dims: 0 };
            check(kind, shape, &indices.into_dyn());
        }
    }
}

fn filled<A: Value>() {
    each_case(|kind, shape, indices| {
        let contents: ArrayD<A> = array_of(shape, 1);
        let mode = || OutOfBounds::Fill(A::from_number(5));
        let expected = oracle::read(kind, &contents, &indices.mapv(i128::from), &mode()).unwrap();
        for layout in layouts(shape.len()) {
            let data = Laid::new(&contents, layout);
            assert_same(&calls::read(kind, &data.view(), indices, mode()).unwrap(), &expected);
            for layout in layouts(expected.ndim()) {
                let before = Laid::new(&array_of::<A>(expected.shape(), 4), layout);
                let mut out = before.clone();
                let view = &mut out.view_mut();
                calls::read_into(kind, &data.view(), indices, mode(), view).unwrap();
                assert_same(&out.contents(), &expected);
                assert!(out.kept_its_margins(&before));
            }
        }
    });
}

fn skipped<A: Reduce>(reduction: Reduction) {
    each_case(|kind, shape, indices| {
        let contents: ArrayD<A> = array_of(shape, 1);
        let wide = indices.mapv(i128::from);
        let updates_shape = oracle::updates_shape(kind, shape, wide.shape()).unwrap();
        let updates: ArrayD<A> = array_of(&updates_shape, 2);
        for use_init_val in [true, false] {
            let how = Reducing { reduction, use_init_val, mode: OutOfBounds::Skip };
            let expected = oracle::reduce_of(kind, &contents, &wide, &updates, &how).unwrap();
            let expected = settled(reduction, &expected);
            for layout in layouts(shape.len()) {
                let before = Laid::new(&contents, layout);
                for layout in layouts(shape.len()) {
                    let updates = Laid::new(&updates, layout);
                    let mut target = before.clone();
                    let view = &mut target.view_mut();
                    calls::reduce(kind, view, indices, &updates.view(), &how).unwrap();
                    assert_same(&settled(reduction, &target.contents()), &expected);
                    assert!(target.kept_its_margins(&before));
                }
            }
        }
    });
}

#[test]
#[cfg_attr(miri, ignore = "takes long")]
fn fills() {
    filled::<u8>();
    filled::<u64>();
}

#[test]
#[cfg_attr(miri, ignore = "takes long")]
fn skips() {
    skipped::<i32>(Reduction::Sum);
    skipped::<u8>(Reduction::Max);
    skipped::<f64>(Reduction::Mean);
}
