//! A workload: ways to come to one answer, which each must give before it is timed.

use std::any::Any;
use std::hint::black_box;
use std::sync::{Arc, Mutex};

use ndarray::{Array, Array1, Dimension};

use crate::harness::{Results, THREADS, Turns, pool};
use crate::inputs::copy;
use crate::limit;

/// A piece of work under a plain name.
pub struct Workload {
    /// The operation, an underscore, and what is done.
    pub name: &'static str,
    prepare: Box<dyn Fn(Take<'_>)>,
}

/// What a workload's ways are given to, while its inputs live.
pub(crate) type Take<'t> = &'t mut dyn FnMut(Prepared<'_>);

impl Workload {
    pub(crate) fn new(name: &'static str, prepare: impl Fn(Take<'_>) + 'static) -> Self {
        Workload { name, prepare: Box::new(prepare) }
    }

    /// Makes the inputs, compares the answer of every way with what it must be, and gives
    /// them to `time`.
    ///
    /// # Panics
    ///
    /// If an answer is wrong.
    pub fn confirmed(&self, mut time: impl FnMut(Prepared<'_>)) {
        (self.prepare)(&mut |mut prepared| {
            for way in &mut prepared.ways {
                if let Err(wrong) = pool(way.threads).install(|| way.call.confirm()) {
                    panic!("{}, {}, {} threads: {wrong}", self.name, way.name, way.threads);
                }
            }
            time(prepared);
        });
    }
}

/// The workloads of these names, or whose names contain these parts; all where there are none.
pub fn chosen(mut workloads: Vec<Workload>, parts: &[String]) -> Vec<Workload> {
    let names: Vec<&str> = workloads.iter().map(|workload| workload.name).collect();
    let is = |name: &str, part: &String| {
        if names.contains(&part.as_str()) { name == part } else { name.contains(part.as_str()) }
    };
    workloads
        .retain(|workload| parts.is_empty() || parts.iter().any(|part| is(workload.name, part)));
    workloads
}

/// A workload with its inputs.
pub struct Prepared<'a> {
    /// What a call writes, for throughputs.
    pub bytes: usize,
    /// First ours, then others.
    pub ways: Vec<Way<'a>>,
}

impl Prepared<'_> {
    /// Times all ways in turn under the name of their workload.
    #[must_use]
    pub fn measure(self, name: &'static str, seconds_a_way: f64) -> Results {
        let turns = self.ways.into_iter().fold(Turns::new(name), |turns, mut way| {
            turns.on(way.threads, way.name, move || way.run())
        });
        turns.measure(seconds_a_way)
    }
}

/// One way to do a workload, on one thread or on two.
pub struct Way<'a> {
    /// Of ours, `into` writes an array that exists (in a scatter, in place), `alloc` returns a new
    /// one, and `inplace` is a roll's.
    pub name: &'static str,
    /// In the pool of this size it runs.
    pub threads: usize,
    call: Box<dyn Call + 'a>,
}

impl Way<'_> {
    /// One call.
    #[inline]
    pub fn run(&mut self) {
        self.call.run();
    }
}

trait Call: Send {
    fn run(&mut self);
    /// Calls once, and compares.
    fn confirm(&mut self) -> Result<(), String>;
}

/// Elements of answers.
pub(crate) trait Element: Clone + Send + Sync + std::fmt::Debug + 'static {
    /// The same but for how a mean or a sum is rounded.
    fn close(&self, other: &Self) -> bool;
}

macro_rules! exact {
    ($($element:ty)*) => {$(
        impl Element for $element {
            fn close(&self, other: &Self) -> bool {
                self == other
            }
        }
    )*};
}
exact!(u8 i8 i16 i32 i64 i128 u16 u32 u64 u128 bool half::f16 half::bf16);
exact!([f32; 3] [u8; 3] [f32; 8] (f32, u32) Option<i32> String);

impl Element for f32 {
    fn close(&self, other: &f32) -> bool {
        (self - other).abs() <= 1e-5 * self.abs().max(1.0)
    }
}

impl Element for f64 {
    fn close(&self, other: &f64) -> bool {
        (self - other).abs() <= 1e-12 * self.abs().max(1.0)
    }
}

fn compare<T: Element, D: Dimension>(
    found: &Array<T, D>,
    answer: &Array1<T>,
) -> Result<(), String> {
    if found.len() != answer.len() {
        return Err(format!("{} elements where {} are right", found.len(), answer.len()));
    }
    match found.iter().zip(answer).position(|(found, right)| !right.close(found)) {
        None => Ok(()),
        Some(at) => {
            let found = found.iter().nth(at);
            Err(format!("{found:?} where {:?} is right, element {at}", answer.get(at)))
        }
    }
}

/// What a way changes.
enum Target<T, D: Dimension> {
    /// An array of its own.
    Own(Array<T, D>),
    /// One that other ways change too: two ways with an array each would differ by where these lie,
    /// by up to half of the time.
    InTurn(Arc<Shared<T, D>>),
}

/// An array that several ways change in turn, and what each starts from to be confirmed.
struct Shared<T, D: Dimension> {
    target: Mutex<Array<T, D>>,
    start: Array<T, D>,
}

impl<T: Element, D: Dimension> Target<T, D> {
    fn begin(&self) {
        if let Target::InTurn(shared) = self {
            shared.target.lock().expect("no call has panicked").assign(&shared.start);
        }
    }

    fn compare(&self, answer: &Array1<T>) -> Result<(), String> {
        match self {
            Target::Own(target) => compare(target, answer),
            Target::InTurn(shared) => {
                compare(&shared.target.lock().expect("no call has panicked"), answer)
            }
        }
    }
}

/// A call that changes an array.
struct Changes<'a, T, D: Dimension, F> {
    target: Target<T, D>,
    call: F,
    answer: &'a Array1<T>,
}

impl<T: Element, D: Dimension, F: FnMut(&mut Array<T, D>) + Send> Call for Changes<'_, T, D, F> {
    fn run(&mut self) {
        let mut shared;
        let target = match &mut self.target {
            Target::Own(target) => target,
            Target::InTurn(others) => {
                shared = others.target.lock().expect("no call has panicked");
                &mut *shared
            }
        };
        (self.call)(black_box(target));
    }

    fn confirm(&mut self) -> Result<(), String> {
        self.target.begin();
        // Not compiled a second time: there are hundreds of calls.
        black_box(Self::run as fn(&mut Self))(self);
        self.target.compare(self.answer)
    }
}

struct Returned<'a, T, F> {
    call: F,
    answer: &'a Array1<T>,
}

impl<T: Element, D: Dimension, F: FnMut() -> Array<T, D> + Send> Call for Returned<'_, T, F> {
    fn run(&mut self) {
        drop(black_box((self.call)()));
    }

    fn confirm(&mut self) -> Result<(), String> {
        compare(&(self.call)(), self.answer)
    }
}

/// The ways to an answer whose elements, in row-major order, are given.
pub(crate) struct Ways<'a, T> {
    answer: &'a Array1<T>,
    ways: Vec<Way<'a>>,
    /// One [`Shared`] for each shape and layout.
    shared: Vec<Arc<dyn Any + Send + Sync>>,
}

impl<'a, T: Element> Ways<'a, T> {
    pub(crate) fn to(answer: &'a Array1<T>) -> Self {
        Ways { answer, ways: Vec::new(), shared: Vec::new() }
    }

    fn push(&mut self, name: &'static str, threads: usize, call: Box<dyn Call + 'a>) {
        self.ways.push(Way { name, threads, call });
    }

    /// A call on an array that `start` makes, on one thread and on two.
    pub(crate) fn into<D: Dimension + 'static>(
        self,
        name: &'static str,
        start: impl Fn() -> Array<T, D>,
        call: impl FnMut(&mut Array<T, D>) + Clone + Send + 'a,
    ) -> Self {
        let answer = self.answer;
        self.into_other(name, answer, start, call)
    }

    /// The same with an answer of its own.
    pub(crate) fn into_other<D: Dimension + 'static>(
        mut self,
        name: &'static str,
        answer: &'a Array1<T>,
        start: impl Fn() -> Array<T, D>,
        call: impl FnMut(&mut Array<T, D>) + Clone + Send + 'a,
    ) -> Self {
        for threads in THREADS {
            self.push_into(name, threads, start(), call.clone(), answer);
        }
        self
    }

    /// A call that changes an array like this.
    fn push_into<D: Dimension + 'static>(
        &mut self,
        name: &'static str,
        threads: usize,
        start: Array<T, D>,
        call: impl FnMut(&mut Array<T, D>) + Send + 'a,
        answer: &'a Array1<T>,
    ) {
        let target = self.target(start);
        self.push(name, threads, Box::new(Changes { target, call, answer }));
    }

    /// Such an array for one more way.
    fn target<D: Dimension + 'static>(&mut self, start: Array<T, D>) -> Target<T, D> {
        /// Smaller ones are in the first caches wherever they lie, and a lock takes some of the time
        /// of calls on them.
        const BYTES: usize = 64 << 10;
        if start.len() * size_of::<T>() < BYTES {
            return Target::Own(start);
        }
        let same = |shared: &Arc<Shared<T, D>>| {
            (shared.start.shape(), shared.start.strides()) == (start.shape(), start.strides())
        };
        let known = self.shared.iter().filter_map(|one| Arc::clone(one).downcast().ok()).find(same);
        Target::InTurn(known.unwrap_or_else(|| {
            let new = Arc::new(Shared { target: Mutex::new(copy(&start)), start });
            self.shared.push(Arc::clone(&new) as Arc<dyn Any + Send + Sync>);
            new
        }))
    }

    /// A call that returns a new array, on one thread and on two.
    pub(crate) fn returned<D: Dimension>(
        mut self,
        name: &'static str,
        call: impl FnMut() -> Array<T, D> + Clone + Send + 'a,
    ) -> Self {
        let answer = self.answer;
        for threads in THREADS {
            self.push(name, threads, Box::new(Returned { call: call.clone(), answer }));
        }
        self
    }

    /// A loop by hand, or of ndarray, on one thread.
    pub(crate) fn hand<D: Dimension + 'static>(
        mut self,
        name: &'static str,
        start: impl Fn() -> Array<T, D>,
        call: impl FnMut(&mut Array<T, D>) + Send + 'a,
    ) -> Self {
        let answer = self.answer;
        self.push_into(name, 1, start(), call, answer);
        self
    }

    /// A call of ndarray that returns a new array, on one thread.
    pub(crate) fn hand_returned<D: Dimension>(
        mut self,
        name: &'static str,
        call: impl FnMut() -> Array<T, D> + Send + 'a,
    ) -> Self {
        let answer = self.answer;
        self.push(name, 1, Box::new(Returned { call, answer }));
        self
    }

    /// Copies as many bytes as the answer has: what no kernel can beat.
    pub(crate) fn copy(self) -> Self
    where
        T: Copy,
    {
        let answer = self.answer;
        self.into("copy", || copy(answer), |out| limit::memcpy(answer, out))
    }

    /// The same by stores that pass by the caches.
    pub(crate) fn stream(self) -> Self
    where
        T: Copy,
    {
        let answer = self.answer;
        self.into("stream", || copy(answer), |out| limit::streaming(answer, out))
    }

    pub(crate) fn give(self, take: Take<'_>) {
        take(Prepared {
            bytes: size_of_val(self.answer.as_slice().unwrap_or_default()),
            ways: self.ways,
        });
    }
}
