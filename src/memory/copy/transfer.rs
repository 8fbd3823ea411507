//! Two arrays of one element type, the second of which is to receive elements of
//! the first: where types end.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use ndarray::{ArrayRef, Dimension};

use super::{Copier, Way};
use crate::memory::alloc::expect_large_writes;
use crate::memory::output::{Filled, Fresh};
use crate::memory::strided::{Layout, Strided, StridedMut};
use crate::memory::walk::Order;

/// A copy from one array to another.
///
/// Invariant: `copier` copies elements of `from` to elements of `to`, which
/// need no dropping. The fill is a value like those of `from`, borrowed as long.
/// `'id` names `to` where that is [`Fresh`].
#[derive(Debug)]
pub(crate) struct Transfer<'a, 'id> {
    pub(in crate::memory) from: Strided<'a>,
    pub(in crate::memory) to: StridedMut<'id>,
    pub(in crate::memory) copier: Copier,
    pub(in crate::memory) fill: Option<*const u8>,
    /// Whether the pages of `to` may not have been written to before.
    pub(in crate::memory) fresh: bool,
    brand: PhantomData<fn(&'id ()) -> &'id ()>,
}

impl<'a, 'id> Transfer<'a, 'id> {
    /// Clones to a new array. Elements must not need dropping, so that those
    /// that a panic leaves behind can be forgotten.
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

    /// Clones over the elements of an array. They must not need dropping: none
    /// of them is dropped.
    pub(crate) fn over<T, D, O>(
        from: &'a ArrayRef<T, D>,
        fill: Option<&'a T>,
        to: &'id mut ArrayRef<T, O>,
    ) -> Self
    where
        T: Clone + Send + Sync,
        D: Dimension,
        O: Dimension,
    {
        Self::of(from, fill, StridedMut::of(to), false)
    }

    /// Clones to an array that may hold anything. Elements must not need
    /// dropping. The memory is taken for fresh.
    pub(crate) fn uninit<T, D, O>(
        from: &'a ArrayRef<T, D>,
        fill: Option<&'a T>,
        to: &'id mut ArrayRef<MaybeUninit<T>, O>,
    ) -> Self
    where
        T: Clone + Send + Sync,
        D: Dimension,
        O: Dimension,
    {
        if let Some(slots) = to.as_slice_memory_order_mut() {
            expect_large_writes(slots.as_mut_ptr().cast(), size_of_val(slots));
        }
        Self::of(from, fill, StridedMut::of(to), true)
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

    /// Writes down where elements are.
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

    /// The array that is read.
    pub(crate) fn from(&self) -> &Layout<'a> {
        self.from.layout()
    }

    /// The array that is written.
    pub(crate) fn to(&self) -> &Layout<'id> {
        self.to.layout()
    }

    /// The order of loops that write elements of `to`.
    pub(in crate::memory) fn order(&self) -> Order {
        Order::Listed(if matches!(self.copier.way, Way::Bytes) { self.copier.size } else { 0 })
    }

    /// # Safety
    /// Every element of `to` has been written.
    #[allow(unsafe_code)]
    pub(in crate::memory) unsafe fn filled(&self) -> Filled<'id> {
        // SAFETY: the caller's promise.
        unsafe { Filled::promised() }
    }
}

// SAFETY: shared and exclusive borrows of elements that are `Send` and `Sync`
// (the constructors ask for it), and a shared one of the fill.
#[allow(unsafe_code)]
unsafe impl Sync for Transfer<'_, '_> {}
