//! Strided arrays without their element types.
//!
//! Everything below the traits is compiled once, in this crate, since it sees arrays as bytes: a
//! pointer to the first element, lengths, strides, and the size of an element. Such an array is
//! made from an ndarray, or of contiguous elements of ours by unsafe code, so every element that its
//! shape describes is in memory that it borrows.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use ndarray::{ArrayRef, Dimension};

/// One or several axes of an array, whose elements are evenly spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) len: usize,
    /// The distance in bytes from one element to the next; not used if there is only one.
    pub(super) step: isize,
}

impl Block {
    /// No axis.
    pub(super) const ONE: Self = Block { len: 1, step: 0 };

    /// This block, once for each element of another one: together one block, if they are.
    #[inline(always)]
    pub(super) fn within(self, around: Self) -> Option<Self> {
        match (self.len, around.len) {
            (_, 1) => Some(self),
            (1, _) => Some(around),
            _ => (around.step == self.step.wrapping_mul(self.len as isize))
                .then(|| Block { len: self.len.wrapping_mul(around.len), ..self }),
        }
    }
}

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

    /// The axes before each of these `ends`, from the end before it on, as one [`Block`] each; `None` if the
    /// elements of one are not evenly spaced, or if the numbers do not ascend to that of all axes.
    #[inline(always)]
    pub(super) fn blocks<const N: usize>(&self, ends: [usize; N]) -> Option<[Block; N]> {
        let (shape, strides) = (self.shape, self.strides);
        let mut axis = shape.len();
        if ends.last() != Some(&axis) || strides.len() != axis || self.repeats_from < axis {
            return None;
        }
        let mut blocks = [Block::ONE; N];
        for number in (0..N).rev() {
            let first = if number == 0 { 0 } else { ends[number - 1] };
            if first > axis {
                return None;
            }
            let mut block = Block::ONE;
            while axis > first {
                axis -= 1;
                block = block.within(Block { len: shape[axis], step: strides[axis] })?;
            }
            blocks[number] = Block { step: block.step.wrapping_mul(self.size as isize), ..block };
        }
        Some(blocks)
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

    /// The array as one that is read.
    ///
    /// # Safety
    /// Any thread may read the elements, and none writes them for as long as the result is used.
    #[allow(unsafe_code)]
    pub(super) unsafe fn to_read(&self) -> Strided<'_> {
        Strided { start: self.start, layout: self.layout }
    }

    pub(crate) fn layout(&self) -> &Layout<'a> {
        &self.layout
    }
}
