//! What is prefetched while single elements are copied or combined.

use std::cell::LazyCell;
use std::ops::RangeInclusive;

use super::Run;
use crate::memory::cpu::{LINE, STREAM, of_caches};
use crate::memory::indices::elements::{Ahead, BLOCK, Prefetch};
use crate::memory::indices::short_runs::Joined;
use crate::memory::walk::{Loop, Offsets};
use crate::threshold::threshold;

/// Bytes of L1.
const L1: usize = threshold(32 << 10, 64);

/// Fewest elements of a lane with which prefetching indices and listed elements pays: what shorter
/// lanes select stays in L1, and loads of the lists do not wait for it. 4096 lanes of 1024 sums take
/// 3.5 ms without, and 4.0 with prefetches; 1024 lanes of 4096 writes 3.9 and 3.5.
const LONG_LANE: usize = threshold(2048, 16);

/// The same of short runs that make one lane, and select at most this number of bytes from each other:
/// what they select is prefetched, too. 14 of 419 `f64` in 46,309 lanes take 4.0 ms without, 4.7 with.
const NEAR_LANES: usize = threshold(512, 64);

/// Bytes of the indices of a lane with which prefetching those of lanes further on pays, where lanes lie
/// apart: hardware prefetchers begin anew in each. 5548 runs of 545 sums, each of 1090 columns, take
/// 7.0 ms so, and 10.7 without.
const LANES_APART: RangeInclusive<usize> = threshold(256, 16)..=32 << 10;

/// Fewest bytes among which a lane selects, with which prefetching those of the next lane pays.
const WHOLE_LANE: usize = threshold(1 << 10, 64);

/// The prefetch distance of lists that continue from one lane to the next.
const CONTIGUOUS: Offsets =
    Offsets { selected: STREAM as isize, indices: STREAM as isize, listed: STREAM as isize };

impl Run<'_> {
    /// What is prefetched while single elements of a nest are used, whose innermost loops may be `joined`.
    pub(super) fn prefetch(&self, nest: &[Loop], joined: Option<Joined>) -> Prefetch {
        let sampled =
            LazyCell::new(|| self.indices.is_some_and(|indices| indices.begin_sorted(self.walk)));
        let sorted = || *sampled;
        let lanes = if joined.is_none() { self.next_lane(nest, sorted) } else { None };
        if let Some((selected, next_lane)) = lanes {
            let distance = self.same_place(nest).unwrap_or(CONTIGUOUS);
            let distance = Some(Offsets { selected, ..distance });
            return Prefetch { selected: Ahead::Never, distance, next_lane };
        }
        Prefetch {
            selected: self.selected_ahead(sorted),
            distance: self.distance(nest, joined, sorted),
            next_lane: 0,
        }
    }

    /// Where what the next lane selects begins, in bytes after a lane, and how many bytes of it are
    /// prefetched with each block, if that pays: where the arrays together are too large for the caches,
    /// and lanes lie apart, select most lines of what they select among, and leave room for the next
    /// lane in L2.
    fn next_lane(&self, nest: &[Loop], sorted: impl Fn() -> bool) -> Option<(isize, usize)> {
        /// Fewest elements of a cache line that are selected.
        const USES: usize = 2;
        let ([axis], [.., around, run]) = (&self.walk.components[..], nest) else { return None };
        let span = axis.len.saturating_mul(axis.step.unsigned_abs());
        let apart = around.len > 1 && around.step.selected.unsigned_abs() >= span;
        let contiguous = axis.step.unsigned_abs() < LINE && run.step.selected == 0;
        let room = of_caches(|caches| caches.second / 2, 1 << 10);
        let most_lines = (WHOLE_LANE..=room).contains(&span) && run.len >= USES * span / LINE;
        let far = || self.walk.touches() >= of_caches(|caches| caches.last / 4 * 3, 256);
        if !(apart && contiguous && most_lines && far()) || sorted() {
            return None;
        }
        let lowest = axis.step.min(0).wrapping_mul(axis.len as isize - 1);
        let piece = span.div_ceil(run.len.div_ceil(BLOCK)).next_multiple_of(LINE);
        Some((around.step.selected.wrapping_add(lowest), piece))
    }

    /// When single elements are prefetched.
    fn selected_ahead(&self, sorted: impl Fn() -> bool) -> Ahead {
        let part = of_caches(|caches| caches.last / 8, 128);
        let entries = self.walk.all_entries();
        let far = self.walk.spans(4 * part);
        // The lines of fewer elements stay in the caches from one call to the next.
        let many = entries >= part / LINE;
        if self.walk.reach() < part {
            // Hardware prefetches whole lanes, unless most of their lines are not used, or each only a few
            // times, of lanes that leave L1.
            let uses = if self.walk.reach() > L1 { LINE / 8 } else { LINE / 2 };
            let thin = self.walk.span() / uses >= entries;
            return if far && thin && many && !sorted() { Ahead::Block } else { Ahead::Never };
        }
        match (far, sorted()) {
            (true, false) if many => Ahead::Block,
            (false, true) => Ahead::Never,
            _ => Ahead::AtUse,
        }
    }

    /// How far ahead of their use indices and listed elements are prefetched, if that pays.
    fn distance(
        &self,
        nest: &[Loop],
        joined: Option<Joined>,
        sorted: impl Fn() -> bool,
    ) -> Option<Offsets> {
        if !self.walk.is_long() {
            return None;
        }
        let same_place = if joined.is_none() { self.same_place(nest) } else { None };
        if same_place.is_some() {
            return same_place;
        }
        let long_lane = match joined {
            Some(it) => nest[it.first - 1].step.selected.unsigned_abs() <= NEAR_LANES,
            None => nest.last().is_some_and(|run| run.len >= LONG_LANE),
        };
        (long_lane && !sorted()).then_some(CONTIGUOUS)
    }

    /// The distance to the same place of a lane further on, for lanes whose indices lie apart.
    fn same_place(&self, nest: &[Loop]) -> Option<Offsets> {
        let [.., around, run] = nest else { return None };
        let (bytes, step) = (run.len * self.indices?.size(), around.step);
        // Tuples are prefetched as one list (`tuples`).
        let one_axis = self.walk.components.len() == 1;
        let apart = step.indices != 0 && step.indices != bytes as isize;
        let pays = one_axis && apart && LANES_APART.contains(&bytes);
        pays.then(|| Offsets::ZERO.after(STREAM.div_ceil(bytes), step))
    }
}
