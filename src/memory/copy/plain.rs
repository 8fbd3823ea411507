//! Plain element types: those that are copied as bytes.

use std::any::TypeId;

/// The message of kernels that are chosen by element size; addresses have such a size too.
pub(super) const PLAIN: &str = "plain elements are of 1, 2, 4, 8 or 16 bytes";

/// Whether `T` is plain: copied by copying its bytes, all of which are initialised. Kernels that
/// move bytes instead of elements rely on this.
///
/// A generic function cannot test whether a type is `Copy`, so plain types are listed by name: the
/// primitive types, and with their features half precision and complex numbers.
#[inline]
pub(crate) fn is_plain<T>() -> bool {
    macro_rules! any_of {
        ($($plain:ty)*) => {
            false $(|| same::<T, $plain>())*
        };
    }
    let plain = any_of!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 bool char);
    #[cfg(feature = "half")]
    let plain = plain || any_of!(half::f16 half::bf16);
    #[cfg(feature = "num-complex")]
    let plain = plain || any_of!(num_complex::Complex<f32> num_complex::Complex<f64>);
    plain
}

#[inline(always)]
fn same<T, U: 'static>() -> bool {
    typeid::of::<T>() == TypeId::of::<U>()
}
