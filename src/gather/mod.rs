//! Gather: take slices along an axis by index.

mod attributes;
mod plan;

pub use attributes::{Gather, GatherArgument};

use ndarray::{Array, ArrayD, DimAdd, Dimension, RemoveAxis};

use crate::arguments::{AsArrayRef, AsIndices, HoldIndices, IntoAttributes, IntoAxis, OutputArray};
use crate::error::Result;
use crate::family;

/// The array that a [`gather`](GatherExt::gather) from an array of dimension `D` by
/// indices of dimension `Q` returns. Its rank is that of `D`, less one, plus that of
/// `Q`.
pub type Gathered<A, D, Q> = Array<A, <<D as Dimension>::Smaller as DimAdd<Q>>::Output>;

/// Take slices along an axis by index.
///
/// [`scatter`](crate::ScatterExt::scatter) is the other direction.
pub trait GatherExt: AsArrayRef {
    /// Returns the slices of `self` along `axis` that `indices` select:
    ///
    /// `output[p.., i.., r..] = self[p.., indices[i..], r..]`
    ///
    /// # Shapes
    /// `output.shape = self.shape[..axis] + indices.shape + self.shape[axis + 1..]`,
    /// in standard (row-major) layout. The rank is static if the ranks of `self`
    /// and `indices` are static and the result has at most six dimensions. 0-d
    /// indices remove the axis.
    ///
    /// # Errors
    /// [`AxisOutOfBounds`](crate::Error::AxisOutOfBounds);
    /// [`IndexOutOfBounds`](crate::Error::IndexOutOfBounds) for an index
    /// outside `-len..=len - 1`;
    /// [`SizeOverflow`](crate::Error::SizeOverflow) and
    /// [`AllocationFailed`](crate::Error::AllocationFailed) for a result that
    /// memory cannot hold.
    ///
    /// # Examples
    /// ```
    /// use ndarray::{array, Axis};
    /// use opkernels::GatherExt;
    ///
    /// let table = array![[1.0, 1.2], [2.3, 3.4], [4.5, 5.7]];
    /// let rows = table.gather(&[2, 0, -1], Axis(0))?;
    /// assert_eq!(rows, array![[4.5, 5.7], [1.0, 1.2], [4.5, 5.7]]);
    ///
    /// let pairs = table.gather(&array![[0, 1], [1, 2]], 0)?;
    /// assert_eq!(pairs.shape(), [2, 2, 2]);
    ///
    /// let last_column = table.gather(&1, -1)?;
    /// assert_eq!(last_column, array![1.2, 3.4, 5.7]);
    /// # Ok::<(), opkernels::Error>(())
    /// ```
    ///
    /// # Complexity
    /// O(output elements + indices), in parallel where the output is large. `self`
    /// is not copied, unless its rows are not contiguous, as those of a transposed
    /// array, and the output has at least as many elements; then it may be. So may
    /// indices that are not contiguous, as columns of a table. Elements
    /// that need dropping (`String`, `Vec`) are cloned from an array of references,
    /// one for each element of the result.
    ///
    /// # Specification
    /// ONNX Gather 13 (and 11, 1).
    #[inline]
    fn gather<I>(
        &self,
        indices: &I,
        axis: impl IntoAxis,
    ) -> Result<Gathered<Self::Elem, Self::Dim, I::Dim>>
    where
        I: AsIndices + ?Sized,
        Self::Elem: Clone + Send + Sync,
        Self::Dim: RemoveAxis,
        <Self::Dim as Dimension>::Smaller: DimAdd<I::Dim>,
    {
        family::read(&Gather::along(axis), self.as_array(), &indices.hold().indices())
    }

    /// Returns the slices of `self` that `indices` select, with batch dimensions
    /// and a choice of what an index out of bounds selects. The attributes are an
    /// axis or [`Gather`]. With `b` batch dimensions, 0 by default:
    ///
    /// `output[p.., i_b.., r..] = self[p.., indices[p_0, .., p_{b-1}, i_b..], r..]`
    ///
    /// # Shapes
    /// `output.shape = self.shape[..axis] + indices.shape[b..] + self.shape[axis + 1..]`,
    /// in standard layout. The rank depends on `b`, so the result is an
    /// [`ArrayD`]; `.into_dimensionality::<Ix2>()` gives it a static rank
    /// without a copy.
    ///
    /// # Errors
    /// Those of [`gather`](Self::gather);
    /// [`BatchDimsOutOfRange`](crate::Error::BatchDimsOutOfRange) unless
    /// `b <= min(self.rank, indices.rank)`,
    /// [`BatchDimsBeyondAxis`](crate::Error::BatchDimsBeyondAxis) unless
    /// `b <= axis`, and [`BatchShapeMismatch`](crate::Error::BatchShapeMismatch)
    /// unless the first `b` lengths of `self` and `indices` are equal;
    /// [`EmptyAxis`](crate::Error::EmptyAxis) for an index that `Clip` or `Wrap`
    /// would map onto an axis of length 0;
    /// [`SkipInGather`](crate::Error::SkipInGather) for `Skip`.
    ///
    /// # Examples
    /// ```
    /// use ndarray::array;
    /// use opkernels::{Gather, GatherExt, OutOfBounds};
    ///
    /// let data = array![[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]];
    /// let indices = array![[0, 0, 4], [4, 0, 99]];
    /// let attributes = Gather::along(1).batch_dims(1).out_of_bounds(OutOfBounds::Fill(0));
    /// let output = data.gather_with(&indices, attributes)?;
    /// assert_eq!(output, array![[1, 1, 5], [10, 6, 0]].into_dyn());
    /// # Ok::<(), opkernels::Error>(())
    /// ```
    ///
    /// # Complexity
    /// That of [`gather`](Self::gather).
    ///
    /// # Specification
    /// OpenVINO Gather-8 ([`Gather::openvino`] treats indices out of bounds as it
    /// does) and ONNX Gather 13.
    #[inline]
    fn gather_with<I>(
        &self,
        indices: &I,
        attributes: impl IntoAttributes<Gather<Self::Elem>>,
    ) -> Result<ArrayD<Self::Elem>>
    where
        I: AsIndices + ?Sized,
        Self::Elem: Clone + Send + Sync,
    {
        family::read(&attributes.into_attributes(), self.as_array(), &indices.hold().indices())
    }

    /// Writes what [`gather_with`](Self::gather_with) returns into `out`, an
    /// array of any layout. With `b` batch dimensions, 0 by default:
    ///
    /// `out[p.., i_b.., r..] = self[p.., indices[p_0, .., p_{b-1}, i_b..], r..]`
    ///
    /// # Shapes
    /// `out.shape = self.shape[..axis] + indices.shape[b..] + self.shape[axis + 1..]`;
    /// its rank may be static or dynamic. `out` may be an array of `MaybeUninit`
    /// (see [`OutputArray`](crate::OutputArray)), so that fresh memory need not be
    /// cleared first.
    ///
    /// # Errors
    /// Those of [`gather_with`](Self::gather_with), and
    /// [`OutShapeMismatch`](crate::Error::OutShapeMismatch). No result is allocated: only elements that
    /// need dropping can be [too many](crate::Error::SizeOverflow) or [refused
    /// memory](crate::Error::AllocationFailed), for the references to them. On error `out`
    /// holds what it held before, unless it was not initialised.
    ///
    /// # Examples
    /// ```
    /// use ndarray::{array, Array2};
    /// use opkernels::{Gather, GatherExt, OutOfBounds};
    ///
    /// let table = array![[1, 2], [3, 4], [5, 6]];
    /// let mut out = Array2::<i32>::zeros((2, 2));
    /// table.gather_into(&[2, 0], 0, &mut out)?;
    /// assert_eq!(out, array![[5, 6], [1, 2]]);
    ///
    /// let nearest = Gather::along(0).out_of_bounds(OutOfBounds::Clip);
    /// table.gather_into(&[1, 9], nearest, &mut out)?;
    /// assert_eq!(out, array![[3, 4], [5, 6]]);
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
    /// be copied first if `out` has at least as many elements; so may indices that are
    /// not contiguous, as columns of a table.
    ///
    /// # Specification
    /// OpenVINO Gather-8 and ONNX Gather 13.
    #[inline]
    fn gather_into<I, O>(
        &self,
        indices: &I,
        attributes: impl IntoAttributes<Gather<Self::Elem>>,
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

impl<T: AsArrayRef + ?Sized> GatherExt for T {}
