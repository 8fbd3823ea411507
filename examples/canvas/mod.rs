//! A picture to draw on, shared by the programs.

// Each program draws with what it needs.
#![allow(dead_code)]

mod png;

use std::sync::LazyLock;

use ab_glyph::{Font, FontRef, Glyph, PxScaleFont, ScaleFont, point};
use ndarray::{Array2, Array3, s};
use opkernels::{GatherExt, Result};

pub(crate) type Colour = [u8; 3];

pub(crate) const WHITE: Colour = [255, 255, 255];

/// Sizes of text.
pub(crate) const SMALL: f32 = 12.0;
pub(crate) const LARGE: f32 = 20.0;

/// The height of capitals, as a part of the font's size.
const CAPITALS: f32 = 0.73;

static FONT: LazyLock<FontRef<'_>> = LazyLock::new(|| {
    FontRef::try_from_slice(dejavu::sans::regular()).expect("the font that comes with a crate")
});

/// Rows of pixels of three channels.
pub(crate) struct Canvas {
    pub(crate) pixels: Array3<u8>,
}

impl Canvas {
    pub(crate) fn new(height: usize, width: usize, colour: Colour) -> Self {
        Canvas { pixels: Array3::from_shape_fn((height, width, 3), |(_, _, k)| colour[k]) }
    }

    pub(crate) fn save(&self, path: &str) -> std::result::Result<(), String> {
        let (_, width, _) = self.pixels.dim();
        let bytes: Vec<u8> = self.pixels.iter().copied().collect();
        png::write(path, width, &bytes).map_err(|error| format!("{path}: {error}"))
    }

    /// Mixes a colour into a pixel; outside the canvas nothing happens.
    pub(crate) fn blend(&mut self, x: isize, y: isize, colour: Colour, opacity: f32) {
        let (height, width, _) = self.pixels.dim();
        if x < 0 || y < 0 || x as usize >= width || y as usize >= height {
            return;
        }
        let mut pixel = self.pixels.slice_mut(s![y, x, ..]);
        for (old, new) in pixel.iter_mut().zip(colour) {
            let mixed = f32::from(*old) + (f32::from(new) - f32::from(*old)) * opacity;
            *old = mixed.round() as u8;
        }
    }

    pub(crate) fn rectangle(
        &mut self,
        x: isize,
        y: isize,
        width: isize,
        height: isize,
        colour: Colour,
        opacity: f32,
    ) {
        for row in y..y + height {
            for column in x..x + width {
                self.blend(column, row, colour, opacity);
            }
        }
    }

    pub(crate) fn frame(
        &mut self,
        x: isize,
        y: isize,
        width: isize,
        height: isize,
        colour: Colour,
        opacity: f32,
    ) {
        self.rectangle(x, y, width, 1, colour, opacity);
        self.rectangle(x, y + height - 1, width, 1, colour, opacity);
        self.rectangle(x, y + 1, 1, height - 2, colour, opacity);
        self.rectangle(x + width - 1, y + 1, 1, height - 2, colour, opacity);
    }

    /// A disc with a soft edge.
    pub(crate) fn disc(&mut self, x: f32, y: f32, radius: f32, colour: Colour, opacity: f32) {
        let reach = radius.ceil() as isize + 1;
        let (column, row) = (x.round() as isize, y.round() as isize);
        for dy in -reach..=reach {
            for dx in -reach..=reach {
                let (px, py) = ((column + dx) as f32 - x, (row + dy) as f32 - y);
                let cover = (radius + 0.5 - px.hypot(py)).clamp(0.0, 1.0);
                self.blend(column + dx, row + dy, colour, cover * opacity);
            }
        }
    }

    /// Text whose capitals begin at `y`. `size` is the font's, in pixels.
    pub(crate) fn text(&mut self, x: isize, y: isize, size: f32, text: &str, colour: Colour) {
        let baseline = y as f32 + CAPITALS * size;
        let font = font(size);
        for mut glyph in line(&font, text).0 {
            glyph.position += point(x as f32, baseline.round());
            let Some(outline) = font.outline_glyph(glyph) else { continue };
            let corner = outline.px_bounds().min;
            outline.draw(|column, row, cover| {
                let (x, y) =
                    (corner.x as isize + column as isize, corner.y as isize + row as isize);
                self.blend(x, y, colour, cover.min(1.0));
            });
        }
    }

    /// Text centred on `x`.
    pub(crate) fn centred(&mut self, x: isize, y: isize, size: f32, text: &str, colour: Colour) {
        let width = line(&font(size), text).1;
        self.text(x - (width / 2.0).round() as isize, y, size, text, colour);
    }

    /// Text that ends at `x`.
    pub(crate) fn ending(&mut self, x: isize, y: isize, size: f32, text: &str, colour: Colour) {
        let width = line(&font(size), text).1;
        self.text(x - width.round() as isize, y, size, text, colour);
    }

    /// Pastes a picture.
    pub(crate) fn paste(&mut self, x: usize, y: usize, picture: &Array3<u8>) {
        let (height, width, _) = picture.dim();
        self.pixels.slice_mut(s![y..y + height, x..x + width, ..]).assign(picture);
    }
}

/// The font at a size in pixels.
fn font(size: f32) -> PxScaleFont<&'static FontRef<'static>> {
    // A scale is a line's height, and a size is that of an em.
    let line = FONT.height_unscaled() / FONT.units_per_em().expect("a font has a size");
    FONT.as_scaled(size * line)
}

/// The letters of a line that begins at 0, and its length.
fn line(font: &PxScaleFont<&'static FontRef<'static>>, text: &str) -> (Vec<Glyph>, f32) {
    let (mut glyphs, mut end) = (Vec::<Glyph>::new(), 0.0);
    for letter in text.chars() {
        let mut glyph = font.scaled_glyph(letter);
        if let Some(last) = glyphs.last() {
            end += font.kern(last.id, glyph.id);
        }
        glyph.position = point(end, 0.0);
        end += font.h_advance(glyph.id);
        glyphs.push(glyph);
    }
    (glyphs, end)
}

/// 256 colours from the first anchor to the last.
pub(crate) struct Palette(pub(crate) Array2<u8>);

impl Palette {
    pub(crate) fn new(anchors: &[Colour]) -> Self {
        Palette(Array2::from_shape_fn((256, 3), |(step, k)| {
            let place = step as f32 / 255.0 * (anchors.len() - 1) as f32;
            let low = (place as usize).min(anchors.len() - 2);
            let (from, to) = (f32::from(anchors[low][k]), f32::from(anchors[low + 1][k]));
            (from + (to - from) * (place - low as f32)).round() as u8
        }))
    }

    /// Which colour stands for a value of a range.
    pub(crate) fn step(value: f32, [low, high]: [f32; 2]) -> u8 {
        ((value - low) / (high - low) * 255.0).clamp(0.0, 255.0) as u8
    }

    pub(crate) fn colour(&self, value: f32, range: [f32; 2]) -> Colour {
        let row = self.0.row(usize::from(Self::step(value, range)));
        [row[0], row[1], row[2]]
    }

    /// The colours of a grid of values: a gather of the palette's rows.
    pub(crate) fn colours(&self, values: &Array2<f32>, range: [f32; 2]) -> Result<Array3<u8>> {
        self.0.gather(&values.mapv(|value| Self::step(value, range)), 0)
    }
}
