//! One value as a list of updates.

use std::mem::MaybeUninit;

use super::elements::BLOCK;

/// [`BLOCK`] copies of one value, the update of all indices: kernels that read a list of updates
/// need no other loop for it.
#[derive(Debug)]
pub(in crate::memory) struct Repeated {
    copies: [MaybeUninit<u128>; BLOCK],
}

/// Most bytes of a value.
pub(in crate::memory) const LARGEST: usize = size_of::<u128>();

impl Repeated {
    /// Copies of a value of `size` bytes.
    ///
    /// # Safety
    /// `size` bytes can be read at `value`; `size` is 1 to [`LARGEST`].
    #[allow(unsafe_code)]
    pub(in crate::memory) unsafe fn of(value: *const u8, size: usize) -> Self {
        let all = size * BLOCK;
        let mut copies = [MaybeUninit::uninit(); BLOCK];
        let (first, mut len) = (copies.as_mut_ptr().cast::<u8>(), size);
        // SAFETY: the caller's promise; the first `len` bytes are copies of the value, and no more
        // than `BLOCK` copies are made, each of no more bytes than an item of `copies` (`LARGEST`).
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
