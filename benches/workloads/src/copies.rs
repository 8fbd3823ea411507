//! Elements of every kind that are only copied: does a type that the crate does not know by name,
//! or one whose clones own memory, fall behind?

use ndarray::{Array1, Array2};
use opkernels::{GatherExt, RollExt, Scatter, ScatterExt};

use crate::inputs::{array, copy, indices};
use crate::workload::{Element, Take, Ways, Workload};

/// The names of the element types, in the order of [`workloads`].
pub const ELEMENTS: [&str; 9] =
    ["f32", "u8", "u128", "[f32; 3]", "[u8; 3]", "[f32; 8]", "(f32, u32)", "Option<i32>", "String"];

/// What is done with them, and how many elements that copies.
pub const COPIES: [(&str, usize); 6] = [
    ("gather", COUNT),
    ("gather_rows", COUNT_ROWS * WIDTH),
    ("roll", LINE),
    ("roll_rows", CHANNELS * PIXELS),
    ("write", COUNT),
    ("write_rows", COUNT_ROWS * WIDTH),
];

/// The length of a line, and how many elements are read from or written to it.
const LINE: usize = 100_000;
const COUNT: usize = 200_000;

/// The same for rows of so many elements.
const ROWS: usize = 2_000;
const COUNT_ROWS: usize = 10_000;
const WIDTH: usize = 12;

/// A short last axis.
const PIXELS: usize = 100_000;
const CHANNELS: usize = 3;

/// All copies of all element types, named `copies_<type>_<what is done>`.
pub fn workloads() -> Vec<Workload> {
    let float = |bits: u64| (bits % 1000) as f32;
    let mut all = Vec::new();
    copies(&mut all, 0, float);
    copies(&mut all, 1, |bits| bits as u8);
    copies(&mut all, 2, u128::from);
    copies(&mut all, 3, move |bits| [0, 20, 40].map(|by| float(bits >> by)));
    copies(&mut all, 4, |bits| [0, 20, 40].map(|by| (bits >> by) as u8));
    copies(&mut all, 5, move |bits| [0, 1, 2, 3, 4, 5, 6, 7].map(|by| float(bits >> by)));
    copies(&mut all, 6, move |bits| (float(bits), (bits >> 40) as u32));
    copies(&mut all, 7, |bits| (bits % 4 != 0).then_some((bits >> 40) as i32));
    copies(&mut all, 8, |bits| format!("number {}", bits % 100_000));
    all
}

fn copies<T: Element>(
    all: &mut Vec<Workload>,
    element: usize,
    make: impl Fn(u64) -> T + Copy + 'static,
) {
    let mut add = |copy: usize, prepare: fn(Take<'_>, &dyn Fn(u64) -> T)| {
        let name = format!("copies_{}_{}", ELEMENTS[element], COPIES[copy].0).leak();
        all.push(Workload::new(name, move |take| prepare(take, &make)));
    };
    add(0, gather);
    add(1, gather_rows);
    add(2, roll);
    add(3, roll_rows);
    add(4, write);
    add(5, write_rows);
}

/// Elements of a line.
fn gather<T: Element>(take: Take<'_>, make: &dyn Fn(u64) -> T) {
    let data: Array1<T> = array(LINE, make);
    let idx = indices(COUNT, LINE);
    let answer = idx.mapv(|i| data[i as usize].clone());
    let start = || array(COUNT, make);
    Ways::to(&answer)
        .into("into", start, |out| data.gather_into(&idx, 0, out).unwrap())
        .hand("by hand", start, |out| {
            out.iter_mut().zip(&idx).for_each(|(out, &i)| out.clone_from(&data[i as usize]));
        })
        .give(take);
}

fn gather_rows<T: Element>(take: Take<'_>, make: &dyn Fn(u64) -> T) {
    let data: Array2<T> = array((ROWS, WIDTH), make);
    let idx = indices(COUNT_ROWS, ROWS);
    let answer = idx.iter().flat_map(|&i| data.row(i as usize).to_vec()).collect();
    let start = || array((COUNT_ROWS, WIDTH), make);
    Ways::to(&answer)
        .into("into", start, |out| data.gather_into(&idx, 0, out).unwrap())
        .hand("by hand", start, |out| {
            let (width, data) = (out.ncols(), data.as_slice().expect("standard layout"));
            let out = out.as_slice_mut().expect("standard layout");
            for (out, &i) in out.chunks_exact_mut(width).zip(&idx) {
                out.clone_from_slice(&data[i as usize * width..][..width]);
            }
        })
        .give(take);
}

/// A line rolled by a part of it.
fn roll<T: Element>(take: Take<'_>, make: &dyn Fn(u64) -> T) {
    const SHIFT: usize = 12_345;
    let data: Array1<T> = array(LINE, make);
    let answer = (0..LINE).map(|at| data[(at + LINE - SHIFT) % LINE].clone()).collect();
    let start = || copy(&data);
    Ways::to(&answer)
        .into("into", start, |out| data.roll_into(SHIFT as i64, 0, out).unwrap())
        .hand("by hand", start, |out| {
            let (front, back) = data.as_slice().expect("standard layout").split_at(LINE - SHIFT);
            let (start, end) = out.as_slice_mut().expect("standard layout").split_at_mut(SHIFT);
            start.clone_from_slice(back);
            end.clone_from_slice(front);
        })
        .give(take);
}

/// A short last axis rolled, as the channels of a picture are.
fn roll_rows<T: Element>(take: Take<'_>, make: &dyn Fn(u64) -> T) {
    let data: Array2<T> = array((PIXELS, CHANNELS), make);
    let place = |at: usize| [at / CHANNELS, (at + CHANNELS - 1) % CHANNELS];
    let answer = (0..PIXELS * CHANNELS).map(|at| data[place(at)].clone()).collect();
    let start = || copy(&data);
    Ways::to(&answer)
        .into("into", start, |out| data.roll_into(1, 1, out).unwrap())
        .hand("by hand", start, |out| {
            let pixels = data.as_slice().expect("standard layout").chunks_exact(CHANNELS);
            let out = out.as_slice_mut().expect("standard layout");
            for (out, pixel) in out.chunks_exact_mut(CHANNELS).zip(pixels) {
                out[0].clone_from(&pixel[2]);
                out[1].clone_from(&pixel[0]);
                out[2].clone_from(&pixel[1]);
            }
        })
        .give(take);
}

/// Elements written into a line.
fn write<T: Element>(take: Take<'_>, make: &dyn Fn(u64) -> T) {
    let updates: Array1<T> = array(COUNT, make);
    let idx = indices(COUNT, LINE);
    let data: Array1<T> = array(LINE, make);
    let mut answer = copy(&data);
    idx.iter().zip(&updates).for_each(|(&i, update)| answer[i as usize] = update.clone());
    let (start, none) = (|| copy(&data), Scatter::along(0));
    Ways::to(&answer)
        .into("into", start, |target| target.scatter_inplace(&idx, &updates, none).unwrap())
        .hand("by hand", start, |target| {
            for (&i, update) in idx.iter().zip(&updates) {
                target[i as usize].clone_from(update);
            }
        })
        .give(take);
}

fn write_rows<T: Element>(take: Take<'_>, make: &dyn Fn(u64) -> T) {
    let updates: Array2<T> = array((COUNT_ROWS, WIDTH), make);
    let idx = indices(COUNT_ROWS, ROWS);
    let data: Array2<T> = array((ROWS, WIDTH), make);
    let mut answer = copy(&data);
    idx.iter().zip(updates.outer_iter()).for_each(|(&i, row)| {
        answer.row_mut(i as usize).assign(&row);
    });
    let answer = answer.into_iter().collect();
    let (start, none) = (|| copy(&data), Scatter::along(0));
    Ways::to(&answer)
        .into("into", start, |target| target.scatter_inplace(&idx, &updates, none).unwrap())
        .hand("by hand", start, |target| {
            let (width, updates) = (target.ncols(), updates.as_slice().expect("standard layout"));
            let target = target.as_slice_mut().expect("standard layout");
            for (&i, update) in idx.iter().zip(updates.chunks_exact(width)) {
                target[i as usize * width..][..width].clone_from_slice(update);
            }
        })
        .give(take);
}
