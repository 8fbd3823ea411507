//! Reading the earthquakes and the map.

use ndarray::{Array1, Array3};

/// One array a column.
pub(crate) struct Quakes {
    pub(crate) latitude: Array1<f32>,
    pub(crate) longitude: Array1<f32>,
    pub(crate) depth: Array1<f32>,
    pub(crate) magnitude: Array1<f32>,
}

impl Quakes {
    /// Reads a file of columns `lat`, `long`, `depth` and `mag`.
    pub(crate) fn read(path: &str) -> Result<Self, String> {
        let problem = |error: csv::Error| format!("{path}: {error}");
        let mut reader = csv::Reader::from_path(path).map_err(problem)?;
        let headers = reader.headers().map_err(problem)?.clone();
        let mut places = [0; 4];
        for (place, name) in places.iter_mut().zip(["lat", "long", "depth", "mag"]) {
            let found = headers.iter().position(|header| header == name);
            *place = found.ok_or_else(|| format!("{path}: there is no column {name:?}"))?;
        }
        let mut columns: [Vec<f32>; 4] = Default::default();
        for record in reader.records() {
            let record = record.map_err(problem)?;
            for (column, &place) in columns.iter_mut().zip(&places) {
                let text = record.get(place).unwrap_or_default();
                let value = text.trim().parse::<f32>().ok().filter(|value| value.is_finite());
                let line = record.position().map_or(0, csv::Position::line);
                column.push(value.ok_or_else(|| {
                    format!(
                        "{path}, line {line}: {text:?} in column {:?} is no number",
                        &headers[place]
                    )
                })?);
            }
        }
        if columns[0].is_empty() {
            return Err(format!("{path}: there are no earthquakes in it"));
        }
        let [latitude, longitude, depth, magnitude] = columns.map(Array1::from_vec);
        Ok(Quakes { latitude, longitude, depth, magnitude })
    }

    pub(crate) fn len(&self) -> usize {
        self.depth.len()
    }

    /// Which quake has the greatest value, the first of several.
    pub(crate) fn greatest(&self, value: impl Fn(usize) -> f32) -> usize {
        (1..self.len()).fold(0, |best, at| if value(at) > value(best) { at } else { best })
    }
}

/// Reads a picture as rows of pixels of three channels.
pub(crate) fn map(path: &str) -> Result<Array3<u8>, String> {
    let picture = image::open(path).map_err(|error| format!("{path}: {error}"))?.into_rgb8();
    let (width, height) = picture.dimensions();
    Array3::from_shape_vec((height as usize, width as usize, 3), picture.into_raw())
        .map_err(|error| format!("{path}: {error}"))
}
