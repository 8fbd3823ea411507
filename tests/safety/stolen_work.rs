//! While a call waits for its parts, rayon may run other tasks of the pool on the
//! thread that waits: such a task must not wait for what that call has begun.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use ndarray::Array1;
use opkernels::IndexPlan;

/// Runs something that may never end.
fn ends(run: impl FnOnce() + Send + 'static) {
    let (done, ended) = mpsc::channel();
    std::thread::spawn(move || {
        run();
        let _ = done.send(());
    });
    let waited = ended.recv_timeout(Duration::from_secs(60));
    assert!(waited.is_ok(), "does not end, or has panicked");
}

/// One thread lists the updates of a plan; the other takes part in that from some
/// moment on, so that the first waits for it, and meanwhile finds a task that asks
/// for the same list. Whether it does depends on the moment, so there are many.
#[test]
fn tasks_that_prepare_one_plan() {
    let indices = Array1::from_shape_fn(if cfg!(miri) { 100 } else { 5_000 }, |k| k * 7 % 997);
    ends(move || {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let usual = (0..20).map(|_| {
            let plan = IndexPlan::new(&indices, 1000).unwrap();
            let started = Instant::now();
            pool.install(|| plan.prepare());
            started.elapsed()
        });
        let usual = usual.min().unwrap_or_default();
        for round in 0..1000 {
            let plan = IndexPlan::new(&indices, 1000).unwrap();
            let begun = AtomicBool::new(false);
            pool.in_place_scope(|scope| {
                scope.spawn(|_| {
                    while !begun.load(Ordering::Acquire) {
                        std::hint::spin_loop();
                    }
                    let started = Instant::now();
                    while started.elapsed() < usual * (20 + round % 60) / 50 {
                        std::hint::spin_loop();
                    }
                });
                scope.spawn(|_| {
                    begun.store(true, Ordering::Release);
                    plan.prepare();
                });
                for _ in 0..4 {
                    scope.spawn(|_| plan.prepare());
                }
            });
        }
    });
}
