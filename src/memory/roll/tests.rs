//! Rectangles of all rolls of two short axes, and rolls in parts, each part run by itself.

use super::blocks::{self, Row, Share};
use super::{RolledAxis, rectangle, rectangles};
use crate::memory::walk::{Loop, Offsets};

/// The offsets of all iterations of a loop nest.
fn all_offsets(loops: &[Loop], base: Offsets) -> Vec<Offsets> {
    let Some((outer, inside)) = loops.split_first() else { return vec![base] };
    (0..outer.len).flat_map(|k| all_offsets(inside, base.after(k, outer.step))).collect()
}

/// Each element is written once, from the element that its shifts select, whether the axes merge
/// or not.
#[test]
#[cfg_attr(miri, ignore)]
fn rectangles_make_up_the_destination() {
    for lens in (0..36).map(|case| [1 + case % 6, 1 + case / 6]) {
        for shifts in (0..lens[0] * lens[1]).map(|case| [case % lens[0], case / lens[0]]) {
            // The source is column-major or row-major, the destination row-major.
            for from in [[1, lens[0] as isize], [lens[1] as isize, 1]] {
                let to = [lens[1] as isize, 1];
                let axis = |k: usize| RolledAxis {
                    len: lens[k],
                    shift: shifts[k],
                    from_stride: from[k],
                    to_stride: to[k],
                };
                let (mut outer, inner) = (axis(0), axis(1));
                let merged =
                    if inner.merge_into(&mut outer) { vec![outer] } else { vec![outer, inner] };
                let mut reached: Vec<(isize, isize)> = (0..rectangles(&merged))
                    .map(|number| rectangle(&merged, Offsets::ZERO, number))
                    .flat_map(|(loops, at)| all_offsets(&loops, at))
                    .map(|at| (at.listed, at.selected))
                    .collect();
                reached.sort_unstable();
                let offset = |at: [usize; 2], strides: [isize; 2]| {
                    at[0] as isize * strides[0] + at[1] as isize * strides[1]
                };
                let expected = (0..lens[0] * lens[1]).map(|number| {
                    let at = [number / lens[1], number % lens[1]];
                    let source = [0, 1].map(|k| (at[k] + lens[k] - shifts[k]) % lens[k]);
                    (offset(at, to), offset(source, from))
                });
                assert!(reached.iter().copied().eq(expected), "{merged:?}");
            }
        }
    }
}

/// The result of a roll of the bytes `byte(0), byte(1), ..`, computed byte by byte.
fn expected_bytes(outer_axes: &[RolledAxis], row: Row) -> Vec<u8> {
    let (lens, shifts): (Vec<_>, Vec<_>) =
        outer_axes.iter().map(|axis| (axis.len, axis.shift)).chain([(row.len, row.shift)]).unzip();
    let bytes = lens.iter().product();
    let source = |number: usize| {
        let (mut rest, mut stride, mut source) = (number, 1, 0);
        for (len, shift) in lens.iter().zip(&shifts).rev() {
            source += (rest % len + len - shift) % len * stride;
            (rest, stride) = (rest / len, stride * len);
        }
        byte(source)
    };
    (0..bytes).map(source).collect()
}

/// The source's byte at an offset: never 0, which marks bytes that have not been written.
fn byte(number: usize) -> u8 {
    (number % 251) as u8 + 1
}

/// Each part of a roll writes only its own rows: all parts together write each byte once.
#[test]
#[cfg_attr(miri, ignore = "takes long")]
fn parts_have_rows_of_their_own() {
    let outer_lens = [&[][..], &[5], &[100], &[3, 4], &[2, 50], &[40, 3], &[2, 3, 4], &[3, 2, 45]];
    let widths = (1..=33).chain([50, 64, 65, 100, 128, 129, 200, 201, 300]);
    for width in widths {
        for lens in outer_lens {
            let row = Row { len: width, shift: width / 3 };
            let mut stride = width as isize;
            let mut outer_axes: Vec<RolledAxis> = lens
                .iter()
                .rev()
                .map(|&len| {
                    let axis =
                        RolledAxis { len, shift: len / 2, from_stride: stride, to_stride: stride };
                    stride *= len as isize;
                    axis
                })
                .collect();
            outer_axes.reverse();
            let from: Vec<u8> = (0..stride as usize).map(byte).collect();
            let expected = expected_bytes(&outer_axes, row);
            for parts in [1, 2, 3, 7] {
                let (cut, share) = Share::cut(&outer_axes, parts);
                assert!((1..=parts).contains(&cut), "{cut}");
                let mut whole = vec![0; from.len()];
                for share in (0..cut).map(share) {
                    let mut to = vec![0; from.len()];
                    // SAFETY: the axes and the row reach each byte of the two vectors once.
                    #[allow(unsafe_code)]
                    unsafe {
                        blocks::roll(&outer_axes, &share, from.as_ptr(), to.as_mut_ptr(), row);
                    }
                    for (whole, to) in whole.iter_mut().zip(&to).filter(|(_, to)| **to != 0) {
                        assert_eq!(*whole, 0, "written twice: {outer_axes:?} {row:?} {share:?}");
                        *whole = *to;
                    }
                }
                assert_eq!(whole, expected, "{outer_axes:?} {row:?} {cut}");
            }
        }
    }
}
