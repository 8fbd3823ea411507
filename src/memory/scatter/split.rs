//! How the entries of a scatter are split over threads.

use std::sync::atomic::Ordering;

use super::bins::Bins;
use crate::index::Policy;
use crate::memory::cpu::of_caches;
use crate::memory::indexed::{Cut, Run, Shares, unit};
use crate::memory::indices::Indices;
use crate::memory::plan::Listing;
use crate::memory::tile::Kernel;
use crate::memory::walk::{Loop, Walk, iterations};
use crate::parallel::{self, Cost};
use crate::sync::AtomicBool;
use crate::threshold::threshold;

/// Whether what indices select lies so far apart that it is in no cache.
fn is_beyond(walk: &Walk) -> bool {
    walk.reach() >= of_caches(|caches| caches.last / 4 * 3, 512)
}

/// Whether so many bytes of updates come from caches, if they have been used before.
fn are_near(updates: usize) -> bool {
    updates <= of_caches(|caches| caches.last / 2, 1 << 10)
}

/// Whether rows stream through memory into targets from the shared cache. One thread
/// has all of the memory's speed then, since it asks for them ahead: 30,000 of 2 KiB into 3,000
/// take 1.6 ms on one thread, 2.2 on two. But if some targets have far more rows than
/// others, these are nearer.
fn streams(walk: &Walk, row: usize) -> bool {
    let updates = walk.rows().saturating_mul(row);
    walk.is_spread() && !is_beyond(walk) && !are_near(updates)
}

/// Whether it is worth that each thread looks through all indices for those of its
/// targets, which takes it half a nanosecond each: where rows are wide, and where
/// each waits for memory. On one thread and on two: 20,000 rows of 256 bytes into 2,000
/// 116 and 85 µs, but 50,000 of 128 into 5,000 182 and 164; 1,000,000 of 64 into as many
/// 15.2 and 10.1 ms; 1,000,000 floats of 10,000,000 5.2 and 3.8, of 5,000,000 3.7 and 3.8.
fn worth_searching(walk: &Walk, row: usize) -> bool {
    let least = if walk.is_spread() { threshold(256, 16) } else { threshold(192, 8) };
    row >= least || is_beyond(walk)
}

/// Whether threads gain by the lists of a plan, over one thread and over a search.
/// With one thread and two, by lists: 100,000 floats into as many 63 and 42 µs, 1,000,000
/// into as many 1.4 and 0.73 ms; but if few of the targets have half of the updates,
/// these wait for each other, 0.57 and 0.79 ms. Of rows, 50,000 of 64 bytes into 5,000 116
/// and 89 µs; 500,000 into 50,000, which stream through memory, 1.5 and 1.8 ms.
fn is_worth(listing: &Listing, walk: &Walk, row: usize) -> bool {
    /// Fewer targets than that wait for each other.
    const APART: usize = threshold(1 << 10, 8);
    let updates = walk.rows().saturating_mul(row);
    let targets: usize = walk.components.iter().map(|one| one.len).product();
    let uneven = listing.narrowest().saturating_mul(2 * listing.shares()) < targets;
    let elements = walk.inner.len == 1 && listing.narrowest() >= APART;
    let near = row >= 64 && are_near(updates);
    let rows = row >= 256 && (uneven || !streams(walk, row));
    elements || near || rows || is_beyond(walk) || listing.is_contiguous()
}

/// Runs a kernel along a walk, in as many parts as pay; false where an index is
/// refused.
///
/// # Safety
/// The walk is one over the layouts of these arrays, the first of which is
/// borrowed exclusively, and the kernel was made for their elements.
#[allow(unsafe_code)]
pub(super) unsafe fn run(
    walk: &Walk,
    indices: (Option<&Indices<'_>>, Policy),
    (selected, listed): (*mut u8, *const u8),
    size: usize,
    kernel: &dyn Kernel,
) -> bool {
    let spread = walk.is_spread();
    let outside = AtomicBool::new(false);
    let run = Run {
        walk,
        indices: indices.0,
        policy: indices.1,
        selected,
        listed: listed.cast_mut(),
        size,
        kernel,
        spread,
        outside: &outside,
    };
    let row = walk.inner.len.saturating_mul(size);
    let most = parallel::parts(cost(walk, row));
    let cut = if most == 1 { (Cut::Entries(1), 1) } else { cut(walk, row, most) };
    // SAFETY: the caller's promise; `cut` leaves the order of entries alone.
    #[allow(unsafe_code)]
    unsafe {
        match indices.0 {
            Some(indices) if most > 1 && matches!(cut, (Cut::Targets, _) | (_, 1)) => {
                run_by_targets(&run, indices, cut, most);
            }
            _ => run.run(cut.0, cut.1),
        }
    }
    !outside.into_inner()
}

/// What a walk over rows of so many bytes costs.
fn cost(walk: &Walk, row: usize) -> Cost {
    let rows = walk.rows();
    let bytes = Cost::of_bytes(rows.saturating_mul(row));
    if walk.is_spread() {
        Cost::of_far(rows).plus(bytes.times(2))
    } else {
        Cost::of_near(rows).plus(bytes)
    }
}

/// Runs where no loop but those over entries is long enough to be cut, with threads
/// that have targets of their own if that gains; otherwise as it would be `cut`.
///
/// # Safety
/// The run is ready ([`Run`]), with these indices, and may be cut like that.
#[allow(unsafe_code)]
unsafe fn run_by_targets(run: &Run<'_>, indices: &Indices<'_>, cut: (Cut, usize), most: usize) {
    let walk = run.walk;
    let (threads, row) = (parallel::threads().min(most), walk.inner.len.saturating_mul(run.size));
    // SAFETY: the caller's promise; the bins, the listing and the shares are those of
    // this walk.
    unsafe {
        if let Some(bins) = Bins::new(walk, run.kernel, run.size, threads) {
            return run_in_bins(run, bins, threads);
        }
        if let Some(listing) = indices.listing(walk).filter(|all| is_worth(all, walk, row)) {
            return run.run_listed(listing, most.min(listing.shares()));
        }
        // Sorted indices select their targets one after the other. With single elements of these
        // one thread is done almost as soon as it could find that they are sorted.
        if walk.inner.len > 1 && indices.are_sorted(walk, run.policy) {
            return run.run(Cut::Segments, most);
        }
        if walk.inner.len == 1 && cut.0 == Cut::Targets && indices.begin_sorted(walk) {
            return run.run(Cut::Entries(1), 1);
        }
        if cut.0 != Cut::Targets {
            return run.run(cut.0, cut.1);
        }
        let uneven = |shares: &Shares| {
            let widths = || shares.iter().map(|share| share.end.abs_diff(share.start));
            widths().min() < widths().max().map(|widest| widest / 2)
        };
        match run.shares(cut.1) {
            Some(shares) if uneven(&shares) || !streams(walk, row) => run.run_shares(&shares),
            _ => run.run(Cut::Entries(1), 1),
        }
    }
}

/// Runs with targets of their own for so many parts, and combines these with the
/// target, but where an index is refused.
///
/// # Safety
/// The run is ready ([`Run`]), and `bins` are those of its walk, its kernel and as
/// many parts.
#[allow(unsafe_code)]
unsafe fn run_in_bins(run: &Run<'_>, mut bins: Bins, parts: usize) {
    let start = bins.start();
    let apart = Run { walk: &bins.walk, selected: start, spread: false, ..*run };
    // SAFETY: each part has an array of elements that the kernel combines, in
    // which its walk selects (`Bins`).
    unsafe {
        apart.run_apart(parts, bins.every);
    }
    if run.outside.load(Ordering::Relaxed) {
        return;
    }
    let target = run.selected.wrapping_offset(run.walk.base.selected);
    for part in 0..parts {
        let bin = start.wrapping_add(part * bins.every);
        for walk in std::iter::once(&bins.add.0).chain(bins.add.1.as_deref()) {
            // SAFETY: these loops go over all targets of the run, whose arrays are as the
            // caller promises, and over those of the bins, of elements of the same type.
            unsafe {
                self::run(walk, (None, Policy::Refuse), (target, bin), run.size, run.kernel);
            }
        }
    }
}

/// The outermost of the loops over entries whose iterations select different elements, that makes as
/// many bands that are wide enough to be read in order, or else the one that makes most of
/// them; its number, and how many.
fn bands(nest: &[Loop], most: usize) -> (usize, usize) {
    const WIDE: usize = threshold(128, 4);
    let apart = nest.iter().enumerate().filter(|(_, one)| !one.entries);
    let bands = apart.map(|(number, one)| {
        let inside = iterations(&nest[number + 1..]);
        (number, one.len.min(one.len.saturating_mul(inside) / WIDE))
    });
    let enough = bands.clone().find(|(_, count)| *count >= most);
    enough.or_else(|| bands.max_by_key(|(_, count)| *count)).unwrap_or((0, 1))
}

/// Which loop to cut in how many parts, at most `most`, where rows have so many
/// bytes. Loops over entries are not cut: a target's updates keep their order.
fn cut(walk: &Walk, row: usize, most: usize) -> (Cut, usize) {
    let nothing = (Cut::Entries(1), 1);
    let ordered = walk.nest().iter().position(|one| one.entries).unwrap_or(walk.nest().len());
    let unit = iterations(&walk.nest()[ordered..]).max(unit(walk.nest()));
    let (band, bands) = bands(walk.nest(), most);
    let lens = [
        (Cut::Shared, walk.shared_iterations()),
        (Cut::Entries(unit), walk.entries() / unit),
        (Cut::Outer, walk.outer.len),
        (Cut::Band(band), bands),
    ];
    if let Some((cut, len)) = lens.iter().find(|(_, len)| *len >= most) {
        return (*cut, most.min(*len));
    }
    let threads = parallel::threads().min(most);
    let only_entries = ordered == 0 && walk.nest().iter().all(|one| one.step.selected == 0);
    let targets = walk.components.iter().map(|one| one.len).product::<usize>();
    if only_entries && worth_searching(walk, row) && targets >= 4 * threads {
        return (Cut::Targets, threads);
    }
    // Pieces of rows that are wide even so.
    let pieces = row / threshold(2 << 10, 300);
    let (cut, len) = lens
        .into_iter()
        .chain([(Cut::Inner, pieces)])
        .max_by_key(|(_, len)| *len)
        .unwrap_or((Cut::Entries(1), 1));
    if len > 1 { (cut, most.min(len)) } else { nothing }
}
