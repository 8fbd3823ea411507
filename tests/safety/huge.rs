//! Arrays of more than 2^31 and 2^32 bytes, and positions in them that 32 bits
//! do not hold. They take up to 10 GB of memory, so they run only when asked
//! for, one after the other:
//!
//! ```text
//! cargo test --release --test safety huge -- --ignored --test-threads 1
//! ```

use ndarray::{Array1, Array2, ArrayView1, Axis, array};
use opkernels::{
    Error, Gather, GatherExt, Reduction, RollExt, ScatterElements, ScatterElementsExt,
};

const N31: usize = 1 << 31;
const N32: usize = 1 << 32;

/// A little more than 2^32, and odd.
const LEN: usize = N32 + 4099;

/// Square of this side: 2^32 + 2^17 + 1 elements.
const SIDE: usize = (1 << 16) + 1;

/// What stands at a position: near positions differ, and so do those that are
/// 2^31 or 2^32 apart.
fn byte(position: usize) -> u8 {
    let high = (position >> 8) ^ (position >> 16) ^ (position >> 24) ^ ((position >> 31) * 29);
    (position ^ high) as u8
}

fn line() -> Array1<u8> {
    let mut line = Array1::zeros(LEN);
    for (k, element) in line.iter_mut().enumerate() {
        *element = byte(k);
    }
    line
}

/// On both sides of 2^31 and of 2^32, and at the ends.
fn far_positions() -> Vec<usize> {
    vec![0, 1, N31 - 1, N31, N31 + 1, N31 + 77, N32 - 1, N32, N32 + 1, LEN - 2, LEN - 1]
}

/// The first position at which the line is not as its bytes say, except at
/// those listed in order.
fn first_change(line: &ArrayView1<'_, u8>, except: &[usize]) -> Option<usize> {
    let mut except = except.iter().copied().peekable();
    line.iter().enumerate().position(|(k, &element)| {
        let expected = except.next_if_eq(&k).is_none();
        expected && element != byte(k)
    })
}

#[test]
#[ignore = "takes 5 GB of memory"]
fn gather_far_elements() {
    let data = line();
    let positions = far_positions();
    let expected: Array1<u8> = positions.iter().map(|&position| byte(position)).collect();
    assert_eq!(data.gather(&positions, 0), Ok(expected.clone()));
    let negative: Vec<i64> = positions.iter().map(|&k| k as i64 - LEN as i64).collect();
    assert_eq!(data.gather(&negative, 0), Ok(expected.clone()));
    let mut out = Array1::<u8>::zeros(positions.len());
    data.slice(ndarray::s![..;-1]).gather_into(&negative, Gather::along(0), &mut out).unwrap();
    let backward: Array1<u8> = positions.iter().map(|&k| byte(LEN - 1 - k)).collect();
    assert_eq!(out, backward);
    for index in [LEN as i64, -(LEN as i64) - 1, LEN as i64 + N32 as i64] {
        let error = data.gather(&[0, index], 0).unwrap_err();
        assert!(matches!(error, Error::IndexOutOfBounds { len: LEN, .. }), "{error}");
    }
    // Narrow types reach what they can.
    let expected = array![byte(u32::MAX as usize), byte(0)];
    assert_eq!(data.gather(&[u32::MAX, 0], 0), Ok(expected));
    let expected = array![byte(LEN - N31), byte(N31 - 1)];
    assert_eq!(data.gather(&[i32::MIN, i32::MAX], 0), Ok(expected));
}

#[test]
#[ignore = "takes 5 GB of memory"]
fn gather_rows_into_a_far_output() {
    let columns = 1 << 20;
    let data = Array2::from_shape_fn((5, columns), |(i, j)| byte(i * 77 + j));
    let rows = N32 / columns + 3;
    let indices = Array1::from_shape_fn(rows, |k| (k * 3 % 5) as i8 - 5);
    let output = data.gather(&indices, 0).unwrap();
    assert!(output.len() > N32);
    for (k, row) in output.outer_iter().enumerate() {
        assert!(row == data.row(k * 3 % 5), "row {k}");
    }
}

#[test]
#[ignore = "takes 5 GB of memory"]
fn gather_elements_into_a_far_output() {
    let data: Array1<u8> = (0..=255).map(|k| byte(k * 13)).collect();
    let indices = Array1::from_shape_fn(SIDE, |k| (k * 7 % 256) as u8);
    let many = indices.broadcast((SIDE, SIDE)).unwrap();
    let output = data.gather(&many, 0).unwrap();
    let expected = data.gather(&indices, 0).unwrap();
    assert!(output.outer_iter().all(|row| row == expected));
}

#[test]
#[ignore = "takes 9 GB of memory"]
fn roll_a_line() {
    let data = line();
    let mut out = Array1::<u8>::zeros(LEN);
    for shift in [1, N31 as i64 + 17, -(N32 as i64) - 5] {
        data.roll_into(shift, 0, &mut out).unwrap();
        let split = shift.rem_euclid(LEN as i64) as usize;
        let (moved, source) = (out.as_slice().unwrap(), data.as_slice().unwrap());
        assert!(moved[split..] == source[..LEN - split], "rolled by {shift}");
        assert!(moved[..split] == source[LEN - split..], "rolled by {shift}");
    }
    drop(out);
    let rolled = data.roll(N31 as i64, 0).unwrap();
    let (moved, source) = (rolled.as_slice().unwrap(), data.as_slice().unwrap());
    assert!(moved[N31..] == source[..LEN - N31] && moved[..N31] == source[LEN - N31..]);
}

#[test]
#[ignore = "takes 5 GB of memory"]
fn roll_a_line_in_place() {
    let mut data = line();
    for shift in [N31 as i64 + 17, -(N32 as i64) - 5, 3] {
        data.roll_inplace(shift, 0).unwrap();
        let split = shift.rem_euclid(LEN as i64) as usize;
        for k in far_positions() {
            assert_eq!(data[(k + split) % LEN], byte(k), "position {k} rolled by {shift}");
        }
        data.roll_inplace(-shift, 0).unwrap();
        assert_eq!(first_change(&data.view(), &[]), None, "rolled by {shift} and back");
    }
}

#[test]
#[ignore = "takes 9 GB of memory"]
fn roll_a_square() {
    let mut square = Array2::<u8>::zeros((SIDE, SIDE));
    for (k, element) in square.iter_mut().enumerate() {
        *element = byte(k);
    }
    let shifts = [40_000_i64, -3];
    let rolled = square.roll(shifts, [0, 1]).unwrap();
    for (i, row) in rolled.outer_iter().enumerate() {
        let source = square.row((i + SIDE - 40_000) % SIDE);
        let (source, row) = (source.as_slice().unwrap(), row.to_slice().unwrap());
        assert!(row[..SIDE - 3] == source[3..] && row[SIDE - 3..] == source[..3], "row {i}");
    }
    square.roll_inplace(shifts, [0, 1]).unwrap();
    assert!(square == rolled);
}

#[test]
#[ignore = "takes 5 GB of memory"]
fn scatter_at_far_positions() {
    let mut target = line();
    let positions = far_positions();
    let updates: Array1<u8> = positions.iter().map(|&k| !byte(k)).collect();
    let negative: Vec<i64> = positions.iter().map(|&k| k as i64 - LEN as i64).collect();
    target.scatter_elements_inplace(&negative, &updates, Axis(0)).unwrap();
    assert!(positions.iter().all(|&k| target[k] == !byte(k)));
    assert_eq!(first_change(&target.view(), &positions), None);

    // What is missing to 255, and twice one more.
    let unsigned: Vec<u64> =
        [&positions[..], &positions, &positions].concat().into_iter().map(|k| k as u64).collect();
    let missing = positions.iter().map(|&k| byte(k));
    let updates: Array1<u8> = missing.chain(vec![1; 2 * positions.len()]).collect();
    let sum = ScatterElements::along(0).reduction(Reduction::Sum);
    target.scatter_elements_inplace(&unsigned, &updates, sum).unwrap();
    assert!(positions.iter().all(|&k| target[k] == 1));
    assert_eq!(first_change(&target.view(), &positions), None);

    let bad = [0, LEN as i64];
    let before = target[0];
    assert!(target.scatter_elements_inplace(&bad, &[1, 1], sum).is_err());
    assert_eq!(target[0], before);
}

#[test]
#[ignore = "adds more than 2^32 times"]
fn scatter_more_updates_than_32_bits_count() {
    let (index, update) = (array![-1_i8], array![1_u64]);
    let (indices, updates) = (index.broadcast(LEN).unwrap(), update.broadcast(LEN).unwrap());
    let sum = ScatterElements::along(0).reduction(Reduction::Sum);
    let mut target = array![5_u64, 0, 0];
    target.scatter_elements_inplace(&indices, &updates, sum).unwrap();
    assert_eq!(target, array![5, 0, LEN as u64]);

    // Whole rows, each of which an index selects.
    let picks = Array2::from_shape_fn((SIDE, 1), |(i, _)| (i % 3) as i32);
    let rows = picks.broadcast((SIDE, SIDE)).unwrap();
    let ones = update.broadcast((SIDE, SIDE)).unwrap();
    let mut target = Array2::<u64>::zeros((4, SIDE));
    target.scatter_elements_inplace(&rows, &ones, sum).unwrap();
    for (i, row) in target.outer_iter().enumerate() {
        let expected = if i < 3 { (SIDE - i).div_ceil(3) as u64 } else { 0 };
        assert!(row.iter().all(|&count| count == expected), "row {i}");
    }
}

#[test]
#[ignore = "takes 9 GB of memory"]
fn scatter_into_a_copy() {
    let data = line();
    let positions = far_positions();
    let updates: Array1<u8> = positions.iter().map(|&k| !byte(k)).collect();
    let output = data.scatter_elements(&positions, &updates, 0).unwrap();
    assert!(positions.iter().all(|&k| output[k] == !byte(k)));
    assert_eq!(first_change(&output.view(), &positions), None);
}
