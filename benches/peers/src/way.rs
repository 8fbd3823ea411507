//! One way to do a workload: its answer, to be checked, and a call to be timed.

use std::hint::black_box;
use std::rc::Rc;

/// A call that is timed.
pub(crate) type Call<'a> = Box<dyn FnMut() + Send + 'a>;

pub(crate) struct Way<'a, T> {
    /// The peer and the form, "alloc" or "into", with a space between.
    pub(crate) name: &'static str,
    /// The elements of the result in row-major order.
    pub(crate) answer: Box<dyn Fn() -> Vec<T> + 'a>,
    pub(crate) make: Box<dyn Fn() -> Call<'a> + 'a>,
}

/// A call that returns a new array.
pub(crate) fn alloc<'a, T, R>(
    name: &'static str,
    call: impl Fn() -> R + Clone + Send + 'a,
    read: impl Fn(&R) -> Vec<T> + 'a,
) -> Way<'a, T> {
    let timed = call.clone();
    Way {
        name,
        answer: Box::new(move || read(&call())),
        make: Box::new(move || {
            let call = timed.clone();
            Box::new(move || drop(black_box(call())))
        }),
    }
}

/// A call that writes an array of the caller's, made by `start`.
pub(crate) fn into<'a, T, S: Send + 'a>(
    name: &'static str,
    start: impl Fn() -> S + 'a,
    call: impl Fn(&mut S) + Clone + Send + 'a,
    read: impl Fn(&S) -> Vec<T> + 'a,
) -> Way<'a, T> {
    let (start, timed) = (Rc::new(start), call.clone());
    let start_timed = Rc::clone(&start);
    Way {
        name,
        answer: Box::new(move || {
            let mut target = start();
            call(&mut target);
            read(&target)
        }),
        make: Box::new(move || {
            let (mut target, call) = (start_timed(), timed.clone());
            Box::new(move || call(black_box(&mut target)))
        }),
    }
}
