//! The paths that large arrays take: past the caches, into fresh pages, and
//! scatters whose target is small beside its indices.

mod common;

use common::REDUCTIONS;
use ndarray::{Array1, Array2, Array3, array};
use opkernels::{
    Error, Gather, GatherExt, OutOfBounds, RollExt, ScatterElements, ScatterElementsExt,
};

/// Distinct, and telling where it came from.
fn numbered(rows: usize, columns: usize) -> Array2<u32> {
    let mut next = 0;
    Array2::from_shape_simple_fn((rows, columns), || {
        next += 1;
        next
    })
}

#[test]
fn rows_gathered_past_the_caches() {
    let (rows, columns) = (300, 1023);
    let data = numbered(rows, columns);
    let picks: Vec<i32> = (0..4200).map(|k| (k * 7919 % (2 * 300)) - 300).collect();
    let mut out = Array2::zeros((picks.len(), columns));
    data.gather_into(&picks, Gather::along(0), &mut out).unwrap();
    let front = |pick: i32| pick.rem_euclid(300) as usize;
    for (row, &pick) in out.outer_iter().zip(&picks) {
        assert_eq!(row, data.row(front(pick)));
    }
    assert_eq!(data.gather(&picks, 0).unwrap(), out);

    // With slices of a fill between them.
    let mut holes = picks.clone();
    holes.iter_mut().step_by(3).for_each(|pick| *pick = 300);
    let fill = Gather::along(0).out_of_bounds(OutOfBounds::Fill(7));
    data.gather_into(&holes, fill, &mut out).unwrap();
    for (row, &pick) in out.outer_iter().zip(&holes) {
        match pick {
            300 => assert!(row.iter().all(|&element| element == 7)),
            pick => assert_eq!(row, data.row(front(pick))),
        }
    }

    // An index out of bounds at the very end leaves the target as it was.
    let before = out.clone();
    let mut bad = picks;
    *bad.last_mut().unwrap() = 300;
    let error = data.gather_into(&bad, Gather::along(0), &mut out).unwrap_err();
    assert!(matches!(error, Error::IndexOutOfBounds { index: 300, .. }), "{error}");
    assert_eq!(out, before);
}

/// Rolls of permuted views, which are transposed on their way, against rolls of
/// copies in standard layout.
fn permuted_rolls<T: Copy + PartialEq + Send + Sync>(number: impl Fn(u32) -> T) {
    for shape in [[70, 33, 90], [64, 64, 64], [3, 17, 40]] {
        let mut next = 0;
        let data = Array3::from_shape_simple_fn(shape, || {
            next += 1;
            number(next)
        });
        for order in [[0, 2, 1], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let view = data.view().permuted_axes(order);
            let copy = view.as_standard_layout().into_owned();
            let mut out = copy.clone();
            view.roll_into([1, 2, 3], [0, 1, 2], &mut out).unwrap();
            assert!(out == copy.roll([1, 2, 3], [0, 1, 2]).unwrap(), "{shape:?} {order:?}");
        }
    }
}

#[test]
fn rolls_of_permuted_views() {
    permuted_rolls(|number| number as u8);
    permuted_rolls(|number| number as u16);
    permuted_rolls(|number| number);
    permuted_rolls(u64::from);
    permuted_rolls(u128::from);
    permuted_rolls(|number| [number; 3]);
    permuted_rolls(Some);
}

#[test]
fn rolls_of_every_size_of_result() {
    // Rows that are shuffled, copied by blocks, staged, and long; results that
    // stay in the caches, pass them, and come in fresh pages.
    for shape in [[90, 90, 90], [5, 7, 250_000], [200_000, 5, 9], [260, 200, 170], [3, 1300, 1300]]
    {
        let mut next = 0_u32;
        let data = Array3::from_shape_simple_fn(shape, || {
            next += 1;
            next
        });
        let shifts = [3, -2, 8];
        let rolled = data.roll(shifts, [0, 1, 2]).unwrap();
        let mut out = Array3::zeros(shape);
        data.roll_into(shifts, [0, 1, 2], &mut out).unwrap();
        assert!(rolled == out, "{shape:?}");
        for ([i, j, k], &element) in rolled.indexed_iter().map(|((i, j, k), e)| ([i, j, k], e)) {
            let from = |at: usize, axis: usize| {
                (at as i64 - shifts[axis]).rem_euclid(shape[axis] as i64) as usize
            };
            let expected = (from(i, 0) * shape[1] + from(j, 1)) * shape[2] + from(k, 2) + 1;
            assert_eq!(element as usize, expected, "{shape:?} at {:?}", [i, j, k]);
        }
        let mut back = rolled;
        back.roll_inplace(shifts.map(|shift| -shift), [0, 1, 2]).unwrap();
        assert!(back == data, "{shape:?}");
    }
}

#[test]
fn many_indices_with_one_out_of_bounds_leave_a_small_target_alone() {
    let updates = Array1::from_elem(5000, 2.0_f64);
    for reduction in REDUCTIONS {
        for use_init_val in [true, false] {
            for bad_at in [0, 1, 1023, 1024, 4999] {
                let attributes =
                    ScatterElements::along(0).reduction(reduction).use_init_val(use_init_val);
                let before = array![1.0, -3.0, 0.5];
                let mut indices: Vec<i64> = (0..5000).map(|k| k % 3 - (k % 2) * 3).collect();
                indices[bad_at] = 3;
                let mut target = before.clone();
                let in_place = target.scatter_elements_inplace(&indices, &updates, attributes);
                let returned = before.scatter_elements_with(&indices, &updates, attributes);
                for error in [in_place.unwrap_err(), returned.unwrap_err()] {
                    let expected = Error::IndexOutOfBounds {
                        index: 3,
                        position: vec![bad_at],
                        axis: 0,
                        len: 3,
                    };
                    assert_eq!(error, expected);
                }
                assert_eq!(target, before);
            }
        }
    }
}

#[test]
fn many_lanes_with_one_index_out_of_bounds_leave_their_target_alone() {
    for reduction in REDUCTIONS {
        let attributes = ScatterElements::along(1).reduction(reduction);
        let before = numbered(40, 5);
        let updates = numbered(40, 700);
        let mut indices = updates.mapv(|number| number % 5);
        indices[[39, 699]] = 5;
        let mut target = before.clone();
        let error = target.scatter_elements_inplace(&indices, &updates, attributes).unwrap_err();
        assert!(matches!(error, Error::IndexOutOfBounds { index: 5, .. }), "{error}");
        assert_eq!(target, before);
        assert!(before.scatter_elements_with(&indices, &updates, attributes).is_err());

        indices[[39, 699]] = 4;
        target.scatter_elements_inplace(&indices, &updates, attributes).unwrap();
        let returned = before.scatter_elements_with(&indices, &updates, attributes).unwrap();
        assert_eq!(target, returned);
    }
}
