//! Indices and tuples that are sorted, and those that are not quite.

use ndarray::{ArrayView1, ArrayView2};

use super::{CHUNK, Component, Indices, Loop, Offsets, Policy, Walk};
use crate::memory::walk::Order;
use crate::parallel;
use crate::threshold::threshold;

/// Entries count as sorted, so that their loop is cut where the index changes, only if they are one
/// loop and different indices select different targets.
#[test]
fn entries_that_are_sorted() {
    let entries = |len: usize, indices: isize, entries: bool| Loop {
        len,
        step: Offsets { selected: if entries { 0 } else { 8 }, indices, listed: 8 },
        entries,
    };
    let sorted = |ids: &[i32], loops: &[Loop], policy: Policy| {
        let array = ArrayView1::from(ids);
        let component = Component { len: 20, step: 64, at: 0 };
        let components = [component].into_iter().collect();
        let walk = Walk::new(loops.iter().copied().collect(), components, Order::Selected(0));
        Indices::of(&array).are_sorted(&walk, policy)
    };
    let (ids, all) = ([0, 0, 3, 5, 5, 9], [entries(6, 4, true)]);
    for policy in [Policy::Refuse, Policy::Skip] {
        assert!(sorted(&ids, &all, policy));
        assert!(!sorted(&[0, 3, 2, 5, 5, 9], &all, policy));
        assert!(!sorted(&[-1, 0, 3, 5, 5, 9], &all, policy), "it may be the last");
    }
    // A part of the entries would be written before another finds the index out of bounds, and that one
    // would be written at the front, which is the first part's.
    for beyond in [20, 21, i32::MAX] {
        assert!(!sorted(&[0, 0, 3, 5, 5, beyond], &all, Policy::Refuse));
        assert!(sorted(&[0, 0, 3, 5, 5, beyond], &all, Policy::Skip), "it selects nothing");
    }
    // By these policies several indices select one target.
    assert!(!sorted(&ids, &all, Policy::Clip));
    assert!(!sorted(&ids, &all, Policy::Wrap));
    let refused = |loops: &[Loop]| !sorted(&ids, loops, Policy::Refuse);
    assert!(refused(&[entries(6, 4, false)]), "a lane each");
    assert!(refused(&[entries(6, 0, true)]), "one index");
    let outer = Loop { step: Offsets { listed: 100, ..all[0].step }, ..entries(2, 12, true) };
    assert!(refused(&[outer, entries(3, 4, true)]), "two loops");
}

/// Every index is compared with the one before it, whichever block or thread it is of.
#[test]
fn indices_that_are_sorted_are_known_to_be() {
    let checked_by = |ids: &[i64], len: usize, alone: bool| {
        let step = Offsets { selected: 0, indices: 8, listed: 8 };
        let entries = Loop { len: ids.len(), step, entries: true };
        let components = [Component { len, step: 8, at: 0 }].into_iter().collect();
        let walk = Walk::new([entries].into_iter().collect(), components, Order::Selected(0));
        Indices::of(&ArrayView1::from(ids)).checked(&walk, alone).map(|indices| indices.sorted)
    };
    let checked = |ids: &[i64], len: usize| {
        let [shared, alone] = [false, true].map(|alone| checked_by(ids, len, alone));
        assert!(shared == alone || (shared == Some(false) && alone == Some(true)));
        alone
    };
    // Enough for several threads, if there are several.
    let many = threshold(400_000, 2_000);
    for count in [CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 5, many] {
        let sorted: Vec<i64> = (1..=count as i64).collect();
        assert_eq!(checked(&sorted, count + 1), Some(true), "{count}");
        let shared = checked_by(&sorted, count + 1, false);
        assert!(shared == Some(parallel::threads() > 1) || count < many);
        assert_eq!(checked(&sorted, count), None, "{count}");
        let places = (0..count).step_by(1 + count / if cfg!(miri) { 5 } else { 33 });
        for at in places.chain([count / 2 - 1, count / 2, count - 1]) {
            let mut ids = sorted.clone();
            ids[at] = if at == 0 { 3 } else { ids[at - 1] - 1 };
            assert_eq!(checked(&ids, count + 1), Some(false), "{at} of {count}");
            ids[at] = -1;
            assert_eq!(checked(&ids, count + 1), Some(false), "{at} of {count}");
            ids[at] = count as i64 + 1;
            assert_eq!(checked(&ids, count + 1), None, "{at} of {count}");
        }
    }
}

/// Whether tuples are found in bounds, and whether they are known to be sorted then.
fn tuples_checked(ids: &[i64], lens: &[usize]) -> (Option<bool>, bool) {
    let size = 8 * lens.len() as isize;
    let steps = Offsets { selected: 0, indices: size, listed: 8 };
    let entries = Loop { len: ids.len() / lens.len(), step: steps, entries: true };
    // The steps of a target in which each position is an element of 2 bytes.
    let step = |axis: usize| 2 * lens[axis + 1..].iter().product::<usize>() as isize;
    let component =
        |(k, &len): (usize, &usize)| Component { len, step: step(k), at: 8 * k as isize };
    let components = lens.iter().enumerate().map(component).collect();
    let walk = Walk::new([entries].into_iter().collect(), components, Order::Selected(0));
    let array = ArrayView2::from_shape((entries.len, lens.len()), ids).unwrap();
    let policy = Policy::Skip;
    let indices = Indices::of(&array);
    let [shared, checked] = [false, true].map(|alone| indices.checked(&walk, alone));
    let sorted = indices.are_sorted(&walk, policy);
    assert!(checked.is_none_or(|checked| checked.are_sorted(&walk, policy) == sorted));
    assert!(shared.map(|shared| shared.sorted && !sorted) == checked.map(|_| false));
    assert!(!indices.are_sorted(&walk, Policy::Wrap), "several tuples select one target");
    (checked.map(|indices| indices.sorted), sorted)
}

/// Tuples are compared by their positions, whichever block or thread they are of, and whether their
/// numbers are counted from the front or from the end.
#[test]
fn tuples_that_are_sorted_are_known_to_be() {
    let some = if cfg!(miri) { 50 } else { 2_000 };
    let many = if cfg!(miri) { some } else { threshold(60_000, some) };
    for (lens, count) in [
        (&[2, 60_000][..], many),
        (&[90, 50, 100], some),
        (&[4, 50, 20, 100], some),
        (&[2, 3, 5, 300, 70], some),
        (&[40, 60], CHUNK + 1),
        (&[40, 60], 1),
    ] {
        let space: usize = lens.iter().product();
        // Consecutive tuples, or some more than once, each number as one of both signs.
        let mut ids: Vec<i64> = Vec::new();
        for entry in 0..count {
            let mut ordinal = entry * space / count;
            let start = ids.len();
            for (k, &len) in lens.iter().enumerate().rev() {
                let negative = if (entry + k).is_multiple_of(3) { len as i64 } else { 0 };
                ids.insert(start, (ordinal % len) as i64 - negative);
                ordinal /= len;
            }
        }
        let is_expected = |ids: &[i64], expected: bool| {
            let (known, sorted) = tuples_checked(ids, lens);
            known == Some(sorted) && sorted == expected
        };
        assert!(is_expected(&ids, true), "{count} tuples of {lens:?}");
        let positions = |ids: &[i64], entry: usize| -> Vec<i64> {
            let tuple = ids.chunks(lens.len()).nth(entry).unwrap_or_default();
            tuple.iter().zip(lens).map(|(id, &len)| id.rem_euclid(len as i64)).collect()
        };
        let places = (1..8).chain([count / 2, count - 1]);
        for at in places.filter(|at| (1..count).contains(at)) {
            // Two in a row are less than the one before.
            let mut falling = ids.clone();
            let block = &mut falling[at.saturating_sub(2) * lens.len()..(at + 1) * lens.len()];
            let reversed: Vec<i64> = block.chunks(lens.len()).rev().flatten().copied().collect();
            block.copy_from_slice(&reversed);
            assert!(is_expected(&falling, falling == ids), "reversed up to {at} of {count}");
            for (number, &len) in lens.iter().enumerate() {
                let place = at * lens.len() + number;
                let kept = ids[place];
                // One less or more, or as far from the front as it was from the end.
                for new in [kept - 1, kept + 1, -1 - kept] {
                    ids[place] = new.clamp(-(len as i64), len as i64 - 1);
                    let [before, changed] = [at - 1, at].map(|entry| positions(&ids, entry));
                    let after =
                        if at + 1 < count { positions(&ids, at + 1) } else { changed.clone() };
                    let expected = before <= changed && changed <= after;
                    let message = format!("{before:?} {changed:?} {after:?} of {count}");
                    assert!(is_expected(&ids, expected), "{message}");
                }
                ids[place] = len as i64;
                assert_eq!(tuples_checked(&ids, lens), (None, false), "{at} of {count}");
                ids[place] = kept;
            }
        }
    }
}
