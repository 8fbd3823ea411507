//! One random call in every form, compared with the reference, or where that would
//! take long with the same call in ordinary memory.

use std::mem::MaybeUninit;

use ndarray::{ArrayD, ArrayViewD, ArrayViewMutD, IxDyn};
use opkernels::{IndexPlan, OutOfBounds, Reduction, RollExt};

use crate::common::oracle::{self, Kind, Reducing};
use crate::common::{
    Index, Laid, Numbers, REDUCTIONS, Reduce, Value, array_of, calls, plan_of, same_contents,
    settled,
};
use crate::draw::{self, Select, THREADS};
use crate::fence::Side;
use crate::fenced;

/// Results of more elements are compared with those in ordinary memory.
const MANY: usize = 6000;

/// What a call should give; nothing where it should be refused.
type Expected<A> = Option<ArrayD<A>>;

fn assert_is<A: Value>(actual: &ArrayD<A>, expected: &ArrayD<A>, of: Reduction) {
    let (actual, expected) = (settled(of, actual), settled(of, expected));
    // Elements of thousands of bytes would fill the screen.
    assert!(same_contents(&actual, &expected), "a result differs, of shape {:?}", expected.shape());
}

/// What was returned is what was expected. To drop it compares the bytes
/// around.
fn assert_returned<A: Value>(output: Option<ArrayD<A>>, expected: &Expected<A>, of: Reduction) {
    assert_eq!(output.is_some(), expected.is_some(), "refused or not");
    if let (Some(output), Some(expected)) = (&output, expected) {
        assert_is(output, expected, of);
    }
    drop(output);
}

/// A target holds what was expected, or what it held, and so does all between.
fn assert_written<A: Value>(
    done: bool,
    (before, target): (&Laid<A>, &Laid<A>),
    expected: &Expected<A>,
    of: Reduction,
) {
    assert_eq!(done, expected.is_some(), "refused or not");
    assert!(target.kept_its_margins(before), "wrote between elements");
    assert_is(&target.contents(), expected.as_ref().unwrap_or(&before.contents()), of);
}

/// The elements of an array as memory that need not be initialised.
fn slots<'a, A: Value>(target: &'a mut Laid<A>) -> ArrayViewMutD<'a, MaybeUninit<A>> {
    let mut view = target.view_mut();
    // SAFETY: of the same layout, borrowed as long; what is written over need not
    // be dropped (asked for by those who call), and values alone are written.
    unsafe { view.raw_view_mut().cast::<MaybeUninit<A>>().deref_into_view_mut() }
}

macro_rules! one_of {
    ($number:expr, $function:ident[$($types:tt)*]($($argument:expr),*)) => {
        one_of!(@ $number, 0, $function, ($($argument),*), $($types)*)
    };
    (@ $number:expr, $at:expr, $function:ident, $arguments:tt, ($($type:ty),+) $(, $rest:tt)+) => {
        if $number == $at {
            one_of!(@call $function, $arguments, $($type),+)
        } else {
            one_of!(@ $number, $at + 1, $function, $arguments, $($rest),+)
        }
    };
    (@ $number:expr, $at:expr, $function:ident, $arguments:tt, ($($type:ty),+)) => {
        one_of!(@call $function, $arguments, $($type),+)
    };
    (@call $function:ident, ($($argument:expr),*), $($type:ty),+) => {
        $function::<$($type),+>($($argument),*)
    };
}

/// The plan of a call's indices, where they are not refused, in memory of its own.
fn plan<I: Index>(
    side: Side,
    threads: usize,
    kind: Kind,
    data: &[usize],
    indices: &ArrayViewD<'_, I>,
    mode: OutOfBounds,
) -> Option<IndexPlan<IxDyn>> {
    let plan = fenced(side, threads, || plan_of(kind, data, indices, mode))?.ok()?;
    fenced(side, threads, || plan.prepare());
    Some(plan)
}

/// A gather of elements of 0 to 4096 bytes.
pub(crate) fn gathers(select: Select, numbers: &mut Numbers, side: Side) {
    one_of!(numbers.below(16), gather[
        (u8, i64), (u8, i32), (u16, i64), (f32, i32), (f64, i64), (u128, i32), (u8, u8),
        (String, i64), ([u8; 0], i64), ([u8; 3], i32), ([u16; 3], i16), ([u8; 12], i64),
        ([u64; 8], i32), ([u8; 257], i64), ([u64; 129], i32), ([u8; 4096], i64)
    ](select, numbers, side));
}

fn gather<A: Value, I: Index>(select: Select, numbers: &mut Numbers, side: Side) {
    let most = draw::most::<A>(numbers);
    let shape = draw::shape(most, numbers);
    let (kind, indices) = draw::kind(select, &shape, most, true, numbers);
    let fill = |numbers: &mut Numbers| OutOfBounds::Fill(A::from_number(numbers.next()));
    let (mode, wild) = draw::mode(fill, numbers);
    let data = draw::array::<A>(&shape, side, numbers);
    let indices = draw::indices::<I>(kind, &shape, &indices, wild, side, numbers);
    let threads = numbers.below(THREADS.len());
    let (d, i) = (data.view(), indices.view());

    let (contents, places) = (data.contents(), indices.contents());
    let expected = if contents.len().max(places.len()) < MANY {
        oracle::read(kind, &contents, &I::to_wide(&places), &mode).ok()
    } else {
        calls::read(kind, &contents.view(), &places.view(), mode.clone()).ok()
    };
    let read = || calls::read(kind, &d, &i, mode.clone()).ok();
    assert_returned(fenced(side, threads, read), &expected, Reduction::None);

    // Where it is refused there is no shape to ask for; then that of the data.
    let shape = expected.as_ref().map_or(&shape[..], |expected| expected.shape());
    let before = draw::laid(&array_of(shape, 99), false, side, numbers);
    let mut out = fenced(side, threads, || before.clone());
    let mut view = out.view_mut();
    let done = fenced(side, threads, || calls::read_into(kind, &d, &i, mode.clone(), &mut view));
    assert_written(done.is_ok(), (&before, &out), &expected, Reduction::None);

    let planned = match &mode {
        OutOfBounds::Fill(_) => OutOfBounds::Skip,
        OutOfBounds::Clip => OutOfBounds::Clip,
        OutOfBounds::Wrap => OutOfBounds::Wrap,
        _ => OutOfBounds::Error,
    };
    // Some calls are refused for their axes, but not the plan.
    if let Some(plan) = plan(side, threads, kind, d.shape(), &i, planned) {
        let read = || calls::read(kind, &d, &plan, mode.clone()).ok();
        assert_returned(fenced(side, threads, read), &expected, Reduction::None);
    }

    if !std::mem::needs_drop::<A>() && expected.is_some() {
        let mut view = slots(&mut out);
        let read = || calls::read_into_uninit(kind, &d, &i, mode.clone(), &mut view);
        let done = fenced(side, threads, read);
        assert_written(done.is_ok(), (&before, &out), &expected, Reduction::None);
    }
}

/// A scatter that overwrites elements of any size, one that reduces, or a fold.
pub(crate) fn scatters(select: Select, numbers: &mut Numbers, side: Side) {
    match numbers.below(8) {
        0..=2 => one_of!(numbers.below(12), overwrite[
            (u8, i64), (u16, i32), (u32, i64), (f64, u8), (u128, i32), (String, i64),
            ([u8; 0], i64), ([u8; 3], i32), ([u8; 12], i64), ([u64; 8], i16),
            ([u8; 1000], i64), ([u8; 4096], i32)
        ](select, numbers, side)),
        3..=6 => one_of!(numbers.below(10), reduce[
            (u8, i64), (f32, i64), (f32, i32), (f64, i64), (i64, i32), (u128, i64), (bool, u8),
            (i16, u64), (Half, i64), (Complex, i32)
        ](select, numbers, side)),
        _ => one_of!(numbers.below(5), fold[
            ([u8; 1], u8, i64), ([u8; 8], u64, i32), ([u8; 4096], u8, i64),
            ([u8; 7], [u8; 1000], i64), ([u8; 16], [u64; 8], i64)
        ](select, numbers, side)),
    }
}

#[cfg(feature = "half")]
type Half = half::f16;
#[cfg(not(feature = "half"))]
type Half = i16;
#[cfg(feature = "num-complex")]
type Complex = num_complex::Complex<f64>;
#[cfg(not(feature = "num-complex"))]
type Complex = i128;

/// The arrays of a scatter.
struct Scatter<A, U, I> {
    kind: Kind,
    mode: OutOfBounds,
    data: Laid<A>,
    indices: Laid<I>,
    updates: Laid<U>,
    threads: usize,
    /// Whether the reference would take long.
    many: bool,
}

impl<A: Value, U: Value, I: Index> Scatter<A, U, I> {
    fn new(select: Select, numbers: &mut Numbers, side: Side) -> Self {
        let larger = size_of::<U>() > size_of::<A>();
        let most = if larger { draw::most::<U>(numbers) } else { draw::most::<A>(numbers) };
        let shape = draw::shape(most, numbers);
        let batched = !matches!(select, Select::Tuples);
        let (kind, indices) = draw::kind(select, &shape, most, batched, numbers);
        let (mode, wild) = draw::mode(|_| OutOfBounds::Skip, numbers);
        let indices = draw::indices::<I>(kind, &shape, &indices, wild, side, numbers);
        let wide = I::to_wide(&indices.contents());
        // Refused where the data has no axis to select along.
        let updates = oracle::updates_shape(kind, &shape, wide.shape()).unwrap_or_default();
        let many = updates.iter().product::<usize>().max(shape.iter().product()) >= MANY;
        let updates = if numbers.once_in(8) { vec![] } else { updates };
        let data = draw::laid(&array_of(&shape, numbers.next()), false, side, numbers);
        let updates = draw::array::<U>(&updates, side, numbers);
        Scatter { kind, mode, data, indices, updates, threads: numbers.below(THREADS.len()), many }
    }

    /// The plan of its indices, where they are not refused.
    fn plan(&self, side: Side) -> Option<IndexPlan<IxDyn>> {
        let (kind, data, indices) = (self.kind, self.data.view(), self.indices.view());
        plan(side, self.threads, kind, data.shape(), &indices, self.mode)
    }

    /// Runs a call in place on a target that is fenced in.
    fn in_place(
        &self,
        side: Side,
        expected: &Expected<A>,
        of: Reduction,
        call: impl FnOnce(&mut ArrayViewMutD<'_, A>) -> bool + Send,
    ) {
        let before = &self.data;
        let mut target = fenced(side, self.threads, || before.clone());
        let mut view = target.view_mut();
        let done = fenced(side, self.threads, || call(&mut view));
        assert_written(done, (before, &target), expected, of);
    }
}

fn overwrite<A: Value, I: Index>(select: Select, numbers: &mut Numbers, side: Side) {
    let given = Scatter::<A, A, I>::new(select, numbers, side);
    let Scatter { kind, mode, .. } = given;
    let (contents, places) = (given.data.contents(), given.indices.contents());
    let values = given.updates.contents();
    let expected = if given.many {
        calls::overwritten(kind, &contents.view(), &places.view(), &values.view(), mode).ok()
    } else {
        oracle::overwrite_of(kind, &contents, &I::to_wide(&places), &values, &mode).ok()
    };
    let (d, i, u) = (given.data.view(), given.indices.view(), given.updates.view());
    let write = || calls::overwritten(kind, &d, &i, &u, mode).ok();
    assert_returned(fenced(side, given.threads, write), &expected, Reduction::None);
    given.in_place(side, &expected, Reduction::None, |target| {
        calls::overwrite(kind, target, &i, &u, mode).is_ok()
    });
    if let Some(plan) = given.plan(side) {
        given.in_place(side, &expected, Reduction::None, |target| {
            calls::overwrite(kind, target, &plan, &u, mode).is_ok()
        });
    }
}

fn reduce<A: Reduce, I: Index>(select: Select, numbers: &mut Numbers, side: Side) {
    let given = Scatter::<A, A, I>::new(select, numbers, side);
    let Scatter { kind, mode, .. } = given;
    let reduction = REDUCTIONS[numbers.below(REDUCTIONS.len())];
    let how = Reducing { reduction, use_init_val: numbers.once_in(2), mode };
    let (contents, places) = (given.data.contents(), given.indices.contents());
    let values = given.updates.contents();
    let expected = if given.many {
        calls::reduced(kind, &contents.view(), &places.view(), &values.view(), &how).ok()
    } else {
        oracle::reduce_of(kind, &contents, &I::to_wide(&places), &values, &how).ok()
    };
    let (d, i, u) = (given.data.view(), given.indices.view(), given.updates.view());
    let write = || calls::reduced(kind, &d, &i, &u, &how).ok();
    assert_returned(fenced(side, given.threads, write), &expected, reduction);
    given.in_place(side, &expected, reduction, |target| {
        calls::reduce(kind, target, &i, &u, &how).is_ok()
    });
    if let Some(plan) = given.plan(side) {
        given.in_place(side, &expected, reduction, |target| {
            calls::reduce(kind, target, &plan, &u, &how).is_ok()
        });
    }
}

/// The bytes of a value, in part.
trait Number {
    fn number(&self) -> u8;
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl Number for $number {
            fn number(&self) -> u8 {
                *self as u8
            }
        }
    )*};
}
numbers!(u8 u32 u64);

impl<N: Number, const M: usize> Number for [N; M] {
    fn number(&self) -> u8 {
        self.iter().fold(0, |sum, one| sum.wrapping_mul(5).wrapping_add(one.number()))
    }
}

fn fold<A: Value + AsMut<[u8]>, U: Value + Number, I: Index>(
    select: Select,
    numbers: &mut Numbers,
    side: Side,
) {
    let given = Scatter::<A, U, I>::new(select, numbers, side);
    let Scatter { kind, mode, .. } = given;
    // The order of updates shows.
    let change = |held: &mut A, update: &U| {
        let number = update.number();
        held.as_mut().iter_mut().for_each(|byte| *byte = byte.wrapping_mul(3) ^ number);
    };
    let (contents, places) = (given.data.contents(), given.indices.contents());
    let values = given.updates.contents();
    let expected = if given.many {
        let mut target = contents.clone();
        let (i, u) = (places.view(), values.view());
        let done = calls::fold(kind, &mut target.view_mut(), &i, &u, mode, change);
        done.ok().map(|()| target)
    } else {
        oracle::fold(kind, &contents, &I::to_wide(&places), &values, &mode, change).ok()
    };
    let (i, u) = (given.indices.view(), given.updates.view());
    given.in_place(side, &expected, Reduction::None, |target| {
        calls::fold(kind, target, &i, &u, mode, change).is_ok()
    });
    if let Some(plan) = given.plan(side) {
        given.in_place(side, &expected, Reduction::None, |target| {
            calls::fold(kind, target, &plan, &u, mode, change).is_ok()
        });
    }
}

/// A roll of elements of any size along some axes.
pub(crate) fn rolls(numbers: &mut Numbers, side: Side) {
    one_of!(numbers.below(14), roll[
        (u8), (u8), (u16), (f32), (f64), (u128), (String), ([u8; 0]), ([u8; 3]), ([u16; 3]),
        ([u64; 8]), ([u8; 257]), ([u64; 129]), ([u8; 4096])
    ](numbers, side));
}

fn roll<A: Value>(numbers: &mut Numbers, side: Side) {
    let most = draw::most::<A>(numbers);
    let shape = draw::shape(most, numbers);
    let rank = shape.len();
    let count = if rank == 0 { 0 } else { numbers.below(4) };
    let axes: Vec<i64> = (0..count).map(|_| numbers.below(rank) as i64).collect();
    let shift = |axis: &i64| {
        let len = shape[*axis as usize] as i64;
        let far = numbers.next() as i64;
        [1, -1, len / 2, len - 1, far, i64::MIN, 3, far % 97][numbers.below(8)]
    };
    let shifts: Vec<i64> = axes.iter().map(shift).collect();
    let data = draw::array::<A>(&shape, side, numbers);
    let threads = numbers.below(THREADS.len());
    let d = data.view();

    let contents = data.contents();
    let expected = if contents.len() < MANY {
        let wide: Vec<i128> = axes.iter().map(|&axis| axis.into()).collect();
        oracle::roll(&contents, &shifts, &wide).ok()
    } else {
        contents.roll(&shifts, &axes).ok()
    };
    let output = fenced(side, threads, || d.roll(&shifts, &axes).ok());
    assert_returned(output, &expected, Reduction::None);

    let before = draw::laid(&array_of(&shape, 99), false, side, numbers);
    let mut out = fenced(side, threads, || before.clone());
    let mut view = out.view_mut();
    let done = fenced(side, threads, || d.roll_into(&shifts, &axes, &mut view));
    assert_written(done.is_ok(), (&before, &out), &expected, Reduction::None);

    if !std::mem::needs_drop::<A>() {
        let mut view = slots(&mut out);
        let done = fenced(side, threads, || d.roll_into(&shifts, &axes, &mut view));
        assert_written(done.is_ok(), (&before, &out), &expected, Reduction::None);
    }

    let before = draw::laid(&contents, false, side, numbers);
    let mut turned = fenced(side, threads, || before.clone());
    let mut view = turned.view_mut();
    let done = fenced(side, threads, || view.roll_inplace(&shifts, &axes));
    assert_written(done.is_ok(), (&before, &turned), &expected, Reduction::None);
}
