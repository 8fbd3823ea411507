//! Gathers and scatters of few elements, which take less time than choosing a loop nest would.
//!
//! The axes of most arrays and views collapse to a few evenly spaced blocks, and all entries to one tile,
//! without loops to sort, merge and split:
//!
//! ```text
//! selected [batches, around, lens..,  lanes, row]
//! indices  [batches,         entries, lanes, numbers]
//! listed   [batches, around, entries, lanes, row]
//! ```
//!
//! The rows of a window have gaps. With nothing else around the entries, the first axis of the rows is around them:
//!
//! ```text
//! selected [batches, lens..,  around, row]
//! indices  [batches, entries, numbers]
//! listed   [batches, entries, around, row]
//! ```

use std::mem::MaybeUninit;
use std::ops::Range;

use super::buffer::Buffer;
use super::indices::Indices;
use super::refused::Refused;
use super::strided::{Block, Layout};
use super::tile::{Places, Steps, Tile};
use super::walk::{Component, Loop, Offsets, is_far, is_spread};
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

/// Arrays of few elements, as blocks of axes: see the [module](self).
///
/// Invariant: each block is evenly spaced along the arrays' own axes, of the listed array all of its axes;
/// of a block of the data, indices may select in the first elements only.
#[derive(Debug)]
pub(super) struct Few<'a> {
    policy: Policy,
    selected: *mut u8,
    data: &'a Layout<'a>,
    /// The axes of the data along which indices select.
    along: &'a Range<usize>,
    indices: &'a Indices<'a>,
    listed: *mut u8,
    batches: Block,
    entries: usize,
    /// The lanes, or the iterations that one index serves.
    lanes: Block,
    /// The distance in bytes from each index to the next: 0 if there is one, for all lanes.
    index_step: isize,
    /// The distance in bytes from each number of a tuple to the next.
    number_step: isize,
    /// The distance in bytes from each entry to the next in the listed array.
    place_step: isize,
    around: Steps,
    row: Steps,
    /// The size of a listed element in bytes.
    size: usize,
}

/// Most entries: with more, the time to choose a loop nest does not matter.
pub(super) const ENTRIES: usize = threshold(1024, 4);

/// Most bytes of the listed array, for the same reason.
const BYTES: usize = threshold(16 << 10, 128);

/// Most numbers of a tuple: more are rare.
const NUMBERS: usize = 4;

/// The address of an array's first element, and its layout.
type Array<'a> = (*mut u8, &'a Layout<'a>);

/// Whether the indices have no position along these axes that the data have not. Only the first of the axes
/// may be shorter: then the indices have some of the elements of the same block.
#[inline(always)]
fn covers(data: &Layout<'_>, indices: &Layout<'_>, axes: Range<usize>) -> bool {
    if axes.is_empty() {
        return true;
    }
    match (data.shape().get(axes.clone()), indices.shape().get(axes)) {
        (Some([longest, data @ ..]), Some([first, indices @ ..])) => {
            // Length by length, as in `Layout::is_shaped_like`.
            first <= longest && data.iter().eq(indices)
        }
        _ => false,
    }
}

/// The blocks of a call's three arrays; of two arrays, the data or the indices come before the listed array.
struct CallBlocks {
    data_batches: Block,
    batches: [Block; 2],
    around: [Block; 2],
    entries: [Block; 2],
    /// The lanes of the indices.
    lane: Block,
    lanes: [Block; 2],
    numbers: Block,
    row: [Block; 2],
}

impl CallBlocks {
    /// The blocks, if all axes collapse to them and the arrays agree about their lengths.
    #[inline(always)]
    fn of(
        named: Named<'_>,
        data: &Layout<'_>,
        index: &Layout<'_>,
        list: &Layout<'_>,
    ) -> Option<Self> {
        let Range { start, end } = *named.selected;
        let before = named.batches;
        let behind = start.checked_add(named.entries.checked_sub(before)?)?;
        let [rank, index_rank, list_rank] = [data, index, list].map(|array| array.shape().len());
        let [list_batches, list_around, list_entries, list_inner] =
            list.blocks([before, start, behind, list_rank])?;
        let [index_batches, index_entries, rest] =
            index.blocks([before, named.entries, index_rank])?;
        let [data_batches, data_around, _, data_inner] = data.blocks([before, start, end, rank])?;
        let (inner, one) = ([data_inner, list_inner], [Block::ONE; 2]);
        let (numbers, lane, lanes, row) = match named.lanes {
            true => (Block::ONE, rest, inner, one),
            false => (rest, Block::ONE, one, inner),
        };
        let around = [data_around, list_around];
        let batches = [index_batches, list_batches];
        let entries = [index_entries, list_entries];
        let fit = !named.lanes
            || ([named.entries, index_rank] == [end, rank] && covers(data, index, end..rank));
        let blocks =
            CallBlocks { data_batches, batches, around, entries, lane, lanes, numbers, row };
        (blocks.agree(named, data, index) && fit).then_some(blocks)
    }

    /// Whether the arrays agree about the lengths of these blocks, but for lanes of the data.
    #[inline(always)]
    fn agree(&self, named: Named<'_>, data: &Layout<'_>, index: &Layout<'_>) -> bool {
        let same = |[a, b]: [Block; 2]| a.len == b.len;
        same(self.around)
            && same(self.batches)
            && same(self.entries)
            && same(self.row)
            && self.lane.len == self.lanes[1].len
            && self.numbers.len == named.selected.len()
            && covers(data, index, 0..named.batches)
    }

    /// The same where nothing is around the entries, but the rows that indices select have gaps, as in a window of
    /// a volume: their first axis is around the entries. 3 slices of 3 x 3 500 -> 120 ns, summed 620 -> 180.
    #[inline(never)]
    fn of_windows(
        named: Named<'_>,
        data: &Layout<'_>,
        index: &Layout<'_>,
        list: &Layout<'_>,
    ) -> Option<Self> {
        let Range { start, end } = *named.selected;
        let before = named.batches;
        if named.lanes || start != before || named.entries < before {
            return None;
        }
        let [rank, index_rank, list_rank] = [data, index, list].map(|array| array.shape().len());
        let behind = named.entries;
        let [list_batches, list_entries, list_around, list_row] =
            list.blocks([before, behind, behind.checked_add(1)?, list_rank])?;
        let [index_batches, index_entries, numbers] = index.blocks([before, behind, index_rank])?;
        let [data_batches, _, data_around, data_row] =
            data.blocks([before, end, end.checked_add(1)?, rank])?;
        let blocks = CallBlocks {
            data_batches,
            batches: [index_batches, list_batches],
            around: [data_around, list_around],
            entries: [index_entries, list_entries],
            lane: Block::ONE,
            lanes: [Block::ONE; 2],
            numbers,
            row: [data_row, list_row],
        };
        blocks.agree(named, data, index).then_some(blocks)
    }
}

impl<'a> Few<'a> {
    /// The arrays of a call, if they are such blocks, and there are few entries and bytes.
    #[inline(always)]
    pub(super) fn of(
        policy: Policy,
        named: Named<'a>,
        (selected, data): Array<'a>,
        indices: &'a Indices<'a>,
        (listed, list): Array<'a>,
    ) -> Option<Self> {
        let index = indices.layout();
        if [data, index, list].iter().all(|array| array.shape().len() == 1) {
            return Self::of_lines(policy, named, (selected, data), indices, (listed, list));
        }
        let lens = data.shape().get(named.selected.clone())?;
        let CallBlocks { data_batches, batches, around, entries, lane, lanes, numbers, row } =
            CallBlocks::of(named, data, index, list)
                .or_else(|| CallBlocks::of_windows(named, data, index, list))?;
        let count = batches[0].len * entries[0].len * lane.len;
        let elements = (around[1].len * row[1].len).checked_mul(count)?;
        let few = (1..=BYTES).contains(&elements.checked_mul(list.size())?) && count <= ENTRIES;
        // Single elements are a row of the loop around them if it is longer than the list: an iteration of
        // a tile's outer loop takes longer than one over entries.
        let across = row[1].len == 1 && around[1].len > count;
        let (around, row) = if across { ([Block::ONE; 2], around) } else { (around, row) };
        let alone = count == 1 && around[1].len <= ENTRIES;
        let slow = around[1].len > 1 && !alone && (batches[1].len > 1 || around[1].len > 4 * count);
        if !few || slow || lens.contains(&0) || lens.len() > NUMBERS {
            return None;
        }
        let all = lane.within(entries[0])?.within(batches[0])?;
        let places = lanes[1].within(entries[1])?.within(batches[1])?;
        let step =
            |block: Block, size: usize| if block.len == 1 { size as isize } else { block.step };
        let steps = |[selected, listed]: [Block; 2]| Steps {
            len: listed.len,
            selected: step(selected, data.size()),
            listed: step(listed, list.size()),
        };
        if alone && around[1].len > 1 {
            // For the same reason a single index is taken for as many as there are iterations around it.
            let single = Self::single(policy, named, (selected, data), indices, (listed, list));
            return Some(single.repeated(numbers.step, around, steps(row)));
        }
        Some(Few {
            batches: Block { len: batches[0].len, ..data_batches },
            entries: entries[0].len,
            lanes: Block { len: lane.len, ..lanes[0] },
            index_step: all.step,
            number_step: numbers.step,
            place_step: places.step,
            around: steps(around),
            row: steps(row),
            ..Self::single(policy, named, (selected, data), indices, (listed, list))
        })
    }

    /// A single element, and nothing around it.
    #[inline(always)]
    fn single(
        policy: Policy,
        named: Named<'a>,
        (selected, data): Array<'a>,
        indices: &'a Indices<'a>,
        (listed, list): Array<'a>,
    ) -> Self {
        let one = Steps { len: 1, selected: data.size() as isize, listed: list.size() as isize };
        Few {
            policy,
            selected,
            data,
            along: named.selected,
            indices,
            listed,
            batches: Block::ONE,
            entries: 1,
            lanes: Block::ONE,
            index_step: 0,
            number_step: 0,
            place_step: 0,
            around: one,
            row: one,
            size: list.size(),
        }
    }

    /// These, whose one index serves all iterations `around` it: one of 512 rows of 64 `f32` in each of 8 blocks
    /// 400 -> 150 ns.
    #[inline(never)]
    fn repeated(self, number_step: isize, around: [Block; 2], row: Steps) -> Self {
        Few { lanes: around[0], number_step, place_step: around[1].step, row, ..self }
    }

    /// The same for arrays of one axis each: entries of one element, and no other blocks.
    #[inline(always)]
    fn of_lines(
        policy: Policy,
        named: Named<'a>,
        (selected, data): Array<'a>,
        indices: &'a Indices<'a>,
        (listed, list): Array<'a>,
    ) -> Option<Self> {
        let index = indices.layout();
        let [[line], [entries], [places]] =
            [data.blocks([1])?, index.blocks([1])?, list.blocks([1])?];
        let fit = (named.batches, named.entries) == (0, 1)
            && *named.selected == (0..1)
            && places.len == entries.len;
        let few = (1..=ENTRIES).contains(&entries.len)
            && entries
                .len
                .checked_mul(list.size())
                .is_some_and(|bytes| (1..=BYTES).contains(&bytes));
        if !fit || !few || line.len == 0 {
            return None;
        }
        Some(Few {
            entries: entries.len,
            index_step: entries.step,
            place_step: places.step,
            ..Self::single(policy, named, (selected, data), indices, (listed, list))
        })
    }

    /// The loop over the row that an index selects.
    pub(super) fn row(&self) -> Loop {
        let Steps { len, selected, listed } = self.row;
        Loop { len, step: Offsets { selected, indices: 0, listed }, entries: false }
    }

    /// The number of entries of all batches and lanes, each with an index, or the only one.
    pub(super) fn count(&self) -> usize {
        self.batches.len * self.entries * self.lanes.len
    }

    /// The selected array, if its elements are evenly spaced, and the size of one.
    pub(super) fn target(&self) -> Option<(*mut u8, Block, usize)> {
        let size = self.data.size();
        let [all] = self.data.blocks([self.data.shape().len()])?;
        let step = if all.len == 1 { size as isize } else { all.step };
        Some((self.selected, Block { step, ..all }, size))
    }

    /// Resolves all indices, then runs a kernel over a tile of all entries. Runs nothing if an index is refused;
    /// returns `None` if one selects nothing.
    ///
    /// # Safety
    /// The kernel was made for elements of these arrays and rows of these steps. The arrays may be
    /// read, and nothing else uses the one that the kernel writes.
    #[allow(unsafe_code)]
    #[inline(always)]
    pub(super) unsafe fn run(&self, kernel: impl FnOnce(&Tile<'_>)) -> Option<Result<(), Refused>> {
        // SAFETY: the caller's promise.
        unsafe { self.run_over(self.selected, |step| step, kernel) }
    }

    /// The same over another array in place of the selected one, which begins at `selected`, and where a
    /// step of the selected array becomes `scale(step)`.
    ///
    /// # Safety
    /// That of [`run`](Self::run), for this array.
    #[allow(unsafe_code)]
    #[inline(always)]
    pub(super) unsafe fn run_over(
        &self,
        selected: *mut u8,
        scale: impl Fn(isize) -> isize,
        kernel: impl FnOnce(&Tile<'_>),
    ) -> Option<Result<(), Refused>> {
        let Few { policy, data, along, batches, entries, lanes, row, .. } = *self;
        let mut components = [Component { len: 0, step: 0, at: 0 }; NUMBERS];
        let components = &mut components[..along.len()];
        for (number, (component, axis)) in components.iter_mut().zip(along.clone()).enumerate() {
            let at = self.number_step.wrapping_mul(number as isize);
            *component = Component { len: data.shape()[axis], step: scale(data.stride(axis)), at };
        }
        let mut slots = [[MaybeUninit::uninit(); ENTRIES]; 2];
        let [offsets, scratch] = &mut slots;
        let (mut offsets, mut scratch) = (Buffer::new(offsets), Buffer::new(scratch));
        // SAFETY: so many indices, with `components.len()` numbers each, are evenly spaced in their array
        // (the invariant), or one is read so many times.
        let resolved = unsafe {
            let (lane, offsets, scratch) = ((0, self.index_step), &mut offsets, &mut scratch);
            self.indices.resolve_all(lane, self.count(), components, policy, offsets, scratch)
        };
        match resolved {
            Ok(false) => {}
            Ok(true) => return None,
            Err(Refused) => return Some(Err(Refused)),
        }
        if batches.len > 1 || lanes.len > 1 {
            let steps = [scale(batches.step), scale(lanes.step)];
            add_bases(offsets.values_mut(), [entries, lanes.len], steps);
        }
        let scaled = |steps: Steps| Steps { selected: scale(steps.selected), ..steps };
        let entries = (offsets.values(), Places::Every(self.place_step));
        let tile = Tile {
            outer: scaled(self.around),
            spread: is_spread(components),
            all_iterations: self.around.len,
            ..Tile::of_entries((selected, self.listed), entries, scaled(row), self.size)
        };
        if tile.spread && is_far(components, row.len) {
            tile.prefetch_selected();
        }
        kernel(&tile);
        Some(Ok(()))
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
mod tests;
