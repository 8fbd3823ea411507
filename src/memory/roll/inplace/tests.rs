//! All rolls of two or three short loops around rows, as cycles.

use super::{Cycles, Place, Turn};

/// Every place is on one cycle, which comes back after as many steps as it is
/// long; and each step goes to where the shifts say a row comes from.
#[test]
#[cfg_attr(miri, ignore)]
fn cycles_go_through_every_place_once() {
    const MOST: usize = 6;
    let turn = |len: usize, shift: usize, to: isize| Turn { len, shift, from: to, to };
    let lengths = |case: usize| [1 + case % MOST, 1 + case / MOST % MOST, 1 + case / 36];
    for [a, b, c] in (0..MOST * MOST * 3).map(lengths) {
        for shifts in 0..a * b * c {
            let shifts = [shifts % a, shifts / a % b, shifts / (a * b)];
            let turns = [
                turn(a, shifts[0], (b * c) as isize),
                turn(b, shifts[1], c as isize),
                turn(c, shifts[2], 1),
            ];
            let cycles = Cycles::new(&turns);
            let count: usize = cycles.leaders.iter().product();
            let mut seen = vec![false; a * b * c];
            for number in 0..count {
                let mut place = Place::new(&turns, &cycles, number);
                let start = place.offset;
                for _ in 0..cycles.len {
                    let at = place.offset as usize;
                    assert!(!seen[at], "a row moves twice");
                    seen[at] = true;
                    place.step_back();
                    let back = |k: usize, at: usize| (at + turns[k].len - shifts[k]) % turns[k].len;
                    let from = (back(0, at / (b * c)), back(1, at / c % b), back(2, at % c));
                    assert_eq!(place.offset as usize, (from.0 * b + from.1) * c + from.2);
                }
                assert_eq!(place.offset, start);
            }
            assert!(seen.iter().all(|seen| *seen), "a row stays behind");
        }
    }
}
