//! The picture: the Earth, three maps of the region, and a section through it.

use ndarray::{Array1, Array2, Array3, Axis, Zip};
use opkernels::{Gather, GatherExt, OutOfBounds, Result, RollExt};

use crate::canvas::{Canvas, Colour, LARGE, Palette, SMALL, WHITE};
use crate::grid::{Cells, Region};
use crate::input::Quakes;

const WIDTH: usize = 1440;
const EARTH: usize = 720;
const HEIGHT: usize = 1730;
const INK: Colour = [13, 18, 28];
const GREY: Colour = [150, 164, 184];
const TITLE: f32 = 30.0;

/// The trench, on both sides of the 180° meridian.
const REGION: Region = Region { west: 164.0, north: -9.0, width: 26.0, height: 30.0 };
/// Pixels a degree in the panels, and in the map that they enlarge.
const ZOOM: f32 = 16.0;
const DEPTHS: [f32; 2] = [0.0, 700.0];

/// Draws everything.
pub(crate) fn draw(map: &Array3<u8>, quakes: &Quakes) -> Result<Canvas> {
    let depth = Palette::new(&[
        [255, 246, 170],
        [255, 170, 60],
        [236, 62, 100],
        [150, 70, 250],
        [90, 110, 255],
    ]);
    let count = Palette::new(&[[30, 80, 110], [30, 150, 140], [130, 210, 110], [250, 250, 190]]);
    let strength = Palette::new(&[[70, 50, 120], [190, 50, 110], [250, 130, 60], [255, 245, 190]]);

    let mut canvas = Canvas::new(HEIGHT, WIDTH, INK);
    earth(&mut canvas, map, quakes, &depth)?;

    let cells = Cells::new(quakes, &REGION, 2.0)?;
    let ground = enlarged(map)?;
    let panels = [
        ("mean depth, km", &cells.depth, &depth, DEPTHS),
        ("number of quakes", &cells.count, &count, [1.0, 12.0]),
        ("strongest magnitude", &cells.strongest, &strength, [4.0, 6.4]),
    ];
    for (at, (title, values, palette, range)) in panels.into_iter().enumerate() {
        let (x, y) = (48 + at * 464, EARTH + 60);
        canvas.text(x as isize, y as isize - 26, LARGE, title, WHITE);
        let covered = over(&ground, &cells.count, &palette.colours(values, range)?)?;
        canvas.paste(x, y, &covered);
        graticule(&mut canvas, x as isize, y as isize);
        bar(&mut canvas, x as isize, (y + covered.dim().0) as isize + 14, palette, range)?;
    }
    section(&mut canvas, quakes, &depth);
    Ok(canvas)
}

/// The Earth with the Pacific in its middle: a roll of its columns.
fn earth(canvas: &mut Canvas, map: &Array3<u8>, quakes: &Quakes, palette: &Palette) -> Result<()> {
    let (height, width, _) = map.dim();
    let recentred = map.roll(width as i64 / 2, Axis(1))?;
    // To the canvas's size, whatever the map's: the nearest rows and columns.
    let rows: Array1<usize> = (0..EARTH).map(|y| y * height / EARTH).collect();
    let columns: Array1<usize> = (0..WIDTH).map(|x| x * width / WIDTH).collect();
    let fitted = recentred.gather(&rows, 0)?.gather(&columns, 1)?;
    canvas.paste(0, 0, &fitted);

    let (x_of, y_of) = (|longitude: f32| longitude * 4.0, |latitude: f32| (90.0 - latitude) * 4.0);
    canvas.rectangle(0, EARTH as isize - 20, WIDTH as isize, 20, INK, 0.7);
    for degrees in (30..360).step_by(30) {
        let x = x_of(degrees as f32) as isize;
        canvas.rectangle(x, 0, 1, EARTH as isize, WHITE, 0.12);
        canvas.centred(x, EARTH as isize - 14, SMALL, &longitude(degrees), WHITE);
    }
    for degrees in (-60..=60).step_by(30) {
        let y = y_of(degrees as f32) as isize;
        canvas.rectangle(0, y, WIDTH as isize, 1, WHITE, if degrees == 0 { 0.25 } else { 0.12 });
    }
    for at in 0..quakes.len() {
        let colour = palette.colour(quakes.depth[at], DEPTHS);
        canvas.disc(x_of(quakes.longitude[at]), y_of(quakes.latitude[at]), 1.1, colour, 0.9);
    }
    let corner = (x_of(REGION.west) as isize, y_of(REGION.north) as isize);
    let size = ((REGION.width * 4.0) as isize, (REGION.height * 4.0) as isize);
    canvas.frame(corner.0, corner.1, size.0, size.1, WHITE, 0.9);
    canvas.rectangle(0, 0, WIDTH as isize, 76, INK, 0.55);
    canvas.text(28, 14, TITLE, "Where the Pacific plate sinks", WHITE);
    let subtitle = format!("{} earthquakes near Fiji and Tonga since 1964", quakes.len());
    canvas.text(28, 49, LARGE, &subtitle, [255, 210, 120]);
    Ok(())
}

/// Degrees east of Greenwich as a map names them.
fn longitude(degrees: i32) -> String {
    match degrees {
        180 => "180°".to_string(),
        181.. => format!("{}°W", 360 - degrees),
        _ => format!("{degrees}°E"),
    }
}

/// The region's ground, enlarged by linear interpolation between the four
/// nearest pixels, which gathers take. The map ends at 180° and the columns go
/// on, so they wrap.
fn enlarged(map: &Array3<u8>) -> Result<Array3<f32>> {
    let (height, width, _) = map.dim();
    let map = map.mapv(f32::from);
    let (rows_a_degree, columns_a_degree) = (height as f32 / 180.0, width as f32 / 360.0);
    let row = |y: usize| (90.0 - REGION.north + (y as f32 + 0.5) / ZOOM) * rows_a_degree - 0.5;
    let column =
        |x: usize| (180.0 + REGION.west + (x as f32 + 0.5) / ZOOM) * columns_a_degree - 0.5;
    let down: Array1<f32> = (0..(REGION.height * ZOOM) as usize).map(row).collect();
    let across: Array1<f32> = (0..(REGION.width * ZOOM) as usize).map(column).collect();

    let between = |data: &Array3<f32>, axis: i32, places: &Array1<f32>| {
        let wrap = Gather::along(axis).out_of_bounds(OutOfBounds::Wrap);
        let low = data.gather_with(&places.mapv(|place| place.floor() as i64), wrap)?;
        let high = data.gather_with(&places.mapv(|place| place.floor() as i64 + 1), wrap)?;
        let mut shape = [1, 1, 1];
        shape[axis as usize] = places.len();
        let share = places.mapv(|place| place - place.floor());
        let share = Array3::from_shape_fn(shape, |(i, j, _)| share[i.max(j)]);
        let mixed = &low + (&high - &low) * &share;
        Ok(Array3::from_shape_fn([mixed.shape()[0], mixed.shape()[1], 3], |at| {
            mixed[[at.0, at.1, at.2]]
        }))
    };
    between(&between(&map, 0, &down)?, 1, &across)
}

/// Coloured cells over dimmed ground; each cell is a block of pixels, which a
/// gather with repeated indices makes.
fn over(ground: &Array3<f32>, count: &Array2<f32>, colours: &Array3<u8>) -> Result<Array3<u8>> {
    let (height, width, _) = ground.dim();
    let (rows, columns) = count.dim();
    let row: Array1<usize> = (0..height).map(|y| y * rows / height).collect();
    let column: Array1<usize> = (0..width).map(|x| x * columns / width).collect();
    let colours = colours.gather(&row, 0)?.gather(&column, 1)?;
    let count = count.gather(&row, 0)?.gather(&column, 1)?;
    let cell = (height / rows).max(2);
    let mut picture = Array3::zeros((height, width, 3));
    Zip::indexed(&mut picture).and(ground).and(&colours).for_each(
        |(y, x, _), out, &under, &colour| {
            let gap = y % cell == cell - 1 || x % cell == cell - 1;
            let opacity = if count[[y, x]] > 0.0 && !gap { 0.92 } else { 0.0 };
            let under = 22.0 + under * 0.7;
            *out = (under + (f32::from(colour) - under) * opacity) as u8;
        },
    );
    Ok(picture)
}

/// Lines every five degrees, with their numbers at the edges.
fn graticule(canvas: &mut Canvas, x: isize, y: isize) {
    let (width, height) = ((REGION.width * ZOOM) as isize, (REGION.height * ZOOM) as isize);
    for degrees in [165, 170, 175, 180, 185] {
        let at = x + ((degrees as f32 - REGION.west) * ZOOM) as isize;
        canvas.rectangle(at, y, 1, height, WHITE, if degrees == 180 { 0.45 } else { 0.15 });
        canvas.text(at + 4, y + height - 13, SMALL, &longitude(degrees), WHITE);
    }
    for degrees in [-10, -15, -20, -25, -30, -35] {
        let at = y + ((REGION.north - degrees as f32) * ZOOM) as isize;
        canvas.rectangle(x, at, width, 1, WHITE, 0.15);
        canvas.text(x + 4, at + 4, SMALL, &format!("{}°S", -degrees), WHITE);
    }
    canvas.frame(x, y, width, height, GREY, 0.8);
}

/// A palette with the ends of its range.
fn bar(canvas: &mut Canvas, x: isize, y: isize, palette: &Palette, range: [f32; 2]) -> Result<()> {
    let width = (REGION.width * ZOOM) as usize;
    let steps: Array1<usize> = (0..width).map(|column| column * 255 / (width - 1)).collect();
    let line = palette.0.gather(&steps, 0)?;
    let rows = line.insert_axis(Axis(0)).gather(&[0; 10], 0)?;
    canvas.paste(x as usize, y as usize, &rows);
    let number = |value: f32| {
        if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.1}") }
    };
    canvas.text(x, y + 16, SMALL, &number(range[0]), GREY);
    canvas.centred(
        x + width as isize / 2,
        y + 16,
        SMALL,
        &number((range[0] + range[1]) / 2.0),
        GREY,
    );
    let last = number(range[1]);
    canvas.ending(x + width as isize, y + 16, SMALL, &last, GREY);
    Ok(())
}

/// Looking north: depth against longitude.
fn section(canvas: &mut Canvas, quakes: &Quakes, palette: &Palette) {
    let (x, y, width, height) = (48, 1372, 1344, 322);
    canvas.text(
        x,
        y - 32,
        LARGE,
        "the same quakes from the south: the slab dips to the west, 700 km deep",
        WHITE,
    );
    canvas.rectangle(x, y, width, height, [20, 28, 42], 1.0);
    for kilometres in (0..700).step_by(100) {
        let at = y + kilometres * height / 700;
        canvas.rectangle(x, at, width, 1, WHITE, 0.12);
        canvas.text(x + 6, at + 4, SMALL, &format!("{kilometres} km"), GREY);
    }
    let x_of = |longitude: f32| x as f32 + (longitude - REGION.west) / REGION.width * width as f32;
    for degrees in [165, 170, 175, 180, 185] {
        let at = x_of(degrees as f32) as isize;
        canvas.rectangle(at, y, 1, height, WHITE, if degrees == 180 { 0.35 } else { 0.12 });
        canvas.text(at + 4, y + height - 13, SMALL, &longitude(degrees), GREY);
    }
    for at in 0..quakes.len() {
        let depth = y as f32 + quakes.depth[at] / DEPTHS[1] * height as f32;
        let radius = 1.5 + (quakes.magnitude[at] - 4.0).max(0.0) * 2.2;
        canvas.disc(
            x_of(quakes.longitude[at]),
            depth,
            radius,
            palette.colour(quakes.depth[at], DEPTHS),
            0.8,
        );
    }
    canvas.frame(x, y, width, height, GREY, 0.8);
}
