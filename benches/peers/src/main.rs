//! Times opkernels beside the Rust crates that have the same operations, all in
//! one process and in turn: `cargo run --release -- [part of a name] [--alone] [--csv FILE]`.
//! Every answer is compared with ours before it is timed. With `--features mimalloc` large
//! arrays come from memory that the allocator keeps, as engines keep theirs; with `--alone` too
//! ours is timed by itself, as libraries in other processes are: in turn with others it finds
//! the caches full of their arrays.

mod arrow;
mod burn;
mod candle;
#[path = "../../workloads/src/harness.rs"]
mod harness;
#[allow(dead_code)] // Some are for the benchmarks of this crate alone.
#[path = "../../workloads/src/inputs.rs"]
mod inputs;
mod ours;
mod rten;
mod tract;
mod way;
mod work;
mod workloads;

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use harness::{Results, THREADS, Turns};
use way::Way;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Seconds for each way of a workload on each number of threads.
const TIME: f64 = 0.3;

/// Whether no other library is timed.
static ALONE: AtomicBool = AtomicBool::new(false);

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (mut wanted, mut csv) = (Vec::new(), "results.csv".to_owned());
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--alone" => ALONE.store(true, Ordering::Relaxed),
            "--csv" => csv = arguments.next().expect("a file's name after --csv"),
            _ => wanted.push(argument),
        }
    }
    // A peer that refuses a workload says so by a panic, which is reported.
    std::panic::set_hook(Box::new(|_| ()));
    let mut all = Vec::new();
    for (name, run) in workloads::all() {
        if wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str())) {
            let results = run(name);
            report(&results);
            all.extend(results);
        }
    }
    write(&csv, &all).expect("a file to write results to");
}

fn write(path: &str, results: &Results) -> std::io::Result<()> {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    writeln!(file, "workload,peer,form,threads,nanoseconds")?;
    for (workload, way, threads, nanos) in results {
        let (peer, form) = way.split_once(' ').unwrap_or((way, ""));
        writeln!(file, "{workload},{peer},{form},{threads},{nanos:.0}")?;
    }
    file.flush()
}

/// Microseconds, and the ratio to ours in the same form on as many threads.
fn report(results: &Results) {
    for &(workload, way, threads, nanos) in results {
        let form = way.rsplit(' ').next();
        let ours = results.iter().find(|r| {
            r.1.starts_with("opkernels") && r.1.rsplit(' ').next() == form && r.2 == threads
        });
        let ratio = nanos / ours.map_or(f64::NAN, |ours| ours.3);
        println!("{workload:14} {way:16} {threads}t {:12.3} us   x{ratio:.2}", nanos / 1e3);
    }
}

/// Elements that are compared.
pub(crate) trait Compare: Copy + PartialEq {
    /// The same number but for the order of a sum.
    fn close(self, other: Self) -> bool;
}

impl Compare for u8 {
    fn close(self, other: u8) -> bool {
        self == other
    }
}

impl Compare for f32 {
    fn close(self, other: f32) -> bool {
        (self - other).abs() <= 1e-4 * self.abs().max(1.0)
    }
}

/// Leaves out the ways that refuse the workload or answer otherwise than the
/// first, which is ours, and times the rest in turn.
pub(crate) fn measure<T: Compare>(name: &'static str, ways: Vec<Way<'_, T>>) -> Results {
    let expected = (ways[0].answer)();
    let alone = ALONE.load(Ordering::Relaxed);
    let timed = ways.into_iter().filter(|way| !alone || way.name.starts_with("opkernels"));
    let right = timed.filter(|way| agrees(name, way, &expected));
    let turns = right.fold(Turns::new(name), |turns, way| {
        THREADS.into_iter().fold(turns, |turns, threads| turns.on(threads, way.name, (way.make)()))
    });
    turns.measure(TIME)
}

fn agrees<T: Compare>(workload: &str, way: &Way<'_, T>, expected: &[T]) -> bool {
    let answer = match catch_unwind(AssertUnwindSafe(|| (way.answer)())) {
        Ok(answer) => answer,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map_or("a panic", String::as_str);
            println!("{workload:14} {:16} refuses: {text}", way.name);
            return false;
        }
    };
    let agrees = answer.len() == expected.len()
        && answer.iter().zip(expected).all(|(&theirs, &ours)| ours.close(theirs));
    if !agrees {
        println!("{workload:14} {:16} answers wrongly", way.name);
    } else if answer != expected {
        println!("{workload:14} {:16} adds in another order", way.name);
    }
    agrees
}
