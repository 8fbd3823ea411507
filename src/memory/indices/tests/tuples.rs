//! Tuples, resolved together and number by number.

use super::super::tuples;
use super::*;

/// The offset that a tuple selects under a policy, or `None` if it selects nothing or is refused.
fn selected<I: Meaning>(tuple: &[I], axes: &[Component], policy: Policy) -> Option<isize> {
    let mut offsets = tuple.iter().zip(axes).map(|(number, axis)| {
        let at = position(number.value(), axis.len as i128, policy)?;
        Some(at as isize * axis.step)
    });
    offsets.try_fold(0, |sum, offset| offset.map(|offset| sum + offset))
}

/// Resolves tuples under all policies, and copies elements of all sizes by them.
fn tuples_of<I: IndexInteger + Meaning + std::fmt::Debug>(numbers: &[I], axes: &[Component]) {
    let size = size_of::<I>() as isize;
    let axes: Vec<_> =
        axes.iter().zip(0..).map(|(&axis, k)| Component { at: k * size, ..axis }).collect();
    let array = ArrayView1::from(numbers);
    let indices = Indices::of(&array);
    let lane = indices.lane(0, size * axes.len() as isize);
    let count = numbers.len() / axes.len();
    // SAFETY: the lane is all numbers of the array.
    #[allow(unsafe_code)]
    let Some(all) = (unsafe { indices.tuples(lane, count, &axes) }) else { return };
    let of = |policy| numbers.chunks(axes.len()).map(move |tuple| (tuple, policy));
    let expected = |policy| -> Vec<_> {
        of(policy).map(|(tuple, policy)| selected(tuple, &axes, policy)).collect()
    };
    let inside = expected(Policy::Refuse).iter().all(Option::is_some);
    assert_eq!(all.inside(), inside, "{numbers:?} along {axes:?}");
    for policy in [Policy::Refuse, Policy::Skip, Policy::Clip, Policy::Wrap] {
        let mut offsets = vec![MaybeUninit::new(1); count];
        let found = all.resolve(policy, &mut offsets);
        assert!(found == inside || policy == Policy::Clip, "{numbers:?} along {axes:?}");
        for (offset, expected) in offsets.iter().zip(expected(policy)) {
            // SAFETY: initialised from the start.
            #[allow(unsafe_code)]
            let offset = unsafe { offset.assume_init() };
            match expected {
                Some(expected) => assert_eq!(offset, expected, "{numbers:?}, {policy:?}"),
                None if policy == Policy::Skip => assert_eq!(offset, NOWHERE),
                None => {}
            }
        }
    }
    let places = expected(Policy::Refuse);
    let reach: isize = axes.iter().map(|axis| axis.step * (axis.len as isize - 1)).sum();
    if !(0..1 << 12).contains(&reach) {
        return;
    }
    for (bytes, gather) in [1, 2, 4, 8].into_iter().flat_map(|n| [(n, true), (n, false)]) {
        let mut array: Vec<u8> = (0..reach as usize + bytes).map(|k| (k * 7 % 251) as u8).collect();
        let mut list: Vec<u8> = (0..count * bytes).map(|k| !(k % 253) as u8).collect();
        let (mut array_after, mut list_after) = (array.clone(), list.clone());
        for (entry, place) in places.iter().enumerate() {
            let Some(place) = *place else { continue };
            let (place, entry) = (place as usize, entry * bytes);
            if gather {
                list_after[entry..][..bytes].copy_from_slice(&array[place..][..bytes]);
            } else {
                array_after[place..][..bytes].copy_from_slice(&list[entry..][..bytes]);
            }
        }
        let action = if gather { elements::Action::Gather } else { elements::Action::Write };
        let single = elements::Single { size: bytes, action, waits: None };
        let run = Elements {
            indices: lane.start,
            width: indices.width(),
            count,
            lanes: 1,
            step: Offsets::ZERO,
            axes: &axes,
            beside: Beside::Each(0),
            selected: array.as_mut_ptr(),
            listed: list.as_mut_ptr(),
            repeated: false,
            prefetch: Prefetch {
                distance: (count > 50).then_some(Offsets::ZERO),
                ..Prefetch::NOTHING
            },
        };
        // SAFETY: the axes reach no further than the array, and the list has an element of `bytes`
        // bytes for each tuple.
        #[allow(unsafe_code)]
        let found = unsafe { tuples::copy(&run, &single, Policy::Refuse) };
        if gather {
            // SAFETY: as above.
            #[allow(unsafe_code)]
            let clipped = unsafe { tuples::copy(&run, &single, Policy::Clip) };
            for (entry, place) in expected(Policy::Clip).into_iter().enumerate() {
                let (from, to) = (place.unwrap_or(0) as usize, entry * bytes);
                assert!(!clipped || list[to..][..bytes] == array[from..][..bytes]);
            }
            assert!(clipped || !inside);
        }
        assert_eq!(found, inside);
        if inside {
            assert!(array == array_after && list == list_after, "{bytes} bytes, {numbers:?}");
        } else if gather {
            let entries = places.iter().enumerate().filter(|(_, place)| place.is_some());
            for at in entries.map(|(entry, _)| entry * bytes) {
                assert_eq!(list[at..][..bytes], list_after[at..][..bytes], "{numbers:?}");
            }
        }
    }
}

fn tuples_in_all_counts<I: IndexInteger + Meaning + std::fmt::Debug>() {
    let axis = |len: usize, step: isize| Component { len, step, at: 0 };
    let longest = i32::MAX as usize;
    let lens = [
        vec![axis(7, 40), axis(5, 8)],
        vec![axis(1, 2), axis(300, 1)],
        vec![axis(longest, 1), axis(9, i32::MAX as isize)],
        vec![axis(4, 60), axis(3, 20), axis(5, 4)],
        vec![axis(2, 0), axis(longest, -8), axis(longest, -i32::MAX as isize)],
        vec![axis(3, 60), axis(2, 30), axis(7, 4), axis(4, 1)],
        vec![axis(longest, i32::MAX as isize), axis(2, 0), axis(1, -7), axis(longest, -9)],
    ];
    for axes in lens {
        // Numbers near the ends of each axis, of 32-bit halves and of the integer type.
        let wild = |k: usize| {
            let len = axes[k % axes.len()].len as i128;
            let ends =
                [0, len, -len, 1 << 31, -(1 << 31), 1 << 32, 1 << 40, -(1 << 32), -(1 << 40)];
            let near = ends.into_iter().flat_map(|end| [end - 1, end, end + 1]);
            let fit = near.filter_map(|n| i64::try_from(n).ok().and_then(I::from));
            fit.chain([I::max_value(), I::min_value()]).collect::<Vec<_>>()
        };
        let tame = |k: usize| {
            let len = axes[k % axes.len()].len as u64;
            let number = (k as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
            let position = I::from(number % len).unwrap();
            let back = i64::try_from(number % len).ok().and_then(|at| I::from(at - len as i64));
            if k.is_multiple_of(3) { back.unwrap_or(position) } else { position }
        };
        for count in [0, 1, 3, 4, 5, 9].map(|count| count * axes.len()) {
            let numbers: Vec<I> = (0..count).map(tame).collect();
            tuples_of(&numbers, &axes);
            for at in 0..count {
                for number in wild(at) {
                    let mut numbers = numbers.clone();
                    numbers[at] = number;
                    tuples_of(&numbers, &axes);
                }
            }
        }
    }
}

#[test]
fn tuples_are_resolved_as_their_numbers_are() {
    tuples_in_all_counts::<i32>();
    tuples_in_all_counts::<u32>();
    tuples_in_all_counts::<i64>();
    tuples_in_all_counts::<u64>();
}

/// Lengths and steps that do not fit in 32 bits, and numbers that are not contiguous, are resolved
/// number by number.
#[test]
fn which_tuples_are_taken_together() {
    let array = ArrayView1::from(&[0_i64; 8]);
    let indices = Indices::of(&array);
    let together = |step: isize, axes: &[(usize, isize, isize)]| {
        let axes: Vec<_> =
            axes.iter().map(|&(len, step, at)| Component { len, step, at }).collect();
        indices.serve_tuples(step, &axes)
    };
    let can = crate::memory::cpu::Avx2::detect().is_some();
    let (longest, farthest) = (i32::MAX as usize, i32::MAX as isize);
    for axis in [(7, 5), (1, 0), (longest, -farthest), (1, farthest)] {
        assert_eq!(together(16, &[(axis.0, axis.1, 0), (3, 1, 8)]), can);
        assert_eq!(together(24, &[(2, 1, 0), (3, 1, 8), (axis.0, axis.1, 16)]), can);
        let four = [(2, 1, 0), (3, 1, 8), (5, 1, 16), (axis.0, axis.1, 24)];
        assert_eq!(together(32, &four), can);
    }
    for axis in [(0, 5), (longest + 1, 5), (usize::MAX, 5), (7, farthest + 1), (0, isize::MIN)] {
        assert!(!together(16, &[(axis.0, axis.1, 0), (3, 1, 8)]), "{axis:?}");
        assert!(!together(16, &[(3, 1, 0), (axis.0, axis.1, 8)]), "{axis:?}");
    }
    assert!(!together(24, &[(7, 5, 0), (3, 1, 8)]), "tuples that lie apart");
    assert!(!together(16, &[(7, 5, 0), (3, 1, 16)]), "numbers that lie apart");
    assert!(!together(16, &[(7, 5, 8), (3, 1, 8)]), "one number twice");
    assert!(!together(8, &[(7, 5, 0)]), "single numbers");
    let five = [(2, 1, 0), (3, 1, 8), (5, 1, 16), (7, 1, 24), (2, 1, 32)];
    assert!(!together(40, &five), "tuples of five");
}
