//! Updates in the order in which threads take them.
//!
//! A scatter on several threads must leave each target to one of them, with its
//! updates in their order. So the targets are cut into shares of neighbours,
//! with about as many updates in each, and the updates of each share are
//! listed as they come: a thread reads its updates from front to back, and its
//! targets are few enough to stay near.
//!
//! ```text
//! for target in targets: bins[target >> shift] += 1
//! cut bins into shares
//! for share                                in parallel
//!   for entry, target in targets           all of them, in order
//!     list those of the share
//! ```

use std::ops::Range;
use std::sync::PoisonError;

use crate::error::Result;
use crate::memory::alloc::{repeated, reserved, zeroed};
use crate::memory::indices::CHUNK;
use crate::parallel::{self, Cost};
use crate::sync::Mutex;
use crate::threshold::threshold;

/// Shares are cut between bins of neighbouring targets, at most so many: few
/// enough to be counted in the second cache, enough that heavy targets are alone.
const BINS: usize = threshold(1 << 16, 64);

/// Entries by shares of targets. Those that select nothing are left out.
///
/// Invariant: `entries` are less than the number of indices that this was made
/// of, and `targets` less than the number of targets; both are of one length.
/// All entries of a target are in one share, where entries rise.
#[derive(Debug)]
pub(in crate::memory) struct Listing {
    entries: Vec<u32>,
    targets: Vec<u32>,
    /// Where each share ends.
    ends: Vec<usize>,
    /// How many targets a share is of, at least.
    narrowest: usize,
}

/// Entries and their targets, as many.
#[derive(Clone, Copy)]
pub(in crate::memory) struct Listed<'o> {
    pub(in crate::memory) entries: &'o [u32],
    pub(in crate::memory) targets: &'o [u32],
}

impl Listing {
    /// In so many shares. Targets that are not less than `space` are none.
    pub(super) fn new(targets: &[u32], space: usize, shares: usize) -> Result<Self> {
        let (shift, bins) = bins(space, targets.len());
        let counts = count(targets, space, bins, shift)?;
        let all: usize = counts.iter().map(|&count| count as usize).sum();
        let (mut entries, mut sorted) = (zeroed(all)?, zeroed(all)?);
        let (mut rooms, mut ends) = (reserved(shares)?, reserved(shares)?);
        let mut narrowest = space;
        {
            let (mut entries, mut sorted) = (&mut entries[..], &mut sorted[..]);
            let (mut bin, mut end) = (0, 0);
            for share in 0..shares {
                let (first, start) = (bin, end);
                let wanted = parallel::share(all, shares, share).end;
                while bin < bins && (share + 1 == shares || end < wanted) {
                    let next = end + counts[bin] as usize;
                    // Up to the bin that ends nearest.
                    if share + 1 < shares && next.saturating_sub(wanted) > wanted - end {
                        break;
                    }
                    (bin, end) = (bin + 1, next);
                }
                let slots =
                    (entries.split_off_mut(..end - start), sorted.split_off_mut(..end - start));
                let (Some(entries), Some(sorted)) = slots else { break };
                let range = (first as u64) << shift..((bin as u64) << shift).min(space as u64);
                narrowest = narrowest.min(range.end.saturating_sub(range.start) as usize);
                rooms.push(Mutex::new((range, entries, sorted)));
                ends.push(end);
            }
        }
        parallel::run(rooms.len(), &|share| {
            if let Ok(mut room) = rooms[share].lock() {
                let (range, entries, sorted) = &mut *room;
                list(targets, range, entries, sorted);
            }
        });
        drop(rooms);
        Ok(Listing { entries, targets: sorted, ends, narrowest })
    }

    /// How many shares there are.
    pub(in crate::memory) fn shares(&self) -> usize {
        self.ends.len()
    }

    /// How many targets each share is of, at least.
    pub(in crate::memory) fn narrowest(&self) -> usize {
        self.narrowest
    }

    /// Those of part number `part` of `parts`: whole shares.
    pub(in crate::memory) fn part(&self, parts: usize, part: usize) -> Listed<'_> {
        let shares = parallel::share(self.shares(), parts, part);
        let start = |share: usize| share.checked_sub(1).map_or(0, |before| self.ends[before]);
        let range = start(shares.start)..start(shares.end);
        Listed { entries: &self.entries[range.clone()], targets: &self.targets[range] }
    }

    /// Whether each share's entries follow each other, as where indices are
    /// sorted.
    pub(in crate::memory) fn is_contiguous(&self) -> bool {
        (0..self.shares()).all(|share| {
            let Listed { entries, .. } = self.part(self.shares(), share);
            match (entries.first(), entries.last()) {
                (Some(first), Some(last)) => (last - first) as usize + 1 == entries.len(),
                _ => true,
            }
        })
    }
}

/// Lists the entries whose targets are in `range`: as many as there is room for.
fn list(targets: &[u32], range: &Range<u64>, mut entries: &mut [u32], mut sorted: &mut [u32]) {
    let (from, width) = (range.start as u32, range.end.saturating_sub(range.start));
    let (mut near, mut kept) = ([0; CHUNK], [0; CHUNK]);
    let mut first = 0_u32;
    for chunk in targets.chunks(CHUNK) {
        let mut count = 0;
        for (entry, &target) in (first..).zip(chunk) {
            // Written in any case, counted where it is to be kept: no branch.
            near[count % CHUNK] = entry;
            kept[count % CHUNK] = target;
            count += usize::from(u64::from(target.wrapping_sub(from)) < width);
        }
        first = first.wrapping_add(CHUNK as u32);
        let slots = (entries.split_off_mut(..count), sorted.split_off_mut(..count));
        if let (Some(entries), Some(sorted)) = slots {
            entries.copy_from_slice(&near[..count]);
            sorted.copy_from_slice(&kept[..count]);
        }
    }
}

/// By how many bits targets are wider than their bin, and how many bins there
/// are: no more than about as many as entries.
fn bins(space: usize, entries: usize) -> (u32, usize) {
    let last = space.saturating_sub(1);
    let bits = |number: usize| usize::BITS - number.leading_zeros();
    // Two at least: a shift by as many bits as addresses may have is none.
    let most = bits(entries).min(BINS.ilog2()).max(1);
    let shift = bits(last).saturating_sub(most);
    (shift, (last >> shift) + 1)
}

/// How many targets are in each bin. Those that are none are counted nowhere: the
/// last bin may reach as far as they do.
fn count(targets: &[u32], space: usize, bins: usize, shift: u32) -> Result<Vec<u32>> {
    let parts = parallel::parts(Cost::of_near(targets.len())).min(parallel::threads());
    let mut counts = reserved(parts)?;
    for _ in 0..parts {
        counts.push(Mutex::new(repeated(0_u32, bins)?));
    }
    parallel::run(parts, &|part| {
        let Ok(mut counts) = counts[part].lock() else { return };
        let counts: &mut [u32] = &mut counts;
        for &target in &targets[parallel::share(targets.len(), parts, part)] {
            if let Some(count) = counts.get_mut((target >> shift) as usize) {
                *count += u32::from((target as usize) < space);
            }
        }
    });
    let mut sums = repeated(0, bins)?;
    for part in counts {
        let part = part.into_inner().unwrap_or_else(PoisonError::into_inner);
        sums.iter_mut().zip(part).for_each(|(sum, count)| *sum += count);
    }
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_hold_all_targets() {
        let spaces = (0..3000).chain([1 << 20, (1 << 20) + 1, u32::MAX as usize]);
        for (space, entries) in spaces.flat_map(|space| [(space, 0), (space, 70), (space, 1 << 24)])
        {
            let (shift, bins) = bins(space, entries);
            assert!(bins <= BINS && bins <= 2 * entries.max(1), "{space} {entries}");
            assert!(space == 0 || (space - 1) >> shift < bins, "{space} {entries}");
        }
    }

    /// Against a stable sort, with targets that are none.
    #[test]
    fn updates_of_a_target_keep_their_order() {
        let mut state = 7_u32;
        for (len, space) in [(0, 0), (0, 5), (1, 1), (100, 7), (3000, 513), (3000, 100_000)] {
            let targets: Vec<u32> = (0..len)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let target = (state >> 8) % (space as u32 + 1);
                    if target == space as u32 { u32::MAX } else { target }
                })
                .collect();
            let kept = (0..len).filter(|&entry| targets[entry as usize] != u32::MAX);
            let mut expected: Vec<_> = kept.map(|entry| (targets[entry as usize], entry)).collect();
            expected.sort();
            for shares in [1, 2, 5] {
                let order = Listing::new(&targets, space, shares).unwrap();
                assert_eq!(order.shares(), shares);
                let mut pairs = Vec::new();
                let mut owner = vec![None; space];
                for share in 0..shares {
                    let Listed { entries, targets } = order.part(shares, share);
                    for (&entry, &target) in entries.iter().zip(targets) {
                        pairs.push((target, entry));
                        assert_eq!(*owner[target as usize].get_or_insert(share), share);
                    }
                }
                // By target alone: those of a target must have been in order.
                pairs.sort_by_key(|&(target, _)| target);
                assert_eq!(pairs, expected, "{len} of {space} in {shares}");
            }
        }
    }

    /// The last bin of as many targets as 32 bits can tell apart has room for the
    /// number of those that are none: they are not listed all the same.
    #[test]
    fn what_selects_nothing_is_not_listed() {
        for space in [1 << 20, (1 << 31) + 1, u32::MAX as usize] {
            let last = (space - 1) as u32;
            let targets = [u32::MAX, 3, last, u32::MAX, last];
            for shares in [1, 2, 4] {
                let listing = Listing::new(&targets, space, shares).unwrap();
                let Listed { entries, targets } = listing.part(1, 0);
                assert_eq!(entries, [1, 2, 4], "{space} in {shares}");
                assert_eq!(targets, [3, last, last]);
            }
        }
    }

    /// A number below `below` by a law: uniform, or mostly small ones.
    fn drawn(k: u32, below: u32, power: bool) -> u32 {
        let random = f64::from(k.wrapping_mul(2_654_435_761)) / f64::from(u32::MAX);
        let random = if power { (random.max(1e-6).powf(-0.7) - 1.0) / 16_000.0 } else { random };
        ((random * f64::from(below)) as u32).min(below - 1)
    }

    /// What parts read and combine, for 1 to 64 of them: no part much more than
    /// its share, or than its heaviest target makes it, and all of them little
    /// more than one thread does that goes by the indices.
    #[test]
    #[cfg_attr(any(miri, small_thresholds), ignore = "small bins even out less")]
    fn parts_have_equal_work_and_little_more_than_one_alone() {
        let (many, space) = (100_000_u32, 20_000_u32);
        for power in [false, true] {
            let targets: Vec<u32> = (0..many).map(|k| drawn(k, space, power)).collect();
            let mut counts = vec![0_usize; space as usize];
            targets.iter().for_each(|&target| counts[target as usize] += 1);
            let heaviest = counts.iter().max().copied().unwrap_or(0);
            for parts in [1, 2, 3, 4, 8, 16, 32, 64] {
                let listing = Listing::new(&targets, space as usize, parts).unwrap();
                let combined: Vec<usize> =
                    (0..parts).map(|part| listing.part(parts, part).entries.len()).collect();
                assert_eq!(combined.iter().sum::<usize>(), targets.len());
                let share = targets.len() as f64 / parts as f64;
                let most = if power { share + heaviest as f64 } else { share };
                for own in combined {
                    assert!(own as f64 <= 1.2 * most, "{own} of {share} in {parts}");
                }
                // An entry and a target of 4 bytes each, and the update, for each
                // update; every target is read and written once a line of it.
                for row in [4, 64, 320] {
                    let touched = counts.iter().filter(|&&count| count > 0).count();
                    let targets_bytes = 2 * touched * row;
                    let listed = targets.len() * (8 + row) + targets_bytes;
                    let serial = targets.len() * (4 + row) + targets_bytes;
                    assert!(listed * 10 <= serial * 15, "{listed} of {serial}, rows of {row}");
                    assert!(row < 64 || listed * 10 <= serial * 13);
                }
            }
        }
    }

    /// As even as the heaviest target allows.
    #[test]
    fn shares_are_even() {
        let targets: Vec<u32> =
            (0..100_000_u32).map(|k| k.wrapping_mul(2_654_435_761) >> 12).collect();
        for shares in [1, 2, 3, 16, 64] {
            let order = Listing::new(&targets, 1 << 20, shares).unwrap();
            for share in 0..shares {
                let len = order.part(shares, share).entries.len();
                assert!(len * shares <= targets.len() * 12 / 10, "{len} of {shares}");
            }
        }
        let heavy = vec![5; 1000];
        let order = Listing::new(&heavy, 10, 4).unwrap();
        let lens: Vec<_> = (0..4).map(|share| order.part(4, share).entries.len()).collect();
        assert_eq!(lens.iter().sum::<usize>(), 1000);
        assert_eq!(lens.iter().max(), Some(&1000));
        assert!(order.is_contiguous());
    }
}
