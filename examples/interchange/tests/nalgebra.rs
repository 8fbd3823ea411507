//! nalgebra: matrices are stored by columns, which an ndarray view reads as a
//! shape with `.f()`.

use nalgebra::DMatrix;
use opkernels::ndarray::{ArrayView2, ArrayViewMut2, ShapeBuilder, ShapeError};
use opkernels::{Gather, GatherExt, RollExt, Scatter, ScatterExt};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn view(matrix: &DMatrix<f64>) -> Result<ArrayView2<'_, f64>, ShapeError> {
    ArrayView2::from_shape(matrix.shape().f(), matrix.as_slice())
}

fn view_mut(matrix: &mut DMatrix<f64>) -> Result<ArrayViewMut2<'_, f64>, ShapeError> {
    ArrayViewMut2::from_shape(matrix.shape().f(), matrix.as_mut_slice())
}

fn three_by_two() -> DMatrix<f64> {
    DMatrix::from_row_slice(3, 2, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
}

#[test]
fn rows_are_gathered_into_a_matrix() -> Outcome {
    let matrix = three_by_two();
    let rows = view(&matrix)?;
    assert!(std::ptr::eq(rows.t().as_slice().unwrap(), matrix.as_slice()));
    assert_eq!(rows[(2, 0)], matrix[(2, 0)]);

    let mut taken = DMatrix::zeros(4, 2);
    rows.gather_into(&[2, 0, -1, 1], Gather::along(0), &mut view_mut(&mut taken)?)?;
    assert_eq!(taken, matrix.select_rows(&[2, 0, 2, 1]));
    Ok(())
}

/// A roll returns the layout that it was given, so its result is a matrix
/// without a copy.
#[test]
fn a_rolled_matrix_is_a_matrix() -> Outcome {
    let matrix = three_by_two();
    let rolled = view(&matrix)?.roll([1, 1], [0, 1])?;
    assert!(rolled.t().is_standard_layout());

    let address = rolled.as_ptr();
    let rolled = DMatrix::from_vec(3, 2, rolled.into_raw_vec_and_offset().0);
    assert!(std::ptr::eq(rolled.as_ptr(), address));
    assert_eq!(rolled, DMatrix::from_row_slice(3, 2, &[6.0, 5.0, 2.0, 1.0, 4.0, 3.0]));
    Ok(())
}

#[test]
fn rows_are_summed_into_a_matrix() -> Outcome {
    let matrix = three_by_two();
    let mut sums = DMatrix::zeros(2, 2);
    view_mut(&mut sums)?.scatter_inplace(&[1, 0, 1], &view(&matrix)?, Scatter::sum(0))?;
    assert_eq!(sums, DMatrix::from_row_slice(2, 2, &[3.0, 4.0, 6.0, 8.0]));
    Ok(())
}
