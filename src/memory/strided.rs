//! Strided arrays without their types.
//!
//! Everything below the traits is compiled once, in this crate, because it sees
//! arrays as bytes: where the first element lies, lengths, strides, and how many
//! bytes an element takes. Such an array is made from an ndarray and from
//! nothing else, so every element that its shape names lies in memory that it
//! borrows.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use ndarray::{ArrayRef, Dimension};

/// Lengths and strides of an array.
///
/// Invariant: they are those of an ndarray that is borrowed for `'a`, whose
/// elements have `size` bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout<'a> {
    shape: &'a [usize],
    strides: &'a [isize],
    size: usize,
    /// From this axis on elements repeat: each is taken for the first along
    /// the axis.
    repeats_from: usize,
}

impl<'a> Layout<'a> {
    fn new(shape: &'a [usize], strides: &'a [isize], size: usize) -> Self {
        Layout { shape, strides, size, repeats_from: usize::MAX }
    }

    /// The layout of the same array, of which only the first elements along
    /// each axis from this one on are looked at.
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

    /// Bytes from one element to the next along an axis; 0 where there is no
    /// next one, because ndarray permits any stride there.
    ///
    /// It does not overflow: ndarray keeps the distance of any two elements of
    /// an array below `isize::MAX` bytes. Only in an array without elements can
    /// it be wrong, and nobody takes a step there.
    #[inline]
    pub(super) fn stride(&self, axis: usize) -> isize {
        if self.shape[axis] <= 1 || axis >= self.repeats_from {
            return 0;
        }
        self.strides[axis].wrapping_mul(self.size as isize)
    }

    /// Whether elements follow each other in row-major order.
    pub(super) fn is_dense(&self) -> bool {
        self.dense_bytes().is_some()
    }

    /// How many bytes the elements have, where they follow each other in row-major order.
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

    /// The products of the lengths before, between and behind these axes, which rise; nothing
    /// where elements do not follow each other in the order of the axes.
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

    /// Length by length: a comparison of memory would wait for shapes that have just been written.
    #[inline]
    pub(super) fn is_shaped_like(&self, other: &Layout<'_>) -> bool {
        self.shape.iter().eq(other.shape)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// How many elements there are. The product of an ndarray's lengths does
    /// not overflow.
    pub(crate) fn len(&self) -> usize {
        self.shape.iter().product()
    }
}

/// An array that is read.
///
/// Invariant: `start` is the first element of the array of `layout`, whose
/// elements can be read for `'a`, by any thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Strided<'a> {
    start: *const u8,
    layout: Layout<'a>,
}

// SAFETY: a shared borrow of elements that are `Sync` (`of` asks for it).
#[allow(unsafe_code)]
unsafe impl Sync for Strided<'_> {}

impl<'a> Strided<'a> {
    #[inline]
    pub(crate) fn of<T: Sync, D: Dimension>(array: &'a ArrayRef<T, D>) -> Self {
        let layout = Layout::new(array.shape(), array.strides(), size_of::<T>());
        Strided { start: array.as_ptr().cast(), layout }
    }

    pub(super) fn start(&self) -> *const u8 {
        self.start
    }

    pub(crate) fn layout(&self) -> &Layout<'a> {
        &self.layout
    }

    /// The same array, of which only the first elements along each axis from
    /// this one on are looked at.
    pub(super) fn repeating_from(self, axis: usize) -> Self {
        Strided { layout: self.layout.repeating_from(axis), ..self }
    }
}

/// An array that is written.
///
/// Invariant: that of [`Strided`], and nothing else reads or writes the
/// elements for `'a`. No two of them share a byte, since ndarray lends no
/// mutable view where they do.
#[derive(Debug)]
pub(crate) struct StridedMut<'a> {
    start: *mut u8,
    layout: Layout<'a>,
    borrow: PhantomData<&'a mut [MaybeUninit<u8>]>,
}

// SAFETY: an exclusive borrow of elements that are `Send` (`of` asks for it).
// Those who share it write through the pointer by unsafe code alone, which says
// why no two threads touch one element.
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
