//! A histogram of samples that are spread over the ranks: each scatter-sums
//! its part into bins of its own, and a reduce adds the bins.
//!
//! Counts are integers, so the answer is the same to the bit for every number
//! of ranks.

use std::error::Error;
use std::process::ExitCode;

use mpi::collective::SystemOperation;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;
use ndarray::{Array1, ArrayView0, aview0};
use opkernels::{OutOfBounds, Reduction, ScatterElements, ScatterElementsExt};
use opkernels_mpi::{Arguments, Column, Number, Shard, Verdict, digest, launch, mix, table, timed};

const ABOUT: &str = "Counts samples into bins, on as many ranks as MPI starts.";

const NUMBERS: &[Number] = &[
    Number { name: "samples", default: 1 << 24, about: "samples on all ranks together" },
    Number { name: "bins", default: 1 << 16, about: "bins between -4 and 4" },
    Number { name: "rounds", default: 5, about: "times to measure; the best counts" },
];

fn main() -> ExitCode {
    launch(ABOUT, NUMBERS, run)
}

/// Sample number `n` of all: a sum of twelve uniform numbers, which is close
/// to normally distributed.
fn sample(n: usize) -> f32 {
    let uniform = |k: u64| (mix(n as u64 * 3 + k / 4) >> (k % 4 * 16) & 0xffff) as f32;
    (0..12).map(uniform).sum::<f32>() / 65536.0 - 6.0
}

/// The bin that a sample falls in, or a number past any bin where there is
/// none.
fn bin(sample: f32, bins: usize) -> u32 {
    let place = (f64::from(sample) + 4.0) / 8.0 * bins as f64;
    // A negative number must not be rounded into the first bin.
    if (0.0..bins as f64).contains(&place) { place as u32 } else { u32::MAX }
}

fn run(world: &SimpleCommunicator, arguments: &Arguments) -> Result<Verdict, Box<dyn Error>> {
    let (samples, bins) = (arguments.get("samples"), arguments.get("bins"));
    if bins > i32::MAX as usize {
        return Err("MPI counts the bins in 31 bits".into());
    }
    let own = Shard::new(samples, world.size() as usize, world.rank() as usize).range();
    let places: Array1<u32> = own.clone().map(|n| bin(sample(n), bins)).collect();

    // One 1 for all samples, repeated by a stride of 0.
    let one: ArrayView0<'_, u64> = aview0(&1);
    let ones = one.broadcast(places.len()).ok_or("too many samples")?;
    let count =
        ScatterElements::along(0).reduction(Reduction::Sum).out_of_bounds(OutOfBounds::Skip);

    let (mut counts, mut total) = (Array1::<u64>::zeros(bins), vec![0; bins]);
    let (mut compute, mut communicate) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..arguments.get("rounds") {
        timed(world, &mut compute, || {
            counts.fill(0);
            counts.scatter_elements_inplace(&places, &ones, count)
        })?;
        timed(world, &mut communicate, || reduce(world, counts.as_slice().unwrap(), &mut total));
    }

    let sent = if world.rank() == 0 { 0 } else { size_of_val(&total[..]) };
    let columns = [
        Column("samples", 0),
        Column("counted", 0),
        Column("scatter ms", 2),
        Column("reduce ms", 2),
        Column("MB to send", 3),
    ];
    let counted = counts.sum() as f64;
    let numbers = [own.len() as f64, counted, compute * 1e3, communicate * 1e3, sent as f64 / 1e6];
    let title = format!("histogram: {samples} samples, {bins} bins, ranks: {}", world.size());
    table(world, &title, columns, numbers);

    // Only the root has the answer, and only it works it out by itself.
    if world.rank() != 0 {
        return Ok(Verdict { digest: 0, wrong: 0 });
    }
    let mut expected = vec![0_u64; bins];
    for place in (0..samples).map(|n| bin(sample(n), bins)) {
        if let Some(count) = expected.get_mut(place as usize) {
            *count += 1;
        }
    }
    let wrong = total.iter().zip(&expected).filter(|(ours, expected)| ours != expected).count();
    Ok(Verdict { digest: digest(0, total), wrong: wrong as u64 })
}

/// Adds the counts of all ranks into the root's `total`.
fn reduce(world: &SimpleCommunicator, counts: &[u64], total: &mut [u64]) {
    let root = world.process_at_rank(0);
    if world.rank() == 0 {
        root.reduce_into_root(counts, total, SystemOperation::sum());
    } else {
        root.reduce_into(counts, SystemOperation::sum());
    }
}
