//! A scan of integers for the number of bits that they need: sums of small ones fit in
//! small slots, whatever their type may hold.

use std::sync::atomic::Ordering;

use super::kinds::Significant;
use crate::memory::strided::Layout;
use crate::parallel::{self, Cost};
use crate::sync::AtomicU32;
use crate::threshold::threshold;

/// Number of elements that are scanned before it is decided whether to scan more.
const BLOCK: usize = threshold(4096, 8);

/// A contiguous array.
///
/// Invariant: from `start` on, `len` elements can be read, by any thread.
#[derive(Clone, Copy)]
pub(in crate::memory) struct Dense {
    start: *const u8,
    len: usize,
}

// SAFETY: any thread may read the elements (invariant).
#[allow(unsafe_code)]
unsafe impl Sync for Dense {}

impl Dense {
    /// The array that begins at `start`, if its layout is dense.
    ///
    /// # Safety
    /// `layout` is that of the array that begins at `start`, whose elements can be read by any
    /// thread for as long as this is used.
    #[allow(unsafe_code)]
    pub(in crate::memory) unsafe fn of(start: *const u8, layout: &Layout<'_>) -> Option<Self> {
        layout.is_dense().then(|| Dense { start, len: layout.len() })
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The first element and the number of elements of block number `number`; elements have `size`
    /// bytes.
    fn block(&self, number: usize, size: usize) -> (*const u8, usize) {
        let first = number * BLOCK;
        (self.start.wrapping_add(first * size), BLOCK.min(self.len - first))
    }
}

/// Returns the number of bits, without the sign, that each integer of these arrays fits in; none if
/// that is more than `max_bits`.
///
/// # Safety
/// `significant` is for elements of the type of both arrays, which have `size` bytes.
#[allow(unsafe_code)]
pub(super) unsafe fn scan(
    significant: Significant,
    arrays: [Dense; 2],
    size: usize,
    max_bits: u32,
) -> Option<u32> {
    let found = AtomicU32::new(0);
    for array in arrays {
        let blocks = array.len.div_ceil(BLOCK);
        let cost = Cost::of_bytes(array.len.saturating_mul(size));
        let parts = parallel::parts(cost).min(blocks);
        parallel::run(parts, &|part| {
            for number in parallel::share(blocks, parts, part) {
                if found.load(Ordering::Relaxed) > max_bits {
                    return;
                }
                let (start, len) = array.block(number, size);
                // SAFETY: a block is a part of the array, whose elements can be read (invariant).
                found.fetch_max(unsafe { significant(start, len) }, Ordering::Relaxed);
            }
        });
    }
    Some(found.into_inner()).filter(|&bits| bits <= max_bits)
}

#[cfg(test)]
mod tests {
    use super::super::significant;
    use super::{BLOCK, Dense, scan};

    /// The blocks cover the array, and no block begins or ends beyond it.
    #[test]
    fn blocks_make_up_an_array() {
        for len in [1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5] {
            let numbers = vec![0_u16; len];
            let array = Dense { start: numbers.as_ptr().cast(), len };
            let mut end = 0;
            for number in 0..len.div_ceil(BLOCK) {
                let (start, count) = array.block(number, 2);
                assert_eq!(start, array.start.wrapping_add(end * 2));
                assert!(count > 0);
                end += count;
            }
            assert_eq!(end, len);
        }
    }

    /// The largest number decides, wherever it is, unless it is known before that there are too many
    /// bits.
    #[test]
    fn every_block_is_scanned() {
        let scanned = |bits: [u32; 4], max_bits: u32| {
            let numbers = bits.map(|bits| vec![(1_u64 << bits) - 1; BLOCK]);
            let [first, second] = [numbers[..2].concat(), numbers[2..].concat()];
            let arrays = [&first, &second]
                .map(|array| Dense { start: array.as_ptr().cast(), len: array.len() });
            // SAFETY: these are the arrays of such elements.
            #[allow(unsafe_code)]
            unsafe {
                scan(significant::<u64>, arrays, 8, max_bits)
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
