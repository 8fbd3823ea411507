//! The entries of a scatter, divided between threads by target.
//!
//! A scatter on several threads must leave each target to one thread, which combines its updates
//! in order. So the targets are cut into shares, ranges of neighbouring targets with about equal
//! numbers of updates, and the entries of each share are listed in their order. A thread then
//! reads its updates in ascending order, and its targets are few enough to stay in its caches.
//!
//! ```text
//! for target in targets { bins[target >> shift] += 1 }    a histogram
//! cut the bins into shares of about equal counts
//! for share in shares                                     in parallel
//!   for (entry, target) in targets                        all entries, in order
//!     if target in share { append (entry, target) to the list of the share }
//! ```

use std::ops::Range;

use crate::error::Result;
use crate::memory::alloc::{made, repeated, reserved, zeroed};
use crate::memory::indices::CHUNK;
use crate::parallel::{self, Cost};
use crate::threshold::threshold;

/// The largest number of bins. Shares are cut between bins of neighbouring targets: few enough
/// that the counts fit in L2, enough that a target with many updates is nearly alone in its bin.
const BINS: usize = threshold(1 << 16, 64);

/// The entries of each share of the targets. Entries that select nothing are left out.
///
/// Invariant: `entries` are less than the number of indices that this was made from, and
/// `targets` less than the number of targets; both have the same length. All entries of a target
/// are in one share, in which entries ascend.
#[derive(Debug)]
pub(in crate::memory) struct Listing {
    entries: Vec<u32>,
    targets: Vec<u32>,
    /// The end of each share in `entries` and `targets`.
    ends: Vec<usize>,
    /// The least number of targets in a share.
    narrowest: usize,
}

/// Entries and the target of each.
#[derive(Clone, Copy)]
pub(in crate::memory) struct Listed<'o> {
    pub(in crate::memory) entries: &'o [u32],
    pub(in crate::memory) targets: &'o [u32],
}

impl Listing {
    /// The entries in `shares` shares. `targets` has the target of each entry; those that are not
    /// less than `space`, the number of targets, stand for entries that select nothing.
    pub(super) fn new(targets: &[u32], space: usize, shares: usize) -> Result<Self> {
        let (shift, bins) = bins(space, targets.len());
        let counts = count(targets, space, bins, shift)?;
        let all: usize = counts.iter().map(|&count| count as usize).sum();
        let (mut entries, mut listed) = (zeroed(all)?, zeroed(all)?);
        let (mut outputs, mut ends) = (reserved(shares)?, reserved(shares)?);
        let mut narrowest = space;
        {
            let (mut entries, mut listed) = (&mut entries[..], &mut listed[..]);
            let (mut bin, mut end) = (0, 0);
            for share in 0..shares {
                let (first, start) = (bin, end);
                let ideal_end = parallel::share(all, shares, share).end;
                while bin < bins && (share + 1 == shares || end < ideal_end) {
                    let next = end + counts[bin] as usize;
                    // Stop at the end of the bin that is nearest to `ideal_end`.
                    if share + 1 < shares && next.saturating_sub(ideal_end) > ideal_end - end {
                        break;
                    }
                    (bin, end) = (bin + 1, next);
                }
                let slots =
                    (entries.split_off_mut(..end - start), listed.split_off_mut(..end - start));
                let (Some(entries), Some(listed)) = slots else { unreachable!("{COUNTED}") };
                let range = (first as u64) << shift..((bin as u64) << shift).min(space as u64);
                narrowest = narrowest.min(range.end.saturating_sub(range.start) as usize);
                outputs.push((range, entries, listed));
                ends.push(end);
            }
        }
        parallel::run_each(&mut outputs, &|_, (range, entries, listed)| {
            list(targets, range, entries, listed);
        });
        Ok(Listing { entries, targets: listed, ends, narrowest })
    }

    /// The number of shares.
    pub(in crate::memory) fn shares(&self) -> usize {
        self.ends.len()
    }

    /// The least number of targets in a share.
    pub(in crate::memory) fn narrowest(&self) -> usize {
        self.narrowest
    }

    /// The entries of part number `part` of `parts`: those of whole shares.
    pub(in crate::memory) fn part(&self, parts: usize, part: usize) -> Listed<'_> {
        let shares = parallel::share(self.shares(), parts, part);
        let start = |share: usize| share.checked_sub(1).map_or(0, |before| self.ends[before]);
        let range = start(shares.start)..start(shares.end);
        Listed { entries: &self.entries[range.clone()], targets: &self.targets[range] }
    }

    /// The entries of part number `part` of `parts`, if they follow each other in this order, as
    /// those of sorted indices do.
    pub(in crate::memory) fn range(&self, parts: usize, part: usize) -> Option<Range<usize>> {
        let mut range: Option<Range<usize>> = None;
        for share in parallel::share(self.shares(), parts, part) {
            let Listed { entries, .. } = self.part(self.shares(), share);
            let (Some(&first), Some(&last)) = (entries.first(), entries.last()) else { continue };
            let (start, end) = (first as usize, last as usize + 1);
            // Those of one share ascend.
            let follows = range.as_ref().is_none_or(|before| before.end == start);
            if !follows || end - start != entries.len() {
                return None;
            }
            range = Some(range.map_or(start, |before| before.start)..end);
        }
        Some(range.unwrap_or(0..0))
    }

    /// Whether the entries of each share are consecutive, as they are where indices are sorted.
    pub(in crate::memory) fn is_contiguous(&self) -> bool {
        (0..self.shares()).all(|share| self.range(self.shares(), share).is_some())
    }
}

/// Why a share has room for its entries.
const COUNTED: &str = "the entries of each share were counted";

/// Writes the entries whose targets are in `range` to `entries`, and their targets to `listed`,
/// both of which have exactly the length needed.
fn list(targets: &[u32], range: &Range<u64>, mut entries: &mut [u32], mut listed: &mut [u32]) {
    let (start, width) = (range.start as u32, range.end.saturating_sub(range.start));
    let (mut kept_entries, mut kept_targets) = ([0; CHUNK], [0; CHUNK]);
    let mut first = 0_u32;
    for chunk in targets.chunks(CHUNK) {
        let mut count = 0;
        for (&target, entry) in chunk.iter().zip(first..) {
            // Each entry is written, and counted if it is kept, so that no branch can be
            // mispredicted.
            kept_entries[count % CHUNK] = entry;
            kept_targets[count % CHUNK] = target;
            count += usize::from(u64::from(target.wrapping_sub(start)) < width);
        }
        first = first.wrapping_add(CHUNK as u32);
        let slots = (entries.split_off_mut(..count), listed.split_off_mut(..count));
        let (Some(entries), Some(listed)) = slots else { unreachable!("{COUNTED}") };
        entries.copy_from_slice(&kept_entries[..count]);
        listed.copy_from_slice(&kept_targets[..count]);
    }
}

/// The bins of `space` targets: by how many bits a target is shifted right to give its bin, and
/// the number of bins, which is at most about the number of entries.
fn bins(space: usize, entries: usize) -> (u32, usize) {
    let last = space.saturating_sub(1);
    let bits = |number: usize| usize::BITS - number.leading_zeros();
    // At least one bit, and so two bins, since a shift by all bits of a `usize` overflows.
    let bin_bits = bits(entries).min(BINS.ilog2()).max(1);
    let shift = bits(last).saturating_sub(bin_bits);
    (shift, (last >> shift) + 1)
}

/// The number of entries in each bin. Entries that select nothing are compared with `space` and
/// not counted, since their bin (that of `u32::MAX`) may be the last one.
fn count(targets: &[u32], space: usize, bins: usize, shift: u32) -> Result<Vec<u32>> {
    let parts = parallel::parts_at_once(Cost::of_near(targets.len()));
    let mut counts = made(parts, || repeated(0_u32, bins))?;
    parallel::run_each(&mut counts, &|part, counts| {
        let counts = &mut counts[..];
        for &target in &targets[parallel::share(targets.len(), parts, part)] {
            if let Some(count) = counts.get_mut((target >> shift) as usize) {
                *count += u32::from((target as usize) < space);
            }
        }
    });
    let mut sums = repeated(0, bins)?;
    for part in counts {
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

    /// Compares listings with a stable sort; some entries select nothing.
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
                // A stable sort by target: the entries of a target must have been in order.
                pairs.sort_by_key(|&(target, _)| target);
                assert_eq!(pairs, expected, "{len} of {space} in {shares}");
            }
        }
    }

    /// With nearly 2^32 targets, `u32::MAX` falls in the last bin: entries that select nothing are
    /// not listed even so.
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

    /// A number less than `limit`, by a power law (mostly small numbers) or uniformly distributed.
    fn drawn(k: u32, limit: u32, power: bool) -> u32 {
        let random = f64::from(k.wrapping_mul(2_654_435_761)) / f64::from(u32::MAX);
        let random = if power { (random.max(1e-6).powf(-0.7) - 1.0) / 16_000.0 } else { random };
        ((random * f64::from(limit)) as u32).min(limit - 1)
    }

    /// The work of 1 to 64 parts: no part combines many more updates than its share and its
    /// heaviest target, and all parts together read and write little more memory than one thread
    /// that goes by the indices.
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
                // In bytes: an entry and a target of 4 bytes each and a row for each update
                // (`listed`), or an index and a row (`serial`); each target is read and written
                // once.
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

    /// A part has a range exactly if its entries follow each other, in this order.
    #[test]
    fn ranges_are_consecutive_entries() {
        let sorted: Vec<u32> = (0..300).map(|k| k / 3).collect();
        let falling: Vec<u32> = sorted.iter().rev().copied().collect();
        let mut once: Vec<u32> = sorted.clone();
        once.swap(10, 250);
        let random: Vec<u32> = (0..300).map(|k| drawn(k, 100, false)).collect();
        let mut found = [0, 0];
        for targets in [sorted, falling, once, random] {
            for parts in [1, 2, 3, 7] {
                let listing = Listing::new(&targets, 100, 7).unwrap();
                for part in 0..parts {
                    let entries = listing.part(parts, part).entries;
                    let first = entries.first().copied().unwrap_or(0);
                    let consecutive = entries.iter().copied().eq((first..).take(entries.len()));
                    let range = first as usize..first as usize + entries.len();
                    // Entries of one share ascend in any case, those of several need not.
                    let expected = consecutive.then_some(range);
                    assert_eq!(listing.range(parts, part), expected, "{part} of {parts}");
                    found[usize::from(consecutive)] += 1;
                }
            }
        }
        assert!(found[0] > 10 && found[1] > 10, "{found:?}");
    }

    /// Shares have equal numbers of updates, as far as the heaviest target allows.
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
