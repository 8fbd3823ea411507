//! One value as a list of updates.

use std::mem::MaybeUninit;

/// Up to `MOST` copies of one value, the update of all indices: kernels that read a list of updates
/// need no other loop for it.
#[derive(Debug)]
pub(in crate::memory) struct Repeated<const MOST: usize> {
    copies: [MaybeUninit<u128>; MOST],
}

/// Most bytes of a value.
pub(in crate::memory) const LARGEST: usize = size_of::<u128>();

impl<const MOST: usize> Repeated<MOST> {
    /// `count` copies of a value of `size` bytes, but no more than `MOST`.
    ///
    /// # Safety
    /// `size` bytes can be read at `value`; `size` is 1 to [`LARGEST`].
    #[allow(unsafe_code)]
    pub(in crate::memory) unsafe fn of(value: *const u8, size: usize, count: usize) -> Self {
        let all = size * count.clamp(1, MOST);
        let mut copies = [MaybeUninit::uninit(); MOST];
        let (first, mut len) = (copies.as_mut_ptr().cast::<u8>(), size);
        // SAFETY: the caller's promise; the first `len` bytes are copies of the value, and no more
        // than `MOST` copies are made, each of no more bytes than an item of `copies` (`LARGEST`).
        unsafe {
            first.copy_from_nonoverlapping(value, size);
            while len < all {
                let more = len.min(all - len);
                first.add(len).copy_from_nonoverlapping(first, more);
                len += more;
            }
        }
        Repeated { copies }
    }

    /// Address of the first copy.
    pub(in crate::memory) fn start(&self) -> *const u8 {
        self.copies.as_ptr().cast()
    }
}
