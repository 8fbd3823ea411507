//! Parts of a walk, which run on several threads.

use std::ops::Range;

use smallvec::SmallVec;

use crate::memory::walk::{Component, Walk};
use crate::parallel;

/// The loop that is split over threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::memory) enum Cut {
    Shared,
    Outer,
    /// The loops over entries, between pieces of this number of contiguous iterations.
    Entries(usize),
    /// Only the loop over entries with this number, counted from the outermost.
    Band(usize),
    Inner,
    /// The loop over entries, whose indices are sorted, between entries with different indices.
    Segments,
}

impl Cut {
    /// No cut: one part, which has all iterations.
    pub(in crate::memory) const NONE: (Self, usize) = (Cut::Entries(1), 1);
}

/// A part of a walk: a range of iterations of each loop.
///
/// Invariant: of any two parts that run at the same time, at least one pair of ranges, `targets` among
/// them, does not overlap. In a gather each iteration of the loops writes a listed element of its own, so no two
/// parts write the same element. A scatter cuts loops whose iterations write different selected
/// elements, or loops over entries where the entries of no two parts have a target in common, or
/// each part takes only the entries whose offset is in its `targets`, or each part selects in an
/// array of its own.
pub(in crate::memory) struct Part {
    pub(super) shared: Range<usize>,
    pub(super) outer: Range<usize>,
    pub(super) entries: Range<usize>,
    /// The number of a loop over entries, and its iterations in this part.
    pub(super) band: Option<(usize, Range<usize>)>,
    pub(super) inner: Range<usize>,
    /// The share of the targets that this part has, by their offsets in bytes, unless it has all.
    pub(super) targets: Option<Range<isize>>,
}

impl Part {
    /// The whole walk as one part.
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

    /// Whether the part has no iteration. Kernels may not find that out: those of single elements take
    /// the other loops for one iteration each.
    pub(super) fn is_empty(&self) -> bool {
        let Part { shared, outer, entries, band, inner, targets: _ } = self;
        let no_band = band.as_ref().is_some_and(|(_, range)| range.is_empty());
        shared.is_empty() || outer.is_empty() || entries.is_empty() || inner.is_empty() || no_band
    }

    /// Part number `part` of `parts` equal parts.
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
        }
        all
    }
}

/// The range of offsets in bytes that part number `part` takes of all that components reach. The
/// ranges of all parts have the same length, and so about the same number of positions.
///
/// The component with the longest step, the outermost, decides to which part a position goes. Each
/// offset is in exactly one range, whichever positions have it.
pub(super) fn targets(components: &[Component], parts: usize, part: usize) -> Range<isize> {
    let last = |axis: &Component| axis.step.wrapping_mul(axis.len.saturating_sub(1) as isize);
    let low: isize = components.iter().map(|axis| last(axis).min(0)).sum();
    let high: isize = components.iter().map(|axis| last(axis).max(0)).sum();
    let whole = (high - low) as usize + 1;
    let share = parallel::share(whole, parts, part);
    low + share.start as isize..low + share.end as isize
}

/// The range of offsets in bytes that each part takes.
pub(in crate::memory) type Shares = SmallVec<[Range<isize>; 4]>;

/// The [`targets`] of each part; or, if one part has more than one and a half times its share of a
/// sorted sample of offsets, ranges with about the same number of samples each. `None` if one part
/// is left with nine tenths of the samples, or if memory for the list of parts is refused.
pub(super) fn shares(components: &[Component], parts: usize, sample: &[isize]) -> Option<Shares> {
    let mut shares = Shares::new();
    shares.try_reserve(parts).ok()?;
    shares.extend((0..parts).map(|part| targets(components, parts, part)));
    let samples = |share: &Range<isize>| {
        let before = |end: isize| sample.partition_point(|&offset| offset < end);
        before(share.end) - before(share.start)
    };
    let largest = |shares: &Shares| shares.iter().map(samples).max().unwrap_or(0);
    if largest(&shares) * 2 * parts <= sample.len() * 3 {
        return Some(shares);
    }
    for part in 1..parts {
        let wanted = parallel::share(sample.len(), parts, part).start;
        let last = shares[parts - 1].end;
        let target = sample.get(wanted).copied().unwrap_or(last);
        // The range ends before the updates of this target or after them, whichever is nearer.
        let before = sample.partition_point(|&offset| offset < target);
        let after = sample.partition_point(|&offset| offset <= target);
        let nearer = wanted.saturating_sub(before) < after.saturating_sub(wanted);
        let end = if nearer { target } else { target.saturating_add(1) };
        let end = end.clamp(shares[part - 1].start, last);
        shares[part - 1].end = end;
        shares[part].start = end;
    }
    (largest(&shares) * 10 < sample.len() * 9).then_some(shares)
}
