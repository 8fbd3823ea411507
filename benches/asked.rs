//! Times work that is described on standard input, one line for each, for
//! `peers/python/drawn.py`, which times PyTorch on the same:
//!
//! ```text
//! operation    element layout shape  axis indices reduction order
//! gather       f32     c      427,50 1    7       -         random
//! scatter_nd   bf16    t      93,50  2    6370    sum       sorted
//! roll         u8      s      30,20  1,0  3,-4    -         -
//! ```
//!
//! - `layout`: `c` is standard, `t` has its axes in reverse order in memory, `s` is every second
//!   element along the last axis. A second and a third letter, `c` or `t`, are for indices and
//!   updates that are no lists.
//! - `axis`: of tuples their length, of a roll its axes.
//! - `reduction`: with `_only` behind it, the values that targets hold take no part.
//! - `indices`: their shape (of tuples their number), of a roll its shifts.
//!
//! The answer is a line, too: nanoseconds on one thread and on two, and a checksum of the result.
//! Gathers are written into an array that exists, scatters in place; rolls and tuples gathered
//! are returned.

use std::hint::black_box;
use std::io::{BufRead as _, Write as _};
use std::time::Instant;

use half::{bf16, f16};
use ndarray::{ArrayD, ArrayViewD, ArrayViewMutD, Axis, IxDyn, Slice};
use opkernels::{
    GatherElementsExt, GatherExt, GatherNdExt, ReduceElement, Reduction, RollExt, Scatter,
    ScatterElements, ScatterElementsExt, ScatterExt, ScatterNd, ScatterNdExt,
};
use opkernels_workloads::harness::{THREADS, pool};
use opkernels_workloads::random;

/// Seconds for each number of threads, at least.
const TIME: f64 = 0.04;

fn main() {
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a line of text");
        let work = Work::parse(&line).unwrap_or_else(|| panic!("not a description: {line}"));
        let (times, checksum) = match work.element.as_str() {
            "f32" => work.measure::<f32>(),
            "f64" => work.measure::<f64>(),
            "f16" => work.measure::<f16>(),
            "bf16" => work.measure::<bf16>(),
            "i64" => work.measure::<i64>(),
            "i32" => work.measure::<i32>(),
            "u8" => work.measure::<u8>(),
            other => panic!("no element type {other}"),
        };
        println!("{:.0} {:.0} {checksum}", times[0], times[1]);
        std::io::stdout().flush().expect("a reader");
    }
}

struct Work {
    operation: String,
    element: String,
    layout: String,
    shape: Vec<usize>,
    axis: Vec<i64>,
    indices: Vec<i64>,
    reduction: Reduction,
    init: bool,
    sorted: bool,
}

/// An element, to and from the small integers that arrays are made of.
trait Number: ReduceElement + Copy + Send + Sync + num_traits::NumCast + 'static {}
impl<T: ReduceElement + Copy + Send + Sync + num_traits::NumCast + 'static> Number for T {}

/// Pseudorandom numbers below `end`, the same as `drawn.py` makes.
fn numbers(seed: u64, count: usize, end: usize) -> impl Iterator<Item = u64> {
    random(seed).take(count).map(move |number| (number >> 33) % end as u64)
}

fn elements<T: Number>(shape: &[usize]) -> ArrayD<T> {
    let all = numbers(0, shape.iter().product(), 100);
    let all = all.map(|number| T::from(number).expect("small")).collect();
    ArrayD::from_shape_vec(IxDyn(shape), all).expect("as many as the shape has")
}

/// The sum of all elements, each times its position modulo 97 and one.
fn checksum<T: Number>(array: &ArrayViewD<'_, T>) -> i64 {
    let terms = array.iter().enumerate().map(|(k, element)| {
        let number: i64 = num_traits::NumCast::from(*element).unwrap_or(0);
        number.wrapping_mul((k % 97) as i64 + 1)
    });
    terms.fold(0, i64::wrapping_add)
}

impl Work {
    fn parse(line: &str) -> Option<Self> {
        fn list<N: std::str::FromStr>(text: &str) -> Option<Vec<N>> {
            text.split(',').map(|number| number.parse().ok()).collect()
        }
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [operation, element, layout, shape, axis, indices, reduction, order] = fields[..]
        else {
            return None;
        };
        let (reduction, init) = match reduction.strip_suffix("_only") {
            Some(reduction) => (reduction, false),
            None => (reduction, true),
        };
        let reduction = match reduction {
            "-" | "none" => Reduction::None,
            "sum" => Reduction::Sum,
            "prod" => Reduction::Prod,
            "min" => Reduction::Min,
            "max" => Reduction::Max,
            "mean" => Reduction::Mean,
            _ => return None,
        };
        let [operation, element, layout] = [operation, element, layout].map(str::to_owned);
        let (shape, axis, indices) = (list(shape)?, list(axis)?, list(indices)?);
        let sorted = order == "sorted";
        Some(Work { operation, element, layout, shape, axis, indices, reduction, init, sorted })
    }

    fn index_shape(&self) -> Vec<usize> {
        self.indices.iter().map(|&len| usize::try_from(len).expect("a length")).collect()
    }

    /// Indices of this shape along an axis of `len` positions.
    fn indices(&self, seed: u64, shape: &[usize], len: usize) -> ArrayD<i64> {
        let all = numbers(seed, shape.iter().product(), len);
        let mut all: Vec<_> = all.map(|index| index as i64).collect();
        if self.sorted {
            all.sort_unstable();
        }
        let indices = ArrayD::from_shape_vec(IxDyn(shape), all);
        self.laid(1, indices.expect("as many as the shape has"))
    }

    /// Tuples of `len` indices.
    fn tuples(&self, len: usize) -> ArrayD<i64> {
        let count = self.index_shape()[0];
        let mut tuples = ArrayD::zeros(IxDyn(&[count, len]));
        for (number, mut column) in tuples.columns_mut().into_iter().enumerate() {
            let indices = self.indices(1 + number as u64, &[count], self.shape[number]);
            column.assign(&indices.into_dimensionality::<ndarray::Ix1>().expect("one axis"));
        }
        tuples
    }

    /// The layout of the data, the indices or the updates.
    fn layout(&self, number: usize) -> char {
        self.layout.chars().nth(number).unwrap_or('c')
    }

    /// The array in the layout with this number.
    fn laid<T: Clone>(&self, number: usize, array: ArrayD<T>) -> ArrayD<T> {
        match self.layout(number) {
            't' => array.t().as_standard_layout().into_owned().reversed_axes(),
            _ => array,
        }
    }

    /// The shape of the array whose view the data is.
    fn memory_shape(&self) -> Vec<usize> {
        let mut shape = self.shape.clone();
        match self.layout(0) {
            't' => shape.reverse(),
            's' => *shape.last_mut().expect("an axis") *= 2,
            _ => {}
        }
        shape
    }

    fn view<'a, T>(&self, array: &'a ArrayD<T>) -> ArrayViewD<'a, T> {
        match self.layout(0) {
            't' => array.t(),
            's' => array.slice_axis(Axis(array.ndim() - 1), Slice::new(0, None, 2)),
            _ => array.view(),
        }
    }

    fn view_mut<'a, T>(&self, array: &'a mut ArrayD<T>) -> ArrayViewMutD<'a, T> {
        match self.layout(0) {
            't' => array.view_mut().reversed_axes(),
            's' => {
                let last = Axis(array.ndim() - 1);
                array.slice_axis_mut(last, Slice::new(0, None, 2))
            }
            _ => array.view_mut(),
        }
    }

    /// Nanoseconds on one thread and on two, and the checksum of the result of one call.
    fn measure<T: Number>(&self) -> ([f64; 2], i64) {
        let mut memory = elements::<T>(&self.memory_shape());
        match self.operation.as_str() {
            "gather_nd" | "roll" => self.measure_returned(&self.view(&memory)),
            "gather" | "gather_elements" => self.measure_into(&self.view(&memory)),
            _ => self.measure_inplace(self.view_mut(&mut memory)),
        }
    }

    fn measure_returned<T: Number>(&self, data: &ArrayViewD<'_, T>) -> ([f64; 2], i64) {
        let call: Box<dyn Fn() -> ArrayD<T> + Sync> = if self.operation == "roll" {
            Box::new(|| data.roll(&self.indices, &self.axis).expect("memory"))
        } else {
            let tuples = self.tuples(self.axis[0] as usize);
            Box::new(move || data.gather_nd(&tuples).expect("in bounds"))
        };
        let sum = checksum(&call().view());
        (times(|| drop(black_box(call()))), sum)
    }

    fn measure_into<T: Number>(&self, data: &ArrayViewD<'_, T>) -> ([f64; 2], i64) {
        let axis = Axis(self.axis[0] as usize);
        let indices = self.indices(1, &self.index_shape(), self.shape[axis.0]);
        if self.operation == "gather" {
            let mut output = data.gather(&indices, axis).expect("in bounds");
            let sum = checksum(&output.view());
            let call = || data.gather_into(&indices, axis, &mut output).expect("in bounds");
            (times(call), sum)
        } else {
            let mut output = data.gather_elements(&indices, axis).expect("in bounds");
            let sum = checksum(&output.view());
            let call = || {
                data.gather_elements_into(&indices, axis, &mut output).expect("in bounds");
            };
            (times(call), sum)
        }
    }

    fn measure_inplace<T: Number>(&self, mut target: ArrayViewMutD<'_, T>) -> ([f64; 2], i64) {
        type Call<T> = Box<dyn Fn(&mut ArrayViewMutD<'_, T>) + Sync>;
        let (axis, reduction) = (self.axis[0] as usize, self.reduction);
        let one = T::from(1).expect("small");
        let ones = |shape: &[usize]| self.laid(2, ArrayD::from_elem(IxDyn(shape), one));
        let call: Call<T> = match self.operation.as_str() {
            "scatter" => {
                let indices = self.indices(1, &self.index_shape(), self.shape[axis]);
                let mut shape = self.shape.clone();
                shape[axis] = indices.len();
                let updates = ones(&shape);
                let scatter =
                    Scatter::along(Axis(axis)).reduction(reduction).use_init_val(self.init);
                Box::new(move |target| {
                    target.scatter_inplace(&indices, &updates, scatter).expect("in bounds");
                })
            }
            "scatter_elements" => {
                let indices = self.indices(1, &self.index_shape(), self.shape[axis]);
                let updates = ones(&self.index_shape());
                let scatter =
                    ScatterElements::along(Axis(axis)).reduction(reduction).use_init_val(self.init);
                Box::new(move |target| {
                    let done = target.scatter_elements_inplace(&indices, &updates, scatter);
                    done.expect("in bounds");
                })
            }
            "scatter_nd" => {
                let tuples = self.tuples(axis);
                let updates = ones(&[&self.index_shape(), &self.shape[axis..]].concat());
                let scatter = ScatterNd::new().reduction(reduction).use_init_val(self.init);
                Box::new(move |target| {
                    target.scatter_nd_inplace(&tuples, &updates, scatter).expect("in bounds");
                })
            }
            other => panic!("no operation {other}"),
        };
        // The first call makes the result that is compared, the others only take their time.
        call(&mut target);
        let sum = checksum(&target.view());
        (times(|| call(&mut target)), sum)
    }
}

/// The least nanoseconds of a call on one thread and on two.
fn times(mut call: impl FnMut() + Send) -> [f64; 2] {
    THREADS.map(|threads| pool(threads).install(|| least(&mut call)))
}

/// The least nanoseconds of a call; short ones are timed many at once.
fn least(mut call: impl FnMut()) -> f64 {
    const SHORTEST: f64 = 2e-5;
    call();
    let (start, mut least, mut batch, mut runs) = (Instant::now(), f64::MAX, 1, 0);
    while start.elapsed().as_secs_f64() < TIME || runs < 3 {
        let before = Instant::now();
        for _ in 0..batch {
            call();
        }
        let seconds = before.elapsed().as_secs_f64();
        if seconds < SHORTEST {
            batch *= 2;
        } else {
            least = least.min(seconds / f64::from(batch));
            runs += 1;
        }
    }
    least * 1e9
}
