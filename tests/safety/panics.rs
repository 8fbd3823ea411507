//! Clones that panic, and what lives afterwards: nothing is dropped twice,
//! nothing leaks, and whatever was being written holds valid elements.
//!
//! Every form of every operation runs with a panic in its first clone, its
//! second, and so on until no clone is left to panic. Elements enter
//! themselves in a ledger when they are made and cross themselves out when
//! they die.

mod ledger;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use ndarray::{ArcArray2, Array2, ArrayD};
use opkernels::{Error, Gather, GatherExt, RollExt, ScatterElementsExt};

use super::forms::{Arrays, Form, Given, LAYOUTS, Laid, forms};
use ledger::{
    Counted, Element, Fuse, Ledger, Line, Nested, Nothing, OF_NOTHING, Page, Plain, Spark, Void,
};

/// How an operation ended.
enum Ended<A> {
    Done(Option<ArrayD<A>>),
    Refused(Error),
    Panicked,
}

/// Elements of one type in arrays of one size.
struct Trial<'l, E> {
    ledger: &'l Ledger,
    size: (usize, usize),
    laid: Laid,
    forms: Vec<Form<E>>,
    /// The same forms, for reference.
    numbers: Vec<Form<u32>>,
}

impl<'l, E: Element<'l>> Trial<'l, E> {
    fn new(ledger: &'l Ledger, size: (usize, usize), laid: Laid) -> Self {
        Trial { ledger, size, laid, forms: forms(), numbers: forms() }
    }

    fn arrays(&self, given: Given) -> Arrays<E> {
        Arrays::new(self.size, self.laid, given, |value| E::new(value, self.ledger))
    }

    /// Runs one form. `on` is where: on this thread, or in a pool.
    fn run(&self, form: usize, given: Given, fuse: Fuse, on: &impl Pool) -> bool {
        let mut arrays = self.arrays(given);
        let before = Contents::of(&arrays);
        self.ledger.arm(fuse);
        let run = self.forms[form].run;
        let ended = match catch_unwind(AssertUnwindSafe(|| on.run(|| run(&mut arrays)))) {
            Ok(Ok(output)) => Ended::Done(output),
            Ok(Err(error)) => Ended::Refused(error),
            Err(panic) if panic.is::<Spark>() => Ended::Panicked,
            Err(other) => resume_unwind(other),
        };
        self.ledger.arm(Fuse::Never);
        let panicked = matches!(ended, Ended::Panicked);
        self.assert_who_lives(&arrays, &ended);
        self.assert_contents(form, given, &before, &arrays, &ended);
        drop((arrays, ended));
        assert_eq!(self.ledger.count(), 0, "elements leaked");
        self.ledger.assert_no_strangers();
        panicked
    }

    /// Those in the arrays live, each once, and nobody else.
    fn assert_who_lives(&self, arrays: &Arrays<E>, ended: &Ended<E>) {
        let buffers = [&arrays.data, &arrays.updates, &arrays.target];
        let kept = buffers.into_iter().flat_map(|buffer| &buffer.elements);
        let output = match ended {
            Ended::Done(Some(output)) => Some(output),
            _ => None,
        };
        let all: Vec<&E> = kept.chain(output.into_iter().flatten()).collect();
        assert_eq!(self.ledger.count(), (all.len() * E::ENTRIES) as i64, "elements live unseen");
        let ids: Vec<u64> = all.iter().flat_map(|element| element.ids()).collect();
        assert!(ids.iter().all(|&id| self.ledger.lives(id)), "a dead element is in an array");
        let distinct: BTreeSet<u64> = ids.iter().copied().collect();
        assert_eq!(distinct.len(), ids.len(), "an element is in two places");
    }

    fn assert_contents(
        &self,
        form: usize,
        given: Given,
        before: &Contents,
        arrays: &Arrays<E>,
        ended: &Ended<E>,
    ) {
        let after = Contents::of(arrays);
        assert_eq!(before.data, after.data);
        assert_eq!(before.updates, after.updates);
        match ended {
            Ended::Refused(error) => {
                assert!(given == Given::Bad && self.forms[form].refuses, "{error}");
                assert!(matches!(error, Error::IndexOutOfBounds { .. }), "{error}");
                assert_eq!(before.target, after.target);
            }
            Ended::Done(output) => {
                assert!(given == Given::Good || !self.forms[form].refuses, "not refused");
                let mut numbers = Arrays::new(self.size, self.laid, given, |value| value);
                let expected = (self.numbers[form].run)(&mut numbers).unwrap();
                let seen = |array: &Array2<u32>| array.mapv(E::seen);
                assert_eq!(values(&arrays.target.elements), seen(&numbers.target.elements));
                assert_eq!(
                    output.as_ref().map(|output| output.map(E::value)),
                    expected.map(|expected| expected.mapv(E::seen))
                );
            }
            // Each element is the one that was there, or one that was on its
            // way.
            Ended::Panicked => {
                let sources: BTreeSet<u32> =
                    before.data.iter().chain(&before.updates).map(|(value, _)| *value).collect();
                for (old, new) in before.target.iter().zip(&after.target) {
                    assert!(new == old || sources.contains(&new.0), "{new:?} is no element");
                }
            }
        }
    }

    /// Every form with a panic in each clone that it gets to.
    fn every_panic(&self) {
        for (form, Form { name, .. }) in self.forms.iter().enumerate() {
            println!("{name}, {:?}", self.laid);
            let mut clones = 0;
            while self.run(form, Given::Good, Fuse::At(clones + 1), &Here) {
                clones += 1;
            }
            let moves = name.starts_with("roll") && name.ends_with("in place");
            assert_eq!(clones == 0, moves, "{clones} clones");
        }
    }

    /// Every form without a panic, with good indices and with a bad one.
    fn without_panic(&self, on: &impl Pool) {
        for (form, Form { name, .. }) in self.forms.iter().enumerate() {
            println!("{name}, {:?}", self.laid);
            assert!(!self.run(form, Given::Good, Fuse::Never, on));
            assert!(!self.run(form, Given::Bad, Fuse::Never, on));
        }
    }
}

/// Values and numbers of all elements.
struct Contents {
    data: Vec<(u32, Vec<u64>)>,
    updates: Vec<(u32, Vec<u64>)>,
    target: Vec<(u32, Vec<u64>)>,
}

impl Contents {
    fn of<'l, E: Element<'l>>(arrays: &Arrays<E>) -> Self {
        let all = |elements: &Array2<E>| elements.iter().map(|e| (e.value(), e.ids())).collect();
        Contents {
            data: all(&arrays.data.elements),
            updates: all(&arrays.updates.elements),
            target: all(&arrays.target.elements),
        }
    }
}

fn values<'l, E: Element<'l>>(elements: &Array2<E>) -> Array2<u32> {
    elements.map(E::value)
}

/// Where an operation runs.
trait Pool {
    fn run<R: Send>(&self, run: impl FnOnce() -> R + Send) -> R;
}

/// On the thread of the test.
struct Here;

impl Pool for Here {
    fn run<R: Send>(&self, run: impl FnOnce() -> R + Send) -> R {
        run()
    }
}

const SMALL: (usize, usize) = if cfg!(miri) { (2, 2) } else { (4, 5) };

fn everything<'l, E: Element<'l>>(ledger: &'l Ledger) {
    // Miri takes the first and the last.
    for laid in LAYOUTS.into_iter().step_by(if cfg!(miri) { 2 } else { 1 }) {
        let trial = Trial::<E>::new(ledger, SMALL, laid);
        trial.without_panic(&Here);
        trial.every_panic();
    }
}

#[test]
fn elements_that_need_dropping() {
    everything::<Counted<'_>>(&Ledger::new());
}

#[test]
fn elements_that_need_no_dropping() {
    everything::<Plain<'_>>(&Ledger::new());
}

#[test]
fn elements_cloned_in_part() {
    everything::<Nested<'_>>(&Ledger::new());
}

#[test]
fn elements_as_long_as_cache_lines() {
    everything::<Line<Counted<'_>>>(&Ledger::new());
    everything::<Line<Plain<'_>>>(&Ledger::new());
}

#[test]
fn elements_as_long_as_pages() {
    everything::<Page<Counted<'_>>>(&Ledger::new());
    everything::<Page<Plain<'_>>>(&Ledger::new());
}

/// One test, for there is one ledger of them all.
#[test]
fn elements_without_a_size() {
    everything::<Nothing>(&OF_NOTHING);
    everything::<Void>(&OF_NOTHING);
    everything::<Page<Void>>(&OF_NOTHING);
    everything::<Line<Nothing>>(&OF_NOTHING);
}

/// Pages are long enough for a few hundred to be worth several threads.
#[cfg(feature = "rayon")]
mod in_pools {
    use super::*;

    struct Threads(rayon::ThreadPool);

    impl Pool for Threads {
        fn run<R: Send>(&self, run: impl FnOnce() -> R + Send) -> R {
            self.0.install(run)
        }
    }

    fn everything_in_pools<'l, E: Element<'l>>(ledger: &'l Ledger) {
        for (threads, laid) in [(2, Laid::Standard), (4, Laid::Transposed)] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let pool = Threads(pool);
            let trial = Trial::<Page<E>>::new(ledger, (24, 23), laid);
            trial.without_panic(&pool);
            for form in 0..trial.forms.len() {
                for number in [1, 40, 400] {
                    trial.run(form, Given::Good, Fuse::At(number), &pool);
                    trial.run(form, Given::Good, Fuse::From(number), &pool);
                }
            }
        }
    }

    #[test]
    fn pages_that_need_dropping() {
        everything_in_pools::<Counted<'_>>(&Ledger::new());
    }

    #[test]
    fn pages_that_need_no_dropping() {
        everything_in_pools::<Plain<'_>>(&Ledger::new());
    }
}

/// Each pointer is counted as often as it lies in an array.
#[test]
fn shared_pointers() {
    let handles: Vec<Arc<u32>> = (0..3).map(Arc::new).collect();
    let pointers = || handles.iter().map(|handle| Arc::strong_count(handle) - 1).sum::<usize>();
    for laid in LAYOUTS {
        for form in forms::<Arc<u32>>() {
            for given in [Given::Good, Given::Bad] {
                let make = |value: u32| Arc::clone(&handles[value as usize % 3]);
                let mut arrays = Arrays::new(SMALL, laid, given, make);
                let held = [&arrays.data, &arrays.updates, &arrays.target];
                let held: usize = held.iter().map(|buffer| buffer.elements.len()).sum();
                // The refused have no output.
                let output = (form.run)(&mut arrays).ok().flatten();
                let returned = output.as_ref().map_or(0, ndarray::ArrayBase::len);
                assert_eq!(pointers(), held + returned, "{}, {laid:?}", form.name);
                drop((arrays, output));
                assert_eq!(pointers(), 0, "{}, {laid:?}", form.name);
            }
        }
    }
}

/// Shapes that do not fit are refused before anything is cloned or dropped.
#[test]
fn refused_shapes() {
    let ledger = Ledger::new();
    let array =
        |rows, columns| Array2::from_shape_simple_fn((rows, columns), || Counted::new(7, &ledger));
    let ids =
        |array: &Array2<Counted<'_>>| -> Vec<u64> { array.iter().flat_map(Element::ids).collect() };
    let (data, mut target) = (array(2, 3), array(3, 2));
    let (count, before) = (ledger.count(), ids(&target));
    ledger.arm(Fuse::At(1));
    assert!(data.gather_into(&[0, 1], Gather::along(0), &mut target).is_err());
    assert!(data.roll_into(1, 0, &mut target).is_err());
    assert!(target.roll_inplace([1, 2, 3], [0, 1]).is_err());
    assert!(target.scatter_elements_inplace(&Array2::<u8>::zeros((2, 3)), &data, 0).is_err());
    assert!(target.scatter_elements(&Array2::<u8>::zeros((3, 2)), &data, 0).is_err());
    ledger.arm(Fuse::Never);
    assert_eq!((ledger.count(), ids(&target)), (count, before));
    drop((data, target));
    assert_eq!(ledger.count(), 0);
    ledger.assert_no_strangers();
}

/// A target that is shared is cloned before it is written, which may panic
/// too; whoever else holds it does not notice.
#[test]
fn shared_targets() {
    let ledger = Ledger::new();
    for number in 1.. {
        let make = |first: u32| {
            let mut next = first;
            Array2::from_shape_simple_fn((2, 3), || {
                next += 1;
                Counted::new(next, &ledger)
            })
        };
        let (original, updates) = (ArcArray2::from(make(0)), make(100));
        let mut target = original.clone();
        ledger.arm(Fuse::At(number));
        let done = catch_unwind(AssertUnwindSafe(|| {
            let indices = Array2::<i32>::zeros((2, 3));
            target.scatter_elements_inplace(&indices, &updates, 1)
        }));
        ledger.arm(Fuse::Never);
        assert!(original.iter().map(Element::value).eq(1..=6));
        assert!(target.iter().all(|element| ledger.lives(element.ids()[0])));
        drop((original, target, updates));
        assert_eq!(ledger.count(), 0);
        ledger.assert_no_strangers();
        if done.is_ok() {
            assert_eq!(number, 6 + 6 + 1, "every element and every update is cloned once");
            return;
        }
    }
}
