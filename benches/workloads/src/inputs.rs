//! Inputs made from a fixed seed, in huge pages where large: NumPy's are too.

use ndarray::{Array, Dimension, ShapeBuilder};
use opkernels::RollExt;

/// A stream of numbers that is the same in every run (splitmix64).
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new() -> Self {
        Numbers::seeded(7)
    }

    pub(crate) fn seeded(seed: u64) -> Self {
        Numbers(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to 1, which it stays below.
    pub(crate) fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The stream of a seed: numbers of 64 random bits.
pub fn random(seed: u64) -> impl Iterator<Item = u64> {
    let mut numbers = Numbers::seeded(seed);
    std::iter::repeat_with(move || numbers.next())
}

/// An array of numbers made from the stream, its memory in huge pages.
pub(crate) fn array<T, D>(shape: impl ShapeBuilder<Dim = D>, make: impl Fn(u64) -> T) -> Array<T, D>
where
    T: Clone + Send + Sync,
    D: Dimension,
{
    let mut numbers = Numbers::new();
    copy(&Array::from_shape_simple_fn(shape, || make(numbers.next())))
}

/// A copy of an array, of the same layout, in huge pages.
pub(crate) fn copy<T, D>(array: &Array<T, D>) -> Array<T, D>
where
    T: Clone + Send + Sync,
    D: Dimension,
{
    let no_axes: [i32; 0] = [];
    array.roll(0, no_axes).expect("memory for the inputs")
}

/// An array to write to.
pub(crate) fn blank<T, D>(shape: impl ShapeBuilder<Dim = D>) -> Array<T, D>
where
    T: Clone + Default + Send + Sync,
    D: Dimension,
{
    copy(&Array::default(shape))
}

pub(crate) fn floats<D: Dimension>(shape: impl ShapeBuilder<Dim = D>) -> Array<f32, D> {
    array(shape, |bits| (bits >> 40) as f32 / (1 << 24) as f32)
}

pub(crate) fn indices<D: Dimension>(
    shape: impl ShapeBuilder<Dim = D>,
    below: usize,
) -> Array<i64, D> {
    array(shape, |bits| (bits % below as u64) as i64)
}
