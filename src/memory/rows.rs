//! Copies rows from the positions of an axis.

use super::lines::prefetch;
use super::plain::is_plain;
use super::positions::{NOWHERE, Positions};
use super::run::{copy_block, copy_run};
use super::shuffle::{FEWEST, Pattern};
use super::stage::{self, Store, stream_run};
use super::take::Take;
use crate::geometry::Dim;

/// How rows lie. For every turn of `outer`, a row is `inner` elements; rows are
/// `axis_stride` apart in the source and `row_stride` in the destination.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows {
    pub(super) outer: Dim<2>,
    pub(super) axis_stride: isize,
    pub(super) row_stride: isize,
    pub(super) inner: Dim<2>,
    /// Whether all bytes of the source from one turn to the next are elements
    /// that the axis reaches: others may be anybody's.
    pub(super) gapless: bool,
    /// Whether to ask for rows ahead of time.
    pub(super) prefetch: bool,
    /// How the destination is written: past the caches only if it is plain, and
    /// taking its elements is copying them.
    pub(super) store: Store,
}

/// Rows of at least this many bytes may be written past the caches.
const STREAMED_ROW: usize = 1 << 10;

/// How many rows ahead of the one being copied the next is asked for: a miss
/// takes as long as a few short rows, or one long one.
fn distance(row_bytes: usize) -> usize {
    match row_bytes {
        0..=256 => 16,
        257..=1024 => 8,
        _ => 2,
    }
}

#[allow(unsafe_code)]
impl Rows {
    /// Copies one row for each position in every turn of the outer loop.
    ///
    /// # Safety
    /// For all turns of the outer loop, the rows at all positions are readable
    /// for `'a`, the rows of the destination are writable, and the two do not
    /// overlap. No position is nowhere.
    #[inline]
    pub(super) unsafe fn copy<'a, T: 'a, X: Take<'a, T>>(
        self,
        from: *const T,
        to: *mut X::Out,
        positions: &[usize],
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            if let Some(pattern) = self.pattern::<T, X::Out>(positions) {
                return self.copy_shuffled::<T, X>(from, to, positions, &pattern);
            }
            if self.inner.len == 1 {
                self.copy_elements::<T, X>(from, to, positions);
            } else if self.inner.strides != [1, 1] {
                self.copy_runs::<T, X>(from, to, positions);
            } else {
                match self.inner.len {
                    2 => self.copy_blocks::<T, X, 2, false>(from, to, positions),
                    3 => self.copy_blocks::<T, X, 3, false>(from, to, positions),
                    4 => self.copy_blocks::<T, X, 4, false>(from, to, positions),
                    5..=7 => self.copy_blocks::<T, X, 4, true>(from, to, positions),
                    8 => self.copy_blocks::<T, X, 8, false>(from, to, positions),
                    9..=15 => self.copy_blocks::<T, X, 8, true>(from, to, positions),
                    16 => self.copy_blocks::<T, X, 16, false>(from, to, positions),
                    17..=32 => self.copy_blocks::<T, X, 16, true>(from, to, positions),
                    33..=64 if size_of::<T>() <= 4 => {
                        self.copy_blocks::<T, X, 32, true>(from, to, positions);
                    }
                    len if self.store == Store::Past && len * size_of::<T>() >= STREAMED_ROW => {
                        self.copy_past::<T, X>(from, to, positions);
                    }
                    _ => self.copy_runs::<T, X>(from, to, positions),
                }
            }
        }
    }

    /// How to rearrange short rows of plain elements, if all turns of the outer
    /// loop follow each other in source and destination.
    #[inline]
    fn pattern<T, U>(self, positions: &[usize]) -> Option<Pattern> {
        let Rows { outer, axis_stride, row_stride, inner, .. } = self;
        let block = inner.len as isize;
        let short = outer.len >= FEWEST
            && self.gapless
            && (axis_stride, row_stride) == (block, block)
            && (inner.len == 1 || inner.strides == [1, 1])
            && outer.strides[1] == positions.len() as isize * block;
        if !short || size_of::<T>() != size_of::<U>() || !is_plain::<U>() {
            return None;
        }
        let bytes = inner.len * size_of::<T>();
        let source_row = outer.strides[0] as usize * size_of::<T>();
        let from = |byte: usize| positions[byte / bytes] * bytes + byte % bytes;
        Pattern::new(positions.len() * bytes, source_row, from)
    }

    /// Rows that a pattern rearranges.
    ///
    /// # Safety
    /// That of [`copy`](Self::copy); the pattern is that of `positions`.
    unsafe fn copy_shuffled<'a, T: 'a, X: Take<'a, T>>(
        self,
        from: *const T,
        to: *mut X::Out,
        positions: &[usize],
        pattern: &Pattern,
    ) {
        let outer = self.outer;
        // SAFETY: the caller's promise, for all elements that the axis reaches
        // (`gapless`); plain elements are initialised bytes.
        unsafe {
            let done = pattern.run(from.cast(), to.cast(), outer.len);
            let from = from.offset(done as isize * outer.strides[0]);
            let to = to.offset(done as isize * outer.strides[1]);
            let outer = Dim { len: outer.len - done, ..outer };
            let rest = Rows { outer, inner: Dim { strides: [1, 1], ..self.inner }, ..self };
            rest.copy_runs::<T, X>(from, to, positions);
        }
    }

    /// Rows of one element.
    ///
    /// # Safety
    /// That of [`copy`](Self::copy).
    #[inline(never)]
    unsafe fn copy_elements<'a, T: 'a, X: Take<'a, T>>(
        self,
        from: *const T,
        to: *mut X::Out,
        positions: &[usize],
    ) {
        let Rows { outer, axis_stride, row_stride, .. } = self;
        for turn in 0..outer.len as isize {
            // SAFETY: the caller's promise.
            unsafe {
                let from = from.offset(turn * outer.strides[0]);
                let to = to.offset(turn * outer.strides[1]);
                if (axis_stride, row_stride) == (1, 1) {
                    for (k, &position) in positions.iter().enumerate() {
                        to.add(k).write(X::take(&*from.add(position)));
                    }
                } else {
                    for (k, &position) in positions.iter().enumerate() {
                        let element = &*from.offset(position as isize * axis_stride);
                        to.offset(k as isize * row_stride).write(X::take(element));
                    }
                }
            }
        }
    }

    /// Contiguous rows of `N` elements, or of `N` to `2 * N` where `OVERLAP`.
    ///
    /// # Safety
    /// That of [`copy`](Self::copy).
    #[inline(never)]
    unsafe fn copy_blocks<'a, T: 'a, X: Take<'a, T>, const N: usize, const OVERLAP: bool>(
        self,
        from: *const T,
        to: *mut X::Out,
        positions: &[usize],
    ) {
        let len = self.inner.len;
        // SAFETY: the caller's promise.
        unsafe {
            self.each_row(from, to, positions, |from, to| {
                copy_block::<T, X, N, OVERLAP>(from, to, len);
            });
        }
    }

    /// Rows of any length and strides.
    ///
    /// # Safety
    /// That of [`copy`](Self::copy).
    #[inline(never)]
    unsafe fn copy_runs<'a, T: 'a, X: Take<'a, T>>(
        self,
        from: *const T,
        to: *mut X::Out,
        positions: &[usize],
    ) {
        let Dim { len, strides } = self.inner;
        // SAFETY: the caller's promise.
        unsafe {
            self.each_row(from, to, positions, |from, to| copy_run::<T, X>(from, to, len, strides));
        }
    }

    /// Contiguous rows of plain elements, written past the caches.
    ///
    /// # Safety
    /// That of [`copy`](Self::copy), and of the field `store`.
    #[inline(never)]
    unsafe fn copy_past<'a, T: 'a, X: Take<'a, T>>(
        self,
        from: *const T,
        to: *mut X::Out,
        positions: &[usize],
    ) {
        let Rows { outer, axis_stride, row_stride, inner, .. } = self;
        for turn in 0..outer.len as isize {
            // SAFETY: the caller's promise.
            unsafe {
                let from = from.offset(turn * outer.strides[0]);
                let to = to.offset(turn * outer.strides[1]);
                let row = |position: usize| from.wrapping_offset(position as isize * axis_stride);
                for (k, &position) in positions.iter().enumerate() {
                    // A line of the next row is asked for with each line of this
                    // one: asked for all at once, they would wait for each other.
                    let next = row(*positions.get(k + 1).unwrap_or(&position));
                    let to = to.offset(k as isize * row_stride);
                    stream_run(row(position).cast(), to, inner.len, next.cast());
                }
            }
        }
        stage::finish();
    }

    /// Hands the beginning of each row, in source and destination, to `copy`,
    /// and asks for later ones.
    ///
    /// # Safety
    /// That of [`copy`](Self::copy).
    #[inline(always)]
    unsafe fn each_row<T, U>(
        self,
        from: *const T,
        to: *mut U,
        positions: &[usize],
        copy: impl Fn(*const T, *mut U),
    ) {
        let Rows { outer, axis_stride, row_stride, inner, prefetch: ask, .. } = self;
        let ahead = distance(inner.len * size_of::<T>());
        for turn in 0..outer.len as isize {
            // SAFETY: the caller's promise.
            unsafe {
                let from = from.offset(turn * outer.strides[0]);
                let to = to.offset(turn * outer.strides[1]);
                for (k, &position) in positions.iter().enumerate() {
                    if let Some(&later) = positions.get(k + ahead).filter(|_| ask) {
                        prefetch(from.offset(later as isize * axis_stride), inner.len);
                    }
                    let from = from.offset(position as isize * axis_stride);
                    copy(from, to.offset(k as isize * row_stride));
                }
            }
        }
    }

    /// Copies one row for each position, and repeats `fill` where there is
    /// none.
    ///
    /// # Safety
    /// That of [`copy`](Self::copy), but that positions may be nowhere.
    pub(super) unsafe fn copy_or_fill<'a, T: 'a, X: Take<'a, T>>(
        self,
        from: *const T,
        to: *mut X::Out,
        positions: Positions<'_>,
        fill: &'a T,
    ) {
        let mut first = 0;
        for list in positions.list.chunk_by(|a, b| (*a == NOWHERE) == (*b == NOWHERE)) {
            // SAFETY: the caller's promise; a list has no position that is
            // nowhere unless all of its are.
            unsafe {
                let to = to.offset(first as isize * self.row_stride);
                if list[0] == NOWHERE {
                    self.fill::<T, X>(to, list.len(), fill);
                } else {
                    self.copy::<T, X>(from, to, list);
                }
            }
            first += list.len();
        }
    }

    /// Repeats `fill` in `rows` rows.
    ///
    /// # Safety
    /// For all turns of the outer loop the rows of the destination are
    /// writable.
    unsafe fn fill<'a, T: 'a, X: Take<'a, T>>(self, to: *mut X::Out, rows: usize, fill: &'a T) {
        let Rows { outer, row_stride, inner, .. } = self;
        for turn in 0..outer.len as isize {
            for row in 0..rows as isize {
                let offset = turn * outer.strides[1] + row * row_stride;
                for i in 0..inner.len as isize {
                    // SAFETY: the caller's promise.
                    unsafe { to.offset(offset + i * inner.strides[1]).write(X::take(fill)) };
                }
            }
        }
    }
}

/// Copies one element for each position of each batch. Strides of source and
/// destination from batch to batch, and of the source's axis and the
/// destination's row.
///
/// # Safety
/// For each batch, the elements at all its positions are readable for `'a`, as
/// many of the destination are writable, and the two do not overlap. No
/// position is nowhere.
#[allow(unsafe_code)]
#[inline(never)]
pub(super) unsafe fn copy_batches<'a, 'p, T: 'a, X: Take<'a, T>>(
    from: *const T,
    to: *mut X::Out,
    batches: impl Iterator<Item = &'p [usize]>,
    batch_strides: [isize; 2],
    strides: [isize; 2],
) {
    for (batch, positions) in batches.enumerate() {
        // SAFETY: the caller's promise.
        unsafe {
            let from = from.offset(batch as isize * batch_strides[0]);
            let to = to.offset(batch as isize * batch_strides[1]);
            for (k, &position) in positions.iter().enumerate() {
                let element = &*from.offset(position as isize * strides[0]);
                to.offset(k as isize * strides[1]).write(X::take(element));
            }
        }
    }
}
