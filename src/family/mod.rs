//! What the operations of the indexed family mean: all checks, and which axes
//! run together.
//!
//! Three kinds of index, each read by a gather and written by a scatter:
//! [`slices`](Plan::slices) along an axis, [`elements`](Plan::elements) along an
//! axis, and [`tuples`](Plan::tuples) of indices.

mod elements;
mod read;
mod slices;
mod tuples;
mod write;

use std::iter;
use std::ops::Range;

use ndarray::Dimension;
use smallvec::{SmallVec, smallvec};

pub(crate) use read::{Reads, fill, read, read_into};
pub(crate) use write::{Writes, fold, write, write_inplace};

use crate::error::{Error, Result};
use crate::index::Policy;
use crate::memory::{Along, Axes, Indices, Lens, Named, Positions};

/// An operation that cannot fail any more, but for its indices.
///
/// Callers use it in the very `Result` that it comes in: what has just been written word by
/// word is not moved, since a load that takes in several stores waits until they are done,
/// which takes as long as all checks of a small call.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    kind: Kind,
    data_rank: usize,
    indices_rank: usize,
    batch_dims: usize,
    /// The axes of the data that the numbers of an index select along.
    selected: Range<usize>,
    policy: Policy,
    /// What a gather returns and a scatter's updates are shaped like: lengths of
    /// the data, then of the indices, then of the data again.
    before: usize,
    entries: Range<usize>,
    behind: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Slices,
    Elements,
    Tuples,
}

impl Plan {
    /// With what a gather does with indices out of bounds; nothing is what none can do.
    #[inline(always)]
    fn reading(
        self,
        policy: Option<Policy>,
        data: &[usize],
        indices: &Indices<'_>,
    ) -> Result<Self> {
        match policy {
            Some(policy) => self.with(policy, data, indices),
            None => Err(Error::SkipInGather),
        }
    }

    /// With a policy for indices out of bounds, which must be able to map them; or with what
    /// was decided where the indices are those of a plan, if they are for these axes.
    #[inline(always)]
    pub(crate) fn with(
        self,
        policy: Policy,
        data: &[usize],
        indices: &Indices<'_>,
    ) -> Result<Self> {
        let Range { start, end } = self.selected;
        if matches!(policy, Policy::Clip | Policy::Wrap) {
            for axis in start..end {
                policy.on_axis(axis, data[axis], indices.shape())?;
            }
        }
        let policy = match indices.positions() {
            Some(positions) => settled(policy, data, start..end, positions)?,
            None => policy,
        };
        Ok(Plan { policy, ..self })
    }

    /// The lengths of what a gather returns and of a scatter's updates.
    fn lengths<'s>(
        &self,
        data: &'s [usize],
        indices: &'s [usize],
    ) -> impl Iterator<Item = &'s usize> + use<'s> {
        let entries = &indices[self.entries.clone()];
        data[..self.before].iter().chain(entries).chain(&data[self.behind..])
    }

    /// The same as a shape, in a dimension type of its rank.
    pub(crate) fn shape<O: Dimension>(&self, data: &[usize], indices: &[usize]) -> O {
        let mut shape = O::zeros(self.before + self.entries.len() + data.len() - self.behind);
        for (slot, &len) in iter::zip(shape.slice_mut(), self.lengths(data, indices)) {
            *slot = len;
        }
        shape
    }

    /// Whether something has the shape of what a gather returns.
    #[inline]
    fn fits(&self, data: &[usize], indices: &[usize], shape: &[usize]) -> bool {
        let parts = [&data[..self.before], &indices[self.entries.clone()], &data[self.behind..]];
        let mut rest = shape.iter();
        parts.iter().all(|part| part.iter().all(|len| rest.next() == Some(len)))
            && rest.as_slice().is_empty()
    }

    /// Refuses updates that have neither the shape of what a gather returns nor
    /// are a single value.
    pub(crate) fn check_updates(
        &self,
        data: &[usize],
        indices: &[usize],
        updates: &[usize],
    ) -> Result<()> {
        if updates.is_empty() || self.fits(data, indices, updates) {
            return Ok(());
        }
        let gather = match self.kind {
            Kind::Slices if self.batch_dims > 0 => "gather_with",
            Kind::Slices => "gather",
            Kind::Elements => "gather_elements",
            Kind::Tuples => "gather_nd",
        };
        let expected = self.lengths(data, indices).copied().collect();
        Err(Error::UpdatesShape { expected, updates: updates.to_vec(), gather })
    }

    /// Refuses an output of another shape.
    fn check_output(&self, data: &[usize], indices: &[usize], out: &[usize]) -> Result<()> {
        if self.fits(data, indices, out) {
            return Ok(());
        }
        let expected = self.lengths(data, indices).copied().collect();
        Err(Error::OutShapeMismatch { expected, actual: out.to_vec() })
    }

    /// The axes that indices select along, of the data's.
    fn along<'s>(&self, data: &'s [usize]) -> Along<'s> {
        let Range { start, end } = self.selected;
        Along { axis: start, lens: &data[start..end], tuples: self.kind == Kind::Tuples }
    }

    /// Refuses indices out of bounds where the policy does.
    fn check_indices(&self, data: &[usize], indices: &Indices<'_>) -> Result<()> {
        match self.policy {
            Policy::Refuse => indices.check(self.along(data)),
            Policy::Skip | Policy::Clip | Policy::Wrap => Ok(()),
        }
    }

    /// The error for the first index out of bounds.
    #[cold]
    fn first_outside(&self, data: &[usize], indices: &Indices<'_>) -> Error {
        indices.first_outside(self.along(data))
    }

    /// Which axes are what, of arrays that may be dense and few.
    fn named(&self) -> Named<'_> {
        let lanes = self.kind == Kind::Elements;
        let Range { start, end } = self.selected;
        let (batches, entries) =
            if lanes { (start, end) } else { (self.batch_dims, self.entries.end) };
        Named { batches, selected: &self.selected, entries, lanes }
    }

    /// Names the axes of the data, of the indices, and of what is gathered or of
    /// the updates.
    fn name(&self, axes: &mut Axes<'_>) {
        match self.kind {
            Kind::Slices => self.name_slices(axes),
            Kind::Elements => self.name_elements(axes),
            Kind::Tuples => self.name_tuples(axes),
        }
    }
}

/// What becomes of indices out of bounds where a plan has decided, if it is one for these axes.
fn settled(
    call: Policy,
    data: &[usize],
    selected: Range<usize>,
    positions: &Positions,
) -> Result<Policy> {
    let numbers = selected.len();
    let lens: SmallVec<[usize; 4]> = match positions.lens() {
        Lens::One(len) => smallvec![*len; numbers],
        Lens::Each(lens) => lens.clone(),
    };
    if lens.len() != numbers {
        return Err(Error::PlanTuples { numbers, lens: lens.to_vec() });
    }
    let mut axes = iter::zip(&lens, selected);
    if let Some((&plan, axis)) = axes.find(|&(plan, axis)| *plan != data[axis]) {
        let len = data[axis];
        return Err(Error::PlanLength { plan, axis, len });
    }
    let plan = positions.policy();
    if plan != Policy::Refuse && call != Policy::Refuse && plan != call {
        return Err(Error::PlanOutOfBounds { plan: plan.name(), call: call.name() });
    }
    Ok(if positions.has_gaps() { Policy::Skip } else { Policy::Refuse })
}

/// A number of batch dimensions counted from the front, where it is at most
/// `most`.
#[inline]
fn batch_dims_of(given: i128, indices_rank: usize, most: usize) -> Option<usize> {
    let from_front = if given < 0 { given + indices_rank as i128 } else { given };
    (0..=most as i128).contains(&from_front).then_some(from_front as usize)
}

/// Refuses data and indices that differ along their batch dimensions.
#[inline(always)]
fn check_batch(batch_dims: usize, data: &[usize], indices: &[usize]) -> Result<()> {
    if batch_dims == 0 || data[..batch_dims] == indices[..batch_dims] {
        return Ok(());
    }
    Err(Error::BatchShapeMismatch { batch_dims, data: data.to_vec(), indices: indices.to_vec() })
}
