//! Runs forms of one workload in turn, A B A B, and keeps each one's minimum:
//! on a shared machine the ratio of two minima taken together is what holds.

use std::sync::LazyLock;
use std::time::Instant;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// Workload, form, threads, and the minimum in nanoseconds.
pub type Results = Vec<(&'static str, &'static str, usize, f64)>;

/// The numbers of threads that forms run on.
pub const THREADS: [usize; 2] = [1, 2];

/// The pool of one thread or of two, each held to a processor of its own: schedulers may wake both
/// on the same, and then a second thread gains nothing, whatever it does.
pub fn pool(threads: usize) -> &'static ThreadPool {
    static POOLS: LazyLock<[ThreadPool; 2]> = LazyLock::new(|| {
        THREADS.map(|threads| {
            let pool = ThreadPoolBuilder::new().num_threads(threads).start_handler(hold);
            pool.build().expect("a pool of threads")
        })
    });
    &POOLS[threads - 1]
}

/// Holds this thread to a processor with this number, where the system lets it.
fn hold(processor: usize) {
    #[cfg(target_os = "linux")]
    // SAFETY: a set is nothing but bits, and its size is that of what it points to.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processor, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &raw const set);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = processor;
}

/// One way to do a workload.
struct Form<'a> {
    name: &'static str,
    threads: usize,
    run: Box<dyn FnMut() + Send + 'a>,
}

/// A workload's forms under its name.
pub struct Turns<'a> {
    name: &'static str,
    forms: Vec<Form<'a>>,
}

impl<'a> Turns<'a> {
    pub fn new(name: &'static str) -> Self {
        Turns { name, forms: Vec::new() }
    }

    /// Adds a form that runs on so many threads.
    pub fn on(mut self, threads: usize, name: &'static str, run: impl FnMut() + Send + 'a) -> Self {
        self.forms.push(Form { name, threads, run: Box::new(run) });
        self
    }

    /// Times all forms in turn, and returns the minimum nanoseconds of each.
    pub fn measure(mut self, seconds_a_form: f64) -> Results {
        let mut best = vec![f64::INFINITY; self.forms.len()];
        // Tiny calls are timed many at once, or the clock is what is measured. A turn is several
        // calls long: the first finds the other forms' data in the caches.
        let mut lengths = vec![(1_u32, 1_u32); self.forms.len()];
        for (form, (repeats, calls)) in self.forms.iter_mut().zip(&mut lengths) {
            pool(form.threads).install(|| {
                (form.run)();
                let once = Instant::now();
                (form.run)();
                let once = once.elapsed().as_secs_f64().max(1e-8);
                *repeats = ((2e-5 / once) as u32).clamp(1, 2000);
                *calls = ((1e-3 / (once * f64::from(*repeats))) as u32).clamp(3, 10);
            });
        }
        let begin = Instant::now();
        let whole = seconds_a_form * self.forms.len() as f64;
        let mut rounds = 0;
        while rounds < 5 || begin.elapsed().as_secs_f64() < whole {
            for ((form, best), &lengths) in self.forms.iter_mut().zip(&mut best).zip(&lengths) {
                pool(form.threads).install(|| {
                    for _ in 0..lengths.1 {
                        let start = Instant::now();
                        for _ in 0..lengths.0 {
                            (form.run)();
                        }
                        let nanos = start.elapsed().as_secs_f64() * 1e9;
                        *best = best.min(nanos / f64::from(lengths.0));
                    }
                });
            }
            rounds += 1;
        }
        let name = self.name;
        self.forms
            .iter()
            .zip(best)
            .map(|(form, best)| (name, form.name, form.threads, best))
            .collect()
    }
}
