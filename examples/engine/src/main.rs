//! opkernels in an inference engine: tract runs ONNX models whose gathers and
//! scatters opkernels evaluates.
//!
//! ```sh
//! cargo run --release --manifest-path examples/engine/Cargo.toml
//! ```
//!
//! prints what ONNX's node tests, a few indices that are not there, nodes of
//! the sizes of models, and a small language model make of both kernels, and
//! how long they take. It fails if opkernels is wrong anywhere.

mod bounds;
mod measure;
mod model;
mod node;
mod node_tests;
mod ops;
mod sizes;

use std::panic;
use std::process::ExitCode;
use std::time::Duration;

use indicatif::ProgressBar;
use measure::Clock;
use model::Decoder;
use node::{Engine, runnable};
use node_tests::Test;
use tract_onnx::prelude::*;

const HELP: &str = "\
Runs ONNX's gathers and scatters in tract by its own kernels and by opkernels,
checks the answers and takes times.

usage: engine [--check]

  --check  only check the answers";

/// How many times over the small model's batch of six texts.
const BATCHES: usize = 32;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let timed = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => true,
        ["--check"] => false,
        ["--help" | "-h"] => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("engine: unknown arguments {arguments:?}\n\n{HELP}");
            return ExitCode::FAILURE;
        }
    };
    match run(timed) {
        Ok(0) => {
            println!("\nAll answers of opkernels are right.");
            ExitCode::SUCCESS
        }
        Ok(wrong) => {
            eprintln!("\nengine: {wrong} answers of opkernels are wrong");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("engine: {error:?}");
            ExitCode::FAILURE
        }
    }
}

/// Prints all tables and returns how many answers of opkernels are wrong.
fn run(timed: bool) -> TractResult<usize> {
    let clock = Clock::new(timed)?;
    Ok(tests_table(&clock)? + bounds_table()? + sizes_table(&clock)? + model_table(&clock)?)
}

/// A bar on a terminal, and nothing elsewhere.
fn progress(steps: usize) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// What stands above the times, if there are any.
fn header(clock: &Clock, first: &str) -> String {
    let times = "tract, us  ours, us  2 threads   faster";
    if clock.is_on() { format!("{first}   {times}") } else { first.to_string() }
}

fn tests_table(clock: &Clock) -> TractResult<usize> {
    let tests = node_tests::node_tests()?;
    let mut operators: Vec<&str> = tests.iter().map(|test| &*test.node.operator).collect();
    operators.dedup();
    println!("{}", header(clock, "ONNX's node tests           tract   opkernels"));
    let bar = progress(operators.len());
    let mut failed = Vec::new();
    let mut all = [0, 0];
    for operator in operators {
        let of: Vec<&Test> = tests.iter().filter(|test| test.node.operator == operator).collect();
        let mut passed = [0, 0];
        for (passed, engine) in passed.iter_mut().zip([Engine::Tract, Engine::Opkernels]) {
            for test in &of {
                match test.passes(engine) {
                    Ok(()) => *passed += 1,
                    Err(error) => failed.push(format!("{} by {engine:?}: {error}", test.name)),
                }
            }
        }
        let times = clock.times(|engine| {
            let runner =
                |test: &&Test| Ok((runnable(test.node.model()?, engine)?, test.node.values()));
            of.iter().map(runner).collect()
        })?;
        let [tract, ours] = passed.map(|passed| format!("{passed} of {}", of.len()));
        bar.suspend(|| println!("{operator:24} {tract:>8} {ours:>11} {times}"));
        all = [all[0] + passed[0], all[1] + passed[1]];
        bar.inc(1);
    }
    bar.finish_and_clear();
    let [tract, ours] = all.map(|passed| format!("{passed} of {}", tests.len()));
    println!("{:24} {tract:>8} {ours:>11}", "");
    failed.iter().for_each(|failed| println!("failed: {failed}"));
    Ok(tests.len() - all[1])
}

fn bounds_table() -> TractResult<usize> {
    println!("\n{:44} {:16} opkernels", "Indices at the bounds and beyond", "tract");
    // tract's kernels panic, which the table says.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let mut wrong = 0;
    for case in bounds::cases() {
        let (tract, ours) = (case.outcome(Engine::Tract)?, case.outcome(Engine::Opkernels)?);
        println!("{:16} {:27} {tract:16} {ours}", case.node.operator, case.what);
        wrong += usize::from(!case.is_right(ours));
    }
    panic::set_hook(hook);
    Ok(wrong)
}

fn sizes_table(clock: &Clock) -> TractResult<usize> {
    println!("\n{}", header(clock, &format!("{:58} same", "Nodes at the sizes of models")));
    let sizes = sizes::sizes();
    let bar = progress(sizes.len());
    let mut wrong = 0;
    for size in &sizes {
        let agrees = size.agrees()?;
        let times = clock.times(|engine| Ok(vec![(size.runnable(engine)?, size.node.values())]))?;
        let same = if agrees { "yes" } else { "NO" };
        bar.suspend(|| println!("{:16} {:41} {same:>4} {times}", size.node.operator, size.what));
        wrong += usize::from(!agrees);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(wrong)
}

fn model_table(clock: &Clock) -> TractResult<usize> {
    let decoder = Decoder::new(BATCHES)?;
    println!("\n{}", header(clock, &format!("{:52} as reference", "A small language model")));
    let answer = decoder.check(Engine::Opkernels);
    let times = clock.times(|engine| Ok(vec![(decoder.runnable(engine)?, decoder.inputs())]))?;
    let right = if answer.is_ok() { "yes" } else { "NO" };
    let what = format!("a step of {} texts, six of its nodes by opkernels", decoder.texts());
    println!("{what:58} {right:>4} {times}");
    if let Err(error) = &answer {
        println!("{error}");
    }
    Ok(usize::from(answer.is_err()))
}
