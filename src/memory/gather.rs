//! Gathers rows: the row at position `k` of an axis goes to the place of the
//! index that names `k`.

use std::marker::PhantomData;
use std::mem::{self, MaybeUninit};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use ndarray::{ArrayView, ArrayViewMut, Dimension};

use super::output::Written;
use super::positions::{Buffer, CHUNK, Mode, Positions, resolve};
use super::rows::{Rows, copy_batches};
use super::span::assert_within;
use super::stage::Store;
use super::take::Take;
use crate::args::IndexInteger;
use crate::geometry::{Dim, Nest};
use crate::parallel::Job;

/// The loops of a gather, with strides for data, indices and output.
///
/// Invariant G1: for every turn of `around`, `batch`, `outer`, `row` and
/// `inner`, the output offsets differ, and they make up the whole output.
#[derive(Debug)]
pub(crate) struct Loops {
    /// Loops that did not merge into those below.
    pub(crate) around: Nest<3>,
    /// Batch dimensions: data, indices, output.
    pub(crate) batch: Dim<3>,
    /// Axes before the gathered one: data, output.
    pub(crate) outer: Dim<2>,
    /// Dimensions of the indices: indices, output.
    pub(crate) row: Dim<2>,
    /// Axes after the gathered one: data, output.
    pub(crate) inner: Dim<2>,
    /// The length of the gathered axis.
    pub(crate) axis_len: usize,
    /// The stride of the gathered axis in the data.
    pub(crate) axis_stride: isize,
}

/// From this many bytes on rows are asked for ahead of time.
const SPREAD: usize = 512 << 10;

impl Loops {
    /// Whether all indices make one chunk, so that a part which is the whole
    /// gather resolves every one of them before it copies a row.
    pub(crate) fn resolve_at_once(&self) -> bool {
        self.around.dims().is_empty() && self.batch.len == 1 && self.row.len <= CHUNK
    }

    /// Over how many elements of the data the gathered axis reaches.
    fn spread(&self) -> usize {
        self.axis_len.saturating_mul(self.axis_stride.unsigned_abs())
    }

    fn data(&self) -> impl Iterator<Item = (usize, isize)> {
        let around = self.around.dims().iter().map(|dim| (dim.len, dim.strides[0]));
        around.chain([
            (self.batch.len, self.batch.strides[0]),
            (self.outer.len, self.outer.strides[0]),
            (self.inner.len, self.inner.strides[0]),
            (self.axis_len, self.axis_stride),
        ])
    }

    fn indices(&self) -> impl Iterator<Item = (usize, isize)> {
        let around = self.around.dims().iter().map(|dim| (dim.len, dim.strides[1]));
        around.chain([(self.batch.len, self.batch.strides[1]), (self.row.len, self.row.strides[0])])
    }

    fn output(&self) -> impl Iterator<Item = (usize, isize)> {
        let around = self.around.dims().iter().map(|dim| (dim.len, dim.strides[2]));
        around.chain([
            (self.batch.len, self.batch.strides[2]),
            (self.outer.len, self.outer.strides[1]),
            (self.row.len, self.row.strides[1]),
            (self.inner.len, self.inner.strides[1]),
        ])
    }
}

/// A gather ready to run.
///
/// Data and fill stay borrowed for `'a`, so that the output may hold
/// references to them; everything else for `'c`.
pub(crate) struct Gather<'c, 'a, T, I, X: Take<'a, T>> {
    loops: &'c Loops,
    mode: Mode,
    fill: Option<&'a T>,
    /// Whether the rows of one turn spread over more memory than the caches
    /// near a core hold.
    prefetch: bool,
    store: Store,
    /// The first elements of arrays that the loops do not leave (`new` asserts
    /// it).
    data: *const T,
    indices: *const I,
    output: *mut X::Out,
    written: &'c Written,
    refused: &'c AtomicBool,
    borrows: PhantomData<(&'a T, &'c I, &'c mut X::Out)>,
}

impl<'c, 'a, T, I: IndexInteger, X: Take<'a, T>> Gather<'c, 'a, T, I, X> {
    /// A gather of `data` into `output`. Where `fill` is none, indices must
    /// not be out of bounds under `Mode::Nowhere`.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn new<D: Dimension, Q: Dimension, O: Dimension>(
        loops: &'c Loops,
        mode: Mode,
        fill: Option<&'a T>,
        data: &ArrayView<'a, T, D>,
        indices: &'c ArrayView<'_, I, Q>,
        output: &'c mut ArrayViewMut<'_, MaybeUninit<X::Out>, O>,
        written: &'c Written,
        refused: &'c AtomicBool,
    ) -> Self {
        assert!(!mem::needs_drop::<X::Out>());
        assert!(mode != Mode::Nowhere || fill.is_some());
        assert_within(data.shape(), data.strides(), 0, || loops.data());
        assert_within(output.shape(), output.strides(), 0, || loops.output());
        assert_within(indices.shape(), indices.strides(), 0, || loops.indices());
        Gather {
            loops,
            mode,
            fill,
            prefetch: loops.spread() * size_of::<T>() >= SPREAD,
            store: match size_of::<T>() == size_of::<X::Out>() {
                true => Store::of::<X::Out>(output.len()),
                false => Store::Direct,
            },
            data: data.as_ptr(),
            indices: indices.as_ptr(),
            output: output.as_mut_ptr().cast(),
            written,
            refused,
            borrows: PhantomData,
        }
    }

    /// The parts of the gather, one for each turn of the loops around it.
    pub(crate) fn parts(&self, mut visit: impl FnMut(Part<'_, 'a, T, I, X>)) {
        self.loops.around.for_each(0..self.loops.around.len(), |around| {
            visit(Part {
                gather: self,
                around,
                batch: 0..self.loops.batch.len,
                outer: 0..self.loops.outer.len,
                row: 0..self.loops.row.len,
                inner: 0..self.loops.inner.len,
            });
        });
    }
}

// SAFETY: the pointers stand for a shared borrow of data and indices and an
// exclusive one of the output (`borrows`). Parts share this struct between
// threads and write through it, each its own elements (G1, and P1 below).
#[allow(unsafe_code)]
unsafe impl<'a, T: Sync, I: Sync, X: Take<'a, T>> Sync for Gather<'_, 'a, T, I, X> {}

/// A part of a gather: a range of turns of each loop.
///
/// Invariant P1: no two parts that exist at a time share an output element.
/// `Gather::parts` makes one for each turn of the loops around, and `split`
/// cuts a range in two.
pub(crate) struct Part<'g, 'a, T, I, X: Take<'a, T>> {
    gather: &'g Gather<'g, 'a, T, I, X>,
    around: [isize; 3],
    batch: Range<usize>,
    outer: Range<usize>,
    row: Range<usize>,
    inner: Range<usize>,
}

fn halves(range: &Range<usize>) -> (Range<usize>, Range<usize>) {
    let middle = range.start + range.len() / 2;
    (range.start..middle, middle..range.end)
}

impl<'a, T: Sync, I: IndexInteger, X: Take<'a, T>> Job for Part<'_, 'a, T, I, X> {
    #[inline]
    fn work(&self) -> usize {
        self.elements() * size_of::<X::Out>().max(1)
    }

    fn split(self) -> Result<(Self, Self), Self> {
        let mut left = Part {
            batch: self.batch.clone(),
            outer: self.outer.clone(),
            row: self.row.clone(),
            inner: self.inner.clone(),
            ..self
        };
        let mut right = self;
        let ranges = if right.batch.len() > 1 {
            (&mut left.batch, &mut right.batch)
        } else if right.outer.len() > 1 {
            (&mut left.outer, &mut right.outer)
        } else if right.row.len() > 1 {
            (&mut left.row, &mut right.row)
        } else if right.inner.len() > 1 {
            (&mut left.inner, &mut right.inner)
        } else {
            return Err(right);
        };
        (*ranges.0, *ranges.1) = halves(ranges.1);
        Ok((left, right))
    }

    fn run(self) {
        let mut buffer: Buffer = [MaybeUninit::uninit(); CHUNK];
        let done = match self.batches_abreast() {
            0 | 1 => self.batch_by_batch(&mut buffer),
            abreast => self.batches(abreast, &mut buffer),
        };
        match done {
            Some(()) => self.gather.written.add(self.elements()),
            None => self.gather.refused.store(true, Ordering::Relaxed),
        }
    }
}

#[allow(unsafe_code)]
impl<'a, T, I: IndexInteger, X: Take<'a, T>> Part<'_, 'a, T, I, X> {
    #[inline]
    fn elements(&self) -> usize {
        self.batch.len() * self.outer.len() * self.row.len() * self.inner.len()
    }

    /// How many batches' indices follow each other in memory and fit in one
    /// chunk.
    #[inline]
    fn batches_abreast(&self) -> usize {
        let Loops { batch, row, .. } = self.gather.loops;
        let whole = self.row.len() == row.len;
        if self.batch.len() > 1 && whole && batch.strides[1] == row.strides[0] * row.len as isize {
            CHUNK / row.len
        } else {
            1
        }
    }

    /// Resolves and copies one batch after the other; `None` at an index out
    /// of bounds that the mode refuses.
    #[inline]
    fn batch_by_batch(&self, buffer: &mut Buffer) -> Option<()> {
        for batch in self.batch.clone() {
            let mut first = self.row.start;
            while first < self.row.end {
                let count = CHUNK.min(self.row.end - first);
                let positions = self.resolve(batch, first, count, buffer)?;
                self.copy(batch, first, positions);
                first += count;
            }
        }
        Some(())
    }

    /// The same for short batches, many of which are resolved at once.
    fn batches(&self, abreast: usize, buffer: &mut Buffer) -> Option<()> {
        let row_len = self.row.len();
        let mut batch = self.batch.start;
        while batch < self.batch.end {
            let batches = abreast.min(self.batch.end - batch);
            let positions = self.resolve(batch, 0, batches * row_len, buffer)?;
            if self.copy_single(batch, positions) {
                batch += batches;
                continue;
            }
            for list in positions.list.chunks_exact(row_len) {
                self.copy(batch, 0, Positions { list, ..positions });
                batch += 1;
            }
        }
        Some(())
    }

    /// Copies the elements of batches that are single rows of elements, from
    /// number `batch` on; false where they are more than that.
    fn copy_single(&self, batch: usize, positions: Positions<'_>) -> bool {
        let Gather { loops, data, output, .. } = self.gather;
        if self.outer.len() != 1 || self.inner.len() != 1 || !positions.everywhere {
            return false;
        }
        let batch_turn = |array: usize| batch as isize * loops.batch.strides[array];
        let turn = |stride: isize, range: &Range<usize>| range.start as isize * stride;
        let [data_stride, _, output_stride] = loops.batch.strides;
        let strides = [loops.axis_stride, loops.row.strides[1]];
        // SAFETY: as in `copy`, for as many batches as there are positions.
        unsafe {
            let from = data.offset(
                self.around[0]
                    + batch_turn(0)
                    + turn(loops.outer.strides[0], &self.outer)
                    + turn(loops.inner.strides[0], &self.inner),
            );
            let to = output.offset(
                self.around[2]
                    + batch_turn(2)
                    + turn(loops.outer.strides[1], &self.outer)
                    + turn(loops.inner.strides[1], &self.inner),
            );
            let batches = positions.list.chunks_exact(self.row.len());
            copy_batches::<T, X>(from, to, batches, [data_stride, output_stride], strides);
        }
        true
    }

    #[inline]
    fn resolve<'b>(
        &self,
        batch: usize,
        first: usize,
        count: usize,
        buffer: &'b mut Buffer,
    ) -> Option<Positions<'b>> {
        let Gather { loops, indices, mode, .. } = self.gather;
        let offset = self.around[1]
            + batch as isize * loops.batch.strides[1]
            + first as isize * loops.row.strides[0];
        // SAFETY: `batch` and `first..first + count` are turns of the loops, or
        // of as many batches as follow each other without a jump
        // (`batches_abreast`). They do not leave the indices (`Gather::new`).
        unsafe {
            let lane = indices.offset(offset);
            resolve(lane, loops.row.strides[0], count, loops.axis_len, *mode, buffer)
        }
    }

    /// Copies the rows at `positions` to the places of the indices from number
    /// `first` on.
    #[inline]
    fn copy(&self, batch: usize, first: usize, positions: Positions<'_>) {
        let Gather { loops, data, output, .. } = self.gather;
        let [from, to] = [(0, 0), (2, 1)].map(|(three, two)| {
            self.around[three]
                + batch as isize * loops.batch.strides[three]
                + self.outer.start as isize * loops.outer.strides[two]
                + self.inner.start as isize * loops.inner.strides[two]
        });
        let to = to + first as isize * loops.row.strides[1];
        let rows = Rows {
            outer: Dim { len: self.outer.len(), ..loops.outer },
            axis_stride: loops.axis_stride,
            row_stride: loops.row.strides[1],
            inner: Dim { len: self.inner.len(), ..loops.inner },
            gapless: self.inner.len() == loops.inner.len
                && loops.outer.strides[0] == (loops.axis_len * loops.inner.len) as isize,
            prefetch: self.gather.prefetch,
            store: self.gather.store,
        };
        // SAFETY: all turns named here lie in the ranges of this part, so with
        // positions less than `axis_len` (C1) the loops stay in the data, and
        // in the elements of the output that are this part's alone (G1, P1;
        // `Gather::new` compared both with their arrays).
        unsafe {
            let (from, to) = (data.offset(from), output.offset(to));
            match self.gather.fill {
                Some(fill) if !positions.everywhere => {
                    rows.copy_or_fill::<T, X>(from, to, positions, fill);
                }
                _ => rows.copy::<T, X>(from, to, positions.list),
            }
        }
    }
}
