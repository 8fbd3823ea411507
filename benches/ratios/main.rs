//! Every kind of work beside the copy limit and what a good ndarray user writes
//! by hand, in turn: `cargo bench --bench ratios -- [part of a name] [--csv FILE]`.

// Forms are closures of one expression, and take views by value.
#![allow(clippy::semicolon_if_nothing_returned, clippy::needless_pass_by_value)]

mod gather;
mod harness;
mod inputs;
mod limit;
mod roll;
mod scatter;

use std::io::Write as _;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (mut wanted, mut csv) = (Vec::new(), None);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--csv" => csv = arguments.next(),
            _ => wanted.push(argument),
        }
    }
    let mut all = Vec::new();
    let mut take = |(name, run): harness::Entry| {
        if wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str())) {
            let results = run(name);
            harness::report(&results);
            all.extend(results);
        }
    };
    gather::workloads().into_iter().for_each(&mut take);
    roll::workloads().into_iter().for_each(&mut take);
    scatter::workloads().into_iter().for_each(&mut take);
    if let Some(path) = csv {
        let mut file = std::fs::File::create(&path).expect("a file to write results to");
        writeln!(file, "workload,form,threads,nanoseconds").expect("room for the results");
        for (workload, form, threads, nanos) in all {
            writeln!(file, "{workload},{form},{threads},{nanos:.0}").expect("room for the results");
        }
    }
}
