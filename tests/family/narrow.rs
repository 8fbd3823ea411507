//! Indices of one and two bytes, many at a time, against the formula.

use ndarray::{ArrayD, Axis, IxDyn};
use opkernels::{AsIndices, IndexInteger, OutOfBounds, Reduction};

use crate::common::oracle::{self, Kind, Reducing};
use crate::common::{Numbers, Reduce, array_of, assert_same, calls, settled};

/// Indices of either sign, if the type has both, and one in `wild` of them out of bounds.
fn drawn<I: IndexInteger>(shape: &[usize], len: usize, wild: Option<usize>) -> ArrayD<I> {
    let (mut numbers, signed) = (Numbers(len as u64), I::min_value() < I::zero());
    let reach = len.min(I::max_value().to_usize().unwrap());
    ArrayD::from_shape_simple_fn(shape, || {
        let position = numbers.below(reach) as i64;
        if wild.is_some_and(|wild| numbers.below(wild) == 0) {
            return if signed { I::min_value() } else { I::max_value() };
        }
        let back = I::from(position - len as i64).filter(|_| signed && numbers.below(3) == 0);
        back.unwrap_or_else(|| I::from(position).unwrap())
    })
}

/// Gathers, writes, sums and folds.
#[track_caller]
fn check<I: IndexInteger + std::fmt::Debug, A: Reduce>(
    kind: Kind,
    shape: &[usize],
    indices: &ArrayD<I>,
) where
    ArrayD<I>: AsIndices<Dim = IxDyn>,
{
    let wide = indices.mapv(|index| index.to_i128().unwrap());
    let data: ArrayD<A> = array_of(shape, 1);
    for mode in [OutOfBounds::Error, OutOfBounds::Clip, OutOfBounds::Fill(A::from_number(7))] {
        let expected = oracle::read(kind, &data, &wide, &mode);
        match (expected, calls::read(kind, &data.view(), indices, mode)) {
            (Ok(expected), Ok(returned)) => assert_same(&returned, &expected),
            (Err(refused), Err(error)) => assert!(refused.is(&error), "{error}"),
            (expected, returned) => panic!("{returned:?}, expected {expected:?}"),
        }
    }
    let updates: ArrayD<A> =
        array_of(&oracle::updates_shape(kind, shape, wide.shape()).unwrap(), 2);
    let modes = [OutOfBounds::Error, OutOfBounds::Skip];
    let ways = [Reduction::None, Reduction::Sum, Reduction::Mean];
    let ways = ways.map(|way| modes.map(|mode| (way, mode)));
    for (reduction, mode) in ways.into_iter().flatten() {
        let how = Reducing { reduction, use_init_val: true, mode };
        let mut target = data.clone();
        let done = calls::reduce(kind, &mut target.view_mut(), indices, &updates.view(), &how);
        let refused = done.is_err();
        match (oracle::reduce_of(kind, &data, &wide, &updates, &how), done) {
            (Ok(expected), Ok(())) => {
                assert_same(&settled(how.reduction, &target), &settled(how.reduction, &expected));
            }
            (Err(refused), Err(error)) => {
                assert!(refused.is(&error), "{error}");
                assert_same(&target, &data);
            }
            (expected, done) => panic!("{done:?}, expected {expected:?}"),
        }
        if reduction == Reduction::None {
            let mut folded = data.clone();
            let set = |target: &mut A, update: &A| *target = *update;
            let (view, updates) = (&mut folded.view_mut(), &updates.view());
            assert_eq!(calls::fold(kind, view, indices, updates, mode, set).is_err(), refused);
            assert_same(&folded, &target);
        }
        let one = updates.first().expect("an update");
        let same = ArrayD::from_elem(updates.shape(), *one);
        let [each, once] = [&same, &ndarray::arr0(*one).into_dyn()].map(|updates| {
            let mut target = data.clone();
            let view = &mut target.view_mut();
            let done = calls::reduce(kind, view, indices, &updates.view(), &how);
            assert_eq!(done.is_err(), refused);
            target
        });
        assert_same(&settled(how.reduction, &once), &settled(how.reduction, &each));
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long")]
fn narrow_indices() {
    all::<u8, f32>(200);
    #[cfg(feature = "half")]
    all::<u8, half::bf16>(90);
    all::<u16, u16>(400);
    all::<i8, u8>(100);
    all::<i16, i32>(50);
}

fn all<I: IndexInteger + std::fmt::Debug, A: Reduce>(len: usize)
where
    ArrayD<I>: AsIndices<Dim = IxDyn>,
{
    let slices = |axis| Kind::Slices { axis, batch_dims: 0 };
    let few = len.min(30);
    // At the ends of pieces.
    for at in [511, 512, 4095] {
        let mut indices = drawn::<I>(&[5000], len, None);
        indices[[at]] = drawn::<I>(&[1], len, Some(1))[[0]];
        check::<I, A>(slices(0), &[len], &indices);
    }
    for wild in [None, Some(3)] {
        check::<I, A>(slices(0), &[len], &drawn(&[5000], len, wild));
    }
    for wild in [None, Some(900)] {
        // Several pieces and a part of one; beside each other, and in lanes: short ones, which follow each
        // other or are evenly spaced, and long ones.
        let batched = Kind::Slices { axis: 1, batch_dims: 1 };
        check::<I, A>(batched, &[2, len], &drawn(&[2, 2500], len, wild));
        check::<I, A>(Kind::Elements { axis: 0 }, &[few, 1500], &drawn(&[3, 1500], few, wild));
        check::<I, A>(Kind::Elements { axis: 1 }, &[500, few], &drawn(&[500, 3], few, wild));
        check::<I, A>(Kind::Elements { axis: 1 }, &[20, len], &drawn(&[20, 100], len, wild));
        check::<I, A>(Kind::Elements { axis: 0 }, &[few, 30], &drawn(&[90, 30], few, wild));
        let mut apart = drawn::<I>(&[40, 150], len, wild);
        apart.slice_axis_inplace(Axis(1), (..120).into());
        check::<I, A>(Kind::Elements { axis: 1 }, &[40, len], &apart);
        let columns = drawn::<I>(&[1500, 2], len, wild);
        check::<I, A>(slices(0), &[len], &columns.index_axis_move(Axis(1), 0));
        check::<I, A>(
            Kind::Tuples { batch_dims: 0 },
            &[len, len.min(9)],
            &drawn(&[1200, 2], 9, wild),
        );
    }
}
