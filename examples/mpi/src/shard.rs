//! Which part of a range belongs to which rank.

use std::ops::Range;

/// One of `parts` contiguous parts of `0..len`, as equal as can be.
#[derive(Debug, Clone, Copy)]
pub struct Shard {
    len: usize,
    parts: usize,
    part: usize,
}

impl Shard {
    /// The part number `part` of `parts`.
    pub fn new(len: usize, parts: usize, part: usize) -> Self {
        Shard { len, parts, part }
    }

    /// The positions that belong to it.
    pub fn range(self) -> Range<usize> {
        self.start(self.part)..self.start(self.part + 1)
    }

    /// The part that `position` belongs to; the last one for a position that
    /// is outside of `0..len`.
    pub fn owner(self, position: usize) -> usize {
        // The largest part whose start, `part * len / parts` rounded down, is
        // not beyond `position`.
        let owner = (position as u128 + 1) * self.parts as u128 - 1;
        (owner / self.len as u128).min(self.parts as u128 - 1) as usize
    }

    /// Where a part begins; the last one ends where one more would begin.
    pub fn start(self, part: usize) -> usize {
        (part as u128 * self.len as u128 / self.parts as u128) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::Shard;

    #[test]
    fn every_position_is_in_the_range_of_its_owner() {
        for (len, parts) in [(1, 1), (7, 3), (3, 7), (64, 4), (65, 4), (63, 4)] {
            let mut next = 0;
            for part in 0..parts {
                let shard = Shard::new(len, parts, part);
                assert_eq!(shard.range().start, next, "{len} in {parts}");
                next = shard.range().end;
                for position in shard.range() {
                    assert_eq!(shard.owner(position), part, "{position} of {len} in {parts}");
                }
            }
            assert_eq!(next, len);
            assert_eq!(Shard::new(len, parts, 0).owner(u32::MAX as usize), parts - 1);
        }
    }
}
