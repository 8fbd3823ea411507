//! Results that are filled without being zeroed first.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use ndarray::{Array, ArrayRef, Dimension, ShapeBuilder};

use super::alloc::{expect_large_writes, reserved};
use crate::error::{Error, Result};

/// Makes a lifetime the name of one array: two that are made apart never agree.
type Brand<'id> = PhantomData<fn(&'id ()) -> &'id ()>;

/// An array none of whose elements has been written.
pub(crate) struct Fresh<'id, T, D: Dimension> {
    array: &'id mut ArrayRef<MaybeUninit<T>, D>,
    brand: Brand<'id>,
}

impl<'id, T, D: Dimension> Fresh<'id, T, D> {
    pub(super) fn into_array(self) -> &'id mut ArrayRef<MaybeUninit<T>, D> {
        self.array
    }
}

/// A proof that every element of the [`Fresh`] array of this name has been
/// written.
///
/// Invariant: made in this module's parent alone, by what wrote them.
#[derive(Debug)]
pub(crate) struct Filled<'id>(Brand<'id>);

impl Filled<'_> {
    /// # Safety
    /// Every element of the array that `'id` names holds a value.
    #[allow(unsafe_code)]
    pub(super) unsafe fn promised() -> Self {
        Filled(PhantomData)
    }
}

/// A new array of this shape, whose axes lie in memory in the order and the
/// direction that `strides` has them, or in row-major order, filled by `fill`.
///
/// Where that ends early, by an error or a panic, the memory is freed and no
/// element is dropped.
pub(crate) fn filled<T, D: Dimension>(
    shape: D,
    strides: Option<&[isize]>,
    fill: impl for<'id> FnOnce(Fresh<'id, T, D>) -> Result<Filled<'id>>,
) -> Result<Array<T, D>> {
    let mut made = unwritten(shape, strides);
    let array = made.as_mut().map_err(|error| error.clone())?;
    let Filled(_) = fill(Fresh { array, brand: PhantomData })?;
    // SAFETY: the proof carries the name of this array.
    #[allow(unsafe_code)]
    made.map(|array| unsafe { array.assume_init() })
}

/// Memory for an array, apart from [`filled`] so that it is compiled once for
/// each type of elements and not for each call.
#[inline(never)]
fn unwritten<T, D: Dimension>(
    shape: D,
    strides: Option<&[isize]>,
) -> Result<Array<MaybeUninit<T>, D>> {
    let len = checked_len(shape.slice(), size_of::<T>())?;
    let mut elements = reserved::<MaybeUninit<T>>(len)?;
    expect_large_writes(elements.as_mut_ptr().cast(), len * size_of::<T>());
    // SAFETY: there is room for `len`, and `MaybeUninit` needs no value.
    #[allow(unsafe_code)]
    unsafe {
        elements.set_len(len);
    }
    arrange(elements, shape, strides)
}

/// An array laid out like one of references, with clones of what they refer to.
///
/// Elements that need dropping come this way: a vector owns what a panic leaves.
pub(crate) fn cloned<T: Clone, D: Dimension>(references: &Array<&T, D>) -> Result<Array<T, D>> {
    let len = checked_len(references.shape(), size_of::<T>())?;
    let mut elements = reserved(len)?;
    match references.as_slice_memory_order() {
        Some(in_memory) => elements.extend(in_memory.iter().copied().cloned()),
        None => elements.extend(references.iter().copied().cloned()),
    }
    let strides = references.as_slice_memory_order().map(|_| references.strides());
    arrange(elements, references.raw_dim(), strides)
}

/// Lays `shape` over as many elements in the order of memory, with strides of
/// the same order and signs as these.
///
/// Private to this module, whose callers have counted the elements by
/// [`checked_len`].
fn arrange<T, D: Dimension>(
    elements: Vec<T>,
    shape: D,
    strides: Option<&[isize]>,
) -> Result<Array<T, D>> {
    assert_eq!(elements.len(), shape.size(), "a shape has a place for every element");
    let Some(strides) = strides.filter(|_| !elements.is_empty()) else {
        // SAFETY: there are as many elements as the shape has places, and no
        // product of its lengths overflows (`checked_len`).
        #[allow(unsafe_code)]
        return Ok(unsafe { Array::from_shape_vec_unchecked(shape, elements) });
    };
    let lengths = shape.clone();
    let mut magnitudes = shape.clone();
    for (magnitude, stride) in magnitudes.slice_mut().iter_mut().zip(strides) {
        *magnitude = stride.unsigned_abs();
    }
    let laid = Array::from_shape_vec(shape.strides(magnitudes), elements);
    // Only a shape that does not fit its elements is refused.
    let mut array = laid.map_err(|_| Error::SizeOverflow {
        shape: lengths.slice().to_vec(),
        element_size: size_of::<T>(),
    })?;
    for (axis, _) in strides.iter().enumerate().filter(|(_, stride)| **stride < 0) {
        array.invert_axis(ndarray::Axis(axis));
    }
    Ok(array)
}

/// The number of elements of an array of `shape`, where neither it nor the
/// number of bytes overflows what an allocation may hold. As ndarray demands,
/// the lengths that are not 0 must fit by themselves.
fn checked_len(shape: &[usize], size: usize) -> Result<usize> {
    let too_large = || Error::SizeOverflow { shape: shape.to_vec(), element_size: size };
    let mut nonzero = 1_usize;
    for &len in shape {
        nonzero = nonzero.checked_mul(len.max(1)).ok_or_else(too_large)?;
    }
    let bytes = nonzero.checked_mul(size.max(1)).ok_or_else(too_large)?;
    if bytes > isize::MAX as usize {
        return Err(too_large());
    }
    Ok(if shape.contains(&0) { 0 } else { nonzero })
}
