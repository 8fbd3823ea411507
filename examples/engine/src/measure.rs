//! Times of runs.

use std::time::{Duration, Instant};

use rayon::ThreadPool;
use tract_onnx::prelude::*;

use crate::node::Engine;

/// How long to repeat each run, after one that warms up.
const BUDGET: Duration = Duration::from_millis(300);
const AT_LEAST: usize = 3;

/// The fastest run of tract's kernels, of ours on one thread, and of ours on
/// two; nothing if times are not wanted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Times(pub Option<[Duration; 3]>);

/// Pools of one and of two threads, on which opkernels runs; tract's own
/// gathers and scatters have one thread.
#[derive(Debug)]
pub struct Clock {
    pools: [ThreadPool; 2],
    wanted: bool,
}

impl Clock {
    pub fn new(wanted: bool) -> TractResult<Self> {
        let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        Ok(Clock { pools: [pool(1)?, pool(2)?], wanted })
    }

    /// Whether times are taken.
    pub fn is_on(&self) -> bool {
        self.wanted
    }

    pub fn times(&self, run: impl Fn(Engine) -> TractResult<Runner> + Sync) -> TractResult<Times> {
        if !self.wanted {
            return Ok(Times::default());
        }
        let [one, two] = &self.pools;
        let of = |pool: &ThreadPool, engine| pool.install(|| fastest(run(engine)?));
        Ok(Times(Some([
            of(one, Engine::Tract)?,
            of(one, Engine::Opkernels)?,
            of(two, Engine::Opkernels)?,
        ])))
    }
}

/// Models with what goes into them.
pub type Runner = Vec<(Arc<TypedRunnableModel>, TVec<TValue>)>;

/// The fastest way through all models.
fn fastest(runner: Runner) -> TractResult<Duration> {
    let mut states = Vec::new();
    for (model, inputs) in runner {
        states.push((model.spawn()?, inputs));
    }
    let mut once = || -> TractResult<Duration> {
        let mut taken = Duration::ZERO;
        for (state, inputs) in &mut states {
            let inputs = inputs.clone();
            let start = Instant::now();
            let outputs = state.run(inputs)?;
            taken += start.elapsed();
            drop(outputs);
        }
        Ok(taken)
    };
    let (start, mut runs, mut best) = (Instant::now(), 0, once()?);
    while runs < AT_LEAST || start.elapsed() < BUDGET {
        best = best.min(once()?);
        runs += 1;
    }
    Ok(best)
}

impl std::fmt::Display for Times {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Some([tract, one, two]) = self.0 else { return Ok(()) };
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        write!(f, "{:>12.1} {:>10.1} {:>10.1}", micros(tract), micros(one), micros(two))?;
        write!(f, " {:>8.2}", tract.as_secs_f64() / one.min(two).as_secs_f64())
    }
}
