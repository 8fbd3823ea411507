//! No call touches memory beyond its arrays: random calls of every operation and
//! form, with inaccessible pages around every array, around what is returned and
//! around work memory. A call that touches one ends this process by a signal; the
//! last line says which it was. Results are compared with the reference, too.
//!
//! `GUARD_SEED` runs one call of each operation, `GUARD_CALLS` sets how many
//! there are, `GUARD_FIRST` the first seed (`scripts/guard_pages.sh`).
#![cfg(all(target_os = "linux", not(miri)))]
// Fences are made of pages of the system.
#![allow(unsafe_code)]

mod calls;
#[path = "../common/mod.rs"]
mod common;
mod draw;
mod fence;

use std::env;
use std::ffi::OsStr;
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use common::{Numbers, number_from};
use draw::Select;
use fence::Side;

#[global_allocator]
static FENCES: fence::Fences = fence::Fences;

/// Fences and last words are those of the whole process, so tests take turns.
static TURN: Mutex<()> = Mutex::new(());

/// Runs a call for each seed, with each side of its memory fenced closely.
fn repeat(name: &'static str, call: fn(&mut Numbers, Side)) {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let first = number_from("GUARD_FIRST").unwrap_or(0);
    let count = number_from("GUARD_CALLS").unwrap_or(30);
    let one = number_from("GUARD_SEED");
    let seeds = one.map_or(first..first + count, |seed| seed..seed + 1);
    let before = fence::fenced();
    for seed in seeds {
        for side in [Side::Start, Side::End] {
            fence::announce(name, seed);
            println!("seed {seed}, {side:?}");
            call(&mut Numbers(seed), side);
        }
    }
    assert!(fence::fenced() > before, "nothing was fenced in");
}

/// Calls something on one of several pools, with fences around what it allocates.
fn fenced<R: Send>(side: Side, threads: usize, call: impl FnOnce() -> R + Send) -> R {
    static POOLS: OnceLock<Vec<rayon::ThreadPool>> = OnceLock::new();
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let pools = POOLS.get_or_init(|| draw::THREADS.into_iter().map(pool).collect());
    pools[threads].install(|| fence::within(side, call))
}

#[test]
fn gather() {
    repeat("gather", |numbers, side| calls::gathers(Select::Slices, numbers, side));
}

#[test]
fn gather_elements() {
    repeat("gather_elements", |numbers, side| calls::gathers(Select::Elements, numbers, side));
}

#[test]
fn gather_nd() {
    repeat("gather_nd", |numbers, side| calls::gathers(Select::Tuples, numbers, side));
}

#[test]
fn scatter() {
    repeat("scatter", |numbers, side| calls::scatters(Select::Slices, numbers, side));
}

#[test]
fn scatter_elements() {
    repeat("scatter_elements", |numbers, side| calls::scatters(Select::Elements, numbers, side));
}

#[test]
fn scatter_nd() {
    repeat("scatter_nd", |numbers, side| calls::scatters(Select::Tuples, numbers, side));
}

#[test]
fn roll() {
    repeat("roll", calls::rolls);
}

/// The harness itself: a read beyond either end of an array ends a process that
/// makes it, and so does a write between an array and the end of its pages.
#[test]
fn fences_hold() {
    let case = env::var("GUARD_FAULT").ok();
    let Some(case) = case else {
        let this = env::current_exe().unwrap();
        for case in ["before", "behind", "within"] {
            // Another processor's program needs what runs it.
            let runner = env::var("GUARD_RUNNER").unwrap_or_default();
            let mut words = runner.split_whitespace().map(OsStr::new).chain([this.as_os_str()]);
            let mut child = Command::new(words.next().unwrap());
            child
                .args(words)
                .args(["--exact", "fences_hold", "--nocapture"])
                .env("GUARD_FAULT", case);
            let output = child.output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success(), "{case}: nothing stopped it");
            let told = if case == "within" { "wrote -1 bytes" } else { "touched" };
            assert!(said.contains(told) && said.contains("seed 7"), "{case}: {said}");
        }
        return;
    };
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    fence::announce("fault", 7);
    let (side, by) = match case.as_str() {
        "before" => (Side::Start, -1),
        "behind" => (Side::End, 10),
        _ => (Side::End, -1),
    };
    let mut bytes = fence::within(side, || vec![1_u8; 10]);
    let place = std::hint::black_box(bytes.as_mut_ptr()).wrapping_offset(by);
    // SAFETY: none; that is what the test is about. Within the pages a byte of
    // nobody's is written, else the process ends here.
    unsafe { place.write_volatile(2) };
    drop(bytes);
}
