//! Roll: shift elements circularly along axes.

mod plan;
mod run;

use ndarray::Array;

use crate::arguments::{AsArrayMut, AsArrayRef, IntoAxes, IntoShifts, OutputArray};
use crate::error::{Error, Result};
use crate::memory::roll_inplace;
pub(crate) use run::{copy_in_order, copy_over, standard_copy};

/// Shift elements circularly along axes.
///
/// Shifts are any `i64`, taken modulo the length of their axis. A positive
/// shift moves elements toward larger indices; elements that pass the last
/// position wrap around to the first. A single shift applies to every listed
/// axis, otherwise there is one shift per axis. The shifts of an axis that is
/// listed more than once (by its number from the front or from the end) add
/// up. With an empty list of axes no element moves.
pub trait RollExt: AsArrayRef {
    /// Returns `self` rolled by `shifts` along `axes`:
    ///
    /// `output[.., i, ..] = self[.., (i - shift) mod len, ..]` along each axis.
    ///
    /// # Shapes
    /// `output.shape = self.shape`. The layout is that of `self` where `self`
    /// is contiguous in some order of its axes, else standard (row-major).
    ///
    /// # Errors
    /// [`AxisOutOfBounds`](crate::Error::AxisOutOfBounds);
    /// [`ShiftCountMismatch`](crate::Error::ShiftCountMismatch) for a number
    /// of shifts that is neither one nor the number of axes;
    /// [`SizeOverflow`](crate::Error::SizeOverflow) and
    /// [`AllocationFailed`](crate::Error::AllocationFailed) for a result that
    /// memory cannot hold.
    ///
    /// # Examples
    /// ```
    /// use ndarray::{array, Axis};
    /// use opkernels::RollExt;
    ///
    /// let data = array![[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]];
    /// assert_eq!(data.roll(1, Axis(0))?, array![[10, 11, 12], [1, 2, 3], [4, 5, 6], [7, 8, 9]]);
    /// assert_eq!(
    ///     data.roll([-1, 2], [0, 1])?,
    ///     array![[5, 6, 4], [8, 9, 7], [11, 12, 10], [2, 3, 1]],
    /// );
    /// # Ok::<(), opkernels::Error>(())
    /// ```
    ///
    /// # Complexity
    /// O(elements), one pass however many axes are rolled, in parallel where
    /// the array is large. Elements that need dropping (`String`, `Vec`) are cloned by way of
    /// a temporary array of references, one for each element. Plain elements of a view whose short
    /// rows are not contiguous are copied before rows are rolled: a second pass, and memory for it.
    ///
    /// # Specification
    /// OpenVINO Roll-7.
    #[inline]
    fn roll(
        &self,
        shifts: impl IntoShifts,
        axes: impl IntoAxes,
    ) -> Result<Array<Self::Elem, Self::Dim>>
    where
        Self::Elem: Clone + Send + Sync,
    {
        run::returned(self.as_array(), &shifts, &axes)
    }

    /// Writes `self` rolled by `shifts` along `axes` into `out`, an array of
    /// any layout:
    ///
    /// `out[.., i, ..] = self[.., (i - shift) mod len, ..]` along each axis.
    ///
    /// # Shapes
    /// `out.shape = self.shape`; the rank of `out` may be static or dynamic, and
    /// it may be an array of `MaybeUninit` (see [`OutputArray`](crate::OutputArray)).
    ///
    /// # Errors
    /// [`AxisOutOfBounds`](crate::Error::AxisOutOfBounds),
    /// [`ShiftCountMismatch`](crate::Error::ShiftCountMismatch) and
    /// [`OutShapeMismatch`](crate::Error::OutShapeMismatch). On error `out`
    /// is unchanged. For elements that need dropping also
    /// [`AllocationFailed`](crate::Error::AllocationFailed) and, if an address space
    /// has no room for a reference to each,
    /// [`SizeOverflow`](crate::Error::SizeOverflow).
    ///
    /// # Examples
    /// ```
    /// use ndarray::{array, Array1};
    /// use opkernels::RollExt;
    ///
    /// let mut out = Array1::<i32>::zeros(4);
    /// array![1, 2, 3, 4].roll_into(1, 0, &mut out)?;
    /// assert_eq!(out, array![4, 1, 2, 3]);
    /// # Ok::<(), opkernels::Error>(())
    /// ```
    ///
    /// # Complexity
    /// O(elements), one pass, in parallel where the array is large. Work memory is
    /// small, except for elements that need dropping (`String`, `Vec`): these are cloned by way
    /// of a temporary array of references, one for each element of `out`. Plain elements of a view
    /// whose short rows are not contiguous are copied before rows are rolled, which takes as much
    /// memory as `out`.
    ///
    /// # Specification
    /// OpenVINO Roll-7.
    #[inline]
    fn roll_into<O>(&self, shifts: impl IntoShifts, axes: impl IntoAxes, out: &mut O) -> Result<()>
    where
        O: OutputArray<Self::Elem> + ?Sized,
        Self::Elem: Clone + Send + Sync,
    {
        run::into(self.as_array(), &shifts, &axes, out)
    }

    /// Rolls `self` by `shifts` along `axes` in place. Elements are moved, not
    /// cloned, so they need not be `Clone`.
    ///
    /// `self[.., i, ..]` becomes what `self[.., (i - shift) mod len, ..]` was,
    /// along each axis.
    ///
    /// # Shapes
    /// Any shape and layout, and the array keeps both.
    ///
    /// # Errors
    /// [`AxisOutOfBounds`](crate::Error::AxisOutOfBounds) and
    /// [`ShiftCountMismatch`](crate::Error::ShiftCountMismatch);
    /// [`AllocationFailed`](crate::Error::AllocationFailed) where there is no
    /// memory for the work buffer. On error no element has moved.
    ///
    /// # Examples
    /// ```
    /// use ndarray::array;
    /// use opkernels::RollExt;
    ///
    /// let mut ring = array![1, 2, 3, 4, 5];
    /// ring.roll_inplace(2, -1)?;
    /// assert_eq!(ring, array![4, 5, 1, 2, 3]);
    /// # Ok::<(), opkernels::Error>(())
    /// ```
    ///
    /// # Complexity
    /// O(elements), with work buffers of at most 384 KiB for all threads together, or
    /// of one element where that is larger, in parallel where the array is large. A shared
    /// `ArcArray` is copied first, which for a large one takes longer than
    /// [`roll`](Self::roll).
    ///
    /// # Specification
    /// OpenVINO Roll-7.
    #[inline]
    fn roll_inplace(&mut self, shifts: impl IntoShifts, axes: impl IntoAxes) -> Result<()>
    where
        Self: AsArrayMut,
        Self::Elem: Send,
    {
        let shifts = &plan::shifts(self.as_array().shape(), &shifts, &axes);
        let shifts = shifts.as_ref().map_err(Error::clone)?;
        roll_inplace(self.as_array_mut(), shifts)
    }
}

impl<T: AsArrayRef + ?Sized> RollExt for T {}
