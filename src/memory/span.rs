//! The reach of an array, to hold a plan's loops against.

use crate::geometry::extent;

/// Asserts, in debug builds, that loops of these lengths and strides, started
/// at `origin`, stay within the elements that an array of `shape` and `strides`
/// reaches from its first element.
#[inline(always)]
pub(super) fn assert_within<L: Iterator<Item = (usize, isize)>>(
    shape: &[usize],
    strides: &[isize],
    origin: isize,
    loops: impl FnOnce() -> L,
) {
    if !cfg!(debug_assertions) {
        // The loops were pushed from the array's own axes (N1).
        return;
    }
    let array = extent(shape.iter().copied().zip(strides.iter().copied()));
    let within = match (extent(loops()), array) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(inner), Some(outer)) => outer.0 <= origin + inner.0 && origin + inner.1 <= outer.1,
    };
    assert!(within, "a plan's loops leave its array");
}
