//! Runs forms of one workload in turn, A B A B, and keeps each one's minimum:
//! on a shared machine the ratio of two minima taken together is what holds.

use std::time::Instant;

/// Workload, form, threads, and the minimum in nanoseconds.
pub(crate) type Results = Vec<(&'static str, &'static str, usize, f64)>;

/// A workload's name, and what measures it.
pub(crate) type Entry = (&'static str, fn(&'static str) -> Results);

/// One way to do a workload.
pub(crate) struct Form<'a> {
    pub(crate) name: &'static str,
    pub(crate) threads: usize,
    pub(crate) run: Box<dyn FnMut() + Send + 'a>,
}

/// A workload's forms under its name.
pub(crate) struct Workload<'a> {
    pub(crate) name: &'static str,
    pub(crate) forms: Vec<Form<'a>>,
}

impl<'a> Workload<'a> {
    pub(crate) fn new(name: &'static str) -> Self {
        Workload { name, forms: Vec::new() }
    }

    /// Adds a form that runs on one thread.
    pub(crate) fn one(mut self, name: &'static str, run: impl FnMut() + Send + 'a) -> Self {
        self.forms.push(Form { name, threads: 1, run: Box::new(run) });
        self
    }

    /// Adds a form that runs on one thread and on two.
    pub(crate) fn both<F: FnMut() + Send + 'a>(
        mut self,
        name: &'static str,
        mut make: impl FnMut() -> F,
    ) -> Self {
        for threads in [1, 2] {
            self.forms.push(Form { name, threads, run: Box::new(make()) });
        }
        self
    }

    /// Times all forms in turn, prints a line each and returns the minimum
    /// nanoseconds of each.
    pub(crate) fn measure(mut self, rounds_for: f64) -> Results {
        let pools = [1, 2].map(|threads| {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool of threads")
        });
        let mut best = vec![f64::INFINITY; self.forms.len()];
        // Tiny calls are timed many at once, or the clock is what is measured. A turn is several
        // calls long: the first finds the other forms' data in the caches.
        let mut lengths = vec![(1_u32, 1_u32); self.forms.len()];
        for (form, (repeats, calls)) in self.forms.iter_mut().zip(&mut lengths) {
            pools[form.threads - 1].install(|| {
                (form.run)();
                let once = Instant::now();
                (form.run)();
                let once = once.elapsed().as_secs_f64().max(1e-8);
                *repeats = ((2e-5 / once) as u32).clamp(1, 2000);
                *calls = ((1e-3 / (once * f64::from(*repeats))) as u32).clamp(3, 10);
            });
        }
        let begin = Instant::now();
        let mut rounds = 0;
        while rounds < 5 || begin.elapsed().as_secs_f64() < rounds_for * self.forms.len() as f64 {
            for ((form, best), &lengths) in self.forms.iter_mut().zip(&mut best).zip(&lengths) {
                pools[form.threads - 1].install(|| {
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

/// Prints one workload's results: microseconds, and the ratio to our own
/// `into` form (or else `alloc`) on as many threads.
pub(crate) fn report(results: &[(&'static str, &'static str, usize, f64)]) {
    for &(workload, form, threads, nanos) in results {
        let ours = |name| results.iter().find(|r| r.1 == name && r.2 == threads).map(|r| r.3);
        let ratio = ours("into").or_else(|| ours("alloc")).map_or(f64::NAN, |ours| nanos / ours);
        println!("{workload:18} {form:10} {threads}t {:12.3} us   x{ratio:.2}", nanos / 1e3);
    }
}
