//! All or nothing: a call that writes into an array either gives what the
//! reference gives, or an error and not a bit has changed. At small sizes, and
//! where work begins to be split over threads, with an index out of bounds
//! anywhere or nowhere.

mod family;
mod gather;
mod roll;
mod scatter_elements;

use ndarray::{Array1, Array3, ArrayD, Axis, s};
use opkernels::{GatherExt, Reduction, Result, Scatter, ScatterExt};
use proptest::prelude::*;
use proptest::test_runner::Config;

use crate::common::oracle::Refused;
use crate::common::{Index, Laid, Layout, Numbers, Value, array_of, same_contents};

/// A share of the cases that `PROPTEST_CASES` asks for, 256 by default.
fn one_case_in(n: u32) -> Config {
    let all = Config::default();
    Config { cases: (all.cases / n).max(1), failure_persistence: None, ..all }
}

/// How large the arrays are.
#[derive(Debug, Clone, Copy)]
enum Size {
    /// A few elements an axis.
    Small,
    /// So many bytes and elements more, or less.
    Around { bytes: usize, elements: isize },
}

fn small() -> impl Strategy<Value = Size> {
    Just(Size::Small)
}

/// Around the sizes from which on gathers and rolls (2 MiB), checks of indices
/// (1 and 2 MiB) and scatters (512 KiB) are split.
fn around_the_grain() -> impl Strategy<Value = Size> {
    let bytes = prop_oneof![Just(1 << 19), Just(1 << 20), Just(1 << 21), Just(5 << 20)];
    (bytes, -2..=2_isize).prop_map(|(bytes, elements)| Size::Around { bytes, elements })
}

impl Size {
    /// Lengths of `rows` and of their elements, so that about this many
    /// elements of `size` bytes come together.
    fn rows(self, size: usize, numbers: &mut Numbers) -> [usize; 2] {
        match self {
            Size::Small => [numbers.below(6) + 1, numbers.below(6) + 1],
            Size::Around { bytes, elements } => {
                let rows = [1, 2, 3, 8][numbers.below(4)];
                let length = (bytes / size / rows).saturating_add_signed(elements).max(1);
                if numbers.once_in(2) { [rows, length] } else { [length, rows] }
            }
        }
    }
}

/// What the cases of all operations share.
#[derive(Debug, Clone)]
struct Case {
    size: Size,
    bad: Bad,
    layouts: [u64; 3],
    seed: u64,
}

/// Where indices are out of bounds.
#[derive(Debug, Clone, Copy)]
enum Bad {
    Nowhere,
    Last,
    First,
    /// At this fraction of the way.
    At(f64),
    /// There and at the end.
    Twice(f64),
}

fn case(size: impl Strategy<Value = Size>) -> impl Strategy<Value = Case> {
    let bad = prop_oneof![
        3 => Just(Bad::Nowhere),
        3 => Just(Bad::Last),
        1 => Just(Bad::First),
        3 => (0.0..1.0).prop_map(Bad::At),
        1 => (0.0..1.0).prop_map(Bad::Twice),
    ];
    (size, bad, any::<[u64; 3]>(), any::<u64>()).prop_map(|(size, bad, layouts, seed)| Case {
        size,
        bad,
        layouts,
        seed,
    })
}

impl Case {
    /// Indices of an axis of this length.
    fn indices<I: Index>(&self, shape: &[usize], len: usize, seed: u64) -> ArrayD<I> {
        let mut numbers = Numbers(seed);
        let n = len as i128;
        let inside = |value: &i128| (-n..n).contains(value);
        let mut indices = ArrayD::from_shape_simple_fn(shape, || {
            let value = numbers.below(2 * len) as i128 - n;
            I::try_from(value).unwrap_or_else(|_| I::try_from(value + n).ok().unwrap())
        });
        let ends = [n, -n - 1, wide(I::min_value()), wide(I::max_value())];
        let fits = |value: &i128| I::try_from(*value).is_ok();
        let outside: Vec<i128> =
            ends.into_iter().filter(|value| !inside(value) && fits(value)).collect();
        let count = indices.len();
        let at = |fraction: f64| ((count as f64 * fraction) as usize).min(count - 1);
        let places = match self.bad {
            Bad::Nowhere => vec![],
            Bad::Last => vec![count - 1],
            Bad::First => vec![0],
            Bad::At(fraction) => vec![at(fraction)],
            Bad::Twice(fraction) => vec![at(fraction), count - 1],
        };
        for place in places {
            let value = outside[numbers.below(outside.len())];
            *indices.iter_mut().nth(place).unwrap() = I::try_from(value).ok().unwrap();
        }
        indices
    }

    /// Contents in the layout of this number.
    fn laid<A: Value>(&self, contents: &ArrayD<A>, number: usize) -> Laid<A> {
        // Large buffers have no gaps.
        let layout = match self.size {
            Size::Small => Layout::from_number(contents.ndim(), self.layouts[number]),
            Size::Around { .. } if self.layouts[number].is_multiple_of(3) => {
                Layout::transposed(contents.ndim())
            }
            Size::Around { .. } => Layout::standard(contents.ndim()),
        };
        Laid::new(contents, layout)
    }
}

fn wide<I: Index>(index: I) -> i128 {
    index.try_into().ok().unwrap()
}

/// A target holds all of the result, or what it held.
fn assert_all_or_nothing<A: Value>(
    done: Result<()>,
    target: &Laid<A>,
    before: &Laid<A>,
    expected: &std::result::Result<ArrayD<A>, Refused>,
) {
    assert!(target.kept_its_margins(before), "written beside the target");
    match (done, expected) {
        (Ok(()), Ok(expected)) => {
            assert!(same_contents(&target.view(), expected), "another result");
        }
        (Err(error), Err(refused)) => {
            assert!(refused.is(&error), "{error} instead of {refused:?}");
            assert!(same_contents(&target.view(), &before.view()), "written before {error}");
        }
        (done, expected) => panic!("{done:?}, expected {:?}", expected.as_ref().map(|_| ())),
    }
}

/// A target full of other values.
fn other<A: Value>(shape: &[usize]) -> ArrayD<A> {
    array_of(shape, 99)
}

/// Few rows whose elements lie apart in two loops: each index stands for a run of entries
/// without indices of their own.
#[test]
fn few_rows_that_lie_apart() {
    for (rows, [long, wide]) in (2..=5).flat_map(|rows| {
        [[2, 2], [3, 1], [15, 3], [16, 2], [16, 5], [40, 3]].map(|row| (rows, row))
    }) {
        let mut indices = Array1::<i64>::zeros(rows);
        indices[rows - 1] = rows as i64;
        let mut target = Array3::<f32>::zeros((rows, long + 1, wide + 1));
        let mut part = target.slice_mut(s![.., ..long, ..wide]);
        let updates = Array3::<f32>::ones((rows, long + 2, wide + 2));
        let updates = updates.slice(s![.., ..long, ..wide]);
        for reduction in [Reduction::None, Reduction::Sum, Reduction::Mean] {
            let along = Scatter::along(Axis(0)).reduction(reduction);
            part.scatter_inplace(&indices, &updates, along).unwrap_err();
            assert_eq!(part.sum(), 0.0, "{reduction:?} of {rows} rows, {long} by {wide}");
        }
        part.scatter_fold(&indices, &updates, Axis(0), |held, new| *held = *new).unwrap_err();
        assert_eq!(part.sum(), 0.0, "a fold of {rows} rows, {long} by {wide}");
        updates.gather_into(&indices, Axis(0), &mut part).unwrap_err();
        assert_eq!(part.sum(), 0.0, "{rows} gathered rows, {long} by {wide}");
    }
}
