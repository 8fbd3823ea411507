//! The look-up that moves only the rows that are needed.

use std::error::Error;

use mpi::Count;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;
use ndarray::{Array1, Array2, s};
use opkernels::{GatherExt, Reduction, ScatterElements, ScatterElementsExt};
use opkernels_mpi::{Arguments, Column, Shard, longest_piece, table, timed};

use crate::Rows;

/// Leaves this rank with the embeddings of its own part of the text.
pub(crate) fn look_up(
    world: &SimpleCommunicator,
    held: &Rows,
    shard: Shard,
    text: &Array1<u32>,
    arguments: &Arguments,
) -> Result<Array2<f32>, Box<dyn Error>> {
    let (ranks, rank) = (world.size() as usize, world.rank() as usize);
    let part = Shard::new(text.len(), ranks, rank).range();
    let tokens = text.slice(s![part]).to_owned();

    let mut found = Array2::zeros((0, 0));
    // The best times of sorting, gathering and communicating.
    let mut best = [f64::INFINITY; 3];
    let mut moved = (0, 0);
    for _ in 0..arguments.get("rounds") {
        let [mut before, mut gather, mut ids, mut rows, mut after] = [f64::INFINITY; 5];
        let request = timed(world, &mut before, || Request::new(&tokens, shard, ranks))?;
        let asked = timed(world, &mut ids, || request.send(world));
        let mut answer = Array2::zeros((asked.ids.len(), held.table.ncols()));
        timed(world, &mut gather, || held.look_up(&asked.ids, &mut answer))?;
        let received = timed(world, &mut rows, || asked.answer(world, &answer, &request))?;
        found = timed(world, &mut after, || received.gather(&request.places, 0))?;

        for (best, time) in best.iter_mut().zip([before + after, gather, ids + rows]) {
            *best = best.min(time);
        }
        moved = (for_others(&request.counts, rank), for_others(&asked.counts, rank));
    }

    let (ids, rows) = moved;
    let bytes = (ids + rows * held.table.ncols()) * size_of::<f32>();
    let [sort, gather, communicate] = best.map(|seconds| seconds * 1e3);
    let columns = [
        Column("own tokens", 0),
        Column("rows to send", 0),
        Column("sort ms", 2),
        Column("gather ms", 2),
        Column("all-to-all ms", 2),
        Column("MB to send", 2),
    ];
    let numbers = [tokens.len() as f64, rows as f64, sort, gather, communicate, bytes as f64 / 1e6];
    let title = format!("embedding by all-to-all: {} tokens, ranks: {ranks}", text.len());
    table(world, &title, columns, numbers);
    Ok(found)
}

/// The sum of the counts for the other ranks.
fn for_others(counts: &[Count], rank: usize) -> usize {
    let others = counts.iter().enumerate().filter(|(other, _)| *other != rank);
    others.map(|(_, &count)| count as usize).sum()
}

/// The tokens whose rows a rank needs, in the order of the rows' owners.
struct Request {
    ids: Array1<u32>,
    /// How many of them each rank owns.
    counts: Vec<Count>,
    /// Where in `ids` each of the tokens went.
    places: Array1<u32>,
}

impl Request {
    fn new(tokens: &Array1<u32>, shard: Shard, ranks: usize) -> Result<Self, Box<dyn Error>> {
        let owners = tokens.mapv(|token| shard.owner(token as usize));
        let mut order: Vec<u32> = (0..u32::try_from(tokens.len())?).collect();
        order.sort_by_key(|&n| owners[n as usize]);

        let mut counts = Array1::<Count>::zeros(ranks);
        let ones = Array1::ones(owners.len());
        let sum = ScatterElements::along(0).reduction(Reduction::Sum);
        counts.scatter_elements_inplace(&owners, &ones, sum)?;

        // The inverse of a permutation is a scatter of 0, 1, 2, ...
        let sorted: Array1<u32> = (0..order.len() as u32).collect();
        let places = Array1::zeros(order.len()).scatter_elements(&order, &sorted, 0)?;
        Ok(Request { ids: tokens.gather(&order, 0)?, counts: counts.to_vec(), places })
    }

    /// Sends every rank the ids of its rows, and returns those that this rank
    /// is asked for.
    fn send(&self, world: &SimpleCommunicator) -> Asked {
        let mut counts: Vec<Count> = vec![0; self.counts.len()];
        world.all_to_all_into(&self.counts[..], &mut counts[..]);
        let ids = exchange(world, self.ids.as_slice().unwrap(), &self.counts, &counts, 1);
        Asked { ids: Array1::from(ids), counts }
    }
}

/// The tokens whose rows the ranks need from this one, in the order of ranks.
struct Asked {
    ids: Array1<u32>,
    /// How many of them each rank needs.
    counts: Vec<Count>,
}

impl Asked {
    /// Sends the rows, and returns those that this rank had requested.
    fn answer(
        &self,
        world: &SimpleCommunicator,
        rows: &Array2<f32>,
        request: &Request,
    ) -> Result<Array2<f32>, Box<dyn Error>> {
        let width = rows.ncols();
        let sent = rows.as_slice().unwrap();
        let received = exchange(world, sent, &self.counts, &request.counts, width);
        Ok(Array2::from_shape_vec((request.ids.len(), width), received)?)
    }
}

/// Sends `sent[r]` items of `width` numbers to each rank `r`, and receives
/// `received[r]` of them from it.
fn exchange<T: Equivalence + Default + Clone>(
    world: &SimpleCommunicator,
    numbers: &[T],
    sent: &[Count],
    received: &[Count],
    width: usize,
) -> Vec<T> {
    let all =
        |counts: &[Count]| counts.iter().map(|&count| count as usize * width).collect::<Vec<_>>();
    opkernels_mpi::exchange(world, numbers, &all(sent), &all(received), longest_piece(world))
}
