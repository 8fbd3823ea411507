//! Indices that are checked once and used many times.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use ndarray::{Array1, Dimension, Ix1};

use super::{OutOfBounds, Policy};
use crate::arguments::{AsIndices, Hold, HoldIndices};
use crate::error::{Error, Result};
use crate::memory::{Indices, Lens, Positions, Viewed, to_vec};

/// Indices that have been checked once, for calls that use the same
/// indices many times: the edges of a graph, the cells of a mesh, the bins of
/// particles, the windows of a layer.
///
/// A plan can be passed instead of its indices to every operation and form that
/// selects along axes of the length that the plan was made for, and gives
/// results with the same bits: `plan[i..]` stands for `indices[i..]`. No call has
/// a pass over the indices first, and none can fail because of them. A scatter on several
/// threads finds the updates of each thread's targets listed, and a mean of rows finds
/// them counted. A plan is `Send` and `Sync`.
///
/// # Out of bounds
/// A plan decides what is done with indices out of bounds: [`new`](Self::new)
/// refuses them, [`with`](Self::with) and [`tuples`](Self::tuples) take an
/// [`OutOfBounds`]. The attributes of a call either have the same policy or the
/// default, `Error`; a gather by a plan that skips needs `Fill` with the value to
/// fill with. A plan made with `Error` holds only valid indices, so any attributes may be
/// used with it.
///
/// # Errors
/// Calls refuse a plan that was made for an axis of another length
/// ([`PlanLength`](Error::PlanLength)), one of tuples of several numbers where they
/// take none ([`PlanTuples`](Error::PlanTuples)), and one whose policy is neither
/// theirs nor the default ([`PlanOutOfBounds`](Error::PlanOutOfBounds)).
///
/// # Memory
/// 4 bytes for each number of an index; 8 where an axis is longer than
/// 4,294,967,295. Indices of one number that repeat along axes by a stride of 0, or (contiguous ones,
/// more than 1024, in rows of eight or more) along all of their last axes, are stored once. The first
/// scatter that runs on several threads adds 8 bytes for each index, the lists of each thread's updates;
/// the first mean of rows, reduction of rows without initial values, some reductions of half precision and
/// [`counts`](Self::counts) add 4 bytes for each target. A clone is a reference to all of this memory.
///
/// # Examples
/// ```
/// use ndarray::{Axis, array};
/// use opkernels::{GatherExt, IndexPlan, Scatter, ScatterExt};
///
/// // Messages along the edges of a graph, step after step.
/// let (from, to) = ([0, 1, 2, 2], [1, 2, 1, 0]);
/// let mut nodes = array![[1, 10], [2, 20], [3, 30]];
/// let from = IndexPlan::new(&from, nodes.len_of(Axis(0)))?;
/// let to = IndexPlan::new(&to, nodes.len_of(Axis(0)))?;
/// for _ in 0..2 {
///     let messages = nodes.gather(&from, 0)?;
///     nodes.scatter_inplace(&to, &messages, Scatter::sum(0))?;
/// }
/// assert_eq!(nodes, array![[9, 90], [15, 150], [11, 110]]);
/// assert_eq!(to.counts()?, array![1, 2, 1]);
/// # Ok::<(), opkernels::Error>(())
/// ```
pub struct IndexPlan<D = Ix1> {
    positions: Arc<Positions>,
    rank: PhantomData<fn() -> D>,
}

impl<D: Dimension> IndexPlan<D> {
    /// Checks that all indices are in `-len..=len - 1`, along an axis of length
    /// `len`, and stores the positions that they select.
    ///
    /// # Errors
    /// [`IndexOutOfBounds`](Error::IndexOutOfBounds) as a call would return it, but
    /// with axis 0, since a plan does not know the axis; of indices that are a plan,
    /// those of a call with it along an axis of length `len`;
    /// [`AxisTooLong`](Error::AxisTooLong) where `len` is more than `isize::MAX`;
    /// [`AllocationFailed`](Error::AllocationFailed).
    ///
    /// # Examples
    /// ```
    /// use ndarray::{Axis, array};
    /// use opkernels::{GatherExt, IndexPlan};
    ///
    /// let plan = IndexPlan::new(&[2, -1, 0], 3)?;
    /// assert_eq!(array![10, 20, 30].gather(&plan, Axis(0))?, array![30, 30, 10]);
    /// assert!(IndexPlan::new(&[3], 3).is_err());
    /// # Ok::<(), opkernels::Error>(())
    /// ```
    ///
    /// # Complexity
    /// O(indices), in parallel where there are many. Takes less time than a
    /// scatter by these indices of one element each.
    pub fn new<I>(indices: &I, len: usize) -> Result<Self>
    where
        I: AsIndices<Dim = D> + ?Sized,
    {
        Self::with(indices, len, OutOfBounds::Error)
    }

    /// Makes a plan like [`new`](Self::new), with a choice of what is done with an
    /// index out of bounds. For a skipped index a scatter drops the updates, and a
    /// gather fills.
    ///
    /// # Errors
    /// Those of [`new`](Self::new), but `IndexOutOfBounds` only where `out_of_bounds`
    /// is `Error`; [`EmptyAxis`](Error::EmptyAxis) for `Clip` or `Wrap` and a length
    /// of 0.
    ///
    /// # Examples
    /// ```
    /// use ndarray::array;
    /// use opkernels::{Gather, GatherExt, IndexPlan, OutOfBounds, Scatter, ScatterExt};
    ///
    /// // Neighbours of three cells, with a number out of bounds where there is none.
    /// let neighbours = array![[1, i64::MAX], [0, 2], [1, i64::MAX]];
    /// let plan = IndexPlan::with(&neighbours, 3, OutOfBounds::Skip)?;
    ///
    /// let cells = array![1.0, 2.0, 4.0];
    /// let around = cells.gather_with(&plan, Gather::along(0).out_of_bounds(OutOfBounds::Fill(0.0)))?;
    /// assert_eq!(around, array![[2.0, 0.0], [1.0, 4.0], [2.0, 0.0]].into_dyn());
    /// let flows = array![[0.5, 9.0], [0.5, 0.5], [0.5, 9.0]];
    /// assert_eq!(cells.scatter_with(&plan, &flows, Scatter::sum(0))?, array![1.5, 3.0, 4.5]);
    /// # Ok::<(), opkernels::Error>(())
    /// ```
    ///
    /// # Complexity
    /// That of [`new`](Self::new).
    pub fn with<I>(indices: &I, len: usize, out_of_bounds: OutOfBounds) -> Result<Self>
    where
        I: AsIndices<Dim = D> + ?Sized,
    {
        Self::make(indices.hold().indices(), Lens::One(len), out_of_bounds)
    }

    /// Makes a plan of tuples of indices, for `gather_nd` and `scatter_nd`. The last
    /// axis of `indices` holds the numbers of a tuple, which select along axes of the
    /// lengths `lens`.
    ///
    /// # Errors
    /// Those of [`with`](Self::with), in which the axis is the position of the number
    /// in its tuple; [`NoTuples`](Error::NoTuples) for indices without dimensions;
    /// [`PlanTuples`](Error::PlanTuples) unless tuples have one number for each length.
    ///
    /// # Examples
    /// ```
    /// use ndarray::array;
    /// use opkernels::{IndexPlan, OutOfBounds, ScatterNd, ScatterNdExt};
    ///
    /// let cells = array![[0, 1], [1, 0], [0, 1]];
    /// let plan = IndexPlan::tuples(&cells, &[2, 2], OutOfBounds::Error)?;
    /// let mut grid = array![[0, 0], [0, 0]];
    /// grid.scatter_nd_inplace(&plan, &1, ScatterNd::sum())?;
    /// assert_eq!(grid, array![[0, 2], [1, 0]]);
    /// assert_eq!(plan.counts()?, array![0, 2, 1, 0]);
    /// # Ok::<(), opkernels::Error>(())
    /// ```
    ///
    /// # Complexity
    /// O(numbers of the tuples), in parallel where there are many.
    pub fn tuples<I>(indices: &I, lens: &[usize], out_of_bounds: OutOfBounds) -> Result<Self>
    where
        I: AsIndices<Dim = D> + ?Sized,
    {
        let held = indices.hold();
        let indices = held.indices();
        let Some(&numbers) = indices.shape().last() else { return Err(Error::NoTuples) };
        if numbers != lens.len() || numbers == 0 {
            return Err(Error::PlanTuples { numbers, lens: to_vec(lens)? });
        }
        Self::make(indices, Lens::Each(to_vec(lens)?.into()), out_of_bounds)
    }

    fn make(indices: Indices<'_>, lens: Lens, out_of_bounds: OutOfBounds) -> Result<Self> {
        let mut policy = out_of_bounds.writing();
        if let Some(made) = indices.positions() {
            // Its positions stand for indices along the same axes, under its own policy.
            policy = made.check((policy, Policy::name), 0, lens.as_slice())?;
        }
        let positions = Positions::new(indices, lens, policy)?;
        Ok(IndexPlan { positions: Arc::new(positions), rank: PhantomData })
    }

    /// The number of indices that select each position of the axis, or, for tuples,
    /// each element of the axes that they select along, in row-major order.
    ///
    /// # Errors
    /// [`TooMany`](Error::TooMany) for more than 4,294,967,295 indices (a tuple is one) or
    /// positions; [`AllocationFailed`](Error::AllocationFailed).
    ///
    /// # Examples
    /// ```
    /// use ndarray::array;
    /// use opkernels::IndexPlan;
    ///
    /// assert_eq!(IndexPlan::new(&[1, 0, 1], 3)?.counts()?, array![1, 2, 0]);
    /// # Ok::<(), opkernels::Error>(())
    /// ```
    ///
    /// # Complexity
    /// O(indices + positions) in the first call, on one thread; the counts are kept, so
    /// that further calls copy them.
    pub fn counts(&self) -> Result<Array1<u32>> {
        self.positions.counts().and_then(to_vec).map(Array1::from_vec)
    }

    /// The shape of the indices.
    pub fn shape(&self) -> &[usize] {
        self.positions.shape()
    }

    /// Builds now what the first scatter on several threads would build: a list of
    /// each thread's updates, for the number of threads of the current pool. Scatters
    /// in a pool of more threads run without it, and so do all where there is not
    /// enough memory.
    ///
    /// # Complexity
    /// O(indices), in parallel.
    pub fn prepare(&self) {
        self.positions.prepare();
    }
}

impl<D> Clone for IndexPlan<D> {
    fn clone(&self) -> Self {
        IndexPlan { positions: Arc::clone(&self.positions), rank: PhantomData }
    }
}

impl<D> fmt::Debug for IndexPlan<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.positions.describe(&mut f.debug_struct("IndexPlan"))
    }
}

impl<D: Dimension> AsIndices for IndexPlan<D> {
    type Dim = D;
}

impl<D: Dimension> Hold for IndexPlan<D> {
    #[inline]
    fn hold(&self) -> impl HoldIndices {
        self.positions.view()
    }
}

impl<D: Dimension> AsIndices for &IndexPlan<D> {
    type Dim = D;
}

impl<D: Dimension> Hold for &IndexPlan<D> {
    #[inline]
    fn hold(&self) -> impl HoldIndices {
        self.positions.view()
    }
}

impl HoldIndices for Viewed<'_> {
    #[inline]
    fn indices(&self) -> Indices<'_> {
        Viewed::indices(self)
    }
}
