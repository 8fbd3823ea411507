//! Heat that spreads while the wind carries it around a torus: the heat
//! equation by rolls, into buffers and in place.
//!
//! ```sh
//! cargo run --release --example heat
//! ```
//!
//! writes `heat.png`, and prints what is kept and how fast waves fade beside
//! what theory says. `--help` tells the rest.

#[path = "../arguments/mod.rs"]
mod arguments;
#[path = "../canvas/mod.rs"]
mod canvas;
mod field;

use std::process::ExitCode;

use indicatif::ProgressBar;
use ndarray::{Array1, Array2};
use opkernels::{GatherExt, Result};

use canvas::{Canvas, Colour, LARGE, Palette, SMALL, WHITE};
use field::Field;

const HELP: &str = "\
Heat spreads on a torus while the wind carries it around.

usage: heat [SIZE [OUT.png]]

  SIZE     cells along each edge (default: 384)
  OUT.png  where the picture goes (default: heat.png)";

/// Steps after which the field is drawn.
const MOMENTS: [usize; 6] = [0, 60, 240, 960, 3840, 15_360];
/// Steps between two gusts, and how far one carries.
const GUST: usize = 16;
const WIND: [i64; 2] = [1, 3];

fn main() -> ExitCode {
    arguments::main("heat", HELP, 2, run)
}

fn run(arguments: &[String]) -> std::result::Result<(), String> {
    let size: usize = match arguments.first() {
        Some(number) => number.parse().map_err(|error| format!("{number}: {error}"))?,
        None => 384,
    };
    if !(32..=4096).contains(&size) {
        return Err(format!("a size of {size} is not in 32..=4096"));
    }
    let out = arguments.get(1).map_or("heat.png", String::as_str);
    let (frames, lost) = simulate(size).map_err(|error| error.to_string())?;
    let off = print_fading(size).map_err(|error| error.to_string())?;
    draw(&frames).map_err(|error| error.to_string())?.save(out)?;
    println!("\nwrote {out}");
    if lost < 1e-11 && off < 1e-11 {
        return Ok(());
    }
    Err(format!("the total is kept to {lost:.0e}, and waves fade as in theory to {off:.0e}"))
}

/// The fields at the moments that are drawn, with their totals printed, and by which part the total
/// has changed in the end.
fn simulate(size: usize) -> Result<(Vec<Array2<f64>>, f64)> {
    let mut field = Field::new(field::shapes(size));
    let total = field.heat.sum();
    let last = MOMENTS[MOMENTS.len() - 1];
    let mut frames = Vec::new();
    println!("  step      total heat    coldest   hottest");
    let bar = ProgressBar::new(last as u64);
    for step in 0..=last {
        if step > 0 {
            field.conduct()?;
            if step % GUST == 0 {
                field.blow(WIND[0], WIND[1])?;
            }
        }
        if MOMENTS.contains(&step) {
            let coldest = field.heat.fold(f64::INFINITY, |least, &heat| least.min(heat));
            let hottest = field.heat.fold(f64::NEG_INFINITY, |most, &heat| most.max(heat));
            let total = field.heat.sum();
            bar.suspend(|| println!("{step:6} {total:15.6} {coldest:10.4} {hottest:9.4}"));
            frames.push(field.heat.clone());
        }
        bar.set_position(step as u64);
    }
    bar.finish_and_clear();
    let lost = (field.heat.sum() / total - 1.0).abs();
    println!("heat is kept to {lost:.0e}");
    Ok((frames, lost))
}

/// Prints how much of some waves is left, beside what the equation leaves of them. Returns the
/// greatest difference.
fn print_fading(size: usize) -> Result<f64> {
    const STEPS: i32 = 200;
    let mut off = 0.0_f64;
    println!("\ncrests down and across   left after {STEPS} steps       in theory");
    for crests in [[1, 0], [2, 3], [0, 8], [10, 10]] {
        let mut field = Field::new(field::wave(size, crests));
        for _ in 0..STEPS {
            field.conduct()?;
        }
        let (left, theory) = (field.heat[[0, 0]], field::kept(size, crests).powi(STEPS));
        println!("{:10} {:10} {left:24.12} {theory:15.12}", crests[0], crests[1]);
        off = off.max((left - theory).abs());
    }
    Ok(off)
}

fn draw(frames: &[Array2<f64>]) -> Result<Canvas> {
    const INK: Colour = [40, 44, 52];
    const GREY: Colour = [120, 126, 138];
    const MARGIN: usize = 24;
    const TOP: usize = 80;
    /// The title and the scale need this width.
    const SMALLEST: usize = 256;
    let palette = Palette::new(&[
        [24, 48, 120],
        [60, 130, 190],
        [190, 220, 225],
        [245, 240, 215],
        [245, 180, 90],
        [205, 70, 50],
        [110, 10, 30],
    ]);
    // Small fields are drawn larger, each cell as a square of pixels: a gather
    // that takes every row and column several times.
    let zoom = SMALLEST.div_ceil(frames[0].nrows());
    let size = frames[0].nrows() * zoom;
    let again = Array1::from_shape_fn(size, |pixel| pixel / zoom);
    let cell = size + MARGIN;
    let mut canvas = Canvas::new(TOP + 2 * (cell + 16), 3 * cell + MARGIN, WHITE);
    canvas.text(MARGIN as isize, 18, LARGE, "Heat on a torus, in the wind", INK);
    let legend = "What leaves on one side comes in on the other.";
    canvas.text(MARGIN as isize, 44, SMALL, legend, GREY);
    for (number, (frame, step)) in frames.iter().zip(MOMENTS).enumerate() {
        let (x, y) = (MARGIN + number % 3 * cell, TOP + number / 3 * (cell + 16));
        let heat = frame.mapv(|heat| heat as f32).gather(&again, 0)?.gather(&again, 1)?;
        canvas.paste(x, y, &palette.colours(&heat, [0.0, 1.0])?);
        let (left, top) = (x as isize, y as isize);
        canvas.frame(left - 1, top - 1, size as isize + 2, size as isize + 2, GREY, 1.0);
        canvas.text(left, top - 13, SMALL, &format!("step {step}"), INK);
    }
    scale(&mut canvas, &palette, (3 * cell) as isize - 256, 30);
    Ok(canvas)
}

/// What the colours mean.
fn scale(canvas: &mut Canvas, palette: &Palette, x: isize, y: isize) {
    for step in 0..256_i16 {
        let colour = palette.colour(f32::from(step), [0.0, 255.0]);
        canvas.rectangle(x + step as isize, y, 1, 12, colour, 1.0);
    }
    for (at, label) in [(0, "0"), (128, "0.5"), (255, "1")] {
        canvas.centred(x + at, y - 13, SMALL, label, [120, 126, 138]);
    }
}
