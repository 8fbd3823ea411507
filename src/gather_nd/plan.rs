//! The plan of a gather by tuples of indices.

use super::GatherNd;
use crate::error::Result;
use crate::family::{Plan, Reads};
use crate::index::OutOfBounds;
use crate::memory::Indices;

impl<A> Reads<A> for GatherNd<A> {
    fn plan(&self, data: &[usize], indices: &Indices<'_>) -> Result<Plan> {
        Plan::read_tuples(data, indices, self.batch_dims, self.out_of_bounds.reading())
    }

    fn mode(&self) -> &OutOfBounds<A> {
        &self.out_of_bounds
    }
}
