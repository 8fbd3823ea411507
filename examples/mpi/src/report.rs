//! What each rank did, in a table that the root prints.

use mpi::topology::SimpleCommunicator;
use mpi::traits::*;

/// A column: its name, and how many decimals its numbers have.
#[derive(Debug, Clone, Copy)]
pub struct Column(pub &'static str, pub usize);

/// Prints a line for each rank, which gives a number for each column.
pub fn table<const N: usize>(
    world: &SimpleCommunicator,
    title: &str,
    columns: [Column; N],
    numbers: [f64; N],
) {
    let root = world.process_at_rank(0);
    if world.rank() != 0 {
        return root.gather_into(&numbers[..]);
    }
    let mut all = vec![0.0; N * world.size() as usize];
    root.gather_into_root(&numbers[..], &mut all[..]);

    println!("{title}");
    print!("  rank");
    for Column(name, _) in columns {
        print!("  {name:>12}");
    }
    println!();
    for (rank, line) in all.chunks_exact(N).enumerate() {
        print!("  {rank:>4}");
        for (Column(name, decimals), number) in columns.iter().zip(line) {
            print!("  {number:>width$.decimals$}", width = name.len().max(12));
        }
        println!();
    }
}
