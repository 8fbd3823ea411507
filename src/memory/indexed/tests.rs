//! Parts make up the whole, for all small walks.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::part::{Cut, Part, shares, targets};
use super::runs::chunks;
use super::{Indices, Kernel, Policy, Run, Tile, short_run, unit};
use crate::memory::indices::{CHUNK, NOWHERE};
use crate::memory::refused::Refusal;
use crate::memory::tile::Gaps;
use crate::memory::walk::{Component, Components, Loop, Loops, Offsets, Order, Walk, iterations};

/// Each offset that components reach is in the share of exactly one part.
#[test]
#[cfg_attr(miri, ignore)]
fn each_offset_is_one_parts() {
    let components = |lens: [usize; 2], steps: [isize; 2]| {
        [0, 1].map(|k| Component { len: lens[k], step: steps[k], at: 0 })
    };
    for case in 0..5 * 5 * 15 * 15 {
        let lens = [case % 5, case / 5 % 5];
        let steps = [case / 25 % 15, case / 375].map(|step| step as isize - 7);
        let both = components(lens, steps);
        for parts in 1..=9 {
            let shares: Vec<_> = (0..parts).map(|part| targets(&both, parts, part)).collect();
            for place in 0..lens[0] * lens[1] {
                let (a, b) = (place % lens[0], place / lens[0]);
                let offset = a as isize * steps[0] + b as isize * steps[1];
                let owners = shares.iter().filter(|share| share.contains(&offset)).count();
                assert_eq!(owners, 1, "{both:?}, {parts} parts, offset {offset}");
            }
        }
    }
}

/// Shares are contiguous and make up the whole, whatever the sample is, and no share has far more
/// of the sample than others if that can be avoided.
#[test]
#[cfg_attr(miri, ignore)]
fn shares_of_a_sample() {
    let axis = |len, step| [Component { len, step, at: 0 }];
    let samples: [&[isize]; 8] = [
        &[],
        &[isize::MIN, isize::MIN, 8],
        &[0, 8, 16, 24, 32, 40, 48, 56],
        &[0, 0, 0, 0, 0, 0, 8, 16, 32, 56],
        &[0, 0, 8, 8, 16, 16, 24, 24],
        &[56; 9],
        &[16, 24],
        &[-56, -48, -48, -40, -40, -40, -8, 0],
    ];
    for (components, sample) in
        [axis(8, 8), axis(8, -8), axis(1, 8)].iter().flat_map(|axis| samples.map(|s| (axis, s)))
    {
        for parts in 1..20 {
            let whole = targets(components, 1, 0);
            let Some(shares) = shares(components, parts, sample) else { continue };
            assert_eq!(shares.len(), parts);
            assert_eq!((shares[0].start, shares[parts - 1].end), (whole.start, whole.end));
            assert!(shares.windows(2).all(|pair| pair[0].end == pair[1].start), "{shares:?}");
            assert!(shares.iter().all(|share| share.start <= share.end), "{shares:?}");
        }
    }
    // The first target has more than half of the updates; two targets have half; one has all.
    assert_eq!(shares(&axis(100, 8), 2, samples[3]).unwrap()[..], [0..1, 1..793]);
    assert_eq!(shares(&axis(100, 8), 2, samples[4]).unwrap()[..], [0..16, 16..793]);
    assert_eq!(shares(&axis(8, 8), 2, samples[5]), None);
}

/// If loops over entries are cut between runs, no entry is left out, and runs that are joined are
/// not divided.
#[test]
#[cfg_attr(miri, ignore)]
fn cut_entries_make_up_all() {
    const LENS: [usize; 8] = [1, 2, 3, 5, 7, 255, 256, 300];
    for case in 0..8 * 8 * 8 {
        let lens = [LENS[case % 8], LENS[case / 8 % 8], LENS[case / 64]];
        // Steps with which no two loops merge.
        let loops = lens.iter().enumerate().filter(|(_, len)| **len > 1).map(|(k, &len)| {
            let step = Offsets { selected: 0, indices: 1000 * (k as isize + 1), listed: 7 };
            Loop { len, step, entries: true }
        });
        let loops: Loops = loops.collect();
        let walk = Walk::new(loops.clone(), Components::new(), Order::Listed(0));
        assert_eq!((walk.nest(), walk.rest.is_empty()), (&loops[..], true));
        let whole = iterations(walk.nest());
        for parts in 1..=9 {
            let unit = unit(walk.nest(), parts);
            assert!(whole.is_multiple_of(unit));
            let mut end = 0;
            for number in 0..parts {
                let Part { entries, .. } = Part::of(&walk, Cut::Entries(unit), parts, number);
                assert_eq!(entries.start, end);
                end = entries.end;
                if let Some((run, _)) = short_run(walk.nest()) {
                    assert_eq!(entries.start % run.len, 0);
                    let (around, inside) = chunks(walk.nest(), &entries);
                    assert_eq!(inside, iterations(&walk.nest()[around..]));
                    assert!(around > 0 && (inside <= CHUNK || inside == run.len));
                    assert_eq!([entries.start % inside, entries.end % inside], [0, 0]);
                }
            }
            assert_eq!(end, whole, "{lens:?} in {parts}");
        }
    }
}

/// Parts take whole runs of all short loops where there are enough for each part.
#[test]
fn short_loops_are_not_divided() {
    let level = |len: usize, indices: isize| Loop {
        len,
        step: Offsets { selected: 0, indices, listed: 7 },
        entries: true,
    };
    let nest = [level(300, 1000), level(2, 100), level(2, 10)];
    assert_eq!(unit(&nest, 2), 4);
    assert_eq!(unit(&nest[1..], 2), 2);
    // Pieces of 4 would leave a part with fewer than four.
    assert_eq!(unit(&nest, 300), 2);
    assert_eq!(unit(&[level(300, 1), level(1 << 20, 10)], 2), 1);
}

/// A kernel along a walk over elements of 8 bytes, which it does not access.
fn run<'r>(
    walk: &'r Walk,
    (indices, policy): (&'r Indices<'r>, Policy),
    kernel: &'r dyn Kernel,
    refusal: &'r Refusal,
) -> Run<'r> {
    let nowhere = std::ptr::null_mut();
    let (selected, listed, size) = (nowhere, nowhere, 8);
    Run { walk, indices: Some(indices), policy, selected, listed, size, kernel, refusal }
}

/// A kernel that is never run.
struct Nothing;

#[allow(unsafe_code)]
impl Kernel for Nothing {
    unsafe fn run(&self, _: &Tile<'_>) {}
}

/// Sorted entries are cut where the target changes, so that no two parts have a target in
/// common, whichever sign the numbers have that select it.
#[test]
fn segments_end_where_the_target_changes() {
    let tuples =
        [[0, 0, 0, 0, 0, -5, 0, 1], [0, 1, 2, -1, -1, 4, 2, 4], [-3, 2, 0, -2, 0, 3, 2, 0]];
    let single = [&[7_i8][..], &[3; 9], &[0, 0, 0, 1, 1, 5, 5, 5, 5], &[0, 1, 2, 2, 3, 9]];
    let tuples = tuples.iter().map(|numbers| (&numbers[..], &[3_usize, 5][..]));
    for (ids, lens) in single.into_iter().map(|ids| (ids, &[10][..])).chain(tuples) {
        let array = ndarray::ArrayView1::from(ids);
        let step = Offsets { selected: 0, indices: lens.len() as isize, listed: 8 };
        let entries = Loop { len: ids.len() / lens.len(), step, entries: true };
        let steps = [8 * lens[1..].iter().product::<usize>() as isize, 8];
        let components = (0..).zip(lens).zip(steps);
        let components = components.map(|((at, &len), step)| Component { len, step, at }).collect();
        let walk = Walk::new([entries].into_iter().collect(), components, Order::Selected(0));
        let (indices, refusal) = (Indices::of(&array), Refusal::new());
        let run = run(&walk, (&indices, Policy::Refuse), &Nothing, &refusal);
        let position = |(id, &len): (&i8, &usize)| i64::from(*id).rem_euclid(len as i64);
        let targets: Vec<Vec<_>> = ids
            .chunks(lens.len())
            .map(|ids| ids.iter().zip(lens).map(position).collect())
            .collect();
        for entry in 0..=entries.len {
            let ends =
                |&end: &usize| end == 0 || end == entries.len || targets[end - 1] != targets[end];
            assert_eq!(Some(run.segment_start(entry)), (entry..=entries.len).find(ends), "{ids:?}");
        }
    }
}

/// A kernel that finds out whether entries are as evenly spaced as a tile says.
struct Spaced(AtomicUsize);

#[allow(unsafe_code)]
impl Kernel for Spaced {
    unsafe fn run(&self, tile: &Tile<'_>) {
        let even = (0..).zip(tile.offsets).all(|(k, &offset): (isize, _)| {
            offset == tile.offsets[0].wrapping_add(k.wrapping_mul(tile.offset_step))
        });
        assert!(tile.offset_step == 0 || even, "{tile:?}");
        assert!(!tile.offsets.contains(&NOWHERE));
        self.0.fetch_add(tile.offsets.len(), Ordering::Relaxed);
    }

    fn gaps(&self) -> Gaps {
        Gaps::Overwritten
    }

    unsafe fn fill(&self, _: &Tile<'_>) {}
}

/// Runs of which each reads one index are tiles of their own; one whose index selects nothing is left out, or made
/// to select something else, which is not evenly spaced and may not be taken for it.
#[test]
fn runs_with_gaps_are_not_evenly_spaced() {
    const RUN: usize = 20;
    for (ids, gaps) in [([0_i64, 1, 2], false), ([0, 5, 2], true), ([7, 1, 2], true)] {
        let array = ndarray::ArrayView1::from(&ids);
        let level = |len, selected, indices, listed| Loop {
            len,
            step: Offsets { selected, indices, listed },
            entries: indices != 0,
        };
        let len = RUN as isize;
        let loops = [level(3, 0, 8, 32 * len), level(RUN, 8, 0, 32), level(4, 800, 0, 8)];
        let axis = Component { len: 3, step: 8 * len, at: 0 };
        let components = [axis].into_iter().collect();
        let walk = Walk::new(loops.into_iter().collect(), components, Order::Listed(8));
        assert_eq!(walk.nest().len(), 2);
        let kernel = Spaced(AtomicUsize::new(0));
        let (indices, refusal) = (Indices::of(&array), Refusal::new());
        let run = run(&walk, (&indices, Policy::Skip), &kernel, &refusal);
        // SAFETY: the kernel accesses neither array.
        #[allow(unsafe_code)]
        unsafe {
            run.run(Cut::NONE);
        }
        let copied = kernel.0.into_inner();
        assert!(copied == 3 * RUN || (gaps && copied == 2 * RUN), "{copied} entries of {ids:?}");
    }
}
