//! Polars: a column is one or more Arrow arrays. One without nulls that lies
//! in one piece is a slice.

use opkernels::ndarray::{Array1, Axis, aview1};
use opkernels::{GatherExt, Scatter, ScatterExt};
use polars_core::prelude::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

#[test]
fn a_column_is_gathered_and_becomes_a_column() -> Outcome {
    let series = Series::new("price".into(), [1.5_f32, 2.5, 3.5, 4.5]);
    let prices = series.f32()?;
    let view = aview1(prices.cont_slice()?);
    assert!(std::ptr::eq(view.as_slice().unwrap(), prices.cont_slice()?));

    let taken = view.gather(&[3, 0, -1], Axis(0))?;
    let address = taken.as_ptr();
    let column = Float32Chunked::from_vec("taken".into(), taken.into_raw_vec_and_offset().0);
    assert!(std::ptr::eq(column.cont_slice()?.as_ptr(), address));
    assert_eq!(column.into_series(), Series::new("taken".into(), [4.5_f32, 1.5, 4.5]));
    Ok(())
}

#[test]
fn a_data_frame_is_summed_by_group() -> Outcome {
    let frame = df!("shop" => [2_u32, 0, 2, 1, 2], "amount" => [10_i64, 1, 20, 5, 30])?;
    let shop = frame.column("shop")?.u32()?;
    let amount = frame.column("amount")?.i64()?;

    let mut totals = Array1::<i64>::zeros(3);
    let (shop, amount) = (aview1(shop.cont_slice()?), aview1(amount.cont_slice()?));
    totals.scatter_inplace(&shop, &amount, Scatter::sum(0))?;
    assert_eq!(totals.as_slice(), Some(&[1, 5, 60][..]));
    Ok(())
}

/// Columns that were appended to lie in pieces, and `cont_slice` says so
/// instead of copying.
#[test]
fn a_column_in_pieces_is_put_together_first() -> Outcome {
    let mut series = Series::new("n".into(), [1_i32, 2]);
    series.append(&Series::new("n".into(), [3_i32]))?;
    assert!(series.i32()?.cont_slice().is_err());

    let whole = series.rechunk();
    let view = aview1(whole.i32()?.cont_slice()?);
    assert_eq!(view.gather(&[2, 1, 0], 0)?.as_slice(), Some(&[3, 2, 1][..]));
    Ok(())
}
