//! What a scatter of elements means: all checks, and which axes run together.

use super::ScatterElements;
use crate::arguments::resolve_axis;
use crate::error::{Error, Result};
use crate::index::{OutOfBounds, Policy};
use crate::memory::{Axes, Indices, Scattering};

/// A scatter that cannot fail any more, but for its indices.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    axis: usize,
    axis_len: usize,
    rank: usize,
    policy: Policy,
}

impl Plan {
    pub(super) fn new(
        data: &[usize],
        indices: &[usize],
        updates: &[usize],
        attributes: &ScatterElements,
    ) -> Result<Self> {
        let axis = resolve_axis(attributes.axis, data.len())?;
        if indices.len() != data.len() {
            return Err(Error::RankMismatch { data: data.len(), indices: indices.len() });
        }
        if indices != updates {
            return Err(Error::UpdatesShapeMismatch {
                indices: indices.to_vec(),
                updates: updates.to_vec(),
            });
        }
        let too_long = |&dim: &usize| dim != axis && indices[dim] > data[dim];
        if let Some(dim) = (0..data.len()).find(too_long) {
            return Err(Error::IndicesTooLong {
                data: data.to_vec(),
                indices: indices.to_vec(),
                axis,
                dim,
            });
        }
        let policy = match attributes.out_of_bounds {
            OutOfBounds::Error => Policy::Refuse,
            OutOfBounds::Fill(never) => match never {},
            OutOfBounds::Skip => Policy::Skip,
            OutOfBounds::Clip => Policy::Clip,
            OutOfBounds::Wrap => Policy::Wrap,
        };
        let policy = policy.on_axis(axis, data[axis], indices)?;
        Ok(Plan { axis, axis_len: data[axis], rank: data.len(), policy })
    }

    /// Combines updates with their targets. After an error the target may have
    /// been written to, unless `untouched` asks that it be not.
    pub(super) fn run(
        &self,
        scattering: Scattering<'_>,
        indices: Indices<'_>,
        untouched: bool,
    ) -> Result<()> {
        let selected = [(self.axis, self.axis_len)];
        if scattering.target().is_empty() {
            // Indices may be left where all are skipped.
            return if self.policy == Policy::Refuse {
                indices.check(&selected, false)
            } else {
                Ok(())
            };
        }
        if scattering.run(self.policy, untouched, |axes| self.name(axes))? {
            return Ok(());
        }
        Err(indices.first_outside(&selected, false))
    }

    /// `target[p.., indices[p.., i, r..], r..] <- updates[p.., i, r..]`
    fn name(&self, axes: &mut Axes<'_>) {
        for axis in 0..self.rank {
            if axis == self.axis {
                axes.select();
                axes.entries();
            } else {
                axes.all();
            }
        }
    }
}
