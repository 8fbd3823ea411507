//! What does not change from step to step: which rows are fetched from whom, which
//! sums are sent back, and where each of them goes.

use std::error::Error;
use std::ops::Range;

use mpi::topology::SimpleCommunicator;
use mpi::traits::*;
use ndarray::{Array1, Array2, Axis};
use opkernels::{GatherExt, IndexPlan, Scatter, ScatterExt};
use opkernels_mpi::{Shard, exchange};

use crate::{BLOCKS, edge};

/// Messages along this rank's edges to nodes that any rank may own.
pub(crate) struct Plan {
    /// Rows that this rank's edges begin at, by their owners.
    fetched: Route,
    /// Which of this rank's rows others fetch, in the order of sending.
    asked: IndexPlan,
    /// For each edge, which of the fetched rows it begins at.
    from: IndexPlan,
    /// For each edge, to which of the partial sums it adds.
    to: IndexPlan,
    /// Partial sums, by the owners of their nodes.
    returned: Route,
    /// For each partial sum that arrives, which of this rank's rows it is for.
    added: IndexPlan,
    /// Numbers that one call of MPI sends to a rank.
    piece: usize,
}

/// How many rows go to each rank, and how many come from it.
struct Route {
    sent: Vec<usize>,
    received: Vec<usize>,
}

/// The edges of the blocks of a rank, in the order of blocks.
pub(crate) fn edges_of(blocks: Range<usize>, edges: usize) -> Range<usize> {
    let first = |block| Shard::new(edges, BLOCKS, 0).start(block);
    first(blocks.start)..first(blocks.end)
}

/// The block of an edge.
pub(crate) fn block_of(number: usize, edges: usize) -> usize {
    Shard::new(edges, BLOCKS, 0).owner(number)
}

impl Plan {
    pub(crate) fn new(
        world: &SimpleCommunicator,
        nodes: usize,
        edges: usize,
        piece: usize,
    ) -> Result<Self, Box<dyn Error>> {
        let (ranks, rank) = (world.size() as usize, world.rank() as usize);
        let own = Shard::new(nodes, ranks, rank);
        let numbers = edges_of(Shard::new(BLOCKS, ranks, rank).range(), edges);
        let ends: Vec<(u32, u32)> = numbers.clone().map(|number| edge(number, nodes)).collect();

        // Ascending ids are in the order of their owners.
        let mut sources: Vec<u32> = ends.iter().map(|&(from, _)| from).collect();
        sources.sort_unstable();
        sources.dedup();
        let from = ends.iter().map(|(from, _)| sources.binary_search(from));
        let from: Array1<usize> = from.collect::<Result<_, _>>().map_err(|_| "a row is missing")?;
        let fetched = Route::new(world, own, sources.iter().copied()).turned();
        let asked = exchange(world, &sources, &fetched.received, &fetched.sent, piece);

        // A sum for each node of each block. Ascending, they are in the order of
        // owners, and those of a node in the order of blocks, also where all ranks
        // have sent theirs: ranks have ascending blocks.
        let key = |(number, &(_, to)): (usize, &(u32, u32))| (to, block_of(number, edges));
        let keys: Vec<(u32, usize)> = numbers.zip(&ends).map(key).collect();
        let mut sums = keys.clone();
        sums.sort_unstable();
        sums.dedup();
        let to = keys.iter().map(|key| sums.binary_search(key));
        let to: Array1<usize> = to.collect::<Result<_, _>>().map_err(|_| "a sum is missing")?;
        let nodes_of_sums: Vec<u32> = sums.iter().map(|&(node, _)| node).collect();
        let returned = Route::new(world, own, nodes_of_sums.iter().copied());
        let added = exchange(world, &nodes_of_sums, &returned.sent, &returned.received, piece);

        let own = own.range();
        let here = |ids: Vec<u32>| ids.into_iter().map(|id| id - own.start as u32);
        Ok(Plan {
            asked: IndexPlan::new(&here(asked).collect::<Array1<u32>>(), own.len())?,
            from: IndexPlan::new(&from, sources.len())?,
            to: IndexPlan::new(&to, sums.len())?,
            added: IndexPlan::new(&here(added).collect::<Array1<u32>>(), own.len())?,
            fetched,
            returned,
            piece,
        })
    }

    /// The sums of the rows at the beginnings of edges, for each of this rank's
    /// nodes, whichever ranks have the edges and the rows.
    pub(crate) fn pass(
        &self,
        world: &SimpleCommunicator,
        rows: &Array2<f32>,
    ) -> Result<Array2<f32>, Box<dyn Error>> {
        let fetched = self.fetched.send(world, &rows.gather(&self.asked, Axis(0))?, self.piece)?;
        let messages = fetched.gather(&self.from, Axis(0))?;
        let mut sums = Array2::zeros((self.returned.sent.iter().sum(), rows.ncols()));
        sums.scatter_inplace(&self.to, &messages, Scatter::sum(0))?;
        let returned = self.returned.send(world, &sums, self.piece)?;
        let mut all = Array2::zeros(rows.dim());
        all.scatter_inplace(&self.added, &returned, Scatter::sum(0))?;
        Ok(all)
    }

    /// How many rows and how many sums this rank sends to others in a step.
    pub(crate) fn sent(&self, rank: usize) -> [usize; 2] {
        [&self.fetched, &self.returned]
            .map(|route| route.sent.iter().sum::<usize>() - route.sent[rank])
    }
}

impl Route {
    /// To the owners of these ids, which ascend.
    fn new(world: &SimpleCommunicator, shard: Shard, ids: impl Iterator<Item = u32>) -> Self {
        let mut sent = vec![0_u64; world.size() as usize];
        ids.for_each(|id| sent[shard.owner(id as usize)] += 1);
        let mut received = vec![0_u64; sent.len()];
        world.all_to_all_into(&sent[..], &mut received[..]);
        let lengths = |counts: Vec<u64>| counts.into_iter().map(|count| count as usize).collect();
        Route { sent: lengths(sent), received: lengths(received) }
    }

    /// The way back.
    fn turned(self) -> Self {
        Route { sent: self.received, received: self.sent }
    }

    fn send(
        &self,
        world: &SimpleCommunicator,
        rows: &Array2<f32>,
        piece: usize,
    ) -> Result<Array2<f32>, Box<dyn Error>> {
        let width = rows.ncols();
        let numbers =
            |counts: &[usize]| counts.iter().map(|count| count * width).collect::<Vec<_>>();
        let (sent, received) = (numbers(&self.sent), numbers(&self.received));
        let rows = rows.as_slice().ok_or("rows lie one after the other")?;
        let arrived = exchange(world, rows, &sent, &received, piece);
        Ok(Array2::from_shape_vec((self.received.iter().sum(), width), arrived)?)
    }
}
