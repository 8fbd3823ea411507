//! Means of elements that are their own sums, or keep one of a wider type.

/// What a mean is made of.
pub(crate) trait Running: Copy + Send + Sync + 'static {
    /// A sum, and how many updates it has seen. All zeros are those of nothing.
    type Slot: Copy + 'static;
    /// The sum of nothing but this value, down to the sign of a zero.
    fn slot(self) -> Self::Slot;
    fn add(slot: Self::Slot, update: Self) -> Self::Slot;
    /// The mean of the updates and of `more` values that the sum started from;
    /// without updates what it started from.
    fn mean(slot: Self::Slot, more: u32) -> Self;
}

/// Elements that are their own sums.
pub(crate) trait Divide: Running {
    fn quotient(self, count: u32) -> Self;
}

/// A sum and the number of its updates.
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
            fn mean(slot: Self::Slot, more: u32) -> Self {
                // Divided in any case: no branch.
                let mean = slot.sum.quotient(slot.count.wrapping_add(more));
                if slot.count == 0 { slot.sum } else { mean }
            }
        }
    )*};
}
floats!(f32: f32, f64: f64);
#[cfg(feature = "num-complex")]
floats!(num_complex::Complex<f32>: f32, num_complex::Complex<f64>: f64);

/// An integer of up to 32 bits as one of 64, which holds the sum of fewer than
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
    fn mean(slot: Self::Slot, more: u32) -> Self {
        let count = slot.count.wrapping_add(more);
        let [mean] = floor([slot.sum as u64], (count + u32::from(count == 0)).into());
        Widened(mean as i64)
    }
}

/// The integers of 64 bits keep one of 128, whose low 96 bits are the sum of up
/// to `2^32` numbers and whose high bits count them: one addition does both. A
/// sum that is negative borrows from the count, which is what is left when the
/// sum is taken off again.
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
            fn mean(slot: u128, more: u32) -> Self {
                let sum: i128 = ($sum)(slot);
                let count = (slot.wrapping_sub(sum as u128) >> 96) as u64 + u64::from(more);
                let count = count + u64::from(count == 0);
                floor([sum as u64, (sum >> 64) as u64], count)[0] as $int
            }
        }
    )*};
}
integers_of_64_bits! {
    i64: |slot: u128| (slot << 32) as i128 >> 32,
    u64: |slot: u128| (slot << 32 >> 32) as i128
}

/// A sum of integers of 128 bits, `high * 2^128 + low`, and the number of its
/// updates.
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
            fn mean(slot: Sum192, more: u32) -> Self {
                let Sum192 { low, high, count } = slot;
                let count = u64::from(count.wrapping_add(more));
                let sum = [low as u64, (low >> 64) as u64, high as u64];
                let [low, high, _] = floor(sum, count + u64::from(count == 0));
                ((u128::from(high) << 64) | u128::from(low)) as $int
            }
        }
    )*};
}
integers_of_128_bits!(i128: |update| (update >> 127) as i64, u128: |_| 0);

/// The floor of a sum, in two's complement with the low bits first, divided by a
/// count of at most `2^32`.
#[inline(always)]
fn floor<const N: usize>(sum: [u64; N], count: u64) -> [u64; N] {
    let low = sum[0] as i64;
    if near(low) && sum[1..].iter().all(|&high| high == (low >> 63) as u64) {
        let quotient = near_floor(low, count);
        let mut all = [(quotient >> 63) as u64; N];
        all[0] = quotient as u64;
        return all;
    }
    far_floor(sum, count)
}

/// Long division in base `2^32`.
fn far_floor<const N: usize>(mut sum: [u64; N], count: u64) -> [u64; N] {
    // What the sign stands for, above the highest digit.
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

/// `2^52` and half as much: of numbers about as large, the low bits of an `f64`
/// are the integer.
const MAGIC: f64 = 6_755_399_441_055_744.0;

/// `2^23` and half as much, which is the same for `f32`.
const SHORT_MAGIC: f32 = 12_582_912.0;

/// Whether a sum is near enough to zero for [`near_floor`].
#[inline(always)]
pub(crate) fn near(sum: i64) -> bool {
    const FAR: i64 = 1 << 51;
    (-FAR..FAR).contains(&sum)
}

/// The floor of `sum / count` by way of `f64`, in instructions that work on
/// several at a time, for sums of less than 52 bits. A quotient that is no
/// integer is at least `1 / count` away from the next, which is more than `f64`
/// rounds it by.
#[inline(always)]
pub(crate) fn near_floor(sum: i64, count: u64) -> i64 {
    const BITS: i64 = MAGIC.to_bits() as i64;
    let float = |int: i64| f64::from_bits(int.wrapping_add(BITS) as u64) - MAGIC;
    let quotient = float(sum) / float(count as i64);
    let nearest = quotient + MAGIC;
    let above = i64::from(nearest - MAGIC > quotient);
    (nearest.to_bits() as i64).wrapping_sub(BITS).wrapping_sub(above)
}

/// The floor of `sum / count`, given `by = 1 / count`, for counts of up to 32 bits. The
/// floor of `(sum + 1/2) / count` is the same, and that is at least half of `1 / count`
/// away from any integer, which is more than `f64` rounds it by.
#[inline(always)]
pub(crate) fn floor_by(sum: i32, by: f64) -> i32 {
    let middle = f64::from(sum) * by + (by - 1.0) / 2.0;
    // The nearest integer of what is half below the middle.
    (middle + MAGIC).to_bits() as i32
}

/// The same for sums of up to 48 bits, and quotients of up to 32; only the low 32 bits of
/// the floor are that. Counts have up to 16 bits.
#[inline(always)]
pub(crate) fn wide_floor_by(sum: u64, by: f64) -> u32 {
    let float = f64::from_bits(sum.wrapping_add(MAGIC.to_bits())) - MAGIC;
    let middle = float * by + (by - 1.0) / 2.0;
    (middle + MAGIC).to_bits() as u32
}

/// The same by way of `f32`, for sums of 16 bits and quotients of 8.
#[inline(always)]
pub(crate) fn short_floor_by(sum: u16, by: f32) -> u32 {
    let middle = f32::from(sum) * by + (by - 1.0) / 2.0;
    (middle + SHORT_MAGIC).to_bits()
}

/// The floor of `sum / count` by way of `f32`, for sums of up to 20 bits and counts of up
/// to 12. `(sum + 1/2) / count` is at least `1 / (2 count)` away from any integer, which is
/// more than `f32` rounds it by.
#[inline(always)]
pub(crate) fn short_floor(sum: i32, count: i32) -> i32 {
    let middle = (sum as f32 + 0.5) / count as f32 - 0.5;
    ((middle + SHORT_MAGIC).to_bits() as i32).wrapping_sub(SHORT_MAGIC.to_bits() as i32)
}

#[cfg(test)]
mod tests {
    use super::{floor_by, short_floor_by, wide_floor_by};

    /// Sums on both sides of every multiple of a count that is a mean near `mean`.
    fn around(count: u64, mean: u64) -> [u64; 3] {
        [mean * count, mean * count + count / 2, mean * count + (count - 1)]
    }

    #[test]
    fn quotients_of_16_bits() {
        for count in 1..=257_u16 {
            for mean in 0..=255 {
                for sum in around(count.into(), mean) {
                    let Ok(sum) = u16::try_from(sum) else { continue };
                    let found = short_floor_by(sum, f32::from(count).recip());
                    assert_eq!(found as u8, mean as u8, "{sum} / {count}");
                }
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "many quotients")]
    fn quotients_of_larger_sums() {
        for count in 1..=1_u64 << 16 {
            let by = (count as f64).recip();
            for mean in
                [0, 1, 254, 65_534, 65_535, 1 << 24, u64::from(u32::MAX) - 1, u32::MAX.into()]
            {
                for sum in around(count, mean) {
                    assert_eq!(u64::from(wide_floor_by(sum, by)), mean, "{sum} / {count}");
                    let Ok(sum) = i32::try_from(sum) else { continue };
                    assert_eq!(floor_by(sum, by), mean as i32, "{sum} / {count}");
                    let below = -1 - sum;
                    assert_eq!(floor_by(below, by), -1 - mean as i32, "{below} / {count}");
                }
            }
        }
    }
}
