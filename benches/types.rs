//! Where a type, a reduction, a policy or an index type falls behind the others: nanoseconds an
//! update, or an element that is copied, on one thread, with the loop by hand beside them.
//! `cargo bench --bench types -- [part of a name]... [--cliffs]`.
//!
//! A mark follows what takes longer than it should: `h` than the loop by hand, `m` a mean than 1.7
//! times its sum, `f` half precision than 2.5 times `f32`, `p` a policy than 1.2 times the default.
//! `--cliffs` prints only the lines that have a mark.

use std::collections::HashMap;

use opkernels_workloads::types::{ELEMENTS, INDICES, POLICIES, SHAPES, policies, workloads};
use opkernels_workloads::{Workload, chosen, copies};

/// For each form.
const SECONDS: f64 = 0.02;

const REDUCTIONS: [&str; 5] = ["sum", "prod", "min", "max", "mean"];

/// Ours and by hand, in nanoseconds a call.
type Times = HashMap<&'static str, (f64, f64)>;

fn main() {
    let arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (options, parts): (Vec<_>, Vec<_>) = arguments.partition(|one| one.starts_with('-'));
    assert!(options.iter().all(|option| option == "--cliffs"), "unknown option among {options:?}");
    let cliffs = !options.is_empty();
    let all = [workloads(), policies(), copies::workloads()].into_iter().flatten().collect();
    let times = times(chosen(all, &parts));
    scattered(&times, cliffs);
    gathered(&times, cliffs);
    copied(&times, cliffs);
}

fn times(workloads: Vec<Workload>) -> Times {
    let mut times = Times::new();
    for workload in workloads {
        workload.confirmed(|mut prepared| {
            prepared.ways.retain(|way| way.threads == 1);
            let results = prepared.measure(workload.name, SECONDS);
            times.insert(workload.name, (results[0].3, results[1].3));
        });
    }
    times
}

/// Prints a line, unless it has no mark and only those that have one are asked for.
fn line(name: &str, per: f64, (ours, hand): (f64, f64), mut marks: String, cliffs: bool) {
    if ours > 1.03 * hand {
        marks.push('h');
    }
    if !cliffs || !marks.is_empty() {
        println!("{name:29} {:8.3} ns, by hand {:8.3}  {marks}", ours / per, hand / per);
    }
}

fn scattered(times: &Times, cliffs: bool) {
    for shape in SHAPES {
        for reduction in REDUCTIONS {
            let time = |element: &str, reduction: &str| {
                times.get(&*format!("types_{element}_{reduction}_{}", shape.name)).copied()
            };
            for element in ELEMENTS {
                let Some(both) = time(element, reduction) else { continue };
                let mut marks = String::new();
                let longer = |than: Option<(f64, f64)>, factor| {
                    than.is_some_and(|(than, _)| both.0 > factor * than)
                };
                if reduction == "mean" && longer(time(element, "sum"), 1.7) {
                    marks.push('m');
                }
                if element.ends_with("f16") && longer(time("f32", reduction), 2.5) {
                    marks.push('f');
                }
                let name = format!("{} {reduction} {element}", shape.name);
                line(&name, shape.updates() as f64, both, marks, cliffs);
            }
        }
    }
}

fn gathered(times: &Times, cliffs: bool) {
    for index in INDICES {
        let time = |policy: &str| times.get(&*format!("policies_{index}_{policy}")).copied();
        for policy in POLICIES {
            let Some(both) = time(policy) else { continue };
            let slow = time("error").is_some_and(|(default, _)| both.0 > 1.2 * default);
            let marks = if slow { "p".to_owned() } else { String::new() };
            line(&format!("gather by {index}, {policy}"), 100_000.0, both, marks, cliffs);
        }
    }
}

fn copied(times: &Times, cliffs: bool) {
    for (copy, elements) in copies::COPIES {
        for element in copies::ELEMENTS {
            let Some(&both) = times.get(&*format!("copies_{element}_{copy}")) else { continue };
            line(&format!("{copy} {element}"), elements as f64, both, String::new(), cliffs);
        }
    }
}
