//! The plan of a scatter by tuples of indices.

use super::ScatterNd;
use crate::error::Result;
use crate::family::{Plan, Writes};
use crate::index::Policy;
use crate::memory::Indices;
use crate::reduction::Combining;

impl Writes for ScatterNd {
    fn plan(&self, data: &[usize], indices: &Indices<'_>, updates: &[usize]) -> Result<Plan> {
        let plan = Plan::tuples(data, indices.shape(), 0)?;
        plan.check_updates(data, indices.shape(), updates)?;
        plan.with(self.combining.out_of_bounds.writing(), Policy::name, data, indices)
    }

    fn combining(&self) -> &Combining {
        &self.combining
    }
}
