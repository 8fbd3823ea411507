//! Dense arrays, whose axes are in the order of memory: they merge without a look at strides.

use super::Turn;
use super::blocks::{self, Row, Share};
use crate::memory::strided::Layout;

/// Axes around rows, at most. Every other one rolls, since others merge.
const MOST: usize = 3;

/// The rows of a dense array, and how they roll.
pub(super) struct Dense {
    /// The axes around rows are those from number `first` on.
    turns: [Turn; MOST],
    first: usize,
    pub(super) row: Row,
    bytes: usize,
}

impl Dense {
    /// The rows of an array, if it is dense and not empty and few axes remain.
    #[inline(always)]
    pub(super) fn new(layout: &Layout<'_>, shifts: &[usize]) -> Option<Self> {
        let bytes = layout.dense_bytes()?;
        if bytes == 0 {
            return None;
        }
        assert!(shifts.len() == layout.shape().len(), "each axis has a shift");
        let mut turn = Turn { len: layout.size(), shift: 0, from: 1, to: 1 };
        let mut row = None;
        let (mut turns, mut first) = ([Turn::ONCE; MOST], MOST);
        let mut add = |turn: Turn| {
            if row.is_none() {
                row = Some(Row { len: turn.len, shift: turn.shift });
            } else {
                first = first.checked_sub(1)?;
                turns[first] = turn;
            }
            Some(())
        };
        for (&len, &shift) in layout.shape().iter().zip(shifts).rev() {
            assert!(shift < len, "a shift is less than the length of its axis");
            if turn.shift == 0 {
                // What lies inside does not roll, so it turns as a whole.
                (turn.len, turn.shift) = (len * turn.len, shift * turn.len);
            } else if len != 1 {
                add(turn)?;
                let step = turn.to * turn.len as isize;
                turn = Turn { len, shift, from: step, to: step };
            }
        }
        add(turn)?;
        Some(Dense { turns, first, row: row?, bytes })
    }

    /// How many bytes there are.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The axes around rows, outermost first.
    pub(super) fn around(&self) -> &[Turn] {
        &self.turns[self.first..]
    }

    /// Rolls the rows of one array to those of another on this thread.
    ///
    /// # Safety
    /// As many [`bytes`](Self::bytes) can be read from `from` and written to `to`, and the two
    /// do not overlap.
    #[allow(unsafe_code)]
    pub(super) unsafe fn roll(&self, from: *const u8, to: *mut u8) {
        // SAFETY: the caller's promise: axes and row make up these bytes.
        unsafe { blocks::roll(self.around(), &Share::ALL, from, to, self.row) };
    }
}
