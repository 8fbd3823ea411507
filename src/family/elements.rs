//! Elements along an axis: gather_elements and scatter_elements.

use super::{Kind, Plan};
use crate::arguments::resolve_axis;
use crate::error::{Error, Result};
use crate::index::Policy;
use crate::memory::{Axes, Indices};

impl Plan {
    /// The plan of `gather_elements`: each index selects the element that has the coordinates of
    /// the index itself, except along `axis`.
    pub(crate) fn read_elements(
        data: &[usize],
        indices: &Indices<'_>,
        axis: i128,
        policy: Option<Policy>,
    ) -> Result<Self> {
        let axis = resolve_axis(axis, data.len())?;
        let ranks = (data.len(), indices.shape().len());
        if ranks.0 != ranks.1 {
            return Err(Error::GatherRankMismatch { data: ranks.0, indices: ranks.1 });
        }
        Self::elements(data, indices.shape(), axis)?.for_gather(policy, data, indices)
    }

    /// The plan of `scatter_elements`. Updates have the shape of the indices, or are a single
    /// value.
    #[inline(always)]
    pub(crate) fn written_elements(
        data: &[usize],
        indices: &[usize],
        updates: &[usize],
        axis: i128,
    ) -> Result<Self> {
        let axis = resolve_axis(axis, data.len())?;
        if indices.len() != data.len() {
            return Err(Error::RankMismatch { data: data.len(), indices: indices.len() });
        }
        if !(updates.is_empty() || indices.iter().eq(updates)) {
            return Err(Error::UpdatesShapeMismatch {
                indices: indices.to_vec(),
                updates: updates.to_vec(),
            });
        }
        Self::elements(data, indices, axis)
    }

    /// Each index selects an element along `axis`. Data and indices have equal ranks.
    #[inline(always)]
    fn elements(data: &[usize], indices: &[usize], axis: usize) -> Result<Self> {
        let too_long = |&dim: &usize| dim != axis && indices[dim] > data[dim];
        if let Some(dim) = (0..data.len()).find(too_long) {
            return Err(Error::IndicesTooLong {
                data: data.to_vec(),
                indices: indices.to_vec(),
                axis,
                dim,
            });
        }
        Ok(Plan {
            kind: Kind::Elements,
            data_rank: data.len(),
            batch_dims: 0,
            selected: axis..axis + 1,
            policy: Policy::Refuse,
            before: 0,
            entries: 0..indices.len(),
            behind: data.len(),
        })
    }

    /// Names the axes of `listed[p.., i, r..]` and `data[p.., indices[p.., i, r..], r..]`.
    pub(super) fn name_elements(&self, axes: &mut Axes<'_>) {
        for axis in 0..self.data_rank {
            if self.selected.contains(&axis) {
                axes.select();
                axes.entries();
            } else {
                axes.all();
            }
        }
    }
}
