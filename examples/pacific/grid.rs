//! Earthquakes gathered into cells and classes, by scatters.

use ndarray::{Array1, Array2};
use opkernels::{OutOfBounds, Reduction, Result, ScatterElements, ScatterElementsExt};

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
        let (columns, rows) =
            ((region.width * per_degree) as i64, (region.height * per_degree) as i64);
        let cell: Array1<i64> = (0..quakes.len())
            .map(|at| {
                let column = ((quakes.longitude[at] - region.west) * per_degree).floor() as i64;
                let row = ((region.north - quakes.latitude[at]) * per_degree).floor() as i64;
                let inside = (0..columns).contains(&column) && (0..rows).contains(&row);
                if inside { row * columns + column } else { i64::MAX }
            })
            .collect();
        let shape = (rows as usize, columns as usize);
        let over = |reduction, values: &Array1<f32>| {
            let attributes = ScatterElements::along(0)
                .reduction(reduction)
                .use_init_val(false)
                .out_of_bounds(OutOfBounds::Skip);
            let cells = Array1::zeros(shape.0 * shape.1);
            let cells = cells.scatter_elements_with(&cell, values, attributes)?;
            Ok(Array2::from_shape_fn(shape, |(row, column)| cells[row * shape.1 + column]))
        };
        Ok(Cells {
            count: over(Reduction::Sum, &Array1::ones(quakes.len()))?,
            strongest: over(Reduction::Max, &quakes.magnitude)?,
            depth: over(Reduction::Mean, &quakes.depth)?,
        })
    }
}

/// Count and mean depth for each half unit of magnitude from 4.0 on.
pub(crate) fn by_magnitude(quakes: &Quakes) -> Result<(Array1<u32>, Array1<f64>)> {
    let class = quakes.magnitude.mapv(|magnitude| ((magnitude - 4.0) * 2.0 + 1e-3).floor() as i64);
    let classes = class.iter().max().map_or(0, |last| last + 1).max(1) as usize;
    // Weaker quakes have a negative class, which would count from the end.
    let class = class.mapv(|class| if class < 0 { i64::MAX } else { class });
    let skip = ScatterElements::along(0).out_of_bounds(OutOfBounds::Skip);
    let ones = Array1::ones(quakes.len());
    let count = Array1::zeros(classes);
    let count = count.scatter_elements_with(&class, &ones, skip.reduction(Reduction::Sum))?;
    let mean = skip.reduction(Reduction::Mean).use_init_val(false);
    let depths = quakes.depth.mapv(f64::from);
    let depth = Array1::zeros(classes).scatter_elements_with(&class, &depths, mean)?;
    Ok((count, depth))
}
