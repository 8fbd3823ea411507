//! Elements of 64 KiB to 3 MiB on small stacks: what an operation keeps there
//! is bounded in bytes, not in elements. (Those of 4 KiB are in `panics`.)
//!
//! An overflow ends the process, so every element type has one of its own.
//!
//! All forms of elements up to 64 KiB, and those that move elements whatever
//! their size, have 2 MiB of stack, as threads have by default. `Clone::clone`
//! returns its element through the stack, in debug builds by way of several
//! frames, and a [`Gather`](opkernels::Gather) holds a fill by value: no crate
//! can spare its callers those. So there are [`ROOM`] elements more where
//! larger elements are cloned. Optimised copies of plain elements do without.

#![cfg(not(any(miri, target_family = "wasm")))]

#[path = "safety/child.rs"]
#[allow(dead_code)]
mod child;
#[path = "safety/forms.rs"]
#[allow(dead_code)]
mod forms;

use child::Limits;
use forms::{Arrays, Form, Given, LAYOUTS, forms};
use ndarray::{Array2, ArrayD};

/// What a thread has by default.
const STACK: usize = 2 << 20;

/// Elements on the stack besides, where it is clones that need it: a few
/// frames, and attributes handed from one to the next.
const ROOM: usize = 12;

/// Bytes of the largest elements whose clones have to do without that.
const FITS: usize = 64 << 10;

/// An element made in place.
trait Large: Clone + Send + Sync + 'static {
    /// Makes one of these bytes where `place` points.
    ///
    /// # Safety
    /// An element can be written there.
    #[allow(unsafe_code)]
    unsafe fn make(place: *mut Self, value: u32);

    fn value(&self) -> u32;
}

fn stamped<const N: usize>(bytes: &[u8; N]) -> u32 {
    let at = |start: usize| u32::from_ne_bytes(bytes[start..start + 4].try_into().unwrap());
    let value = at(0);
    assert!([at(N / 2), at(N - 4)] == [value; 2], "an element is torn");
    value
}

/// # Safety
/// `N` bytes can be written there.
#[allow(unsafe_code)]
unsafe fn stamp<const N: usize>(bytes: *mut [u8; N], value: u32) {
    let bytes = bytes.cast::<u8>();
    // SAFETY: the caller's promise; the stamps lie within the bytes.
    unsafe {
        bytes.write_bytes(0x5a, N);
        for start in [0, N / 2, N - 4] {
            bytes.add(start).cast::<u32>().write_unaligned(value);
        }
    }
}

/// Nothing but bytes.
#[derive(Clone, Copy)]
struct Plain<const N: usize>([u8; N]);

/// The same, cloned by code of its own.
struct Cloned<const N: usize>([u8; N]);

impl<const N: usize> Clone for Cloned<N> {
    fn clone(&self) -> Self {
        Cloned(self.0)
    }
}

macro_rules! large {
    ($($bytes:ident)*) => {$(
        impl<const N: usize> Large for $bytes<N> {
            #[allow(unsafe_code)]
            unsafe fn make(place: *mut Self, value: u32) {
                // SAFETY: the caller's promise.
                unsafe { stamp(&raw mut (*place).0, value) };
            }

            fn value(&self) -> u32 {
                stamped(&self.0)
            }
        }
    )*};
}
large!(Plain Cloned);

/// Bytes beside something that must be dropped.
struct Owner<const N: usize> {
    bytes: [u8; N],
    own: Box<u32>,
}

impl<const N: usize> Clone for Owner<N> {
    fn clone(&self) -> Self {
        Owner { own: self.own.clone(), bytes: self.bytes }
    }
}

impl<const N: usize> Large for Owner<N> {
    #[allow(unsafe_code)]
    unsafe fn make(place: *mut Self, value: u32) {
        // SAFETY: the caller's promise.
        unsafe {
            stamp(&raw mut (*place).bytes, value);
            (&raw mut (*place).own).write(Box::new(value));
        }
    }

    fn value(&self) -> u32 {
        let value = stamped(&self.bytes);
        assert_eq!(*self.own, value, "an element is torn");
        value
    }
}

/// Elements numbered from the one after `first` on, none of which has been on
/// the stack.
#[allow(unsafe_code)]
fn numbered<E: Large>(shape: (usize, usize), first: u32) -> Array2<E> {
    let len = shape.0 * shape.1;
    let mut elements = Vec::<E>::with_capacity(len);
    for k in 0..len {
        // SAFETY: there is room for `len` elements, all of which are made
        // before the vector counts them.
        unsafe { E::make(elements.as_mut_ptr().add(k), first + 1 + k as u32) };
    }
    // SAFETY: as above.
    unsafe { elements.set_len(len) };
    Array2::from_shape_vec(shape, elements).unwrap()
}

/// Runs on a stack of so many bytes; where there are pools, on these numbers of threads.
#[cfg_attr(not(feature = "rayon"), allow(unused_variables))]
fn on_a_stack_of(bytes: usize, threads: &[usize], run: fn()) {
    #[cfg(feature = "rayon")]
    for &threads in threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).stack_size(bytes);
        pool.build().unwrap().install(run);
    }
    #[cfg(not(feature = "rayon"))]
    std::thread::Builder::new().stack_size(bytes).spawn(run).unwrap().join().unwrap();
}

/// Runs the forms that are `wanted` and compares them with numbers.
fn forms_of<E: Large>(wanted: fn(&str) -> bool) {
    // Enough for blocks of elements, and rows of two and three; of the largest no more than memory likes.
    let small: &[(usize, usize)] = &[(5, 4), (4, 3), (3, 2)];
    let sizes = if size_of::<E>() < 1 << 20 { small } else { &small[2..] };
    let pairs = || forms::<E>().into_iter().zip(forms::<u32>());
    for (Form { name, run, .. }, numbers) in pairs().filter(|(form, _)| wanted(form.name)) {
        for (&size, laid) in sizes.iter().flat_map(|size| LAYOUTS.map(|laid| (size, laid))) {
            println!("{name}, {size:?}, {laid:?}");
            let mut arrays = Arrays::of_arrays(size, laid, Given::Good, numbered::<E>);
            let mut expected = Arrays::new(size, laid, Given::Good, |value| value);
            let output = run(&mut arrays).unwrap();
            let numbers = (numbers.run)(&mut expected).unwrap();
            let values = |output: ArrayD<E>| output.map(E::value);
            assert_eq!(output.map(values), numbers);
            assert_eq!(arrays.target.elements.map(E::value), expected.target.elements);
        }
    }
}

fn moves(name: &str) -> bool {
    name.starts_with("roll") && name.ends_with("in place")
}

/// Forms that are told an axis and hold no element by value.
fn copies(name: &str) -> bool {
    name.starts_with("roll") || name.starts_with("scatter")
}

fn run_case<E: Large>() {
    on_a_stack_of(STACK, &[1, 2], || forms_of::<E>(moves));
    if size_of::<E>() <= FITS + 64 {
        on_a_stack_of(STACK, &[1, 2], || forms_of::<E>(|_| true));
    } else {
        on_a_stack_of(STACK + ROOM * size_of::<E>(), &[2], || forms_of::<E>(|_| true));
    }
    // Optimised, a plain element goes where it belongs.
    if !cfg!(debug_assertions) && !std::mem::needs_drop::<E>() {
        on_a_stack_of(STACK, &[1, 2], || forms_of::<E>(copies));
    }
}

/// The test of this name, in a process of its own.
fn run_test<E: Large>(name: &str) {
    if child::case().is_some() {
        run_case::<E>();
    } else if child::untooled() {
        child::run_all(name, ["every form on a small stack"], &Limits::default());
    }
}

#[test]
fn plain_elements_of_64_kib() {
    run_test::<Plain<{ 64 << 10 }>>("plain_elements_of_64_kib");
}

#[test]
fn plain_elements_of_1_mib() {
    run_test::<Plain<{ 1 << 20 }>>("plain_elements_of_1_mib");
}

#[test]
fn cloned_elements_of_64_kib() {
    run_test::<Cloned<{ 64 << 10 }>>("cloned_elements_of_64_kib");
}

#[test]
fn cloned_elements_of_320_kib() {
    run_test::<Cloned<{ 320 << 10 }>>("cloned_elements_of_320_kib");
}

#[test]
fn owners_of_256_kib() {
    run_test::<Owner<{ 256 << 10 }>>("owners_of_256_kib");
}

#[test]
fn owners_of_3_mib() {
    run_test::<Owner<{ 3 << 20 }>>("owners_of_3_mib");
}
