//! A karate club that split in two: who joined whom, predicted by messages
//! along the ties between its members.
//!
//! ```sh
//! cargo run --release --example karate
//! ```
//!
//! writes `karate.svg` and prints how many predictions are right. `--help`
//! tells the rest.

#[path = "../arguments/mod.rs"]
mod arguments;
mod club;
mod drawing;
mod graph;

use std::fs;
use std::process::ExitCode;

use club::{Club, LEADERS};
use graph::Graph;
use ndarray::Array2;

const HELP: &str = "\
Predicts how a karate club split (Zachary 1977), from who met whom outside it
and the two who led the parties: members 1 and 34.

usage: karate [OUT.svg]

  OUT.svg  where the drawing goes (default: karate.svg)";

impl Club {
    /// The club of somebody who leans this much to the instructor.
    fn of(leaning: f64) -> Self {
        if leaning > 0.5 { Club::Instructor } else { Club::Officers }
    }
}

fn main() -> ExitCode {
    arguments::main("karate", HELP, 1, |given| {
        run(given.first().map_or("karate.svg", String::as_str))
    })
}

fn run(out: &str) -> Result<(), String> {
    let joined = club::members()?;
    let ties = club::ties(joined.len())?;
    let graph = Graph::new(joined.len(), &ties);
    let told = |error: opkernels::Error| error.to_string();

    let degrees = graph.degrees().map_err(told)?;
    println!("{} members, {} ties", joined.len(), ties.len());
    for leader in LEADERS {
        println!("member {} met {} others", leader + 1, degrees[leader]);
    }
    let (leanings, rounds) = graph.leanings(LEADERS).map_err(told)?;
    println!("leanings settled after {rounds} rounds");
    let (title, wrong) = report(&leanings, &joined);
    let places = graph.places().map_err(told)?;
    let svg = drawing::svg(&graph, &places, &leanings, &joined, &title);
    fs::write(out, svg).map_err(|error| format!("{out}: {error}"))?;
    println!("\nwrote {out}");
    match wrong[..] {
        [8] => Ok(()),
        _ => Err("all members but number 9 should be predicted rightly".to_string()),
    }
}

/// Prints who was predicted wrongly. Returns the result in a line, and these members, counted from 0.
fn report(leanings: &Array2<f64>, joined: &[Club]) -> (String, Vec<usize>) {
    let mut wrong = Vec::new();
    for (member, &club) in joined.iter().enumerate() {
        let leaning = leanings[[member, 0]];
        if Club::of(leaning) != club {
            wrong.push(member);
            let share = leaning * 100.0;
            println!(
                "member {} leans {share:.0}% to the instructor, and joined {club:?}",
                member + 1
            );
        }
    }
    let right = joined.len() - wrong.len();
    let line = format!(
        "{right} of {} predicted rightly ({:.0}%)",
        joined.len(),
        100.0 * right as f64 / joined.len() as f64
    );
    println!("{line}");
    (format!("The club that split: {line}"), wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_member_nine_are_predicted() {
        let joined = club::members().unwrap();
        let ties = club::ties(joined.len()).unwrap();
        assert_eq!((joined.len(), ties.len()), (34, 78));
        let (leanings, _) = Graph::new(joined.len(), &ties).leanings(LEADERS).unwrap();
        let wrong: Vec<usize> = (0..joined.len())
            .filter(|&member| Club::of(leanings[[member, 0]]) != joined[member])
            .map(|member| member + 1)
            .collect();
        assert_eq!(wrong, [9]);
    }
}
