//! Gathers and scatters of few elements, which take less time than choosing a loop nest would.
//!
//! If all three arrays are dense, their axes collapse to a few blocks, and all entries to one tile,
//! without loops to sort, merge and split:
//!
//! ```text
//! selected [batches, around, lens..,  lanes, row]
//! indices  [batches,         entries, lanes, numbers]
//! listed   [batches, around, entries, lanes, row]
//! ```

use std::mem::MaybeUninit;
use std::ops::Range;

use super::buffer::Buffer;
use super::indices::Indices;
use super::strided::Layout;
use super::tile::{NextIndices, Places, Steps, Tile};
use super::walk::{Component, is_far, is_spread};
use crate::index::Policy;
use crate::threshold::threshold;

/// The roles of the axes of a call's three arrays.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Named<'n> {
    /// The number of axes, the first ones, that all arrays have in common.
    pub(crate) batches: usize,
    /// The axes along which indices select.
    pub(crate) selected: &'n Range<usize>,
    /// The end of the axes of the indices that are batches and entries.
    pub(crate) entries: usize,
    /// Whether the axes of the indices from `entries` on are lanes, not the numbers of a tuple.
    pub(crate) lanes: bool,
}

/// Dense arrays of few elements, as blocks of axes: see the [module](self).
///
/// Invariant: `selected`, `indices` and `listed` are dense, and the number of elements of each is
/// the product of the lengths of its blocks.
#[derive(Debug)]
pub(super) struct Few<'a> {
    /// Not `Skip`.
    policy: Policy,
    selected: *mut u8,
    indices: &'a Indices<'a>,
    listed: *mut u8,
    batches: usize,
    around: usize,
    lens: &'a [usize],
    entries: usize,
    lanes: usize,
    row: usize,
    /// Sizes of an element of `selected` and of `listed` in bytes.
    sizes: (usize, usize),
}

/// Most entries: with more, the time to choose a loop nest does not matter.
const ENTRIES: usize = threshold(1024, 4);

/// Most bytes of the listed array, for the same reason.
const BYTES: usize = threshold(16 << 10, 128);

/// Most numbers of a tuple: more are rare.
const NUMBERS: usize = 4;

/// The address of an array's first element, and its layout.
type Array<'a> = (*mut u8, &'a Layout<'a>);

impl<'a> Few<'a> {
    /// The arrays of a call, if they are dense, there are few entries and bytes, and every index
    /// selects something or is refused (the policy is not `Skip`).
    #[inline(always)]
    pub(super) fn of(
        policy: Policy,
        named: Named<'_>,
        (selected, data): Array<'a>,
        indices: &'a Indices<'a>,
        (listed, list): Array<'a>,
    ) -> Option<Self> {
        let lens = data.shape().get(named.selected.clone())?;
        let listed_bytes = list.dense_bytes()?;
        let (size, listed_size) = (data.size(), list.size());
        let few = (1..=BYTES).contains(&listed_bytes);
        if policy == Policy::Skip || !few || !(1..=NUMBERS).contains(&lens.len()) {
            return None;
        }
        let Range { start, end } = *named.selected;
        let [batches, around, positions, row] = data.blocks([named.batches, start, end])?;
        let [index_batches, entries, rest, _] =
            indices.layout().blocks([named.batches, named.entries, usize::MAX])?;
        let (numbers, lanes, row) = if named.lanes { (1, row, 1) } else { (rest, 1, row) };
        if index_batches != batches || lens.len() != numbers || (named.lanes && rest != lanes) {
            return None;
        }
        let count = batches * entries * lanes;
        let elements = (around * row).checked_mul(count)?;
        let whole = positions > 0 && elements.checked_mul(listed_size) == Some(listed_bytes);
        // An iteration of a tile's outer loop takes longer than one over its entries.
        let slow = (batches > 1 && around > 1) || around > 4 * count;
        if !whole || count > ENTRIES || slow {
            return None;
        }
        let sizes = (size, listed_size);
        Some(Few {
            policy,
            selected,
            indices,
            listed,
            batches,
            around,
            lens,
            entries,
            lanes,
            row,
            sizes,
        })
    }

    /// Number of contiguous elements of the row that an index selects.
    pub(super) fn row(&self) -> usize {
        self.row
    }

    /// Resolves all indices, then runs a kernel over a tile of all entries. Returns false if an
    /// index is refused, before anything is written.
    ///
    /// # Safety
    /// The kernel was made for elements of these arrays and rows of this length. The arrays may be
    /// read, and nothing else uses the one that the kernel writes.
    #[allow(unsafe_code)]
    #[inline(always)]
    pub(super) unsafe fn run(&self, kernel: impl FnOnce(&Tile<'_>)) -> bool {
        let Few { policy, batches, around, lens, entries, lanes, row, .. } = *self;
        let (selected_size, listed_size) = self.sizes;
        let count = batches * entries * lanes;
        let size = self.indices.size() as isize;
        let mut components = [Component { len: 0, step: 0, at: 0 }; NUMBERS];
        let components = &mut components[..lens.len()];
        // No overflow: no step is more than the bytes of the dense array.
        let mut batch = (lanes * row * selected_size) as isize;
        for (number, (component, &len)) in components.iter_mut().zip(lens).enumerate().rev() {
            *component = Component { len, step: batch, at: number as isize * size };
            batch = batch.wrapping_mul(len as isize);
        }
        let mut slots = [[MaybeUninit::uninit(); ENTRIES]; 2];
        let [offsets, scratch] = &mut slots;
        let (mut offsets, mut scratch) = (Buffer::new(offsets), Buffer::new(scratch));
        let lane = (0, lens.len() as isize * size);
        // SAFETY: the array of indices is dense, and has `count` indices of `lens.len()` numbers
        // each (the invariant).
        let resolved = unsafe {
            let (offsets, scratch) = (&mut offsets, &mut scratch);
            self.indices.resolve_all(lane, count, components, policy, offsets, scratch)
        };
        if resolved.is_none() {
            return false;
        }
        if batches > 1 || lanes > 1 {
            let lane = (row * selected_size) as isize;
            add_bases(offsets.values_mut(), [entries, lanes], [batch, lane]);
        }
        let steps = |len, selected, listed| Steps { len, selected, listed };
        let tile = Tile {
            selected: self.selected,
            listed: self.listed,
            // If the outer loop has several iterations, there is one batch (`of`): then this is the
            // distance from one iteration to the next.
            outer: steps(around, batch, (count * row * listed_size) as isize),
            offsets: offsets.values(),
            places: Places::Every((row * listed_size) as isize),
            inner: steps(row, selected_size as isize, listed_size as isize),
            size: listed_size,
            spread: is_spread(components),
            offset_step: 0,
            long: false,
            all_iterations: around,
            next: NextIndices::NONE,
        };
        if tile.spread && is_far(components, row) {
            tile.prefetch_selected();
        }
        kernel(&tile);
        true
    }
}

/// Adds to the offset of each entry that of its batch and that of its lane. `batch` and `lane` are the
/// distances in bytes from one batch, or lane, to the next.
fn add_bases(offsets: &mut [isize], [entries, lanes]: [usize; 2], [batch, lane]: [isize; 2]) {
    let ramp = |offsets: &mut [isize], first: isize, step: isize| {
        let mut at = first;
        for offset in offsets {
            *offset = offset.wrapping_add(at);
            at = at.wrapping_add(step);
        }
    };
    let batch_len = entries * lanes;
    if batch_len == 1 {
        return ramp(offsets, 0, batch);
    }
    let mut base = 0_isize;
    for offsets in offsets.chunks_exact_mut(batch_len) {
        if lanes == 1 {
            ramp(offsets, base, 0);
        } else {
            offsets.chunks_exact_mut(lanes).for_each(|offsets| ramp(offsets, base, lane));
        }
        base = base.wrapping_add(batch);
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{ArrayD, array};

    use super::*;
    use crate::memory::copy::Transfer;

    /// An index of `[1, 2]` selects along the second of two axes of `[2, 3]`.
    const SELECTED: Range<usize> = 1..2;
    const NAMED: Named<'_> = Named { batches: 0, selected: &SELECTED, entries: 1, lanes: false };

    fn gathered(named: Named<'_>, policy: Policy) -> Option<[[i32; 2]; 2]> {
        let (data, indices) = (array![[1, 2, 3], [4, 5, 6]], array![2_i64, -3]);
        let mut out = array![[0, 0], [0, 0]];
        let transfer = Transfer::over(&data, None, &mut out);
        transfer.gather_few(&Indices::of(&indices), policy, named)??;
        Some([[out[[0, 0]], out[[0, 1]]], [out[[1, 0]], out[[1, 1]]]])
    }

    #[test]
    fn axes_that_do_not_fit_the_arrays_are_refused() {
        assert_eq!(gathered(NAMED, Policy::Refuse), Some([[3, 1], [6, 4]]));
        let others = [
            Named { batches: 1, ..NAMED },
            Named { batches: usize::MAX, ..NAMED },
            Named { entries: 0, ..NAMED },
            Named { entries: 0, lanes: true, ..NAMED },
            Named { selected: &(0..1), ..NAMED },
            Named { selected: &(0..2), ..NAMED },
            Named { selected: &(1..1), ..NAMED },
            Named { selected: &(2..3), ..NAMED },
            Named { selected: &(0..2), entries: 0, ..NAMED },
        ];
        for named in others {
            assert_eq!(gathered(named, Policy::Refuse), None, "{named:?}");
        }
    }

    /// Whether the arrays of these shapes are taken for few elements.
    fn takes(named: Named<'_>, [data, indices, out]: [&[usize]; 3]) -> bool {
        let (data, indices) = (ArrayD::<i32>::zeros(data), ArrayD::<i64>::zeros(indices));
        let mut out = ArrayD::zeros(out);
        let transfer = Transfer::over(&data, None, &mut out);
        transfer.gather_few(&Indices::of(&indices), Policy::Refuse, named).is_some()
    }

    /// Each of what must agree, alone: all other lengths, and the number of elements, are right.
    #[test]
    fn batches_numbers_and_lanes_agree() {
        let tuples = Named { batches: 0, selected: &(0..2), entries: 1, lanes: false };
        assert!(takes(tuples, [&[2, 3], &[2, 2], &[2]]));
        assert!(!takes(tuples, [&[2, 3], &[2, 1], &[2]]));
        let batches = Named { batches: 1, selected: &(1..2), entries: 2, lanes: false };
        assert!(takes(batches, [&[2, 3], &[2, 1], &[2, 1]]));
        assert!(!takes(batches, [&[2, 3], &[3, 1], &[2, 1]]));
        let lanes = Named { batches: 0, selected: &(0..1), entries: 1, lanes: true };
        assert!(takes(lanes, [&[3, 2], &[1, 2], &[1, 2]]));
        assert!(!takes(lanes, [&[3, 2], &[1, 3], &[1, 2]]));
    }

    #[test]
    fn what_selects_nothing_is_left_to_a_walk() {
        assert_eq!(gathered(NAMED, Policy::Skip), None);
        assert!(gathered(NAMED, Policy::Wrap).is_some());
    }
}
