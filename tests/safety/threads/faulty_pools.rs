//! Pools whose handlers panic, whose threads never begin, or that are dropped while
//! they work.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use rayon::ThreadPoolBuilder;

use super::{Results, Shared, assert_same_results};

/// A panic that prints nothing.
fn fail() {
    std::panic::resume_unwind(Box::new("a fault"));
}

fn inputs() -> (Arc<Shared>, Results) {
    let shared = Shared::new();
    let results = shared.results();
    (Arc::new(shared), results)
}

#[test]
fn threads_whose_start_fails() {
    let (shared, expected) = inputs();
    let faults = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&faults);
    let pool = ThreadPoolBuilder::new()
        .num_threads(3)
        .start_handler(|_| fail())
        .exit_handler(|_| fail())
        .panic_handler(move |_| {
            seen.fetch_add(1, Ordering::SeqCst);
        })
        .build()
        .unwrap();
    assert_same_results(&pool.install(|| shared.results()), &expected);
    // Tasks that panic beside calls.
    pool.scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|_| pool.spawn(fail));
            scope.spawn(|_| assert_same_results(&shared.results(), &expected));
        }
    });
    assert!(faults.load(Ordering::SeqCst) > 0, "no handler was called");
}

/// What they would have done the others do.
#[test]
fn threads_that_never_begin() {
    let (shared, expected) = inputs();
    let pool = ThreadPoolBuilder::new()
        .num_threads(4)
        .spawn_handler(|thread| {
            if thread.index() == 2 {
                std::thread::spawn(|| thread.run());
            }
            Ok(())
        })
        .build()
        .unwrap();
    assert_same_results(&pool.install(|| shared.results()), &expected);
}

#[test]
fn a_pool_that_is_dropped_while_it_works() {
    let (shared, expected) = inputs();
    let (send, receive) = mpsc::channel();
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    for _ in 0..4 {
        let (shared, send) = (Arc::clone(&shared), send.clone());
        pool.spawn(move || send.send(shared.results()).unwrap());
    }
    drop((pool, send));
    let results: Vec<Results> = receive.iter().collect();
    assert_eq!(results.len(), 4);
    results.iter().for_each(|results| assert_same_results(results, &expected));
}

/// The caller is one of the pool's threads, and there is no other to take what it
/// offers.
#[test]
fn a_pool_of_the_caller_alone() {
    std::thread::spawn(|| {
        let (shared, expected) = inputs();
        let pool = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().unwrap();
        assert_same_results(&shared.results(), &expected);
        drop(pool);
        assert_same_results(&shared.results(), &expected);
    })
    .join()
    .unwrap();
}

/// Calls while a thread ends, when some of what is local to it is gone.
#[test]
fn calls_at_the_end_of_a_thread() {
    struct AtTheEnd(Arc<Shared>, mpsc::Sender<Results>);
    impl Drop for AtTheEnd {
        fn drop(&mut self) {
            self.1.send(self.0.results()).unwrap();
        }
    }
    thread_local! {
        static AT_THE_END: RefCell<Option<AtTheEnd>> = const { RefCell::new(None) };
    }
    let (shared, expected) = inputs();
    let (send, receive) = mpsc::channel();
    let last = AtTheEnd(Arc::clone(&shared), send);
    std::thread::spawn(move || {
        AT_THE_END.with(|slot| slot.replace(Some(last)).map(drop));
        drop(shared.results());
    })
    .join()
    .unwrap();
    assert_same_results(&receive.recv().unwrap(), &expected);
}
