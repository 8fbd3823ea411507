//! Replays what the fuzzers found worth keeping (`fuzz/run.sh` writes it to
//! `inputs/`), and inputs made from numbers, through the checks of the fuzz
//! targets.

mod case;
#[path = "../common/mod.rs"]
mod common;

use std::path::Path;

use common::{Numbers, number_from};

/// Runs the check on every file of a folder.
fn replay(name: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/inputs").join(name);
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    for file in files {
        // Shown where the check fails.
        println!("{}", file.display());
        case::on_a_pool(check, &std::fs::read(&file).unwrap());
    }
}

/// The seeds of few inputs that reach much.
fn chosen(name: &str) -> Vec<u64> {
    let lines = include_str!("seeds.txt").lines();
    let line = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).next();
    line.expect("seeds").split_whitespace().map(|seed| seed.parse().unwrap()).collect()
}

/// Runs the check on inputs that a seed decides: `CORPUS_INPUTS` of them, from seed
/// `CORPUS_FIRST` on. Under Miri, unless these say otherwise, on few that reach much.
/// `CORPUS_SHARD=1/4` takes every fourth of them, from the second on.
fn numbers(name: &str, check: fn(&[u8])) {
    let seeds: Vec<_> = match (number_from("CORPUS_FIRST"), number_from("CORPUS_INPUTS")) {
        (None, None) if cfg!(miri) => chosen(name),
        (first, inputs) => {
            let first = first.unwrap_or(0);
            (first..first + inputs.unwrap_or(400)).collect()
        }
    };
    let shard = std::env::var("CORPUS_SHARD").unwrap_or("0/1".into());
    let (shard, shards) =
        shard.split_once('/').expect("CORPUS_SHARD is a number of shards, such as 1/4");
    for seed in seeds.into_iter().skip(shard.parse().unwrap()).step_by(shards.parse().unwrap()) {
        println!("seed {seed}");
        let mut numbers = Numbers(seed);
        let len = numbers.below(80);
        let input: Vec<u8> = (0..len).map(|_| numbers.next() as u8).collect();
        case::on_a_pool(check, &input);
    }
}

macro_rules! replays {
    ($($name:ident)*) => {$(
        mod $name {
            #[test]
            fn corpus() {
                super::replay(stringify!($name), super::case::$name::check);
            }
            #[test]
            fn numbers() {
                super::numbers(stringify!($name), super::case::$name::check);
            }
        }
    )*};
}
replays!(faults gather gather_elements gather_nd roll scatter scatter_elements scatter_nd);
