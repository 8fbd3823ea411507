//! Rolls of short rows in place, many at once: as many as fit are rolled into a buffer in L1 by the
//! kernels of rolls from one array to another, and copied back.
//!
//! Where axes outside of these rows turn, too, so many positions of them that these fit in the buffer are
//! a plane, which is rolled along all of its axes.

use std::ops::Range;

use smallvec::SmallVec;

use super::cycles::{Cycles, RowPosition};
use super::{ROW_CHUNK, parts_with_buffers, unshifted};
use crate::error::Result;
use crate::memory::copy::rows::copy_bytes;
use crate::memory::cpu::widely;
use crate::memory::roll::RolledAxis;
use crate::memory::roll::blocks::{Row, Share};
use crate::memory::roll::rows::RowRoll;
use crate::memory::work::WorkMemory;
use crate::parallel::{self, Cost};
use crate::threshold::threshold;

/// Largest size in bytes of rows that are rolled many at once.
const SHORT_ROW_MAX: usize = threshold(2 << 10, 48);

/// The same where axes outside the planes are rolled afterwards, in a second pass over the array: longer
/// rows take less time one by one, on the way to their places.
const SECOND_PASS_ROW_MAX: usize = threshold(64, 24);

/// Bytes that are rolled at once.
const GROUP: usize = ROW_CHUNK / 2;

/// Planes: short contiguous rows, and axes outside them.
///
/// Invariant (upheld by the caller of [`Planes::of`]): all positions of the axes and of the row, as
/// offsets from `data`, are elements of one array, which is borrowed exclusively and is not empty.
pub(super) struct Planes {
    data: *mut u8,
    /// The axes outside the planes, whose shifts are not those of a plane.
    outside: SmallVec<[RolledAxis; 6]>,
    /// The axes of a group of planes, outermost first, from the array to the buffer, where planes are
    /// contiguous: the innermost of `outside`, and the axes of a plane.
    group: SmallVec<[RolledAxis; 6]>,
    row: Row,
    /// Bytes of a plane.
    bytes: usize,
    /// Whether groups are contiguous in the array, too.
    dense: bool,
    /// Whether elements are [plain](crate::memory::copy::Way::Bytes).
    plain: bool,
}

// SAFETY: elements are `Send` (`StridedMut::of`), and each part moves only those of its own planes
// (`Planes::roll`).
#[allow(unsafe_code)]
unsafe impl Sync for Planes {}

impl Planes {
    /// The largest planes with a shift of an array whose element at position 0 of all `axes` is at `data`,
    /// and has `size` bytes; `None` if rows are not contiguous or too long, or planes have no shift.
    pub(super) fn of(data: *mut u8, axes: &[RolledAxis], size: usize, plain: bool) -> Option<Self> {
        let (row, outer) = axes.split_last()?;
        let row_bytes = row.len.saturating_mul(size);
        if row.to_stride != size as isize || row_bytes > SHORT_ROW_MAX {
            return None;
        }
        let mut plane: SmallVec<[RolledAxis; 6]> = SmallVec::new();
        // Of the plane so far, and of the axes up to the last one with a shift.
        let (mut inside, mut dense) = (row_bytes, true);
        let (mut axes, mut bytes, mut is_dense) = (0, row_bytes, true);
        for axis in outer.iter().rev() {
            if inside.saturating_mul(axis.len) > GROUP {
                break;
            }
            plane.push(RolledAxis {
                from_stride: axis.to_stride,
                to_stride: inside as isize,
                ..*axis
            });
            dense &= axis.to_stride == inside as isize;
            inside *= axis.len;
            if axis.shift != 0 {
                (axes, bytes, is_dense) = (plane.len(), inside, dense);
            }
        }
        if row.shift == 0 && axes == 0 {
            return None;
        }
        plane.truncate(axes);
        let outside = &outer[..outer.len() - axes];
        let joins = is_dense && outside.last().is_none_or(|axis| axis.to_stride == bytes as isize);
        let second_pass = outside.iter().any(|axis| axis.shift != 0);
        if second_pass && (row_bytes > SECOND_PASS_ROW_MAX || !joins) {
            return None;
        }
        let mut outside: SmallVec<[RolledAxis; 6]> = outside.iter().map(unshifted).collect();
        outside.dedup_by(|inner, outer| inner.merge_into(outer));
        let beside = outside.last().copied().unwrap_or(RolledAxis::ONE);
        let beside =
            RolledAxis { from_stride: beside.to_stride, to_stride: bytes as isize, ..beside };
        Some(Planes {
            data,
            outside,
            group: [beside].into_iter().chain(plane.into_iter().rev()).collect(),
            row: Row { len: row_bytes, shift: row.shift * size },
            bytes,
            dense: joins,
            plain,
        })
    }

    /// The number of axes of a plane, its rows among them. `group` has as many: the axis beside planes in place of
    /// the rows.
    pub(super) fn axes(&self) -> usize {
        self.group.len()
    }

    /// Rolls all planes, each by itself.
    pub(super) fn roll(&self) -> Result<()> {
        let count: usize = self.outside.iter().map(|axis| axis.len).product();
        let rows = count.saturating_mul(self.bytes / self.row.len);
        let bytes = count.saturating_mul(self.bytes);
        let cost = Cost::of_bytes(bytes.saturating_mul(2)).plus(Cost::of_near(rows));
        let parts = parts_with_buffers(cost, self.bytes).min(count);
        let at_once = (GROUP / self.bytes).clamp(1, count);
        let buffers = WorkMemory::new(parts, at_once * self.bytes)?;
        let cycles = Cycles::new(&self.outside);
        let new = if self.plain { RowRoll::new } else { RowRoll::in_blocks };
        let there = new(&self.group, self.row);
        let back = |axis: &RolledAxis| RolledAxis {
            shift: 0,
            from_stride: axis.to_stride,
            to_stride: axis.from_stride,
            ..*axis
        };
        let axes: Option<SmallVec<[RolledAxis; 6]>> =
            (!self.dense).then(|| self.group.iter().map(back).collect());
        let back = axes.as_ref().map(|axes| new(axes, Row { shift: 0, ..self.row }));
        parallel::run(parts, &|part| {
            let share = parallel::share(count, parts, part);
            // SAFETY: no two parts have a plane in common, nor a buffer (`WorkMemory`).
            #[allow(unsafe_code)]
            widely(|| unsafe {
                let kernels = (&there, back.as_ref());
                self.roll_share(&cycles, kernels, share.clone(), buffers.of(part), at_once);
            });
        });
        Ok(())
    }

    /// Rolls the planes with these numbers, up to `at_once` of them at a time: `there`, into the buffer, and
    /// `back`, by a copy of all bytes if groups are contiguous.
    ///
    /// # Safety
    /// No other thread uses these planes or the buffer, which has room for `at_once` planes.
    #[allow(unsafe_code)]
    unsafe fn roll_share(
        &self,
        cycles: &Cycles,
        (there, back): (&RowRoll<'_>, Option<&RowRoll<'_>>),
        planes: Range<usize>,
        buffer: *mut u8,
        at_once: usize,
    ) {
        let (bytes, beside) = (self.bytes, self.group[0]);
        let mut first = planes.start;
        while first < planes.end {
            let count = at_once.min(planes.end - first).min(beside.len - first % beside.len);
            let offset = RowPosition::new(&self.outside, cycles, first).offset;
            let start = self.data.wrapping_offset(offset);
            // Of the axis beside the planes, which has no shift.
            let planes = Share { axis_number: 0, positions: 0..count };
            // SAFETY: elements that are not plain are copied in blocks (`roll`). The planes are in bounds of the
            // array (invariant), since they end with the axis beside them at the latest, and are this thread's
            // (`# Safety`). The buffer holds as many. All of their bytes are copied there, each once, before any
            // is moved back.
            unsafe {
                there.roll(&planes, start, buffer);
                match back {
                    None => copy_bytes(buffer, start, count * bytes),
                    Some(back) => back.roll(&planes, buffer, start),
                }
            }
            first += count;
        }
    }
}
