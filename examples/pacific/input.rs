//! Reading the earthquakes and the map.

use std::fs::{self, File};
use std::io::BufReader;

use jpeg_decoder::{Decoder, ImageInfo, PixelFormat};
use ndarray::{Array1, Array3};

/// One array a column.
pub(crate) struct Quakes {
    pub(crate) latitude: Array1<f32>,
    pub(crate) longitude: Array1<f32>,
    pub(crate) depth: Array1<f32>,
    pub(crate) magnitude: Array1<f32>,
}

impl Quakes {
    /// Reads a file of columns `lat`, `long`, `depth` and `mag`, and others, without quotes.
    pub(crate) fn read(path: &str) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        let mut lines = text.lines().enumerate();
        let headers: Vec<&str> = match lines.next() {
            Some((_, line)) => line.split(',').map(str::trim).collect(),
            None => return Err(format!("{path}: the file is empty")),
        };
        let mut places = [0; 4];
        for (place, name) in places.iter_mut().zip(["lat", "long", "depth", "mag"]) {
            let found = headers.iter().position(|&header| header == name);
            *place = found.ok_or_else(|| format!("{path}: there is no column {name:?}"))?;
        }
        let mut columns: [Vec<f32>; 4] = Default::default();
        for (line, record) in lines.filter(|(_, record)| !record.is_empty()) {
            let fields: Vec<&str> = record.split(',').map(str::trim).collect();
            for (column, &place) in columns.iter_mut().zip(&places) {
                let text = fields.get(place).copied().unwrap_or_default();
                let value = text.parse::<f32>().ok().filter(|value| value.is_finite());
                column.push(value.ok_or_else(|| {
                    format!(
                        "{path}, line {}: {text:?} in column {:?} is no number",
                        line + 1,
                        headers[place]
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

/// Reads a JPEG picture as rows of pixels of three channels.
pub(crate) fn map(path: &str) -> Result<Array3<u8>, String> {
    let file = File::open(path).map_err(|error| format!("{path}: {error}"))?;
    let mut decoder = Decoder::new(BufReader::new(file));
    let bytes = decoder.decode().map_err(|error| format!("{path}: {error}"))?;
    match decoder.info() {
        Some(ImageInfo { width, height, pixel_format: PixelFormat::RGB24, .. }) => {
            Array3::from_shape_vec((usize::from(height), usize::from(width), 3), bytes)
                .map_err(|error| format!("{path}: {error}"))
        }
        _ => Err(format!("{path}: a picture in colour is needed")),
    }
}
