//! Means of integers of all sizes: what they are kept in depends on how large they are and
//! on how many there are.

use std::fmt::Debug;

use ndarray::{Array2, s};
use opkernels::{
    ReduceElement, Reduction, Scatter, ScatterElements, ScatterElementsExt, ScatterExt,
};

use crate::common::Numbers;

/// Integers of up to so many bits, which are negative where `signed`.
fn means<A>(most: u32, signed: bool)
where
    A: ReduceElement + TryFrom<i128, Error: Debug> + PartialEq + Debug,
{
    let counts: &[usize] = if cfg!(miri) {
        &[1, 3, 16]
    } else {
        &[1, 2, 3, 7, 16, 100, 256, 257, 4095, 4096, 32_767, 32_768, 65_535, 65_536]
    };
    for &count in counts {
        // Of many, those whose sums have about as many bits as what holds them.
        let full = |bits: u32| {
            let sum = bits + (usize::BITS - count.leading_zeros()) + 1;
            let near = if matches!(count, 32_767 | 65_535) { 0 } else { 1 };
            [20, 32, 40, 48, 64].iter().any(|&held: &u32| held.abs_diff(sum) <= near)
        };
        for bits in (0..=most).filter(|&bits| count < 100 || bits == most || full(bits)) {
            let (largest, least) = ((1 << bits) - 1, if signed { -(1 << bits) } else { 0 });
            let mut numbers = Numbers(bits.into());
            let range = largest - least + 1;
            let steps = range.min(1 << 30);
            let between = |_| least + range / steps * numbers.below(steps as usize) as i128;
            let random: Vec<i128> = (0..count).map(between).collect();
            let mut nearly = vec![largest; count];
            nearly[count - 1] -= i128::from(largest > 0);
            mean_of::<A>(&nearly, largest);
            if count < 10_000 {
                mean_of::<A>(&random, largest);
                mean_of::<A>(&vec![least; count], least);
            }
        }
    }
}

/// Two lanes, and rows, of the same updates for a target that holds `held`.
fn mean_of<A>(updates: &[i128], held: i128)
where
    A: ReduceElement + TryFrom<i128, Error: Debug> + PartialEq + Debug,
{
    let element = |value: i128| A::try_from(value).unwrap();
    let count = updates.len();
    let column: Vec<A> = updates.iter().map(|&update| element(update)).collect();
    let lanes = Array2::from_shape_vec((2, count), column.repeat(2)).unwrap();
    // Of what is reduced some columns at a time, and of what is not; of many rows, one of both.
    let widths: &[usize] = match count {
        ..1000 => &[5, 81],
        1000..10_000 => &[5, 17],
        32_768 => &[17],
        _ => &[5],
    };
    let rows = widths.iter().map(|&width| {
        // Mostly one value: tests are not optimised, and copies of it take a fraction of the time.
        let mut rows = Array2::from_elem((count, width), column[0]);
        let others = column.iter().enumerate().filter(|&(_, update)| *update != column[0]);
        others.for_each(|(k, &update)| rows.row_mut(k).fill(update));
        rows
    });
    let rows: Vec<_> = rows.collect();
    // Of many, one of both.
    let inits: &[bool] = if count < 10_000 { &[true, false] } else { &[count.is_power_of_two()] };
    for &init in inits {
        let sum = updates.iter().sum::<i128>() + if init { held } else { 0 };
        let mean = element(sum.div_euclid(count as i128 + i128::from(init)));
        let case = || format!("{count} updates like {}, {held}, {init}", updates[0]);

        let data = Array2::from_elem((2, 3), element(held));
        let attributes = ScatterElements::along(1).reduction(Reduction::Mean).use_init_val(init);
        let found =
            data.scatter_elements_with(&Array2::<u8>::zeros((2, count)), &lanes, attributes);
        let found = found.unwrap();
        assert!(found.slice(s![.., 0]).iter().all(|&one| one == mean), "lanes, {}", case());
        assert!(found.slice(s![.., 1..]).iter().all(|&one| one == element(held)), "{}", case());

        for rows in &rows {
            let data = Array2::from_elem((2, rows.shape()[1]), element(held));
            let attributes = Scatter::along(0).reduction(Reduction::Mean).use_init_val(init);
            let found = data.scatter_with(&vec![0_u8; count], rows, attributes).unwrap();
            assert!(found.row(0).iter().all(|&one| one == mean), "rows, {}", case());
            assert!(found.row(1).iter().all(|&one| one == element(held)), "{}", case());
        }
    }
}

#[test]
fn of_small_integers() {
    means::<u8>(8, false);
    means::<i8>(7, true);
    means::<u16>(16, false);
    means::<i16>(15, true);
}

#[test]
fn of_32_bits() {
    means::<u32>(32, false);
    means::<i32>(31, true);
}

#[test]
fn of_64_bits() {
    means::<u64>(64, false);
    means::<i64>(63, true);
}

#[test]
fn of_128_bits() {
    means::<u128>(100, false);
    means::<i128>(100, true);
}
