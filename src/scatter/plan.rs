//! The plan of a scatter: slices along an axis.

use super::Scatter;
use crate::error::Result;
use crate::family::{Plan, Writes};
use crate::index::Policy;
use crate::memory::Indices;
use crate::reduction::Combining;

impl Writes for Scatter {
    fn plan(&self, data: &[usize], indices: &Indices<'_>, updates: &[usize]) -> Result<Plan> {
        let plan = Plan::slices(data, indices.shape(), self.axis, self.batch_dims)?;
        plan.check_updates(data, indices.shape(), updates)?;
        plan.with(self.combining.out_of_bounds.writing(), Policy::name, data, indices)
    }

    fn combining(&self) -> &Combining {
        &self.combining
    }
}
