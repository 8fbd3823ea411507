//! What a gather of elements means: elements along an axis.

use super::GatherElements;
use crate::error::Result;
use crate::family::{Plan, Reads};
use crate::index::OutOfBounds;

impl<A> Reads<A> for GatherElements<A> {
    fn plan(&self, data: &[usize], indices: &[usize]) -> Result<Plan> {
        let plan = Plan::read_elements(data, indices, self.axis)?;
        plan.with(self.out_of_bounds.reading()?, data, indices)
    }

    fn mode(&self) -> &OutOfBounds<A> {
        &self.out_of_bounds
    }
}
