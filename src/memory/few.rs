//! Calls of few elements, which take less time than to find out how to walk.
//!
//! Where all three arrays are dense, the axes of a call come to a few blocks, and all
//! its entries to one tile, without loops to sort, to merge and to split:
//!
//! ```text
//! selected [batches, around, lens..,  lanes, row]
//! indices  [batches,         entries, lanes, numbers]
//! listed   [batches, around, entries, lanes, row]
//! ```

use std::mem::MaybeUninit;

use super::buffer::Buffer;
use super::indices::{Along, Indices};
use super::strided::Layout;
use super::tile::{Next, Places, Steps, Tile};
use super::walk::{Component, Components, is_far, is_spread};
use crate::index::Policy;
use crate::threshold::threshold;

/// Lengths of blocks of axes; see the [module](self).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blocks<'a> {
    pub(crate) batches: usize,
    pub(crate) around: usize,
    pub(crate) along: Along<'a>,
    pub(crate) entries: usize,
    pub(crate) lanes: usize,
    pub(crate) row: usize,
}

/// More entries than that are much work beside finding out how to walk.
const ENTRIES: usize = threshold(1024, 4);

/// And more bytes.
const BYTES: usize = threshold(16 << 10, 128);

/// What is known of the three arrays of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrays<'a> {
    pub(super) selected: (*mut u8, Layout<'a>),
    pub(super) indices: Indices<'a>,
    pub(super) listed: (*mut u8, Layout<'a>),
}

impl Blocks<'_> {
    /// Whether these are the blocks of dense arrays of few elements.
    #[inline]
    fn are_of(&self, arrays: &Arrays<'_>) -> bool {
        let times = usize::saturating_mul;
        let Blocks { batches, around, along, entries, lanes, row } = *self;
        let (selected, listed) = (arrays.selected.1, arrays.listed.1);
        let count = times(times(batches, entries), lanes);
        let numbers = along.lens.len();
        let written = times(times(around, count), times(row, listed.size()));
        let few = (1..=ENTRIES).contains(&count) && (1..=BYTES).contains(&written);
        let indexed = if along.tuples { numbers >= 1 } else { numbers == 1 };
        if !few || !indexed || (batches > 1 && around > 1) || around > 4 * count {
            return false;
        }
        let slices = times(times(batches, around), times(lanes, times(row, selected.size())));
        let reach = along.lens.iter().fold(slices, |reach, len| times(reach, *len));
        listed.dense_bytes() == Some(written)
            && selected.dense_bytes() == Some(reach)
            && arrays.indices.layout().dense_bytes()
                == Some(times(times(count, numbers), arrays.indices.size()))
    }

    /// The numbers of an index of so many bytes, among elements of so many, and how far what
    /// one of the batches, or of the turns around, selects among is from the next.
    #[inline(always)]
    fn components(&self, element: usize, index: isize) -> (Components, isize) {
        let mut step = (self.lanes * self.row * element) as isize;
        let mut components = Components::new();
        for (number, &len) in self.along.lens.iter().enumerate().rev() {
            components.push(Component { len, step, at: number as isize * index });
            step = step.wrapping_mul(len as isize);
        }
        components.reverse();
        (components, step)
    }

    /// Adds to the offset that each index selects where its batch begins, and its lane: these
    /// are so many bytes apart.
    fn add_bases(&self, offsets: &mut [isize], batch: isize, lane: isize) {
        let ramp = |offsets: &mut [isize], first: isize, step: isize| {
            let mut at = first;
            for offset in offsets {
                *offset = offset.wrapping_add(at);
                at = at.wrapping_add(step);
            }
        };
        let (lanes, each) = (self.lanes, self.entries * self.lanes);
        if each == 1 {
            return ramp(offsets, 0, batch);
        }
        let mut base = 0_isize;
        for offsets in offsets.chunks_exact_mut(each) {
            if lanes == 1 {
                ramp(offsets, base, 0);
            } else {
                offsets.chunks_exact_mut(lanes).for_each(|offsets| ramp(offsets, base, lane));
            }
            base = base.wrapping_add(batch);
        }
    }

    /// Runs kernels with all entries of arrays that these are the blocks of; tells
    /// whether no index was refused, before any of them runs.
    ///
    /// # Safety
    /// The arrays are borrowed, those that the kernels write exclusively, and
    /// `kernel` is made for tiles of their elements with rows of this length.
    #[allow(unsafe_code)]
    pub(super) unsafe fn run(
        &self,
        arrays: &Arrays<'_>,
        policy: Policy,
        kernel: impl FnOnce(&Tile<'_>),
    ) -> Option<bool> {
        let sized = policy != Policy::Skip && Indices::can_map_on(policy, self.along.lens);
        if !sized || !self.are_of(arrays) {
            return None;
        }
        let Blocks { batches, around, entries, lanes, row, .. } = *self;
        let (selected, listed) = (arrays.selected.1.size(), arrays.listed.1.size());
        let mut slots = [[MaybeUninit::uninit(); ENTRIES]; 2];
        let [offsets, others] = &mut slots;
        let (mut offsets, mut others) = (Buffer::new(offsets), Buffer::new(others));
        let count = batches * entries * lanes;
        let size = arrays.indices.size() as isize;
        let (components, batch) = self.components(selected, size);
        let lane = (0, components.len() as isize * size);
        // SAFETY: the indices are dense and have so many numbers (`are_of`).
        let resolved = unsafe {
            let (offsets, others) = (&mut offsets, &mut others);
            arrays.indices.resolve_all(lane, count, &components, policy, offsets, others)
        };
        if resolved.is_none() {
            return Some(false);
        }
        if batches > 1 || lanes > 1 {
            self.add_bases(offsets.values_mut(), batch, (row * selected) as isize);
        }
        let steps = |len, selected, listed| Steps { len, selected, listed };
        let tile = Tile {
            selected: arrays.selected.0,
            listed: arrays.listed.0,
            outer: steps(around, batch, (count * row * listed) as isize),
            offsets: offsets.values(),
            places: Places::Every((row * listed) as isize),
            inner: steps(row, selected as isize, listed as isize),
            size: listed,
            spread: is_spread(&components),
            apart: 0,
            long: false,
            next: Next::NONE,
        };
        if tile.spread && is_far(&components, row) {
            tile.ask_early();
        }
        kernel(&tile);
        Some(true)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::memory::copy::Transfer;

    const BLOCKS: Blocks<'_> = Blocks {
        batches: 1,
        around: 2,
        along: Along { axis: 1, lens: &[3], tuples: false },
        entries: 2,
        lanes: 1,
        row: 1,
    };

    /// What is gathered by blocks that are said to be those of the arrays.
    fn gathered(blocks: &Blocks<'_>, policy: Policy) -> Option<[[i32; 2]; 2]> {
        let (data, indices) = (array![[1, 2, 3], [4, 5, 6]], array![2_i64, -3]);
        let mut out = array![[0, 0], [0, 0]];
        let transfer = Transfer::over(&data, None, &mut out);
        transfer.gather_few(Indices::of(&indices), policy, blocks)??;
        Some([[out[[0, 0]], out[[0, 1]]], [out[[1, 0]], out[[1, 1]]]])
    }

    #[test]
    fn blocks_of_other_arrays_are_refused() {
        assert_eq!(gathered(&BLOCKS, Policy::Refuse), Some([[3, 1], [6, 4]]));
        let lens: &[usize] = &[3, 1];
        let others = [
            Blocks { batches: 2, around: 1, entries: 1, ..BLOCKS },
            Blocks { around: usize::MAX / 2 + 2, ..BLOCKS },
            Blocks { entries: usize::MAX, lanes: usize::MAX, ..BLOCKS },
            Blocks { entries: 1, lanes: 2, ..BLOCKS },
            Blocks { along: Along { axis: 1, lens: &[2], tuples: false }, ..BLOCKS },
            Blocks { along: Along { axis: 1, lens: &[], tuples: true }, ..BLOCKS },
            Blocks { along: Along { axis: 1, lens, tuples: true }, ..BLOCKS },
            Blocks { row: 0, ..BLOCKS },
        ];
        for blocks in others {
            assert_eq!(gathered(&blocks, Policy::Refuse), None, "{blocks:?}");
        }
    }

    #[test]
    fn what_selects_nothing_is_left_to_a_walk() {
        assert_eq!(gathered(&BLOCKS, Policy::Skip), None);
        assert!(gathered(&BLOCKS, Policy::Wrap).is_some());
    }
}
