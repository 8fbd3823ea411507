//! Work drawn at random beside hand-written loops, to find what falls behind:
//! `cargo bench --bench hunt -- [--seed N] [--seconds S] [--csv FILE] [part of a name]...`.
//!
//! Prints what is slower than the loop by hand, or slower on two threads than on one, as it is
//! found, with the seed that draws it; in the end a line for each operation, and one for calls of
//! which a loop makes a million a second.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::time::{Duration, Instant};

use opkernels_workloads::Workload;
use opkernels_workloads::drawn::{OPERATIONS, draw};

/// For each form.
const SECONDS: f64 = 0.01;

/// Below this many times as long as ours, the loop by hand is faster by more than noise; a second
/// thread that makes a call slower has a wider margin.
const BEHIND: f64 = 0.97;
const SLOWER: f64 = 0.9;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (mut seed, mut seconds, mut csv, mut parts) = (1, 60, None, Vec::new());
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|text| text.parse().ok());
        match argument.as_str() {
            "--csv" => csv = Some(arguments.next().expect("a file's name after --csv")),
            "--seed" => seed = number().expect("a number after --seed"),
            "--seconds" => seconds = number().expect("a number after --seconds"),
            option if option.starts_with('-') => panic!("unknown option {option}"),
            _ => parts.push(argument),
        }
    }
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut found = Vec::new();
    while Instant::now() < end {
        let workload = draw(seed);
        if parts.iter().all(|part| workload.name.contains(part.as_str())) {
            let times = Times::of(&workload);
            let (hand, threads) = (times.beside_hand(), times.on_two());
            if hand < BEHIND || threads < SLOWER {
                let name = workload.name;
                println!(
                    "{hand:5.2} of by hand, x{threads:4.2} on two, {:9.2} us, seed {seed}: {name}",
                    times.hand / 1e3
                );
            }
            found.push(times);
        }
        seed += 1;
    }
    println!("\n{:17} drawn   mean  below {BEHIND}  below 0.7  slower on two", "operation");
    let (tiny, others): (Vec<_>, Vec<_>) = found.iter().partition(|times| times.hand < 1e3);
    for operation in OPERATIONS {
        summary(operation, &others, |times| times.name.split(' ').next() == Some(operation));
    }
    summary("all", &others, |_| true);
    summary("below 1 us", &tiny, |_| true);
    if let Some(path) = csv {
        write(&path, &found).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
}

/// Nanoseconds a call.
struct Times {
    name: &'static str,
    hand: f64,
    ours: f64,
    two_threads: f64,
}

impl Times {
    fn of(workload: &Workload) -> Times {
        let name = workload.name;
        let mut times = Times { name, hand: 0.0, ours: 0.0, two_threads: 0.0 };
        workload.confirmed(|prepared| {
            for (_, form, threads, nanos) in prepared.measure(name, SECONDS) {
                match (form, threads) {
                    ("by hand", _) => times.hand = nanos,
                    (_, 1) => times.ours = nanos,
                    _ => times.two_threads = nanos,
                }
            }
        });
        times
    }

    /// How many times as long as ours the loop by hand takes.
    fn beside_hand(&self) -> f64 {
        self.hand / self.ours
    }

    /// How many times as fast ours is on two threads as on one.
    fn on_two(&self) -> f64 {
        self.ours / self.two_threads
    }
}

/// Nanoseconds, and the work, which has commas.
fn write(path: &str, found: &[Times]) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    writeln!(file, "ours,two threads,by hand,work")?;
    for Times { name, hand, ours, two_threads } in found {
        writeln!(file, "{ours:.0},{two_threads:.0},{hand:.0},\"{name}\"")?;
    }
    file.flush()
}

fn summary(name: &str, found: &[&Times], is_meant: impl Fn(&Times) -> bool) {
    let ratios: Vec<_> = found.iter().filter(|times| is_meant(times)).collect();
    let logarithms = ratios.iter().map(|times| times.beside_hand().ln()).sum::<f64>();
    let below = |limit| ratios.iter().filter(|times| times.beside_hand() < limit).count();
    println!(
        "{name:17} {:5} {:6.2} {:11} {:10} {:14}",
        ratios.len(),
        (logarithms / ratios.len().max(1) as f64).exp(),
        below(BEHIND),
        below(0.7),
        ratios.iter().filter(|times| times.on_two() < SLOWER).count()
    );
}
