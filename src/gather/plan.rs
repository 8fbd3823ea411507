//! What a gather means: slices along an axis.

use super::Gather;
use crate::error::Result;
use crate::family::{Plan, Reads};
use crate::index::OutOfBounds;

impl<A> Reads<A> for Gather<A> {
    fn plan(&self, data: &[usize], indices: &[usize]) -> Result<Plan> {
        let plan = Plan::slices(data, indices, self.axis, self.batch_dims)?;
        plan.with(self.out_of_bounds.reading()?, data, indices)
    }

    fn mode(&self) -> &OutOfBounds<A> {
        &self.out_of_bounds
    }
}
