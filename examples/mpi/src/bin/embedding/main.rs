//! A token-embedding table whose rows are spread over the ranks, looked up in
//! the two ways that large models use.
//!
//! - **All-reduce**: each rank gathers every token from its own rows, where a
//!   token of other rows selects zeros, and a sum over the ranks leaves every
//!   rank with all embeddings.
//! - **All-to-all**: the tokens are spread over the ranks too; each rank sends
//!   every owner the ids that it needs and gets their rows back.
//!
//! A sum of one number and zeros is that number, so the answers are the same to
//! the bit for every number of ranks. The zeros are -0.0, since +0.0 added to
//! an embedding's -0.0 is +0.0.

mod all_to_all;

use std::error::Error;
use std::process::ExitCode;

use mpi::collective::SystemOperation;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;
use ndarray::{Array1, Array2, ArrayView2};
use opkernels::{Gather, GatherExt, OutOfBounds};
use opkernels_mpi::{Arguments, Column, Number, Shard, Verdict, digest, launch, mix, table, timed};

const ABOUT: &str = "Looks tokens up in an embedding table that is spread over all ranks.";

const NUMBERS: &[Number] = &[
    Number { name: "rows", default: 1 << 16, about: "rows of the table: the vocabulary" },
    Number { name: "width", default: 256, about: "numbers in a row" },
    Number { name: "tokens", default: 1 << 14, about: "tokens to look up" },
    Number { name: "rounds", default: 5, about: "times to measure; the best counts" },
];

/// Stands for "no token"; its embedding is zeros.
const PADDING: u32 = u32::MAX;

/// MPI counts in 31 bits, so a sum over more numbers is made in pieces.
const PIECE: usize = 1 << 28;

fn main() -> ExitCode {
    launch(ABOUT, NUMBERS, run)
}

/// The number in a row and column of the table: between -1 and 1, some -0.0.
fn entry(row: usize, column: usize, width: usize) -> f32 {
    let bits = mix((row * width + column) as u64);
    let magnitude = (bits >> 40) as f32 / (1 << 24) as f32;
    match bits % 16 {
        0 => -0.0,
        sign => magnitude * if sign % 2 == 0 { 1.0 } else { -1.0 },
    }
}

/// Token number `n` of the text. As in a language, the first of the
/// vocabulary are the most frequent; every 50th is padding.
fn token(n: usize, rows: usize) -> u32 {
    let bits = mix(n as u64);
    let uniform = (bits >> 11) as f64 / (1_u64 << 53) as f64;
    if bits.is_multiple_of(50) {
        PADDING
    } else {
        (rows as f64 * uniform * uniform * uniform) as u32
    }
}

/// The rows of the table that this rank holds.
struct Rows {
    table: Array2<f32>,
    first: u32,
}

impl Rows {
    fn new(shard: Shard, width: usize) -> Result<Self, Box<dyn Error>> {
        let range = shard.range();
        let element = |(row, column)| entry(range.start + row, column, width);
        let table = Array2::from_shape_fn((range.len(), width), element);
        Ok(Rows { table, first: u32::try_from(range.start)? })
    }

    /// The embeddings of `tokens`, and zeros for those of other ranks' rows.
    fn look_up(&self, tokens: &Array1<u32>, out: &mut Array2<f32>) -> opkernels::Result<()> {
        // Tokens before the first row wrap to at least 2^32 - first, which is
        // past the last row of any table of less than 2^32 rows. Unsigned,
        // they do not count from the end as negative indices would.
        let own = tokens.mapv(|token| token.wrapping_sub(self.first));
        let zeros = Gather::along(0).out_of_bounds(OutOfBounds::Fill(-0.0));
        self.table.gather_into(&own, zeros, out)
    }

    /// How many of the tokens are of these rows.
    fn holds(&self, tokens: &Array1<u32>) -> usize {
        let own = |token: &&u32| (token.wrapping_sub(self.first) as usize) < self.table.nrows();
        tokens.iter().filter(own).count()
    }
}

fn run(world: &SimpleCommunicator, arguments: &Arguments) -> Result<Verdict, Box<dyn Error>> {
    let (rows, tokens) = (arguments.get("rows"), arguments.get("tokens"));
    if rows > PADDING as usize {
        return Err("--rows must leave one u32 for the padding".into());
    }
    let (ranks, rank) = (world.size() as usize, world.rank() as usize);
    let shard = Shard::new(rows, ranks, rank);
    let held = Rows::new(shard, arguments.get("width"))?;
    let text: Array1<u32> = (0..tokens).map(|n| token(n, rows)).collect();

    let reduced = by_all_reduce(world, &held, &text, arguments)?;
    let part = Shard::new(tokens, ranks, rank).range();
    let exchanged = all_to_all::look_up(world, &held, shard, &text, arguments)?;

    let all = check(reduced.view(), &text, 0, rows);
    let own = check(exchanged.view(), &text, part.start, rows);
    // Every rank must hold the same; the parts of the other way add up to it.
    let (mut digests, mut wrong) = ([0; 1], [0; 1]);
    world.all_reduce_into(&[own.digest][..], &mut digests[..], SystemOperation::sum());
    let different = u64::from(digests[0] != all.digest);
    let faults = all.wrong + own.wrong + different;
    world.all_reduce_into(&[faults][..], &mut wrong[..], SystemOperation::sum());
    Ok(Verdict { digest: all.digest, wrong: wrong[0] })
}

/// Leaves every rank with the embeddings of all tokens.
fn by_all_reduce(
    world: &SimpleCommunicator,
    held: &Rows,
    text: &Array1<u32>,
    arguments: &Arguments,
) -> Result<Array2<f32>, Box<dyn Error>> {
    let mut part = Array2::zeros((text.len(), held.table.ncols()));
    let mut sum = Array2::<f32>::zeros(part.dim());
    let (mut compute, mut communicate) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..arguments.get("rounds") {
        timed(world, &mut compute, || held.look_up(text, &mut part))?;
        timed(world, &mut communicate, || {
            let parts = part.as_slice().unwrap().chunks(PIECE);
            let sums = sum.as_slice_mut().unwrap().chunks_mut(PIECE);
            for (part, sum) in parts.zip(sums) {
                world.all_reduce_into(part, sum, SystemOperation::sum());
            }
        });
    }
    let ranks = world.size() as f64;
    let megabytes = size_of_val(sum.as_slice().unwrap()) as f64 / 1e6;
    let columns = [
        Column("table rows", 0),
        Column("tokens held", 0),
        Column("gather ms", 2),
        Column("all-reduce ms", 2),
        Column("MB to send", 2),
    ];
    let numbers = [
        held.table.nrows() as f64,
        held.holds(text) as f64,
        compute * 1e3,
        communicate * 1e3,
        // What a ring sends, the least that any all-reduce can.
        2.0 * (ranks - 1.0) / ranks * megabytes,
    ];
    let title = format!("embedding by all-reduce: {} tokens, ranks: {ranks}", text.len());
    table(world, &title, columns, numbers);
    Ok(sum)
}

/// Compares embeddings of the tokens from `first` on with the table's formula.
fn check(found: ArrayView2<'_, f32>, text: &Array1<u32>, first: usize, rows: usize) -> Verdict {
    let width = found.ncols();
    let expected = |(n, column)| match text[first + n] {
        PADDING => -0.0_f32,
        token if (token as usize) < rows => entry(token as usize, column, width),
        token => unreachable!("token {token} is not in the vocabulary"),
    };
    let differs =
        |(place, found): &((usize, usize), &f32)| found.to_bits() != expected(*place).to_bits();
    let wrong = found.indexed_iter().filter(differs).count() as u64;
    let bits = found.iter().map(|number| u64::from(number.to_bits()));
    Verdict { digest: digest(first * width, bits), wrong }
}
