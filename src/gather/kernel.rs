//! How a gather moves memory.

use std::mem::{self, MaybeUninit};
use std::sync::atomic::{AtomicBool, Ordering};

use ndarray::{Array, ArrayRef, ArrayView, ArrayViewMut, Dimension, Zip};

use super::Gather;
use super::plan::Plan;
use crate::args::IndexInteger;
use crate::error::{Error, Result};
use crate::indices;
use crate::memory::output::{Written, overwritable};
use crate::memory::{Borrowed, Cloned, Output, Take, gather};
use crate::out_of_bounds::OutOfBounds;
use crate::parallel;

/// Bytes of output from which on a second thread gives more than it costs.
const GRAIN: usize = 1 << 20;

/// What becomes of the output where an index is out of bounds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnError {
    /// Nobody will see it.
    Discarded,
    /// It is as it was.
    Untouched,
}

/// The gathered array.
pub(super) fn returned<A, D, I, Q, O>(
    data: &ArrayRef<A, D>,
    indices: ArrayView<'_, I, Q>,
    attributes: &Gather<A>,
) -> Result<Array<A, O>>
where
    A: Clone + Send + Sync,
    D: Dimension,
    I: IndexInteger,
    Q: Dimension,
    O: Dimension,
{
    let call = Call::new(data, indices, attributes)?;
    if mem::needs_drop::<A>() {
        Ok(call.output::<Borrowed, O>()?.map(|element| A::clone(element)))
    } else {
        call.output::<Cloned, O>()
    }
}

/// Gathers into `out`.
pub(super) fn into<A, D, I, Q, O>(
    data: &ArrayRef<A, D>,
    indices: ArrayView<'_, I, Q>,
    attributes: &Gather<A>,
    out: &mut ArrayRef<A, O>,
) -> Result<()>
where
    A: Clone + Send + Sync,
    D: Dimension,
    I: IndexInteger,
    Q: Dimension,
    O: Dimension,
{
    let call = Call::new(data, indices, attributes)?;
    call.check_shape(out.shape())?;
    if mem::needs_drop::<A>() {
        let references = call.output::<Borrowed, O>()?;
        Zip::from(out).and(&references).for_each(|slot, element| slot.clone_from(element));
        return Ok(());
    }
    call.fill::<Cloned, O>(overwritable(out.view_mut()), &Written::default(), OnError::Untouched)
}

/// A gather whose attributes and shapes have been checked.
struct Call<'a, A, D: Dimension, I, Q: Dimension> {
    plan: Plan,
    data: ArrayView<'a, A, D>,
    indices: ArrayView<'a, I, Q>,
    fill: Option<&'a A>,
}

impl<'a, A, D, I, Q> Call<'a, A, D, I, Q>
where
    A: Sync,
    D: Dimension,
    I: IndexInteger,
    Q: Dimension,
{
    fn new(
        data: &'a ArrayRef<A, D>,
        indices: ArrayView<'a, I, Q>,
        attributes: &'a Gather<A>,
    ) -> Result<Self> {
        let plan = Plan::new(data.shape(), indices.shape(), attributes)?;
        let fill = match &attributes.out_of_bounds {
            OutOfBounds::Fill(value) => Some(value),
            _ => None,
        };
        Ok(Call { plan, data: data.view(), indices, fill })
    }

    fn check_indices(&self) -> Result<()> {
        let Plan { mode, axis, axis_len, .. } = self.plan;
        indices::check(&self.indices, mode, axis, axis_len)
    }

    fn check_shape(&self, out: &[usize]) -> Result<()> {
        let (data, indices) = (self.data.shape(), self.indices.shape());
        if self.plan.output_lengths(data, indices).eq(out.iter()) {
            return Ok(());
        }
        Err(Error::OutShapeMismatch {
            expected: self.plan.output_lengths(data, indices).copied().collect(),
            actual: out.to_vec(),
        })
    }

    /// The result in a new array. Indices are checked on the way: at the first
    /// one out of bounds the array is dropped.
    fn output<X: Take<'a, A>, O: Dimension>(&self) -> Result<Array<X::Out, O>> {
        let shape = self.plan.output_shape::<O>(self.data.shape(), self.indices.shape());
        let mut output = Output::<X::Out, O>::new(shape, None)?;
        let written = Written::default();
        self.fill::<X, O>(output.view_mut(), &written, OnError::Discarded)?;
        Ok(output.filled(&written))
    }

    /// Fills an output of the result's shape.
    fn fill<X: Take<'a, A>, O: Dimension>(
        &self,
        mut output: ArrayViewMut<'_, MaybeUninit<X::Out>, O>,
        written: &Written,
        on_error: OnError,
    ) -> Result<()> {
        if output.is_empty() {
            return self.check_indices();
        }
        let (data, indices) = (&self.data, &self.indices);
        let standard = data.is_standard_layout()
            && indices.is_standard_layout()
            && output.is_standard_layout();
        let loops = if standard {
            self.plan.standard_loops(data.shape(), indices.shape())
        } else {
            let data = (data.shape(), data.strides());
            self.plan.loops(data, (indices.shape(), indices.strides()), output.strides())
        };
        // Few indices are all resolved before the first row is copied, unless
        // the job is cut in parts.
        let bytes = output.len() * size_of::<X::Out>().max(1);
        if on_error == OnError::Untouched && (bytes >= GRAIN || !loops.resolve_at_once()) {
            self.check_indices()?;
        }
        let refused = AtomicBool::new(false);
        let gather = gather::Gather::<A, I, X>::new(
            &loops,
            self.plan.mode,
            self.fill,
            &self.data,
            &self.indices,
            &mut output,
            written,
            &refused,
        );
        gather.parts(|part| parallel::run(part, GRAIN));
        if refused.load(Ordering::Relaxed) {
            return Err(indices::first_outside(&self.indices, self.plan.axis, self.plan.axis_len));
        }
        Ok(())
    }
}
