//! Rolls from one array into another: every row of the destination is two
//! runs of a row of the source.

use std::marker::PhantomData;
use std::mem::{self, MaybeUninit};
use std::ops::Range;

use ndarray::{ArrayView, ArrayViewMut, Dimension};
use smallvec::SmallVec;

use super::output::{Pages, Written};
use super::plain::is_plain;
use super::run::copy_grid;
use super::shuffle::{FEWEST, Pattern};
use super::span::assert_within;
use super::stage::{self, Stage, Store, stream_run};
use super::take::Take;
use crate::geometry::{RollDim, RollLoops};
use crate::parallel::Job;

/// Rows of up to this many bytes are staged; longer ones copy well by
/// themselves.
const SHORT: usize = 2 << 10;

/// A roll ready to run.
pub(crate) struct Roll<'c, 'a, T, X: Take<'a, T>> {
    /// The loops around the rows.
    outer: &'c [RollDim<2>],
    /// The innermost loop.
    row: RollDim<2>,
    rows: usize,
    /// How the destination is written. Unless directly, its elements are plain
    /// and taken as they are, and in both arrays the elements of a row follow
    /// each other, in the destination the rows too.
    store: Store,
    /// How to rearrange short rows.
    pattern: Option<Pattern>,
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
        pages: Pages,
    ) -> Self {
        assert!(!mem::needs_drop::<X::Out>());
        assert!(!source.is_empty() && !destination.is_empty());
        let axes = |k: usize| loops.dims.iter().map(move |dim| (dim.len, dim.strides[k]));
        assert_within(destination.shape(), destination.strides(), loops.origin[0], || axes(0));
        assert_within(source.shape(), source.strides(), loops.origin[1], || axes(1));
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
        let follow = outer.last().is_none_or(|line| line.strides[0] == row.len as isize);
        let pattern = short_pattern::<T, X::Out>(outer, row, rows);
        let stageable = row.strides == [1, 1]
            && follow
            && pattern.is_none()
            && size_of::<T>() == size_of::<X::Out>();
        let store = match (Store::of::<X::Out>(rows * row.len), pages) {
            // The system clears them by way of the caches.
            (Store::Past, Pages::Fresh) => Store::Staged,
            (store, _) => store,
        };
        let store = match store {
            Store::Staged if row.shift == 0 || row.len * size_of::<T>() > SHORT => Store::Direct,
            store if stageable => store,
            _ => Store::Direct,
        };
        Roll {
            outer,
            row,
            rows,
            store,
            pattern,
            destination,
            source,
            written,
            borrows: PhantomData,
        }
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

    fn run(self) {
        let mut stage = (self.roll.store != Store::Direct).then(Stage::new);
        let len = self.roll.row.len;
        let at_once = match self.roll.pattern {
            Some(_) => usize::MAX,
            None => Stage::rows::<X::Out>(len).max(1),
        };
        let line = self.roll.outer.last().filter(|_| self.row.len() == len);
        let mut place = Place::new(self.roll.outer, self.rows.start);
        let mut row = self.rows.start;
        while row < self.rows.end {
            // Rows up to where source or destination jump are copied together,
            // as many as stay in the first cache between their two runs.
            let rows = match (line, place.counters.last()) {
                (Some(line), Some(counters)) => {
                    let until_jump = line.len - counters[0].max(counters[1]);
                    until_jump.min(self.rows.end - row).min(at_once)
                }
                _ => 1,
            };
            let row_strides = line.map_or([0; 2], |line| line.strides);
            let block = Block { offsets: place.offsets, rows, row_strides };
            match &mut stage {
                Some(stage) => self.stream_block(block, stage),
                None => self.copy_block(block),
            }
            place.advance(rows);
            row += rows;
        }
        if stage.is_some() {
            stage::finish();
        }
        self.roll.written.add(self.rows.len() * self.row.len());
    }
}

/// How to rearrange short rows of plain elements that follow each other in
/// destination and source.
fn short_pattern<T, U>(outer: &[RollDim<2>], row: RollDim<2>, rows: usize) -> Option<Pattern> {
    let RollDim { len, shift, strides } = row;
    let line = outer.last()?;
    let short = rows >= FEWEST
        && shift != 0
        && strides == [1, 1]
        && line.strides == [len as isize; 2]
        && size_of::<T>() == size_of::<U>()
        && is_plain::<U>();
    let bytes = len * size_of::<T>();
    let shift = shift * size_of::<T>();
    let from = |byte: usize| if byte < shift { byte + bytes - shift } else { byte - shift };
    if short { Pattern::new(bytes, bytes, from) } else { None }
}

/// Rows that follow each other with these strides, in destination and source.
#[derive(Clone, Copy)]
struct Block {
    offsets: [isize; 2],
    rows: usize,
    row_strides: [isize; 2],
}

/// A run of a row: elements `to` of the destination from the source's element
/// `from` on.
struct Run {
    to: Range<usize>,
    from: usize,
}

#[allow(unsafe_code)]
impl<'a, T, X: Take<'a, T>> Part<'_, 'a, T, X> {
    /// The run of this part of a row that comes round, and the run that the
    /// shift moves on. Neither leaves the row.
    fn runs(&self) -> [Run; 2] {
        let (Range { start, end }, RollDim { len, shift, .. }) = (self.row.clone(), self.roll.row);
        let cut = shift.clamp(start, end);
        let round = Run { to: start..cut, from: start + len - shift };
        let on = Run { to: cut..end, from: cut.saturating_sub(shift) };
        if round.to.len() < on.to.len() { [on, round] } else { [round, on] }
    }

    /// Copies a block.
    #[inline]
    fn copy_block(&self, mut block: Block) {
        let Roll { source, destination, row: RollDim { len, strides, .. }, ref pattern, .. } =
            *self.roll;
        if let Some(pattern) = pattern {
            // SAFETY: as below; plain elements are initialised bytes.
            let done = unsafe {
                let source = source.offset(block.offsets[1]).cast();
                pattern.run(source, destination.offset(block.offsets[0]).cast(), block.rows)
            };
            block.rows -= done;
            block.offsets = block.offsets.map(|offset| offset + (done * len) as isize);
        }
        for Run { to, from } in self.runs().into_iter().filter(|run| !run.to.is_empty()) {
            // SAFETY: the runs do not leave the row, the offsets are those of
            // a turn of the outer loops, and the next turns follow with these
            // strides. None of these leaves its array (`Roll::new`), and the
            // elements of the destination are this part's alone (R1).
            unsafe {
                let source = source.offset(block.offsets[1] + from as isize * strides[1]);
                let start = block.offsets[0] + to.start as isize * strides[0];
                let row_strides = [block.row_strides[1], block.row_strides[0]];
                let strides = [strides[1], strides[0]];
                let destination = destination.offset(start);
                copy_grid::<T, X>(source, destination, block.rows, row_strides, to.len(), strides);
            }
        }
    }

    /// Copies a block past the caches. Destination and source rows follow
    /// their own elements, and the destination's rows follow each other.
    fn stream_block(&self, block: Block, stage: &mut Stage) {
        let Roll { source, destination, row: RollDim { len, .. }, .. } = *self.roll;
        let whole_rows = self.row.len() == len && Stage::rows::<X::Out>(len) > 0;
        // SAFETY: the block's first row lies in the source.
        let room = stage.room(unsafe { source.offset(block.offsets[1]) }.cast::<X::Out>());
        for Run { to, from } in self.runs().into_iter().filter(|run| !run.to.is_empty()) {
            // SAFETY: as in `copy_block`. The stage has room for the rows of a
            // block, whose runs fill it; the elements are plain and taking
            // them is copying them (`Store`, `Roll::new`).
            unsafe {
                let source = source.offset(block.offsets[1] + from as isize);
                if whole_rows {
                    let room = room.add(to.start);
                    let row_strides = [block.row_strides[1], len as isize];
                    copy_grid::<T, X>(source, room, block.rows, row_strides, to.len(), [1, 1]);
                } else {
                    let destination = destination.offset(block.offsets[0] + to.start as isize);
                    stream_run(source.cast(), destination, to.len(), source.cast());
                }
            }
        }
        if whole_rows {
            let next = block.offsets[1] + block.rows as isize * block.row_strides[1];
            let next = source.wrapping_offset(next).cast();
            // SAFETY: as above; the two runs have filled every row.
            unsafe {
                let (to, elements) = (destination.offset(block.offsets[0]), block.rows * len);
                if self.roll.store == Store::Past {
                    stage.send::<_, true>(to, elements, next);
                } else {
                    stage.send::<_, false>(to, elements, next);
                }
            }
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
            let to;
            (rest, to) = if rest == 0 { (0, 0) } else { (rest / dim.len, rest % dim.len) };
            let from = if to < dim.shift { to + dim.len - dim.shift } else { to - dim.shift };
            place.counters[at] = [to, from];
            place.offsets[0] += to as isize * dim.strides[0];
            place.offsets[1] += from as isize * dim.strides[1];
        }
        place
    }

    /// The place `rows` rows further on, of which none but the last may pass
    /// the end of a line.
    #[inline]
    fn advance(&mut self, rows: usize) {
        let mut turns = rows;
        for (at, dim) in self.dims.iter().enumerate().rev() {
            for k in 0..2 {
                self.counters[at][k] += turns;
                self.offsets[k] += turns as isize * dim.strides[k];
                if self.counters[at][k] == dim.len {
                    self.counters[at][k] = 0;
                    self.offsets[k] -= dim.strides[k] * dim.len as isize;
                }
            }
            if self.counters[at][0] != 0 {
                return;
            }
            turns = 1;
        }
    }
}
