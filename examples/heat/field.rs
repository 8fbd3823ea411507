//! Heat on a torus: a square whose edges meet, so that what flows or blows out
//! on one side comes in on the other.

use std::f64::consts::{PI, TAU};

use ndarray::{Array2, Zip};
use opkernels::{Result, RollExt};

/// How much of the difference to a neighbour flows in one step. Beyond 1/4 the
/// scheme would be unstable.
pub(crate) const FLOW: f64 = 0.2;

/// Temperatures, and room for those of the four neighbours.
pub(crate) struct Field {
    pub(crate) heat: Array2<f64>,
    neighbours: [Array2<f64>; 4],
}

impl Field {
    pub(crate) fn new(heat: Array2<f64>) -> Self {
        let neighbours = std::array::from_fn(|_| Array2::zeros(heat.dim()));
        Field { heat, neighbours }
    }

    /// One step of the heat equation: each cell's neighbours are the field
    /// rolled by one, into buffers that are used again.
    pub(crate) fn conduct(&mut self) -> Result<()> {
        let around = [([1, 0], 0), ([-1, 0], 1), ([0, 1], 2), ([0, -1], 3)];
        for (shifts, buffer) in around {
            self.heat.roll_into(shifts, [0, 1], &mut self.neighbours[buffer])?;
        }
        let [north, south, west, east] = &self.neighbours;
        Zip::from(&mut self.heat).and(north).and(south).and(west).and(east).for_each(
            |heat, north, south, west, east| {
                *heat += FLOW * (north + south + west + east - 4.0 * *heat);
            },
        );
        Ok(())
    }

    /// The wind carries everything along by whole cells: a roll in place.
    pub(crate) fn blow(&mut self, down: i64, right: i64) -> Result<()> {
        self.heat.roll_inplace([down, right], [0, 1])
    }
}

/// A hot square, a hot ring and a cold disc on mild ground.
pub(crate) fn shapes(size: usize) -> Array2<f64> {
    let scale = size as f64;
    Array2::from_shape_fn((size, size), |(row, column)| {
        let (y, x) = (row as f64 / scale, column as f64 / scale);
        let square = (x - 0.25).abs() < 0.1 && (y - 0.3).abs() < 0.1;
        let ring = ((x - 0.7).hypot(y - 0.35) - 0.16).abs() < 0.03;
        let disc = (x - 0.5).hypot(y - 0.75) < 0.12;
        match () {
            () if square || ring => 1.0,
            () if disc => 0.0,
            () => 0.4,
        }
    })
}

/// A wave with this many crests down and across.
pub(crate) fn wave(size: usize, [down, across]: [usize; 2]) -> Array2<f64> {
    Array2::from_shape_fn((size, size), |(row, column)| {
        (TAU * (row * down + column * across) as f64 / size as f64).cos()
    })
}

/// What one step leaves of such a wave, exactly.
pub(crate) fn kept(size: usize, crests: [usize; 2]) -> f64 {
    let drop = crests.map(|count| (PI * count as f64 / size as f64).sin().powi(2));
    1.0 - 4.0 * FLOW * (drop[0] + drop[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::{assert_abs_diff_eq, assert_relative_eq};

    #[test]
    fn waves_fade_at_the_known_rate() {
        let mut field = Field::new(wave(48, [3, 5]));
        let first = field.heat.clone();
        (0..50).for_each(|_| field.conduct().unwrap());
        let factor = kept(48, [3, 5]).powi(50);
        Zip::from(&field.heat).and(&first).for_each(|heat, first| {
            assert_abs_diff_eq!(*heat, factor * first, epsilon = 1e-12);
        });
    }

    #[test]
    fn heat_is_kept_and_the_wind_comes_round() {
        let mut field = Field::new(shapes(40));
        let (first, total) = (field.heat.clone(), field.heat.sum());
        (0..40).for_each(|_| field.blow(2, -1).unwrap());
        assert_eq!(field.heat, first);
        (0..100).for_each(|_| field.conduct().unwrap());
        assert_relative_eq!(field.heat.sum(), total, max_relative = 1e-12);
    }
}
