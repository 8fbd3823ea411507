//! Scatter: write or reduce slices along an axis at indices.

mod attributes;
mod plan;

pub use attributes::Scatter;

use ndarray::Array;

use crate::arguments::{
    ArrayLike, AsArrayMut, AsArrayRef, AsIndices, HoldIndices, IntoAttributes, IntoAxis, Updates,
};
use crate::error::Result;
use crate::family;

/// Write or reduce slices along an axis at indices: the other direction of
/// [`gather`](crate::GatherExt::gather), and, as a sum, its gradient.
///
/// Updates apply in row-major order of `indices`, so the result is the same to
/// the bit for every number of threads. Where targets repeat under
/// [`Reduction::None`](crate::Reduction::None), the last update wins.
///
/// `updates` have the shape that a gather by the same indices, axis and
/// `batch_dims` returns, or are a single value for every place: `&1.0`, or for
/// other types `&ndarray::arr0(value)`. A single value is never expanded to an
/// array.
pub trait ScatterExt: AsArrayRef {
    /// Returns a copy of `self` with slices along `axis` overwritten by those of
    /// `updates`:
    ///
    /// `output[p.., indices[i..], r..] = updates[p.., i.., r..]`
    ///
    /// # Shapes
    /// `updates.shape = self.shape[..axis] + indices.shape + self.shape[axis + 1..]`,
    /// the shape that `self.gather(indices, axis)` returns, or `updates` are a
    /// single value. `output.shape = self.shape`, in standard (row-major) layout.
    ///
    /// # Errors
    /// [`AxisOutOfBounds`](crate::Error::AxisOutOfBounds),
    /// [`UpdatesShape`](crate::Error::UpdatesShape);
    /// [`IndexOutOfBounds`](crate::Error::IndexOutOfBounds) for an index
    /// outside `-len..=len - 1`;
    /// [`SizeOverflow`](crate::Error::SizeOverflow) and
    /// [`AllocationFailed`](crate::Error::AllocationFailed) for a result, or for
    /// the work memory of a mean or of half precision, that memory cannot hold.
    ///
    /// # Examples
    /// ```
    /// use ndarray::{array, Axis};
    /// use opkernels::ScatterExt;
    ///
    /// let table = array![["a", "b"], ["c", "d"], ["e", "f"]];
    /// let output = table.scatter(&[2, 0], &array![["x", "y"], ["z", "w"]], Axis(0))?;
    /// assert_eq!(output, array![["z", "w"], ["c", "d"], ["x", "y"]]);
    /// # Ok::<(), opkernels::Error>(())
    /// ```
    ///
    /// # Complexity
    /// O(elements + updates), in parallel where the slices are long or many.
    ///
    /// # Specification
    /// OpenVINO ScatterUpdate-3; here, negative indices also count from the end.
    #[inline]
    fn scatter<I, U>(
        &self,
        indices: &I,
        updates: &U,
        axis: impl IntoAxis,
    ) -> Result<Array<Self::Elem, Self::Dim>>
    where
        I: AsIndices + ?Sized,
        U: Updates<Self::Elem> + ?Sized,
        Self::Elem: Clone + Send + Sync,
    {
        family::write(
            &Scatter::along(axis),
            self.as_array(),
            &indices.hold().indices(),
            &updates.updates(),
        )
    }

    /// Returns a copy of `self` with `updates` reduced into slices. The
    /// attributes are an axis, to overwrite, or [`Scatter`]. With `b` batch
    /// dimensions, 0 by default:
    ///
    /// `output[p.., j, r..] = reduction(output[p.., j, r..], updates[p.., i_b.., r..])`
    /// where `j = indices[p_0, .., p_{b-1}, i_b..]`
    ///
    /// [`Reduction`](crate::Reduction) defines each reduction for each element
    /// type.
    ///
    /// # Shapes
    /// `updates.shape = self.shape[..axis] + indices.shape[b..] + self.shape[axis + 1..]`,
    /// the shape that [`gather_with`](crate::GatherExt::gather_with) returns by the
    /// same indices, axis and `batch_dims`, or `updates` are a single value.
    /// `output.shape = self.shape`, in standard layout.
    ///
    /// # Errors
    /// Those of [`scatter`](Self::scatter);
    /// [`BatchDimsOutOfRange`](crate::Error::BatchDimsOutOfRange),
    /// [`BatchDimsBeyondAxis`](crate::Error::BatchDimsBeyondAxis) and
    /// [`BatchShapeMismatch`](crate::Error::BatchShapeMismatch) as in
    /// [`gather_with`](crate::GatherExt::gather_with);
    /// [`UnsupportedReduction`](crate::Error::UnsupportedReduction) for a
    /// reduction that is not defined for the element type;
    /// [`TooMany`](crate::Error::TooMany) for a mean of more than 4,294,967,294
    /// updates along the selected axes;
    /// [`EmptyAxis`](crate::Error::EmptyAxis) for an index that `Clip` or `Wrap`
    /// would map onto an axis of length 0.
    ///
    /// # Examples
    /// ```
    /// use ndarray::array;
    /// use opkernels::{Scatter, ScatterExt};
    ///
    /// let nodes = array![[1.0, 1.0], [2.0, 2.0]];
    /// let messages = array![[0.5, 0.0], [0.5, 1.0], [4.0, 4.0]];
    /// let sums = nodes.scatter_with(&[0, 0, 1], &messages, Scatter::sum(0))?;
    /// assert_eq!(sums, array![[2.0, 2.0], [6.0, 6.0]]);
    ///
    /// let batch = array![[1, 2, 3], [4, 5, 6]];
    /// let zeroed = batch.scatter_with(&array![[0], [2]], &0, Scatter::along(1).batch_dims(1))?;
    /// assert_eq!(zeroed, array![[0, 2, 3], [4, 5, 0]]);
    /// # Ok::<(), opkernels::Error>(())
    /// ```
    ///
    /// # Complexity
    /// O(elements + updates), in parallel where the slices are long or many, with the
    /// work memory of [`scatter_inplace`](Self::scatter_inplace), but for a copy.
    ///
    /// # Specification
    /// OpenVINO ScatterUpdate-3 with reductions; PyTorch's `index_add`.
    #[inline]
    fn scatter_with<I, U>(
        &self,
        indices: &I,
        updates: &U,
        attributes: impl IntoAttributes<Scatter>,
    ) -> Result<Array<Self::Elem, Self::Dim>>
    where
        I: AsIndices + ?Sized,
        U: Updates<Self::Elem> + ?Sized,
        Self::Elem: Clone + Send + Sync,
    {
        let attributes = attributes.into_attributes();
        family::write(&attributes, self.as_array(), &indices.hold().indices(), &updates.updates())
    }

    /// Reduces `updates` into slices of `self` in place, or overwrites these. The
    /// attributes are an axis, to overwrite, or [`Scatter`]. With `b` batch
    /// dimensions, 0 by default:
    ///
    /// `self[p.., j, r..] = reduction(self[p.., j, r..], updates[p.., i_b.., r..])`
    /// where `j = indices[p_0, .., p_{b-1}, i_b..]`
    ///
    /// # Shapes
    /// Those of [`scatter_with`](Self::scatter_with); `self` may have any layout
    /// and keeps it.
    ///
    /// # Errors
    /// Those of [`scatter_with`](Self::scatter_with). On error `self` holds what
    /// it held before.
    ///
    /// # Examples
    /// ```
    /// use ndarray::array;
    /// use opkernels::{OutOfBounds, Scatter, ScatterExt};
    ///
    /// let mut counts = array![0, 0, 0];
    /// counts.scatter_inplace(&[2, 0, 2, 2], &1, Scatter::sum(0))?;
    /// assert_eq!(counts, array![1, 0, 3]);
    ///
    /// // Padding ids are skipped.
    /// let mut nodes = array![[0.0, 0.0], [0.0, 0.0]];
    /// let skip = Scatter::along(0).out_of_bounds(OutOfBounds::Skip);
    /// nodes.scatter_inplace(&[1, i64::MAX], &array![[1.0, 2.0], [3.0, 4.0]], skip)?;
    /// assert_eq!(nodes, array![[0.0, 0.0], [1.0, 2.0]]);
    /// # Ok::<(), opkernels::Error>(())
    /// ```
    ///
    /// # Complexity
    /// O(updates), whatever the size of `self`, in parallel where the slices
    /// are long or many. Where an index out of bounds is an error, indices, unless
    /// they are few, are checked in a pass before the first update. Or the work is done
    /// in a copy of `self`, which an error discards: where indices take at least four
    /// times its memory, and where its rows are not contiguous, as in a transposed array,
    /// and there are at least as many updates as elements (of half precision and some means
    /// a quarter as many, or half as many if elements along other axes are farther apart). A
    /// mean, and a reduction of half precision, needs work memory in proportion to the number
    /// of updates or to the length of the axis; for rows of a few elements, and for means of
    /// 64-bit integers, up to 16 bytes for each element of `self`. Indices that are not contiguous, as columns of
    /// a table, may be copied first; so may updates that lie transposed, in a scatter to a
    /// list. A shared `ArcArray` is copied first, unless an argument is refused; for a
    /// large one, the call takes about four times as long as
    /// [`scatter_with`](Self::scatter_with).
    ///
    /// # Specification
    /// OpenVINO ScatterUpdate-3 with reductions; PyTorch's `index_add_`.
    #[inline]
    fn scatter_inplace<I, U>(
        &mut self,
        indices: &I,
        updates: &U,
        attributes: impl IntoAttributes<Scatter>,
    ) -> Result<()>
    where
        Self: AsArrayMut,
        I: AsIndices + ?Sized,
        U: Updates<Self::Elem> + ?Sized,
        Self::Elem: Clone + Send + Sync,
    {
        let attributes = attributes.into_attributes();
        family::write_inplace(&attributes, self, &indices.hold().indices(), &updates.updates())
    }

    /// Changes `self` in place by a function that is called once for each element
    /// of `updates`, with the element of `self` that the update goes to. The
    /// attributes are an axis or [`Scatter`], whose reduction is ignored. With `b`
    /// batch dimensions, 0 by default:
    ///
    /// `f(&mut self[p.., j, r..], &updates[p.., i_b.., r..])`
    /// where `j = indices[p_0, .., p_{b-1}, i_b..]`
    ///
    /// For each target, calls are in row-major order of `indices`.
    /// Elements of `self` and of `updates` may be of any types; neither need be
    /// `Clone`.
    ///
    /// # Shapes
    /// Those of [`scatter_inplace`](Self::scatter_inplace).
    ///
    /// # Errors
    /// Those of [`scatter_inplace`](Self::scatter_inplace), except
    /// `UnsupportedReduction` and `TooMany`. On error `f` has not been called.
    ///
    /// # Panics
    /// If `f` panics. Elements that it has changed by then stay changed.
    ///
    /// # Examples
    /// ```
    /// use ndarray::array;
    /// use opkernels::ScatterExt;
    ///
    /// // The best candidate for each place; of equal ones the first.
    /// let mut best = array![(0.5, "a"), (0.5, "b")];
    /// let candidates = [(0.4, "c"), (0.7, "d"), (0.7, "e")];
    /// best.scatter_fold(&[0, 1, 1], &candidates, 0, |best, new| {
    ///     if new.0 > best.0 {
    ///         *best = *new;
    ///     }
    /// })?;
    /// assert_eq!(best, array![(0.5, "a"), (0.7, "d")]);
    /// # Ok::<(), opkernels::Error>(())
    /// ```
    ///
    /// # Complexity
    /// O(updates) calls; those for different targets are in parallel where there are
    /// many. Where an index out of bounds is an error, indices, unless they are few, are
    /// checked in a pass before the first call.
    ///
    /// # Specification
    /// None. With a function that adds, the result is that of [`Scatter::sum`], but for half
    /// precision, of which a sum rounds once and not at each update.
    #[inline]
    fn scatter_fold<I, U, F>(
        &mut self,
        indices: &I,
        updates: &U,
        attributes: impl IntoAttributes<Scatter>,
        f: F,
    ) -> Result<()>
    where
        Self: AsArrayMut,
        I: AsIndices + ?Sized,
        U: ArrayLike<Elem: Sync> + ?Sized,
        Self::Elem: Send,
        F: Fn(&mut Self::Elem, &U::Elem) + Sync,
    {
        let attributes = attributes.into_attributes();
        family::fold(&attributes, self, &indices.hold().indices(), &updates.view(), &f)
    }
}

impl<T: AsArrayRef + ?Sized> ScatterExt for T {}
