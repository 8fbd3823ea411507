//! The beams in phase space at some moments, and how their field grows.

use std::f64::consts::TAU;

use ndarray::{Array2, Array3, Zip};
use opkernels::{OutOfBounds, Result, ScatterNd, ScatterNdExt};

use crate::canvas::{Canvas, Colour, LARGE, Palette, SMALL, WHITE};
use crate::plasma::Plasma;

const WIDTH: usize = 400;
const HEIGHT: usize = 260;
const MARGIN: usize = 56;
const TOP: usize = 72;
/// Speeds from the lower to the upper edge of a panel.
const SPEEDS: [f64; 2] = [-2.0, 2.0];

const INK: Colour = [40, 44, 52];
const GREY: Colour = [120, 126, 138];
const MEASURED: Colour = [31, 97, 165];
const THEORY: Colour = [214, 96, 37];

/// What is measured at one moment.
pub(crate) struct Moment {
    pub(crate) time: f64,
    pub(crate) charge: f64,
    pub(crate) kinetic: f64,
    pub(crate) field: f64,
    pub(crate) wave: f64,
}

impl Moment {
    pub(crate) fn of(time: f64, plasma: &Plasma) -> Self {
        Moment {
            time,
            charge: plasma.charge.sum(),
            kinetic: plasma.kinetic_energy(),
            field: plasma.field_energy(),
            wave: plasma.longest_wave(),
        }
    }
}

/// How many particles there are at each position and speed.
pub(crate) struct Frame {
    time: f64,
    counts: Array2<u32>,
}

impl Frame {
    /// A histogram of two coordinates: one is added at the row and column of
    /// each particle. Those too fast for the panel are left out.
    pub(crate) fn new(time: f64, plasma: &Plasma) -> Result<Self> {
        let mut cells = Array2::zeros((plasma.position.len(), 2));
        Zip::from(cells.rows_mut()).and(&plasma.position).and(&plasma.velocity).for_each(
            |mut cell, position, velocity| {
                let part = (SPEEDS[1] - velocity) / (SPEEDS[1] - SPEEDS[0]);
                let row = (part * HEIGHT as f64).floor() as i64;
                // A negative row would count from the end.
                cell[0] = if row < 0 { i64::MAX } else { row };
                cell[1] = (position / TAU * WIDTH as f64) as i64;
            },
        );
        let mut counts = Array2::zeros((HEIGHT, WIDTH));
        let count = ScatterNd::sum().out_of_bounds(OutOfBounds::Skip);
        counts.scatter_nd_inplace(&cells, &1, count)?;
        Ok(Frame { time, counts })
    }

    fn picture(&self, palette: &Palette) -> Result<Array3<u8>> {
        let shades = self.counts.mapv(|count| (count as f32).ln_1p());
        let most = shades.fold(1.0_f32, |most, &shade| most.max(shade));
        palette.colours(&shades, [0.0, most.min(4.5)])
    }
}

/// The growth rate of the longest wave, by a straight line through the
/// logarithms of its amplitude while it is neither noise nor large.
pub(crate) fn growth(moments: &[Moment]) -> f64 {
    let line: Vec<(f64, f64)> = grown(moments).map(|at| (at.time, at.wave.ln())).collect();
    let count = line.len().max(1) as f64;
    let mean = |part: fn(&(f64, f64)) -> f64| line.iter().map(part).sum::<f64>() / count;
    let (time, log) = (mean(|at| at.0), mean(|at| at.1));
    let rise: f64 = line.iter().map(|at| (at.0 - time) * (at.1 - log)).sum();
    let run: f64 = line.iter().map(|at| (at.0 - time).powi(2)).sum();
    rise / run
}

/// The moments at which the wave grows on its own.
fn grown(moments: &[Moment]) -> impl Iterator<Item = &Moment> {
    moments.iter().filter(|at| (2e-3..0.1).contains(&at.wave) && at.time < 30.0)
}

pub(crate) fn draw(frames: &[Frame], moments: &[Moment], theory: f64) -> Result<Canvas> {
    let (rows, columns) = (2, 3);
    let (cell_width, cell_height) = (WIDTH + MARGIN, HEIGHT + MARGIN + 20);
    let mut canvas =
        Canvas::new(TOP + rows * cell_height - 20, columns * cell_width + MARGIN, WHITE);
    let title = "Two beams of electrons that meet";
    canvas.text(MARGIN as isize, 18, LARGE, title, INK);
    let legend =
        "Each panel: position from 0 to 2π across, speed upward. Brighter: more electrons.";
    canvas.text(MARGIN as isize, 45, SMALL, legend, GREY);
    let palette = Palette::new(&[
        [10, 12, 32],
        [64, 24, 110],
        [150, 40, 120],
        [222, 80, 80],
        [250, 160, 60],
        [252, 246, 190],
    ]);
    let corner = |number: usize| {
        let (row, column) = (number / columns, number % columns);
        (MARGIN + column * cell_width, TOP + row * cell_height + 16)
    };
    for (number, frame) in frames.iter().enumerate() {
        let (x, y) = corner(number);
        canvas.paste(x, y, &frame.picture(&palette)?);
        let (left, top) = (x as isize, y as isize);
        canvas.frame(left - 1, top - 1, WIDTH as isize + 2, HEIGHT as isize + 2, GREY, 1.0);
        canvas.text(left, top - 14, SMALL, &format!("time {:.0}", frame.time), INK);
        for (speed, label) in [(-1.0, "-1"), (0.0, "0"), (1.0, "+1")] {
            let y = top + height_of(speed, SPEEDS) as isize;
            canvas.rectangle(left - 5, y, 5, 1, GREY, 1.0);
            canvas.ending(left - 8, y - 4, SMALL, label, GREY);
        }
    }
    chart(&mut canvas, corner(5), moments, theory);
    Ok(canvas)
}

/// How far below a panel's upper edge a value lies.
fn height_of(value: f64, [low, high]: [f64; 2]) -> f64 {
    (high - value) / (high - low) * HEIGHT as f64
}

/// The wave's amplitude in powers of ten, and the slope that theory gives it.
fn chart(canvas: &mut Canvas, (x, y): (usize, usize), moments: &[Moment], theory: f64) {
    const POWERS: [f64; 2] = [-5.0, 0.5];
    let (left, top) = (x as isize, y as isize);
    canvas.text(left, top - 14, SMALL, "the field's longest wave, by time", INK);
    let last = moments.last().map_or(1.0, |at| at.time);
    let place = |time: f64, log10: f64| {
        (x as f64 + time / last * WIDTH as f64, y as f64 + height_of(log10, POWERS))
    };
    for power in -5..=0 {
        let (_, height) = place(0.0, f64::from(power));
        canvas.rectangle(left, height as isize, WIDTH as isize, 1, GREY, 0.3);
        let label = if power == 0 { "1".to_string() } else { format!("1e{power}") };
        canvas.ending(left - 6, height as isize - 4, SMALL, &label, GREY);
    }
    for time in (0..=last as usize).step_by(10) {
        let (across, _) = place(time as f64, 0.0);
        canvas.centred(across as isize, top + HEIGHT as isize + 8, SMALL, &time.to_string(), GREY);
    }
    let middle: Vec<&Moment> = grown(moments).collect();
    if let Some(at) = middle.get(middle.len() / 2) {
        for step in 0..400 {
            let time = at.time - 10.0 + f64::from(step) * 0.05;
            let log = (at.wave.ln() + theory * (time - at.time)) / std::f64::consts::LN_10;
            let (across, height) = place(time, log);
            canvas.disc(across as f32, height as f32 - 9.0, 0.6, THEORY, 0.9);
        }
    }
    for at in moments {
        let (across, height) = place(at.time, at.wave.max(1e-5).log10());
        canvas.disc(across as f32, height as f32, 1.1, MEASURED, 0.9);
    }
    canvas.frame(left - 1, top - 1, WIDTH as isize + 2, HEIGHT as isize + 2, GREY, 1.0);
    let (across, below) = (left + WIDTH as isize - 190, top + HEIGHT as isize - 40);
    canvas.text(across, below, SMALL, "simulated", MEASURED);
    canvas.text(across, below + 18, SMALL, &format!("theory: rate {theory:.3}"), THEORY);
}
