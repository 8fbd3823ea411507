//! What an operation does with an index out of bounds.

use std::convert::Infallible;

use super::Policy;

/// What to do with an index outside `-len..=len - 1`.
///
/// `V` is the element type for a gather, which may [`Fill`](Self::Fill) with a
/// value. A scatter has no use for a value, so there the type is
/// `OutOfBounds<Infallible>`, the default, and `Fill` cannot be written.
///
/// In every mode the indices `-len..=-1` are inside: they count from the end.
/// Where `-1` stands for padding or an ignored label, map it out of bounds
/// first: `ids.mapv(|id| if id < 0 { i64::MAX } else { id })`, or a cast of
/// all `i32` ids by `as u32`.
///
/// ```
/// use ndarray::array;
/// use opkernels::{Gather, GatherExt, OutOfBounds};
///
/// let data = array![10, 20, 30];
/// let taken = |mode| data.gather_with(&[1, 4, -4], Gather::along(0).out_of_bounds(mode));
///
/// assert!(taken(OutOfBounds::Error).is_err());
/// assert_eq!(taken(OutOfBounds::Fill(7))?, array![20, 7, 7].into_dyn());
/// assert_eq!(taken(OutOfBounds::Clip)?, array![20, 30, 10].into_dyn());
/// assert_eq!(taken(OutOfBounds::Wrap)?, array![20, 20, 30].into_dyn());
/// # Ok::<(), opkernels::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OutOfBounds<V = Infallible> {
    /// Refuse the whole operation with
    /// [`Error::IndexOutOfBounds`](crate::Error::IndexOutOfBounds). The
    /// default.
    #[default]
    Error,
    /// Gather only: the slice is filled with this value. OpenVINO Gather-8 is
    /// `Fill` with zero.
    Fill(V),
    /// Scatter only: the update is dropped. Serves padding ids, `-1` excepted
    /// (see above).
    Skip,
    /// The nearest end of the axis: `0` for an index below `-len`, `len - 1`
    /// for one above.
    Clip,
    /// The index modulo the length of the axis.
    Wrap,
}

impl<V> OutOfBounds<V> {
    /// The policy of a gather; `None` for `Skip`, which a gather does not support.
    #[inline]
    pub(crate) fn reading(&self) -> Option<Policy> {
        Some(match self {
            OutOfBounds::Error => Policy::Refuse,
            OutOfBounds::Fill(_) => Policy::Skip,
            OutOfBounds::Skip => return None,
            OutOfBounds::Clip => Policy::Clip,
            OutOfBounds::Wrap => Policy::Wrap,
        })
    }
}

impl OutOfBounds {
    /// The same for a gather of elements of type `V`, where one choice serves gathers
    /// and scatters. A gather refuses [`Skip`](Self::Skip): it has to fill with some
    /// value.
    ///
    /// ```
    /// use ndarray::array;
    /// use opkernels::{Gather, GatherExt, OutOfBounds, Scatter, ScatterExt};
    ///
    /// let choice = OutOfBounds::Clip;
    /// let mut data = array![10, 20, 30];
    /// let last = data.gather_with(&[7], Gather::along(0).out_of_bounds(choice.for_gather()))?;
    /// assert_eq!(last, array![30].into_dyn());
    /// data.scatter_inplace(&[7], &40, Scatter::along(0).out_of_bounds(choice))?;
    /// assert_eq!(data, array![10, 20, 40]);
    /// # Ok::<(), opkernels::Error>(())
    /// ```
    #[must_use]
    pub fn for_gather<V>(self) -> OutOfBounds<V> {
        match self {
            OutOfBounds::Error => OutOfBounds::Error,
            OutOfBounds::Fill(never) => match never {},
            OutOfBounds::Skip => OutOfBounds::Skip,
            OutOfBounds::Clip => OutOfBounds::Clip,
            OutOfBounds::Wrap => OutOfBounds::Wrap,
        }
    }

    /// The policy of a scatter, which skips where a gather cannot.
    pub(crate) fn writing(self) -> Policy {
        self.reading().unwrap_or(Policy::Skip)
    }
}
