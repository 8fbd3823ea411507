//! Every operation against the naive reference, bit by bit, on arrays of any
//! shape and layout: the same result where the reference has one, the same
//! refusal where it refuses, and nothing written then.

mod cases;
#[path = "../common/mod.rs"]
mod common;
mod family;
mod gather;
mod kinds;
mod large;
mod roll;
mod scatter_elements;
mod windows;

use proptest::test_runner::Config;

/// As many cases for each test as `PROPTEST_CASES` says, 256 by default. The
/// tests leave no files behind: a failure prints its case.
fn config() -> Config {
    Config { failure_persistence: None, ..Config::default() }
}
