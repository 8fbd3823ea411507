//! Shapes and strides, reduced to the fewest loops that describe them.

use std::ops::Range;

use smallvec::SmallVec;

use crate::error::{Error, Result};

/// One loop over `N` arrays at once: how often, and how far each array's
/// offset moves with every turn, in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dim<const N: usize> {
    pub(crate) len: usize,
    pub(crate) strides: [isize; N],
}

impl<const N: usize> Dim<N> {
    /// A loop that runs once.
    pub(crate) const ONCE: Self = Dim { len: 1, strides: [0; N] };
}

/// Nested loops over `N` arrays at once, outermost first.
///
/// Invariant N1: the loops visit exactly the tuples of offsets that the pushed
/// axes span, in their row-major order. They are built by [`push`](Self::push)
/// alone, from axes of arrays.
#[derive(Debug, Clone, Default)]
pub(crate) struct Nest<const N: usize> {
    dims: SmallVec<[Dim<N>; 4]>,
}

impl<const N: usize> Nest<N> {
    /// Adds an axis inside those already there. An axis of length 1 needs no
    /// loop, and one that every array passes into without a jump lengthens the
    /// loop around it.
    pub(crate) fn push(&mut self, len: usize, strides: [isize; N]) {
        if len == 1 {
            return;
        }
        if let Some(outer) = self.dims.last_mut() {
            let seamless =
                |k: usize| strides[k].checked_mul(len as isize) == Some(outer.strides[k]);
            if (0..N).all(seamless) {
                *outer = Dim { len: outer.len * len, strides };
                return;
            }
        }
        self.dims.push(Dim { len, strides });
    }

    /// How many tuples of offsets the loops visit.
    pub(crate) fn len(&self) -> usize {
        self.dims.iter().map(|dim| dim.len).product()
    }

    pub(crate) fn dims(&self) -> &[Dim<N>] {
        &self.dims
    }

    /// Takes the longest loop out, leaving the others in their order.
    pub(crate) fn take_longest(&mut self) -> Dim<N> {
        let longest = (0..self.dims.len()).max_by_key(|&at| (self.dims[at].len, at));
        longest.map_or(Dim::ONCE, |at| self.dims.remove(at))
    }

    /// Takes the innermost loop out.
    pub(crate) fn take_innermost(&mut self) -> Dim<N> {
        self.dims.pop().unwrap_or(Dim::ONCE)
    }

    /// Calls `visit` with the offsets of these turns of the loops, in order.
    #[inline]
    pub(crate) fn for_each(&self, turns: Range<usize>, mut visit: impl FnMut([isize; N])) {
        if self.dims.is_empty() {
            // Most calls have no loops around, and small ones notice.
            return turns.for_each(|_| visit([0; N]));
        }
        let mut cursor = Cursor::new(&self.dims, turns.start);
        for _ in turns {
            visit(cursor.offsets);
            cursor.advance();
        }
    }
}

/// A place in nested loops that moves forward one turn at a time.
#[derive(Debug)]
pub(crate) struct Cursor<'a, const N: usize> {
    dims: &'a [Dim<N>],
    counters: SmallVec<[usize; 4]>,
    pub(crate) offsets: [isize; N],
}

impl<'a, const N: usize> Cursor<'a, N> {
    /// A cursor at turn number `turn`, counted in row-major order.
    pub(crate) fn new(dims: &'a [Dim<N>], turn: usize) -> Self {
        let mut counters = SmallVec::from_elem(0, dims.len());
        let mut offsets = [0; N];
        let mut rest = turn;
        for (at, dim) in dims.iter().enumerate().rev() {
            if rest == 0 || dim.len == 0 {
                break;
            }
            counters[at] = rest % dim.len;
            rest /= dim.len;
            for k in 0..N {
                offsets[k] += counters[at] as isize * dim.strides[k];
            }
        }
        Cursor { dims, counters, offsets }
    }

    /// Moves to the next turn; from the last one, back to the first.
    #[inline]
    pub(crate) fn advance(&mut self) {
        for (at, dim) in self.dims.iter().enumerate().rev() {
            self.counters[at] += 1;
            for k in 0..N {
                self.offsets[k] += dim.strides[k];
            }
            if self.counters[at] < dim.len {
                return;
            }
            self.counters[at] = 0;
            for k in 0..N {
                self.offsets[k] -= dim.strides[k] * dim.len as isize;
            }
        }
    }
}

/// One loop of a roll, with strides for `N` arrays. The element that ends at
/// `i` comes from `(i + len - shift) % len`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RollDim<const N: usize> {
    pub(crate) len: usize,
    /// Less than `len`, or 0 where `len` is 0.
    pub(crate) shift: usize,
    pub(crate) strides: [isize; N],
}

/// The loops of a roll, outermost first, and where they start in each array.
#[derive(Debug, Clone)]
pub(crate) struct RollLoops<const N: usize> {
    pub(crate) dims: SmallVec<[RollDim<N>; 4]>,
    pub(crate) origin: [isize; N],
}

impl<const N: usize> RollLoops<N> {
    /// No loops yet.
    pub(crate) fn at(origin: [isize; N]) -> Self {
        RollLoops { dims: SmallVec::new(), origin }
    }

    /// Adds a loop inside those already there. One that does not roll merges
    /// with the loop around it where memory has no jump between them; a roll
    /// of the outer loop is then a roll by whole turns of the inner one.
    pub(crate) fn push(&mut self, inner: RollDim<N>) {
        match self.dims.last_mut() {
            Some(outer) if inner.shift == 0 && inner.continues(outer) => {
                *outer = RollDim {
                    len: outer.len * inner.len,
                    shift: outer.shift * inner.len,
                    strides: inner.strides,
                };
            }
            _ => self.dims.push(inner),
        }
    }

    /// Adds a loop inside those already there, but keeps one of at least
    /// `long` elements apart from a loop around it that rolls.
    pub(crate) fn push_row(&mut self, inner: RollDim<N>, long: usize) {
        match self.dims.last() {
            Some(outer) if outer.shift != 0 && inner.len >= long => self.dims.push(inner),
            _ => self.push(inner),
        }
    }
}

impl<const N: usize> RollDim<N> {
    /// Whether memory has no jump where a turn of `outer` ends and the next
    /// begins.
    pub(crate) fn continues(&self, outer: &Self) -> bool {
        (0..N).all(|k| self.strides[k].checked_mul(self.len as isize) == Some(outer.strides[k]))
    }
}

/// The number of elements of an array of `shape`, where neither it nor the
/// number of bytes overflows what an allocation may hold. As ndarray demands,
/// the lengths that are not 0 must fit by themselves.
pub(crate) fn checked_len<T>(shape: &[usize]) -> Result<usize> {
    let too_large = || Error::SizeOverflow { shape: shape.to_vec(), element_size: size_of::<T>() };
    let mut nonzero = 1_usize;
    for &len in shape {
        nonzero = nonzero.checked_mul(len.max(1)).ok_or_else(too_large)?;
    }
    let bytes = nonzero.checked_mul(size_of::<T>().max(1)).ok_or_else(too_large)?;
    if bytes > isize::MAX as usize {
        return Err(too_large());
    }
    Ok(if shape.contains(&0) { 0 } else { nonzero })
}

/// The lowest and the highest offset that axes of these lengths and strides
/// reach; `None` if they reach nothing.
pub(crate) fn extent(axes: impl Iterator<Item = (usize, isize)>) -> Option<(isize, isize)> {
    let (mut low, mut high) = (0, 0);
    for (len, stride) in axes {
        if len == 0 {
            return None;
        }
        let last = (len - 1) as isize * stride;
        low += last.min(0);
        high += last.max(0);
    }
    Some((low, high))
}
