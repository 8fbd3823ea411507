//! Indices and updates whose elements overlap in memory, as windows of one list do: against copies
//! of them, whose elements do not. Several axes may have the same length and the same strides.

use ndarray::{ArrayD, ArrayViewD, IxDyn, ShapeBuilder};
use opkernels::{OutOfBounds, Reduction};
use proptest::prelude::*;

use crate::cases::target;
use crate::common::oracle::{self, Kind, Reducing};
use crate::common::{Index, Numbers, Reduce, calls, same_contents, settled};

/// An array whose elements may overlap.
struct Windows<A> {
    memory: Vec<A>,
    shape: Vec<usize>,
    strides: Vec<usize>,
}

impl<A> Windows<A> {
    fn new(shape: &[usize], strides: &[usize], mut value: impl FnMut() -> A) -> Self {
        let last: usize = shape.iter().zip(strides).map(|(len, step)| (len - 1) * step).sum();
        let memory = (0..=last).map(|_| value()).collect();
        Windows { memory, shape: shape.to_vec(), strides: strides.to_vec() }
    }

    fn view(&self) -> ArrayViewD<'_, A> {
        let (shape, strides) = (IxDyn(&self.shape), IxDyn(&self.strides));
        ArrayViewD::from_shape(shape.strides(strides), &self.memory).unwrap()
    }
}

/// Strides, most of axes of one length equal and small.
fn strides(shape: &[usize], numbers: &mut Numbers) -> Vec<usize> {
    let near = 1 + numbers.below(2);
    let step = |len: usize, numbers: &mut Numbers| match numbers.below(8) {
        0 => 0,
        1 => len,
        2 => 2 * len,
        _ => near,
    };
    let mut strides: Vec<usize> = shape.iter().map(|&len| step(len, numbers)).collect();
    if numbers.below(3) > 0 {
        // Batches apart.
        strides[0] = shape[1..].iter().sum::<usize>() * 2;
    }
    strides
}

/// The shapes of data and indices.
fn shapes(numbers: &mut Numbers) -> (Kind, Vec<usize>, Vec<usize>) {
    let mut below = |most: usize| 1 + numbers.below(most);
    let (batches, axis, count, row) = (below(24), below(120), below(12), below(5));
    let mut data = vec![batches, axis];
    if below(2) == 1 {
        data.push(row);
    }
    match below(4) {
        1 | 2 => {
            let kind = Kind::Slices { axis: 1, batch_dims: 1 };
            (kind, data, [&[batches][..], &vec![count; below(3)]].concat())
        }
        3 => {
            let (data, count) = (vec![count, axis, count], below(12));
            (Kind::Elements { axis: 1 }, data.clone(), vec![data[0], count, data[2]])
        }
        _ => (Kind::Tuples { batch_dims: 0 }, data, vec![count, count, below(2)]),
    }
}

fn windows<A: Reduce, I: Index>(seed: u64) {
    let mut numbers = Numbers(seed);
    let (kind, data, shape) = shapes(&mut numbers);
    let len = match kind {
        Kind::Tuples { .. } => data[0].min(data[1]),
        _ => data[1],
    };
    let same = strides(&shape, &mut numbers);
    let mut rng = numbers.clone();
    let value = || I::try_from(rng.below(len.min(127)) as i128).ok().unwrap();
    let indices = Windows::new(&shape, &same, value);
    let listed = oracle::updates_shape(kind, &data, &shape).unwrap();
    let mut steps = strides(&listed, &mut numbers);
    if numbers.below(4) > 0 {
        // As those of the indices, where the axes are the same.
        let both = same.iter().zip(&shape).zip(&listed);
        let equal = both.take_while(|((_, one), other)| one == other).count();
        steps[..equal].copy_from_slice(&same[..equal]);
    }
    let mut rng = numbers.clone();
    let updates = Windows::new(&listed, &steps, || A::from_number(rng.next()));
    let (indices, updates) = (indices.view(), updates.view());
    let (own_indices, own_updates) = (indices.to_owned(), updates.to_owned());

    let layout = numbers.next();
    let before = target::<A>(&data, layout);
    let output = calls::read(kind, &before.view(), &indices, OutOfBounds::Error).unwrap();
    let expected = calls::read(kind, &before.view(), &own_indices, OutOfBounds::Error).unwrap();
    assert!(same_contents(&output, &expected), "gather: {output:?} instead of {expected:?}");

    use Reduction::{Max, Mean, None, Prod, Sum};
    let reduction = [None, Sum, Max, Prod, Mean][numbers.below(5)];
    let mode = [OutOfBounds::Error, OutOfBounds::Skip][numbers.below(2)];
    if reduction == None || A::defines(reduction) {
        let how = Reducing { reduction, use_init_val: numbers.once_in(2), mode };
        let how = Reducing { use_init_val: how.use_init_val || reduction == None, ..how };
        let (mut written, mut expected): (_, ArrayD<A>) = (before.clone(), before.contents());
        let target = &mut written.view_mut();
        calls::reduce(kind, target, &indices, &updates, &how).unwrap();
        let target = &mut expected.view_mut();
        calls::reduce(kind, target, &own_indices, &own_updates.view(), &how).unwrap();
        assert!(written.kept_its_margins(&before), "written beside the target");
        let (written, expected) =
            (settled(reduction, &written.contents()), settled(reduction, &expected));
        assert!(same_contents(&written, &expected), "{how:?}: {written:?}, not {expected:?}");
    }
}

macro_rules! properties {
    ($($name:ident: $check:expr;)*) => {
        proptest! {
            #![proptest_config(crate::config())]
            $(
                #[test]
                fn $name(seed in any::<u64>()) {
                    $check(seed);
                }
            )*
        }
    };
}
properties! {
    windows_of_f32_by_i64: windows::<f32, i64>;
    windows_of_i32_by_u8: windows::<i32, u8>;
    windows_of_u8_by_i32: windows::<u8, i32>;
}
#[cfg(feature = "half")]
properties! {
    windows_of_f16_by_i64: windows::<half::f16, i64>;
}
