//! An all-to-all of any length: MPI counts in 31 bits.

use std::borrow::Cow;
use std::ops::Range;

use mpi::Count;
use mpi::collective::SystemOperation;
use mpi::datatype::{Partition, PartitionMut};
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;

/// The most numbers that one call of MPI sends to a rank, so that those to all
/// ranks together can be counted.
pub fn longest_piece(world: &SimpleCommunicator) -> usize {
    Count::MAX as usize / world.size() as usize
}

/// Sends `sent[r]` of the numbers to each rank `r`, in this order, and receives
/// `received[r]` from it: in as many calls as pieces of `piece` numbers ask for.
pub fn exchange<T: Equivalence + Default + Clone>(
    world: &SimpleCommunicator,
    numbers: &[T],
    sent: &[usize],
    received: &[usize],
    piece: usize,
) -> Vec<T> {
    let piece = piece.min(longest_piece(world));
    let longest = sent.iter().chain(received).max().copied().unwrap_or(0);
    let mut calls = [0_u64; 1];
    let needed = [longest.div_ceil(piece) as u64];
    world.all_reduce_into(&needed[..], &mut calls[..], SystemOperation::max());

    let mut all = vec![T::default(); received.iter().sum()];
    for call in 0..calls[0] as usize {
        let outgoing = pieces(sent, call, piece);
        let incoming = pieces(received, call, piece);
        let staged = if calls[0] == 1 {
            Cow::Borrowed(numbers)
        } else {
            Cow::Owned(outgoing.iter().flat_map(|range| numbers[range.clone()].to_vec()).collect())
        };
        let (counts, starts) = counts_and_starts(&outgoing);
        let outgoing = Partition::new(&staged[..], counts, starts);
        let (counts, starts) = counts_and_starts(&incoming);
        let mut arrived = vec![T::default(); incoming.iter().map(Range::len).sum()];
        world.all_to_all_varcount_into(
            &outgoing,
            &mut PartitionMut::new(&mut arrived[..], counts, starts),
        );
        if calls[0] == 1 {
            return arrived;
        }
        let mut rest = &arrived[..];
        for range in incoming {
            let (part, others) = rest.split_at(range.len());
            all[range].clone_from_slice(part);
            rest = others;
        }
    }
    all
}

/// Which of the numbers for each rank a call moves.
fn pieces(counts: &[usize], call: usize, piece: usize) -> Vec<Range<usize>> {
    let mut start = 0;
    let range = |&count: &usize| {
        let place = |call: usize| start + count.min(call.saturating_mul(piece));
        let range = place(call)..place(call + 1);
        start += count;
        range
    };
    counts.iter().map(range).collect()
}

/// The lengths of pieces that lie one after the other, and where they begin.
fn counts_and_starts(pieces: &[Range<usize>]) -> (Vec<Count>, Vec<Count>) {
    let mut start = 0;
    let count = |piece: &Range<usize>| {
        // No more than `longest_piece` each, so all can be counted.
        let (count, before) = (piece.len() as Count, start);
        start += count;
        (count, before)
    };
    pieces.iter().map(count).unzip()
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn pieces_are_all_numbers_once() {
        let counts = [5, 0, 12, 4];
        for piece in [1, 3, 4, 12, usize::MAX] {
            let calls = 12_usize.div_ceil(piece);
            let mut found = vec![0; 21];
            for call in 0..calls {
                let ranges = pieces(&counts, call, piece);
                assert!(ranges.iter().all(|range| range.len() <= piece));
                ranges.into_iter().flatten().for_each(|place| found[place] += 1);
            }
            assert_eq!(found, [1; 21], "{piece}");
        }
    }
}
