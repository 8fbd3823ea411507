//! What the programs share: arguments, shards, reproducible data, and the
//! table that tells what each rank did.

mod arguments;
mod data;
mod exchange;
mod report;
mod shard;

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use mpi::Threading;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;

pub use arguments::{Arguments, Number};
pub use data::{digest, mix};
pub use exchange::{exchange, longest_piece};
pub use report::{Column, table};
pub use shard::Shard;

/// What a program says about its answers: a digest of them, which is the same
/// for every number of ranks, and how many of them are wrong.
#[derive(Debug)]
pub struct Verdict {
    /// The [`digest`] of the whole answer.
    pub digest: u64,
    /// How many numbers differ from what one process works out by itself.
    pub wrong: u64,
}

/// Runs a program on all ranks. The root prints the verdict.
pub fn launch(
    about: &str,
    numbers: &'static [Number],
    program: impl FnOnce(&SimpleCommunicator, &Arguments) -> Result<Verdict, Box<dyn Error>>,
) -> ExitCode {
    let arguments = match Arguments::parse(about, numbers, std::env::args().skip(1)) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => return ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message} (--help lists the options)");
            return ExitCode::FAILURE;
        }
    };
    // The kernels run on rayon's threads; only this one calls MPI.
    let Some((universe, threading)) = mpi::initialize_with_threading(Threading::Funneled) else {
        eprintln!("MPI is initialized already");
        return ExitCode::FAILURE;
    };
    let world = universe.world();
    if threading < Threading::Funneled {
        eprintln!("this MPI does not allow other threads beside the one that calls it");
        world.abort(1);
    }
    let verdict = program(&world, &arguments).unwrap_or_else(|error| {
        // The other ranks wait for this one in a collective call.
        eprintln!("rank {}: {error}", world.rank());
        world.abort(1)
    });
    if world.rank() == 0 {
        println!("answer {:016x}, {} wrong\n", verdict.digest, verdict.wrong);
    }
    if verdict.wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Starts `work` on all ranks at once, and tells how many seconds this rank's
/// took, where that is less than `best`.
pub fn timed<T>(world: &SimpleCommunicator, best: &mut f64, work: impl FnOnce() -> T) -> T {
    world.barrier();
    let start = Instant::now();
    let result = work();
    *best = best.min(start.elapsed().as_secs_f64());
    result
}
