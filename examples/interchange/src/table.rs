//! A polars column of one chunk is a slice.

use opkernels::ndarray::{Array1, ArrayView1};
use opkernels::{Scatter, ScatterExt};
use polars_core::prelude::*;

use crate::Result;

pub(crate) fn histogram_of_a_column() -> Result<()> {
    let category = Series::new("category".into(), [0_u32, 2, 2, 1, 2]);
    let amount = Series::new("amount".into(), [1.5_f64, 1.0, 2.0, 7.0, 4.0]);

    // An error if the column has nulls or several chunks: `rechunk` it first.
    let keys = ArrayView1::from(category.u32()?.cont_slice()?);
    let values = ArrayView1::from(amount.f64()?.cont_slice()?);
    assert_eq!(values.as_ptr(), amount.f64()?.cont_slice()?.as_ptr());

    let mut totals = Array1::zeros(3);
    totals.scatter_inplace(&keys, &values, Scatter::sum(0))?;

    let (memory, _) = totals.into_raw_vec_and_offset();
    let totals = Series::from_vec("totals".into(), memory);
    assert_eq!(totals, Series::new("totals".into(), [1.5, 7.0, 7.0]));
    Ok(())
}
