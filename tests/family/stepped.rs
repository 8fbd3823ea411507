//! Scatters into views that leave elements of their array out, by updates that lie transposed: what is
//! beside a view stays as it is.

use ndarray::{ArrayD, ArrayViewMutD, Axis, Slice};
use opkernels::{OutOfBounds, Reduction};

use crate::common::oracle::{self, Kind, Reducing};
use crate::common::{Reduce, array_of, assert_same, calls};

/// Elements that a view has of each row of its array.
#[derive(Debug, Clone, Copy)]
struct Columns {
    count: usize,
    step: isize,
}

/// Blocks of transposed columns end in few, or do not.
fn columns() -> impl Iterator<Item = Columns> {
    let counts = [18, 34, 66, 67, 130].into_iter();
    counts.flat_map(|count| [2, 3, -2].map(|step| Columns { count, step }))
}

/// The first such columns of all rows of an array; if `backwards`, the last ones, and the last row first.
fn view<A>(array: &mut ArrayD<A>, columns: Columns, backwards: bool) -> ArrayViewMutD<'_, A> {
    let span = columns.count * columns.step.unsigned_abs();
    let start = if backwards { array.shape()[2] - span } else { 0 };
    let elements = Slice::new(start as isize, Some((start + span) as isize), columns.step);
    let mut view = array.slice_axis_mut(Axis(2), elements);
    if backwards {
        view.invert_axis(Axis(1));
    }
    view
}

/// Rows of arrays with so many bytes from one to the next, all of which map to few sets of a cache, or not.
fn written<A: Reduce>(pitch: usize, rows: usize, columns: Columns, backwards: bool) {
    let pitch = pitch / size_of::<A>();
    if columns.count * columns.step.unsigned_abs() > pitch {
        return;
    }
    let kind = Kind::Slices { axis: 0, batch_dims: 0 };
    let indices = ArrayD::from_shape_vec(vec![2], vec![1_i64, 0]).unwrap();
    let array: ArrayD<A> = array_of(&[2, rows, pitch], 1);
    let updates: ArrayD<A> = array_of(&[2, columns.count, rows], 3);
    let updates = updates.permuted_axes(vec![0, 2, 1]);
    for reduction in [Reduction::None, Reduction::Max] {
        let how = Reducing { reduction, use_init_val: true, mode: OutOfBounds::Error };
        let [mut target, mut expected] = [array.clone(), array.clone()];
        let data = view(&mut expected, columns, backwards).to_owned();
        let scattered =
            oracle::reduce_of(kind, &data, &indices.mapv(i128::from), &updates, &how).unwrap();
        view(&mut expected, columns, backwards).assign(&scattered);
        let into = &mut view(&mut target, columns, backwards);
        calls::reduce(kind, into, &indices, &updates.view(), &how).unwrap();
        assert_same(&target, &expected);
    }
}

#[test]
fn rows_of_stepped_columns() {
    for pitch in [2048, 2112] {
        for rows in [9, 16, 33] {
            for columns in columns() {
                for backwards in [false, true] {
                    written::<u8>(pitch, rows, columns, backwards);
                    written::<u16>(pitch, rows, columns, backwards);
                    written::<f32>(pitch, rows, columns, backwards);
                }
            }
        }
    }
}
