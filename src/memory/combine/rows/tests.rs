use super::*;
use crate::memory::tile::{NextIndices, Steps};

/// Number of target rows of each of the two iterations, and of rows of updates.
const ROWS: usize = 8;

/// A function whose result depends on the order of updates.
fn combine(held: u32, update: u32) -> u32 {
    held.wrapping_mul(3).wrapping_add(update)
}

/// Where targets repeat, the result is that of combining one row after the other, be their
/// updates evenly spaced or not (a thread that takes some updates of a list has both).
#[test]
#[allow(unsafe_code)]
fn runs_are_what_one_row_after_the_other_is() {
    let mut state = 1_u32;
    let mut below = |end: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as usize % end
    };
    for _ in 0..300 {
        let (len, count) = (4 + below(9), 1 + below(20));
        let (mut target, mut place) = (0, 0);
        let mut entry = |_| {
            target = if below(3) == 0 { below(ROWS) } else { target };
            place = if below(4) == 0 { below(ROWS) } else { (place + 1) % ROWS };
            (target, place)
        };
        let entries: Vec<(usize, usize)> = (0..count).map(&mut entry).collect();
        let mut updates: Vec<u32> = (1..=(ROWS * len) as u32).collect();
        let before = vec![7; 2 * ROWS * len];
        let mut expected = before.clone();
        for (iteration, &(target, place)) in
            (0..2).flat_map(|k| entries.iter().map(move |e| (k, e)))
        {
            for k in 0..len {
                let held = &mut expected[(iteration * ROWS + target) * len + k];
                *held = combine(*held, updates[place * len + k]);
            }
        }
        let row = |number: usize| (number * len * 4) as isize;
        let offsets: Vec<isize> = entries.iter().map(|entry| row(entry.0)).collect();
        let places: Vec<isize> = entries.iter().map(|entry| row(entry.1)).collect();
        for (spread, run) in [(true, false), (false, false), (true, true)] {
            let mut targets = before.clone();
            let tile = Tile {
                selected: targets.as_mut_ptr().cast(),
                listed: updates.as_mut_ptr().cast(),
                outer: Steps { len: 2, selected: row(ROWS), listed: 0 },
                offsets: &offsets,
                places: Places::Each(&places),
                inner: Steps { len, selected: 4, listed: 4 },
                size: 4,
                spread,
                offset_step: 0,
                long: false,
                all_iterations: 2,
                next: NextIndices::NONE,
            };
            // SAFETY: all these rows are in the two vectors, which do not overlap, and have
            // four elements or more.
            unsafe {
                if run {
                    runs_of::<u32, 4>(&tile, combine);
                } else {
                    rows_of::<u32, 4, false>(&tile, combine);
                }
            }
            assert_eq!(targets, expected, "{entries:?} of {len}, in runs: {run}");
        }
    }
}

/// With one update for each row, the result is that of combining each of its elements with this one.
#[test]
#[allow(unsafe_code)]
fn an_update_serves_its_row() {
    for len in 4..=13 {
        let mut updates: Vec<u32> = (1..=ROWS as u32).collect();
        let mut targets = vec![7; ROWS * len];
        let row = |number: usize| (number * len * 4) as isize;
        let offsets: Vec<isize> = (0..ROWS).map(|k| row(k * 5 % ROWS)).collect();
        let mut expected = targets.clone();
        for (k, update) in updates.iter().enumerate() {
            let first = k * 5 % ROWS * len;
            expected[first..first + len]
                .iter_mut()
                .for_each(|held| *held = combine(*held, *update));
        }
        let arrays = (targets.as_mut_ptr().cast(), updates.as_mut_ptr().cast());
        let inner = Steps { len, selected: 4, listed: 0 };
        let tile = Tile::of_entries(arrays, (&offsets, Places::Every(4)), inner, 4);
        // SAFETY: all these rows, of four elements or more, and updates are in the two vectors, which do not
        // overlap.
        unsafe {
            rows_of::<u32, 4, true>(&tile, combine);
        }
        assert_eq!(targets, expected, "rows of {len}");
    }
}
