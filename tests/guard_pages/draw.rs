//! Random shapes, layouts and indices.

use ndarray::ArrayD;
use opkernels::OutOfBounds;

use crate::common::oracle::Kind;
use crate::common::{Index, Laid, Layout, Numbers, Value, array_of};
use crate::fence::{Side, within};

/// The sizes of the pools that calls run on.
pub(crate) const THREADS: [usize; 4] = [1, 2, 3, 8];

/// What an operation's indices select.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Select {
    Slices,
    Elements,
    Tuples,
}

/// Lengths about which kernels and chunks change.
const EDGES: [usize; 16] = [8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128, 255, 256, 257, 1024, 1025];

/// Elements of at most so many bytes in all: mostly few, seldom so many that work
/// is split, or that results are written past the caches.
pub(crate) fn most<A>(numbers: &mut Numbers) -> usize {
    let bytes: usize = match numbers.below(400) {
        0 => 20 << 20,
        1..=40 => 2 << 20,
        41..=120 => 256 << 10,
        _ => 24 << 10,
    };
    // Each owner has pages of its own; small elements are slow to make and compare.
    let most = if std::mem::needs_drop::<A>() { 300 } else { 400_000 };
    (bytes / size_of::<A>().max(1)).clamp(8, most)
}

/// A shape of at most so many elements.
pub(crate) fn shape(most: usize, numbers: &mut Numbers) -> Vec<usize> {
    let mut shape: Vec<usize> = (0..numbers.below(6)).map(|_| length(numbers)).collect();
    shrink(&mut shape, most, numbers);
    shape
}

fn length(numbers: &mut Numbers) -> usize {
    match numbers.below(40) {
        0 => 0,
        1..=16 => 1 + numbers.below(5),
        17..=22 => 1 + numbers.below(40),
        23..=27 => 1 + numbers.below(300),
        28..=35 => EDGES[numbers.below(EDGES.len())],
        36 => 1 + numbers.below(5000),
        _ => 1,
    }
}

/// Shortens axes, any but the first `kept`, until there are at most so many
/// elements.
fn shrink_from(kept: usize, shape: &mut [usize], most: usize, numbers: &mut Numbers) {
    let count = |shape: &[usize]| shape.iter().map(|&len| len.max(1)).product::<usize>();
    while count(shape) > most && shape[kept..].iter().any(|&len| len > 1) {
        let axis = kept + numbers.below(shape.len() - kept);
        shape[axis] = shape[axis].div_ceil(2 + numbers.below(3));
    }
}

fn shrink(shape: &mut [usize], most: usize, numbers: &mut Numbers) {
    shrink_from(0, shape, most, numbers);
}

/// An array in memory of its own, in any layout that reaches both ends of it.
pub(crate) fn laid<A: Value>(
    contents: &ArrayD<A>,
    broadcast: bool,
    side: Side,
    numbers: &mut Numbers,
) -> Laid<A> {
    let rank = contents.ndim();
    let mut layout = match numbers.below(8) {
        0..=2 => Layout::standard(rank),
        3 => Layout::transposed(rank),
        4 => Layout::reversed(rank),
        5 => Layout::mixed(rank),
        _ => Layout::from_number(rank, numbers.next()),
    };
    layout.margins.fill(0);
    layout.pitch = 1;
    if broadcast && numbers.once_in(8) {
        layout = layout.broadcast(numbers.next());
    }
    within(side, || Laid::new(contents, layout))
}

/// An array of this shape in memory of its own, to be read.
pub(crate) fn array<A: Value>(shape: &[usize], side: Side, numbers: &mut Numbers) -> Laid<A> {
    laid(&array_of(shape, numbers.next()), true, side, numbers)
}

/// What indices select, and their shape.
pub(crate) fn kind(
    select: Select,
    data: &[usize],
    most: usize,
    batched: bool,
    numbers: &mut Numbers,
) -> (Kind, Vec<usize>) {
    let rank = data.len();
    let axis = if rank == 0 { 0 } else { numbers.below(rank) };
    let row = |kept: &[usize]| kept.iter().map(|&len| len.max(1)).product::<usize>();
    match select {
        Select::Slices => {
            let mut indices: Vec<usize> = (0..numbers.below(4)).map(|_| length(numbers)).collect();
            let batch = if batched { axis.min(indices.len()) } else { 0 };
            let batch = if numbers.once_in(3) { numbers.below(batch + 1) } else { 0 };
            indices[..batch].copy_from_slice(&data[..batch]);
            let others = row(&data[batch.min(rank)..]) / data.get(axis).map_or(1, |&n| n.max(1));
            shrink_from(batch, &mut indices, (most / others.max(1)).max(2), numbers);
            (Kind::Slices { axis: axis as i128, batch_dims: batch as i128 }, indices)
        }
        Select::Elements => {
            let mut indices = data.to_vec();
            if numbers.once_in(3) {
                indices.iter_mut().for_each(|len| *len = len.saturating_sub(numbers.below(3)));
            }
            if let Some(len) = indices.get_mut(axis) {
                *len = length(numbers);
            }
            shrink(&mut indices, most, numbers);
            (Kind::Elements { axis: axis as i128 }, indices)
        }
        Select::Tuples => {
            let mut indices: Vec<usize> = (0..numbers.below(4)).map(|_| length(numbers)).collect();
            let batch = if batched { indices.len().min(rank.saturating_sub(1)) } else { 0 };
            let batch = if numbers.once_in(3) { numbers.below(batch + 1) } else { 0 };
            indices[..batch].copy_from_slice(&data[..batch]);
            let count = 1 + numbers.below((rank - batch).max(1));
            let block = row(&data[(batch + count).min(rank)..]);
            shrink_from(batch, &mut indices, (most / block).max(2), numbers);
            indices.push(count);
            (Kind::Tuples { batch_dims: batch as i128 }, indices)
        }
    }
}

/// Indices of this shape, few or none of which are out of bounds.
pub(crate) fn indices<I: Index>(
    kind: Kind,
    data: &[usize],
    shape: &[usize],
    wild: usize,
    side: Side,
    numbers: &mut Numbers,
) -> Laid<I> {
    let len = match kind {
        Kind::Slices { axis, .. } | Kind::Elements { axis } => data.get(axis as usize).copied(),
        Kind::Tuples { batch_dims } => {
            data[(batch_dims as usize).min(data.len())..].iter().copied().min()
        }
    };
    let n = len.unwrap_or(1) as i128;
    // The ends of an axis are as likely as all between.
    let inside = |numbers: &mut Numbers| match numbers.below(4) {
        0 => [0, n - 1, -n, -1][numbers.below(4)],
        _ => numbers.below((2 * n).max(1) as usize) as i128 - n,
    };
    let outside = |numbers: &mut Numbers| {
        let far = i128::from(numbers.next() as i64);
        [n, -n - 1, n + 1, far, i128::from(i64::MIN), 1 << 32, 1 << 31][numbers.below(7)]
    };
    let one = |numbers: &mut Numbers| {
        let index =
            if wild > 0 && numbers.once_in(wild) { outside(numbers) } else { inside(numbers) };
        I::try_from(index).unwrap_or_else(|_| I::zero())
    };
    let contents = ArrayD::from_shape_simple_fn(shape, || one(numbers));
    laid(&contents, true, side, numbers)
}

/// A policy, and one in how many indices may be out of bounds under it.
pub(crate) fn mode<V>(
    other: impl FnOnce(&mut Numbers) -> OutOfBounds<V>,
    numbers: &mut Numbers,
) -> (OutOfBounds<V>, usize) {
    match numbers.below(8) {
        0 => (OutOfBounds::Clip, 3),
        1 => (OutOfBounds::Wrap, 3),
        2 | 3 => (other(numbers), 3),
        // A single one is enough to refuse a call.
        4 => (OutOfBounds::Error, 200),
        _ => (OutOfBounds::Error, 0),
    }
}
