//! Single elements along an axis of transposed arrays, the lanes of which lie a power of two apart
//! and are packed in panels: against the formula.

use ndarray::{
    Array2, ArrayD, ArrayView3, ArrayViewMut3, Axis, Ix3, ShapeBuilder as _, Slice, StrideShape,
};
#[cfg(feature = "num-complex")]
use num_complex::Complex;
use opkernels::{Error, OutOfBounds, Reduction, Scatter, ScatterExt};

use crate::common::oracle::{self, Kind, Reducing};
use crate::common::{
    Index, Numbers, Reduce, Value, array_of, assert_same, calls, here_and_on_pools, plan_of,
    settled,
};

const KIND: Kind = Kind::Elements { axis: 2 };

/// Batches, lanes of each, their length, and the number of indices for each lane. One panel, one
/// of few lanes, several, the last of them narrower, also of a single lane.
const SIZES: [[usize; 4]; 6] = [
    [1, 64, 32, 40],
    [3, 5, 65, 400],
    [2, 300, 33, 33],
    [1, 129, 70, 64],
    [1, 4, 9, 30],
    [2, 9, 12, 12],
];

/// The same for batches that lie beside each other: few in each place, so that panels have several
/// places.
const BESIDE: [[usize; 4]; 5] =
    [[3, 40, 33, 40], [5, 60, 70, 64], [2, 100, 65, 50], [11, 13, 9, 30], [2, 3, 60, 60]];

/// An array in whose memory lanes are the last axis, 1024 elements apart. Batches follow each other, or
/// are `beside` each other: adjacent elements.
struct Lanes<A> {
    memory: ArrayD<A>,
    sizes: [usize; 4],
    beside: bool,
}

impl<A: Value> Lanes<A> {
    fn new(sizes: [usize; 4], beside: bool) -> Self {
        let [batches, lanes, len, _] = sizes;
        assert!(if beside { batches * lanes } else { lanes } <= 1024, "lanes of a row of memory");
        let rows = if beside { len } else { batches * len };
        Lanes { memory: array_of(&[rows, 1024], 1), sizes, beside }
    }

    fn shape(&self) -> StrideShape<Ix3> {
        let [batches, lanes, len, _] = self.sizes;
        let strides = if self.beside { (1, batches, 1024) } else { (1024 * len, 1, 1024) };
        (batches, lanes, len).strides(strides)
    }

    fn view(&self) -> ArrayView3<'_, A> {
        ArrayView3::from_shape(self.shape(), self.memory.as_slice().unwrap()).unwrap()
    }

    fn view_mut(&mut self) -> ArrayViewMut3<'_, A> {
        let shape = self.shape();
        ArrayViewMut3::from_shape(shape, self.memory.as_slice_mut().unwrap()).unwrap()
    }

    fn with(&self, memory: ArrayD<A>) -> Self {
        Lanes { memory, ..*self }
    }

    /// The columns of the memory with the lanes, and as many that must stay as they are as the widest
    /// panel has.
    fn and_beside(&self) -> ArrayD<A> {
        let [batches, lanes, ..] = self.sizes;
        let columns = if self.beside { batches * lanes } else { lanes };
        let columns = (columns + 512 / size_of::<A>()).min(1024);
        self.memory.slice_axis(Axis(1), Slice::from(..columns)).to_owned()
    }
}

/// Runs a test for all sizes and both layouts.
fn on_all(run: impl Fn([usize; 4], bool)) {
    SIZES.into_iter().for_each(|sizes| run(sizes, false));
    BESIDE.into_iter().for_each(|sizes| run(sizes, true));
}

/// Indices of any sign; of `wild` ones some are out of bounds.
fn indices_of<I: Index>([batches, lanes, len, count]: [usize; 4], wild: bool) -> ArrayD<I> {
    let mut numbers = Numbers(11);
    let wide = ArrayD::from_shape_simple_fn(&[batches, lanes, count][..], || {
        let index = numbers.below(2 * len) as i128 - len as i128;
        if wild && numbers.once_in(13) { index * 3 } else { index }
    });
    I::from_wide(&wide)
}

fn gathered<A: Value, I: Index>(sizes: [usize; 4], beside: bool) {
    let data = Lanes::<A>::new(sizes, beside);
    let all = data.view().to_owned().into_dyn();
    let fill = OutOfBounds::Fill(A::from_number(5));
    for mode in [OutOfBounds::Error, OutOfBounds::Clip, OutOfBounds::Wrap, fill] {
        let indices: ArrayD<I> = indices_of(sizes, !matches!(mode, OutOfBounds::Error));
        let expected = oracle::read(KIND, &all, &I::to_wide(&indices), &mode).unwrap();
        here_and_on_pools(|| {
            let output = calls::read(KIND, &data.view().into_dyn(), &indices, mode.clone());
            assert_same(&output.unwrap(), &expected);
        });
    }
}

#[test]
fn gathers() {
    on_all(gathered::<u8, i64>);
    on_all(gathered::<i16, i32>);
    on_all(gathered::<f32, i64>);
    on_all(gathered::<u64, i64>);
    #[cfg(feature = "num-complex")]
    on_all(gathered::<Complex<f64>, i32>);
    on_all(gathered::<String, i64>);
}

fn scattered<A: Reduce, I: Index>(reductions: &[Reduction], sizes: [usize; 4], beside: bool) {
    let [batches, lanes, _, count] = sizes;
    let data = Lanes::<A>::new(sizes, beside);
    let updates: ArrayD<A> = array_of(&[batches, lanes, count], 3);
    for &reduction in reductions {
        for (mode, use_init_val) in [(OutOfBounds::Error, true), (OutOfBounds::Skip, false)] {
            let indices: ArrayD<I> = indices_of(sizes, matches!(mode, OutOfBounds::Skip));
            let how = Reducing { reduction, use_init_val, mode };
            let all = data.view().to_owned().into_dyn();
            let wide = I::to_wide(&indices);
            let Ok(expected) = oracle::reduce_of(KIND, &all, &wide, &updates, &how) else {
                continue;
            };
            let mut changed = data.with(data.memory.clone());
            changed.view_mut().assign(&expected);
            let wanted = settled(reduction, &changed.and_beside());
            here_and_on_pools(|| {
                let mut target = data.with(data.memory.clone());
                let view = &mut target.view_mut().into_dyn();
                calls::reduce(KIND, view, &indices, &updates.view(), &how).unwrap();
                assert_same(&settled(reduction, &target.and_beside()), &wanted);
            });
        }
    }
}

#[test]
fn scatters() {
    use Reduction::{Max, Mean, None, Sum};
    on_all(|sizes, beside| scattered::<u8, i64>(&[None, Max], sizes, beside));
    on_all(|sizes, beside| scattered::<i16, i32>(&[Mean], sizes, beside));
    on_all(|sizes, beside| scattered::<f32, i64>(&[None, Sum, Max, Mean], sizes, beside));
    on_all(|sizes, beside| scattered::<f64, i32>(&[Sum], sizes, beside));
    on_all(|sizes, beside| scattered::<i64, i64>(&[Max], sizes, beside));
    #[cfg(feature = "num-complex")]
    on_all(|sizes, beside| scattered::<Complex<f64>, i64>(&[Sum], sizes, beside));
}

#[test]
fn indices_that_a_plan_holds() {
    let sizes = [2, 300, 33, 33];
    let data = Lanes::<f32>::new(sizes, false);
    let indices: ArrayD<i64> = indices_of(sizes, false);
    let plan = plan_of(KIND, data.view().shape(), &indices.view(), OutOfBounds::Error);
    let plan = plan.unwrap().unwrap();
    let expected = calls::read_plainly(KIND, &data.view().to_owned().into_dyn().view(), &indices);
    let output = calls::read_plainly(KIND, &data.view().into_dyn(), &plan);
    assert_same(&output.unwrap(), &expected.unwrap());
}

/// An index out of bounds anywhere leaves target and output untouched, and is named.
#[test]
fn an_index_out_of_bounds() {
    for (sizes, beside) in
        [([2, 300, 33, 33], false), ([1, 9, 12, 12], false), ([2, 100, 65, 50], true)]
    {
        let [batches, lanes, len, count] = sizes;
        let updates: ArrayD<f32> = array_of(&[batches, lanes, count], 3);
        let total = updates.len();
        for at in [0, 1, total / 3, total / 2, total - 1] {
            let mut indices: ArrayD<i64> = indices_of(sizes, false);
            *indices.iter_mut().nth(at).unwrap() = len as i64;
            let mut data = Lanes::<f32>::new(sizes, beside);
            let before = data.memory.clone();
            let is_named = |error| match error {
                Err(Error::IndexOutOfBounds { index, position, .. }) => {
                    let strides = [lanes * count, count, 1];
                    let number: usize = position.iter().zip(strides).map(|(p, s)| p * s).sum();
                    index == len as i128 && number == at
                }
                _ => false,
            };
            let view = &mut data.view_mut().into_dyn();
            for reduction in [Reduction::None, Reduction::Sum] {
                let how = Reducing { reduction, use_init_val: true, mode: OutOfBounds::Error };
                let refused = calls::reduce(KIND, view, &indices, &updates.view(), &how);
                assert!(is_named(refused));
            }
            assert_same(&data.memory, &before);
            let mut output = updates.clone();
            let view = &mut output.view_mut();
            let refused =
                calls::read_into(KIND, &data.view().into_dyn(), &indices, OutOfBounds::Error, view);
            assert!(is_named(refused));
            assert_same(&output, &updates);
        }
    }
}

/// Windows of one list: two loops over entries have the same length and the same steps, since the views'
/// elements overlap.
#[test]
fn windows_of_one_list() {
    let sizes = if cfg!(small_thresholds) { [8, 40, 8] } else { [1024, 200, 50] };
    let [batches, len, count] = sizes;
    let row = 2 * count;
    let lists: Vec<u8> = (0..batches * row).map(|k| ((k * 7 + 3) % len) as u8).collect();
    let updates: Vec<i32> = (0..).take(batches * row).collect();
    let windows = || (batches, count, count).strides((row, 1, 1));
    let lists = ArrayView3::from_shape(windows(), &lists).unwrap();
    let updates = ArrayView3::from_shape(windows(), &updates).unwrap();
    let mut expected = Array2::<i32>::zeros((batches, len).f());
    let mut written = expected.clone();
    for ((at, &index), &update) in lists.indexed_iter().zip(&updates) {
        expected[[at.0, usize::from(index)]] += update;
        written[[at.0, usize::from(index)]] = update;
    }
    for mode in [OutOfBounds::Error, OutOfBounds::Skip] {
        let attributes = Scatter::along(1).batch_dims(1).out_of_bounds(mode);
        for (reduction, expected) in [(Reduction::Sum, &expected), (Reduction::None, &written)] {
            let mut target = Array2::<i32>::zeros((batches, len).f());
            target.scatter_inplace(&lists, &updates, attributes.reduction(reduction)).unwrap();
            assert_eq!(target, expected, "{mode:?} {reduction}");
        }
    }
}
