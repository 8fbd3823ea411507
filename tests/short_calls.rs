//! Calls too short to be split start no threads, so that a program may still build rayon's global pool as it
//! likes.
#![cfg(all(feature = "rayon", not(any(miri, small_thresholds))))]

use ndarray::{Array2, Axis, ShapeBuilder};
use opkernels::{
    GatherElementsExt, GatherExt, IndexPlan, RollExt, Scatter, ScatterElements, ScatterElementsExt,
    ScatterExt,
};

#[test]
fn short_calls_start_no_pool() {
    let data = Array2::<f32>::from_elem((70, 60).f(), 1.0);
    let rows: Vec<i64> = (0..50).map(|k| k * 7 % 60).collect();
    let each = Array2::<i64>::from_shape_fn((70, 50).f(), |(i, j)| ((i + j) % 60) as i64);
    let updates = Array2::<f32>::from_elem((70, 50), 2.0);
    data.gather(&rows, Axis(1)).unwrap();
    // Few indices, in lanes that span several times L2.
    Array2::<f64>::zeros((2, 600_000)).gather(&vec![7; 1100], Axis(1)).unwrap();
    data.gather_elements(&each, Axis(1)).unwrap();
    data.gather(&IndexPlan::new(&rows, 60).unwrap(), Axis(1)).unwrap();
    for attributes in [Scatter::sum(1), Scatter::mean(1), Scatter::max(1).use_init_val(false)] {
        data.scatter_with(&rows, &updates, attributes).unwrap();
        data.mapv(|x| x as i64)
            .scatter_with(&rows, &updates.mapv(|x| x as i64), attributes)
            .unwrap();
    }
    for attributes in [ScatterElements::sum(1), ScatterElements::mean(1)] {
        data.scatter_elements_with(&each, &updates, attributes).unwrap();
        data.clone().scatter_elements_inplace(&each, &updates, attributes).unwrap();
    }
    data.roll([3, 5], [0, 1]).unwrap();
    data.clone().roll_inplace([3, 5], [0, 1]).unwrap();
    rayon::ThreadPoolBuilder::new().build_global().expect("no call has started a pool");
}
