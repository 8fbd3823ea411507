//! Strided arrays without their element types.
//!
//! Everything below the traits is compiled once, in this crate, since it sees arrays as bytes: a
//! pointer to the first element, lengths, strides, and the size of an element. Such an array is
//! made from an ndarray, or of contiguous elements of ours by unsafe code, so every element that its
//! shape describes is in memory that it borrows.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use ndarray::{ArrayRef, Dimension};

/// The shape, strides and element size of an array.
///
/// Invariant: they are those of an ndarray that is borrowed for `'a`, whose elements have `size`
/// bytes, or of as many contiguous elements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout<'a> {
    shape: &'a [usize],
    /// In elements.
    strides: &'a [isize],
    size: usize,
    /// The first axis of those whose stride is taken to be 0, since elements repeat along them.
    repeats_from: usize,
}

impl<'a> Layout<'a> {
    fn new(shape: &'a [usize], strides: &'a [isize], size: usize) -> Self {
        Layout { shape, strides, size, repeats_from: usize::MAX }
    }

    /// This layout with a stride of 0 along all axes from `axis` on: only the first element along
    /// each of them is read.
    pub(super) fn repeating_from(self, axis: usize) -> Self {
        Layout { repeats_from: axis, ..self }
    }

    pub(crate) fn shape(&self) -> &'a [usize] {
        self.shape
    }

    /// The size of an element in bytes.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// The stride of an axis in bytes; 0 for an axis of at most one element, where ndarray permits
    /// any stride.
    ///
    /// The product does not overflow: ndarray keeps the distance between any two elements of an
    /// array below `isize::MAX` bytes. Only in an array without elements can it wrap around, and
    /// the stride is not used there.
    #[inline]
    pub(super) fn stride(&self, axis: usize) -> isize {
        if self.shape[axis] <= 1 || axis >= self.repeats_from {
            return 0;
        }
        self.strides[axis].wrapping_mul(self.size as isize)
    }

    /// Whether the array is dense: contiguous in row-major order.
    pub(super) fn is_dense(&self) -> bool {
        self.dense_bytes().is_some()
    }

    /// The size of the array in bytes, if it is dense.
    pub(super) fn dense_bytes(&self) -> Option<usize> {
        let mut count = 1_usize;
        for (&len, &stride) in self.shape.iter().zip(self.strides).rev() {
            if len != 1 && stride != count as isize {
                return None;
            }
            count = count.wrapping_mul(len);
        }
        (self.repeats_from >= self.shape.len()).then_some(count.wrapping_mul(self.size))
    }

    /// The array as one of four axes, merged from its own: the products of the lengths before,
    /// between and behind the three `axes`, which ascend and may be past the last axis. `None` if
    /// the array is not dense.
    #[inline]
    pub(super) fn blocks(&self, axes: [usize; 3]) -> Option<[usize; 4]> {
        let (shape, strides, mut end) = (self.shape, self.strides, self.shape.len());
        if strides.len() != end || self.repeats_from < end {
            return None;
        }
        let mut count = 1_usize;
        let mut block = |start: usize| {
            let behind = count;
            let mut product = 1_usize;
            while end > start {
                end -= 1;
                if shape[end] != 1 && strides[end] != count as isize {
                    return None;
                }
                product = product.wrapping_mul(shape[end]);
                count = behind.wrapping_mul(product);
            }
            Some(product)
        };
        let [first, second, third] = axes;
        let (last, third, second) = (block(third)?, block(second)?, block(first)?);
        Some([block(0)?, second, third, last])
    }

    /// Whether the two shapes are equal. They are compared length by length: the wide loads of a
    /// `memcmp` would wait for lengths that have just been stored (store-to-load forwarding).
    #[inline]
    pub(super) fn is_shaped_like(&self, other: &Layout<'_>) -> bool {
        self.shape.iter().eq(other.shape)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// The number of elements. The product of an ndarray's lengths does not overflow.
    pub(crate) fn len(&self) -> usize {
        self.shape.iter().product()
    }
}

/// An array that is read.
///
/// Invariant: `start` points to the first element of the array of `layout`, whose elements can be
/// read for `'a`, by any thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Strided<'a> {
    start: *const u8,
    layout: Layout<'a>,
}

// SAFETY: it is a shared borrow of elements that are `Sync` (required by `of` and `contiguous`).
#[allow(unsafe_code)]
unsafe impl Sync for Strided<'_> {}

impl<'a> Strided<'a> {
    #[inline]
    pub(crate) fn of<T: Sync, D: Dimension>(array: &'a ArrayRef<T, D>) -> Self {
        let layout = Layout::new(array.shape(), array.strides(), size_of::<T>());
        Strided { start: array.as_ptr().cast(), layout }
    }

    /// A contiguous array of elements of `size` bytes.
    ///
    /// # Safety
    /// So many elements from `start` on can be read for `'a`, by any thread.
    #[allow(unsafe_code)]
    pub(super) unsafe fn contiguous(start: *const u8, len: &'a [usize; 1], size: usize) -> Self {
        Strided { start, layout: Layout::new(len, &[1], size) }
    }

    pub(super) fn start(&self) -> *const u8 {
        self.start
    }

    pub(crate) fn layout(&self) -> &Layout<'a> {
        &self.layout
    }

    /// This array with a stride of 0 along all axes from `axis` on: only the first element along
    /// each of them is read.
    pub(super) fn repeating_from(self, axis: usize) -> Self {
        Strided { layout: self.layout.repeating_from(axis), ..self }
    }
}

/// An array that is written.
///
/// Invariant: that of [`Strided`], and nothing else reads or writes the elements for `'a`. No two
/// elements overlap, since ndarray makes no mutable views of overlapping elements.
#[derive(Debug)]
pub(crate) struct StridedMut<'a> {
    start: *mut u8,
    layout: Layout<'a>,
    borrow: PhantomData<&'a mut [MaybeUninit<u8>]>,
}

// SAFETY: it is an exclusive borrow of elements that are `Send` (required by `of`). Threads that
// share it access the elements only by unsafe code, through the pointer, and that code states why
// no two threads access the same element.
#[allow(unsafe_code)]
unsafe impl Sync for StridedMut<'_> {}

impl<'a> StridedMut<'a> {
    #[inline]
    pub(crate) fn of<T: Send, D: Dimension>(array: &'a mut ArrayRef<T, D>) -> Self {
        let start = array.as_mut_ptr().cast();
        let array: &'a ArrayRef<T, D> = array;
        let layout = Layout::new(array.shape(), array.strides(), size_of::<T>());
        StridedMut { start, layout, borrow: PhantomData }
    }

    pub(super) fn start(&self) -> *mut u8 {
        self.start
    }

    pub(crate) fn layout(&self) -> &Layout<'a> {
        &self.layout
    }
}
