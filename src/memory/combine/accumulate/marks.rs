//! Finds the updates whose targets have no other update: these need no sorting.

use super::sparse::Key;
use crate::error::Result;
use crate::memory::alloc::reserved;
use crate::memory::cpu::of_caches;
use crate::threshold::threshold;

/// Fewest updates that are looked through. Fewer are sorted as fast, and so are more than have marks
/// in half of L2.
const FEWEST: usize = threshold(64, 4);

/// Number of marks for each update, at least: with 8, one in eight updates of a target of its own
/// shares a mark by chance, and is sorted with those that share a target.
const PER_UPDATE: usize = 8;

/// Marks of targets, at places that their offsets are hashed to: whether one update has the mark,
/// and whether several have, a bit for each in a pair of words.
pub(super) struct Marks {
    words: Vec<[u64; 2]>,
    /// The most pairs of words, a power of two; 0 if updates are sorted as fast as they are looked
    /// through.
    most: usize,
}

impl Marks {
    /// Marks for at most `updates` updates.
    pub(super) fn new(updates: usize) -> Result<Self> {
        let most = words(updates);
        let cached = most.saturating_mul(size_of::<[u64; 2]>())
            <= of_caches(|caches| caches.second / 2, 1 << 10);
        let most = if updates >= FEWEST && cached { most } else { 0 };
        Ok(Marks { words: reserved(most)?, most })
    }

    /// Reorders `keys`: first updates whose target has no other update, then the rest, sorted. Returns the
    /// number of the first.
    ///
    /// Marks tell the first apart, and some of them may be among the rest, as marks are shared by chance.
    /// Few or sorted keys are compared with their neighbours instead, so that no single one is taken for
    /// another. These are only moved to the front if there is memory for as many `others`: without, all or
    /// none are.
    pub(super) fn singles(
        &mut self,
        keys: &mut [Key],
        others: Option<&mut Vec<Key>>,
        bits: u32,
    ) -> usize {
        let few = keys.len() < FEWEST || self.most == 0;
        if few {
            keys.sort_unstable();
        }
        if few || keys.is_sorted() {
            return singles_of_sorted(keys, others, bits);
        }
        let target = |key: Key| key.parts(bits).0;
        let count = words(keys.len()).min(self.most);
        self.words.clear();
        self.words.resize(count, [0; 2]);
        let shift = u64::BITS - 6 - count.trailing_zeros();
        // Multiplied by 2^64 divided by the golden ratio, near offsets lie far apart.
        let place = |key: Key| {
            let hash = target(key).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> shift;
            ((hash >> 6) as usize, 1_u64 << (hash & 63))
        };
        for &key in &*keys {
            let (word, bit) = place(key);
            let [one, several] = &mut self.words[word];
            *several |= *one & bit;
            *one |= bit;
        }
        let mut singles = 0;
        for at in 0..keys.len() {
            let (word, bit) = place(keys[at]);
            keys.swap(singles, at);
            singles += usize::from(self.words[word][1] & bit == 0);
        }
        keys[singles..].sort_unstable();
        singles
    }
}

/// [`Marks::singles`] of sorted updates; the others stay sorted.
fn singles_of_sorted(keys: &mut [Key], others: Option<&mut Vec<Key>>, bits: u32) -> usize {
    let target = |key: &Key| key.parts(bits).0;
    let repeated = keys.windows(2).filter(|pair| target(&pair[0]) == target(&pair[1])).count();
    let others = match others.filter(|_| repeated <= keys.len() / 4) {
        _ if repeated == 0 => return keys.len(),
        Some(others) => others,
        None => return 0,
    };
    others.clear();
    let (mut singles, mut before) = (0, None);
    for at in 0..keys.len() {
        let (key, this) = (keys[at], target(&keys[at]));
        if before == Some(this) || keys.get(at + 1).map(target) == Some(this) {
            others.push(key);
        } else {
            keys[singles] = key;
            singles += 1;
        }
        before = Some(this);
    }
    keys[singles..].copy_from_slice(others);
    singles
}

/// The number of pairs of words with marks for `updates` updates, a power of two.
fn words(updates: usize) -> usize {
    updates.saturating_mul(PER_UPDATE).div_ceil(64).next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Single updates keep their order, and those of a target with several are all among the rest.
    #[test]
    fn repeated_targets_are_left_to_sort() {
        let (bits, mut random) = (20, 7_u64);
        for (count, targets) in [(1, 1), (50, 2), (300, 3_000), (700, 100), (5_000, 1 << 40)] {
            let mut keys: Vec<Key> = (0..count)
                .map(|number| {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    Key::new((random >> 20) % targets * 2, number, bits)
                })
                .collect();
            let before = keys.clone();
            let mut marks = Marks::new(count).unwrap();
            let singles = marks.singles(&mut keys, Some(&mut Vec::new()), bits);
            let target = |key: &Key| key.parts(bits).0;
            let (first, rest) = keys.split_at(singles);
            if !before.is_sorted() {
                let mut all: Vec<u64> = before.iter().map(target).collect();
                all.sort_unstable();
                let alone = |key: &&Key| {
                    let first = all.partition_point(|&other| other < target(key));
                    all.get(first + 1) != Some(&target(key))
                };
                assert_eq!(first.iter().filter(alone).count(), singles);
                let most = if marks.most > 0 { before.iter().filter(alone).count() } else { 0 };
                assert!(singles * 5 >= most * 3);
            }
            let marked = marks.most > 0 && count >= FEWEST;
            assert!(if marked {
                first.iter().map(|key| key.parts(bits).1).is_sorted()
            } else {
                first.is_sorted()
            });
            assert!(rest.is_sorted());
            assert!(rest.len() == count - singles);
            keys.sort_unstable();
            let mut sorted = before;
            sorted.sort_unstable();
            assert_eq!(keys, sorted);
        }
    }

    /// Updates that are sorted already stay as they are, and none is single if a target has several.
    #[test]
    fn sorted_updates_stay() {
        for (per_target, singles) in [(1, 200), (3, 0)] {
            let mut keys: Vec<Key> =
                (0..200).map(|number| Key::new(number / per_target, number as usize, 20)).collect();
            let before = keys.clone();
            assert_eq!(
                Marks::new(200).unwrap().singles(&mut keys, Some(&mut Vec::new()), 20),
                singles
            );
            assert_eq!(keys, before);
        }
    }

    /// Of sorted updates those whose targets have others come last, and all of them stay sorted; none
    /// moves where there is no memory for others.
    #[test]
    fn few_of_sorted_updates_repeat() {
        let targets: Vec<u64> =
            (0..200).map(|number| number - u64::from(number % 50 == 7)).collect();
        let keys = targets.iter().zip(0..).map(|(&target, number)| Key::new(target, number, 20));
        let keys: Vec<Key> = keys.collect();
        let alone =
            |key: &Key| targets.iter().filter(|target| **target == key.parts(20).0).count() == 1;
        for memory in [None, Some(&mut Vec::new())] {
            let (expected, moves) = match memory {
                Some(_) => (keys.iter().partition(|key| alone(key)), true),
                None => ((Vec::new(), keys.clone()), false),
            };
            let mut moved = keys.clone();
            let singles = Marks::new(200).unwrap().singles(&mut moved, memory, 20);
            assert_eq!(singles, if moves { 192 } else { 0 });
            assert_eq!(moved.split_at(singles), (&expected.0[..], &expected.1[..]));
        }
    }
}
