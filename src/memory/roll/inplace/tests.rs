//! Cycles of all rolls of two or three short axes outside the rows.

use super::{Cycles, RolledAxis, RowPosition};

/// Every position is on exactly one cycle, each cycle is back at its leader after `Cycles::len`
/// steps, and each step is to the position that the shifts say a row comes from.
#[test]
#[cfg_attr(miri, ignore)]
fn cycles_go_through_every_place_once() {
    const MAX_LEN: usize = 6;
    let axis = |len: usize, shift: usize, stride: isize| RolledAxis {
        len,
        shift,
        from_stride: stride,
        to_stride: stride,
    };
    let lengths = |case: usize| [1 + case % MAX_LEN, 1 + case / MAX_LEN % MAX_LEN, 1 + case / 36];
    for [a, b, c] in (0..MAX_LEN * MAX_LEN * 3).map(lengths) {
        for shifts in 0..a * b * c {
            let shifts = [shifts % a, shifts / a % b, shifts / (a * b)];
            let axes = [
                axis(a, shifts[0], (b * c) as isize),
                axis(b, shifts[1], c as isize),
                axis(c, shifts[2], 1),
            ];
            let cycles = Cycles::new(&axes);
            let count: usize = cycles.leaders.iter().product();
            let mut seen = vec![false; a * b * c];
            for number in 0..count {
                let mut position = RowPosition::new(&axes, &cycles, number);
                let start = position.offset;
                for _ in 0..cycles.len {
                    let at = position.offset as usize;
                    assert!(!seen[at], "a row moves twice");
                    seen[at] = true;
                    position.step_to_source();
                    let back = |k: usize, at: usize| (at + axes[k].len - shifts[k]) % axes[k].len;
                    let from = (back(0, at / (b * c)), back(1, at / c % b), back(2, at % c));
                    assert_eq!(position.offset as usize, (from.0 * b + from.1) * c + from.2);
                }
                assert_eq!(position.offset, start);
            }
            assert!(seen.iter().all(|seen| *seen), "a row stays behind");
        }
    }
}
