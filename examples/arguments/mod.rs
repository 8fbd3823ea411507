//! The command line of programs that take values and no options.

use std::process::ExitCode;

use lexopt::{Arg, Error, Parser, ValueExt};

/// Runs a program with the values that it is given, no more than `most`. Prints
/// `help` where it is asked for, and after what it cannot take.
pub(crate) fn main(
    name: &str,
    help: &str,
    most: usize,
    run: impl FnOnce(&[String]) -> Result<(), String>,
) -> ExitCode {
    let outcome = match values(most) {
        Ok(Some(given)) => run(&given),
        Ok(None) => {
            println!("{help}");
            return ExitCode::SUCCESS;
        }
        Err(error) => Err(format!("{error}\n\n{help}")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{name}: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The values that are given. `None` asks for help.
fn values(most: usize) -> Result<Option<Vec<String>>, Error> {
    let mut parser = Parser::from_env();
    let mut values = Vec::new();
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Short('h') | Arg::Long("help") => return Ok(None),
            Arg::Value(value) if values.len() < most => values.push(value.string()?),
            _ => return Err(argument.unexpected()),
        }
    }
    Ok(Some(values))
}
