//! All walks over a few small loops, compared with plain nested loops in row-major order.

#[cfg(not(any(miri, small_thresholds)))]
use super::tiling::lines::LINE;
use super::{
    Component, Components, Cursor, Loop, Loops, Offsets, Order, Walk, is_inside, iterations, merge,
};

const ZERO: Offsets = Offsets::ZERO;

/// The offsets of all iterations of nested loops in row-major order.
fn places(loops: &[Loop], base: Offsets) -> Vec<Offsets> {
    let Some((first, rest)) = loops.split_first() else { return vec![base] };
    let inner = places(rest, ZERO);
    let mut places = Vec::with_capacity(first.len * inner.len());
    for iteration in 0..first.len {
        let base = base.after(iteration, first.step);
        places.extend(inner.iter().map(|&at| base.after(1, at)));
    }
    places
}

/// The offsets of all iterations of a walk in the order in which it runs.
fn walked(walk: &Walk) -> Vec<Offsets> {
    let mut loops = walk.shared().to_vec();
    loops.push(walk.outer);
    loops.extend_from_slice(walk.nest());
    loops.push(walk.inner);
    assert_eq!(iterations(&loops), walk.rows() * walk.inner.len);
    places(&loops, walk.base)
}

/// All lists of `count` of these values.
fn lists<T: Copy>(values: &[T], count: usize) -> Vec<Vec<T>> {
    if count == 0 {
        return vec![vec![]];
    }
    let longer = |list: Vec<T>| values.iter().map(move |&value| [&list[..], &[value]].concat());
    lists(values, count - 1).into_iter().flat_map(longer).collect()
}

/// Strides in bytes of a contiguous array of elements of 8 bytes whose axes, outermost first in
/// memory, are `order`.
fn strides(lens: &[usize], order: &[usize]) -> Vec<isize> {
    let mut strides = vec![0; lens.len()];
    let mut next = 8;
    for &axis in order.iter().rev() {
        strides[axis] = next;
        next *= lens[axis] as isize;
    }
    strides
}

/// Which arrays a loop steps through besides `listed`.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Through {
    /// `selected`.
    Shared,
    /// `selected` and `indices`.
    All,
    /// `indices`.
    Entries,
}

const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// Loops over three arrays; `selected` and `listed` are the memory orders of the axes of two of
/// them, as positions in `ORDERS`.
fn loops(lens: &[usize], through: &[Through], selected: usize, listed: usize) -> Loops {
    let steps = [selected, listed].map(|order| strides(lens, &ORDERS[order]));
    let indices = strides(lens, &ORDERS[0]);
    // For every other order the first axis has a negative stride.
    let sign = |axis: usize| if axis == 0 && selected % 2 == 1 { -1 } else { 1 };
    let level = |axis: usize| {
        let (reads, entries) =
            (through[axis] != Through::Shared, through[axis] == Through::Entries);
        let selected = if entries { 0 } else { sign(axis) * steps[0][axis] };
        let indices = if reads { indices[axis] } else { 0 };
        let step = Offsets { selected, indices, listed: steps[1][axis] };
        Loop { len: lens[axis], step, entries }
    };
    (0..lens.len()).map(level).filter(|level| level.len > 1).collect()
}

/// The places by target, those of each in the order in which they come.
fn received(places: &[Offsets]) -> Vec<Offsets> {
    let mut received = places.to_vec();
    received.sort_by_key(|at| at.selected);
    received
}

/// Whatever the strides, and with loops merged and tiled, a walk runs each iteration once, and
/// each target of a scatter receives its updates in order.
#[test]
#[cfg_attr(miri, ignore)]
fn walks_reach_every_place_once() {
    let key = |at: &Offsets| (at.selected, at.indices, at.listed);
    let (mut tiled, mut walks) = (0, 0);
    for lens in lists(&[2, 3, 17], 3).into_iter().filter(|lens| iterations_of(lens) < 600) {
        for through in lists(&[Through::Shared, Through::All, Through::Entries], 3) {
            for orders in 0..36 {
                let loops = loops(&lens, &through, orders / 6, orders % 6);
                let step = [8, 4096][orders % 2];
                let components: Components =
                    [Component { len: 5, step, at: 0 }].into_iter().collect();
                let mut expected = places(&loops, ZERO);
                let in_order = received(&expected);
                expected.sort_by_key(key);
                for order in
                    [Order::Listed(0), Order::Listed(8), Order::Selected(0), Order::Selected(8)]
                {
                    let walk = Walk::new(loops.clone(), components.clone(), order);
                    let mut reached: Vec<_> = walk.with_rest().flat_map(walked).collect();
                    tiled += usize::from(!walk.rest.is_empty());
                    if matches!(order, Order::Selected(_)) {
                        assert!(received(&reached) == in_order, "{loops:?} {walk:?}");
                    }
                    reached.sort_by_key(key);
                    assert!(reached == expected, "{order:?} {loops:?} {walk:?}");
                    walks += 1;
                }
            }
        }
    }
    assert!(tiled > 100, "{tiled} of {walks} walks were cut in tiles and a rest");
}

fn iterations_of(lens: &[usize]) -> usize {
    lens.iter().product()
}

/// Checks all pairs of loops with few iterations and short steps.
#[test]
#[cfg_attr(miri, ignore)]
fn merged_loops_reach_the_same_places_in_the_same_order() {
    let steps = lists(&[-2, -1, 0, 1, 2, 3], 2);
    let mut merged = 0;
    for lens in lists(&[1, 2, 3], 2) {
        for selected in &steps {
            for indices in &steps {
                for listed in &steps {
                    let level = |k: usize| {
                        let (selected, indices) = (selected[k], indices[k]);
                        let step = Offsets { selected, indices, listed: listed[k] };
                        Loop { len: lens[k], step, entries: false }
                    };
                    let mut loops: Loops = [level(0), level(1)].into_iter().collect();
                    let expected = places(&loops, ZERO);
                    merge(&mut loops);
                    merged += 2 - loops.len();
                    assert_eq!(places(&loops, ZERO), expected);
                }
            }
        }
    }
    assert!(merged > 100, "{merged}");
}

/// Starts a cursor at every iteration, and takes runs with every limit.
#[test]
#[cfg_attr(miri, ignore)]
fn cursors_go_where_loops_go() {
    for lens in lists(&[1, 2, 3, 4], 3) {
        let loops: Vec<Loop> = (0..3)
            .map(|k| {
                let step = [[100, 7, 0], [-10, 0, 3], [1, -50, 20]][k];
                let step = Offsets { selected: step[0], indices: step[1], listed: step[2] };
                Loop { len: lens[k], step, entries: false }
            })
            .collect();
        let all = places(&loops, ZERO);
        for first in 0..all.len() {
            for limit in 1..=5 {
                let mut cursor = Cursor::new(&loops, ZERO, first);
                let mut reached = vec![];
                // Also past the end, where the cursor starts again at the first iteration.
                while reached.len() < 2 * all.len() {
                    let (at, count) = cursor.take(limit);
                    assert!((1..=limit).contains(&count));
                    reached.extend((0..count).map(|iteration| at.after(iteration, loops[2].step)));
                }
                let expected = all.iter().cycle().skip(first);
                assert!(reached.iter().eq(expected.take(reached.len())));
            }
        }
    }
}

/// How many lines of the listed array a tile uses, far from each other, where entries select among
/// `among` rows of `row` elements of 8 bytes in each column of a transposed array; 1 without tiles.
#[cfg(not(any(miri, small_thresholds)))]
fn lines_of_a_tile([columns, among, row]: [usize; 3], entries: usize, order: Order) -> usize {
    let (list, row_step) = (8 * columns as isize, 8 * row as isize);
    let level = |len: usize, selected, listed| {
        let step = Offsets { selected, indices: 0, listed };
        Loop { len, step, entries: false }
    };
    let mut along = level(entries, 0, list);
    (along.entries, along.step.indices) = (true, 8);
    let column = level(columns, among as isize * row_step, 8);
    let loops = [level(row, 8, entries as isize * list), along, column];
    let components = [Component { len: among, step: row_step, at: 0 }].into_iter().collect();
    let walk = Walk::new(loops.into_iter().collect(), components, order);
    let mut within =
        walk.loops.iter().skip_while(|level| level.step.selected.unsigned_abs() < LINE);
    within.next();
    within.filter(|level| level.step.listed.unsigned_abs() >= LINE).map(|level| level.len).product()
}

/// Entries that select in the same cache lines run within tiles, unless these would list in too many
/// lines.
#[test]
#[cfg(not(any(miri, small_thresholds)))]
fn entries_share_the_lines_of_a_tile() {
    for order in [Order::Selected(8), Order::Listed(8)] {
        let lines = |entries| lines_of_a_tile([100_000, 6, 4], entries, order);
        assert_eq!(lines(4), 16);
        assert_eq!(lines(6), 24);
        assert_eq!(lines(7), 4);
        // Two of them seldom select in the same line.
        assert_eq!(lines(2), 4);
    }
    // More than any cache holds: only a gather may list in any number.
    let lines = |entries, order| lines_of_a_tile([5_000_000, 6, 4], entries, order);
    assert_eq!(lines(8, Order::Listed(8)), 32);
    assert_eq!(lines(7, Order::Listed(8)), 4);
    assert_eq!(lines(8, Order::Selected(8)), 4);
}

/// Lists of the output are written side by side where they come from the same cache lines, unless these
/// are too many, or stay cached.
#[test]
#[cfg(not(any(miri, small_thresholds)))]
fn lists_share_the_lines_of_a_tile() {
    let lines = |columns, entries| lines_of_a_tile([columns, 2, 2], entries, Order::Listed(8));
    assert_eq!(lines(100_000, 11), 22);
    assert_eq!(lines(100_000, 13), 1);
    assert_eq!(lines(1000, 11), 1);
}

/// The step in the selected and in the listed array of the loop that runs innermost of `loops`, given by
/// length, these two steps, and whether they are over entries or read indices of their own.
#[cfg(not(any(miri, small_thresholds)))]
fn innermost(
    loops: &[(usize, isize, isize, Option<bool>)],
    [among, apart]: [usize; 2],
    order: Order,
) -> (isize, isize) {
    let level = |&(len, selected, listed, reads): &(usize, isize, isize, Option<bool>)| {
        let indices = if reads.is_some() { listed * 2 } else { 0 };
        Loop { len, step: Offsets { selected, indices, listed }, entries: reads == Some(true) }
    };
    let components = Component { len: among, step: apart as isize, at: 0 };
    let loops = loops.iter().map(level).collect();
    let walk = Walk::new(loops, [components].into_iter().collect(), order);
    let step = walk.loops.last().map(|level| level.step);
    step.map_or((0, 0), |step| (step.selected, step.listed))
}

/// Columns a few sets of L1 apart are not selected in by turns: rows of the list are tiled instead.
#[test]
#[cfg(not(any(miri, small_thresholds)))]
fn columns_that_share_sets_run_outside_rows() {
    // `target[c, r] += updates[r, c]`, where a column is `apart` bytes from the next.
    let inner = |apart: isize, order| {
        let entries = (4, 0, 256 * 2400, Some(true));
        innermost(&[(256, 16, 2400, None), entries, (300, apart, 8, None)], [2, 8], order).0
    };
    for order in [Order::Selected(0), Order::Listed(0)] {
        assert_eq!(inner(4096, order), 16);
        assert_eq!(inner(3 * 4096, order), 16);
        assert_eq!(inner(4096 + 64, order), 4096 + 64);
    }
    // Gathers are not slowed by stores.
    assert_eq!(inner(5 * 1024, Order::Selected(0)), 16);
    assert_eq!(inner(5 * 1024, Order::Listed(0)), 5 * 1024);
    // Blocks that kernels transpose use whole lines.
    let inner = |size| {
        let loops = [(2048, 4, 400, None), (100, 8192, 4, None)];
        innermost(&loops, [0, 0], Order::Listed(size)).0
    };
    assert_eq!(inner(4), 8192);
    assert_eq!(inner(0), 4);
}

/// Elements with indices of their own that select, or are listed, a few sets of L1 apart.
#[test]
#[cfg(not(any(miri, small_thresholds)))]
fn lanes_that_share_sets_run_inside_entries() {
    let order = Order::Selected(0);
    // `target[indices[l, k], l] += updates[l, k]`
    let inner = |apart, order| {
        let loops = [(28, 0, 8, Some(true)), (2048, 8, 224, Some(false))];
        innermost(&loops, [138, apart], order)
    };
    assert_eq!(inner(16384, order), (8, 224));
    assert_eq!(inner(16384 + 64, order), (0, 8));
    assert_eq!(inner(16384, Order::Listed(8)), (0, 8));
    // `target[l, indices[k, l]] += updates[k, l]`
    let inner = |apart| {
        let loops = [(2048, 256, 4, Some(false)), (70, 0, apart, Some(true))];
        innermost(&loops, [64, 4], order)
    };
    assert_eq!(inner(8192), (256, 4));
    assert_eq!(inner(8192 + 64), (0, 8192 + 64));
}

/// Reductions of rows whose elements are a multiple of 4096 bytes apart run lane by lane.
#[test]
#[cfg(not(any(miri, small_thresholds)))]
fn rows_of_elements_that_wait_for_each_other_run_outside_entries() {
    let inner = |apart, entry| {
        let loops = [(14, apart, 8, None), (2000, 0, entry, Some(true))];
        innermost(&loops, [1024, 8], Order::Selected(0))
    };
    assert_eq!(inner(8192, 112), (0, 112));
    assert_eq!(inner(8192 + 64, 112), (8192 + 64, 8));
    // Chunks of updates that L2 does not hold.
    assert_eq!(inner(8192, 8192), (8192, 8));
}

/// The list of few entries of a gather is joined with those of the loop around, which follow it.
#[test]
#[cfg(not(any(miri, small_thresholds)))]
fn few_entries_are_joined_with_the_loop_around() {
    // `output[a, b, i, k] = data[a, b, i, indices[k]]` of a transposed array.
    let nest = |lanes: usize, entries: usize, [apart, gap]: [isize; 2], order| {
        let lane = entries as isize * 4;
        let row = lanes as isize * lane;
        let level = |len, selected, listed| Loop {
            len,
            step: Offsets { selected, indices: 0, listed },
            entries: false,
        };
        let loops = Loops::from_slice(&[
            level(2, 4, 2510 * row),
            level(2510, 8, row),
            level(lanes, 20080, lane + gap),
            Loop {
                len: entries,
                step: Offsets { selected: 0, indices: 8, listed: 4 },
                entries: true,
            },
        ]);
        let component = Component { len: 8, step: apart, at: 0 };
        let walk = Walk::new(loops, [component].into_iter().collect(), order);
        walk.nest().len()
    };
    let gather = Order::Listed(4);
    assert_eq!(nest(20, 11, [401_600, 0], gather), 2);
    assert_eq!(nest(20, 11, [401_600, 4], gather), 1);
    assert_eq!(nest(20, 11, [4, 0], gather), 1);
    assert_eq!(nest(20, 11, [401_600, 0], Order::Selected(4)), 1);
    assert_eq!(nest(20, 100, [401_600, 0], gather), 1);
    // Kernels have ways of their own for these.
    assert_eq!(nest(100, 3, [401_600, 0], gather), 1);
    // More entries than a chunk has.
    assert_eq!(nest(100, 11, [401_600, 0], gather), 1);
}

/// The step of an axis of one position, which may be anything, decides nothing.
#[test]
fn axes_of_one_position_do_not_decide_what_is_inside() {
    let axis = |len: usize, step: isize| Component { len, step, at: 0 };
    let level = Loop { len: 5, step: Offsets { selected: -4, ..ZERO }, entries: false };
    assert!(is_inside(&[axis(3, 20)], &level));
    assert!(is_inside(&[axis(1, 0), axis(3, -20)], &level));
    assert!(is_inside(&[axis(1, 0)], &level));
    assert!(!is_inside(&[axis(3, 20), axis(2, 4)], &level));
    assert!(!is_inside(&[axis(1, 20), axis(2, 2)], &level));
    assert!(!is_inside(&[], &level));
}
