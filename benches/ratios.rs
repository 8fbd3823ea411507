//! Every kind of work beside the copy limit and what a good ndarray user writes
//! by hand, in turn, on one thread and on two:
//! `cargo bench --bench ratios -- [name or a part of it]... [--without PART] [--csv FILE] [--list]
//! [--confirm]`.
//!
//! `--without` leaves out the workloads whose names contain a part; `--list` prints the names;
//! `--confirm` compares all answers and times nothing.

use std::fs::File;
use std::io::{BufWriter, Write as _};

use opkernels_workloads::chosen;
use opkernels_workloads::harness::Results;

/// For each form on each number of threads.
const SECONDS: f64 = 0.1;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (mut parts, mut csv, mut list, mut confirm) = (Vec::new(), None, false, false);
    let mut without = None;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--csv" => csv = Some(arguments.next().expect("a file's name after --csv")),
            "--without" => {
                without = Some(arguments.next().expect("a part of names after --without"));
            }
            "--list" => list = true,
            "--confirm" => confirm = true,
            option if option.starts_with('-') => panic!("unknown option {option}"),
            _ => parts.push(argument),
        }
    }
    let mut all = Vec::new();
    let left_out = |name: &str| without.as_ref().is_some_and(|part| name.contains(part.as_str()));
    for workload in chosen(opkernels_workloads::all(), &parts) {
        if left_out(workload.name) {
            continue;
        }
        match (list, confirm) {
            (true, _) => println!("{}", workload.name),
            (_, true) => workload.confirmed(|prepared| {
                println!("{:35} {} forms agree", workload.name, prepared.ways.len());
            }),
            _ => workload.confirmed(|prepared| {
                let results = prepared.measure(workload.name, SECONDS);
                report(&results);
                all.extend(results);
            }),
        }
    }
    if let Some(path) = csv {
        write(&path, &all).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
}

/// Prints a line for each form: microseconds on one thread and on two, and
/// how many times as long as our first form takes on as many.
fn report(results: &Results) {
    let time = |form, threads| {
        let same = results.iter().find(|result| (result.1, result.2) == (form, threads));
        same.map(|result| result.3)
    };
    let ours = results[0].1;
    for &(workload, form, ..) in results.iter().filter(|result| result.2 == 1) {
        print!("{workload:35} {form:15}");
        for threads in [1, 2] {
            if let (Some(nanos), Some(ours)) = (time(form, threads), time(ours, threads)) {
                print!("  {threads}t {:11.3} us x{:5.2}", nanos / 1e3, nanos / ours);
            }
        }
        println!();
    }
}

fn write(path: &str, results: &Results) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    writeln!(file, "workload,form,threads,nanoseconds")?;
    for (workload, form, threads, nanos) in results {
        writeln!(file, "{workload},{form},{threads},{nanos:.0}")?;
    }
    file.flush()
}
