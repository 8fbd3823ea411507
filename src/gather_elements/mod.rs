//! Gather elements: take one element for each index, along an axis.

mod attributes;
mod plan;

pub use attributes::GatherElements;

use ndarray::Array;

use crate::arguments::{AsArrayRef, AsIndices, HoldIndices, IntoAttributes, IntoAxis, OutputArray};
use crate::error::Result;
use crate::family;

/// Take one element for each index, along an axis: what NumPy calls
/// `take_along_axis` and PyTorch `gather`.
///
/// [`scatter_elements`](crate::ScatterElementsExt::scatter_elements) is the
/// other direction.
pub trait GatherElementsExt: AsArrayRef {
    /// Returns an element of `self` for each index: its coordinates are those of the
    /// index in `indices`, except along `axis`, where the coordinate is the index
    /// itself:
    ///
    /// `output[p.., i, r..] = self[p.., indices[p.., i, r..], r..]`
    ///
    /// # Shapes
    /// `output.shape = indices.shape`, in standard (row-major) layout.
    /// `indices` have the rank of `self`. Along `axis` they may have any length,
    /// along every other axis at most that of `self`. Indices are not broadcast
    /// for you, but may be a broadcast view, which is read in place.
    ///
    /// # Errors
    /// [`AxisOutOfBounds`](crate::Error::AxisOutOfBounds),
    /// [`GatherRankMismatch`](crate::Error::GatherRankMismatch),
    /// [`IndicesTooLong`](crate::Error::IndicesTooLong);
    /// [`IndexOutOfBounds`](crate::Error::IndexOutOfBounds) for an index
    /// outside `-len..=len - 1`;
    /// [`SizeOverflow`](crate::Error::SizeOverflow) and
    /// [`AllocationFailed`](crate::Error::AllocationFailed) for a result that
    /// memory cannot hold.
    ///
    /// # Examples
    /// ```
    /// use ndarray::{array, Axis};
    /// use opkernels::GatherElementsExt;
    ///
    /// let scores = array![[0.3, 0.9, 0.1], [0.8, 0.2, 0.5]];
    /// let order = array![[1, 0, 2], [0, 2, 1]];
    /// let sorted = scores.gather_elements(&order, Axis(1))?;
    /// assert_eq!(sorted, array![[0.9, 0.3, 0.1], [0.8, 0.5, 0.2]]);
    /// # Ok::<(), opkernels::Error>(())
    /// ```
    ///
    /// # Complexity
    /// O(indices), in parallel where there are many. Indices that repeat along all axes
    /// after `axis`, as a list that was expanded to this shape, are looked through once
    /// and copy rows. Elements that need dropping (`String`, `Vec`) are cloned from an
    /// array of references, one for each element of the result. Lanes that lie apart, as
    /// in a transposed array, may be packed in work memory of at most half of the
    /// last-level cache for each thread, and indices that are not contiguous copied
    /// first.
    ///
    /// # Specification
    /// ONNX GatherElements 13 and OpenVINO GatherElements-6; NumPy's
    /// `take_along_axis` and PyTorch's `gather`.
    #[inline]
    fn gather_elements<I>(
        &self,
        indices: &I,
        axis: impl IntoAxis,
    ) -> Result<Array<Self::Elem, I::Dim>>
    where
        I: AsIndices + ?Sized,
        Self::Elem: Clone + Send + Sync,
    {
        family::read(&GatherElements::along(axis), self.as_array(), &indices.hold().indices())
    }

    /// Returns what [`gather_elements`](Self::gather_elements) returns, with a
    /// choice of what an index out of bounds selects. The attributes are an axis
    /// or [`GatherElements`]:
    ///
    /// `output[p.., i, r..] = self[p.., indices[p.., i, r..], r..]`
    ///
    /// # Shapes
    /// Those of [`gather_elements`](Self::gather_elements).
    ///
    /// # Errors
    /// Those of [`gather_elements`](Self::gather_elements);
    /// [`EmptyAxis`](crate::Error::EmptyAxis) for an index that `Clip` or `Wrap`
    /// would map onto an axis of length 0;
    /// [`SkipInGather`](crate::Error::SkipInGather) for `Skip`.
    ///
    /// # Examples
    /// ```
    /// use ndarray::array;
    /// use opkernels::{GatherElements, GatherElementsExt, OutOfBounds};
    ///
    /// let data = array![[1, 2], [3, 4]];
    /// let or_0 = GatherElements::along(0).out_of_bounds(OutOfBounds::Fill(0));
    /// assert_eq!(data.gather_elements_with(&array![[1, 7]], or_0)?, array![[3, 0]]);
    /// # Ok::<(), opkernels::Error>(())
    /// ```
    ///
    /// # Complexity
    /// That of [`gather_elements`](Self::gather_elements).
    ///
    /// # Specification
    /// ONNX GatherElements 13 and OpenVINO GatherElements-6, with a choice for
    /// indices out of bounds.
    #[inline]
    fn gather_elements_with<I>(
        &self,
        indices: &I,
        attributes: impl IntoAttributes<GatherElements<Self::Elem>>,
    ) -> Result<Array<Self::Elem, I::Dim>>
    where
        I: AsIndices + ?Sized,
        Self::Elem: Clone + Send + Sync,
    {
        family::read(&attributes.into_attributes(), self.as_array(), &indices.hold().indices())
    }

    /// Writes what [`gather_elements_with`](Self::gather_elements_with) returns
    /// into `out`, an array of any layout:
    ///
    /// `out[p.., i, r..] = self[p.., indices[p.., i, r..], r..]`
    ///
    /// # Shapes
    /// `out.shape = indices.shape`; its rank may be static or dynamic. `out` may be
    /// an array of `MaybeUninit` (see [`OutputArray`](crate::OutputArray)).
    ///
    /// # Errors
    /// Those of [`gather_elements_with`](Self::gather_elements_with), and
    /// [`OutShapeMismatch`](crate::Error::OutShapeMismatch). No result is allocated: only elements that
    /// need dropping can be [too many](crate::Error::SizeOverflow) or [refused
    /// memory](crate::Error::AllocationFailed), for the references to them. On error `out`
    /// holds what it held before, unless it was not initialised.
    ///
    /// # Examples
    /// ```
    /// use ndarray::{array, Array2};
    /// use opkernels::GatherElementsExt;
    ///
    /// let mut out = Array2::<i32>::zeros((1, 2));
    /// array![[1, 2], [3, 4]].gather_elements_into(&array![[1, 0]], 0, &mut out)?;
    /// assert_eq!(out, array![[3, 2]]);
    /// # Ok::<(), opkernels::Error>(())
    /// ```
    ///
    /// # Complexity
    /// O(indices), in parallel where there are many.
    /// Where `out` is initialised and an index out of bounds is an error, indices,
    /// unless they are few, are checked in a pass before anything is written.
    /// Work memory is small, except for elements that need dropping (`String`,
    /// `Vec`): these are cloned from an array of references, one for each element
    /// of `out`. Lanes that lie apart, as in a transposed array, may be packed in work
    /// memory of at most half of the last-level cache for each thread, and indices that are
    /// not contiguous copied first.
    ///
    /// # Specification
    /// ONNX GatherElements 13 and OpenVINO GatherElements-6.
    #[inline]
    fn gather_elements_into<I, O>(
        &self,
        indices: &I,
        attributes: impl IntoAttributes<GatherElements<Self::Elem>>,
        out: &mut O,
    ) -> Result<()>
    where
        I: AsIndices + ?Sized,
        O: OutputArray<Self::Elem> + ?Sized,
        Self::Elem: Clone + Send + Sync,
    {
        family::read_into(
            &attributes.into_attributes(),
            self.as_array(),
            &indices.hold().indices(),
            out,
        )
    }
}

impl<T: AsArrayRef + ?Sized> GatherElementsExt for T {}
