//! All values of small index types, on all short axes.

use std::mem::MaybeUninit;

use ndarray::ArrayView1;

use super::elements::{self, Ahead, BLOCK, Beside, Elements, Prefetch, SingleFn, WIDENED, Width};
use super::resolve::{all_inside, resolve};
use super::short_runs::{Joined, ShortRuns};
use super::{
    CHUNK, Component, IndexInteger, Indices, Lane, Loop, Meaning, NOWHERE, Offsets, Policy, Walk,
};

mod sorted;
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
mod tuples;

/// The offsets that indices select, and whether all were in bounds.
fn resolved<I: Meaning>(indices: &[I], component: Component, policy: Policy) -> (Vec<isize>, bool) {
    let mut offsets = vec![MaybeUninit::new(0); indices.len()];
    let lane = Lane { start: indices.as_ptr().cast(), step: size_of::<I>() as isize };
    // SAFETY: the lane holds as many indices as there are slots.
    #[allow(unsafe_code)]
    let all = unsafe { resolve::<I>(lane, &component, policy, &mut offsets) };
    // SAFETY: initialised from the start.
    #[allow(unsafe_code)]
    let offsets = offsets.iter().map(|offset| unsafe { offset.assume_init() });
    (offsets.collect(), all)
}

/// The position that the documentation gives an index.
fn position(index: i128, len: i128, policy: Policy) -> Option<i128> {
    let from_front = if index < 0 { index + len } else { index };
    match policy {
        _ if (0..len).contains(&from_front) => Some(from_front),
        Policy::Refuse | Policy::Skip => None,
        Policy::Clip => Some(if index < 0 { 0 } else { len - 1 }),
        Policy::Wrap => Some(index.rem_euclid(len)),
    }
}

fn check<I: Meaning>(values: &[I], lens: impl Iterator<Item = usize>) {
    for len in lens {
        for step in [8, -8, 1, 12, -24, 0] {
            let component = Component { len, step, at: 0 };
            for policy in [Policy::Refuse, Policy::Skip, Policy::Clip, Policy::Wrap] {
                if len == 0 && matches!(policy, Policy::Clip | Policy::Wrap) {
                    continue;
                }
                let (offsets, all) = resolved(values, component, policy);
                let mut inside = true;
                for (value, offset) in values.iter().zip(offsets) {
                    let expected = position(value.value(), len as i128, policy);
                    match expected {
                        Some(position) => assert_eq!(offset, position as isize * step),
                        None if policy == Policy::Skip => assert_eq!(offset, NOWHERE),
                        None => {}
                    }
                    inside &= expected.is_some();
                }
                assert_eq!(all, inside, "length {len}, {policy:?}");
                // Each index by itself: above, one out of bounds hides all others.
                for value in values.iter().filter(|_| policy == Policy::Refuse && step == 8) {
                    let inside = position(value.value(), len as i128, policy).is_some();
                    assert_eq!(resolved(&[*value], component, policy).1, inside);
                }
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore)]
fn all_bytes_on_all_axes_that_a_byte_measures() {
    let signed: Vec<i8> = (i8::MIN..=i8::MAX).collect();
    let unsigned: Vec<u8> = (0..=u8::MAX).collect();
    check(&signed, 0..=300);
    check(&unsigned, 0..=300);
}

#[test]
#[cfg_attr(miri, ignore)]
fn all_words_on_axes_about_their_ends() {
    let signed: Vec<i16> = (i16::MIN..=i16::MAX).collect();
    let unsigned: Vec<u16> = (0..=u16::MAX).collect();
    for end in [1, 1 << 15, 1 << 16, isize::MAX as usize / 24] {
        check(&signed, end - 1..=end);
        check(&unsigned, end - 1..=end);
    }
}

#[test]
fn the_ends_of_wide_types() {
    let longest = isize::MAX as usize / 24;
    let lens = || [0, 1, 2, 1 << 20, longest - 1, longest].into_iter();
    let around = |n: i128| [n - 1, n, n + 1];
    let wanted: Vec<i128> = lens().flat_map(|len| around(len as i128)).collect();
    let of_both_signs = || wanted.iter().flat_map(|&n| [n, -n]);
    let signed = of_both_signs().filter_map(|n| i64::try_from(n).ok());
    check(&signed.chain([i64::MIN, i64::MAX]).collect::<Vec<_>>(), lens());
    let unsigned = of_both_signs().filter_map(|n| u64::try_from(n).ok());
    check(&unsigned.chain([1 << 63, u64::MAX]).collect::<Vec<_>>(), lens());
}

/// A loop over indices, each of which selects `beside` bytes further on than the one before it.
fn run_of(len: usize, beside: isize) -> Loop {
    Loop { len, step: Offsets { selected: beside, ..Offsets::ZERO }, entries: true }
}

/// Copies elements `0, 1, 2, ...` of an axis to a list, and back to a cleared axis: all indices of
/// a lane select along the same axis, or each beside the index before it.
fn copied<I: IndexInteger + std::fmt::Debug, E>(indices: &[I], len: usize, element: fn(usize) -> E)
where
    E: Copy + PartialEq + std::fmt::Debug,
{
    // An even number of indices makes two lanes, one stored after the other.
    let lanes = if indices.len().is_multiple_of(2) { 2 } else { 1 };
    let count = indices.len() / lanes;
    for (width, gather) in [(1, true), (1, false), (count.max(1), true), (count.max(1), false)] {
        copied_of_rows(indices, (lanes, count), (len, width), (gather, None), element);
        // All lanes as one lane of short runs.
        let run = run_of(count, size_of::<E>() as isize);
        if let Some(short_runs) = ShortRuns::of(&[run], 0).filter(|_| width > 1) {
            copied_of_rows(
                indices,
                (lanes, count),
                (len, width),
                (gather, Some(&short_runs)),
                element,
            );
        }
    }
}

fn copied_of_rows<I: IndexInteger + std::fmt::Debug, E>(
    indices: &[I],
    (lanes, count): (usize, usize),
    (len, width): (usize, usize),
    (gather, short_runs): (bool, Option<&ShortRuns>),
    element: fn(usize) -> E,
) where
    E: Copy + PartialEq + std::fmt::Debug,
{
    let array = ArrayView1::from(indices);
    let kind = Indices::of(&array);
    let size = size_of::<E>();
    let axis = Component { len, step: (width * size) as isize, at: 0 };
    let place = |k: usize| {
        let index = indices[k].to_i128().unwrap();
        let position = position(index, len as i128, Policy::Refuse);
        position.map(|row| row as usize * width + k % count % width)
    };
    let inside = (0..indices.len()).all(|k| place(k).is_some());
    let none = element(len * width);
    let mut all: Vec<E> = (0..len * width).map(element).collect();
    let mut list: Vec<E> = (0..indices.len()).map(|k| place(k).map_or(none, element)).collect();
    let (before, expected) = (all.clone(), list.clone());
    if gather {
        list.fill(none);
    } else {
        all.fill(none);
    }
    let run: SingleFn = match (size, gather) {
        (2, true) => elements::copy::<2, true>,
        (2, false) => elements::copy::<2, false>,
        (4, true) => elements::copy::<4, true>,
        (4, false) => elements::copy::<4, false>,
        (8, true) => elements::copy::<8, true>,
        _ => elements::copy::<8, false>,
    };
    let beside = if width > 1 { size as isize } else { 0 };
    let (beside, (run_lanes, run_count)) = match short_runs {
        Some(short_runs) => (Beside::Runs(short_runs), (1, lanes * count)),
        None => (Beside::Each(beside), (lanes, count)),
    };
    assert!(kind.serve_singles(&axis, size_of::<I>() as isize));
    let elements = Elements {
        indices: kind.start(),
        width: kind.width(),
        count: run_count,
        lanes: run_lanes,
        step: Offsets {
            selected: 0,
            indices: (count * size_of::<I>()) as isize,
            listed: (count * size) as isize,
        },
        axes: &[axis],
        beside,
        selected: all.as_mut_ptr().cast(),
        listed: list.as_mut_ptr().cast(),
        repeated: false,
        prefetch: Prefetch {
            selected: [Ahead::Never, Ahead::AtUse, Ahead::Block][count % 3],
            distance: (count > 50).then_some(Offsets::ZERO),
            next_lane: 64 * (count % 2),
        },
    };
    // SAFETY: `serve_singles` allows the indices, and the axis and the list are as long as the lanes
    // and their indices require.
    #[allow(unsafe_code)]
    let found = unsafe { kind.visit_widened(elements, size, |elements| run(elements)) };
    assert_eq!(found, inside, "{indices:?} along {len}");
    if gather {
        let places = (0..indices.len()).filter(|&k| place(k).is_some());
        places.for_each(|k| assert_eq!(list[k], expected[k], "{indices:?} along {len}"));
    } else if inside {
        let mut written = vec![none; before.len()];
        (0..indices.len()).for_each(|k| written[place(k).unwrap()] = expected[k]);
        assert_eq!(all, written, "{indices:?} along {len}");
    }
}

/// A block of which not all indices can be resolved is refused before any is read beyond the end.
#[test]
#[should_panic(expected = "indices.len() <= BLOCK")]
fn longer_blocks_are_refused() {
    let elements = Elements {
        indices: std::ptr::null(),
        width: Width::of::<i32>(),
        count: 0,
        lanes: 0,
        step: Offsets::ZERO,
        axes: &[Component { len: 1, step: 4, at: 0 }],
        beside: Beside::Each(0),
        selected: std::ptr::null_mut(),
        listed: std::ptr::null_mut(),
        repeated: false,
        prefetch: Prefetch::NOTHING,
    };
    elements.axis().each(&[7_u32; BLOCK + 1], |_, _| ());
}

fn copied_in_all_counts<I: IndexInteger + std::fmt::Debug>() {
    let small = [0, 1, 2, 5, 6, 7].into_iter();
    let values = small.clone().chain(small.map(|value| !value)).filter_map(I::from);
    let values: Vec<I> = values.chain([I::max_value(), I::min_value()]).collect();
    // Some indices count from the end, or none: those before the first that does are used as they
    // are.
    for (len, back) in [1, 3, 7, 8].into_iter().flat_map(|len| [(len, true), (len, false)]) {
        let inside: Vec<I> = (0..11)
            .filter_map(|k| I::from(k * 5 % len))
            .enumerate()
            .map(|(k, index)| {
                let other = I::from(index.to_i64().unwrap() - len);
                if back && k % 3 == 1 { other.unwrap_or(index) } else { index }
            })
            .collect();
        for count in 0..=inside.len() {
            copied(&inside[..count], len as usize, |k| k as u32);
            copied(&inside[..count], len as usize, |k| !(k as u64));
            copied(&inside[..count], len as usize, |k| !(k as u16));
            // One of the indices in and out of bounds, at each place.
            for (at, &value) in (0..count).flat_map(|at| values.iter().map(move |v| (at, v))) {
                let mut indices = inside[..count].to_vec();
                indices[at] = value;
                copied(&indices, len as usize, |k| k as u32);
                copied(&indices, len as usize, |k| !(k as u64));
            }
            // Two equal indices, of which one or both come after the unrolled iterations.
            for at in [0, count.wrapping_sub(2)].into_iter().filter(|&at| at < count) {
                for &value in &values {
                    let mut indices = inside[..count].to_vec();
                    (indices[at], indices[count - 1]) = (value, value);
                    copied(&indices, len as usize, |k| k as u32);
                }
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore)]
fn elements_are_copied_while_their_indices_are_resolved() {
    copied_in_all_counts::<i8>();
    copied_in_all_counts::<u8>();
    copied_in_all_counts::<i16>();
    copied_in_all_counts::<u16>();
    copied_in_all_counts::<i32>();
    copied_in_all_counts::<u32>();
    copied_in_all_counts::<i64>();
    copied_in_all_counts::<u64>();
    copied_in_all_counts::<isize>();
    copied_in_all_counts::<usize>();
}

/// Runs of all short lengths, each along a row of its own, as one lane: read, and written.
#[test]
fn short_runs_of_rows() {
    const LEN: usize = 5;
    for (run, beside) in (2..=BLOCK).step_by(if cfg!(miri) { 3 } else { 1 }).zip([0, 1].repeat(32))
    {
        // More rows than three blocks hold.
        let rows = 3 * (BLOCK / run) + 1;
        let width = LEN + beside * (run - 1);
        let indices: Vec<i64> = (0..rows * run).map(|k| (k * 3 % LEN) as i64).collect();
        let place = |k: usize| k / run * width + indices[k] as usize + k % run * beside;
        let values: Vec<u32> = (0..rows * width).map(|k| k as u32 + 1).collect();
        let (mut selected, mut listed) = (values.clone(), vec![0; rows * run]);
        let loops = [run_of(run, 4 * beside as isize)];
        let runs = ShortRuns::of(&loops, 4 * width as isize).unwrap();
        let copy = |single: SingleFn, selected: &mut [u32], listed: &mut [u32]| {
            let elements = Elements {
                indices: indices.as_ptr().cast(),
                width: Width::of::<i64>(),
                count: indices.len(),
                lanes: 1,
                step: Offsets::ZERO,
                axes: &[Component { len: LEN, step: 4, at: 0 }],
                beside: Beside::Runs(&runs),
                selected: selected.as_mut_ptr().cast(),
                listed: listed.as_mut_ptr().cast(),
                repeated: false,
                prefetch: Prefetch::NOTHING,
            };
            // SAFETY: there is a listed element for each index, and a row for each run, which is so
            // wide that each index of the run can select all of the axis beside the one before it.
            #[allow(unsafe_code)]
            unsafe {
                assert!(single(&elements));
            }
        };
        copy(elements::copy::<4, true>, &mut selected, &mut listed);
        let expected: Vec<u32> = (0..rows * run).map(|k| values[place(k)]).collect();
        assert_eq!(listed, expected, "runs of {run}");
        listed.iter_mut().zip(7000..).for_each(|(slot, value)| *slot = value);
        copy(elements::copy::<4, false>, &mut selected, &mut listed);
        let mut expected = values;
        (0..rows * run).for_each(|k| expected[place(k)] = 7000 + k as u32);
        assert_eq!(selected, expected, "runs of {run}");
    }
}

/// Indices of a byte, more than are widened at a time: each selects beside the one before, or each two along a
/// row of their own.
#[test]
fn narrow_indices_in_several_pieces() {
    const LEN: usize = 5;
    let indices: Vec<u8> = (0..2 * WIDENED + 4).map(|k| (k * 7 % LEN) as u8).collect();
    let array = ArrayView1::from(&indices);
    let runs = ShortRuns::of(&[run_of(2, 0)], 4 * LEN as isize).unwrap();
    let rows = |k: usize| k / 2 * LEN;
    let places: [(Beside<'_>, &dyn Fn(usize) -> usize); 2] =
        [(Beside::Each(4), &|k| k), (Beside::Runs(&runs), &rows)];
    for (beside, first) in places {
        let mut selected: Vec<u32> = (0..indices.len() as u32 * 3).collect();
        let mut listed = vec![0; indices.len()];
        let elements = Elements {
            indices: indices.as_ptr(),
            width: Width::of::<u8>(),
            count: indices.len(),
            lanes: 1,
            step: Offsets::ZERO,
            axes: &[Component { len: LEN, step: 4, at: 0 }],
            beside,
            selected: selected.as_mut_ptr().cast(),
            listed: listed.as_mut_ptr().cast(),
            repeated: false,
            prefetch: Prefetch::NOTHING,
        };
        // SAFETY: there is a listed element for each index, and three selected ones, of which each index
        // selects among `LEN` from `first` on.
        #[allow(unsafe_code)]
        let inside = unsafe {
            Indices::of(&array)
                .visit_widened(elements, 4, |elements| elements::copy::<4, true>(elements))
        };
        assert!(inside);
        let expected = |k: usize| (first(k) + usize::from(indices[k])) as u32;
        assert!((0..indices.len()).all(|k| listed[k] == expected(k)));
    }
}

/// Runs of several loops: as many of the innermost loops as make a short run of contiguous indices, and
/// the offset of each index in a block of them.
#[test]
fn short_runs_of_several_loops() {
    let level = |len: usize, selected: isize, contiguous: usize| Loop {
        len,
        step: Offsets {
            selected,
            indices: (8 * contiguous) as isize,
            listed: (4 * contiguous) as isize,
        },
        entries: false,
    };
    let joined = |nest: &[Loop]| Joined::of(nest, 8).map(|joined| (joined.first, joined.run));
    let (rows, columns) = (level(3, 100, 2), level(2, 0, 1));
    assert_eq!(joined(&[columns]), None);
    assert_eq!(joined(&[rows, columns]), Some((1, 2)));
    assert_eq!(joined(&[level(50, 4, 6), rows, columns]), Some((1, 6)));
    assert_eq!(joined(&[level(9, 1, 300), level(50, 4, 6), rows, columns]), Some((2, 6)));
    // Runs that do not follow each other, are too long, or select along one axis only.
    assert_eq!(joined(&[level(50, 4, 7), rows, columns]), Some((2, 2)));
    assert_eq!(joined(&[level(3, 100, 3), columns]), None);
    assert_eq!(joined(&[level(3, 4, BLOCK + 1), level(BLOCK + 1, 4, 1)]), None);
    assert_eq!(joined(&[level(2, 4, BLOCK), level(BLOCK, 0, 1)]), None);
    assert_eq!(joined(&[level(2, 4, BLOCK), level(BLOCK, 4, 1)]), Some((1, BLOCK)));

    let runs = ShortRuns::of(&[rows, columns], 4).unwrap();
    assert_eq!(runs.len(), BLOCK / 6 * 6);
    for k in 0..runs.len() {
        // SAFETY: `k` is less than `len`.
        #[allow(unsafe_code)]
        let beside = unsafe { runs.beside(k) };
        assert_eq!(beside, (k / 6 * 4 + k % 6 / 2 * 100) as isize);
    }
}

/// Every count around the lengths of vectors and blocks, with one index of each kind at each place.
fn inside_in_all_counts<I: Meaning + TryFrom<i128> + std::fmt::Debug>(signed: bool) {
    let half = 1_i128 << 32;
    let lens = [1, 7, 1000, half - 1, half, half + 5, 1 << 62, (1 << 62) + 1, (1 << 63) - 1];
    for len in lens.into_iter().filter_map(|len| usize::try_from(len).ok()) {
        let end = len as i128;
        let marks = [0, end - 1, end, end + 1, half - 1, half, half + 6, 1 << 62, (1 << 63) - 1];
        let wild =
            marks.iter().flat_map(|&mark| [mark, -mark - 1, -mark]).chain([-end - 1, 1 << 63]);
        let wild: Vec<I> = wild.filter_map(|value| I::try_from(value).ok()).collect();
        let tame = |k: usize| I::try_from((k as i128 * 0x9E37_79B9) % end).ok().unwrap();
        for count in (1..70).chain([1023, 1024, 1025, 1040, 2050]) {
            let indices: Vec<I> = (0..count).map(tame).collect();
            let places = (0..count).step_by(1 + count / 40).chain([count - 1]);
            for (at, &index) in places.flat_map(|at| wild.iter().map(move |index| (at, index))) {
                let mut indices = indices.clone();
                indices[at] = index;
                let value = index.value();
                let expected = value < end && value >= if signed { -end } else { 0 };
                let lane = Lane { start: indices.as_ptr().cast(), step: size_of::<I>() as isize };
                // SAFETY: the lane is all of `indices`, which has `count` values.
                #[allow(unsafe_code)]
                let found = unsafe { all_inside::<I>(lane, count, len) };
                assert_eq!(found, expected, "{value} at {at} of {count}, {len}");
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn indices_of_eight_bytes_are_inside_or_not() {
    inside_in_all_counts::<i64>(true);
    inside_in_all_counts::<u64>(false);
}

/// Each value alone, along axes in which none, some and all values of the type are in bounds.
fn inside_along<I: Meaning>(values: &[I], lens: &[usize]) {
    for (value, &len) in values.iter().flat_map(|value| lens.iter().map(move |len| (value, len))) {
        let lane = Lane { start: std::ptr::from_ref(value).cast(), step: size_of::<I>() as isize };
        // SAFETY: the lane is this value.
        #[allow(unsafe_code)]
        let found = unsafe { all_inside::<I>(lane, 1, len) };
        let expected = position(value.value(), len as i128, Policy::Refuse).is_some();
        assert_eq!(found, expected, "{} of {len}", value.value());
    }
}

#[test]
fn narrow_indices_are_inside_or_not() {
    let lens = [0, 1, 127, 128, 129, 255, 256, 257];
    inside_along::<u8>(&[0, 1, 126, 127, 128, 254, 255], &lens);
    inside_along::<i8>(&[0, 1, -1, 126, 127, -126, -127, -128], &lens);
    let lens = [0, 1, 32_767, 32_768, 32_769, 65_535, 65_536, 65_537];
    inside_along::<u16>(&[0, 1, 32_767, 32_768, 65_534, 65_535], &lens);
    inside_along::<i16>(&[0, -1, 32_766, 32_767, -32_766, -32_767, -32_768], &lens);
    let lens = [0, 1, i32::MAX as usize];
    inside_along::<i32>(&[0, -1, i32::MAX, i32::MIN + 1, i32::MIN], &lens);
    #[cfg(target_pointer_width = "64")]
    inside_along::<i32>(&[0, -1, i32::MAX, i32::MIN + 1, i32::MIN], &[1 << 31, (1 << 31) + 1]);
}
