//! The receivers of the operations: ndarray's owned arrays, views, shared and copy-on-write
//! arrays, and `&ArrayRef`.

use ndarray::{ArrayBase, ArrayRef, CowRepr, Data, DataMut, Dimension, OwnedArcRepr};

use crate::sealed::Sealed;

/// An array that can be read: the receiver of every operation.
///
/// Implemented for [`ArrayBase`] with readable storage (`Array`, `ArrayView`,
/// `ArrayViewMut`, `ArcArray`, `CowArray`) and for [`ArrayRef`], and sealed:
/// other types cannot implement it.
pub trait AsArrayRef: Sealed {
    /// The element type.
    type Elem;
    /// The dimension type.
    type Dim: Dimension;

    /// The array as ndarray's reference type.
    fn as_array(&self) -> &ArrayRef<Self::Elem, Self::Dim>;
}

/// An array that can be written in place.
///
/// Implemented for [`ArrayBase`] with writable storage and for [`ArrayRef`],
/// and sealed like [`AsArrayRef`]. A shared `ArcArray` and a borrowed `CowArray`
/// are copied first, unless an argument is refused. That copy is made by ndarray, in memory
/// without advice to use huge pages, so for large arrays the form that returns a new array is
/// faster; and if the system refuses that memory, the process ends.
pub trait AsArrayMut: AsArrayRef {
    /// The array as ndarray's mutable reference type.
    fn as_array_mut(&mut self) -> &mut ArrayRef<Self::Elem, Self::Dim>;

    /// Whether [`as_array_mut`](Self::as_array_mut) may have to copy the array.
    #[doc(hidden)]
    fn may_be_shared(&self) -> bool;
}

impl<S: Data, D: Dimension> AsArrayRef for ArrayBase<S, D> {
    type Elem = S::Elem;
    type Dim = D;

    #[inline]
    fn as_array(&self) -> &ArrayRef<S::Elem, D> {
        self
    }
}

impl<S: DataMut, D: Dimension> AsArrayMut for ArrayBase<S, D> {
    #[inline]
    fn as_array_mut(&mut self) -> &mut ArrayRef<S::Elem, D> {
        self
    }

    #[inline]
    fn may_be_shared(&self) -> bool {
        let storage = typeid::of::<S>();
        storage == typeid::of::<OwnedArcRepr<S::Elem>>()
            || storage == typeid::of::<CowRepr<'_, S::Elem>>()
    }
}

impl<A, D: Dimension> AsArrayRef for ArrayRef<A, D> {
    type Elem = A;
    type Dim = D;

    #[inline]
    fn as_array(&self) -> &ArrayRef<A, D> {
        self
    }
}

impl<A, D: Dimension> AsArrayMut for ArrayRef<A, D> {
    #[inline]
    fn as_array_mut(&mut self) -> &mut ArrayRef<A, D> {
        self
    }

    #[inline]
    fn may_be_shared(&self) -> bool {
        false
    }
}
