//! Arrays of hundreds of MiB where addresses have 32 bits: products of lengths,
//! threads and element sizes leave them long before memory ends. They run only
//! when asked for, one after the other:
//!
//! ```text
//! cargo test --release --target i686-unknown-linux-gnu --test safety large_on_32_bits -- \
//!   --ignored --test-threads 1
//! ```

use ndarray::{Array1, Array2, array, s};
use opkernels::{Error, GatherExt, Reduction, RollExt, ScatterElements, ScatterElementsExt};

const MIB: usize = 1 << 20;

/// What stands at a position.
fn byte(position: usize) -> u8 {
    (position ^ (position >> 8) ^ (position >> 16) ^ (position >> 24)) as u8
}

fn line(len: usize) -> Array1<u8> {
    let mut line = Array1::zeros(len);
    line.iter_mut().enumerate().for_each(|(k, element)| *element = byte(k));
    line
}

#[test]
#[ignore = "takes 1.2 GB of memory"]
fn roll_rows_in_place() {
    for (rows, width) in [(2, 300 * MIB), (3, 200 * MIB + 1)] {
        let before = line(width);
        let mut array = Array2::zeros((rows, width));
        array.row_mut(rows - 1).assign(&before);
        for row in 0..rows {
            array.roll_inplace(1, 0).unwrap();
            assert!(array.row(row) == before, "{rows} rows of {width}, turn {row}");
            assert!(array.row((row + 1) % rows).iter().all(|&byte| byte == 0));
        }
    }
}

#[test]
#[ignore = "takes 1.2 GB of memory"]
fn roll_a_line() {
    let before = line(500 * MIB + 7);
    let len = before.len();
    let by = 400 * MIB + 3;
    let mut rolled = before.roll(by as i64, -1).unwrap();
    assert!(rolled.slice(s![by..]) == before.slice(s![..len - by]));
    assert!(rolled.slice(s![..by]) == before.slice(s![len - by..]));
    rolled.roll_inplace(-(by as i64), 0).unwrap();
    assert!(rolled == before);
}

#[test]
#[ignore = "takes 1 GB of memory"]
fn gather_rows() {
    let data = line(10 * MIB).into_shape_with_order((10, MIB)).unwrap();
    let indices = Array1::from_shape_fn(1000, |i| (i * 7 % 10) as i64 - 10);
    let output = data.gather(&indices, 0).unwrap();
    assert!(output.outer_iter().enumerate().all(|(i, row)| row == data.row(i * 7 % 10)));
}

#[test]
#[ignore = "takes 0.5 GB of memory"]
fn sums_of_more_bytes_than_32_bits_count() {
    // 2^29 indices and updates of 9 bytes each.
    let updates = 1 << 29;
    let (index, update) = (array![2_i64], array![1_u8]);
    let sum = ScatterElements::along(0).reduction(Reduction::Sum);
    let mut target = array![0_u8, 0, 5];
    let (indices, updates) =
        (index.broadcast(updates).unwrap(), update.broadcast(updates).unwrap());
    target.scatter_elements_inplace(&indices, &updates, sum).unwrap();
    assert_eq!(target, array![0, 0, 5]);
}

/// Work memory that 32 bits do not count is refused, or done without.
#[test]
#[ignore = "takes 1 GB of memory"]
fn means_along_long_axes() {
    let mean = ScatterElements::along(0).reduction(Reduction::Mean).use_init_val(false);
    let (index, update) = (array![[0_i64, 1]], array![[1_u8, 2]]);
    for (len, lanes) in [(1 << 26, 2), (1 << 28, 2), (400 * MIB, 2), (500 * MIB, 1)] {
        let mut target = Array2::<u8>::zeros((len, lanes));
        let (index, update) = (index.slice(s![.., ..lanes]), update.slice(s![.., ..lanes]));
        let shape = (len / 4, lanes);
        let (indices, updates) =
            (index.broadcast(shape).unwrap(), update.broadcast(shape).unwrap());
        match target.scatter_elements_inplace(&indices, &updates, mean) {
            Ok(()) => assert_eq!(target[[0, 0]], 1, "{len}"),
            Err(error) => {
                assert!(matches!(error, Error::AllocationFailed { .. }), "{len}: {error}");
                assert_eq!(target[[0, 0]], 0, "{len}");
            }
        }
    }
}
