//! Checking all indices before anything is written.

use std::sync::atomic::{AtomicBool, Ordering};

use ndarray::{ArrayView, ArrayViewD, Axis, Dimension};

use crate::args::IndexInteger;
use crate::error::{Error, Result};
use crate::memory::positions::{Mode, all_inside};
use crate::parallel::{self, Job};

/// Bytes of indices from which on a second thread gives more than it costs.
const GRAIN: usize = 1 << 20;

/// Refuses indices outside `-axis_len..=axis_len - 1` where the mode does,
/// naming the first in row-major order.
#[inline]
pub(crate) fn check<I: IndexInteger, Q: Dimension>(
    indices: &ArrayView<'_, I, Q>,
    mode: Mode,
    axis: usize,
    axis_len: usize,
) -> Result<()> {
    if mode != Mode::Refuse {
        return Ok(());
    }
    let inside = match indices.as_slice_memory_order() {
        Some(slice) => slice_inside(slice, axis_len),
        None => view_inside(&without_repeats(indices), axis_len),
    };
    if inside { Ok(()) } else { Err(first_outside(indices, axis, axis_len)) }
}

fn slice_inside<I: IndexInteger>(indices: &[I], axis_len: usize) -> bool {
    let outside = AtomicBool::new(false);
    parallel::run(Check { indices, axis_len, outside: &outside }, GRAIN);
    !outside.into_inner()
}

fn view_inside<I: IndexInteger>(indices: &ArrayViewD<'_, I>, axis_len: usize) -> bool {
    match indices.as_slice_memory_order() {
        Some(slice) => slice_inside(slice, axis_len),
        None => {
            indices.lanes(Axis(indices.ndim() - 1)).into_iter().all(|lane| match lane.as_slice() {
                Some(slice) => all_inside(slice, axis_len),
                None => lane.iter().all(|index| index.is_inside(axis_len)),
            })
        }
    }
}

/// Whether every index repeats along all axes after `axis`, so that each
/// selects a whole row. Looks little further than the first row that differs.
pub(crate) fn rows_repeat<I: IndexInteger, Q: Dimension>(
    indices: &ArrayView<'_, I, Q>,
    axis: usize,
) -> bool {
    /// Shorter rows gain nothing from being whole.
    const WIDE: usize = 4;
    let width: usize = indices.shape()[axis + 1..].iter().product();
    let Some(slice) = indices.as_slice().filter(|_| width >= WIDE) else {
        return false;
    };
    let differ = AtomicBool::new(false);
    parallel::run(Repeats { indices: slice, width, differ: &differ }, GRAIN);
    !differ.into_inner()
}

/// A part of the indices whose rows may each repeat one index.
struct Repeats<'a, I> {
    /// Whole rows.
    indices: &'a [I],
    width: usize,
    differ: &'a AtomicBool,
}

impl<I: IndexInteger> Job for Repeats<'_, I> {
    fn work(&self) -> usize {
        size_of_val(self.indices)
    }

    fn split(self) -> std::result::Result<(Self, Self), Self> {
        let rows = self.indices.len() / self.width;
        if rows < 2 {
            return Err(self);
        }
        let (left, right) = self.indices.split_at(rows / 2 * self.width);
        Ok((Repeats { indices: left, ..self }, Repeats { indices: right, ..self }))
    }

    fn run(self) {
        let repeats = self.indices.chunks_exact(self.width).all(|row| {
            let differing = row.iter().fold(I::zero(), |bits, &index| bits | (index ^ row[0]));
            differing == I::zero() && !self.differ.load(Ordering::Relaxed)
        });
        if !repeats {
            self.differ.store(true, Ordering::Relaxed);
        }
    }
}

/// One of each index: an axis along which the indices were broadcast holds
/// nothing new after its first element.
fn without_repeats<'a, I, Q: Dimension>(indices: &ArrayView<'a, I, Q>) -> ArrayViewD<'a, I> {
    let mut view = indices.clone().into_dyn();
    for axis in 0..view.ndim() {
        if view.strides()[axis] == 0 && view.shape()[axis] > 1 {
            view.collapse_axis(Axis(axis), 0);
        }
    }
    view
}

/// A part of the indices to check.
struct Check<'a, I> {
    indices: &'a [I],
    axis_len: usize,
    outside: &'a AtomicBool,
}

impl<I: IndexInteger> Job for Check<'_, I> {
    fn work(&self) -> usize {
        size_of_val(self.indices)
    }

    fn split(self) -> std::result::Result<(Self, Self), Self> {
        let (left, right) = self.indices.split_at(self.indices.len() / 2);
        Ok((Check { indices: left, ..self }, Check { indices: right, ..self }))
    }

    fn run(self) {
        if !all_inside(self.indices, self.axis_len) {
            self.outside.store(true, Ordering::Relaxed);
        }
    }
}

/// The error for the first index out of bounds, of which there is one.
#[cold]
pub(crate) fn first_outside<I: IndexInteger, Q: Dimension>(
    indices: &ArrayView<'_, I, Q>,
    axis: usize,
    axis_len: usize,
) -> Error {
    // An axis along which the indices repeat adds nothing before the first.
    let indices = without_repeats(indices);
    let outside = |(_, index): &(_, &I)| !index.is_inside(axis_len);
    let (position, index) = match indices.indexed_iter().find(outside) {
        Some((position, index)) => (position.as_array_view().to_vec(), index.value()),
        None => (vec![0; indices.ndim()], 0),
    };
    Error::IndexOutOfBounds { index, position, axis, len: axis_len }
}
