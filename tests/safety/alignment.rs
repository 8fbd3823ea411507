//! Results of every size and element type, some so large that they are written
//! past the caches: the work memory on the way is aligned whatever the order
//! of fields that the compiler chooses (`scripts/builds.sh randomized`).

use ndarray::{Array2, Array3};
use opkernels::{GatherExt, RollExt};

use crate::common::{Value, array_of, same_contents};

fn rolls_and_gathers<A: Value>(bytes: usize) {
    let (columns, pages) = (7, 3);
    let rows = bytes / size_of::<A>() / columns / pages;
    let data: Array3<A> = array_of(&[rows, pages, columns], 5).into_dimensionality().unwrap();
    let mut expected = data.clone();
    for (mut to, from) in expected.lanes_mut(ndarray::Axis(2)).into_iter().zip(data.rows()) {
        (0..columns).for_each(|k| to[(k + 2) % columns] = from[k].clone());
    }
    let mut out = data.clone();
    data.roll_into(2, 2, &mut out).unwrap();
    assert!(same_contents(&out, &expected), "rolled into {bytes} bytes");
    assert!(same_contents(&data.roll(2, 2).unwrap(), &expected), "{bytes} bytes rolled");
    drop((out, expected));
    let table: Array2<A> = data.into_shape_with_order((rows, pages * columns)).unwrap();
    let indices: Vec<usize> = (0..rows).map(|k| k * 7 % rows).collect();
    let gathered = table.gather(&indices, 0).unwrap();
    for (row, &index) in gathered.outer_iter().zip(&indices) {
        assert!(same_contents(&row, &table.row(index)), "row {index} of {bytes} bytes");
    }
}

#[test]
fn results_of_every_alignment() {
    let sizes: &[usize] = if cfg!(miri) { &[1 << 12] } else { &[1 << 12, 6 << 20] };
    for &bytes in sizes {
        rolls_and_gathers::<u128>(bytes);
        rolls_and_gathers::<f64>(bytes);
        rolls_and_gathers::<u16>(bytes);
        rolls_and_gathers::<[u16; 3]>(bytes);
    }
}

#[cfg(not(miri))]
#[test]
fn results_larger_than_caches() {
    rolls_and_gathers::<u128>(40 << 20);
}
