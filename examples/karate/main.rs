//! A karate club that split in two: who joined whom, predicted by messages
//! along the ties between its members.
//!
//! ```sh
//! cargo run --release --example karate
//! ```
//!
//! writes `karate.svg` and prints how many predictions are right. `--help`
//! tells the rest.

mod drawing;
mod graph;

use std::fs;
use std::process::ExitCode;

use graph::Graph;
use ndarray::Array2;

const HELP: &str = "\
Predicts how a karate club split (Zachary 1977), from who met whom outside it
and the two who led the parties: members 1 and 34.

usage: karate [OUT.svg]

  OUT.svg  where the drawing goes (default: karate.svg)";

/// Members 1 and 34, counted from 0.
const LEADERS: [usize; 2] = [0, 33];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Club {
    Instructor,
    Officers,
}

impl Club {
    /// The club of somebody who leans this much to the instructor.
    fn of(leaning: f64) -> Self {
        if leaning > 0.5 { Club::Instructor } else { Club::Officers }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        println!("{HELP}");
        return ExitCode::SUCCESS;
    }
    match run(arguments.first().map_or("karate.svg", String::as_str)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("karate: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(out: &str) -> Result<(), String> {
    let joined = members()?;
    let ties = ties(joined.len())?;
    let club = Graph::new(joined.len(), &ties);
    let told = |error: opkernels::Error| error.to_string();

    let degrees = club.degrees().map_err(told)?;
    println!("{} members, {} ties", joined.len(), ties.len());
    for leader in LEADERS {
        println!("member {} met {} others", leader + 1, degrees[leader]);
    }
    let (leanings, rounds) = club.leanings(LEADERS).map_err(told)?;
    println!("leanings settled after {rounds} rounds");
    let title = report(&leanings, &joined);
    let places = club.places().map_err(told)?;
    let svg = drawing::svg(&club, &places, &leanings, &joined, &title);
    fs::write(out, svg).map_err(|error| format!("{out}: {error}"))?;
    println!("\nwrote {out}");
    Ok(())
}

/// Prints who was predicted wrongly. Returns the result in a line.
fn report(leanings: &Array2<f64>, joined: &[Club]) -> String {
    let mut right = 0;
    for (member, &club) in joined.iter().enumerate() {
        let leaning = leanings[[member, 0]];
        if Club::of(leaning) == club {
            right += 1;
        } else {
            let share = leaning * 100.0;
            println!(
                "member {} leans {share:.0}% to the instructor, and joined {club:?}",
                member + 1
            );
        }
    }
    let line = format!(
        "{right} of {} predicted rightly ({:.0}%)",
        joined.len(),
        100.0 * right as f64 / joined.len() as f64
    );
    println!("{line}");
    format!("The club that split: {line}")
}

/// Both fields of every line but the first, which names them.
fn records<T>(
    name: &str,
    read: impl Fn(&str, &str) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let path = format!("{}/data/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let record = |line: &str| match line.split_once(',') {
        Some((first, second)) => read(first, second),
        None => Err(format!("{path}: {line:?} has no two fields")),
    };
    text.lines().skip(1).map(record).collect()
}

fn members() -> Result<Vec<Club>, String> {
    records("karate_members.csv", |member, club| match club {
        "instructor" => Ok(Club::Instructor),
        "officers" => Ok(Club::Officers),
        other => Err(format!("member {member}: no club is called {other}")),
    })
}

fn ties(members: usize) -> Result<Vec<(usize, usize)>, String> {
    let member = |text: &str| match text.parse() {
        Ok(number) if (1..=members).contains(&number) => Ok(number - 1),
        _ => Err(format!("no member has the number {text}")),
    };
    records("karate_ties.csv", |first, second| Ok((member(first)?, member(second)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_member_nine_are_predicted() {
        let joined = members().unwrap();
        let ties = ties(joined.len()).unwrap();
        assert_eq!((joined.len(), ties.len()), (34, 78));
        let (leanings, _) = Graph::new(joined.len(), &ties).leanings(LEADERS).unwrap();
        let wrong: Vec<usize> = (0..joined.len())
            .filter(|&member| Club::of(leanings[[member, 0]]) != joined[member])
            .map(|member| member + 1)
            .collect();
        assert_eq!(wrong, [9]);
    }
}
