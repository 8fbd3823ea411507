//! Which part of a walk a thread takes.

use std::ops::Range;

use smallvec::SmallVec;

use crate::memory::walk::{Component, Walk};
use crate::parallel;

/// Which loop is split over threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::memory) enum Cut {
    Shared,
    Outer,
    /// The loops over entries, in pieces of so many iterations that follow each
    /// other on one thread.
    Entries(usize),
    /// Of the loops over entries the one with this number alone, the outermost first.
    Band(usize),
    Inner,
    /// The loop over entries, whose indices are sorted, where they change.
    Segments,
    /// No loop: each part looks at all entries and takes those that select in
    /// its share of the target, in their order.
    Targets,
}

/// A part of a walk: a range of iterations of each loop.
///
/// Invariant: no two parts that run side by side have all ranges in common with
/// each other. In a gather the iterations of all loops make different listed
/// elements, so no two parts write one; a scatter cuts loops whose iterations make
/// different selected elements, or takes those in `targets` alone, or each part
/// selects in an array of its own.
pub(in crate::memory) struct Part {
    pub(super) shared: Range<usize>,
    pub(super) outer: Range<usize>,
    pub(super) entries: Range<usize>,
    /// The number of a loop over entries, and the iterations of it.
    pub(super) band: Option<(usize, Range<usize>)>,
    pub(super) inner: Range<usize>,
    pub(super) targets: Option<Range<isize>>,
}

impl Part {
    /// All of it.
    #[inline]
    pub(super) fn whole(walk: &Walk) -> Self {
        Part {
            shared: 0..walk.shared_iterations(),
            outer: 0..walk.outer.len,
            entries: 0..walk.entries(),
            band: None,
            inner: 0..walk.inner.len,
            targets: None,
        }
    }

    /// Part number `part` of `parts`.
    pub(super) fn of(walk: &Walk, cut: Cut, parts: usize, part: usize) -> Self {
        let mut all = Part::whole(walk);
        let share = |whole: usize| parallel::share(whole, parts, part);
        match cut {
            Cut::Shared => all.shared = share(all.shared.end),
            Cut::Outer => all.outer = share(all.outer.end),
            Cut::Entries(unit) => {
                let units = share(all.entries.end / unit);
                all.entries = units.start * unit..units.end * unit;
            }
            Cut::Segments => all.entries = share(all.entries.end),
            Cut::Band(number) => all.band = Some((number, share(walk.nest()[number].len))),
            Cut::Inner => all.inner = share(all.inner.end),
            Cut::Targets => all.targets = Some(targets(&walk.components, parts, part)),
        }
        all
    }
}

/// The offsets that part number `part` takes of those that components reach,
/// about as many positions as the others do.
///
/// The outermost component, that with the longest step, decides. Two offsets
/// that are equal are in one share, whatever else is true of them.
pub(super) fn targets(components: &[Component], parts: usize, part: usize) -> Range<isize> {
    let reach = |one: &Component| one.step.wrapping_mul(one.len.saturating_sub(1) as isize);
    let low: isize = components.iter().map(|one| reach(one).min(0)).sum();
    let high: isize = components.iter().map(|one| reach(one).max(0)).sum();
    let whole = (high - low) as usize + 1;
    let share = parallel::share(whole, parts, part);
    low + share.start as isize..low + share.end as isize
}

/// The offsets that each part takes.
pub(in crate::memory) type Shares = SmallVec<[Range<isize>; 4]>;

/// As many positions for each part; or, where a part had more than a half too many of
/// the sorted offsets of a sample, about as many of these. Nothing where one part is
/// left with nine tenths of them, or there is no room for a list of parts.
pub(super) fn shares(components: &[Component], parts: usize, sample: &[isize]) -> Option<Shares> {
    let mut shares = Shares::new();
    shares.try_reserve(parts).ok()?;
    shares.extend((0..parts).map(|part| targets(components, parts, part)));
    let among = |share: &Range<isize>| {
        let before = |end: isize| sample.partition_point(|&offset| offset < end);
        before(share.end) - before(share.start)
    };
    let most = |shares: &Shares| shares.iter().map(among).max().unwrap_or(0);
    if most(&shares) * 2 * parts <= sample.len() * 3 {
        return Some(shares);
    }
    for part in 1..parts {
        let wanted = parallel::share(sample.len(), parts, part).start;
        let last = shares[parts - 1].end;
        let target = sample.get(wanted).copied().unwrap_or(last);
        // Before its updates or after them, whichever is nearer.
        let before = sample.partition_point(|&offset| offset < target);
        let after = sample.partition_point(|&offset| offset <= target);
        let nearer = wanted.saturating_sub(before) < after.saturating_sub(wanted);
        let end = if nearer { target } else { target.saturating_add(1) };
        let end = end.clamp(shares[part - 1].start, last);
        shares[part - 1].end = end;
        shares[part].start = end;
    }
    (most(&shares) * 10 < sample.len() * 9).then_some(shares)
}
