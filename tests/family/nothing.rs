//! Elements of no size: loops over them may be equal, since no array tells them apart.

use std::sync::atomic::{AtomicUsize, Ordering};

use ndarray::{Array4, ArrayView4, ShapeBuilder, arr0};
use opkernels::{Error, GatherElementsExt, ScatterElementsExt, ScatterExt};

/// The lengths of two axes along which windows overlap, that of the last one, and its stride.
const SIZES: [[usize; 3]; 5] =
    [[5, 6, 16], [6, 6, 16], [40, 20, 512], [33, 20, 1024], [33, 40, 512]];

#[test]
fn every_update_is_folded() {
    for [side, len, apart] in SIZES {
        let memory: Vec<usize> = (0..2 * side + len * apart + 10).collect();
        let windows = (4, side, side, len).strides((1, 1, 1, apart));
        let updates = ArrayView4::from_shape(windows, &memory).unwrap();
        let mut target = Array4::from_elem((3, side, side, len), ());
        let (calls, sum) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let fold = |(): &mut (), update: &usize| {
            calls.fetch_add(1, Ordering::Relaxed);
            sum.fetch_add(*update, Ordering::Relaxed);
        };
        target.scatter_fold(&[0, 2, 1, 0], &updates, 0, fold).unwrap();
        assert_eq!(calls.into_inner(), updates.len());
        assert_eq!(sum.into_inner(), updates.sum());
    }
}

#[test]
fn every_index_is_checked() {
    for [side, len, apart] in SIZES {
        let data = Array4::from_elem((3, side, side, len), ());
        let mut memory = vec![0_i32; 2 * side + len * apart + 10];
        let last = (len - 1) * apart;
        for bad in [0, side - 1, 2 * side - 2, last + side - 1, last + 2 * side - 2] {
            memory[bad] = 3;
            let windows = (1, side, side, len).strides((1, 1, 1, apart));
            let indices = ArrayView4::from_shape(windows, &memory).unwrap();
            let is_refused = |done| matches!(done, Err(Error::IndexOutOfBounds { index: 3, .. }));
            assert!(is_refused(data.gather_elements(&indices, 0).map(drop)), "{bad}");
            let mut out = Array4::uninit(indices.dim());
            assert!(is_refused(data.gather_elements_into(&indices, 0, &mut out)), "{bad}");
            let mut target = data.clone();
            assert!(is_refused(target.scatter_elements_inplace(&indices, &arr0(()), 0)), "{bad}");
            memory[bad] = 0;
        }
    }
}
