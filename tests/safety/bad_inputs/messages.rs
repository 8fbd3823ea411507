//! What errors say, and names that mean no reduction.

use ndarray::{Array1, Array2, Array3, ArrayD, arr0, array};
use opkernels::{
    Error, Gather, GatherExt, OutOfBounds, Reduction, RollExt, ScatterElements, ScatterElementsExt,
};

use super::Table;

pub(super) fn cases(table: &mut Table) {
    of_arguments(table);
    of_indices(table);
    of_shapes(table);
    names_of_reductions(table);
}

fn says<T: std::fmt::Debug>(table: &mut Table, result: opkernels::Result<T>, message: &str) {
    table.case(format!("message: {message}"), || {
        assert_eq!(result.unwrap_err().to_string(), message);
    });
}

fn of_arguments(table: &mut Table) {
    let (line, block) = (array![1, 2, 3], Array2::<u8>::zeros((2, 3)));
    says(
        table,
        line.gather(&[0], i64::MIN),
        "axis -9223372036854775808 is out of bounds for an array of rank 1 (expected -1..=0)",
    );
    says(
        table,
        arr0(1).into_dyn().roll(1, 0),
        "axis 0 is out of bounds for an array of rank 0 (it has no axis)",
    );
    says(
        table,
        line.roll([1, 2], 0),
        "2 shifts for 1 axis (expected one shift, or one for each axis)",
    );
    says(
        table,
        block.gather_with(&[0], Gather::along(0).batch_dims(-2)),
        "batch_dims -2 is out of range for data of rank 2 and indices of rank 1 (expected -1..=1)",
    );
    says(
        table,
        line.gather_with(&Array3::<i64>::zeros((1, 1, 1)), Gather::along(0).batch_dims(-1)),
        "batch_dims -1 is out of range for data of rank 1 and indices of rank 3 (expected 0..=1, or \
         -3..=-2)",
    );
    says(
        table,
        block.gather_with(&[0], Gather::along(0).batch_dims(1)),
        "batch_dims 1 is greater than axis 0 (expected batch_dims <= axis)",
    );
    says(
        table,
        line.gather_with(&[0], Gather::along(0).out_of_bounds(OutOfBounds::Skip)),
        "a gather cannot skip an index out of bounds (expected Error, Fill, Clip or Wrap)",
    );
    says(
        table,
        array![true].scatter_elements_with(
            &[0],
            &[true],
            ScatterElements::along(0).reduction(Reduction::Mean),
        ),
        "reduction mean is not defined for elements of type bool",
    );
}

fn of_indices(table: &mut Table) {
    let line = array![1, 2, 3];
    let empty = Array1::<i32>::zeros(0);
    says(
        table,
        line.gather(&u64::MAX, 0),
        "index 18446744073709551615 is out of bounds for axis 0 of length 3 \
         (expected -3..=2)",
    );
    says(
        table,
        line.scatter_elements(&[0, i64::MIN], &[1, 1], -1),
        "index -9223372036854775808 at indices[1] is out of bounds for axis 0 of length 3 \
         (expected -3..=2)",
    );
    says(
        table,
        empty.gather(&[0], 0),
        "index 0 at indices[0] is out of bounds for axis 0 of length 0 (the axis is empty)",
    );
    let clip = Gather::along(0).out_of_bounds(OutOfBounds::Clip);
    let message = "cannot clip an index onto axis 0: its length is 0";
    says(table, empty.gather_with(&[0], clip), message);
    let wrap = ScatterElements::along(0).out_of_bounds(OutOfBounds::Wrap);
    let message = "cannot wrap an index onto axis 0: its length is 0";
    says(table, empty.scatter_elements_with(&[0], &[1], wrap), message);
}

fn of_shapes(table: &mut Table) {
    let block = Array2::<u8>::zeros((2, 3));
    let zeros = |shape: &[usize]| ArrayD::<u8>::zeros(shape);
    says(
        table,
        block.gather_with(&zeros(&[3, 1]), Gather::along(1).batch_dims(1)),
        "the first length of data [2, 3] and indices [3, 1] must be equal",
    );
    says(
        table,
        block.scatter_elements(&zeros(&[2]), &zeros(&[2]), 0),
        "indices have rank 1, data has rank 2 (expected equal ranks; to select \
         whole slices, use scatter)",
    );
    says(
        table,
        block.scatter_elements(&zeros(&[2, 3]), &zeros(&[3, 2]), 0),
        "updates have shape [3, 2], indices have shape [2, 3] (expected equal, or a \
         single value; to select whole slices, use scatter)",
    );
    says(
        table,
        block.scatter_elements(&zeros(&[2, 4]), &zeros(&[2, 4]), 0),
        "indices of shape [2, 4] do not fit data of shape [2, 3] for axis 0: \
         length 4 of dimension 1 is greater than 3",
    );
    says(
        table,
        block.roll_into(1, 0, &mut zeros(&[3, 2])),
        "out has shape [3, 2], the result has shape [2, 3]",
    );
}

fn names_of_reductions(table: &mut Table) {
    for name in ["", " ", "Sum", "SUM", "sum ", " mean", "none\0", "average", "мin", "plus"] {
        table.case(format!("reduction {name:?}"), || {
            let refused = name.parse::<Reduction>();
            assert_eq!(refused, Err(Error::UnknownReduction(name.to_owned())));
            let message = refused.unwrap_err().to_string();
            assert!(message.contains(&format!("{name:?}")), "{message}");
        });
    }
}
