//! Calls drawn at random, each timed beside its own variants, to find what falls off a cliff:
//! `cargo bench --bench variants --features asked -- [--seed N] [--seconds S] [--limit TIMES]`.
//!
//! A variant has other index types, signs, policies, element types, reductions or layouts, a plan, or one
//! value for all updates, and moves as many elements. Prints, as it is found, what takes more than
//! `--limit` (2.5) times as long as the call, or as long for each of as many bytes, with the seed that draws
//! it; in the end the mean and the worst of each variant.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use half::f16;
use ndarray::{ArrayD, Axis, IxDyn};
use num_traits::NumCast;
use opkernels::{
    AsIndices, Gather, GatherElements, GatherElementsExt, GatherExt, GatherNd, GatherNdExt,
    IndexPlan, OutOfBounds, ReduceElement, Reduction, Scatter, ScatterElements, ScatterElementsExt,
    ScatterExt, ScatterNd, ScatterNdExt,
};
use opkernels_workloads::harness::{THREADS, pool};
use opkernels_workloads::random;

/// For each variant.
const SECONDS: f64 = 0.012;

/// Shorter calls are not looked at: they have bounds of their own (`tiny`).
const SHORTEST: f64 = 8e-6;

/// The most elements of an array.
const MOST: usize = 3_000_000;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (mut seed, mut seconds, mut limit) = (1.0, 60.0, 2.5);
    while let Some(argument) = arguments.next() {
        let option = match argument.as_str() {
            "--seed" => &mut seed,
            "--seconds" => &mut seconds,
            "--limit" => &mut limit,
            other => panic!("unknown option {other}"),
        };
        let number = arguments.next().and_then(|text| text.parse().ok());
        *option = number.unwrap_or_else(|| panic!("a number after {argument}"));
    }
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let mut found = Found { limit, ..Found::default() };
    for seed in seed as u64.. {
        if Instant::now() >= end {
            break;
        }
        let work = Work::drawn(seed);
        found.work = format!("seed {seed}: {}", work.name());
        pool(work.threads).install(|| {
            work.gathers(&mut found);
            work.scatters(&mut found);
        });
    }
    found.summary();
}

/// How many times as long as the call its variants take.
#[derive(Default)]
struct Found {
    limit: f64,
    work: String,
    base: f64,
    variants: BTreeMap<String, Vec<f64>>,
}

impl Found {
    /// Times the call that the next variants are beside.
    fn base(&mut self, call: impl FnMut()) {
        self.base = least(call);
    }

    /// Times a variant that moves `bytes` times as many bytes as the call.
    fn variant(&mut self, name: &str, bytes: f64, call: impl FnMut()) {
        if self.base < SHORTEST {
            return;
        }
        let times = least(call) / self.base;
        if times > self.limit * bytes.max(1.0) {
            println!("{times:6.2}  {name:22} {:9.1} us  {}", self.base * 1e6, self.work);
        }
        self.variants.entry(name.to_owned()).or_default().push(times);
    }

    fn summary(&self) {
        println!("\n{:22} drawn   mean  worst", "variant");
        for (name, times) in &self.variants {
            let mean = times.iter().map(|time| time.ln()).sum::<f64>() / times.len() as f64;
            let worst = times.iter().copied().fold(0.0, f64::max);
            println!("{name:22} {:5} {:6.2} {worst:6.1}", times.len(), mean.exp());
        }
    }
}

/// The least seconds that a call takes.
fn least(mut call: impl FnMut()) -> f64 {
    call();
    let (start, mut least, mut runs) = (Instant::now(), f64::MAX, 0);
    while runs < 3 || start.elapsed().as_secs_f64() < SECONDS {
        let before = Instant::now();
        call();
        least = least.min(before.elapsed().as_secs_f64());
        runs += 1;
    }
    least
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Slices,
    Elements,
    Tuples,
}

/// A gather and a scatter by the same indices.
struct Work {
    kind: Kind,
    shape: Vec<usize>,
    axis: usize,
    transposed: bool,
    indices: ArrayD<i64>,
    threads: usize,
    reduction: Reduction,
}

/// Pseudorandom numbers.
struct Draw<N>(N);

impl<N: Iterator<Item = u64>> Draw<N> {
    fn below(&mut self, end: usize) -> usize {
        ((self.0.next().expect("endless") >> 11) % end as u64) as usize
    }

    fn fraction(&mut self) -> f64 {
        self.below(1 << 50) as f64 / (1_u64 << 50) as f64
    }

    /// A length up to `most`, all of whose magnitudes are as likely.
    fn length(&mut self, most: usize) -> usize {
        (most as f64).powf(self.fraction()).round() as usize
    }
}

/// The same array with its axes in reverse order in memory.
fn transposed<T: Clone>(array: &ArrayD<T>) -> ArrayD<T> {
    array.t().as_standard_layout().into_owned().reversed_axes()
}

impl Work {
    fn drawn(seed: u64) -> Work {
        let mut draw = Draw(random(seed));
        let elements = 20_000.0 * 150_f64.powf(draw.fraction());
        let rank = [1, 2, 2, 3, 3, 4][draw.below(6)];
        let weights: Vec<f64> = (0..rank).map(|_| draw.fraction().powi(2) + 0.02).collect();
        let all: f64 = weights.iter().sum();
        let len = |weight: &f64| elements.powf(weight / all).round().max(1.0) as usize;
        let shape: Vec<usize> = weights.iter().map(len).collect();
        let axis = draw.below(rank);
        let kind = [Kind::Slices, Kind::Elements, Kind::Tuples][draw.below(3)];
        let along = if kind == Kind::Tuples { axis + 1 } else { 1 };
        let targets: usize = match kind {
            Kind::Tuples => shape[..along].iter().product(),
            _ => shape[axis],
        };
        let others = shape.iter().product::<usize>() / targets;
        let count = draw.length((MOST / others).clamp(1, 4 * targets)).max(1);
        let index_shape = match kind {
            Kind::Slices => vec![count],
            Kind::Tuples => vec![count, along],
            Kind::Elements => with_len(&shape, axis, count),
        };
        let mut indices = ArrayD::zeros(index_shape);
        for (place, index) in indices.indexed_iter_mut() {
            let axis = if kind == Kind::Tuples { place[1] } else { axis };
            *index = draw.below(shape[axis]) as i64;
        }
        let (transposed, threads) = (draw.below(4) == 0, THREADS[draw.below(2)]);
        let reduction = [Reduction::Sum, Reduction::None][draw.below(2)];
        Work { kind, shape, axis, transposed, indices, threads, reduction }
    }

    fn name(&self) -> String {
        let Work { kind, shape, axis, threads, .. } = self;
        let layout = if self.transposed { "transposed" } else { "standard" };
        let indices = self.indices.shape();
        format!("{kind:?} {indices:?} of {layout} {shape:?}, axis {axis}, threads: {threads}")
    }

    /// The shape of what is gathered, or scattered.
    fn listed(&self) -> Vec<usize> {
        let count = self.indices.shape()[0];
        match self.kind {
            Kind::Slices => with_len(&self.shape, self.axis, count),
            Kind::Elements => self.indices.shape().to_vec(),
            Kind::Tuples => [&[count], &self.shape[self.axis + 1..]].concat(),
        }
    }

    fn array<T: Clone>(&self, value: T) -> ArrayD<T> {
        let array = ArrayD::from_elem(IxDyn(&self.shape), value);
        if self.transposed { transposed(&array) } else { array }
    }

    /// The same indices, every second of which counts from the end.
    fn negative(&self) -> ArrayD<i64> {
        let mut indices = self.indices.clone();
        for (place, index) in indices.indexed_iter_mut() {
            let axis = if self.kind == Kind::Tuples { place[1] } else { self.axis };
            *index -= (*index & 1) * self.shape[axis] as i64;
        }
        indices
    }

    /// The same indices as another integer type, if that has all.
    fn cast<I: NumCast + Clone>(&self) -> Option<ArrayD<I>> {
        let all: Option<Vec<I>> = self.indices.iter().map(|index| NumCast::from(*index)).collect();
        Some(ArrayD::from_shape_vec(self.indices.raw_dim(), all?).expect("as many"))
    }

    fn plan(&self) -> IndexPlan<IxDyn> {
        let plan = match self.kind {
            Kind::Tuples => {
                let lens = &self.shape[..=self.axis];
                IndexPlan::tuples(&self.indices, lens, OutOfBounds::Error)
            }
            _ => IndexPlan::new(&self.indices, self.shape[self.axis]),
        };
        plan.expect("in bounds")
    }

    fn gather<A: Clone + Send + Sync + 'static>(
        &self,
        data: &ArrayD<A>,
        indices: &(impl AsIndices<Dim = IxDyn> + ?Sized),
        mode: OutOfBounds<A>,
        out: &mut ArrayD<A>,
    ) {
        let axis = Axis(self.axis);
        let done = match self.kind {
            Kind::Slices => data.gather_into(indices, Gather::along(axis).out_of_bounds(mode), out),
            Kind::Elements => {
                let elements = GatherElements::along(axis).out_of_bounds(mode);
                data.gather_elements_into(indices, elements, out)
            }
            Kind::Tuples => data.gather_nd_into(indices, GatherNd::new().out_of_bounds(mode), out),
        };
        done.expect("in bounds");
    }

    fn gathers(&self, found: &mut Found) {
        let (data, mut out) = (self.array(1_f32), ArrayD::zeros(self.listed()));
        let error = || OutOfBounds::Error;
        found.base(|| self.gather(&data, &self.indices, error(), &mut out));
        macro_rules! by {
            ($($name:literal $indices:expr, $mode:expr;)*) => {$(
                if let Some(indices) = $indices {
                    found.variant($name, 1.0, || self.gather(&data, &indices, $mode, &mut out));
                }
            )*};
        }
        by! {
            "gather i32" self.cast::<i32>(), error();
            "gather u32" self.cast::<u32>(), error();
            "gather u64" self.cast::<u64>(), error();
            "gather i16" self.cast::<i16>(), error();
            "gather u8" self.cast::<u8>(), error();
            "gather negative" Some(self.negative()), error();
            "gather clip" self.cast::<i64>(), OutOfBounds::Clip;
            "gather wrap" self.cast::<i64>(), OutOfBounds::Wrap;
            "gather fill" self.cast::<i64>(), OutOfBounds::Fill(0.5);
            "gather plan" Some(self.plan()), error();
            "gather across" Some(transposed(&self.indices)), error();
        }
        let mut turned = transposed(&out);
        found.variant("gather transposed", 1.0, || {
            self.gather(&data, &self.indices, error(), &mut turned);
        });
        self.gather_of("gather [f32; 3]", [1_f32; 3], found);
        self.gather_of("gather u128", 1_u128, found);
        self.gather_of("gather (u8, u16)", (1_u8, 2_u16), found);
    }

    fn gather_of<A: Copy + Send + Sync + 'static>(&self, name: &str, value: A, found: &mut Found) {
        let data = self.array(value);
        let mut out = ArrayD::from_elem(self.listed(), value);
        found.variant(name, size_of::<A>() as f64 / 4.0, || {
            self.gather(&data, &self.indices, OutOfBounds::Error, &mut out);
        });
    }

    fn scatter<A: ReduceElement + Clone + Send + Sync + 'static>(
        &self,
        target: &mut ArrayD<A>,
        indices: &(impl AsIndices<Dim = IxDyn> + ?Sized),
        updates: &ArrayD<A>,
        reduction: Reduction,
        mode: OutOfBounds,
    ) {
        let axis = Axis(self.axis);
        let done = match self.kind {
            Kind::Slices => {
                let slices = Scatter::along(axis).reduction(reduction).out_of_bounds(mode);
                target.scatter_inplace(indices, updates, slices)
            }
            Kind::Elements => {
                let elements = ScatterElements::along(axis).reduction(reduction);
                target.scatter_elements_inplace(indices, updates, elements.out_of_bounds(mode))
            }
            Kind::Tuples => {
                let tuples = ScatterNd::new().reduction(reduction).out_of_bounds(mode);
                target.scatter_nd_inplace(indices, updates, tuples)
            }
        };
        done.expect("in bounds");
    }

    fn scatters(&self, found: &mut Found) {
        let (mut target, updates) = (self.array(1_f32), ArrayD::zeros(self.listed()));
        let (reduction, error) = (self.reduction, OutOfBounds::Error);
        found.base(|| self.scatter(&mut target, &self.indices, &updates, reduction, error));
        macro_rules! by {
            ($($name:literal $indices:expr, $updates:expr, $mode:expr;)*) => {$(
                if let Some(indices) = $indices {
                    let updates = $updates;
                    found.variant(&format!("{reduction} {}", $name), 1.0, || {
                        self.scatter(&mut target, &indices, &updates, reduction, $mode);
                    });
                }
            )*};
        }
        let one = ArrayD::zeros(IxDyn(&[]));
        by! {
            "i32" self.cast::<i32>(), updates.clone(), error;
            "u64" self.cast::<u64>(), updates.clone(), error;
            "i16" self.cast::<i16>(), updates.clone(), error;
            "u8" self.cast::<u8>(), updates.clone(), error;
            "negative" Some(self.negative()), updates.clone(), error;
            "skip" self.cast::<i64>(), updates.clone(), OutOfBounds::Skip;
            "clip" self.cast::<i64>(), updates.clone(), OutOfBounds::Clip;
            "wrap" self.cast::<i64>(), updates.clone(), OutOfBounds::Wrap;
            "plan" Some(self.plan()), updates.clone(), error;
            "across" Some(transposed(&self.indices)), updates.clone(), error;
            "transposed updates" self.cast::<i64>(), transposed(&updates), error;
            "both" Some(transposed(&self.indices)), transposed(&updates), error;
            "one value" self.cast::<i64>(), one.clone(), error;
        }
        if reduction == Reduction::Sum {
            for other in [Reduction::Max, Reduction::Prod, Reduction::Mean] {
                found.variant(&format!("sum as {other}"), 1.0, || {
                    self.scatter(&mut target, &self.indices, &updates, other, error);
                });
            }
        }
        self.scatter_of("f64", 1_f64, found);
        self.scatter_of("i64", 1_i64, found);
        self.scatter_of("u8 elements", 1_u8, found);
        self.scatter_of("f16", f16::ONE, found);
        drop(black_box(target));
    }

    fn scatter_of<A: ReduceElement + Copy + Send + Sync + 'static>(
        &self,
        name: &str,
        value: A,
        found: &mut Found,
    ) {
        let (mut target, updates) = (self.array(value), ArrayD::from_elem(self.listed(), value));
        let name = format!("{} {name}", self.reduction);
        found.variant(&name, size_of::<A>() as f64 / 4.0, || {
            self.scatter(&mut target, &self.indices, &updates, self.reduction, OutOfBounds::Error);
        });
    }
}

fn with_len(shape: &[usize], axis: usize, len: usize) -> Vec<usize> {
    let mut shape = shape.to_vec();
    shape[axis] = len;
    shape
}
