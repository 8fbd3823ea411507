//! Earthquakes gathered into cells and classes, by scatters.

use ndarray::{Array1, Array2};
use opkernels::{OutOfBounds, Result, Scatter, ScatterExt, ScatterNd, ScatterNdExt};

use crate::input::Quakes;

/// A part of the Earth, in degrees; longitudes east, beyond 180 too.
pub(crate) struct Region {
    pub(crate) west: f32,
    pub(crate) north: f32,
    pub(crate) width: f32,
    pub(crate) height: f32,
}

/// What happened in each cell of a region.
pub(crate) struct Cells {
    pub(crate) count: Array2<f32>,
    pub(crate) strongest: Array2<f32>,
    pub(crate) depth: Array2<f32>,
}

impl Cells {
    /// Counts (sum), strongest magnitudes (max) and mean depths (mean) in cells
    /// of `1 / per_degree` degrees. What lies outside the region is skipped.
    pub(crate) fn new(quakes: &Quakes, region: &Region, per_degree: f32) -> Result<Self> {
        let shape = [region.height, region.width].map(|degrees| (degrees * per_degree) as usize);
        // A row and a column for each quake.
        let cell = Array2::from_shape_fn((quakes.len(), 2), |(at, number)| {
            let degrees = match number {
                0 => region.north - quakes.latitude[at],
                _ => quakes.longitude[at] - region.west,
            };
            let place = (degrees * per_degree).floor() as i64;
            // A negative place would count from the end.
            if place < 0 { i64::MAX } else { place }
        });
        let cells = |values: &Array1<f32>, how: ScatterNd| {
            let how = how.use_init_val(false).out_of_bounds(OutOfBounds::Skip);
            Array2::zeros(shape).scatter_nd_with(&cell, values, how)
        };
        let mut count = Array2::zeros(shape);
        let counted = ScatterNd::sum().out_of_bounds(OutOfBounds::Skip);
        count.scatter_nd_inplace(&cell, &1.0, counted)?;
        Ok(Cells {
            count,
            strongest: cells(&quakes.magnitude, ScatterNd::max())?,
            depth: cells(&quakes.depth, ScatterNd::mean())?,
        })
    }
}

/// Counts and mean depths, one for each half unit of magnitude from 4.0 on.
pub(crate) type Classes = (Array1<u32>, Array1<f64>);

/// The half unit of magnitude from 4.0 on; less than 0 for a weaker quake.
fn class(magnitude: f32) -> i64 {
    ((magnitude - 4.0) * 2.0 + 1e-3).floor() as i64
}

/// Count and mean depth for each half unit of magnitude.
pub(crate) fn by_magnitude(quakes: &Quakes) -> Result<Classes> {
    let class = quakes.magnitude.mapv(class);
    let classes = class.iter().max().map_or(0, |last| last + 1).max(1) as usize;
    // Weaker quakes have a negative class, which would count from the end.
    let class = class.mapv(|class| if class < 0 { i64::MAX } else { class });
    let sum = Scatter::sum(0).out_of_bounds(OutOfBounds::Skip);
    let mut count = Array1::zeros(classes);
    count.scatter_inplace(&class, &1, sum)?;
    let mean = Scatter::mean(0).use_init_val(false).out_of_bounds(OutOfBounds::Skip);
    let depths = quakes.depth.mapv(f64::from);
    let depth = Array1::zeros(classes).scatter_with(&class, &depths, mean)?;
    Ok((count, depth))
}

/// Compares counts and mean depths with those of a plain loop over all quakes.
pub(crate) fn check(
    quakes: &Quakes,
    (counts, depths): &Classes,
) -> std::result::Result<(), String> {
    for (number, (&count, &depth)) in counts.iter().zip(depths).enumerate() {
        let of_class = |at: &usize| class(quakes.magnitude[*at]) == number as i64;
        let members: Vec<usize> = (0..quakes.len()).filter(of_class).collect();
        let sum: f64 = members.iter().map(|&at| f64::from(quakes.depth[at])).sum();
        let mean = sum / members.len().max(1) as f64;
        if members.len() != count as usize || (mean - depth).abs() > 1e-9 * mean.abs() {
            return Err(format!(
                "class {number} has {count} quakes of mean depth {depth}, and should have {} of {mean}",
                members.len()
            ));
        }
    }
    Ok(())
}
