//! How the entries of a scatter are split between threads.

use super::bins::Bins;
use crate::index::Policy;
use crate::memory::cpu::of_caches;
use crate::memory::indexed::{Cut, Run, Shares, unit};
use crate::memory::indices::Indices;
use crate::memory::plan::Listing;
use crate::memory::refused::{Refusal, Refused};
use crate::memory::tile::Kernel;
use crate::memory::walk::{Loop, Walk, iterations};
use crate::parallel::{self, Cost};
use crate::threshold::threshold;

/// Whether the targets span so much memory that they are taken to be in no cache.
fn exceeds_caches(walk: &Walk) -> bool {
    walk.reach() >= of_caches(|caches| caches.last / 4 * 3, 512)
}

/// Whether `updates` bytes of updates fit in the last-level cache, so that they are read from
/// there if they have been used before.
fn updates_are_cached(updates: usize) -> bool {
    updates <= of_caches(|caches| caches.last / 2, 1 << 10)
}

/// Whether the rows of updates are read from memory and their targets from the last-level cache.
/// Then one thread, which prefetches the rows, uses the whole memory bandwidth: 30,000 rows of
/// 2 KiB into 3,000 targets take 1.6 ms on one thread, 2.2 ms on two, each of which skips the other's
/// rows, so that hardware prefetchers begin anew with each. This does not hold for long rows (2,000 of
/// 16 KiB into 1,000: 1.4 and 0.63 ms), nor if some targets have far more rows than others: these
/// targets stay in L1 or L2. Nor where all cores of a server share one cache, and not eight of them, which
/// share a way to the memory: there one core has a small part of the bandwidth (14 GB/s, Intel, 2024, where
/// PyTorch sums 100,000 rows of 512 bytes on two threads in 0.69 of the time that one takes here). Nor on a
/// processor of 2021, which the size of its L2 tells from later ones: 100,000 rows of 512 bytes into 10,000
/// 4.1 and 3.3 ms, 200,000 of 256 into 20,000 4.1 and 3.6.
fn memory_bound(walk: &Walk, row: usize) -> bool {
    /// Bytes of a row for which prefetchers beginning anew costs little.
    const LONG: usize = threshold(4 << 10, 48);
    /// Bytes of a last-level cache that all cores of a server share.
    const OF_ALL_CORES: usize = 64 << 20;
    /// Bytes of L2 of processors of which one core uses the whole memory bandwidth.
    const LATER: usize = 1 << 20;
    /// The most threads that one core replaces: more have several caches, each with a way to the memory.
    const FEW_THREADS: usize = 4;
    let updates = walk.rows().saturating_mul(row);
    let one_suffices = of_caches(|caches| caches.last, 0) < OF_ALL_CORES
        && of_caches(|caches| caches.second, LATER) >= LATER;
    let streams = walk.is_spread() && !exceeds_caches(walk) && !updates_are_cached(updates);
    one_suffices && row < LONG && streams && parallel::threads() <= FEW_THREADS
}

/// Whether it pays that each thread scans all indices for those of its targets, which takes half
/// a nanosecond an index: where rows are wide, and where each update misses the caches.
///
/// One thread -> two threads:
/// - 20,000 rows of 256 bytes into 2,000 targets 116 -> 85 µs, but 50,000 rows of 128 bytes into
///   5,000 targets 182 -> 164 µs,
/// - 1,000,000 rows of 64 bytes into 1,000,000 targets 15.2 -> 10.1 ms; since a chunk of them is
///   prefetched at a time 7.7 -> 8.2, on a machine whose memory bandwidth one thread uses up,
/// - 1,000,000 floats into 10,000,000 targets 5.2 -> 3.8 ms, into 5,000,000 targets 3.7 -> 3.8 ms,
/// - 50,000 rows of 128 bytes into as many targets 431 -> 315 µs, 100,000 1423 -> 796, written 1213 -> 715;
///   100,000 rows of 64 bytes 632 -> 554, but 500,000 into 50,000 targets 3.2 -> 3.4 ms (2021).
fn search_pays(walk: &Walk, row: usize) -> bool {
    let min_row = if !walk.is_spread() {
        threshold(192, 8)
    } else if walk.reach() >= of_caches(|caches| caches.last / 8, 256) {
        threshold(128, 12)
    } else {
        threshold(256, 16)
    };
    row >= min_row || exceeds_caches(walk)
}

/// Whether several threads that go by the listing of a plan are faster than one thread, and than
/// threads that each scan all indices.
///
/// By a listing, one thread -> two threads:
/// - 100,000 floats into 100,000 targets 63 -> 42 µs, 1,000,000 into 1,000,000 1.4 -> 0.73 ms;
///   but if few of the targets have half of the updates, 0.57 -> 0.79 ms, since successive
///   updates of a target wait for each other (store-to-load forwarding),
/// - 50,000 rows of 64 bytes into 5,000 targets 116 -> 89 µs,
/// - 500,000 such rows into 50,000 targets, which are [memory-bound](memory_bound),
///   1.5 -> 1.8 ms.
fn listing_pays(listing: &Listing, run: &Run<'_>, row: usize) -> bool {
    /// Where a share of equal work has fewer targets, updates of a target follow each other so
    /// closely that they wait for each other: by kernels that read lists themselves, and by others, which
    /// take 68 µs on one thread and 72 to 82 on two for 100,000 maxima in 10,000 targets.
    const MIN_TARGETS: [usize; 2] = [threshold(1 << 10, 8), threshold(1 << 13, 8)];
    let walk = run.walk;
    let least = MIN_TARGETS[usize::from(run.kernel.planned().is_none())];
    let updates = walk.rows().saturating_mul(row);
    let targets = walk.targets();
    let uneven = listing.narrowest().saturating_mul(2 * listing.shares()) < targets;
    let elements = walk.inner.len == 1 && listing.narrowest() >= least;
    let cached = row >= 64 && updates_are_cached(updates);
    let rows = row >= 256 && (uneven || !memory_bound(walk, row));
    elements || cached || rows || exceeds_caches(walk) || listing.is_contiguous()
}

/// Runs a kernel along a walk, in as many parallel parts as pay.
///
/// # Safety
/// The walk is one over the layouts of `selected` and `listed` and of the indices, `selected` is
/// borrowed exclusively, and the kernel was made for the elements of the two arrays, of which
/// those of `listed` have `size` bytes.
#[allow(unsafe_code)]
pub(super) unsafe fn run(
    walk: &Walk,
    indices: (Option<&Indices<'_>>, Policy),
    (selected, listed): (*mut u8, *const u8),
    size: usize,
    kernel: &dyn Kernel,
) -> Result<(), Refused> {
    let spread = walk.is_spread();
    let refusal = Refusal::new();
    let run = Run {
        walk,
        indices: indices.0,
        policy: indices.1,
        selected,
        listed: listed.cast_mut(),
        size,
        kernel,
        refusal: &refusal,
    };
    let row = walk.inner.len.saturating_mul(size);
    let mut cost = walk.cost(size).times(kernel.cost_factor());
    if spread {
        // Lines of the target that leave the caches are written back.
        cost = cost.plus(Cost::of_bytes(walk.rows().saturating_mul(row)));
    }
    let max_parts = parallel::parts(cost);
    let split = match max_parts {
        1 => Split::Loops(Cut::NONE),
        _ => split(walk, row, max_parts),
    };
    // SAFETY: the caller upholds the invariant of `Run` (`# Safety`); `split` keeps the order
    // of entries: it cuts a loop whose iterations select different elements, or cuts by targets, as
    // the invariant of `Part` requires.
    #[allow(unsafe_code)]
    unsafe {
        match (split, indices.0) {
            (Split::Loops(cut), _) => run.run(cut),
            (Split::Targets { searching }, Some(indices)) => {
                run_by_targets(&run, indices, searching, max_parts);
            }
            (Split::Targets { .. }, None) => run.run(Cut::NONE),
        }
    }
    refusal.result()
}

/// Runs a walk by targets, so that each thread has targets of its own, if that pays; otherwise on
/// one thread.
///
/// # Safety
/// The invariant of [`Run`] holds for the run, whose indices are `indices`.
#[allow(unsafe_code)]
unsafe fn run_by_targets(run: &Run<'_>, indices: &Indices<'_>, searching: usize, max_parts: usize) {
    let walk = run.walk;
    let (threads, row) =
        (parallel::threads().min(max_parts), walk.inner.len.saturating_mul(run.size));
    // SAFETY: the caller upholds the invariants (`# Safety`); the bins, the listing and the
    // shares are those of this walk, and no two shares have targets in common.
    unsafe {
        if let Some(bins) = Bins::new(walk, run.kernel, run.size, threads) {
            return run_in_bins(run, bins);
        }
        // A plan that was first used on fewer threads has lists for these alone.
        let serves = |made: &&Listing| made.shares() >= threads && listing_pays(made, run, row);
        if let Some(listing) = indices.listing(walk).filter(serves) {
            return run.run_listed(listing, max_parts.min(listing.shares()));
        }
        // Sorted indices have the updates of each target in sequence, so that entries can be cut
        // where the index changes.
        if indices.are_sorted(walk, run.policy) {
            return run.run((Cut::Segments, max_parts));
        }
        let uneven = |shares: &Shares| {
            let widths = || shares.iter().map(|share| share.end.abs_diff(share.start));
            widths().min() < widths().max().map(|widest| widest / 2)
        };
        match (searching > 1).then(|| run.shares(searching)).flatten() {
            Some(shares) if uneven(&shares) || !memory_bound(walk, row) => run.run_shares(&shares),
            _ => run.run(Cut::NONE),
        }
    }
}

/// Runs all parts, each into bins of its own, and then reduces these into the target, unless
/// an index is refused.
///
/// # Safety
/// The invariant of [`Run`] holds for the run, and `bins` were made for its walk and its kernel.
#[allow(unsafe_code)]
unsafe fn run_in_bins(run: &Run<'_>, mut bins: Bins) {
    let (start, parts) = (bins.start(), bins.parts);
    let binned = Run { walk: &bins.walk, selected: start, ..*run };
    // SAFETY: each part has an array of elements of the type that the kernel combines, and its
    // walk selects elements of that array (invariant of `Bins`).
    unsafe {
        binned.run_apart(parts, bins.stride);
    }
    if run.refusal.is_set() {
        return;
    }
    let target = run.selected.wrapping_offset(run.walk.base.selected);
    for part in 0..parts {
        let bin = start.wrapping_add(part * bins.stride);
        for walk in bins.reduce.with_rest() {
            // SAFETY: these loops iterate over all targets of the run, for which the caller
            // upholds the invariant of `Run`, and over all bins of the part, which are elements of
            // the same type (invariant of `Bins`).
            unsafe {
                // There are no indices to refuse.
                _ = self::run(walk, (None, Policy::Refuse), (target, bin), run.size, run.kernel);
            }
        }
    }
}

/// Which loop of `nest` to cut in bands: a loop whose iterations select different elements, in
/// bands wide enough that contiguous entries are read in sequence. The outermost loop that makes
/// at least `max_parts` bands, or else the one that makes most bands. Returns its number in
/// `nest`, and its number of bands.
fn bands(nest: &[Loop], max_parts: usize) -> (usize, usize) {
    /// The least number of entries in a band: on two threads, bands of 94 and 100 of `f32` take 0.65 to
    /// 0.75 of the time that one thread takes, bands of 65 and 85 as long or longer.
    const WIDE: usize = threshold(90, 4);
    let distinct = nest.iter().enumerate().filter(|(_, level)| !level.entries);
    let bands = distinct.map(|(number, level)| {
        let inside = iterations(&nest[number + 1..]);
        (number, level.len.min(level.len.saturating_mul(inside) / WIDE))
    });
    let enough = bands.clone().find(|(_, count)| *count >= max_parts);
    enough.or_else(|| bands.max_by_key(|(_, count)| *count)).unwrap_or((0, 1))
}

/// How a scatter is split between threads.
enum Split {
    /// A loop whose iterations write different elements is cut in this number of parts.
    Loops((Cut, usize)),
    /// Each thread has targets of its own, if that pays. As many threads as `searching`, if more than one, may
    /// search all indices for those of their targets.
    Targets { searching: usize },
}

/// How to split a walk in at most `max_parts` parts, for rows of `row` bytes. Loops over entries
/// alone are not cut, so that each target's updates keep their order.
fn split(walk: &Walk, row: usize, max_parts: usize) -> Split {
    let ordered = walk.nest().iter().position(|level| level.entries).unwrap_or(walk.nest().len());
    let unit = iterations(&walk.nest()[ordered..]).max(unit(walk.nest(), max_parts));
    let (band, bands) = bands(walk.nest(), max_parts);
    let lens = [
        (Cut::Shared, walk.shared_iterations()),
        (Cut::Entries(unit), walk.entries() / unit),
        (Cut::Outer, walk.outer.len),
        (Cut::Band(band), bands),
    ];
    if let Some((cut, _)) = lens.iter().find(|(_, len)| *len >= max_parts) {
        return Split::Loops((*cut, max_parts));
    }
    let threads = parallel::threads().min(max_parts);
    let only_entries = ordered == 0 && walk.nest().iter().all(|level| level.step.selected == 0);
    // Few entries, which may select few targets, are divided along their rows.
    let searching = if only_entries && search_pays(walk, row) {
        threads.min(walk.targets().min(walk.entries()) / 4).max(1)
    } else {
        1
    };
    // Each piece of a row is still long, and has an element.
    let pieces = walk.inner.len.min(row / threshold(2 << 10, 300));
    match lens.into_iter().chain([(Cut::Inner, pieces)]).max_by_key(|(_, len)| *len) {
        Some((cut, len)) if searching < threads.min(len) => {
            Split::Loops((cut, parallel::even(max_parts.min(len))))
        }
        _ => Split::Targets { searching },
    }
}
