//! All orders of a tile visit the same elements.

use super::*;
use crate::memory::tile::NextIndices;
use std::cell::RefCell;

/// All addresses (selected, listed) that the three loops of a tile have, in the plain order.
fn addresses(tile: &Tile<'_>) -> Vec<(usize, usize)> {
    let mut all = vec![];
    for iteration in 0..tile.outer.len {
        let (selected, listed) = tile.iteration(iteration);
        for (k, &offset) in tile.offsets.iter().enumerate() {
            for i in 0..tile.inner.len as isize {
                let selected = selected.wrapping_offset(offset + i * tile.inner.selected);
                let listed = listed.wrapping_offset(tile.places.at(k) + i * tile.inner.listed);
                all.push((selected.addr(), listed.addr()));
            }
        }
    }
    all
}

/// Whatever the order of loops, the same pairs of addresses are visited, and those with one
/// selected address in the order of entries.
#[test]
fn orders_visit_the_same() {
    let offsets: Vec<isize> = (0..20).map(|k| k * 7 % 12).collect();
    let evenly: Vec<isize> = (0..20).map(|k| k * 7).collect();
    let places: Vec<isize> = (0..20).map(|k| (k * 11 % 20) * 40).collect();
    let first = std::ptr::without_provenance_mut::<u8>(1 << 14);
    for (entries, outer, row) in (0..=9)
        .chain([16, 20])
        .flat_map(|entries| [1, 2, 7, 33, 70].map(|outer| (entries, outer)))
        .flat_map(|(entries, outer)| [1, 3, 9].map(|row| (entries, outer, row)))
    {
        for (step, places, even) in [12, -12, 40, 300, -4000].into_iter().flat_map(|step| {
            let all = [(Places::Every(40), 0), (Places::Each(&places), 0), (Places::Every(40), 7)];
            all.map(|(places, even)| (step, places, even))
        }) {
            let places = match places {
                Places::Each(places) => Places::Each(&places[..entries]),
                every => every,
            };
            let tile = Tile {
                selected: first.wrapping_add(1 << 20),
                listed: first,
                outer: Steps { len: outer, selected: step, listed: 1000 },
                offsets: if even == 0 { &offsets[..entries] } else { &evenly[..entries] },
                places,
                inner: Steps { len: row, selected: 1 << 21, listed: 4 },
                size: 4,
                spread: false,
                offset_step: even,
                long: false,
                all_iterations: outer,
                next: NextIndices::NONE,
            };
            let visited = RefCell::new(vec![]);
            let visit = |selected: *mut u8, listed: *mut u8| {
                visited.borrow_mut().push((selected.addr(), listed.addr()));
            };
            if row == 1 {
                // What a gather writes is listed, at different places.
                let action = if entries % 2 == 0 { Action::Combine } else { Action::Gather };
                tile.each(action, visit);
            } else {
                tile.with_long_rows(&|tile| {
                    addresses(tile).into_iter().for_each(|pair| visited.borrow_mut().push(pair));
                });
            }
            let (mut expected, mut visited) = (addresses(&tile), visited.into_inner());
            if even == 0 {
                // Iterations select different elements: a stable sort keeps the order of entries.
                expected.sort_by_key(|pair| pair.0);
                visited.sort_by_key(|pair| pair.0);
            } else {
                expected.sort_unstable();
                visited.sort_unstable();
            }
            assert_eq!(visited, expected, "{entries} entries, {outer} times {step}, rows of {row}");
        }
    }
}
