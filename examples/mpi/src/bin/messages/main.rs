//! Messages along the edges of a graph that is cut over the ranks: nodes belong to
//! ranks, and so do edges, whose ends may be nodes of any rank.
//!
//! A step fetches the rows that edges begin at from their owners, adds up the
//! messages of each node, sends these partial sums to its owner, and adds them up
//! there. Who sends what to whom is planned once.
//!
//! Sums of floats depend on their order. Edges are cut in 64 blocks, however
//! many ranks there are; a rank sums each of its blocks by itself, and the owner adds
//! the sums of blocks in their order. So the answer has the same bits on any number
//! of ranks up to 64.

mod plan;

use std::error::Error;
use std::process::ExitCode;

use mpi::collective::SystemOperation;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;
use ndarray::{Array2, Axis, Zip, s};
use opkernels_mpi::{
    Arguments, Column, Number, Shard, Verdict, digest, launch, longest_piece, mix, table, timed,
};
use plan::{Plan, block_of};

const ABOUT: &str = "Passes messages along the edges of a graph that is spread over all ranks.";

const NUMBERS: &[Number] = &[
    Number { name: "nodes", default: 1 << 16, about: "nodes of the graph" },
    Number { name: "edges", default: 1 << 20, about: "its edges" },
    Number { name: "width", default: 32, about: "numbers in the row of a node" },
    Number { name: "rounds", default: 5, about: "steps" },
    Number { name: "piece", default: 1 << 28, about: "numbers that a call of MPI sends to a rank" },
];

/// Blocks of edges that are summed by themselves.
pub(crate) const BLOCKS: usize = 64;

fn main() -> ExitCode {
    launch(ABOUT, NUMBERS, run)
}

/// The ends of an edge. Few nodes are the beginning of many.
pub(crate) fn edge(number: usize, nodes: usize) -> (u32, u32) {
    let bits = mix(number as u64);
    let uniform = (bits >> 11) as f64 / (1_u64 << 53) as f64;
    let from = (nodes as f64 * uniform * uniform * uniform) as u32;
    (from, (mix(bits) % nodes as u64) as u32)
}

/// The number in a row and column before the first step: between -1 and 1.
fn start(row: usize, column: usize, width: usize) -> f32 {
    (mix((row * width + column) as u64) >> 40) as f32 / (1 << 23) as f32 - 1.0
}

/// A node's row after a step: half of it, and half of the mean message.
fn heard(row: f32, sum: f32, edges: f32) -> f32 {
    0.5 * row + 0.5 * sum / edges.max(1.0)
}

fn run(world: &SimpleCommunicator, arguments: &Arguments) -> Result<Verdict, Box<dyn Error>> {
    let (nodes, edges) = (arguments.get("nodes"), arguments.get("edges"));
    let (width, steps) = (arguments.get("width"), arguments.get("rounds"));
    let (ranks, rank) = (world.size() as usize, world.rank() as usize);
    if ranks > BLOCKS || u32::try_from(nodes).is_err() {
        return Err(format!("no more than {BLOCKS} ranks and 2^32 - 1 nodes are possible").into());
    }
    let own = Shard::new(nodes, ranks, rank).range();
    let piece = arguments.get("piece").min(longest_piece(world));

    let (mut planned, mut taken) = (f64::INFINITY, f64::INFINITY);
    let plan = timed(world, &mut planned, || Plan::new(world, nodes, edges, piece))?;
    let arriving = plan.pass(world, &Array2::ones((own.len(), 1)))?;
    let mut rows = Array2::from_shape_fn((own.len(), width), |(row, column)| {
        start(own.start + row, column, width)
    });
    for _ in 0..steps {
        timed(world, &mut taken, || -> Result<(), Box<dyn Error>> {
            let sums = plan.pass(world, &rows)?;
            let arriving = arriving.broadcast(rows.dim()).ok_or("a number for each row")?;
            Zip::from(&mut rows)
                .and(&sums)
                .and(arriving)
                .for_each(|row, &sum, &edges| *row = heard(*row, sum, edges));
            Ok(())
        })?;
    }

    let [fetched, returned] = plan.sent(rank);
    let columns = [
        Column("own nodes", 0),
        Column("rows to send", 0),
        Column("sums to send", 0),
        Column("plan ms", 1),
        Column("step ms", 2),
        Column("MB a step", 2),
    ];
    let megabytes = ((fetched + returned) * width * size_of::<f32>()) as f64 / 1e6;
    let numbers = [fetched as f64, returned as f64, planned * 1e3, taken * 1e3, megabytes];
    let [a, b, c, d, e] = numbers;
    let title = format!("messages: {nodes} nodes, {edges} edges, ranks: {ranks}");
    table(world, &title, columns, [own.len() as f64, a, b, c, d, e]);

    let expected = alone(nodes, edges, width, steps);
    let expected = expected.slice(s![own.clone(), ..]);
    let differ = |(ours, expected): &(&f32, &f32)| ours.to_bits() != expected.to_bits();
    let wrong = rows.iter().zip(&expected).filter(differ).count() as u64;
    let bits = rows.iter().map(|number| u64::from(number.to_bits()));
    let mut totals = [[0; 1]; 2];
    for (total, part) in totals.iter_mut().zip([digest(own.start * width, bits), wrong]) {
        world.all_reduce_into(&[part][..], &mut total[..], SystemOperation::sum());
    }
    Ok(Verdict { digest: totals[0][0], wrong: totals[1][0] })
}

/// The same by plain loops of one process: the sums of a block, and then those of
/// all blocks.
fn alone(nodes: usize, edges: usize, width: usize, steps: usize) -> Array2<f32> {
    let ends: Vec<(u32, u32)> = (0..edges).map(|number| edge(number, nodes)).collect();
    let mut arriving = vec![0_u32; nodes];
    ends.iter().for_each(|&(_, to)| arriving[to as usize] += 1);
    let mut rows = Array2::from_shape_fn((nodes, width), |(row, column)| start(row, column, width));
    let mut partial = Array2::<f32>::zeros(rows.dim());
    for _ in 0..steps {
        let mut sums = Array2::<f32>::zeros(rows.dim());
        let mut first = 0;
        while first < edges {
            let block = block_of(first, edges);
            let len = ends[first..].iter().enumerate();
            let len = len.take_while(|(k, _)| block_of(first + k, edges) == block).count();
            for &(from, to) in &ends[first..first + len] {
                let mut sum = partial.row_mut(to as usize);
                sum += &rows.row(from as usize);
            }
            for &(_, to) in &ends[first..first + len] {
                // Those of a node that several edges lead to are zeros the next time,
                // which change nothing.
                let mut sum = sums.row_mut(to as usize);
                sum += &partial.row(to as usize);
                partial.row_mut(to as usize).fill(0.0);
            }
            first += len;
        }
        for ((mut row, sum), &edges) in
            rows.axis_iter_mut(Axis(0)).zip(sums.axis_iter(Axis(0))).zip(&arriving)
        {
            row.zip_mut_with(&sum, |row, &sum| *row = heard(*row, sum, edges as f32));
        }
    }
    rows
}
