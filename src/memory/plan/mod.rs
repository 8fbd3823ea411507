//! What an `IndexPlan` holds: indices that were checked once, as positions along axes.

mod listing;

use std::borrow::Cow;
use std::fmt;
use std::mem::MaybeUninit;
use std::sync::OnceLock;

use ndarray::{ArrayD, ArrayViewD, Axis, IxDyn};
use smallvec::SmallVec;

pub(super) use listing::Listed;
pub(super) use listing::Listing;

use super::alloc::{expect_large_writes, repeated, reserved, to_vec};
use super::buffer::{Buffer, Slot};
use super::copied::Contiguous;
use super::indices::{Along, CHUNK, Indices, NOWHERE, TUPLES};
use super::refused::{Failure, Refusal, Refused};
use super::walk::{Component, Cursor, Loop, Loops, Offsets, merge};
use crate::error::{Error, Result, countable};
use crate::index::Policy;
use crate::parallel::{self, Cost};

/// The positions that indices select along axes of known lengths.
///
/// Of indices of one number, an axis along which they repeat is stored with length 1.
#[derive(Debug)]
pub(crate) struct Positions {
    array: PositionArray,
    /// The shape of the indices.
    shape: SmallVec<[usize; 4]>,
    lens: Lens,
    policy: Policy,
    /// Whether some indices select nothing.
    gaps: bool,
    /// The entries by target, made when first used.
    listing: OnceLock<Listing>,
    /// The number of indices that select each target, made when first used.
    counts: OnceLock<Vec<u32>>,
}

/// An array of positions, of 32 bits where all axes allow. The position of an index that selects
/// nothing is the type's greatest value, which is out of bounds of every axis.
#[derive(Debug)]
enum PositionArray {
    Short(ArrayD<u32>),
    Long(ArrayD<usize>),
}

/// The lengths of the axes that indices select along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lens {
    /// Indices of one number, which select along an axis of this length.
    One(usize),
    /// Tuples of one number for each axis of these lengths.
    Each(SmallVec<[usize; 4]>),
}

impl Lens {
    pub(crate) fn as_slice(&self) -> &[usize] {
        match self {
            Lens::One(len) => std::slice::from_ref(len),
            Lens::Each(lens) => lens,
        }
    }
}

/// The type of a stored position, made from the offset of an index along an axis of step 1.
trait Position: Copy + Default + Send {
    fn of(offset: isize) -> Self;
}

impl Position for u32 {
    #[inline(always)]
    fn of(offset: isize) -> Self {
        if offset == NOWHERE { u32::MAX } else { offset as u32 }
    }
}

impl Position for usize {
    #[inline(always)]
    fn of(offset: isize) -> Self {
        if offset == NOWHERE { usize::MAX } else { offset as usize }
    }
}

impl Positions {
    /// Checks indices under a policy, and stores the positions that they select.
    pub(crate) fn new(indices: Indices<'_>, lens: Lens, policy: Policy) -> Result<Self> {
        let tuples = matches!(lens, Lens::Each(_));
        let rank = indices.shape().len();
        let numbers = tuples.then_some(lens.as_slice().len());
        assert!(!tuples || indices.shape().last().copied() == numbers, "{TUPLES}");
        let (axes, each_len) = (if tuples { rank - 1 } else { rank }, lens.as_slice());
        for (axis, &len) in each_len.iter().enumerate() {
            if isize::try_from(len).is_err() {
                return Err(Error::AxisTooLong { axis, len });
            }
            policy.on_axis(axis, len, indices.shape())?;
        }
        let shape = indices.shape().into();
        let kept = if tuples { indices } else { indices.without_repeats() };
        let reader = Reader { indices: kept, axes, lens: each_len, policy };
        let made = if each_len.iter().all(|&len| u32::try_from(len).is_ok()) {
            reader.positions().map(|(array, gaps)| (PositionArray::Short(array), gaps))
        } else {
            reader.positions().map(|(array, gaps)| (PositionArray::Long(array), gaps))
        };
        let along = Along { axis: 0, lens: each_len };
        let (array, gaps) =
            made.map_err(|failure| failure.error(|| indices.first_outside(along)))?;
        let (listing, counts) = (OnceLock::new(), OnceLock::new());
        Ok(Positions { array, shape, lens, policy, gaps, listing, counts })
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Refuses axes of other lengths than the plan was made for, of which `first` is the first, and a
    /// policy, with its names, that contradicts the plan's own. Returns the policy of a plan that is made
    /// of this one under the other.
    pub(crate) fn check(
        &self,
        (call, name): (Policy, fn(Policy) -> &'static str),
        first: usize,
        lens: &[usize],
    ) -> Result<Policy> {
        // A plan that is not one of tuples has one length for all axes.
        let (own, each) = (self.lens.as_slice(), matches!(self.lens, Lens::Each(_)));
        if each && own.len() != lens.len() {
            return Err(Error::PlanTuples { numbers: lens.len(), lens: to_vec(own)? });
        }
        let mut axes = own.iter().cycle().zip(lens).zip(first..);
        if let Some(((&plan, &len), axis)) = axes.find(|((plan, len), _)| plan != len) {
            return Err(Error::PlanLength { plan, axis, len });
        }
        let plan = self.policy;
        if plan != Policy::Refuse && call != Policy::Refuse && plan != call {
            return Err(Error::PlanOutOfBounds { plan: plan.name(), call: name(call) });
        }
        Ok(if plan == Policy::Refuse { call } else { plan })
    }

    /// Whether the indices select along axes of these lengths.
    pub(super) fn are_along(&self, mut lens: impl Iterator<Item = usize>) -> bool {
        match &self.lens {
            Lens::One(len) => lens.next() == Some(*len) && lens.next().is_none(),
            Lens::Each(own) => lens.eq(own.iter().copied()),
        }
    }

    pub(crate) fn policy(&self) -> Policy {
        self.policy
    }

    /// Whether some indices select nothing.
    pub(crate) fn has_gaps(&self) -> bool {
        self.gaps
    }

    /// The positions, broadcast to the shape of the indices.
    pub(crate) fn view(&self) -> Viewed<'_> {
        const BROADCAST: &str = "the indices have the stored shape but for axes stored once";
        let shape = IxDyn(&self.shape);
        match &self.array {
            PositionArray::Short(array) => {
                Viewed::Short(array.broadcast(shape).expect(BROADCAST), self)
            }
            PositionArray::Long(array) => {
                Viewed::Long(array.broadcast(shape).expect(BROADCAST), self)
            }
        }
    }

    /// The number of targets, the product of the axes' lengths; refused where it does not fit in
    /// 32 bits.
    fn target_count(&self) -> Result<usize> {
        let lens = self.lens.as_slice();
        if lens.contains(&0) {
            return Ok(0);
        }
        let Some(count) = lens.iter().try_fold(1, |count: usize, &len| count.checked_mul(len))
        else {
            // More than a 32-bit target can address.
            return Err(Error::TooMany {
                what: "targets",
                count: usize::MAX,
                most: u32::MAX as usize,
            });
        };
        countable("targets", count, u32::MAX)
    }

    /// The number of indices: a tuple is one.
    fn index_count(&self) -> usize {
        self.shape.iter().product::<usize>() / self.lens.as_slice().len()
    }

    /// The number of indices whose positions are stored.
    fn stored_indices(&self) -> usize {
        self.stored() / self.lens.as_slice().len()
    }

    /// The target of each stored index, in row-major order of the indices: its number in row-major
    /// order of the selected axes; `u32::MAX` where the index selects nothing.
    fn targets(&self) -> Option<Cow<'_, [u32]>> {
        let PositionArray::Short(array) = &self.array else { return None };
        u32::try_from(self.stored_indices()).ok()?;
        self.target_count().ok()?;
        let Lens::Each(lens) = &self.lens else { return array.as_slice().map(Cow::Borrowed) };
        let mut targets = repeated(0_u32, self.stored_indices()).ok()?;
        for (&len, numbers) in lens.iter().zip(numbers_of(array)) {
            for (target, &position) in targets.iter_mut().zip(numbers.as_slice()?) {
                let nowhere = *target == u32::MAX || position == u32::MAX;
                let next = target.wrapping_mul(len as u32).wrapping_add(position);
                *target = if nowhere { u32::MAX } else { next };
            }
        }
        Some(Cow::Owned(targets))
    }

    /// The entries by target, in as many shares of targets as there are threads. `None` where
    /// memory cannot be allocated, indices repeat, or entries or targets do not fit in 32 bits.
    ///
    /// The listing is built outside of `get_or_init`: a thread that waits for the parts of the
    /// build may be handed another task of the pool, which may need the same listing and would
    /// wait for the cell that its own thread is initialising (deadlock). Tasks that run at the
    /// same time may each build a listing, of which one is kept.
    pub(super) fn listing(&self) -> Option<&Listing> {
        if let Some(made) = self.listing.get() {
            return Some(made);
        }
        // A failed allocation is not kept: the next call tries again.
        let made = self.build_listing()?;
        Some(self.listing.get_or_init(|| made))
    }

    fn build_listing(&self) -> Option<Listing> {
        let unrepeated = self.stored() == self.shape.iter().product();
        let targets = if unrepeated { self.targets()? } else { return None };
        Listing::new(&targets, self.target_count().ok()?, parallel::threads()).ok()
    }

    /// Builds the listing now.
    pub(crate) fn prepare(&self) {
        self.listing();
    }

    /// Adds the fields of a plan to its `Debug` output, but not the positions, which may be
    /// millions.
    pub(crate) fn describe(&self, f: &mut fmt::DebugStruct<'_, '_>) -> fmt::Result {
        f.field("shape", &self.shape);
        match &self.lens {
            Lens::One(len) => f.field("len", len),
            Lens::Each(lens) => f.field("lens", lens),
        };
        f.field("out_of_bounds", &self.policy.name()).finish_non_exhaustive()
    }

    /// The number of stored positions.
    fn stored(&self) -> usize {
        match &self.array {
            PositionArray::Short(array) => array.len(),
            PositionArray::Long(array) => array.len(),
        }
    }

    /// The number of indices that select each target, in row-major order of the selected axes.
    pub(crate) fn counts(&self) -> Result<&[u32]> {
        if let Some(counts) = self.counts.get() {
            return Ok(counts);
        }
        // A failed allocation is not kept: the next call tries again.
        let made = self.count()?;
        Ok(self.counts.get_or_init(|| made))
    }

    fn count(&self) -> Result<Vec<u32>> {
        let targets = self.target_count()?;
        let indices = countable("indices", self.index_count(), u32::MAX)?;
        let mut counts = repeated(0_u32, targets)?;
        if targets == 0 {
            return Ok(counts);
        }
        // Each stored position is that of `times` indices.
        let times = indices.checked_div(self.stored_indices()).unwrap_or(0) as u32;
        // All numbers fit in 32 bits, so that only memory can be refused.
        let bytes = self.stored_indices().saturating_mul(size_of::<u32>());
        for &target in &*self.targets().ok_or(Error::AllocationFailed { bytes })? {
            if let Some(count) = counts.get_mut(target as usize) {
                *count += times;
            }
        }
        Ok(counts)
    }
}

/// The positions of a plan, broadcast to the shape of its indices.
pub(crate) enum Viewed<'p> {
    Short(ArrayViewD<'p, u32>, &'p Positions),
    Long(ArrayViewD<'p, usize>, &'p Positions),
}

impl Viewed<'_> {
    pub(crate) fn indices(&self) -> Indices<'_> {
        match self {
            Viewed::Short(array, positions) => Indices::of_plan(array, positions),
            Viewed::Long(array, positions) => Indices::of_plan(array, positions),
        }
    }
}

/// Reads indices into an array of positions.
struct Reader<'r> {
    indices: Indices<'r>,
    /// The number of axes, the first ones, that are over indices and not over the numbers of one.
    axes: usize,
    /// The lengths of the axes that the numbers of an index select along.
    lens: &'r [usize],
    policy: Policy,
}

impl Reader<'_> {
    /// The positions, and whether some indices select nothing.
    ///
    /// Positions of tuples are stored number by number: those of all first numbers, then those of
    /// all second numbers, and so on.
    fn positions<P: Position>(&self) -> Result<(ArrayD<P>, bool), Failure> {
        let layout = self.indices.layout();
        let repeats = |axis: usize| self.lens.len() == 1 && layout.stride(axis) == 0;
        let stored = |axis: usize| {
            let len = layout.shape()[axis];
            if repeats(axis) { len.min(1) } else { len }
        };
        let shape: SmallVec<[usize; 4]> = (0..self.axes).map(stored).collect();
        let count: usize = shape.iter().product();
        let mut loops: Loops = (0..self.axes)
            .filter(|&axis| shape[axis] > 1)
            .map(|axis| Loop {
                len: shape[axis],
                step: Offsets { indices: layout.stride(axis), ..Offsets::ZERO },
                entries: true,
            })
            .collect();
        merge(&mut loops);
        let copy = Contiguous::of_transposed(&mut loops, &self.indices, self.lens.len());
        let indices = copy.as_ref().map_or(self.indices, |copy| copy.indices(&self.indices));
        let mut positions = allocate(count.saturating_mul(self.lens.len()))?;
        let mut gaps = false;
        for (number, (&len, positions)) in
            self.lens.iter().zip(positions.chunks_mut(count.max(1))).enumerate()
        {
            let at = if self.axes < layout.shape().len() { layout.stride(self.axes) } else { 0 };
            let component = Component { len, step: 1, at: at.wrapping_mul(number as isize) };
            gaps |= self.number((&indices, &loops), component, positions)?;
        }
        let mut axes: SmallVec<[usize; 4]> = (1..=self.axes).collect();
        axes.push(0);
        let tuples = self.axes < layout.shape().len();
        let shape: SmallVec<[usize; 4]> =
            tuples.then_some(self.lens.len()).into_iter().chain(shape).collect();
        let array = ArrayD::from_shape_vec(IxDyn(&shape), positions);
        let array = array.expect("as many positions as the shape has");
        let array = if tuples { array.permuted_axes(IxDyn(&axes)) } else { array };
        Ok((array, gaps))
    }

    /// Reads one number of each of these indices, over which the loops are. Returns whether some select nothing.
    fn number<P: Position>(
        &self,
        (indices, loops): (&Indices<'_>, &Loops),
        component: Component,
        positions: &mut [P],
    ) -> Result<bool, Refused> {
        let parts = parallel::parts(Cost::of_near(positions.len()));
        let mut shares: SmallVec<[&mut [P]; 4]> = SmallVec::new();
        let parts = if shares.try_reserve(parts).is_ok() { parts } else { 1 };
        let size = positions.len().div_ceil(parts).max(1);
        shares.extend(positions.chunks_mut(size));
        let (outside, refuse) = (Refusal::new(), self.policy == Policy::Refuse);
        parallel::run_each(&mut shares, &|part, share| {
            let mut slots: [Slot; CHUNK] = [MaybeUninit::uninit(); CHUNK];
            let mut offsets = Buffer::new(&mut slots);
            let start = Offsets { indices: component.at, ..Offsets::ZERO };
            let mut cursor = Cursor::new(loops, start, part * size);
            let step = loops.last().map_or(0, |run| run.step.indices);
            let mut done = 0;
            while done < share.len() && !(refuse && outside.is_set()) {
                let (at, count) = cursor.take((share.len() - done).min(CHUNK));
                let lane = indices.lane(at.indices, step);
                offsets.clear();
                // SAFETY: the loops are over axes of the indices' own array, with its strides, or over all of a copy
                // (`positions`), so all indices of the lane are elements of it; `resolve` writes every slot.
                #[allow(unsafe_code)]
                let inside = unsafe {
                    offsets.extend(count, |slots| {
                        indices.resolve(lane, &component, self.policy, slots)
                    })
                };
                if !inside {
                    outside.set();
                }
                let slots = &mut share[done..done + count];
                for (slot, &offset) in slots.iter_mut().zip(offsets.values()) {
                    *slot = P::of(offset);
                }
                done += count;
            }
        });
        let inside = outside.result();
        if refuse { inside.map(|()| false) } else { Ok(inside.is_err()) }
    }
}

/// `len` zeros, in huge pages where they are many.
fn allocate<P: Position>(len: usize) -> Result<Vec<P>> {
    let mut positions: Vec<P> = reserved(len)?;
    expect_large_writes(positions.as_mut_ptr().cast(), len.saturating_mul(size_of::<P>()));
    positions.resize(len, P::default());
    Ok(positions)
}

/// A view of the first numbers of all tuples, one of the second numbers, and so on.
fn numbers_of(tuples: &ArrayD<u32>) -> impl Iterator<Item = ArrayViewD<'_, u32>> {
    let last = Axis(tuples.ndim().saturating_sub(1));
    tuples.axis_iter(last)
}
