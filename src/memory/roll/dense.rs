//! Rolls of dense arrays: their axes are in memory order already, so they merge without a
//! comparison of strides.

use super::RolledAxis;
use super::blocks::{self, Row, Share};
use crate::memory::strided::Layout;

/// Largest number of axes outside the rows. After merging, every axis but the outermost has a
/// shift other than 0.
const MAX_OUTER_AXES: usize = 3;

/// A roll of a dense array: its rows, and the axes outside them.
pub(super) struct DenseRoll {
    /// The axes from number `first` on are used, outermost first.
    axes: [RolledAxis; MAX_OUTER_AXES],
    first: usize,
    pub(super) row: Row,
    bytes: usize,
}

impl DenseRoll {
    /// A roll of an array, if the array is dense and not empty and few enough axes remain after
    /// merging.
    #[inline(always)]
    pub(super) fn new(layout: &Layout<'_>, shifts: &[usize]) -> Option<Self> {
        let bytes = layout.dense_bytes()?;
        if bytes == 0 {
            return None;
        }
        assert!(shifts.len() == layout.shape().len(), "each axis has a shift");
        // The bytes of an element are the innermost axis.
        let mut axis = RolledAxis { len: layout.size(), shift: 0, from_stride: 1, to_stride: 1 };
        let mut row = None;
        let (mut axes, mut first) = ([RolledAxis::ONE; MAX_OUTER_AXES], MAX_OUTER_AXES);
        let mut add = |axis: RolledAxis| {
            if row.is_none() {
                row = Some(Row { len: axis.len, shift: axis.shift });
            } else {
                first = first.checked_sub(1)?;
                axes[first] = axis;
            }
            Some(())
        };
        for (&len, &shift) in layout.shape().iter().zip(shifts).rev() {
            assert!(shift < len, "a shift is less than the length of its axis");
            if axis.shift == 0 {
                // An unshifted axis merges into the one outside it, as in `merge_into`.
                (axis.len, axis.shift) = (len * axis.len, shift * axis.len);
            } else if len != 1 {
                add(axis)?;
                let stride = axis.to_stride * axis.len as isize;
                axis = RolledAxis { len, shift, from_stride: stride, to_stride: stride };
            }
        }
        add(axis)?;
        Some(DenseRoll { axes, first, row: row?, bytes })
    }

    /// The size of the array in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The axes outside the rows, outermost first.
    pub(super) fn outer_axes(&self) -> &[RolledAxis] {
        &self.axes[self.first..]
    }

    /// Rolls the bytes from `from` on to those from `to` on, on the calling thread.
    ///
    /// # Safety
    /// [`bytes`](Self::bytes) bytes can be read from `from` and written to `to`, and the two
    /// do not overlap.
    #[allow(unsafe_code)]
    pub(super) unsafe fn roll(&self, from: *const u8, to: *mut u8) {
        // SAFETY: promised by the caller for all `bytes`, of which the axes and the row reach
        // each once (`new`).
        unsafe { blocks::roll(self.outer_axes(), &Share::ALL, from, to, self.row) };
    }
}
