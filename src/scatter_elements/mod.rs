//! Scatter elements: write or reduce updates into an array at indices.

mod attributes;
mod plan;
mod run;

use ndarray::Array;

pub use attributes::{ScatterArgument, ScatterElements};

use crate::arguments::{ArrayLike, AsArrayMut, AsArrayRef, IntoAxis};
use crate::error::Result;
use crate::index::IndexInteger;
use crate::reduction::ReduceElement;

/// Write or reduce updates into an array at indices along an axis.
///
/// Each update goes to the element that has the update's own coordinates,
/// except along the axis, where the index at those coordinates decides:
///
/// `output[.., indices[.., i, ..], ..] = reduction(output[.., indices[.., i, ..], ..], updates[.., i, ..])`
///
/// Updates apply in row-major order of `indices`, so the result is the same to
/// the bit for every number of threads. Where targets repeat under
/// [`Reduction::None`], the last update wins.
pub trait ScatterElementsExt: AsArrayRef {
    /// Returns a copy of `self` with `updates` written over the elements that
    /// `indices` select along `axis`:
    ///
    /// `output[.., indices[.., i, ..], ..] = updates[.., i, ..]`
    ///
    /// # Shapes
    /// `indices.shape == updates.shape`, with the rank of `self`. Off the axis
    /// no length exceeds that of `self`; along it any length will do.
    /// `output.shape = self.shape`, in standard layout.
    ///
    /// # Errors
    /// [`AxisOutOfBounds`](crate::Error::AxisOutOfBounds),
    /// [`RankMismatch`](crate::Error::RankMismatch),
    /// [`UpdatesShapeMismatch`](crate::Error::UpdatesShapeMismatch),
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
        I: ArrayLike<Elem: IndexInteger> + ?Sized,
        U: ArrayLike<Elem = Self::Elem> + ?Sized,
        Self::Elem: Clone + Send + Sync,
    {
        run::overwrite_returned(
            self.as_array(),
            &indices.view(),
            &updates.view(),
            &ScatterElements::along(axis),
        )
    }

    /// Returns a copy of `self` with `updates` reduced into the elements that
    /// `indices` select:
    ///
    /// `output[.., indices[.., i, ..], ..] = reduction(output[.., indices[.., i, ..], ..], updates[.., i, ..])`
    ///
    /// What each reduction means for each element type stands at
    /// [`Reduction`].
    ///
    /// # Shapes
    /// Those of [`scatter_elements`](Self::scatter_elements).
    ///
    /// # Errors
    /// Those of [`scatter_elements`](Self::scatter_elements);
    /// [`UnsupportedReduction`](crate::Error::UnsupportedReduction) for the
    /// mean of `bool` and the minimum or maximum of complex numbers;
    /// [`EmptyAxis`](crate::Error::EmptyAxis) where `Clip` or `Wrap` meet an
    /// axis of length 0.
    ///
    /// # Examples
    /// ```
    /// use ndarray::array;
    /// use opkernels::{Reduction, ScatterElements, ScatterElementsExt};
    ///
    /// let data = array![2, 3, 4, 6];
    /// let indices = [1, 0, 0, -2, -1, 2];
    /// let updates = [10, 20, 30, 40, 70, 60];
    /// let sum = ScatterElements::along(0).reduction(Reduction::Sum);
    /// assert_eq!(data.scatter_elements_with(&indices, &updates, sum)?, array![52, 13, 104, 76]);
    /// # Ok::<(), opkernels::Error>(())
    /// ```
    ///
    /// # Complexity
    /// O(elements + updates), in parallel where there are many lanes. Indices
    /// that are broadcast along the inner axes (stride 0) are never expanded:
    /// each selects a whole row.
    ///
    /// # Specification
    /// OpenVINO ScatterElementsUpdate-12.
    #[inline]
    fn scatter_elements_with<I, U>(
        &self,
        indices: &I,
        updates: &U,
        attributes: ScatterElements,
    ) -> Result<Array<Self::Elem, Self::Dim>>
    where
        I: ArrayLike<Elem: IndexInteger> + ?Sized,
        U: ArrayLike<Elem = Self::Elem> + ?Sized,
        Self::Elem: ReduceElement,
    {
        run::reduce_returned(self.as_array(), &indices.view(), &updates.view(), &attributes)
    }

    /// Reduces `updates` into `self` in place. The attributes are an axis, to
    /// overwrite elements of any `Clone` type, or [`ScatterElements`]:
    ///
    /// `self[.., indices[.., i, ..], ..] = reduction(self[.., indices[.., i, ..], ..], updates[.., i, ..])`
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
    /// use opkernels::{Reduction, ScatterElements, ScatterElementsExt};
    ///
    /// let mut count = array![0, 0, 0];
    /// let sum = ScatterElements::along(0).reduction(Reduction::Sum);
    /// count.scatter_elements_inplace(&[2, 0, 2, 2], &[1; 4], sum)?;
    /// assert_eq!(count, array![1, 0, 3]);
    ///
    /// let mut words = vec!["so", "it", "goes"].into_iter().map(String::from).collect::<ndarray::Array1<_>>();
    /// words.scatter_elements_inplace(&[-1], &["went".to_string()], Axis(0))?;
    /// assert_eq!(words[2], "went");
    /// # Ok::<(), opkernels::Error>(())
    /// ```
    ///
    /// # Complexity
    /// O(updates), whatever the size of `self`. The indices are read twice,
    /// first to check them all; where they take at least twice the memory of
    /// `self`, the work is done on a copy of it instead, which an error
    /// discards. A mean has work memory that follows the number of updates. In
    /// parallel where there are many lanes.
    ///
    /// # Specification
    /// OpenVINO ScatterElementsUpdate-12.
    #[inline]
    fn scatter_elements_inplace<I, U>(
        &mut self,
        indices: &I,
        updates: &U,
        attributes: impl ScatterArgument<Self::Elem>,
    ) -> Result<()>
    where
        Self: AsArrayMut,
        I: ArrayLike<Elem: IndexInteger> + ?Sized,
        U: ArrayLike<Elem = Self::Elem> + ?Sized,
    {
        attributes.scatter(self.as_array_mut(), indices, updates)
    }
}

impl<T: AsArrayRef + ?Sized> ScatterElementsExt for T {}
