//! The semantics of the operations of the indexed family: all checks, and which axes of the
//! arrays one loop iterates over together.
//!
//! There are three kinds of index, each of which a gather reads by and a scatter writes by:
//! [`slices`](Plan::slices) along an axis, [`elements`](Plan::elements) along an axis, and
//! [`tuples`](Plan::tuples) of indices.

mod elements;
mod read;
mod slices;
mod tuples;
mod work_copy;
mod write;

use std::iter;
use std::ops::Range;

use ndarray::Dimension;

pub(crate) use read::{Reads, fill, read, read_into, transferred};
pub(crate) use write::{Writes, fold, write, write_inplace};

use crate::error::{Error, Result};
use crate::index::Policy;
use crate::memory::{Along, Axes, Indices, Named};

/// A checked operation: it can fail only by an index out of bounds, or for lack of memory.
///
/// Callers borrow it in the `Result` that it is returned in and do not move it out: the wide loads
/// of a move would span several stores that have just been made, and wait for these
/// (store-to-load forwarding fails), which takes as long as all checks of a small call.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    kind: Kind,
    data_rank: usize,
    batch_dims: usize,
    /// The axes of the data that the numbers of an index select along.
    selected: Range<usize>,
    policy: Policy,
    /// The shape of a gather's output and of a scatter's updates is
    /// `data[..before] ++ indices[entries] ++ data[behind..]`, in lengths of axes.
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
    /// This plan with the policy of a gather; `None` is one that a gather does not support.
    #[inline(always)]
    fn for_gather(
        self,
        policy: Option<Policy>,
        data: &[usize],
        indices: &Indices<'_>,
    ) -> Result<Self> {
        let Some(policy) = policy else { return Err(Error::SkipInGather) };
        self.with(policy, Policy::name_in_gather, data, indices)
    }

    /// The indices. If each element has one, and they repeat along all axes after the selected one, with a
    /// stride of 0 along these: each then selects a row.
    #[inline]
    fn of_rows<'i>(&self, indices: &Indices<'i>) -> Indices<'i> {
        if self.kind == Kind::Elements && self.selected.end < self.entries.end {
            return indices.of_rows(self.selected.start);
        }
        *indices
    }

    /// This plan with a policy for indices out of bounds, or, if the indices are those of an
    /// `IndexPlan`, with the policy that follows from both: `Skip` where it has indices that select
    /// nothing, otherwise `Refuse`, since all are in bounds. Refuses a policy that cannot map indices
    /// onto an empty axis, an `IndexPlan` for other axes, and one whose own policy contradicts that
    /// of the call, which an error calls by its `name`.
    #[inline(always)]
    pub(crate) fn with(
        self,
        policy: Policy,
        name: fn(Policy) -> &'static str,
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
            Some(positions) => {
                positions.check((policy, name), start, &data[start..end])?;
                if positions.has_gaps() { Policy::Skip } else { Policy::Refuse }
            }
            None => policy,
        };
        Ok(Plan { policy, ..self })
    }

    /// The shape of a gather's output and of a scatter's updates, in parts.
    #[inline]
    fn parts<'s>(&self, data: &'s [usize], indices: &'s [usize]) -> [&'s [usize]; 3] {
        [&data[..self.before], &indices[self.entries.clone()], &data[self.behind..]]
    }

    /// The shape of a gather's output and of a scatter's updates, in a dimension type of its rank.
    #[inline(always)]
    pub(crate) fn shape<O: Dimension>(&self, data: &[usize], indices: &[usize]) -> O {
        let parts = self.parts(data, indices);
        let mut shape = O::zeros(parts.iter().map(|part| part.len()).sum());
        for (slot, &len) in iter::zip(shape.slice_mut(), parts.into_iter().flatten()) {
            *slot = len;
        }
        shape
    }

    /// Whether `shape` is that of a gather's output and of a scatter's updates.
    #[inline]
    fn fits(&self, data: &[usize], indices: &[usize], shape: &[usize]) -> bool {
        let mut rest = shape.iter();
        let parts = self.parts(data, indices);
        parts.iter().all(|part| part.iter().all(|len| rest.next() == Some(len)))
            && rest.as_slice().is_empty()
    }

    /// Refuses updates that neither have the shape of a gather's output nor are a single value.
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
        let expected = self.parts(data, indices).concat();
        Err(Error::UpdatesShape { expected, updates: updates.to_vec(), gather })
    }

    /// Refuses an output of another shape.
    fn check_output(&self, data: &[usize], indices: &[usize], out: &[usize]) -> Result<()> {
        if self.fits(data, indices, out) {
            return Ok(());
        }
        let expected = self.parts(data, indices).concat();
        Err(Error::OutShapeMismatch { expected, actual: out.to_vec() })
    }

    /// The axes of the data that indices select along.
    fn along<'s>(&self, data: &'s [usize]) -> Along<'s> {
        let Range { start, end } = self.selected;
        Along { axis: start, lens: &data[start..end] }
    }

    /// Refuses indices out of bounds if the policy refuses them.
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

    /// The roles of the axes, for calls of few elements.
    fn named(&self) -> Named<'_> {
        let lanes = self.kind == Kind::Elements;
        let Range { start, end } = self.selected;
        let (batches, entries) =
            if lanes { (start, end) } else { (self.batch_dims, self.entries.end) };
        Named { batches, selected: &self.selected, entries, lanes }
    }

    /// Names to `axes` the axes of the data, of the indices, and of the output or the updates.
    fn name(&self, axes: &mut Axes<'_>) {
        match self.kind {
            Kind::Slices => self.name_slices(axes),
            Kind::Elements => self.name_elements(axes),
            Kind::Tuples => self.name_tuples(axes),
        }
    }
}

/// The number of batch dimensions, where a negative number has the rank of the indices added;
/// `None` unless it is in `0..=max`.
#[inline]
fn batch_dims_of(given: i128, indices_rank: usize, max: usize) -> Option<usize> {
    let from_front = if given < 0 { given + indices_rank as i128 } else { given };
    (0..=max as i128).contains(&from_front).then_some(from_front as usize)
}

/// Refuses data and indices whose batch dimensions have different lengths.
#[inline(always)]
fn check_batch(batch_dims: usize, data: &[usize], indices: &[usize]) -> Result<()> {
    if batch_dims == 0 || data[..batch_dims] == indices[..batch_dims] {
        return Ok(());
    }
    Err(Error::BatchShapeMismatch { batch_dims, data: data.to_vec(), indices: indices.to_vec() })
}
