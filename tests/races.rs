//! Work that is split over threads although it has few elements: they are
//! pages of memory each. Tools that watch every access (Miri, ThreadSanitizer,
//! valgrind) see the parallel paths here in seconds.
#![cfg(feature = "rayon")]

use ndarray::{Array1, Array2, Axis, s};
use opkernels::{
    Error, Gather, GatherExt, OutOfBounds, Reduction, RollExt, ScatterElements, ScatterElementsExt,
};

/// An element of 4 KiB.
type Page = [u64; 512];

fn page(number: usize) -> Page {
    [number as u64; 512]
}

fn pages(shape: (usize, usize)) -> Array2<Page> {
    Array2::from_shape_fn(shape, |(i, j)| page(1000 * i + j))
}

/// Runs on four threads.
fn on_four_threads<R: Send>(run: impl FnOnce() -> R + Send) -> R {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    pool.install(run)
}

#[test]
fn gathered() {
    let data = pages((8, 4));
    let indices = Array1::from_shape_fn(300, |i| i as i64 * 5 % 16 - 8);
    let expected = Array2::from_shape_fn((300, 4), |(i, j)| data[(i * 5 % 16 % 8, j)]);
    on_four_threads(|| {
        assert!(data.gather(&indices, 0).unwrap() == expected);
        let mut out = Array2::from_elem((300, 4), page(0));
        data.gather_into(&indices, Gather::along(0), &mut out.slice_mut(s![..;-1, ..])).unwrap();
        assert!(out.slice(s![..;-1, ..]) == expected);
    });
}

#[test]
fn gathered_along_the_last_axis() {
    let data = pages((300, 4)).reversed_axes();
    let indices = Array1::from_shape_fn(400, |i| i * 7 % 300);
    let expected = Array2::from_shape_fn((4, 400), |(i, j)| data[(i, j * 7 % 300)]);
    let output = on_four_threads(|| data.gather(&indices, -1).unwrap());
    assert!(output == expected);
}

#[test]
fn filled() {
    let data = pages((8, 2));
    let indices = Array1::from_shape_fn(600, |i| (i % 9) as u8);
    let fill = Gather::along(0).out_of_bounds(OutOfBounds::Fill(page(7)));
    let output = on_four_threads(|| data.gather_with(&indices, fill).unwrap());
    let expected = Array2::from_shape_fn((600, 2), |(i, j)| match i % 9 {
        8 => page(7),
        row => data[(row, j)],
    });
    assert!(output == expected.into_dyn());
}

#[test]
fn refused() {
    let data = pages((8, 2));
    let mut indices = Array1::from_elem(600, 3);
    indices[577] = 8;
    let mut out = Array2::from_elem((600, 2), page(0));
    on_four_threads(|| {
        let error = data.gather(&indices, 0).unwrap_err();
        assert!(matches!(error, Error::IndexOutOfBounds { index: 8, .. }), "{error}");
        data.gather_into(&indices, Gather::along(0), &mut out).unwrap_err();
    });
    assert!(out.iter().all(|element| *element == page(0)));
}

#[test]
fn strings() {
    let data = Array1::from_shape_fn(50, |i| i.to_string());
    let many = if cfg!(miri) { 1 << 8 } else { 1 << 18 };
    let indices = Array1::from_shape_fn(many, |i| i * 11 % 50);
    let output = on_four_threads(|| data.gather(&indices, 0).unwrap());
    assert!(output.iter().zip(&indices).all(|(element, &i)| *element == data[i]));
}

#[test]
fn rolled() {
    let data = pages((36, 25));
    let expected =
        Array2::from_shape_fn((36, 25), |(i, j)| data[((i + 36 - 5) % 36, (j + 3) % 25)]);
    let shifts = ([5, -3], [0, 1]);
    on_four_threads(|| {
        assert!(data.roll(shifts.0, shifts.1).unwrap() == expected);
        let mut out = Array2::from_elem((25, 36), page(0)).reversed_axes();
        data.roll_into(shifts.0, shifts.1, &mut out).unwrap();
        assert!(out == expected);
        let mut turned = data.clone();
        turned.roll_inplace(shifts.0, shifts.1).unwrap();
        assert!(turned == expected);
        let mut columns = data.clone();
        columns.roll_inplace(-1, 1).unwrap();
        columns.roll_inplace(1, Axis(1)).unwrap();
        assert!(columns == data);
    });
}

#[test]
fn overwritten() {
    let data = pages((6, 80));
    let rows = Array1::from_vec(vec![5_i32, 0, -3, 0]);
    let updates = Array2::from_shape_fn((4, 80), |(i, j)| page(7000 + 100 * i + j));
    let indices = rows.view().insert_axis(Axis(1));
    let indices = indices.broadcast((4, 80)).unwrap();
    let mut expected = data.clone();
    for (i, row) in [5, 0, 3, 0].into_iter().enumerate() {
        expected.row_mut(row).assign(&updates.row(i));
    }
    on_four_threads(|| {
        assert!(data.scatter_elements(&indices, &updates, 0).unwrap() == expected);
        let mut target = data.clone();
        target.scatter_elements_inplace(&indices.to_owned(), &updates, 0).unwrap();
        assert!(target == expected);
    });
}

#[test]
fn reduced() {
    // As few as are still split: 40,000 updates of 16 bytes.
    let width = 10_000;
    let data = Array2::from_elem((3, width), 1_i128);
    let updates = Array2::from_shape_fn((4, width), |(i, j)| (10 * i + j % 7) as i128);
    let rows = Array1::from_vec(vec![2_u8, 0, 2, 1]);
    let indices = rows.view().insert_axis(Axis(1));
    let indices = indices.broadcast((4, width)).unwrap();
    let reductions = [Reduction::Sum, Reduction::Max, Reduction::Mean];
    for reduction in reductions.into_iter().take(if cfg!(miri) { 1 } else { 3 }) {
        let attributes = ScatterElements::along(0).reduction(reduction).use_init_val(false);
        let output =
            on_four_threads(|| data.scatter_elements_with(&indices, &updates, attributes).unwrap());
        let combine = |a: i128, b: i128| match reduction {
            Reduction::Sum => a + b,
            Reduction::Max => a.max(b),
            _ => (a + b) / 2,
        };
        assert_eq!(output.row(0), updates.row(1));
        assert_eq!(output.row(1), updates.row(3));
        let (first, last) = (updates.row(0), updates.row(2));
        let both = first.iter().zip(last).map(|(&a, &b)| combine(a, b));
        assert!(output.row(2).iter().copied().eq(both));
    }
}

/// Rows that are nowhere, but for the fill: no place in them is gone to.
#[test]
fn filled_from_empty_axes() {
    let fill = || OutOfBounds::Fill(page(7));
    on_four_threads(|| {
        // Pieces are cut along rows, along indices, and along axes before.
        let (wide, tall) = (pages((0, 600)), pages((600, 0)));
        let attributes = Gather::along(0).out_of_bounds(fill());
        let outputs = [
            wide.gather_with(&[5], attributes).unwrap(),
            wide.slice(s![.., ..2]).gather_with(&vec![-1; 300], attributes).unwrap(),
            wide.t().gather_with(&[0], Gather::along(1).out_of_bounds(fill())).unwrap(),
            tall.gather_with(&[0], Gather::along(1).out_of_bounds(fill())).unwrap(),
            tall.gather_with(
                &Array2::<i8>::zeros((600, 1)),
                Gather::along(1).batch_dims(1).out_of_bounds(fill()),
            )
            .unwrap(),
        ];
        for output in outputs {
            assert_eq!(output.len(), 600);
            assert!(output.iter().all(|element| *element == page(7)));
        }
        let mut out = Array2::from_elem((600, 1), page(0));
        tall.gather_into(&[3], Gather::along(1).out_of_bounds(fill()), &mut out).unwrap();
        assert!(out.iter().all(|element| *element == page(7)));
    });
}
