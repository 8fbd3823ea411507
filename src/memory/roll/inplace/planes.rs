//! Rolls of short rows in place, many at once: as many as fit are rolled into a buffer in L1 by the
//! kernels of rolls from one array to another, and copied back.

use std::mem::MaybeUninit;
use std::ops::Range;

use smallvec::SmallVec;

use super::cycles::{Cycles, RowPosition};
use super::{Buffers, ROW_CHUNK, max_parts, unshifted};
use crate::error::Result;
use crate::memory::alloc::repeated;
use crate::memory::copy::rows::run;
use crate::memory::cpu::widely;
use crate::memory::roll::RolledAxis;
use crate::memory::roll::blocks::Row;
use crate::memory::roll::rows::RowRoll;
use crate::parallel::{self, Cost};
use crate::threshold::threshold;

/// Largest size in bytes of rows that are rolled many at once, and of those whose axes outside are not
/// all in a plane, so that these are rolled afterwards, in a second pass over the array: longer rows take
/// less time one by one, on the way to their places.
const SHORT_ROW_MAX: usize = threshold(2 << 10, 48);
const SECOND_PASS_ROW_MAX: usize = threshold(64, 24);

/// Bytes that are rolled at once.
const GROUP: usize = ROW_CHUNK / 2;

/// Planes: short rows, and axes outside them that are contiguous with them.
///
/// Invariant (upheld by the caller of [`Planes::of`]): all positions of the axes and of the row, as
/// offsets from `data`, are elements of one array, which is borrowed exclusively and is not empty.
pub(super) struct Planes {
    data: *mut u8,
    /// The axes outside the planes, whose shifts are not those of a plane.
    outside: SmallVec<[RolledAxis; 6]>,
    /// The axes of a group of planes, outermost first, from the array to a buffer: the innermost of
    /// `outside`, and the axes of a plane.
    group: SmallVec<[RolledAxis; 6]>,
    row: Row,
    /// The bytes of a plane, and the number of its axes with its rows.
    bytes: usize,
    pub(super) axes: usize,
}

// SAFETY: each part moves only the elements of its own planes (`Planes::roll`).
#[allow(unsafe_code)]
unsafe impl Sync for Planes {}

impl Planes {
    /// The largest planes with a shift of an array whose element at position 0 of all `axes` is at `data`,
    /// and has `size` bytes; `None` if rows are not contiguous, too long, or not shifted.
    pub(super) fn of(data: *mut u8, axes: &[RolledAxis], size: usize) -> Option<Self> {
        let (row, outer) = axes.split_last()?;
        let row_bytes = row.len.saturating_mul(size);
        if row.shift == 0 || row.to_stride != size as isize || row_bytes > SHORT_ROW_MAX {
            return None;
        }
        let (mut first, mut bytes, mut inside) = (outer.len(), row_bytes, row_bytes);
        for (number, axis) in outer.iter().enumerate().rev() {
            if axis.to_stride != inside as isize || inside.saturating_mul(axis.len) > GROUP {
                break;
            }
            inside *= axis.len;
            if axis.shift != 0 {
                (first, bytes) = (number, inside);
            }
        }
        let (outside, plane) = outer.split_at(first);
        if row_bytes > SECOND_PASS_ROW_MAX && outside.iter().any(|axis| axis.shift != 0) {
            return None;
        }
        let mut outside: SmallVec<[RolledAxis; 6]> = outside.iter().map(unshifted).collect();
        outside.dedup_by(|inner, outer| inner.merge_into(outer));
        let beside = outside.last().copied().unwrap_or(RolledAxis::ONE);
        let beside = RolledAxis { to_stride: bytes as isize, ..beside };
        Some(Planes {
            data,
            outside,
            group: [beside].into_iter().chain(plane.iter().copied()).collect(),
            row: Row { len: row_bytes, shift: row.shift * size },
            bytes,
            axes: plane.len() + 1,
        })
    }

    /// Rolls all planes, each by itself.
    pub(super) fn roll(&self) -> Result<()> {
        let count: usize = self.outside.iter().map(|axis| axis.len).product();
        let rows = count.saturating_mul(self.bytes / self.row.len);
        let bytes = count.saturating_mul(self.bytes);
        let parts =
            parallel::parts(Cost::of_bytes(bytes.saturating_mul(2)).plus(Cost::of_near(rows)));
        let parts = parts.min(max_parts(self.bytes)).min(count);
        let at_once = (GROUP / self.bytes).clamp(1, count);
        let mut memory = repeated(MaybeUninit::<u8>::uninit(), at_once * self.bytes * parts)?;
        let buffers = Buffers { start: memory.as_mut_ptr().cast(), bytes: at_once * self.bytes };
        let cycles = Cycles::new(&self.outside);
        let rolled = RowRoll::new(&self.group, self.row);
        parallel::run(parts, &|part| {
            let share = parallel::share(count, parts, part);
            // SAFETY: no two parts have a plane in common, nor a buffer (`Buffers`).
            #[allow(unsafe_code)]
            widely(|| unsafe {
                self.roll_share(&cycles, &rolled, share.clone(), buffers.of(part));
            });
        });
        Ok(())
    }

    /// Rolls the planes with these numbers, as many at once as a buffer holds of `room` bytes.
    ///
    /// # Safety
    /// No other thread uses these planes or the buffer.
    #[allow(unsafe_code)]
    unsafe fn roll_share(
        &self,
        cycles: &Cycles,
        rolled: &RowRoll<'_>,
        planes: Range<usize>,
        (buffer, room): (*mut u8, usize),
    ) {
        let (bytes, beside) = (self.bytes, self.group[0]);
        let mut first = planes.start;
        while first < planes.end {
            let count = (room / bytes).min(planes.end - first).min(beside.len - first % beside.len);
            let offset = RowPosition::new(&self.outside, cycles, first).offset;
            let start = self.data.wrapping_offset(offset);
            // SAFETY: the planes are in bounds of the array (invariant), since they end with the axis
            // beside them at the latest, and are this thread's (`# Safety`). The buffer holds as many. All
            // of their bytes are copied there, each once, before any is moved back.
            unsafe {
                rolled.roll(count, start, buffer);
                if beside.from_stride == bytes as isize {
                    run(buffer, start, count * bytes);
                } else {
                    for k in 0..count {
                        let to = start.wrapping_offset(beside.from_stride.wrapping_mul(k as isize));
                        run(buffer.add(k * bytes), to, bytes);
                    }
                }
            }
            first += count;
        }
    }
}
