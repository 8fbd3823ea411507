//! The plan of a gather of elements: elements along an axis.

use super::GatherElements;
use crate::error::Result;
use crate::family::{Plan, Reads};
use crate::index::OutOfBounds;
use crate::memory::Indices;

impl<A> Reads<A> for GatherElements<A> {
    fn plan(&self, data: &[usize], indices: &Indices<'_>) -> Result<Plan> {
        Plan::read_elements(data, indices, self.axis, self.out_of_bounds.reading())
    }

    fn mode(&self) -> &OutOfBounds<A> {
        &self.out_of_bounds
    }
}
