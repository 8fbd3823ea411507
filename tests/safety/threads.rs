//! Calls from threads of every kind: tasks of rayon, pools of any size, many
//! threads of the system at once, and those on which another call panicked.

#[cfg(all(feature = "rayon", not(any(miri, target_family = "wasm"))))]
mod faulty_pools;

use std::sync::atomic::{AtomicUsize, Ordering};

use ndarray::{Array1, Array2, Axis};
use opkernels::{
    Gather, GatherElementsExt, GatherExt, GatherNdExt, OutOfBounds, RollExt, Scatter,
    ScatterElements, ScatterElementsExt, ScatterExt, ScatterNd, ScatterNdExt,
};

use crate::common::{Numbers, REDUCTIONS, array_of, assert_same};

/// An element of 4 KiB: few of them are worth several threads.
type Page = [u64; 512];

/// Inputs that every thread reads.
struct Shared {
    pages: Array2<Page>,
    rows: Array1<i32>,
    columns: Array1<u8>,
    numbers: Array2<f64>,
    updates: Array2<f64>,
    targets: Array2<i64>,
}

/// What the operations made of them.
struct Results {
    pages: Vec<Array2<Page>>,
    numbers: Vec<Array2<f64>>,
}

impl Shared {
    /// Large enough to be split over threads, but not under Miri.
    fn new() -> Self {
        let (rows, lanes) = if cfg!(miri) { (3, 4) } else { (46, 300) };
        let columns = rows / 2;
        let mut numbers = Numbers(5);
        let mut below = |end: usize| numbers.below(end);
        Shared {
            pages: array_of(&[rows, columns], 1).into_dimensionality().unwrap(),
            rows: Array1::from_shape_simple_fn(rows, || below(2 * rows) as i32 - rows as i32),
            columns: Array1::from_shape_simple_fn(columns, || below(columns) as u8),
            numbers: array_of(&[lanes, 20], 2).into_dimensionality().unwrap(),
            updates: array_of(&[lanes, lanes], 3).into_dimensionality().unwrap(),
            targets: Array2::from_shape_simple_fn((lanes, lanes), || below(40) as i64 - 20),
        }
    }

    fn results(&self) -> Results {
        let mut pages = self.gathered();
        pages.extend(self.rolled());
        Results { pages, numbers: self.scattered() }
    }

    fn gathered(&self) -> Vec<Array2<Page>> {
        let (pages, rows, columns) = (&self.pages, &self.rows, &self.columns);
        let mut out = pages.clone();
        let clip = Gather::along(0).out_of_bounds(OutOfBounds::Clip);
        pages.gather_into(rows, clip, &mut out).unwrap();
        let places = rows.view().insert_axis(Axis(1));
        let all = places.broadcast(pages.dim()).unwrap();
        let by_tuples = pages.gather_nd(&places).unwrap().into_dimensionality().unwrap();
        let by_elements = pages.gather_elements(&all, 0).unwrap();
        let by_rows = pages.gather(rows, 0).unwrap();
        vec![by_rows, pages.gather(columns, 1).unwrap(), out, by_tuples, by_elements]
    }

    fn rolled(&self) -> Vec<Array2<Page>> {
        let (mut out, mut turned) = (self.pages.clone(), self.pages.clone());
        self.pages.roll_into([3, 1], [1, 0], &mut out).unwrap();
        turned.roll_inplace([-1, 5], [0, 1]).unwrap();
        vec![self.pages.roll([1, -2], [0, 1]).unwrap(), out, turned]
    }

    fn scattered(&self) -> Vec<Array2<f64>> {
        let mut results = Vec::new();
        for reduction in REDUCTIONS {
            let attributes = ScatterElements::along(1).reduction(reduction);
            let mut target = self.numbers.clone();
            target.scatter_elements_inplace(&self.targets, &self.updates, attributes).unwrap();
            let whole = self.numbers.scatter_elements_with(
                &self.targets,
                &self.updates,
                attributes.use_init_val(false),
            );
            let lanes = self.targets.column(0);
            let slices = Scatter::along(1).reduction(reduction);
            let by_slices = self.numbers.scatter_with(&lanes, &self.updates, slices).unwrap();
            let rows = lanes.mapv(|lane| lane.rem_euclid(20)).insert_axis(Axis(1));
            let tuples = ScatterNd::new().reduction(reduction);
            let mut turned = self.numbers.t().to_owned();
            turned.scatter_nd_inplace(&rows, &self.updates, tuples).unwrap();
            results.extend([target, whole.unwrap(), by_slices, turned]);
        }
        let mut folded = self.numbers.clone();
        let last = |old: &mut f64, new: &f64| *old = old.mul_add(0.5, *new);
        folded.scatter_elements_fold(&self.targets, &self.updates, 1, last).unwrap();
        results.push(folded);
        results
    }
}

/// The same to the bit.
#[track_caller]
fn assert_same_results(actual: &Results, expected: &Results) {
    assert_eq!(actual.pages.len(), expected.pages.len());
    assert_eq!(actual.numbers.len(), expected.numbers.len());
    for (actual, expected) in actual.pages.iter().zip(&expected.pages) {
        assert!(actual == expected, "pages differ");
    }
    for (actual, expected) in actual.numbers.iter().zip(&expected.numbers) {
        assert_same(actual, expected);
    }
}

#[test]
fn many_threads_of_the_system_on_shared_data() {
    let (threads, rounds) = if cfg!(miri) { (2, 1) } else { (16, 2) };
    let shared = Shared::new();
    let expected = shared.results();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for _ in 0..rounds {
                    assert_same_results(&shared.results(), &expected);
                }
            });
        }
    });
}

/// An element whose clone panics when the last of a number has been cloned. It
/// needs no dropping, so that it is cloned where the work is split.
#[expect(dead_code, reason = "only cloned")]
struct Fused<'f> {
    page: Page,
    clones_left: &'f AtomicUsize,
}

impl Clone for Fused<'_> {
    fn clone(&self) -> Self {
        let one_less = |left: usize| left.checked_sub(1);
        if self.clones_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less) == Ok(1) {
            // Unwinds like any panic, without a message.
            std::panic::resume_unwind(Box::new("fused"));
        }
        Fused { ..*self }
    }
}

/// Whether gathers, rolls and scatters of fused pages all panic.
fn panics(shared: &Shared, clones: usize) -> bool {
    let clones_left = AtomicUsize::new(0);
    let fused = shared.pages.map(|&page| Fused { page, clones_left: &clones_left });
    let panics = |run: &(dyn Fn() + Sync)| {
        clones_left.store(clones, Ordering::SeqCst);
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        caught.is_err_and(|panic| panic.is::<&str>())
    };
    let indices = Array2::<u8>::zeros(fused.dim());
    panics(&|| drop(fused.gather(&shared.rows, 0)))
        && panics(&|| drop(fused.roll([1, 1], [0, 1])))
        && panics(&|| drop(fused.scatter_elements(&indices, &fused, Axis(0))))
}

#[test]
fn a_call_after_a_panic() {
    let shared = Shared::new();
    let expected = shared.results();
    for clones in [1, shared.pages.len() / 2, shared.pages.len()] {
        assert!(panics(&shared, clones));
        assert_same_results(&shared.results(), &expected);
    }
}

#[cfg(feature = "rayon")]
mod rayon_tasks {
    use rayon::prelude::*;

    use super::*;

    fn pool(threads: usize) -> rayon::ThreadPool {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
    }

    #[test]
    fn pools_of_1_to_16_threads() {
        let shared = Shared::new();
        let expected = pool(1).install(|| shared.results());
        for threads in 2..=16 {
            let results = pool(threads).install(|| shared.results());
            assert_same_results(&results, &expected);
        }
    }

    #[test]
    fn parallel_iterators() {
        let shared = Shared::new();
        let expected = shared.results();
        pool(3).install(|| {
            (0..12).into_par_iter().for_each(|_| assert_same_results(&shared.results(), &expected));
        });
    }

    #[test]
    fn joins_within_joins() {
        let shared = Shared::new();
        let expected = shared.results();
        let check = || assert_same_results(&shared.results(), &expected);
        let twice = || {
            rayon::join(check, check);
        };
        pool(2).install(|| rayon::join(twice, twice));
        rayon::join(twice, check);
    }

    /// Tasks that each write their own rows of one array.
    #[test]
    fn scopes_that_share_an_array() {
        let shared = Shared::new();
        let expected = shared.pages.gather(&shared.rows, 0).unwrap();
        let turned = shared.pages.roll(2, 1).unwrap();
        let (mut out, mut target) = (shared.pages.clone(), shared.pages.clone());
        pool(4).install(|| {
            rayon::scope(|scope| {
                let indices = shared.rows.axis_chunks_iter(Axis(0), 9);
                for (mut rows, indices) in out.axis_chunks_iter_mut(Axis(0), 9).zip(indices) {
                    let pages = &shared.pages;
                    scope.spawn(move |_| {
                        pages.gather_into(&indices, Gather::along(0), &mut rows).unwrap();
                    });
                }
                for mut rows in target.axis_chunks_iter_mut(Axis(0), 23) {
                    scope.spawn(move |_| rows.roll_inplace(2, 1).unwrap());
                }
            });
        });
        assert!(out == expected);
        assert!(target == turned);
    }

    /// Threads of the system, each with a pool of its own.
    #[test]
    fn many_pools_at_once() {
        let shared = Shared::new();
        let expected = shared.results();
        std::thread::scope(|scope| {
            for threads in [1, 2, 3, 5] {
                let (shared, expected) = (&shared, &expected);
                scope.spawn(move || {
                    let results = pool(threads).install(|| shared.results());
                    assert_same_results(&results, expected);
                });
            }
        });
    }

    /// A panic leaves the pool, and what runs beside it, as they were.
    #[test]
    fn panics_beside_other_calls() {
        let shared = Shared::new();
        let expected = shared.results();
        for threads in [1, 2, 4] {
            let pool = pool(threads);
            for clones in [1, 500] {
                let (panicked, beside) =
                    pool.install(|| rayon::join(|| panics(&shared, clones), || shared.results()));
                assert!(panicked);
                assert_same_results(&beside, &expected);
                assert_same_results(&pool.install(|| shared.results()), &expected);
            }
        }
    }

    /// An element that is worth several threads, and counts its clones.
    struct Counted<'c> {
        page: [u64; if cfg!(miri) { 1 << 10 } else { 1 << 18 }],
        clones: &'c AtomicUsize,
    }

    impl Clone for Counted<'_> {
        fn clone(&self) -> Self {
            self.clones.fetch_add(1, Ordering::SeqCst);
            Counted { ..*self }
        }
    }

    /// There is no loop to share out: one part writes it, and no other.
    #[test]
    fn a_single_large_element_is_written_once() {
        // Not on the stack of the test, which is smaller.
        #[inline(never)]
        fn run() {
            let clones = AtomicUsize::new(0);
            let one = Array1::from_shape_simple_fn(1, || Counted { page: [7; _], clones: &clones });
            let gathered = one.gather(&[0], 0).unwrap();
            assert_eq!((clones.swap(0, Ordering::SeqCst), gathered[0].page[9]), (1, 7));
            let rolled = one.roll(1, 0).unwrap();
            assert_eq!((clones.swap(0, Ordering::SeqCst), rolled[0].page[9]), (1, 7));
        }
        // Clones pass through the stack.
        rayon::ThreadPoolBuilder::new()
            .num_threads(3)
            .stack_size(64 << 20)
            .build()
            .unwrap()
            .install(run);
    }
}
