//! All rolls of two short axes, as rectangles; and parts of rolls, each by itself.

use std::cell::RefCell;

use super::blocks::{self, Row, Share};
use super::{Turn, rectangles};
use crate::memory::walk::{Loop, Offsets};

fn places(loops: &[Loop], base: Offsets) -> Vec<Offsets> {
    let Some((first, rest)) = loops.split_first() else { return vec![base] };
    (0..first.len).flat_map(|turn| places(rest, base.after(turn, first.step))).collect()
}

/// Each element is written once, and from where the shift says, merged or not.
#[test]
#[cfg_attr(miri, ignore)]
fn rectangles_make_up_the_destination() {
    for lens in (0..36).map(|case| [1 + case % 6, 1 + case / 6]) {
        for shifts in (0..lens[0] * lens[1]).map(|case| [case % lens[0], case / lens[0]]) {
            // The source lies column-major or row-major, the destination row-major.
            for from in [[1, lens[0] as isize], [lens[1] as isize, 1]] {
                let to = [lens[1] as isize, 1];
                let turn =
                    |k: usize| Turn { len: lens[k], shift: shifts[k], from: from[k], to: to[k] };
                let (mut outer, inner) = (turn(0), turn(1));
                let merged =
                    if inner.merge_into(&mut outer) { vec![outer] } else { vec![outer, inner] };
                let reached = RefCell::new(vec![]);
                rectangles(&merged, Offsets::ZERO, |loops, at| {
                    reached.borrow_mut().extend(places(&loops, at));
                });
                let mut reached: Vec<(isize, isize)> =
                    reached.into_inner().iter().map(|at| (at.listed, at.selected)).collect();
                reached.sort_unstable();
                let place = |at: [usize; 2], steps: [isize; 2]| {
                    at[0] as isize * steps[0] + at[1] as isize * steps[1]
                };
                let expected = (0..lens[0] * lens[1]).map(|number| {
                    let at = [number / lens[1], number % lens[1]];
                    let source = [0, 1].map(|k| (at[k] + lens[k] - shifts[k]) % lens[k]);
                    (place(at, to), place(source, from))
                });
                assert!(reached.iter().copied().eq(expected), "{merged:?}");
            }
        }
    }
}

/// Each byte of a roll, counted from 1 on.
fn rolled(around: &[Turn], row: Row) -> Vec<u8> {
    let (lens, shifts): (Vec<_>, Vec<_>) =
        around.iter().map(|turn| (turn.len, turn.shift)).chain([(row.len, row.shift)]).unzip();
    let bytes = lens.iter().product();
    let source = |number: usize| {
        let (mut rest, mut step, mut source) = (number, 1, 0);
        for (len, shift) in lens.iter().zip(&shifts).rev() {
            source += (rest % len + len - shift) % len * step;
            (rest, step) = (rest / len, step * len);
        }
        byte(source)
    };
    (0..bytes).map(source).collect()
}

/// Never 0, which says that nothing was written.
fn byte(number: usize) -> u8 {
    (number % 251) as u8 + 1
}

/// Parts of a roll write what is theirs and nothing else: together all of it, each byte once.
#[test]
#[cfg_attr(miri, ignore = "takes long")]
fn parts_have_rows_of_their_own() {
    let lines = [&[][..], &[5], &[100], &[3, 4], &[2, 50], &[40, 3], &[2, 3, 4], &[3, 2, 45]];
    let widths = (1..=33).chain([50, 64, 65, 100, 128, 129, 200, 201, 300]);
    for width in widths {
        for lens in lines {
            let row = Row { len: width, shift: width / 3 };
            let mut step = width as isize;
            let mut around: Vec<Turn> = lens
                .iter()
                .rev()
                .map(|&len| {
                    let turn = Turn { len, shift: len / 2, from: step, to: step };
                    step *= len as isize;
                    turn
                })
                .collect();
            around.reverse();
            let from: Vec<u8> = (0..step as usize).map(byte).collect();
            let expected = rolled(&around, row);
            for parts in [1, 2, 3, 7] {
                let cut = Share::cut(&around, parts);
                assert!((1..=parts).contains(&cut.0), "{cut:?}");
                let mut whole = vec![0; from.len()];
                for part in 0..cut.0 {
                    let share = if cut.0 > 1 { Share::of(&around, cut, part) } else { Share::ALL };
                    let mut to = vec![0; from.len()];
                    // SAFETY: axes and row make up these bytes.
                    #[allow(unsafe_code)]
                    unsafe {
                        blocks::roll(&around, &share, from.as_ptr(), to.as_mut_ptr(), row);
                    }
                    for (whole, to) in whole.iter_mut().zip(&to).filter(|(_, to)| **to != 0) {
                        assert_eq!(*whole, 0, "written twice: {around:?} {row:?} {share:?}");
                        *whole = *to;
                    }
                }
                assert_eq!(whole, expected, "{around:?} {row:?} {cut:?}");
            }
        }
    }
}
