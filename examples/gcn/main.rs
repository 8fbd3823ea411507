//! A graph network that learns: two layers of graph convolution, whose messages
//! are gathers and scatters, and so are their gradients.
//!
//! ```sh
//! cargo run --release --example gcn
//! ```
//!
//! trains on Zachary's karate club and on a graph of 100,000 nodes, checks its
//! gradients by finite differences, and writes `gcn.png`. `--help` tells the
//! rest.

#[path = "../canvas/mod.rs"]
mod canvas;
#[path = "../karate/club.rs"]
mod club;
mod data;
mod graph;
mod network;
mod picture;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use approx::relative_eq;
use fastrand::Rng;
use indicatif::{ProgressBar, ProgressStyle};
use lexopt::{Arg, Parser, ValueExt};
use network::{Adam, Network, Real, Run, Task};

const HELP: &str = "\
Trains two layers of graph convolution: on Zachary's karate club, from nothing
but where the two leaders went; and on a graph with communities, from one node
of a hundred.

usage: gcn [--nodes N] [--ties N] [--steps N] [OUT.png]

  --nodes N  nodes of the graph that is made (default: 100000)
  --ties N   its ties, each an edge in both directions (default: 500000)
  --steps N  how long to train on it (default: 40)
  OUT.png    where the picture goes (default: gcn.png)";

struct Options {
    nodes: usize,
    ties: usize,
    steps: usize,
    out: String,
}

impl Options {
    /// `None` asks for help.
    fn parse() -> Result<Option<Self>, lexopt::Error> {
        let mut options =
            Options { nodes: 100_000, ties: 500_000, steps: 40, out: "gcn.png".into() };
        let mut parser = Parser::from_env();
        while let Some(argument) = parser.next()? {
            match argument {
                Arg::Short('h') | Arg::Long("help") => return Ok(None),
                Arg::Long("nodes") => options.nodes = parser.value()?.parse()?,
                Arg::Long("ties") => options.ties = parser.value()?.parse()?,
                Arg::Long("steps") => options.steps = parser.value()?.parse()?,
                Arg::Value(path) => options.out = path.string()?,
                _ => return Err(argument.unexpected()),
            }
        }
        let possible = 200..=u32::MAX as usize;
        if !possible.contains(&options.nodes) {
            return Err(format!("--nodes {}: expected {possible:?}", options.nodes).into());
        }
        Ok(Some(options))
    }
}

fn main() -> ExitCode {
    match Options::parse() {
        Ok(None) => {
            println!("{HELP}");
            ExitCode::SUCCESS
        }
        Ok(Some(options)) => match run(&options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("gcn: {error}");
                ExitCode::FAILURE
            }
        },
        Err(message) => {
            eprintln!("gcn: {message}\n\n{HELP}");
            ExitCode::FAILURE
        }
    }
}

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn run(options: &Options) -> Outcome<()> {
    let random = &mut Rng::with_seed(7);

    let joined = club::members()?;
    let ties = club::ties(joined.len())?;
    let club = data::club(&joined, &ties)?;
    println!("Zachary's karate club: {} members, {} ties, 2 told", joined.len(), ties.len());
    let mut network = Network::new([joined.len(), 2, 2], random);
    check_gradients(&network, &club)?;
    let trained = train(&mut network, &club, 0.03, 200)?;

    let made = data::made::<f32>(options.nodes, options.ties, random)?;
    println!(
        "\na graph of {} nodes and {} edges, {} nodes told",
        made.graph.nodes(),
        made.graph.edges(),
        made.told.len()
    );
    compare(&made, options.steps)?;
    println!("by features alone: {:.1}% of the others", 100.0 * data::told_by_features(&made)?);
    let mut network = Network::new([data::FEATURES, 16, data::COMMUNITIES], random);
    let learned = train(&mut network, &made, 0.02, options.steps)?;

    picture::draw(&trained.hidden, &ties, &joined, &learned.scores, &made.classes)?
        .save(&options.out)?;
    println!("\nwrote {}", options.out);
    expect(&club, &trained, 0.9)?;
    expect(&made, &learned, 0.85)
}

/// Compares the gradients with differences of the loss.
fn check_gradients(network: &Network<f64>, task: &Task<f64>) -> Outcome<()> {
    let gradients = network.gradients(task, &network.run(task)?)?;
    let differences = network::differences(network, task)?;
    let mut weights = 0;
    for (gradient, difference) in gradients.iter().zip(&differences) {
        if !relative_eq!(gradient, difference, epsilon = 1e-9, max_relative = 1e-6) {
            return Err(format!("gradient {gradient} is not as measured: {difference}").into());
        }
        weights += gradient.len();
    }
    println!("gradients of {weights} weights agree with finite differences");
    Ok(())
}

/// Passes messages along all edges step after step, by plans of the edges and by
/// the indices themselves in turn, which must come to the same bits. Counts the fastest
/// step of each: what a plan saves is less than steps differ on a busy machine, since
/// each also makes room for a message an edge.
fn compare(task: &Task<f32>, steps: usize) -> Outcome<()> {
    let bar = ProgressBar::new(steps as u64);
    bar.set_style(ProgressStyle::with_template("{bar:40} {pos}/{len}, {eta} left: messages")?);
    let mut fastest = [Duration::MAX; 2];
    // The first step makes what a plan keeps.
    let mut nodes = task.graph.hear(&task.features)?;
    for _ in 0..steps {
        let start = Instant::now();
        let planned = task.graph.hear(&nodes)?;
        let middle = Instant::now();
        let plain = task.graph.hear_unplanned(&nodes)?;
        fastest = [fastest[0].min(middle - start), fastest[1].min(middle.elapsed())];
        if planned.iter().map(|x| x.to_bits()).ne(plain.iter().map(|x| x.to_bits())) {
            return Err("plans and indices have come to different messages".into());
        }
        nodes = planned;
        bar.inc(1);
    }
    bar.finish_and_clear();
    let millions = fastest.map(|time| task.graph.edges() as f64 / time.as_secs_f64() / 1e6);
    println!(
        "{:.1} million edges a second with plans, {:.1} without (the fastest of {steps} steps)",
        millions[0], millions[1]
    );
    Ok(())
}

/// Prints some of the steps, and shows all of them on a terminal.
fn train<F: Real>(
    network: &mut Network<F>,
    task: &Task<F>,
    rate: f64,
    steps: usize,
) -> Outcome<Run<F>> {
    println!("  step     loss  accuracy");
    let bar = ProgressBar::new(steps as u64);
    bar.set_style(ProgressStyle::with_template("{bar:40} {pos}/{len}, {eta} left: {msg}")?);
    let mut adam = Adam::new(rate, network);
    let mut taken = Duration::ZERO;
    for step in 0..=steps {
        let start = Instant::now();
        let run = network.run(task)?;
        let accuracy = task.accuracy(&run.scores)?;
        bar.set_message(format!("loss {:.4}, accuracy {accuracy:.3}", run.loss));
        if step == steps || step % (steps / 5).max(1) == 0 {
            bar.suspend(|| println!("{step:6} {:8.4} {accuracy:9.3}", run.loss));
        }
        if step == steps {
            bar.finish_and_clear();
            println!("{:.1} ms a step", taken.as_secs_f64() * 1e3 / steps.max(1) as f64);
            return Ok(run);
        }
        adam.step(network, &network.gradients(task, &run)?);
        taken += start.elapsed();
        bar.inc(1);
    }
    unreachable!("the last step returns")
}

/// What is learned must be more than chance.
fn expect<F: Real>(task: &Task<F>, run: &Run<F>, least: f64) -> Outcome<()> {
    let accuracy = task.accuracy(&run.scores)?;
    if accuracy < least {
        return Err(format!("only {:.1}% of the others are right", 100.0 * accuracy).into());
    }
    Ok(())
}
