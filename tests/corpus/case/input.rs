//! Arrays to be read, at any strides.

use ndarray::{ArrayD, ArrayViewD, Axis, Dim, ShapeBuilder};

use super::bytes::Bytes;
use crate::common::{Numbers, Value};

/// As many bytes do not fit between two elements.
const FAR: usize = isize::MAX as usize / 2 + 1;

/// A view of any strides, positive, negative or zero, where elements may
/// overlap. It reaches both ends of its buffer, so that reading beyond it is
/// reading beyond an allocation.
#[derive(Debug, Clone)]
pub(crate) struct Input<A> {
    buffer: Vec<A>,
    shape: Vec<usize>,
    strides: Vec<usize>,
    reversed: Vec<bool>,
}

impl<A: Value> Input<A> {
    pub(crate) fn new(
        shape: &[usize],
        bytes: &mut Bytes<'_>,
        element: impl FnMut(&mut Bytes<'_>) -> A,
    ) -> Self {
        let strides = strides(shape, bytes);
        Self::with_strides(shape, strides, bytes, element)
    }

    /// With one element at all places of every axis but one.
    pub(crate) fn along(
        axis: usize,
        shape: &[usize],
        bytes: &mut Bytes<'_>,
        element: impl FnMut(&mut Bytes<'_>) -> A,
    ) -> Self {
        let strides = (0..shape.len()).map(|k| usize::from(k == axis)).collect();
        Self::with_strides(shape, strides, bytes, element)
    }

    fn with_strides(
        shape: &[usize],
        strides: Vec<usize>,
        bytes: &mut Bytes<'_>,
        mut element: impl FnMut(&mut Bytes<'_>) -> A,
    ) -> Self {
        let mut strides = strides;
        if bytes.once_in(8) {
            // Where there is no next element, one may be any number of steps away.
            let alone = |k: &usize| shape[*k] == 1;
            (0..shape.len()).filter(alone).for_each(|k| strides[k] = FAR + k);
        }
        let reversed = if bytes.once_in(3) { bytes.byte() } else { 0 };
        // Of axes beyond the eighth none.
        let reversed = (0..shape.len() as u32)
            .map(|k| reversed.checked_shr(k).is_some_and(|bits| bits & 1 == 1))
            .collect();
        let last: usize = shape.iter().zip(&strides).map(|(n, s)| n.saturating_sub(1) * s).sum();
        let len = if shape.contains(&0) { last } else { last + 1 };
        let buffer = (0..len).map(|_| element(bytes)).collect();
        Input { buffer, shape: shape.to_vec(), strides, reversed }
    }

    /// Elements that a seed decides.
    pub(crate) fn of_values(shape: &[usize], bytes: &mut Bytes<'_>) -> Self {
        let mut numbers = Numbers(bytes.byte().into());
        Self::new(shape, bytes, |_| A::from_number(numbers.next()))
    }

    pub(crate) fn view(&self) -> ArrayViewD<'_, A> {
        let shape = Dim(self.shape.clone()).strides(Dim(self.strides.clone()));
        let mut view = ArrayViewD::from_shape(shape, &self.buffer).expect("the buffer holds it");
        for (k, _) in self.reversed.iter().enumerate().filter(|(_, reversed)| **reversed) {
            view.invert_axis(Axis(k));
        }
        view
    }

    /// What the view shows, in standard layout.
    pub(crate) fn contents(&self) -> ArrayD<A> {
        ArrayD::from_shape_vec(self.shape.clone(), self.view().iter().cloned().collect())
            .expect("one element for each place")
    }
}

/// Strides for an array of this shape.
fn strides(shape: &[usize], bytes: &mut Bytes<'_>) -> Vec<usize> {
    let rank = shape.len();
    let kind = bytes.below(8);
    let mut order: Vec<usize> = (0..rank).collect();
    if kind % 4 == 1 {
        order.reverse();
    } else if kind % 4 == 2 {
        for k in 1..rank {
            order.swap(k, bytes.below(k + 1));
        }
    }
    // One axis steps over elements.
    let (stepped, step) = match kind {
        4..=6 if rank > 0 => (bytes.below(rank), 2 + bytes.below(3)),
        _ => (rank, 1),
    };
    let mut strides = vec![0; rank];
    let mut next = 1;
    for &k in order.iter().rev() {
        strides[k] = if k == stepped { next * step } else { next };
        next = strides[k] * shape[k].max(1);
    }
    match kind {
        // Overlapping, as the windows of a line are.
        3 => strides.iter_mut().for_each(|stride| *stride = bytes.below(4)),
        // Broadcast along some axes.
        7 => {
            let mask = bytes.byte();
            (0..rank).filter(|k| mask >> (k % 8) & 1 == 1).for_each(|k| strides[k] = 0);
        }
        _ => {}
    }
    strides
}
