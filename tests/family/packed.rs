//! Single elements by indices that lie transposed, where data and results do not, and are packed block
//! by block, and to results that do: against the formula.

use ndarray::{ArrayD, Axis, Dimension as _};
use opkernels::{Error, OutOfBounds, Reduction};

use crate::common::oracle::{self, Kind, Reducing};
use crate::common::{
    Index, Numbers, Reduce, Value, array_of, assert_same, calls, here_and_on_pools, plan_of,
    settled,
};

/// The shape of the data, the axis and the number of indices along it.
type Size = (&'static [usize], usize, usize);

/// Blocks end within both loops that
/// they divide, within one, or nowhere; they have few columns, or few lists. With few indices in a row, the
/// offsets of chunks are transposed instead.
const SIZES: [Size; 8] = [
    (&[37, 530], 0, 90),
    (&[70, 530], 1, 700),
    (&[9000, 3], 0, 5000),
    (&[1100, 4], 1, 7),
    (&[9, 20, 60], 1, 45),
    (&[33, 11, 50], 2, 61),
    (&[8, 300, 5, 6], 1, 400),
    (&[40, 3, 9, 30], 3, 20),
];

/// More memory than caches near a core have.
const LARGE: Size = (&[3000, 530], 0, 700);

/// The same indices or updates, with their first axis innermost in memory, forwards or backwards.
fn across<I: Clone>(indices: &ArrayD<I>, backwards: bool) -> ArrayD<I> {
    let mut indices = indices.clone();
    if backwards {
        indices.invert_axis(Axis(0));
    }
    let mut across = indices.t().as_standard_layout().into_owned().reversed_axes();
    if backwards {
        across.invert_axis(Axis(0));
    }
    across
}

/// Indices of any sign along an axis of `len` positions; of `wild` ones some are out of bounds.
fn indices_of<I: Index>(shape: &[usize], len: usize, wild: bool) -> ArrayD<I> {
    let mut numbers = Numbers(7);
    I::from_wide(&ArrayD::from_shape_simple_fn(shape, || {
        let index = numbers.below(2 * len) as i128 - len as i128;
        if wild && numbers.once_in(13) { index * 3 } else { index }
    }))
}

fn with_len(shape: &[usize], axis: usize, len: usize) -> Vec<usize> {
    let mut shape = shape.to_vec();
    shape[axis] = len;
    shape
}

fn gathered<A: Value, I: Index>((shape, axis, count): Size, modes: &[OutOfBounds<A>]) {
    let kind = Kind::Elements { axis: axis as i128 };
    let data: ArrayD<A> = array_of(shape, 1);
    for mode in modes {
        let wild = !matches!(mode, OutOfBounds::Error);
        let indices = indices_of::<I>(&with_len(shape, axis, count), shape[axis], wild);
        let expected = oracle::read(kind, &data, &I::to_wide(&indices), mode).unwrap();
        let indices_across = across(&indices, wild);
        let data_across = across(&data, wild);
        here_and_on_pools(|| {
            let output = calls::read(kind, &data.view(), &indices_across, mode.clone());
            assert_same(&output.unwrap(), &expected);
            let output = calls::read(kind, &data_across.view(), &indices_across, mode.clone());
            assert_same(&output.unwrap(), &expected);
            let mut output = across(&array_of(expected.shape(), 2), wild);
            let out = &mut output.view_mut();
            calls::read_into(kind, &data.view(), &indices, mode.clone(), out).unwrap();
            assert_same(&output, &expected);
        });
    }
}

#[test]
fn gathers() {
    use OutOfBounds::{Clip, Error, Fill, Wrap};
    for size in SIZES {
        gathered::<u8, i64>(size, &[Error, Fill(5)]);
        gathered::<f32, i32>(size, &[Error, Clip, Wrap, Fill(5.0)]);
        gathered::<u64, i64>(size, &[Error]);
        gathered::<String, i64>(size, &[Error, Wrap]);
    }
    gathered::<f32, i64>(LARGE, &[Error]);
}

/// Of a list, indices of several axes.
#[test]
fn gathers_of_a_list() {
    let kind = Kind::Slices { axis: 0, batch_dims: 0 };
    for (shape, len) in [([40, 600], 50), ([5000, 9], 70_000)] {
        let data: ArrayD<f32> = array_of(&[len], 1);
        let indices = indices_of::<i64>(&shape, len, false);
        let expected = oracle::read(kind, &data, &i64::to_wide(&indices), &OutOfBounds::Error);
        let expected = expected.unwrap();
        here_and_on_pools(|| {
            let indices = across(&indices, false);
            let output = calls::read_plainly(kind, &data.view(), &indices);
            assert_same(&output.unwrap(), &expected);
            let plan = plan_of(kind, &[len], &indices.view(), OutOfBounds::Error).unwrap();
            let mut output = across(&array_of(&shape, 2), false);
            let (plan, out) = (plan.unwrap(), &mut output.view_mut());
            calls::read_into(kind, &data.view(), &plan, OutOfBounds::Error, out).unwrap();
            assert_same(&output, &expected);
        });
    }
}

fn scattered<A: Reduce, I: Index>(
    (shape, axis, count): Size,
    reductions: &[Reduction],
    modes: &[(OutOfBounds, bool)],
) {
    let kind = Kind::Elements { axis: axis as i128 };
    let data: ArrayD<A> = array_of(shape, 1);
    let index_shape = with_len(shape, axis, count);
    let updates: ArrayD<A> = array_of(&index_shape, 3);
    let all = modes.iter().flat_map(|mode| reductions.iter().map(move |&how| (how, mode)));
    for (reduction, (mode, use_init_val)) in all {
        let wild = matches!(mode, OutOfBounds::Skip);
        let indices = indices_of::<I>(&index_shape, shape[axis], wild);
        let how = Reducing { reduction, use_init_val: *use_init_val, mode: *mode };
        let wide = I::to_wide(&indices);
        let Ok(expected) = oracle::reduce_of(kind, &data, &wide, &updates, &how) else {
            continue;
        };
        let expected = settled(reduction, &expected);
        let indices = across(&indices, wild);
        calls::assert_reduced(kind, &data, &indices, &updates.view(), &how, &expected);
    }
}

#[test]
fn scatters() {
    use Reduction::{Max, Mean, None, Sum};
    let refused = (OutOfBounds::Error, true);
    let skipped = (OutOfBounds::Skip, false);
    for size in SIZES {
        scattered::<f32, i32>(size, &[None, Sum, Max, Mean], &[refused, skipped]);
        scattered::<u8, i64>(size, &[None, Max], &[refused]);
    }
    scattered::<i64, i64>(SIZES[0], &[Sum, Mean], &[skipped]);
    scattered::<f32, i64>(LARGE, &[Sum], &[refused]);
}

/// Into a list, by indices of several axes, all of which lie transposed, or the updates, or both.
fn scattered_into_a_list<A: Reduce, I: Index>(reductions: &[Reduction]) {
    let kind = Kind::Slices { axis: 0, batch_dims: 0 };
    let shapes: [(&[usize], usize); 4] =
        [(&[40, 600], 50), (&[600, 9], 7_000), (&[20, 17, 16], 9), (&[9, 1, 33, 18], 700)];
    for (shape, len) in shapes {
        let data: ArrayD<A> = array_of(&[len], 1);
        let in_rows: ArrayD<A> = array_of(shape, 3);
        let one: ArrayD<A> = array_of(&[], 5);
        let modes = [(OutOfBounds::Error, true), (OutOfBounds::Skip, false)];
        let all = modes.iter().flat_map(|mode| reductions.iter().map(move |&how| (how, mode)));
        for (reduction, &(mode, use_init_val)) in all {
            let wild = matches!(mode, OutOfBounds::Skip);
            let indices = indices_of::<I>(shape, len, wild);
            let wide = I::to_wide(&indices);
            let how = Reducing { reduction, use_init_val, mode };
            for updates in [in_rows.view(), across(&in_rows, wild).view(), one.view()] {
                let owned = updates.broadcast(shape).unwrap().to_owned();
                let Ok(expected) = oracle::reduce_of(kind, &data, &wide, &owned, &how) else {
                    continue;
                };
                let expected = settled(reduction, &expected);
                for indices in [&indices, &across(&indices, wild)] {
                    calls::assert_reduced(kind, &data, indices, &updates, &how, &expected);
                    let plan = plan_of(kind, &[len], &indices.view(), mode).unwrap().unwrap();
                    calls::assert_reduced(kind, &data, &plan, &updates, &how, &expected);
                }
            }
        }
    }
}

#[test]
fn scatters_into_a_list() {
    use Reduction::{Max, Mean, None, Prod, Sum};
    scattered_into_a_list::<f32, i64>(&[None, Sum, Mean]);
    scattered_into_a_list::<i16, u8>(&[Prod, Mean]);
    scattered_into_a_list::<f64, i32>(&[Max]);
}

/// Folds see the updates of a target in row-major order of the indices, however these and the updates lie.
#[test]
fn folds_into_a_list() {
    let kind = Kind::Slices { axis: 0, batch_dims: 0 };
    let (shape, len) = ([40, 600], 50);
    let indices = indices_of::<i64>(&shape, len, false);
    let updates: ArrayD<u32> = array_of(&shape, 3);
    let fold = |hash: &mut u64, update: &u32| {
        *hash = hash.wrapping_mul(31).wrapping_add(u64::from(*update));
    };
    let mut expected = ArrayD::<u64>::zeros(&[len][..]);
    for (&index, update) in indices.iter().zip(&updates) {
        fold(&mut expected[[index.rem_euclid(len as i64) as usize]], update);
    }
    for indices in [indices.clone(), across(&indices, false), across(&indices, true)] {
        for updates in [updates.clone(), across(&updates, false)] {
            let mut target = ArrayD::zeros(&[len][..]);
            let (view, refuse) = (&mut target.view_mut(), OutOfBounds::Error);
            calls::fold(kind, view, &indices, &updates.view(), refuse, fold).unwrap();
            assert_eq!(target, expected);
            let plan = plan_of(kind, &[len], &indices.view(), refuse).unwrap().unwrap();
            let mut target = ArrayD::zeros(&[len][..]);
            let view = &mut target.view_mut();
            calls::fold(kind, view, &plan, &updates.view(), refuse, fold).unwrap();
            assert_eq!(target, expected);
        }
    }
}

/// An index out of bounds anywhere leaves target and output untouched, and is named.
#[test]
fn an_index_out_of_bounds() {
    for (shape, axis, count) in SIZES {
        let kind = Kind::Elements { axis: axis as i128 };
        let index_shape = with_len(shape, axis, count);
        let updates: ArrayD<f32> = array_of(&index_shape, 3);
        let data: ArrayD<f32> = array_of(shape, 1);
        for at in [0, updates.len() / 2, updates.len() - 1] {
            let mut indices = indices_of::<i64>(&index_shape, shape[axis], false);
            *indices.iter_mut().nth(at).unwrap() = shape[axis] as i64;
            let (wanted, _) = indices.indexed_iter().nth(at).unwrap();
            let indices = across(&indices, false);
            let is_named = |error| match error {
                Err(Error::IndexOutOfBounds { index, position, .. }) => {
                    index == shape[axis] as i128 && position == wanted.as_array_view().to_vec()
                }
                _ => false,
            };
            let mut target = data.clone();
            for reduction in [Reduction::None, Reduction::Sum] {
                let how = Reducing { reduction, use_init_val: true, mode: OutOfBounds::Error };
                let view = &mut target.view_mut();
                assert!(is_named(calls::reduce(kind, view, &indices, &updates.view(), &how)));
            }
            assert_same(&target, &data);
            let mut output = updates.clone();
            let view = &mut output.view_mut();
            let mode = OutOfBounds::Error;
            assert!(is_named(calls::read_into(kind, &data.view(), &indices, mode, view)));
            assert_same(&output, &updates);
        }
    }
}

/// The same of scatters to a list, whose indices or updates are copied first, of few and of many indices.
#[test]
fn an_index_out_of_bounds_of_a_list() {
    let kind = Kind::Slices { axis: 0, batch_dims: 0 };
    let shapes: [(&[usize], usize); 3] = [(&[40, 200], 50), (&[16, 15], 9), (&[9, 33, 18], 700)];
    for (shape, len) in shapes {
        let data: ArrayD<f32> = array_of(&[len], 1);
        let updates = across(&array_of(shape, 3), false);
        for at in [0, updates.len() / 2, updates.len() - 1] {
            let mut indices = indices_of::<i64>(shape, len, false);
            *indices.iter_mut().nth(at).unwrap() = len as i64;
            let (wanted, _) = indices.indexed_iter().nth(at).unwrap();
            let indices = across(&indices, false);
            for reduction in [Reduction::None, Reduction::Sum, Reduction::Max, Reduction::Mean] {
                for use_init_val in [true, false] {
                    let how = Reducing { reduction, use_init_val, mode: OutOfBounds::Error };
                    here_and_on_pools(|| {
                        let mut target = data.clone();
                        let view = &mut target.view_mut();
                        match calls::reduce(kind, view, &indices, &updates.view(), &how) {
                            Err(Error::IndexOutOfBounds { index, position, .. }) => {
                                assert_eq!(index, len as i128);
                                assert_eq!(position, wanted.as_array_view().to_vec());
                            }
                            other => panic!("{other:?}"),
                        }
                        assert_same(&target, &data);
                    });
                }
            }
        }
    }
}
