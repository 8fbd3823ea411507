//! How large integers are: sums of small ones fit in slots of 64 bits, whatever their
//! type may hold.

use std::sync::atomic::Ordering;

use super::kinds::Significant;
use crate::memory::strided::Layout;
use crate::parallel::{self, Cost};
use crate::sync::AtomicU32;
use crate::threshold::threshold;

/// Elements that are looked at before it is decided whether to look at more.
const BLOCK: usize = threshold(4096, 8);

/// An array whose elements follow each other.
///
/// Invariant: so many elements can be read, by any thread.
#[derive(Clone, Copy)]
pub(in crate::memory) struct Dense {
    start: *const u8,
    len: usize,
}

// SAFETY: any thread may read these elements.
#[allow(unsafe_code)]
unsafe impl Sync for Dense {}

impl Dense {
    /// The array that starts there, if it is dense.
    ///
    /// # Safety
    /// The layout is that of the array, whose elements can be read by any thread for as
    /// long as this is used.
    #[allow(unsafe_code)]
    pub(in crate::memory) unsafe fn of(start: *const u8, layout: &Layout<'_>) -> Option<Self> {
        layout.is_dense().then(|| Dense { start, len: layout.len() })
    }

    /// Where a block of elements of so many bytes starts, and how many there are.
    fn block(&self, number: usize, size: usize) -> (*const u8, usize) {
        let first = number * BLOCK;
        (self.start.wrapping_add(first * size), BLOCK.min(self.len - first))
    }
}

/// How many bits the integers of these arrays need beside their sign; nothing where that
/// is more than `most`.
///
/// # Safety
/// The function is for elements of these arrays, of `size` bytes.
#[allow(unsafe_code)]
pub(super) unsafe fn bits(
    significant: Significant,
    arrays: [Dense; 2],
    size: usize,
    most: u32,
) -> Option<u32> {
    let found = AtomicU32::new(0);
    for array in arrays {
        let blocks = array.len.div_ceil(BLOCK);
        let cost = Cost::of_bytes(array.len.saturating_mul(size));
        let parts = parallel::parts(cost).min(blocks);
        parallel::run(parts, &|part| {
            for number in parallel::share(blocks, parts, part) {
                if found.load(Ordering::Relaxed) > most {
                    return;
                }
                let (start, len) = array.block(number, size);
                // SAFETY: these are elements of the array.
                found.fetch_max(unsafe { significant(start, len) }, Ordering::Relaxed);
            }
        });
    }
    Some(found.into_inner()).filter(|&bits| bits <= most)
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, Dense};

    /// No block begins or ends beyond the array.
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
}
