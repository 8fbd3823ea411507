//! Gathers and scatters by the kind of their indices, in every form.

use std::mem::MaybeUninit;

use ndarray::{ArrayD, ArrayViewD, IxDyn};
use opkernels::{IndexPlan, OutOfBounds, Reduction};

use super::bytes::{self, Bytes, axis_len, from_front, shrink};
use super::input::Input;
use super::{Expected, assert_returned, assert_written, laid, target};
use crate::common::oracle::{self, Kind, Reducing};
use crate::common::{Index, REDUCTIONS, Reduce, Value, calls, plan_of, same_contents};

/// What an operation's indices select.
#[derive(Debug, Clone, Copy)]
pub(super) enum Select {
    Slices,
    Elements,
    Tuples,
}

/// Data, and indices that suit it, seldom not.
struct Given<A, I> {
    kind: Kind,
    data: Input<A>,
    indices: Input<I>,
}

impl<A: Value, I: Index> Given<A, I> {
    fn new(select: Select, errors: bool, batched: bool, bytes: &mut Bytes<'_>) -> Self {
        bytes.for_elements_of::<A>();
        let shape = bytes.shape();
        let (kind, mut indices, fixed) = match select {
            Select::Slices => slices(&shape, bytes),
            Select::Elements => elements(&shape, bytes),
            Select::Tuples => tuples(&shape, batched, bytes),
        };
        let others: usize = shape.iter().filter(|&&len| len > 0).product();
        let room = bytes::most(bytes);
        let most = if let Kind::Elements { .. } = kind { room } else { (room / others).max(4) };
        let last = match kind {
            Kind::Tuples { .. } => indices.pop(),
            _ => None,
        };
        let fixed = fixed.min(indices.len());
        shrink(&mut indices, fixed, most);
        indices.extend(last);
        let len = match kind {
            Kind::Slices { axis, .. } | Kind::Elements { axis } => axis_len(&shape, axis),
            // Within every axis, or within the longest.
            Kind::Tuples { .. } if bytes.once_in(8) => shape.iter().copied().max(),
            Kind::Tuples { .. } => shape.iter().copied().min(),
        };
        let wild = bytes.once_in(if errors { 4 } else { 2 });
        let index = |bytes: &mut Bytes<'_>| bytes.index(len.unwrap_or(1), wild);
        let indices = Input::new(&indices, bytes, index);
        Given { kind, data: Input::of_values(&shape, bytes), indices }
    }
}

/// Few lengths, and seldom long ones.
fn lengths(bytes: &mut Bytes<'_>) -> Vec<usize> {
    let length = |bytes: &mut Bytes<'_>| match bytes.byte() {
        byte @ 240.. => usize::from(byte - 240) * 100,
        byte @ 224.. => usize::from(byte - 224) * 8,
        byte => usize::from(byte % 5),
    };
    (0..bytes.below(4)).map(|_| length(bytes)).collect()
}

pub(super) fn slices(data: &[usize], bytes: &mut Bytes<'_>) -> (Kind, Vec<usize>, usize) {
    let axis = bytes.axis(data.len());
    let mut indices = lengths(bytes);
    let most = from_front(axis, data.len()).unwrap_or(0).min(indices.len());
    let b = bytes.below(most + 1);
    indices[..b].copy_from_slice(&data[..b]);
    let mut batch_dims = b as i128;
    if bytes.once_in(3) && b < indices.len() {
        batch_dims -= indices.len() as i128;
    }
    match bytes.byte() {
        // Lengths that were to be shared may multiply now.
        0..=3 => {
            batch_dims = i128::from(bytes.word() as i64);
            return (Kind::Slices { axis, batch_dims }, indices, 0);
        }
        4..=7 if b > 0 => {
            indices[bytes.below(b)] += 1;
            return (Kind::Slices { axis, batch_dims }, indices, 0);
        }
        _ => {}
    }
    (Kind::Slices { axis, batch_dims }, indices, b)
}

pub(super) fn elements(data: &[usize], bytes: &mut Bytes<'_>) -> (Kind, Vec<usize>, usize) {
    let axis = bytes.axis(data.len());
    let mut indices = data.to_vec();
    if bytes.once_in(2) {
        indices.iter_mut().for_each(|len| *len = len.saturating_sub(bytes.below(3)));
    }
    if let Some(axis) = from_front(axis, data.len()) {
        indices[axis] = match bytes.byte() {
            byte @ 240.. => usize::from(byte - 240) * 200,
            byte @ 192.. => usize::from(byte - 192) * 4,
            byte => usize::from(byte % 8),
        };
    }
    match bytes.byte() {
        0..=3 if !data.is_empty() => {
            let k = bytes.below(data.len());
            indices[k] = data[k] + 1;
        }
        4..=7 => indices.push(1),
        _ => {}
    }
    (Kind::Elements { axis }, indices, 0)
}

pub(super) fn tuples(
    data: &[usize],
    batched: bool,
    bytes: &mut Bytes<'_>,
) -> (Kind, Vec<usize>, usize) {
    let mut indices = lengths(bytes);
    let most = if batched { indices.len().min(data.len().saturating_sub(1)) } else { 0 };
    let b = bytes.below(most + 1);
    indices[..b].copy_from_slice(&data[..b]);
    let k = match bytes.byte() {
        0..=3 => 0,
        4..=7 => data.len() - b + 1,
        byte => 1 + usize::from(byte) % (data.len() - b).max(1),
    };
    indices.push(k);
    let mut batch_dims = b as i128;
    if batched {
        match bytes.byte() {
            0..=3 => {
                batch_dims = i128::from(bytes.word() as i64);
                return (Kind::Tuples { batch_dims }, indices, 0);
            }
            4..=7 if b > 0 => {
                indices[bytes.below(b)] += 1;
                return (Kind::Tuples { batch_dims }, indices, 0);
            }
            8..=47 => batch_dims -= indices.len() as i128,
            _ => {}
        }
    }
    (Kind::Tuples { batch_dims }, indices, b)
}

/// Whether an axis says it all.
fn plain(kind: Kind) -> bool {
    !matches!(
        kind,
        Kind::Slices { batch_dims: 1.. | ..=-1, .. } | Kind::Tuples { batch_dims: 1.. | ..=-1 }
    )
}

/// A gather: returned, into an array, into one that is not initialised.
pub(super) fn gathers<A: Value, I: Index>(select: Select, bytes: &mut Bytes<'_>) {
    let mode = match bytes.byte() % 16 {
        0..=2 => OutOfBounds::Fill(A::from_number(bytes.byte().into())),
        3..=5 => OutOfBounds::Clip,
        6..=8 => OutOfBounds::Wrap,
        9 => OutOfBounds::Skip,
        _ => OutOfBounds::Error,
    };
    let errors = matches!(mode, OutOfBounds::Error);
    let given = Given::<A, I>::new(select, errors, true, bytes);
    let (kind, wide) = (given.kind, I::to_wide(&given.indices.contents()));
    let expected: Expected<A> = oracle::read(kind, &given.data.contents(), &wide, &mode);
    let (data, indices) = (given.data.view(), given.indices.view());
    let output = calls::read(kind, &data, &indices, mode.clone());
    if let Ok(output) = &output {
        assert!(output.is_standard_layout());
    }
    assert_returned(output, &expected, Reduction::None);

    let mut shape = match &expected {
        Ok(expected) => expected.shape().to_vec(),
        Err(_) => vec![2; bytes.below(4)],
    };
    let wrong = bytes.once_in(32);
    if wrong {
        shape.push(1);
    }
    let before = target::<A>(&shape, bytes);
    let mut out = before.clone();
    let done = calls::read_into(kind, &data, &indices, mode.clone(), &mut out.view_mut());
    if expected.is_ok() && !wrong {
        assert_written(done, (&before, &out), &expected, Reduction::None);
    } else {
        assert!(done.is_err());
        assert_written(Ok(()), (&before, &out), &Ok(before.contents()), Reduction::None);
    }

    let mut slots: ArrayD<MaybeUninit<A>> = ArrayD::uninit(shape);
    let mut view = slots.view_mut();
    let done = calls::read_into_uninit(kind, &data, &indices, mode.clone(), &mut view);
    match &expected {
        Ok(expected) if !wrong => {
            done.unwrap();
            #[allow(unsafe_code)]
            // SAFETY: `Ok` says that every element is initialised.
            let out = unsafe { slots.assume_init() };
            assert!(same_contents(&out, expected), "{out:?} instead of {expected:?}");
        }
        _ => assert!(done.is_err()),
    }

    if plain(kind) && errors {
        assert_returned(calls::read_plainly(kind, &data, &indices), &expected, Reduction::None);
    }
    let planned = match &mode {
        OutOfBounds::Fill(_) => OutOfBounds::Skip,
        OutOfBounds::Clip => OutOfBounds::Clip,
        OutOfBounds::Wrap => OutOfBounds::Wrap,
        _ => OutOfBounds::Error,
    };
    if let Some(plan) = plan(kind, data.shape(), &indices, planned, &expected) {
        assert_returned(calls::read(kind, &data, &plan, mode), &expected, Reduction::None);
    }
}

/// The plan of a call's indices; none where these or the arguments are refused.
fn plan<A: Value, I: Index>(
    kind: Kind,
    data: &[usize],
    indices: &ArrayViewD<'_, I>,
    mode: OutOfBounds,
    expected: &Expected<A>,
) -> Option<IndexPlan<IxDyn>> {
    match plan_of(kind, data, indices, mode)? {
        Ok(plan) => Some(plan),
        Err(error) => {
            assert!(expected.is_err(), "a plan is refused: {error}");
            None
        }
    }
}

/// Updates of the shape that they must have, of another, or a single one.
fn updates<A: Value, I: Index>(given: &Given<A, I>, bytes: &mut Bytes<'_>) -> Input<A> {
    let (data, wide) = (given.data.view(), I::to_wide(&given.indices.contents()));
    let shape = oracle::updates_shape(given.kind, data.shape(), wide.shape());
    let mut shape = shape.unwrap_or_else(|_| wide.shape().to_vec());
    match bytes.byte() {
        0..=3 if !shape.is_empty() => shape[0] += 1,
        4..=7 => shape.push(1),
        8..=31 => shape.clear(),
        _ => {}
    }
    Input::of_values(&shape, bytes)
}

fn mode(bytes: &mut Bytes<'_>) -> OutOfBounds {
    match bytes.below(5) {
        0 => OutOfBounds::Skip,
        1 => OutOfBounds::Clip,
        2 => OutOfBounds::Wrap,
        _ => OutOfBounds::Error,
    }
}

/// A scatter that overwrites, and a fold that tells the order.
pub(super) fn overwrites<A: Value, I: Index>(select: Select, bytes: &mut Bytes<'_>) {
    let mode = mode(bytes);
    let errors = mode == OutOfBounds::Error;
    let given = Given::<A, I>::new(select, errors, false, bytes);
    let updates = updates(&given, bytes);
    let Given { kind, data, indices } = &given;
    let (kind, contents, wide) = (*kind, data.contents(), I::to_wide(&indices.contents()));
    let expected: Expected<A> =
        oracle::overwrite_of(kind, &contents, &wide, &updates.contents(), &mode);
    let (i, u) = (indices.view(), updates.view());
    let output = calls::overwritten(kind, &data.view(), &i, &u, mode);
    assert_returned(output, &expected, Reduction::None);
    let before = laid(&contents, bytes);
    let mut target = before.clone();
    let done = calls::overwrite(kind, &mut target.view_mut(), &i, &u, mode);
    assert_written(done, (&before, &target), &expected, Reduction::None);
    if let Some(plan) = plan(kind, contents.shape(), &i, mode, &expected) {
        let mut target = before.clone();
        let done = calls::overwrite(kind, &mut target.view_mut(), &plan, &u, mode);
        assert_written(done, (&before, &target), &expected, Reduction::None);
    }
    if plain(kind) && errors {
        let output = calls::overwritten_plainly(kind, &data.view(), &i, &u);
        assert_returned(output, &expected, Reduction::None);
    }
    folds(&given, mode, bytes);
}

/// A scatter that reduces, and a fold that tells the order.
pub(super) fn reduces<A: Reduce, I: Index>(select: Select, bytes: &mut Bytes<'_>) {
    let reduction = REDUCTIONS[bytes.below(REDUCTIONS.len())];
    let how = Reducing { reduction, use_init_val: bytes.once_in(2), mode: mode(bytes) };
    let given = Given::<A, I>::new(select, how.mode == OutOfBounds::Error, false, bytes);
    let updates = updates(&given, bytes);
    let Given { kind, data, indices } = &given;
    let (kind, contents, wide) = (*kind, data.contents(), I::to_wide(&indices.contents()));
    let expected: Expected<A> =
        oracle::reduce_of(kind, &contents, &wide, &updates.contents(), &how);
    let (i, u) = (indices.view(), updates.view());
    assert_returned(calls::reduced(kind, &data.view(), &i, &u, &how), &expected, reduction);
    let before = laid(&contents, bytes);
    let mut target = before.clone();
    let done = calls::reduce(kind, &mut target.view_mut(), &i, &u, &how);
    assert_written(done, (&before, &target), &expected, reduction);
    if let Some(plan) = plan(kind, contents.shape(), &i, how.mode, &expected) {
        let output = calls::reduced(kind, &data.view(), &plan, &u, &how);
        assert_returned(output, &expected, reduction);
        let mut target = before.clone();
        let done = calls::reduce(kind, &mut target.view_mut(), &plan, &u, &how);
        assert_written(done, (&before, &target), &expected, reduction);
    }
}

/// Numbers folded into text: a type that is no number, and an order that shows.
fn folds<A: Value, I: Index>(given: &Given<A, I>, mode: OutOfBounds, bytes: &mut Bytes<'_>) {
    let Given { kind, data, indices } = given;
    let texts = ArrayD::from_elem(data.view().raw_dim(), String::new());
    let wide = I::to_wide(&indices.contents());
    let shape = oracle::updates_shape(*kind, texts.shape(), wide.shape());
    let Ok(shape) = shape else { return };
    let letters = Input::<u8>::of_values(&shape, bytes);
    let push = |text: &mut String, update: &u8| text.push(char::from(b'a' + update % 26));
    let expected = oracle::fold(*kind, &texts, &wide, &letters.contents(), &mode, push);
    let before = laid(&texts, bytes);
    let mut target = before.clone();
    let (i, u) = (indices.view(), letters.view());
    let done = calls::fold(*kind, &mut target.view_mut(), &i, &u, mode, push);
    assert_written(done, (&before, &target), &expected, Reduction::None);
    if let Some(plan) = plan(*kind, texts.shape(), &i, mode, &expected) {
        let mut target = before.clone();
        let done = calls::fold(*kind, &mut target.view_mut(), &plan, &u, mode, push);
        assert_written(done, (&before, &target), &expected, Reduction::None);
    }
}
