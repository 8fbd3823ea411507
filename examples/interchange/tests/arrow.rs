//! Apache Arrow: a primitive array is a slice of values beside a bitmap of
//! nulls. Values and indices are read in place, results become arrays without
//! a copy.

use arrow_array::builder::Float64Builder;
use arrow_array::{Float32Array, Int64Array, UInt32Array};
use opkernels::ndarray::{ArrayView1, ArrayViewMut1, Axis, aview1};
use opkernels::{Gather, GatherExt, OutOfBounds, RollExt, Scatter, ScatterExt};

/// `take` of one column by another, into a new column.
#[test]
fn a_column_is_gathered_by_a_column_and_becomes_a_column() -> Result<(), opkernels::Error> {
    let prices = Float32Array::from(vec![1.5, 2.5, 3.5, 4.5]);
    let rows = Int64Array::from(vec![3, 0, -1]);
    let view = aview1(prices.values());
    assert!(std::ptr::eq(view.as_slice().unwrap(), &prices.values()[..]));

    let taken = view.gather(&aview1(rows.values()), Axis(0))?;
    let address = taken.as_ptr();
    // A result is a `Vec` that begins at its first element.
    let column = Float32Array::from(taken.into_raw_vec_and_offset().0);
    assert!(std::ptr::eq(column.values().as_ptr(), address));
    assert_eq!(column, Float32Array::from(vec![4.5, 1.5, 4.5]));
    Ok(())
}

/// A slice of an Arrow array begins in the middle of its buffer; so does the
/// view.
#[test]
fn a_column_is_rolled_in_its_own_memory() -> Result<(), opkernels::Error> {
    let days = Float32Array::from(vec![0.0, 1.0, 2.0, 3.0, 4.0]);
    let week = days.slice(1, 4);
    let view = aview1(week.values());
    assert!(std::ptr::eq(view.as_slice().unwrap(), &days.values()[1..]));

    assert_eq!(view.roll(1, 0)?.as_slice(), Some(&[4.0, 1.0, 2.0, 3.0][..]));

    // An array that nobody else holds gives its memory back for writing.
    drop(week);
    let address = days.values().as_ptr();
    let mut owned = days.into_builder().expect("the only owner");
    ArrayViewMut1::from(owned.values_slice_mut()).roll_inplace(-1, 0)?;
    let rolled = owned.finish();
    assert!(std::ptr::eq(rolled.values().as_ptr(), address));
    assert_eq!(rolled, Float32Array::from(vec![1.0, 2.0, 3.0, 4.0, 0.0]));
    Ok(())
}

/// Sums of groups, added up in the memory of the column that is being built.
#[test]
fn groups_are_summed_into_a_builder() -> Result<(), opkernels::Error> {
    let group = UInt32Array::from(vec![2, 0, 2, 1, 2]);
    let amount = [10.0, 1.0, 20.0, 5.0, 30.0];

    let mut totals = Float64Builder::new();
    totals.append_slice(&[0.0; 3]);
    let mut view = ArrayViewMut1::from(totals.values_slice_mut());
    view.scatter_inplace(&aview1(group.values()), &amount, Scatter::sum(0))?;
    assert_eq!(totals.finish().values()[..], [1.0, 5.0, 60.0]);
    Ok(())
}

/// Values under a null are arbitrary, so a null index must not be followed:
/// sent out of bounds, it selects the fill.
#[test]
fn null_indices_select_the_fill() -> Result<(), opkernels::Error> {
    let names = ArrayView1::from(&["ant", "bee", "cat"]);
    let rows = UInt32Array::from(vec![Some(1), None, Some(2)]);
    let rows = Vec::from_iter(rows.iter().map(|row| row.unwrap_or(u32::MAX)));

    let fill = Gather::along(0).out_of_bounds(OutOfBounds::Fill("-"));
    let taken = names.gather_with(&rows, fill)?;
    assert_eq!(taken.as_slice(), Some(&["bee", "-", "cat"][..]));
    Ok(())
}
