//! Two beams of electrons that meet: a particle-in-cell simulation whose charge
//! is deposited by a scatter and whose field is read back by gathers.
//!
//! ```sh
//! cargo run --release --example particles
//! ```
//!
//! writes `particles.png` and prints what is kept, and how fast the instability
//! grows beside what theory says. `--help` tells the rest.

#[path = "../arguments/mod.rs"]
mod arguments;
#[path = "../canvas/mod.rs"]
mod canvas;
mod picture;
mod plasma;

use std::process::ExitCode;

use indicatif::ProgressBar;
use picture::{Frame, Moment};
use plasma::{Plasma, growth_rate};

const HELP: &str = "\
Two beams of electrons that meet become unstable and curl up.

usage: particles [PARTICLES [OUT.png]]

  PARTICLES  how many electrons, in both beams together (default: 200000)
  OUT.png    where the picture goes (default: particles.png)";

const NODES: usize = 256;
const STEP: f64 = 0.1;
/// The speed at which the longest wave of cold beams grows fastest: the square
/// root of 3/8.
const SPEED: f64 = 0.612_372_435_695_794_5;
/// Speeds lie this far below and above it.
const SPREAD: f64 = 0.12;
/// When the beams are drawn.
const MOMENTS: [f64; 5] = [0.0, 25.0, 30.0, 36.0, 60.0];

fn main() -> ExitCode {
    arguments::main("particles", HELP, 2, run)
}

fn run(arguments: &[String]) -> Result<(), String> {
    let particles: usize = match arguments.first() {
        Some(number) => number.parse().map_err(|error| format!("{number}: {error}"))?,
        None => 200_000,
    };
    if particles < 100 {
        return Err("at least 100 particles are needed".to_string());
    }
    let out = arguments.get(1).map_or("particles.png", String::as_str);
    let (moments, frames) = simulate(particles).map_err(|error| error.to_string())?;
    let theory = growth_rate(SPEED, SPREAD);
    let checked = report(&moments, theory);
    let picture = picture::draw(&frames, &moments, theory).map_err(|error| error.to_string())?;
    picture.save(out)?;
    println!("\nwrote {out}");
    checked
}

/// What is measured at every step, and the beams at the moments that are drawn.
fn simulate(particles: usize) -> opkernels::Result<(Vec<Moment>, Vec<Frame>)> {
    let mut plasma = Plasma::two_beams(particles, NODES, SPEED, SPREAD)?;
    let steps = (MOMENTS[MOMENTS.len() - 1] / STEP).round() as usize;
    let (mut moments, mut frames) = (Vec::new(), Vec::new());
    let bar = ProgressBar::new(steps as u64);
    for step in 0..=steps {
        if step > 0 {
            plasma.step(STEP)?;
        }
        let time = step as f64 * STEP;
        if MOMENTS.iter().any(|moment| (moment - time).abs() < STEP / 2.0) {
            frames.push(Frame::new(time, &plasma)?);
        }
        moments.push(Moment::of(time, &plasma));
        bar.set_position(step as u64);
    }
    bar.finish_and_clear();
    Ok((moments, frames))
}

/// Prints what is kept, and how fast the wave grows. Refuses what differs from theory.
fn report(moments: &[Moment], theory: f64) -> Result<(), String> {
    println!("  time         charge   kinetic energy   field energy      total");
    for moment in moments.iter().step_by(100) {
        let Moment { time, charge, kinetic, field, .. } = moment;
        let total = kinetic + field;
        println!("{time:6.1} {charge:14.6} {kinetic:16.6} {field:14.6} {total:10.6}");
    }
    let drift = |measure: fn(&Moment) -> f64| {
        let first = measure(&moments[0]);
        moments.iter().map(|moment| (measure(moment) - first).abs() / first).fold(0.0, f64::max)
    };
    let charge = drift(|moment| moment.charge);
    let energy = drift(|moment| moment.kinetic + moment.field);
    let growth = picture::growth(moments);
    println!("\ncharge is kept to {charge:.0e}");
    println!("energy is kept to {energy:.0e}");
    println!("growth rate {growth:.3}, in theory {theory:.3}");
    // Few particles are noisy; the charge is their number.
    let noise = 0.05 + 20.0 / moments[0].charge;
    if charge < 1e-9 && energy < 1e-2 && (growth / theory - 1.0).abs() < noise {
        return Ok(());
    }
    Err("charge, energy or the growth rate is not as it should be".to_string())
}
