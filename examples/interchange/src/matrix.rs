//! nalgebra's matrices are column-major: views with the strides of Fortran.

use nalgebra::DMatrix;
use opkernels::ndarray::{ArrayView2, ArrayViewMut2, ShapeBuilder, array};
use opkernels::{GatherExt, RollExt};

use crate::Result;

pub(crate) fn roll_columns() -> Result<()> {
    let mut matrix = DMatrix::from_row_slice(2, 3, &[1, 2, 3, 4, 5, 6]);
    let address = matrix.as_ptr();
    let shape = matrix.shape();

    let mut view = ArrayViewMut2::from_shape(shape.f(), matrix.as_mut_slice())?;
    assert_eq!(view.as_ptr(), address);
    view.roll_inplace(1, 1)?;
    assert_eq!(matrix, DMatrix::from_row_slice(2, 3, &[3, 1, 2, 6, 4, 5]));

    let view = ArrayView2::from_shape(shape.f(), matrix.as_slice())?;
    assert_eq!(view.gather(&[1, 0], 0)?, array![[6, 4, 5], [3, 1, 2]]);
    Ok(())
}
