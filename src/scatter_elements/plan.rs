//! The plan of a scatter of elements: elements along an axis.

use super::ScatterElements;
use crate::error::Result;
use crate::family::{Plan, Writes};
use crate::index::Policy;
use crate::memory::Indices;
use crate::reduction::Combining;

impl Writes for ScatterElements {
    fn plan(&self, data: &[usize], indices: &Indices<'_>, updates: &[usize]) -> Result<Plan> {
        let plan = Plan::written_elements(data, indices.shape(), updates, self.axis)?;
        plan.with(self.combining.out_of_bounds.writing(), Policy::name, data, indices)
    }

    fn combining(&self) -> &Combining {
        &self.combining
    }
}
