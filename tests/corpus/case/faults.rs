//! Calls that others disturb, by indices and by plans: clones and functions that panic
//! at their k-th call, and memory that is refused at the k-th request. Nothing is dropped twice, nothing
//! is lost, targets hold values; and the same call, undisturbed, gives the right
//! result.

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind, set_hook, take_hook};
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use ndarray::{ArrayD, ArrayViewD, ArrayViewMutD, IxDyn};
use opkernels::{Error, Gather, GatherExt, IndexPlan, OutOfBounds, Reduction, Result, RollExt};

use super::bytes::{self, Bytes, shrink};
use super::input::Input;
use super::kinds::{Select, elements, slices, tuples};
use super::refusals::{SMALLEST, refusing};
use super::{Expected, assert_returned, laid, target};
use crate::common::oracle::{self, Kind, Reducing};
use crate::common::{Laid, REDUCTIONS, Value, calls, plan_of, same_contents};

/// Elements live and fuses burn for the whole process.
static TURN: Mutex<()> = Mutex::new(());

/// Calls until a panic; 0 for none.
static FUSE: AtomicU32 = AtomicU32::new(0);

/// Owners that live.
static ALIVE: AtomicI64 = AtomicI64::new(0);

/// What others panic with.
struct Spark;

fn burn() {
    let left = FUSE.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
    if left == Ok(1) {
        panic_any(Spark);
    }
}

/// Runs something during which the call of this number panics. Nothing, if it did.
fn disturbed<R>(number: u32, run: impl FnOnce() -> R) -> Option<R> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        // A fuzzer's hook ends the process.
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            if !panic.payload().is::<Spark>() {
                usual(panic);
            }
        }));
    });
    FUSE.store(number, Ordering::SeqCst);
    let result = catch_unwind(AssertUnwindSafe(run));
    FUSE.store(0, Ordering::SeqCst);
    match result {
        Ok(result) => Some(result),
        Err(payload) if payload.is::<Spark>() => None,
        Err(payload) => resume_unwind(payload),
    }
}

/// A value with its complement, by which memory that holds none shows.
trait Fragile: Value {
    fn is_whole(&self) -> bool;
}

/// Nothing to drop, but a clone that may panic.
#[derive(Debug)]
struct Bare(u64, u64);

/// A clone that may panic, and a drop that is counted.
#[derive(Debug)]
struct Owner(Bare);

impl Clone for Bare {
    fn clone(&self) -> Self {
        burn();
        Bare(self.0, self.1)
    }
}

impl Clone for Owner {
    fn clone(&self) -> Self {
        let inner = self.0.clone();
        ALIVE.fetch_add(1, Ordering::SeqCst);
        Owner(inner)
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        assert!(self.0.is_whole(), "what is dropped is no value, or was dropped before");
        self.0.1 = self.0.0;
        ALIVE.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Value for Bare {
    fn from_number(number: u64) -> Self {
        Bare(number, !number)
    }
    fn same(&self, other: &Self) -> bool {
        self.is_whole() && self.0 == other.0
    }
}

impl Value for Owner {
    fn from_number(number: u64) -> Self {
        ALIVE.fetch_add(1, Ordering::SeqCst);
        Owner(Bare::from_number(number))
    }
    fn same(&self, other: &Self) -> bool {
        self.0.same(&other.0)
    }
}

impl Fragile for Bare {
    fn is_whole(&self) -> bool {
        self.0 == !self.1
    }
}

impl Fragile for Owner {
    fn is_whole(&self) -> bool {
        self.0.is_whole()
    }
}

pub(crate) fn check(input: &[u8]) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut bytes = Bytes::new(input);
    let alive = ALIVE.load(Ordering::SeqCst);
    match bytes.below(8) {
        0 | 1 => panics::<Bare>(&mut bytes),
        2..=4 => panics::<Owner>(&mut bytes),
        _ => refused(&mut bytes),
    }
    assert_eq!(ALIVE.load(Ordering::SeqCst), alive, "owners were lost, or dropped twice");
}

/// Data and indices within bounds, but for one at times.
fn given<A: Value>(bytes: &mut Bytes<'_>) -> (Kind, Input<A>, Input<i64>) {
    bytes.for_elements_of::<A>();
    let select = [Select::Slices, Select::Elements, Select::Tuples][bytes.below(3)];
    let mut shape = bytes.shape();
    if shape.is_empty() {
        shape.push(3);
    }
    shape.iter_mut().for_each(|len| *len = (*len).max(1));
    let (kind, mut indices, _) = match select {
        Select::Slices => slices(&shape, bytes),
        Select::Elements => elements(&shape, bytes),
        Select::Tuples => tuples(&shape, false, bytes),
    };
    let numbers = matches!(kind, Kind::Tuples { .. }).then(|| indices.pop()).flatten();
    let others: usize = shape.iter().product();
    let room = bytes::most(bytes) / 4;
    shrink(&mut indices, 0, if let Select::Elements = select { room } else { room / others + 2 });
    indices.extend(numbers);
    let len = shape.iter().copied().min().unwrap_or(1);
    let index = |bytes: &mut Bytes<'_>| bytes.index(len, false);
    let indices = Input::new(&indices, bytes, index);
    (kind, Input::of_values(&shape, bytes), indices)
}

/// An array holds values, and between them what it held before.
fn assert_whole<A: Fragile>(before: &Laid<A>, target: &Laid<A>) {
    assert!(target.view().iter().all(A::is_whole), "a target holds no values");
    assert!(target.kept_its_margins(before), "wrote between elements");
}

/// A call with a panic, then without; `expected` of the first contents.
fn written<A: Fragile>(
    (before, number): (&Laid<A>, u32),
    expected: &Expected<A>,
    call: impl Fn(&mut ArrayViewMutD<'_, A>) -> Result<()>,
) {
    let mut target = before.clone();
    let done = disturbed(number, || call(&mut target.view_mut()));
    assert_whole(before, &target);
    if let Some(done) = done {
        assert_returned(done.map(|()| target.contents()), expected, Reduction::None);
    }
    let mut target = before.clone();
    let done = call(&mut target.view_mut());
    assert_returned(done.map(|()| target.contents()), expected, Reduction::None);
}

/// The same of a call that returns an array.
fn returned<A: Fragile>(number: u32, expected: &Expected<A>, call: impl Fn() -> Result<ArrayD<A>>) {
    if let Some(output) = disturbed(number, &call) {
        assert_returned(output, expected, Reduction::None);
    }
    assert_returned(call(), expected, Reduction::None);
}

/// Clones that panic, and a function that does.
fn panics<A: Fragile>(bytes: &mut Bytes<'_>) {
    let number = match bytes.byte() {
        byte @ 0..=191 => u32::from(byte),
        byte => u32::from(byte - 191) * 100,
    };
    let (kind, data, indices) = given::<A>(bytes);
    let contents = data.contents();
    let wide = indices.contents().mapv(i128::from);
    let (d, i) = (data.view(), indices.view());
    let plan = plan_of(kind, d.shape(), &i, OutOfBounds::Error).and_then(Result::ok);
    match bytes.below(4) {
        0 => {
            let expected = oracle::read(kind, &contents, &wide, &OutOfBounds::Error);
            let shape = expected.as_ref().map_or(vec![2], |out| out.shape().to_vec());
            let target = target(&shape, bytes);
            returned(number, &expected, || calls::read(kind, &d, &i, OutOfBounds::Error));
            written((&target, number), &expected, |out| {
                calls::read_into(kind, &d, &i, OutOfBounds::Error, out)
            });
            if let Some(plan) = plan {
                returned(number, &expected, || calls::read(kind, &d, &plan, OutOfBounds::Error));
                written((&target, number), &expected, |out| {
                    calls::read_into(kind, &d, &plan, OutOfBounds::Error, out)
                });
            }
        }
        1 => {
            let shift = bytes.byte() as i64 - 99;
            let axis = bytes.below(contents.ndim()) as i64;
            let expected = oracle::roll(&contents, &[shift], &[axis.into()]);
            returned(number, &expected, || d.roll(shift, axis));
            written((&target(contents.shape(), bytes), number), &expected, |out| {
                d.roll_into(shift, axis, out)
            });
            written((&laid(&contents, bytes), number), &expected, |out| {
                out.roll_inplace(shift, axis)
            });
        }
        write => {
            let Ok(shape) = oracle::updates_shape(kind, contents.shape(), wide.shape()) else {
                return;
            };
            let updates = Input::<A>::of_values(&shape, bytes);
            let (values, u) = (updates.contents(), updates.view());
            let mode = OutOfBounds::Error;
            if write == 2 {
                let expected = oracle::overwrite_of(kind, &contents, &wide, &values, &mode);
                let before = laid(&contents, bytes);
                returned(number, &expected, || calls::overwritten(kind, &d, &i, &u, mode));
                written((&before, number), &expected, |target| {
                    calls::overwrite(kind, target, &i, &u, mode)
                });
                if let Some(plan) = plan {
                    written((&before, number), &expected, |target| {
                        calls::overwrite(kind, target, &plan, &u, mode)
                    });
                }
            } else {
                let change = |held: &mut A, update: &A| held.clone_from(update);
                let expected = oracle::fold(kind, &contents, &wide, &values, &mode, change);
                let before = laid(&contents, bytes);
                written((&before, number), &expected, |target| {
                    calls::fold(kind, target, &i, &u, mode, change)
                });
                if let Some(plan) = plan {
                    written((&before, number), &expected, |target| {
                        calls::fold(kind, target, &plan, &u, mode, change)
                    });
                }
            }
        }
    }
}

/// What was returned is what was expected, or memory was refused.
fn assert_refused<A: Value>(
    (output, refused): (Result<ArrayD<A>>, bool),
    expected: &Expected<A>,
    of: Reduction,
) {
    match output {
        Err(Error::AllocationFailed { bytes }) => {
            assert!(refused && bytes >= SMALLEST, "{bytes} bytes were not refused");
        }
        output => assert_returned(output, expected, of),
    }
}

/// Memory that is refused: an error, and targets as they were, or the result all
/// the same.
fn refused(bytes: &mut Bytes<'_>) {
    let number = [1, 1, 2, 3][bytes.below(4)];
    let (kind, data, indices) = given::<f32>(bytes);
    let contents = data.contents();
    let wide = indices.contents().mapv(i128::from);
    let (d, i) = (data.view(), indices.view());
    let plan = planned((kind, number), d.shape(), &i);
    if bytes.once_in(3) {
        let expected = oracle::read(kind, &contents, &wide, &OutOfBounds::Error);
        let read = || calls::read(kind, &d, &i, OutOfBounds::Error);
        assert_refused(refusing(number, read), &expected, Reduction::None);
        if let Some(plan) = plan {
            let read = || calls::read(kind, &d, &plan, OutOfBounds::Error);
            assert_refused(refusing(number, read), &expected, Reduction::None);
        }
        let shift = i64::from(bytes.byte());
        let expected = oracle::roll(&contents, &[shift], &[0]);
        assert_refused(refusing(number, || d.roll(shift, 0)), &expected, Reduction::None);
        let before = laid(&contents, bytes);
        in_place((&before, number), &expected, Reduction::None, |target| {
            target.roll_inplace(shift, 0)
        });
        return;
    }
    let reduction = REDUCTIONS[bytes.below(REDUCTIONS.len())];
    let how = Reducing { reduction, use_init_val: bytes.once_in(2), mode: OutOfBounds::Error };
    let Ok(shape) = oracle::updates_shape(kind, contents.shape(), wide.shape()) else { return };
    let updates = Input::<f32>::of_values(&shape, bytes);
    let u = updates.view();
    let expected = oracle::reduce_of(kind, &contents, &wide, &updates.contents(), &how);
    let reduced = || calls::reduced(kind, &d, &i, &u, &how);
    assert_refused(refusing(number, reduced), &expected, reduction);
    let before = laid(&contents, bytes);
    in_place((&before, number), &expected, reduction, |target| {
        calls::reduce(kind, target, &i, &u, &how)
    });
    if let Some(plan) = &plan {
        let (counts, refused) = refusing(number, || plan.counts());
        assert!(counts.is_ok() || refused, "{counts:?}");
        assert!(plan.counts().is_ok(), "refused memory is refused for ever");
    }
    // Twice: the first makes the lists that a plan keeps, or may not.
    for plan in plan.iter().chain(&plan) {
        in_place((&before, number), &expected, reduction, |target| {
            calls::reduce(kind, target, plan, &u, &how)
        });
    }
}

/// A plan of the indices: one to whose making memory was refused, where it was made
/// all the same.
fn planned(
    (kind, number): (Kind, u32),
    data: &[usize],
    indices: &ArrayViewD<'_, i64>,
) -> Option<IndexPlan<IxDyn>> {
    let make = || plan_of(kind, data, indices, OutOfBounds::Error);
    let (plan, refused) = refusing(number, make);
    match plan? {
        Err(Error::AllocationFailed { bytes }) => {
            assert!(refused && bytes >= SMALLEST, "{bytes} bytes were not refused");
            make()?.ok()
        }
        plan => plan.ok(),
    }
}

fn in_place<A: Value>(
    (before, number): (&Laid<A>, u32),
    expected: &Expected<A>,
    of: Reduction,
    call: impl Fn(&mut ArrayViewMutD<'_, A>) -> Result<()>,
) {
    let mut target = before.clone();
    let mut view = target.view_mut();
    let (done, refused) = refusing(number, || call(&mut view));
    assert!(target.kept_its_margins(before), "wrote between elements");
    if done.is_err() {
        assert!(same_contents(&target.view(), &before.view()), "an error left another target");
    }
    assert_refused((done.map(|()| target.contents()), refused), expected, of);
}

/// A roll in two passes, first of short rows and then along the axis around them, asks for the work memory
/// of both before anything moves.
#[test]
#[cfg_attr(shuttle, ignore = "not under a schedule")]
fn rolls_in_two_passes_move_nothing_without_memory() {
    let before = ArrayD::from_shape_fn(IxDyn(&[40_000, 3]), |at| (5 * at[0] + at[1]) as u16);
    let rolled = before.roll([1234, 1], [0, 1]).unwrap();
    // Threads start at the first call.
    before.clone().roll_inplace([1234, 1], [0, 1]).unwrap();
    for number in 1.. {
        let mut data = before.clone();
        let (done, was_refused) = refusing(number, || data.roll_inplace([1234, 1], [0, 1]));
        match done {
            Ok(()) => assert_eq!(data, rolled),
            Err(error) => {
                assert!(matches!(error, Error::AllocationFailed { .. }), "{error}");
                assert_eq!(data, before);
            }
        }
        if !was_refused {
            let few = cfg!(any(miri, small_thresholds)) || SMALLEST > 1 << 10;
            assert!(number > 2 || few, "both passes have work memory");
            break;
        }
    }
}

/// Swapped bytes of rows of 17, by shuffles of 17 vectors, whose masks take more than what is granted always:
/// without memory for them, rows are copied without.
#[test]
#[cfg_attr(shuttle, ignore = "not under a schedule")]
fn short_rows_are_permuted_without_memory_for_masks() {
    let data = ArrayD::from_shape_fn(IxDyn(&[1000, 17]), |at| (17 * at[0] + at[1]) as u8);
    let backwards: Vec<usize> = (0..17).rev().collect();
    let planes = data.clone().into_shape_with_order(IxDyn(&[100, 10, 17])).unwrap();
    let expected = (data.gather(&backwards, 1).unwrap(), planes.roll([1, 1], [1, 2]).unwrap());
    for number in 0..9 {
        let mut found = (ArrayD::zeros(data.raw_dim()), ArrayD::zeros(planes.raw_dim()));
        let (done, _) =
            refusing(number, || data.gather_into(&backwards, Gather::along(1), &mut found.0));
        done.unwrap();
        let (done, _) = refusing(number, || planes.roll_into([1, 1], [1, 2], &mut found.1));
        done.unwrap();
        assert!(found == expected, "where request {number} is refused");
    }
}
