//! The plan of a gather: slices along an axis.

use super::Gather;
use crate::error::Result;
use crate::family::{Plan, Reads};
use crate::index::OutOfBounds;
use crate::memory::Indices;

impl<A> Reads<A> for Gather<A> {
    fn plan(&self, data: &[usize], indices: &Indices<'_>) -> Result<Plan> {
        Plan::read_slices(data, indices, self.axis, self.batch_dims, self.out_of_bounds.reading())
    }

    fn mode(&self) -> &OutOfBounds<A> {
        &self.out_of_bounds
    }
}
