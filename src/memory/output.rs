//! Results that are filled without being zeroed first.

use std::mem::{self, MaybeUninit};
use std::sync::atomic::{AtomicUsize, Ordering};

use ndarray::{Array, ArrayViewMut, Dimension, ShapeBuilder};

use super::advice;
use crate::error::{Error, Result};
use crate::geometry::checked_len;

/// Counts the elements of a destination that have been written.
#[derive(Debug, Default)]
pub(crate) struct Written(AtomicUsize);

impl Written {
    /// Only the jobs in this module call it, each once it has written
    /// `elements` elements that no other job writes.
    #[inline]
    pub(super) fn add(&self, elements: usize) {
        // The threads that run jobs are joined before anybody reads the sum,
        // so the order of these additions does not matter.
        self.0.fetch_add(elements, Ordering::Relaxed);
    }
}

/// Whether the memory of a destination has been written to before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pages {
    /// The system clears each page when it is first written to.
    Fresh,
    /// It has, or the allocator may have handed them out before.
    Mapped,
}

/// An array whose elements are not written yet.
///
/// Its elements are never dropped before [`filled`](Self::filled) says that
/// all of them are there: dropped halfway, it frees its memory and no more.
#[derive(Debug)]
pub(crate) struct Output<T, D: Dimension> {
    array: Array<MaybeUninit<T>, D>,
}

impl<T, D: Dimension> Output<T, D> {
    /// Memory for an array of this shape, whose axes lie in memory in the
    /// order that `strides` has them, or in row-major order.
    pub(crate) fn new(shape: D, strides: Option<&[isize]>) -> Result<Self> {
        let len = checked_len::<T>(shape.slice())?;
        let bytes = len * size_of::<T>();
        let mut elements = Vec::<MaybeUninit<T>>::new();
        elements.try_reserve_exact(len).map_err(|_| Error::AllocationFailed { bytes })?;
        advice::expect_large_writes(elements.as_mut_ptr(), bytes);
        Ok(Output { array: arrange(with_len(elements, len), shape, strides)? })
    }

    pub(crate) fn pages(&self) -> Pages {
        /// From this many bytes on the common allocators return memory to the
        /// system as soon as it is freed.
        const RETURNED: usize = 32 << 20;
        let bytes = self.array.len().saturating_mul(size_of::<T>());
        if bytes >= RETURNED { Pages::Fresh } else { Pages::Mapped }
    }

    pub(crate) fn view_mut(&mut self) -> ArrayViewMut<'_, MaybeUninit<T>, D> {
        self.array.view_mut()
    }

    /// The finished array.
    #[allow(unsafe_code)]
    pub(crate) fn filled(self, written: &Written) -> Array<T, D> {
        assert_eq!(written.0.load(Ordering::Relaxed), self.array.len(), "a result has gaps");
        // SAFETY: jobs write disjoint parts of a destination, and each adds
        // the elements it wrote once (`Written::add`). Their sum is the number
        // of elements, so every element is initialised.
        unsafe { self.array.assume_init() }
    }
}

#[allow(unsafe_code)]
fn with_len<T>(mut elements: Vec<MaybeUninit<T>>, len: usize) -> Vec<MaybeUninit<T>> {
    debug_assert!(len <= elements.capacity());
    // SAFETY: the capacity is at least `len`, reserved by the caller, and
    // `MaybeUninit` needs no initialisation.
    unsafe { elements.set_len(len) };
    elements
}

/// Lays `shape` over the elements, with strides of the same order and signs.
fn arrange<T, D: Dimension>(
    elements: Vec<MaybeUninit<T>>,
    shape: D,
    strides: Option<&[isize]>,
) -> Result<Array<MaybeUninit<T>, D>> {
    // Only a shape that does not fit its elements is refused, and `elements`
    // was counted from the shape.
    let too_large = |shape: &D| Error::SizeOverflow {
        shape: shape.slice().to_vec(),
        element_size: size_of::<T>(),
    };
    let Some(strides) = strides.filter(|_| !elements.is_empty()) else {
        let lengths = shape.clone();
        return Array::from_shape_vec(shape, elements).map_err(|_| too_large(&lengths));
    };
    let lengths = shape.clone();
    let mut magnitudes = shape.clone();
    for (magnitude, stride) in magnitudes.slice_mut().iter_mut().zip(strides) {
        *magnitude = stride.unsigned_abs();
    }
    let laid = Array::from_shape_vec(shape.strides(magnitudes), elements);
    let mut array = laid.map_err(|_| too_large(&lengths))?;
    for (axis, _) in strides.iter().enumerate().filter(|(_, stride)| **stride < 0) {
        array.invert_axis(ndarray::Axis(axis));
    }
    Ok(array)
}

/// The elements of `out` as a destination that is written without dropping
/// what it holds, which needs no dropping.
#[allow(unsafe_code)]
pub(crate) fn overwritable<T, D: Dimension>(
    mut out: ArrayViewMut<'_, T, D>,
) -> ArrayViewMut<'_, MaybeUninit<T>, D> {
    assert!(!mem::needs_drop::<T>());
    let raw = out.raw_view_mut().cast::<MaybeUninit<T>>();
    // SAFETY: `out` is borrowed for as long as the result. The jobs that write
    // through it write nothing but whole values of `T`, so its elements are
    // valid whenever they are looked at again.
    unsafe { raw.deref_into_view_mut() }
}
