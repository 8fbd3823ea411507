//! Panels: lanes of a transposed array, packed side by side while indices select among their
//! elements, as matrix products pack panels of their operands.
//!
//! ```text
//! for panel of lanes
//!   buffer[lane, ..] = array[lane, ..]                 each lane contiguous, in the buffer
//!   gather from, or scatter into, the lanes of the buffer
//!   array[lane, ..] = buffer[lane, ..]                 after a scatter
//! ```
//!
//! The elements of a lane of a transposed array lie in a cache line each, which the next lanes share.
//! Many lines, above all lines a power of two apart, of which a cache holds few, do not stay cached
//! until the next lane uses them. A panel uses each line once to pack it and once to copy it back.

use std::ptr;

use super::each_piece;
use crate::memory::cpu::{LINE, of_caches};
use crate::memory::gather::copy_plain;
use crate::memory::indexed::{Cut, Run};
use crate::memory::walk::{
    Component, Components, Loop, Loops, Offsets, Order, STREAMS, Walk, iterations, lines_in_l1,
};
use crate::memory::work::WorkMemory;
use crate::parallel::{self, Cost};
use crate::threshold::threshold;

/// The panels of an array, and a buffer for each part of them that runs at the same time.
///
/// Invariant: the panels have the lanes of all iterations of the walk that they were made from. A
/// buffer has room for the lanes of `whole`, which has at least as many as `last`.
pub(in crate::memory) struct Panels {
    whole: Panel,
    /// The last panel of each iteration of the loops around panels, which may have fewer lanes.
    last: Panel,
    /// The loops over panels, outermost first; the last of them is that over neighbours.
    around: Loops,
    buffers: WorkMemory,
}

/// The loops over the lanes of a panel.
struct Panel {
    /// Over the lanes' elements in the array (selected) and in the buffer (listed).
    pack: Walk,
    /// The same with the buffer as the selected and the array as the listed array.
    unpack: Walk,
    /// Over the indices of these lanes, which select in the buffer.
    select: Walk,
}

/// The loops of a walk over transposed lanes.
struct Transposed<'w> {
    /// Over adjacent elements of the array, each of which begins a lane.
    lanes: &'w Loop,
    /// The loop of which each iteration continues where these of the one before end, if there is one.
    beside: Option<Loop>,
    /// Over the indices of a lane.
    list: &'w Loop,
    /// The axis that these select along.
    axis: &'w Component,
    others: Loops,
}

impl<'w> Transposed<'w> {
    /// `None` unless each element has an index of its own along a single axis, and the lanes of
    /// adjacent elements have contiguous indices, and contiguous listed elements or all the same.
    fn of(walk: &'w Walk, size: usize) -> Option<Self> {
        let [axis] = &walk.components[..] else { return None };
        let step = size as isize;
        let lanes =
            walk.loops.iter().find(|level| !level.entries && level.step.selected == step)?;
        let list = walk.loops.iter().find(|level| level.entries)?;
        let contiguous =
            [0, step].contains(&list.step.listed) && list.step.indices.unsigned_abs() < LINE;
        // Not compared by value: in arrays whose elements overlap, two loops may be equal.
        let is_other = |level: &&Loop| !ptr::eq(*level, lanes) && !ptr::eq(*level, list);
        let others: Loops = walk.loops.iter().filter(is_other).copied().collect();
        let after = step.saturating_mul(lanes.len as isize);
        let beside = others.iter().find(|level| level.step.selected == after).copied();
        let own = walk.loops.iter().all(Loop::reads_indices);
        let one_list = others.iter().all(|level| !level.entries);
        (contiguous && own && one_list).then_some(Transposed { lanes, beside, list, axis, others })
    }

    /// Whether packing takes less time than it saves: the lines of a lane do not stay cached, and
    /// enough elements are selected in them.
    fn pays(&self, size: usize) -> bool {
        /// The number of selected elements for each line of a panel: where lines of lanes do not stay
        /// cached since they are of few sets of L1, and where they are merely many. 37 of 80 `f32` in
        /// 218,344 lanes take 12 to 23 ms packed or not, depending on the indices, 80 of 80 39 and 50 ms.
        const USES: [usize; 2] = [threshold(4, 1), threshold(8, 1)];
        /// Lines of one lane, divided by those that stay in L1.
        const BEYOND_L1: usize = threshold(4, 1);
        let &Transposed { lanes, beside, list, axis, .. } = self;
        let adjacent = lanes.len.saturating_mul(beside.map_or(1, |level| level.len));
        let uses = list.len.saturating_mul(adjacent.min(LINE / size));
        let lines = axis.len.min(list.len);
        let all = axis.len.saturating_mul(axis.step.unsigned_abs());
        let far = axis.len > STREAMS && all >= of_caches(|caches| caches.last / 2, 1 << 10);
        let conflicts = lines >= BEYOND_L1 * lines_in_l1(axis.step.unsigned_abs());
        let least = USES[usize::from(!conflicts)];
        uses >= least.saturating_mul(axis.len) && (conflicts || far)
    }

    /// The number of lanes of a panel, if one of a cache line is small enough to stay cached: of
    /// iterations of `beside`, each with all of `lanes`, or of `lanes`.
    fn width(&self, size: usize) -> Option<[usize; 2]> {
        /// The most bytes of adjacent elements.
        const WIDEST: usize = threshold(512, 16);
        let most = of_caches(|caches| caches.last / 4, 4 << 10);
        let most = most / self.axis.len.max(1);
        let width = (most >= threshold(LINE, 4)).then(|| (most.min(WIDEST) / size).max(1))?;
        let beside = self.beside.map_or(1, |level| (width / self.lanes.len).clamp(1, level.len));
        Some([beside, width.min(self.lanes.len)])
    }

    /// The loops over a panel of so many lanes, which lie `stride` bytes apart in the buffer.
    fn panel(&self, [beside, lanes]: [usize; 2], stride: usize, size: usize) -> Panel {
        let (step, stride) = (size as isize, stride as isize);
        let copies = |back: bool| {
            let level = |len, array, buffer| {
                let (selected, listed) = if back { (buffer, array) } else { (array, buffer) };
                Loop { len, step: Offsets { selected, indices: 0, listed }, entries: false }
            };
            let lanes = level(beside * lanes, step, stride);
            let loops = [lanes, level(self.axis.len, self.axis.step, step)];
            Walk::new(loops.into_iter().collect(), Components::new(), Order::Listed(size))
        };
        let packed = |level: &Loop, len, selected| Loop {
            len,
            step: Offsets { selected, ..level.step },
            ..*level
        };
        let beside = self
            .beside
            .filter(|_| beside > 1)
            .map(|level| packed(&level, beside, stride.wrapping_mul(lanes as isize)));
        let lanes = packed(self.lanes, lanes, stride);
        let axis = Component { step, ..*self.axis };
        let loops = beside.into_iter().chain([lanes, *self.list]).collect();
        let select = Walk::in_order(loops, [axis].into_iter().collect());
        Panel { pack: copies(false), unpack: copies(true), select }
    }
}

impl Panels {
    /// The panels of a walk, not yet ordered, over elements of `size` bytes that are plain; `None`
    /// if packing does not pay, or if memory for buffers is refused.
    pub(super) fn of(walk: &Walk, size: usize) -> Option<Self> {
        /// The largest elements that [plain types](crate::memory::copy::Way::Bytes) have.
        const LARGEST: usize = 16;
        if !(1..=LARGEST).contains(&size) {
            return None;
        }
        let loops = Transposed::of(walk, size).filter(|loops| loops.pays(size))?;
        let Transposed { lanes, axis, .. } = loops;
        let width = loops.width(size)?;
        // The loop of which each panel has some iterations.
        let (divided, at) = match loops.beside {
            Some(beside) if width[0] > 1 => (beside, 0),
            _ => (*lanes, 1),
        };
        let neighbours = divided.len.div_ceil(width[at]);
        let mut last = width;
        last[at] = divided.len - (neighbours - 1) * width[at];
        let mut around = loops.others.clone();
        if let (0, Some(place)) = (at, around.iter().position(|level| *level == divided)) {
            around.remove(place);
        }
        let step = Offsets::ZERO.after(width[at], divided.step);
        around.push(Loop { len: neighbours, step, entries: false });
        let packed = axis.len.saturating_mul(lanes.len * iterations(&loops.others));
        let cost = Cost::of_near(iterations(&walk.loops)).plus(Cost::of_apart(packed).times(2));
        let parts = parallel::parts_at_once(cost).min(iterations(&around));
        // An odd number of cache lines: lanes a power of two apart would share sets of the caches.
        let lane = ((axis.len * size).div_ceil(LINE) | 1) * LINE;
        let buffers = WorkMemory::new(parts, lane * width[0] * width[1] + LINE).ok()?;
        let [whole, last] = [width, last].map(|lanes| loops.panel(lanes, lane, size));
        Some(Panels { whole, last, around, buffers })
    }

    /// Runs the walk that these panels were made from, panel by panel; `writes` is whether the kernel
    /// writes the selected array.
    ///
    /// # Safety
    /// The invariant of [`Run`] holds for `run`, whose walk is that from which the panels were made
    /// for elements of this size, which are [plain](crate::memory::copy::Way::Bytes). If the kernel
    /// writes the selected array, that is borrowed exclusively, otherwise the listed array is.
    #[allow(unsafe_code)]
    pub(super) unsafe fn run(&self, run: &Run<'_>, writes: bool) {
        let neighbours = self.around.last().map_or(1, |level| level.len);
        let units = iterations(&self.around);
        each_piece(run, &self.around, units, &self.buffers, |number, at, buffer, _: &mut ()| {
            let last = (number + 1).is_multiple_of(neighbours);
            let panel = if last { &self.last } else { &self.whole };
            // SAFETY: the caller's promise. The buffer has room for the lanes of the panel (invariant)
            // and is this part's alone, and no two panels have a lane in common.
            unsafe { panel.run(run, buffer, at, writes) };
        });
    }
}

impl Panel {
    /// Runs the panel whose first lane, and whose first index and listed element, are at these
    /// offsets.
    ///
    /// # Safety
    /// That of [`Panels::run`]; `buffer` can be written and read where the lanes are in it.
    #[allow(unsafe_code)]
    unsafe fn run(&self, run: &Run<'_>, buffer: *mut u8, at: Offsets, writes: bool) {
        let array = run.selected.wrapping_offset(at.selected);
        let mut select = self.select.clone();
        select.base.indices = at.indices;
        let listed = run.listed.wrapping_offset(at.listed);
        let packed = Run { walk: &select, selected: buffer, listed, ..*run };
        // SAFETY: the loops are those of the run over these lanes, and in the buffer over as many
        // elements, each of which has been packed when it is used.
        unsafe {
            copy_plain(&self.pack, run.size, array, buffer, 1);
            packed.run(Cut::NONE);
            if writes && !run.refusal.is_set() {
                copy_plain(&self.unpack, run.size, buffer, array, 1);
            }
        }
    }
}
