//! Indices, or the output of a gather, that lie across the other arrays, packed block by block in the order of these.
//!
//! ```text
//! for block of 32 rows, 256 columns
//!   buffer[i, j] = indices[i, j]                       of indices that lie transposed
//!   gather, or scatter, by the indices in the buffer
//!
//! for block of 32 rows, 256 columns
//!   gather to the buffer                               of an output that lies transposed
//!   output[i, j] = buffer[i, j]
//! ```
//!
//! Where each element has an index of its own, and the indices, or outputs, of a list lie in a cache line each, which
//! the next lists share, a block uses each line once, and kernels read contiguous indices, or write contiguous outputs.

use smallvec::SmallVec;

use super::each_piece;
use crate::memory::cpu::{LINE, of_caches};
use crate::memory::gather::copy_plain;
use crate::memory::indexed::{Cut, Run};
use crate::memory::indices::Indices;
use crate::memory::walk::{Component, Components, Loop, Loops, Offsets, Order, Walk, iterations};
use crate::memory::work::WorkMemory;
use crate::parallel::Cost;
use crate::threshold::threshold;

/// The most indices of a block.
const BLOCK: usize = threshold(8 << 10, 24);

/// The fewest indices that are packed.
pub(in crate::memory) const FEWEST: usize = threshold(4 << 10, 20);

/// The fewest lists that share cache lines, and so many that they share several lines.
const LISTS: [usize; 2] = [threshold(8, 2), threshold(32, 3)];

/// The array that is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Array {
    Indices,
    /// The listed array of a gather.
    Output,
}

impl Array {
    /// The distance in bytes between iterations of a loop in this array.
    fn step(self, level: &Loop) -> usize {
        match self {
            Array::Indices => level.step.indices.unsigned_abs(),
            Array::Output => level.step.listed.unsigned_abs(),
        }
    }

    /// The array whose order the packed one takes.
    fn other(self) -> Self {
        match self {
            Array::Indices => Array::Output,
            Array::Output => Array::Indices,
        }
    }
}

/// A number for each loop of a walk.
type Numbers = SmallVec<[usize; 6]>;

/// The blocks of a walk, and a buffer for each part of them that runs at the same time.
///
/// Invariant: `loops` are those of the walk, of which a block has at most `lens` iterations; a buffer has room
/// for as many elements of the packed array. `around` and `numbers` have all of `loops`, those over entries
/// innermost; of a scatter, none of these is among those whose iterations make the `units`.
pub(in crate::memory) struct Blocks {
    packed: Array,
    /// The loops of the walk, as the other of indices and listed array lies.
    loops: Loops,
    lens: Numbers,
    /// The loops over blocks, outermost first, and the number of each in `loops`.
    around: Loops,
    numbers: Numbers,
    /// The number of iterations of the outermost of these which may run at the same time.
    units: usize,
    order: Order,
    buffers: WorkMemory,
}

/// The loops of a walk as the [other](Array::other) array lies, and the number of that along which this one lies;
/// `None` unless each element has an index of its own, and this array lies across the other arrays, in many lines.
fn across(walk: &Walk, array: Array, order: Order) -> Option<(Loops, usize)> {
    /// The fewest lines of indices that are used in turn: 16 of each of 65,536 lists take 0.8 times as long
    /// in chunks, 32 take 1.5 times as long.
    const LINES: usize = threshold(32, 4);
    let [axis] = &walk.components[..] else { return None };
    let packed = |level: &Loop| array.step(level);
    let other = |level: &Loop| array.other().step(level);
    let selected = |level: &Loop| match level.entries {
        true => axis.step.unsigned_abs(),
        false => level.step.selected.unsigned_abs(),
    };
    let own = walk.loops.iter().all(|level| Array::Indices.step(level) > 0);
    // In a scatter, the order of several loops over entries must not change.
    let one = !order.scatters() || walk.loops.iter().filter(|level| level.entries).count() == 1;
    if !(own && one) {
        return None;
    }
    let mut loops = walk.loops.clone();
    loops.sort_by_key(|level| std::cmp::Reverse(other(level)));
    // A few loops nearer than this one are in its blocks, too.
    let many = |at: &usize| loops[*at].len >= LISTS[0];
    let along = (0..loops.len()).filter(many).min_by_key(|&at| packed(&loops[at]))?;
    let (lists, inside) = loops[along..].split_first()?;
    let far = |level: &Loop| level.entries || selected(level) >= LINE;
    let lies_along =
        |level: &Loop| (level.entries || selected(level) < LINE) && other(level) < LINE;
    let apart = packed(lists) < LINE
        && far(lists)
        && other(lists) >= LINE
        && inside.iter().any(|level| lies_along(level) && packed(level) >= LINE);
    let many = iterations(&loops) >= FEWEST && iterations(inside) >= LINES;
    (apart && many).then_some((loops, along))
}

/// How many lists a block has, at most: so that what it selects among mostly stays in L2.
///
/// A block of lists, each of which selects among elements of its own, has few of these if they lie far
/// apart; one of lists that select along the same columns has few columns if these are long, and many lists.
fn lists(loops: &[Loop], along: usize, axis: &Component) -> usize {
    /// The fewest columns: those of a cache line.
    const COLUMNS: usize = threshold(16, 2);
    let [least, most] = LISTS;
    let selected = |level: &Loop| level.step.selected.unsigned_abs();
    let room = of_caches(|caches| caches.second, 1 << 10);
    if !loops[along].entries {
        return (room / selected(&loops[along]).max(1)).clamp(least, most);
    }
    let column = loops.iter().filter(|level| !level.entries).map(selected).min().unwrap_or(0);
    let columns = room / 2 / axis.len.saturating_mul(column).max(1);
    BLOCK / columns.clamp(COLUMNS, BLOCK / most)
}

/// How many iterations of each loop a block has, at most. Of the loops along which the packed array lies nearer than
/// along that of the lists, it has as many as there is room for.
fn lens(loops: &[Loop], array: Array, along: usize, axis: &Component) -> Numbers {
    let mut lens = Numbers::from_elem(1, loops.len());
    let step = array.step(&loops[along]);
    let nearer = |level: &Loop| array.step(level) < step;
    let (near, rest): (Numbers, Numbers) = (0..loops.len())
        .rev()
        .filter(|&number| number != along)
        .partition(|&number| nearer(&loops[number]));
    let beside = near.iter().map(|&number| loops[number].len).product::<usize>();
    let lists = lists(loops, along, axis) / beside;
    lens[along] = loops[along].len.min(lists.max(LINE.div_ceil(step))).min(BLOCK);
    let mut room = BLOCK / lens[along];
    for number in near.into_iter().chain(rest) {
        lens[number] = loops[number].len.min(room);
        room /= lens[number];
    }
    lens
}

/// Evens out the blocks of each loop, and halves the longest until as many as `parts` can run at once, or until blocks
/// would be short. Returns how many can. Of a scatter, those along entries do not count, since their order stays,
/// and blocks may be shorter: threads had better read the same lines than wait for each other.
fn divide(loops: &[Loop], lens: &mut [usize], parts: usize, order: Order) -> usize {
    let least = if order.scatters() { 2 } else { LISTS[0] };
    loop {
        let mut units = 1;
        for (level, len) in loops.iter().zip(&mut *lens) {
            let blocks = level.len.div_ceil(*len);
            *len = level.len.div_ceil(blocks);
            if !(level.entries && order.scatters()) {
                units *= blocks;
            }
        }
        let shared = loops.iter().zip(&mut *lens).filter(|(level, _)| !level.entries);
        let longest = shared.map(|(_, len)| len).max();
        match longest.filter(|len| units < parts && **len >= 2 * least) {
            Some(len) => *len = len.div_ceil(2),
            None => return units,
        }
    }
}

impl Blocks {
    /// The blocks of a walk, not yet ordered, by these indices, in as many parts as this function says for
    /// their cost; `None` if packing does not pay, or if memory for buffers is refused.
    pub(in crate::memory) fn of(
        walk: &Walk,
        indices: &Indices<'_>,
        order: Order,
        parts: fn(Cost) -> usize,
    ) -> Option<Self> {
        let output = match order {
            Order::Listed(plain) if plain > 0 => Some(plain),
            _ => None,
        };
        let sizes = [(Array::Indices, Some(indices.size())), (Array::Output, output)];
        let (packed, size, (loops, along)) = sizes
            .into_iter()
            .find_map(|(array, size)| Some((array, size?, across(walk, array, order)?)))?;
        let mut lens = lens(&loops, packed, along, &walk.components[0]);
        let parts = parts(Cost::of_near(iterations(&loops)).times(2));
        let units = divide(&loops, &mut lens, parts, order);
        if units < parts / 2 {
            return None;
        }
        // Loops over entries innermost: threads share none of a scatter's, and the blocks that select
        // among the same elements follow each other.
        let mut numbers: Numbers = (0..loops.len()).collect();
        numbers.sort_by_key(|&number| loops[number].entries);
        let around = numbers.iter().map(|&number| {
            let (level, len) = (loops[number], lens[number]);
            let step = Offsets::ZERO.after(len, level.step);
            Loop { len: level.len.div_ceil(len), step, ..level }
        });
        let around: Loops = around.collect();
        let bytes = (lens.iter().product::<usize>() * size).next_multiple_of(LINE);
        let buffers = WorkMemory::new(parts.min(units), bytes).ok()?;
        Some(Blocks { packed, loops, lens, around, numbers, units, order, buffers })
    }

    /// Runs the walk that these blocks were made from, block by block.
    ///
    /// # Safety
    /// The invariant of [`Run`] holds for `run`, whose walk and indices are those from which the blocks
    /// were made, and whose kernel is for single elements, which are plain if the output is packed. If the
    /// kernel writes the selected array, that is borrowed exclusively, otherwise the listed array is.
    #[allow(unsafe_code)]
    pub(in crate::memory) unsafe fn run(&self, run: &Run<'_>) {
        // The last loop's shorter block alternates with the others.
        type Made = [Option<Block>; 2];
        each_piece(
            run,
            &self.around,
            self.units,
            &self.buffers,
            |number, at, buffer, made: &mut Made| {
                let lens = self.lens(number);
                if made[0].as_ref().is_none_or(|block| block.lens != lens) {
                    made.swap(0, 1);
                }
                let block = match made[0].take().filter(|block| block.lens == lens) {
                    Some(same) => made[0].insert(same),
                    None => made[0].insert(self.block(lens, run)),
                };
                // SAFETY: the caller's promise. The buffer has room for what is packed of the block (invariant)
                // and is this part's alone; no two blocks have an iteration in common, and those of several
                // parts of a scatter are of loops that select different elements.
                unsafe { block.run(run, buffer, at) };
            },
        );
    }

    /// How many iterations of each loop the block with this number has.
    fn lens(&self, number: usize) -> Numbers {
        let mut lens = self.lens.clone();
        let mut rest = number;
        for (&number, level) in self.numbers.iter().zip(&self.around).rev() {
            let first = rest % level.len * self.lens[number];
            rest /= level.len;
            lens[number] = lens[number].min(self.loops[number].len - first);
        }
        lens
    }

    /// The loops over a block with so many iterations of each loop.
    fn block(&self, lens: Numbers, run: &Run<'_>) -> Block {
        let size = match self.packed {
            Array::Indices => run.indices.map_or(0, Indices::size),
            Array::Output => run.size,
        };
        let (mut pack, mut select, mut step) = (Loops::new(), Loops::new(), size as isize);
        for (level, &len) in self.loops.iter().zip(&lens).rev().filter(|(_, len)| **len > 1) {
            let Offsets { indices, listed, .. } = level.step;
            let (copied, by_buffer) = match self.packed {
                Array::Indices => ([indices, step], Offsets { indices: step, ..level.step }),
                Array::Output => ([step, listed], Offsets { listed: step, ..level.step }),
            };
            let copied = Offsets { selected: copied[0], indices: 0, listed: copied[1] };
            pack.insert(0, Loop { len, step: copied, entries: false });
            select.insert(0, Loop { len, step: by_buffer, ..*level });
            step *= len as isize;
        }
        let select = Walk::new(select, run.walk.components.clone(), self.order).block_of(run.walk);
        let pack = Walk::new(pack, Components::new(), Order::Listed(size));
        Block { packed: self.packed, pack, select, lens }
    }
}

/// The loops over a block.
struct Block {
    packed: Array,
    lens: Numbers,
    /// Over its indices in their array (selected) and in the buffer (listed); or over its output in the buffer
    /// (selected) and in its array (listed).
    pack: Walk,
    /// Over its elements, by the indices in the buffer, or to the buffer.
    select: Walk,
}

impl Block {
    /// Runs the block that begins at these offsets.
    ///
    /// # Safety
    /// That of [`Blocks::run`]; `buffer` can be written and read where the block's indices or output are in it.
    #[allow(unsafe_code)]
    unsafe fn run(&mut self, run: &Run<'_>, buffer: *mut u8, at: Offsets) {
        // SAFETY: the caller's promise.
        unsafe {
            match self.packed {
                Array::Indices => self.indices_by_buffer(run, buffer, at),
                Array::Output => self.output_by_buffer(run, buffer, at),
            }
        }
    }

    /// Gathers to the buffer, and copies that to the output.
    ///
    /// # Safety
    /// That of [`run`](Self::run).
    #[allow(unsafe_code)]
    unsafe fn output_by_buffer(&mut self, run: &Run<'_>, buffer: *mut u8, at: Offsets) {
        let from = Offsets { listed: 0, ..at };
        self.select.move_by(from);
        // SAFETY: the loops are those of the run over these iterations; in the buffer they are over as
        // many elements, all of which have been written when it is read, unless an index was refused.
        unsafe {
            for walk in self.select.with_rest() {
                Run { walk, listed: buffer, ..*run }.run(Cut::NONE);
            }
            if !run.refusal.is_set() {
                let output = run.listed.wrapping_offset(at.listed);
                copy_plain(&self.pack, run.size, buffer, output, 1);
            }
        }
        self.select.move_by(Offsets::ZERO.before(1, from));
    }

    /// Packs the indices, and gathers or scatters by them.
    ///
    /// # Safety
    /// That of [`run`](Self::run).
    #[allow(unsafe_code)]
    unsafe fn indices_by_buffer(&self, run: &Run<'_>, buffer: *mut u8, at: Offsets) {
        let Some(indices) = run.indices else { return };
        let (size, len) = (indices.size(), [self.lens.iter().product()]);
        let start = indices.start().wrapping_offset(at.indices).cast_mut();
        // SAFETY: the loops are those of the run over these iterations; in the buffer they are over as
        // many indices, each of which has been packed when it is read.
        unsafe {
            copy_plain(&self.pack, size, start, buffer, 1);
            let packed = indices.packed(buffer, &len);
            for walk in self.select.with_rest() {
                let selected = Run {
                    walk,
                    indices: Some(&packed),
                    selected: run.selected.wrapping_offset(at.selected),
                    listed: run.listed.wrapping_offset(at.listed),
                    ..*run
                };
                selected.run(Cut::NONE);
            }
        }
    }
}
