//! A system that refuses threads: large operations run on the thread that
//! calls them, with the same results.

use std::panic::catch_unwind;

use ndarray::{Array1, Array2, Axis};
use opkernels::{GatherExt, OutOfBounds, Reduction, RollExt, ScatterElements, ScatterElementsExt};

use super::child::{self, Limits};

/// KiB of addresses, and threads whose stacks of 250 MiB take more. Three of
/// them start; what the fourth is refused is left for all else.
const LIMIT: u32 = 1000 << 10;
const THREADS: &str = "32";
const STACK: &str = "262144000";

/// Elements, in rows of as many as there are rows.
const LEN: usize = SIDE * SIDE;
const SIDE: usize = 500;

/// Every operation on arrays for which several threads would be taken.
fn all_operations() {
    let rolled = |by: usize| Array1::from_shape_fn(LEN, |k| ((k + LEN - by) % LEN) as u32);
    let data = rolled(0);
    assert!(data.roll(1, 0).unwrap() == rolled(1));
    let mut out = data.clone();
    data.roll_into(7, 0, &mut out).unwrap();
    assert!(out == rolled(7));
    drop(out);
    let mut rows = data.clone().into_shape_with_order((SIDE, SIDE)).unwrap();
    rows.roll_inplace(3, 0).unwrap();
    assert!(rows.into_shape_with_order(LEN).unwrap() == rolled(3 * SIDE));
    let backward = Array1::from_shape_fn(LEN, |k| -1 - k as i32);
    assert!(data.gather(&backward, 0).unwrap().iter().copied().eq((0..LEN as u32).rev()));
    let mut out = data.clone();
    let clip = opkernels::Gather::along(0).out_of_bounds(OutOfBounds::Clip);
    data.gather_into(&backward, clip, &mut out).unwrap();
    assert!(out.iter().copied().eq((0..LEN as u32).rev()));
    drop((out, backward));
    let indices = Array2::from_shape_fn((SIDE, SIDE), |(i, j)| ((i + j) % 2) as u8);
    let updates = data.into_shape_with_order((SIDE, SIDE)).unwrap();
    let target = Array2::<u32>::zeros((2, SIDE));
    for (reduction, expected) in [(Reduction::Sum, 31_125_000), (Reduction::Mean, 124_500)] {
        let attributes = ScatterElements::along(Axis(0)).reduction(reduction).use_init_val(false);
        let mut scattered = target.clone();
        scattered.scatter_elements_inplace(&indices, &updates, attributes).unwrap();
        assert_eq!(scattered[[0, 0]], expected);
        assert_eq!(target.scatter_elements_with(&indices, &updates, attributes), Ok(scattered));
    }
}

fn assert_refused() {
    let pool = rayon::ThreadPoolBuilder::new().build();
    assert!(pool.is_err(), "{THREADS} threads fit in {LIMIT} KiB");
}

/// Nobody has asked for the global pool before.
fn alone() {
    assert_refused();
    all_operations();
    all_operations();
}

/// The caller has been refused threads, too.
fn after_the_caller() {
    assert_refused();
    assert!(catch_unwind(rayon::current_num_threads).is_err());
    all_operations();
}

/// A pool of the caller's that did start is used, then and later.
fn beside_a_pool() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(all_operations);
    assert_refused();
    all_operations();
    pool.install(all_operations);
}

/// A pool that the caller has made the global one is used.
fn with_a_global_pool() {
    rayon::ThreadPoolBuilder::new().num_threads(2).build_global().unwrap();
    all_operations();
    assert_eq!(rayon::current_num_threads(), 2);
}

const CASES: [(&str, fn()); 4] = [
    ("alone", alone),
    ("after the caller", after_the_caller),
    ("beside a pool", beside_a_pool),
    ("with a global pool", with_a_global_pool),
];

#[test]
fn refused_threads_are_done_without() {
    if let Some(case) = child::case() {
        let (_, run) = CASES.iter().find(|(name, _)| *name == case).expect("a case");
        return run();
    }
    if child::untooled() {
        // One arena: others would take what is left of the addresses for good.
        let variables =
            [("RAYON_NUM_THREADS", THREADS), ("RUST_MIN_STACK", STACK), ("MALLOC_ARENA_MAX", "1")];
        let limits = Limits { addresses: Some(LIMIT), variables: &variables };
        let names = CASES.map(|(name, _)| name);
        child::run_all("refused_threads::refused_threads_are_done_without", names, &limits);
    }
}
