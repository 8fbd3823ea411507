//! How an element travels from a source to a destination.

use std::mem::MaybeUninit;

/// What a destination receives for a source's element.
pub(crate) trait Take<'a, T: 'a>: Send + Sync {
    type Out: Send + Sync + 'a;

    fn take(element: &'a T) -> Self::Out;
}

/// A clone. For elements without drop glue alone: their half-written outputs
/// can be forgotten when a clone panics.
#[derive(Debug)]
pub(crate) struct Cloned;

impl<'a, T: Clone + Send + Sync + 'a> Take<'a, T> for Cloned {
    type Out = T;

    #[inline(always)]
    fn take(element: &'a T) -> T {
        element.clone()
    }
}

/// A reference. Elements that must be dropped are moved as references first
/// and cloned by safe code after, which owns whatever a panic leaves.
#[derive(Debug)]
pub(crate) struct Borrowed;

impl<'a, T: Sync + 'a> Take<'a, T> for Borrowed {
    type Out = &'a T;

    #[inline(always)]
    fn take(element: &'a T) -> &'a T {
        element
    }
}

/// The bits of an element, for moves within an array: whoever moves sees to it
/// that each element is in one place in the end.
#[derive(Debug)]
pub(super) struct Moved;

impl<'a, T: Send + Sync + 'a> Take<'a, MaybeUninit<T>> for Moved {
    type Out = MaybeUninit<T>;

    #[allow(unsafe_code)]
    #[inline(always)]
    fn take(element: &'a MaybeUninit<T>) -> MaybeUninit<T> {
        // SAFETY: any bits are a valid `MaybeUninit`, and nothing is dropped.
        unsafe { std::ptr::read(element) }
    }
}
