//! Numbers, shapes and indices from bytes.

use super::{LARGEST, MOST};
use crate::common::{Index, Numbers};

/// Bytes read one after the other. Past the last one come numbers seeded with
/// the input, so that a short input can stand for large arrays.
#[derive(Debug, Clone)]
pub(crate) struct Bytes<'a> {
    rest: &'a [u8],
    beyond: Numbers,
    /// The size of the elements that shapes are for.
    size: usize,
}

impl<'a> Bytes<'a> {
    pub(crate) fn new(input: &'a [u8]) -> Self {
        let seed = input.iter().fold(0_u64, |seed, &byte| {
            seed.wrapping_mul(0x0100_0000_01b3).wrapping_add(u64::from(byte) + 1)
        });
        Bytes { rest: input, beyond: Numbers(seed), size: 1 }
    }

    /// From now on shapes are those of arrays of such elements.
    pub(crate) fn for_elements_of<A>(&mut self) {
        self.size = size_of::<A>().max(1);
    }

    /// How many elements a call may have: mostly few, or `many`.
    fn most(&self, many: bool) -> usize {
        let (elements, bytes) = if many { (MOST, LARGEST) } else { (MOST / 32, LARGEST / 32) };
        elements.min((bytes / self.size).max(3))
    }

    pub(crate) fn byte(&mut self) -> u8 {
        match self.rest.split_first() {
            Some((&byte, rest)) => {
                self.rest = rest;
                byte
            }
            None => self.beyond.next() as u8,
        }
    }

    pub(crate) fn word(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    /// A number less than `end`, which one or two bytes decide.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let byte = usize::from(self.byte());
        if end <= 256 { byte % end } else { (byte << 8 | usize::from(self.byte())) % end }
    }

    /// True once in `n` times.
    pub(crate) fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// The shape of data: mostly many short axes, at times few long ones.
    pub(crate) fn shape(&mut self) -> Vec<usize> {
        let kind = self.below(64);
        let rank = match kind {
            0..=47 => self.below(7),
            _ => 1 + self.below(3),
        };
        let mut shape: Vec<usize> = (0..rank)
            .map(|_| match (kind, self.byte()) {
                (0..=47, byte) if byte % 16 == 15 => 0,
                (0..=47, byte) => 1 + usize::from(byte) % 4,
                (48..=59, byte) => 1 + usize::from(byte) % 48,
                (60..=62, byte) => 1 + usize::from(byte) * 2,
                (_, byte) => 1 + usize::from(byte) * 16,
            })
            .collect();
        shrink(&mut shape, 0, self.most(kind == 63));
        shape
    }

    /// An axis of data of this rank, or seldom one that it does not have.
    pub(crate) fn axis(&mut self, rank: usize) -> i128 {
        let (byte, rank) = (i128::from(self.byte()), rank as i128);
        match byte {
            _ if byte >= 252 || rank == 0 => {
                [rank, -rank - 1, i64::MIN.into(), i64::MAX.into()][byte as usize % 4]
            }
            _ => byte % (2 * rank) - rank,
        }
    }

    /// An index of an axis of length `len`; seldom one that it does not have
    /// if `wild`.
    pub(crate) fn index<I: Index>(&mut self, len: usize, wild: bool) -> I {
        let n = len as i128;
        let byte = self.byte();
        if wild && byte >= 224 {
            return match byte % 8 {
                0 => I::max_value(),
                1 => I::min_value(),
                2 => index(n),
                3 => index(-n - 1),
                4 => index((1 << 32) + n / 2),
                5 => index(-(1 << 32)),
                6 => index(i128::from(self.byte()) * n - n),
                _ => I::from_number(self.word()),
            };
        }
        let number = if n > 100 { usize::from(byte) << 8 | self.below(256) } else { byte.into() };
        index(number as i128 % (2 * n).max(1) - n)
    }
}

/// The index in its type, or 0 where that does not have it.
fn index<I: Index>(wide: i128) -> I {
    I::try_from(wide).unwrap_or_else(|_| I::zero())
}

/// How many elements beside those of the data a call may have: few, or seldom
/// many.
pub(crate) fn most(bytes: &mut Bytes<'_>) -> usize {
    let many = bytes.once_in(32);
    bytes.most(many)
}

/// Halves the longest axes from the first `from` on until there are at most so
/// many elements, counted without the empty axes.
pub(crate) fn shrink(shape: &mut [usize], from: usize, most: usize) {
    while shape.iter().map(|&len| len.max(1) as u128).product::<u128>() > most as u128 {
        let longest = shape[from..].iter_mut().max();
        match longest {
            Some(len) if *len > 1 => *len /= 2,
            _ => return,
        }
    }
}

/// The length of an axis that may not be there.
pub(crate) fn axis_len(shape: &[usize], axis: i128) -> Option<usize> {
    from_front(axis, shape.len()).map(|axis| shape[axis])
}

/// The axis counted from the front, if an array of this rank has it.
pub(crate) fn from_front(axis: i128, rank: usize) -> Option<usize> {
    let from_front = if axis < 0 { axis + rank as i128 } else { axis };
    usize::try_from(from_front).ok().filter(|&axis| axis < rank)
}
