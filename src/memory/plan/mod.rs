//! Indices that were checked once: positions along axes, kept for many calls.

mod listing;

use std::borrow::Cow;
use std::fmt;
use std::mem::MaybeUninit;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;

use ndarray::{ArrayD, ArrayViewD, Axis, IxDyn};
use smallvec::SmallVec;

pub(super) use listing::Listed;
pub(super) use listing::Listing;

use super::alloc::{expect_large_writes, repeated, reserved};
use super::buffer::{Buffer, Slot};
use super::indices::{Along, CHUNK, Indices, NOWHERE};
use super::walk::{Component, Cursor, Loop, Loops, Offsets, merge};
use crate::error::{Error, Result};
use crate::index::Policy;
use crate::parallel::{self, Cost};
use crate::sync::{AtomicBool, Mutex};

/// Positions that indices select along axes of known lengths.
///
/// They have the shape of the indices, but for axes along which these repeat,
/// where there is one of them. The order by target and the counts are made when
/// they are first asked for.
#[derive(Debug)]
pub(crate) struct Positions {
    numbers: Numbers,
    /// The shape of the indices.
    shape: SmallVec<[usize; 4]>,
    lens: Lens,
    policy: Policy,
    gaps: bool,
    listing: OnceLock<Option<Listing>>,
    counts: OnceLock<Vec<u32>>,
}

/// In 32 bits where they fit. An index that selects nothing is the greatest
/// number, which no axis has a place for.
#[derive(Debug)]
enum Numbers {
    Short(ArrayD<u32>),
    Long(ArrayD<usize>),
}

/// The lengths of the axes that numbers select along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lens {
    /// Each number along an axis of this length.
    One(usize),
    /// The numbers of a tuple along axes of these lengths.
    Each(SmallVec<[usize; 4]>),
}

/// A number that holds a position.
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
    /// Checks indices under a policy.
    pub(crate) fn new(indices: Indices<'_>, lens: Lens, policy: Policy) -> Result<Self> {
        let tuples = matches!(lens, Lens::Each(_));
        let rank = indices.shape().len();
        let (axes, each) = match &lens {
            Lens::One(len) => (rank, std::slice::from_ref(len)),
            Lens::Each(lens) => (rank - 1, &lens[..]),
        };
        for (axis, &len) in each.iter().enumerate() {
            if isize::try_from(len).is_err() {
                return Err(Error::AxisTooLong { axis, len });
            }
            policy.on_axis(axis, len, indices.shape())?;
        }
        let shape = indices.shape().into();
        let kept = if tuples { indices } else { indices.without_repeats() };
        let reading = Reading { indices: kept, axes, lens: each, policy };
        let made = if each.iter().all(|&len| u32::try_from(len).is_ok()) {
            reading.positions()?.map(|(array, gaps)| (Numbers::Short(array), gaps))
        } else {
            reading.positions()?.map(|(array, gaps)| (Numbers::Long(array), gaps))
        };
        let Some((numbers, gaps)) = made else {
            return Err(indices.first_outside(Along { axis: 0, lens: each, tuples }));
        };
        let (listing, counts) = (OnceLock::new(), OnceLock::new());
        Ok(Positions { numbers, shape, lens, policy, gaps, listing, counts })
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    pub(crate) fn lens(&self) -> &Lens {
        &self.lens
    }

    /// Whether the numbers of its indices are along axes of these lengths.
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

    /// The positions in the shape of the indices.
    pub(crate) fn view(&self) -> Viewed<'_> {
        // An array can be viewed in the shape that its indices had.
        let shape = || IxDyn(&self.shape);
        let view = match &self.numbers {
            Numbers::Short(array) => View::Short(array.broadcast(shape()).unwrap_or(array.view())),
            Numbers::Long(array) => View::Long(array.broadcast(shape()).unwrap_or(array.view())),
        };
        Viewed { view, positions: self }
    }

    /// How many targets there are; nothing where 32 bits cannot tell.
    fn space(&self) -> Option<usize> {
        let space = match &self.lens {
            Lens::One(len) => Some(*len),
            Lens::Each(lens) => lens.iter().try_fold(1_usize, |all, len| all.checked_mul(*len)),
        };
        space.filter(|&space| u32::try_from(space).is_ok())
    }

    /// All positions along one axis in row-major order, if there is one for each
    /// index, and none of these selects nothing.
    pub(super) fn all(&self) -> Option<&[u32]> {
        let own = self.stored() == self.shape.iter().product();
        match (&self.numbers, &self.lens) {
            (Numbers::Short(array), Lens::One(_)) if own && !self.gaps => array.as_slice(),
            _ => None,
        }
    }

    /// The target of each stored index in row-major order: its number in
    /// row-major order of the selected axes, or `u32::MAX`.
    fn targets(&self) -> Option<Cow<'_, [u32]>> {
        let Numbers::Short(array) = &self.numbers else { return None };
        u32::try_from(array.len()).ok()?;
        self.space()?;
        let Lens::Each(lens) = &self.lens else { return array.as_slice().map(Cow::Borrowed) };
        let mut targets = repeated(0_u32, array.len() / lens.len().max(1)).ok()?;
        for (&len, numbers) in lens.iter().zip(numbers_of(array)) {
            for (target, &position) in targets.iter_mut().zip(numbers.as_slice()?) {
                let nowhere = *target == u32::MAX || position == u32::MAX;
                let next = target.wrapping_mul(len as u32).wrapping_add(position);
                *target = if nowhere { u32::MAX } else { next };
            }
        }
        Some(Cow::Owned(targets))
    }

    /// The entries in as many shares of targets as there are threads. Nothing
    /// where memory is refused, or an index stands for several updates.
    ///
    /// It is made outside of its cell: a thread that waits for parts of it may be
    /// given another task, which asks for the same listing and would wait for
    /// itself. Tasks that ask at the same time each make one, and one is kept.
    pub(super) fn listing(&self) -> Option<&Listing> {
        if let Some(made) = self.listing.get() {
            return made.as_ref();
        }
        let made = self.made_listing();
        self.listing.get_or_init(|| made).as_ref()
    }

    fn made_listing(&self) -> Option<Listing> {
        let own = self.stored() == self.shape.iter().product();
        let targets = if own { self.targets()? } else { return None };
        Listing::new(&targets, self.space()?, parallel::threads()).ok()
    }

    /// Makes the listing now.
    pub(crate) fn prepare(&self) {
        self.listing();
    }

    /// Names what it is and not the numbers, which may be millions.
    pub(crate) fn describe(&self, f: &mut fmt::DebugStruct<'_, '_>) -> fmt::Result {
        f.field("shape", &self.shape);
        match &self.lens {
            Lens::One(len) => f.field("len", len),
            Lens::Each(lens) => f.field("lens", lens),
        };
        f.field("out_of_bounds", &self.policy.name()).finish_non_exhaustive()
    }

    /// How many numbers are stored.
    fn stored(&self) -> usize {
        match &self.numbers {
            Numbers::Short(array) => array.len(),
            Numbers::Long(array) => array.len(),
        }
    }

    /// How many indices select each target, in row-major order of the selected
    /// axes.
    pub(crate) fn counts(&self) -> Result<&[u32]> {
        let bytes = self.space().map_or(usize::MAX, |space| space.saturating_mul(4));
        if let Some(counts) = self.counts.get() {
            return Ok(counts);
        }
        // Where memory is refused, the next call asks again.
        let made = self.count().ok_or(Error::AllocationFailed { bytes })?;
        Ok(self.counts.get_or_init(|| made))
    }

    fn count(&self) -> Option<Vec<u32>> {
        // Each position stands for as many indices as repeat it.
        let all: usize = self.shape.iter().product();
        u32::try_from(all).ok()?;
        let times = all.checked_div(self.stored()).unwrap_or(0) as u32;
        let mut counts = repeated(0_u32, self.space()?).ok()?;
        for &target in &*self.targets()? {
            if let Some(count) = counts.get_mut(target as usize) {
                *count += times;
            }
        }
        Some(counts)
    }
}

/// The positions of a plan in the shape of its indices.
pub(crate) struct Viewed<'p> {
    view: View<'p>,
    positions: &'p Positions,
}

enum View<'p> {
    Short(ArrayViewD<'p, u32>),
    Long(ArrayViewD<'p, usize>),
}

impl Viewed<'_> {
    pub(crate) fn indices(&self) -> Indices<'_> {
        match &self.view {
            View::Short(array) => Indices::planned(array, self.positions),
            View::Long(array) => Indices::planned(array, self.positions),
        }
    }
}

/// Indices that are being read.
struct Reading<'r> {
    indices: Indices<'r>,
    /// The first so many axes hold indices.
    axes: usize,
    /// The lengths of the axes that the numbers of an index select along.
    lens: &'r [usize],
    policy: Policy,
}

impl Reading<'_> {
    /// The positions, and whether some select nothing; nothing where an index is
    /// refused. Those of the first number of a tuple stand before those of the
    /// next.
    fn positions<P: Position>(&self) -> Result<Option<(ArrayD<P>, bool)>> {
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
        let all = count.checked_mul(self.lens.len());
        let mut positions = fresh(all.ok_or(Error::AllocationFailed { bytes: usize::MAX })?)?;
        let mut gaps = false;
        for (number, (&len, positions)) in
            self.lens.iter().zip(positions.chunks_mut(count.max(1))).enumerate()
        {
            let at = if self.axes < layout.shape().len() { layout.stride(self.axes) } else { 0 };
            let component = Component { len, step: 1, at: at.wrapping_mul(number as isize) };
            match self.number(&loops, component, positions) {
                Some(some) => gaps |= some,
                None => return Ok(None),
            }
        }
        let mut axes: SmallVec<[usize; 4]> = (1..=self.axes).collect();
        axes.push(0);
        let lens = self.axes < layout.shape().len();
        let shape: SmallVec<[usize; 4]> =
            lens.then_some(self.lens.len()).into_iter().chain(shape).collect();
        let refused = |_| Error::AllocationFailed { bytes: usize::MAX };
        let array = ArrayD::from_shape_vec(IxDyn(&shape), positions).map_err(refused)?;
        let array = if lens { array.permuted_axes(IxDyn(&axes)) } else { array };
        Ok(Some((array, gaps)))
    }

    /// Reads one number of each index: whether some select nothing, or nothing
    /// where one is refused.
    fn number<P: Position>(
        &self,
        loops: &Loops,
        component: Component,
        positions: &mut [P],
    ) -> Option<bool> {
        let parts = parallel::parts(Cost::of_near(positions.len()));
        let mut shares: SmallVec<[Mutex<&mut [P]>; 4]> = SmallVec::new();
        let parts = if shares.try_reserve(parts).is_ok() { parts } else { 1 };
        let size = positions.len().div_ceil(parts).max(1);
        shares.extend(positions.chunks_mut(size).map(Mutex::new));
        let (outside, refuse) = (AtomicBool::new(false), self.policy == Policy::Refuse);
        parallel::run(shares.len(), &|part| {
            let Ok(mut share) = shares[part].lock() else { return };
            let mut slots: [Slot; CHUNK] = [MaybeUninit::uninit(); CHUNK];
            let mut offsets = Buffer::new(&mut slots);
            let start = Offsets { indices: component.at, ..Offsets::ZERO };
            let mut cursor = Cursor::new(loops, start, part * size);
            let step = loops.last().map_or(0, |run| run.step.indices);
            let mut done = 0;
            while done < share.len() && !(refuse && outside.load(Relaxed)) {
                let (at, count) = cursor.take((share.len() - done).min(CHUNK));
                let lane = self.indices.lane(at.indices, step);
                offsets.clear();
                // SAFETY: the loops are those of the array's own axes, and
                // `resolve` writes every slot.
                #[allow(unsafe_code)]
                let inside = unsafe {
                    offsets.extend(count, |slots| {
                        self.indices.resolve(lane, &component, self.policy, slots)
                    })
                };
                if !inside {
                    outside.store(true, Relaxed);
                }
                let slots = &mut share[done..done + count];
                for (slot, &offset) in slots.iter_mut().zip(offsets.values()) {
                    *slot = P::of(offset);
                }
                done += count;
            }
        });
        let outside = outside.into_inner();
        (!(outside && refuse)).then_some(outside)
    }
}

/// Room for positions, whose pages are expected to be written.
fn fresh<P: Position>(len: usize) -> Result<Vec<P>> {
    let mut room: Vec<P> = reserved(len)?;
    expect_large_writes(room.as_mut_ptr().cast(), len.saturating_mul(size_of::<P>()));
    room.resize(len, P::default());
    Ok(room)
}

/// The first numbers of all tuples, the second numbers, and so on.
fn numbers_of(tuples: &ArrayD<u32>) -> impl Iterator<Item = ArrayViewD<'_, u32>> {
    let last = Axis(tuples.ndim().saturating_sub(1));
    tuples.axis_iter(last)
}
