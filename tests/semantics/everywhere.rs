//! Decisions that hold for every operation.

use ndarray::{Array, Array1, Array2, Array3, ArrayD, Axis, arr0, array};
use opkernels::{
    Error, Gather, GatherExt, OutOfBounds, Reduction, RollExt, ScatterElements, ScatterElementsExt,
};

use crate::common::{Laid, Layout, array_of, assert_same};

/// `Axis(n)` or a signed integer; negative counts from the end; outside
/// `-rank..rank` is an error, and of rank 0 every axis is.
#[test]
fn axis() {
    let data = Array3::from_shape_fn((2, 3, 4), |(i, j, k)| 12 * i + 4 * j + k);
    let (ids, updates) = (Array3::<u8>::zeros((1, 1, 1)), Array3::zeros((1, 1, 1)));
    for axis in 0..3 {
        let (front, back) = (axis as i64, axis as i64 - 3);
        let gathered = data.gather(&[1, 0], Axis(axis)).unwrap();
        assert_eq!(data.gather(&[1, 0], front).unwrap(), gathered);
        assert_eq!(data.gather(&[1, 0], back).unwrap(), gathered);
        let rolled = data.roll(1, Axis(axis)).unwrap();
        assert_eq!(data.roll(1, front).unwrap(), rolled);
        assert_eq!(data.roll(1, back).unwrap(), rolled);
        let put = data.scatter_elements(&ids, &updates, Axis(axis)).unwrap();
        assert_eq!(data.scatter_elements(&ids, &updates, front).unwrap(), put);
        assert_eq!(data.scatter_elements(&ids, &updates, back).unwrap(), put);
    }
    for axis in [3, -4, i64::MAX, i64::MIN] {
        let refused = Error::AxisOutOfBounds { axis: axis.into(), rank: 3 };
        assert_eq!(data.gather(&[0], axis).unwrap_err(), refused);
        assert_eq!(data.roll(1, axis).unwrap_err(), refused);
        assert_eq!(data.scatter_elements(&ids, &updates, axis).unwrap_err(), refused);
    }
    let refused = Error::AxisOutOfBounds { axis: -1, rank: 0 };
    assert_eq!(arr0(1).gather_with(&0, Gather::along(-1)).unwrap_err(), refused);
    assert_eq!(arr0(1).roll(1, -1).unwrap_err(), refused);
    assert_eq!(arr0(1).scatter_elements(&0, &arr0(1), -1).unwrap_err(), refused);
    let none: [i64; 0] = [];
    assert_eq!(arr0(1).roll(1, none).unwrap(), arr0(1));
}

/// All widths, compared at full value: nothing is narrowed.
#[test]
fn index_integer_types() {
    let data = array![10, 20, 30];
    let refused = |index| Error::IndexOutOfBounds { index, position: vec![0], axis: 0, len: 3 };
    assert_eq!(data.gather(&[(1_i64 << 32) + 1], 0).unwrap_err(), refused((1 << 32) + 1));
    assert_eq!(data.gather(&[(1_u64 << 32) + 1], 0).unwrap_err(), refused((1 << 32) + 1));
    assert_eq!(data.gather(&[(1_i32 << 16) + 1], 0).unwrap_err(), refused((1 << 16) + 1));
    assert_eq!(data.gather(&[i64::MIN], 0).unwrap_err(), refused(i64::MIN.into()));
    assert_eq!(data.gather(&[i64::MAX], 0).unwrap_err(), refused(i64::MAX.into()));
    let put = |index| data.scatter_elements(&[index], &[7], 0);
    assert_eq!(put((1_i64 << 32) + 1).unwrap_err(), refused((1 << 32) + 1));
    let wide = Gather::along(0).out_of_bounds(OutOfBounds::Wrap);
    let index = (1_i64 << 32) + 1;
    assert_eq!(data.gather_with(&index, wide).unwrap()[[]], data[(index % 3) as usize]);
    macro_rules! gathers {
        ($($int:ty)*) => {$(
            assert_eq!(data.gather(&[2 as $int, 0], 0).unwrap(), array![30, 10]);
            assert_eq!(data.scatter_elements(&[2 as $int], &[0], 0).unwrap(), array![10, 20, 0]);
        )*};
    }
    gathers!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);
}

/// `-n..=-1` counts from the end; an unsigned index is never negative.
#[test]
fn negative_index() {
    let data = array![10, 20, 30];
    assert_eq!(data.gather(&[-1, -2, -3], 0).unwrap(), array![30, 20, 10]);
    assert_eq!(data.scatter_elements(&[-3], &[0], 0).unwrap(), array![0, 20, 30]);
    let refused = |index| Error::IndexOutOfBounds { index, position: vec![0], axis: 0, len: 3 };
    assert_eq!(data.gather(&[-4], 0).unwrap_err(), refused(-4));
    assert_eq!(data.gather(&[u32::MAX], 0).unwrap_err(), refused(u32::MAX.into()));
    assert_eq!(data.gather(&[u64::MAX], 0).unwrap_err(), refused(u64::MAX.into()));
    assert_eq!(data.gather(&[u8::MAX], 0).unwrap_err(), refused(255));
    let put = data.scatter_elements(&[usize::MAX], &[0], 0);
    assert_eq!(put.unwrap_err(), refused(usize::MAX as i128));
}

/// Any `Clone` type is gathered, rolled and overwritten; numbers and bool
/// reduce. (Half and complex numbers have their own tests.)
#[test]
fn element_types() {
    #[derive(Debug, Clone, PartialEq)]
    struct Named(String, Option<Vec<u8>>);
    let named = |name: &str| Named(name.to_string(), Some(vec![1]));
    let data = array![named("a"), named("b")];
    assert_eq!(data.gather(&[1], 0).unwrap(), array![named("b")]);
    assert_eq!(data.roll(1, 0).unwrap(), array![named("b"), named("a")]);
    let put = data.scatter_elements(&[0], &[named("c")], 0).unwrap();
    assert_eq!(put, array![named("c"), named("b")]);
    macro_rules! sums {
        ($($number:ty)*) => {$(
            let sum = ScatterElements::along(0).reduction(Reduction::Sum);
            let (data, updates) = (array![1 as $number, 2 as $number], [4 as $number]);
            let output = data.scatter_elements_with(&[1], &updates, sum).unwrap();
            assert_eq!(output, array![1 as $number, 6 as $number]);
        )*};
    }
    sums!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64);
    let sum = ScatterElements::along(0).reduction(Reduction::Sum);
    let flags = array![false, false].scatter_elements_with(&[1], &[true], sum).unwrap();
    assert_eq!(flags, array![false, true]);
}

/// Any strides, read in place: a view of 2^40 elements in a row of memory.
#[test]
#[cfg(target_pointer_width = "64")]
fn views() {
    let row = Array1::from_iter(0..1024_u16);
    let view = row.broadcast((1 << 30, 1024)).unwrap();
    assert_eq!(view.gather(&[-1], 0).unwrap(), row.view().insert_axis(Axis(0)));
    let window = view.slice(ndarray::s![5..; 1 << 20, ..;-512]);
    let picked = window.gather(&array![[3], [0]], 0).unwrap();
    assert_eq!(picked, Array3::from_shape_fn((2, 1, 2), |(_, _, k)| 1023 - 512 * k as u16));
    let put = |view: &mut ndarray::ArrayViewMut2<'_, u16>| {
        view.scatter_elements_inplace(&array![[0], [1]], &array![[7], [8]], 1).unwrap();
    };
    let mut grid = Array2::<u16>::zeros((3, 5));
    put(&mut grid.slice_mut(ndarray::s![..;-2, 1..;2]));
    assert_eq!(grid, array![[0, 0, 0, 8, 0], [0; 5], [0, 7, 0, 0, 0]]);
}

/// A zero-length dimension is legal where no index has to be read.
#[test]
fn empty() {
    let data = Array2::<f32>::zeros((0, 3));
    let none = Array1::<i64>::zeros(0);
    assert_eq!(data.gather(&none, 0).unwrap().shape(), [0, 3]);
    assert_eq!(data.gather(&[2, 0], 1).unwrap().shape(), [0, 2]);
    assert_eq!(data.gather(&Array2::<u8>::zeros((4, 0)), 1).unwrap().shape(), [0, 4, 0]);
    let refused = Error::IndexOutOfBounds { index: 0, position: vec![0], axis: 0, len: 0 };
    assert_eq!(data.gather(&[0], 0).unwrap_err(), refused);
    assert_eq!(data.roll([5, i64::MIN], [0, 1]).unwrap(), data);
    let (ids, updates) = (Array2::<i8>::zeros((0, 3)), Array2::zeros((0, 3)));
    assert_eq!(data.scatter_elements(&ids, &updates, 0).unwrap(), data);
    let full = Array2::<f32>::ones((2, 3));
    assert_eq!(full.scatter_elements(&ids, &updates, 0).unwrap(), full);
    let (ids, updates) = (Array2::<i8>::zeros((2, 0)), Array2::zeros((2, 0)));
    assert_eq!(full.scatter_elements(&ids, &updates, 1).unwrap(), full);
}

/// Too many elements, too many bytes, or more than there is: an error.
#[test]
#[cfg(target_pointer_width = "64")]
#[cfg_attr(miri, ignore = "Miri ends where an allocation is refused")]
fn size() {
    let byte = arr0(0_u8);
    let word = arr0(0.0_f64);
    let wide = byte.broadcast((1, 1 << 32)).unwrap();
    let many = byte.broadcast(1 << 32).unwrap();
    let refused = Error::SizeOverflow { shape: vec![1 << 32, 1 << 32], element_size: 1 };
    assert_eq!(wide.gather(&many, 0).unwrap_err(), refused);
    let wide = word.broadcast((1, 1 << 30)).unwrap();
    let many = byte.broadcast(1 << 31).unwrap();
    let refused = Error::SizeOverflow { shape: vec![1 << 31, 1 << 30], element_size: 8 };
    assert_eq!(wide.gather(&many, 0).unwrap_err(), refused);

    let (len, bytes) = (1 << 31, 1 << 62);
    let view = byte.broadcast((len, len)).unwrap();
    let refused = Error::AllocationFailed { bytes };
    let ids = byte.broadcast(len).unwrap();
    assert_eq!(view.gather(&ids, 0).unwrap_err(), refused);
    assert_eq!(view.roll(1, 0).unwrap_err(), refused);
    let none = Array2::<u8>::zeros((0, 1));
    assert_eq!(view.scatter_elements(&none, &none, 0).unwrap_err(), refused);
    let view = word.broadcast((len, len / 2)).unwrap();
    let refused = Error::SizeOverflow { shape: vec![len, len / 2], element_size: 8 };
    assert_eq!(view.roll(1, 0).unwrap_err(), refused);
}

/// In-place targets and outs hold what they held before.
#[test]
fn on_error() {
    let data: ArrayD<f32> = array_of(&[3, 4], 1);
    let ids = array![[0_i64, 1], [2, 9]];
    let updates = Array2::<f32>::zeros((2, 2));
    for axis in [0, 1, 2] {
        let mut out: ArrayD<f32> = array_of(&[2, 2, 4], 2);
        let before = out.clone();
        assert!(data.gather_into(&ids, Gather::along(axis), &mut out).is_err());
        assert!(data.gather_into(&[0], Gather::along(axis), &mut out).is_err());
        assert_same(&out, &before);
        for reduction in [Reduction::None, Reduction::Sum, Reduction::Min, Reduction::Mean] {
            let mut target = data.clone();
            let attributes = ScatterElements::along(axis).reduction(reduction).use_init_val(false);
            assert!(target.scatter_elements_inplace(&ids, &updates, attributes).is_err());
            assert_same(&target, &data);
        }
    }
    let mut target = data.clone();
    assert!(target.roll_inplace([1, 1], [0, 2]).is_err());
    assert!(target.roll_inplace([1, 1, 1], [0, 1]).is_err());
    assert_same(&target, &data);
    let mut out: ArrayD<f32> = array_of(&[4, 3], 2);
    let before = out.clone();
    assert!(data.roll_into(1, 0, &mut out).is_err());
    assert_same(&out, &before);
}

/// The same to the bit in every layout, run and, with rayon, on every number
/// of threads.
#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn determinism() {
    let data = Array::from_elem((4, 3000), 0.0_f32).into_dyn();
    let ids = Array2::from_shape_fn((300, 3000), |(i, j)| (i * 7 + j) % 4);
    let updates = ids.mapv(|id| 0.1 * (id as f32 + 1.3)).into_dyn();
    for reduction in [Reduction::Sum, Reduction::Mean] {
        let attributes = ScatterElements::along(0).reduction(reduction);
        let run = |layout: Layout| {
            let mut target = Laid::new(&data, layout.clone());
            let updates = Laid::new(&updates, layout);
            let mut view = target.view_mut();
            view.scatter_elements_inplace(&ids, &updates.view(), attributes).unwrap();
            target.contents()
        };
        let once = run(Layout::standard(2));
        for layout in [Layout::standard(2), Layout::transposed(2), Layout::stepped(2)] {
            assert_same(&run(layout.clone()), &once);
            #[cfg(feature = "rayon")]
            for threads in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                assert_same(&pool.install(|| run(layout.clone())), &once);
            }
        }
    }
}

/// Errors have text, whatever their public fields hold.
#[test]
fn errors_of_a_program_have_text() {
    let (data, indices) = (vec![], vec![]);
    let errors = [
        Error::IndicesTooLong { data, indices, axis: 0, dim: 0 },
        Error::TupleLengthOutOfRange { len: 1, data_rank: 0, batch_dims: 1 },
        Error::TupleLengthOutOfRange { len: 1, data_rank: 1, batch_dims: 1 },
        Error::TupleLengthOutOfRange { len: 1, data_rank: 2, batch_dims: 3 },
        Error::TupleBatchDimsOutOfRange { batch_dims: 1, data_rank: 0, indices_rank: 0 },
    ];
    for error in errors {
        assert!(!error.to_string().is_empty());
    }
}
