//! Zachary's karate club: who met whom outside it, and which side each member
//! took when it split.

use std::fs;

/// Members 1 and 34, counted from 0: the instructor and the president.
pub(crate) const LEADERS: [usize; 2] = [0, 33];

/// The club that a member joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Club {
    Instructor,
    Officers,
}

pub(crate) fn members() -> Result<Vec<Club>, String> {
    records("karate_members.csv", |member, club| match club {
        "instructor" => Ok(Club::Instructor),
        "officers" => Ok(Club::Officers),
        other => Err(format!("member {member}: no club is called {other}")),
    })
}

pub(crate) fn ties(members: usize) -> Result<Vec<(usize, usize)>, String> {
    let member = |text: &str| match text.parse() {
        Ok(number) if (1..=members).contains(&number) => Ok(number - 1),
        _ => Err(format!("no member has the number {text}")),
    };
    records("karate_ties.csv", |first, second| Ok((member(first)?, member(second)?)))
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
