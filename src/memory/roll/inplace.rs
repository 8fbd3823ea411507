//! Rolls an array in place.
//!
//! The innermost axis, once axes are merged, is the row. Short rows, and tiny planes of them, are
//! rolled first, many at once by way of a buffer (`planes.rs`); the axes outside move longer rows
//! then. Short rows with gaps between them are the elements of a longer row, along the axis outside them.
//! Shifts outside rows permute these; a row's own shift rotates it on the way. The cycles of a
//! permutation are disjoint: one row of a cycle is moved to a buffer, each position takes the row of
//! its source position, and the last position takes the buffered row. So every row is read once and
//! written once. A row too long for the buffer is rotated first, by swaps of blocks, and then
//! permuted in chunks. Fewer rows than threads, which stay where they are, are cut (`cut.rs`).
//!
//! Elements are moved as bytes: none is cloned or dropped, and nothing in here can panic between
//! moving a row to the buffer and moving it back. The buffers of either pass, of all threads
//! together, take no more than [`WORK_MEMORY`], unless one element is larger.

mod cut;
mod cycles;
mod moves;
mod planes;

use std::mem::MaybeUninit;
use std::ops::Range;

use ndarray::{ArrayRef, Dimension};
use smallvec::SmallVec;

use cycles::{Cycles, RowPosition};
use moves::{move_elements, move_up, swap};
use planes::Planes;

use super::dense::DenseRoll;
use super::{RolledAxes, RolledAxis};
use crate::error::Result;
use crate::memory::copy::is_plain;
use crate::memory::strided::StridedMut;
use crate::memory::work::WorkMemory;
use crate::parallel::{self, Cost};
use crate::threshold::threshold;

/// Size in bytes of the buffers of all threads together, unless one element is larger.
const WORK_MEMORY: usize = threshold(256 << 10, 256);

/// Approximate size in bytes of the chunks that rows are permuted in where they are not rotated
/// as well: the buffered chunk stays in L1, and work is shared among threads by chunks.
const ROW_CHUNK: usize = threshold(16 << 10, 64);

/// Least size in bytes of chunks that are made only so that each part has one.
const SHORT_CHUNK: usize = threshold(1 << 10, 16);

/// Smallest size in bytes of a row that is worth moving by itself: an unshifted innermost axis of
/// this size is not merged into a shifted axis outside it.
const SEPARATE_ROW_MIN: usize = threshold(4 << 10, 96);

/// Rolls each axis of an array by its shift, which is less than its length
/// unless both are 0.
pub(crate) fn roll_inplace<T: Send, D: Dimension>(
    array: &mut ArrayRef<T, D>,
    shifts: &[usize],
) -> Result<()> {
    roll(&StridedMut::of(array), shifts, is_plain::<T>())
}

/// [`roll_inplace`] of elements that are plain, or of any type.
fn roll(array: &StridedMut<'_>, shifts: &[usize], plain: bool) -> Result<()> {
    let size = array.layout().size();
    let is_identity = || shifts.iter().all(|shift| *shift == 0);
    if array.layout().is_empty() || size == 0 || is_identity() || roll_small(array, shifts) {
        return Ok(());
    }
    let _call = parallel::Call::begin();
    let RolledAxes { mut axes, start } = RolledAxes::new(shifts, array.layout(), array.layout());
    let data = array.start().wrapping_offset(start.listed);
    merge(&mut axes, size);
    let planes = Planes::of(data, &axes, size, plain);
    if let Some(planes) = &planes {
        let first = axes.len() - planes.axes();
        axes[first..].iter_mut().for_each(|axis| axis.shift = 0);
        if axes.iter().all(|axis| axis.shift == 0) {
            return planes.roll();
        }
        merge(&mut axes, size);
    }
    let Some(row) = StridedRow::of(&mut axes, size) else { return Ok(()) };
    // Nothing has moved where memory is refused.
    let rows = RowsRoll::new(data, axes, row)?;
    planes.map_or(Ok(()), |planes| planes.roll())?;
    rows.run();
    Ok(())
}

/// Merges axes of an array whose elements have `size` bytes.
fn merge(axes: &mut SmallVec<[RolledAxis; 6]>, size: usize) {
    let separate_len = SEPARATE_ROW_MIN.div_ceil(size);
    // Unshifted axes merge with each other first, so that rows are as long as possible.
    axes.dedup_by(|inner, outer| outer.shift == 0 && inner.merge_into(outer));
    axes.dedup_by(|inner, outer| {
        let stays_separate = outer.shift != 0 && inner.len >= separate_len;
        !stays_separate && inner.merge_into(outer)
    });
}

/// The same axis without a shift.
fn unshifted(axis: &RolledAxis) -> RolledAxis {
    RolledAxis { shift: 0, ..*axis }
}

/// The number of parts for work of this cost, whose buffers of `bytes` bytes, or of a chunk, take no more
/// than [`WORK_MEMORY`].
fn parts_with_buffers(cost: Cost, bytes: usize) -> usize {
    parallel::parts_at_once(cost).min(WORK_MEMORY / bytes.max(ROW_CHUNK)).max(1)
}

/// A roll of rows along themselves and along the axes outside them, with its work memory.
struct RowsRoll {
    roll: Roll,
    /// Whether rows are too long for the buffer: they are rotated at their positions, then permuted.
    twice: bool,
    /// Whether each row is cut in as many parts as there are buffers.
    cut: bool,
    buffers: WorkMemory,
}

impl RowsRoll {
    /// The roll of an array, not empty and borrowed exclusively, all elements of which are at these offsets from
    /// `data`: a position of each of `axes`, and one of the row (of which an element may be several of the array's).
    fn new(data: *mut u8, axes: SmallVec<[RolledAxis; 6]>, row: StridedRow) -> Result<Self> {
        let size = row.size;
        let roll = Roll { data, axes, row };
        let permutes = roll.permutes();
        let row_count: usize = roll.axes.iter().map(|axis| axis.len).product();
        let cost = Cost::of_bytes(row_count.saturating_mul(row.len).saturating_mul(2 * size));
        let parts = parts_with_buffers(cost.plus(Cost::of_near(row_count)), size);
        // 1M `f32` by 7 72 -> 38 µs on two threads, by half 71 -> 37.
        let cut = !permutes && row_count < parts && roll.can_be_cut(parts);
        let parts = if permutes || cut { parts } else { parts.min(row_count) };
        // Each part has its share of the work memory, and at least a buffer for one element.
        let available = (WORK_MEMORY / parts / size).max(1) * size;
        let buffers = WorkMemory::new(parts, available.min(roll.max_buffer_bytes()))?;
        let twice = permutes && row.shift != 0 && row.len * size > available;
        Ok(RowsRoll { roll, twice, cut, buffers })
    }

    /// Moves all rows.
    fn run(self) {
        let RowsRoll { mut roll, twice, cut, buffers } = self;
        if cut {
            return roll.run_cut(&buffers);
        }
        if twice {
            let axes = roll.axes.iter().map(unshifted).collect();
            let outside = std::mem::replace(&mut roll.axes, axes);
            roll.run(&buffers);
            (roll.axes, roll.row.shift) = (outside, 0);
        }
        roll.run(&buffers);
    }
}

/// Largest size in bytes of dense arrays that are copied to the stack and rolled from there.
const TINY: usize = threshold(2 << 10, 64);

/// The same of arrays that are copied to work memory where rows change places, too: of long rows, and of rows of
/// less than 256 bytes. By half of 24 squared `f32` 410 -> 190 ns, of 16 cubed `f64` 5.4 -> 1.6 µs.
const SMALL: [usize; 2] = [threshold(16 << 10, 96), threshold(64 << 10, 128)];

/// Rolls a small dense array from a copy, and returns whether it did; otherwise nothing has moved.
fn roll_small(array: &StridedMut<'_>, shifts: &[usize]) -> bool {
    let Some(dense) = DenseRoll::new(array.layout(), shifts) else { return false };
    let small = SMALL[usize::from(dense.row.len < 256)];
    let (mut on_stack, on_heap);
    let from = if dense.bytes() <= TINY {
        on_stack = [MaybeUninit::<u8>::uninit(); TINY];
        on_stack.as_mut_ptr().cast::<u8>()
    } else if dense.bytes() <= small && dense.outer_axes().iter().any(|axis| axis.shift != 0) {
        let Ok(memory) = WorkMemory::new(1, dense.bytes()) else { return false };
        on_heap = memory;
        on_heap.of(0)
    } else {
        return false;
    };
    let to = array.start();
    // SAFETY: the array is borrowed exclusively, is dense, and has `dense.bytes()` bytes
    // (`DenseRoll::new`). The copy has room for as many (above), and does not overlap the array.
    #[allow(unsafe_code)]
    unsafe {
        to.copy_to_nonoverlapping(from, dense.bytes());
        dense.roll(from, to);
    }
    true
}

/// A row of `len` elements of `size` bytes each, `stride` bytes from one to the next, that is
/// rolled by `shift` elements.
#[derive(Debug, Clone, Copy)]
struct StridedRow {
    len: usize,
    shift: usize,
    stride: isize,
    size: usize,
}

impl StridedRow {
    /// Takes the row from the innermost of these axes of elements of `size` bytes. Short rows with gaps between them
    /// that are rolled along the axis outside them are its elements.
    fn of(axes: &mut SmallVec<[RolledAxis; 6]>, size: usize) -> Option<Self> {
        /// Most bytes of such a row.
        const ELEMENT_MAX: usize = threshold(512, 24);
        let row = axes.pop()?;
        let bytes = row.len.saturating_mul(size);
        let whole = row.shift == 0 && row.to_stride == size as isize && bytes <= ELEMENT_MAX;
        let around = axes.last().copied().filter(|axis| whole && axis.shift != 0);
        axes.truncate(axes.len() - usize::from(around.is_some()));
        let (row, size) = around.map_or((row, size), |axis| (axis, bytes));
        Some(StridedRow { len: row.len, shift: row.shift, stride: row.to_stride, size })
    }

    /// The number of elements of the shorter of the two runs that change places.
    fn shorter_run(&self) -> usize {
        self.shift.min(self.len - self.shift)
    }
}

/// An in-place roll ready to run.
///
/// Invariant (upheld by [`RowsRoll::new`]): all positions of `axes` and of `row`, as offsets from `data`,
/// are elements of one array, which is borrowed exclusively and is not empty.
struct Roll {
    /// The axes outside the rows.
    axes: SmallVec<[RolledAxis; 6]>,
    row: StridedRow,
    /// The address of the element at position 0 of all axes and of the row.
    data: *mut u8,
}

// SAFETY: elements are `Send` (`StridedMut::of`). Each part moves only those of its own units, selected by its number
// (`Roll::run`), or of its own share of a row, once all parts have what they need of others (`Roll::run_cut`).
#[allow(unsafe_code)]
unsafe impl Sync for Roll {}

impl Roll {
    /// Whether rows change places: whether any axis outside them has a shift other than 0.
    fn permutes(&self) -> bool {
        self.axes.iter().any(|axis| axis.shift != 0)
    }

    /// The largest buffer, in bytes, that a part makes use of.
    fn max_buffer_bytes(&self) -> usize {
        let StridedRow { len, shift, size, .. } = self.row;
        match self.permutes() {
            true if shift == 0 => len.min(ROW_CHUNK.div_ceil(size)) * size,
            true => len * size,
            // Halves are swapped.
            false if 2 * shift == len => size,
            false => self.row.shorter_run().max(1) * size,
        }
    }

    /// Moves all rows, in as many parts as there are buffers.
    fn run(&self, buffers: &WorkMemory) {
        let (permutes, bytes, parts) = (self.permutes(), buffers.bytes(), buffers.parts());
        let cycles = Cycles::new(&self.axes);
        let StridedRow { len, shift, size, .. } = self.row;
        let buffered = if permutes && shift != 0 { len } else { 1 };
        assert!(
            bytes >= buffered * size,
            "a buffer holds an element, or a row that is rotated on its way"
        );
        let cycles_count = cycles.leaders.iter().product::<usize>();
        let chunks = if permutes && shift == 0 {
            // At least one for each part, if they are not short.
            let least = parts.div_ceil(cycles_count).min(len * size / SHORT_CHUNK).min(len);
            len.div_ceil((ROW_CHUNK.min(bytes) / size).max(1)).max(least)
        } else {
            1
        };
        let units = cycles_count * chunks;
        parallel::run(parts, &|part| {
            let units = parallel::share(units, parts, part);
            let buffer = buffers.of(part);
            for unit in units {
                let position = RowPosition::new(&self.axes, &cycles, unit / chunks);
                if permutes {
                    let elements = parallel::share(len, chunks, unit % chunks);
                    self.move_cycle(position, cycles.len, elements, buffer);
                } else {
                    // Every cycle is one row.
                    self.rotate_row(position.offset, buffer, bytes);
                }
            }
        });
    }

    /// The address of an element of the row at `offset`.
    fn at(&self, offset: isize, element: usize) -> *mut u8 {
        let in_row = self.row.stride.wrapping_mul(element as isize);
        self.data.wrapping_offset(offset.wrapping_add(in_row))
    }

    /// Moves `elements` of each row of a cycle to the row's destination, rotated by the row's
    /// shift. Where that is not 0, `elements` are all elements of the row.
    #[allow(unsafe_code)]
    fn move_cycle(
        &self,
        mut position: RowPosition<'_>,
        cycle_len: usize,
        elements: Range<usize>,
        buffer: *mut u8,
    ) {
        let StridedRow { shift, stride, size, .. } = self.row;
        let (start, rest) = (elements.start, elements.len() - shift);
        let (packed, in_array) = (size as isize, [stride; 2]);
        let after = |from: *mut u8, count: usize, stride: isize| {
            from.wrapping_offset(stride.wrapping_mul(count as isize))
        };
        // SAFETY: `elements` is in bounds of the row, and all of it where the row is rotated
        // (`run`). Positions are in bounds of the axes outside the row, and those of a cycle
        // differ, so no run overlaps its source. The elements are this unit's alone, since cycles
        // and chunks are disjoint. The buffer holds `elements`: a whole row where rows are
        // rotated, else a chunk (`run`). Every element that is overwritten has been
        // moved on or buffered before, and the buffered ones fill the position that was moved on
        // last.
        unsafe {
            move_elements(
                self.at(position.offset, start),
                buffer,
                elements.len(),
                size,
                [stride, packed],
            );
            for _ in 1..cycle_len {
                let to = self.at(position.offset, start);
                position.step_to_source();
                let from = self.at(position.offset, start);
                move_elements(from, after(to, shift, stride), rest, size, in_array);
                move_elements(after(from, rest, stride), to, shift, size, in_array);
            }
            let to = self.at(position.offset, start);
            move_elements(buffer, after(to, shift, stride), rest, size, [packed, stride]);
            move_elements(after(buffer, rest, packed), to, shift, size, [packed, stride]);
        }
    }

    /// Rotates a row at its position. As long as neither of its runs fits in the buffer, blocks
    /// of the shorter run's length are swapped to where they belong, which leaves a shorter row
    /// to rotate.
    #[allow(unsafe_code)]
    fn rotate_row(&self, offset: isize, buffer: *mut u8, buffer_bytes: usize) {
        let StridedRow { mut len, mut shift, stride, size } = self.row;
        let mut row = self.at(offset, 0);
        let after =
            |from: *mut u8, count: usize| from.wrapping_offset(stride.wrapping_mul(count as isize));
        let packed = size as isize;
        // SAFETY: the row is in bounds of the array and this unit's alone; what is left of it
        // only shrinks, from either end. The shorter run fits in the buffer where it is moved
        // there (checked), which is before the longer one takes its place.
        unsafe {
            while shift != 0 && shift != len {
                let rest = len - shift;
                if shift <= rest && shift * size <= buffer_bytes {
                    move_elements(after(row, rest), buffer, shift, size, [stride, packed]);
                    move_up(row, rest, shift, size, stride);
                    return move_elements(buffer, row, shift, size, [packed, stride]);
                }
                if rest < shift && rest * size <= buffer_bytes {
                    move_elements(row, buffer, rest, size, [stride, packed]);
                    move_elements(after(row, rest), row, shift, size, [stride; 2]);
                    return move_elements(buffer, after(row, shift), rest, size, [packed, stride]);
                }
                if shift <= rest {
                    swap(row, after(row, rest), shift, size, stride);
                    row = after(row, shift);
                    len -= shift;
                } else {
                    swap(row, after(row, shift), rest, size, stride);
                    len -= rest;
                    shift -= rest;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
