//! Gather by tuples of indices.

mod attributes;
mod plan;

pub use attributes::GatherNd;

use ndarray::ArrayD;

use crate::arguments::{AsArrayRef, AsIndices, HoldIndices, IntoAttributes, OutputArray};
use crate::error::Result;
use crate::family;

/// Take elements or slices by tuples of indices, whose numbers are indices along
/// the leading axes.
///
/// [`scatter_nd`](crate::ScatterNdExt::scatter_nd) is the other direction.
pub trait GatherNdExt: AsArrayRef {
    /// Returns the elements or slices of `self` that tuples of `k` numbers select;
    /// the last axis of `indices` holds the numbers of a tuple:
    ///
    /// `output[i.., r..] = self[indices[i.., 0], .., indices[i.., k-1], r..]`
    ///
    /// # Shapes
    /// `k = indices.shape[-1]`, and `1 <= k <= self.rank`.
    /// `output.shape = indices.shape[..-1] + self.shape[k..]`, in standard
    /// (row-major) layout. The rank depends on `k`, so the result is an
    /// [`ArrayD`]; `.into_dimensionality::<Ix1>()` gives it a static rank
    /// without a copy.
    ///
    /// # Errors
    /// [`NoTuples`](crate::Error::NoTuples) for 0-d indices,
    /// [`TupleLengthOutOfRange`](crate::Error::TupleLengthOutOfRange) for any
    /// other `k`; [`IndexOutOfBounds`](crate::Error::IndexOutOfBounds) for a number
    /// outside `-len..=len - 1` of its axis: the error names both;
    /// [`SizeOverflow`](crate::Error::SizeOverflow) and
    /// [`AllocationFailed`](crate::Error::AllocationFailed) for a result that
    /// memory cannot hold.
    ///
    /// # Examples
    /// ```
    /// use ndarray::array;
    /// use opkernels::GatherNdExt;
    ///
    /// let data = array![[0, 1], [2, 3]];
    /// let elements = data.gather_nd(&array![[0, 0], [1, -1]])?;
    /// assert_eq!(elements, array![0, 3].into_dyn());
    ///
    /// let rows = data.gather_nd(&array![[1], [0]])?;
    /// assert_eq!(rows, array![[2, 3], [0, 1]].into_dyn());
    ///
    /// let error = data.gather_nd(&array![[0, 0], [1, 5]]).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "index 5 at indices[1, 1] is out of bounds for axis 1 of length 2 (expected -2..=1)"
    /// );
    /// # Ok::<(), opkernels::Error>(())
    /// ```
    ///
    /// # Complexity
    /// O(output elements + indices), in parallel where the output is large.
    /// `self` is not copied, unless its rows are not contiguous, as those of a transposed
    /// array, and the output has at least as many elements; then it may be. Elements
    /// that need dropping (`String`, `Vec`) are cloned from an array of references,
    /// one for each element of the result.
    ///
    /// # Specification
    /// ONNX GatherND 13 and OpenVINO GatherND-8 without batch dimensions.
    #[inline]
    fn gather_nd<I>(&self, indices: &I) -> Result<ArrayD<Self::Elem>>
    where
        I: AsIndices + ?Sized,
        Self::Elem: Clone + Send + Sync,
    {
        family::read(&GatherNd::new(), self.as_array(), &indices.hold().indices())
    }

    /// Returns what [`gather_nd`](Self::gather_nd) returns, with batch dimensions
    /// and a choice of what an index out of bounds selects. The attributes are
    /// [`GatherNd`]. With `b` batch dimensions, 0 by default:
    ///
    /// `output[p.., i.., r..] = self[p.., indices[p.., i.., 0], .., indices[p.., i.., k-1], r..]`
    ///
    /// # Shapes
    /// `output.shape = indices.shape[..-1] + self.shape[b + k..]`, in standard layout,
    /// where `k = indices.shape[-1]`, `1 <= k <= self.rank - b`, `b < indices.rank` and
    /// the first `b` lengths of `self` and `indices` are equal.
    ///
    /// # Errors
    /// Those of [`gather_nd`](Self::gather_nd);
    /// [`TupleBatchDimsOutOfRange`](crate::Error::TupleBatchDimsOutOfRange) and
    /// [`BatchShapeMismatch`](crate::Error::BatchShapeMismatch) for batch
    /// dimensions that these shapes exclude;
    /// [`EmptyAxis`](crate::Error::EmptyAxis) for an index that `Clip` or `Wrap`
    /// would map onto an axis of length 0;
    /// [`SkipInGather`](crate::Error::SkipInGather) for `Skip`.
    ///
    /// # Examples
    /// ```
    /// use ndarray::array;
    /// use opkernels::{GatherNd, GatherNdExt, OutOfBounds};
    ///
    /// let data = array![[[0, 1], [2, 3]], [[4, 5], [6, 7]]];
    /// let rows = data.gather_nd_with(&array![[1], [0]], GatherNd::new().batch_dims(1))?;
    /// assert_eq!(rows, array![[2, 3], [4, 5]].into_dyn());
    ///
    /// let or_9 = GatherNd::new().out_of_bounds(OutOfBounds::Fill(9));
    /// assert_eq!(data.gather_nd_with(&array![[1, 1, 0], [0, 2, 0]], or_9)?, array![6, 9].into_dyn());
    /// # Ok::<(), opkernels::Error>(())
    /// ```
    ///
    /// # Complexity
    /// That of [`gather_nd`](Self::gather_nd).
    ///
    /// # Specification
    /// ONNX GatherND 13 and OpenVINO GatherND-8; the latter broadcasts batch
    /// dimensions of length 1, which are not broadcast here.
    #[inline]
    fn gather_nd_with<I>(
        &self,
        indices: &I,
        attributes: impl IntoAttributes<GatherNd<Self::Elem>>,
    ) -> Result<ArrayD<Self::Elem>>
    where
        I: AsIndices + ?Sized,
        Self::Elem: Clone + Send + Sync,
    {
        family::read(&attributes.into_attributes(), self.as_array(), &indices.hold().indices())
    }

    /// Writes what [`gather_nd_with`](Self::gather_nd_with) returns into `out`,
    /// an array of any layout. With `b` batch dimensions, 0 by default:
    ///
    /// `out[p.., i.., r..] = self[p.., indices[p.., i.., 0], .., indices[p.., i.., k-1], r..]`
    ///
    /// # Shapes
    /// `out.shape = indices.shape[..-1] + self.shape[b + k..]`; its rank may be
    /// static or dynamic. `out` may be an array of `MaybeUninit` (see
    /// [`OutputArray`](crate::OutputArray)).
    ///
    /// # Errors
    /// Those of [`gather_nd_with`](Self::gather_nd_with), and
    /// [`OutShapeMismatch`](crate::Error::OutShapeMismatch). No result is allocated: only elements that
    /// need dropping can be [too many](crate::Error::SizeOverflow) or [refused
    /// memory](crate::Error::AllocationFailed), for the references to them. On error `out`
    /// holds what it held before, unless it was not initialised.
    ///
    /// # Examples
    /// ```
    /// use ndarray::{array, Array1};
    /// use opkernels::{GatherNd, GatherNdExt};
    ///
    /// let mut out = Array1::<i32>::zeros(2);
    /// array![[0, 1], [2, 3]].gather_nd_into(&array![[0, 1], [1, 0]], GatherNd::new(), &mut out)?;
    /// assert_eq!(out, array![1, 2]);
    /// # Ok::<(), opkernels::Error>(())
    /// ```
    ///
    /// # Complexity
    /// O(output elements + indices), in parallel where `out` is large.
    /// Where `out` is initialised and an index out of bounds is an error, indices,
    /// unless they are few, are checked in a pass before anything is written.
    /// Work memory is small, except for elements that need dropping (`String`,
    /// `Vec`): these are cloned from an array of references, one for each element
    /// of `out`. Data in rows that are not contiguous, as in a transposed array, may
    /// be copied first if `out` has at least as many elements; so may indices of one
    /// number each that are not contiguous.
    ///
    /// # Specification
    /// ONNX GatherND 13 and OpenVINO GatherND-8.
    #[inline]
    fn gather_nd_into<I, O>(
        &self,
        indices: &I,
        attributes: impl IntoAttributes<GatherNd<Self::Elem>>,
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

impl<T: AsArrayRef + ?Sized> GatherNdExt for T {}
