//! The same checks on calls of the sizes of real work, which reach what small ones do not without small
//! thresholds: tiles, bands, panels, sorted updates, stores past the caches, work in parts.
//!
//! A number decides each call. `LARGE_FIRST` is the first, `LARGE_SECONDS` how long calls are drawn:
//!
//! ```sh
//! LARGE_FIRST=1000 LARGE_SECONDS=300 cargo test --release --all-features --test properties large -- --nocapture
//! ```

use std::time::{Duration, Instant};

use crate::cases::count;
use crate::common::oracle::Kind;
use crate::common::{Numbers, here_and_on_pools, number_from};
use crate::family::{folds, gathers, overwrites, reduces};
use crate::kinds::Case;
use crate::roll;

/// A number from 1 to `most`, of each order of magnitude as often.
fn length(numbers: &mut Numbers, most: usize) -> usize {
    let share = numbers.below(1 << 20) as f64 / f64::from(1 << 20);
    (((most + 1) as f64).powf(share) as usize).clamp(1, most)
}

/// A shape of about `elements` elements.
fn shape(numbers: &mut Numbers, elements: usize) -> Vec<usize> {
    let rank = 1 + numbers.below(4);
    let weights: Vec<f64> =
        (0..rank).map(|_| (numbers.below(1000) as f64 / 1000.0).powi(2) + 0.02).collect();
    let all: f64 = weights.iter().sum();
    weights.iter().map(|weight| (elements as f64).powf(weight / all).round() as usize).collect()
}

fn case(numbers: &mut Numbers, most: usize) -> Case {
    let elements = most / 100 + length(numbers, most);
    let data = shape(numbers, elements);
    let (rank, axis) = (data.len(), numbers.below(data.len()));
    let (kind, indices) = match numbers.below(3) {
        0 => {
            let batch_dims = numbers.below(axis.min(1) + 1);
            let batches: usize = data[..batch_dims].iter().product();
            let around = count(&data) / data[axis].max(1) / batches;
            let number = length(numbers, (most / around.max(1)).clamp(1, 4 * data[axis].max(8)));
            let kind = Kind::Slices { axis: axis as i128, batch_dims: batch_dims as i128 };
            (kind, [&data[..batch_dims], &[number.div_ceil(batches)]].concat())
        }
        1 => {
            let mut indices = data.clone();
            let others = count(&data) / data[axis];
            indices[axis] = length(numbers, (most / others).clamp(1, 4 * data[axis].max(8)));
            let other = numbers.below(rank);
            if other != axis && numbers.once_in(4) {
                indices[other] = indices[other].div_ceil(2);
            }
            (Kind::Elements { axis: axis as i128 }, indices)
        }
        _ => {
            let k = 1 + numbers.below(rank);
            let selected: usize = data[..k].iter().product();
            let row: usize = data[k..].iter().product();
            let number = length(numbers, (most / row.max(k)).clamp(1, 2 * selected.max(8)));
            (Kind::Tuples { batch_dims: 0 }, vec![number, k])
        }
    };
    // Mostly, most arrays in standard layout, few of the others broadcast.
    let any = numbers.once_in(3);
    let layouts = [(); 4].map(|()| match numbers.below(8) {
        0..5 if !any => 4,
        0..7 => numbers.next() / 12 * 12 + 5,
        _ => numbers.next(),
    });
    let (mode, sorted) = ([0, 0, 0, 4, 1, 2, 3][numbers.below(7)], numbers.once_in(3));
    let (wild, seed) = (numbers.once_in(3), numbers.next());
    // One value for all updates, or one for each.
    let flaw = if numbers.once_in(6) { 210 } else { 255 };
    Case { kind, data, indices, mode, wild, sorted, flaw, layouts, seed }
}

/// Runs call number `number`, of at most about so many elements.
fn run(number: u64, most: usize) {
    let mut numbers = Numbers(number);
    if numbers.once_in(6) {
        let elements = most / 100 + length(&mut numbers, most);
        let data = shape(&mut numbers, elements);
        let axes: Vec<i64> = (0..data.len() as i64).filter(|_| !numbers.once_in(2)).collect();
        let shift = |axis: &i64| {
            let len = data[*axis as usize] as i64;
            [1, len / 2, -1, numbers.below(len as usize) as i64][numbers.below(4)]
        };
        let shifts = axes.iter().map(shift).collect();
        let layouts = [(); 3].map(|()| numbers.next());
        let (element, seed) = (numbers.below(6), numbers.next());
        let case = roll::Case { data, shifts, axes, layouts, seed };
        return match element {
            0 => roll::check::<u8>(&case),
            1 => roll::check::<i16>(&case),
            2 => roll::check::<f32>(&case),
            3 => roll::check::<f64>(&case),
            4 => roll::check::<u128>(&case),
            _ => roll::check::<[u8; 3]>(&case),
        };
    }
    let case = case(&mut numbers, most);
    match numbers.below(20) {
        0 => gathers::<u8, u16>(&case),
        1 => gathers::<i16, i64>(&case),
        2 => gathers::<f32, i64>(&case),
        3 => gathers::<f64, i32>(&case),
        4 => gathers::<u128, u32>(&case),
        5 => gathers::<[u8; 3], i64>(&case),
        6 => overwrites::<u8, i64>(case),
        7 => overwrites::<f32, i32>(case),
        8 => overwrites::<i64, usize>(case),
        9 => overwrites::<[f32; 3], i64>(case),
        10 => folds::<i64, u8, i64>(case, |state, update| {
            *state = state.wrapping_mul(31).wrapping_add(i64::from(*update) + 1);
        }),
        11 => reduces::<u8, i64>(case),
        12 => reduces::<i32, i64>(case),
        13 => reduces::<u64, u32>(case),
        14 => reduces::<f64, i64>(case),
        15 => reduces::<bool, i64>(case),
        #[cfg(feature = "half")]
        16 => reduces::<half::f16, i64>(case),
        #[cfg(feature = "half")]
        17 => reduces::<half::bf16, i32>(case),
        #[cfg(feature = "num-complex")]
        18 => reduces::<num_complex::Complex<f32>, i64>(case),
        _ => reduces::<f32, i64>(case),
    }
}

#[test]
fn large_calls() {
    let first = number_from("LARGE_FIRST").unwrap_or(0);
    let Some(seconds) = number_from("LARGE_SECONDS") else {
        (first..first + 200).for_each(|number| run(number, 30_000));
        return;
    };
    let end = Instant::now() + Duration::from_secs(seconds);
    for number in (first..).take_while(|_| Instant::now() < end) {
        println!("call {number}");
        here_and_on_pools(|| run(number, 3_000_000 >> (number % 8)));
    }
}
