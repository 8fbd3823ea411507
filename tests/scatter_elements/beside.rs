//! Reductions that build up beside their targets: means, and half precision.

use ndarray::{Array1, Array2, ArrayD, ArrayViewD, Axis, aview0, aview1};
use opkernels::{OutOfBounds, Reduction, ScatterElements, ScatterElementsExt};

use crate::common::oracle;
use crate::common::{Index, Laid, Layout, Numbers, Reduce, array_of, assert_same, settled};

const REDUCTIONS: [Reduction; 6] = [
    Reduction::Sum,
    Reduction::Sub,
    Reduction::Prod,
    Reduction::Mean,
    Reduction::Min,
    Reduction::Max,
];

/// Rows of indices, or an index an element, along either axis of `shape`, in
/// every layout.
fn in_layouts<A: Reduce, I: Index>(shape: [usize; 2], updates: usize, broadcast: bool) {
    for axis in [0, 1] {
        among::<A, I>(shape, axis, updates, shape[axis], broadcast);
    }
}

/// The same along one axis, of so many positions along it.
fn among<A: Reduce, I: Index>(
    shape: [usize; 2],
    axis: usize,
    updates: usize,
    positions: usize,
    broadcast: bool,
) {
    let mut listed = shape;
    listed[axis] = updates;
    let (mut numbers, apart) = (Numbers(1), shape[axis] / positions);
    let mut indices =
        ArrayD::from_shape_simple_fn(&listed[..], || (numbers.below(positions) * apart) as i128);
    if broadcast {
        let first = indices.index_axis(Axis(1 - axis), 0).to_owned();
        indices.axis_iter_mut(Axis(1 - axis)).for_each(|mut lane| lane.assign(&first));
    }
    let (data, values): (ArrayD<A>, ArrayD<A>) = (array_of(&shape, 2), array_of(&listed, 3));
    let narrow = indices.mapv(|index| I::try_from(index).ok().unwrap());
    for reduction in REDUCTIONS.into_iter().filter(|&reduction| A::defines(reduction)) {
        for use_init_val in [true, false] {
            let mode = OutOfBounds::Error;
            let scatter = oracle::Scatter { axis: axis as i128, reduction, use_init_val, mode };
            let expected = oracle::reduce(&data, &indices, &values, &scatter).unwrap();
            let expected = settled(reduction, &expected);
            for layout in Layout::all(2) {
                let mut target = Laid::new(&data, layout.clone());
                let updates = Laid::new(&values, layout);
                target
                    .view_mut()
                    .scatter_elements_inplace(&narrow, &updates.view(), scatter.attributes())
                    .unwrap();
                assert_same(&settled(reduction, &target.contents()), &expected);
            }
        }
    }
}

/// Rows shorter and longer than what is converted at once, lanes of which several have slots at a
/// time, many lanes of few updates, so few updates that they are sorted, and one for each target,
/// which needs no slot.
fn of_all_shapes<A: Reduce>() {
    let shapes = [
        ([3, 5], 9),
        ([7, 70], 40),
        ([5, 600], 9),
        ([60, 3], 20),
        ([700, 7], 2),
        ([3, 500], 6),
        ([90, 60], 4),
        ([60, 41], 1),
        ([9, 300], 2),
    ];
    for (shape, updates) in shapes {
        in_layouts::<A, u16>(shape, updates, true);
        in_layouts::<A, u16>(shape, updates, false);
    }
}

/// Single elements, whose indices are resolved while they are converted and added: one lane, lanes
/// longer than what is converted at once, lanes side by side, and lanes of a few updates.
fn of_single_elements<A: Reduce>() {
    for (shape, updates) in [([2, 3], 700), ([30, 3], 70), ([600, 4], 3)] {
        in_layouts::<A, i64>(shape, updates, false);
        in_layouts::<A, u32>(shape, updates, false);
    }
    let (data, value): (ArrayD<A>, ArrayD<A>) = (array_of(&[300], 2), array_of(&[], 3));
    let indices = ArrayD::from_shape_fn(&[1700][..], |k| (k[0] * 7 % 450 % 300) as i128);
    let all = value.broadcast(&[1700][..]).unwrap().to_owned();
    for reduction in REDUCTIONS.into_iter().filter(|&reduction| A::defines(reduction)) {
        let (axis, use_init_val, mode) = (0, true, OutOfBounds::Error);
        let scatter = oracle::Scatter { axis, reduction, use_init_val, mode };
        let expected = oracle::reduce(&data, &indices, &all, &scatter).unwrap();
        let indices = indices.mapv(|index| index as i64);
        let found = data.scatter_elements_with(&indices, &value, scatter.attributes()).unwrap();
        assert_same(&settled(reduction, &found), &settled(reduction, &expected));
    }
}

#[test]
#[cfg_attr(miri, ignore = "minutes")]
fn single_elements() {
    of_single_elements::<u8>();
    of_single_elements::<i32>();
    of_single_elements::<u64>();
    of_single_elements::<f32>();
    #[cfg(feature = "half")]
    of_single_elements::<half::f16>();
    #[cfg(feature = "half")]
    of_single_elements::<half::bf16>();
}

/// More updates than are added at once, of few targets among many: some targets have slots already
/// when others begin.
#[test]
#[cfg_attr(miri, ignore = "minutes")]
fn few_targets_among_many() {
    fn among_hundreds<A: Reduce>() {
        among::<A, u16>([900, 1], 0, 30, 7, true);
        among::<A, u16>([300, 3], 0, 30, 7, true);
    }
    among_hundreds::<i32>();
    #[cfg(feature = "half")]
    among_hundreds::<half::f16>();
    #[cfg(feature = "half")]
    among_hundreds::<half::bf16>();
    #[cfg(feature = "half")]
    among::<half::bf16, u16>([36_000, 1], 0, 1100, 90, true);
}

/// Reduces updates into `data` in place, in each of these layouts, and compares with the formula.
fn in_place_as_the_formula<A: Reduce>(
    (data, layouts): (&ArrayD<A>, &[Layout]),
    indices: &ArrayViewD<'_, i64>,
    updates: &ArrayViewD<'_, A>,
    scatter: &oracle::Scatter,
) {
    let wide = indices.mapv(i128::from);
    let expected = oracle::reduce(data, &wide, &updates.to_owned(), scatter).unwrap();
    let settled = |array: &ArrayD<A>| settled(scatter.reduction, array);
    for layout in layouts {
        let mut target = Laid::new(data, layout.clone());
        target.view_mut().scatter_elements_inplace(indices, updates, scatter.attributes()).unwrap();
        assert_same(&settled(&target.contents()), &settled(&expected));
    }
}

/// Few lanes, in several loops between whose iterations other targets lie: they have slots at the same
/// time.
fn of_loops_apart<A: Reduce>(reduction: Reduction) {
    let shape = [4, 3, 5, 4];
    for axis in 0..shape.len() {
        let mut listed = shape.map(|len| len - 1);
        listed[axis] = 7;
        let mut numbers = Numbers(axis as u64);
        let indices =
            ArrayD::from_shape_simple_fn(&listed[..], || numbers.below(shape[axis]) as i64);
        let (data, values): (ArrayD<A>, ArrayD<A>) = (array_of(&shape, 2), array_of(&listed, 3));
        let (use_init_val, mode) = (axis != 2, OutOfBounds::Error);
        let scatter = oracle::Scatter { axis: axis as i128, reduction, use_init_val, mode };
        let target = (&data, &Layout::all(shape.len())[..]);
        in_place_as_the_formula(target, &indices.view(), &values.view(), &scatter);
    }
}

#[test]
#[cfg_attr(miri, ignore = "minutes")]
fn lanes_in_loops_apart() {
    of_loops_apart::<f32>(Reduction::Mean);
    of_loops_apart::<u8>(Reduction::Mean);
    #[cfg(feature = "half")]
    of_loops_apart::<half::f16>(Reduction::Max);
    #[cfg(feature = "half")]
    of_loops_apart::<half::bf16>(Reduction::Sum);
}

/// Blocks of updates, each contiguous, of which one begins a while after the other ends.
fn of_blocks_apart<A: Reduce>(reduction: Reduction) {
    for [blocks, entries, row] in [[5, 3, 2], [2, 3, 5], [7, 2, 3], [4, 6, 1]] {
        let shape = [blocks, entries, row];
        let all: ArrayD<A> = array_of(&[blocks, entries + 1, row], 5);
        let updates = all.slice_axis(Axis(1), (..entries).into());
        let index = ArrayD::from_shape_fn(vec![1, entries, 1], |at| [3, 0, 3, 1][at[1] % 4]);
        let indices = index.broadcast(&shape[..]).unwrap();
        let data: ArrayD<A> = array_of(&[blocks, 4, row], 6);
        let (use_init_val, mode) = (true, OutOfBounds::Error);
        let scatter = oracle::Scatter { axis: 1, reduction, use_init_val, mode };
        in_place_as_the_formula((&data, &[Layout::standard(3)]), &indices, &updates, &scatter);
    }
}

#[test]
fn blocks_of_updates_apart() {
    of_blocks_apart::<f64>(Reduction::Mean);
    of_blocks_apart::<u8>(Reduction::Mean);
    of_blocks_apart::<i32>(Reduction::Mean);
    #[cfg(feature = "half")]
    of_blocks_apart::<half::f16>(Reduction::Sum);
    #[cfg(feature = "half")]
    of_blocks_apart::<half::bf16>(Reduction::Min);
}

/// Few rows of updates, each contiguous, of targets whose rows alternate in memory.
fn of_rows_that_alternate<A: Reduce>(reduction: Reduction) {
    for [targets, updates, len] in [[2, 3, 37], [3, 2, 5], [4, 5, 11], [2, 9, 600]] {
        let (data, values): (ArrayD<A>, ArrayD<A>) =
            (array_of(&[targets, len], 5), array_of(&[updates, len], 6));
        let column = ArrayD::from_shape_fn(vec![updates, 1], |at| (at[0] % targets) as i64);
        let indices = column.broadcast(vec![updates, len]).unwrap();
        let (use_init_val, mode) = (true, OutOfBounds::Error);
        let scatter = oracle::Scatter { axis: 0, reduction, use_init_val, mode };
        let target = (&data, &[Layout::transposed(2)][..]);
        in_place_as_the_formula(target, &indices, &values.view(), &scatter);
    }
}

#[test]
fn rows_that_alternate() {
    of_rows_that_alternate::<u8>(Reduction::Mean);
    of_rows_that_alternate::<f64>(Reduction::Mean);
    #[cfg(feature = "half")]
    of_rows_that_alternate::<half::f16>(Reduction::Sum);
    #[cfg(feature = "half")]
    of_rows_that_alternate::<half::bf16>(Reduction::Prod);
}

/// Lists of updates, each contiguous, of lanes of which a few alternate in memory.
fn of_lanes_that_alternate<A: Reduce>(reduction: Reduction) {
    for [beside, lanes, targets, updates] in
        [[2, 5, 4, 9], [3, 30, 7, 20], [2, 3, 40, 600], [7, 2, 5, 9], [2, 40, 3, 3]]
    {
        let listed = [beside, lanes, updates];
        let (data, values): (ArrayD<A>, ArrayD<A>) =
            (array_of(&[beside, lanes, targets], 5), array_of(&listed, 6));
        let list = ArrayD::from_shape_fn(vec![updates], |at| (at[0] * 5 % 7 % targets) as i64);
        let indices = list.broadcast(&listed[..]).unwrap();
        for use_init_val in [true, false] {
            let mode = OutOfBounds::Error;
            let scatter = oracle::Scatter { axis: 2, reduction, use_init_val, mode };
            let target = (&data, &[Layout::transposed(3)][..]);
            in_place_as_the_formula(target, &indices, &values.view(), &scatter);
        }
    }
}

#[test]
fn lanes_that_alternate() {
    of_lanes_that_alternate::<u8>(Reduction::Mean);
    of_lanes_that_alternate::<f64>(Reduction::Mean);
    #[cfg(feature = "half")]
    of_lanes_that_alternate::<half::f16>(Reduction::Sum);
    #[cfg(feature = "half")]
    of_lanes_that_alternate::<half::bf16>(Reduction::Prod);
    #[cfg(feature = "half")]
    of_lanes_that_alternate::<half::f16>(Reduction::Max);
}

/// Sorted indices of so many targets that few updates share one: some runs of a target are longer than a
/// chunk, and the last indices are out of bounds.
#[cfg(feature = "half")]
fn in_order<A: Reduce>() {
    let runs = [1, 2, 1, 1, 1500, 3, 1, 700, 1, 1, 4];
    let sorted: Vec<i64> = (runs.iter().enumerate())
        .flat_map(|(at, &run)| std::iter::repeat_n(4 * at as i64, run))
        .collect();
    let indices = aview1(&sorted).into_dyn();
    let updates: ArrayD<A> = array_of(&[sorted.len()], 3);
    for targets in [41, 40, 20_000] {
        let data: ArrayD<A> = array_of(&[targets], 2);
        for reduction in REDUCTIONS {
            for use_init_val in [true, false] {
                let mode = OutOfBounds::Skip;
                let scatter = oracle::Scatter { axis: 0, reduction, use_init_val, mode };
                let target = (&data, &Layout::all(1)[..]);
                in_place_as_the_formula(target, &indices, &updates.view(), &scatter);
            }
        }
    }
}

#[test]
#[cfg(feature = "half")]
#[cfg_attr(miri, ignore = "minutes")]
fn sorted_halves() {
    in_order::<half::f16>();
    in_order::<half::bf16>();
}

macro_rules! of_all_shapes {
    ($($name:ident: $element:ty;)*) => {$(
        #[test]
        #[cfg_attr(miri, ignore = "minutes")]
        fn $name() {
            of_all_shapes::<$element>();
        }
    )*};
}
of_all_shapes! {
    shapes_of_i8: i8;
    shapes_of_u16: u16;
    shapes_of_i32: i32;
    shapes_of_i64: i64;
    shapes_of_u64: u64;
    shapes_of_i128: i128;
    shapes_of_f32: f32;
}
#[cfg(feature = "half")]
of_all_shapes! {
    shapes_of_f16: half::f16;
    shapes_of_bf16: half::bf16;
}
#[cfg(feature = "num-complex")]
of_all_shapes! {
    shapes_of_complex64: num_complex::Complex<f64>;
}

/// The mean of a value, so many times, and of another that the target holds.
fn mean_of_line<A: Reduce>(most: A, times: usize, held: A, right: A) {
    let mean = ScatterElements::along(0).reduction(Reduction::Mean);
    let zeros = Array1::<u8>::zeros(times);
    let most = aview0(&most);
    let mut line = Array1::from_elem(2, held);
    line.scatter_elements_inplace(&zeros, &most.broadcast(times).unwrap(), mean).unwrap();
    assert_same(&line, &aview1(&[right, held]));
}

/// The same in rows, short ones and long ones, of one value and of a row of values.
fn mean_of_rows<A: Reduce>(most: A, times: usize, held: A, right: A) {
    let mean = ScatterElements::along(0).reduction(Reduction::Mean);
    let column = Array2::<u8>::zeros((times, 1));
    for width in [4, 40] {
        let indices = column.broadcast((times, width)).unwrap();
        let (value, row) = (aview0(&most), Array1::from_elem(width, most));
        for updates in [value.broadcast((times, width)), row.broadcast((times, width))] {
            let mut rows = Array2::from_elem((2, width), held);
            rows.scatter_elements_inplace(&indices, &updates.unwrap(), mean).unwrap();
            assert_same(&rows.row(0), &Array1::from_elem(width, right));
            assert_same(&rows.row(1), &Array1::from_elem(width, held));
        }
    }
}

/// At both sides of the numbers of updates from which on integers are kept in
/// more bits.
#[test]
#[cfg_attr(miri, ignore = "many updates")]
fn means_of_many_integers() {
    for times in [(1 << 15) - 1, 1 << 15] {
        let floor = |most: i128, held: i128| (most * times + held).div_euclid(times + 1);
        let updates = times as usize;
        let (most, least) = (i32::MAX, i32::MIN);
        for mean in [mean_of_line, mean_of_rows] {
            mean(most, updates, least, floor(most.into(), least.into()) as i32);
            mean(least, updates, most, floor(least.into(), most.into()) as i32);
        }
        let right = floor(u32::MAX.into(), 0) as u32;
        mean_of_line(u32::MAX, updates, 0, right);
        mean_of_rows(u32::MAX, updates, 0, right);
        let right = floor(u64::MAX.into(), 0) as u64;
        mean_of_line(u64::MAX, updates, 0, right);
        mean_of_rows(u64::MAX, updates, 0, right);
        let (most, least) = (i64::MAX, i64::MIN);
        for mean in [mean_of_line, mean_of_rows] {
            mean(most, updates, -1, floor(most.into(), -1) as i64);
            mean(least, updates, most, floor(least.into(), most.into()) as i64);
        }
    }
    for times in 255..=258 {
        mean_of_rows(u8::MAX, times, 254, 254);
        mean_of_rows(i8::MIN, times, -127, -128);
    }
    for times in [(1 << 15) - 1, 1 << 15, (1 << 16) - 1, 1 << 16] {
        mean_of_rows(u16::MAX, times, 65_534, 65_534);
        mean_of_rows(u32::MAX, times, u32::MAX - 1, u32::MAX - 1);
    }
    for times in [(1_i64 << 23) - 1, 1 << 23] {
        let right = (65_535 * times / (times + 1)) as u16;
        mean_of_line(u16::MAX, times as usize, 0, right);
        mean_of_line(i8::MIN, times as usize, 127, -128);
    }
    // A sum of rows that does not fit in the integers of `f64`.
    mean_of_rows(u32::MAX, 3 << 18, 0, u32::MAX - 5462);
}

#[cfg(feature = "half")]
mod halves {
    use half::{bf16, f16};
    use opkernels::{ReduceElement, Scatter, ScatterExt};

    use super::*;

    /// All elements of 16 bits.
    fn all<A: Clone>(from_bits: fn(u16) -> A) -> Array1<A> {
        (0..=u16::MAX).map(from_bits).collect()
    }

    /// What one update makes of a value.
    fn right(reduction: Reduction, held: f32, update: f32) -> f32 {
        match reduction {
            Reduction::Sum => held + update,
            Reduction::Sub => held - update,
            Reduction::Prod => held * update,
            Reduction::Min if held <= update || held.is_nan() => held,
            Reduction::Max if held >= update || held.is_nan() => held,
            Reduction::Min | Reduction::Max => update,
            _ => (held + update) / 2.0,
        }
    }

    /// Every element is rounded as the type itself rounds, and elements without
    /// updates keep their bits, NaN included, one by one and in rows.
    fn rounds<A: ReduceElement>(
        from_bits: fn(u16) -> A,
        to_bits: fn(A) -> u16,
        to_f32: fn(A) -> f32,
        from_f32: fn(f32) -> A,
    ) {
        let data = all(from_bits);
        let is_nan = |bits: u16| to_f32(from_bits(bits)).is_nan();
        let same = |found: A, right: f32| {
            let (found, right) = (to_bits(found), to_bits(from_f32(right)));
            found == right || (is_nan(found) && is_nan(right))
        };
        // Odd elements are left alone.
        let touched: Array1<u32> = (0..1 << 15).map(|k| 2 * k).collect();
        let mut numbers = Numbers(7);
        let updates: Array1<A> =
            touched.iter().map(|_| from_bits(numbers.below(1 << 16) as u16)).collect();
        for reduction in REDUCTIONS {
            let attributes = ScatterElements::along(0).reduction(reduction);
            let output = data.scatter_elements_with(&touched, &updates, attributes).unwrap();
            for (k, &found) in output.iter().enumerate() {
                if k % 2 == 1 {
                    assert_eq!(to_bits(found), k as u16, "untouched by {reduction}");
                    continue;
                }
                let (held, update) = (to_f32(data[k]), to_f32(updates[k / 2]));
                let right = right(reduction, held, update);
                assert!(same(found, right), "{reduction} of {held} and {update}, {k}");
            }
            // The same in rows, of which the odd ones are left alone, and then the even ones.
            let rows = data.view().into_shape_with_order((1 << 10, 64)).unwrap();
            for alone in [1, 0] {
                let touched: Vec<u32> = (0..1 << 9).map(|k| 2 * k + 1 - alone).collect();
                let updates = updates.view().into_shape_with_order((1 << 9, 64)).unwrap();
                let attributes = Scatter::along(0).reduction(reduction);
                let output = rows.scatter_with(&touched, &updates, attributes).unwrap();
                for ((k, j), &found) in output.indexed_iter() {
                    let held = rows[[k, j]];
                    if k % 2 == alone as usize {
                        assert_eq!(to_bits(found), to_bits(held), "untouched by {reduction}");
                        continue;
                    }
                    let (held, update) = (to_f32(held), to_f32(updates[[k / 2, j]]));
                    let right = right(reduction, held, update);
                    assert!(same(found, right), "{reduction} of {held} and {update} in rows");
                }
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "many elements")]
    fn every_f16_rounds() {
        rounds(f16::from_bits, f16::to_bits, f16::to_f32, f16::from_f32);
    }

    #[test]
    #[cfg_attr(miri, ignore = "many elements")]
    fn every_bf16_rounds() {
        rounds(bf16::from_bits, bf16::to_bits, bf16::to_f32, bf16::from_f32);
    }

    /// Minima and maxima of every element and some others, as numbers compare:
    /// NaN wins once it appears, made quiet or not, equal ones keep the earlier.
    fn orders<A: ReduceElement + PartialOrd + std::fmt::Debug>(
        from_bits: fn(u16) -> A,
        to_bits: fn(A) -> u16,
        is_nan: fn(A) -> bool,
        quiet: u16,
        corners: &[u16],
    ) {
        let data = all(from_bits);
        let every = Array1::from_iter(0..=u16::MAX);
        for &corner in corners {
            let update = from_bits(corner);
            for reduction in [Reduction::Min, Reduction::Max] {
                let attributes = ScatterElements::along(0).reduction(reduction);
                let updates = Array1::from_elem(1 << 16, update);
                let output = data.scatter_elements_with(&every, &updates, attributes).unwrap();
                for (&found, &held) in output.iter().zip(&data) {
                    let keeps =
                        if reduction == Reduction::Min { held <= update } else { held >= update };
                    let right = if is_nan(held) || keeps { held } else { update };
                    let right = to_bits(right) | if is_nan(right) { quiet } else { 0 };
                    let found = to_bits(found) | if is_nan(found) { quiet } else { 0 };
                    assert_eq!(found, right, "{reduction} of {held:?} and {update:?}");
                }
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "many elements")]
    fn every_half_orders() {
        let corners = [0, 0x8000, 1, 0x8001, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7c01, 0xfe00];
        orders(f16::from_bits, f16::to_bits, f16::is_nan, 0x200, &corners);
        let corners = [0, 0x8000, 1, 0x8001, 0x3f80, 0xbf80, 0x7f80, 0xff80, 0x7f81, 0xffc0];
        orders(bf16::from_bits, bf16::to_bits, bf16::is_nan, 0x40, &corners);
    }
}

/// Rows that are taken some lanes at a time, one of them left over: each row has
/// a count of its own in every group of lanes.
#[test]
fn means_of_rows_with_a_lane_left_over() {
    let (rows, width, many) = (20_000, 17, 6_000);
    let mut data = ndarray::Array2::<i32>::from_elem((rows, width), -7);
    let indices = ndarray::Array1::from_shape_fn(many, |k| k * k % 5_003);
    let updates =
        ndarray::Array2::from_shape_fn((many, width), |(k, j)| (k * 31 + j * 7) as i32 % 1000);
    let mut sums = ndarray::Array2::<i64>::zeros((rows, width));
    let mut counts = vec![0_i64; rows];
    for (k, &i) in indices.iter().enumerate() {
        counts[i] += 1;
        for j in 0..width {
            sums[[i, j]] += i64::from(updates[[k, j]]);
        }
    }
    let expected = ndarray::Array2::from_shape_fn((rows, width), |(i, j)| match counts[i] {
        0 => -7,
        count => sums[[i, j]].div_euclid(count) as i32,
    });
    let mean = opkernels::Scatter::mean(0).use_init_val(false);
    opkernels::ScatterExt::scatter_inplace(&mut data, &indices, &updates, mean).unwrap();
    assert!(data == expected);
}

/// Long rows whose elements lie apart: they have a count for all of their elements, and are written
/// where they have updates.
#[test]
fn means_of_long_rows_of_elements_apart() {
    let (rows, width, many) = (90, 70, 60);
    let mut data = Array2::<i32>::from_elem((rows, 2 * width), -7);
    let indices = Array1::from_shape_fn(many, |k| k * k % 41);
    let updates = Array2::from_shape_fn((many, width), |(k, j)| (k * 31 + j * 7) as i32 % 1000);
    let mut expected = data.clone();
    for row in 0..rows {
        let selected: Vec<usize> = (0..many).filter(|&k| indices[k] == row).collect();
        for j in (0..width).filter(|_| !selected.is_empty()) {
            let sum: i32 = selected.iter().map(|&k| updates[[k, j]]).sum();
            expected[[row, 2 * j]] = sum.div_euclid(selected.len() as i32);
        }
    }
    let mean = opkernels::Scatter::mean(0).use_init_val(false);
    let mut target = data.slice_mut(ndarray::s![.., ..;2]);
    opkernels::ScatterExt::scatter_inplace(&mut target, &indices, &updates, mean).unwrap();
    assert_eq!(data, expected);
}

/// Indices for a part of short lanes only: the slots of longer loops around these are contiguous.
#[test]
fn parts_of_short_lanes() {
    fn parts<A: Reduce>() {
        for (shape, listed) in
            [([6, 50, 5], [2, 50, 2]), ([4, 9, 3], [3, 8, 1]), ([3, 40, 7], [9, 11, 5])]
        {
            let (data, values): (ArrayD<A>, ArrayD<A>) =
                (array_of(&shape, 2), array_of(&listed, 3));
            let mut numbers = Numbers(3);
            let indices =
                ArrayD::from_shape_simple_fn(&listed[..], || numbers.below(shape[0]) as i128);
            for reduction in REDUCTIONS.into_iter().filter(|&reduction| A::defines(reduction)) {
                for use_init_val in [true, false] {
                    let mode = OutOfBounds::Error;
                    let scatter = oracle::Scatter { axis: 0, reduction, use_init_val, mode };
                    let expected = oracle::reduce(&data, &indices, &values, &scatter).unwrap();
                    for layout in Layout::all(3) {
                        let mut target = Laid::new(&data, layout);
                        let indices = indices.mapv(|index| index as u16);
                        target
                            .view_mut()
                            .scatter_elements_inplace(&indices, &values, scatter.attributes())
                            .unwrap();
                        let found = settled(reduction, &target.contents());
                        assert_same(&found, &settled(reduction, &expected));
                    }
                }
            }
        }
    }
    parts::<f32>();
    parts::<i16>();
    #[cfg(feature = "half")]
    parts::<half::f16>();
    #[cfg(feature = "half")]
    parts::<half::bf16>();
}
