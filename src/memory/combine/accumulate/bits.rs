//! A scan of integers for the number of bits that they need: sums of small ones fit in
//! small slots, whatever their type may hold.

use std::sync::atomic::Ordering;

use super::kinds::Significant;
use crate::memory::strided::Strided;
use crate::parallel::{self, Cost};
use crate::sync::AtomicU32;
use crate::threshold::threshold;

/// Number of elements that are scanned before it is decided whether to scan more.
const BLOCK: usize = threshold(4096, 8);

/// Returns the number of bits, without the sign, that each integer of these arrays fits in; none if
/// that is more than `max_bits`. The arrays are dense.
///
/// # Safety
/// `significant` is for elements of the type of both arrays.
#[allow(unsafe_code)]
pub(super) unsafe fn scan(
    significant: Significant,
    arrays: [Strided<'_>; 2],
    max_bits: u32,
) -> Option<u32> {
    let found = AtomicU32::new(0);
    for array in arrays {
        let layout = array.layout();
        assert!(layout.is_dense(), "an array that is scanned is dense");
        let (len, size) = (layout.len(), layout.size());
        let blocks = len.div_ceil(BLOCK);
        let cost = Cost::of_bytes(len.saturating_mul(size));
        let parts = parallel::parts(cost).min(blocks);
        parallel::run(parts, &|part| {
            for number in parallel::share(blocks, parts, part) {
                if found.load(Ordering::Relaxed) > max_bits {
                    return;
                }
                let first = number * BLOCK;
                let start = array.start().wrapping_add(first * size);
                // SAFETY: a block is a part of the array, which is dense (asserted).
                let bits = unsafe { significant(start, BLOCK.min(len - first)) };
                found.fetch_max(bits, Ordering::Relaxed);
            }
        });
    }
    Some(found.into_inner()).filter(|&bits| bits <= max_bits)
}

#[cfg(test)]
mod tests {
    use ndarray::Array1;

    use super::super::integers::significant;
    use super::*;

    /// The blocks cover the array: the largest number counts wherever it is.
    #[test]
    fn blocks_make_up_an_array() {
        for len in [1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5] {
            for place in [0, len / 2, len.saturating_sub(2), len - 1] {
                let mut numbers = Array1::<u16>::zeros(len);
                numbers[place] = 300;
                let arrays = [Strided::of(&numbers), Strided::of(&numbers)];
                // SAFETY: these are the arrays of such elements.
                #[allow(unsafe_code)]
                let bits = unsafe { scan(significant::<u16>, arrays, 16) };
                assert_eq!(bits, Some(9), "{place} of {len}");
            }
        }
    }

    /// The largest number decides, wherever it is, unless it is known before that there are too many
    /// bits.
    #[test]
    fn every_block_is_scanned() {
        let scanned = |bits: [u32; 4], max_bits: u32| {
            let numbers = bits.map(|bits| vec![(1_u64 << bits) - 1; BLOCK]);
            let arrays = [numbers[..2].concat(), numbers[2..].concat()].map(Array1::from);
            let arrays = arrays.each_ref().map(|array| Strided::of(array));
            // SAFETY: these are the arrays of such elements.
            #[allow(unsafe_code)]
            unsafe {
                scan(significant::<u64>, arrays, max_bits)
            }
        };
        for (number, max) in [7, 8, 9, 10].into_iter().enumerate() {
            let mut bits = [7; 4];
            bits[number] = max;
            assert_eq!(scanned(bits, 7), Some(7).filter(|_| max == 7), "{bits:?}");
            assert_eq!(scanned(bits, max), Some(max), "{bits:?}");
            assert_eq!(scanned(bits, max - 1), None, "{bits:?}");
        }
    }
}
