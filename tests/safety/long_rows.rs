//! Rows of several MiB that a roll in place sends on: from 8 MiB of bytes on,
//! products of their length and the number of their pieces leave 32 bits.

use std::sync::atomic::{AtomicU8, Ordering};

use ndarray::{Array2, ArrayView2, ArrayViewMut2, s};
use opkernels::RollExt;

/// Runs on one thread, and on two.
fn on_pools(run: impl Fn() + Sync) {
    #[cfg(feature = "rayon")]
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(&run);
    }
    #[cfg(not(feature = "rayon"))]
    run();
}

/// Bytes that differ from those a little further on, a power of two further
/// on, and a row further on.
fn bytes(shape: (usize, usize)) -> Array2<u8> {
    let mut bytes = Array2::zeros(shape);
    for (i, mut row) in bytes.outer_iter_mut().enumerate() {
        for (j, byte) in row.iter_mut().enumerate() {
            *byte = (j ^ (j >> 8) ^ (j >> 16) ^ (j >> 24) ^ (i * 85)) as u8;
        }
    }
    bytes
}

/// How the rows lie in a buffer, and rows of a buffer.
type Lay = (fn(&mut Array2<u8>) -> ArrayViewMut2<'_, u8>, fn(&Array2<u8>) -> ArrayView2<'_, u8>);

const LAYOUTS: [(&str, Lay); 3] = [
    ("standard", (|a| a.view_mut(), |a| a.view())),
    ("reversed", (|a| a.slice_mut(s![..;-1, ..;-1]), |a| a.slice(s![..;-1, ..;-1]))),
    ("with gaps", (|a| a.slice_mut(s![.., 3..]), |a| a.slice(s![.., 3..]))),
];

#[test]
fn rows_of_bytes() {
    for (shape, shift) in [((2, 1 << 24), 1), ((3, (1 << 23) + 77), -1)] {
        let before = bytes(shape);
        for (name, (view_mut, view)) in LAYOUTS {
            on_pools(|| {
                let mut after = before.clone();
                view_mut(&mut after).roll_inplace(shift, 0).unwrap();
                for (i, row) in view(&before).outer_iter().enumerate() {
                    let to = (i as i32 + shift).rem_euclid(shape.0 as i32) as usize;
                    // Tests are not optimised: bytes of a slice are compared in a tenth of the time.
                    let after = view(&after);
                    let [turned, row] =
                        [after.row(to), row].map(|row| row.to_slice_memory_order().unwrap());
                    assert!(turned == row, "{shape:?} by {shift}, {name}, row {i}");
                }
            });
        }
    }
}

/// An element that counts how often it is dropped.
struct Token<'a>(&'a AtomicU8);

impl Drop for Token<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Elements that own something: each is in one place afterwards, and dropped
/// once.
#[test]
fn rows_of_owners() {
    const ROW: usize = (1 << 22) + 1024;
    let mut drops: Vec<AtomicU8> = Vec::new();
    drops.resize_with(2 * ROW, || AtomicU8::new(0));
    on_pools(|| {
        let mut tokens =
            Array2::from_shape_vec((2, ROW), drops.iter().map(Token).collect()).unwrap();
        tokens.roll_inplace(1, 0).unwrap();
        let (first, second) = drops.split_at(ROW);
        let expected = second.iter().chain(first);
        let kept = tokens.iter().zip(expected).all(|(token, drops)| std::ptr::eq(token.0, drops));
        drop(tokens);
        let mut once = true;
        drops.iter().for_each(|drops| once &= drops.swap(0, Ordering::Relaxed) == 1);
        assert!(kept && once, "in place: {kept}, dropped once: {once}");
    });
}
