//! A source and a destination array of one element type, with the type erased: kernels know only
//! the element's size and how to copy it.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use ndarray::{ArrayRef, Dimension};

use super::{Copier, Way};
use crate::error::Result;
use crate::memory::alloc::expect_large_writes;
use crate::memory::output::{Brand, Filled, Fresh};
use crate::memory::strided::{Layout, Strided, StridedMut};
use crate::memory::walk::Order;

/// A copy from one array to another.
///
/// Invariant: `copier` copies elements of `from` to elements of `to`, which need no dropping.
/// `fill` points to a value of the element type of `from` that is borrowed for `'a`, like `from`.
/// `'id` is the brand of `to` where that is [`Fresh`].
#[derive(Debug)]
pub(crate) struct Transfer<'a, 'id> {
    pub(in crate::memory) from: Strided<'a>,
    pub(in crate::memory) to: StridedMut<'id>,
    pub(in crate::memory) copier: Copier,
    pub(in crate::memory) fill: Option<*const u8>,
    /// Whether `to` may be memory that was never written, so that its pages may not be mapped yet.
    pub(in crate::memory) fresh: bool,
    brand: Brand<'id>,
}

impl<'a, 'id> Transfer<'a, 'id> {
    /// A transfer that clones to a new array. Elements must not need dropping, so that the clones
    /// that exist when a `clone` panics can be forgotten.
    pub(crate) fn new<T, D, O>(
        from: &'a ArrayRef<T, D>,
        fill: Option<&'a T>,
        to: Fresh<'id, T, O>,
    ) -> Self
    where
        T: Clone + Send + Sync,
        D: Dimension,
        O: Dimension,
    {
        Self::of(from, fill, StridedMut::of(to.into_array()), true)
    }

    /// Runs a transfer that overwrites the elements of an array with clones. Elements must not need
    /// dropping: those that are overwritten are not dropped.
    ///
    /// `run` takes any brand, so that its proof does not serve for another array.
    pub(crate) fn over<T, D, O>(
        from: &'a ArrayRef<T, D>,
        fill: Option<&'a T>,
        to: &mut ArrayRef<T, O>,
        run: impl for<'own> FnOnce(Transfer<'a, 'own>) -> Result<Filled<'own>>,
    ) -> Result<()>
    where
        T: Clone + Send + Sync,
        D: Dimension,
        O: Dimension,
    {
        run(Transfer::of(from, fill, StridedMut::of(to), false)).map(|_| ())
    }

    /// Runs a transfer that clones to an array that may be uninitialised. Elements must not need
    /// dropping. The memory is assumed to be fresh.
    ///
    /// `run` takes any brand, so that its proof does not serve for another array.
    pub(crate) fn uninit<T, D, O>(
        from: &'a ArrayRef<T, D>,
        fill: Option<&'a T>,
        to: &mut ArrayRef<MaybeUninit<T>, O>,
        run: impl for<'own> FnOnce(Transfer<'a, 'own>) -> Result<Filled<'own>>,
    ) -> Result<()>
    where
        T: Clone + Send + Sync,
        D: Dimension,
        O: Dimension,
    {
        if let Some(slots) = to.as_slice_memory_order_mut() {
            expect_large_writes(slots.as_mut_ptr().cast(), size_of_val(slots));
        }
        run(Transfer::of(from, fill, StridedMut::of(to), true)).map(|_| ())
    }

    #[inline]
    fn of<T: Clone + Send + Sync, D: Dimension>(
        from: &'a ArrayRef<T, D>,
        fill: Option<&'a T>,
        to: StridedMut<'id>,
        fresh: bool,
    ) -> Self {
        Transfer {
            from: Strided::of(from),
            to,
            copier: Copier { size: size_of::<T>(), way: Way::of::<T, true>() },
            fill: fill.map(|value| std::ptr::from_ref(value).cast()),
            fresh,
            brand: PhantomData,
        }
    }

    /// A transfer that stores references to the elements of `from` in `to`.
    pub(crate) fn references<T, D, O>(
        from: &'a ArrayRef<T, D>,
        fill: Option<&'a T>,
        to: Fresh<'id, &'a T, O>,
    ) -> Self
    where
        T: Sync,
        D: Dimension,
        O: Dimension,
    {
        Transfer {
            from: Strided::of(from),
            to: StridedMut::of(to.into_array()),
            copier: Copier { size: size_of::<&T>(), way: Way::Address },
            fill: fill.map(|value| std::ptr::from_ref(value).cast()),
            fresh: true,
            brand: PhantomData,
        }
    }

    /// The layout of the array that is read.
    pub(crate) fn from(&self) -> &Layout<'a> {
        self.from.layout()
    }

    /// The layout of the array that is written.
    pub(crate) fn to(&self) -> &Layout<'id> {
        self.to.layout()
    }

    /// The order of the loops that write the elements of `to`.
    pub(in crate::memory) fn order(&self) -> Order {
        Order::Listed(self.copier.plain().unwrap_or(0))
    }

    /// The proof that `to` is initialised.
    ///
    /// # Safety
    /// Every element of `to` has been written.
    #[allow(unsafe_code)]
    pub(in crate::memory) unsafe fn filled(&self) -> Filled<'id> {
        // SAFETY: the caller's promise.
        unsafe { Filled::promised() }
    }
}

// SAFETY: a transfer holds shared and exclusive borrows of elements that are `Send` and `Sync`, as
// the bounds of its constructors require, and a shared borrow of the fill. For `references`, the
// elements of `from` are only `Sync`, which suffices for a shared borrow, and the elements of `to`
// are `&T`, which are then `Send` and `Sync`.
#[allow(unsafe_code)]
unsafe impl Sync for Transfer<'_, '_> {}
