//! Scatter elements: write or reduce updates into an array at indices.

mod attributes;
mod plan;

use ndarray::Array;

pub use attributes::{ScatterArgument, ScatterElements};

use crate::arguments::{
    ArrayLike, AsArrayMut, AsArrayRef, AsIndices, HoldIndices, IntoAttributes, IntoAxis, Updates,
};
use crate::error::Result;
use crate::family;

/// Write or reduce updates into an array at indices along an axis.
///
/// Each update goes to the element that has the coordinates of the update, except
/// along the axis, where the coordinate is the index at the coordinates of the
/// update:
///
/// `output[p.., indices[p.., i, r..], r..] = reduction(output[p.., indices[p.., i, r..], r..], updates[p.., i, r..])`
///
/// Updates apply in row-major order of `indices`, so the result is the same to
/// the bit for every number of threads. Where targets repeat under
/// [`Reduction::None`](crate::Reduction::None), the last update wins.
///
/// `updates` have the shape of `indices`, or are a single value for every place:
/// `&1.0`, or for other types `&ndarray::arr0(value)`. A single value is never
/// expanded to an array. Whole slices are scattered by
/// [`scatter`](crate::ScatterExt::scatter).
///
/// [`gather_elements`](crate::GatherElementsExt::gather_elements) is the other
/// direction.
pub trait ScatterElementsExt: AsArrayRef {
    /// Returns a copy of `self` with `updates` written over the elements that
    /// `indices` select along `axis`:
    ///
    /// `output[p.., indices[p.., i, r..], r..] = updates[p.., i, r..]`
    ///
    /// # Shapes
    /// `indices` have the rank of `self`. Along `axis` they may have any length,
    /// along every other axis at most that of `self`.
    /// `updates.shape = indices.shape`, or `updates` are a single value.
    /// `output.shape = self.shape`, in standard (row-major) layout.
    ///
    /// # Errors
    /// [`AxisOutOfBounds`](crate::Error::AxisOutOfBounds),
    /// [`RankMismatch`](crate::Error::RankMismatch),
    /// [`UpdatesShapeMismatch`](crate::Error::UpdatesShapeMismatch),
    /// [`IndicesTooLong`](crate::Error::IndicesTooLong);
    /// [`IndexOutOfBounds`](crate::Error::IndexOutOfBounds) for an index
    /// outside `-len..=len - 1`;
    /// [`SizeOverflow`](crate::Error::SizeOverflow) and
    /// [`AllocationFailed`](crate::Error::AllocationFailed) for a result, or for
    /// the work memory of a mean or of half precision, that memory cannot hold.
    ///
    /// # Examples
    /// ```
    /// use ndarray::{array, Axis};
    /// use opkernels::ScatterElementsExt;
    ///
    /// let data = array![["-", "-", "-", "-"], ["-", "-", "-", "-"]];
    /// let output = data.scatter_elements(&array![[1, 2], [0, 3]], &array![["a", "b"], ["c", "d"]], Axis(1))?;
    /// assert_eq!(output, array![["-", "a", "b", "-"], ["c", "-", "-", "d"]]);
    /// # Ok::<(), opkernels::Error>(())
    /// ```
    ///
    /// # Complexity
    /// O(elements + updates), in parallel where there are many lanes.
    ///
    /// # Specification
    /// OpenVINO ScatterElementsUpdate-12 with `reduction = none`.
    #[inline]
    fn scatter_elements<I, U>(
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
        let attributes = ScatterElements::along(axis);
        family::write(&attributes, self.as_array(), &indices.hold().indices(), &updates.updates())
    }

    /// Returns a copy of `self` with `updates` reduced into the elements that
    /// `indices` select. The attributes are an axis, to overwrite, or
    /// [`ScatterElements`]:
    ///
    /// `output[p.., indices[p.., i, r..], r..] = reduction(output[p.., indices[p.., i, r..], r..], updates[p.., i, r..])`
    ///
    /// [`Reduction`](crate::Reduction) defines each reduction for each element
    /// type.
    ///
    /// # Shapes
    /// Those of [`scatter_elements`](Self::scatter_elements).
    ///
    /// # Errors
    /// Those of [`scatter_elements`](Self::scatter_elements);
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
    /// use opkernels::{ScatterElements, ScatterElementsExt};
    ///
    /// let data = array![2, 3, 4, 6];
    /// let indices = [1, 0, 0, -2, -1, 2];
    /// let updates = [10, 20, 30, 40, 70, 60];
    /// let sums = data.scatter_elements_with(&indices, &updates, ScatterElements::sum(0))?;
    /// assert_eq!(sums, array![52, 13, 104, 76]);
    /// # Ok::<(), opkernels::Error>(())
    /// ```
    ///
    /// # Complexity
    /// O(elements + updates), in parallel where there are many lanes, with the work
    /// memory of [`scatter_elements_inplace`](Self::scatter_elements_inplace), but for
    /// a copy. A broadcast view of the indices (stride 0) is never expanded to an array.
    ///
    /// # Specification
    /// OpenVINO ScatterElementsUpdate-12 and ONNX ScatterElements 18.
    #[inline]
    fn scatter_elements_with<I, U>(
        &self,
        indices: &I,
        updates: &U,
        attributes: impl IntoAttributes<ScatterElements>,
    ) -> Result<Array<Self::Elem, Self::Dim>>
    where
        I: AsIndices + ?Sized,
        U: Updates<Self::Elem> + ?Sized,
        Self::Elem: Clone + Send + Sync,
    {
        let attributes = attributes.into_attributes();
        family::write(&attributes, self.as_array(), &indices.hold().indices(), &updates.updates())
    }

    /// Reduces `updates` into elements of `self` in place, or overwrites them; then
    /// elements may be of any type that is `Clone`, `Send` and `Sync`. The attributes
    /// are an axis, to overwrite, or [`ScatterElements`]:
    ///
    /// `self[p.., indices[p.., i, r..], r..] = reduction(self[p.., indices[p.., i, r..], r..], updates[p.., i, r..])`
    ///
    /// # Shapes
    /// Those of [`scatter_elements`](Self::scatter_elements); `self` may have
    /// any layout and keeps it.
    ///
    /// # Errors
    /// Those of [`scatter_elements_with`](Self::scatter_elements_with). On
    /// error `self` holds what it held before.
    ///
    /// # Examples
    /// ```
    /// use ndarray::{array, Axis};
    /// use opkernels::{ScatterElements, ScatterElementsExt};
    ///
    /// let mut count = array![0, 0, 0];
    /// count.scatter_elements_inplace(&[2, 0, 2, 2], &1, ScatterElements::sum(0))?;
    /// assert_eq!(count, array![1, 0, 3]);
    ///
    /// let mut words = vec!["so", "it", "goes"].into_iter().map(String::from).collect::<ndarray::Array1<_>>();
    /// words.scatter_elements_inplace(&[-1], &["went".to_string()], Axis(0))?;
    /// assert_eq!(words[2], "went");
    /// # Ok::<(), opkernels::Error>(())
    /// ```
    ///
    /// # Complexity
    /// O(updates), whatever the size of `self`, in parallel where there are
    /// many lanes. Where an index out of bounds is an error, indices, unless they
    /// are few, are checked in a pass before the first update; or, if they take
    /// at least four times the memory of `self`, the work is done on a copy of it,
    /// which an error discards. A mean, and a reduction of half
    /// precision, needs work memory in proportion to the number of updates or
    /// to the length of the axis. Lanes that lie apart, as in a transposed array, may
    /// be packed in work memory of at most half of the last-level cache for each
    /// thread, and indices that are not contiguous, as columns of a table, copied first. A
    /// shared `ArcArray` is copied first, unless an argument is refused; for a large one,
    /// the call takes about four times as long as
    /// [`scatter_elements_with`](Self::scatter_elements_with).
    ///
    /// # Specification
    /// OpenVINO ScatterElementsUpdate-12 and ONNX ScatterElements 18.
    #[inline]
    fn scatter_elements_inplace<I, U>(
        &mut self,
        indices: &I,
        updates: &U,
        attributes: impl IntoAttributes<ScatterElements>,
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
    /// attributes are an axis or [`ScatterElements`], whose reduction is ignored:
    ///
    /// `f(&mut self[p.., indices[p.., i, r..], r..], &updates[p.., i, r..])`
    ///
    /// For each target, calls are in row-major order of `indices`.
    /// Elements of `self` and of `updates` may be of any types; neither need be
    /// `Clone`.
    ///
    /// # Shapes
    /// Those of [`scatter_elements`](Self::scatter_elements).
    ///
    /// # Errors
    /// Those of [`scatter_elements_inplace`](Self::scatter_elements_inplace), except
    /// `UnsupportedReduction` and `TooMany`. On error `f` has not been called.
    ///
    /// # Panics
    /// If `f` panics. Elements that it has changed by then stay changed.
    ///
    /// # Examples
    /// ```
    /// use ndarray::array;
    /// use opkernels::ScatterElementsExt;
    ///
    /// // f32 values summed in f64.
    /// let mut sums = array![0.0_f64, 0.0];
    /// let updates = [16_777_216.0_f32, 1.0, 1.0];
    /// sums.scatter_elements_fold(&[0, 0, 1], &updates, 0, |sum, &new| *sum += f64::from(new))?;
    /// assert_eq!(sums, array![16_777_217.0, 1.0]);
    /// # Ok::<(), opkernels::Error>(())
    /// ```
    ///
    /// # Complexity
    /// O(updates) calls; those for different targets are in parallel where there are
    /// many lanes. Where an index out of bounds is an error, indices, unless they are
    /// few, are checked in a pass before the first call.
    ///
    /// # Specification
    /// None. With a function that adds, the result is that of [`ScatterElements::sum`], but for half
    /// precision, of which a sum rounds once and not at each update.
    #[inline]
    fn scatter_elements_fold<I, U, F>(
        &mut self,
        indices: &I,
        updates: &U,
        attributes: impl IntoAttributes<ScatterElements>,
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

impl<T: AsArrayRef + ?Sized> ScatterElementsExt for T {}
