//! Cycles of all rolls of two or three short axes outside the rows; rows that are cut.

use smallvec::smallvec;

use super::{Cycles, Roll, RolledAxis, RowPosition, StridedRow};
use crate::memory::work::WorkMemory;

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

/// Two rows, each cut in a few parts, of elements of any size, contiguous or not, by every shift for which they
/// can be cut.
#[test]
fn cut_rows_are_rolled() {
    const LEN: usize = 40;
    let mut cut = 0;
    for (size, apart, parts) in [(1, 1, 2), (1, 3, 5), (3, 1, 3), (8, 2, 4), (16, 1, 5), (24, 3, 2)]
    {
        let stride = size * apart;
        let stays = RolledAxis {
            len: 2,
            shift: 0,
            from_stride: (LEN * stride) as isize,
            to_stride: (LEN * stride) as isize,
        };
        let before: Vec<u8> = (0..2 * LEN * stride).map(|k| (k * k / 7) as u8).collect();
        for shift in 1..LEN {
            let mut array = before.clone();
            let row = StridedRow { len: LEN, shift, stride: stride as isize, size };
            let roll = Roll { axes: smallvec![stays], row, data: array.as_mut_ptr() };
            if !roll.can_be_cut(parts) {
                continue;
            }
            roll.run_cut(&WorkMemory::new(parts, roll.max_buffer_bytes()).unwrap());
            let mut expected = before.clone();
            for element in 0..2 * LEN {
                let (row, k) = (element / LEN * LEN, element % LEN);
                let to = (row + (k + shift) % LEN) * stride;
                let from = element * stride;
                expected[to..to + size].copy_from_slice(&before[from..from + size]);
            }
            assert_eq!(array, expected, "elements of {size} bytes, {parts} parts, by {shift}");
            cut += 1;
        }
    }
    assert!(cut > 30, "rows are cut by few shifts");
}
