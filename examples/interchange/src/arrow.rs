//! Arrow arrays hold their values in one slice.

use arrow_array::{Array, Float32Array};
use opkernels::ndarray::{Array1, ArrayView2};
use opkernels::{Gather, GatherExt, OutOfBounds};

use crate::Result;

pub(crate) fn gather_from_a_float_array() -> Result<()> {
    // Four rows of three.
    let column = Float32Array::from_iter_values((0..12).map(|value| value as f32));
    assert_eq!(column.null_count(), 0, "a null's value is unspecified: fill nulls first");

    let rows = ArrayView2::from_shape((4, 3), column.values())?;
    assert_eq!(rows.as_ptr(), column.values().as_ptr());

    // -1 stands for "none" in this list: it becomes a fill when it is unsigned.
    let ids = [3_i64, -1, 0];
    let attributes = Gather::along(0).out_of_bounds(OutOfBounds::Fill(f32::NAN));
    let found = rows.gather_with(&ids.map(|id| id as u64), attributes)?;
    assert_eq!(found.shape(), [3, 3]);
    assert_eq!(found.as_slice().map(|slice| &slice[..3]), Some(&[9.0, 10.0, 11.0][..]));
    assert!(found[[1, 0]].is_nan());

    // The result's memory becomes an Arrow array.
    let flat: Array1<f32> = found.into_shape_with_order(9)?.into_dimensionality()?;
    let (memory, offset) = flat.into_raw_vec_and_offset();
    assert_eq!(offset, Some(0));
    let address = memory.as_ptr();
    let back = Float32Array::from(memory);
    assert_eq!(back.values().as_ptr(), address);
    Ok(())
}
