//! The forms of DESIGN compile and infer as written.
use ndarray::{Array, Array2, Array3, Array4, Axis, array};
use opkernels::{
    Gather, GatherExt, OutOfBounds, Reduction, RollExt, ScatterElements, ScatterElementsExt,
};
#[test]
fn forms() -> opkernels::Result<()> {
    let table = Array2::<f32>::zeros((4, 3));
    let idx = array![0_i64, 1];
    let rows = table.gather(&idx, Axis(0))?;
    let _: &Array2<f32> = &rows;
    let _same = table.gather(&[2, 0, -1], -2)?;
    let _x = table.gather(&1, 0)?;
    let data = Array3::<f64>::zeros((2, 3, 4));
    let _batch = data.gather_with(
        &array![[0], [1]],
        Gather::along(2).batch_dims(1).out_of_bounds(OutOfBounds::Fill(0.0)),
    )?;
    let mut out = Array2::zeros((2, 3));
    table.gather_into(&idx, Gather::along(0), &mut out)?;
    let mut field = Array4::<f32>::zeros((1, 7, 7, 2));
    let _ = field.roll(1, Axis(0))?;
    let _ = field.roll([-3, -3], [1, 2])?;
    let _ = field.roll(vec![-3, -3], &[1, 2][..])?;
    let mut out = Array4::zeros((1, 7, 7, 2));
    field.roll_into([1, 2], [0, 1], &mut out)?;
    field.roll_inplace(5, -1)?;
    let (idx, updates) = (array![[0], [1]], array![[1.0_f32], [2.0]]);
    let _put = table.scatter_elements(&idx, &updates, Axis(1))?;
    let _sums = table.scatter_elements_with(
        &idx,
        &updates,
        ScatterElements::along(0).reduction(Reduction::Sum),
    )?;
    let mut acc = table.clone();
    acc.scatter_elements_inplace(
        &idx,
        &updates,
        ScatterElements::along(0).reduction(Reduction::Mean).use_init_val(false),
    )?;
    acc.scatter_elements_inplace(&idx, &updates, 0)?;
    let words: Array<String, _> = Array::from_elem((2, 2), String::new());
    let mut w2 = words.scatter_elements(&idx, &array![["a".to_string()], ["b".to_string()]], 1)?;
    w2.scatter_elements_inplace(&idx, &array![["a".to_string()], ["b".to_string()]], Axis(1))?;
    Ok(())
}
