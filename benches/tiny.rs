//! Calls of a few elements, where checks and loops cost more than the work.
//!
//! `cargo bench --bench tiny` prints nanoseconds a call;
//! `scripts/instructions.sh` counts instructions, which other programs on the
//! machine do not disturb.

use std::hint::black_box;
use std::time::Instant;

use ndarray::{Array1, Array2, array};
use opkernels::{Gather, GatherExt, Reduction, RollExt, ScatterElements, ScatterElementsExt};

type Call = Box<dyn FnMut()>;

fn calls() -> Vec<(&'static str, Call)> {
    let table = Array2::from_shape_fn((100, 16), |(row, column)| (row * 16 + column) as f32);
    let rows = Array1::from_iter((0..10).map(|k| k * 7_i64));
    let mut gathered = Array2::zeros((10, 16));
    let (table_too, rows_too) = (table.clone(), rows.clone());

    let field = Array2::from_shape_fn((4, 3), |(row, column)| (row * 3 + column) as f32);
    let (mut rolled, mut turned, field_too) = (field.clone(), field.clone(), field.clone());

    let (indices, updates) = (array![1_i64, 0, 0, 2, 3, 2], Array1::<f32>::ones(6));
    let (indices_too, updates_too) = (indices.clone(), updates.clone());
    let (data, mut target) = (Array1::<f32>::zeros(4), Array1::<f32>::zeros(4));
    let sum = ScatterElements::along(0).reduction(Reduction::Sum);

    vec![
        (
            "gather_into",
            Box::new(move || {
                let out = black_box(&mut gathered);
                table.gather_into(black_box(&rows), Gather::along(0), out).unwrap();
            }),
        ),
        (
            "gather",
            Box::new(move || {
                black_box(table_too.gather(black_box(&rows_too), 0).unwrap());
            }),
        ),
        (
            "roll_into",
            Box::new(move || {
                field.roll_into(black_box([1, 2]), [0, 1], black_box(&mut rolled)).unwrap();
            }),
        ),
        (
            "roll",
            Box::new(move || {
                black_box(field_too.roll(black_box([1, 2]), [0, 1]).unwrap());
            }),
        ),
        (
            "roll_inplace",
            Box::new(move || {
                black_box(&mut turned).roll_inplace(black_box([1, 2]), [0, 1]).unwrap();
            }),
        ),
        (
            "scatter_elements_inplace",
            Box::new(move || {
                let target = black_box(&mut target);
                target.scatter_elements_inplace(black_box(&indices), &updates, sum).unwrap();
            }),
        ),
        (
            "scatter_elements_with",
            Box::new(move || {
                let indices = black_box(&indices_too);
                black_box(data.scatter_elements_with(indices, &updates_too, sum).unwrap());
            }),
        ),
    ]
}

/// The least time of a call, in nanoseconds.
fn nanoseconds(call: &mut Call) -> f64 {
    const REPEATS: u32 = 20_000;
    let round = |call: &mut Call| {
        let start = Instant::now();
        (0..REPEATS).for_each(|_| call());
        start.elapsed().as_nanos() as f64 / f64::from(REPEATS)
    };
    (0..50).map(|_| round(call)).fold(f64::INFINITY, f64::min)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let mut calls = calls();
    match &arguments[..] {
        [name, times] => {
            let times: usize = times.parse().expect("a number of calls");
            let call = calls.iter_mut().find(|(known, _)| known == name);
            let (_, call) = call.expect("the name of a call");
            (0..times).for_each(|_| call());
        }
        [list] if list == "--list" => calls.iter().for_each(|(name, _)| println!("{name}")),
        _ => {
            for (name, call) in &mut calls {
                println!("{name:<26} {:6.1} ns", nanoseconds(call));
            }
        }
    }
}
