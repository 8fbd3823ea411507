//! All rolls of two short axes, as rectangles.

use std::cell::RefCell;

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
