//! The Earth recentred on the Pacific, and the earthquakes of the Tonga trench
//! on it: a roll, gathers and scatters on real data.
//!
//! ```sh
//! cargo run --release --example pacific
//! ```
//!
//! writes `pacific.png` and prints a table. `--help` tells the rest.

#[path = "../arguments/mod.rs"]
mod arguments;
#[path = "../canvas/mod.rs"]
mod canvas;
mod grid;
mod input;
mod panels;

use std::process::ExitCode;

use input::Quakes;

const HELP: &str = "\
Draws earthquakes on the Earth recentred on the Pacific, and prints a table.

usage: pacific [QUAKES.csv [MAP.jpg [OUT.png]]]

  QUAKES.csv  columns lat,long,depth,mag,stations; longitudes in degrees east
  MAP.jpg     the Earth, equirectangular, longitude -180 to 180, latitude 90 to -90
  OUT.png     where the picture goes (default: pacific.png)";

fn main() -> ExitCode {
    arguments::main("pacific", HELP, 3, run)
}

fn run(arguments: &[String]) -> Result<(), String> {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/data");
    let given = |at: usize, name: &str| {
        arguments.get(at).cloned().unwrap_or_else(|| format!("{data}/{name}"))
    };
    let quakes = Quakes::read(&given(0, "quakes.csv"))?;
    let map = input::map(&given(1, "blue_marble_1440x720.jpg"))?;
    let out = arguments.get(2).map_or("pacific.png", String::as_str);

    let picture = panels::draw(&map, &quakes).map_err(|error| error.to_string())?;
    picture.save(out)?;
    let table = grid::by_magnitude(&quakes).map_err(|error| error.to_string())?;
    print_table(&quakes, &table);
    println!("\nwrote {out}");
    grid::check(&quakes, &table)
}

/// The numbers behind the picture.
fn print_table(quakes: &Quakes, (counts, depths): &grid::Classes) {
    let quake = |title: &str, at: usize| {
        println!(
            "{title:<10} magnitude {:.1} at {:.2}° S, {:.2}° E, {:.0} km deep",
            quakes.magnitude[at], -quakes.latitude[at], quakes.longitude[at], quakes.depth[at]
        );
    };
    println!("{} earthquakes", quakes.len());
    quake("deepest", quakes.greatest(|at| quakes.depth[at]));
    quake("strongest", quakes.greatest(|at| quakes.magnitude[at]));
    println!("\nmagnitude   count   mean depth");
    for (class, (count, depth)) in counts.iter().zip(depths).enumerate() {
        let from = 4.0 + 0.5 * class as f32;
        println!("{from:.1} - {:.1} {count:8} {depth:9.1} km", from + 0.4);
    }
}
