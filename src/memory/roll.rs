//! Rolls from one array into another: every row of the destination is two
//! runs of a row of the source.

use std::marker::PhantomData;
use std::mem::{self, MaybeUninit};
use std::ops::Range;

use ndarray::{ArrayView, ArrayViewMut, Dimension};
use smallvec::SmallVec;

use super::output::Written;
use super::run::copy_run;
use super::span::assert_within;
use super::take::Take;
use crate::geometry::{RollDim, RollLoops};
use crate::parallel::Job;

/// A roll ready to run.
pub(crate) struct Roll<'c, 'a, T, X: Take<'a, T>> {
    /// The loops around the rows.
    outer: &'c [RollDim<2>],
    /// The innermost loop.
    row: RollDim<2>,
    rows: usize,
    /// Where the loops start in arrays that they do not leave (`new` asserts
    /// it).
    destination: *mut X::Out,
    source: *const T,
    written: &'c Written,
    borrows: PhantomData<(&'a T, &'c mut X::Out)>,
}

// SAFETY: the pointers stand for a shared borrow of the source and an
// exclusive one of the destination (`borrows`). Parts share this struct
// between threads and write through it, each its own elements (R1 below).
#[allow(unsafe_code)]
unsafe impl<'a, T: Sync, X: Take<'a, T>> Sync for Roll<'_, 'a, T, X> {}

#[allow(unsafe_code)]
impl<'c, 'a, T, X: Take<'a, T>> Roll<'c, 'a, T, X> {
    /// A roll of `source` into `destination`, two arrays of one shape that is
    /// not empty, whose strides the loops hold in this order: destination,
    /// source.
    pub(crate) fn new<D: Dimension, O: Dimension>(
        loops: &'c RollLoops<2>,
        source: &ArrayView<'a, T, D>,
        destination: &'c mut ArrayViewMut<'_, MaybeUninit<X::Out>, O>,
        written: &'c Written,
    ) -> Self {
        assert!(!mem::needs_drop::<X::Out>());
        assert!(!source.is_empty() && !destination.is_empty());
        let axes = |k: usize| loops.dims.iter().map(move |dim| (dim.len, dim.strides[k]));
        assert_within(destination.shape(), destination.strides(), loops.origin[0], axes(0));
        assert_within(source.shape(), source.strides(), loops.origin[1], axes(1));
        let (row, outer) = match loops.dims.split_last() {
            Some((row, outer)) => (*row, outer),
            None => (RollDim { len: 1, shift: 0, strides: [1; 2] }, &[][..]),
        };
        // SAFETY: the origins lie within the arrays, as just asserted.
        let (destination, source) = unsafe {
            let destination = destination.as_mut_ptr().cast::<X::Out>().offset(loops.origin[0]);
            (destination, source.as_ptr().offset(loops.origin[1]))
        };
        let rows = outer.iter().map(|dim| dim.len).product();
        Roll { outer, row, rows, destination, source, written, borrows: PhantomData }
    }

    /// All of it.
    pub(crate) fn whole(&self) -> Part<'_, 'a, T, X> {
        Part { roll: self, rows: 0..self.rows, row: 0..self.row.len }
    }
}

/// A part of a roll: a range of rows of the destination, or of one row's
/// elements.
///
/// Invariant R1: no two parts that exist at a time share an element of the
/// destination. `whole` is one, and `split` cuts a range in two.
pub(crate) struct Part<'g, 'a, T, X: Take<'a, T>> {
    roll: &'g Roll<'g, 'a, T, X>,
    rows: Range<usize>,
    row: Range<usize>,
}

impl<'a, T: Sync, X: Take<'a, T>> Job for Part<'_, 'a, T, X> {
    #[inline]
    fn work(&self) -> usize {
        self.rows.len() * self.row.len() * size_of::<X::Out>().max(1)
    }

    fn split(self) -> Result<(Self, Self), Self> {
        let Part { roll, rows, row } = &self;
        let parts = if rows.len() > 1 {
            let middle = rows.start + rows.len() / 2;
            [(rows.start..middle, row.clone()), (middle..rows.end, row.clone())]
        } else if row.len() > 1 {
            let middle = row.start + row.len() / 2;
            [(rows.clone(), row.start..middle), (rows.clone(), middle..row.end)]
        } else {
            return Err(self);
        };
        let [left, right] = parts.map(|(rows, row)| Part { roll, rows, row });
        Ok((left, right))
    }

    #[inline]
    fn run(self) {
        let mut place = Place::new(self.roll.outer, self.rows.start);
        for _ in self.rows.clone() {
            self.copy_row(place.offsets);
            place.advance();
        }
        self.roll.written.add(self.rows.len() * self.row.len());
    }
}

#[allow(unsafe_code)]
impl<'a, T, X: Take<'a, T>> Part<'_, 'a, T, X> {
    /// Copies this part of the row at `offsets`: the run that comes round, then
    /// the run that the shift moves on.
    #[inline]
    fn copy_row(&self, offsets: [isize; 2]) {
        let (Range { start, end }, RollDim { len, shift, .. }) = (self.row.clone(), self.roll.row);
        let cut = shift.clamp(start, end);
        self.copy_run(offsets, start..cut, start + len - shift);
        self.copy_run(offsets, cut..end, cut.saturating_sub(shift));
    }

    /// Copies the elements `to` of the destination's row from the source's
    /// elements `from` and following.
    #[inline]
    fn copy_run(&self, offsets: [isize; 2], to: Range<usize>, from: usize) {
        if to.is_empty() {
            return;
        }
        let Roll { source, destination, row: RollDim { strides, .. }, .. } = *self.roll;
        // SAFETY: `to` lies in `0..len` of the row and so does the run from
        // `from` on; the offsets are turns of the outer loops. None of these
        // leaves its array (`Roll::new`), and the elements of the destination
        // are this part's alone (R1).
        unsafe {
            let source = source.offset(offsets[1] + from as isize * strides[1]);
            let destination = destination.offset(offsets[0] + to.start as isize * strides[0]);
            copy_run::<T, X>(source, destination, to.len(), [strides[1], strides[0]]);
        }
    }
}

/// A place in the outer loops, in the destination and in the source at once.
struct Place<'a> {
    dims: &'a [RollDim<2>],
    counters: SmallVec<[[usize; 2]; 4]>,
    offsets: [isize; 2],
}

impl<'a> Place<'a> {
    /// The place of row number `row` of the destination.
    fn new(dims: &'a [RollDim<2>], row: usize) -> Self {
        let mut place =
            Place { dims, counters: SmallVec::from_elem([0; 2], dims.len()), offsets: [0; 2] };
        let mut rest = row;
        for (at, dim) in dims.iter().enumerate().rev() {
            let to = rest % dim.len;
            rest /= dim.len;
            let from = if to < dim.shift { to + dim.len - dim.shift } else { to - dim.shift };
            place.counters[at] = [to, from];
            place.offsets[0] += to as isize * dim.strides[0];
            place.offsets[1] += from as isize * dim.strides[1];
        }
        place
    }

    /// The place of the next row.
    #[inline]
    fn advance(&mut self) {
        for (at, dim) in self.dims.iter().enumerate().rev() {
            for k in 0..2 {
                self.counters[at][k] += 1;
                self.offsets[k] += dim.strides[k];
                if self.counters[at][k] == dim.len {
                    self.counters[at][k] = 0;
                    self.offsets[k] -= dim.strides[k] * dim.len as isize;
                }
            }
            if self.counters[at][0] != 0 {
                return;
            }
        }
    }
}
