//! Random calls under schedules that shuttle draws: `scripts/schedules.sh`.

// The calls that panic are not run here, so some items are unused.
#[allow(dead_code)]
#[path = "../../tests/corpus/case/mod.rs"]
mod case;

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ndarray::{Array1, Array2};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, MaxSteps, Runner};

use crate::common::Numbers;
use crate::{IndexPlan, Scatter, ScatterExt};

/// The number in an environment variable, or `default` where it is not set.
fn number_from(variable: &str, default: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable} is a number")),
        Err(_) => default,
    }
}

/// Runs `call` under the schedules of a scheduler.
fn run(scheduler: impl Scheduler + 'static, call: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    // Some element types take a MiB each and are stored on the stack.
    config.stack_size = 64 << 20;
    config.max_steps = MaxSteps::FailAfter(10_000_000);
    config.silence_warnings = true;
    let schedules = Arc::new(AtomicUsize::new(0));
    abort_on_deadlock(&schedules);
    let begun = schedules.clone();
    Runner::new(scheduler, config).run(move || {
        begun.fetch_add(1, Ordering::Relaxed);
        call();
    });
}

/// Aborts the program if no schedule begins for minutes.
///
/// Shuttle runs all its threads on one thread of the system. If one of them waits for a lock of
/// the standard library (a `OnceLock`) that another holds while it waits for parts, all stop.
/// The same deadlock occurs with rayon, which may hand the thread that waits for parts a task that
/// needs the lock.
fn abort_on_deadlock(schedules: &Arc<AtomicUsize>) {
    let schedules = Arc::downgrade(schedules);
    std::thread::spawn(move || {
        let mut before = 0;
        loop {
            std::thread::sleep(Duration::from_secs(number_from("SCHEDULE_SECONDS", 180)));
            let Some(now) = schedules.upgrade().map(|begun| begun.load(Ordering::Relaxed)) else {
                return;
            };
            if now == before {
                // Not `eprintln!`, whose output is captured in tests.
                let _ = writeln!(
                    std::io::stderr(),
                    "schedule {now} does not end: a lock is held while parts run"
                );
                std::process::abort();
            }
            before = now;
        }
    });
}

/// Runs the check on inputs made from seeds, each under several schedules.
fn run_inputs(check: fn(&[u8])) {
    let first = number_from("CORPUS_FIRST", 0);
    for seed in first..first + number_from("CORPUS_INPUTS", 50) {
        println!("seed {seed}");
        let mut numbers = Numbers(seed);
        let len = numbers.below(80);
        let input: Vec<u8> = (0..len).map(|_| numbers.next() as u8).collect();
        let schedules = number_from("SCHEDULES", 4) as usize;
        run(RandomScheduler::new_from_seed(seed, schedules), move || check(&input));
    }
}

macro_rules! checks {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            run_inputs(case::$name::check);
        }
    )*};
}
checks!(gather gather_elements gather_nd roll scatter scatter_elements scatter_nd);

/// Several tasks scatter by one plan, which builds its listing and counts at the first call: each
/// task gets the same result.
#[test]
fn tasks_of_one_plan() {
    let call = || {
        let indices = Array1::from_shape_fn(200, |k| k * 7 % 31);
        let updates = Array2::from_shape_fn((200, 3), |(k, lane)| (k * k + lane) as f32);
        let data = Array2::<f32>::ones((31, 3));
        let mut expected = data.clone();
        for (&index, update) in indices.iter().zip(updates.rows()) {
            expected.row_mut(index).zip_mut_with(&update, |sum, &update| *sum += update);
        }
        let plan = IndexPlan::new(&indices, 31).unwrap();
        shuttle::thread::scope(|scope| {
            for task in 0..3 {
                let (plan, data, updates, expected) = (&plan, &data, &updates, &expected);
                scope.spawn(move || {
                    if task == 0 {
                        plan.prepare();
                    }
                    let sums = data.scatter_with(plan, updates, Scatter::sum(0)).unwrap();
                    assert_eq!(sums, expected);
                    let means = data.scatter_with(plan, updates, Scatter::mean(0)).unwrap();
                    let counts = plan.counts().unwrap().mapv(|count| 1.0 + count as f32);
                    assert_eq!(means, expected / &counts.insert_axis(ndarray::Axis(1)));
                });
            }
        });
    };
    let schedules = number_from("SCHEDULES", 4) as usize * 50;
    run(RandomScheduler::new_from_seed(1, schedules), call);
    run(PctScheduler::new_from_seed(2, 3, schedules), call);
}
