//! The command line of programs that take values and no options.

use lexopt::{Arg, Error, Parser, ValueExt};

/// The values that are given, no more than `most`. `None` asks for help.
pub(crate) fn values(most: usize) -> Result<Option<Vec<String>>, Error> {
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
