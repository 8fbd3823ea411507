//! Scatter by tuples of indices.

mod attributes;
mod plan;

pub use attributes::ScatterNd;

use ndarray::Array;

use crate::arguments::{
    ArrayLike, AsArrayMut, AsArrayRef, AsIndices, HoldIndices, IntoAttributes, Updates,
};
use crate::error::Result;
use crate::family;

/// Write or reduce elements or slices at tuples of indices, whose numbers are
/// indices along the leading axes: the other direction of
/// [`gather_nd`](crate::GatherNdExt::gather_nd), and, as a sum, its gradient.
///
/// Updates apply in row-major order of `indices`, so the result is the same to
/// the bit for every number of threads. Where targets repeat under
/// [`Reduction::None`](crate::Reduction::None), the last update wins.
///
/// `updates` have the shape that `gather_nd` by the same indices returns, or are a
/// single value for every place: `&1.0`, or for other types
/// `&ndarray::arr0(value)`. A single value is never expanded to an array.
pub trait ScatterNdExt: AsArrayRef {
    /// Returns a copy of `self` with `updates` written over the elements or slices
    /// that tuples of `k` numbers select; the last axis of `indices` holds the
    /// numbers of a tuple:
    ///
    /// `output[indices[i.., 0], .., indices[i.., k-1], r..] = updates[i.., r..]`
    ///
    /// # Shapes
    /// `k = indices.shape[-1]`, and `1 <= k <= self.rank`.
    /// `updates.shape = indices.shape[..-1] + self.shape[k..]`, the shape that
    /// `self.gather_nd(indices)` returns, or `updates` are a single value.
    /// `output.shape = self.shape`, in standard (row-major) layout.
    ///
    /// # Errors
    /// [`NoTuples`](crate::Error::NoTuples) for 0-d indices,
    /// [`TupleLengthOutOfRange`](crate::Error::TupleLengthOutOfRange) for
    /// any other `k`, [`UpdatesShape`](crate::Error::UpdatesShape);
    /// [`IndexOutOfBounds`](crate::Error::IndexOutOfBounds) for a number outside
    /// `-len..=len - 1` of its axis: the error names both;
    /// [`SizeOverflow`](crate::Error::SizeOverflow) and
    /// [`AllocationFailed`](crate::Error::AllocationFailed) for a result, or for
    /// the work memory of a mean or of half precision, that memory cannot hold.
    ///
    /// # Examples
    /// ```
    /// use ndarray::{Array2, array};
    /// use opkernels::ScatterNdExt;
    ///
    /// let board = Array2::from_elem((2, 3), '.');
    /// let output = board.scatter_nd(&array![[0, 1], [1, -1]], &['x', 'o'])?;
    /// assert_eq!(output, array![['.', 'x', '.'], ['.', '.', 'o']]);
    ///
    /// let rows = board.scatter_nd(&array![[1]], &array![['a', 'b', 'c']])?;
    /// assert_eq!(rows, array![['.', '.', '.'], ['a', 'b', 'c']]);
    /// # Ok::<(), opkernels::Error>(())
    /// ```
    ///
    /// # Complexity
    /// O(elements + updates), in parallel where the slices are long.
    ///
    /// # Specification
    /// ONNX ScatterND 18 and OpenVINO ScatterNDUpdate-15 without a reduction.
    /// They leave open in which order the updates of one target apply.
    #[inline]
    fn scatter_nd<I, U>(&self, indices: &I, updates: &U) -> Result<Array<Self::Elem, Self::Dim>>
    where
        I: AsIndices + ?Sized,
        U: Updates<Self::Elem> + ?Sized,
        Self::Elem: Clone + Send + Sync,
    {
        family::write(
            &ScatterNd::new(),
            self.as_array(),
            &indices.hold().indices(),
            &updates.updates(),
        )
    }

    /// Returns a copy of `self` with `updates` reduced into the elements or slices
    /// that tuples of `k` numbers select. The attributes are [`ScatterNd`]:
    ///
    /// `output[j.., r..] = reduction(output[j.., r..], updates[i.., r..])`
    /// where `j = indices[i.., 0], .., indices[i.., k-1]`
    ///
    /// [`Reduction`](crate::Reduction) defines each reduction for each element
    /// type.
    ///
    /// # Shapes
    /// Those of [`scatter_nd`](Self::scatter_nd).
    ///
    /// # Errors
    /// Those of [`scatter_nd`](Self::scatter_nd);
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
    /// use opkernels::{ScatterNd, ScatterNdExt};
    ///
    /// let grid = array![[1, 1], [1, 1]];
    /// let output = grid.scatter_nd_with(&array![[0, 1], [0, 1]], &[5, 7], ScatterNd::sum())?;
    /// assert_eq!(output, array![[1, 13], [1, 1]]);
    /// # Ok::<(), opkernels::Error>(())
    /// ```
    ///
    /// # Complexity
    /// O(elements + updates), in parallel where the slices are long, with the
    /// work memory of [`scatter_nd_inplace`](Self::scatter_nd_inplace), but for a copy.
    ///
    /// # Specification
    /// ONNX ScatterND 18 and OpenVINO ScatterNDUpdate-15.
    #[inline]
    fn scatter_nd_with<I, U>(
        &self,
        indices: &I,
        updates: &U,
        attributes: impl IntoAttributes<ScatterNd>,
    ) -> Result<Array<Self::Elem, Self::Dim>>
    where
        I: AsIndices + ?Sized,
        U: Updates<Self::Elem> + ?Sized,
        Self::Elem: Clone + Send + Sync,
    {
        let attributes = attributes.into_attributes();
        family::write(&attributes, self.as_array(), &indices.hold().indices(), &updates.updates())
    }

    /// Reduces `updates` into elements or slices of `self` in place, or, with
    /// [`ScatterNd::new`], overwrites these. The attributes are [`ScatterNd`]:
    ///
    /// `self[j.., r..] = reduction(self[j.., r..], updates[i.., r..])`
    /// where `j = indices[i.., 0], .., indices[i.., k-1]`
    ///
    /// # Shapes
    /// Those of [`scatter_nd`](Self::scatter_nd); `self` may have any layout and
    /// keeps it.
    ///
    /// # Errors
    /// Those of [`scatter_nd_with`](Self::scatter_nd_with). On error `self`
    /// holds what it held before.
    ///
    /// # Examples
    /// ```
    /// use ndarray::{Array2, array};
    /// use opkernels::{ScatterNd, ScatterNdExt};
    ///
    /// let mut grid = Array2::zeros((2, 2));
    /// let cells = array![[0, 1], [1, 1], [0, 1]];
    /// grid.scatter_nd_inplace(&cells, &[0.5, 2.0, 0.25], ScatterNd::sum())?;
    /// assert_eq!(grid, array![[0.0, 0.75], [0.0, 2.0]]);
    /// # Ok::<(), opkernels::Error>(())
    /// ```
    ///
    /// # Complexity
    /// O(updates), whatever the size of `self`, in parallel where the slices
    /// are long. Where an index out of bounds is an error, indices, unless
    /// they are few, are checked in a pass before the first update. Or the work is done
    /// in a copy of `self`, which an error discards: where indices take at least four
    /// times its memory, and where its rows are not contiguous, as in a transposed array,
    /// and there are at least as many updates as elements (of half precision and some means
    /// a quarter as many, or half as many if elements along other axes are farther apart). A
    /// mean, and a reduction of half precision, needs work memory in proportion to the number
    /// of updates or to the length of the axis; for rows of a few elements, and for means of
    /// 64-bit integers, up to 16 bytes for each element of `self`. Indices of one number each that are not
    /// contiguous, and updates that lie transposed, may be copied first. A shared `ArcArray`
    /// is copied first, unless an argument is refused; for a large one, the call takes
    /// about four times as long as [`scatter_nd_with`](Self::scatter_nd_with).
    ///
    /// # Specification
    /// ONNX ScatterND 18 and OpenVINO ScatterNDUpdate-15.
    #[inline]
    fn scatter_nd_inplace<I, U>(
        &mut self,
        indices: &I,
        updates: &U,
        attributes: impl IntoAttributes<ScatterNd>,
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
    /// attributes are [`ScatterNd`], whose reduction is ignored:
    ///
    /// `f(&mut self[indices[i.., 0], .., indices[i.., k-1], r..], &updates[i.., r..])`
    ///
    /// For each target, calls are in row-major order of `indices`.
    /// Elements of `self` and of `updates` may be of any types; neither need be
    /// `Clone`.
    ///
    /// # Shapes
    /// Those of [`scatter_nd`](Self::scatter_nd).
    ///
    /// # Errors
    /// Those of [`scatter_nd_inplace`](Self::scatter_nd_inplace), except
    /// `UnsupportedReduction` and `TooMany`. On error `f` has not been called.
    ///
    /// # Panics
    /// If `f` panics. Elements that it has changed by then stay changed.
    ///
    /// # Examples
    /// ```
    /// use ndarray::{Array2, array};
    /// use opkernels::{ScatterNd, ScatterNdExt};
    ///
    /// let mut lists = Array2::from_elem((2, 2), String::new());
    /// let cells = array![[0, 1], [1, 0], [0, 1]];
    /// lists.scatter_nd_fold(&cells, &["a", "b", "c"], ScatterNd::new(), |list, new| {
    ///     list.push_str(new);
    /// })?;
    /// assert_eq!(lists, array![["", "ac"], ["b", ""]]);
    /// # Ok::<(), opkernels::Error>(())
    /// ```
    ///
    /// # Complexity
    /// O(updates) calls; those for different targets are in parallel where there are
    /// many. Where an index out of bounds is an error, indices, unless they are few, are
    /// checked in a pass before the first call.
    ///
    /// # Specification
    /// None. With a function that adds, the result is that of [`ScatterNd::sum`], but for half
    /// precision, of which a sum rounds once and not at each update.
    #[inline]
    fn scatter_nd_fold<I, U, F>(
        &mut self,
        indices: &I,
        updates: &U,
        attributes: impl IntoAttributes<ScatterNd>,
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

impl<T: AsArrayRef + ?Sized> ScatterNdExt for T {}
