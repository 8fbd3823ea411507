//! Scatters between arrays of every layout, of many shapes.

use ndarray::{Array, Array1, Array2, ArrayD, Axis};
use opkernels::{Error, OutOfBounds, Reduction, ScatterElements, ScatterElementsExt};

use crate::common::oracle::{self, Scatter};
use crate::common::{
    Index, Laid, Layout, Numbers, REDUCTIONS, Reduce, array_of, assert_same, settled,
};

/// Indices in `-len..len`.
fn indices_of(shape: &[usize], len: usize, seed: u64) -> ArrayD<i128> {
    let mut numbers = Numbers(seed);
    ArrayD::from_shape_simple_fn(shape, || numbers.below(2 * len) as i128 - len as i128)
}

/// Scatters in both ways, the target of the second in this layout.
fn assert_scattered<A: Reduce>(
    data: &ArrayD<A>,
    indices: (&ArrayD<i128>, &Layout),
    updates: (&ArrayD<A>, &Layout),
    scatter: &Scatter,
    layout: &Layout,
) {
    let expected = oracle::reduce(data, indices.0, updates.0, scatter).unwrap();
    let indices = Laid::new(&i32::from_wide(indices.0), indices.1.clone());
    let updates = Laid::new(updates.0, updates.1.clone());
    let before = Laid::new(data, layout.clone());
    let (i, u) = (indices.view(), updates.view());
    let output = before.view().scatter_elements_with(&i, &u, scatter.attributes()).unwrap();
    assert!(output.is_standard_layout());
    let expected = settled(scatter.reduction, &expected);
    assert_same(&settled(scatter.reduction, &output), &expected);
    let mut target = before.clone();
    target.view_mut().scatter_elements_inplace(&i, &u, scatter.attributes()).unwrap();
    assert_same(&settled(scatter.reduction, &target.contents()), &expected);
    assert!(target.kept_its_margins(&before));
}

fn scatter(axis: usize, reduction: Reduction) -> Scatter {
    Scatter { axis: axis as i128, reduction, use_init_val: true, mode: OutOfBounds::Error }
}

/// Data, indices, updates and target in all combinations of layouts.
#[test]
fn every_layout_of_data_indices_updates_and_target() {
    let (shape, small) = ([3, 4, 3], [2, 5, 3]);
    let data: ArrayD<i16> = array_of(&shape, 1);
    let updates: ArrayD<i16> = array_of(&small, 2);
    let indices = indices_of(&small, 4, 3);
    for (k, layout) in Layout::all(3).iter().enumerate() {
        for indices_layout in &Layout::all(3) {
            for updates_layout in &Layout::all(3) {
                let scatter = scatter(1, REDUCTIONS[k]);
                let indices = (&indices, indices_layout);
                assert_scattered(&data, indices, (&updates, updates_layout), &scatter, layout);
            }
        }
    }
}

/// Every axis, reduction and layout of the target, with floats whose sums
/// depend on their order.
#[test]
fn every_axis_and_reduction_in_every_layout() {
    let shape = [3, 4, 5];
    let data: ArrayD<f32> = array_of(&shape, 1);
    let standard = Layout::standard(3);
    for axis in 0..3 {
        let mut small = [2, 3, 4];
        small[axis] = 9;
        let updates: ArrayD<f32> = array_of(&small, 2);
        let indices = indices_of(&small, shape[axis], 3);
        for reduction in REDUCTIONS {
            for layout in &Layout::all(3) {
                for use_init_val in [true, false] {
                    let scatter = Scatter { use_init_val, ..scatter(axis, reduction) };
                    let (indices, updates) = ((&indices, &standard), (&updates, &standard));
                    assert_scattered(&data, indices, updates, &scatter, layout);
                }
            }
        }
    }
}

/// Lanes of many numbers and lengths, few and many updates in each.
#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn lanes_of_every_number() {
    let standard = Layout::standard(2);
    for lanes in [1, 2, 3, 7, 8, 9, 16, 33, 70] {
        for (len, updates) in [(1, 1), (1, 40), (5, 3), (40, 2), (40, 200), (3, 7), (1000, 2)] {
            for axis in 0..2 {
                let shape = |along| if axis == 0 { [along, lanes] } else { [lanes, along] };
                let data: ArrayD<f64> = array_of(&shape(len), 1);
                let indices = indices_of(&shape(updates), len, 2);
                let updates: ArrayD<f64> = array_of(&shape(updates), 3);
                for reduction in [Reduction::None, Reduction::Sum, Reduction::Mean] {
                    let scatter = scatter(axis, reduction);
                    let (indices, updates) = ((&indices, &standard), (&updates, &standard));
                    assert_scattered(&data, indices, updates, &scatter, &standard);
                }
            }
        }
    }
}

/// One index for a whole row of updates, as in message passing: the matrix of
/// indices is a broadcast view.
#[test]
fn rows_that_share_an_index() {
    for width in [1, 2, 5, 16, 70] {
        let (rows, len) = (40, 12);
        let ids: ArrayD<i128> = indices_of(&[rows, 1], len, width as u64);
        let wide = ids.broadcast(vec![rows, width]).unwrap().to_owned();
        let data: ArrayD<f32> = array_of(&[len, width], 1);
        let updates: ArrayD<f32> = array_of(&[rows, width], 2);
        let shared = Layout { steps: vec![1, 0], ..Layout::standard(2) };
        let strided = Layout { steps: vec![-3, 0], ..Layout::standard(2) };
        for reduction in REDUCTIONS {
            for use_init_val in [true, false] {
                let scatter = Scatter { use_init_val, ..scatter(0, reduction) };
                for indices in [&shared, &strided, &Layout::standard(2)] {
                    for layout in &Layout::all(2) {
                        let (indices, updates) = ((&wide, indices), (&updates, layout));
                        assert_scattered(&data, indices, updates, &scatter, layout);
                    }
                }
            }
        }
    }
}

/// The same along a middle axis, with axes around that do not merge.
#[test]
fn blocks_that_share_an_index() {
    let data: ArrayD<i32> = array_of(&[3, 6, 4, 5], 1);
    let updates: ArrayD<i32> = array_of(&[2, 8, 3, 4], 2);
    for broadcast in [[1, 1, 0, 0], [0, 1, 0, 0], [1, 1, 1, 0], [1, 1, 0, 1], [0, 0, 0, 0]] {
        let layout = Layout { steps: broadcast.to_vec(), ..Layout::standard(4) };
        let wide = Laid::new(&i32::from_wide(&indices_of(&[2, 8, 3, 4], 6, 3)), layout.clone());
        let wide = i32::to_wide(&wide.contents());
        for reduction in REDUCTIONS {
            for target in [Layout::standard(4), Layout::mixed(4), Layout::transposed(4)] {
                let (indices, updates) = ((&wide, &layout), (&updates, &Layout::standard(4)));
                assert_scattered(&data, indices, updates, &scatter(1, reduction), &target);
            }
        }
    }
}

/// One update for many targets.
#[test]
fn broadcast_updates() {
    let mut count = Array1::<u32>::zeros(5);
    let one = ndarray::arr0(1);
    let ids = [4, 1, 4, -1, 0];
    let sum = ScatterElements::along(0).reduction(Reduction::Sum);
    count.scatter_elements_inplace(&ids, &one.broadcast(5).unwrap(), sum).unwrap();
    assert_eq!(count, ndarray::array![1, 1, 0, 0, 3]);
}

/// Indices out of bounds in every mode, dense and strided.
#[test]
fn every_mode() {
    let data: ArrayD<i64> = array_of(&[7, 5], 1);
    let updates: ArrayD<i64> = array_of(&[30, 4], 2);
    let indices = indices_of(&[30, 4], 20, 3);
    for mode in [OutOfBounds::Skip, OutOfBounds::Clip, OutOfBounds::Wrap] {
        for reduction in REDUCTIONS {
            for use_init_val in [true, false] {
                let scatter = Scatter { axis: 0, reduction, use_init_val, mode };
                for layout in &Layout::all(2) {
                    let (indices, updates) = ((&indices, layout), (&updates, layout));
                    assert_scattered(&data, indices, updates, &scatter, layout);
                }
            }
        }
    }
}

/// Every update is skipped, of an axis with elements and of one without.
#[test]
fn nothing_but_padding() {
    let skip = ScatterElements::along(0).out_of_bounds(OutOfBounds::Skip).use_init_val(false);
    for reduction in REDUCTIONS {
        for len in [0, 3] {
            let data = Array2::<f32>::from_elem((len, 2), 1.5);
            let indices = Array2::from_elem((4, 2), 9);
            let updates = Array2::zeros((4, 2));
            let attributes = skip.reduction(reduction);
            let output = data.scatter_elements_with(&indices, &updates, attributes).unwrap();
            assert_eq!(output, data);
        }
    }
}

/// The first index out of bounds is named wherever it stands, and the target
/// is left alone.
#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn an_index_out_of_bounds_far_down_the_list() {
    let updates = Array1::from_iter(0..3000);
    let data = Array1::from_iter(0..9);
    for at in [0, 1, 63, 64, 1023, 1024, 1025, 2047, 2500, 2999] {
        let mut indices = Array1::from_elem(3000, -9_i16);
        indices[2999] = -10;
        indices[at] = 9;
        let refused = Error::IndexOutOfBounds { index: 9, position: vec![at], axis: 0, len: 9 };
        assert_eq!(data.scatter_elements(&indices, &updates, 0).unwrap_err(), refused);
        for reduction in REDUCTIONS {
            let attributes = ScatterElements::along(0).reduction(reduction);
            let mut target = data.clone();
            let result = target.scatter_elements_inplace(&indices, &updates, attributes);
            assert_eq!(result.unwrap_err(), refused);
            assert_eq!(target, data);
        }
    }
}

/// The first in row-major order of the indices, whatever their layout.
#[test]
fn the_first_index_out_of_bounds_in_row_major_order() {
    let data = Array2::<u8>::zeros((4, 5));
    let mut wide = ArrayD::from_elem(vec![3, 4], 0);
    (wide[[1, 3]], wide[[2, 0]]) = (4, -5);
    let updates = Array2::zeros((3, 4));
    for layout in Layout::all(2) {
        let indices = Laid::new(&i8::from_wide(&wide), layout);
        let error = data.scatter_elements(&indices.view(), &updates, 0).unwrap_err();
        let refused = Error::IndexOutOfBounds { index: 4, position: vec![1, 3], axis: 0, len: 4 };
        assert_eq!(error, refused);
    }
    let ids = ndarray::array![0, 3, -5, 4];
    let shared = ids.view().insert_axis(Axis(1));
    let error = data.scatter_elements(&shared.broadcast((4, 5)).unwrap(), &Array::zeros((4, 5)), 0);
    let refused = Error::IndexOutOfBounds { index: -5, position: vec![2, 0], axis: 0, len: 4 };
    assert_eq!(error.unwrap_err(), refused);
}
