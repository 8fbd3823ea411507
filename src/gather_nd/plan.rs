//! What a gather by tuples of indices means.

use super::GatherNd;
use crate::error::Result;
use crate::family::{Plan, Reads};
use crate::index::OutOfBounds;

impl<A> Reads<A> for GatherNd<A> {
    fn plan(&self, data: &[usize], indices: &[usize]) -> Result<Plan> {
        let plan = Plan::tuples(data, indices, self.batch_dims)?;
        plan.with(self.out_of_bounds.reading()?, data, indices)
    }

    fn mode(&self) -> &OutOfBounds<A> {
        &self.out_of_bounds
    }
}
