//! Means: accumulators of a sum and a count, and divisions that round down.

/// Elements that have a mean, and its accumulator.
pub(crate) trait Running: Copy + Send + Sync + 'static {
    /// A sum, and the number of updates in it. A slot whose bytes are all 0 is empty.
    type Slot: Copy + 'static;
    /// The slot whose sum is this value, down to the sign of a zero, and whose count is 0.
    fn slot(self) -> Self::Slot;
    fn add(slot: Self::Slot, update: Self) -> Self::Slot;
    /// The sum divided by the number of updates plus `initial`, the number of values that the sum
    /// started from: 0 or 1. Without updates the value that the sum started from.
    fn mean(slot: Self::Slot, initial: u32) -> Self;
}

/// Elements whose sums are of their own type.
pub(crate) trait Divide: Running {
    fn quotient(self, count: u32) -> Self;
}

/// A sum and the number of updates in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted<S> {
    sum: S,
    count: u32,
}

macro_rules! floats {
    ($($element:ty: $float:ty),*) => {$(
        impl Divide for $element {
            #[inline(always)]
            fn quotient(self, count: u32) -> Self {
                self / count as $float
            }
        }

        impl Running for $element {
            type Slot = Counted<$element>;

            #[inline(always)]
            fn slot(self) -> Self::Slot {
                Counted { sum: self, count: 0 }
            }
            #[inline(always)]
            fn add(slot: Self::Slot, update: Self) -> Self::Slot {
                Counted { sum: slot.sum + update, count: slot.count.wrapping_add(1) }
            }
            #[inline(always)]
            fn mean(slot: Self::Slot, initial: u32) -> Self {
                // The quotient is computed in any case, so that the choice needs no branch.
                let mean = slot.sum.quotient(slot.count.wrapping_add(initial));
                if slot.count == 0 { slot.sum } else { mean }
            }
        }
    )*};
}
floats!(f32: f32, f64: f64);
#[cfg(feature = "num-complex")]
floats!(num_complex::Complex<f32>: f32, num_complex::Complex<f64>: f64);

/// An integer of up to 32 bits as one of 64, which can hold the sum of fewer than
/// `2^31` of them.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Widened(i64);

impl Running for Widened {
    type Slot = Counted<i64>;

    #[inline(always)]
    fn slot(self) -> Self::Slot {
        Counted { sum: self.0, count: 0 }
    }
    #[inline(always)]
    fn add(slot: Self::Slot, update: Self) -> Self::Slot {
        Counted { sum: slot.sum.wrapping_add(update.0), count: slot.count.wrapping_add(1) }
    }
    #[inline(always)]
    fn mean(slot: Self::Slot, initial: u32) -> Self {
        let count = slot.count.wrapping_add(initial);
        let [mean] = floor_div([slot.sum as u64], (count + u32::from(count == 0)).into());
        Widened(mean as i64)
    }
}

/// The slot of an integer of 64 bits is one number of 128 bits: its low 96 bits are the sum of up
/// to `2^32` numbers, its high 32 bits their count, so that one addition updates both. A negative
/// sum borrows from the count; the count is what is left when the sum is subtracted.
macro_rules! integers_of_64_bits {
    ($($int:ty: $sum:expr),*) => {$(
        impl Running for $int {
            type Slot = u128;

            #[inline(always)]
            fn slot(self) -> u128 {
                self as u128
            }
            #[inline(always)]
            fn add(slot: u128, update: Self) -> u128 {
                slot.wrapping_add((update as u128).wrapping_add(1 << 96))
            }
            #[inline(always)]
            fn mean(slot: u128, initial: u32) -> Self {
                let sum: i128 = ($sum)(slot);
                let count = (slot.wrapping_sub(sum as u128) >> 96) as u64 + u64::from(initial);
                let count = count + u64::from(count == 0);
                floor_div([sum as u64, (sum >> 64) as u64], count)[0] as $int
            }
        }
    )*};
}
integers_of_64_bits! {
    i64: |slot: u128| (slot << 32) as i128 >> 32,
    u64: |slot: u128| (slot << 32 >> 32) as i128
}

/// A sum of integers of 128 bits, `high * 2^128 + low`, and the number of updates
/// in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sum192 {
    low: u128,
    high: i64,
    count: u32,
}

macro_rules! integers_of_128_bits {
    ($($int:ty: $sign:expr),*) => {$(
        impl Running for $int {
            type Slot = Sum192;

            #[inline(always)]
            fn slot(self) -> Sum192 {
                let sign: fn($int) -> i64 = $sign;
                Sum192 { low: self as u128, high: sign(self), count: 0 }
            }
            #[inline(always)]
            fn add(slot: Sum192, update: Self) -> Sum192 {
                let Sum192 { low, high, .. } = update.slot();
                let (low, carry) = slot.low.overflowing_add(low);
                let high = slot.high + high + i64::from(carry);
                Sum192 { low, high, count: slot.count.wrapping_add(1) }
            }
            #[inline(always)]
            fn mean(slot: Sum192, initial: u32) -> Self {
                let Sum192 { low, high, count } = slot;
                let count = u64::from(count.wrapping_add(initial));
                let sum = [low as u64, (low >> 64) as u64, high as u64];
                let [low, high, _] = floor_div(sum, count + u64::from(count == 0));
                ((u128::from(high) << 64) | u128::from(low)) as $int
            }
        }
    )*};
}
integers_of_128_bits!(i128: |update| (update >> 127) as i64, u128: |_| 0);

/// The floor of `sum / count`, for a sum in two's complement, whose low bits are in `sum[0]`, and a
/// count from 1 to `2^32`.
#[inline(always)]
fn floor_div<const N: usize>(sum: [u64; N], count: u64) -> [u64; N] {
    let low = sum[0] as i64;
    if fits_i52(low) && sum[1..].iter().all(|&high| high == (low >> 63) as u64) {
        let quotient = floor_div_i52(low, count);
        let mut all = [(quotient >> 63) as u64; N];
        all[0] = quotient as u64;
        return all;
    }
    long_floor_div(sum, count)
}

/// [`floor_div`] of any sum, by long division in base `2^32`.
fn long_floor_div<const N: usize>(mut sum: [u64; N], count: u64) -> [u64; N] {
    // The digits above the highest stand for 0, or for -1 if the sum is negative: their remainder.
    let mut rest = if (sum[N - 1] as i64) < 0 { count - 1 } else { 0 };
    for digits in sum.iter_mut().rev() {
        let mut quotient = 0;
        for digit in [*digits >> 32, *digits & u64::from(u32::MAX)] {
            let dividend = (rest << 32) | digit;
            quotient = (quotient << 32) | (dividend / count);
            rest = dividend % count;
        }
        *digits = quotient;
    }
    sum
}

/// `1.5 * 2^52`. As an `f64`, `MAGIC_F64 + i` has the bits of `MAGIC_F64` plus the integer `i`, if
/// `i` has less than 52 bits; a sum with a number that is no integer is rounded to the nearest.
const MAGIC_F64: f64 = 6_755_399_441_055_744.0;

/// `1.5 * 2^23`, which is the same for `f32` and integers of less than 23 bits.
const MAGIC_F32: f32 = 12_582_912.0;

/// Whether a sum fits in the 52 bits, with its sign, that [`floor_div_i52`] takes.
#[inline(always)]
pub(crate) fn fits_i52(sum: i64) -> bool {
    const FAR: i64 = 1 << 51;
    (-FAR..FAR).contains(&sum)
}

/// The floor of `sum / count`, computed in `f64` so that the compiler can vectorise it, for sums
/// that [fit in 52 bits](fits_i52). A quotient that is no integer is at least `1 / count` from the
/// next integer, which is more than the rounding error of `f64`.
#[inline(always)]
pub(crate) fn floor_div_i52(sum: i64, count: u64) -> i64 {
    const BITS: i64 = MAGIC_F64.to_bits() as i64;
    let float = |int: i64| f64::from_bits(int.wrapping_add(BITS) as u64) - MAGIC_F64;
    let quotient = float(sum) / float(count as i64);
    let nearest = quotient + MAGIC_F64;
    let above = i64::from(nearest - MAGIC_F64 > quotient);
    (nearest.to_bits() as i64).wrapping_sub(BITS).wrapping_sub(above)
}

/// The floor of `sum / count`, given `reciprocal = 1 / count`, for counts of up to 32 bits. The
/// floor of `(sum + 1/2) / count` is the same, and this quotient is at least half of `1 / count`
/// from any integer, which is more than the rounding error of `f64`.
#[inline(always)]
pub(crate) fn floor_recip_i32(sum: i32, reciprocal: f64) -> i32 {
    let middle = f64::from(sum) * reciprocal + (reciprocal - 1.0) / 2.0;
    // The quotient of `sum + 1/2`, less 1/2: its nearest integer is the floor.
    (middle + MAGIC_F64).to_bits() as i32
}

/// [`floor_recip_i32`] for sums of up to 48 bits, counts of up to `2^16`, and floors of up to 32
/// bits; only the low 32 bits are returned.
#[inline(always)]
pub(crate) fn floor_recip_u48(sum: u64, reciprocal: f64) -> u32 {
    let float = f64::from_bits(sum.wrapping_add(MAGIC_F64.to_bits())) - MAGIC_F64;
    let middle = float * reciprocal + (reciprocal - 1.0) / 2.0;
    (middle + MAGIC_F64).to_bits() as u32
}

/// [`floor_recip_i32`] in `f32`, for sums of up to 16 bits and floors of up to 8 bits; only the low
/// 8 bits of the result are the floor.
#[inline(always)]
pub(crate) fn floor_recip_u16(sum: u16, reciprocal: f32) -> u32 {
    let middle = f32::from(sum) * reciprocal + (reciprocal - 1.0) / 2.0;
    (middle + MAGIC_F32).to_bits()
}

/// The floor of `sum / count`, computed in `f32`, for sums of up to 20 bits and counts of up to 12
/// bits. `(sum + 1/2) / count` is at least `1 / (2 count)` from any integer, which is more than the
/// rounding error of `f32`.
#[inline(always)]
pub(crate) fn floor_div_i20(sum: i32, count: i32) -> i32 {
    let middle = (sum as f32 + 0.5) / count as f32 - 0.5;
    ((middle + MAGIC_F32).to_bits() as i32).wrapping_sub(MAGIC_F32.to_bits() as i32)
}

#[cfg(test)]
mod tests {
    use super::{floor_recip_i32, floor_recip_u16, floor_recip_u48};

    /// The least sum whose mean has the floor `mean`, one in the middle, and the greatest.
    fn around(count: u64, mean: u64) -> [u64; 3] {
        [mean * count, mean * count + count / 2, mean * count + (count - 1)]
    }

    #[test]
    fn quotients_of_16_bits() {
        for count in 1..=257_u16 {
            for mean in 0..=255 {
                for sum in around(count.into(), mean) {
                    let Ok(sum) = u16::try_from(sum) else { continue };
                    let found = floor_recip_u16(sum, f32::from(count).recip());
                    assert_eq!(found as u8, mean as u8, "{sum} / {count}");
                }
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "many quotients")]
    fn quotients_of_larger_sums() {
        for count in 1..=1_u64 << 16 {
            let recip = (count as f64).recip();
            for mean in
                [0, 1, 254, 65_534, 65_535, 1 << 24, u64::from(u32::MAX) - 1, u32::MAX.into()]
            {
                for sum in around(count, mean) {
                    assert_eq!(u64::from(floor_recip_u48(sum, recip)), mean, "{sum} / {count}");
                    let Ok(sum) = i32::try_from(sum) else { continue };
                    assert_eq!(floor_recip_i32(sum, recip), mean as i32, "{sum} / {count}");
                    let below = -1 - sum;
                    assert_eq!(
                        floor_recip_i32(below, recip),
                        -1 - mean as i32,
                        "{below} / {count}"
                    );
                }
            }
        }
    }
}
