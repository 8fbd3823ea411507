//! The work memory of a roll in place: one lane or a constant, whichever is
//! more, over all threads together, in every layout. An allocator counts it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use ndarray::{Array, Array1, Array2, Array3, ArrayViewMut, Axis, Dimension, s};
use opkernels::RollExt;

/// What a roll may take where its lanes are shorter.
const CONSTANT: usize = 256 << 10;

/// Bytes that are allocated, and the most since `measured` began.
static BYTES: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Counting;

fn allocated(bytes: usize) {
    let now = BYTES.fetch_add(bytes, Ordering::SeqCst) + bytes;
    PEAK.fetch_max(now, Ordering::SeqCst);
}

// SAFETY: the system's allocator does all the work.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        allocated(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        allocated(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), Ordering::SeqCst);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most bytes that were allocated at a time while this ran.
fn measured(run: impl FnOnce()) -> usize {
    let before = BYTES.load(Ordering::SeqCst);
    PEAK.store(before, Ordering::SeqCst);
    run();
    PEAK.load(Ordering::SeqCst) - before
}

/// A pool of so many threads, or this thread.
struct Place {
    threads: usize,
    #[cfg(feature = "rayon")]
    pool: rayon::ThreadPool,
}

impl Place {
    fn all() -> Vec<Self> {
        let all: &[usize] = if cfg!(feature = "rayon") { &[1, 8] } else { &[1] };
        let place = |&threads: &usize| Place {
            threads,
            #[cfg(feature = "rayon")]
            pool: rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap(),
        };
        all.iter().map(place).collect()
    }

    fn run(&self, run: impl FnOnce() + Send) {
        #[cfg(feature = "rayon")]
        self.pool.install(run);
        #[cfg(not(feature = "rayon"))]
        run();
    }
}

/// Rolls that took more than they may.
struct Judge {
    places: Vec<Place>,
    excesses: Vec<String>,
}

impl Judge {
    fn new() -> Self {
        let places = Place::all();
        // What pools allocate when they begin to share work is theirs.
        for place in &places {
            let mut large = Array2::<u64>::zeros((1200, 1000));
            place.run(|| large.roll_inplace([7, 1], [0, 1]).unwrap());
        }
        Judge { places, excesses: Vec::new() }
    }

    /// A roll of a view of `buffer` by as many places along each axis, and back.
    fn roll<A, D, E>(
        &mut self,
        name: &str,
        buffer: &mut Array<A, D>,
        view: fn(&mut Array<A, D>) -> ArrayViewMut<'_, A, E>,
        shifts: &[i64],
    ) where
        A: Clone + PartialEq + Send + Sync,
        D: Dimension,
        E: Dimension,
    {
        let axes: Vec<i64> = (0..shifts.len() as i64).collect();
        let back: Vec<i64> = shifts.iter().map(|shift| -shift).collect();
        let lanes = view(buffer)
            .shape()
            .iter()
            .zip(shifts)
            .map(|(&len, &s)| if s == 0 { 0 } else { len })
            .max();
        let allowed = CONSTANT.max(lanes.unwrap_or(0) * size_of::<A>());
        let before = buffer.clone();
        for place in &self.places {
            let mut target = view(buffer);
            let peak = measured(|| place.run(|| target.roll_inplace(shifts, &axes).unwrap()));
            let peak_back = measured(|| place.run(|| target.roll_inplace(&back, &axes).unwrap()));
            assert!(buffer.as_slice() == before.as_slice(), "{name} on {} threads", place.threads);
            let peak = peak.max(peak_back);
            if peak > allowed {
                let name = format!("{name} by {shifts:?} on {} threads", place.threads);
                self.excesses.push(format!("{name}: {peak} bytes, not {allowed}"));
            }
        }
    }
}

fn numbered<D: Dimension>(mut array: Array<u64, D>) -> Array<u64, D> {
    array.iter_mut().enumerate().for_each(|(k, element)| *element = k as u64);
    array
}

fn lines(judge: &mut Judge) {
    let mut line = numbered(Array1::zeros(1_000_000));
    for shift in [1, 30_000, 120_000, 500_000, 999_000] {
        judge.roll("a line", &mut line, |line| line.view_mut(), &[shift]);
        judge.roll("a line backward", &mut line, |line| line.slice_mut(s![..;-1]), &[shift]);
        judge.roll("a line in steps", &mut line, |line| line.slice_mut(s![1..;3]), &[shift]);
    }
}

fn matrices(judge: &mut Judge) {
    for shape in [(1000, 1000), (20_000, 50), (150_000, 7), (10, 100_000), (3, 350_000)] {
        let mut matrix = numbered(Array2::zeros(shape));
        let (rows, columns) = (shape.0 as i64, shape.1 as i64);
        for shifts in [
            [1, 0],
            [rows / 2, 0],
            [0, 1],
            [0, columns / 2],
            [rows / 2, columns / 2],
            [1, columns - 1],
        ] {
            let name = |layout: &str| format!("{shape:?} {layout}");
            judge.roll(&name("in one piece"), &mut matrix, |a| a.view_mut(), &shifts);
            judge.roll(&name("reversed"), &mut matrix, |a| a.slice_mut(s![..;-1, ..;-1]), &shifts);
            judge.roll(&name("with gaps"), &mut matrix, |a| a.slice_mut(s![.., 1..]), &shifts);
            judge.roll(&name("in steps"), &mut matrix, |a| a.slice_mut(s![.., ..;2]), &shifts);
            let turned = [shifts[1], shifts[0]];
            judge.roll(&name("transposed"), &mut matrix, |a| a.view_mut().reversed_axes(), &turned);
        }
    }
}

fn cubes(judge: &mut Judge) {
    // One of two interleaved fields, whose axes have no gaps between them.
    let mut fields = numbered(Array3::zeros((20_000, 100, 2)));
    for shifts in [[10_000, 0], [1, 0], [700, 0], [0, 50], [10_000, 50]] {
        judge.roll("one of two fields", &mut fields, |a| a.index_axis_mut(Axis(2), 0), &shifts);
    }
    drop(fields);
    let mut cube = numbered(Array3::zeros((90, 100, 110)));
    for shifts in [[45, 0, 0], [0, 50, 0], [0, 0, 55], [1, 1, 1], [45, 50, 55], [45, 0, 1]] {
        judge.roll("a cube", &mut cube, |a| a.view_mut(), &shifts);
        judge.roll("a cube, cut", &mut cube, |a| a.slice_mut(s![1.., ..-1, 2..]), &shifts);
        judge.roll("a cube in steps", &mut cube, |a| a.slice_mut(s![..;2, ..;-1, ..;2]), &shifts);
        let turned = [shifts[2], shifts[0], shifts[1]];
        judge.roll(
            "a cube, permuted",
            &mut cube,
            |a| a.view_mut().permuted_axes([2, 0, 1]),
            &turned,
        );
    }
}

fn other_elements(judge: &mut Judge) {
    let mut bytes = Array2::from_shape_fn((2000, 2001), |(i, j)| (i * 31 + j) as u8);
    let mut large = Array2::from_shape_fn((300, 11), |(i, j)| [(i * 100 + j) as u64; 512]);
    for (first, second) in [(1, 0), (150, 0), (0, 5), (7, 3)] {
        judge.roll("bytes", &mut bytes, |a| a.view_mut(), &[first, second]);
        judge.roll("bytes in steps", &mut bytes, |a| a.slice_mut(s![..;3, ..;2]), &[first, second]);
        judge.roll("elements of 4 KiB", &mut large, |a| a.view_mut(), &[first, second]);
        judge.roll(
            "elements of 4 KiB, cut",
            &mut large,
            |a| a.slice_mut(s![.., 1..10]),
            &[first, second],
        );
    }
}

/// One test, since all allocations count.
#[test]
fn rolls_in_place_take_a_lane_or_a_constant() {
    let mut judge = Judge::new();
    lines(&mut judge);
    matrices(&mut judge);
    cubes(&mut judge);
    other_elements(&mut judge);
    let excesses = judge.excesses;
    assert!(excesses.is_empty(), "{} rolls took more:\n{}", excesses.len(), excesses.join("\n"));
}
