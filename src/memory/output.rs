//! New arrays that are filled without being zeroed first.

use std::marker::PhantomData;
use std::mem::{self, MaybeUninit};

use ndarray::{Array, ArrayRef, Dimension, ShapeBuilder};
use smallvec::SmallVec;

use super::alloc::{expect_large_writes, reserved};
use crate::error::{Error, Result};

/// A brand: an invariant lifetime that identifies one array. The lifetimes of two arrays that are
/// made by different calls never unify.
pub(super) type Brand<'id> = PhantomData<fn(&'id ()) -> &'id ()>;

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

/// A proof that every element of the [`Fresh`] array of this brand has been written.
///
/// Invariant: made only within this module's parent, by the code that has written them.
#[derive(Debug)]
pub(crate) struct Filled<'id>(Brand<'id>);

impl Filled<'_> {
    /// A proof without a check.
    ///
    /// # Safety
    /// Every element of the array of brand `'id` holds a value.
    #[allow(unsafe_code)]
    pub(super) unsafe fn promised() -> Self {
        Filled(PhantomData)
    }
}

/// A new array of this shape, filled by `fill`. In memory its axes have the order and the
/// directions (signs) of `strides`; without `strides` the array is row-major.
///
/// Where `fill` returns an error or panics, the memory is freed and no element is dropped.
pub(crate) fn filled<T, D: Dimension>(
    shape: D,
    strides: Option<&[isize]>,
    fill: impl for<'id> FnOnce(Fresh<'id, T, D>) -> Result<Filled<'id>>,
) -> Result<Array<T, D>> {
    let mut made = unwritten(shape, strides);
    let array = made.as_mut().map_err(|error| error.clone())?;
    let Filled(_) = fill(Fresh { array, brand: PhantomData })?;
    // SAFETY: `fill` has returned a proof of the brand of this array (`Filled`), so every element
    // holds a value.
    #[allow(unsafe_code)]
    made.map(|array| unsafe { array.assume_init() })
}

/// A new array none of whose elements is initialised. Separate from [`filled`] so that it is
/// compiled once for each element type, and not once for each `fill`.
#[inline(never)]
fn unwritten<T, D: Dimension>(
    shape: D,
    strides: Option<&[isize]>,
) -> Result<Array<MaybeUninit<T>, D>> {
    let len = checked_len(shape.slice(), size_of::<T>())?;
    let row_major = row_major(&shape, len);
    let mut elements = reserved::<MaybeUninit<T>>(len)?;
    expect_large_writes(elements.as_mut_ptr().cast(), len * size_of::<T>());
    // SAFETY: the capacity is at least `len` (`reserved`), and a `MaybeUninit` needs no value.
    #[allow(unsafe_code)]
    unsafe {
        elements.set_len(len);
    }
    Ok(with_layout(elements, shape, row_major, strides))
}

/// A new array like that of [`filled`], of clones of the elements to which `fill` writes references.
///
/// For elements that need dropping: if a clone panics, the `Vec` drops those made before.
pub(crate) fn cloned<'t, T: Clone + 't, D: Dimension>(
    shape: D,
    strides: Option<&[isize]>,
    fill: impl for<'id> FnOnce(Fresh<'id, &'t T, D>) -> Result<Filled<'id>>,
) -> Result<Array<T, D>> {
    let len = checked_len(shape.slice(), size_of::<T>())?;
    let references = filled(shape, strides, fill)?;
    let row_major = row_major(&references.raw_dim(), len);
    let mut elements = reserved(len)?;
    match references.as_slice_memory_order() {
        Some(in_memory) => elements.extend(in_memory.iter().copied().cloned()),
        None => elements.extend(references.iter().copied().cloned()),
    }
    let strides = references.as_slice_memory_order().map(|_| references.strides());
    Ok(with_layout(elements, references.raw_dim(), row_major, strides))
}

/// The strides of a row-major array of `shape` and `len` elements; all are 0 where `len` is.
///
/// Callers compute them before they allocate: strides of dynamic rank are moved as a whole, and a
/// processor waits for what it has just written in parts. That takes an eighth of a tiny call.
#[inline]
fn row_major<D: Dimension>(shape: &D, len: usize) -> D {
    let mut strides = shape.clone();
    let mut stride = usize::from(len > 0);
    for slot in strides.slice_mut().iter_mut().rev() {
        stride *= mem::replace(slot, stride);
    }
    strides
}

/// An array of this shape over elements in memory order, with strides of the order and signs of
/// `strides`; without them with the strides `row_major`.
///
/// Private to this module: its callers have computed the number of elements by [`checked_len`],
/// and `row_major` by the function of that name.
#[inline]
fn with_layout<T, D: Dimension>(
    elements: Vec<T>,
    shape: D,
    row_major: D,
    strides: Option<&[isize]>,
) -> Array<T, D> {
    assert_eq!(elements.len(), shape.size(), "a shape has a place for every element");
    let strides = strides.filter(|_| !elements.is_empty());
    let packed = strides.map_or(row_major, |strides| in_order(&shape, strides));
    // SAFETY: the number of elements is that of the shape (asserted above), no product of its
    // lengths overflows (the callers' `checked_len`), and the strides are those of a contiguous array of
    // this shape (`in_order`), row-major (the callers' `row_major`) where some length may be 0.
    #[allow(unsafe_code)]
    let mut array = unsafe { Array::from_shape_vec_unchecked(shape.strides(packed), elements) };
    for (axis, stride) in strides.unwrap_or_default().iter().enumerate() {
        if *stride < 0 {
            array.invert_axis(ndarray::Axis(axis));
        }
    }
    array
}

/// The strides of a contiguous array of `shape`, whose lengths are not 0, with axes in the order of `strides`:
/// inside each axis are those with shorter strides, and of equal ones the later.
fn in_order<D: Dimension>(shape: &D, strides: &[isize]) -> D {
    let mut packed = shape.clone();
    let mut axes: SmallVec<[usize; 8]> = (0..strides.len()).collect();
    axes.sort_by_key(|&axis| (strides[axis].unsigned_abs(), std::cmp::Reverse(axis)));
    let mut stride = 1;
    for axis in axes {
        packed[axis] = stride;
        stride *= shape[axis];
    }
    packed
}

/// The number of elements of an array of `shape`; an error where an allocation cannot hold that
/// many elements of `size` bytes. As ndarray requires, the product of the lengths other than 0
/// must fit even where some length is 0.
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
